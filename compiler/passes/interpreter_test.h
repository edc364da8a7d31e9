// A slow, obvious interpreter of the graphs that random_graph_test.h makes: elementwise ops by the scalar table, views
// by their types alone, copies, fills, writes. What it answers is compared before and after a pass. Symbols have the
// values that type rules decided by. Thread-safety: one per thread.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compiler/base/hash.h"
#include "compiler/graph/alias.h"
#include "compiler/graph/try_infer.h"
#include "compiler/scalar/rounding.h"
#include "compiler/scalar/scalar.h"

namespace lenz::test {

// What the caller of a graph sees.
struct Seen {
  std::vector<std::string> types;                // of the outputs
  std::vector<std::vector<ScalarBits>> outputs;  // elements, in order of their indices
  std::vector<std::vector<ScalarBits>> inputs;   // the same, afterwards
  std::vector<size_t> shares;                    // of inputs, then outputs: the first one with the same memory
  friend bool operator==(const Seen&, const Seen&) = default;
};

class Interpreter {
 public:
  Interpreter(const Graph& graph, uint64_t seed) : graph_(graph), seed_(seed) {}

  Seen run() {
    allocate();
    graph_.for_each_node([&](NodeId id) { execute(graph_.node(id)); });
    Seen seen;
    std::vector<ValueId> roots;
    auto add_root = [&](ValueId v) {
      roots.push_back(root(v));
      seen.shares.push_back(static_cast<size_t>(std::ranges::find(roots, roots.back()) - roots.begin()));
    };
    for (const Input& i : graph_.inputs()) {
      seen.inputs.push_back(bits(i.value));
      add_root(i.value);
    }
    for (const Arg& a : graph_.outputs()) {
      seen.types.push_back(to_string(graph_.type(a.value())));
      seen.outputs.push_back(bits(a.value()));
      add_root(a.value());
    }
    return seen;
  }

 private:
  using Elements = std::vector<ScalarValue>;

  ValueId root(ValueId v) const {  // inputs of one alias class are one memory
    ValueId storage = graph_.storage(v);
    if (graph_.value(storage).producer != kNone) return storage;
    for (const Input& i : graph_.inputs())
      if (i.alias && i.alias == graph_.inputs()[graph_.value(storage).index].alias) return i.value;
    return storage;
  }
  int64_t at(Dim d) const { return d.is_constant() ? d.constant() : *graph_.assumptions.known().hint(d); }

  int64_t count_of(std::span<const Dim> sizes) const {
    int64_t count = 1;
    for (Dim d : sizes) count *= at(d);
    return count;
  }

  // Memory as large as any view of it needs; an input's elements follow from its position alone.
  void allocate() {
    for (ValueId v = 0; v < graph_.value_count(); ++v) {
      const Type& t = graph_.type(v);
      if (!t.is_tensor()) continue;
      int64_t extent = at(t.offset) + 1;
      for (size_t i = 0; i < t.rank(); ++i)
        extent += std::max<int64_t>(at(t.sizes()[i]) - 1, 0) * std::max<int64_t>(at(t.strides()[i]), 0);
      Elements& memory = memory_[root(v)];
      if (static_cast<int64_t>(memory.size()) < extent) memory.resize(static_cast<size_t>(extent));
    }
    for (const Input& input : graph_.inputs()) {
      Elements& memory = memory_[root(input.value)];
      Dtype d = graph_.type(input.value).dtype;
      for (size_t k = 0; k < memory.size(); ++k)
        memory[k] = element(d, mix(seed_ ^ mix(graph_.value(input.value).index * 1000 + k)));
    }
  }

  static ScalarValue element(Dtype d, uint64_t r) {
    if (d == Dtype::b8) return ScalarValue(static_cast<int64_t>(r & 1));
    if (is_integral(d, false)) {
      constexpr int64_t special[] = {0, 1, -1, 127, -128, 2};
      int64_t v = r % 3 ? static_cast<int64_t>(r >> 8) % 100 : special[(r >> 8) % std::size(special)];
      return ScalarValue(wrap_to(d, v));
    }
    const double special[] = {0.0, -0.0, 1.0, -1.0, std::nan(""), HUGE_VAL, -HUGE_VAL, 0.5};
    if (r % 2) return ScalarValue(special[(r >> 8) % std::size(special)]);
    return ScalarValue(round_to(d, (static_cast<double>((r >> 8) % 2000) - 1000) / 64));
  }

