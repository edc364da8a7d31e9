// Where eager is off, and known for it, or has formulas of its own: no alarm. Each graph raised one.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>

#include "compiler/driver/program_set.h"
#include "compiler/graph/text.h"
#include "compiler/ops/eager_processor.h"
#include "compiler/ops/op_table.h"
#include "compiler/scalar/rounding.h"
#include "oracle/graph_check.h"
#include "oracle/judge_results.h"
#include "oracle/known_faults.h"
#include "oracle/tensors.h"
#include "oracle/trial.h"
#include "oracle/values_file.h"

namespace lenz::oracle {
namespace {

GraphReport checked(std::string_view text, Values values = Values::ordinary, int seeds = 2) {
  auto graph = parse_graph(text, op_table());
  GraphCheckOptions options;
  options.bounds = options.core = options.loops = true;
  options.values = values;
  options.seeds = seeds;
  return check_graph(*graph, options);
}

std::string first_finding(const GraphReport& r) {
  return r.findings.empty() ? "" : r.findings[0].path + ": " + r.findings[0].mismatch.summary();
}

// Puts another number of its dtype, a floating one, in a tensor's first place.
template <class Change>
void at_first_element(const RunValue& tensor, Change&& change) {
  const Dtype dtype = look(tensor).dtype;
  std::vector<std::byte> elements = elements_of(tensor);
  ScalarBits bits{};
  std::memcpy(bits.data(), elements.data(), static_cast<size_t>(item_size(dtype)));
  bits = to_bits(dtype, ScalarValue(round_to(dtype, change(from_bits(dtype, bits).real()))));
  std::memcpy(elements.data(), bits.data(), static_cast<size_t>(item_size(dtype)));
  set_elements(tensor, elements);
}

struct Raised {
  std::string_view text;
  Values values = Values::ordinary;
  std::optional<bool> known = false;  // counted as a fault of eager's; none: as its processor has it
};

TEST(EagerFaults, RaiseNoAlarm) {
  const Raised all[] = {
      {"graph @g(%x: f64[30]) {\n  %a = aten.polygamma(1, %x)\n  return %a\n}\n", Values::ordinary, true},
      {"graph @g(%x: f64[30] init uniform(0.1, 9.0)) {\n"
       "  %a = aten.special_bessel_j1(%x)\n  %b = aten.special_bessel_y0(%x)\n  return %a, %b\n}\n"},
      {"graph @g(%x: c64[30], %y: c64[30]) {\n"
       "  %a = aten.div(%x, %y)\n  %b = aten.reciprocal(%x)\n  return %a, %b\n}\n",
       Values::special},
      {"graph @g(%x: f32[4]) {\n  %a = aten._to_copy(%x, dtype=f8e4m3)\n  return %a\n}\n", Values::special},
      {"graph @g(%x: f32[40]) {\n  %a = aten.gelu(%x)\n  return %a\n}\n", Values::special},
      {"graph @g(%x: bf16[2, 5, 3] strides [15, 1, 5]) {\n"
       "  %a = aten.upsample_nearest1d(%x, scale_factors=[2.25])\n  return %a\n}\n"},
      {"graph @g(%x: f32[1, 1, 1], %y: f32[1, 1, 1] strides [60, 12, 3] offset 14 mut) {\n"
       "  %a = aten.cat([%x], 2, out=%y)\n  return %a\n}\n",
       Values::ordinary, true},
      {"graph @g(%x: f32[40, 1, 2], %y: f32[30, 2]) {\n  %a = aten.cdist(%x, %y, compute_mode=1)\n  return %a\n}\n",
       Values::ordinary, true},
      {"graph @g(%x: c64[4000], %y: c64[4000]) {\n  %a = aten.logaddexp(%x, %y)\n  return %a\n}\n"},
      {"graph @g(%x: f32[30, 3] init uniform(99.9, 100.1), %y: f32[4, 3] init uniform(99.9, 100.1)) {\n"
       "  %a = aten.cdist(%x, %y)\n  return %a\n}\n",
       Values::ordinary, true},
      {"graph @g(%x: bf16[3, 9, 1, 6] strides [54, 1, 54, 9] init uniform(100.0, 101.0)) {\n"
       "  %a, %b, %c = aten.native_group_norm(%x, N=3, C=9, HxW=6, group=3, eps=1e-05)\n  return %a, %b, %c\n}\n",
       Values::ordinary, true},
      {"graph @g(%x: c64[64] init uniform(-60.0, 60.0), %y: c64[64] init uniform(-60.0, 60.0),\n"
       "    %z: c64[64] init uniform(-100.0, 100.0)) {\n  %a = aten.logaddexp(%x, %y)\n  %b = aten.sigmoid(%z)\n"
       "  %c = aten.silu(%z)\n  return %a, %b, %c\n}\n"},
      {"graph @g(%x: f32[64] init uniform(88.5, 102.0), %z: c64[64] init uniform(-1.0, 1.0),\n"
       "    %y: f16[64] init uniform(88.5, 102.0)) {\n"
       "  %a = aten.logaddexp(%x, %z)\n  %b = aten.logaddexp(%z, %y)\n  return %a, %b\n}\n"},
      {"graph @g(%g: f16[64, 3] init uniform(500.0, 1000.0), %x: f16[64, 3] init uniform(2.0, 4.0),\n"
       "    %m: f32[64, 1] init zeros, %r: f32[64, 1] init ones, %w: f32[3] init ones, %b: f32[3] init ones) {\n"
       "  %u, %v, %s = aten.native_layer_norm_backward(%g, %x, [3], %m, %r, %w, %b, [false, true, true])\n"
       "  return %v, %s\n}\n",
       Values::ordinary, true},
      {"graph @g(%x: bf16[4000, 4] init normal(0.0, 1.0, seed=101), %y: bf16[4000, 4] init normal(0.0, 1.0, seed=201)) "
       "{\n"
       "  %a = aten.cosine_similarity(%x, %y)\n  return %a\n}\n"},
      {"graph @g(%x: f64[64] init uniform(20.0, 37.0)) {\n  %a = aten.special_log_ndtr(%x)\n  return %a\n}\n"},
      {"graph @g(%x: f16[2000], %y: f16[2000], %g: f16[]) {\n"
       "  %a = aten.huber_loss_backward(%g, %x, %y, 1, 1.875)\n"
       "  %b = aten.mse_loss_backward(%g, %x, %y, 1)\n  return %a, %b\n}\n"},
      {"graph @g(%x: bf16[900] init uniform(0.125, 4.0), %y: f32[900] init uniform(0.125, 4.0),\n"
       "    %z: bf16[900] init uniform(0.125, 4.0)) {\n"
       "  %a = aten._foreach_addcdiv([%x], [%y], [%z], value=3)\n  return %a\n}\n"},
      {"graph @g(%x: f32[2, 6, 4, 6] strides [144, 1, 36, 6], %w: f32[9, 2, 1, 2] strides [4, 1, 36, 2]) {\n"
       "  %a = aten.conv2d(%x, %w, groups=3)\n  return %a\n}\n",
       Values::ordinary, true},
      {"graph @g(%x: f16[400] init uniform(-0.001, 0.001)) {\n  %a = aten.erf(%x)\n  return %a\n}\n"},
      // Of what a truth says that nothing is taken of it leaves no NaN.
      {"graph @g(%x: f64[1, 32, 6], %y: f64[1, 6, 4], %s: f64[4]) {\n"
       "  %a = aten.baddbmm(%s, %x, %y, alpha=false)\n  return %a\n}\n",
       Values::special},
      {"graph @g(%g: f32[900], %x: f32[900] init uniform(80.0, 100.0)) {\n"
       "  %a = aten.softplus_backward(%g, %x, 1, 500)\n  return %a\n}\n",
       Values::ordinary, true},
      {"graph @g(%x: f32[64] init uniform(4.05e36, 4.08e36)) {\n  %a = aten.lgamma(%x)\n  return %a\n}\n",
       Values::ordinary, true},
      // Of least numbers its error function makes zeros, and a size hangs on that.
      {"graph @g(%x: f16[210], %y: f16[210]) where u0 in 0..210 {\n"
       "  %e = aten.erf(%x)\n  %m = aten.to(%e, bool)\n  %a: f16[u0] = aten.masked_select(%y, %m)\n  return %a\n}\n",
       Values::special},
      {"graph @g(%r: f64[] init uniform(1.0, 4.0), %o: f64[] init zeros, %x: bf16[40] init uniform(-4.0, 4.0)) {\n"
       "  %i = aten.reciprocal(%o)\n  %z = aten.complex(%r, %i)\n  %a = aten.add(%z, %x)\n  return %a\n}\n"},
      {"graph @g(%x: f32[9, 5]) {\n  %a, %b = aten.var_mean(%x, [1])\n  return %a, %b\n}\n", Values::special},
      {"graph @g(%x: bf16[12, 1, 8], %y: bf16[12, 4, 11], %z: bf16[12, 11, 8]) {\n"
       "  %a = aten.baddbmm(%x, %y, %z, beta=0.625, alpha=0)\n  return %a\n}\n",
       Values::ordinary, eager_processor().computes_in_bf16},  // oneDNN's
      // Which rounds subnormal gradients to narrow ones by another instruction on each processor.
      {"graph @g(%g: f32[64] init uniform(-1e-38, 1e-38), %x: f32[64], %o: bf16[64] mut) {\n"
       "  %a = aten.gelu_backward(%g, %x, grad_input=%o)\n  return %a\n}\n",
       Values::ordinary, std::nullopt},
  };
  for (const Raised& raised : all) {
    GraphReport r = checked(raised.text, raised.values, 4);
    EXPECT_EQ(first_finding(r), "") << raised.text;
    if (raised.known) EXPECT_EQ(r.known > 0, *raised.known) << raised.text;
  }
}

// A kernel that nobody knows rounds what it writes, though it gives nothing.
TEST(EagerFaults, WhatAnExternWritesRaisesNoAlarm) {
  const GraphReport r = checked(
      "extern \"aten::_fused_sgd_(Tensor(a!)[] self, Tensor(b!)[] grads, Tensor(c!)[] momentum_buffer_list, *, "
      "float weight_decay, float momentum, float lr, float dampening, bool nesterov, bool maximize, "
      "bool is_first_step, Tensor? grad_scale=None, Tensor? found_inf=None) -> ()\"\n"
      "graph @g(%p: f32[40] mut, %d: f32[40] mut, %m: f32[40] mut) {\n"
      "  aten._fused_sgd_([%p], [%d], [%m], weight_decay=0.01, momentum=0.9, lr=0.1, dampening=0.3, nesterov=true,\n"
      "    maximize=false, is_first_step=false)\n  return %p\n}\n");
  EXPECT_EQ(first_finding(r), "");
}

// Where ranges end eager's kernels contradict each other, and the definitions of float64.
TEST(EagerFaults, EndsOfRangesRaiseNoAlarm) {
  const std::string_view all[] = {
      // Vectors, and what lies behind them.
      "%a = aten.sgn(%z) %b = aten.log1p(%z) %c = aten.sinc(%z) %d = aten.pow(%z, %z)",
      "%a = aten.sigmoid(%z) %b = aten.silu(%z) %c = aten.lerp(%z, %z, 0.5) %d = aten.reciprocal(%z)",
      // NaN is between no bounds, or it is.
      R"(%a = aten.hardtanh_backward(%x, %y, -1, 1) %b = aten.softshrink_backward(%x, %y, 0.5)
       %c = aten.elu_backward(%x, 1, 1, 1, false, %y) %d = aten.sigmoid_backward(%x, %y))",
      // What a product leaves is none where the next factor is large.
      R"(%a = aten.glu_backward(%h, %x, 1) %b = aten.addcdiv(%x, %y, %x, value=-1.5)
       %c = aten.addmm(%x, %s, %x, alpha=2) %d = aten.addmm(%x, %s, %x, alpha=0))",
      R"(%n = aten._to_copy(%x, dtype=bf16) %t = aten._to_copy(%s, dtype=bf16) %a = aten.mm(%t, %n)
       %b = aten.gelu(%n) %c = aten.gelu_backward(%n, %n) %d = aten.addmm(%n, %t, %n, alpha=0))",
  };
  for (std::string_view ops : all) {
    std::string text = "graph @g(%x: f32[7, 14], %y: f32[7, 14], %h: f32[7, 7], %s: f32[7, 7], %z: c64[5, 7]) {\n  " +
                       std::string(ops) + "\n  return %a, %b, %c, %d\n}\n";
    GraphReport r = checked(text, Values::special, 60);
    EXPECT_EQ(first_finding(r), "") << text;
  }
}

