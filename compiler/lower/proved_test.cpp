// Loops of which nothing proves that they keep the rules are left to the host.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/graph/text.h"
#include "compiler/loops/text.h"
#include "compiler/lower/lower.h"
#include "compiler/ops/op_table.h"

namespace lenz {
namespace {

using testing::HasSubstr;
using testing::Not;

// Of no program that loads from %b a proof is found.
loops::ProgramVerdict blind(const loops::Program& program) {
  loops::ProgramVerdict verdict = loops::verify(program);
  size_t number = 0;
  loops::for_each_node(program.body, [&](const loops::Node& node) {
    if (const auto* nest = std::get_if<loops::Nest>(&node.is))
      for (const loops::Instr& i : nest->body)
        if (i.kind == loops::InstrKind::load && program.buffers[i.buffer].name == "b")
          verdict.violations.push_back({301, {number}, "nothing proves it", "a load"});
    ++number;
  });
  return verdict;
}

TEST(ProvedLowering, WhatIsNotProvedIsTheHosts) {
  const auto graph = parse_graph(
      "graph @g(%a: f32[4], %b: f32[4]) {\n  %x = aten.sin(%a)\n  %y = aten.sin(%b)\n  %z = aten.add(%x, %y)\n"
      "  return %z\n}\n",
      op_table());
  EXPECT_THAT(loops::print(lower_proved(*graph)), Not(HasSubstr("extern")));
  const std::string text = loops::print(lower_proved(*graph, {}, blind));
  EXPECT_THAT(text, testing::AllOf(HasSubstr("extern %y = aten.sin.default(%b)"), HasSubstr("load %a"),
                                   Not(HasSubstr("load %b"))))
      << text;
  EXPECT_THROW(lower_proved(*graph, {.externs = false}, blind), Unsupported);
}

TEST(ProvedLowering, WhatNoHostRunsIsNotCovered) {
  const auto graph = parse_graph("graph @g(%a: f32[4]) {\n  %x = aten.sin(%a)\n  return %x\n}\n", op_table());
  auto never = [](const loops::Program& program) {
    loops::ProgramVerdict verdict = loops::verify(program);
    verdict.violations.push_back({301, {}, "nothing proves it", "a load"});
    return verdict;
  };
  EXPECT_THROW(lower_proved(*graph, {}, never), Unsupported);
}

}  // namespace
}  // namespace lenz
