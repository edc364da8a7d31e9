// What rewrites would gain that are left out (compiler/passes/REFERENCE.md) because the stages behind the graph do
// their work: two graphs of the same values, as machine code on all cores, arg 0 as it stands and arg 1 as rewritten.
#include <benchmark/benchmark.h>

#include "compiler/driver/build.h"
#include "compiler/graph/text.h"
#include "compiler/ops/op_table.h"
#include "oracle/draw_inputs.h"
#include "oracle/native_run.h"

namespace lenz::oracle {
namespace {

struct Pair {
  const char *name, *graphs[2];
};

constexpr Pair kPairs[] = {
    {"cat_behind_pointwise",
     {"graph @g(%x: f32[256, 512], %y: f32[256, 512]) { %c = aten.cat([%x, %y], 1) %r = aten.relu(%c) return %r }",
      "graph @g(%x: f32[256, 512], %y: f32[256, 512]) { %a = aten.relu(%x) %b = aten.relu(%y) %r = aten.cat([%a, %b], "
      "1) "
      "return %r }"}},
    {"bmm_of_one_batch",
     {"graph @g(%x: f32[1, 128, 128], %y: f32[1, 128, 128]) { %r = aten.bmm(%x, %y) return %r }",
      "graph @g(%x: f32[1, 128, 128], %y: f32[1, 128, 128]) { %a = aten.squeeze(%x, 0) %b = aten.squeeze(%y, 0) "
      "%m = aten.mm(%a, %b) %r = aten.unsqueeze(%m, 0) return %r }"}},
    {"mm_plus_mm",
     {"graph @g(%a: f32[256, 64], %b: f32[64, 256], %c: f32[256, 64], %d: f32[64, 256]) { %m = aten.mm(%a, %b) "
      "%n = aten.mm(%c, %d) %r = aten.add(%m, %n) return %r }",
      "graph @g(%a: f32[256, 64], %b: f32[64, 256], %c: f32[256, 64], %d: f32[64, 256]) { %l = aten.cat([%a, %c], 1) "
      "%k = aten.cat([%b, %d], 0) %r = aten.mm(%l, %k) return %r }"}},
    {"bias_of_a_product",
     {"graph @g(%x: f32[256, 256], %w: f32[256, 256], %b: f32[256]) { %m = aten.mm(%x, %w) %s = aten.add(%m, %b) "
      "%r = aten.gelu(%s) return %r }",
      "graph @g(%x: f32[256, 256], %w: f32[256, 256], %b: f32[256]) { %s = aten.addmm(%b, %x, %w) %r = aten.gelu(%s) "
      "return %r }"}},
    {"padded_product",
     {"graph @g(%x: f32[255, 255], %y: f32[255, 255]) { %r = aten.mm(%x, %y) return %r }",
      "graph @g(%x: f32[255, 255], %y: f32[255, 255]) { %a = aten.constant_pad_nd(%x, [0, 1]) "
      "%b = aten.constant_pad_nd(%y, [0, 1, 0, 1]) %m = aten.mm(%a, %b) %r = aten.slice(%m, 1, 0, 255) return %r }"}},
    {"padded_convolution",
     {"graph @g(%x: f32[1, 32, 28, 28], %w: f32[32, 32, 3, 3]) { %p = aten.constant_pad_nd(%x, [1, 1, 1, 1]) "
      "%r = aten.conv2d(%p, %w) return %r }",
      "graph @g(%x: f32[1, 32, 28, 28], %w: f32[32, 32, 3, 3]) { %r = aten.conv2d(%x, %w, padding=[1, 1]) return %r "
      "}"}},
    {"rsqrt",
     {"graph @g(%x: f32[262144] init uniform(1, 2, seed=1)) { %s = aten.sqrt(%x) %r = aten.reciprocal(%s) return %r }",
      "graph @g(%x: f32[262144] init uniform(1, 2, seed=1)) { %r = aten.rsqrt(%x) return %r }"}},
    {"division_by_a_constant",
     {"graph @g(%x: f32[262144]) { %r = aten.div(%x, 3.0) return %r }",
      "graph @g(%x: f32[262144]) { %r = aten.mul(%x, 0.3333333333333333) return %r }"}},
    {"full_scatter",
     {"graph @g(%i: i64[256, 1] init integers(0, 1023, seed=1)) { %z = aten.zeros([256, 1024]) "
      "%r = aten.scatter(%z, 1, %i, 1.0) return %r }",
      "graph @g(%i: i64[256, 1] init integers(0, 1023, seed=1)) { %n = aten.arange(1024) %e = aten.eq(%i, %n) "
      "%r = aten.to(%e, dtype=f32) return %r }"}},
    {"memory_bound_product",
     {"graph @g(%x: f32[16384, 8], %y: f32[8, 8]) { %r = aten.mm(%x, %y) return %r }",
      "graph @g(%x: f32[16384, 8], %y: f32[8, 8]) { %a = aten.unsqueeze(%x, 2) %p = aten.mul(%a, %y) "
      "%r = aten.sum(%p, [1]) return %r }"}},
    {"added_at_a_permutation",
     {"graph @g(%x: f32[1024, 256], %y: f32[1024, 256]) { %p = aten.randperm(1024) "
      "%r = aten.index_add(%x, 0, %p, %y) return %r }",
      "graph @g(%x: f32[1024, 256], %y: f32[1024, 256]) { %p = aten.randperm(1024) %o = aten.index(%x, [%p]) "
      "%s = aten.add(%o, %y) %r = aten.index_put(%x, [%p], %s) return %r }"}},
    {"split_pointwise_stack",
     {"graph @g(%x: f32[256, 1024]) { %l = aten.split(%x, 512, 1) %p = lenz.getitem(%l, 0) %q = lenz.getitem(%l, 1) %a "
      "= aten.sin(%p) %b = aten.sin(%q) "
      "%r = aten.cat([%a, %b], 1) return %r }",
      "graph @g(%x: f32[256, 1024]) { %r = aten.sin(%x) return %r }"}},
    {"attention_with_weights",
     {"graph @g(%q: f32[8, 256, 64] init normal(0, 0.2, seed=1), %k: f32[8, 64, 256], %v: f32[8, 256, 64]) { %s = "
      "aten.bmm(%q, %k) "
      "%p = aten.softmax(%s, -1) %r = aten.bmm(%p, %v) return %r, %p }",
      "graph @g(%q: f32[8, 256, 64] init normal(0, 0.2, seed=1), %k: f32[8, 64, 256], %v: f32[8, 256, 64]) { %s = "
      "aten.bmm(%q, %k) "
      "%p = aten.softmax(%s, -1) %t = aten.transpose(%k, 1, 2) %r = lenz.attention(%q, %t, %v) return %r, %p }"}},
    {"attention_with_dropout",
     {"graph @g(%q: f32[8, 256, 64] init normal(0, 0.2, seed=1), %k: f32[8, 64, 256], %v: f32[8, 256, 64]) { %s = "
      "aten.bmm(%q, %k) "
      "%p = aten.softmax(%s, -1) %d = aten.dropout(%p, 0.1, true) %r = aten.bmm(%d, %v) return %r }",
      "graph @g(%q: f32[8, 256, 64] init normal(0, 0.2, seed=1), %k: f32[8, 64, 256], %v: f32[8, 256, 64]) { %t = "
      "aten.transpose(%k, 1, 2) "
      "%r = aten.scaled_dot_product_attention(%q, %t, %v, dropout_p=0.1, scale=1.0) return %r }"}},
    // What is saved at most: the way through each row that finds its largest.
    {"online_softmax",
     {"graph @g(%x: f32[1024, 1024]) { %r = aten.softmax(%x, -1) return %r }",
      "graph @g(%x: f32[1024, 1024]) { %e = aten.exp(%x) %s = aten.sum(%e, dim=[-1], keepdim=true) "
      "%r = aten.div(%e, %s) return %r }"}},
    {"online_softmax_of_long_rows",
     {"graph @g(%x: f32[4, 1048576]) { %r = aten.softmax(%x, -1) return %r }",
      "graph @g(%x: f32[4, 1048576]) { %e = aten.exp(%x) %s = aten.sum(%e, dim=[-1], keepdim=true) "
      "%r = aten.div(%e, %s) return %r }"}},
    {"chunked_loss",
     {"graph @g(%x: f32[1024, 128] init normal(0, 1, seed=3), %w: f32[8192, 128] init normal(0, 0.1, seed=2), %t: "
      "i64[1024] init integers(0, "
      "8191, seed=1)) { "
      "%l = aten.linear(%x, %w) %r = aten.cross_entropy_loss(%l, %t, reduction=2) return %r }",
      "graph @g(%x: f32[1024, 128] init normal(0, 1, seed=3), %w: f32[8192, 128] init normal(0, 0.1, seed=2), %t: "
      "i64[1024] init integers(0, "
      "8191, seed=1)) { "
      "%x0 = aten.slice(%x, 0, 0, 512) %t0 = aten.slice(%t, 0, 0, 512) %l0 = aten.linear(%x0, %w) "
      "%r0 = aten.cross_entropy_loss(%l0, %t0, reduction=2) "
      "%x1 = aten.slice(%x, 0, 512) %t1 = aten.slice(%t, 0, 512) %l1 = aten.linear(%x1, %w) "
      "%r1 = aten.cross_entropy_loss(%l1, %t1, reduction=2) %r = aten.add(%r0, %r1) return %r }"}},
    // A language model's head: its loss by scores, with the gradients of rows and weights.
    {"chunked_loss_and_gradients",
     {"graph @g(%x: f32[1024, 768] init normal(0, 1, seed=3), %w: f32[50257, 768] init normal(0, 0.05, seed=2), %i: "
      "i64[1024, 1] init "
      "integers(0, 50256, seed=1)) { "
      "%l = aten.linear(%x, %w) %s = aten.log_softmax(%l, 1) %q = aten.gather(%s, 1, %i) %r = aten.sum(%q) "
      "%e = aten.exp(%s) %c = aten.arange(50257) %h = aten.eq(%i, %c) %o = aten.to(%h, dtype=f32) %d = aten.sub(%o, "
      "%e) %gx = aten.mm(%d, %w) "
      "%dt = aten.t(%d) %gw = aten.mm(%dt, %x) return %r, %gx, %gw }",
      "graph @g(%x: f32[1024, 768] init normal(0, 1, seed=3), %w: f32[50257, 768] init normal(0, 0.05, seed=2), %i: "
      "i64[1024, 1] init "
      "integers(0, 50256, seed=1)) { "
      "%c = aten.arange(50257) %x0 = aten.slice(%x, 0, 0, 512) %i0 = aten.slice(%i, 0, 0, 512) %l0 = aten.linear(%x0, "
      "%w) "
      "%s0 = aten.log_softmax(%l0, 1) %q0 = aten.gather(%s0, 1, %i0) %r0 = aten.sum(%q0) %e0 = aten.exp(%s0)  %h0 = "
      "aten.eq(%i0, %c) %o0 = aten.to(%h0, dtype=f32) %d0 = aten.sub(%o0, %e0) %gx0 = aten.mm(%d0, %w) %dt0 = "
      "aten.t(%d0) "
      "%gw0 = aten.mm(%dt0, %x0) %x1 = aten.slice(%x, 0, 512) %i1 = aten.slice(%i, 0, 512) "
      "%l1 = aten.linear(%x1, %w) %s1 = aten.log_softmax(%l1, 1) %q1 = aten.gather(%s1, 1, %i1) "
      "%r1 = aten.sum(%q1) %e1 = aten.exp(%s1) %h1 = aten.eq(%i1, %c) %o1 = aten.to(%h1, dtype=f32) %d1 = "
      "aten.sub(%o1, %e1) "
      "%gx1 = aten.mm(%d1, %w) %dt1 = aten.t(%d1) %gw1 = aten.mm(%dt1, %x1) %r = aten.add(%r0, %r1) "
      "%gx = aten.cat([%gx0, %gx1], 0) %gw = aten.add(%gw0, %gw1) return %r, %gx, %gw }"}},
    {"gumbel_max",
     {"graph @g(%x: f32[64, 8192]) { %p = aten.softmax(%x, -1) %z = aten.empty_like(%x) %q = aten.exponential(%z) "
      "%d = aten.div(%p, %q) %r = aten.argmax(%d, -1) return %r }",
      "graph @g(%x: f32[64, 8192]) { %z = aten.empty_like(%x) %q = aten.exponential(%z) %l = aten.log(%q) "
      "%d = aten.sub(%x, %l) %r = aten.argmax(%d, -1) return %r }"}},
};

void compiled(benchmark::State& state, const Pair& pair) {
  auto graph = parse_graph(pair.graphs[state.range(0)], op_table());
  Boxed boxed(DeviceKind::cpu);
  auto executable = build(*graph);
  const auto inputs = draw_inputs(*graph, boxed, {}, Values::ordinary, 0);
  // The first call takes its memory from the system, and says whether the graph raises.
  if (const Execution first = run_native(*executable, inputs, boxed); first.ending != Ending::finished)
    return state.SkipWithError(first.text.c_str());
  for (auto _ : state) benchmark::DoNotOptimize(run_native(*executable, inputs, boxed));
}

const bool registered = [] {
  for (const Pair& pair : kPairs)
    benchmark::RegisterBenchmark(("left_out/compiled/" + std::string(pair.name)).c_str(),
                                 [&pair](benchmark::State& state) { compiled(state, pair); })
        ->Arg(0)
        ->Arg(1)
        ->ArgName("rewritten")
        ->UseRealTime()
        ->Unit(benchmark::kMicrosecond);
  return true;
}();

}  // namespace
}  // namespace lenz::oracle
