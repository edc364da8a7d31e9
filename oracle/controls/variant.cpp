#include "oracle/controls/variant.h"

#include <algorithm>
#include <cmath>

#include "oracle/bounds/rounded.h"
#include "oracle/controls/accumulate.h"
#include "oracle/controls/choices.h"

namespace lenz::oracle::controls {

namespace {

class Run {
 public:
  Run(const Plan& plan, Chooser& choose, const VariantOptions& options)
      : plan_(plan), choose_(choose), mutation_(options.mutation), options_(options) {}

  std::vector<Elements> all() {
    values_.resize(plan_.dtypes.size());
    rests_.resize(plan_.dtypes.size());
    for (size_t i = 0; i < plan_.inputs.size(); ++i) values_[plan_.graph->inputs()[i].value] = plan_.inputs[i];
    for (const Step& s : plan_.steps) step(s);
    std::vector<Elements> out;
    for (ValueId v : plan_.outputs) {
      out.push_back(values_[v]);
      const Dtype d = plan_.dtypes[v];
      if (is_floating(d))
        for (double& e : out.back()) e = nearest(d, e);
    }
    return out;
  }

 private:
  void step(const Step& planned) {
    const bool here = mutation_ && mutation_->site == &planned;
    const Step& s = here ? mutation_->step : planned;
    const Choices x = choose_for(s, choose_);
    if (options_.said)
      if (std::string t = text_of(x, s); !t.empty())
        options_.said->push_back(plan_.graph->value_name(s.results[0]) + " " + plan_.graph->node(s.node).op->full_name +
                                 ": " + t);
    if (s.compute != Compute::whole) values_[s.results[0]].resize(s.count);
    compute(s, x);
    if (!here) return;
    Elements* results[] = {&values_[s.results[0]]};
    mutation_->spoil(results, values_);
    rests_[s.results[0]].clear();
  }

  void compute(const Step& s, const Choices& x) {
    switch (s.compute) {
      case Compute::scalar: return scalar(s, x);
      case Compute::cast: return cast(s, x);
      case Compute::move: return move(s);
      case Compute::fill: std::ranges::fill(values_[s.results[0]], number_of(s, s.operands[0], x)); return;
      case Compute::sum: return sum(s, x);
      case Compute::greatest:
      case Compute::least: return extremum(s);
      case Compute::contract: return contract(s, x);
      case Compute::scan_sum: return scan(s, x);
      case Compute::whole: return whole(s, x);
      case Compute::eager: return eagerly(s, x);
    }
  }

