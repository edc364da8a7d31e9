#include "fuzz/control_flow.h"

#include <algorithm>

#include "compiler/graph/overlap.h"
#include "fuzz/adapt.h"

namespace lenz::fuzz {

namespace {
// What loops and branches are made of: data, as patterns are.
constexpr std::string_view kLess = "aten.lt.Scalar";    // op name: a loop's condition
constexpr std::string_view kNext = "aten.add.Scalar";   // op name: a loop's counter
constexpr std::string_view kAny = "aten.any";           // op name: a branch's condition, from a value
constexpr std::string_view kVector = "aten.unsqueeze";  // op name: a condition of one element, not of no dims
constexpr std::string_view kCopy = "aten.clone";        // op name: a sub-graph returns what is its own
constexpr std::string_view kCond = "lenz.cond";
constexpr std::string_view kWhile = "lenz.while_loop";
constexpr std::string_view kScan = "lenz.scan";

NodeId call(Graph& graph, std::string_view op, std::span<const Arg> args) {
  Resolved r = resolve(graph, op, args, {});
  return graph.append(*r.op, r.args);
}

class ControlFlow {
 public:
  ControlFlow(Growth& outer, Chooser& choose, const GrowSteps& grow)
      : outer_(outer), graph_(*outer.graph), c_(choose), grow_(grow) {}

  void make() {
    if (outer_.values.empty()) return;
    // A sub-graph declares how its inputs lie; nothing else can be made to lie like a tensor with a stride of 0.
    std::vector<ValueId> apart;
    for (ValueId v : outer_.values)
      if (const Type& t = graph_.type(v);
          std::ranges::none_of(t.strides(), [](Dim s) { return s.is(0); }) && !elements_meet(t))
        apart.push_back(v);
    if (apart.empty()) return;
    size_t count = 1 + c_.below(3);
    for (size_t i = 0; i < count; ++i) operands_.push_back(c_.pick(apart));
    if (count > 1 && c_.flip()) make_alike(apart);
    if (outer_.token != kNone && c_.flip()) operands_.push_back(outer_.token);  // what it does stands between others
    try {
      switch (c_.below(3)) {
        case 0: return branch();
        case 1: return loop();
        default: return scan();
      }
    } catch (const UserError&) {  // a rule refused: the node is not there, its sub-graphs are dropped again
      graph_.subgraphs.resize(subgraphs_before_);
    }
  }

 private:
  // What is carried may stand in another's place where both are of one kind.
  void make_alike(std::span<const ValueId> apart) {
    const Type& first = graph_.type(operands_[0]);
    std::vector<ValueId> alike;
    for (const ValueId v : apart)
      if (const Type& t = graph_.type(v); t.dtype == first.dtype && std::ranges::equal(t.sizes(), first.sizes()))
        alike.push_back(v);
    for (size_t i = 1; i < operands_.size(); ++i) operands_[i] = c_.pick(alike);
  }

  struct Sub {
    std::unique_ptr<Graph> graph;
    Growth growth;
  };

  // Each in the place of the next one like it, as it stands: nobody may overwrite what is handed on.
  bool handed_on(Sub& s, std::span<const Type* const> types, size_t carried, std::vector<Arg>& results) const {
    std::vector<Arg> all = results;
    bool any = false;
    for (size_t i = 1; i < carried; ++i) {
      size_t from = i;
      for (size_t k = 1; k + 1 < carried && from == i; ++k)
        if (const size_t other = 1 + (i - 1 + k) % (carried - 1);
            types[i]->is_tensor() && types[other]->is_tensor() && types[other]->dtype == types[i]->dtype &&
            std::ranges::equal(types[other]->sizes(), types[i]->sizes()))
          from = other;
      any = any || from != i;
      all.push_back(Arg::of_value(types[i]->is_tensor() ? s.graph->inputs()[from].value : s.growth.token));
    }
    if (any) results = all;
    return any;
  }

