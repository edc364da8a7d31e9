#include "compiler/passes/uniform.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "compiler/graph/float_bits.h"
#include "compiler/graph/pattern_functions.h"
#include "compiler/scalar/rounding.h"

namespace lenz {

namespace {

std::optional<double> filled_with(const Node& node) {
  if (node.op->schema.mutates()) return std::nullopt;
  int param = node.op->schema.find(node.op->fills);
  return param >= 0 ? number_of(node.args[param]) : node.op->fills == "0" ? 0.0 : 1.0;
}

// A constant of one element whose bytes are in the text.
std::optional<double> single_element(const Node& node) {
  if (node.arg_count != 1 || node.args[0].kind != ArgKind::data) return std::nullopt;
  const ConstantData& data = *node.args[0].data;
  Dtype d = data.type.dtype;
  if (!data.bytes || !numel(data.type.sizes).is(1) || !is_floating(d)) return std::nullopt;
  uint64_t bits = 0;
  std::memcpy(&bits, data.bytes->data(), std::min(data.bytes->size(), sizeof bits));
  return float_value(d, bits);
}

}  // namespace

std::optional<double> Uniforms::of(ValueId v) {
  const Type& type = graph_.type(v);
  ValueId base = bases_.of(v);
  NodeId producer = graph_.value(base).producer;
  if (producer == kNone || !type.is_tensor() || graph_.type(base).kind != TypeKind::tensor ||
      graph_.type(base).dtype != type.dtype || aliases_.is_written(base))
    return std::nullopt;
  const Node& node = graph_.node(producer);
  std::optional<double> n = node.op->fills.empty() ? single_element(node) : filled_with(node);
  if (!n || std::isnan(*n) || is_complex(type.dtype)) return std::nullopt;
  if (type.dtype == Dtype::b8) return *n != 0 ? 1 : 0;
  if (is_integral(type.dtype, false)) {
    if (!(std::fabs(*n) < 0x1p53)) return std::nullopt;  // a double may not hold which of them it is
    return static_cast<double>(wrap_to(type.dtype, static_cast<int64_t>(*n)));  // -1 in bytes is 255
  }
  double rounded = round_to(type.dtype, *n);
  return std::isnan(rounded) ? std::nullopt : std::optional(rounded);
}

}  // namespace lenz
