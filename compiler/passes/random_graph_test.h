// Random graphs that give passes something to do, of ops that interpreter_test.h computes: chains of views, lists of
// views, copies, neutral elements, the same call twice, writes through views, inputs that share memory, symbolic sizes.
// Thread-safety: one per thread.
#pragma once

#include <memory>
#include <vector>

#include "compiler/base/chooser.h"
#include "compiler/graph/graph.h"
#include "compiler/ops/op_table.h"

namespace lenz::test {

struct RandomGraphOptions {
  bool writes = true;
  Level level = Level::torch;
  bool symbolic = false;  // sizes are symbols and expressions of them
};

class RandomGraph {
 public:
  RandomGraph(Chooser& choose, RandomGraphOptions options) : c_(choose), options_(options) {}

  std::unique_ptr<Graph> make() {
    graph_ = std::make_unique<Graph>(std::make_shared<Context>(), op_table(), "g");
    graph_->level = options_.level;
    for (Dim* d : {&two_, &three_}) {
      if (!options_.symbolic) continue;
      *d = graph_->context().syms.symbol(d == &two_ ? "s0" : "s1");
      graph_->assumptions.declare_range(d->node(), {2, 5});
    }
    inputs();
    size_t count = 2 + c_.below(20);
    for (size_t i = 0; i < count; ++i) node();
    outputs();
    if (has_a_model()) return std::move(graph_);
    return RandomGraph(c_, {options_.writes, options_.level, false}).make();
  }

 private:
  // Whether some sizes meet all guards together: rules may ask for what no sizes meet, and facts may not see it.
  bool has_a_model() const {
    const Assumptions& all = graph_->assumptions;
    SymValues value = [&](const SymNode* s) { return all.known().hint(Dim(s)); };
    return std::ranges::all_of(all.guards(), [&](const Cond& c) { return evaluate(c, value) == true; });
  }

  void inputs() {
    size_t count = 1 + c_.below(4);
    for (size_t i = 0; i < count; ++i) {
      TensorType t = contiguous_tensor(dtype(), i == 0 && options_.symbolic ? DimVec{two_, three_} : sizes());
      if (c_.below(4) == 0 && t.rank() == 2) t.strides = {Dim(1), t.sizes[0]};
      if (c_.below(6) == 0) t.offset = 2;
      bool shares = i > 0 && c_.below(5) == 0;
      if (shares) t.dtype = type(values_.back()).dtype;
      values_.push_back(graph_->add_input("x" + std::to_string(i), graph_->context().tensor(t)));
      if (!shares) continue;
      NameId before = graph_->input(i - 1).alias.value_or(graph_->context().intern("a" + std::to_string(i)));
      graph_->input(i - 1).alias = graph_->input(i).alias = before;
    }
  }
  Dtype dtype() {
    return c_.any_of(
        {Dtype::f32, Dtype::f32, Dtype::i32, Dtype::f16, Dtype::i8, Dtype::b8, Dtype::u8, Dtype::i64, Dtype::f32});
  }
  DimVec sizes() {
    const Dim a = two_, b = three_;
    return c_.any_of<DimVec>({{a, b}, {b, a}, {a * b}, {a, b}, {a, b}, {Dim(1)}, {}, {a, Dim(1), b}, {Dim(0), b}});
  }

  ValueId value() {  // often a new one
    size_t n = values_.size();
    return values_[c_.below(2) ? n - 1 - c_.below(std::min<size_t>(n, 4)) : c_.below(n)];
  }
  const Type& type(ValueId v) const { return graph_->type(v); }

  // A number that keeps a tensor's dtype; often one that does nothing.
  Arg number(Dtype d) {
    if (d == Dtype::b8) return Arg::of_bool(c_.flip());
    if (is_floating(d))
      return c_.any_of({Arg::of_int(0), Arg::of_real(-0.0), Arg::of_real(0.0), Arg::of_int(1), Arg::of_real(1.0),
                        Arg::of_int(-1), Arg::of_real(0.5), Arg::of_real(3.0)});
    return c_.any_of({Arg::of_int(0), Arg::of_int(1), Arg::of_int(-1), Arg::of_int(3), Arg::of_bool(true)});
  }

