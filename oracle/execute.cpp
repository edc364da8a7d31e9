#include "oracle/execute.h"

#include <algorithm>

#include "compiler/base/hash.h"
#include "compiler/graph/print_literal.h"
#include "compiler/scalar/scalar.h"
#include "oracle/idle_strides.h"
#include "oracle/printed.h"
#include "oracle/structural.h"
#include "oracle/tensors.h"
#include "oracle/trusted_indices.h"

namespace lenz::oracle {

namespace {
// The bytes of storage that are alive, by storage and the number of values that hold it. Counted only where a limit is
// asked for: small graphs would take 4 % longer.
class Memory {
 public:
  explicit Memory(bool counts) : counts_(counts) {}
  void acquire(const RunValue& value) {
    if (counts_) each_storage(value, 1);
  }
  void release(const RunValue& value) {
    if (counts_) each_storage(value, -1);
  }
  uint64_t live() const { return live_; }
  uint64_t peak() const { return peak_; }

 private:
  struct HeldStorage {
    const void* storage = nullptr;
    int64_t holders = 0;
    uint64_t bytes = 0;
  };
  void each_storage(const RunValue& value, int sign) {
    if (auto one = only_storage(value)) return count(one->first, one->second, sign);
    for_each_storage(value, [&](const void* storage, uint64_t bytes) { count(storage, bytes, sign); });
  }
  void count(const void* storage, uint64_t bytes, int sign) {
    auto at = std::ranges::find(storages_, storage, &HeldStorage::storage);
    if (at == storages_.end()) at = storages_.insert(at, {storage});
    HeldStorage& held = *at;
    live_ -= held.bytes;
    held.holders += sign;
    held.bytes = held.holders > 0 ? bytes : 0;  // an op may resize it
    live_ += held.bytes;
    peak_ = std::max(peak_, live_);
    if (held.holders == 0) {
      held = storages_.back();
      storages_.pop_back();
    }
  }

  std::vector<HeldStorage>
      storages_;  // few are alive at once: looking through them takes less than a map's memory does
  bool counts_;
  uint64_t live_ = 0, peak_ = 0;
};

std::string describe(const Graph& graph, const Node& node) {
  std::string text = node.result_count ? graph.value_name(node.result()) + " = " : "";
  return text + node.op->full_name + (graph.name.empty() ? "" : " in @" + graph.name);
}
}  // namespace

RunValue NodeMachine::constant(const ConstantData& data, const std::string& folder) {
  return constant_tensor(data, folder);
}
RunValue NodeMachine::copied(const RunValue& tensor) { return detached_copy(tensor); }
RunValue NodeMachine::stacked(std::span<const RunValue> tensors, const Type& like, const SymValues& symbols) {
  return oracle::stacked(tensors, like, symbols);
}
RunValue NodeMachine::placed(const RunValue& tensor, const Type& like, const SymValues& symbols) {
  return oracle::placed(tensor, like, symbols);
}
void NodeMachine::become(const RunValue& target, const RunValue& like) { oracle::become(target, like); }
bool NodeMachine::truth(const RunValue& predicate) { return truth_of(predicate); }
bool NodeMachine::holds(const RunValue& condition) { return truth_of(condition); }

namespace {
class Eager final : public NodeMachine {
 public:
  explicit Eager(Boxed& boxed) : boxed_(boxed) {}
  void run(const Graph&, const Node& node, std::span<const RunValue> values, const SymValues& symbols,
           Outcome& outcome) override {
    const TrustedIndices looked_at;
    boxed_.run(*node.op, node.arguments(), values, symbols, outcome);
  }
  void seed(uint64_t ambient) override { boxed_.seed(ambient); }
  void within(const std::function<void()>& nodes) override { boxed_.within(nodes); }

