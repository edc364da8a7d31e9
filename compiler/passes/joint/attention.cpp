#include <algorithm>
#include <cmath>
#include <utility>

#include "compiler/base/held_values.h"
#include "compiler/graph/host_kernels.h"
#include "compiler/graph/match.h"
#include "compiler/passes/expand_node.h"
#include "compiler/passes/joint/attention_patterns.h"
#include "compiler/passes/joint/attention_steps.h"
#include "compiler/passes/joint/node_maker.h"
#include "compiler/passes/pass.h"
#include "compiler/passes/uniform.h"
#include "compiler/scalar/rounding.h"

namespace lenz {

Pass dead_code();
Pass pointless_views();

namespace {

DimVec batch_of(const Type& t) { return DimVec(t.sizes().first(t.rank() - 2)); }

DimVec with_matrix(DimVec batch, const Type& like) {
  batch.push_back(like.sizes()[like.rank() - 2]);
  batch.push_back(like.sizes().back());
  return batch;
}

// Whether products of their own may be quicker, by dtype, and whether they are. Of sizes that are open the host says,
// but where its attention is slow whatever they are.
bool may_be_quicker_in_steps(const Type& scores, DtypeSet slow_products) {
  return is_reduced_float(scores.dtype) && !slow_products.has(scores.dtype);
}

bool are_quicker_in_steps(const Type& scores, const PassContext& context) {
  if (!may_be_quicker_in_steps(scores, context.slow_products)) return false;
  const Dim count = numel(scores.sizes());
  if (!count.is_constant()) return context.attention_in_steps;
  return narrow_scores_are_quicker(count.constant() * item_size(scores.dtype));
}

// Whether what the graph rounds to the dtype of queries and values is something else than one op of that dtype rounds.
// Shares that come from a softmax in another dtype are known but for that rounding, which goes one way then; a kernel
// rounds what has not been divided by its sum yet. And where that is what the graph rounds, the steps round shares.
bool rounds_otherwise(const Graph& graph, const AttentionSteps& steps) {
  const Dtype dtype = graph.type(steps.left).dtype;
  return is_reduced_float(dtype) && (steps.late || graph.type(steps.weights).dtype != dtype);
}

// Puts one op in the place of what the steps compute. Steps are taken from the product of queries and keys outwards;
// what they do to the scores so far is where(seen, scale * scores, hidden) + bias.
class Fusion {
 public:
  Fusion(Graph& graph, Uniforms& uniforms, const AttentionSteps& steps, DtypeSet slow_products)
      : graph_(graph), uniforms_(uniforms), steps_(steps), slow_products_(slow_products), make_(graph, steps.root()) {}

  // What computes the same, or kNone.
  ValueId build() {
    try {
      ValueId made = attempt();
      if (made != kNone && make_.guards_added()) made = kNone;
      if (made != kNone && &graph_.type(made) != &graph_.type(out())) made = kNone;
      if (made == kNone) make_.undo();
      return made;
    } catch (const InternalError&) {
      throw;
    } catch (const Error&) {  // a rule of an op refuses: a shape that no pattern asked about
      make_.undo();
      return kNone;
    }
  }
  void undo() { make_.undo(); }

 private:
  ValueId out() const { return graph_.node(steps_.root()).result(); }
  const Type& type(ValueId v) const { return graph_.type(v); }

  bool same(Dim a, Dim b) const { return a == b || graph_.assumptions.prove(eq(a, b)) == Truth::yes; }
  bool same(std::span<const Dim> a, std::span<const Dim> b) const {
    return std::ranges::equal(a, b, [&](Dim x, Dim y) { return same(x, y); });
  }

  ValueId attempt() {
    Dtype dtype = type(steps_.left).dtype, value = type(steps_.value).dtype;
    if (!is_floating(dtype) || is_float8(dtype) || dtype != type(steps_.right).dtype) return kNone;
    // Weights of f32 may be rounded for values of fewer bits, which f32 holds.
    if (value != dtype && !(dtype == Dtype::f32 && is_reduced_float(value))) return kNone;
    wide_ = is_reduced_float(dtype) ? Dtype::f32 : dtype;
    query_ = steps_.scores_turned ? transposed(steps_.right) : steps_.left;
    scale_ = steps_.scale;
    product_batch_ = batch_ = shown_batch_ = batch_of(type(steps_.scores));
    for (const AttentionStep& step : steps_.on_scores)
      if (!take(step)) return kNone;
    for (const AttentionStep& step : steps_.on_weights)
      if (step.role == AttentionRole::reshape && !reshape(step)) return kNone;
    if (!is_plain_factor(scale_)) return kNone;
    if (open_scale_ != kNone && std::fabs(scale_) > 1) return kNone;  // their product might be infinite
    return assemble();
  }