  // Whatever eager would refuse is left out, and writes whose results hang on the order of its loops.
  void call(std::string_view op, std::initializer_list<Arg> positional, std::initializer_list<Keyword> keywords = {}) {
    try {
      Resolved r = resolve(*graph_, op, {positional.begin(), positional.size()}, {keywords.begin(), keywords.size()});
      NodeId id = graph_->append(*r.op, r.args);
      made(id);
    } catch (const UserError&) {
    } catch (const Unsupported&) {
    }
  }

  // What a call gives is there to be used, and so are elements of a list.
  void made(NodeId id) {
    if (graph_->node(id).result_count == 0) return;
    ValueId v = graph_->node(id).result();
    if (graph_->type(v).is_tensor()) values_.push_back(v);
    size_t count = graph_->type(v).elements().size();
    for (size_t i = c_.below(3); i < count; i += 1 + c_.below(2))
      call("lenz.getitem", {Arg::of_value(v), Arg::of_int(static_cast<int64_t>(i))});
  }

  // A tensor of bools, often a comparison.
  Arg condition(ValueId x, ValueId y) {
    if (type(x).dtype != Dtype::b8) call("aten.lt", {Arg::of_value(x), Arg::of_value(y)});
    return Arg::of_value(type(x).dtype == Dtype::b8 ? x : values_.back());
  }

  void node() {
    Context& c = graph_->context();
    ValueId x = value(), y = value();
    Arg a = Arg::of_value(x), b = Arg::of_value(y);
    auto rank = static_cast<int64_t>(type(x).rank());
    auto dim = [&] { return Arg::of_int(c_.between(-rank, std::max<int64_t>(rank, 1))); };
    auto small = [&](int64_t low, int64_t high) { return Arg::of_int(c_.between(low, high)); };
    switch (c_.below(options_.writes ? 35 : 30)) {
      case 0: return call("aten.neg", {a});
      case 1:
        return call(c_.any_of({"aten.neg", "aten.abs", "aten.ceil", "aten.floor", "aten.logical_not", "aten.sign",
                               "aten.bitwise_not", "aten.relu", "aten.trunc"}),
                    {a});
      case 2:
      case 3:
      case 4:
        return call(
            c_.any_of({"aten.add", "aten.mul", "aten.sub", "aten.div", "aten.add", "aten.mul", "aten.sub",
                       "aten.bitwise_and", "aten.bitwise_or", "aten.bitwise_xor", "aten.maximum", "aten.minimum"}),
            {a, b});
      case 5:
      case 6: {
        const char* op =
            c_.any_of({"aten.add", "aten.mul", "aten.sub", "aten.bitwise_or", "aten.div", "aten.clamp_min"});
        return call(op, {a, number(type(x).dtype)});
      }
      case 7: return call(c_.any_of({"aten.eq", "aten.ne", "aten.lt", "aten.ge", "aten.gt", "aten.le"}), {a, b});
      case 8: return call("aten.add", {a, b}, {{"alpha", c_.any_of({Arg::of_int(1), Arg::of_int(2)})}});
      case 9:
        return call("aten.permute",
                    {a, rank == 2 ? c.ints(std::vector<int64_t>{-1, 0}) : c.ints(std::vector<int64_t>{0})});
      case 10: return call("aten.transpose", {a, dim(), dim()});
      case 11: return call(c_.any_of({"aten.view", "aten.reshape"}), {a, c.dims(sizes())});
      case 12: {
        const char* op = c_.any_of({"aten.unsqueeze", "aten.squeeze"});
        return call(op, {a, dim()});
      }
      case 13: return call("aten.slice", {a, dim(), Arg::of_int(c_.between(0, 1)), Arg::of_int(c_.between(2, 4))});
      case 14: return call(c_.any_of({"aten.clone", "aten.contiguous", "aten.alias", "aten.t"}), {a});
      case 15: return call("aten.expand", {a, c.dims(DimVec{two_, three_})});
      case 16: {
        const char* op = c_.any_of({"aten.to", "aten.to", "aten._to_copy"});
        return call(op, {a}, {{"dtype", Arg::of_dtype(wider(type(x).dtype))}});
      }
      case 17: {
        Arg filled = Arg::of_dtype(dtype());
        return call("aten.full", {c.dims(sizes()), number(Dtype::i32)}, {{"dtype", filled}});
      }
      case 18:
      case 19: return again();
      case 20: return call("aten.select", {a, dim(), small(0, 1)});
      case 21: return call("aten.split", {a, small(1, 2), dim()});
      case 22: return call(c_.any_of({"aten.unbind", "aten.diagonal", "aten.flatten", "aten.squeeze"}), {a});
      case 23: return call("aten.chunk", {a, small(1, 3), dim()});
      case 24:
        return call("aten.as_strided", {a, c.ints(std::vector<int64_t>{2, 2}),
                                        c.ints(std::vector<int64_t>{c_.between(1, 2), c_.between(2, 3)})});
      case 25: return call("aten.where", {condition(x, y), a, b});
      case 26: {
        const ValueId list[] = {x, y};
        return call("aten.cat", {c.values({list, c_.flip() ? size_t{1} : size_t{2}}), dim()});
      }
      case 27: return call(c_.any_of({"aten.zeros_like", "aten.ones_like"}), {a});
      case 28: return call("aten.copy", {a, b});
      case 29: return call("aten.narrow", {a, dim(), small(0, 1), small(1, 2)});
      case 30: return write(x, c_.any_of({"aten.neg_", "aten.floor_", "aten.abs_"}), {a});
      case 31: return write(x, c_.any_of({"aten.add_", "aten.mul_"}), {a, b});
      case 32: return write(x, "aten.add_", {a, number(type(x).dtype)});
      default: return write(x, "aten.copy_", {a, b});
    }
  }

