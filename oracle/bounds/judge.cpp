#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

#include "compiler/scalar/error_propagation.h"
#include "compiler/scalar/rounding.h"
#include "oracle/bounds/made_of.h"
#include "oracle/bounds/plane_elements.h"
#include "oracle/bounds/reference.h"
#include "oracle/tensors.h"

namespace lenz::oracle {

namespace {
constexpr double kTelling = 0x1p-6;  // an error below this part of the value leaves nothing to wish for

std::string element_text(Dtype dtype, const ScalarValue& v) {
  if (v.kind() == ScalarKind::integer) return std::to_string(v.integer());
  char text[80];
  const char* format = to_real(dtype) == Dtype::f64 ? "%.17g" : "%.12g";
  auto number = [&](double x) {
    std::snprintf(text, sizeof text, format, std::isnan(x) ? std::fabs(x) : x);  // NaN has no sign
    return std::string(text);
  };
  if (v.kind() == ScalarKind::real) return number(v.real());
  return number(v.complex().real()) + " + " + number(v.complex().imag()) + "i";
}

struct ElementVerdict {
  bool wrong = false;
  Rung rung = Rung::bound;
};

bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

// How far a right answer may lie from the reference, and by how much less on one side: as the planes say.
struct Bound {
  double error = 0, lean = 0;
  bool overflows() const { return std::isinf(error) && std::isinf(lean); }  // for certain
  // It may be infinite, but on one side alone, and no NaN.
  bool has_an_end() const { return std::isinf(error) && lean != 0 && !std::isinf(lean); }
  double towards(double away) const {
    const Reach reach = leaning(error, lean);
    return away < 0 ? reach.below : reach.above;
  }
};

// From one integer to another: doubles tell those of 64 bits apart by their last place alone.
double distance(int64_t from, int64_t to) {
  const auto a = static_cast<uint64_t>(from), b = static_cast<uint64_t>(to);
  return to >= from ? static_cast<double>(b - a) : -static_cast<double>(a - b);
}

// One real number, or one part of a complex one.
ElementVerdict verdict(Dtype dtype, double expected, Bound bound, double got, bool zeros_signed) {
  const double error = bound.error;
  // A dtype without infinities (float8 of four exponent bits) stores them as NaN.
  if (bound.has_an_end()) {
    if (std::isnan(got))
      return {!std::isnan(round_to(to_real(dtype), std::copysign(error, bound.lean))), Rung::special};
    return {!(std::fabs(got - expected) <= bound.towards(got - expected)), Rung::bound};
  }
  if (std::isinf(error)) return {bound.overflows() && !same(round_to(to_real(dtype), bound.lean), got), Rung::special};
  if (!std::isfinite(expected)) return {!same(round_to(to_real(dtype), expected), got), Rung::special};
  if (std::isnan(got)) return {true, Rung::special};
  if (error == 0) {
    // Beyond the dtype's range an exact number is stored as infinity.
    double stored = round_to(to_real(dtype), expected);
    bool other_zero = zeros_signed && stored == 0 && got == 0 && std::signbit(stored) != std::signbit(got);
    return {other_zero || !same(stored, got), std::isinf(got) ? Rung::special : Rung::bitwise};
  }
  if (std::isinf(got)) return {true, Rung::special};
  return {!(std::fabs(got - expected) <= bound.towards(got - expected)), Rung::bound};
}

// `strong`: an error below this part of the value counts so.
void count_element(Shares& shares, const ScalarValue& v, Bound bound, bool marked, double strong = kTelling) {
  const double size = magnitude(v), error = bound.overflows() ? 0 : bound.error;
  ++shares.elements;
  shares.strong += error == 0 || error < strong * size;
  shares.ambiguous += (marked || std::isinf(error)) && error != 0 && !(error < kTelling * size);
}

class Judge {
 public:
  Judge(const Graph& graph, const Reference& reference)
      : any_bytes_(sees_bits_as_bools(graph)), reference_(reference), made_of_(graph, reference) {}
  Judgement judgement;