  Sub start(const char* name, std::span<const Type* const> inputs) {
    Sub s;
    s.graph = std::make_unique<Graph>(graph_.shared_context(), graph_.ops(),
                                      std::string(name) + std::to_string(graph_.subgraphs.size()) + graph_.name);
    s.growth.graph = s.graph.get();
    s.growth.habits = outer_.habits;
    s.growth.habits.writing = s.growth.habits.control = s.growth.habits.aliases = 0;
    s.growth.habits.fresh = 0;
    if (c_.below(4) != 3) s.growth.habits.families[static_cast<size_t>(Family::indexing)] = 0;
    s.growth.habits.families[static_cast<size_t>(Family::random)] = 0;
    s.growth.most_inputs = inputs.size() + 1;
    for (const Type* t : inputs) {
      const ValueId v = s.graph->add_input("a" + std::to_string(s.graph->inputs().size()), t);
      s.growth.add(v);
      if (t->kind == TypeKind::token) s.growth.token = v;
    }
    if (s.growth.token == kNone) s.growth.habits.effects = 0;  // in which order they were to those around it?
    return s;
  }

  // Of elements that share places it hangs on their order what a write leaves.
  bool elements_meet(const Type& t) const { return may_meet(graph_.assumptions.known(), t.sizes(), t.strides()); }

  // Inputs that a sub-graph asked for beside those that it was given: the outer graph gets them too.
  void lift_inputs(Sub& s, std::vector<const Type*>& types) {
    for (size_t i = types.size(); i < s.graph->inputs().size(); ++i) {
      Input& input = s.graph->input(i);
      const Type* type = &s.graph->type(input.value);
      if (input.mutated && elements_meet(*type)) throw UserError("what the sub-graph writes to shares places");
      ValueId v = graph_.add_input("x" + std::to_string(graph_.inputs().size()), type);
      graph_.input(graph_.inputs().size() - 1).init = input.init;
      input.init = {};
      types.push_back(type);
      operands_.push_back(v);
    }
  }
  void give_inputs(Sub& s, std::span<const Type* const> types) {
    for (size_t i = s.graph->inputs().size(); i < types.size(); ++i)
      s.graph->add_input("a" + std::to_string(i), types[i]);
  }

  // As sub-graphs declare them, some with their dims in another order than they are given.
  std::vector<const Type*> operand_types() {
    std::vector<const Type*> types;
    for (ValueId v : operands_) {
      types.push_back(&graph_.type(v));
      if (types.back()->rank() < 2 || c_.below(4) != 3) continue;
      TensorType turned = types.back()->tensor();
      DimVec reversed(turned.sizes.size(), Dim(0));
      std::ranges::reverse_copy(turned.sizes, reversed.begin());
      turned.strides = contiguous_strides(reversed);
      std::ranges::reverse(turned.strides);
      turned.offset = 0;
      types.back() = graph_.context().tensor(turned);
    }
    return types;
  }

  // A value of that dtype and those sizes: of the sub-graph's, made to fit if need be.
  ValueId result(Sub& s, const Type& like) {
    if (!like.is_tensor()) return s.growth.token;
    const auto& values = s.growth.values;
    ValueId v = values[values.size() - 1 - c_.below(std::min<size_t>(values.size(), 3))];
    // Or one that it was given, as it stands: into another's place, where there is another.
    std::vector<ValueId> given;
    for (const Input& input : s.graph->inputs()) {
      const Type& t = s.graph->type(input.value);
      const bool resized = input.mutated && std::ranges::find(values, input.value) == values.end();
      if (!resized && t.is_tensor() && t.dtype == like.dtype && std::ranges::equal(t.sizes(), like.sizes()))
        given.push_back(input.value);
    }
    if (!given.empty() && c_.below(2) == 0) v = c_.pick(given);
    Sizes sizes;
    for (Dim d : like.sizes()) sizes.push_back(d.constant());
    v = with_sizes(*s.graph, v, sizes, c_);
    if (v != kNone) v = with_dtype(*s.graph, v, like.dtype);
    if (v == kNone) throw UserError("no value of this type");
    // What lies in memory of another value may be returned as it is too: who runs the sub-graph makes it one of its
    // own.
    const bool own = s.graph->storage(v) == v && s.graph->value(v).producer != kNone;
    if (!own && c_.flip()) {
      Arg self = Arg::of_value(v);
      v = s.graph->node(call(*s.graph, kCopy, {&self, 1})).result();
    }
    return v;
  }

