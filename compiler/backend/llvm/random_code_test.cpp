#include <gtest/gtest.h>

#include <cmath>

#include "compiler/backend/llvm/draw_kernel.h"
#include "compiler/scalar/random_stream.h"
#include "compiler/scalar/rounding.h"

namespace lenz::native {
namespace {

using loops::DrawKind;

constexpr RandomStream kStreams[] = {{0, 0}, {0x123456789abcdef0, 7}, {~uint64_t{0}, (uint64_t{1} << 32) - 3}};
constexpr int kCount = 256;

template <class T, class Reference>
void compare(DrawKind kind, Dtype dtype, bool consecutive, Reference reference) {
  for (std::string_view name : {"avx512", "avx2", "generic"}) {
    const CpuTarget target = find_target(name);
    if (!target.runs_here) continue;
    for (int lanes : {1, 16}) {
      const DrawKernel kernel(kind, dtype, target, lanes, consecutive);
      for (const RandomStream& stream : kStreams) {
        std::vector<T> drawn(kCount);
        kernel.run(drawn.data(), stream.seed, stream.offset, kCount);
        for (uint64_t i = 0; i < kCount; ++i) reference(stream, i, drawn[i]);
      }
    }
  }
}
template <class T, class Reference>
void compare_both(DrawKind kind, Dtype dtype, Reference reference) {
  compare<T>(kind, dtype, false, reference);
  compare<T>(kind, dtype, true, reference);
}

TEST(RandomCode, Words) {
  compare_both<int64_t>(DrawKind::word, Dtype::i64, [](const RandomStream& stream, uint64_t i, int64_t drawn) {
    EXPECT_EQ(drawn, int64_t{stream.word(i)});
  });
  compare_both<int32_t>(DrawKind::signed_word, Dtype::i32, [](const RandomStream& stream, uint64_t i, int32_t drawn) {
    EXPECT_EQ(drawn + (int64_t{1} << 31), int64_t{stream.word(i)});
  });
  compare_both<int64_t>(DrawKind::wide_word, Dtype::i64, [](const RandomStream& stream, uint64_t i, int64_t drawn) {
    EXPECT_EQ(static_cast<uint64_t>(drawn), stream.wide_word(i));
  });
}

TEST(RandomCode, Uniforms) {
  for (Dtype dtype : {Dtype::f32, Dtype::f16, Dtype::bf16})
    compare_both<float>(DrawKind::uniform, dtype, [&](const RandomStream& stream, uint64_t i, float drawn) {
      EXPECT_EQ(static_cast<double>(drawn), stream.uniform(dtype, i));
    });
  compare_both<double>(DrawKind::uniform, Dtype::f64, [](const RandomStream& stream, uint64_t i, double drawn) {
    EXPECT_EQ(drawn, stream.uniform(Dtype::f64, i));
  });
}

TEST(RandomCode, Normals) {
  compare_both<float>(DrawKind::normal, Dtype::f32, [](const RandomStream& stream, uint64_t i, float drawn) {
    const double right = stream.normal(Dtype::f32, i);
    EXPECT_LE(std::fabs(drawn - right), 0.51 * last_place(Dtype::f32, right)) << i;
  });
  // The reference rounds the angle, up to 2 pi: an absolute error of some places of one.
  compare_both<double>(DrawKind::wide_normal, Dtype::f64, [](const RandomStream& stream, uint64_t i, double drawn) {
    const double right = stream.normal(Dtype::f64, i);
    EXPECT_LE(std::fabs(drawn - right), 0x1p-52 * std::fmax(8, std::fabs(right))) << i;
  });
}

}  // namespace
}  // namespace lenz::native
