// The executor on the kinds of graph that differ in how they run: views and writes, sub-graphs, symbolic numbers,
// effects, data-dependent sizes, draws; and what it does when eager refuses.
#include "oracle/execute.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <cstring>

#include "compiler/graph/text.h"
#include "compiler/ops/op_table.h"
#include "oracle/compare.h"
#include "oracle/tensors.h"
#include "oracle/values_file.h"

namespace lenz::oracle {
namespace {

struct Ran {
  std::unique_ptr<Graph> graph;
  Execution run;
  std::vector<std::string> printed;
};

Ran run(std::string_view text, ExecuteOptions options = {}, const std::string& bind = "") {
  Ran r;
  r.graph = parse_graph(text, op_table());
  Boxed boxed(DeviceKind::cpu);
  Binding binding = parse_binding(bind, *r.graph);
  complete(binding, *r.graph);
  options.print = [&](const std::string& line) { r.printed.push_back(line); };
  r.run = Executor(boxed, options).run(*r.graph, initial_inputs(*r.graph, boxed, binding), binding);
  return r;
}

template <class T>
std::vector<T> as(const RunValue& v) {
  std::vector<std::byte> bytes = elements_of(v);
  std::vector<T> all(bytes.size() / sizeof(T));
  std::memcpy(all.data(), bytes.data(), bytes.size());
  return all;
}

TEST(Execute, WritesThroughViewsReachTheInput) {
  Ran r = run(R"(graph @g(%x: f32[2, 3] mut init zeros) {
    %v = aten.select(%x, 0, 1)
    %w = aten.add_(%v, 2.5)
    return %v
  })");
  EXPECT_EQ(as<float>(r.run.inputs[0]), (std::vector<float>{0, 0, 0, 2.5, 2.5, 2.5}));
  EXPECT_EQ(look(r.run.outputs[0]).storage, look(r.run.inputs[0]).storage);
}

TEST(Execute, InputsOfOneAliasClassShareMemory) {
  Ran r = run(R"(graph @g(%x: f32[4] alias a mut init zeros, %y: f32[4] alias a init zeros) {
    %w = aten.add_(%x, 1.0)
    %r = aten.clone(%y)
    return %r
  })");
  EXPECT_EQ(as<float>(r.run.outputs[0]), (std::vector<float>{1, 1, 1, 1}));
}

TEST(Execute, LoopsCarryAndStop) {
  constexpr std::string_view kLoop = R"(graph @g() {
    %i = lenz.constant(i64[] [0])
    %x = lenz.constant(i64[] [1])
    %n, %p = lenz.while_loop(@more, @step, [%i, %x])
    return %n, %p
  }
  graph @more(%i: i64[], %x: i64[]) {
    %c = aten.lt(%i, 10)
    return %c
  }
  graph @step(%i: i64[], %x: i64[]) {
    %j = aten.add(%i, 1)
    %y = aten.mul(%x, 2)
    return %j, %y
  })";
  EXPECT_EQ(as<int64_t>(run(kLoop).run.outputs[1]), std::vector<int64_t>{1024});
  ExecuteOptions options;
  options.loop_limit = 5;
  Ran r = run(kLoop, options);
  EXPECT_EQ(r.run.ending, Ending::raised);
  EXPECT_THAT(r.run.text, testing::HasSubstr("5 iterations"));
  EXPECT_THAT(r.run.where, testing::HasSubstr("while_loop"));
}

// What a body writes by `out=` is resized: the next iteration is handed other dims than it declares, and is told.
TEST(Execute, LoopsThatResizeWhatTheyWriteToAreNotRun) {
  constexpr std::string_view kText = R"(graph @g(%y: f32[3, 1] init ones) {
    %i = lenz.constant(i64[] [0])
    %out = lenz.constant(f32[0] [])
    %lies = aten.as_strided(%out, [0], [3])
    %n, %p = lenz.while_loop(@more, @step, [%i, %y], additional=[%lies])
    return %n, %p
  }
  graph @more(%i: i64[], %y: f32[3, 1], %out: f32[0] strides [3]) {
    %c = aten.lt(%i, 3)
    return %c
  }
  graph @step(%i: i64[], %y: f32[3, 1], %out: f32[0] strides [3] mut) {
    %negative = aten.neg(%y, out=%out)
    %j = aten.add(%i, 1)
    %z = aten.clone(%negative)
    return %j, %z
  })";
  try {
    run(kText);
    FAIL() << "it ran";
  } catch (const Unsupported& refused) {
    EXPECT_THAT(refused.what(), testing::HasSubstr("input %out is f32[3, 1], not f32[0]"));
  }
}