  // What a sub-graph writes to no other operand may share memory with; nor may its elements, as those of what the other
  // branch asked for, to read it.
  void keep_writes_apart(const Sub& s) const {
    for (const Input& input : s.graph->inputs())
      if (input.mutated && elements_meet(s.graph->type(input.value)))
        throw UserError("what the sub-graph writes to shares places");
    for (size_t i = 0; i < std::min(operands_.size(), s.graph->inputs().size()); ++i)
      for (size_t k = 0; s.graph->inputs()[i].mutated && k < operands_.size(); ++k)
        if (is_constant(graph_, operands_[i]) || (k != i && shares_memory(graph_, operands_[k], operands_[i])))
          throw UserError("operands share what the sub-graph writes to, or it is a constant");
    for (size_t i = 0; i < std::min(operands_.size(), s.graph->inputs().size()); ++i)
      if (s.graph->inputs()[i].mutated && &s.graph->type(s.graph->inputs()[i].value) != &graph_.type(operands_[i]))
        throw UserError("what the sub-graph writes to is a copy of its operand, which lies otherwise");
  }

  Arg hand_over(Sub& s) {
    for (size_t i = 0; i < std::min(operands_.size(), s.graph->inputs().size()); ++i) {
      if (!s.graph->inputs()[i].mutated) continue;  // a write to what it was called with
      const ValueId storage = graph_.storage(operands_[i]);
      for (size_t k = 0; k < graph_.inputs().size(); ++k)
        if (graph_.inputs()[k].value == storage) graph_.input(k).mutated = true;
    }
    graph_.subgraphs.push_back(std::move(s.graph));
    return Arg::of_graph(static_cast<uint32_t>(graph_.subgraphs.size() - 1));
  }
  void made(NodeId id) {
    for (uint16_t i = 0; i < graph_.node(id).result_count; ++i) {
      ValueId v = graph_.node(id).result(i);
      if (graph_.type(v).kind == TypeKind::list) continue;
      if (graph_.type(v).kind == TypeKind::token) outer_.token = v;
      outer_.add(v);
    }
  }

  ValueId perhaps_a_vector(Graph& graph, ValueId number) {
    if (c_.below(4) != 3) return number;
    const Arg args[] = {Arg::of_value(number), Arg::of_int(0)};
    return graph.node(call(graph, kVector, args)).result();
  }

  // One bool, with a dim of its own now and then.
  ValueId predicate() {
    if (c_.flip()) {
      Arg self = Arg::of_value(c_.pick(outer_.values));
      if (!is_complex(graph_.type(self.value()).dtype))
        return perhaps_a_vector(graph_, graph_.node(call(graph_, kAny, {&self, 1})).result());
    }
    const DimVec sizes(c_.below(4) == 3 ? 1 : 0, Dim(1));
    ValueId v = graph_.add_input("p" + std::to_string(graph_.inputs().size()),
                                 graph_.context().tensor(contiguous_tensor(Dtype::b8, sizes)));
    graph_.input(graph_.inputs().size() - 1).init = {Initialiser::integers, 0, 1, c_.below(1u << 16)};
    return v;
  }

  void branch() {
    std::vector<const Type*> types = operand_types();
    ValueId p = predicate();
    Sub yes = start("yes", types);
    grow_(yes.growth, 1 + c_.below(4));
    lift_inputs(yes, types);
    Sub no = start("no", types);
    grow_(no.growth, c_.below(4));
    lift_inputs(no, types);
    give_inputs(yes, types);
    std::vector<Arg> a, b;
    size_t count = 1 + c_.below(2);
    for (size_t i = 0; i < count; ++i) {
      ValueId model = c_.pick(yes.growth.values);
      a.push_back(Arg::of_value(result(yes, yes.graph->type(model))));
      b.push_back(Arg::of_value(result(no, yes.graph->type(a.back().value()))));
    }
    if (yes.growth.token != kNone) {
      a.push_back(Arg::of_value(yes.growth.token));
      b.push_back(Arg::of_value(no.growth.token));
    }
    yes.graph->set_outputs(a);
    no.graph->set_outputs(b);
    keep_writes_apart(yes);
    keep_writes_apart(no);
    Arg args[] = {Arg::of_value(p), hand_over(yes), hand_over(no), graph_.context().values(operands_)};
    made(call(graph_, kCond, args));
  }

