#include "oracle/controls/plan.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "compiler/graph/alias.h"
#include "compiler/graph/whole_numbers.h"
#include "compiler/ops/decompose.h"
#include "compiler/ops/looks_at_memory.h"
#include "compiler/scalar/rounding.h"
#include "oracle/tensors.h"

namespace lenz::oracle::controls {

namespace {

using Sizes = std::vector<int64_t>;

// What we compute ourselves, by ATen's packets.
struct Primitive {
  std::string_view packet;
  Compute compute;
};
constexpr Primitive kPrimitives[] = {
    {"sum", Compute::sum},     {"amax", Compute::greatest},   {"amin", Compute::least},  {"max", Compute::greatest},
    {"min", Compute::least},   {"cumsum", Compute::scan_sum}, {"mm", Compute::contract}, {"bmm", Compute::contract},
    {"mv", Compute::contract}, {"dot", Compute::contract},
};
struct InOneGo {
  std::string_view op;
  Fused fused;
};
constexpr InOneGo kFused[] = {
    {"aten._softmax", Fused::softmax},          // op name: a row of this table
    {"aten._log_softmax", Fused::log_softmax},  // op name: a row of this table
    {"aten.var.correction", Fused::variance},   // op name: a row of this table
};
struct Known {
  std::string_view row;
  Arithmetic arithmetic;
};
constexpr Known kKnown[] = {{"add", Arithmetic::add},
                            {"sub", Arithmetic::sub},
                            {"mul", Arithmetic::mul},
                            {"div", Arithmetic::div},
                            {"exp", Arithmetic::exp}};

Sizes sizes_of(const Type& type) {
  Sizes s;
  for (Dim d : type.sizes()) s.push_back(d.constant());
  return s;
}
size_t count_of(const Sizes& s) {
  return static_cast<size_t>(std::accumulate(s.begin(), s.end(), int64_t{1}, std::multiplies<>()));
}
Sizes strides_of(const Sizes& s) {
  Sizes strides(s.size(), 1);
  for (size_t i = s.size(); i-- > 1;) strides[i - 1] = strides[i] * s[i];
  return strides;
}

// Calls visit(place) for every index of `sizes` in order, where place is the sum of index * stride.
template <class F>
void walk(const Sizes& sizes, const Sizes& strides, F&& visit) {
  if (count_of(sizes) == 0) return;
  Sizes at(sizes.size(), 0);
  int64_t place = 0;
  while (true) {
    visit(place);
    size_t d = sizes.size();
    while (d > 0) {
      --d;
      place += strides[d];
      if (++at[d] < sizes[d]) break;
      place -= strides[d] * sizes[d];
      at[d] = 0;
      if (d == 0) return;
    }
    if (sizes.empty()) return;
  }
}

// Whether two of its elements may lie at one place: as far as each dim by itself tells.
bool may_overlap_itself(const Type& type) {
  const Sizes sizes = sizes_of(type);
  std::vector<std::pair<int64_t, int64_t>> dims;  // stride, size
  for (size_t i = 0; i < sizes.size(); ++i)
    if (sizes[i] > 1) dims.emplace_back(type.strides()[i].constant(), sizes[i]);
  std::ranges::sort(dims);
  int64_t reach = 0;
  for (const auto& [stride, size] : dims) {
    if (stride <= reach) return true;
    reach += stride * (size - 1);
  }
  return false;
}

void refuse_unknown(const Type& type) {
  if (type.is_tensor() && !std::ranges::all_of(type.sizes(), [](Dim d) { return d.is_constant(); }))
    throw Unsupported("the controls know no sizes that depend on data");
  if (type.kind == TypeKind::list) throw Unsupported("the controls know no lists");
  if (type.is_tensor() && (is_complex(type.dtype) || is_float8(type.dtype)))
    throw Unsupported("the controls know neither complex numbers nor float8");
}

class Planner {
 public:
  Planner(Plan& plan, Boxed& boxed, std::vector<RunValue> values, Others others)
      : plan_(plan), graph_(*plan.graph), boxed_(boxed), values_(std::move(values)), others_(others) {}

