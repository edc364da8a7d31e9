#include "oracle/controls/extremes.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "oracle/bounds/rounded.h"
#include "oracle/controls/choices.h"
#include "oracle/controls/steered_sums.h"

namespace lenz::oracle::controls {

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// Some of the values that an element may have: the least, the greatest, and two between. Of float64 with what rounding
// takes from them, where it is left out (`may_stay_wide`); by itself each is the rounded value.
constexpr size_t kKept = 4;
struct Attained {
  std::array<double, kKept> v{}, rest{};
  double least() const { return v[0]; }
  double greatest() const { return v[1]; }
  bool one() const { return v[0] == v[1] && rest[0] == rest[1]; }
  void set(size_t k, DoubleDouble x) { v[k] = x.hi, rest[k] = x.lo; }
};
using AttainedElements = std::vector<Attained>;

class Collector {
 public:
  void add(DoubleDouble v) {
    if (std::isnan(v.hi)) {
      nan_ = true;
      return;
    }
    auto less = [](double a, double rest_a, double b, double rest_b) { return a < b || (a == b && rest_a < rest_b); };
    if (count_ == 0 || less(v.hi, v.lo, a_.v[0], a_.rest[0])) a_.set(0, v);
    if (count_ == 0 || less(a_.v[1], a_.rest[1], v.hi, v.lo)) a_.set(1, v);
    a_.set(2 + count_ % 2, v);
    if (count_ == 0) a_.set(3, v);
    ++count_;
  }
  Attained take() const {
    Attained a = a_;
    if (count_ == 0) a.v.fill(kNaN);
    if (nan_) a.v[3] = kNaN;
    return a;
  }

 private:
  Attained a_;
  uint64_t count_ = 0;
  bool nan_ = false;
};

// All that may be chosen for elements of a step, as far as it makes a difference.
std::vector<Choices> choices_of(const Step& s) {
  std::vector<Choices> all;
  const bool narrow = is_reduced_float(s.dtype);
  const bool inexact =
      s.compute == Compute::scalar && is_floating(s.dtype) && s.row->accuracy.of(s.computes) == AccuracyClass::ulps;
  const bool formula = s.arithmetic == Arithmetic::div || s.arithmetic == Arithmetic::exp;
  std::vector<Dtype> keeps{s.dtype, Dtype::f64};
  if (narrow) keeps.insert(keeps.begin() + 1, Dtype::f32);
  std::vector<Choices::Push> pushes{Choices::none};
  const bool off_by_reciprocal = is_floating(s.dtype) && may_be_off_by_reciprocal(s);
  if (inexact || off_by_reciprocal) pushes.insert(pushes.end(), {Choices::up, Choices::down});
  for (Dtype kept : keeps)
    for (Choices::Push push : pushes)
      for (bool itself : {false, true})
        for (bool other : {false, true}) {
          if (!narrow && itself) continue;
          if (other && !(formula && (push == Choices::none || off_by_reciprocal))) continue;
          if (!other && push != Choices::none && !inexact) continue;
          Choices x;
          x.keeps = kept;
          x.through = narrow && !itself ? Dtype::f32 : s.dtype;
          x.push = push;
          x.formula = other;
          all.push_back(x);
        }
  return all;
}

class Extent {
 public:
  Extent(const Plan& plan, const Pains& pains)
      : plan_(plan), tries_(static_cast<size_t>(pains.tries)), climbs_(pains.climbs), values_(plan.dtypes.size()) {}

  Extremes all() {
    for (size_t i = 0; i < plan_.inputs.size(); ++i) {
      AttainedElements& input = values_[plan_.graph->inputs()[i].value];
      input.resize(plan_.inputs[i].size());
      for (size_t k = 0; k < input.size(); ++k) input[k].v.fill(plan_.inputs[i][k]);
    }
    for (const Step& s : plan_.steps) step(s);
    Extremes out;
    for (ValueId v : plan_.outputs) {
      const Dtype d = plan_.dtypes[v];
      auto& least = out.least.emplace_back();
      auto& greatest = out.greatest.emplace_back();
      for (const Attained& a : values_[v]) {
        least.push_back(is_floating(d) ? nearest(d, a.least()) : a.least());
        const bool nan = std::isnan(a.v[3]);
        greatest.push_back(nan ? kNaN : is_floating(d) ? nearest(d, a.greatest()) : a.greatest());
      }
    }
    return out;
  }

