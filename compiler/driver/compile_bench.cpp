// From a graph's text to its loop program, and small graphs to their results:
// * the exported GPT-2 of 12 layers in less than 150 ms;
// * 10,000 pointwise nodes in less than 300 ms, 100,000 in no more than 12 times that;
// * 1,000 graphs of ten ops on 64 elements a second, each lowered and interpreted.
#include "compiler/driver/compile.h"

#include <benchmark/benchmark.h>

#include "compiler/base/source.h"
#include "compiler/graph/text.h"
#include "compiler/loops/interpret.h"
#include "compiler/ops/op_table.h"

namespace lenz {
namespace {

void text_to_loops(benchmark::State& state, const std::string& text) {
  size_t nests = 0;
  for (auto _ : state) {
    auto graph = parse_graph(text, op_table());
    loops::Program program = to_loops(*graph);
    nests = 0;
    loops::for_each_node(program.body, [&](const loops::Node&) { ++nests; });
  }
  state.counters["loop nodes"] = static_cast<double>(nests);
}

void gpt2(benchmark::State& state) {
  text_to_loops(state, read_text(LENZ_SOURCE_DIR "/corpus/models/gpt2.lenz", size_t{1} << 24));
}
BENCHMARK(gpt2)->Unit(benchmark::kMillisecond);

// A chain of pointwise ops, each on what the last two gave.
std::string pointwise(int64_t nodes) {
  constexpr const char* kOps[] = {"add", "mul", "sub", "maximum"};
  std::string text = "graph @g(%v0: f32[s0, 64], %v1: f32[s0, 64]) {\n";
  for (int64_t i = 2; i < nodes + 2; ++i)
    text += "  %v" + std::to_string(i) + " = aten." + kOps[i % 4] + "(%v" + std::to_string(i - 1) + ", %v" +
            std::to_string(i - 2) + ")\n";
  return text + "  return %v" + std::to_string(nodes + 1) + "\n}\n";
}

void pointwise_graph(benchmark::State& state) { text_to_loops(state, pointwise(state.range(0))); }
BENCHMARK(pointwise_graph)->Arg(10'000)->Arg(100'000)->Unit(benchmark::kMillisecond);

// Lowered and run, from level core: what a fuzzer does all day.
void small_graphs(benchmark::State& state) {
  auto given = parse_graph(
      "graph @g(%x: f32[64], %y: f32[64]) {\n"
      "  %0 = aten.add(%x, %y)\n  %1 = aten.mul(%0, %x)\n  %2 = aten.sub(%1, %y)\n  %3 = aten.tanh(%2)\n"
      "  %4 = aten.maximum(%3, %x)\n  %5 = aten.neg(%4)\n  %6 = aten.abs(%5)\n  %7 = aten.add(%6, %0)\n"
      "  %8 = aten.relu(%7)\n  %9 = aten.mul(%8, %3)\n  return %9\n}\n",
      op_table());
  auto graph = to_level(*given, Level::core);
  loops::Tensor x(Dtype::f32, {64}), y(Dtype::f32, {64});
  for (int64_t i = 0; i < 64; ++i) {
    x.put(i, ScalarValue(static_cast<double>(i) / 16));
    y.put(i, ScalarValue(1 - static_cast<double>(i) / 32));
  }
  const std::vector<loops::InputValue> inputs{x, y};
  for (auto _ : state) {
    loops::Results results = loops::interpret(lower_graph(*graph), inputs);
    if (results.ending != loops::Ending::finished) state.SkipWithError(results.text.c_str());
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(small_graphs)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace lenz