  bool take(const AttentionStep& step) {
    switch (step.role) {
      case AttentionRole::cast: return holds_values(type(step.result).dtype, type(step.operand).dtype);
      case AttentionRole::reshape: return reshape(step);
      case AttentionRole::turn: return true;
      case AttentionRole::scale: return scale(step, step.number);
      case AttentionRole::factor:
      case AttentionRole::divisor: return factor(step);
      case AttentionRole::bias: return bias(step);
      case AttentionRole::seen:
      case AttentionRole::hidden: return mask(step);
    }
    return false;
  }

  // Batches may be counted in other ways, but what was added or masked has its shape from then on: it is counted anew
  // where a later step asks for that, else the result is.
  bool reshape(const AttentionStep& step) {
    const Type &from = type(step.operand), &to = type(step.result);
    if (from.rank() < 2 || to.rank() < 2 || !same(from.sizes().last(2), to.sizes().last(2))) return false;
    if (same(batch_of(from), batch_of(to))) return true;
    reshaped_ = true;
    bool open = bias_ == kNone && seen_ == kNone && same(shown_batch_, batch_);
    shown_batch_ = batch_of(to);
    if (open) batch_ = shown_batch_;
    return true;
  }

  void count_as_shown() {
    if (same(shown_batch_, batch_)) return;
    const DimVec before = std::exchange(batch_, shown_batch_);
    auto one = [&](Dim d) { return same(d, 1); };
    for (ValueId* v : {&bias_, &seen_})
      if (*v != kNone && type(*v).rank() > 2 && !std::ranges::all_of(batch_of(type(*v)), one))
        *v = recounted(*v, before);
  }

  // A quotient is a product by the reciprocal only where that is a number of the dtype, and no place of it is lost.
  bool is_plain_factor(double x) const {
    return std::fabs(x) <= largest_finite(wide_) && std::fabs(x) >= smallest_normal(wide_);
  }

  // A finite number in place of hidden scores may leave the range of a half float by a factor; then it was infinite.
  bool scale(const AttentionStep& step, double by) {
    if (!is_plain_factor(by)) return false;
    if (hidden_ && std::isfinite(*hidden_) && is_reduced_float(type(step.result).dtype)) return false;
    // What was added may overflow by itself where the sum, which it cancels in, does not.
    if (bias_ != kNone && std::fabs(by) > 1) return false;
    scale_ *= by;
    if (hidden_) hidden_ = round_to(type(step.result).dtype, *hidden_ * by);  // beyond the dtype it is infinite
    if (bias_ != kNone) bias_ = make_.call(attention_forms().mul, {Arg::of_value(as(bias_, wide_)), Arg::of_real(by)});
    return true;
  }

  // A number that only a run knows scales the scores too, not the queries: these might leave their dtype's range by it,
  // as what was added might. Two of them are not one: their product may be infinite, or nothing, where neither is.
  bool factor(const AttentionStep& step) {
    bool divides = step.role == AttentionRole::divisor;
    if (auto n = uniforms_.of(step.other)) return scale(step, divides ? 1 / *n : *n);
    const Type &from = type(step.operand), &to = type(step.result);
    if (open_scale_ != kNone || hidden_ || bias_ != kNone || from.dtype != to.dtype || !same(from.sizes(), to.sizes()))
      return false;
    if (divides && !counts(step.other)) return false;
    const AttentionForms& forms = attention_forms();
    open_scale_ = divides ? make_.call(forms.reciprocal, {Arg::of_value(as_tensor(step.other))}) : step.other;
    return true;
  }

  // What sizes alone make, or roots of them: 0 or of a reciprocal that every dtype has. That of any other number of the
  // run may be infinite, which scores of 0 are NaN by, where the quotient is 0.
  bool counts(ValueId v) const {
    const AttentionForms& forms = attention_forms();
    while (graph_.value(v).producer != kNone) {
      const Node& node = graph_.node(graph_.value(v).producer);
      const Arg& from = node.args[0];
      const std::string_view op = node.op->full_name;
      if (op == forms.number_as_tensor && from.kind == ArgKind::integer) return true;
      const bool keeps =
          op == forms.number_as_tensor || op == forms.number_of_tensor || op == forms.cast || op == forms.root;
      if (!keeps || !from.is_value()) return false;
      v = from.value();
    }
    return false;
  }

  // A number, or a tensor of one element, as f64 without dims.
  ValueId as_tensor(ValueId v) {
    const AttentionForms& forms = attention_forms();
    const Keyword wide{"dtype", Arg::of_dtype(Dtype::f64)};
    if (!type(v).is_tensor()) return make_.call(forms.number_as_tensor, {Arg::of_value(v)}, {wide});
    v = as(v, Dtype::f64);
    return type(v).rank() == 0 ? v : make_.call(forms.reshape, {Arg::of_value(v), graph_.context().dims({})});
  }

