#include "compiler/loops/equal.h"

#include <bit>
#include <map>

#include "compiler/graph/equal_parts.h"
#include "compiler/loops/text.h"

namespace lenz::loops {

namespace {

bool same(Dim a, Dim b) { return compare(a, b) == 0; }

bool same(const std::optional<Cond>& a, const std::optional<Cond>& b) {
  if (!a || !b) return a.has_value() == b.has_value();
  return a->rel == b->rel && same(a->lhs, b->lhs) && same(a->rhs, b->rhs);
}
bool same(const DimVec& a, const DimVec& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i)
    if (!same(a[i], b[i])) return false;
  return true;
}

bool same(double a, double b) { return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b); }

bool same(const ScalarValue& a, const ScalarValue& b) {
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case ScalarKind::integer: return a.integer() == b.integer();
    case ScalarKind::real: return same(a.real(), b.real());
    case ScalarKind::double_double:
      return same(a.double_double().hi, b.double_double().hi) && same(a.double_double().lo, b.double_double().lo);
    case ScalarKind::complex:
      return same(a.complex().real(), b.complex().real()) && same(a.complex().imag(), b.complex().imag());
  }
  return false;
}

bool same(const TensorType& a, const TensorType& b) {
  return a.dtype == b.dtype && a.device == b.device && same(a.sizes, b.sizes) && same(a.strides, b.strides) &&
         same(a.offset, b.offset);
}

bool same(const ConstantData* a, const ConstantData* b) {
  if (!a || !b) return a == b;
  if (!same(a->type, b->type) || a->file != b->file || a->key != b->key || !a->bytes != !b->bytes) return false;
  return !a->bytes || *a->bytes == *b->bytes;
}

class Comparison {
 public:
  Comparison(const Program& a, const Program& b, std::string* why)
      : a_(a), b_(b), why_(why), a_order_(declaration_order(a)), b_order_(declaration_order(b)) {
    number(a_order_, a_numbers_);
    number(b_order_, b_numbers_);
  }

  bool run() {
    std::string why;
    if (!same_assumptions(a_.assumptions, b_.assumptions, why)) return differ(why);
    if (!buffers() || !inputs()) return false;
    if (a_.streams.size() != b_.streams.size()) return differ("they have different numbers of streams");
    for (size_t i = 0; i < a_.streams.size(); ++i)
      if (a_.streams[i].seed != b_.streams[i].seed || !same(a_.streams[i].offset, b_.streams[i].offset))
        return differ("stream " + std::to_string(i) + " differs");
    if (!same_block(a_.body, b_.body)) return false;
    if (!same_outputs(a_.outputs, b_.outputs)) return differ("the outputs differ");
    return true;
  }

 private:
  static void number(const std::vector<BufferId>& order, std::vector<uint32_t>& numbers) {
    numbers.resize(order.size());
    for (uint32_t i = 0; i < order.size(); ++i) numbers[order[i]] = i;
  }

  bool differ(const std::string& what) {
    if (why_ && why_->empty()) *why_ = what;
    return false;
  }

  bool buffers() {
    if (a_order_.size() != b_order_.size()) return differ("they have different numbers of buffers");
    std::map<NameId, size_t> a_first, b_first;  // of an alias class
    for (size_t i = 0; i < a_order_.size(); ++i) {
      const Buffer &x = a_.buffers[a_order_[i]], &y = b_.buffers[b_order_[i]];
      bool equal = x.kind == y.kind && same(x.type, y.type) && x.placed == y.placed && x.local == y.local &&
                   x.mutated == y.mutated && x.alias.has_value() == y.alias.has_value() && ref(x.view_of, y.view_of) &&
                   same(x.far, y.far) && same(x.data, y.data);
      if (equal && x.alias)
        equal = a_first.emplace(*x.alias, i).first->second == b_first.emplace(*y.alias, i).first->second;
      if (!equal) return differ("the buffer %" + x.name + " differs");
    }
    return true;
  }

