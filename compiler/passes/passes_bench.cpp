// The clean-up passes with the runner around them: 100,000 nodes in under half a second, and no more than 12 times what
// 10,000 take.
#include <benchmark/benchmark.h>

#include "compiler/base/chooser.h"
#include "compiler/driver/pipeline.h"
#include "compiler/ops/op_table.h"
#include "compiler/passes/runner.h"

namespace lenz {
namespace {

// Layers of sums, products, copies, views, repeated calls and dead ends; one input and one value have very many users.
std::unique_ptr<Graph> large_graph(size_t nodes) {
  auto graph = std::make_unique<Graph>(std::make_shared<Context>(), op_table(), "large");
  Context& c = graph->context();
  const Type* type = c.tensor(contiguous_tensor(Dtype::f32, DimVec{Dim(16), Dim(32)}));
  std::vector<ValueId> values{graph->add_input("x", type), graph->add_input("w", type)};
  RandomChooser choose(1);
  const OpDef *add = op_table().find("aten.add.Tensor"), *mul = op_table().find("aten.mul.Tensor"),
              *clone = op_table().find("aten.clone"), *alias = op_table().find("aten.alias"),
              *sin = op_table().find("aten.sin"), *times = op_table().find("aten.mul.Scalar");
  while (graph->node_count() < nodes) {
    size_t n = values.size();
    Arg recent = Arg::of_value(values[n - 1 - choose.below(std::min<size_t>(n, 50))]);
    Arg hub = Arg::of_value(values[1]);
    NodeId id = kNone;
    switch (choose.below(8)) {
      case 0: id = graph->append(*clone, std::initializer_list<Arg>{recent}); break;
      case 1: id = graph->append(*alias, std::initializer_list<Arg>{recent}); break;
      case 2: id = graph->append(*times, std::initializer_list<Arg>{recent, Arg::of_int(1)}); break;
      case 3: id = graph->append(*add, std::initializer_list<Arg>{recent, hub}); break;
      case 4: id = graph->append(*mul, std::initializer_list<Arg>{hub, recent}); break;
      case 5: graph->append(*sin, std::initializer_list<Arg>{recent}); continue;  // nobody's
      default: id = graph->append(*sin, std::initializer_list<Arg>{recent}); break;
    }
    values.push_back(graph->node(id).result());
  }
  const Arg outputs[] = {Arg::of_value(values.back())};
  graph->set_outputs(outputs);
  return graph;
}

void clean_up(benchmark::State& state) {
  auto lines = select_passes("dead_code,common_subexpressions,constant_folding,noop_removal");
  auto original = large_graph(static_cast<size_t>(state.range(0)));
  for (auto _ : state) {
    state.PauseTiming();
    auto graph = original->clone();
    state.ResumeTiming();
    benchmark::DoNotOptimize(run_passes(*graph, lines).rewrites);
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(clean_up)->Arg(10'000)->Arg(100'000)->Unit(benchmark::kMillisecond);

void whole_pipeline(benchmark::State& state) {
  auto original = large_graph(static_cast<size_t>(state.range(0)));
  for (auto _ : state) {
    state.PauseTiming();
    auto graph = original->clone();
    state.ResumeTiming();
    benchmark::DoNotOptimize(run_passes(*graph, pipeline()).rewrites);
  }
}
BENCHMARK(whole_pipeline)->Arg(10'000)->Arg(100'000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace lenz