  Arg whole_scale() {
    const AttentionForms& forms = attention_forms();
    if (open_scale_ == kNone) return Arg::of_real(scale_);
    if (scale_ != 1) open_scale_ = make_.call(forms.mul, {Arg::of_value(as_tensor(open_scale_)), Arg::of_real(scale_)});
    if (!type(open_scale_).is_tensor()) return Arg::of_value(open_scale_);
    return Arg::of_value(make_.call(forms.number_of_tensor, {Arg::of_value(as_tensor(open_scale_))}));
  }

  bool bias(const AttentionStep& step) {
    if (!same(type(step.operand).sizes(), type(step.result).sizes())) return false;
    count_as_shown();
    if (info(type(step.other).dtype).bits > info(wide_).bits) return false;
    ValueId added = upright(step.other, step.turned);
    // Integers are added as numbers of the scores' dtype: times a number they would be f32, and their sums may wrap.
    if (!is_floating(type(added).dtype)) added = as(added, type(step.result).dtype);
    if (step.number != 1) {
      // The op's own sum is one of wide numbers: only a sign is no rounding.
      if (std::fabs(step.number) != 1) added = as(added, wide_);
      added = make_.call(attention_forms().mul, {Arg::of_value(added), Arg::of_real(step.number)});
    }
    if (bias_ == kNone) {
      bias_ = added;
    } else {
      // Of narrow numbers their sum may be rounded by more than all that the graph rounds: scores may cancel them.
      bias_ = make_.call(attention_forms().add, {Arg::of_value(as(bias_, wide_)), Arg::of_value(as(added, wide_))});
    }
    return true;
  }

  bool mask(const AttentionStep& step) {
    if (!same(type(step.operand).sizes(), type(step.result).sizes())) return false;
    count_as_shown();
    if (type(step.mask).dtype != Dtype::b8 || type(step.operand).dtype != type(step.result).dtype) return false;
    std::optional<double> number = step.other == kNone ? step.number : uniforms_.of(step.other);
    if (!number) return false;
    double hidden = round_to(type(step.result).dtype, *number);
    if (std::isnan(hidden) || (hidden_ && *hidden_ != hidden)) return false;
    Arg seen = Arg::of_value(upright(step.mask, step.turned));
    if (step.role == AttentionRole::hidden) seen = Arg::of_value(make_.call(attention_forms().negated, {seen}));
    if (bias_ != kNone) bias_ = make_.call(attention_forms().where, {seen, Arg::of_value(bias_), Arg::of_int(0)});
    if (seen_ != kNone) seen = Arg::of_value(make_.call(attention_forms().also, {Arg::of_value(seen_), seen}));
    seen_ = seen.value();
    hidden_ = hidden;
    return true;
  }

  // An operand whose batch is counted like the scores' at work.
  ValueId recounted(ValueId v, const DimVec& batch) {
    Context& c = graph_.context();
    if (!same(batch_of(type(v)), batch))
      v = make_.call(attention_forms().expand, {Arg::of_value(v), c.dims(with_matrix(batch, type(v)))});
    if (same(batch, batch_)) return v;
    return make_.call(attention_forms().reshape, {Arg::of_value(v), c.dims(with_matrix(batch_, type(v)))});
  }

  ValueId transposed(ValueId v) {
    return make_.call(attention_forms().transpose, {Arg::of_value(v), Arg::of_int(-2), Arg::of_int(-1)});
  }

  ValueId as(ValueId v, Dtype dtype) {
    if (type(v).dtype == dtype) return v;
    return make_.call(attention_forms().cast, {Arg::of_value(v)}, {{"dtype", Arg::of_dtype(dtype)}});
  }

  // What broadcasts against transposed scores, for scores.
  ValueId upright(ValueId v, bool turned) {
    if (!turned || type(v).rank() == 0) return v;
    if (type(v).rank() > 1) return transposed(v);
    return make_.call(attention_forms().unsqueeze, {Arg::of_value(v), Arg::of_int(-1)});
  }

  // Whether the host may take steps whose scores are rounded: the graph's were, and who knows how many there are is the
  // host alone. What is scaled with something added, or where it is kept wider, is rounded on a grid of its own.
  bool may_be_narrow() const {
    const Type& scores = type(steps_.scores);
    if (!may_be_quicker_in_steps(scores, slow_products_) || numel(scores.sizes()).is_constant()) return false;
    bool added = false;
    for (const AttentionStep& step : steps_.on_scores) {
      const bool bias = step.role == AttentionRole::bias;
      const bool scales = step.role == AttentionRole::scale || step.role == AttentionRole::factor ||
                          step.role == AttentionRole::divisor;
      if ((bias && type(step.result).dtype != scores.dtype) ||
          (scales && (added || type(step.result).dtype != scores.dtype)))
        return false;
      added = added || bias;
    }
    return true;
  }

