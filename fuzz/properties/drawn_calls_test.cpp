#include "fuzz/properties/drawn_calls.h"

#include <gtest/gtest.h>

#include "compiler/graph/infer.h"

namespace lenz::fuzz {
namespace {

// A call that is not there shows nowhere else: graphs grow without it.
TEST(DrawnCalls, AreRefusedByARuleThatRefusesTooMuch) {
  OpDef strict = *op_table().find("aten.logsumexp");
  strict.infer = [](Infer& in) {
    in.require(in.boolean("keepdim"), "`keepdim` must be true");
    in.result(in.tensor(0).tensor());
  };
  const OpDef* const wrong[] = {&strict};
  const auto failure = refused_call(wrong, 1, 16);
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->key(), "drawn_calls | rule of aten.logsumexp | refused");
  EXPECT_NE(failure->detail.find("keepdim=false"), std::string::npos) << failure->detail;
}

TEST(DrawnCalls, AreTakenByTheRows) {
  for (const auto& row : op_table().rows()) {
    if (!row->generate || !row->infer) continue;
    const OpDef* const one[] = {row.get()};
    const auto failure = refused_call(one, 7, 8);
    EXPECT_FALSE(failure) << failure->key() << "\n" << failure->detail;
  }
}

}  // namespace
}  // namespace lenz::fuzz
