// Random graphs that give passes something to do, of ops that interpreter_test.h computes: chains of views, copies,
// neutral elements, the same call twice, writes through views.
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
};

class RandomGraph {
 public:
  RandomGraph(Chooser& choose, RandomGraphOptions options) : c_(choose), options_(options) {}

  std::unique_ptr<Graph> make() {
    graph_ = std::make_unique<Graph>(std::make_shared<Context>(), op_table(), "g");
    graph_->level = options_.level;
    inputs();
    size_t count = 2 + c_.below(20);
    for (size_t i = 0; i < count; ++i) node();
    outputs();
    return std::move(graph_);
  }

 private:
  void inputs() {
    size_t count = 1 + c_.below(4);
    for (size_t i = 0; i < count; ++i) {
      TensorType t = contiguous_tensor(dtype(), sizes());
      if (c_.below(4) == 0 && t.rank() == 2) t.strides = {Dim(1), t.sizes[0]};
      if (c_.below(6) == 0) t.offset = 2;
      values_.push_back(graph_->add_input("x" + std::to_string(i), graph_->context().tensor(t)));
    }
  }
  Dtype dtype() { return c_.any_of({Dtype::f32, Dtype::f32, Dtype::i32, Dtype::f16, Dtype::i8, Dtype::b8}); }
  DimVec sizes() {
    return c_.any_of<DimVec>({{Dim(2), Dim(3)}, {Dim(3), Dim(2)}, {Dim(6)}, {Dim(2), Dim(3)}, {Dim(1)}, {}});
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

  // Whatever eager would refuse is left out.
  void call(std::string_view op, std::initializer_list<Arg> positional, std::initializer_list<Keyword> keywords = {}) {
    try {
      Resolved r = resolve(*graph_, op, {positional.begin(), positional.size()}, {keywords.begin(), keywords.size()});
      NodeId id = graph_->append(*r.op, r.args);
      ValueId v = graph_->node(id).result();
      if (graph_->type(v).is_tensor()) values_.push_back(v);
    } catch (const UserError&) {
    }
  }

  void node() {
    Context& c = graph_->context();
    ValueId x = value(), y = value();
    Arg a = Arg::of_value(x), b = Arg::of_value(y);
    auto rank = static_cast<int64_t>(type(x).rank());
    auto dim = [&] { return Arg::of_int(c_.between(-rank, std::max<int64_t>(rank, 1))); };
    switch (c_.below(options_.writes ? 23 : 19)) {
      case 0:
      case 1:
        return call(c_.any_of({"aten.neg", "aten.abs", "aten.ceil", "aten.floor", "aten.logical_not", "aten.sign"}),
                    {a});
      case 2:
      case 3:
      case 4:
        return call(
            c_.any_of({"aten.add", "aten.mul", "aten.sub", "aten.bitwise_and", "aten.bitwise_or", "aten.bitwise_xor"}),
            {a, b});
      case 5:
      case 6:
        return call(c_.any_of({"aten.add", "aten.mul", "aten.sub", "aten.bitwise_or"}), {a, number(type(x).dtype)});
      case 7: return call(c_.any_of({"aten.eq", "aten.ne", "aten.lt", "aten.ge", "aten.gt", "aten.le"}), {a, b});
      case 8: return call("aten.add", {a, b}, {{"alpha", c_.any_of({Arg::of_int(1), Arg::of_int(2)})}});
      case 9:
        return call("aten.permute",
                    {a, rank == 2 ? c.ints(std::vector<int64_t>{-1, 0}) : c.ints(std::vector<int64_t>{0})});
      case 10: return call("aten.transpose", {a, dim(), dim()});
      case 11: return call(c_.any_of({"aten.view", "aten.reshape"}), {a, c.dims(sizes())});
      case 12: return call(c_.any_of({"aten.unsqueeze", "aten.squeeze"}), {a, dim()});
      case 13: return call("aten.slice", {a, dim(), Arg::of_int(c_.between(0, 1)), Arg::of_int(c_.between(2, 4))});
      case 14: return call(c_.any_of({"aten.clone", "aten.contiguous", "aten.alias", "aten.t"}), {a});
      case 15: return call("aten.expand", {a, c.dims(DimVec{Dim(2), Dim(3)})});
      case 16:
        return call(c_.any_of({"aten.to", "aten.to", "aten._to_copy"}), {a},
                    {{"dtype", Arg::of_dtype(wider(type(x).dtype))}});
      case 17: return call("aten.full", {c.dims(sizes()), number(Dtype::i32)}, {{"dtype", Arg::of_dtype(dtype())}});
      case 18: return again();
      case 19: return write(x, c_.any_of({"aten.neg_", "aten.floor_", "aten.abs_"}), {a});
      case 20: return write(x, c_.any_of({"aten.add_", "aten.mul_"}), {a, b});
      case 21: return write(x, "aten.add_", {a, number(type(x).dtype)});
      default: return write(x, "aten.copy_", {a, b});
    }
  }

  Dtype wider(Dtype d) {
    switch (d) {
      case Dtype::b8: return c_.any_of({Dtype::f32, Dtype::i32, Dtype::b8});
      case Dtype::i8: return c_.any_of({Dtype::i32, Dtype::f32, Dtype::i8});
      case Dtype::i32: return c_.any_of({Dtype::i8, Dtype::f32, Dtype::i32});
      case Dtype::f16: return c_.any_of({Dtype::f32, Dtype::f16});
      default: return c_.any_of({Dtype::f16, Dtype::f64, Dtype::f32});
    }
  }

  // A call that stands there already.
  void again() {
    NodeId id = graph_->last();
    for (size_t skip = c_.below(4); skip > 0 && id != kNone; --skip) id = graph_->node(id).prev;
    if (id == kNone || graph_->node(id).op->schema.mutates()) return;
    Node node = graph_->node(id);
    values_.push_back(graph_->node(graph_->append(*node.op, node.arguments())).result());
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
    size_t count = 1 + c_.below(3);
    for (size_t i = 0; i < count; ++i) all.push_back(Arg::of_value(value()));
    graph_->set_outputs(all);
  }

  Chooser& c_;
  RandomGraphOptions options_;
  std::unique_ptr<Graph> graph_;
  std::vector<ValueId> values_;
};

}  // namespace lenz::test
