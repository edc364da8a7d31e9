#include "oracle/random_machine.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "compiler/ops/draws.h"
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

template <class F>
void write(const RunValue& result, F&& sample) {
  Seen seen = look(result);
  auto size = static_cast<size_t>(item_size(seen.dtype));
  uint64_t count = count_of(seen);
  std::vector<std::byte> bytes(count * size);
  for (uint64_t i = 0; i < count; ++i) {
    double x = sample(i);
    bool whole = is_integral(seen.dtype, true);
    ScalarBits bits = to_bits(seen.dtype, whole ? ScalarValue(static_cast<int64_t>(x)) : ScalarValue(x));
    std::memcpy(bytes.data() + i * size, bits.data(), size);
  }
  set_elements(result, bytes);
}
}  // namespace

void LenzRandom::seed(uint64_t ambient) {
  boxed_.seed(ambient);
  ambient_ = {boxed_.draw_seed(), 0};
}

Outcome LenzRandom::run(const Graph& graph, const Node& node, std::span<const RunValue> values,
                        const SymValues& symbols) {
  const OpDef& op = *node.op;
  std::optional<Draw> draw = draw_of(op);
  if (!op.has(Trait::random)) return boxed_.run(op, node.arguments(), values, symbols);
  if (!draw) throw Unsupported(op.full_name + " has no sampling from Lenz's stream yet");

  std::vector<PerElement> operands;
  bool open = false;  // an operand is none: this form has no meaning for it
  RunValue input;
  // Eager's own run says what is refused, and what the results look like.
  for (const Draw::Operand& o : draw->operands)
    if (o.param >= 0 && node.args[o.param].is_value() && draw->kind == Draw::keep && !input)
      input = detached_copy(values[node.args[o.param].value()]);
  Outcome outcome = boxed_.run(op, node.arguments(), values, symbols);
  if (outcome.raised || outcome.results.empty() || !outcome.results[0]) return outcome;
  Seen result = look(outcome.results[0]);
  if (is_complex(result.dtype))
    throw Unsupported(op.full_name + " has no sampling of complex numbers from Lenz's stream yet");
  for (const Draw::Operand& o : draw->operands) {
    const Arg* a = o.param >= 0 ? &node.args[o.param] : nullptr;
    if (!a) {
      operands.emplace_back(o.number);
    } else if (a->is_value() && graph.type(a->value()).is_tensor()) {
      bool is_input = draw->kind == Draw::keep && operands.empty();
      operands.emplace_back(is_input ? input : values[a->value()], result);
    } else if (a->kind == ArgKind::real) {
      operands.emplace_back(a->real());
    } else if (a->kind == ArgKind::boolean) {
      operands.emplace_back(a->boolean() ? 1.0 : 0.0);
    } else if (auto known = a->kind == ArgKind::integer ? evaluate(a->dim(), symbols) : std::nullopt) {
      operands.emplace_back(static_cast<double>(*known));
    } else {
      open = true;
    }
  }
  // `train` left open means yes; an end of a range left open is the dtype's, which has no stream yet.
  if (open && draw->kind != Draw::keep) throw Unsupported(op.full_name + " has no sampling from an open range yet");
  if (draw->kind == Draw::keep && operands.size() == 2) operands.emplace_back(1.0);
  if (draw->kind == Draw::keep && (operands[2].at(0, result) == 0 || operands[1].at(0, result) == 0)) return outcome;

  RandomStream stream = ambient_;
  bool explicit_seed = false;
  for (const Arg& a : node.arguments())
    if (a.kind == ArgKind::seed) {
      stream = {a.seed, 0};
      explicit_seed = true;
    }
  auto operand = [&](size_t k, uint64_t i) { return operands[k].at(i, result); };
  Dtype dtype = result.dtype;
  bool wide = draws_wide(dtype);
  switch (draw->kind) {
    case Draw::uniform:
      write(outcome.results[0],
            [&](uint64_t i) { return operand(0, i) + stream.uniform(dtype, i) * (operand(1, i) - operand(0, i)); });
      break;
    case Draw::normal:
      write(outcome.results[0], [&](uint64_t i) { return operand(0, i) + operand(1, i) * stream.normal(dtype, i); });
      break;
    case Draw::exponential:
      write(outcome.results[0], [&](uint64_t i) { return -std::log1p(-stream.uniform(dtype, i)) / operand(0, i); });
      break;
    case Draw::coin:
      wide = false;
      write(outcome.results[0], [&](uint64_t i) { return stream.coin(i, operand(0, i)) ? 1.0 : 0.0; });
      break;
    case Draw::integers: {
      if (std::max(std::abs(operand(0, 0)), std::abs(operand(1, 0))) > 0x1p53)
        throw Unsupported(op.full_name + " has no sampling from so wide a range yet");
      wide = operand(1, 0) - operand(0, 0) > 0x1p32;
      write(outcome.results[0], [&](uint64_t i) {
        auto low = static_cast<int64_t>(operand(0, i)), high = static_cast<int64_t>(operand(1, i));
        return static_cast<double>(stream.integer(i, low, high));
      });
      break;
    }
    case Draw::keep: {
      wide = false;
      double kept = 1 - operand(1, 0), scale = kept > 0 ? round_to(dtype, 1 / kept) : 0;
      write(outcome.results[0], [&](uint64_t i) { return operand(0, i) * (stream.coin(i, kept) ? scale : 0.0); });
      if (outcome.results.size() > 1)
        write(outcome.results[1], [&](uint64_t i) { return stream.coin(i, kept) ? 1.0 : 0.0; });
      break;
    }
  }
  if (!explicit_seed) ambient_.offset += offsets_used(count_of(result), wide);
  return outcome;
}

}  // namespace lenz::oracle
