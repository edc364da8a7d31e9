// Rules about what inputs say beside their types.
#include <cmath>
#include <optional>

#include "compiler/graph/verifier.h"

namespace lenz {

namespace {
// The greatest i64 is no double: what rounds to it is beyond.
bool beyond(double x, Dtype dtype) {
  const FiniteRange ends = finite_range(dtype);
  return x < ends.low || x > ends.high || (dtype == Dtype::i64 && x >= ends.high);
}

std::string text_of(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", x);
  return text;
}

// What is wrong with an initialiser of such a tensor.
std::optional<std::string> wrong_with(const Initialiser& init, const Type& type) {
  for (const Type* element : type.elements())
    if (auto wrong = wrong_with(init, *element)) return wrong;
  if (type.kind == TypeKind::list) return std::nullopt;
  const std::string dtype(name(type.dtype)), low = text_of(init.low), high = text_of(init.high);
  if (!type.is_tensor()) return "an initialiser is for tensors";
  const bool drawn =
      init.kind == Initialiser::uniform || init.kind == Initialiser::normal || init.kind == Initialiser::integers;
  if (drawn && (!std::isfinite(init.low) || !std::isfinite(init.high))) return "its numbers must be finite";
  if (init.kind == Initialiser::normal && init.high < 0) return "the deviation " + high + " is negative";
  if ((init.kind == Initialiser::uniform || init.kind == Initialiser::integers) && init.low > init.high)
    return "nothing lies from " + low + " to " + high;
  if (init.kind == Initialiser::integers && (std::trunc(init.low) != init.low || std::trunc(init.high) != init.high))
    return "integers lie from " + low + " to " + high + " only between whole numbers";
  if (type.dtype == Dtype::b8 && (init.kind == Initialiser::uniform || init.kind == Initialiser::normal))
    return "a bool is drawn from integers(0, 1)";
  if ((init.kind == Initialiser::uniform || init.kind == Initialiser::integers) &&
      (beyond(init.low, type.dtype) || beyond(init.high, type.dtype)))
    return "from " + low + " to " + high + " there are values that " + dtype + " has not";
  if (init.kind == Initialiser::permutation && !is_integral(type.dtype, false))
    return "a permutation is of integers, not of " + dtype;
  const Dim count = numel(type.sizes());
  if (init.kind == Initialiser::permutation && count.is_constant() && count.constant() > 0 &&
      beyond(static_cast<double>(count.constant() - 1), type.dtype))
    return "a permutation of " + to_string(count) + " numbers has some that " + dtype + " has not";
  return std::nullopt;
}
}  // namespace

void Verifier::input_flags(size_t number) {
  const Input& input = graph_.inputs()[number];
  const Type& type = graph_.type(input.value);
  if (input.requires_grad && !(type.is_tensor() && is_inexact(type.dtype)))
    report_input(407, number, name(input.value) + " is " + to_string(type) + ", which has no gradient");
  if (input.init.kind == Initialiser::none) return;
  if (auto wrong = wrong_with(input.init, type))
    report_input(408, number, "the initialiser of " + name(input.value) + ": " + *wrong);
}

}  // namespace lenz