  bool inputs() {
    if (a_.inputs.size() != b_.inputs.size()) return differ("they have different numbers of inputs");
    for (size_t i = 0; i < a_.inputs.size(); ++i) {
      const Input &x = a_.inputs[i], &y = b_.inputs[i];
      bool equal = x.kind == y.kind && (x.kind != Input::tensor || ref(x.buffer, y.buffer)) &&
                   (x.kind != Input::symbol || same(x.sym, y.sym));
      if (!equal) return differ("input " + std::to_string(i) + " differs");
    }
    return true;
  }

  // References to one buffer.
  bool ref(BufferId x, BufferId y) const {
    if (x >= a_numbers_.size() || y >= b_numbers_.size()) return x == y;
    return a_numbers_[x] == b_numbers_[y];
  }
  bool refs(const std::vector<BufferId>& x, const std::vector<BufferId>& y) const {
    if (x.size() != y.size()) return false;
    for (size_t i = 0; i < x.size(); ++i)
      if (!ref(x[i], y[i])) return false;
    return true;
  }

  // --- nodes

  bool same_block(const std::unique_ptr<Block>& x, const std::unique_ptr<Block>& y) {
    static const Block empty;
    return same_block(x ? *x : empty, y ? *y : empty);
  }

  bool same_block(const Block& x, const Block& y) {
    if (x.nodes.size() != y.nodes.size()) return differ("blocks have different numbers of nodes");
    for (size_t i = 0; i < x.nodes.size(); ++i) {
      bool equal =
          x.nodes[i].is.index() == y.nodes[i].is.index() &&
          std::visit(
              [&](const auto& n) { return same_node(n, std::get<std::remove_cvref_t<decltype(n)>>(y.nodes[i].is)); },
              x.nodes[i].is);
      if (!equal) return describe(x.nodes[i], y.nodes[i]);
    }
    return true;
  }

  bool describe(const Node& x, const Node& y) {
    if (why_ && why_->empty()) *why_ = ProgramText(a_).node(x) + "\n  against " + ProgramText(b_).node(y);
    return false;
  }

  bool same_node(const loops::Nest& x, const loops::Nest& y) {
    if (x.tag != y.tag || !same_axes(x.axes, y.axes) || x.body.size() != y.body.size() ||
        x.stores.size() != y.stores.size())
      return false;
    for (Ssa i = 0; i < x.body.size(); ++i)
      if (!same_instr(x.body[i], y.body[i])) {
        if (why_ && why_->empty())
          *why_ = ProgramText(a_).instruction(x, i) + "\n  against " + ProgramText(b_).instruction(y, i);
        return false;
      }
    for (size_t i = 0; i < x.stores.size(); ++i) {
      const Store &s = x.stores[i], &t = y.stores[i];
      if (!ref(s.buffer, t.buffer) || !same(s.index, t.index) || s.value != t.value || s.mask != t.mask ||
          s.mode != t.mode || s.distinct != t.distinct)
        return false;
    }
    return true;
  }

  bool same_instr(const Instr& x, const Instr& y) const {
    if (x.kind != y.kind || x.dtype != y.dtype || x.mask != y.mask) return false;
    bool operands = x.operands == y.operands;
    switch (x.kind) {
      case InstrKind::constant: return same(x.value, y.value);
      case InstrKind::index: return same(x.index, y.index);
      case InstrKind::load: return ref(x.buffer, y.buffer) && same(x.index, y.index);
      case InstrKind::scalar: return operands && x.row == y.row && x.compute == y.compute;
      case InstrKind::position:
        return operands && same(x.symbol, y.symbol) && same(x.extent, y.extent) && x.wraps == y.wraps;
      case InstrKind::reduce: return operands && x.combine == y.combine && x.ordered == y.ordered;
      case InstrKind::scan: return operands && x.combine == y.combine;
      case InstrKind::part: return operands && x.part == y.part;
      case InstrKind::draw: return x.draw == y.draw && x.stream == y.stream && same(x.index, y.index);
    }
    return false;
  }

