#include "fuzz/rapid.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "compiler/graph/text.h"
#include "compiler/graph/verify.h"
#include "compiler/ops/op_table.h"

namespace lenz::fuzz {
namespace {

const Pool& pool() {
  static const Pool p(op_table());
  return p;
}

RC_GTEST_PROP(Rapid, EveryCaseIsValid, ()) {
  const AnyCase c = *any_case(pool());
  RC_ASSERT(verify(*c.it->graph).empty());
  RC_ASSERT(print(*parse_case(c.it->text()).graph) == print(*c.it->graph));
}

bool reduces(const AnyCase& c) {
  bool some = false;
  c.it->graph->for_each_node([&](NodeId id) { some = some || c.it->graph->node(id).op->has(Trait::reduction); });
  return some;
}

// A property that every graph with a reduction breaks is broken by a graph of that alone in the end.
TEST(Rapid, WhatFailsBecomesSmall) {
  size_t found = 0;
  for (uint64_t seed = 0; seed < 40 && found < 3; ++seed) {
    auto shrinkable = any_case(pool())(rc::Random(seed), 10);
    if (!reduces(shrinkable.value()) || shrinkable.value().it->graph->node_count() < 4) continue;
    ++found;
    for (bool smaller = true; smaller;) {
      smaller = false;
      auto ways = shrinkable.shrinks();
      while (auto next = ways.next())
        if (reduces(next->value())) {
          shrinkable = std::move(*next);
          smaller = true;
          break;
        }
    }
    EXPECT_LE(shrinkable.value().it->graph->node_count(), 2u) << shrinkable.value();
    EXPECT_TRUE(verify(*shrinkable.value().it->graph).empty());
  }
  EXPECT_EQ(found, 3u);
}

}  // namespace
}  // namespace lenz::fuzz