 private:
  void step(const Step& s) {
    if (s.compute == Compute::whole) {
      for (const Step& part : s.body) step(part);
      for (size_t i = 0; i < s.results.size(); ++i)
        if (s.gives[i] != kNone) values_[s.results[i]] = values_[s.gives[i]];
      return;
    }
    choices_ = choices_of(s);
    AttainedElements& out = values_[s.results[0]];
    out.assign(s.count, {});
    switch (s.compute) {
      case Compute::scalar: return scalar(s, out);
      case Compute::cast: return cast(s, out);
      case Compute::move: return move(s, out);
      case Compute::fill: std::ranges::fill(out, number(s, s.operands[0])); return;
      case Compute::sum: return sum(s, out);
      case Compute::greatest:
      case Compute::least: return extremum(s, out);
      case Compute::contract: return contract(s, out);
      case Compute::scan_sum: return scan(s, out);
      case Compute::whole: return;
      case Compute::eager: throw Unsupported("nobody knows what eager might choose");
    }
  }

  static bool multiplies_itself(const Step& s) {
    return s.row->error.rule == ErrorRule::product && s.operands.size() == 2 && s.operands[0].value != kNone &&
           s.operands[0].value == s.operands[1].value && s.operands[0].sources == s.operands[1].sources;
  }

  static Attained number(const Step& s, const Operand& o) {
    Collector c;
    for (uint64_t n : {0, 1, 2}) {
      Choices x;
      x.number = n;
      c.add(number_of(s, o, x));
    }
    return c.take();
  }

  // --- pointwise
  void scalar(const Step& s, AttainedElements& out) {
    const size_t arity = s.operands.size();
    Attained from[3];
    double factors[3] = {1, 1, 1};
    bool whole[3] = {}, off = may_be_off_on_the_way(s);
    for (size_t k = 0; k < arity; ++k) {
      whole[k] = !is_floating(operand_dtype(*s.row, s.computes, static_cast<int>(k)));
      off = off && !whole[k];
      factors[k] = s.operands[k].factor;
      if (s.operands[k].value == kNone) from[k] = number(s, s.operands[k]);
    }
    for (size_t i = 0; i < s.count; ++i) {
      for (size_t k = 0; k < arity; ++k) {
        const Operand& o = s.operands[k];
        if (o.value != kNone) from[k] = values_[o.value][o.sources ? (*o.sources)[i] : i];
      }
      Collector collector;
      auto answer = [&](const std::array<size_t, 3>& which) {
        double v[3] = {};
        for (size_t k = 0; k < arity; ++k) v[k] = from[k].v[which[k]] * factors[k];
        answers(s, v, whole, collector);
        if (off) {
          ScalarValue operands[3];
          for (size_t k = 0; k < arity; ++k)
            operands[k] =
                ScalarValue(DoubleDouble(from[k].v[which[k]], from[k].rest[which[k]]) * DoubleDouble(factors[k]));
          const DoubleDouble exact = s.row->eval.dds({s.computes, s.dtype}, operands).double_double();
          const auto [least, greatest] = off_on_the_way(s.dtype, exact, units(), last_place(s.dtype, exact.hi));
          collector.add(least);
          collector.add(greatest);
        }
        if (!may_stay_wide(s)) return;
        const DoubleDouble wide =
            unrounded(s, {from[0].v[which[0]], from[0].rest[which[0]]}, {from[1].v[which[1]], from[1].rest[which[1]]});
        collector.add(wide.hi);
        collector.add(wide);
      };
      // Every corner, and two more between.
      size_t ends[3] = {1, 1, 1};
      for (size_t k = 0; k < arity; ++k) ends[k] = from[k].one() ? 1 : 2;
      if (multiplies_itself(s)) {  // both factors are one value, that is read once
        for (size_t which = 0; which < kKept; ++which) answer({which, which, which});
        out[i] = collector.take();
        continue;
      }
      std::array<size_t, 3> at{};
      for (at[0] = 0; at[0] < ends[0]; ++at[0])
        for (at[1] = 0; at[1] < ends[1]; ++at[1])
          for (at[2] = 0; at[2] < ends[2]; ++at[2]) answer(at);
      if (ends[0] * ends[1] * ends[2] > 1 || std::isnan(from[0].v[3]) || std::isnan(from[1].v[3])) {
        answer({2, 3, 2});
        answer({3, 2, 3});
      }
      out[i] = collector.take();
    }
  }

