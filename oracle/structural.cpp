#include "oracle/structural.h"

#include <algorithm>

#include "compiler/base/sym_parts.h"
#include "compiler/graph/renumber.h"
#include "compiler/ops/decompose.h"
#include "compiler/scalar/scalar.h"
#include "oracle/execute.h"
#include "oracle/tensors.h"

namespace lenz::oracle {

namespace {
using Values = std::vector<RunValue>;

Values operands(const StructuralCall& call, const Arg& list) {
  Values all;
  for (const Arg& a : items(list)) all.push_back(literal_or_value(a, call.values, call.binding));
  return all;
}
Values operands(const StructuralCall& call, size_t arg) { return operands(call, call.node.args[arg]); }

const Graph& subgraph(const StructuralCall& call, size_t arg) {
  return *call.graph.subgraphs[static_cast<size_t>(call.node.args[arg].i)];
}

// Whether a tensor lies as a type says; of what the sizes leave open nothing is asked.
bool lies_as(const Type& type, const Seen& seen, const SymValues& sizes) {
  bool lies = evaluate(type.offset, sizes).value_or(seen.offset) == seen.offset;
  for (size_t d = 0; d < seen.strides.size(); ++d)
    lies = lies && evaluate(type.strides()[d], sizes).value_or(seen.strides[d]) == seen.strides[d];
  return lies;
}

const Type& type_of(const Graph& sub, size_t input) { return sub.type(sub.inputs()[input].value); }

// A sub-graph's symbols are its own: they are read off what it is called with. Its results are tensors of their own.
Values call_graph(const StructuralCall& call, const Graph& sub, const Values& given) {
  // What is only read lies as the sub-graph declares: its views count on it, and on memory that holds what they show.
  Values inputs = given;
  NodeMachine& machine = call.runner.machine();
  std::vector<Seen> seen;
  for (size_t i = 0; i < inputs.size(); ++i) {
    seen.push_back(look(inputs[i]));
    if (machine.widens() && seen[i].kind == TypeKind::tensor)
      seen[i].dtype = type_of(sub, i).dtype;  // sizes are the same
  }
  Binding sizes;
  bool fit = true;  // an iteration before resized one: whoever runs the graph says so
  for (size_t i = 0; i < inputs.size(); ++i) fit = fit && sizes.match_sizes(type_of(sub, i), seen[i]);
  // A stride that nothing else says is what it is.
  for (size_t i = 0; i < inputs.size(); ++i)
    for (size_t d = 0; fit && type_of(sub, i).is_tensor() && d < seen[i].strides.size(); ++d)
      sizes.match(type_of(sub, i).strides()[d], seen[i].strides[d]);
  for (size_t i = 0; fit && i < inputs.size(); ++i) {
    const Type& formal = type_of(sub, i);
    if (sub.inputs()[i].mutated || seen[i].kind != TypeKind::tensor || !formal.is_tensor()) continue;
    if (shares_places(formal.sizes(), formal.strides())) continue;
    const Lazy lazy = lazy_of(inputs[i]);
    if (lazy.conjugate || lazy.negate || !lies_as(formal, seen[i], sizes.lookup()))
      inputs[i] = machine.placed(inputs[i], formal, sizes.lookup());
  }
  Values outputs = call.runner.run_graph(sub, inputs, {});
  std::vector<const void*> known;
  for (const RunValue& v : inputs) known.push_back(look(v).storage);
  for (RunValue& v : outputs) {
    Seen seen = look(v);
    if (seen.kind != TypeKind::tensor) continue;
    if (std::ranges::find(known, seen.storage) != known.end()) v = call.runner.machine().copied(v);
    known.push_back(look(v).storage);
  }
  return outputs;
}

Values constant(const StructuralCall& call) { return {call.runner.constant(*call.node.args[0].data)}; }

Values getitem(const StructuralCall& call) {
  const Arg& list = call.node.args[0];
  int64_t index = call.node.args[1].i;
  if (list.is_value()) return {element(call.values[list.value()], index)};
  auto all = list.value_list();
  return {call.values[all[static_cast<size_t>(index < 0 ? index + static_cast<int64_t>(all.size()) : index)]]};
}

Values restride(const StructuralCall& call) {
  const Type& type = call.graph.type(call.node.result());
  return {call.runner.machine().placed(call.values[call.node.args[0].value()], type, call.binding.lookup())};
}

Values resized_to(const StructuralCall& call) {
  const Type& type = call.graph.type(call.node.result());
  const RunValue& self = call.values[call.node.args[0].value()];
  NodeMachine& machine = call.runner.machine();
  machine.become(self, machine.placed(call.values[call.node.args[1].value()], type, call.binding.lookup()));
  return {self};
}

// Tensors of their own that lie as the types of the node's results say, whichever way they were made: by the other
// branch, or by no iteration at all. Nor does the way say how memory is read: lazily of one branch, of the other not.
Values as_declared(const StructuralCall& call, Values results, const Values& handed) {
  for (size_t i = 0; i < results.size(); ++i) {
    const Seen seen = look(results[i]);
    if (seen.kind != TypeKind::tensor) continue;
    const Type& type = call.graph.type(call.node.result(i));
    const SymValues sizes = call.binding.lookup();
    const Lazy lazy = lazy_of(results[i]);
    if (lazy.conjugate || lazy.negate || !lies_as(type, seen, sizes) ||
        std::ranges::find(handed, results[i]) != handed.end())
      results[i] = call.runner.machine().placed(results[i], type, sizes);
  }
  call.runner.machine().chosen(results);
  return results;
}

Values cond(const StructuralCall& call) {
  bool yes = call.runner.machine().truth(literal_or_value(call.node.args[0], call.values, call.binding));
  const Values handed = operands(call, 3);
  return as_declared(call, call_graph(call, subgraph(call, yes ? 1 : 2), handed), handed);
}

Values while_loop(const StructuralCall& call) {
  Values initial = operands(call, 2), carried = initial, additional = operands(call, 3);
  for (uint64_t i = 0;; ++i) {
    Values all = carried;
    all.insert(all.end(), additional.begin(), additional.end());
    if (!call.runner.machine().truth(call_graph(call, subgraph(call, 0), all)[0])) break;
    if (i == call.runner.loop_limit())
      throw Refusal{"the loop has not ended after " + std::to_string(i) + " iterations"};
    carried = call_graph(call, subgraph(call, 1), all);
  }
  return as_declared(call, std::move(carried), initial);
}

Values scan(const StructuralCall& call) {
  Values carried = operands(call, 1), xs = operands(call, 2), additional = operands(call, 3);
  size_t width = carried.size();
  int64_t steps = look(xs[0]).sizes[0];
  std::vector<Values> columns(call.node.result_count - width);
  for (int64_t i = 0; i < steps; ++i) {
    Values all = carried;
    for (const RunValue& x : xs) all.push_back(slice_at(x, i));
    all.insert(all.end(), additional.begin(), additional.end());
    Values out = call_graph(call, subgraph(call, 0), all);
    carried.assign(out.begin(), out.begin() + static_cast<ptrdiff_t>(width));
    for (size_t k = 0; k < columns.size(); ++k) columns[k].push_back(out[width + k]);
  }
  Values results = carried;
  for (size_t k = 0; k < columns.size(); ++k)
    results.push_back(
        call.runner.machine().stacked(columns[k], call.graph.type(call.node.result(width + k)), call.binding.lookup()));
  return as_declared(call, std::move(results), operands(call, 1));
}

Values make_token(const StructuralCall&) { return {nullptr}; }

Values assertion(const StructuralCall& call) {
  if (!call.runner.machine().holds(literal_or_value(call.node.args[1], call.values, call.binding)))
    throw Refusal{std::string(call.node.args[2].string())};
  return {nullptr};
}

Values print(const StructuralCall& call) {
  call.runner.print(call.node.args[1].string(), operands(call, 2));
  return {nullptr};
}

// Arithmetic and comparisons of symbolic integers, by the scalar primitive that their rows name.
Values integers(const StructuralCall& call) {
  const Type& type = call.graph.type(call.node.result());
  if (type.kind == TypeKind::sym_int && !why_no_value(type.offset, call.binding.lookup()).empty())
    throw NoValue(type.offset, call.binding.lookup());  // 64 bits don't hold it
  ScalarValue operands[2];
  for (size_t i = 0; i < 2; ++i)
    operands[i] = ScalarValue(integer_of(literal_or_value(call.node.args[i], call.values, call.binding)));
  int64_t made = evaluate(*find_scalar(call.node.op->scalar), Dtype::i64, operands).integer();
  if (call.node.op->schema.returns[0].type.kind == ParamKind::sym_int) return {number(made)};
  return {truth_value(made != 0)};
}

// What an op of Lenz's own is defined as, laid out as the graph's types say.
Values defined(const StructuralCall& call) {
  Graph scratch(call.graph.shared_context(), call.graph.ops(), "definition");
  scratch.assumptions = call.graph.assumptions;
  std::vector<ValueId> ids(call.graph.value_count(), kNone);
  Values inputs;
  SmallVec<Arg, 8> args;
  for (const Arg& a : call.node.arguments()) {
    for_each_value(a, [&](ValueId v) {
      if (ids[v] != kNone) return;
      ids[v] = scratch.add_input("x" + std::to_string(inputs.size()), &call.graph.type(v));
      inputs.push_back(call.values[v]);
    });
    args.push_back(renumbered(scratch.context(), a, ids));
  }
  scratch.set_outputs(expand(scratch, kNone, *call.node.op, args));
  Values results = call.runner.run_graph(scratch, inputs, call.binding);
  for (size_t i = 0; i < results.size(); ++i)
    results[i] = call.runner.machine().placed(results[i], call.graph.type(call.node.result(i)), call.binding.lookup());
  return results;
}

struct Entry {
  std::string_view name;
  Structural run;
};
constexpr Entry kEntries[] = {
    {"constant", constant},      // op name: this table says what Lenz's own ops do
    {"getitem", getitem},        // op name: as above
    {"restride", restride},      // op name: as above
    {"cond", cond},              // op name: as above
    {"while_loop", while_loop},  // op name: as above
    {"scan", scan},              // op name: as above
    {"make_token", make_token},  // op name: as above
    {"assert", assertion},       // op name: as above
    {"print", print},            // op name: as above
    {"resized_to", resized_to},  // op name: as above
};
}  // namespace

Structural find_structural(const OpDef& op) {
  if (op.schema.space != "lenz") return nullptr;
  for (const Entry& e : kEntries)
    if (e.name == op.schema.packet) return e.run;
  if (!op.decompose.empty()) return defined;
  return op.scalar.empty() ? nullptr : integers;
}

RunValue literal_or_value(const Arg& arg, std::span<const RunValue> values, const Binding& binding) {
  switch (arg.kind) {
    case ArgKind::value: return values[arg.value()];
    case ArgKind::integer: {
      auto known = evaluate(arg.dim(), binding.lookup());
      if (!known) throw NoValue(arg.dim(), binding.lookup());
      return number(*known);
    }
    case ArgKind::boolean: return truth_value(arg.boolean());
    case ArgKind::real: return real_number(arg.real());
    case ArgKind::value_list: {
      std::vector<RunValue> all;
      for (ValueId v : arg.value_list()) all.push_back(values[v]);
      return list_of(all);
    }
    default: return nullptr;
  }
}

}  // namespace lenz::oracle
