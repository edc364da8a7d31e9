#include "oracle/random_machine.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>

#include "compiler/graph/drawing.h"
#include "compiler/scalar/rounding.h"
#include "oracle/tensors.h"

namespace lenz::oracle {

namespace {
// A number for each element of a result: the same for all, or a tensor's that broadcasts.
class PerElement {
 public:
  PerElement() = default;
  explicit PerElement(double number) : number_(number) {}
  PerElement(const RunValue& tensor, const Seen& result) : strides_(result.sizes.size(), 0) {
    Seen seen = look(tensor);
    dtype_ = seen.dtype;
    bytes_ = elements_of(tensor);
    int64_t step = 1;
    for (size_t d = seen.sizes.size(); d-- > 0;) {
      size_t at = d + strides_.size() - seen.sizes.size();
      strides_[at] = seen.sizes[d] == 1 ? 0 : step;
      step *= seen.sizes[d];
    }
  }

  double at(uint64_t i, const Seen& result) const {
    if (bytes_.empty()) return number_;
    int64_t place = 0;
    for (size_t d = strides_.size(); d-- > 0;) {
      auto size = static_cast<uint64_t>(result.sizes[d]);
      place += static_cast<int64_t>(i % size) * strides_[d];
      i /= size;
    }
    ScalarBits bits{};
    auto size = static_cast<size_t>(item_size(dtype_));
    std::memcpy(bits.data(), bytes_.data() + static_cast<size_t>(place) * size, size);
    ScalarValue v = from_bits(dtype_, bits);
    return v.kind() == ScalarKind::integer ? static_cast<double>(v.integer()) : v.real();
  }

