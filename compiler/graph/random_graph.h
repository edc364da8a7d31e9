// Random graphs over the test table: every kind of argument, literal, type, name and clause that text can say.
// Thread-safety: one chooser per thread.
#pragma once

#include <bit>
#include <cmath>
#include <set>

#include "compiler/base/chooser.h"
#include "compiler/graph/test_ops.h"

namespace lenz::test {

class RandomGraph {
 public:
  RandomGraph(Chooser& choose, std::shared_ptr<Context> context, int depth)
      : c_(choose), context_(std::move(context)), depth_(depth) {}

  std::unique_ptr<Graph> make(std::string name) {
    graph_ = std::make_unique<Graph>(context_, table(), std::move(name));
    inputs();
    facts();
    size_t nodes = c_.below(12);
    for (size_t i = 0; i < nodes; ++i) node();
    return std::move(graph_);
  }

  const std::vector<ValueId>& tensors() const { return tensors_; }

 private:
  ValueId named(ValueId v, bool graph_input = false) {
    constexpr std::string_view names[] = {"",         "x",        "y_1", "layer.0.weight", "12", "two words",
                                          "\x01\"\\", "\xc3\xa9", "\xff"};
    if (c_.below(3) == 0 && !graph_input) return v;
    std::string name(names[c_.below(std::size(names))]);
    if (!name.empty() && !taken_.insert(name).second) name += "_" + std::to_string(v);
    if (!name.empty()) graph_->set_name(v, context_->intern(name));
    return v;
  }

  Dim dim() {
    Dim s = context_->syms.symbol("s" + std::to_string(c_.below(3)));
    switch (c_.below(12)) {
      case 7: return s;
      case 8: s *= c_.between(2, 4); return s + c_.between(0, 3);
      case 9: return floor_div(s + 1, 2);
      case 10: return max(s, context_->syms.symbol("s2")) * s;
      case 11: return mod(s, 4) + call(SymFn::floor_scale, s, 1.5);
      default: return c_.between(0, 5);
    }
  }

  const Type* tensor_type() {
    TensorType t;
    t.dtype = static_cast<Dtype>(c_.below(kDtypeCount));
    size_t rank = c_.below(4);
    for (size_t i = 0; i < rank; ++i)
      t.sizes.push_back(c_.below(4) ? Dim(c_.between(0, 5)) : context_->syms.symbol("s" + std::to_string(c_.below(3))));
    t.strides = contiguous_strides(t.sizes);
    if (c_.below(4) == 0) {
      for (Dim& s : t.strides) s = Dim(c_.between(0, 9));
      t.offset = c_.between(0, 9);
    }
    if (c_.below(6) == 0) t.device = {DeviceKind::cuda, static_cast<int8_t>(c_.between(-1, 7))};
    return context_->tensor(t);
  }

  void inputs() {
    // Three vectors bind the symbols.
    for (int i = 0; i < 3; ++i) {
      DimVec sizes{context_->syms.symbol("s" + std::to_string(i))};
      tensors_.push_back(named(graph_->add_input("", context_->tensor(contiguous_tensor(Dtype::f32, sizes))), true));
    }
    size_t count = c_.below(4);
    for (size_t i = 0; i < count; ++i) {
      tensors_.push_back(named(graph_->add_input("", tensor_type()), true));
      Input& input = graph_->input(graph_->inputs().size() - 1);
      input.mutated = c_.flip();
      const Dtype dtype = graph_->type(input.value).dtype;
      input.requires_grad = is_inexact(dtype) && c_.flip();
      if (c_.flip()) input.alias = context_->intern(c_.flip() ? "a" : "other class");
      // One alias class is one device.
      if (input.alias && !(graph_->type(input.value).device == Device{})) input.alias.reset();
      if (c_.flip()) {
        input.init.kind = static_cast<Initialiser::Kind>(c_.below(7));
        initialise(input.init, dtype);
        input.init.seed = c_.below(UINT64_MAX);
      }
    }
    ints_.push_back(graph_->add_input("n", context_->sym_int(context_->syms.symbol("n"))));
    if (c_.flip()) graph_->add_input("f", context_->simple(TypeKind::sym_float));
    if (c_.flip()) graph_->add_input("none_", context_->simple(TypeKind::none));
    predicate_ = graph_->add_input("p", context_->simple(TypeKind::sym_bool));
    const Type* list[] = {tensor_type(), nullptr};
    list[1] = list[0];
    lists_.push_back(graph_->add_input("l", context_->list(list)));
  }