 private:
  Boxed& boxed_;
};

// A machine's dtypes, or its device, are its own business; all else is as the graph's types say.
Seen as_claimed(const NodeMachine& machine, const Type& claimed, Seen seen) {
  if (claimed.is_tensor() && seen.kind == TypeKind::tensor) {
    if (machine.widens()) seen.dtype = claimed.dtype;
    if (machine.elsewhere()) seen.device = claimed.device;
  }
  if (claimed.kind == TypeKind::list)
    for (size_t i = 0; i < seen.elements.size() && i < claimed.elements().size(); ++i)
      seen.elements[i] = as_claimed(machine, *claimed.elements()[i], std::move(seen.elements[i]));
  return seen;
}
}  // namespace

struct Executor::Impl final : GraphRunner {
  NodeMachine& nodes;
  ExecuteOptions options;
  Memory memory;
  std::string where;  // of the innermost node that failed
  GuardedMemory* guarded = nullptr;
  bool looks_around = false;  // in it, behind each node
  std::vector<Printed> printed;

  Impl(NodeMachine& m, ExecuteOptions o) : nodes(m), options(std::move(o)), memory(options.memory_limit > 0) {}

  Seen see(const Type& claimed, const RunValue& value) const {
    return nodes.widens() || nodes.elsewhere() ? as_claimed(nodes, claimed, look(value)) : look(value);
  }

  // Whether only strides differ from the type's, and only such that no element's place depends on.
  bool matches_in_elements(Binding& binding, const Type& claimed, const RunValue& result) const {
    if (!claimed.is_tensor()) return false;
    SmallVec<int64_t, 6> strides;
    for (Dim d : claimed.strides()) strides.push_back(evaluate(d, binding.lookup()).value_or(-1));
    return binding.match(claimed, with_idle_strides(see(claimed, result), strides));
  }

  // A new result of an extern lies as the graph says, whatever its kernel does (kernels of one op differ, and what
  // PyTorch tells of them is not always what they do): compiled code lays it so too.
  bool lay_as_said(const Graph& graph, const Node& node, uint16_t i, const SymValues& symbols, Binding& binding,
                   RunValue& result) {
    const Type& claimed = graph.type(node.result(i));
    if (node.op->infer || !claimed.is_tensor() || graph.storage(node.result(i)) != node.result(i)) return false;
    Seen laid = see(claimed, result);
    if (laid.kind != TypeKind::tensor || laid.sizes.size() != claimed.rank()) return false;
    for (size_t d = 0; d < claimed.rank(); ++d)
      laid.strides[d] = evaluate(claimed.strides()[d], symbols).value_or(laid.strides[d]);
    if (!binding.match(claimed, laid)) return false;
    result = nodes.placed(result, claimed, symbols);
    return true;
  }

  // What the graph asserts of sizes that only the run knows, and is not so.
  static std::optional<Cond> contradicted(const Graph& graph, const Binding& binding) {
    const Assumptions& assumptions = graph.assumptions;
    auto fails = [&](const Cond& fact) {
      return assumptions.is_open(fact) && evaluate(fact, binding.lookup()) == false;
    };
    for (const auto& [symbol, range] : assumptions.facts().ranges()) {
      if (range.low && fails(le(*range.low, Dim(symbol)))) return le(*range.low, Dim(symbol));
      if (range.high && fails(le(Dim(symbol), *range.high))) return le(Dim(symbol), *range.high);
    }
    for (const Cond& fact : assumptions.facts().conditions())
      if (fails(fact)) return fact;
    return std::nullopt;
  }
  // Asked last: what eager refuses, it refuses in its own words.
  static void check_open_sizes(const Graph& graph, const Binding& binding, const std::string& where) {
    if (const auto fact = contradicted(graph, binding))
      throw Stop{Ending::raised, "these values contradict " + lenz::to_string(*fact), where, fact};
  }

  bool over_limit() const { return options.memory_limit && memory.live() > options.memory_limit; }
  std::string limit_text() const {
    return std::to_string(memory.live()) + " bytes are alive, the limit is " + std::to_string(options.memory_limit);
  }

  // Before eager takes it: whether what a node makes anew, by its types, has room. What may be a view makes nothing.
  void require_room(const Graph& graph, const Node& node, const Binding& binding) {
    if (!options.memory_limit || node.op->has(Trait::view) || node.op->has(Trait::maybe_view)) return;
    double more = 0;
    for (uint16_t i = 0; i < node.result_count; ++i) {
      const ValueId v = node.result(i);
      const Type& t = graph.type(v);
      if (!t.is_tensor() || graph.storage(v) != v) continue;
      auto bytes = static_cast<double>(item_size(t.dtype));
      for (Dim size : t.sizes()) bytes *= static_cast<double>(evaluate(size, binding.lookup()).value_or(0));
      more += bytes;
    }
    if (static_cast<double>(memory.live()) + more > static_cast<double>(options.memory_limit))
      stop(
          graph, node, Ending::out_of_memory,
          limit_text() + ", and this takes " + std::to_string(static_cast<uint64_t>(std::min(more, 0x1p63))) + " more");
  }

