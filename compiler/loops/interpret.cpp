#include "compiler/loops/interpret.h"

#include <algorithm>
#include <cmath>
#include <new>
#include <unordered_map>

#include "compiler/loops/run_state.h"
#include "compiler/loops/take_inputs.h"
#include "compiler/loops/uses.h"

namespace lenz::loops {

namespace {

struct Endless {
  std::string text;
};

class Interpreter {
 public:
  Interpreter(const Program& program, const InterpretOptions& options)
      : program_(program), options_(options), symbols_(program.assumptions), memory_(program, symbols_, options) {
    for_each_node(program.body, [&](const Node& node) {
      const auto* nest = std::get_if<Nest>(&node.is);
      if (nest == nullptr) return;
      nest_numbers_[nest] = results_.nests.size();
      results_.nests.push_back({nest->name, 0, {}});
    });
    find_last_uses();
  }

  Results run(std::span<const InputValue> inputs) {
    take_inputs(program_, inputs, symbols_, [&](BufferId id, const Tensor& tensor) { memory_.put(id, tensor); });
    try {
      for (size_t i = 0; i < program_.body.nodes.size(); ++i) {
        std::visit([&](const auto& n) { run(n); }, program_.body.nodes[i].is);
        for (BufferId id : dying_[i]) memory_.release(id);
      }
      for (const Output& output : program_.outputs) results_.outputs.push_back(shown(output));
    } catch (const UserError& e) {
      end(Ending::raised, e.what());
    } catch (const OutOfMemory& e) {
      end(Ending::out_of_memory, e.text);
    } catch (const std::bad_alloc&) {
      end(Ending::out_of_memory, "the machine has no more memory");
    } catch (const Endless& e) {
      end(Ending::endless, e.text);
    }
    for (const NestCounters& nest : results_.nests) results_.counters += nest.counters;
    return std::move(results_);
  }

 private:
  // For each node of the outermost block, the temporaries that nobody needs after it.
  void find_last_uses() {
    const auto& nodes = program_.body.nodes;
    std::vector<size_t> last(program_.buffers.size(), SIZE_MAX);
    auto owner = [&](BufferId id) {
      const Buffer& b = memory_.buffer(id);
      return b.view_of == kNone ? id : b.view_of;
    };
    for (size_t i = 0; i < nodes.size(); ++i) for_each_buffer(nodes[i], [&](BufferId id) { last[owner(id)] = i; });
    for_each_output_buffer(program_, [&](BufferId id) { last[owner(id)] = SIZE_MAX; });
    dying_.resize(nodes.size());
    for (BufferId id = 0; id < last.size(); ++id)
      if (last[id] != SIZE_MAX && memory_.buffer(id).kind == BufferKind::temporary) dying_[last[id]].push_back(id);
  }

  void end(Ending ending, std::string text) {
    results_.ending = ending;
    results_.text = std::move(text);
    results_.outputs.clear();
  }

  // --- nodes

  void run(const Block& block) {
    for (const Node& node : block.nodes) std::visit([&](const auto& n) { run(n); }, node.is);
  }

  void run(const Nest& nest) {
    NestCounters& counters = results_.nests[nest_numbers_.at(&nest)];
    ++counters.runs;
    const std::string what = "nest '" + nest.name + "'";
    try {
      run_nest(nest, program_, memory_, symbols_, options_.ambient, ++runs_, counters.counters);
    } catch (const UserError& e) {
      throw UserError(e.message(), what + from(nest.origin));
    } catch (const InternalError& e) {
      throw InternalError(what + from(nest.origin) + ": " + e.what());
    }
  }

  // The graph's nodes that something comes from, for messages.
  std::string from(uint32_t origin) const {
    std::string names;
    for (NameId name : program_.context->origin_names(origin))
      names += (names.empty() ? " from %" : ", %") + std::string(program_.context->name(name));
    return names;
  }

