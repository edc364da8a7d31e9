// Which results may take an operand's memory, and above all which may not.
#include "compiler/passes/postgrad/reuse.h"

#include <gtest/gtest.h>

#include "compiler/graph/text.h"
#include "compiler/ops/op_table.h"

namespace lenz {
namespace {

std::string candidates(std::string_view text) {
  auto graph = parse_graph(text, op_table());
  return print(*graph, reuse_candidates(*graph));
}

TEST(Reuse, OperandsThatNobodyReadsAnyMore) {
  EXPECT_EQ(candidates(R"(graph @g(%x: f32[4], %y: f32[4]) level core {
    %a = aten.add(%x, %y)
    %b = aten.exp(%a)
    %c = aten.mul(%y, %b)
    %d = aten.mul(%c, %c)
    return %d
  })"),
            "%b = aten.exp in the memory of %a\n"
            "%c = aten.mul.Tensor in the memory of %b\n"
            "%d = aten.mul.Tensor in the memory of %c\n");
}

TEST(Reuse, NotWhatIsReadLaterOrSeenFromOutside) {
  EXPECT_EQ(candidates(R"(graph @g(%x: f32[4]) level core {
    %a = aten.exp(%x)
    %b = aten.sin(%a)
    %c = aten.add(%b, %a)
    %d = aten.cos(%c)
    return %c, %d
  })"),
            "%c = aten.add.Tensor in the memory of %b\n")
      << "an input is the caller's, %a is read again, %c is returned";
}

TEST(Reuse, NotAnotherTypeNorAnotherOrderOfTheSameMemory) {
  EXPECT_EQ(candidates(R"(graph @g(%x: f32[4, 4], %y: f32[4]) level core {
    %a = aten.exp(%x)
    %t = aten.permute(%a, [1, 0])
    %b = aten.add(%a, %t)
    %e = aten.exp(%y)
    %c = aten.add(%e, %x)
    %f = aten.gt(%c, 0)
    return %b, %f
  })"),
            "")
      << "%b reads %a in two orders, %e is broadcast, %f is of bools";
}

TEST(Reuse, AnInputThatTheResultIsCopiedTo) {
  constexpr std::string_view kText = R"(graph @g(%x: f32[4] mut, %y: f32[4]) level core {
    %a = aten.add(%x, %y)
    %0 = aten.copy_(%x, %a)
    return %y
  })";
  EXPECT_EQ(candidates(kText), "%a = aten.add.Tensor in the memory of %x\n");
  EXPECT_EQ(candidates(R"(graph @g(%x: f32[4] mut, %y: f32[4]) level core {
    %a = aten.add(%x, %y)
    %b = aten.exp(%x)
    %0 = aten.copy_(%x, %a)
    return %b
  })"),
            "")
      << "%b reads what was there before";
}

}  // namespace
}  // namespace lenz