TEST(Execute, ScansStack) {
  Ran r = run(R"(graph @g(%xs: i64[5] init ones) {
    %z = lenz.constant(i64[] [0])
    %last, %all = lenz.scan(@combine, [%z], [%xs])
    return %last, %all
  }
  graph @combine(%c: i64[], %x: i64[]) {
    %s = aten.add(%c, %x)
    %t = aten.mul(%s, 10)
    return %s, %t
  })");
  EXPECT_EQ(as<int64_t>(r.run.outputs[0]), std::vector<int64_t>{5});
  EXPECT_EQ(as<int64_t>(r.run.outputs[1]), (std::vector<int64_t>{10, 20, 30, 40, 50}));
}

// The second step sees what the first one resized: nobody's fault, and no type says it.
TEST(Execute, ATensorThatAStepResizesIsUnsupported) {
  EXPECT_THROW(run(R"(graph @g(%xs: f32[2, 3] init ones, %to: f32[0] mut init ones) {
    %all = lenz.scan(@step, [], [%xs], additional=[%to])
    return
  }
  graph @step(%x: f32[3], %to: f32[0] mut) {
    %s = aten.sin(%x, out=%to)
    %y = aten.cos(%x)
    return %y
  })"),
               Unsupported);
}

TEST(Execute, BranchesGiveTensorsOfTheirOwn) {
  Ran r = run(R"(graph @g(%p: bool[] init ones, %x: f32[3]) {
    %r = lenz.cond(%p, @same, @other, [%x])
    return %r
  }
  graph @same(%x: f32[3]) {
    return %x
  }
  graph @other(%x: f32[3]) {
    %y = aten.neg(%x)
    return %y
  })");
  EXPECT_EQ(as<float>(r.run.outputs[0]), as<float>(r.run.inputs[1]));
  EXPECT_NE(look(r.run.outputs[0]).storage, look(r.run.inputs[1]).storage);
}

TEST(Execute, BranchesGiveMemoryThatIsReadAsItLies) {
  Ran r = run(R"(graph @g(%p: bool[] init ones, %x: c64[3]) {
    %r = lenz.cond(%p, @lazily, @as_it_lies, [%x])
    return %r
  }
  graph @lazily(%x: c64[3]) {
    %y = aten.neg(%x)
    %z = aten._conj(%y)
    return %z
  }
  graph @as_it_lies(%x: c64[3]) {
    %y = aten.neg(%x)
    return %y
  })");
  EXPECT_FALSE(lazy_of(r.run.outputs[0]).conjugate);
}

TEST(Execute, SymbolicNumbersAreWhatTheirTypesSay) {
  Ran r = run(R"(graph @g(%x: f32[s0, 4]) where s0 in 2..64 {
    %n = aten.sym_size(%x, 0)
    %m = lenz.sym_mul(%n, 3)
    %z = aten.zeros([%m])
    return %z
  })",
              {}, "s0=7");
  EXPECT_EQ(look(r.run.outputs[0]).sizes[0], 21);
}

TEST(Execute, SizesOfTheRunBindTheirSymbols) {
  Ran r = run(R"(graph @g(%x: f32[6] init ones) {
    %i = aten.nonzero(%x)
    %n = aten.sym_size(%i, 0)
    %z = aten.zeros([%n, 2])
    return %z
  })");
  EXPECT_EQ(look(r.run.outputs[0]).sizes[0], 6);
}

TEST(Execute, EffectsComeInOrder) {
  constexpr std::string_view kText = R"(graph @g(%ok: bool[] init INIT) level aten {
    %t0 = lenz.make_token()
    %t1 = lenz.print(%t0, "before", [])
    %t2 = lenz.assert(%t1, %ok, "it must be so")
    %t3 = lenz.print(%t2, "after {}", [7])
    return %t3
  })";
  auto with = [&](const std::string& init) {
    std::string text(kText);
    return text.replace(text.find("INIT"), 4, init);
  };
  EXPECT_EQ(run(with("ones")).printed, (std::vector<std::string>{"before", "after 7"}));
  Ran r = run(with("zeros"));
  EXPECT_EQ(r.run.ending, Ending::raised);
  EXPECT_EQ(r.run.text, "it must be so");
  EXPECT_EQ(r.printed, std::vector<std::string>{"before"});
}