// A kernel has other formulas for operands that lie otherwise, those that are written to too; and what they lose of the
// least numbers a large one makes visible.
TEST(EagerFaults, EndsOfRangesOfStatisticsThatLieOtherwise) {
  const GraphReport r = checked(
      "graph @g(%x: f32[3, 5, 4], %w: f32[5], %m: f32[5] strides [2] mut, %v: f32[5] mut init uniform(0.5, 2.0)) {\n"
      "  %a, %b, %c = aten._native_batch_norm_legit(%x, %w, none, %m, %v, false, 0.1, 0.00001)\n  return %a\n}\n",
      Values::special, 60);
  EXPECT_EQ(first_finding(r), "");
  EXPECT_GT(r.bounded, 0);
  const GraphReport outer = checked(
      "graph @g(%x: f16[17], %y: f16[4], %s: f16[1, 1]) {\n"
      "  %a = aten.addr(%s, %x, %y, alpha=0.75)\n  return %a\n}\n",
      Values::special, 100);
  EXPECT_EQ(first_finding(outer), "");
  const GraphReport overlapping = checked(
      "graph @g(%x: f64[5, 4] strides [0, 1]) {\n  %a = aten.mean(%x, [1])\n  return %a\n}\n", Values::special, 20);
  EXPECT_EQ(first_finding(overlapping), "");
}

