// Products by the other library: the same numbers as the op's, however factors lie, and nothing of what does not fit.
#include "oracle/library_products.h"

#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include <array>

namespace lenz::oracle {
namespace {

// Whole numbers, so that no order of additions rounds.
at::Tensor whole(at::IntArrayRef sizes) { return at::randint(-4, 5, sizes, at::kFloat); }

void expect_same(const at::Tensor& left, const at::Tensor& right) {
  const at::Tensor expected = at::matmul(left, right);
  const auto made = product_by_onednn(left, right, std::nullopt);
  ASSERT_TRUE(made);
  EXPECT_TRUE(made->equal(expected)) << left.sizes() << left.strides() << right.sizes() << right.strides();
  const at::Tensor addend = whole({right.size(-1)});
  EXPECT_TRUE(product_by_onednn(left, right, addend)->equal(at::add(expected, addend)))
      << left.sizes() << right.sizes();
}

TEST(LibraryProducts, AreTheSameHoweverFactorsLie) {
  if (!at::hasMKLDNN()) GTEST_SKIP() << "libtorch has no oneDNN here";
  if (!__builtin_cpu_supports("avx512dq")) GTEST_SKIP() << "libtorch hands oneDNN no products on this processor";
  // Rows: fewer than a part, just as many, some parts of which the last is shorter, many.
  for (int64_t rows : {2, 12, 13, 29, 300})
    for (bool left_turned : {false, true})
      for (bool right_turned : {false, true}) {
        const at::Tensor left = left_turned ? whole({37, rows}).t() : whole({rows, 37});
        const at::Tensor right = right_turned ? whole({21, 37}).t() : whole({37, 21});
        expect_same(left, right);
        expect_same(left.unsqueeze(0), right.unsqueeze(0));
        expect_same(left.expand({3, rows, 37}), right.expand({3, 37, 21}));
      }
  expect_same(whole({9, 80}).narrow(1, 3, 37), whole({37, 50}).narrow(1, 1, 21));
}

TEST(LibraryProducts, LeaveToTheOpWhatDoesNotFit) {
  const at::Tensor left = whole({4, 5}), right = whole({5, 6});
  EXPECT_FALSE(product_by_onednn(left, whole({4, 6}), std::nullopt));
  EXPECT_FALSE(product_by_onednn(left.to(at::kDouble), right.to(at::kDouble), std::nullopt));
  EXPECT_FALSE(product_by_onednn(left, right, whole({7})));
  EXPECT_FALSE(product_by_onednn(left, right, whole({6}).to(at::kDouble)));
  EXPECT_FALSE(product_by_onednn(left, right.expand({2, 5, 6}), std::nullopt));
  EXPECT_FALSE(product_by_onednn(whole({0, 5}), right, std::nullopt));
}

TEST(LibraryProducts, AreTakenWhereTheyWereMeasuredToBeFaster) {
  auto takes = [](int64_t rows, int64_t inner, int64_t columns, bool right_turned) {
    const at::Tensor right = right_turned ? at::empty({columns, inner}).t() : at::empty({inner, columns});
    return takes_less_by_onednn(at::empty({rows, inner}), right);
  };
  EXPECT_TRUE(takes(1024, 1024, 1024, false) && takes(1024, 1024, 1024, true) && takes(8, 768, 768, true));
  EXPECT_TRUE(takes(16, 768, 3072, true) && takes(64, 768, 3072, true) && takes(64, 32, 3072, false));
  EXPECT_FALSE(takes(33, 33, 33, false) || takes(16, 256, 256, true) || takes(1, 768, 3072, true));
  EXPECT_FALSE(takes(16, 3072, 3072, true) || takes(64, 768, 256, true) || takes(2048, 8, 768, false));
  const at::Tensor heads = at::empty({12, 197, 64}), keys = at::empty({12, 64, 197});
  EXPECT_TRUE(takes_less_by_onednn(heads, keys));
  EXPECT_FALSE(takes_less_by_onednn(heads, at::empty({12, 197, 64}).transpose(1, 2)));
}

}  // namespace
}  // namespace lenz::oracle