  // Throws Stop when eager raises or memory is out.
  std::vector<RunValue> run_graph(const Graph& graph, std::span<const RunValue> inputs, Binding binding) override {
    std::vector<RunValue> values(graph.value_count());
    for (size_t i = 0; i < inputs.size(); ++i) {
      ValueId v = graph.inputs()[i].value;
      values[v] = inputs[i];
      memory.acquire(inputs[i]);
      if (plainly_is(graph.type(v), inputs[i])) continue;
      Seen seen = see(graph.type(v), inputs[i]);
      if (depth_ == 0 ? binding.match(graph.type(v), seen) : binding.match_sizes(graph.type(v), seen)) continue;
      const std::string what =
          "input " + graph.value_name(v) + " is " + to_string(seen) + ", not " + lenz::to_string(graph.type(v));
      if (depth_ == 0) throw UserError(what, graph.spelled_name());
      // The graph gave it that type itself: what a call before this one wrote has another size since.
      throw Unsupported("an out= tensor that is resized where somebody else looks at it: " + what);
    }
    if (over_limit()) throw Stop{Ending::out_of_memory, limit_text(), "the inputs of @" + graph.name};
    const LastUses dying = last_uses(graph);
    const bool outermost = depth_ == 0, seen_outside = outermost && options.on_node;
    ++depth_;
    size_t position = 0;
    Outcome outcome;
    std::vector<RunValue>& results = outcome.results;
    const SymValues symbols = binding.lookup();  // of what it holds by then
    graph.for_each_node([&](NodeId id) {
      const Node& node = graph.node(id);
      run_node(graph, node, values, binding, symbols, outcome);
      if (looks_around) guarded->look_around([&] { return describe(graph, node); });
      for (uint16_t i = 0; i < results.size() && i < node.result_count; ++i) {
        RunValue& result = values[node.result(i)];
        result = seen_outside ? results[i] : std::move(results[i]);
        memory.acquire(result);
        const Type& claimed = graph.type(node.result(i));
        if (plainly_is(claimed, result)) continue;
        if (binding.match(claimed, see(claimed, result)) || !outermost || nodes.widens() || nodes.elsewhere()) continue;
        if (has_open_sizes(graph, Arg::of_value(node.result(i))) && matches_in_elements(binding, claimed, result))
          continue;
        if (lay_as_said(graph, node, i, symbols, binding, result)) continue;
        check_open_sizes(graph, binding, describe(graph, node));
        mismatches.emplace_back(node.result(i), to_string(look(result)));
      }
      if (over_limit()) stop(graph, node, Ending::out_of_memory, limit_text());
      if (seen_outside) options.on_node(id, results);
      for (ValueId v : dying.after(position++)) {
        memory.release(values[v]);
        values[v] = nullptr;
      }
    });
    check_open_sizes(graph, binding, graph.spelled_name());
    --depth_;
    std::vector<RunValue> outputs;
    for (const Arg& a : graph.outputs()) outputs.push_back(literal_or_value(a, values, binding));
    for (RunValue& v : values)
      if (v) memory.release(v);
    return outputs;
  }

  void run_node(const Graph& graph, const Node& node, std::span<const RunValue> values, const Binding& binding,
                const SymValues& symbols, Outcome& outcome) {
    try {
      run_known_node(graph, node, values, binding, symbols, outcome);
    } catch (const NoValue& overflow) {
      if (!graph.assumptions.mentions_open(overflow.size)) throw;
      stop(graph, node, Ending::raised, overflow.message(), contradicted(graph, binding));
    }
  }

