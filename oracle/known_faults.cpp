#include "oracle/known_faults.h"

#include <fnmatch.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "oracle/tensors.h"

namespace lenz::oracle {

std::string_view layout_of(const Type& t, const SymValues& sizes) {
  auto number = [&](Dim d) { return evaluate(d, sizes).value_or(1); };
  int64_t count = 1, dense = 1;
  for (Dim s : t.sizes()) count *= number(s);
  if (t.rank() == 0) return "scalar";
  if (count == 0) return "empty";
  bool contiguous = true, repeated = false;
  std::vector<std::pair<int64_t, int64_t>> steps;  // stride, size
  for (size_t i = t.rank(); i-- > 0;) {
    int64_t size = number(t.sizes()[i]), stride = number(t.strides()[i]);
    if (size == 1) continue;
    contiguous &= stride == dense;
    repeated |= stride == 0;
    dense *= size;
    steps.push_back({stride, size});
  }
  bool shifted = number(t.offset) != 0;
  if (contiguous) return shifted ? "contiguous, with an offset" : "contiguous";
  if (repeated) return "stride 0";
  std::ranges::sort(steps);
  bool overlaps = false, gaps = false;
  int64_t extent = 1;
  for (auto [stride, size] : steps) {
    overlaps |= stride < extent;
    gaps |= stride > extent;
    extent = stride * size;
  }
  return overlaps ? "overlapping" : gaps ? "gaps" : "permuted";
}

namespace {
bool overlaps(const Type& t, const SymValues& sizes) {
  std::string_view layout = layout_of(t, sizes);
  return layout == "stride 0" || layout == "overlapping";
}

constexpr double kRoundedPlaces = 8, kSingle = 4e-6;

void loosen(Bounded& b, const Leeway& by) {
  for (Bounded& e : b.elements) loosen(e, by);
  if (!b.value || !is_floating(b.dtype) || look(b.value).kind != TypeKind::tensor) return;
  auto doubles = [](const RunValue& plane) {
    std::vector<std::byte> bytes = elements_of(plane);
    std::vector<double> all(bytes.size() / sizeof(double));
    std::memcpy(all.data(), bytes.data(), bytes.size());
    return all;
  };
  double largest = 0;
  for (double v : doubles(b.value))
    if (std::isfinite(v)) largest = std::max(largest, std::fabs(v));
  RunValue error = detached_copy(b.error ? b.error : b.value);
  std::vector<double> errors = doubles(error);
  if (!b.error) std::ranges::fill(errors, 0.0);
  for (double& e : errors) e += by.relative * largest + by.absolute;
  set_elements(error, std::as_bytes(std::span(errors)));
  b.error = error;
}

}  // namespace

bool within(const Leeway& by, const Graph& graph, Reference reference, const Execution& got) {
  for (Bounded& b : reference.outputs) loosen(b, by);
  for (Bounded& b : reference.inputs) loosen(b, by);
  return !judge(graph, reference, got).mismatch;
}

bool applies(const KnownFault& known, const OpDef& op, Dtype dtype, const Graph& graph, const SymValues& sizes,
             const std::function<bool(const Leeway&)>& within) {
  if (fnmatch(known.row.c_str(), op.full_name.c_str(), 0) != 0) return false;
  bool named = known.dtypes == "*";
  for (size_t at = 0; at < known.dtypes.size() && !named;) {
    size_t end = std::min(known.dtypes.find(' ', at), known.dtypes.size());
    named = known.dtypes.substr(at, end - at) == lenz::name(dtype);
    at = end + 1;
  }
  if (!named) return false;
  if (known.when == KnownFault::always) return true;
  if (known.when == KnownFault::rounds)
    return is_floating(dtype) && within({kRoundedPlaces * std::ldexp(1.0, 1 - info(dtype).mantissa_bits), 0});
  if (known.when == KnownFault::single) return within({kSingle, kSingle});
  if (known.when == KnownFault::drops) {
    const Node& node = graph.node(graph.first());
    int p = node.op->schema.find("dropout_p");
    return p >= 0 && node.args[p].kind == ArgKind::real && node.args[p].d > 0;
  }
  const Node& call = graph.node(graph.first());
  auto argument = [&](std::string_view name) -> const Arg* {
    int p = call.op->schema.find(name);
    return p < 0 ? nullptr : &call.args[p];
  };
  if (known.when == KnownFault::unsorted) {
    const Arg *sorted = argument("sorted"), *stable = argument("stable");
    return (sorted && sorted->kind == ArgKind::boolean && !sorted->boolean()) ||
           (stable && (stable->kind != ArgKind::boolean || !stable->boolean()));
  }
  if (known.when == KnownFault::part_overlaps) {
    const Arg *size = argument("size"), *stride = argument("stride");
    if (!size || !stride || size->kind != ArgKind::int_list || stride->kind != ArgKind::int_list) return false;
    TensorType part;
    part.sizes = DimVec(size->dim_list());
    part.strides = DimVec(stride->dim_list());
    return overlaps(*graph.context().tensor(part), sizes);
  }
  if (known.when == KnownFault::misfit) {
    const Type &self = graph.type(call.args[0].value()), &result = graph.type(call.result());
    auto misfits = [&](std::string_view name, size_t from_last) {
      const Arg* scale = argument(name);
      if (!scale || scale->kind != ArgKind::real || self.rank() < 2 || result.rank() < 2) return false;
      auto in = evaluate(self.sizes()[self.rank() - from_last], sizes);
      auto out = evaluate(result.sizes()[result.rank() - from_last], sizes);
      return in && out && std::fabs(static_cast<double>(*in) * scale->d - static_cast<double>(*out)) >= 1;
    };
    return misfits("scales_h", 2) || misfits("scales_w", 1);
  }
  if (known.when == KnownFault::one_wide) {
    const Type& result = graph.type(call.result());
    return result.is_tensor() && result.rank() > 0 && evaluate(result.sizes().back(), sizes) == 1;
  }
  for (const Input& input : graph.inputs()) {
    const Type& t = graph.type(input.value);
    if (!t.is_tensor()) continue;
    std::string_view layout = layout_of(t, sizes);
    if (known.when == KnownFault::out_strided && input.mutated && !layout.starts_with("contiguous")) return true;
    if (known.when == KnownFault::any_strided && !layout.starts_with("contiguous")) return true;
    if (known.when == KnownFault::self_overlaps && overlaps(t, sizes)) return true;
  }
  return false;
}

std::vector<KnownFault> parse_known_faults(std::string_view text, const std::string& file) {
  std::vector<KnownFault> all;
  int line = 0;
  while (!text.empty()) {
    ++line;
    size_t end = std::min(text.find('\n'), text.size());
    std::string_view rest = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (rest.empty() || rest[0] == '#') continue;
    std::string fields[4];
    for (size_t i = 0; i < 4; ++i) {
      size_t bar = i == 3 ? rest.size() : std::min(rest.find(" | "), rest.size());
      fields[i] = rest.substr(0, bar);
      rest.remove_prefix(std::min(bar + 3, rest.size()));
    }
    constexpr std::string_view kWhen[] = {"always", "out_strided", "any_strided",   "self_overlaps", "drops", "rounds",
                                          "single", "unsorted",    "part_overlaps", "one_wide",      "misfit"};
    auto when = std::ranges::find(kWhen, fields[2]);
    if (fields[3].empty() || when == std::end(kWhen))
      throw UserError(
          "not `row | dtypes | when | why`, with when one of always, out_strided, any_strided, self_overlaps, drops, "
          "rounds, single, unsorted, part_overlaps, one_wide, misfit",
          file + ":" + std::to_string(line), "see the head of the file");
    all.push_back({fields[0], fields[1], static_cast<KnownFault::When>(when - std::begin(kWhen)), fields[3]});
  }
  return all;
}

}  // namespace lenz::oracle
