#include "oracle/controls/running_error.h"

#include <algorithm>
#include <cmath>

#include "compiler/scalar/error_propagation.h"
#include "compiler/scalar/rounding.h"

namespace lenz::oracle::controls {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double unit_roundoff(Dtype d) { return std::ldexp(1.0, -info(d).mantissa_bits); }
double number_error(Dtype d, double v) {
  return is_floating(d) && std::isfinite(v) ? std::fabs(round_to(d, v) - v) : 0;
}
double stored(Dtype d, double v) { return is_floating(d) && std::isfinite(v) ? 0.5 * last_place(d, v) : 0; }

class Propagation {
 public:
  Propagation(const Plan& plan, double lambda) : plan_(plan), lambda_(lambda) {}

  std::vector<Elements> all() {
    values_.resize(plan_.dtypes.size());
    errors_.resize(plan_.dtypes.size());
    for (size_t i = 0; i < plan_.inputs.size(); ++i) {
      const ValueId v = plan_.graph->inputs()[i].value;
      values_[v] = plan_.inputs[i];
      errors_[v].resize(plan_.inputs[i].size());
    }
    for (const Step& s : plan_.steps) step(s);
    std::vector<Elements> out;
    for (ValueId v : plan_.outputs) {
      out.push_back(errors_[v]);
      // In f64 the reference that results are held against is as far off as they are.
      if (plan_.dtypes[v] == Dtype::f64)
        for (double& e : out.back()) e *= 2;
    }
    return out;
  }

 private:
  void step(const Step& s) {
    if (s.compute != Compute::whole) {
      values_[s.results[0]].resize(s.count);
      errors_[s.results[0]].assign(s.count, 0);
    }
    switch (s.compute) {
      case Compute::scalar: return scalar(s);
      case Compute::cast: return cast(s);
      case Compute::move: return move(s);
      case Compute::fill:
        std::ranges::fill(values_[s.results[0]], s.operands[0].number);
        std::ranges::fill(errors_[s.results[0]], number_error(s.dtype, s.operands[0].number));
        return;
      case Compute::sum: return sum(s);
      case Compute::greatest:
      case Compute::least: return extremum(s);
      case Compute::contract: return contract(s);
      case Compute::scan_sum: return scan(s);
      case Compute::eager: throw Unsupported("nobody knows how errors run through eager");
      case Compute::whole:
        for (const Step& part : s.body) step(part);
        for (size_t i = 0; i < s.results.size(); ++i) {
          if (s.gives[i] == kNone) continue;
          values_[s.results[i]] = values_[s.gives[i]];
          errors_[s.results[i]] = errors_[s.gives[i]];
        }
        return;
    }
  }

  void scalar(const Step& s) {
    Uncertain operands[3];
    ScalarValue plain[3];
    const size_t arity = s.operands.size();
    for (size_t i = 0; i < s.count; ++i) {
      for (size_t k = 0; k < arity; ++k) {
        const Operand& o = s.operands[k];
        const Dtype d = operand_dtype(*s.row, s.computes, static_cast<int>(k));
        const size_t at = o.sources ? (*o.sources)[i] : i;
        const double v = o.value == kNone ? o.number : values_[o.value][at] * o.factor;
        operands[k].error = o.value == kNone ? number_error(d, v) : errors_[o.value][at] * std::fabs(o.factor);
        plain[k] = is_floating(d) ? ScalarValue(v) : ScalarValue(static_cast<int64_t>(v));
        operands[k].value = plain[k];
      }
      const ScalarValue r = evaluate(*s.row, s.computes, {plain, arity});
      const Propagated p = propagate_error(*s.row, s.computes, {operands, arity});
      const double v = r.kind() == ScalarKind::integer ? static_cast<double>(r.integer()) : r.real();
      values_[s.results[0]][i] = v;
      errors_[s.results[0]][i] = p.error;
      if (is_floating(s.dtype) && std::isfinite(v) && std::isfinite(p.error)) {
        // Measured where the perturbed result and operands may be.
        for (size_t k = 0; k < arity; ++k)
          if (plain[k].kind() == ScalarKind::real)
            plain[k] = ScalarValue(std::fabs(plain[k].real()) + operands[k].error);
        const ScalarValue reach(std::fabs(v) + p.error);
        errors_[s.results[0]][i] += own_error(*s.row, s.dtype, reach, {plain, arity});
      }
      if (p.ambiguous && !is_floating(s.dtype)) errors_[s.results[0]][i] = 1;
    }
  }
  void cast(const Step& s) {
    const Operand& o = s.operands[0];
    for (size_t i = 0; i < s.count; ++i) {
      const size_t at = o.sources ? (*o.sources)[i] : i;
      set(s, i, values_[o.value][at], errors_[o.value][at]);
    }
  }
  void move(const Step& s) {
    for (size_t i = 0; i < s.count; ++i) {
      size_t place = (*s.operands[0].sources)[i];
      if (place-- == 0) continue;
      for (const Operand& o : s.operands) {
        if (place < values_[o.value].size()) {
          values_[s.results[0]][i] = values_[o.value][place];
          errors_[s.results[0]][i] = errors_[o.value][place];
          break;
        }
        place -= values_[o.value].size();
      }
    }
  }

