// Time to parse, verify, print and compare graphs, and bytes a node.
#include <benchmark/benchmark.h>

#include "compiler/graph/diff.h"
#include "compiler/graph/equal.h"
#include "compiler/graph/text.h"
#include "compiler/graph/verify.h"
#include "compiler/ops/op_table.h"

namespace lenz {
namespace {

// A chain of blocks as models have them: linear layers, activations, residuals, views, reductions, over a dynamic
// batch.
std::string model_text(size_t nodes) {
  std::string text = "graph @model(%x0: f32[s0, 16, 64], %w: f32[64, 64], %b: f32[64]) where s0 in 2..4096 {\n";
  std::string last = "x0";
  for (size_t i = 0, made = 0; made < nodes; ++i) {
    std::string n = std::to_string(i);
    text += "  %lin_" + n + " = aten.linear(%" + last + ", %w, %b)\n";
    text += "  %act_" + n + " = aten.sigmoid(%lin_" + n + ")\n";
    text += "  %scaled_" + n + " = aten.mul(%act_" + n + ", 0.125)\n";
    text += "  %t_" + n + " = aten.transpose(%scaled_" + n + ", 1, 2)\n";
    text += "  %m_" + n + " = aten.mean(%t_" + n + ", [-1], keepdim=true)\n";
    text += "  %back_" + n + " = aten.transpose(%m_" + n + ", 1, 2)\n";
    text += "  %res_" + n + " = aten.add(%lin_" + n + ", %back_" + n + ", alpha=2)\n";
    text += "  %v_" + n + " = aten.view(%res_" + n + ", [s0, 4, 4, 64])\n";
    text += "  %f_" + n + " = aten.view(%v_" + n + ", [s0, 16, 64])\n";
    text += "  %y_" + n + " = aten.clamp(%f_" + n + ", min=-1.0, max=1.0)\n";
    last = "y_" + n;
    made += 10;
  }
  return text + "  return %" + last + "\n}\n";
}

void per_node(benchmark::State& state, size_t nodes) {
  state.counters["node"] = benchmark::Counter(
      static_cast<double>(nodes), benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

void parse_verify_print(benchmark::State& state) {
  auto nodes = static_cast<size_t>(state.range(0));
  std::string text = model_text(nodes);
  op_table();
  double bytes = 0;
  for (auto _ : state) {
    auto graph = parse_graph(text, op_table());
    if (!verify(*graph).empty()) state.SkipWithError("not valid");
    std::string printed = print(*graph);
    benchmark::DoNotOptimize(printed.data());
    bytes = static_cast<double>(graph->memory_bytes());
  }
  per_node(state, nodes);
  state.counters["bytes/node"] = bytes / static_cast<double>(nodes);
}
BENCHMARK(parse_verify_print)->Arg(1'000)->Arg(10'000)->Arg(100'000)->Unit(benchmark::kMillisecond);

// Every node makes a symbol, about which the facts say something in terms of one and the same.
void parse_verify_unbacked(benchmark::State& state) {
  auto nodes = static_cast<size_t>(state.range(0));
  std::string text = "graph @g(%x: f32[m]) {\n";
  for (size_t i = 0; i < nodes; ++i) text += "  %z" + std::to_string(i) + " = aten.nonzero(%x)\n";
  text += "  return %x\n}\n";
  op_table();
  for (auto _ : state)
    if (!verify(*parse_graph(text, op_table())).empty()) state.SkipWithError("not valid");
  per_node(state, nodes);
}
BENCHMARK(parse_verify_unbacked)->Arg(500)->Arg(2'000)->Unit(benchmark::kMillisecond);

void parse(benchmark::State& state) {
  std::string text = model_text(static_cast<size_t>(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(parse_graph(text, op_table()));
  per_node(state, static_cast<size_t>(state.range(0)));
}
BENCHMARK(parse)->Arg(10'000)->Unit(benchmark::kMillisecond);

template <class F>
void on_model(benchmark::State& state, F&& work) {
  auto graph = parse_graph(model_text(static_cast<size_t>(state.range(0))), op_table());
  for (auto _ : state) work(*graph);
  per_node(state, static_cast<size_t>(state.range(0)));
}

void verify_model(benchmark::State& state) {
  on_model(state, [](const Graph& g) { benchmark::DoNotOptimize(verify(g)); });
}
BENCHMARK(verify_model)->Arg(10'000)->Unit(benchmark::kMillisecond);

void print_model(benchmark::State& state) {
  on_model(state, [](const Graph& g) { benchmark::DoNotOptimize(print(g)); });
}
BENCHMARK(print_model)->Arg(10'000)->Unit(benchmark::kMillisecond);

void hash_model(benchmark::State& state) {
  on_model(state, [](const Graph& g) { benchmark::DoNotOptimize(structural_hash(g)); });
}
BENCHMARK(hash_model)->Arg(10'000)->Unit(benchmark::kMillisecond);

void equal_model(benchmark::State& state) {
  auto other = parse_graph(model_text(static_cast<size_t>(state.range(0))), op_table());
  on_model(state, [&](const Graph& g) { benchmark::DoNotOptimize(structurally_equal(g, *other)); });
}
BENCHMARK(equal_model)->Arg(10'000)->Unit(benchmark::kMillisecond);

void clone_model(benchmark::State& state) {
  on_model(state, [](const Graph& g) { benchmark::DoNotOptimize(g.clone()); });
}
BENCHMARK(clone_model)->Arg(10'000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace lenz
