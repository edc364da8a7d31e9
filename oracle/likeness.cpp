#include "oracle/likeness.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "compiler/scalar/rounding.h"
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

// Infinite where only one of two is finite; other infinities and NaN are nobody's distance.
Deviation furthest(std::span<const double> right, std::span<const double> other) {
  Deviation d;
  for (size_t i = 0; i < right.size() && i < other.size(); ++i) {
    double off = std::fabs(right[i] - other[i]);
    if (std::isfinite(right[i]) != std::isfinite(other[i])) off = std::numeric_limits<double>::infinity();
    if (off > d.most) d = {off, i};
  }
  return d;
}

class Comparison {
 public:
  std::optional<Mismatch> mismatch;

  void add(const std::string& what, const RunValue& right, std::span<const RunValue> noisy, const RunValue& eager,
           const RunValue& got) {
    Seen seen = look(got), wide = look(right);
    if (mismatch) return;
    if (seen.kind == TypeKind::list) {
      for (size_t i = 0; i < seen.elements.size(); ++i) {
        auto at = [&](const RunValue& list) { return element(list, static_cast<int64_t>(i)); };
        std::vector<RunValue> each;
        for (const RunValue& n : noisy) each.push_back(at(n));
        add(what + "[" + std::to_string(i) + "]", at(right), each, at(eager), at(got));
      }
      return;
    }
    const bool floats = seen.kind == TypeKind::tensor && wide.kind == TypeKind::tensor && is_inexact(seen.dtype);
    if (!floats || !std::ranges::equal(seen.sizes, wide.sizes)) return;  // sizes that hang on open decisions
    const std::vector<double> expected = numbers_of(right, wide.dtype), numbers = numbers_of(got, seen.dtype);
    double spread = furthest(expected, numbers_of(eager, seen.dtype)).most;
    for (const RunValue& n : noisy) spread = std::max(spread, furthest(expected, numbers_of(n, wide.dtype)).most);
    double largest = 0;
    for (double x : expected) largest = std::max(largest, std::isfinite(x) ? std::fabs(x) : 0);
    const double half_place = std::ldexp(1.0, -info(seen.dtype).mantissa_bits);
    const Deviation off = furthest(expected, numbers);
    const double allowed = kLikeness * std::max(spread, half_place * largest);
    if (!(off.most > allowed)) return;
    mismatch.emplace();
    mismatch->rung = Rung::likeness;
    mismatch->what = what;
    mismatch->element = is_complex(seen.dtype) ? off.at / 2 : off.at;
    mismatch->at = coordinates(seen.sizes.span(), mismatch->element);
    mismatch->expected = std::to_string(expected[off.at]);
    mismatch->got = std::to_string(numbers[off.at]);
    mismatch->bound = allowed;
    mismatch->total = expected.size();
    for (size_t i = 0; i < expected.size(); ++i)
      mismatch->wrong += furthest({&expected[i], 1}, {&numbers[i], 1}).most > allowed;
  }
};
}  // namespace

std::optional<Mismatch> unlike(const Graph& graph, const Reference& right, std::span<const Reference> noisy,
                               const Execution& eager, const Execution& got) {
  Comparison compare;
  auto of_noisy = [&](auto&& pick) {
    std::vector<RunValue> each;
    for (const Reference& n : noisy)
      if (n.ending == Ending::finished) each.push_back(pick(n).value);
    return each;
  };
  for (size_t i = 0; i < right.outputs.size() && i < got.outputs.size() && i < eager.outputs.size(); ++i)
    compare.add("output " + std::to_string(i), right.outputs[i].value,
                of_noisy([&](const Reference& r) { return r.outputs[i]; }), eager.outputs[i], got.outputs[i]);
  for (size_t i = 0; i < right.inputs.size() && i < got.inputs.size() && i < eager.inputs.size(); ++i)
    if (graph.inputs()[i].mutated)
      compare.add("input " + graph.value_name(graph.inputs()[i].value) + " afterwards", right.inputs[i].value,
                  of_noisy([&](const Reference& r) { return r.inputs[i]; }), eager.inputs[i], got.inputs[i]);
  return compare.mismatch;
}

}  // namespace lenz::oracle