// Numbers have ends of their range as operands have: by which factors of a product eager multiplies first it tells.
TEST(EagerFaults, NumbersAtEndsOfRangesRaiseNoAlarm) {
  const GraphReport r = checked(
      "graph @g(%x: f64[9], %y: f64[9], %z: f64[9] init zeros, %v: f64[1] init uniform(1e308, 1.5e308)) {\n"
      "  %a = aten._foreach_addcmul([%x], [%y], [%z], %v)\n  %b = aten.addcmul(%x, %y, %z, value=1e308)\n"
      "  return %a, %b\n}\n",
      Values::ordinary, 4);
  EXPECT_EQ(first_finding(r), "");
}

// What numbers are spaced by may overflow where they don't.
TEST(EagerFaults, StepsThatOverflowRaiseNoAlarm) {
  const GraphReport r = checked(
      "graph @g(%x: f32[] init uniform(1e38, 3e38)) {\n  %z = aten.complex(%x, %x)\n"
      "  %a = aten.logspace(1.3125, %z, 4)\n  %b = aten.linspace(-3e38, 3e38, 5)\n  return %a, %b\n}\n");
  EXPECT_EQ(first_finding(r), "");
  const GraphReport vanishing = checked(  // in f32
      "graph @g(%x: f64[] init uniform(2e-46, 5e-46)) {\n  %a = aten.linspace(0, %x, 3)\n  return %a\n}\n");
  EXPECT_EQ(first_finding(vanishing), "");
}