TEST(Execute, RunsThatPrintOtherwiseDiffer) {
  auto printing = [](const std::string& format, const std::string& value) {
    return run(
        "graph @g(%x: f32[2] init ones, %y: f32[2] init zeros, %z: f32[3] init ones) { %t = lenz.make_token() "
        "%u = lenz.print(%t, \"" +
        format + "\", [" + value + "]) return %x }");
  };
  const Ran first = printing("{}", "%x");
  auto unlike = [&](const std::string& format, const std::string& value) {
    auto mismatch = compare_runs(*first.graph, first.run, printing(format, value).run);
    return mismatch ? mismatch->summary() : "";
  };
  EXPECT_EQ(unlike("{}", "%x"), "");
  EXPECT_THAT(unlike("x {}", "%x"), testing::HasSubstr("line 0 that is printed"));
  EXPECT_THAT(unlike("{}", "%y"), testing::HasSubstr("expected 1, got 0"));
  EXPECT_THAT(unlike("{}", "%z"), testing::HasSubstr("expected f32[2], got f32[3]"));
  EXPECT_THAT(unlike("{}", "1"), testing::HasSubstr("expected f32[2], got 1"));
}

TEST(Execute, ARefusalIsAnOutcomeWithItsPlace) {
  Ran r = run(R"(graph @g(%x: f32[4], %i: i64[2] init integers(9, 12)) {
    %s = aten.sin(%x)
    %r = aten.index_select(%s, 0, %i)
    return %r
  })");
  EXPECT_EQ(r.run.ending, Ending::raised);
  EXPECT_THAT(r.run.text, testing::HasSubstr("index out of range"));
  EXPECT_THAT(r.run.where, testing::HasSubstr("%r = aten.index_select"));
}

TEST(Execute, ValuesAreLetGoAfterTheirLastUse) {
  std::string text = "graph @g(%x: f32[1000]) {\n  %0 = aten.sin(%x)\n";
  for (int i = 1; i < 50; ++i) text += "  %" + std::to_string(i) + " = aten.sin(%" + std::to_string(i - 1) + ")\n";
  ExecuteOptions limited;
  limited.memory_limit = 1 << 20;
  Ran r = run(text + "  return %49\n}\n", limited);
  EXPECT_EQ(r.run.ending, Ending::finished);
  EXPECT_EQ(r.run.peak_memory, 3u * 4000);  // the input, and a node's operand and result
}

TEST(Execute, ASeedGivesTheSameDraws) {
  constexpr std::string_view kText = "graph @g() {\n  %r = aten.rand([8])\n  return %r\n}\n";
  ExecuteOptions a, b;
  a.ambient_seed = 3;
  b.ambient_seed = 4;
  EXPECT_EQ(as<float>(run(kText, a).run.outputs[0]), as<float>(run(kText, a).run.outputs[0]));
  EXPECT_NE(as<float>(run(kText, a).run.outputs[0]), as<float>(run(kText, b).run.outputs[0]));
}

TEST(Execute, ListsAreInputsToo) {
  Ran r = run("graph @g(%xs: [f32[2], f32[3]]) {\n  %r = aten.cat(%xs)\n  return %r\n}\n");
  EXPECT_EQ(look(r.run.outputs[0]).sizes[0], 5);
}

TEST(Execute, DevicesThatAreNotHereAreSaid) {
  EXPECT_THROW(run("graph @g(%x: f32[2] on cuda:0) {\n  %r = aten.sin(%x)\n  return %r\n}\n"), Unsupported);
}

TEST(Binding, NamesWhatDoesNotHold) {
  auto graph = parse_graph("graph @g(%x: f32[s0]) where s0 in 2..64, s0 % 8 == 0 {\n  return %x\n}\n", op_table());
  for (const char* bad : {"s0=7", "s0=72", "s0=16,s0=24"})
    EXPECT_THROW(
        {
          Binding b = parse_binding(bad, *graph);
          complete(b, *graph);
          check_facts(b, *graph);
        },
        UserError)
        << bad;
  for (const char* bad : {"s1=8", "s0", "s0=x", "=3"}) EXPECT_THROW(parse_binding(bad, *graph), UserError) << bad;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Binding b;
    complete(b, *graph, seed);
    EXPECT_NO_THROW(check_facts(b, *graph)) << to_text(b, *graph);
  }
}

TEST(Binding, SizesThatNoTensorHasAreRefused) {
  auto graph = parse_graph("graph @g(%x: f32[s0]) {\n  return %x\n}\n", op_table());
  EXPECT_THROW(check_facts(parse_binding("s0=-1", *graph), *graph), UserError);
  for (const char* huge : {"s0=4611686018427387904", "s0=9223372036854775807"})
    EXPECT_THROW(run("graph @g(%x: f32[s0]) {\n  return %x\n}\n", {}, huge), Unsupported) << huge;
}