  // Lines along the dim, one after another: positions in order of their keys.
  void run(const Sort& sort) {
    const Tensor keys = memory_.whole(sort.keys, "a sort");
    std::optional<Window> values, indices;
    if (sort.values != kNone) values = memory_.writable(sort.values);
    if (sort.indices != kNone) indices = memory_.writable(sort.indices);
    if (keys.numel() == 0) return;
    Ints heads = keys.sizes();
    if (keys.rank() > 0) heads[sort.dim] = 1;
    const Tensor lines = keys.view(heads, keys.strides(), keys.offset());
    const int64_t length = keys.numel() / lines.numel();
    for (int64_t line = 0; line < lines.numel(); ++line) {
      Ints at = lines.coordinates(line);
      auto move_to = [&](int64_t i) -> const Ints& {
        if (!at.empty()) at[sort.dim] = i;
        return at;
      };
      std::vector<std::pair<ScalarValue, int64_t>> items;
      for (int64_t i = 0; i < length; ++i) items.emplace_back(keys.get(move_to(i)), i);
      std::ranges::stable_sort(items, [&](const auto& a, const auto& b) {
        return sort.descending ? before(b.first, a.first) : before(a.first, b.first);
      });
      auto room = [&](const std::optional<Window>& to) {
        return !to ? 0 : at.empty() ? 1 : to->tensor.sizes()[sort.dim];
      };
      const int64_t values_room = room(values), indices_room = room(indices);
      const int64_t shown = sort.places.empty() ? length : std::ssize(sort.places);
      for (int64_t i = 0; i < shown; ++i) {
        const int64_t place = sort.places.empty() ? i : symbols_.value(sort.places[static_cast<size_t>(i)]);
        const auto& [key, from] = items.at(static_cast<size_t>(place));
        if (i < values_room) write(*values, move_to(i), key);
        if (i < indices_room) write(*indices, move_to(i), ScalarValue(from));
      }
    }
  }
  static bool before(const ScalarValue& a, const ScalarValue& b) {
    if (a.kind() == ScalarKind::integer) return a.integer() < b.integer();
    return std::isnan(b.real()) ? !std::isnan(a.real()) : a.real() < b.real();
  }
  static void write(Window& window, const Ints& at, const ScalarValue& value) {
    window.tensor.set(at, value);
    window.stamp(window.tensor.address(at)) = kWrittenBefore;
  }

  // Open symbols in the sizes of its results are bound by them.
  void run(const Extern& node) {
    const std::string op = node.op->full_name;
    if (!options_.run_extern) throw Unsupported("nobody runs the extern op " + op);
    const ExternCall call{node, [&](BufferId id) { return memory_.whole(id, op); },
                          [&](Dim dim) { return symbols_.value(dim); }};
    std::vector<Tensor> made = options_.run_extern(call);
    LENZ_CHECK(made.size() == node.results.size(), "extern op " + op + " gave another number of results");
    symbols_.unbind_all(&node);
    for (size_t i = 0; i < made.size(); ++i) {
      if (node.results[i] == kNone) continue;
      const TensorType& type = memory_.buffer(node.results[i]).type;
      if (made[i]) symbols_.take_sizes(type.sizes, made[i].sizes(), &node);
      memory_.put(node.results[i], std::move(made[i]));
    }
  }

  void run(const Bind& bind) { symbols_.take_made(bind.symbol, memory_.scalar(bind.from).integer(), &bind); }

  void run(const Check& check) {
    std::optional<bool> holds;
    if (check.cond) holds = evaluate(*check.cond, [&](const SymNode* s) { return symbols_.find(s); });
    if (check.holds != kNone) holds = memory_.scalar(check.holds).integer() != 0 && holds.value_or(true);
    LENZ_CHECK(holds.has_value(), "a check has a condition that can be told");
    if (!*holds) throw UserError(check.message, "a check" + from(check.origin));
  }

  void run(const Print& print) {
    std::vector<Tensor> values;
    for (BufferId id : print.values) values.push_back(memory_.whole(id, "a print"));
    if (options_.print) options_.print(print, values);
  }

  void run(const If& branch) {
    run(memory_.scalar(branch.condition).integer() != 0 ? *branch.then : *branch.otherwise);
  }

  void run(const While& loop) {
    const size_t mark = symbols_.mark();
    for (uint64_t round = 0;; ++round) {
      symbols_.unwind(mark);
      run(*loop.test);
      if (memory_.scalar(loop.condition).integer() == 0) return;
      if (round == options_.while_limit)
        throw Endless{"a while ran more than " + std::to_string(options_.while_limit) + " rounds"};
      run(*loop.body);
    }
  }

