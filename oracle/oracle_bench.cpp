// What the oracle costs: eager execution of a graph beside the same calls written in C++, and the float64 reference
// with its bounds beside eager.
#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/grad_mode.h>
#include <benchmark/benchmark.h>

#include "compiler/graph/text.h"
#include "compiler/ops/op_table.h"
#include "oracle/aten.h"
#include "oracle/bounds/reference.h"

namespace lenz::oracle {
namespace {

// Ten ops as they stand in models: a product of matrices, a normalisation by hand, activations, a reduction.
std::unique_ptr<Graph> ten_ops(int64_t rows) {
  std::string n = std::to_string(rows);
  return parse_graph("graph @ten(%x: f32[" + n + ", 16], %w: f32[16, 16], %b: f32[16]) {\n" + R"(
    %h = aten.mm(%x, %w) %a = aten.add(%h, %b) %g = aten.sigmoid(%a) %y = aten.mul(%a, %g)
    %m = aten.mean(%y, [-1], keepdim=true) %c = aten.sub(%y, %m) %e = aten.exp(%c)
    %s = aten.sum(%e, [-1], keepdim=true) %p = aten.div(%e, %s) %t = aten.t(%p)
    return %t
  })",
                     op_table());
}

struct Setting {
  std::unique_ptr<Graph> graph;
  Boxed boxed{DeviceKind::cpu};
  Binding binding;
  std::vector<RunValue> inputs;

  explicit Setting(std::unique_ptr<Graph> g) : graph(std::move(g)) {
    quieten_libtorch();
    complete(binding, *graph);
    inputs = initial_inputs(*graph, boxed, binding);
  }
};

void executed(benchmark::State& state) {
  Setting s(ten_ops(state.range(0)));
  Executor executor(s.boxed);
  for (auto _ : state) benchmark::DoNotOptimize(executor.run(*s.graph, s.inputs, s.binding));
}
BENCHMARK(executed)->Name("oracle/eager_ten_ops/executor")->Arg(16)->Arg(256);

void written_in_cpp(benchmark::State& state) {
  Setting s(ten_ops(state.range(0)));
  const at::Tensor &x = s.inputs[0]->value.toTensor(), &w = s.inputs[1]->value.toTensor(),
                   &b = s.inputs[2]->value.toTensor();
  at::NoGradGuard no_grad;
  at::AutoDispatchBelowADInplaceOrView below;
  for (auto _ : state) {
    at::Tensor a = at::add(at::mm(x, w), b);
    at::Tensor y = at::mul(a, at::sigmoid(a));
    at::Tensor e = at::exp(at::sub(y, at::mean(y, {-1}, true)));
    benchmark::DoNotOptimize(at::t(at::div(e, at::sum(e, {-1}, true))));
  }
}
BENCHMARK(written_in_cpp)->Name("oracle/eager_ten_ops/cpp")->Arg(16)->Arg(256);

void bounded(benchmark::State& state) {
  Setting s(ten_ops(state.range(0)));
  Referee referee(s.boxed);
  for (auto _ : state) {
    Reference r = referee.run(*s.graph, s.inputs, s.binding);
    benchmark::DoNotOptimize(r);
  }
  state.counters["graphs"] = benchmark::Counter(static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
}
BENCHMARK(bounded)->Name("oracle/bounds_ten_ops")->Arg(4)->Arg(16)->Arg(64);

// Ten million elements.
std::unique_ptr<Graph> large() {
  return parse_graph(R"(graph @large(%x: f32[10000, 1000], %y: f32[10000, 1000]) {
    %a = aten.mul(%x, %y) %b = aten.add(%a, %x) %c = aten.tanh(%b) %d = aten.sub(%c, %y)
    %s = aten.sum(%d, [1], keepdim=true) %e = aten.mul(%d, %s) %r = aten.relu(%e)
    return %r
  })",
                     op_table());
}
void large_eager(benchmark::State& state) {
  Setting s(large());
  Executor executor(s.boxed);
  for (auto _ : state) benchmark::DoNotOptimize(executor.run(*s.graph, s.inputs, s.binding));
}
BENCHMARK(large_eager)->Name("oracle/ten_million_elements/eager")->Unit(benchmark::kMillisecond);
void large_bounded(benchmark::State& state) {
  Setting s(large());
  Referee referee(s.boxed);
  for (auto _ : state) {
    Reference r = referee.run(*s.graph, s.inputs, s.binding);
    benchmark::DoNotOptimize(r);
  }
}
BENCHMARK(large_bounded)->Name("oracle/ten_million_elements/bounds")->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace lenz::oracle