  ValueId assemble() {
    const AttentionForms& forms = attention_forms();
    ValueId key = steps_.scores_turned ? steps_.left : transposed(steps_.right);
    if (rounds_otherwise(graph_, steps_)) {  // not to round is as right as to round there
      query_ = as(query_, wide_);
      key = as(key, wide_);
    }
    ValueId value = as(steps_.turned ? transposed(steps_.value) : steps_.value, type(query_).dtype);
    if (!same(product_batch_, batch_)) {
      query_ = recounted(query_, product_batch_);
      key = recounted(key, product_batch_);
    }
    DimVec last = batch_of(type(out()));
    if (reshaped_ && !same(last, batch_)) value = recounted(value, last);
    auto optional = [](ValueId v) { return v == kNone ? Arg::none() : Arg::of_value(v); };
    ValueId made =
        make_.call(forms.attention,
                   {Arg::of_value(query_), Arg::of_value(key), Arg::of_value(value), optional(bias_), optional(seen_)},
                   {{"scale", whole_scale()},
                    {"hidden", Arg::of_real(hidden_.value_or(0))},
                    {"narrow", Arg::of_bool(may_be_narrow())}});
    made = as(made, type(out()).dtype);
    if (steps_.turned)
      made = make_.call(forms.copy, {Arg::of_value(transposed(made))},
                        {{"memory_format", Arg::of_memory_format(MemoryFormat::contiguous)}});
    if (same(type(made).sizes(), type(out()).sizes())) return made;
    return make_.call(forms.view, {Arg::of_value(made), graph_.context().dims(type(out()).sizes())});
  }

  Graph& graph_;
  Uniforms& uniforms_;
  const AttentionSteps& steps_;
  DtypeSet slow_products_;
  NodeMaker make_;
  Dtype wide_ = Dtype::f32;
  ValueId query_ = kNone, bias_ = kNone, seen_ = kNone, open_scale_ = kNone;
  double scale_ = 1;
  std::optional<double> hidden_;
  // Of the first product; as counted where masks are put on; and as the graph counts it at the step at hand.
  DimVec product_batch_, batch_, shown_batch_;
  bool reshaped_ = false;
};

// What an equation's definition makes is products between views of views, of which few are left.
void take_equations_apart(Graph& graph, PassContext& context) {
  const RuleSet& rules = attention_patterns().equations;
  std::vector<NodeId> found;
  graph.for_each_node([&](NodeId id) {
    for (uint32_t index : rules.rooted_at(*graph.node(id).op))
      if (match(graph, rules, rules.rules()[index], id)) found.push_back(id);
  });
  bool any = false;
  for (NodeId id : found) any |= context.allow("equation") && expand_node(graph, id);
  if (!any) return;
  context.run_within(pointless_views(), graph);
  context.run_within(dead_code(), graph);
}

void run(Graph& graph, PassContext& context) {
  context.apply(graph, attention_patterns().shared_heads);
  take_equations_apart(graph, context);
  AliasClasses aliases(graph);
  Uniforms uniforms(graph, aliases);
  graph.for_each_node([&](NodeId id) {
    auto steps = AttentionSteps::find(graph, aliases, id);
    if (!steps) return;
    if (are_quicker_in_steps(graph.type(steps->scores), context))
      return context.count("not fused: halves whose products are quicker");
    if (rounds_otherwise(graph, *steps) && !context.slow_products.has(graph.type(steps->left).dtype))
      return context.count("not fused: what is rounded is another thing");
    Fusion fusion(graph, uniforms, *steps, context.slow_products);
    ValueId made = fusion.build();
    if (made == kNone) return context.count("not fused: shapes, dtypes or masks");
    ValueId out = graph.node(id).result();
    if (may_replace(graph, aliases, out, made) != Refusal::none || !context.allow("attention")) return fusion.undo();
    replace_value(graph, aliases, out, made);
    graph.erase_all(steps->nodes);
  });
}

}  // namespace

Pass attention() {
  return {
      .name = "attention",
      .contract =
          "Puts lenz.attention in the place of softmax(q k^T ...) v, however scaled, masked, cast; shares repeated "
          "keys.\n"
          "Asks patterns for the steps (attention_patterns.cpp); nothing in between may be used elsewhere.\n"
          "Keeps values within their bounds, and where a row sees nothing; a step it does not know stays. So do halves "
          "whose scores caches hold.",
      .levels = {Level::torch, Level::aten},
      .idempotent = true,
      .rounds = true,
      .run = run};
}

}  // namespace lenz
