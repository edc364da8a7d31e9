#include "fuzz/decisions/interpreted.h"

#include <cmath>
#include <cstdio>

#include "compiler/base/error.h"
#include "compiler/loops/interpret.h"
#include "compiler/loops/points.h"
#include "oracle/initialise.h"

namespace lenz::fuzz {

namespace {
constexpr double kMostPoints = 2000;

// Digits of an f64 may be another machine's, where libm is: what is rounded to less is the same but once in a million.
std::string number(double x, bool wide) {
  if (std::isnan(x)) return "nan ";
  if (wide && std::abs(x) < 1e-9) x = 0;
  char text[40];
  std::snprintf(text, sizeof text, wide ? "%.4e " : "%.9g ", x);
  return text;
}

void add(std::string& text, const loops::Tensor& t) {
  const bool wide = t.dtype() == Dtype::f64 || t.dtype() == Dtype::c128;
  for (int64_t i = 0; i < t.numel(); ++i) {
    const ScalarValue v = t.at(i);
    switch (v.kind()) {
      case ScalarKind::integer: text += std::to_string(v.integer()) + " "; break;
      case ScalarKind::complex:
        text += number(v.complex().real(), wide);
        text += number(v.complex().imag(), wide);
        break;
      default: text += number(v.real(), wide);
    }
  }
}

void add(std::string& text, const loops::OutputValue& o) {
  text += "\n" + std::to_string(o.kind) + " " + std::to_string(o.integer) + " ";
  if (o.tensor) add(text, o.tensor);
  for (const loops::OutputValue& e : o.elements) add(text, e);
}

std::optional<loops::InputValue> value_of(Context& context, const Input& input, const Type& type,
                                          const SymValues& sizes) {
  if (!type.is_tensor()) return std::nullopt;
  auto known = [&](Dim d) { return evaluate(d, sizes); };
  loops::Ints own_sizes, own_strides;
  TensorType constant = type.tensor();
  for (size_t i = 0; i < constant.sizes.size(); ++i) {
    const auto size = known(constant.sizes[i]), stride = known(constant.strides[i]);
    if (!size || !stride) return std::nullopt;
    own_sizes.push_back(*size), own_strides.push_back(*stride);
    constant.sizes[i] = Dim(*size), constant.strides[i] = Dim(*stride);
  }
  const auto offset = known(constant.offset);
  if (!offset) return std::nullopt;
  constant.offset = Dim(*offset);
  const Type& whole = *context.tensor(constant);
  auto storage = std::make_shared<loops::Storage>();
  storage->bytes = oracle::storage_bytes(whole);
  auto bytes = std::make_shared<std::vector<std::byte>>(storage->bytes + 16);
  storage->data = bytes->data();
  storage->owner = bytes;
  oracle::initialise({bytes->data(), storage->bytes}, whole, input.init, true);
  return loops::Tensor(storage, type.dtype, own_sizes, own_strides, *offset);
}
}  // namespace

void interpreted(const Graph& graph, const loops::Program& program, const SymValues& sizes, Facts& facts) {
  if (loops::points(program, sizes) > kMostPoints || program.inputs.size() != graph.inputs().size()) return;
  std::vector<loops::InputValue> inputs;
  for (const Input& input : graph.inputs()) {
    if (input.alias) return;
    auto value = value_of(*graph.shared_context(), input, graph.type(input.value), sizes);
    if (!value) return;
    inputs.push_back(std::move(*value));
  }
  loops::InterpretOptions how;
  how.ambient = {.seed = 5, .offset = 0};
  std::string text;
  how.print = [&](const loops::Print& node, std::span<const loops::Tensor> values) {
    text += node.text;
    for (const loops::Tensor& t : values) add(text, t);
  };
  loops::Results got;
  try {
    got = loops::interpret(program, inputs, how);
  } catch (const UserError& error) {
    text += error.what();
  } catch (const Unsupported&) {  // it leaves something to the host
    return;
  }
  text += got.text;
  for (const loops::OutputValue& o : got.outputs) add(text, o);
  for (const loops::InputValue& i : inputs)
    if (const auto* t = std::get_if<loops::Tensor>(&i)) add(text, *t);
  const loops::Counters& c = got.counters;
  for (const uint64_t n : {c.points, c.loads, c.stores, c.operations, c.flops, c.bytes})
    text += std::to_string(n) + " ";
  facts["run/interpreted #"] = digest(text);
}

}  // namespace lenz::fuzz