// What is rounded on its way may cancel: then the operands say by how much it may be off, and those of them alone that
// are ordinary.
TEST(EagerFaults, LeewayOfWhatCancels) {
  auto graph = parse_graph(
      "graph @g(%x: f32[9] init uniform(1.0, 2.0), %h: f32[1] init uniform(1e30, 2e30)) {\n"
      "  %a = aten.sub(%x, %x)\n  return %a\n}\n",
      op_table());
  auto off = parse_graph(
      "graph @g(%x: f32[9] init uniform(1.0, 2.0), %h: f32[1] init uniform(1e30, 2e30)) {\n"
      "  %a = aten.mul(%x, 0.01)\n  return %a\n}\n",
      op_table());
  Boxed boxed(DeviceKind::cpu);
  const auto inputs = draw_inputs(*graph, boxed, {}, Values::ordinary, 1);
  const Reference reference = Referee(boxed).run(*graph, inputs);
  const Execution got = Executor(boxed).run(*off, draw_inputs(*graph, boxed, {}, Values::ordinary, 1));
  EXPECT_FALSE(within({.relative = 0.02}, *graph, reference, inputs, got, got));
  EXPECT_TRUE(within({.relative = 0.02, .of_operands = true}, *graph, reference, inputs, got, got));
  EXPECT_FALSE(within({.relative = 0.002, .of_operands = true}, *graph, reference, inputs, got, got));
}

// Below zero a trigamma takes the sine of pi times its operand, which is rounded first.
TEST(EagerFaults, LeewayAboutPoles) {
  const std::string head = "graph @g(%x: f32[64] init uniform(-2000.0, -1000.0)) {\n  %a = aten.polygamma(1, %x)\n";
  auto graph = parse_graph(head + "  return %a\n}\n", op_table());
  auto off = parse_graph(head + "  %b = aten.mul(%a, 1.5)\n  return %b\n}\n", op_table());
  Boxed boxed(DeviceKind::cpu);
  const auto drawn = [&] { return draw_inputs(*graph, boxed, {}, Values::ordinary, 1); };
  const Reference reference = Referee(boxed).run(*graph, drawn());
  const Execution eager = Executor(boxed).run(*graph, drawn()), wrong = Executor(boxed).run(*off, drawn());
  EXPECT_FALSE(within({}, *graph, reference, drawn(), eager, eager));
  EXPECT_TRUE(within({.about_poles = 0x1p-21}, *graph, reference, drawn(), eager, eager));
  EXPECT_FALSE(within({.about_poles = 0x1p-21}, *graph, reference, drawn(), eager, wrong));
}

// At a pole itself nothing is near: a NaN there is wrong, whatever operands say.
TEST(EagerFaults, LeewayAtAPole) {
  const std::string head =
      "graph @g(%x: f32[4] init zeros, %other: f32[1] init ones) {\n  %a = aten.polygamma(1, %x)\n";
  auto graph = parse_graph(head + "  return %a\n}\n", op_table());
  auto off = parse_graph(head + "  %b = aten.sub(%a, %a)\n  return %b\n}\n", op_table());
  Boxed boxed(DeviceKind::cpu);
  const auto drawn = [&] { return draw_inputs(*graph, boxed, {}, Values::ordinary, 1); };
  const Reference reference = Referee(boxed).run(*graph, drawn());
  const Execution eager = Executor(boxed).run(*graph, drawn()), wrong = Executor(boxed).run(*off, drawn());
  EXPECT_TRUE(within({.about_poles = 0x1p-21}, *graph, reference, drawn(), eager, eager));
  EXPECT_FALSE(within({.about_poles = 0x1p-21}, *graph, reference, drawn(), eager, wrong));
}