  // A value with what its operands leave open; the storage's rounding comes to that.
  void set(const Step& s, size_t i, double value, double error) {
    values_[s.results[0]][i] = value;
    errors_[s.results[0]][i] = error + stored(s.dtype, std::fabs(value) + error);
  }
  double roundings(const Step& s, size_t n) const {
    const Dtype d = s.dtype == Dtype::f64 ? Dtype::f64 : Dtype::f32;
    const auto terms = static_cast<double>(n);
    return std::min(terms, lambda_ * std::sqrt(terms)) * unit_roundoff(d);
  }
  void sum(const Step& s) {
    const Operand& o = s.operands[0];
    for (size_t r = 0; r < s.count; ++r) {
      double total = 0, error = 0, size = 0;
      for (size_t k = 0; k < s.length; ++k) {
        const size_t at = (*o.sources)[r * s.length + k];
        total += values_[o.value][at];
        error += errors_[o.value][at];
        size += std::fabs(values_[o.value][at]) + errors_[o.value][at];
      }
      if (is_floating(s.dtype)) {
        set(s, r, total, error + roundings(s, s.length) * size);
      } else {
        values_[s.results[0]][r] = total;
        errors_[s.results[0]][r] = error;
      }
    }
  }
  void extremum(const Step& s) {
    const Operand& o = s.operands[0];
    for (size_t r = 0; r < s.count; ++r) {
      const size_t first = (*o.sources)[r * s.length];
      double best = values_[o.value][first], error = errors_[o.value][first];
      for (size_t k = 1; k < s.length; ++k) {
        const size_t at = (*o.sources)[r * s.length + k];
        const double v = values_[o.value][at];
        best = std::isnan(v) || std::isnan(best) ? kInfinity - kInfinity
               : s.compute == Compute::greatest  ? std::max(best, v)
                                                 : std::min(best, v);
        error = std::max(error, errors_[o.value][at]);
      }
      values_[s.results[0]][r] = best;
      errors_[s.results[0]][r] = error;
    }
  }
  void contract(const Step& s) {
    const Elements &a = values_[s.operands[0].value], &b = values_[s.operands[1].value];
    const Elements &ea = errors_[s.operands[0].value], &eb = errors_[s.operands[1].value];
    size_t out = 0;
    for (size_t batch = 0; batch < s.batches; ++batch)
      for (size_t i = 0; i < s.rows; ++i)
        for (size_t j = 0; j < s.columns; ++j) {
          double total = 0, error = 0, size = 0;
          for (size_t k = 0; k < s.length; ++k) {
            const size_t x = (batch * s.rows + i) * s.length + k, y = (batch * s.length + k) * s.columns + j;
            const double own = std::fabs(a[x]) * eb[y] + std::fabs(b[y]) * ea[x] + ea[x] * eb[y];
            total += a[x] * b[y];
            error += own;
            size += std::fabs(a[x] * b[y]) + own;
          }
          set(s, out++, total, error + (roundings(s, s.length) + roundings(s, 1)) * size);
        }
  }
  void scan(const Step& s) {
    const Operand& o = s.operands[0];
    for (size_t r = 0; s.length && r < s.count / s.length; ++r) {
      double total = 0, error = 0, size = 0;
      for (size_t k = 0; k < s.length; ++k) {
        const size_t at = (*o.sources)[r * s.length + k];
        total += values_[o.value][at];
        error += errors_[o.value][at];
        size += std::fabs(values_[o.value][at]) + errors_[o.value][at];
        set(s, at, total, error + roundings(s, k + 1) * size);
      }
    }
  }

  const Plan& plan_;
  double lambda_;
  std::vector<Elements> values_, errors_;
};

}  // namespace

std::vector<Elements> running_errors(const Plan& plan, double lambda) { return Propagation(plan, lambda).all(); }

}  // namespace lenz::oracle::controls
