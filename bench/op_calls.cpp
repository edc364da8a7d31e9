#include "bench/op_calls.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "compiler/graph/rebuild.h"
#include "compiler/graph/text.h"
#include "compiler/ops/symbolic_call.h"

namespace lenz::bench {

namespace {
constexpr int64_t kSmallPart = 8;        // a call that reaches less of what is asked for is none of ordinary work
constexpr int kTries = 1500, kMost = 5;  // generated calls; dims

// Which of a call's arguments that are sizes grow with the operands: those that equal none of them mostly are steps or
// widths.
enum class Growing : uint8_t { none, equal_ones, all };

int64_t elements_in(const Type& type) {
  if (type.kind == TypeKind::list) {
    int64_t most = 0;
    for (const Type* t : type.elements()) most = std::max(most, elements_in(*t));
    return most;
  }
  if (!type.is_tensor()) return 0;
  int64_t count = 1;
  for (Dim d : type.sizes()) count *= d.is_constant() ? d.constant() : 1;
  return count;
}

// The call with its sizes from 2 on so many times as large. Throws UserError where its row refuses that, or
// Unsupported.
std::unique_ptr<Graph> grown(const DrawnCall& call, int64_t factor, Growing arguments) {
  auto graph = std::make_unique<Graph>(call.graph->shared_context(), call.graph->ops(), "call");
  std::set<int64_t> seen;
  for (const Input& input : call.graph->inputs()) {
    const Type* type = &call.graph->type(input.value);
    if (type->is_tensor()) {
      DimVec sizes;
      for (Dim d : type->sizes()) {
        seen.insert(d.constant());
        sizes.push_back(d.constant() < 2 ? d : Dim(d.constant() * factor));
      }
      type = graph->context().tensor(contiguous_tensor(type->dtype, sizes, type->device));
    }
    graph->add_input(call.graph->value_name(input.value).substr(1), type);
    graph->input(graph->inputs().size() - 1).mutated = input.mutated;
  }
  DrawnCall made{call.op, std::move(graph), call.args, {}};
  auto larger = [&](Dim d) {
    const bool grows =
        d.is_constant() && d.constant() > 1 && (arguments == Growing::all || seen.contains(d.constant()));
    return grows ? Dim(d.constant() * factor) : d;
  };
  if (arguments != Growing::none)
    for (size_t i = 0; i < made.args.size(); ++i)
      made.args[i] = with_sizes(made.graph->context(), made.args[i], call.op->schema.params[i].type, larger);
  return as_graph(*call.op, std::move(made));
}

// By how much its sizes can grow at most until an operand has so many elements.
int64_t most_growth(const DrawnCall& call, int64_t elements) {
  int64_t most = elements;
  for (const Input& input : call.graph->inputs()) {
    const Type& type = call.graph->type(input.value);
    if (!type.is_tensor()) continue;
    const auto dims = std::ranges::count_if(type.sizes(), [](Dim d) { return d.constant() > 1; });
    const double room = static_cast<double>(elements) / static_cast<double>(elements_in(type));
    if (dims > 0) most = std::min(most, static_cast<int64_t>(std::pow(room, 1.0 / static_cast<double>(dims)) + 1e-9));
  }
  return most;
}

// The largest that has no more elements than this in any tensor; of the ways to grow the one with the largest result.
std::unique_ptr<Graph> grown_to(const DrawnCall& call, int64_t elements) {
  std::unique_ptr<Graph> best;
  int64_t most = 0;
  for (const Growing arguments : {Growing::none, Growing::equal_ones, Growing::all}) {
    std::unique_ptr<Graph> kept;
    for (int64_t low = 1, high = most_growth(call, elements); low <= high;) {
      const int64_t factor = kept ? low + (high - low) / 2 : high;  // which most calls bear
      std::unique_ptr<Graph> graph;
      try {
        graph = grown(call, factor, arguments);
      } catch (const UserError&) {
      } catch (const Unsupported&) {  // more tensors than a list may have, say
      }
      if (graph && elements_of(*graph) <= elements) {
        kept = std::move(graph);
        low = factor + 1;
      } else {
        high = kept ? factor - 1 : factor / 2;
      }
    }
    if (!kept) continue;
    int64_t made = 0;
    for (const Arg& output : kept->outputs())
      if (output.is_value()) made = std::max(made, elements_in(kept->type(output.value())));
    if (best && made <= most) continue;
    most = made;
    best = std::move(kept);
  }
  return best;
}

// Whether its operands are of these dtypes alone, the first of floats as asked, and of a few dims with elements.
bool is_plain(const DrawnCall& call, Dtype dtype, bool takes) {
  bool has = false, first = true;
  for (const Input& input : call.graph->inputs()) {
    const Type& type = call.graph->type(input.value);
    if (!type.is_tensor()) continue;
    if (type.rank() > kMost || elements_in(type) == 0) return false;
    if (is_inexact(type.dtype) && type.dtype != dtype && takes) return false;
    if (first && takes && !is_inexact(dtype) && type.dtype != dtype) return false;
    if (first && !takes && type.dtype != Dtype::f32 && type.dtype != Dtype::i64 && type.dtype != Dtype::b8)
      return false;
    has = has || type.dtype == dtype;
    first = false;
  }
  return first || has || !takes;
}

// Whether every operand has dims, all of more than one element.
bool has_usual_dims(const DrawnCall& call) {
  return std::ranges::all_of(call.graph->inputs(), [&](const Input& input) {
    const Type& type = call.graph->type(input.value);
    return !type.is_tensor() ||
           (type.rank() > 0 && std::ranges::all_of(type.sizes(), [](Dim d) { return d.constant() > 1; }));
  });
}

// Whether floats stay what they are: no other dtype is asked for.
bool keeps_dtype(const Graph& graph, Dtype dtype) {
  return std::ranges::none_of(
      graph.types(), [&](const Type* t) { return t->is_tensor() && is_inexact(t->dtype) && t->dtype != dtype; });
}
}  // namespace

int64_t elements_of(const Graph& graph) {
  int64_t most = 0;
  for (ValueId v = 0; v < graph.value_count(); ++v) most = std::max(most, elements_in(graph.type(v)));
  return most;
}

OpCalls large_calls(const OpDef& op, const OpTable& table, Dtype dtype, int64_t elements, size_t count) {
  OpCalls calls;
  if (!op.generate) {
    calls.none = "nothing generates calls of it";
    return calls;
  }
  const bool takes = op.dtypes.has(dtype);
  std::set<std::string> texts;
  size_t plain = 0;
  for (int i = 0; i < kTries && calls.graphs.size() < count; ++i) {
    RandomChooser chooser(static_cast<uint64_t>(i));
    DrawnCall call = draw_call(op, table, chooser, LayoutClass::contiguous);
    const bool usual = i < kTries / 2;  // unusual ones where there are no others
    if (!is_plain(call, dtype, takes) || (usual && !has_usual_dims(call))) continue;
    ++plain;
    auto graph = grown_to(call, elements);
    if (!graph || (usual && takes && !keeps_dtype(*graph, dtype)) || elements_of(*graph) < elements / kSmallPart)
      continue;
    if (texts.insert(print(*graph)).second) calls.graphs.push_back(std::move(graph));
  }
  if (calls.graphs.empty())
    calls.none = plain == 0 ? "no generated call is of plain operands" : "no call grows to such sizes";
  return calls;
}

}  // namespace lenz::bench
