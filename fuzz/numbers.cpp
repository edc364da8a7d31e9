#include "fuzz/numbers.h"

#include <cmath>
#include <limits>

#include "compiler/graph/alias.h"
#include "compiler/ops/op_table.h"

namespace lenz::fuzz {

namespace {
constexpr std::string_view kFilled = "aten.full_like";  // op name: a tensor of one number
}  // namespace

void far_number(const Graph& graph, Chooser& choose, const OpDef& op, std::vector<Arg>& args) {
  if (!args[0].is_value() || args.size() < 2 || op.schema.params[1].type.kind != ParamKind::scalar) return;
  const Type& t = graph.type(args[0].value());
  if (!t.is_tensor() || !is_integral(t.dtype, false) || args[1].kind != ArgKind::integer || args[1].symbolic) return;
  const int bits = info(t.dtype).bits - (info(t.dtype).is_signed ? 1 : 0);
  const int64_t most = bits == 63 ? std::numeric_limits<int64_t>::max() : (int64_t{1} << bits) - 1;
  const int64_t least = info(t.dtype).is_signed ? -most - 1 : 0;
  int64_t n = choose.any_of({most, least, most / 2 + 1, most - 1});
  if (bits == 63 && choose.flip()) n = choose.any_of<int64_t>({int64_t{1} << 31, 3000000000, int64_t{1} << 32});
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
  const Arg like[] = {place, arg};
  Resolved r = resolve(graph, kFilled, like, {});
  const ValueId fill = graph.node(graph.append(*r.op, r.args)).result();
  place = Arg::of_value(fill);
  return fill;
}

}  // namespace lenz::fuzz
