#include "fuzz/computed_numbers.h"

#include <cstdlib>
#include <limits>
#include <string>

namespace lenz::fuzz {

namespace {
constexpr std::string_view kSize = "aten.sym_size.int";       // op name: a number of the graph's
constexpr std::string_view kSum = "lenz.sym_add";             // op name: others are made of it
constexpr std::string_view kDifference = "lenz.sym_sub";      // op name: as kSum
constexpr std::string_view kProduct = "lenz.sym_mul";         // op name: as kSum
constexpr std::string_view kQuotient = "lenz.sym_floor_div";  // op name: as kSum
constexpr std::string_view kRest = "lenz.sym_mod";            // op name: as kSum
constexpr std::string_view kGreater = "lenz.sym_max";         // op name: as kSum
constexpr std::string_view kLess = "lenz.sym_min";            // op name: as kSum
constexpr std::string_view kComparisons[] = {"lenz.sym_eq", "lenz.sym_ne", "lenz.sym_lt",   // op name: truths of them
                                             "lenz.sym_le", "lenz.sym_gt", "lenz.sym_ge"};  // op name: as these
constexpr std::string_view kFull = "aten.full";                                             // op name: what takes sizes
constexpr std::string_view kItem = "aten._local_scalar_dense";  // op name: a number out of a tensor
constexpr int64_t kFar = int64_t{1} << 40;                      // no size, and none that one would hand over
constexpr size_t kMostNumbers = 2;                              // inputs

ValueId called(Graph& graph, std::string_view name, std::span<const Arg> args) {
  const Resolved r = resolve(graph, name, args, {});
  return graph.node(graph.append(*r.op, r.args)).result();
}

// A number that the caller hands over: `n`, or what it is counted from.
std::optional<ValueId> given_number(Growth& growth, Chooser& c, int64_t n) {
  Graph& graph = *growth.graph;
  std::vector<ValueId> given;
  for (const Input& input : graph.inputs())
    if (graph.type(input.value).kind == TypeKind::sym_int && graph.type(input.value).offset.is_constant())
      given.push_back(input.value);
  if (!given.empty() && (given.size() >= kMostNumbers || c.flip())) return c.pick(given);
  if (given.size() >= kMostNumbers) return std::nullopt;
  const std::string name = "n" + std::to_string(graph.inputs().size());
  return graph.add_input(name, graph.context().sym_int(c.flip() ? n : c.between(1, 9)));
}

std::optional<ValueId> size_of_some(Growth& growth, Chooser& c) {
  Graph& graph = *growth.graph;
  if (growth.values.empty()) return std::nullopt;
  const ValueId v = c.pick(growth.values);
  if (graph.type(v).rank() == 0) return std::nullopt;
  const size_t d = c.below(graph.type(v).rank());
  if (!graph.type(v).sizes()[d].is_constant()) return std::nullopt;
  const Arg of[] = {Arg::of_value(v), Arg::of_int(static_cast<int64_t>(d))};
  return called(graph, kSize, of);
}

std::optional<ValueId> number(Growth& growth, Chooser& c, bool outermost, int64_t n) {
  if (std::abs(n) >= kFar) return std::nullopt;
  const auto known = outermost && c.flip() ? given_number(growth, c, n) : size_of_some(growth, c);
  if (!known) return std::nullopt;
  const int64_t size = growth.graph->type(*known).offset.constant();
  if (size == n) return known;
  struct Way {
    std::string_view op;
    int64_t other;
  };
  std::vector<Way> ways{{kSum, n - size}, {kDifference, size - n}, {n > size ? kGreater : kLess, n}};
  if (size > 0 && n % size == 0) ways.push_back({kProduct, n / size});
  if (n > 0 && size > n && size / (size / n) == n) ways.push_back({kQuotient, size / n});
  if (n >= 0 && n < size - n) ways.push_back({kRest, size - n});
  const Way way = c.pick(ways);
  const Arg both[] = {Arg::of_value(*known), Arg::of_int(way.other)};
  return called(*growth.graph, way.op, both);
}

// A truth that the caller hands over, or that sizes and numbers make.
std::optional<ValueId> truth(Growth& growth, Chooser& c, bool outermost) {
  Graph& graph = *growth.graph;
  if (outermost && c.flip()) {
    for (const Input& input : graph.inputs())
      if (graph.type(input.value).kind == TypeKind::sym_bool) return input.value;
    return graph.add_input("p" + std::to_string(graph.inputs().size()), graph.context().simple(TypeKind::sym_bool));
  }
  const auto known = outermost && c.flip() ? given_number(growth, c, c.between(1, 9)) : size_of_some(growth, c);
  if (!known) return std::nullopt;
  const Arg both[] = {Arg::of_value(*known), Arg::of_int(c.between(0, 9))};
  return called(graph, c.pick(kComparisons), both);
}

bool is_number(const Arg& a) { return a.kind == ArgKind::real || (a.kind == ArgKind::integer && !a.symbolic); }
}  // namespace

void compute_numbers(Growth& growth, Chooser& choose, bool outermost, const OpDef& op, std::vector<Arg>& args) {
  for (size_t i = 0; i < args.size(); ++i) {
    const ParamType& type = op.schema.params[i].type;
    // Definitions compute with numbers that they know.
    const bool takes =
        !type.list && (type.kind == ParamKind::sym_int || type.kind == ParamKind::scalar) && op.decompose.empty();
    if (!takes || !is_number(args[i])) continue;
    if (type.kind == ParamKind::scalar && choose.chance(1, 8)) {
      if (const auto made = truth(growth, choose, outermost)) args[i] = Arg::of_value(*made);
      continue;
    }
    if (args[i].kind != ArgKind::integer) continue;
    if (const auto computed = number(growth, choose, outermost, args[i].i)) args[i] = Arg::of_value(*computed);
  }
}

void number_of_the_run(Graph& graph, Chooser& choose, const OpDef& op, std::vector<Arg>& args) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity(), kNan = std::numeric_limits<double>::quiet_NaN();
  // Half of these every dtype takes; behind them what halves, integers of 32 bits, floats and float8 have not.
  constexpr double kNumbers[] = {1,          0,       -1,     2.5, 0.5,    2,    -2.5,  kInfinity, kNan, 1e-50,
                                 -kInfinity, 70000.0, -70000, 3e9, 3.5e38, 1e39, 1e300, -1e300,    500};
  constexpr size_t kSoonCounted = 11;
  std::vector<size_t> places;
  for (size_t i = 0; i < args.size(); ++i) {
    const ParamType& type = op.schema.params[i].type;
    // What is a float alone says where eager reads, or how it draws (scales, probabilities): of any number it may not.
    const bool takes = !type.list && type.kind == ParamKind::scalar;
    if (takes && is_number(args[i])) places.push_back(i);
  }
  if (places.empty()) return;
  const size_t which = choose.pick(places);
  Arg& place = args[which];
  // Eager would count for ever up to the greatest of them: degrees of polynomials, of which most end with a NaN, but
  // not where an argument rounds to an end of the domain.
  const bool polynomial = op.schema.packet.find("polynomial") != std::string_view::npos;  // op name: no trait tells
  const bool counted = polynomial || counts_to_operand(op, op.schema.params[which].name);
  const double number = kNumbers[choose.below(counted ? kSoonCounted : std::size(kNumbers))];
  const Arg filled[] = {graph.context().dims({}), Arg::of_real(number)};
  const Keyword wide[] = {{"dtype", Arg::of_dtype(Dtype::f64)}};
  const Resolved full = resolve(graph, kFull, filled, wide);
  const Arg tensor[] = {Arg::of_value(graph.node(graph.append(*full.op, full.args)).result())};
  place = Arg::of_value(called(graph, kItem, tensor));
}

void as_long_as(Graph& graph, ValueId v) {
  const Arg of[] = {Arg::of_value(v), Arg::of_int(0)};
  const Arg long_as[] = {Arg::of_value(called(graph, kSize, of))};
  const Arg filled[] = {graph.context().args(long_as), Arg::of_real(1)};
  called(graph, kFull, filled);
}

}  // namespace lenz::fuzz
