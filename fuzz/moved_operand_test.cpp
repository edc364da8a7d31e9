// Eager rounds by how operands lie. Where a pass moves one, bits may differ, whatever other calls of the function do.
#include <gtest/gtest.h>

#include "compiler/graph/text.h"
#include "fuzz/reduce.h"

namespace lenz::fuzz {
namespace {

TEST(MovedOperand, OfOneCallAmongTwoThatLayAlikeMayRoundOtherwise) {
  const std::string file = std::string(LENZ_SOURCE_DIR) + "/corpus/regressions/one_of_two_laid_otherwise.lenz";
  const auto failure = failure_alone(parse_case(read_text(file, 1 << 20)), std::vector{find_property("exact_passes")});
  EXPECT_FALSE(failure) << failure->key() << failure->detail;
}

}  // namespace
}  // namespace lenz::fuzz
