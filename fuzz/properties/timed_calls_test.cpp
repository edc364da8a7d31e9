#include "fuzz/properties/timed_calls.h"

#include <gtest/gtest.h>

#include "compiler/graph/text.h"
#include "compiler/ops/op_table.h"

namespace lenz::fuzz {
namespace {

TEST(TimedCalls, WhatMemoryEndsIsNotCovered) {
  const auto graph = parse_graph("graph @g() {\n  return\n}\n", op_table());
  oracle::Execution finished, raised, ended;
  raised.ending = oracle::Ending::raised;
  ended.ending = oracle::Ending::out_of_memory;
  EXPECT_FALSE(timed_otherwise(*graph, finished, finished));
  EXPECT_FALSE(timed_otherwise(*graph, raised, raised));
  EXPECT_TRUE(timed_otherwise(*graph, finished, raised));
  EXPECT_THROW(timed_otherwise(*graph, finished, ended), Unsupported);
  EXPECT_THROW(timed_otherwise(*graph, ended, finished), Unsupported);
}

}  // namespace
}  // namespace lenz::fuzz
