#include "compiler/backend/llvm/jit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/backend/llvm/row_kernel.h"
#include "compiler/base/error.h"

namespace lenz::native {
namespace {

using testing::HasSubstr;

const ScalarRow& row(std::string_view name) { return *find_scalar(name); }

CodeModule module_for(const Compiler& compiler, std::string_view name = "mul", int lanes = 16) {
  return row_module(row(name), Dtype::f32, Dtype::f32, compiler, lanes);
}

TEST(Targets, AreFoundByName) {
  for (const CpuTarget& target : targets()) EXPECT_EQ(find_target(target.name).key(), target.key());
  try {
    find_target("avx1024");
    FAIL() << "there is no such target";
  } catch (const UserError& error) {
    EXPECT_THAT(error.remedy(), HasSubstr("avx512"));
  }
}

TEST(Targets, WhatDoesNotRunHereIsRefusedWithWhatDoes) {
  for (const CpuTarget& target : targets()) {
    if (target.runs_here) {
      EXPECT_EQ(runnable_target(target.name).name, target.name);
      continue;
    }
    try {
      runnable_target(target.name);
      FAIL() << target.name;
    } catch (const UserError& error) {
      EXPECT_THAT(error.remedy(), HasSubstr(runnable_target().name));
    }
  }
}

TEST(Compiler, PrintsIrAndAssembly) {
  const Compiler compiler(runnable_target("generic"));
  CodeModule module = module_for(compiler, "mul", 4);
  EXPECT_THAT(module.text(), HasSubstr("fmul <4 x float>"));
  EXPECT_THAT(compiler.assembly(module), HasSubstr("mulps"));
}

TEST(Compiler, UsesTheWholeVector) {
  const Compiler compiler(find_target("avx512"));
  CodeModule module = module_for(compiler);
  EXPECT_THAT(compiler.assembly(module), HasSubstr("zmm"));
}

// Objects for a processor that this machine is not: an ELF of its machine.
TEST(Compiler, MakesObjectsForAarch64) {
  const Compiler compiler(find_target("aarch64"));
  for (std::string_view name : {"mul", "exp", "sin", "fmod", "round_decimals"}) {
    CodeModule module = module_for(compiler, name, 4);
    const std::string object = compiler.object(module);
    ASSERT_GT(object.size(), 64u);
    EXPECT_EQ(object.substr(1, 3), "ELF");
    EXPECT_EQ(static_cast<unsigned char>(object[18]), 183) << name;  // EM_AARCH64
  }
}

TEST(Compiler, MakesTheSameObjectTwice) {
  const Compiler first(runnable_target()), second(runnable_target());
  CodeModule a = module_for(first, "exp"), b = module_for(second, "exp");
  EXPECT_EQ(first.object(a), second.object(b));
}

TEST(Compiler, ContentTellsModulesApart) {
  const Compiler compiler(runnable_target());
  CodeModule a = module_for(compiler, "exp"), b = module_for(compiler, "exp"), c = module_for(compiler, "sin");
  EXPECT_EQ(a.content(), b.content());
  EXPECT_NE(a.content(), c.content());
}

class JitRuns : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(QuickOrNot, JitRuns, testing::Bool());

TEST_P(JitRuns, AnObject) {
  const Compiler compiler(runnable_target("generic"), {.quick = GetParam()});
  CodeModule module = module_for(compiler, "mul", 4);
  Jit jit;
  jit.add_object(compiler.object(module));
  auto* function = jit.function<void(const void* const*, void* const*, uint8_t*, int64_t)>("row");
  ASSERT_NE(function, nullptr);
  const float a[4] = {1, 2, 3, 4}, b[4] = {5, 6, 7, 8};
  float c[4] = {};
  const void* in[] = {a, b};
  void* out[] = {c};
  function(in, out, nullptr, 4);
  EXPECT_THAT(c, testing::ElementsAre(5, 12, 21, 32));
  EXPECT_EQ(jit.lookup("no_such_symbol"), nullptr);
}

TEST(Jit, RefusesWhatIsNoObject) {
  Jit jit;
  EXPECT_THROW(jit.add_object("these are no bytes of an object"), InternalError);
}

}  // namespace
}  // namespace lenz::native