  // What the dtype has, as the verifier asks.
  void initialise(Initialiser& init, Dtype dtype) {
    const bool drawn = init.kind == Initialiser::uniform || init.kind == Initialiser::normal;
    if (init.kind == Initialiser::permutation && !is_integral(dtype, false)) init.kind = Initialiser::zeros;
    if (init.kind == Initialiser::integers || (drawn && is_integral(dtype, true)))
      init = {Initialiser::integers, 0, 1, 0, c_.flip()};
    if (!drawn || init.kind == Initialiser::integers) return;
    init.low = -static_cast<double>(c_.below(100));
    init.high = static_cast<double>(c_.below(100)) / 8;
  }

  void facts() {
    Facts& facts = graph_->assumptions.facts();
    Dim s0 = context_->syms.symbol("s0"), s1 = context_->syms.symbol("s1");
    if (c_.flip())
      facts.set_range(s0.node(), {c_.between(0, 3), c_.flip() ? std::optional<int64_t>(4096) : std::nullopt});
    if (c_.flip()) facts.add(divisible(s0, 8));
    if (c_.flip()) facts.add(le(s0, s1 * 2));
    if (c_.flip()) facts.add(eq(context_->syms.symbol("s2"), s0 + s1));
  }

  double real() {
    constexpr double values[] = {0.0,         -0.0, 1.0,      0.5,       -3.25,   1e300, 5e-324, 0.1,
                                 123456789.0, 1e20, HUGE_VAL, -HUGE_VAL, 1.0 / 3, 1e21,  2.5e-8};
    size_t i = c_.below(std::size(values) + 3);
    if (i < std::size(values)) return values[i];
    if (i == std::size(values)) return std::nan("");
    if (i == std::size(values) + 1) return std::bit_cast<double>(0xFFF0000000000123ull);
    return std::bit_cast<double>(c_.below(UINT64_MAX));
  }

  int64_t integer() {
    constexpr int64_t values[] = {0, 1, -1, 7, INT64_MAX, INT64_MIN, 1000000};
    return c_.pick(values);
  }

  std::string text() {
    std::string out;
    size_t length = c_.below(6);
    for (size_t i = 0; i < length; ++i) out += static_cast<char>(c_.below(256));
    return out;
  }

  ValueId tensor() { return c_.pick(tensors_); }
  // One on the same device.
  ValueId beside(ValueId other) {
    std::vector<ValueId> near;
    for (ValueId v : tensors_)
      if (graph_->type(v).device == graph_->type(other).device) near.push_back(v);
    return c_.pick(near);
  }

  Arg scalar() {
    switch (c_.below(5)) {
      case 0: return Arg::of_int(integer());
      case 1: return Arg::of_real(real());
      case 2: return Arg::of_bool(c_.flip());
      case 3: return context_->complex({real(), real()});
      default: return Arg::of_dim(dim());
    }
  }

  void add(std::string_view op, std::vector<Arg> args) {
    NodeId id = graph_->append(*table().find(op), args);
    const Node& n = graph_->node(id);
    for (size_t i = 0; i < n.result_count; ++i) {
      ValueId v = named(n.result(i));
      if (graph_->type(v).is_tensor()) tensors_.push_back(v);
    }
    if (c_.flip()) {
      NameId names[] = {context_->intern("from_a"), context_->intern("from b")};
      graph_->set_origin(id, context_->origin({names, 1 + c_.below(2)}));
    }
  }

  void kinds() {
    Arg dims[] = {Arg::of_dim(dim()), Arg::of_value(c_.pick(ints_))};
    Dim plain[] = {dim(), dim()};
    double reals[] = {real(), real()};
    bool bools[] = {c_.flip(), c_.flip(), c_.flip()};
    Arg scalars[] = {scalar(), scalar(), scalar()};
    Arg none;
    const ValueId first = tensor();
    auto maybe = [&](Arg a) { return c_.flip() ? a : none; };
    add("test.kinds",
        {Arg::of_value(first), maybe(Arg::of_value(beside(first))), scalar(), Arg::of_int(integer()),
         c_.flip() ? context_->dims(plain) : context_->args(dims), Arg::of_real(real()), Arg::of_bool(c_.flip()),
         context_->string(text()), maybe(Arg::of_dtype(static_cast<Dtype>(c_.below(kDtypeCount)))),
         maybe(Arg::of_device({DeviceKind::cuda, static_cast<int8_t>(c_.between(-1, 7))})),
         maybe(Arg::of_layout(static_cast<Layout>(c_.below(3)))),
         maybe(Arg::of_memory_format(static_cast<MemoryFormat>(c_.below(4)))),
         maybe(Arg::of_seed(c_.below(UINT64_MAX))), maybe(context_->reals({reals, c_.below(3)})),
         context_->bools(bools), context_->args({scalars, c_.below(4)}), maybe(Arg::of_dim(dim()))});
  }