  // --- pointwise
  void scalar(const Step& s, const Choices& x) {
    Elements& out = values_[s.results[0]];
    const ScalarRow& row = *s.row;
    const EvalContext context{s.computes, s.dtype};
    const bool real = is_floating(s.computes);
    const Evaluator answer = real ? row.eval.reals : row.eval.integers;
    if (!answer) throw Unsupported("the controls do not compute " + std::string(row.name));
    const size_t arity = s.operands.size();
    const double* from[3] = {};
    const uint32_t* at[3] = {};
    double fixed[3] = {};
    bool whole[3] = {};
    for (size_t k = 0; k < arity; ++k) {
      const Operand& o = s.operands[k];
      whole[k] = !is_floating(operand_dtype(row, s.computes, static_cast<int>(k)));
      if (o.value == kNone) {
        fixed[k] = number_of(s, o, x);
        continue;
      }
      from[k] = values_[o.value].data();
      at[k] = o.sources ? o.sources->data() : nullptr;
    }
    const bool floating = is_floating(s.dtype);
    const bool inexact = floating && row.accuracy.of(s.computes) == AccuracyClass::ulps;
    const bool kept = may_stay_wide(s) && x.keeps == Dtype::f64 && x.formula;
    const bool wide = floating && s.dtype == Dtype::f64 && row.eval.dds && x.push != Choices::none && inexact;
    const bool by_reciprocal = s.arithmetic == Arithmetic::div && x.formula && floating;
    const bool by_units = x.formula && floating && may_be_in_units(s);
    Elements& rest = rests_[s.results[0]];
    rest.clear();
    if (kept) rest.resize(s.count);
    const Elements* rests[2] = {nullptr, nullptr};
    if (may_stay_wide(s))
      for (size_t k = 0; k < 2; ++k) rests[k] = rests_of(s.operands[k]);
    const bool wider = kept || rests[0] || rests[1];
    uint64_t state = x.seed;
    ScalarValue operands[3];
    for (size_t i = 0; i < s.count; ++i) {
      double v[3] = {};
      for (size_t k = 0; k < arity; ++k) {
        v[k] = (from[k] ? from[k][at[k] ? at[k][i] : i] : fixed[k]) * s.operands[k].factor;
        operands[k] = whole[k] ? wrapped(operand_dtype(row, s.computes, static_cast<int>(k)), v[k]) : ScalarValue(v[k]);
      }
      if (!floating) {
        const ScalarValue r = answer(context, operands);
        out[i] = r.kind() == ScalarKind::integer ? static_cast<double>(r.integer()) : r.real();
        continue;
      }
      const ScalarValue answered = answer(context, operands);
      const double exact =
          answered.kind() == ScalarKind::real ? answered.real() : static_cast<double>(answered.integer());
      if (wide) {
        out[i] = precise(s, x, v, operands, exact);
      } else if (inexact && s.dtype != Dtype::f64) {
        out[i] = pushed(s, x, exact, {operands, arity}, state);
      } else if (by_reciprocal) {
        out[i] = divided(x, s, v[0], v[1], exact);
      } else if (wider) {
        DoubleDouble pair[2];
        for (size_t k = 0; k < 2; ++k) {
          const size_t place = at[k] ? at[k][i] : i;
          pair[k] = {from[k] ? from[k][place] : fixed[k], rests[k] ? (*rests[k])[place] : 0};
        }
        const DoubleDouble r = unrounded(s, pair[0], pair[1]);
        out[i] = r.hi;
        if (kept) rest[i] = r.lo;
      } else {
        out[i] = rounded(x, by_units ? in_units(exact, x.seed) : exact);
      }
    }
  }

  // What rounding would have taken from an operand's elements; none if it has.
  const Elements* rests_of(const Operand& o) const {
    return o.value == kNone || rests_[o.value].empty() ? nullptr : &rests_[o.value];
  }

  void cast(const Step& s, const Choices& x) {
    Elements& out = values_[s.results[0]];
    const Operand& o = s.operands[0];
    const Elements& from = values_[o.value];
    for (size_t i = 0; i < s.count; ++i) {
      double v = from[o.sources ? (*o.sources)[i] : i];
      out[i] = is_floating(s.dtype) ? rounded(x, v) : s.dtype == Dtype::b8 ? v != 0 : std::trunc(v);
    }
  }

  void move(const Step& s) {
    moved(s, values_);
    Elements& rest = rests_[s.results[0]];
    rest.clear();
    if (std::ranges::none_of(s.operands, [&](const Operand& o) { return rests_of(o); })) return;
    for (const Operand& o : s.operands) rests_[o.value].resize(values_[o.value].size());
    rest.resize(s.count);
    moved(s, rests_);
  }
  static void moved(const Step& s, std::vector<Elements>& planes) {
    Elements& out = planes[s.results[0]];
    const Sources& from = *s.operands[0].sources;
    for (size_t i = 0; i < s.count; ++i) {
      size_t place = from[i];
      out[i] = 0;
      if (place-- == 0) continue;
      for (const Operand& o : s.operands) {
        const Elements& e = planes[o.value];
        if (place < e.size()) {
          out[i] = e[place];
          break;
        }
        place -= e.size();
      }
    }
  }

