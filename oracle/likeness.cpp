#include "oracle/likeness.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "oracle/bounds/made_of.h"
#include "oracle/bounds/plane_elements.h"
#include "oracle/bounds/rounded.h"
#include "oracle/tensors.h"

namespace lenz::oracle {

namespace {
// A tensor's elements as float64, real and imaginary parts as numbers of their own.
std::vector<double> numbers_of(const RunValue& tensor, Dtype dtype) {
  std::vector<std::byte> bytes = elements_of(tensor);
  auto size = static_cast<size_t>(item_size(to_real(dtype)));
  std::vector<double> numbers(bytes.size() / size);
  for (size_t i = 0; i < numbers.size(); ++i) {
    ScalarBits bits{};
    std::memcpy(bits.data(), bytes.data() + i * size, size);
    numbers[i] = from_bits(to_real(dtype), bits).real();
  }
  return numbers;
}

struct Deviation {
  double most = 0;
  size_t at = 0;
};

// How far results stored as `dtype` lie apart. Next to the end of a dtype rounding decides whether a number is finite,
// so that an infinity lies where infinities begin. Infinite where only one of two is NaN.
class Distance {
 public:
  explicit Distance(Dtype dtype) : overflow_(overflow_threshold(to_real(dtype))) {}
  double operator()(double a, double b) const {
    if (std::isnan(a) || std::isnan(b))
      return std::isnan(a) && std::isnan(b) ? 0 : std::numeric_limits<double>::infinity();
    return std::fabs(stored(a) - stored(b));
  }
  double furthest(std::span<const double> right, std::span<const double> other) const {
    double most = 0;
    for (size_t i = 0; i < right.size() && i < other.size(); ++i) most = std::max(most, (*this)(right[i], other[i]));
    return most;
  }
  double overflow() const { return overflow_; }

 private:
  double stored(double x) const { return std::clamp(x, -overflow_, overflow_); }
  double overflow_;
};

class Comparison {
 public:
  Comparison(const Graph& graph, const Reference& right, Whose whose, double apart)
      : whose_(whose), apart_(apart), made_of_(graph, right) {}
  // The next results are those of this output, or of none.
  void look_at(std::optional<size_t> output) { made_of_.look_at(output); }
  std::optional<Mismatch> mismatch;