  void answers(const Step& s, const double* v, const bool* whole, Collector& collector) {
    const EvalContext context{s.computes, s.dtype};
    const Evaluator evaluate = is_floating(s.computes) ? s.row->eval.reals : s.row->eval.integers;
    if (!evaluate) throw Unsupported("the controls do not compute " + std::string(s.row->name));
    const size_t arity = s.operands.size();
    ScalarValue operands[3];
    for (size_t k = 0; k < arity; ++k)
      operands[k] =
          whole[k] ? wrapped(operand_dtype(*s.row, s.computes, static_cast<int>(k)), v[k]) : ScalarValue(v[k]);
    const ScalarValue answered = evaluate(context, operands);
    const double exact =
        answered.kind() == ScalarKind::integer ? static_cast<double>(answered.integer()) : answered.real();
    if (!is_floating(s.dtype)) return collector.add(exact);
    const bool inexact = s.row->accuracy.of(s.computes) == AccuracyClass::ulps;
    const bool by_units = !inexact && may_be_in_units(s);
    const ByUnits by = by_units ? in_any_units(exact) : ByUnits{};
    uint64_t state = 0;
    for (const Choices& x : choices_) {
      if (inexact && s.dtype == Dtype::f64)
        collector.add(s.row->eval.dds && x.push ? precise(s, x, v, {operands, arity}, exact) : exact);
      else if (inexact)
        collector.add(pushed(s, x, exact, {operands, arity}, state));
      else if (s.arithmetic == Arithmetic::div && x.formula)
        collector.add(divided(x, s, v[0], v[1], exact));
      else
        collector.add(rounded(x, exact));
      if (by_units) {
        collector.add(rounded(x, by.least));
        collector.add(rounded(x, by.greatest));
      }
    }
  }

  void cast(const Step& s, AttainedElements& out) {
    const Operand& o = s.operands[0];
    for (size_t i = 0; i < s.count; ++i) {
      Collector collector;
      for (double v : values_[o.value][o.sources ? (*o.sources)[i] : i].v) {
        if (is_floating(s.dtype))
          keep(v, collector);
        else
          collector.add(s.dtype == Dtype::b8 ? v != 0 : std::trunc(v));
      }
      out[i] = collector.take();
    }
  }

  void move(const Step& s, AttainedElements& out) {
    for (size_t i = 0; i < s.count; ++i) {
      size_t place = (*s.operands[0].sources)[i];
      if (place-- == 0) continue;
      for (const Operand& o : s.operands) {
        if (place < values_[o.value].size()) {
          out[i] = values_[o.value][place];
          break;
        }
        place -= values_[o.value].size();
      }
    }
  }

  void keep(double v, Collector& collector) {
    for (const Choices& x : choices_) collector.add(rounded(x, v));
  }