// Of what is uncertain and small an error function of 16 bits is off wherever it is.
TEST(EagerFaults, ErrorFunctionsOfUncertainNarrowFloats) {
  const GraphReport r = checked(
      "graph @g(%x: f16[17, 25] init uniform(-0.03125, 0.03125, seed=496159), "
      "%y: f16[17, 25] init uniform(-0.03125, 0.03125, seed=918214)) {\n"
      "  %a = aten.mul(%x, %y)\n  %b = aten.gelu(%a)\n  %c = aten.erf(%b)\n  return %c\n}\n");
  EXPECT_EQ(first_finding(r), "");
}

// Formulas whose steps are rounded in eager's order.
TEST(EagerFaults, OrdersOfFormulas) {
  const GraphReport r = checked(
      "graph @g(%x: f32[7, 3] strides [0, 0] init uniform(1e7, 2e7), %t: i64[7] init integers(0, 2)) {\n"
      "  %a = aten.multi_margin_loss(%x, %t, margin=0.1875)\n  return %a\n}\n");
  EXPECT_EQ(first_finding(r), "");
}

// What excuses eager excuses nobody else: the bounds that loops are held to do not know of it.
TEST(EagerFaults, ExcuseEagerAlone) {
  auto graph = parse_graph(
      "graph @g(%x: f64[30] init uniform(5.0, 6.0)) {\n"
      "  %a = aten.special_bessel_j1(%x)\n  return %a\n}\n",
      op_table());
  Boxed boxed(DeviceKind::cpu);
  InputSource source(*graph, {}, Values::ordinary, 1);
  Trial trial(*graph, boxed, source, {}, {});
  EXPECT_FALSE(trial.eager_out_of_bounds(trial.expected()));
  auto strict = trial.judged(Widening::bounds, trial.expected());
  EXPECT_TRUE(strict && strict->mismatch);
}

// Random loops are held to Lenz's stream, bit for bit where nothing but the draw makes the value.
TEST(RandomLoops, MustDrawWhatTheStreamDraws) {
  auto with_seed = [](int seed) {
    return parse_graph("graph @g(%x: f32[40] init ones) {\n  %a = aten.rand([9], generator=seed(" +
                           std::to_string(seed) + "))\n  %b = aten.mul(%x, 2.0)\n  return %a, %b\n}\n",
                       op_table());
  };
  auto graph = with_seed(1), other = with_seed(2);
  Boxed boxed(DeviceKind::cpu);
  InputSource source(*graph, {}, Values::ordinary, 1);
  Trial trial(*graph, boxed, source, {}, {});
  auto drawn = [&](const Graph& g) {
    return trial.out_of_bounds(trial.on_loops(program_for(g, {}, {})), {.drawn = true});
  };
  EXPECT_FALSE(drawn(*graph));
  auto mismatch = drawn(*other);
  ASSERT_TRUE(mismatch);
  EXPECT_EQ(mismatch->rung, Rung::bitwise);
  EXPECT_EQ(trial.no_stream, "");
}

// What Lenz's stream does not draw is left to libtorch, whose generator starts where it does in eager.
TEST(RandomLoops, WhatIsLeftToLibtorchDrawsAsInEager) {
  GraphReport r = checked("graph @g(%x: f32[50] init uniform(0.5, 9.0)) {\n  %a = aten.poisson(%x)\n  return %a\n}\n");
  EXPECT_EQ(first_finding(r), "");
  EXPECT_EQ(r.externs, std::vector<std::string>{"aten.poisson"});
}

TEST(RandomLoops, BesideSuchAreComparedFromOutsideAndSaySo) {
  GraphReport r = checked(
      "graph @g(%x: f32[50] init uniform(0.5, 9.0)) {\n"
      "  %b = aten.rand([5])\n  %a = aten.poisson(%x)\n  return %a, %b\n}\n");
  EXPECT_EQ(first_finding(r), "");
  EXPECT_NE(r.no_stream, "");
}

// Eager draws a slope for what is below zero alone, loops for each element: what is drawn behind it stands behind
// those.
TEST(RandomLoops, DrawByTheDefinitionOfWhatHasNoSampling) {
  for (std::string_view first :
       {"%y = aten.rrelu_with_noise(%x, %n, training=true)", "%y = aten.rrelu_with_noise_(%x, %n, training=true)",
        "%y = aten.rrelu(%x, training=true)"}) {
    GraphReport r = checked("graph @g(%x: f32[6] mut, %n: f32[6] mut, %c: f32[4]) {\n  " + std::string(first) +
                            "\n  %z = aten.cauchy(%c)\n  return %y, %z\n}\n");
    EXPECT_EQ(first_finding(r), "") << first;
    EXPECT_EQ(r.no_stream, "") << first;
  }
}

// The types of an extern's results are the graph's word.
TEST(Externs, OfAnotherTypeThanDeclaredAreTheGraphsError) {
  EXPECT_THROW(checked("extern \"aten::unique_consecutive(Tensor self, bool return_inverse=False, bool "
                       "return_counts=False, int? dim=None) -> (Tensor, Tensor, Tensor)\"\n"
                       "graph @g(%x: f32[4]) {\n"
                       "  %a: f32[u0], %b: f32[0], %c: f32[0] = aten.unique_consecutive(%x)\n  return %a\n}\n"),
               UserError);
}