  // Calls visit(k, address) for the k-th element of a tensor, in order of indices.
  template <class F>
  void walk(const Type& t, std::span<const Dim> sizes, F&& visit) const {
    int64_t count = count_of(sizes);
    size_t lead = sizes.size() - t.rank();  // broadcast: sizes are those of a result
    for (int64_t k = 0; k < count; ++k) {
      int64_t rest = k, address = at(t.offset);
      for (size_t i = sizes.size(); i-- > 0;) {
        int64_t index = rest % at(sizes[i]);
        rest /= at(sizes[i]);
        if (i >= lead && at(t.sizes()[i - lead]) != 1) address += index * at(t.strides()[i - lead]);
      }
      visit(static_cast<size_t>(k), static_cast<size_t>(address));
    }
  }

  Elements read(ValueId v, std::span<const Dim> sizes) {
    Elements all;
    const Elements& memory = memory_.at(root(v));
    walk(graph_.type(v), sizes, [&](size_t, size_t address) { all.push_back(memory[address]); });
    return all;
  }
  void write(ValueId v, const Elements& elements, Dtype from) {
    const Type& t = graph_.type(v);
    Elements& memory = memory_.at(root(v));
    walk(t, t.sizes(), [&](size_t k, size_t address) { memory[address] = converted(elements[k], from, t.dtype); });
  }

  std::vector<ScalarBits> bits(ValueId v) {
    std::vector<ScalarBits> all;
    const Type& t = graph_.type(v);
    for (const ScalarValue& e : read(v, t.sizes())) {
      bool nan = e.kind() == ScalarKind::real && std::isnan(e.real());  // one NaN is as good as another
      all.push_back(to_bits(t.dtype, nan ? ScalarValue(std::nan("")) : e));
    }
    return all;
  }

  static ScalarValue converted(const ScalarValue& v, Dtype from, Dtype to) {
    if (from == to) return is_floating(to) ? ScalarValue(round_to(to, v.real())) : v;
    ScalarValue made = evaluate(*find_scalar("to_dtype"), from, {&v, 1}, to);
    return made.kind() == ScalarKind::real ? ScalarValue(round_to(to, made.real())) : made;
  }
  static ScalarValue number(const Arg& a, Dtype as) {
    if (a.kind == ArgKind::real) return converted(ScalarValue(a.real()), Dtype::f64, as);
    return converted(ScalarValue(a.i), a.kind == ArgKind::boolean ? Dtype::b8 : Dtype::i64, as);
  }

  void execute(const Node& node) {
    ValueId result = node.result();
    const Type& type = graph_.type(result);
    const OpDef& op = *node.op;
    if (is_geometry_view(graph_, node)) return;
    if (!op.fills.empty()) {
      int param = op.schema.find(op.fills);
      Arg fill = param >= 0 ? node.args[param] : Arg::of_int(op.fills == "1");
      write(result, Elements(static_cast<size_t>(count_of(type.sizes())), number(fill, type.dtype)), type.dtype);
    } else if (op.schema.packet == "copy" || op.schema.packet == "copy_") {
      write(result, read(node.args[1].value(), type.sizes()), graph_.type(node.args[1].value()).dtype);
    } else if (const ScalarRow* row = op.scalar.empty() ? nullptr : find_scalar(op.scalar)) {
      pointwise(node, *row);
    } else if (op.schema.packet == "expand_copy") {
      write(result, read(node.args[0].value(), type.sizes()), graph_.type(node.args[0].value()).dtype);
    } else if (op.schema.packet == "cat") {
      join(node);
    } else if (op.schema.packet.ends_with("_scatter")) {
      scatter(node, op.schema.packet.substr(0, op.schema.packet.find("_scatter")));
    } else {
      // A copy, or a reshape that could not be a view: the operand's elements in order.
      LENZ_CHECK(!op.copies.empty() || op.has(Trait::maybe_view),
                 "the tests' interpreter does not know " + op.full_name);
      const Type& from = graph_.type(node.args[0].value());
      write(result, read(node.args[0].value(), from.sizes()), from.dtype);
    }
  }