  void node() {
    Arg x = Arg::of_value(tensor());
    switch (c_.below(15)) {
      case 0: return add("test.relu", {x});
      case 1: return add("test.add.Tensor", {x, x, scalar()});
      case 2: return add("test.add.Scalar", {x, scalar(), scalar()});
      case 3: return add("test.max.dim", {x, Arg::of_int(integer()), Arg::of_bool(c_.flip())});
      case 4: return add("test.max", {x});
      case 5: return add("test.max.other", {x, x});
      case 6: return add("test.view", {x});
      case 7: return add("test.nonzero", {x});
      case 8: return add("test.draw", {x, Arg::of_real(real()), c_.flip() ? Arg::of_seed(c_.below(9)) : Arg::none()});
      case 9: {
        ValueId two[] = {x.value(), beside(x.value())};
        return add("test.cat", {c_.flip() ? context_->values({two, c_.below(3)}) : Arg::of_value(lists_[0]),
                                Arg::of_int(integer())});
      }
      case 10: {
        ValueId two[] = {beside(x.value()), kNone};
        return add("test.index", {x, context_->values({two, c_.below(3)})});
      }
      case 11: {
        if (graph_->type(x.value()).rank() == 0) return;
        return add("test.size", {x, Arg::of_int(0)});
      }
      case 12: return choose();
      case 13: {
        Dim sizes[] = {dim(), dim()};
        return add("test.empty", {context_->dims(sizes), Arg::none(), Arg::none(), Arg::none(), Arg::none()});
      }
      default: return kinds();
    }
  }

  void choose() {
    if (depth_ >= 2) return;
    ValueId operand = tensor();
    const Type* t = &graph_->type(operand);
    for (const Dim& d : t->sizes())
      if (!d.is_constant()) return;  // the branches' results are compared by type
    auto branch = [&](std::string name) {
      auto made = RandomGraph(c_, context_, depth_ + 1).branch(std::move(name), t);
      graph_->subgraphs.push_back(std::move(made));
      return Arg::of_graph(static_cast<uint32_t>(graph_->subgraphs.size() - 1));
    };
    Arg yes = branch("yes"), no = branch(c_.flip() ? "yes" : "no branch");
    add("test.choose",
        {Arg::of_value(predicate_ == kNone ? operand : predicate_), yes, no, context_->values({&operand, 1})});
  }

  // A sub-graph that returns its input, after some nodes of no consequence.
  std::unique_ptr<Graph> branch(std::string name, const Type* input) {
    graph_ = std::make_unique<Graph>(context_, table(), std::move(name));
    ValueId v = graph_->add_input(c_.flip() ? "operand" : "", input);
    tensors_.push_back(v);
    size_t nodes = c_.below(3);
    for (size_t i = 0; i < nodes; ++i) {
      const char* op = c_.flip() ? "test.relu" : "test.view";
      add(op, {Arg::of_value(tensor())});
    }
    Arg out = Arg::of_value(v);
    graph_->set_outputs({&out, 1});
    return std::move(graph_);
  }

  Chooser& c_;
  std::shared_ptr<Context> context_;
  int depth_;
  std::unique_ptr<Graph> graph_;
  std::vector<ValueId> tensors_, ints_, lists_;
  ValueId predicate_ = kNone;
  std::set<std::string> taken_;
};

inline std::unique_ptr<Graph> random_graph(Chooser& choose) {
  RandomGraph maker(choose, std::make_shared<Context>(), 0);
  auto graph = maker.make("g");
  std::vector<Arg> outputs;
  for (ValueId v : maker.tensors())
    if (choose.flip()) outputs.push_back(Arg::of_value(v));
  if (choose.flip()) outputs.push_back(Arg::of_real(-0.0));
  if (choose.flip()) outputs.push_back(Arg::none());
  graph->set_outputs(outputs);
  return graph;
}

}  // namespace lenz::test