// What libtorch has in place alone runs on a copy where a graph of values asks for it.
TEST(Externs, InPlaceAloneRunOnACopy) {
  GraphReport r = checked(
      "extern \"aten::_sobol_engine_ff_(Tensor(a!) self, int n, Tensor sobolstate, int dimension, int num_generated) "
      "-> "
      "Tensor(a!)\"\n"
      "graph @g(%q: i64[2] mut init zeros, %s: i64[2, 30] init integers(0, 1000, seed=1)) {\n"
      "  %a: i64[2] = aten._sobol_engine_ff_(%q, 3, %s, 2, 0)\n  %b = aten.add(%q, 1)\n  return %b\n}\n");
  EXPECT_EQ(first_finding(r), "");
  EXPECT_EQ(r.externs, std::vector<std::string>{"aten._sobol_engine_ff"});
  EXPECT_EQ(r.on_loops, 2u);
}

// Memory that nobody has set gives the shape of what is drawn, no more.
TEST(RandomLoops, DrawnIntoMemoryThatNobodySetIsJudged) {
  GraphReport r = checked(
      "graph @g() {\n  %a = aten.empty([40])\n  %b = aten.exponential_(%a)\n  %c = aten.empty([40])\n"
      "  %d = aten.uniform(%c, 2.0, 3.0)\n  return %b, %d\n}\n");
  EXPECT_EQ(first_finding(r), "");
  EXPECT_EQ(r.weak, 0u);
}

// What a kernel writes that nobody knows may be rounded.
TEST(Externs, ThatWriteRaiseNoAlarm) {
  GraphReport r = checked(
      "extern \"aten::embedding_renorm_(Tensor(a!) self, Tensor indices, float max_norm, float norm_type) -> "
      "Tensor(a!)\"\n"
      "graph @g(%x: f32[3, 4] mut, %i: i64[2] init integers(0, 2, seed=1)) {\n"
      "  %a: f32[3, 4] = aten.embedding_renorm_(%x, %i, 1.0, 2.0)\n  return %a\n}\n");
  EXPECT_EQ(first_finding(r), "");
}

// What a pass lays otherwise eager may round otherwise.
TEST(EagerFaults, StatisticsThatLieOtherwiseAreHeldToTheBounds) {
  GraphReport r = checked(
      "graph @g(%x: f32[4, 3, 5], %m: f32[3] strides [2] mut, %v: f32[3] strides [2] mut init uniform(0.5, 2.0)) {\n"
      "  %s = aten.mul(%x, 1.5)\n"
      "  %a = aten.batch_norm(%s, none, none, %m, %v, true, 0.1, 0.00001, false)\n  return %a\n}\n");
  EXPECT_EQ(first_finding(r), "");
  EXPECT_EQ(r.bounded + r.weak, r.seeds);
}

Reference bounded(const Graph& graph) {
  Boxed boxed(DeviceKind::cpu);
  return Referee(boxed).run(graph, draw_inputs(graph, boxed, {}, Values::ordinary, 1));
}
double look_at_double(const RunValue& plane, size_t i) {
  double x = 0;
  std::memcpy(&x, elements_of(plane).data() + i * sizeof x, sizeof x);
  return x;
}
bool telling(std::string_view text, size_t output = 0) {
  auto graph = parse_graph(text, op_table());
  Reference r = bounded(*graph);
  Boxed boxed(DeviceKind::cpu);
  Execution eager = Executor(boxed).run(*graph, draw_inputs(*graph, boxed, {}, Values::ordinary, 1));
  Judgement j = judge(*graph, r, eager);
  EXPECT_FALSE(j.mismatch) << text << (j.mismatch ? j.mismatch->summary() : "");
  EXPECT_GT(r.outputs.size(), output);
  return r.unbounded.empty() && j.shares.strong * 10 >= j.shares.elements * 9;
}

TEST(Bounds, OfWhatIsDrawnAroundUncertainOperands) {
  EXPECT_TRUE(
      telling("graph @g(%x: f32[60]) {\n  %s = aten.mul(%x, %x)\n"
              "  %a = aten.dropout(%s, 0.4, true)\n  return %a\n}\n"));
  EXPECT_TRUE(
      telling("graph @g(%x: f32[60] init uniform(3.0, 4.0)) {\n  %s = aten.mul(%x, 1.1)\n"
              "  %a = aten.normal.Tensor_float(%s, 0.5)\n  return %a\n}\n"));
  // What may be anything may be anything afterwards.
  auto open = parse_graph(
      "graph @g(%x: f32[40] init uniform(60.0, 100.0)) {\n  %s = aten.exp(%x)\n"
      "  %a = aten.dropout(%s, 0.5, true)\n  return %s, %a\n}\n",
      op_table());
  Reference r = bounded(*open);
  for (size_t i = 0; i < 40; ++i) {
    auto at = [&](const RunValue& plane) { return look_at_double(plane, i); };
    if (std::isinf(at(r.outputs[0].error)) && at(r.outputs[1].value) != 0) {
      EXPECT_TRUE(std::isinf(at(r.outputs[1].error)));
    }
  }
  // Which number is drawn jumps: counted, with the reason.
  auto graph = parse_graph(
      "graph @g(%x: f32[60] init uniform(3.0, 4.0)) {\n  %s = aten.mul(%x, 1.1)\n"
      "  %a = aten.poisson(%s)\n  return %a\n}\n",
      op_table());
  ASSERT_EQ(bounded(*graph).unbounded.size(), 1u);
  EXPECT_NE(bounded(*graph).unbounded[0].find("jumps"), std::string::npos);
}

