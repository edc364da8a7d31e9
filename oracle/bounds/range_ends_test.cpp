// What rows say in words of eager's contradictions is read as it is meant.
#include "oracle/bounds/range_ends.h"

#include <gtest/gtest.h>

#include "compiler/scalar/scalar.h"

namespace lenz::oracle {
namespace {

// Its condition is a text for Python: in other words it would not be known any more, and NaNs would be compared.
TEST(RangeEnds, WhatEagerNeverSetsOfANanIsToldByTheRowsCondition) {
  size_t rows = 0;
  for (const ScalarRow& row : scalar_table())
    for (const EagerException& e : row.eager.exceptions) {
      if (e.reason.find("never set") == std::string_view::npos) continue;
      ++rows;
      for (const Dtype dtype : {Dtype::f32, Dtype::f64})
        if (e.dtypes.has(dtype)) EXPECT_TRUE(leaves_nan_unset(row, dtype)) << row.name << ": " << e.when;
    }
  EXPECT_GT(rows, 0u);
}

TEST(RangeEnds, WhatIsNeverSetIsSoOfTheRowsDtypesAlone) {
  EXPECT_FALSE(leaves_nan_unset(*find_scalar("add"), Dtype::f32));
  EXPECT_FALSE(leaves_nan_unset(*find_scalar("special_shifted_chebyshev_polynomial_t"), Dtype::f16));
}

// Its float64 takes the same root: what powers of other numbers are is compared, infinities too.
TEST(RangeEnds, PowersByNumbersAreJudgedWhereFloat64TakesTheSameRoot) {
  const ScalarRow& pow = *find_scalar("pow");
  for (const Dtype dtype : {Dtype::f32, Dtype::f64}) EXPECT_FALSE(has_exception(pow, dtype));
  for (const Dtype dtype : {Dtype::f16, Dtype::bf16, Dtype::c64}) EXPECT_TRUE(has_exception(pow, dtype));
}

}  // namespace
}  // namespace lenz::oracle
