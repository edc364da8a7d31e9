// The fused kernel gives what the steps of lenz.attention give, where rows see nothing or little too.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "compiler/base/chooser.h"
#include "compiler/driver/compile.h"
#include "compiler/graph/text.h"
#include "compiler/ops/op_table.h"
#include "oracle/attention.h"

namespace lenz::oracle {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Given {
  at::Tensor query, key, value;
  std::optional<at::Tensor> bias, seen;
  double scale = 0.3, hidden = 0;
  bool narrow = false;
};

at::Tensor by_definition(const Given& g) {
  at::Tensor scores = at::matmul(g.query.to(at::kDouble), g.key.to(at::kDouble).transpose(-2, -1)) * g.scale;
  if (g.seen) scores = at::where(*g.seen, scores, at::Scalar(g.hidden));
  if (g.bias) scores = scores + g.bias->to(at::kDouble);
  return at::matmul(at::softmax(scores, -1), g.value.to(at::kDouble));
}

void expect_right(const Given& g, const std::string& what) {
  const at::Tensor got = attention(g.query, g.key, g.value, g.bias, g.seen, g.scale, g.hidden, g.narrow);
  const at::Tensor wanted = by_definition(g);
  ASSERT_EQ(got.sizes(), wanted.sizes()) << what;
  ASSERT_EQ(got.scalar_type(), g.query.scalar_type()) << what;
  const double near = at::isReducedFloatingType(got.scalar_type()) ? 2e-2 : 1e-5;
  EXPECT_TRUE(at::allclose(got.to(at::kDouble), wanted, near, near, true)) << what << "\n" << got << "\n" << wanted;
}

Given drawn(at::IntArrayRef batch, int64_t rows, int64_t columns, at::ScalarType dtype = at::kFloat) {
  auto tensor = [&](int64_t n) {
    std::vector<int64_t> sizes = batch.vec();
    sizes.push_back(n);
    sizes.push_back(8);
    return at::randn(sizes).to(dtype);
  };
  return {tensor(rows), tensor(columns), tensor(columns), {}, {}};
}

TEST(AttentionKernel, BatchesOfAnyRankAndSharedHeads) {
  at::manual_seed(1);
  for (const std::vector<int64_t>& batch : std::vector<std::vector<int64_t>>{{}, {3}, {2, 3}, {2, 3, 2}})
    for (at::ScalarType dtype : {at::kFloat, at::kDouble, at::kBFloat16})
      expect_right(drawn(batch, 5, 7, dtype), "rank " + std::to_string(batch.size()));
  Given shared = drawn({2, 4}, 5, 7);
  shared.key = shared.key.slice(1, 0, 1);
  shared.value = shared.value.slice(1, 0, 1);
  expect_right(shared, "shared heads");
  Given turned = drawn({2, 4}, 8, 8);
  turned.key = turned.key.transpose(-2, -1);
  expect_right(turned, "vectors that are not whole in memory");
  Given none = drawn({2}, 5, 7);
  none.query = none.query.slice(1, 0, 0);
  expect_right(none, "no queries");
}

// As many scores as caches hold; what is hidden behind a number that halves don't have is taken otherwise.
TEST(AttentionKernel, NarrowScores) {
  at::manual_seed(3);
  for (at::ScalarType dtype : {at::kBFloat16, at::kHalf}) {
    Given g = drawn({2, 4}, 150, 160, dtype);
    g.narrow = true;
    expect_right(g, "plain");
    g.key = g.key.slice(1, 0, 1);
    g.value = at::randn({2, 4, 160, 24}).to(dtype);
    expect_right(g, "shared keys, wider values");
    for (double hidden : {-kInfinity, -5.0, -1000.001, -3.4e38}) {
      g.seen = at::ones({150, 160}, at::kBool).tril();
      g.seen->select(0, 3).fill_(false);
      g.hidden = hidden;
      expect_right(g, "hidden behind " + std::to_string(hidden));
    }
    g.bias = at::randn({2, 1, 150, 160}).to(dtype);
    g.hidden = -5;
    expect_right(g, "with a bias");
  }
}

TEST(AttentionKernel, RowsThatSeeNothingOrLittle) {
  at::manual_seed(2);
  Given g = drawn({2, 3}, 5, 7);
  g.seen = at::ones({5, 7}, at::kBool).tril();
  for (double hidden : {-kInfinity, -1000.0, -5.0, 0.0}) {
    g.hidden = hidden;
    expect_right(g, "hidden behind " + std::to_string(hidden));
  }
  g.seen->select(0, 2).fill_(false);
  for (double hidden : {-kInfinity, -1000.0, -5.0}) {
    g.hidden = hidden;
    expect_right(g, "a row that sees nothing, " + std::to_string(hidden));
  }
  g.bias = at::randn({2, 1, 5, 7}) * 500;
  g.hidden = -1000;
  expect_right(g, "a bias that lifts what is hidden");
  g.seen.reset();
  g.bias->select(2, 1).fill_(-kInfinity);
  expect_right(g, "a bias of infinities");
}

TEST(AttentionKernel, ScoresThatAreInfiniteOrSumToOne) {
  at::manual_seed(3);
  Given g = drawn({1, 1}, 4, 6);
  g.key = g.key.abs();
  g.query.select(2, 1).fill_(-kInfinity);
  expect_right(g, "scores of minus infinity alone");
  for (double odd : {static_cast<double>(NAN), kInfinity})
    for (int64_t keys : {1, 6}) {  // of one alone the kernel gives a zero beside the NaN
      Given lost = drawn({1, 1}, 4, keys);
      lost.key.select(2, 0).select(2, 3).fill_(odd);
      lost.value = lost.key;
      expect_right(lost, "a key that is not finite, of " + std::to_string(keys));
    }
  Given one = drawn({1, 1}, 4, 1);
  one.query.zero_();
  expect_right(one, "one key, no score");
}

// Products are left to the host: so is attention, where its kernels take it.
TEST(AttentionKernel, StaysOneOp) {
  auto externs = [](const std::string& text, bool outside) {
    std::string names;
    const loops::Program program = to_loops(*parse_graph(text, op_table()), {}, {.products_outside = outside});
    loops::for_each_node(program.body, [&](const loops::Node& node) {
      if (const auto* e = std::get_if<loops::Extern>(&node.is)) names += e->op->full_name + " ";
    });
    return names;
  };
  const std::string inputs = "%q: f32[2, 4, 5, 8], %k: f32[2, 4, 6, 8], %v: f32[2, 4, 6, 8]";
  const std::string written = "graph @g(" + inputs +
                              ") { %t = aten.transpose(%k, -2, -1) %s = aten.matmul(%q, %t) %p = aten.softmax(%s, -1) "
                              "%r = aten.matmul(%p, %v) return %r }";
  const std::string called =
      "graph @g(" + inputs + ") { %r = aten.scaled_dot_product_attention(%q, %k, %v, $) return %r }";
  auto with = [&](const std::string& rest) { return std::string(called).replace(called.find('$'), 1, rest); };
  EXPECT_EQ(externs(written, true), "lenz.attention ");
  EXPECT_EQ(externs(written, false), "");
  EXPECT_EQ(externs(with("is_causal=true"), true), "aten.scaled_dot_product_attention ");
  EXPECT_EQ(externs(with("dropout_p=0.5"), true).find("attention"), std::string::npos);
  // Of open sizes a run may fit the kernel, and does as a rule.
  const std::string open = " where s0 in 2.., s1 in 2.., s2 in 2.., s3 in 2.. ";
  const std::string scaled =
      "graph @g(%q: f32[2, 4, s0, s1], %k: f32[2, 4, s2, s1], %v: f32[2, 4, s2, s3])" + open +
      "{ %t = aten.transpose(%k, -2, -1) %s = aten.matmul(%q, %t) %n = aten.scalar_tensor(s1, dtype=f64) "
      "%root = aten.sqrt(%n) %by: float = aten._local_scalar_dense(%root) %d = aten.div(%s, %by) "
      "%p = aten.softmax(%d, -1) %r = aten.matmul(%p, %v) return %r }";
  EXPECT_EQ(externs(scaled, true), "lenz.attention ");
  const std::string apart =
      std::string(written).replace(written.find("6, 8], %v: f32[2, 4, 6, 8"), 25, "6, 8], %v: f32[2, 4, 6, 9");
  EXPECT_EQ(externs(apart, true).find("attention"), std::string::npos);
}

// Hosts whose products are faster than their attention take its steps where caches hold the scores; all do where there
// are few of them, and wherever one query meets its keys.
TEST(AttentionKernel, IsStepsWhereProductsAreFaster) {
  auto stays = [](const std::string& sizes, const std::string& rest, bool in_steps, int64_t few_scores = 0) {
    RunnerOptions how;
    how.few_scores = few_scores;
    how.attention_in_steps = in_steps;
    const std::string text =
        "graph @g(" + sizes + ") { %r = aten.scaled_dot_product_attention(%q, %k, %v" + rest + ") return %r }";
    bool attention = false;
    const auto program = to_loops(*parse_graph(text, op_table()), how, {.products_outside = true});
    loops::for_each_node(program.body, [&](const loops::Node& node) {
      const auto* e = std::get_if<loops::Extern>(&node.is);
      attention = attention || (e && e->op->full_name == "aten.scaled_dot_product_attention");
    });
    return attention;
  };
  auto heads = [](const std::string& dtype, const std::string& queries, const std::string& keys) {
    return "%q: " + dtype + "[" + queries + ", 64], %k: " + dtype + "[" + keys + ", 64], %v: " + dtype + "[" + keys +
           ", 64]";
  };
  const std::string few = heads("f32", "2, 4, 50", "2, 4, 60");
  EXPECT_TRUE(stays(few, "", false) && !stays(few, "", true));
  EXPECT_TRUE(stays(few, ", is_causal=true", true));  // half of the scores are not looked at
  EXPECT_TRUE(stays(heads("f32", "2, 8, 800", "2, 8, 800"), "", true));
  EXPECT_TRUE(stays(heads("bf16", "2, 4, 50", "2, 4, 60"), "", true));
  EXPECT_TRUE(stays(heads("f32", "2, 4, 50", "2, 2, 60"), ", enable_gqa=true", true));
  EXPECT_FALSE(stays(heads("f32", "2, 4, 1", "2, 4, 60"), "", false));
  constexpr int64_t kOfFew = 2 * 4 * 50 * 60 * 4;
  EXPECT_TRUE(stays(few, "", false, kOfFew - 1) && !stays(few, "", false, kOfFew));
  EXPECT_FALSE(stays(few, ", is_causal=true", false, kOfFew));
}

// As many scores as a run says: their graph had all of them, so that its steps take no more memory than it did. Other
// hosts choose when they know how many there are.
TEST(AttentionKernel, OfOpenSizesIsStepsWhereProductsAreFaster) {
  for (const std::string dtype : {"f32", "bf16"})
    for (const bool in_steps : {false, true}) {
      const std::string type = dtype + "[2, 8, s0, 64]";
      RunnerOptions how;
      how.attention_in_steps = in_steps;
      std::string attention;
      const auto program =
          to_loops(*parse_graph("graph @g(%q: " + type + ", %k: " + type + ", %v: " + type +
                                    ") where s0 in 2.. { %t = aten.transpose(%k, -2, -1) %s = aten.matmul(%q, %t) "
                                    "%p = aten.softmax(%s, -1) %r = aten.matmul(%p, %v) return %r }",
                                op_table()),
                   how, {.products_outside = true});
      loops::for_each_node(program.body, [&](const loops::Node& node) {
        const auto* e = std::get_if<loops::Extern>(&node.is);
        if (e && e->op->full_name == "lenz.attention") attention += e->args.back().boolean() ? "narrow" : "wide";
      });
      EXPECT_EQ(attention, in_steps ? "" : dtype == "bf16" ? "narrow" : "wide") << dtype;
    }
}

// Steps in halves whose scores caches hold stay steps, but where a host multiplies halves no faster than f32.
TEST(AttentionKernel, OfHalvesIsOneOpWhereTheirProductsAreSlow) {
  const auto graph = parse_graph(
      "graph @g(%q: bf16[2, 8, 256, 64], %k: bf16[2, 8, 256, 64], %v: bf16[2, 8, 256, 64]) {\n"
      "  %t = aten.transpose(%k, -2, -1)\n  %s = aten.matmul(%q, %t)\n  %d = aten.mul(%s, 0.125)\n"
      "  %p = aten.softmax(%d, -1)\n  %r = aten.matmul(%p, %v)\n  return %r\n}\n",
      op_table());
  for (const bool slow : {false, true}) {
    RunnerOptions how;
    if (slow) how.slow_products = DtypeSet::of(Dtype::bf16);
    bool attention = false;
    const auto program = to_loops(*graph, how, {.products_outside = true});
    loops::for_each_node(program.body, [&](const loops::Node& node) {
      const auto* e = std::get_if<loops::Extern>(&node.is);
      attention = attention || (e && e->op->full_name == "lenz.attention");
    });
    EXPECT_EQ(attention, slow);
  }
}

// A kernel of halves rounds weights before it divides them by their sum: shares that are rounded after their softmax in
// f32 stay steps, or go to a kernel of f32 where the host's products of halves are slow.
TEST(AttentionKernel, OfSharesThatAreRoundedIsNoOpOfHalves) {
  auto taken = [](const std::string& softmax, bool slow) {
    const auto graph = parse_graph(
        "graph @g(%q: bf16[2, 8, 24, 16], %k: bf16[2, 8, 24, 16], %v: bf16[2, 8, 24, 16], %m: f32[24, 24]) {\n"
        "  %t = aten.transpose(%k, -2, -1)\n  %s = aten.matmul(%q, %t)\n" +
            softmax + "  %r = aten.matmul(%p, %v)\n  return %r\n}\n",
        op_table());
    RunnerOptions how;
    if (slow) how.slow_products = DtypeSet::of(Dtype::bf16);
    std::string dtype = "steps";
    const auto program = to_loops(*graph, how, {.products_outside = true});
    loops::for_each_node(program.body, [&](const loops::Node& node) {
      const auto* e = std::get_if<loops::Extern>(&node.is);
      if (e && e->op->full_name == "lenz.attention") dtype = info(program.buffers[e->args[0].value()].type.dtype).name;
    });
    return dtype;
  };
  const std::string cast = "  %p = aten._to_copy(%w, dtype=bf16)\n";
  for (const std::string& wide : {"  %a = aten.add(%s, %m)\n  %w = aten.softmax(%a, -1)\n" + cast,
                                  "  %w = aten.softmax(%s, -1, dtype=f32)\n" + cast}) {
    EXPECT_EQ(taken(wide, false), "steps") << wide;
    EXPECT_EQ(taken(wide, true), "f32") << wide;
  }
  const std::string halves = "  %p = aten.softmax(%s, -1)\n";
  EXPECT_EQ(taken(halves, false), "bf16");
  EXPECT_EQ(taken(halves, true), "bf16");
}

}  // namespace
}  // namespace lenz::oracle