  // Bit for bit, where nothing is open.
  void check_settled(const std::string& what, const Bounded& reference, const RunValue& expected, const RunValue& got) {
    for (size_t i = 0; i < reference.elements.size(); ++i) {
      const auto at = static_cast<int64_t>(i);
      check_settled(what + "[" + std::to_string(i) + "]", reference.elements[i], element(expected, at),
                    element(got, at));
    }
    const Seen seen = look(got);
    if (seen.kind != TypeKind::tensor || look(reference.value).kind != TypeKind::tensor) return;
    const PlaneElements values(expected), others(got), marks(reference.ambiguous);
    const uint64_t count = count_of(seen);
    // Sizes may hang on what is open.
    const bool marked = marks.present() && std::ranges::equal(seen.sizes, look(reference.value).sizes);
    for (uint64_t i = 0; i < count; ++i) {
      const ScalarValue v = settled(seen.dtype, values.scalar(seen.dtype, i)),
                        x = settled(seen.dtype, others.scalar(seen.dtype, i));
      if (same_bits(v, x, reference.zeros_signed) || (marked && marks.at<uint8_t>(i) != 0)) continue;
      if (!judgement.mismatch) judgement.mismatch = found(what, seen, i, Rung::bitwise, seen.dtype, v, {}, x);
      return;
    }
  }

  // Of an output what check says of a value that the graph computed.
  void check_output(size_t i, const RunValue& got) {
    made_of_.look_at(i);
    check("output " + std::to_string(i), reference_.outputs[i], got, true);
    made_of_.look_at(std::nullopt);
  }

  // `computed`: by the graph; of anything else it tells nothing that its elements agree.
  void check(const std::string& what, const Bounded& expected, const RunValue& got, bool computed) {
    for (size_t i = 0; i < expected.elements.size(); ++i)
      check(what + "[" + std::to_string(i) + "]", expected.elements[i], element(got, static_cast<int64_t>(i)),
            computed);
    Seen seen = look(got), reference = look(expected.value);
    if (reference.kind != TypeKind::tensor || seen.kind != TypeKind::tensor)
      return number(what, expected, reference, seen, computed);
    const uint64_t count = count_of(seen);
    if (!std::ranges::equal(seen.sizes, reference.sizes)) {  // data-dependent sizes that hang on open decisions
      judgement.shares.add({count, count, 0, count ? 1U : 0U, count ? what : ""});
      return;
    }
    Shares shares = elements(what, expected, seen, elements_of(got), count);
    shares.open = shares.ambiguous * 2 > count;
    if (shares.open) shares.open_results = what;
    if (computed) judgement.shares.add(shares);
  }

 private:
  // A number or a truth among the results: what a tensor's element was, or a size.
  void number(const std::string& what, const Bounded& expected, const Seen& reference, const Seen& got, bool computed) {
    const bool whole = reference.kind == TypeKind::sym_int;
    const bool any = whole || reference.kind == TypeKind::sym_float || reference.kind == TypeKind::sym_bool;
    if (reference.kind != got.kind || !any) return;
    const double v = whole ? static_cast<double>(reference.integer) : reference.number;
    const double x = whole ? static_cast<double>(got.integer) : got.number, error = expected.number_error;
    const uint64_t open = std::isinf(error) ? 1 : 0;
    if (computed) judgement.shares.add({1, open, 1 - open, open, open ? what : ""});
    const bool other_integer = whole && reference.integer != got.integer;
    const double away = whole ? distance(reference.integer, got.integer) : x - v;
    if (error == 0 ? !other_integer && same(v, x) : open || std::fabs(away) <= error) return;
    Mismatch m;
    m.rung = error == 0 ? Rung::bitwise : Rung::bound;
    m.what = what;
    m.expected = whole ? std::to_string(reference.integer) : element_text(Dtype::f64, ScalarValue(v));
    m.got = whole ? std::to_string(got.integer) : element_text(Dtype::f64, ScalarValue(x));
    m.bound = error;
    m.wrong = m.total = 1;
    if (!judgement.mismatch || m.rung < judgement.mismatch->rung) judgement.mismatch = m;
  }

  // Bytes seen as bools, or that nobody wrote, are true however many bits they have; elsewhere a bool that is neither 0
  // nor 1 is nobody's.
  static bool sees_bits_as_bools(const Graph& graph) {
    bool found = false;
    graph.for_each_node([&](NodeId id) {
      const Node& node = graph.node(id);
      found = found || (node.op->has(Trait::creation) && node.op->has(Trait::nondeterministic));  // nobody wrote to it
      if (!node.op->has(Trait::view) || node.arg_count == 0 || !node.args[0].is_value()) return;
      const Type &from = graph.type(node.args[0].value()), &to = graph.type(node.result());
      found = found || (from.is_tensor() && to.is_tensor() && to.dtype == Dtype::b8 && from.dtype != Dtype::b8);
    });
    return found;
  }
  ScalarValue settled(Dtype dtype, const ScalarValue& v) const {
    if (dtype != Dtype::b8 || !any_bytes_) return v;
    return ScalarValue(int64_t{v.integer() != 0});
  }
  bool any_bytes_;
  const Reference& reference_;
  MadeOf made_of_;

