// The clean-up passes with the runner around them: 100,000 nodes in under half a second, and no more than 12 times what
// 10,000 take.
#include <benchmark/benchmark.h>

#include "compiler/base/chooser.h"
#include "compiler/driver/pipeline.h"
#include "compiler/ops/op_table.h"
#include "compiler/passes/runner.h"

namespace lenz {
namespace {

// A chain of sums, products, copies, views and repeated calls, nearly all of it alive, with dead ends beside it; one
// input has very many users.
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
    Arg last = Arg::of_value(values[n - 1]), hub = Arg::of_value(values[1]);
    Arg recent = Arg::of_value(values[n - 1 - choose.below(std::min<size_t>(n, 50))]);
    NodeId id = kNone;
    switch (choose.below(8)) {
      case 0: id = graph->append(*clone, std::initializer_list<Arg>{last}); break;
      case 1: id = graph->append(*alias, std::initializer_list<Arg>{last}); break;
      case 2: id = graph->append(*times, std::initializer_list<Arg>{last, Arg::of_int(1)}); break;
      case 3: id = graph->append(*add, std::initializer_list<Arg>{last, hub}); break;
      case 4: id = graph->append(*mul, std::initializer_list<Arg>{last, recent}); break;
      case 5: graph->append(*sin, std::initializer_list<Arg>{recent}); continue;  // nobody's
      case 6:                                                                     // the same call twice
        id = graph->append(*sin, std::initializer_list<Arg>{last});
        values.push_back(graph->node(id).result());
        id = graph->append(*sin, std::initializer_list<Arg>{last});
        id = graph->append(
            *add, std::initializer_list<Arg>{Arg::of_value(graph->node(id).result()), Arg::of_value(values.back())});
        break;
      default: id = graph->append(*sin, std::initializer_list<Arg>{last}); break;
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
    state.PauseTiming();  // giving the copy's memory back is no pass's work
    graph.reset();
    state.ResumeTiming();
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
  auto graph = original->clone();
  RunStatistics statistics = run_passes(*graph, lines);
  state.counters["rewrites"] = static_cast<double>(statistics.rewrites);
  state.counters["nodes left"] = static_cast<double>(graph->node_count());
}
BENCHMARK(clean_up)->Arg(10'000)->Arg(100'000)->Unit(benchmark::kMillisecond);

void whole_pipeline(benchmark::State& state) {
  auto original = large_graph(static_cast<size_t>(state.range(0)));
  for (auto _ : state) {
    state.PauseTiming();
    auto graph = original->clone();
    state.ResumeTiming();
    benchmark::DoNotOptimize(run_passes(*graph, pipeline()).rewrites);
    state.PauseTiming();
    graph.reset();
    state.ResumeTiming();
  }
}
BENCHMARK(whole_pipeline)->Arg(10'000)->Arg(100'000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace lenz