  void run_known_node(const Graph& graph, const Node& node, std::span<const RunValue> values, const Binding& binding,
                      const SymValues& symbols, Outcome& outcome) {
    try {
      if (known_numbers(graph, node, symbols, outcome.results)) return;
      if (auto* structural = find_structural(*node.op)) {
        outcome.results = structural({graph, node, values, binding, *this});
        return;
      }
    } catch (const Refusal& refusal) {
      stop(graph, node, Ending::raised, refusal.text, contradicted(graph, binding));
    }
    require_room(graph, node, binding);
    nodes.run(graph, node, values, symbols, outcome);
    if (outcome.raised) {
      stop(graph, node, outcome.out_of_memory() ? Ending::out_of_memory : Ending::raised, outcome.text,
           contradicted(graph, binding));
    }
  }

  RunValue constant(const ConstantData& data) override { return nodes.constant(data, options.folder); }
  NodeMachine& machine() override { return nodes; }
  void print(std::string_view format, std::span<const RunValue> values) override {
    nodes.prints();
    if (!nodes.widens()) note_print(printed, options, format, values);
  }
  uint64_t loop_limit() const override { return options.loop_limit; }

  // Symbolic numbers whose types say what they are; false for anything else.
  static bool known_numbers(const Graph& graph, const Node& node, const SymValues& symbols,
                            std::vector<RunValue>& results) {
    results.clear();
    if (node.result_count == 0) return false;
    for (uint16_t i = 0; i < node.result_count; ++i) {
      const Type& t = graph.type(node.result(i));
      if (t.kind != TypeKind::sym_int) return false;
      auto known = evaluate(t.offset, symbols);
      if (!known) return false;
      results.push_back(number(*known));
    }
    return true;
  }

  // The values that nobody needs after a node: those of all nodes in one vector, in the nodes' order.
  struct LastUses {
    SmallVec<uint32_t, 64> begins;  // of the node at each position from 1 on, and the end of all
    SmallVec<ValueId, 64> values;
    std::span<const ValueId> after(size_t position) const {
      const uint32_t begin = begins[position + 1], end = begins[position + 2];
      return {values.data() + begin, end - begin};
    }
  };
  static LastUses last_uses(const Graph& graph) {
    constexpr uint32_t kNever = UINT32_MAX;
    SmallVec<uint32_t, 64> last(graph.value_count(), kNever);
    uint32_t nodes = 0;
    graph.for_each_node([&](NodeId id) {
      const Node& node = graph.node(id);
      for (const Arg& a : node.arguments()) for_each_value(a, [&](ValueId v) { last[v] = nodes; });
      for (uint16_t i = 0; i < node.result_count; ++i) last[node.result(i)] = nodes;
      ++nodes;
    });
    for (const Arg& a : graph.outputs()) for_each_value(a, [&](ValueId v) { last[v] = kNever; });
    for (const Input& i : graph.inputs()) last[i.value] = kNever;
    LastUses uses;
    uses.begins.resize(nodes + 2);
    for (uint32_t at : last)
      if (at != kNever) ++uses.begins[at + 1];
    for (uint32_t at = 0; at <= nodes; ++at) uses.begins[at + 1] += uses.begins[at];
    uses.values.resize(uses.begins.back());
    for (ValueId v = 0; v < last.size(); ++v)  // from behind: what is a node's end becomes its beginning
      if (last[v] != kNever) uses.values[--uses.begins[last[v] + 1]] = v;
    return uses;
  }

  [[noreturn]] void stop(const Graph& graph, const Node& node, Ending ending, std::string text,
                         std::optional<Cond> fact = {}) {
    throw Stop{ending, std::move(text), describe(graph, node), fact};
  }

  struct Stop {
    Ending ending;
    std::string text, where;
    std::optional<Cond> contradicted = {};
  };
  std::vector<std::pair<ValueId, std::string>> mismatches;  // results that are not what the graph's types say

  // `looks`: who damages what is guarded is told with the damage.
  static Execution whole(NodeMachine& machine, const ExecuteOptions& options, const Graph& graph,
                         std::span<const RunValue> inputs, const Binding& binding, bool looks);

