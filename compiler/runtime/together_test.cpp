// Kernels that run as one job: which, by their memory. That they compute the same is what every run on several threads
// of the other rooms' tests says.
#include "compiler/runtime/together.h"

#include <gtest/gtest.h>

#include "compiler/loops/text.h"
#include "compiler/loops/verify.h"
#include "compiler/ops/op_table.h"

namespace lenz::runtime {
namespace {

int32_t nothing(void* const*, const int64_t*, const uint64_t*, int64_t, int64_t) { return 0; }

// Step::together of each step, of code that mentions all its kernels' buffers.
std::vector<uint32_t> together(const std::string& text) {
  const loops::Program program = loops::parse_program(text, op_table());
  loops::require_valid(program, "the test");
  KernelCode code;
  for (const loops::Node& node : program.body.nodes) {
    const auto* kernel = std::get_if<loops::Kernel>(&node.is);
    if (!kernel) continue;
    NativeKernel& native = code.kernels[kernel];
    native.function = nothing;
    for (const loops::Node& n : kernel->body->nodes) {
      const auto& nest = std::get<loops::Nest>(n.is);
      for (const loops::Instr& i : nest.body)
        if (i.kind == loops::InstrKind::load) native.arguments.buffers.push_back(i.buffer);
      for (const loops::Store& s : nest.stores) native.arguments.buffers.push_back(s.buffer);
    }
  }
  uint32_t count = 0;
  const std::unique_ptr<Tape> tape = make_tape(program, code, count);
  find_together(*tape, program, plan_memory(program));
  std::vector<uint32_t> made;
  for (const Step& step : tape->steps) made.push_back(step.together);
  return made;
}

// A kernel that makes `to` of `from`.
std::string negated(const std::string& from, const std::string& to) {
  return "  kernel {\n    for i < 8 {\n      %0 = load " + from + "[i]\n      %1 = neg.f32 %0\n      store " + to +
         "[i] = %1\n    }\n  }\n";
}
std::string buffers(std::initializer_list<const char*> names, const std::string& kind) {
  std::string text;
  for (const char* name : names) text += "  " + kind + " " + name + ": f32[8] placed\n";
  return text;
}
using Counts = std::vector<uint32_t>;

TEST(Together, WhatReadsTheSameAndWritesApart) {
  EXPECT_EQ(together("loops @p {\n" + buffers({"%x"}, "input") + buffers({"%a", "%b", "%c"}, "temp") +
                     negated("%x", "%a") + negated("%x", "%b") + negated("%x", "%c") + "  return %a, %b, %c\n}\n"),
            Counts({3, 0, 0}));
}

TEST(Together, NotWhatReadsAResult) {
  EXPECT_EQ(together("loops @p {\n" + buffers({"%x"}, "input") + buffers({"%a", "%b", "%c"}, "temp") +
                     negated("%x", "%a") + negated("%x", "%b") + negated("%a", "%c") + "  return %b, %c\n}\n"),
            Counts({2, 0, 1}));
}

// %b has the memory that %a had: its kernel does not read %a, but may not run beside the one that does.
TEST(Together, NotWhatSharesAPlaceInTheArena) {
  EXPECT_EQ(together("loops @p {\n" + buffers({"%x"}, "input") + buffers({"%a", "%b", "%c", "%d"}, "temp") +
                     negated("%x", "%a") + negated("%a", "%c") + negated("%x", "%b") + negated("%b", "%d") +
                     "  return %c, %d\n}\n"),
            Counts({1, 1, 1, 1}));
}

TEST(Together, WhatIsWrittenInPlace) {
  const std::string inputs = "  input %x: f32[8] placed mut\n  input %y: f32[8] placed mut\n";
  EXPECT_EQ(together("loops @p {\n" + inputs + negated("%x", "%x") + negated("%y", "%y") + "  return\n}\n"),
            Counts({2, 0}));
  EXPECT_EQ(together("loops @p {\n" + inputs + negated("%x", "%x") + negated("%x", "%y") + "  return\n}\n"),
            Counts({1, 1}));
}

// Of one class, they may overlap.
TEST(Together, NotInputsOfOneClass) {
  const std::string inputs = "  input %x: f32[8] placed mut alias m\n  input %y: f32[8] placed alias m\n";
  EXPECT_EQ(together("loops @p {\n" + inputs + buffers({"%a"}, "temp") + negated("%x", "%x") + negated("%y", "%a") +
                     "  return %a\n}\n"),
            Counts({1, 1}));
}

}  // namespace
}  // namespace lenz::runtime