  Step step(NodeId id) {
    const Node node = graph_.node(id);
    for (uint16_t i = 0; i < node.result_count; ++i) refuse_unknown(graph_.type(node.result(i)));
    if (!graph_.type(node.result()).is_tensor()) throw Unsupported("the controls know tensors alone");
    if (node.op->has(Trait::random)) throw Unsupported("the controls draw nothing");
    if (writes_operands(*node.op, node.arguments())) throw Unsupported("the controls know no writes");
    if (looks_at_memory(*node.op)) throw Unsupported("the controls know no storage");
    if ((node.op->has(Trait::view) || node.op->has(Trait::movement)) && node.args[0].is_value() &&
        graph_.type(node.args[0].value()).dtype != graph_.type(node.result()).dtype)
      throw Unsupported("the controls know no other dtypes' bits");
    const bool reducing = reducing_;
    try {
      return own_step(id);
    } catch (const Unsupported&) {
      if (others_ == Others::refused) throw;
      reducing_ = reducing;
    }
    Step s = blank(id);
    s.compute = Compute::eager;
    plan_.perturbed = plan_.perturbed && !is_floating(s.dtype);
    return s;
  }

 private:
  Step blank(NodeId id) const {
    const Node& node = graph_.node(id);
    Step s;
    s.node = id;
    s.inside_reduction = reducing_;
    for (uint16_t i = 0; i < node.result_count; ++i) s.results.push_back(node.result(i));
    const Type& type = graph_.type(node.result());
    s.dtype = s.computes = type.dtype;
    const Sizes sizes = sizes_of(type);
    s.count = count_of(sizes);
    s.last = sizes.empty() ? 1 : static_cast<size_t>(sizes.back());
    return s;
  }

  Step own_step(NodeId id) {
    Step s = blank(id);
    const Node node = graph_.node(id);
    const Sizes sizes = sizes_of(graph_.type(node.result()));
    const OpDef& op = *node.op;
    const auto* primitive = std::ranges::find(kPrimitives, op.schema.packet, &Primitive::packet);
    if (!op.scalar.empty()) {
      scalar(s, node);
    } else if (op.has(Trait::movement) || op.has(Trait::view)) {
      move(s, node);
    } else if (!op.copies.empty()) {
      s.compute = Compute::cast;
      s.operands.push_back(spread(node.args[0].value(), sizes));
    } else if (op.has(Trait::maybe_view)) {
      move(s, node);
    } else if (primitive != std::end(kPrimitives) && node.result_count == 1) {
      s.compute = primitive->compute;
      s.compute == Compute::contract ? contract(s, node) : reduce(s, node);
    } else if (!op.fills.empty()) {
      s.compute = Compute::fill;
      const int param = op.schema.find(op.fills);
      s.operands.push_back(param >= 0 ? number(node.args[static_cast<size_t>(param)]) : literal(op.fills));
    } else if (!op.decompose.empty()) {
      whole(s, id);
    } else {
      throw Unsupported("the controls do not compute " + op.full_name);
    }
    plan_.longest = std::max(plan_.longest, s.length);
    return s;
  }

  static Operand number(const Arg& a) {
    Operand o;
    if (a.kind == ArgKind::real) {
      o.number = a.real();
    } else if (a.kind == ArgKind::integer || a.kind == ArgKind::boolean) {
      o.number = static_cast<double>(a.i);
    } else {
      throw Unsupported("the controls know no such argument");
    }
    return o;
  }

  static Operand literal(std::string_view zero_or_one) {
    Operand o;
    o.number = zero_or_one == "1";
    return o;
  }

