// What rewrites would gain that are left out (compiler/passes/REFERENCE.md): each beside what stands in its place.
#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <benchmark/benchmark.h>

namespace lenz::oracle {
namespace {

at::Tensor random(at::IntArrayRef sizes) {
  at::set_num_threads(1);
  return at::randn(sizes, at::kFloat);
}

// Queries, keys and values of one input, of GPT-2's width. 0: three products; 1: one, of weights joined beforehand;
// 2: one, of weights that each call joins, for they are the caller's.
void joined_weights(benchmark::State& state) {
  at::NoGradGuard no_grad;
  constexpr int64_t kWidth = 768;
  at::Tensor x = random({state.range(0), kWidth}), weights[3];
  for (at::Tensor& w : weights) w = random({kWidth, kWidth});
  at::Tensor joined = at::cat({weights[0], weights[1], weights[2]});
  for (auto _ : state) {
    if (state.range(1) == 0)
      for (const at::Tensor& w : weights) benchmark::DoNotOptimize(at::linear(x, w));
    else if (state.range(1) == 1)
      benchmark::DoNotOptimize(at::linear(x, joined).split(kWidth, 1));
    else
      benchmark::DoNotOptimize(at::linear(x, at::cat({weights[0], weights[1], weights[2]})).split(kWidth, 1));
  }
}
BENCHMARK(joined_weights)
    ->Name("left_out/joined_weights")
    ->ArgsProduct({{1, 16, 256}, {0, 1, 2}})
    ->ArgNames({"rows", "way"})
    ->Unit(benchmark::kMicrosecond);

// A factor of each channel behind a convolution. 0: of the result; 1: of the weights, at each call; 2: beforehand.
void folded_factor(benchmark::State& state) {
  at::NoGradGuard no_grad;
  int64_t channels = state.range(0), side = state.range(1);
  at::Tensor x = random({1, channels, side, side}), w = random({channels, channels, 3, 3}), c = random({channels});
  at::Tensor folded = w * c.view({-1, 1, 1, 1});
  for (auto _ : state) {
    if (state.range(2) == 0)
      benchmark::DoNotOptimize(at::conv2d(x, w, {}, 1, 1) * c.view({1, -1, 1, 1}));
    else
      benchmark::DoNotOptimize(at::conv2d(x, state.range(2) == 2 ? folded : w * c.view({-1, 1, 1, 1}), {}, 1, 1));
  }
}
BENCHMARK(folded_factor)
    ->Name("left_out/folded_factor")
    ->ArgsProduct({{256}, {7, 28}, {0, 1, 2}})
    ->ArgNames({"channels", "side", "way"})
    ->Unit(benchmark::kMicrosecond);

// (a b) c. 0: both products; 1: the traffic of the product between, written and read once, which is all that a kernel
// of both could save.
void product_of_products(benchmark::State& state) {
  at::NoGradGuard no_grad;
  int64_t rows = state.range(0), inner = state.range(1);
  at::Tensor a = random({rows, 64}), b = random({64, inner}), c = random({inner, 64}), between = at::mm(a, b);
  for (auto _ : state) {
    if (state.range(2) == 0)
      benchmark::DoNotOptimize(at::mm(at::mm(a, b), c));
    else
      benchmark::DoNotOptimize(between.clone());
  }
}
BENCHMARK(product_of_products)
    ->Name("left_out/product_of_products")
    ->ArgsProduct({{1024}, {64, 1024}, {0, 1}})
    ->ArgNames({"rows", "inner", "way"})
    ->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace lenz::oracle