 private:
  int depth_ = 0;
};

Executor::Executor(Boxed& boxed, ExecuteOptions options)
    : own_(std::make_unique<Eager>(boxed)), machine_(*own_), options_(std::move(options)) {}
Executor::Executor(NodeMachine& machine, ExecuteOptions options) : machine_(machine), options_(std::move(options)) {}
Executor::~Executor() = default;

Execution Executor::Impl::whole(NodeMachine& machine, const ExecuteOptions& options, const Graph& graph,
                                std::span<const RunValue> inputs, const Binding& binding, bool looks) {
  Execution e;
  e.inputs.assign(inputs.begin(), inputs.end());
  Impl run(machine, options);
  std::optional<GuardedMemory> guarded;
  if (options.guard) {
    guarded.emplace();
    e.inputs = guarded->guard(graph, inputs);
    run.guarded = &*guarded;
    run.looks_around = looks;
  }
  machine.seed(options.ambient_seed);
  try {
    machine.within([&] { e.outputs = run.run_graph(graph, e.inputs, binding); });
  } catch (const Impl::Stop& stop) {
    e.ending = stop.ending;
    e.text = stop.text;
    e.where = stop.where;
    e.contradicted = stop.contradicted;
  }
  if (!run.mismatches.empty()) {
    const auto& [value, seen] = run.mismatches[0];
    const std::string what = "the graph says that " + graph.value_name(value) + " is " +
                             lenz::to_string(graph.type(value)) + ", eager gives " + seen;
    const NodeId producer = graph.value(value).producer;
    if (producer != kNone && !graph.node(producer).op->infer)
      throw UserError(what, {}, "the types of an extern's results are the graph's word: annotate them so");
    throw InternalError(what);
  }
  e.printed = std::move(run.printed);
  e.peak_memory = run.memory.peak();
  if (guarded) e.damage = guarded->damage();
  return e;
}

Execution Executor::run(const Graph& graph, std::span<const RunValue> inputs, const Binding& binding) {
  LENZ_CHECK(inputs.size() == graph.inputs().size(), "one value per input");
  Execution e = Impl::whole(machine_, options_, graph, inputs, binding, false);
  if (e.damage.empty()) return e;
  // Looking behind each node costs as much as small nodes do: asked only where the end shows damage.
  ExecuteOptions silent = options_;
  silent.on_node = {};
  std::vector<Damage> seen = Impl::whole(machine_, silent, graph, inputs, binding, true).damage;
  if (!seen.empty()) e.damage = std::move(seen);
  return e;
}

std::unique_ptr<Graph> with_initial_values(const Graph& graph, uint64_t seed) {
  auto seeded = graph.clone();
  for (size_t i = 0; i < seeded->inputs().size(); ++i) {
    Initialiser& init = seeded->input(i).init;
    const Type& type = seeded->type(seeded->inputs()[i].value);
    const bool truth = type.kind == TypeKind::sym_bool;
    if (init.kind == Initialiser::none && (type.is_tensor() || truth || type.kind == TypeKind::sym_float)) {
      const Dtype dtype = truth ? Dtype::b8 : type.is_tensor() ? type.dtype : Dtype::f64;
      init.kind = Initialiser::uniform;
      init.low = -4;
      init.high = 4;
      if (is_integral(dtype, true)) {
        init.kind = Initialiser::integers;
        init.low = dtype == Dtype::b8 || dtype == Dtype::u8 ? 0 : -4;
        init.high = dtype == Dtype::b8 ? 1 : 4;
      }
      init.seed = combine(seed, i);
    } else if (seed) {
      init.seed = combine(init.seed, seed);
    }
  }
  return seeded;
}

std::vector<RunValue> initial_inputs(const Graph& graph, Boxed& boxed, const Binding& binding, uint64_t seed,
                                     const Filled& filled) {
  for (const Input& input : graph.inputs())
    if (const Type& t = graph.type(input.value); t.is_tensor() && t.device.kind != boxed.device()) {
      std::string name;  // in one line, whatever is in it
      append_name(name, '%', graph.value_name(input.value).substr(1));
      throw Unsupported("input " + name + " is on " + lenz::to_string(t.device) + ", and eager runs on the CPU here");
    }
  const std::unique_ptr<Graph> seeded = with_initial_values(graph, seed);
  for (size_t i = 0; filled && i < seeded->inputs().size(); ++i)
    if (filled(i)) seeded->input(i).init.kind = Initialiser::zeros;
  std::vector<RunValue> by_value = boxed.inputs(*seeded, binding.lookup());
  std::vector<RunValue> inputs;
  for (const Input& input : seeded->inputs()) inputs.push_back(by_value[input.value]);
  return inputs;
}

}  // namespace lenz::oracle