  void scalar(Step& s, const Node& node) {
    s.compute = Compute::scalar;
    s.row = find_scalar(node.op->scalar);
    const auto* known = std::ranges::find(kKnown, s.row->name, &Known::row);
    if (known != std::end(kKnown)) s.arithmetic = known->arithmetic;
    if (s.row->result == ResultRule::boolean || s.row->operands == OperandRule::condition_first) {
      std::optional<Dtype> widest;
      for (int i = s.row->operands == OperandRule::condition_first ? 1 : 0; i < s.row->arity; ++i)
        if (node.args[i].is_value()) {
          Dtype d = graph_.type(node.args[i].value()).dtype;
          widest = widest ? *promote(*widest, d) : d;
        }
      s.computes = widest.value_or(s.dtype);
    }
    const Sizes sizes = sizes_of(graph_.type(node.result()));
    for (int i = 0; i < s.row->arity; ++i) {
      const Arg& a = node.args[i];
      Operand o = a.is_value() ? spread(a.value(), sizes) : number(a);
      o.whole = takes_whole(*node.op, static_cast<size_t>(i));
      s.operands.push_back(std::move(o));
    }
    if (int alpha = node.op->schema.find("alpha"); alpha >= 0)
      s.operands[1].factor = number(node.args[static_cast<size_t>(alpha)]).number;
  }

  // An operand that broadcasts to these sizes.
  Operand spread(ValueId v, const Sizes& sizes) {
    Operand o;
    o.value = v;
    const Sizes own = sizes_of(graph_.type(v));
    if (own == sizes) return o;
    Sizes strides = strides_of(own), wide(sizes.size(), 0);
    for (size_t i = 0; i < own.size(); ++i)
      if (own[i] != 1) wide[sizes.size() - own.size() + i] = strides[i];
    o.sources.emplace();
    walk(sizes, wide, [&](int64_t place) { o.sources->push_back(static_cast<uint32_t>(place)); });
    return o;
  }

  // Eager moves the numbers of the operands' elements, and shows where each went. They begin where no number that
  // stands in a graph is taken for one.
  void move(Step& s, const Node& node) {
    constexpr double kFirst = 0x1p40;
    std::vector<ValueId> moved;
    bool first = true;
    for (const Arg& a : node.arguments()) {
      for_each_value(a, [&](ValueId v) {
        if (std::ranges::find(moved, v) == moved.end() && (first || is_floating(graph_.type(v).dtype)))
          moved.push_back(v);
      });
      first = first && moved.empty();
    }
    s.compute = Compute::move;
    std::vector<RunValue> numbered = values_;
    numbered.resize(graph_.value_count());
    double next = kFirst;
    for (ValueId v : moved) {
      const Type& type = graph_.type(v);
      if (v != moved[0] && may_overlap_itself(graph_.type(moved[0])))
        throw Unsupported("the controls know no writes over each other");
      Operand o;
      o.value = v;
      s.operands.push_back(o);
      Elements numbers(count_of(sizes_of(type)));
      std::iota(numbers.begin(), numbers.end(), next);
      next += static_cast<double>(numbers.size());
      numbered[v] =
          write_elements(numbers, *graph_.context().tensor(contiguous_tensor(Dtype::f64, type.sizes())), boxed_);
    }
    Outcome outcome = boxed_.run(*node.op, node.arguments(), numbered);
    if (outcome.raised) throw Unsupported("the controls can't follow " + node.op->full_name + ": " + outcome.text);
    s.operands[0].sources.emplace();
    for (double came : read_elements(outcome.results[0], Dtype::f64)) {
      if (came != 0 && (came < kFirst || came >= next || came != std::floor(came)))
        throw Unsupported("the controls can't follow " + node.op->full_name + ": it does more than to move");
      s.operands[0].sources->push_back(came == 0 ? 0 : static_cast<uint32_t>(came - kFirst) + 1);
    }
    if (s.operands[0].sources->size() != s.count)
      throw Unsupported("the controls can't follow " + node.op->full_name + ": it looks at dtypes");
  }

