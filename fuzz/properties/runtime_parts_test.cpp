#include "fuzz/properties/runtime_parts.h"

#include <gtest/gtest.h>

namespace lenz::fuzz {
namespace {

TEST(RuntimeParts, LinesAreSortedAsPlainly) {
  RandomChooser choose(61);
  for (int i = 0; i < 400; ++i) EXPECT_EQ(wrongly_sorted(choose), "");
}

TEST(RuntimeParts, ThreadsDoWhatTheirCallerWould) {
  RandomChooser choose(62);
  for (int i = 0; i < 8; ++i) EXPECT_EQ(wrongly_dealt(choose), "");
}

}  // namespace
}  // namespace lenz::fuzz