  bool same_node(const Sort& x, const Sort& y) {
    return ref(x.keys, y.keys) && ref(x.values, y.values) && ref(x.indices, y.indices) && x.dim == y.dim &&
           x.descending == y.descending && x.stable == y.stable && same(x.places, y.places);
  }

  bool same_node(const Extern& x, const Extern& y) {
    if (!x.op || !y.op || !same_op(*x.op, *y.op) || x.args.size() != y.args.size() || !refs(x.results, y.results))
      return false;
    const auto& params = x.op->schema.params;
    for (size_t i = 0; i < x.args.size(); ++i) {
      bool real = i < params.size() && params[i].type.kind == ParamKind::real;
      if (!arg(x.args[i], y.args[i], real)) return false;
    }
    return true;
  }

  bool arg(const Arg& x, const Arg& y, bool for_float) const {
    return same_arg(x, y, for_float, [&](const Arg& m, const Arg& n) {
      return m.kind == ArgKind::value ? ref(m.value(), n.value()) : m == n;
    });
  }

  bool same_node(const Bind& x, const Bind& y) { return same(x.symbol, y.symbol) && ref(x.from, y.from); }

  bool same_node(const Check& x, const Check& y) {
    return same(x.cond, y.cond) && x.message == y.message && ref(x.holds, y.holds);
  }

  bool same_node(const Print& x, const Print& y) {
    return x.text == y.text && x.numbers == y.numbers && refs(x.values, y.values);
  }

  bool same_node(const If& x, const If& y) {
    return ref(x.condition, y.condition) && same_block(x.then, y.then) && same_block(x.otherwise, y.otherwise);
  }
  bool same_node(const While& x, const While& y) {
    return same_block(x.test, y.test) && ref(x.condition, y.condition) && same_block(x.body, y.body);
  }
  bool same_node(const Kernel& x, const Kernel& y) { return same_axes(x.axes, y.axes) && same_block(x.body, y.body); }
  bool same_axes(const std::vector<Axis>& x, const std::vector<Axis>& y) const {
    if (x.size() != y.size()) return false;
    for (size_t i = 0; i < x.size(); ++i)
      if (x[i].kind != y[i].kind || !same(x[i].symbol, y[i].symbol) || !same(x[i].extent, y[i].extent) ||
          x[i].lanes != y[i].lanes || x[i].unroll != y[i].unroll)
        return false;
    return true;
  }
  bool same_node(const Repeat& x, const Repeat& y) {
    return same(x.symbol, y.symbol) && same(x.count, y.count) && same_block(x.body, y.body);
  }

  // --- outputs

  bool same_outputs(const std::vector<Output>& x, const std::vector<Output>& y) const {
    if (x.size() != y.size()) return false;
    for (size_t i = 0; i < x.size(); ++i)
      if (!same_output(x[i], y[i])) return false;
    return true;
  }

  bool same_output(const Output& x, const Output& y) const {
    if (x.kind != y.kind || x.input != y.input) return false;
    switch (x.kind) {
      case Output::tensor:
        return ref(x.buffer, y.buffer) && same(x.type, y.type) && x.conjugated == y.conjugated &&
               x.negated == y.negated;
      case Output::list: return same_outputs(x.elements, y.elements);
      case Output::integer: return same(x.value, y.value);
      case Output::literal: return arg(x.literal_value, y.literal_value, false);
      case Output::number: return ref(x.buffer, y.buffer);
      case Output::none: return true;
    }
    return false;
  }

  const Program &a_, &b_;
  std::string* why_;
  std::vector<BufferId> a_order_, b_order_;
  std::vector<uint32_t> a_numbers_, b_numbers_;  // of buffers
};

}  // namespace

bool equal(const Program& a, const Program& b, std::string* why) {
  if (why) why->clear();
  return Comparison(a, b, why).run();
}

}  // namespace lenz::loops
