#include "fuzz/numbers.h"

#include <bit>
#include <cmath>
#include <limits>
#include <optional>

#include "compiler/graph/alias.h"
#include "compiler/ops/op_table.h"

namespace lenz::fuzz {

namespace {
constexpr std::string_view kFilled = "aten.full_like";  // op name: a tensor of one number
constexpr std::string_view kShown = "aten.view.dtype";  // op name: its bits as another dtype

// Like another tensor, of this number; now and then as what is filled with its bits, which are another dtype's.
ValueId filled(Graph& graph, Chooser& choose, ValueId like, const Arg& arg, double number) {
  auto called = [&](std::string_view op, std::span<const Arg> args, std::span<const Keyword> keywords = {}) {
    const Resolved r = resolve(graph, op, args, keywords);
    return graph.node(graph.append(*r.op, r.args)).result();
  };
  const Dtype dtype = graph.type(like).dtype;
  std::optional<std::pair<Dtype, Arg>> bits;
  if (dtype == Dtype::f32) bits.emplace(Dtype::i32, Arg::of_int(std::bit_cast<int32_t>(static_cast<float>(number))));
  if (dtype == Dtype::f64) bits.emplace(Dtype::i64, Arg::of_int(std::bit_cast<int64_t>(number)));
  const bool whole = std::abs(number) < 0x1p31;  // and small ones are reals next to zero
  if (dtype == Dtype::i32 && whole && number >= 0)
    bits.emplace(Dtype::f32, Arg::of_real(std::bit_cast<float>(static_cast<int32_t>(number))));
  if (!bits || choose.below(8) != 7) {
    const Arg args[] = {Arg::of_value(like), arg};
    return called(kFilled, args);
  }
  const Arg args[] = {Arg::of_value(like), bits->second};
  const Keyword of[] = {{"dtype", Arg::of_dtype(bits->first)}};
  const Arg shown[] = {Arg::of_value(called(kFilled, args, of)), Arg::of_dtype(dtype)};
  return called(kShown, shown);
}
}  // namespace

void far_number(const Graph& graph, Chooser& choose, const OpDef& op, std::vector<Arg>& args) {
  if (!args[0].is_value() || args.size() < 2 || op.schema.params[1].type.kind != ParamKind::scalar) return;
  const Type& t = graph.type(args[0].value());
  if (!t.is_tensor() || !is_integral(t.dtype, false) || args[1].kind != ArgKind::integer || args[1].symbolic) return;
  const int bits = info(t.dtype).bits - (info(t.dtype).is_signed ? 1 : 0);
  const int64_t most = bits == 63 ? std::numeric_limits<int64_t>::max() : (int64_t{1} << bits) - 1;
  const int64_t least = info(t.dtype).is_signed ? -most - 1 : 0;
  int64_t n = choose.any_of({most, least, most / 2 + 1, most - 1});
  // Where half the bits end, and behind what a real of 64 bits, or of 32, tells apart.
  constexpr int64_t kEnds[] = {int64_t{1} << 31, 3000000000, int64_t{1} << 32, (int64_t{1} << 53) + 1,
                               (int64_t{1} << 24) + 1};
  if (bits == 63 && choose.flip()) n = choose.pick(kEnds);
  args[1] = Arg::of_int(n);
}

void change_one(Chooser& choose, const OpDef& op, std::vector<Arg>& args) {
  std::vector<size_t> places;
  for (size_t i = 0; i < args.size(); ++i) {
    const Param& param = op.schema.params[i];
    const bool flag = args[i].kind == ArgKind::boolean && param.name != "pin_memory";
    const bool number = param.type.kind == ParamKind::scalar && args[i].kind == ArgKind::integer && !args[i].symbolic;
    if (flag || number) places.push_back(i);
  }
  if (places.empty()) return;
  Arg& a = args[choose.pick(places)];
  a = a.kind == ArgKind::boolean ? Arg::of_bool(!a.boolean()) : Arg::of_int(a.i == -1 ? 2 : a.i + 1);  // no zero
}

ValueId single_out(Graph& graph, Chooser& choose, const OpDef& op, std::vector<Arg>& args) {
  std::vector<double> numbers;
  for (const Neutral& n : op.neutral) numbers.push_back(n.value);
  for (const Absorbing& a : op.absorbing) numbers.push_back(a.value);
  double number = choose.pick(numbers);
  if (const uint64_t beside = choose.below(6); beside >= 4) number = beside == 4 ? -number : number + 1;
  const bool of_reals = !(op.dtypes & (dtypes::wide_floats | dtypes::complexes)).empty();
  const bool whole = number == std::floor(number) && std::isfinite(number);
  const Arg arg =
      whole && (!of_reals || choose.flip()) ? Arg::of_int(static_cast<int64_t>(number)) : Arg::of_real(number);
  std::vector<size_t> places;
  for (size_t i = 0; i < std::min<size_t>(args.size(), 2); ++i) {
    const bool scalar = op.schema.params[i].type.kind == ParamKind::scalar;
    const bool tensor = args[i].is_value() && graph.type(args[i].value()).is_tensor() &&
                        (std::isfinite(number) || !is_integral(graph.type(args[i].value()).dtype, true));
    if (scalar || (tensor && !writes_operand(op, args, i))) places.push_back(i);
  }
  if (places.empty()) return kNone;
  Arg& place = args[choose.pick(places)];
  if (!place.is_value()) {
    place = arg;
    return kNone;
  }
  const ValueId fill = filled(graph, choose, place.value(), arg, number);
  place = Arg::of_value(fill);
  return fill;
}

}  // namespace lenz::fuzz