  // --- reductions
  // The sum of terms between two ends each, into the collector. Takes the vectors to pieces.
  void sum_of(const Step& s, std::vector<double>& low, std::vector<double>& high, Collector& collector) {
    for (std::vector<double>* given : {&low, &high}) {
      SumOrder order{std::move(*given), {}}, best;
      std::vector<double>& terms = order.terms;
      const double way = given == &low ? -1 : 1;
      double plain = 0, most = -HUGE_VAL;
      for (double t : terms) plain += t;
      if (!is_floating(s.dtype)) {
        collector.add(plain);
        continue;
      }
      if (s.dtype != Dtype::f64) keep(plain, collector);
      if (may_be_in_units(s)) {
        const ByUnits by = in_any_units(plain);
        keep(by.least, collector);
        keep(by.greatest, collector);
      }
      const Dtype carried = s.dtype == Dtype::f64 ? Dtype::f64 : Dtype::f32;
      Chance none;
      auto add_up = [&](Chance& chance) {
        const double sum = steered(order, way, carried, chance);
        keep(sum, collector);
        if (tries_ > 0 && way * sum > most) most = way * sum, best = order;
      };
      // As it comes, with partial sums as large as they can be made, and as soon with terms that do little there.
      add_up(none);
      for (const auto descending : {true, false}) {
        std::ranges::sort(terms, [&](double a, double b) { return descending ? a > b : a < b; });
        add_up(none);
      }
      constexpr double kGoodOnesCountFor[] = {0.75, 0.5, 0.25};
      for (const double share : kGoodOnesCountFor) {
        good_ones_late(terms, way, carried, share);
        add_up(none);
      }
      Chance chance;
      for (size_t t = 0; t < std::min(tries_, kTermsOfTries / std::max<size_t>(terms.size(), 1)); ++t) {
        chance.most = t % 2 ? 0.5 : 0.2;
        if (t % 8 < 6)
          good_ones_late(terms, way, carried, 1 - 0.15 * static_cast<double>(t % 8));
        else
          std::ranges::shuffle(terms, chance.bits);
        add_up(chance);
      }
      if (may_be_off_on_the_way(s)) continue;  // in changing units it gets farther
      if (best.terms.size() < kFewTerms || terms.size() * s.count > kTermsOfExchanges / kLeastExchanges) continue;
      const size_t times = climbs_ * kTermsOfExchanges / (terms.size() * s.count);
      keep(with_exchanges(best, way, carried, times), collector);
    }
  }
  void gather(const Step& s, size_t row, std::vector<double>& low, std::vector<double>& high) {
    const Operand& o = s.operands[0];
    low.clear();
    high.clear();
    for (size_t k = 0; k < s.length; ++k) {
      const Attained& a = values_[o.value][(*o.sources)[row * s.length + k]];
      low.push_back(a.least());
      high.push_back(std::isnan(a.v[3]) ? kNaN : a.greatest());
    }
  }
  void sum(const Step& s, AttainedElements& out) {
    for (size_t r = 0; r < s.count; ++r) {
      Collector collector;
      gather(s, r, low_, high_);
      sum_of(s, low_, high_, collector);
      if (may_be_off_on_the_way(s) || may_be_in_units(s)) in_changing_units(s, r, collector);
      out[r] = collector.take();
    }
  }
  // A definition's sum by formulas that keep what they have so far in units of something that changes with each term,
  // as a running mean does with their number and a softmax of one pass with the greatest of them: each sum of two is
  // rounded in units of its own. The largest terms come first, so that what is rounded is soon as large as it gets. Or,
  // as variances and means are computed of data that is shifted, the sum starts with a guess at the mean in the place
  // of all terms but the first, and what these have beyond it is added.
  void in_changing_units(const Step& s, size_t row, Collector& collector) {
    const Operand& o = s.operands[0];
    const Dtype carried = is_reduced_float(s.dtype) ? Dtype::f32 : s.dtype;
    for (const bool up : {false, true})
      for (const bool shifted : {false, true}) {
        DoubleDouble whole;
        wide_.clear();
        for (size_t k = 0; k < s.length; ++k) {
          const Attained& a = values_[o.value][(*o.sources)[row * s.length + k]];
          wide_.emplace_back(a.v[up], a.rest[up]);
          whole = whole + wide_.back();
        }
        if (!std::isfinite(whole.hi) || wide_.empty()) return;
        std::ranges::sort(wide_, [&](const DoubleDouble& a, const DoubleDouble& b) {
          return whole.hi < 0 ? a.hi < b.hi : a.hi > b.hi;
        });
        const double others = static_cast<double>(wide_.size() - 1);
        const double guess = shifted ? whole.hi / (others + 1) : 0;
        DoubleDouble sum = wide_[0] + DoubleDouble(guess) * DoubleDouble(others);
        for (size_t k = 1; k < wide_.size(); ++k) {
          DoubleDouble more = sum + (wide_[k] - DoubleDouble(guess));
          const double place =
              last_place(carried, shifted ? std::min(std::fabs(whole.hi), std::fabs(more.hi)) : more.hi);
          const auto [least, greatest] = off_on_the_way(carried, more, units(), place);
          sum = up ? greatest : least;
        }
        collector.add(sum);
        keep(sum.hi, collector);
        if (!may_be_in_units(s)) continue;
        const ByUnits by = in_any_units(sum.hi);
        keep(up ? by.greatest : by.least, collector);
      }
  }
  void scan(const Step& s, AttainedElements& out) {
    const size_t rows = s.length ? s.count / s.length : 0;
    std::vector<double> low, high;
    for (size_t r = 0; r < rows; ++r) {
      gather(s, r, low_, high_);
      for (size_t k = 0; k < s.length; ++k) {
        const auto n = static_cast<std::ptrdiff_t>(k + 1);
        low.assign(low_.begin(), low_.begin() + n);
        high.assign(high_.begin(), high_.begin() + n);
        Collector collector;
        sum_of(s, low, high, collector);
        out[(*s.operands[0].sources)[r * s.length + k]] = collector.take();
      }
    }
  }
  void contract(const Step& s, AttainedElements& out) {
    const AttainedElements &a = values_[s.operands[0].value], &b = values_[s.operands[1].value];
    size_t at = 0;
    for (size_t batch = 0; batch < s.batches; ++batch)
      for (size_t i = 0; i < s.rows; ++i)
        for (size_t j = 0; j < s.columns; ++j) {
          low_.clear();
          high_.clear();
          for (size_t k = 0; k < s.length; ++k) {
            const Attained& x = a[(batch * s.rows + i) * s.length + k];
            const Attained& y = b[(batch * s.length + k) * s.columns + j];
            Collector products;
            for (double u : {x.least(), x.greatest()})
              for (double v : {y.least(), y.greatest()}) {
                products.add(u * v);
                if (s.dtype == Dtype::f32) products.add(nearest(Dtype::f32, u * v));
              }
            const Attained p = products.take();
            low_.push_back(p.least());
            high_.push_back(p.greatest());
          }
          Collector collector;
          sum_of(s, low_, high_, collector);
          out[at++] = collector.take();
        }
  }
  void extremum(const Step& s, AttainedElements& out) {
    const Operand& o = s.operands[0];
    for (size_t r = 0; r < s.count; ++r) {
      Collector collector;
      for (size_t which = 0; which < kKept; ++which) {
        double best = kNaN;
        for (size_t k = 0; k < s.length; ++k) {
          const double v = values_[o.value][(*o.sources)[r * s.length + k]].v[which];
          if (k == 0 || std::isnan(v) || (s.compute == Compute::greatest ? v > best : v < best))
            best = std::isnan(best) && k > 0 ? best : v;
        }
        collector.add(best);
      }
      out[r] = collector.take();
    }
  }

  int units() const { return tries_ > 0 ? 48 : 8; }

  static constexpr size_t kFewTerms = 4, kTermsOfExchanges = 1 << 24, kLeastExchanges = 1 << 10;  // of a step's sums
  static constexpr size_t kTermsOfTries = 1 << 16;  // of all tries of one sum
  const Plan& plan_;
  const size_t tries_, climbs_;
  std::vector<AttainedElements> values_;
  std::vector<Choices> choices_;
  std::vector<double> low_, high_;
  std::vector<DoubleDouble> wide_;
};

}  // namespace

Extremes find_extremes(const Plan& plan, const Pains& pains) { return Extent(plan, pains).all(); }

}  // namespace lenz::oracle::controls