  static bool same_bits(const ScalarValue& v, const ScalarValue& x, bool zeros_signed) {
    if (v.kind() == ScalarKind::integer) return v.integer() == x.integer();
    auto agree = [&](bool imaginary) {
      const double a = part(v, imaginary), b = part(x, imaginary);
      return same(a, b) && !(zeros_signed && a == 0 && std::signbit(a) != std::signbit(b));
    };
    return agree(false) && (v.kind() == ScalarKind::real || agree(true));
  }

  Shares elements(const std::string& what, const Bounded& expected, const Seen& seen, const std::vector<std::byte>& got,
                  uint64_t count) {
    Shares shares;
    PlaneElements values(expected.value), errors(expected.error), leans(expected.lean), marks(expected.ambiguous),
        choices(expected.choice);
    Named named;
    Dtype wide = look(expected.value).dtype, native = seen.dtype;
    uint64_t wrong = 0;
    std::optional<Mismatch> first;
    made_of_.forget_result();
    for (uint64_t i = 0; i < count; ++i) {
      const ScalarValue x = settled(native, scalar_at(native, got, i)), v = settled(wide, values.scalar(wide, i));
      const Bound bound{errors.present() ? errors.at<double>(i) : 0, leans.present() ? leans.at<double>(i) : 0};
      bool marked = marks.present() && marks.at<uint8_t>(i) != 0;
      marked = marked || made_of_.is_less_than(bound.error, magnitude(v), expected, native);
      const int64_t open = choices.present() ? choices.at<int64_t>(i) : 0;
      if (reference_.choices && reference_.choices->ties_alone(open))
        ++shares.elements, ++shares.strong;  // whichever of equal elements it names is right, and nothing else is
      else
        count_element(shares, v, bound, marked);
      ElementVerdict verdict = judged(native, v, bound, x, expected.zeros_signed);
      const char* instead = nullptr;  // within the bound, but none of what is right there
      if (!verdict.wrong && expected.whole && bound.error != 0 && is_broken(x)) instead = " or another whole number";
      if (!verdict.wrong && out_of_range(expected, native, x)) instead = ", within the range of what makes it";
      if (!verdict.wrong && names_another(open, x, named)) instead = " or another element that may stand there";
      if (!verdict.wrong && instead == nullptr) continue;
      ++wrong;
      if (first) continue;
      first = found(what, seen, i, verdict.rung, native, v, bound, x);
      if (instead == nullptr) continue;
      first->expected += instead;
      first->bound.reset();
      first->ulps.reset();
    }
    if (!first) return shares;
    first->wrong = wrong;
    first->total = count;
    if (!judgement.mismatch || first->rung < judgement.mismatch->rung) judgement.mismatch = first;
    return shares;
  }

  static bool out_of_range(const Bounded& expected, Dtype dtype, const ScalarValue& got) {
    const double x = part(got, false);
    const bool inverse = expected.least == 0 && x == -HUGE_VAL;  // of a negative zero, which is not below zero
    return is_floating(dtype) && (x < expected.least || x > expected.greatest) && !inverse;
  }

  static bool is_broken(const ScalarValue& got) {
    const double x = part(got, false);
    return got.kind() == ScalarKind::real && std::isfinite(x) && x != std::nearbyint(x);
  }

  // By a row's order and the element that one of its places names: that place.
  using Named = std::map<std::pair<Choices::Order, int64_t>, int64_t>;

  // Whether an open index is none of those that are right, or what another one of its row's order has named already.
  // `named`: by what, so far.
  bool names_another(int64_t open, const ScalarValue& got, Named& named) const {
    if (open == 0 || got.kind() != ScalarKind::integer) return false;
    if (!reference_.choices->may_name(open, got.integer())) return true;
    const auto order = reference_.choices->order_of(open);
    if (!order) return false;
    return named.try_emplace({*order, got.integer()}, open).first->second != open;
  }

