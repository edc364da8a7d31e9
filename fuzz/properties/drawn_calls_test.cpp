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
    op_table().find("aten.logsumexp")->infer(in);
  };
  const OpDef* const wrong[] = {&strict};
  const auto failure = misjudged_call(wrong, 1, 16);
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->key(), "drawn_calls | rule of aten.logsumexp | refused");
  EXPECT_NE(failure->detail.find("keepdim=false"), std::string::npos) << failure->detail;
}

// Of results nobody asks where no graph has the call: a row comes up in few.
TEST(DrawnCalls, AreHeldToWhatEagerGives) {
  OpDef wrong = *op_table().find("aten.logsumexp");
  wrong.infer = [](Infer& in) { in.result(in.tensor(0).tensor()); };
  const OpDef* const rows[] = {&wrong};
  const auto failure = misjudged_call(rows, 1, 16);
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->key(), "drawn_calls | rule of aten.logsumexp | sizes");
}

TEST(DrawnCalls, AreHeldToThemselvesWithOpenSizes) {
  OpDef wrong = *op_table().find("aten.cumsum");
  wrong.infer = [](Infer& in) {
    op_table().find("aten.cumsum")->infer(in);
    for (const Dim d : in.tensor(0).sizes()) in.require(d.is_constant(), "sizes must be numbers");
  };
  const OpDef* const rows[] = {&wrong};
  const auto failure = misjudged_call(rows, 1, 16);
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->key(), "drawn_calls | rule of aten.cumsum | symbolic");
}

TEST(DrawnCalls, AreNotRunWhereEagerDies) {
  RandomChooser choose(1);
  const OpDef &conv = *op_table().find("aten.conv1d"), &sum = *op_table().find("aten.sum");
  EXPECT_TRUE(eager_may_die(conv, draw_call(conv, op_table(), choose)));
  EXPECT_FALSE(eager_may_die(sum, draw_call(sum, op_table(), choose)));
}

TEST(DrawnCalls, AreTakenByTheRows) {
  for (const auto& row : op_table().rows()) {
    if (!row->generate || !row->infer) continue;
    const OpDef* const one[] = {row.get()};
    const auto failure = misjudged_call(one, 7, 8);
    EXPECT_FALSE(failure) << failure->key() << "\n" << failure->detail;
  }
}

}  // namespace
}  // namespace lenz::fuzz
