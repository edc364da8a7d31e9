// How fast the interpreter runs: small graphs of ten ops a second, and scalar operations a second.
#include "compiler/loops/interpret.h"

#include <benchmark/benchmark.h>

#include "compiler/loops/program_builder_test.h"

namespace lenz::loops {
namespace {
using namespace test;

Tensor filled(Ints sizes) {
  Tensor t(Dtype::f32, sizes);
  for (int64_t i = 0; i < t.numel(); ++i) t.put(i, ScalarValue(static_cast<double>(i % 17) / 16));
  return t;
}

void report(benchmark::State& state, const Results& results) {
  auto rate = [&](uint64_t each) {
    return benchmark::Counter(static_cast<double>(each), benchmark::Counter::kIsIterationInvariantRate);
  };
  if (results.ending != Ending::finished) state.SkipWithError(results.text.c_str());
  state.counters["operations"] = rate(results.counters.operations);
  state.counters["points"] = rate(results.counters.points);
  state.counters["accesses"] = rate(results.counters.loads + results.counters.stores);
}

// A nest for each of `ops` ops over vectors of `size` elements.
void chain(benchmark::State& state) {
  ProgramBuilder p;
  Dim n = p.symbol("n");
  BufferId last = p.input("x", Dtype::f32, {n}), y = p.input("y", Dtype::f32, {n});
  for (int64_t k = 0; k < state.range(0); ++k) {
    BufferId next = p.temporary("t" + std::to_string(k), Dtype::f32, {n});
    NestBuilder b = p.nest();
    Dim i = b.axis(n);
    b.store(next, {i}, b.scalar(k % 2 ? "mul" : "add", Dtype::f32, {p.load(b, last, {i}), p.load(b, y, {i})}));
    p.add(b);
    last = next;
  }
  p.output(last);
  const std::vector<InputValue> inputs{filled({state.range(1)}), filled({state.range(1)})};
  Results results;
  for (auto _ : state) results = interpret(p.program, inputs);
  report(state, results);
}
BENCHMARK(chain)->Args({10, 64})->Args({10, 100'000})->Unit(benchmark::kMicrosecond);

// The same ops in one nest.
void fused(benchmark::State& state) {
  ProgramBuilder p;
  Dim n = p.symbol("n");
  BufferId x = p.input("x", Dtype::f32, {n}), y = p.input("y", Dtype::f32, {n}),
           out = p.temporary("out", Dtype::f32, {n});
  NestBuilder b = p.nest();
  Dim i = b.axis(n);
  Ssa v = p.load(b, x, {i}), w = p.load(b, y, {i});
  for (int64_t k = 0; k < state.range(0); ++k) v = b.scalar(k % 2 ? "mul" : "add", Dtype::f32, {v, w});
  b.store(out, {i}, v);
  p.add(b);
  p.output(out);
  const std::vector<InputValue> inputs{filled({state.range(1)}), filled({state.range(1)})};
  Results results;
  for (auto _ : state) results = interpret(p.program, inputs);
  report(state, results);
}
BENCHMARK(fused)->Args({10, 64})->Args({10, 100'000})->Unit(benchmark::kMicrosecond);

void matmul(benchmark::State& state) {
  ProgramBuilder p;
  Dim m = p.symbol("m"), k = p.symbol("k"), n = p.symbol("n");
  BufferId a = p.input("a", Dtype::f32, {m, k}), c = p.input("b", Dtype::f32, {k, n}),
           out = p.temporary("out", Dtype::f32, {m, n});
  NestBuilder b = p.nest();
  Dim i = b.axis(m), j = b.axis(n), r = b.reduction(k);
  Ssa product = b.scalar("mul", Dtype::f32, {p.load(b, a, {i, r}), p.load(b, c, {r, j})});
  b.store(out, {i, j}, b.reduce(Combine::sum, Dtype::f32, {product}));
  p.add(b);
  p.output(out);
  const int64_t size = state.range(0);
  const std::vector<InputValue> inputs{filled({size, size}), filled({size, size})};
  Results results;
  for (auto _ : state) results = interpret(p.program, inputs);
  report(state, results);
}
BENCHMARK(matmul)->Arg(64)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace lenz::loops
