#include "fuzz/properties/broken_calls.h"

#include <gtest/gtest.h>

#include "compiler/graph/infer.h"

namespace lenz::fuzz {
namespace {

// Illegal graphs are never grown: what a rule forgets to ask shows nowhere else.
TEST(BrokenCalls, AreTakenByARuleThatAsksTooLittle) {
  OpDef lax = *op_table().find("aten.mm");
  lax.infer = [](Infer& in) {
    DimVec sizes{in.tensor(0).sizes()[0], in.tensor(1).sizes()[1]};
    in.result(contiguous_tensor(in.tensor(0).dtype, sizes, in.tensor(0).device));
  };
  const OpDef* const wrong[] = {&lax};
  const auto failure = wrongly_taken_call(wrong, 1, 64);
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->key(), "broken_calls | rule of aten.mm | eager_raises");
  EXPECT_NE(failure->detail.find("after the change: "), std::string::npos) << failure->detail;
}

TEST(BrokenCalls, AreTakenByARuleWhoseResultLooksOtherwise) {
  OpDef wrong = *op_table().find("aten.sigmoid");
  wrong.infer = [](Infer& in) { in.result(in.tensor(0).tensor()); };  // of integers too
  const OpDef* const rows[] = {&wrong};
  const auto failure = wrongly_taken_call(rows, 3, 64);
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->property, "broken_calls");
}

// Of sizes that only the run knows a rule speaks as of several elements: eager lays out what has none otherwise.
TEST(BrokenCalls, MayHaveNoElementsWhereOnlyTheRunKnows) {
  const OpDef* const rows[] = {op_table().find("aten.index.Tensor")};
  const auto failure = wrongly_taken_call(rows, 5, 4000);
  EXPECT_FALSE(failure) << failure->key() << "\n" << failure->detail;
}

// What no integer type holds its row's words excuse, whichever it is.
TEST(BrokenCalls, MayBeRefusedForEachIntegersReach) {
  const OpDef* const rows[] = {op_table().find("aten.mse_loss_backward")};
  const auto failure = wrongly_taken_call(rows, 5, 20000);
  EXPECT_FALSE(failure) << failure->key() << "\n" << failure->detail;
}

// A result that has its shape says where the other one's dims go: as a copy, if it is read lazily.
TEST(BrokenCalls, WriteToWhatIsReadLazily) {
  const OpDef* const rows[] = {op_table().find("aten.frexp.Tensor_out")};
  const auto failure = wrongly_taken_call(rows, 5, 120000);
  EXPECT_FALSE(failure) << failure->key() << "\n" << failure->detail;
}

TEST(BrokenCalls, AreNotTakenByTheRows) {
  for (const auto& row : op_table().rows()) {
    if (!row->generate || !row->infer) continue;
    const OpDef* const one[] = {row.get()};
    const auto failure = wrongly_taken_call(one, 7, 8);
    EXPECT_FALSE(failure) << failure->key() << "\n" << failure->detail;
  }
}

}  // namespace
}  // namespace lenz::fuzz