  Dtype wider(Dtype d) {
    switch (d) {
      case Dtype::b8: return c_.any_of({Dtype::f32, Dtype::i32, Dtype::b8});
      case Dtype::i8: return c_.any_of({Dtype::i32, Dtype::f32, Dtype::i8});
      case Dtype::u8: return c_.any_of({Dtype::i32, Dtype::i8, Dtype::u8});
      case Dtype::i64: return c_.any_of({Dtype::i32, Dtype::f64, Dtype::i64});
      case Dtype::i32: return c_.any_of({Dtype::i8, Dtype::f32, Dtype::i32});
      case Dtype::f16: return c_.any_of({Dtype::f32, Dtype::f16});
      default: return c_.any_of({Dtype::f16, Dtype::f64, Dtype::f32});
    }
  }

  // A call that stands there already.
  void again() {
    NodeId id = graph_->last();
    for (size_t skip = c_.below(4); skip > 0 && id != kNone; --skip) id = graph_->previous(id);
    if (id == kNone || graph_->node(id).op->schema.mutates()) return;
    Node node = graph_->node(id);
    made(graph_->append(*node.op, node.arguments()));
  }

  void write(ValueId target, std::string_view op, std::initializer_list<Arg> args) {
    size_t before = graph_->node_count();
    call(op, args);
    if (graph_->node_count() == before) return;
    for (size_t i = 0; i < graph_->inputs().size(); ++i)
      if (graph_->inputs()[i].value == graph_->storage(target)) graph_->input(i).mutated = true;
  }

  void outputs() {
    std::vector<Arg> all;
    size_t count = 1 + c_.below(4);
    for (size_t i = 0; i < count; ++i) all.push_back(Arg::of_value(value()));
    graph_->set_outputs(all);
  }

  Chooser& c_;
  RandomGraphOptions options_;
  std::unique_ptr<Graph> graph_;
  std::vector<ValueId> values_;
  Dim two_ = 2, three_ = 3;
};

}  // namespace lenz::test
