#include "oracle/controls/choices.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "compiler/scalar/error_propagation.h"
#include "oracle/bounds/rounded.h"

namespace lenz::oracle::controls {

namespace {
// An answer within the row's accuracy in dtype d, brought back to that where it is not.
double admitted(double candidate, double exact, double error, Dtype keeps) {
  if (std::fabs(candidate - exact) <= error) return candidate;
  const double edge = exact + std::copysign(error, candidate - exact);
  if (keeps == Dtype::f64) return edge;
  for (double inwards : {0.0, std::copysign(last_place(keeps, edge), edge - exact)}) {
    const double r = nearest(keeps, edge - inwards);
    if (std::fabs(r - exact) <= error) return r;
  }
  return nearest(keeps, exact);
}
}  // namespace

Choices choose_for(const Step& s, Chooser& c) {
  Choices x;
  const bool narrow = is_reduced_float(s.dtype);
  const uint64_t keeps = c.below(3);
  x.keeps = keeps == 0 ? s.dtype : keeps == 1 && narrow ? Dtype::f32 : Dtype::f64;
  if (keeps == 1 && !narrow) x.keeps = s.dtype;
  x.through = c.flip() && narrow ? s.dtype : narrow ? Dtype::f32 : s.dtype;
  x.push = static_cast<Choices::Push>(c.below(5));
  x.formula = c.flip();
  x.in_one_go = c.flip();
  x.number = c.below(3);
  x.wide_sum = c.flip();
  x.order.permutation = static_cast<Order::Permutation>(c.below(3));
  constexpr size_t kLanes[] = {1, 2, 4, 8, 16, 3, SIZE_MAX};
  x.order.lanes = std::min(c.pick(kLanes), std::max<size_t>(s.length, 1));
  x.order.dealt = c.flip();
  x.order.tree = c.flip();
  constexpr size_t kBlocks[] = {SIZE_MAX, 8, 4, 16, 1};
  x.block = c.pick(kBlocks);
  x.seed = c.below(1u << 30);
  x.order.seed = x.seed;
  x.order.contracted = x.formula;
  return x;
}

std::string text_of(const Choices& x, const Step& s) {
  std::string t;
  auto say = [&](const std::string& what) { t += (t.empty() ? "" : ", ") + what; };
  if (x.keeps != s.dtype && is_floating(s.dtype)) say("kept in " + std::string(lenz::name(x.keeps)));
  if (is_reduced_float(s.dtype) && x.through == s.dtype) say("not through f32");
  constexpr std::string_view kPush[] = {"", "up", "down", "outwards", "anyhow"};
  if (s.row && s.row->accuracy.of(s.computes) == AccuracyClass::ulps && x.push)
    say("off " + std::string(kPush[x.push]));
  if (may_be_off_by_reciprocal(s) && x.formula && (x.push == Choices::up || x.push == Choices::down))
    say("reciprocal off " + std::string(kPush[x.push]));
  const bool has_formula = s.arithmetic == Arithmetic::div || s.arithmetic == Arithmetic::exp;
  if (x.formula && (has_formula || s.compute == Compute::contract || may_be_in_units(s))) say("by another formula");
  if (x.number && std::ranges::any_of(s.operands, [](const Operand& o) { return o.value == kNone; }))
    say(x.number == 1 ? "number as it stands" : "number rounded");
  if (s.compute == Compute::sum || s.compute == Compute::contract || s.compute == Compute::scan_sum) {
    if (x.wide_sum) say("wide accumulator");
    constexpr std::string_view kOrder[] = {"", "backwards", "shuffled"};
    if (x.order.permutation) say(std::string(kOrder[x.order.permutation]));
    if (x.order.lanes > 1)
      say(std::to_string(x.order.lanes) + (x.order.dealt ? " dealt lanes" : " blocks") +
          (x.order.tree ? ", tree" : ""));
  }
  if (s.fused != Fused::no && x.in_one_go) say("in one go");
  return t;
}

ScalarValue wrapped(Dtype dtype, double number) {
  if (dtype == Dtype::b8) return ScalarValue(static_cast<int64_t>(number != 0));
  return from_bits(dtype, to_bits(dtype, ScalarValue(static_cast<int64_t>(number))));
}

double number_of(const Step& s, const Operand& o, const Choices& x) {
  const double number = o.number;
  if (!is_floating(s.computes)) return static_cast<double>(wrapped(s.computes, number).integer());
  if (x.number == 1) return number;
  if (x.number == 2 && !o.whole) return nearest(s.computes, number);
  return s.computes == Dtype::f64 ? number : nearest(Dtype::f32, number);
}

double rounded(const Choices& x, double exact) {
  if (x.keeps == Dtype::f64) return exact;
  return nearest(x.keeps, nearest(x.through, exact));
}

namespace {
constexpr uint64_t kUnits = 48;
double unit_of(uint64_t which) { return 1 + 0.6180339887498949 * static_cast<double>(1 + which % kUnits); }
}  // namespace

bool may_be_off_on_the_way(const Step& s) {
  if (!s.on_the_way || (s.dtype != Dtype::f32 && s.dtype != Dtype::f64)) return false;
  return s.compute == Compute::sum || (s.compute == Compute::scalar && s.row->eval.dds &&
                                       s.row->accuracy.of(s.computes) == AccuracyClass::correctly_rounded);
}

std::pair<DoubleDouble, DoubleDouble> off_on_the_way(Dtype dtype, DoubleDouble exact, int units, double place) {
  std::pair<DoubleDouble, DoubleDouble> ends{exact, exact};
  const double limit = 0.5 * place * (1 - 0x1p-20);
  if (!std::isfinite(exact.hi) || std::fabs(exact.hi) < 0x1p-100 || std::fabs(exact.hi) > 0x1p100) return ends;
  for (int k = 0; k < units; ++k) {
    const double unit = unit_of(static_cast<uint64_t>(k));
    const DoubleDouble scaled = exact * DoubleDouble(unit);
    const DoubleDouble there = DoubleDouble(nearest(dtype, scaled.hi)) / DoubleDouble(unit);
    if (std::fabs(static_cast<double>(there - exact)) > limit) continue;
    if (there < ends.first) ends.first = there;
    if (there > ends.second) ends.second = there;
  }
  return ends;
}

bool may_be_in_units(const Step& s) {
  if (!s.inside_reduction || !is_reduced_float(s.dtype)) return false;
  return s.compute == Compute::sum ||
         (s.compute == Compute::scalar && s.row->accuracy.of(s.computes) == AccuracyClass::correctly_rounded);
}

double in_units(double exact, uint64_t which) {
  struct Unit {
    float unit, inverse;
  };
  static const std::array<Unit, kUnits> units = [] {
    std::array<Unit, kUnits> all{};
    for (uint64_t k = 0; k < kUnits; ++k) {
      const auto unit = static_cast<float>(unit_of(k));
      all[k] = {unit, 1 / unit};
    }
    return all;
  }();
  const Unit& u = units[which % kUnits];
  const auto back = static_cast<double>(static_cast<float>(exact) * u.unit * u.inverse);
  return std::isfinite(back) ? back : exact;
}

ByUnits in_any_units(double exact) {
  constexpr int kTimes = 4;  // four roundings each, at most, of 2^-24: the formula's room is 2^-20
  ByUnits all{exact, exact};
  for (int time = 0; time < kTimes; ++time) {
    const ByUnits from = all;
    for (uint64_t which = 0; which < kUnits; ++which) {
      all.least = std::min(all.least, in_units(from.least, which));
      all.greatest = std::max(all.greatest, in_units(from.greatest, which));
    }
  }
  return all;
}

// Whose last places a row's errors are counted in where its result is of this dtype.
Dtype counted_in(const ScalarRow& row, Dtype dtype) {
  return row.eager.narrow_ulps > 0 ? dtype : arithmetic_dtype(dtype);
}

// What the row's accuracy allows, or eager is known to take: it is one of those who are judged.
double legal_error(const ScalarRow& row, Dtype dtype, double exact, std::span<const ScalarValue> operands) {
  if (row.eager.narrow_ulps > 0 && arithmetic_dtype(dtype) != dtype)
    return row.eager.narrow_ulps * last_place(dtype, std::max(std::fabs(exact), row.accuracy.absolute));
  const double own = own_error(row, arithmetic_dtype(dtype), ScalarValue(exact), operands);
  const double eager = dtype == Dtype::f64 && row.eager.f64_ulps > 0 ? row.eager.f64_ulps : row.eager.ulps;
  const double all = row.accuracy.kind == AccuracyClass::ulps ? own * std::max(1.0, eager / row.accuracy.ulps) : own;
  std::array<Uncertain, 3> certain;
  for (size_t k = 0; k < operands.size(); ++k) certain[k].value = operands[k];
  if (const double reach = reach_of(row, dtype, {certain.data(), operands.size()}); std::isfinite(reach))
    return std::min(all, reach);
  return std::max(all, computed_error(row, dtype, ScalarValue(exact), operands));
}

// Steps of a definition may be made of others, and miss what the function itself gives exactly.
bool is_certain(const Step& s, double exact, std::span<const ScalarValue> operands) {
  return !std::isfinite(exact) || exact == 0 || (!s.on_the_way && gives_exactly(*s.row, exact, operands));
}

double pushed(const Step& s, const Choices& x, double exact, std::span<const ScalarValue> operands, uint64_t& state) {
  if (is_certain(s, exact, operands)) return rounded(x, exact);
  const Dtype by = counted_in(*s.row, s.dtype);
  const double error = legal_error(*s.row, s.dtype, exact, operands);
  double share = 0;
  switch (x.push) {
    case Choices::none: break;
    case Choices::up: share = 1; break;
    case Choices::down: share = -1; break;
    case Choices::outwards: share = exact < 0 ? -1 : 1; break;
    case Choices::at_random:
      state = state * 6364136223846793005u + 1442695040888963407u;
      share = static_cast<double>(state >> 11) * 0x1p-52 - 1;
      break;
  }
  double candidate = exact + share * error;
  if (s.arithmetic == Arithmetic::exp && x.formula && x.push == Choices::none) {
    const Dtype inner = x.through == Dtype::f64 ? Dtype::f64 : Dtype::f32;
    candidate = std::exp2(nearest(inner, operands[0].real() * 1.4426950408889634));
  }
  if (candidate * exact < 0) candidate = exact;  // no function changes its sign for its inaccuracy
  const Dtype keeps = x.keeps == Dtype::f64 ? Dtype::f64 : by;
  candidate = admitted(nearest(keeps, candidate), exact, error, keeps);
  // What is kept wider must be accurate enough when it is rounded later, be that in one step or by way of f32.
  auto lands = [&](double v) { return std::fabs(nearest(by, v) - exact) <= error; };
  if (keeps != by && !(lands(candidate) && lands(nearest(Dtype::f32, candidate)))) candidate = exact;
  return rounded(x, candidate);
}

bool may_stay_wide(const Step& s) {
  const bool sum = s.arithmetic == Arithmetic::add || s.arithmetic == Arithmetic::sub;
  return s.dtype == Dtype::f64 && s.operands.size() == 2 && (sum || s.arithmetic == Arithmetic::mul);
}

DoubleDouble unrounded(const Step& s, DoubleDouble a, DoubleDouble b) {
  if (s.operands[0].factor != 1) a = a * DoubleDouble(s.operands[0].factor);
  if (s.operands[1].factor != 1) b = b * DoubleDouble(s.operands[1].factor);
  return s.arithmetic == Arithmetic::mul ? a * b : s.arithmetic == Arithmetic::sub ? a - b : a + b;
}

bool may_be_off_by_reciprocal(const Step& s) { return s.arithmetic == Arithmetic::div && is_reduced_float(s.dtype); }

double divided(const Choices& x, const Step& s, double a, double b, double exact) {
  // In f64 the one right answer is all that a correctly rounded row allows, and it is what we were given.
  if (!std::isfinite(exact) || exact == 0 || x.keeps == Dtype::f64) return rounded(x, exact);
  const bool narrow = may_be_off_by_reciprocal(s);
  const Dtype inner = narrow ? Dtype::f32 : Dtype::f64;
  double candidate = nearest(inner, a * nearest(inner, 1 / b));
  // Reciprocals that machines estimate and refine leave such quotients a place of f32 off: where the quotient lies
  // halfway between two numbers of the dtype both are right then. That of a power of two is one, and exact everywhere.
  int exponent = 0;
  const bool estimated = narrow && std::fabs(std::frexp(b, &exponent)) != 0.5;
  if (estimated && (x.push == Choices::up || x.push == Choices::down))
    candidate += (x.push == Choices::up ? 1 : -1) * last_place(inner, candidate);
  return admitted(nearest(x.keeps, candidate), exact, 0.5 * last_place(x.keeps, exact), x.keeps);
}

double precise(const Step& s, const Choices& x, const double* v, std::span<const ScalarValue> plain, double fallback) {
  if (is_certain(s, fallback, plain.first(s.operands.size()))) return fallback;
  ScalarValue operands[3];
  for (size_t k = 0; k < s.operands.size(); ++k) operands[k] = ScalarValue(DoubleDouble(v[k]));
  const DoubleDouble exact = s.row->eval.dds({s.computes, s.dtype}, operands).double_double();
  const double error = legal_error(*s.row, Dtype::f64, exact.hi, plain.first(s.operands.size()));
  const double share = x.push == Choices::down ? -1 : x.push == Choices::outwards && exact.hi < 0 ? -1 : 1;
  const double candidate = exact.hi + (exact.lo + share * error);
  if (candidate * exact.hi < 0) return exact.hi;
  const double off = std::fabs((candidate - exact.hi) - exact.lo);
  return off <= error ? candidate : std::nextafter(candidate, exact.hi);
}

}  // namespace lenz::oracle::controls
