// What f32 is computed by where a fused multiply-add is an instruction (fused_*.cpp). That it is within its accuracy
// class, special numbers among others, is checked with all rows (scalar_code_test.cpp).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>

#include "compiler/backend/llvm/compile_kernels.h"
#include "compiler/backend/llvm/row_kernel.h"
#include "compiler/loops/text.h"
#include "compiler/ops/op_table.h"

namespace lenz::native {
namespace {

constexpr std::string_view kRows[] = {"exp", "expm1", "tanh",  "erfc",  "erfinv", "log",  "log2", "log10",  "sin",
                                      "cos", "tan",   "atanh", "asinh", "atan",   "asin", "acos", "sigmoid"};

TEST(FusedRows, NothingIsWidened) {
  for (const CpuTarget& target : targets()) {
    if (!target.fma) continue;
    for (std::string_view name : kRows) {
      if (name == "sin" || name == "cos" || name == "tan") continue;  // of large angles, which are rare
      CodeModule module =
          row_module(*find_scalar(name), Dtype::f32, Dtype::f32, Compiler(target), target.lanes(sizeof(float)));
      EXPECT_THAT(module.text(), testing::Not(testing::HasSubstr("double"))) << name << " on " << target.name;
    }
  }
}

// Estimates have the same digits in all widths, so that what one loop computes in vectors and another one number by
// number is one number.
TEST(FusedRows, EveryWidthGivesTheSameBits) {
  constexpr size_t kCount = 4000;  // a multiple of all widths
  std::mt19937 random(6);
  std::vector<float> in(kCount);
  for (float& x : in) x = std::bit_cast<float>(static_cast<uint32_t>(random()));
  for (size_t i = 0; i < kCount; i += 2) in[i] = std::ldexp(in[i], -std::ilogb(in[i]));  // half of them near one
  std::vector<uint8_t> raised(kCount);
  for (const CpuTarget& target : {find_target("avx512")}) {
    if (!target.runs_here) continue;
    for (std::string_view name : {"tanh", "sigmoid", "erfc", "expm1", "tan", "atanh", "asinh", "asin"}) {
      auto run = [&](int lanes) {
        const RowKernel kernel(*find_scalar(name), Dtype::f32, Dtype::f32, target, lanes);
        std::vector<float> out(kCount);
        const void* from[] = {in.data()};
        void* to[] = {out.data()};
        kernel.run(from, to, raised.data(), kCount);
        return out;
      };
      const std::vector<float> one = run(1);
      for (int lanes : {5, 8, 32}) {
        const std::vector<float> many = run(lanes);
        for (size_t i = 0; i < kCount; ++i)
          ASSERT_TRUE(std::isnan(one[i]) ? std::isnan(many[i]) : one[i] == many[i])
              << name << " of " << in[i] << " on " << target.name << " in " << lanes << " lanes";
      }
    }
  }
}

// Of all inputs those that were seen furthest off; samples hardly ever meet them.
TEST(FusedRows, WorstInputs) {
  const struct {
    std::string_view name;
    float at;
    double right;
  } worst[] = {
      {"log10", 0x1.5557f4p+0F, std::log10(double{0x1.5557f4p+0F})},
      {"log10", 0x1.55606ep+0F, std::log10(double{0x1.55606ep+0F})},
      {"log2", 0x1.56b594p+0F, std::log2(double{0x1.56b594p+0F})},
      {"tan", -0x1.3d205ap+91F, std::tan(double{-0x1.3d205ap+91F})},
      {"atan", 0x1.ffffe4p-2F, std::atan(double{0x1.ffffe4p-2F})},
      {"expm1", 0x1.647022p-2F, std::expm1(double{0x1.647022p-2F})},
      {"exp", -0x1.f2f782p+3F, std::exp(double{-0x1.f2f782p+3F})},
      {"erfc", 0x1.af0b5ep+2F, std::erfc(double{0x1.af0b5ep+2F})},
      {"sigmoid", 0x1.3414eep+2F, 1 / (1 + std::exp(-double{0x1.3414eep+2F}))},
      {"atan", 0x1.fdb95cp-2F, std::atan(double{0x1.fdb95cp-2F})},
  };
  for (const CpuTarget& target : targets()) {
    if (!target.fma || !target.runs_here) continue;
    for (const auto& [name, at, right] : worst) {
      const ScalarRow& row = *find_scalar(name);
      const RowKernel kernel(row, Dtype::f32, Dtype::f32, target, 8);
      float in[8], out[8];
      std::ranges::fill(in, at);
      uint8_t raised[8] = {};
      const void* from[] = {in};
      void* to[] = {out};
      kernel.run(from, to, raised, 8);
      const double place = std::ldexp(1.0, std::ilogb(right) - 23);
      EXPECT_LE(std::fabs(out[0] - right), row.accuracy.ulps * place) << name << " on " << target.name;
    }
  }
}

// Of two operands: beside the sizes from which on doubles take over, each of a vector by itself, and furthest off.
TEST(FusedRows, AnglesOfNumbersOfEverySize) {
  std::vector<float> sizes{0, 0x1p-149F,       0x1p-126F, 0x1p-61F, 0x1.000002p-60F,  0x1p-60F, 1, 0x1.ffffe4p-2F,
                           3, 0x1.fffffep+39F, 0x1p40F,   0x1p100F, 0x1.fffffep+127F, INFINITY};
  std::vector<float> y{-0x1.a6842ep+8F, -0x1.9fd3f2p+32F}, x{0x1.a6b75ap+9F, 0x1.a01c6p+33F};
  for (const float up : sizes)
    for (const float across : sizes)
      for (const float sign : {1.0F, -1.0F}) {
        y.push_back(sign * up), x.push_back(across);
        y.push_back(up), x.push_back(sign * -across);
      }
  const auto count = std::ssize(y);
  y.resize(y.size() + 64), x.resize(y.size());
  const ScalarRow& row = *find_scalar("atan2");
  for (const CpuTarget& target : targets()) {
    if (!target.runs_here) continue;
    for (const int lanes : {1, target.lanes(sizeof(float))}) {
      std::vector<float> out(y.size());
      std::vector<uint8_t> raised(y.size());
      const void* from[] = {y.data(), x.data()};
      void* to[] = {out.data()};
      RowKernel(row, Dtype::f32, Dtype::f32, target, lanes).run(from, to, raised.data(), count);
      for (int64_t i = 0; i < count; ++i) {
        const auto k = static_cast<size_t>(i);
        const double right = std::atan2(double{y[k]}, double{x[k]});
        const double place = std::ldexp(1.0, std::max(right == 0 ? -126 : std::ilogb(right), -126) - 23);
        EXPECT_LE(std::fabs(out[k] - right), row.accuracy.ulps * place) << y[k] << ", " << x[k] << target.name;
        EXPECT_EQ(std::signbit(out[k]), std::signbit(right)) << y[k] << ", " << x[k] << target.name;
      }
    }
  }
}

// Of vectors that one turn of a loop computes, two take their steps in turns.
TEST(FusedRows, TwoVectorsSideBySide) {
  const loops::Program program = loops::parse_program(R"(loops @curves {
  input %x: f32[4096] placed
  temp %y: f32[4096] placed
  kernel {
    for i < 4096 lanes 16 unroll 2 {
      %0 = load %x[i]
      %1 = erfc.f32 %0
      store %y[i] = %1
    }
  }
  return %y
})",
                                                      op_table());
  const std::string text = kernels_as_text(program, find_target("avx512"), false);
  constexpr std::string_view kEstimate = "@llvm.x86.avx512.rcp14.ps.512(<16 x float>";
  const size_t first = text.find(kEstimate), second = text.find(kEstimate, first + 1);
  ASSERT_NE(second, std::string::npos);
  EXPECT_LE(
      std::count(text.begin() + static_cast<ptrdiff_t>(first), text.begin() + static_cast<ptrdiff_t>(second), '\n'), 2);
}

// Of four sines, two vectors in turns and a rest: what steps of a large angle take is not there twelve times.
TEST(FusedRows, WhatLargeAnglesTakeStandsOnce) {
  const loops::Program program = loops::parse_program(
      "loops @g {\n  input %x: f32[100] placed\n  temp %y: f32[100] placed\n  kernel {\n"
      "    for i < 100 lanes 16 unroll 2 {\n      %0 = load %x[i]\n      %1 = sin.f32 %0\n      %2 = sin.f32 %1\n"
      "      %3 = cos.f32 %2\n      %4 = cos.f32 %3\n      store %y[i] = %4\n    }\n  }\n  return %y\n}\n",
      op_table());
  const std::string text = kernels_as_text(program, find_target("avx512"), false);
  size_t written = 0, called = 0;
  for (size_t at = 0; (at = text.find("@far_steps", at)) != std::string::npos; ++at)
    ++(text.compare(at - 5, 5, "void ") == 0 && text.rfind("define", at) > text.rfind('\n', at) ? written : called);
  EXPECT_EQ(written, 1u);
  EXPECT_GE(called, 8u);
}

}  // namespace
}  // namespace lenz::native
