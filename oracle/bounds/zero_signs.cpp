#include "oracle/bounds/zero_signs.h"

#include <algorithm>
#include <cmath>
#include <complex>

#include "oracle/bounds/own_error.h"

namespace lenz::oracle {

namespace {
constexpr double kOpen = HUGE_VAL;

// How far apart a number's possible values lie; whether they are zeros of either sign.
class Spread {
 public:
  void add(double x) {
    (std::isnan(x) ? nan_ : number_) = true;
    if (std::isnan(x)) return;
    low_ = std::min(low_, x), high_ = std::max(high_, x);
    if (x == 0) (std::signbit(x) ? minus_ : plus_) = true;
  }
  double width() const {
    if (nan_ && number_) return kOpen;
    if (nan_ || low_ == high_) return 0;
    return std::isfinite(low_) && std::isfinite(high_) ? high_ - low_ : kOpen;
  }
  bool both_zeros() const { return minus_ && plus_; }
  double farthest() const { return std::max(std::fabs(low_), std::fabs(high_)); }

 private:
  double low_ = kOpen, high_ = -kOpen;
  bool nan_ = false, number_ = false, minus_ = false, plus_ = false;
};

// The real and imaginary parts of a row's operands, of which some are, or may be, zeros that may have either sign.
struct LooseParts {
  double at[6] = {};
  int loose[6], count = 0;
  bool certain = true;  // all of these are zeros for sure

  LooseParts(std::span<const ElementsIn> operands, int64_t i) {
    for (size_t k = 0; k < operands.size(); ++k) {
      const ElementsIn& o = operands[k];
      const ScalarValue v = o.at(i);
      const Parts p = parts(v);
      at[2 * k] = p.real, at[2 * k + 1] = p.imaginary;
      if (!o.loose_zeros || o.kind == ScalarKind::integer) continue;
      const double error = o.error_at(i);
      for (size_t part = 2 * k; part <= 2 * k + (o.kind == ScalarKind::complex ? 1 : 0); ++part)
        if (std::fabs(at[part]) <= error) loose[count++] = static_cast<int>(part), certain = certain && error == 0;
    }
  }
  // The operands with the zeros' signs as the bits say.
  void put(unsigned signs, std::span<const ElementsIn> operands, int64_t i, ScalarValue* given) {
    for (int l = 0; l < count; ++l) at[loose[l]] = (signs >> l & 1U) != 0 ? -0.0 : 0.0;
    for (size_t k = 0; k < operands.size(); ++k)
      given[k] = operands[k].kind == ScalarKind::complex ? ScalarValue(std::complex<double>(at[2 * k], at[2 * k + 1]))
                 : operands[k].kind == ScalarKind::real  ? ScalarValue(at[2 * k])
                                                         : operands[k].at(i);
  }
};

// Whether the sign of a certain result may hang on an operand that may be of either sign, or on which of two zeros a
// truth chooses that is open.
bool takes_an_open_sign(std::span<const ElementsIn> operands, int64_t i) {
  bool chooses = false, minus = false, plus = false;
  for (const ElementsIn& o : operands) {
    const double error = o.error_at(i);
    if (o.kind == ScalarKind::integer) chooses = chooses || error > 0;
    if (o.kind != ScalarKind::real) continue;
    if (error > 0 && !(std::fabs(o.real(i)) > error)) return true;
    if (o.real(i) == 0) (std::signbit(o.real(i)) ? minus : plus) = true;
  }
  return chooses && minus && plus;
}
}  // namespace

void open_loose_zeros(const ScalarRow& row, Dtype compute, Dtype result, std::span<const ElementsIn> operands,
                      int64_t count, ElementsOut& out) {
  const bool uncertain = std::ranges::any_of(operands, [](const ElementsIn& o) { return o.error != nullptr; });
  const bool loose = std::ranges::any_of(operands, [](const ElementsIn& o) { return o.loose_zeros; });
  if (uncertain && out.kind == ScalarKind::real) {
    const auto* values = static_cast<const double*>(out.value);
    auto is_zero = [&](int64_t i) { return (values[i] == 0) & (out.error[i] == 0); };
    constexpr int64_t kBlock = 1 << 10;  // most have none, which is soon seen
    for (int64_t from = 0; from < count && !out.loose_zeros; from += kBlock) {
      const int64_t end = std::min(from + kBlock, count);
      bool any = false;
      for (int64_t i = from; i < end; ++i) any |= is_zero(i);
      for (int64_t i = from; any && i < end && !out.loose_zeros; ++i)
        out.loose_zeros = is_zero(i) && takes_an_open_sign(operands, i);
    }
  }
  if (!loose) return;
  const auto target = row.result == ResultRule::target ? std::optional(result) : std::nullopt;
  const OwnError own(row, compute, result, out.rest != nullptr, out.formula);
  // What an implementation adds to what the other zero makes, which may be much larger.
  auto added = [&](double far) {
    return out.kind == ScalarKind::real ? own.with(far, {}, false, {}, far).error() : own.at(far);
  };
  for (int64_t i = 0; i < count; ++i) {
    LooseParts zeros(operands, i);
    if (zeros.count == 0) continue;
    Spread real, imaginary;
    for (unsigned signs = 0; signs < 1U << zeros.count; ++signs) {
      ScalarValue given[3];
      zeros.put(signs, operands, i, given);
      const Parts there = parts(table_value(row, compute, {given, operands.size()}, target));
      real.add(there.real);
      imaginary.add(there.imaginary);
    }
    out.loose_zeros = out.loose_zeros || real.both_zeros() || imaginary.both_zeros();
    double apart = real.width() + imaginary.width();
    if (apart > 0 && std::isfinite(apart)) apart += added(std::max(real.farthest(), imaginary.farthest()));
    if (apart == 0 || !zeros.certain) continue;  // what an uncertain number makes is in the error by now
    out.widen(i, apart);
    out.ambiguous[i] = 1;
    out.any_ambiguous = true;
  }
}

}  // namespace lenz::oracle