  void reduce(Step& s, const Node& node) {
    const Type& from = graph_.type(node.args[0].value());
    if (is_floating(from.dtype) && from.dtype != s.dtype)
      throw Unsupported("the controls know no reductions in another dtype");
    const Sizes sizes = sizes_of(from);
    std::vector<bool> reduced(sizes.size(), true);
    if (int at = node.op->schema.find("dim"); at >= 0) {
      const Arg& a = node.args[static_cast<size_t>(at)];
      std::vector<int64_t> dims;
      if (a.kind == ArgKind::integer) dims.push_back(a.i);
      if (a.kind == ArgKind::int_list)
        for (Dim d : a.dim_list()) dims.push_back(d.constant());
      if (!dims.empty() && !sizes.empty()) {
        reduced.assign(sizes.size(), false);
        for (int64_t d : dims) reduced[static_cast<size_t>(d < 0 ? d + static_cast<int64_t>(sizes.size()) : d)] = true;
      }
    }
    rows(s, node.args[0].value(), reduced);
  }
  // The operand's elements, those of each row together.
  void rows(Step& s, ValueId v, const std::vector<bool>& together) {
    const Sizes sizes = sizes_of(graph_.type(v)), strides = strides_of(sizes);
    Sizes order;
    for (bool inner : {false, true})
      for (size_t i = 0; i < sizes.size(); ++i)
        if (together[i] == inner) order.push_back(static_cast<int64_t>(i));
    Sizes ordered, places;
    s.length = 1;
    for (int64_t i : order) {
      ordered.push_back(sizes[static_cast<size_t>(i)]);
      places.push_back(strides[static_cast<size_t>(i)]);
      if (together[static_cast<size_t>(i)]) s.length *= static_cast<size_t>(sizes[static_cast<size_t>(i)]);
    }
    Operand o;
    o.value = v;
    o.sources.emplace();
    walk(ordered, places, [&](int64_t place) { o.sources->push_back(static_cast<uint32_t>(place)); });
    s.operands.push_back(std::move(o));
  }

  void contract(Step& s, const Node& node) {
    s.operands.resize(2);
    for (size_t i : {size_t{0}, size_t{1}}) s.operands[i].value = node.args[i].value();
    const Sizes a = sizes_of(graph_.type(node.args[0].value())), b = sizes_of(graph_.type(node.args[1].value()));
    s.length = static_cast<size_t>(a.back());
    s.rows = a.size() > 1 ? static_cast<size_t>(a[a.size() - 2]) : 1;
    s.columns = b.size() > 1 ? static_cast<size_t>(b.back()) : 1;
    s.batches = a.size() > 2 ? static_cast<size_t>(a[0]) : 1;
  }

  // All steps but those that results are, or are moved from.
  static void mark_on_the_way(std::vector<Step>& body, std::vector<ValueId> results) {
    for (auto part = body.rbegin(); part != body.rend(); ++part) {
      std::vector<ValueId> given;
      bool result = false;
      for (size_t i = 0; i < part->results.size(); ++i)
        if (std::ranges::find(results, part->results[i]) != results.end()) {
          result = true;
          if (part->compute == Compute::whole) given.push_back(part->gives[i]);
        }
      part->on_the_way = !result;
      if (part->compute == Compute::whole) mark_on_the_way(part->body, given);
      if (result && (part->compute == Compute::move || part->compute == Compute::cast))
        for (const Operand& o : part->operands) results.push_back(o.value);
    }
  }