  void add(const std::string& what, const Bounded& right_is, std::span<const RunValue> noisy, const RunValue& eager,
           const RunValue& got) {
    const RunValue& right = right_is.value;
    Seen seen = look(got), wide = look(right);
    if (mismatch) return;
    if (seen.kind == TypeKind::list) {
      for (size_t i = 0; i < seen.elements.size(); ++i) {
        auto at = [&](const RunValue& list) { return element(list, static_cast<int64_t>(i)); };
        std::vector<RunValue> each;
        for (const RunValue& n : noisy) each.push_back(at(n));
        add(what + "[" + std::to_string(i) + "]", right_is.elements[i], each, at(eager), at(got));
      }
      return;
    }
    const bool floats = seen.kind == TypeKind::tensor && wide.kind == TypeKind::tensor && is_inexact(seen.dtype);
    if (!floats || !std::ranges::equal(seen.sizes, wide.sizes)) return;  // sizes that hang on open decisions
    const std::vector<double> expected = numbers_of(right, wide.dtype), numbers = numbers_of(got, seen.dtype);
    const Distance distance(seen.dtype);
    double spread = distance.furthest(expected, numbers_of(eager, seen.dtype));
    for (const RunValue& n : noisy) spread = std::max(spread, distance.furthest(expected, numbers_of(n, wide.dtype)));
    double largest = 0;
    for (double x : expected) largest = std::max(largest, std::isfinite(x) ? std::fabs(x) : 0);
    const double half_place = std::ldexp(1.0, -info(seen.dtype).mantissa_bits);
    const PlaneElements errors(right_is.error), marks(right_is.ambiguous);
    const size_t parts = is_complex(seen.dtype) ? 2 : 1;
    auto error_at = [&](size_t i) { return errors.present() ? errors.at<double>(i / parts) : 0; };
    const double room = whose_ == Whose::ours ? kLikeness : kLikenessOfOthers;
    // Where all has cancelled, so has the noise: it was one for all readers of a value, who may compute that anew each.
    const bool nothing_left = largest <= kLikeness * spread;
    auto allowed_at = [&](size_t i) {  // an infinity has a last place of its own, and lends it to nobody
      const double size = std::max(largest, std::isinf(expected[i]) ? distance.overflow() : 0);
      const double anew = nothing_left ? std::min(error_at(i), room * half_place * made_of_.largest_input()) : 0;
      return std::max(room * std::max(spread, half_place * size), anew);
    };
    // What may overflow on its way is an infinity rightly, of which noise knows nothing; and NaN, of infinities that
    // meet, in a tensor of which the dtype does not hold all.
    const bool beyond = std::ranges::any_of(expected, [&](double x) { return std::fabs(x) >= distance.overflow(); });
    auto may_overflow = [&](size_t i) {
      return (std::isinf(numbers[i]) || (beyond && std::isnan(numbers[i]))) && std::isinf(error_at(i));
    };
    // What a bound holds is right where it lies within that, however little noise moved it.
    made_of_.forget_result();
    auto is_open = [&](size_t i) {
      if (std::isinf(error_at(i)) || (marks.present() && marks.at<uint8_t>(i / parts) != 0)) return true;
      const size_t first = i / parts * parts;
      const double size = std::hypot(expected[first], parts == 2 ? expected[first + 1] : 0);
      return made_of_.is_less_than(error_at(i), size, right_is, seen.dtype);
    };
    Deviation off;
    uint64_t wrong = 0;
    for (size_t i = 0; i < expected.size(); ++i) {
      if (whose_ == Whose::others && !(std::isfinite(expected[i]) && std::isfinite(numbers[i]))) continue;
      if (double d = distance(expected[i], numbers[i]); d > allowed_at(i) && !may_overflow(i) && is_open(i)) {
        ++wrong;
        if (d > off.most) off = {d, i};
      }
    }
    if (static_cast<double>(wrong) <= apart_ * static_cast<double>(expected.size())) return;
    mismatch.emplace();
    mismatch->rung = Rung::likeness;
    mismatch->what = what;
    mismatch->element = is_complex(seen.dtype) ? off.at / 2 : off.at;
    mismatch->at = coordinates(seen.sizes.span(), mismatch->element);
    mismatch->expected = std::to_string(expected[off.at]);
    mismatch->got = std::to_string(numbers[off.at]);
    mismatch->bound = allowed_at(off.at);
    mismatch->total = expected.size();
    mismatch->wrong = wrong;
  }

 private:
  Whose whose_;
  double apart_;
  MadeOf made_of_;
};
}  // namespace

std::optional<Mismatch> unlike(const Graph& graph, const Reference& right, std::span<const Reference> noisy,
                               const Execution& eager, const Execution& got, Whose whose, double apart) {
  Comparison compare(graph, right, whose, apart);
  auto of_noisy = [&](auto&& pick) {
    std::vector<RunValue> each;
    for (const Reference& n : noisy)
      if (n.ending == Ending::finished) each.push_back(pick(n).value);
    return each;
  };
  for (size_t i = 0; i < right.outputs.size() && i < got.outputs.size() && i < eager.outputs.size(); ++i) {
    compare.look_at(i);
    compare.add("output " + std::to_string(i), right.outputs[i],
                of_noisy([&](const Reference& r) { return r.outputs[i]; }), eager.outputs[i], got.outputs[i]);
  }
  compare.look_at(std::nullopt);
  for (size_t i = 0; i < right.inputs.size() && i < got.inputs.size() && i < eager.inputs.size(); ++i)
    if (graph.inputs()[i].mutated)
      compare.add("input " + graph.value_name(graph.inputs()[i].value) + " afterwards", right.inputs[i],
                  of_noisy([&](const Reference& r) { return r.inputs[i]; }), eager.inputs[i], got.inputs[i]);
  return compare.mismatch;
}

}  // namespace lenz::oracle