  // A few rounds: the counter starts anywhere from 0 to 4, and ends at 3.
  void loop() {
    const Type* counter = graph_.context().tensor(contiguous_tensor(Dtype::i64, {}));
    ValueId start_at = graph_.add_input("n" + std::to_string(graph_.inputs().size()), counter);
    graph_.input(graph_.inputs().size() - 1).init = {Initialiser::integers, 0, 4, c_.below(1u << 16)};
    operands_.insert(operands_.begin(), start_at);
    const size_t carried = operands_.size();
    std::vector<const Type*> types = operand_types();
    Sub body = start("body", types);
    const ValueId count = body.graph->inputs()[0].value;
    std::erase(body.growth.values, count);
    grow_(body.growth, 1 + c_.below(4));
    lift_inputs(body, types);
    Arg next[] = {Arg::of_value(count), Arg::of_int(1)};
    std::vector<Arg> results{Arg::of_value(body.graph->node(call(*body.graph, kNext, next)).result())};
    if (c_.flip() || !handed_on(body, types, carried, results))
      for (size_t i = 1; i < carried; ++i) results.push_back(Arg::of_value(result(body, *types[i])));
    body.graph->set_outputs(results);
    Sub test = start("test", types);
    Arg less[] = {Arg::of_value(test.graph->inputs()[0].value), Arg::of_int(3)};
    Arg verdict =
        Arg::of_value(perhaps_a_vector(*test.graph, test.graph->node(call(*test.graph, kLess, less)).result()));
    test.graph->set_outputs({&verdict, 1});
    std::span<const ValueId> all = operands_;
    Arg args[] = {hand_over(test), hand_over(body), graph_.context().values(all.first(carried)),
                  graph_.context().values(all.subspan(carried))};
    made(call(graph_, kWhile, args));
  }

  // Along the first dim of a sequence that has one.
  void scan() {
    std::vector<ValueId> sequences;
    for (ValueId v : outer_.values)
      if (graph_.type(v).rank() > 0 && graph_.type(v).sizes()[0].constant() > 0 &&
          std::ranges::none_of(graph_.type(v).strides(), [](Dim s) { return s.is(0); }))
        sequences.push_back(v);
    if (sequences.empty()) return branch();
    const ValueId xs = c_.pick(sequences);
    const ValueId last = operands_.back();
    operands_.resize(1);
    if (graph_.type(last).kind == TypeKind::token) operands_.push_back(last);
    const size_t carried = operands_.size();
    std::vector<const Type*> types = operand_types();
    const Type& whole = graph_.type(xs);
    types.push_back(graph_.context().tensor(contiguous_tensor(whole.dtype, whole.sizes().subspan(1))));
    operands_.push_back(xs);
    Sub step = start("step", types);
    grow_(step.growth, 1 + c_.below(4));
    lift_inputs(step, types);
    std::vector<Arg> results;
    for (size_t i = 0; i < carried; ++i) results.push_back(Arg::of_value(result(step, *types[i])));
    if (c_.flip()) results.push_back(Arg::of_value(result(step, step.graph->type(c_.pick(step.growth.values)))));
    step.graph->set_outputs(results);
    std::span<const ValueId> all = operands_;
    Arg args[] = {hand_over(step), graph_.context().values(all.first(carried)),
                  graph_.context().values(all.subspan(carried, 1)), graph_.context().values(all.subspan(carried + 1))};
    made(call(graph_, kScan, args));
  }

  Growth& outer_;
  Graph& graph_;
  Chooser& c_;
  const GrowSteps& grow_;
  std::vector<ValueId> operands_;
  const size_t subgraphs_before_ = graph_.subgraphs.size();
};
}  // namespace

void control_flow(Growth& growth, Chooser& choose, const GrowSteps& grow) { ControlFlow(growth, choose, grow).make(); }

}  // namespace lenz::fuzz