 private:
  double number_ = 0;
  Dtype dtype_ = Dtype::f64;
  std::vector<std::byte> bytes_;
  SmallVec<int64_t, 6> strides_;
};

uint64_t count_of(const Seen& seen) {
  uint64_t n = 1;
  for (int64_t s : seen.sizes) n *= static_cast<uint64_t>(s);
  return n;
}

// As conversions do it: dtypes narrower than f32 are reached through it.
ScalarValue stored_as(Dtype dtype, double x) {
  if (is_integral(dtype, true)) return ScalarValue(static_cast<int64_t>(x));
  return ScalarValue(is_reduced_float(dtype) ? round_to(Dtype::f32, x) : x);
}
ScalarValue stored_as(Dtype, int64_t x) { return ScalarValue(x); }

// Every element, or every part of a complex one, by its number.
template <class F>
void write(const RunValue& result, F&& sample) {
  Seen seen = look(result);
  Dtype part = to_real(seen.dtype);
  auto size = static_cast<size_t>(item_size(part));
  uint64_t count = count_of(seen) * (is_complex(seen.dtype) ? 2 : 1);
  std::vector<std::byte> bytes(count * size);
  for (uint64_t i = 0; i < count; ++i) {
    ScalarValue x = stored_as(part, sample(i));
    if (is_floating(part) && x.kind() == ScalarKind::integer) x = ScalarValue(static_cast<double>(x.integer()));
    ScalarBits bits = to_bits(part, x);
    std::memcpy(bytes.data() + i * size, bits.data(), size);
  }
  set_elements(result, bytes);
}

// Behind the last integer of a range that is open.
int64_t end_of_integers(Dtype dtype) {
  if (is_floating(dtype)) return (int64_t{1} << info(dtype).mantissa_bits) + 1;
  if (dtype == Dtype::b8) return 2;
  if (dtype == Dtype::i64) return INT64_MAX;
  return int64_t{1} << (8 * item_size(dtype) - info(dtype).is_signed);
}

std::vector<int64_t> permutation(const RandomStream& stream, uint64_t count) {
  std::vector<std::pair<uint64_t, int64_t>> keys(count);
  for (uint64_t i = 0; i < count; ++i) keys[i] = {stream.wide_word(i), static_cast<int64_t>(i)};
  std::ranges::sort(keys);
  std::vector<int64_t> order;
  for (const auto& [key, place] : keys) order.push_back(place);
  return order;
}

double first_success(double u, double p) { return std::max(1.0, std::ceil(std::log1p(-u) / std::log1p(-p))); }

// What a kept element is multiplied by, and what is added to it and to the others.
struct Kept {
  double factor, to_kept, to_others;
};
Kept kept_as(const Draw& draw, double p, Dtype dtype) {
  constexpr double kSaturation = 1.7580993408473766;
  if (p >= 1) return {0, 0, 0};
  if (!draw.saturates) return {round_to(dtype, 1 / (1 - p)), 0, 0};
  double a = 1 / std::sqrt((p * kSaturation * kSaturation + 1) * (1 - p));
  return {a, a * p * kSaturation, a * p * kSaturation - a * kSaturation};
}
// A coin of this probability that always falls on one side is not thrown.
bool is_settled(double probability) {
  const double below = std::ceil(std::ldexp(probability, 32));
  return !(below > 0) || below > 0xFFFFFFFFp0;
}
}  // namespace

bool has_sampling(const OpDef& op) { return draw_of(op.base ? *op.base : op).has_value(); }

void LenzRandom::seed(uint64_t ambient) {
  boxed_.seed(ambient);
  ambient_ = {boxed_.draw_seed(), 0};
}

void LenzRandom::run(const Graph& graph, const Node& node, std::span<const RunValue> values, const SymValues& symbols,
                     Outcome& outcome) {
  const OpDef& op = *node.op;
  const bool draws = draws_numbers(op, node.arguments());
  const std::optional<Draw> draw = draws ? draw_of(op) : std::nullopt;
  if (draw) {
    outcome = drawn(graph, node, values, symbols, *draw);
    return;
  }
  if (draws && others_ == Others::refused) throw Unsupported(op.full_name + " has no sampling from Lenz's stream yet");
  boxed_.run(op, node.arguments(), values, symbols, outcome);
}

Outcome LenzRandom::drawn(const Graph& graph, const Node& node, std::span<const RunValue> values,
                          const SymValues& symbols, const Draw& draw) {
  const OpDef& op = *node.op;
  std::vector<PerElement> operands;
  bool open = false;  // an operand is none: this form has no meaning for it
  RunValue input;
  // Eager's own run says what is refused, and what the results look like.
  for (const Draw::Operand& o : draw.operands)
    if (o.param >= 0 && node.args[o.param].is_value() && draw.kind == Draw::keep && !input)
      input = detached_copy(values[node.args[o.param].value()]);
  Outcome outcome = boxed_.run(op, node.arguments(), values, symbols);
  if (outcome.raised || outcome.results.empty() || !outcome.results[0]) return outcome;
  Seen result = look(outcome.results[0]);
  if (count_of(result) == 0) return outcome;  // nothing is drawn, and no element has operands
  Dtype dtype = to_real(result.dtype);
  bool complex = is_complex(result.dtype);
  for (const Draw::Operand& o : draw.operands) {
    const Arg* a = o.param >= 0 ? &node.args[o.param] : nullptr;
    if (o.end) {
      open = true;
      operands.emplace_back(0.0);
    } else if (!a) {
      operands.emplace_back(o.number);
    } else if (a->is_value() && graph.type(a->value()).is_tensor()) {
      if (complex) throw Unsupported(op.full_name + " has no sampling around complex numbers from Lenz's stream yet");
      bool is_input = draw.kind == Draw::keep && operands.empty();
      operands.emplace_back(is_input ? input : values[a->value()], result);
    } else if (a->kind == ArgKind::real) {
      operands.emplace_back(a->real());
    } else if (a->kind == ArgKind::boolean) {
      operands.emplace_back(a->boolean() ? 1.0 : 0.0);
    } else if (auto known = a->kind == ArgKind::integer ? evaluate(a->dim(), symbols) : std::nullopt) {
      operands.emplace_back(static_cast<double>(*known));
    } else {
      open = true;
      operands.emplace_back(1.0);  // `train` left open means yes
    }
  }
  if (draw.kind == Draw::keep && (operands[2].at(0, result) == 0 || operands[1].at(0, result) == 0)) return outcome;

  RandomStream stream = ambient_;
  bool explicit_seed = false;
  for (const Arg& a : node.arguments())
    if (a.kind == ArgKind::seed) {
      stream = {a.seed, 0};
      explicit_seed = true;
    }
  uint64_t drawn = count_of(result) * (complex ? 2 : 1);
  auto operand = [&](size_t k, uint64_t i) { return operands[k].at(i, result); };
  bool wide = draws_wide(dtype);
  Dtype fraction = is_floating(dtype) ? dtype : Dtype::f32;
  auto uniform = [&](uint64_t i) { return stream.uniform(fraction, i); };
  auto normal = [&](uint64_t i) {
    return operand(0, i) + operand(1, i) * (complex ? std::numbers::sqrt2 / 2 : 1) * stream.normal(dtype, i);
  };
  switch (draw.kind) {
    case Draw::uniform:
      write(outcome.results[0],
            [&](uint64_t i) { return operand(0, i) + uniform(i) * (operand(1, i) - operand(0, i)); });
      break;
    case Draw::normal: write(outcome.results[0], normal); break;
    case Draw::log_normal: write(outcome.results[0], [&](uint64_t i) { return std::exp(normal(i)); }); break;
    case Draw::exponential:
      write(outcome.results[0], [&](uint64_t i) { return -std::log1p(-uniform(i)) / operand(0, i); });
      break;
    case Draw::cauchy:
      write(outcome.results[0], [&](uint64_t i) {
        return operand(0, i) + operand(1, i) * std::tan(std::numbers::pi * (uniform(i) - 0.5));
      });
      break;
    case Draw::geometric:
      write(outcome.results[0], [&](uint64_t i) { return first_success(uniform(i), operand(0, i)); });
      break;
    case Draw::coin:
      wide = false;
      write(outcome.results[0], [&](uint64_t i) { return stream.coin(i, operand(0, i)) ? 1.0 : 0.0; });
      break;
    case Draw::integers: {
      if (std::max(std::abs(operand(0, 0)), open ? 0 : std::abs(operand(1, 0))) > 0x1p53)
        throw Unsupported(op.full_name + " has no sampling from so wide a range yet");
      auto high = [&](uint64_t i) { return open ? end_of_integers(dtype) : static_cast<int64_t>(operand(1, i)); };
      wide = static_cast<double>(high(0)) - operand(0, 0) > 0x1p32;
      write(outcome.results[0],
            [&](uint64_t i) { return stream.integer(i, static_cast<int64_t>(operand(0, i)), high(i)); });
      break;
    }
    case Draw::order: {
      wide = true;
      std::vector<int64_t> order = permutation(stream, count_of(result));
      write(outcome.results[0], [&](uint64_t i) { return order[i]; });
      break;
    }
    case Draw::keep: {
      wide = false;
      double p = operand(1, 0);
      uint64_t each = 1;  // elements of one coin
      for (size_t d = 2; draw.channels && d < result.sizes.size(); ++d) each *= static_cast<uint64_t>(result.sizes[d]);
      drawn = is_settled(1 - p) ? 0 : drawn / std::max<uint64_t>(each, 1);
      Kept as = kept_as(draw, p, dtype);
      auto keeps = [&](uint64_t i) { return stream.coin(i / each, 1 - p); };
      if (complex) throw Unsupported(op.full_name + " drops no complex numbers by Lenz's stream yet");
      write(outcome.results[0], [&](uint64_t i) {
        bool kept = keeps(i);
        double scaled = operand(0, i) * (kept ? as.factor : 0.0), added = kept ? as.to_kept : as.to_others;
        return added != 0 ? scaled + added : scaled;  // a zero keeps its sign
      });
      if (outcome.results.size() > 1) write(outcome.results[1], [&](uint64_t i) { return keeps(i) ? 1.0 : 0.0; });
      break;
    }
  }
  if (!explicit_seed) ambient_.offset += offsets_used(drawn, wide);
  return outcome;
}

}  // namespace lenz::oracle
