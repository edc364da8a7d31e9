// Searches by loops of our own: where libtorch's end, among elements in no order and beside NaN too.
#include "oracle/searches.h"

#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include <limits>

namespace lenz::oracle {
namespace {

// Small whole numbers, in order or not, with some NaN and infinities where the dtype has them.
at::Tensor numbers(at::IntArrayRef sizes, at::ScalarType dtype) {
  at::Tensor made = at::randint(-20, 21, sizes, dtype);
  if (at::isFloatingType(dtype)) {
    made.masked_fill_(at::rand(sizes).lt(0.1), std::numeric_limits<double>::quiet_NaN());
    made.masked_fill_(at::rand(sizes).lt(0.1), -std::numeric_limits<double>::infinity());
  }
  return made;
}

TEST(Searches, EndWhereLibtorchsDo) {
  for (const at::ScalarType dtype : {at::kFloat, at::kDouble, at::kInt, at::kLong})
    for (int64_t length : {1, 2, 3, 8, 31, 1000})
      for (bool sorted : {false, true})
        for (bool rows : {false, true}) {
          at::Tensor among = rows ? numbers({7, length}, dtype) : numbers({length}, dtype);
          if (sorted) among = std::get<0>(at::sort(among));
          const at::Tensor x = numbers({7, 93}, dtype);
          for (bool right : {false, true})
            for (bool narrow : {false, true}) {
              const auto found = searched(among, x, narrow, right, std::nullopt);
              ASSERT_TRUE(found);
              EXPECT_EQ(found->scalar_type(), narrow ? at::kInt : at::kLong);
              EXPECT_TRUE(found->equal(at::searchsorted(among, x, narrow, right))) << dtype << ' ' << length;
            }
        }
  const at::Tensor among = std::get<0>(at::sort(numbers({50}, at::kFloat))), x = numbers({40000}, at::kFloat);
  EXPECT_TRUE(searched(among, x, false, false, "right")->equal(at::searchsorted(among, x, false, true)));
  EXPECT_TRUE(searched(among, x.view({200, 200}).t(), false, true, "right")
                  ->equal(at::searchsorted(among, x.view({200, 200}).t(), false, true)));
}

TEST(Searches, LeaveTheRestToLibtorch) {
  const at::Tensor among = at::arange(5, at::kFloat), x = numbers({3, 4}, at::kFloat);
  EXPECT_FALSE(searched(among, x, false, true, "left"));  // it refuses that
  EXPECT_FALSE(searched(among, x.to(at::kDouble), false, false, std::nullopt));
  EXPECT_FALSE(searched(among.to(at::kHalf), x.to(at::kHalf), false, false, std::nullopt));
  EXPECT_FALSE(searched(among.narrow(0, 0, 0), x, false, false, std::nullopt));
  EXPECT_FALSE(searched(among.expand({2, 5}), x, false, false, std::nullopt));
  EXPECT_FALSE(searched(among, x[0][0], false, false, std::nullopt));
}

}  // namespace
}  // namespace lenz::oracle