  // --- reductions
  double summed(const Step& s, const Choices& x, const double* a, size_t step_a, const double* b, size_t step_b) {
    if (s.dtype == Dtype::f64)
      return x.wide_sum ? accumulate<long double>(x.order, places_, a, step_a, b, step_b)
                        : accumulate<double>(x.order, places_, a, step_a, b, step_b);
    return x.wide_sum ? accumulate<double>(x.order, places_, a, step_a, b, step_b)
                      : accumulate<float>(x.order, places_, a, step_a, b, step_b);
  }
  void gather(const Step& s, size_t row) {
    const Operand& o = s.operands[0];
    const Elements& from = values_[o.value];
    gathered_.resize(s.length);
    for (size_t k = 0; k < s.length; ++k) gathered_[k] = from[(*o.sources)[row * s.length + k]];
  }
  // As a kernel that computes in this dtype reads them.
  void gather_in(Dtype inner, const Step& s, size_t row) {
    gather(s, row);
    for (double& v : gathered_) v = nearest(inner, v);
  }
  void sum(const Step& s, const Choices& x) {
    Elements& out = values_[s.results[0]];
    permute(x.order, s.length - std::min(s.dropped, s.length), places_);
    for (size_t r = 0; r < s.count; ++r) {
      gather(s, r);
      const double total = summed(s, x, gathered_.data(), 1, nullptr, 0);
      const bool by_units = x.formula && may_be_in_units(s);
      out[r] = is_floating(s.dtype) ? rounded(x, by_units ? in_units(total, x.seed) : total) : total;
    }
  }
  void extremum(const Step& s) {
    Elements& out = values_[s.results[0]];
    for (size_t r = 0; r < s.count; ++r) {
      gather(s, r);
      double best = gathered_[0];
      for (size_t k = 1; k + s.dropped < s.length; ++k) {
        const double v = gathered_[k];
        if (std::isnan(v) || (s.compute == Compute::greatest ? v > best : v < best)) best = std::isnan(best) ? best : v;
      }
      out[r] = best;
    }
  }
  void contract(const Step& s, const Choices& x) {
    Elements& out = values_[s.results[0]];
    permute(x.order, s.length - std::min(s.dropped, s.length), places_);
    const Elements &a = values_[s.operands[0].value], &b = values_[s.operands[1].value];
    size_t at = 0;
    for (size_t batch = 0; batch < s.batches; ++batch)
      for (size_t i = 0; i < s.rows; ++i)
        for (size_t j = 0; j < s.columns; ++j)
          out[at++] = rounded(x, summed(s, x, a.data() + (batch * s.rows + i) * s.length, 1,
                                        b.data() + batch * s.length * s.columns + j, s.columns));
  }
  // Blocks are scanned each by itself, and begin with what the blocks before them add up to.
  void scan(const Step& s, const Choices& x) {
    const size_t rows = s.length ? s.count / s.length : 0;
    Elements& out = values_[s.results[0]];
    const bool f32 = s.dtype != Dtype::f64 && !x.wide_sum;
    auto kept = [&](double v) { return f32 ? nearest(Dtype::f32, v) : v; };
    for (size_t r = 0; r < rows; ++r) {
      gather(s, r);
      double carry = 0, local = 0;
      for (size_t k = 0; k < s.length; ++k) {
        if (k % std::min(x.block, s.length) == 0 && k > 0) {
          carry = kept(carry + local);
          local = 0;
        }
        local = local == 0 && k % std::min(x.block, s.length) == 0 ? kept(gathered_[k]) : kept(local + gathered_[k]);
        out[(*s.operands[0].sources)[r * s.length + k]] = rounded(x, kept(carry + local));
      }
    }
  }