  void whole(Step& s, NodeId id) {
    s.compute = Compute::whole;
    const Node node = graph_.node(id);
    const NodeId before = graph_.previous(id);
    SmallVec<Arg, 4> results = expand(graph_, id, *node.op, node.arguments());
    for (const Arg& a : results) {
      if (!a.is_value() && !a.is_none()) throw Unsupported("the controls know no lists: " + node.op->full_name);
      s.gives.push_back(a.is_none() ? kNone : a.value());
    }
    std::vector<NodeId> inner;
    for (NodeId at = before == kNone ? graph_.first() : graph_.node(before).next; at != id; at = graph_.node(at).next)
      inner.push_back(at);
    const bool outside = reducing_;
    reducing_ = reducing_ || node.op->has(Trait::reduction);
    for (NodeId at : inner) s.body.push_back(step(at));
    reducing_ = outside;
    if (!outside && node.op->has(Trait::reduction)) mark_on_the_way(s.body, {s.gives.begin(), s.gives.end()});
    for (const Step& part : s.body) s.length = std::max(s.length, part.length);
    const auto* fused = std::ranges::find(kFused, node.op->full_name, &InOneGo::op);
    if (fused == std::end(kFused)) return;
    s.fused = fused->fused;
    reduce(s, node);
    if (s.fused != Fused::variance) return;
    const Arg& correction = node.args[static_cast<size_t>(node.op->schema.find("correction"))];
    s.correction = correction.is_none() ? 1 : number(correction).number;
  }

  Plan& plan_;
  Graph& graph_;
  Boxed& boxed_;
  std::vector<RunValue> values_;
  Others others_;
  bool reducing_ = false;
};

}  // namespace

Elements read_elements(const RunValue& tensor, Dtype dtype) {
  const std::vector<std::byte> bytes = elements_of(tensor);
  const size_t width = static_cast<size_t>(item_size(dtype)), n = bytes.size() / width;
  Elements out(n);
  if (dtype == Dtype::f64) {
    if (n) std::memcpy(out.data(), bytes.data(), bytes.size());
    return out;
  }
  for (size_t i = 0; i < n; ++i) {
    ScalarBits bits{};
    std::memcpy(bits.data(), bytes.data() + i * width, width);
    if (dtype == Dtype::f32) {
      out[i] = std::bit_cast<float>(static_cast<uint32_t>(bits[0]));
      continue;
    }
    ScalarValue v = from_bits(dtype, bits);
    out[i] = v.kind() == ScalarKind::integer ? static_cast<double>(v.integer()) : v.real();
  }
  return out;
}

RunValue write_elements(const Elements& elements, const Type& type, Boxed& boxed) {
  const size_t width = static_cast<size_t>(item_size(type.dtype));
  std::vector<std::byte> bytes(elements.size() * width);
  for (size_t i = 0; i < elements.size(); ++i) {
    const double v = elements[i];
    ScalarBits bits{};
    if (type.dtype == Dtype::f64) {
      bits[0] = std::bit_cast<uint64_t>(v);
    } else if (type.dtype == Dtype::f32) {
      bits[0] = std::bit_cast<uint32_t>(static_cast<float>(v));
    } else if (is_floating(type.dtype)) {
      bits = to_bits(type.dtype, ScalarValue(v));
    } else {
      bits = to_bits(type.dtype, ScalarValue(static_cast<int64_t>(v)));
    }
    std::memcpy(bytes.data() + i * width, bits.data(), width);
  }
  RunValue made = boxed.make(type, {});
  set_elements(made, bytes);
  return made;
}

Plan make_plan(const Graph& graph, std::span<const RunValue> inputs, Boxed& boxed, Others others) {
  Plan plan;
  plan.boxed = &boxed;
  plan.graph = graph.clone();
  for (ValueId v = 0; v < graph.value_count(); ++v) refuse_unknown(graph.type(v));
  std::vector<RunValue> values(plan.graph->value_count());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const ValueId v = plan.graph->inputs()[i].value;
    values[v] = inputs[i];
    plan.inputs.push_back(read_elements(inputs[i], plan.graph->type(v).dtype));
  }
  for (const Arg& a : plan.graph->outputs()) plan.outputs.push_back(a.value());
  std::vector<NodeId> nodes;
  plan.graph->for_each_node([&](NodeId id) { nodes.push_back(id); });
  Planner planner(plan, boxed, std::move(values), others);
  for (NodeId id : nodes) plan.steps.push_back(planner.step(id));
  for (ValueId v = 0; v < plan.graph->value_count(); ++v) plan.dtypes.push_back(plan.graph->type(v).dtype);
  return plan;
}

}  // namespace lenz::oracle::controls