TEST(Binding, EquationsSayTheRest) {
  auto graph =
      parse_graph("graph @g(%x: f32[s0, s1, s2]) where s1 == 2*s0, s2 == s1 + 1 {\n  return %x\n}\n", op_table());
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Binding b = parse_binding("s0=3", *graph);
    complete(b, *graph, seed);
    EXPECT_EQ(to_text(b, *graph), "s0=3,s1=6,s2=7") << seed;
  }
}

#ifndef LENZ_ADDRESS_SANITIZER  // its allocator ends the process
TEST(Execute, MoreMemoryThanThereIsIsSaid) {
  constexpr const char* made = "graph @g() {\n  %r = aten.ones([1000000, 1000000, 1000])\n  return %r\n}\n";
  EXPECT_EQ(run(made).run.ending, Ending::out_of_memory);
  EXPECT_THROW(run("graph @g(%x: f32[1000000, 1000000, 1000]) {\n  return %x\n}\n"), Unsupported);
}
#endif

TEST(Execute, InputsCountAgainstTheLimit) {
  ExecuteOptions options;
  options.memory_limit = 100;
  Ran r = run("graph @g(%x: f32[26]) {\n  return %x\n}\n", options);
  EXPECT_EQ(r.run.ending, Ending::out_of_memory);
  EXPECT_EQ(r.run.where, "the inputs of @g");
}

// Not once it has been taken. A view takes nothing.
TEST(Execute, WhatHasNoRoomIsNotMade) {
  ExecuteOptions options;
  options.memory_limit = 4000;
  Ran r = run("graph @g(%x: f32[8]) {\n  %a = aten.expand(%x, [1000, 8])\n  %b = aten.mul(%a, 2.0)\n  return %b\n}\n",
              options);
  EXPECT_EQ(r.run.ending, Ending::out_of_memory);
  EXPECT_NE(r.run.where.find("aten.mul"), std::string::npos) << r.run.where;
  EXPECT_LE(r.run.peak_memory, 4000u);
}

TEST(Text, ComplexTensorsShowBothParts) {
  Ran r = run("graph @g() {\n  %r = lenz.constant(c64[1] [complex(1.5, -2.5)])\n  return %r\n}\n");
  std::string text = to_text(r.run.outputs[0]);
  EXPECT_NE(text.find("1.5"), std::string::npos) << text;
  EXPECT_NE(text.find("-2.5"), std::string::npos) << text;
}

// Its schema does not say that it is a view, as eager makes it of others.
TEST(Execute, AViewOfWhatIsLazilyNegatedIsNoCopy) {
  Ran r = run("graph @g(%x: f32[2] init ones) { %n = aten._neg_view(%x) %y = aten.atleast_1d(%n) return %n, %y }");
  EXPECT_EQ(look(r.run.outputs[0]).storage, look(r.run.outputs[1]).storage);
  EXPECT_EQ(as<float>(r.run.outputs[1]), (std::vector<float>{-1, -1}));
}

// What is strung together of what is strung together of others sees it as it lies, too: under autograd's keys, as
// PyTorch's callers have it, no key materialises it first. Channels come last in the copy alone.
TEST(Execute, WhatIsLazilyNegatedReachesInnerStepsAsItLies) {
  Ran r =
      run("graph @g(%x: bf16[3, 3, 3, 4] strides [36, 1, 4, 1] init ones) {\n  %n = aten._neg_view(%x)\n"
          "  %y = aten.rms_norm(%n, [4])\n  return %y\n}\n");
  EXPECT_EQ(look(r.run.outputs[0]).strides, (SmallVec<int64_t, 6>{36, 12, 4, 1}));
}

TEST(ValuesFile, ResultsComeBackAsInputs) {
  auto graph = parse_graph(R"(graph @g(%x: bf16[s0, 3] strides [1, s0] mut) where s0 in 2..9 {
    %w = aten.neg_(%x)
    return %w
  })",
                           op_table());
  Boxed boxed(DeviceKind::cpu);
  Binding binding = parse_binding("s0=4", *graph);
  std::string path = testing::TempDir() + "values_file_" + std::to_string(getpid()) + ".npz";
  Execution first = Executor(boxed).run(*graph, initial_inputs(*graph, boxed, binding, 5), binding);
  write_results(path, *graph, first);
  Binding read;
  std::vector<RunValue> inputs = read_inputs(path, *graph, boxed, read, 0);
  EXPECT_EQ(look(inputs[0]).sizes[0], 4);
  EXPECT_EQ(elements_of(inputs[0]), elements_of(first.inputs[0]));
  auto other = parse_graph("graph @g(%x: f32[4, 3]) {\n  return %x\n}\n", op_table());
  Binding none;
  EXPECT_THROW(read_inputs(path, *other, boxed, none, 0), UserError);
}

}  // namespace
}  // namespace lenz::oracle