  // --- by eager, floats as wide as the result is to be kept
  void eagerly(const Step& s, const Choices& x) {
    const Graph& graph = *plan_.graph;
    const Node& node = graph.node(s.node);
    const bool wider = item_size(x.keeps) > item_size(s.dtype) && node.op->schema.find("dtype") < 0;
    std::vector<RunValue> values(graph.value_count());
    for (const Arg& a : node.arguments())
      for_each_value(a, [&](ValueId v) {
        TensorType type = graph.type(v).tensor();
        if (wider && is_floating(type.dtype)) type.dtype = x.keeps;
        values[v] = write_elements(values_[v], *graph.context().tensor(type), *plan_.boxed);
      });
    const Outcome outcome = plan_.boxed->run(*node.op, node.arguments(), values);
    if (outcome.raised) throw Unsupported("the controls can't run " + node.op->full_name + ": " + outcome.text);
    for (size_t i = 0; i < s.results.size(); ++i) {
      if (!graph.type(s.results[i]).is_tensor()) continue;
      const Dtype dtype = plan_.dtypes[s.results[i]];
      values_[s.results[i]] = read_elements(outcome.results[i], wider && is_floating(dtype) ? x.keeps : dtype);
    }
  }

  // --- composites
  void whole(const Step& s, const Choices& x) {
    if (s.fused != Fused::no && x.in_one_go && !options_.by_definition) {
      values_[s.results[0]].resize(s.count);
      s.fused == Fused::variance ? variance(s, x) : softmax(s, x);
      return;
    }
    for (const Step& part : s.body) step(part);
    for (size_t i = 0; i < s.results.size(); ++i)
      if (s.gives[i] != kNone) values_[s.results[i]] = values_[s.gives[i]];
  }

  // One pass keeps the greatest element so far and the sum that belongs to it.
  void softmax(const Step& s, const Choices& x) {
    const size_t rows = s.length ? s.count / s.length : 0;
    Elements& out = values_[s.results[0]];
    const Dtype inner = s.dtype == Dtype::f64 || x.wide_sum ? Dtype::f64 : Dtype::f32;
    auto kept = [&](double v) { return nearest(inner, v); };
    for (size_t r = 0; r < rows; ++r) {
      gather_in(inner, s, r);
      double top = gathered_[0], sum = 1;
      for (size_t k = 1; k < s.length; ++k) {
        const double v = gathered_[k];
        if (v > top) {
          sum = kept(kept(sum * kept(std::exp(kept(top - v)))) + 1);
          top = v;
        } else {
          sum = kept(sum + (v == top ? 1 : kept(std::exp(kept(v - top)))));  // both may be -inf
        }
      }
      for (size_t k = 0; k < s.length; ++k) {
        const double v = kept(gathered_[k] - top);
        const double y = s.fused == Fused::softmax ? kept(kept(std::exp(v)) / sum) : kept(v - kept(std::log(sum)));
        out[(*s.operands[0].sources)[r * s.length + k]] = rounded(x, y);
      }
    }
  }

  void variance(const Step& s, const Choices& x) {
    Elements& out = values_[s.results[0]];
    const Dtype inner = s.dtype == Dtype::f64 || x.wide_sum ? Dtype::f64 : Dtype::f32;
    auto kept = [&](double v) { return nearest(inner, v); };
    for (size_t r = 0; r < s.count; ++r) {
      gather_in(inner, s, r);
      double mean = 0, squares = 0;
      for (size_t k = 0; k < s.length; ++k) {
        const double before = kept(gathered_[k] - mean);
        mean = kept(mean + kept(before / static_cast<double>(k + 1)));
        squares = kept(squares + kept(before * kept(gathered_[k] - mean)));
      }
      const double n = static_cast<double>(s.length) - s.correction;
      out[r] = s.length ? rounded(x, kept(squares / std::max(n, 0.0))) : std::numeric_limits<double>::quiet_NaN();
    }
  }

  const Plan& plan_;
  Chooser& choose_;
  const Mutation* mutation_;
  VariantOptions options_;
  std::vector<Elements> values_, rests_;
  Elements gathered_;
  std::vector<uint32_t> places_;
};

}  // namespace

std::vector<Elements> run_variant(const Plan& plan, Chooser& choose, const VariantOptions& options) {
  return Run(plan, choose, options).all();
}

}  // namespace lenz::oracle::controls
