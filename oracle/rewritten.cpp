#include "oracle/rewritten.h"

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "compiler/graph/alias.h"
#include "compiler/graph/drawing.h"
#include "compiler/scalar/scalar.h"
#include "oracle/aten.h"
#include "oracle/bounds/elementwise.h"
#include "oracle/bounds/range_ends.h"

namespace lenz::oracle {

namespace {
// A random op, and the seed of the generator that a call hands it: none draws where all of these do.
using RandomCall = std::pair<const OpDef*, std::optional<uint64_t>>;
void random_calls(const Graph& graph, std::multiset<RandomCall>& into) {
  for (const auto& sub : graph.subgraphs) random_calls(*sub, into);
  graph.for_each_node([&](NodeId id) {
    const Node& node = graph.node(id);
    if (!draws_numbers(*node.op, node.arguments())) return;
    const auto seed = std::ranges::find(node.arguments(), ArgKind::seed, &Arg::kind);
    into.emplace(node.op, seed == node.arguments().end() ? std::nullopt : std::optional(seed->seed));
  });
}

// A definition may ask the generator in another order than its op, and then nothing is known of the values. What is
// left of the graph's own calls draws as it did: no more of each than there were.
bool draws_otherwise(const Graph& graph, const Graph& made) {
  std::multiset<RandomCall> before, behind;
  random_calls(graph, before);
  random_calls(made, behind);
  return !std::ranges::includes(before, behind);
}

bool lays_otherwise(const Graph& made) {
  bool any = std::ranges::any_of(made.subgraphs, [](const auto& sub) { return lays_otherwise(*sub); });
  made.for_each_node([&](NodeId id) {
    any |= made.node(id).op->full_name == "lenz.restride";  // op name: what says how a value lies
  });
  return any;
}

// How the operands and results of functions that are not exact lie, by the functions, once for each of them: of a
// number and a tensor in another order eager makes one in order, and so not with the kernel that writes to the tensor
// itself. A tensor without dims or elements has no layout.
using Lies = std::optional<LayoutClass>;
using Layouts = std::map<std::string_view, std::multiset<Lies>>;
void add_inexact_layouts(const Graph& graph, const SymValues& sizes, Layouts& all) {
  for (const auto& sub : graph.subgraphs) add_inexact_layouts(*sub, sizes, all);
  graph.for_each_node([&](NodeId id) {
    const Node& node = graph.node(id);
    if (node.op->accuracy == Accuracy::exact) return;
    auto add = [&](ValueId v) {
      const Type& t = graph.type(v);
      if (!t.is_tensor()) return;
      const bool somewhere = t.rank() > 0 && evaluate(numel(t.sizes()), sizes) != 0;
      all[node.op->schema.packet].insert(somewhere ? Lies(layout_of(t, sizes)) : std::nullopt);
    };
    for (const Arg& a : node.arguments()) for_each_value(a, add);
    for (uint16_t k = 0; k < node.result_count; ++k) add(node.result(k));
  });
}
Layouts inexact_layouts(const Graph& graph, const SymValues& sizes) {
  Layouts all;
  add_inexact_layouts(graph, sizes, all);
  return all;
}

bool is_in_order(Lies lies) { return lies && in_order(*lies); }
std::set<Lies> out_of_order(const Layouts& layouts) {
  std::set<Lies> all;
  for (const auto& [function, of_it] : layouts)
    std::ranges::copy_if(of_it, std::inserter(all, all.end()), std::not_fn(is_in_order));
  return all;
}

// Whether these lie in ways that none did, or more of them in one way than did: of two that lay alike one may have
// moved. That there are fewer of a kind, as of calls that nobody needed, moves none.
bool lie_otherwise(const std::multiset<Lies>& before, const std::multiset<Lies>& behind) {
  return !std::ranges::includes(before, behind) ||
         std::ranges::any_of(before, [&](Lies layout) { return !behind.contains(layout); });
}

// Whether a function that both graphs call has operands or results that lie out of order in one of them, and otherwise
// in the other one.
bool lays_a_function_otherwise(const Layouts& before, const Layouts& behind) {
  return std::ranges::any_of(before, [&](const auto& function) {
    auto same = behind.find(function.first);
    return same != behind.end() && lie_otherwise(function.second, same->second) &&
           !(std::ranges::all_of(same->second, is_in_order) && std::ranges::all_of(function.second, is_in_order));
  });
}

// A byte of another dtype that is looked at as a bool may be neither 0 nor 1: some of eager's copies keep it, some make
// it 1, and all who read it take it for true.
bool looks_at_bools(const Graph& graph) {
  bool any = std::ranges::any_of(graph.subgraphs, [](const auto& sub) { return looks_at_bools(*sub); });
  graph.for_each_node([&](NodeId id) {
    const Node& node = graph.node(id);
    if (!node.op->full_name.starts_with("aten.view")) return;  // op name: what looks at bytes as they are
    const Type& t = graph.type(node.result());
    any |= t.is_tensor() && t.dtype == Dtype::b8 && graph.type(node.args[0].value()).dtype != Dtype::b8;
  });
  return any;
}

// Of floats, as of a number of another kind.
bool looks_at_bits(const Graph& graph, const Node& node) {
  if (!node.op->full_name.starts_with("aten.view") || !node.args[0].is_value()) return false;  // op name: as above
  const Type &of = graph.type(node.args[0].value()), &as = graph.type(node.result());
  return of.is_tensor() && as.is_tensor() && is_inexact(of.dtype) && to_real(as.dtype) != to_real(of.dtype);
}

// Which sign a NaN has is nobody's promise, and eager's own kernels for vectors and for single elements give it others.
bool shows_signs_of_nan(const Graph& graph) {
  bool any = std::ranges::any_of(graph.subgraphs, [](const auto& sub) { return shows_signs_of_nan(*sub); });
  graph.for_each_node([&](NodeId id) {
    const Node& node = graph.node(id);
    const ScalarRow* row = find_scalar(node.op->scalar);
    any = any || (row && row->dtypes.has(Dtype::f32) && reads_signs_of_nan(*row, Dtype::f32)) ||
          looks_at_bits(graph, node);
  });
  return any;
}

// Of a NaN some of eager's kernels give a value that was never set: another one with each call.
bool shows_what_was_never_set(const Graph& graph) {
  bool any = std::ranges::any_of(graph.subgraphs, [](const auto& sub) { return shows_what_was_never_set(*sub); });
  graph.for_each_node([&](NodeId id) {
    if (const ScalarRow* row = find_scalar(graph.node(id).op->scalar))
      any = any || leaves_nan_unset(*row, Dtype::f32) || leaves_nan_unset(*row, Dtype::f64);
  });
  return any;
}

Execution with_true_as_one(Execution e) {
  for (RunValue& v : e.outputs)
    if (v && v->value.isTensor() && v->value.toTensor().scalar_type() == at::kBool) {
      const at::Tensor t = v->value.toTensor(), bytes = t.view(at::kByte);
      if (!at::any(bytes > 1).item<bool>()) continue;
      const at::Tensor whole = at::empty({0}, at::kByte).set_(t.storage()), ones = whole.ne(0);
      v = hold(at::empty({0}, at::kBool).set_(ones.storage(), t.storage_offset(), t.sizes(), t.strides()));
    }
  return e;
}

// A pass gives the right root of a number; the library that eager asks is an ulp away for some, on some processors.
size_t roots(const Graph& graph) {
  size_t count = 0;
  for (const auto& sub : graph.subgraphs) count += roots(*sub);
  graph.for_each_node([&](NodeId id) { count += graph.node(id).op->scalar == "sqrt"; });  // op name: the one that is so
  return count;
}
}  // namespace

std::optional<Mismatch> Rewritten::differs(const Graph& made, const Execution& got) {
  if (draws_otherwise(trial_.graph(), made)) return trial_.differs_outside(got);
  auto mismatch = trial_.differs(got);
  if (mismatch && (eager_is_at_fault() || rounds_by_layout(made) || rounds_in_place(trial_.graph()) ||
                   looks_at_bools(trial_.graph()) || shows_signs_of_nan(trial_.graph()) ||
                   shows_what_was_never_set(trial_.graph()) || roots(made) < roots(trial_.graph()) ||
                   trial_.hangs_on_signs_of_zero(got)))
    mismatch = beyond_bounds(got);
  return mismatch && mismatch->rung == Rung::bound && known_of(made, got) ? std::nullopt : mismatch;
}

std::optional<Mismatch> Rewritten::out_of_bounds(const Graph& made, const Execution& got) {
  if (draws_otherwise(trial_.graph(), made)) return trial_.differs_outside(got);
  if (trial_.same(got)) return std::nullopt;  // every bit of eager's: who doubts those asks of the graph itself
  auto mismatch = beyond_bounds(got);
  return mismatch && known_of(made, got) ? std::nullopt : mismatch;
}

const KnownFault* Rewritten::known_of(const Graph& ran, const Execution& got, Draws draws) {
  return known_in(known_, ran, trial_.binding().lookup(),
                  [&](const Leeway& by) { return trial_.within(by, got, draws); });
}

bool Rewritten::known_of_host(const Mismatch& mismatch, const Execution& got, HowRun how) {
  return how.by_host && mismatch.rung >= Rung::special &&
         known_of(trial_.graph(), got, how.drawn ? Draws::lenz : Draws::eager);
}

// Eager's kernels for complex numbers are vectorised by the C++ compiler, where nothing that they write overlaps what
// they read: the loop in place is another one, and rounds otherwise.
bool Rewritten::rounds_in_place(const Graph& graph) {
  bool any = std::ranges::any_of(graph.subgraphs, [](const auto& sub) { return rounds_in_place(*sub); });
  graph.for_each_node([&](NodeId id) {
    const Node& node = graph.node(id);
    if (node.op->accuracy == Accuracy::exact) return;
    for_each_written(graph, node, [&](ValueId v) {
      const Type& t = graph.type(v);
      any = any || (t.is_tensor() ? is_complex(t.dtype) : std::ranges::any_of(t.elements(), [](const Type* e) {
              return is_complex(e->dtype);
            }));
    });
  });
  return any;
}

// Eager's kernels for vectors and those for strided operands are two: a function that is not exact may end in other
// last places where a pass has laid an operand, or its result, otherwise.
bool Rewritten::rounds_by_layout(const Graph& made) const {
  const SymValues sizes = trial_.binding().lookup();
  const Layouts before = inexact_layouts(trial_.graph(), sizes), behind = inexact_layouts(made, sizes);
  return known_in(known_, trial_.graph(), sizes, {}, true) != nullptr ||
         (lays_otherwise(made) && !out_of_order(before).empty()) || out_of_order(behind) != out_of_order(before) ||
         lays_a_function_otherwise(before, behind);
}

std::optional<Mismatch> Rewritten::beyond_bounds(const Execution& got) {
  if (!looks_at_bools(trial_.graph())) return trial_.eager_out_of_bounds(got);
  const Execution elements = with_true_as_one(got);
  return trial_.eager_out_of_bounds(got, &elements);
}

bool Rewritten::eager_is_at_fault() {
  const Execution& expected = trial_.expected();
  if (expected.ending != Ending::finished || !known_of(trial_.graph(), expected)) return false;
  return trial_.eager_out_of_bounds(expected).has_value();
}

}  // namespace lenz::oracle