// A number that stands in a tensor brings that tensor's error.
TEST(Bounds, OfUncertainNumbersForLists) {
  for (std::string_view op : {"addcdiv", "addcmul"})
    for (std::string_view dtype : {"bf16", "f16", "f32", "f64", "c64"}) {
      const std::string list = std::string(dtype) + "[60], ";
      EXPECT_TRUE(telling("graph @g(%x: " + list + "%y: " + list + "%z: " + list + "%s: " + std::string(dtype) +
                          "[2]) {\n  %t = aten.sin(%s)\n  %a = aten._foreach_" + std::string(op) +
                          "([%x, %y], [%y, %z], [%z, %z], %t)\n  %b = lenz.getitem(%a, 1)\n  return %b\n}\n"))
          << op << dtype;
    }
  // A complex number without imaginary part is one for real tensors too.
  EXPECT_TRUE(
      telling("graph @g(%x: f32[60], %s: f32[1]) {\n  %i = aten.zeros_like(%s)\n  %c = aten.complex(%s, %i)\n"
              "  %a = aten._foreach_addcmul([%x], [%x], [%x], %c)\n  %b = lenz.getitem(%a, 0)\n  return %b\n}\n"));
  // Integers make another integer of it.
  auto graph = parse_graph(
      "graph @g(%x: i32[9], %s: f32[1]) {\n  %t = aten.sin(%s)\n  %a = aten._foreach_addcmul([%x], [%x], [%x], %t)\n"
      "  %b = lenz.getitem(%a, 0)\n  return %b\n}\n",
      op_table());
  const Reference r = bounded(*graph);
  EXPECT_TRUE(std::isinf(look_at_double(r.outputs[0].error, 0)));
}

// Of narrow floats positions are f32's, however far from zero: weights are off by their own places.
TEST(Bounds, OfInterpolationsOfNarrowFloats) {
  for (std::string_view op : {"upsample_bilinear2d", "upsample_bicubic2d"}) {
    auto graph = parse_graph("graph @g(%x: bf16[1, 2, 50, 60] init uniform(-1.0, 1.0)) {\n  %a = aten." +
                                 std::string(op) + "(%x, [70, 80], false)\n  return %a\n}\n",
                             op_table());
    const Reference r = bounded(*graph);
    for (size_t i = 0; i < 2 * 70 * 80; ++i) ASSERT_LT(look_at_double(r.outputs[0].error, i), 0x1p-4) << op;
  }
}

// Results of anybody's that are wrong as eager's are, where it is known for it, are said to be that; what is wrong
// there in another way is wrong.
TEST(EagerFaults, AreKnownInResultsAndGiveNoLeaveToOthers) {
  const std::string file = testing::TempDir() + "eager_faults_" + std::to_string(getpid()) + ".npz";
  for (std::string_view text : {"graph @g(%x: f64[5] init uniform(0.5, 4)) { %y = aten.polygamma(1, %x) return %y }",
                                "graph @g(%x: f64[5] init uniform(0.5, 4)) { %p = aten.polygamma(1, %x) "
                                "%y = aten.mul(%p, 2.0) return %y }"}) {
    auto graph = parse_graph(text, op_table());
    Boxed boxed(DeviceKind::cpu);
    Execution run = Executor(boxed).run(*graph, draw_inputs(*graph, boxed, {}, Values::ordinary, 0));
    auto judged = [&] {
      write_results(file, *graph, run);
      return judge_results(*graph, {.inputs = {}, .results = file, .folder = {}, .bind = {}});
    };
    const ResultsVerdict eagers = judged();
    EXPECT_EQ(eagers.code, ExitCode::fine) << text;
    EXPECT_FALSE(eagers.mismatch) << text;
    EXPECT_NE(eagers.known.find("polygamma"), std::string::npos) << text;
    EXPECT_EQ(eagers.to_json()["known"], eagers.known);
    double first = look_at_double(run.outputs[0], 0) * (1 + 1e-9);
    std::vector<std::byte> elements = elements_of(run.outputs[0]);
    std::memcpy(elements.data(), &first, sizeof first);
    set_elements(run.outputs[0], elements);
    const ResultsVerdict others = judged();
    EXPECT_EQ(others.code, ExitCode::wrong) << text;
    EXPECT_TRUE(others.known.empty()) << text;
  }
  std::remove(file.c_str());
}