  void run(const Repeat& loop) {
    const int64_t count = symbols_.value(loop.count);
    const size_t mark = symbols_.mark();
    for (int64_t i = 0; i < count; ++i) {
      symbols_.unwind(mark);
      symbols_.bind(loop.symbol, i, &loop);
      run(*loop.body);
    }
    symbols_.unbind_all(&loop);
  }

  // Somebody else runs it, on the same buffers.
  bool run_elsewhere(const Kernel& kernel) {
    if (!options_.run_kernel) return false;
    std::vector<BufferId> stored;
    for (const Node& node : kernel.body->nodes)
      for (const Store& s : std::get<Nest>(node.is).stores)
        if (!program_.buffers[s.buffer].local) stored.push_back(s.buffer);
    KernelCall call{kernel,
                    [&](BufferId id) {
                      const bool written = std::ranges::find(stored, id) != stored.end();
                      return (written ? memory_.writable(id) : memory_.readable(id)).tensor;
                    },
                    [&](Dim dim) { return symbols_.value(dim); },
                    [&](uint32_t number) {
                      const Stream& s = program_.streams.at(number);
                      const auto offset = static_cast<uint64_t>(symbols_.value(s.offset));
                      return s.seed ? RandomStream{*s.seed, offset}
                                    : RandomStream{options_.ambient.seed, options_.ambient.offset + offset};
                    }};
    if (!options_.run_kernel(call)) return false;
    for (BufferId id : stored) memory_.trust(id);
    return true;
  }

  void run(const Kernel& kernel) {
    if (run_elsewhere(kernel)) return;
    std::vector<BufferId> locals;
    for (BufferId id = 0; id < program_.buffers.size(); ++id)
      if (program_.buffers[id].local) locals.push_back(id);
    walk(kernel, 0, locals);
    symbols_.unbind_all(&kernel);
  }

  void walk(const Kernel& kernel, size_t depth, const std::vector<BufferId>& locals) {
    if (depth == kernel.axes.size()) {
      for (BufferId id : locals) memory_.forget(id);
      return run(*kernel.body);
    }
    const Axis& axis = kernel.axes[depth];
    const int64_t count = symbols_.value(axis.extent);
    for (int64_t i = 0; i < count; ++i) {
      symbols_.bind(axis.symbol, i, &kernel);
      walk(kernel, depth + 1, locals);
    }
  }

  // --- outputs

  OutputValue shown(const Output& output) {
    OutputValue value;
    value.kind = output.kind;
    switch (output.kind) {
      case Output::tensor: {
        Ints sizes, strides;
        for (Dim d : output.type.sizes) sizes.push_back(symbols_.value(d));
        for (Dim d : output.type.strides) strides.push_back(symbols_.value(d));
        value.tensor = Tensor(memory_.readable(output.buffer).tensor.storage(), output.type.dtype, sizes, strides,
                              symbols_.value(output.type.offset));
        break;
      }
      case Output::number: value.tensor = memory_.whole(output.buffer, "an output"); break;
      case Output::integer: value.integer = symbols_.value(output.value); break;
      case Output::literal: value.literal = output.literal_value; break;
      case Output::list:
        for (const Output& element : output.elements) value.elements.push_back(shown(element));
        break;
      case Output::none: break;
    }
    return value;
  }

  const Program& program_;
  const InterpretOptions& options_;
  Symbols symbols_;
  Memory memory_;
  Results results_;
  std::unordered_map<const Nest*, size_t> nest_numbers_;
  std::vector<std::vector<BufferId>> dying_;
  uint32_t runs_ = kWrittenBefore;
};

}  // namespace

Counters& Counters::operator+=(const Counters& o) {
  points += o.points;
  loads += o.loads;
  stores += o.stores;
  operations += o.operations;
  flops += o.flops;
  bytes += o.bytes;
  return *this;
}

Results interpret(const Program& program, std::span<const InputValue> inputs, const InterpretOptions& options) {
  return Interpreter(program, options).run(inputs);
}

}  // namespace lenz::loops