  ElementVerdict judged(Dtype dtype, const ScalarValue& v, Bound bound, const ScalarValue& got,
                        bool zeros_signed) const {
    // However open, a truth is 0 or 1.
    if (dtype == Dtype::b8 && !any_bytes_ && (got.integer() & ~int64_t{1}) != 0) return {true, Rung::bitwise};
    if (v.kind() == ScalarKind::integer) {
      if (bound.error == 0) return {v.integer() != got.integer(), Rung::bitwise};
      if (std::isinf(bound.error)) return verdict(dtype, part(v, false), bound, part(got, false), false);
      const double away = distance(v.integer(), got.integer());
      return {!(std::fabs(away) <= bound.towards(away)), Rung::bound};
    }
    ElementVerdict real = verdict(dtype, part(v, false), bound, part(got, false), zeros_signed);
    if (v.kind() == ScalarKind::real || real.wrong) return real;
    return verdict(dtype, part(v, true), bound, part(got, true), zeros_signed);
  }

  static Mismatch found(const std::string& what, const Seen& seen, uint64_t i, Rung rung, Dtype dtype,
                        const ScalarValue& v, Bound bound, const ScalarValue& got) {
    Mismatch m;
    m.rung = rung;
    m.what = what;
    // What overflows for certain is stored as an infinity, however great the reference is.
    const bool overflows = bound.overflows() && v.kind() == ScalarKind::real;
    m.expected = element_text(v.kind() == ScalarKind::integer ? dtype : Dtype::f64,
                              overflows ? ScalarValue(round_to(to_real(dtype), bound.lean)) : v);
    m.got = element_text(dtype, got);
    m.element = i;
    m.at = coordinates(seen.sizes.span(), i);
    m.bound = overflows                      ? 0
              : v.kind() == ScalarKind::real ? bound.towards(part(got, false) - part(v, false))
                                             : bound.error;
    if (v.kind() == ScalarKind::real && !overflows && std::isfinite(got.real()) && std::isfinite(v.real()))
      m.ulps = std::fabs(got.real() - v.real()) / last_place(dtype, v.real());
    return m;
  }
};
}  // namespace

std::string Shares::to_string() const {
  std::string text =
      std::to_string(ambiguous) + " of " + std::to_string(elements) + " elements may be anything, or another branch's";
  return text + (open ? ", among them most of " + open_results : "");
}

Shares shares_of(const Bounded& result, double strong) {
  Shares shares;
  for (const Bounded& element : result.elements) shares.add(shares_of(element, strong));
  const Seen seen = look(result.value);
  if (seen.kind != TypeKind::tensor) return shares;
  const PlaneElements values(result.value), errors(result.error), leans(result.lean), marks(result.ambiguous);
  const uint64_t count = count_of(seen);
  std::optional<double> largest;
  for (uint64_t i = 0; i < count; ++i) {
    const ScalarValue v = values.scalar(seen.dtype, i);
    const Bound bound{errors.present() ? errors.at<double>(i) : 0, leans.present() ? leans.at<double>(i) : 0};
    bool marked = marks.present() && marks.at<uint8_t>(i) != 0;
    // As the judge has it, whatever it may be made of.
    if (std::isfinite(bound.error) && bound.error > magnitude(v)) {
      if (!largest) largest = largest_in(result);
      marked = marked || bound.error > *largest;
    }
    count_element(shares, v, bound, marked, strong);
  }
  shares.open += shares.ambiguous * 2 > count;
  return shares;
}

Judgement judge(const Graph& graph, const Reference& reference, const Execution& got) {
  Judge judge(graph, reference);
  for (size_t i = 0; i < reference.outputs.size() && i < got.outputs.size(); ++i) judge.check_output(i, got.outputs[i]);
  for (size_t i = 0; i < reference.inputs.size() && i < got.inputs.size(); ++i)
    judge.check("input " + graph.value_name(graph.inputs()[i].value) + " afterwards", reference.inputs[i],
                got.inputs[i], graph.inputs()[i].mutated);
  return std::move(judge.judgement);
}

std::optional<Mismatch> differs_where_settled(const Graph& graph, const Reference& reference, const Execution& expected,
                                              const Execution& got) {
  Judge judge(graph, reference);
  for (size_t i = 0; i < reference.outputs.size() && i < got.outputs.size(); ++i)
    judge.check_settled("output " + std::to_string(i), reference.outputs[i], expected.outputs[i], got.outputs[i]);
  for (size_t i = 0; i < reference.inputs.size() && i < got.inputs.size(); ++i)
    judge.check_settled("input " + graph.value_name(graph.inputs()[i].value) + " afterwards", reference.inputs[i],
                        expected.inputs[i], got.inputs[i]);
  return std::move(judge.judgement.mismatch);
}

}  // namespace lenz::oracle