  // A copy of the first operand, in the part of which that such a view of it would be lies the second.
  void scatter(const Node& node, const std::string& view) {
    ValueId result = node.result();
    const Type& whole = graph_.type(node.args[0].value());
    write(result, read(node.args[0].value(), whole.sizes()), whole.dtype);
    const auto& candidates = graph_.ops().packet("aten." + view);
    SmallVec<Arg, 8> args{Arg::of_value(result)};
    args.append(node.args + 2, node.args + node.arg_count);
    auto part = try_infer(const_cast<Graph&>(graph_), *candidates[0], args);
    const Type& place = *(*part)[0].type;
    const Type& source = graph_.type(node.args[1].value());
    Elements elements = read(node.args[1].value(), place.sizes());
    walk(place, place.sizes(), [&](size_t k, size_t address) {
      memory_.at(root(result))[address] = converted(elements[k], source.dtype, place.dtype);
    });
  }

  void join(const Node& node) {
    const Type& type = graph_.type(node.result());
    int64_t begin = 0, rank = static_cast<int64_t>(type.rank());
    auto dim = static_cast<size_t>(node.args[1].i < 0 ? node.args[1].i + rank : node.args[1].i);
    for (ValueId v : node.args[0].value_list()) {
      const Type& part = graph_.type(v);
      if (count_of(part.sizes()) == 0) continue;  // an empty vector may stand beside tensors of any rank
      TensorType place = type.tensor();
      place.sizes = DimVec(part.sizes());
      place.offset = at(place.offset) + begin * at(place.strides[dim]);
      Elements elements = read(v, part.sizes());
      walk(*graph_.context().tensor(place), place.sizes, [&](size_t k, size_t address) {
        memory_.at(root(node.result()))[address] = converted(elements[k], part.dtype, type.dtype);
      });
      begin += at(part.sizes()[dim]);
    }
  }

  // Operands are of one category: the compute dtype is the widest tensor's; a bool computes as the result does.
  void pointwise(const Node& node, const ScalarRow& row) {
    ValueId result = node.result();
    const Type& type = graph_.type(result);
    Dtype compute = type.dtype;
    if (row.result == ResultRule::boolean || row.operands == OperandRule::condition_first) {
      std::optional<Dtype> widest;
      for (int i = row.operands == OperandRule::condition_first ? 1 : 0; i < row.arity; ++i)
        if (node.args[i].is_value()) {
          Dtype d = graph_.type(node.args[i].value()).dtype;
          widest = widest ? *promote(*widest, d) : d;
        }
      compute = *widest;
    }
    size_t count = static_cast<size_t>(count_of(type.sizes()));
    std::vector<Elements> operands;
    for (int i = 0; i < row.arity; ++i) {
      Dtype wanted = operand_dtype(row, compute, i);
      Elements elements;
      if (node.args[i].is_value()) {
        Dtype from = graph_.type(node.args[i].value()).dtype;
        for (const ScalarValue& e : read(node.args[i].value(), type.sizes()))
          elements.push_back(converted(e, from, wanted));
      } else {
        elements.assign(count, number(node.args[i], wanted));
      }
      operands.push_back(std::move(elements));
    }
    if (int alpha = node.op->schema.find("alpha"); alpha >= 0)
      for (ScalarValue& e : operands[1]) e = apply("mul", compute, {e, number(node.args[alpha], compute)});
    Elements all;
    for (size_t k = 0; k < count; ++k) {
      std::vector<ScalarValue> at;
      for (const Elements& o : operands) at.push_back(o[k]);
      if (node.op->has(Trait::commutative)) order_zeros(at);
      all.push_back(rounded(result_dtype(row, compute), evaluate(row, compute, at)));
    }
    write(result, all, result_dtype(row, compute));
  }
  // Of two zeros, eager's minimum and maximum take one or the other, as the vector's width falls: either is right.
  static void order_zeros(std::vector<ScalarValue>& operands) {
    auto zero = [](const ScalarValue& v) { return v.kind() == ScalarKind::real && v.real() == 0; };
    if (zero(operands[0]) && zero(operands[1]) && std::signbit(operands[1].real())) std::swap(operands[0], operands[1]);
  }
  static ScalarValue apply(std::string_view row, Dtype compute, std::initializer_list<ScalarValue> operands) {
    return rounded(compute, evaluate(*find_scalar(row), compute, {operands.begin(), operands.size()}));
  }
  static ScalarValue rounded(Dtype dtype, const ScalarValue& v) {
    return v.kind() == ScalarKind::real ? ScalarValue(round_to(dtype, v.real())) : v;
  }

  const Graph& graph_;
  uint64_t seed_;
  std::map<ValueId, Elements> memory_;
};

}  // namespace lenz::test