// Nor do sums that eager keeps in a narrow dtype, or exponentials of 14 bits, beyond what lines of the list allow.
TEST(EagerFaults, AreKnownAsFarAsTheyMayBeOff) {
  struct Known {
    std::string_view text, why;
    size_t output;
    double allowed;  // of the largest element
  };
  const Known all[] = {
      {"graph @g(%q: f16[1, 2, 20, 16] init uniform(-0.1, 0.1, seed=2), %k: f16[1, 2, 64, 16] init uniform(-0.1, 0.1, "
       "seed=12), %v: f16[1, 2, 64, 16] init ones) {\n"
       "  %a, %b = aten._scaled_dot_product_flash_attention_for_cpu(%q, %k, %v)\n  return %b\n}\n",
       "14 bits", 0, 0x1p-13},
      {"graph @g(%g: f16[96, 3] init uniform(0.5, 1.0, seed=1), %x: f16[96, 3] init uniform(1.0, 2.0, seed=2), "
       "%m: f32[96, 1] init zeros, %r: f32[96, 1] init ones, %w: f32[3] init ones, %b: f32[3] init ones) {\n"
       "  %u, %v, %s = aten.native_layer_norm_backward(%g, %x, [3], %m, %r, %w, %b, [false, true, true])\n"
       "  return %v, %s\n}\n",
       "adds up gradients", 0, 288 * 0x1p-11},
  };
  const std::string file = testing::TempDir() + "eager_faults_far_" + std::to_string(getpid()) + ".npz";
  for (const Known& k : all) {
    auto graph = parse_graph(k.text, op_table());
    Boxed boxed(DeviceKind::cpu);
    const Execution eager = Executor(boxed).run(*graph, draw_inputs(*graph, boxed, {}, Values::ordinary, 0));
    auto pushed = [&](double by) {  // the first element, up from where eager has it
      Execution run = eager;
      run.outputs[k.output] = detached_copy(eager.outputs[k.output]);
      const RunValue& out = run.outputs[k.output];
      at_first_element(out, [&](double first) { return first * (1 + by); });
      write_results(file, *graph, run);
      return judge_results(*graph, {.inputs = {}, .results = file, .folder = {}, .bind = {}});
    };
    const ResultsVerdict eagers = pushed(0);
    EXPECT_EQ(eagers.code, ExitCode::fine) << k.why;
    EXPECT_NE(eagers.known.find(k.why), std::string::npos) << k.why << eagers.known;
    const ResultsVerdict other = pushed(k.allowed / 4);
    EXPECT_NE(other.code, ExitCode::fine) << k.why;  // not judged: eager's kernels elsewhere round otherwise
    EXPECT_EQ(pushed(4 * k.allowed).code, ExitCode::wrong) << k.why;
  }
  std::remove(file.c_str());
}

// Where eager is known to be wrong on ordinary values the bounds say something all the same, of the loops: it takes
// more than special values that leave all open to call the graph weak.
TEST(EagerFaults, TellOfOthersWhereTheyAreKnown) {
  const GraphReport r = checked(
      "graph @g(%x: f32[30, 3] init uniform(99.9, 100.1, seed=1), %y: f32[4, 3] init uniform(99.9, 100.1, seed=2)) {\n"
      "  %d = aten.cdist(%x, %y)\n  return %d\n}\n");
  EXPECT_EQ(r.known, 2u);
  EXPECT_EQ(r.telling, 2u);
  EXPECT_FALSE(r.hardly_judged());
}

TEST(Bounds, OfBitsOfUncertainNumbers) {
  EXPECT_TRUE(
      telling("graph @g(%x: f32[60] init uniform(1.0, 4.0)) {\n  %s = aten.mul(%x, %x)\n"
              "  %a = aten.view(%s, i32)\n  return %a\n}\n"));
}

TEST(Bounds, OfComplexSumsOfExponentialsThatDoNotCancel) {
  constexpr std::string_view kSums =
      "graph @g(%x: f32[4, 9], %y: f32[4, 9] init uniform(-1.5, 1.5)) {\n  %z = aten.complex(%x, %y)\n"
      "  %a = aten.logcumsumexp(%z, 1)\n  return %a\n}\n";
  EXPECT_TRUE(telling(kSums));
  std::string turning(kSums);
  turning.replace(turning.find("init uniform(-1.5, 1.5)"), 23, "init uniform(-3.5, 3.5)");
  auto graph = parse_graph(turning, op_table());
  ASSERT_EQ(bounded(*graph).unbounded.size(), 1u);
  EXPECT_NE(bounded(*graph).unbounded[0].find("whole turns"), std::string::npos);
}

}  // namespace
}  // namespace lenz::oracle
