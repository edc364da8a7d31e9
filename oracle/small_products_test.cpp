// Products of small matrices: the same numbers as the op's, however factors lie, and nothing of what does not fit.
#include "oracle/small_products.h"

#include <ATen/Functions.h>
#include <gtest/gtest.h>

namespace lenz::oracle {
namespace {

// Whole numbers, so that no order of additions rounds.
at::Tensor whole(at::IntArrayRef sizes, at::ScalarType dtype) { return at::randint(-4, 5, sizes, dtype); }

void expect_same(const at::Tensor& left, const at::Tensor& right) {
  const at::Tensor expected = at::matmul(left, right);
  const auto made = small_product(left, right, std::nullopt);
  ASSERT_TRUE(made) << left.sizes() << right.sizes();
  EXPECT_TRUE(made->equal(expected)) << left.sizes() << left.strides() << right.sizes() << right.strides();
  for (const at::Tensor& addend :
       {whole({right.size(-1)}, left.scalar_type()), whole({left.size(-2), 1}, left.scalar_type())})
    EXPECT_TRUE(small_product(left, right, addend)->equal(at::add(expected, addend)))
        << left.sizes() << right.sizes() << addend.sizes();
}

TEST(SmallProducts, AreTheSameHoweverFactorsLie) {
  for (const at::ScalarType dtype : {at::kFloat, at::kDouble})
    for (int64_t terms : {1, 3, 8, 25})
      for (int64_t columns : {1, 4, 7, 8})
        for (bool turned : {false, true}) {
          auto factors = [&](int64_t batches, int64_t rows, int64_t of) {
            return turned ? whole({batches, of, rows}, dtype).transpose(1, 2) : whole({batches, rows, of}, dtype);
          };
          expect_same(factors(5000, 5, terms), factors(5000, terms, columns));  // more than one thread's share
          expect_same(factors(1, 5, terms).expand({3, 5, terms}), factors(3, terms, columns));
          expect_same(factors(1, 9, terms)[0], factors(1, terms, columns)[0]);
        }
  for (int64_t columns : {16, 17, 40})  // blocks of columns, and what is left of them
    for (bool turned : {false, true}) {
      const at::Tensor right = turned ? whole({columns, 20}, at::kFloat).t() : whole({20, columns}, at::kFloat);
      expect_same(whole({12, 20}, at::kFloat), right);
    }
}

TEST(SmallProducts, AreNoneOfWhatDoesNotFit) {
  const at::Tensor left = whole({4, 5}, at::kFloat), right = whole({5, 6}, at::kFloat);
  EXPECT_TRUE(small_product(left, right, std::nullopt));
  EXPECT_FALSE(small_product(left, whole({4, 6}, at::kFloat), std::nullopt));
  EXPECT_FALSE(small_product(left, right.to(at::kDouble), std::nullopt));
  EXPECT_FALSE(small_product(left.to(at::kInt), right.to(at::kInt), std::nullopt));
  EXPECT_FALSE(small_product(left, right, whole({7}, at::kFloat)));
  EXPECT_FALSE(small_product(left, right, whole({6}, at::kDouble)));
  EXPECT_FALSE(small_product(left, right, whole({3, 4, 6}, at::kFloat)));
  EXPECT_FALSE(small_product(left, right.expand({2, 5, 6}), std::nullopt));
  EXPECT_FALSE(small_product(left.expand({3, 4, 5}), right.expand({2, 5, 6}), std::nullopt));
  EXPECT_FALSE(small_product(whole({0, 5}, at::kFloat), right, std::nullopt));
  EXPECT_FALSE(small_product(whole({4, 0}, at::kFloat), whole({0, 6}, at::kFloat), std::nullopt));
  EXPECT_FALSE(small_product(whole({128, 128}, at::kFloat), whole({128, 128}, at::kFloat), std::nullopt));
}

}  // namespace
}  // namespace lenz::oracle
