// Views and writes away: see the contract below, and written_storage.h for how a storage becomes values.
#include <algorithm>
#include <utility>

#include "compiler/graph/alias.h"
#include "compiler/graph/rewrite.h"
#include "compiler/graph/try_infer.h"
#include "compiler/ops/decompose.h"
#include "compiler/ops/rules/each.h"
#include "compiler/ops/rules/reduction.h"
#include "compiler/passes/expand_node.h"
#include "compiler/passes/pass.h"
#include "compiler/passes/written_storage.h"

namespace lenz {

namespace {

bool calls_graphs(const Node& node) {
  return std::ranges::any_of(node.arguments(), [](const Arg& a) { return a.kind == ArgKind::graph; });
}

// Calls visit(ValueId) for every operand that the node writes to; of control flow, those that a sub-graph's input
// marked `mut` stands for. What a functional graph ends with does not count.
template <class F>
void for_each_target(const Graph& graph, const Node& node, F&& all) {
  auto visit = [&](ValueId v) {
    if (graph.level == Level::torch || graph.value(graph.storage(v)).producer != kNone) all(v);
  };
  for (size_t i = 0; i < node.arg_count; ++i)
    if (writes_operand(*node.op, node.arguments(), i)) for_each_value(node.args[i], visit);
  if (!calls_graphs(node)) return;
  SmallVec<ValueId, 8> operands;
  for (const Arg& a : node.arguments()) {
    if (a.kind == ArgKind::value_list)
      for (ValueId v : a.value_list()) operands.push_back(v);
    if (a.kind == ArgKind::arg_list)
      for (const Arg& e : a.arg_list()) operands.push_back(e.is_value() ? e.value() : kNone);
    if (a.kind == ArgKind::int_list)
      for (size_t k = 0; k < a.count; ++k) operands.push_back(kNone);
  }
  for (const Arg& a : node.arguments()) {
    if (a.kind != ArgKind::graph) continue;
    auto formals = graph.subgraphs[a.graph()]->inputs();
    for (size_t i = 0; i < std::min(formals.size(), operands.size()); ++i)
      if (formals[i].mutated && operands[i] != kNone) visit(operands[i]);
  }
}

class Functionaliser {
 public:
  Functionaliser(Graph& graph, PassContext& context) : graph_(graph), context_(context) {}

  void run() {
    drop_empty_writes();
    expand_writing_definitions();
    bool functional = true;
    if (has_writes()) {
      spell_lists();
      expand_shared_lists();
      expand_views();
      part_results();
      Storages storages(graph_);
      StorageValues values(graph_, storages);
      storages_ = &storages;
      values_ = &values;
      choose();
      leave_given_back();
      first_fresh_ = static_cast<NodeId>(graph_.node_capacity());
      for (WrittenStorage& s : values.all()) {
        if (!s.written) continue;
        if (!s.stuck && context_.allow("storage")) {
          values.take(s);
        } else {
          functional = false;
        }
      }
      graph_.for_each_node([&](NodeId id) {
        if (id >= first_fresh_) return;
        if (graph_.level != Level::torch && graph_.node(id).op->schema.mutates() && first_copy_ == kNone &&
            !writes_what_was_made(id))
          first_copy_ = id;
        visit(id);
      });
      finish();
    }
    for (const auto& sub : graph_.subgraphs) functional = functional && sub->level != Level::torch;
    if (functional && graph_.level == Level::torch && context_.allow("level")) graph_.level = Level::aten;
    for (const auto& sub : graph_.subgraphs) sub->level = graph_.level;
  }

 private:
  // An op that writes to the tensors of a list that is empty.
  void drop_empty_writes() {
    graph_.for_each_node([&](NodeId id) {
      const Node& node = graph_.node(id);
      if (node.op->variant == VariantKind::functional) return;
      bool needed = false;
      for_each_written(graph_, node, [&](ValueId) { needed = true; });
      for (uint16_t i = 0; i < node.result_count; ++i) needed |= !graph_.value(node.result(i)).users.empty();
      if (!needed && context_.allow("nothing")) graph_.erase(id);
    });
  }

  bool has_writes() const {
    bool any = false;
    graph_.for_each_node([&](NodeId id) { for_each_target(graph_, graph_.node(id), [&](ValueId) { any = true; }); });
    return any;
  }
  // Ops whose definition says what they write, to an operand or to nobody else's tensors.
  void expand_writing_definitions() {
    bool again = true;
    while (again) {
      again = false;
      graph_.for_each_node([&](NodeId id) {
        const Node node = graph_.node(id);
        if (base_writes(node)) {
          if (!splits(node) || !context_.allow("definition")) return;
          split(id);
          again = true;
          return;
        }
        bool own = writes_operands(*node.op, node.arguments()) && !node.op->base && !node.op->decompose.empty();
        if (own && context_.allow("definition") && expand_node(graph_, id)) again = true;
      });
    }
  }

  // Whether what the op is derived from writes to operands itself.
  static bool base_writes(const Node& node) {
    const OpDef* base = node.op->base;
    return base && writes_operands(*base, node.arguments().first(base->schema.params.size()));
  }
  // Where the results of what a derived op is derived from go.
  static size_t first_target(const Node& node) {
    return node.op->variant == VariantKind::in_place ? 0 : node.op->base->schema.params.size();
  }
  // Whether its own writes are copies: none resizes its tensor.
  bool splits(const Node& node) const {
    for (uint16_t k = 0; k < node.result_count; ++k)
      if (&graph_.type(node.args[first_target(node) + k].value()) != &graph_.type(node.result(k))) return false;
    return true;
  }
  // Makes what the op is derived from, which writes to operands of its own, and copies what it gives.
  void split(NodeId id) {
    const Node node = graph_.node(id);
    const OpDef& base = *node.op->base;
    NodeId made = graph_.insert(id, base, node.arguments().first(base.schema.params.size()), provenance(graph_, id));
    SmallVec<Arg, 4> results;
    for (uint16_t k = 0; k < node.result_count; ++k) {
      const Arg copy[] = {node.args[first_target(node) + k], Arg::of_value(graph_.node(made).result(k))};
      results.push_back(Arg::of_value(call(graph_, id, "aten.copy_", copy, 0)));  // op name: the write alone
    }
    replace_node(graph_, id, results);
  }

  // Lists of tensors, tensor by tensor: each may be written to by itself.
  void spell_lists() {
    auto spelled = [&](const Arg& a, NodeId before) {
      if (!a.is_value() || graph_.type(a.value()).kind != TypeKind::list) return a;
      SmallVec<ValueId, 8> items;
      for (size_t i = 0; i < graph_.type(a.value()).elements().size(); ++i) {
        const Arg args[] = {a, Arg::of_int(static_cast<int64_t>(i))};
        items.push_back(call(graph_, before, "lenz.getitem", args, 0));  // op name: an element of a list
      }
      return graph_.context().values(items);
    };
    graph_.for_each_node([&](NodeId id) {
      if (graph_.node(id).op->has(Trait::structural)) return;
      SmallVec<Arg, 8> args(graph_.node(id).arguments());
      for (Arg& a : args) a = spelled(a, id);
      graph_.set_args(id, args);
    });
    std::vector<Arg> outputs(graph_.outputs().begin(), graph_.outputs().end());
    for (Arg& a : outputs) a = spelled(a, kNone);
    graph_.set_outputs(outputs);
  }

  // Writes to lists whose tensors share memory, with each other or with what other elements are made of: one after the
  // other, as eager makes them.
  void expand_shared_lists() {
    auto shared = [&](const Node& node) {
      const auto& params = node.op->schema.params;
      for (size_t t = 0; t < params.size(); ++t) {
        if (!params[t].writes || node.args[t].kind != ArgKind::value_list) continue;
        for (const Arg& other : node.arguments()) {
          if (other.kind != ArgKind::value_list) continue;
          for (size_t i = 0; i < node.args[t].count; ++i)
            for (size_t k = 0; k < other.count; ++k)
              if (i != k && classes_shared(node.args[t].value_list()[i], other.value_list()[k])) return true;
        }
      }
      return false;
    };
    graph_.for_each_node([&](NodeId id) {
      const Node& node = graph_.node(id);
      bool in_place = node.op->each && node.op->variant == VariantKind::in_place;
      bool apart = in_place && (shared(node) || element_row(*node.op, graph_.ops()).redefined());
      if (apart && context_.allow("elements")) expand_elements(graph_, id);
    });
  }
  bool classes_shared(ValueId a, ValueId b) {
    if (!classes_) classes_.emplace(graph_);
    return classes_->shared(a, b);
  }

  // Views that their definition says by others: only those need to know how to be written through.
  void expand_views() {
    AliasClasses classes(graph_);
    SmallVec<NodeId, 16> again;
    graph_.for_each_node([&](NodeId id) { again.push_back(id); });
    while (!again.empty()) {
      NodeId id = again.back();
      again.pop_back();
      const Node& node = graph_.node(id);
      if (node.result_count == 0) continue;
      bool view = (node.op->has(Trait::view) || node.op->has(Trait::maybe_view)) && !node.op->decompose.empty();
      // Views of a copy, as a list of them may be, share its memory.
      const bool alone = graph_.storage(node.result()) == node.result() &&
                         !(view && graph_.type(node.result()).kind == TypeKind::list);
      if (!view || !node.op->written_base.empty() || node.op->schema.mutates() || alone ||
          !classes.is_written(node.result()))
        continue;
      NodeId after = graph_.previous(id);
      if (!context_.allow("view") || !expand_node(graph_, id)) continue;
      for (NodeId at = after == kNone ? graph_.first() : graph_.node(after).next; at != kNone && at > id;
           at = graph_.node(at).next)
        again.push_back(at);
    }
  }

  // An op that hands on an operand beside fresh results (a dropout of nothing) hands on that of a copy, and who needs
  // it asks for the operand itself: as views are made again the fresh results would be made again too.
  void part_results() {
    AliasClasses classes(graph_);
    graph_.for_each_node([&](NodeId id) {
      const Node node = graph_.node(id);
      bool fresh = false;
      for (uint16_t i = 0; i < node.result_count; ++i) fresh |= graph_.storage(node.result(i)) == node.result(i);
      if (!fresh || node.op->schema.mutates()) return;
      for (size_t i = 0; i < node.arg_count; ++i) {
        if (!node.args[i].is_value()) continue;
        const ValueId operand = node.args[i].value();
        for (uint16_t k = 0; k < node.result_count; ++k) {
          const ValueId handed = node.result(k);
          if (graph_.storage(handed) != graph_.storage(operand) || &graph_.type(handed) != &graph_.type(operand) ||
              !classes.is_written(operand) || !context_.allow("results"))
            continue;
          SmallVec<Arg, 8> args(node.arguments());
          const Arg self[] = {node.args[i]};
          args[i] = Arg::of_value(call(graph_, id, "aten.clone", self, 0));  // op name: memory of its own
          const NodeId parted = graph_.insert(id, *node.op, args, provenance(graph_, id));
          SmallVec<Arg, 4> results;
          for (uint16_t r = 0; r < node.result_count; ++r)
            results.push_back(Arg::of_value(r == k ? operand : graph_.node(parted).result(r)));
          return replace_node(graph_, id, results);
        }
      }
    });
  }

  // Which storages are written, and how each is held.
  void choose() {
    graph_.for_each_node([&](NodeId id) {
      for_each_target(graph_, graph_.node(id), [&](ValueId v) {
        if (storages_->storage(v) == Storages::kNoStorage)
          throw Unsupported("a write to an element of the list input " + graph_.value_name(graph_.storage(v)));
        WrittenStorage& s = values_->of(v);
        s.written = true;
        const Node& node = graph_.node(id);
        // An extern, control flow, or what may not be taken apart; an extern that gives its operand another look.
        const bool looks_otherwise = !node.op->infer && node.result_count == 1 && node.args[0].is_value() &&
                                     &graph_.type(node.result()) != &graph_.type(node.args[0].value());
        if ((!node.op->base && !gives_a_size(node)) || base_writes(node) || looks_otherwise) {
          s.stuck = true;
          context_.count("not functional: " + node.op->full_name);
        }
        for (ValueId at = storages_->itself(v); !storages_->link(at).first();
             at = storages_->itself(storages_->link(at).of))
          s.flat |= graph_.node(storages_->link(at).by).op->written_base.empty();
      });
    });
    leave_whole();
    for (ValueId v = 0; v < graph_.value_count(); ++v) {
      if (storages_->storage(v) == Storages::kNoStorage) continue;
      WrittenStorage& s = values_->of(v);
      const StorageLink& link = storages_->link(v);
      if (link.by != kNone) s.flat |= looks_at_storage(*graph_.node(link.by).op);
    }
    for (WrittenStorage& s : values_->all()) {
      if (!s.written) continue;
      s.flat |= s.inputs.size() > 1;
      NodeId producer = graph_.value(s.first).producer;
      const Type& first = graph_.type(s.first);
      // What is made has its elements apart, but by who is told strides, or takes them over with all that memory holds.
      const bool known = std::ranges::all_of(first.sizes(), &Dim::is_constant) &&
                         std::ranges::all_of(first.strides(), &Dim::is_constant);
      const bool dense = !known && producer != kNone && graph_.node(producer).op->schema.find("stride") < 0;
      s.flat |= !dense && !lies_apart(graph_, first);
    }
  }

  // A write that stays is a copy, which gives nobody another size: an op that does stays with all that it writes.
  void leave_whole() {
    for (bool again = true; std::exchange(again, false);)
      graph_.for_each_node([&](NodeId id) {
        const Node& node = graph_.node(id);
        bool stays = false;
        for_each_target(graph_, node, [&](ValueId v) {
          for (uint16_t i = 0; i < node.result_count && values_->of(v).stuck; ++i)
            stays = stays || (graph_.storage(node.result(i)) == graph_.storage(v) &&
                              !std::ranges::equal(graph_.type(node.result(i)).sizes(), graph_.type(v).sizes()));
        });
        if (!stays) return;
        for_each_target(graph_, node, [&](ValueId v) {
          again = again || !values_->of(v).stuck;
          values_->of(v).stuck = true;
        });
      });
  }

  // Beside writes that stay, inputs may have got their final values already, by the copies that `give_back` makes:
  // taken again they would be given back by way of one more copy, or look at shared memory, each time that the pass
  // runs.
  void leave_given_back() {
    if (std::ranges::none_of(values_->all(), [](const WrittenStorage& s) { return s.written && s.stuck; })) return;
    enum class Seen : uint8_t { nothing, copy, more };
    std::vector<Seen> seen(values_->all().size(), Seen::nothing);
    graph_.for_each_node([&](NodeId id) {
      const Node& node = graph_.node(id);
      const bool copies = gives_final_value(node);
      SmallVec<ValueId, 4> targets;
      for_each_target(graph_, node, [&](ValueId v) { targets.push_back(v); });
      for (size_t i = 0; i < node.arg_count; ++i)
        for_each_value(node.args[i], [&](ValueId v) {
          if (storages_->storage(v) == Storages::kNoStorage) return;
          Seen& of = seen[storages_->storage(v)];
          const bool writes = std::ranges::find(targets, v) != targets.end();
          // Behind the copies may stand views to return: who reads one looks at the storage itself.
          const bool views = node.result_count == 1 && storages_->storage(node.result()) == storages_->storage(v);
          if (copies && i == 0) {
            of = of == Seen::more ? of : Seen::copy;
          } else if (writes || (of == Seen::copy && !views)) {
            of = Seen::more;
          }
        });
    });
    for (size_t s = 0; s < seen.size(); ++s)
      if (seen[s] == Seen::copy) values_->all()[s].written = false;
  }
  // A copy to an input of what is like it.
  bool gives_final_value(const Node& node) const {
    if (node.op->full_name != "aten.copy_") return false;  // op name: what it gives back by
    const ValueId to = node.args[0].value(), from = node.args[1].value();
    const Type &target = graph_.type(to), &source = graph_.type(from);
    return graph_.value(to).producer == kNone && storages_->storage(to) != storages_->storage(from) &&
           target.dtype == source.dtype && std::ranges::equal(target.sizes(), source.sizes());
  }

  void visit(NodeId id) {
    const Node node = graph_.node(id);
    bool writes = false, view = node.result_count > 0;
    for_each_target(graph_, node, [&](ValueId v) { writes = writes || values_->taken(v); });
    for (uint16_t i = 0; i < node.result_count; ++i)
      view = view && values_->taken(node.result(i)) && !storages_->link(node.result(i)).first();
    if (writes) return write(id);
    if (view) {  // made again where somebody asks
      gone_.push_back(id);
      return;
    }
    read(id);
  }

  bool writes_what_was_made(NodeId id) const {
    bool made = false;
    for_each_target(graph_, graph_.node(id), [&](ValueId) { made = true; });
    return made;
  }

  void read(NodeId id) {
    const Node node = graph_.node(id);
    // Who ends a functional graph by a copy to an input reads what stood before the first of them: nothing behind it
    // writes to anything else, and views that are made again would stand among them.
    const NodeId before = first_copy_ == kNone ? id : first_copy_;
    bool touched = false, differs = false;
    for (const Arg& a : node.arguments()) for_each_value(a, [&](ValueId v) { touched = touched || values_->taken(v); });
    if (!touched) return;
    SmallVec<Arg, 8> args;
    for (const Arg& a : node.arguments())
      args.push_back(map_values(graph_.context(), a, [&](ValueId v) {
        ValueId now = values_->elements(v, before);
        differs |= &graph_.type(now) != &graph_.type(v);
        return now;
      }));
    if (differs && !gives_the_same(node, args)) {
      args.clear();
      for (const Arg& a : node.arguments())
        args.push_back(map_values(graph_.context(), a, [&](ValueId v) { return values_->current(v, before); }));
    }
    graph_.set_args(id, args);
  }

  // Whether operands that lie elsewhere leave the results as they are.
  bool gives_the_same(const Node& node, std::span<const Arg> args) {
    auto results = try_infer(graph_, *node.op, args);
    if (!results || results->size() != node.result_count) return false;
    for (uint16_t i = 0; i < node.result_count; ++i)
      if ((*results)[i].type != &graph_.type(node.result(i)) || (*results)[i].alias_of != kNone) return false;
    return true;
  }

  void write(NodeId id) {
    const Node node = graph_.node(id);
    if (node.op->schema.returns.empty()) return write_list(id);
    uint32_t origin = provenance(graph_, id);
    if (gives_a_size(node)) {
      values_->assign(node.args[0].value(), node.result(), values_->current(node.args[1].value(), id), id, origin);
      gone_.push_back(id);
      return;
    }
    const OpDef& functional = *node.op->base;
    size_t count = functional.schema.params.size();
    SmallVec<Arg, 8> args;
    const bool rule = functional.infer != nullptr;  // else nobody knows what the op makes of other strides
    for (const Arg& a : node.arguments().first(count))
      args.push_back(map_values(graph_.context(), a,
                                [&](ValueId v) { return rule ? values_->elements(v, id) : values_->current(v, id); }));
    SmallVec<const Type*, 2> types;
    if (!rule) {
      const Type& t = graph_.type(node.result());
      types.push_back(graph_.context().tensor(contiguous_tensor(t.dtype, t.sizes(), t.device)));
      if (&graph_.type(args[0].value()) != types[0]) args[0] = Arg::of_value(dense_copy(id, args[0]));
    }
    compute_as_written(id, node, functional, args);
    SmallVec<Arg, 4> made;
    if (node.op->redefined()) {
      made = expand(graph_, id, *node.op, args, origin);
    } else if (adds_up_as_written(node, functional, args)) {
      made = expand(graph_, id, functional, args, origin);
      write_results(graph_, made, {{graph_.type(node.args[count].value()).dtype}});
    } else {
      NodeId computed = graph_.insert(id, functional, args, origin, types);
      for (uint16_t k = 0; k < node.result_count; ++k) made.push_back(Arg::of_value(graph_.node(computed).result(k)));
    }
    size_t first = first_target(node);
    for (uint16_t k = 0; k < node.result_count; ++k) {
      ValueId target = node.args[first + k].value(), value = made[k].value();
      if (NameId name = graph_.value(node.result(k)).name; name != kNone) {
        graph_.set_name(node.result(k), kNone);
        graph_.set_name(value, name);
      }
      values_->assign(target, node.result(k), value, id, origin);
      if (!values_->taken(target)) graph_.replace_uses(node.result(k), storages_->itself(target));
    }
    gone_.push_back(id);
  }

  ValueId dense_copy(NodeId before, const Arg& of) {
    const Keyword dense{"memory_format", Arg::of_memory_format(MemoryFormat::contiguous)};
    return call(graph_, before, "aten.clone", {&of, 1}, 0, {&dense, 1});  // op name: the copy itself
  }

  // Whether it is a definition whose last step, a sum, writes to what has other numbers than the op's own result.
  bool adds_up_as_written(const Node& node, const OpDef& functional, std::span<const Arg> args) const {
    const bool by_steps = functional.has(Trait::composite) && functional.has(Trait::reduction) &&
                          !functional.wide_steps && functional.schema.find("dtype") < 0;
    if (!by_steps || node.op->variant != VariantKind::out || node.result_count != 1) return false;
    const Dtype written = graph_.type(node.args[args.size()].value()).dtype;
    const auto own = try_infer(graph_, functional, args);
    return own && (*own)[0].type->is_tensor() && is_floating((*own)[0].type->dtype) && is_floating(written) &&
           info((*own)[0].type->dtype).mantissa_bits != info(written).mantissa_bits;
  }

  // An op that is told no dtype computes in that of the tensor that it writes to; some ask what they ask of that.
  void compute_as_written(NodeId before, const Node& node, const OpDef& functional, SmallVec<Arg, 8>& args) {
    if (node.op->variant != VariantKind::out) return;
    const Dtype written = graph_.type(node.args[args.size()].value()).dtype;
    if (rule::asks_what_it_writes(functional, written)) {
      const Type& asked = graph_.type(args[0].value());
      const Truth single = asked.dtype == written ? Truth::yes : is_single(numel(asked.sizes()));
      if (single == Truth::yes) return;
      const Keyword dtype{"dtype", Arg::of_dtype(written)};
      const auto converted = [&](ValueId v) {
        const Arg of = Arg::of_value(v);
        return call(graph_, before, "aten._to_copy", {&of, 1}, 0, {&dtype, 1});  // op name: the conversion itself
      };
      const ValueId element = args[0].value(), byte = converted(element);
      args[0] = Arg::of_value(single == Truth::no ? byte : one_itself(before, element, byte, converted));
      return;
    }
    const int dtype = functional.schema.find("dtype");
    if (dtype < 0 || !args[static_cast<size_t>(dtype)].is_none()) return;
    auto untold = try_infer(graph_, functional, args);
    if (untold && (*untold)[0].type->is_tensor() && (*untold)[0].type->dtype != written)
      args[static_cast<size_t>(dtype)] = Arg::of_dtype(written);
  }

  Truth is_single(Dim count) {
    if (count.is_constant()) return count.is(1) ? Truth::yes : Truth::no;
    const Cond single = eq(count, 1);
    if (!graph_.assumptions.is_open(single)) return graph_.assumptions.decide(single) ? Truth::yes : Truth::no;
    return graph_.assumptions.prove(single);
  }

  // Bytes of several elements; of one, which only the run tells, whether that is other than zero.
  template <class Convert>
  ValueId one_itself(NodeId before, ValueId element, ValueId byte, Convert&& converted) {
    const auto made = [&](std::string_view op, std::initializer_list<Arg> of, std::span<const Keyword> as = {}) {
      return call(graph_, before, op, of, 0, as);
    };
    const Type& t = graph_.type(element);
    const Keyword number[] = {{"dtype", Arg::of_dtype(Dtype::i64)}, {"device", Arg::of_device(t.device)}};
    const Arg all = Arg::of_dim(numel(t.sizes())), none = graph_.context().dims({});
    const ValueId count = made("aten.full", {none, all}, number);                           // op name: what eager does
    const ValueId single = made("aten.eq.Scalar", {Arg::of_value(count), Arg::of_int(1)});  // op name: what eager does
    const ValueId other =
        converted(made("aten.ne.Scalar", {Arg::of_value(element), Arg::of_int(0)}));  // op name: what eager does
    return made("aten.where.self", {Arg::of_value(single), Arg::of_value(other), Arg::of_value(byte)});  // op name: so
  }

  // A write to the tensors of a list: the functional row gives a list.
  void write_list(NodeId id) {
    const Node node = graph_.node(id);
    uint32_t origin = provenance(graph_, id);
    const OpDef& functional = *node.op->base;
    size_t count = functional.schema.params.size();
    size_t at = first_target(node);
    std::vector<uint32_t> seen;
    for (ValueId v : node.args[at].value_list()) {
      uint32_t s = storages_->storage(v);
      if (std::ranges::find(seen, s) != seen.end())
        throw Unsupported(node.op->full_name + " writes to tensors that share memory");
      seen.push_back(s);
    }
    SmallVec<Arg, 8> args;
    for (const Arg& a : node.arguments().first(count))
      args.push_back(map_values(graph_.context(), a, [&](ValueId v) { return values_->elements(v, id); }));
    ValueId list = graph_.node(graph_.insert(id, functional, args, origin)).result();
    SmallVec<ValueId, 8> targets(node.args[at].value_list()), items;
    for (size_t i = 0; i < targets.size(); ++i) {
      const Arg item[] = {Arg::of_value(list), Arg::of_int(static_cast<int64_t>(i))};
      items.push_back(call(graph_, id, "lenz.getitem", item, origin));  // op name: an element of a list
    }
    for (size_t i = 0; i < targets.size(); ++i) values_->assign(targets[i], targets[i], items[i], id, origin);
    gone_.push_back(id);
  }

  void finish() {
    std::vector<Arg> outputs(graph_.outputs().begin(), graph_.outputs().end());
    auto stand_for = [&](bool inputs) {  // views of inputs show their final values: they stand behind the copies
      for (Arg& a : outputs)
        a = map_values(graph_.context(), a, [&](ValueId v) {
          WrittenStorage* storage = values_->taken(v);
          if (!storage || storage->written_inputs.empty() == inputs) return v;
          ValueId now = values_->current(v, inputs ? kNone : first_copy_);
          LENZ_CHECK(&graph_.type(now) == &graph_.type(v), "an output lies otherwise than before");
          return now;
        });
    };
    stand_for(false);
    values_->give_back();
    stand_for(true);
    graph_.set_outputs(outputs);
    graph_.erase_all(gone_);
    for (NodeId at = graph_.last(); at != kNone;) {
      const Node& node = graph_.node(at);
      NodeId before = graph_.previous(at);
      bool used = at < first_fresh_ || effects(graph_, node).any();
      for (uint16_t i = 0; i < node.result_count; ++i) used = used || !graph_.value(node.result(i)).users.empty();
      if (!used) graph_.erase(at);
      at = before;
    }
  }

  Graph& graph_;
  PassContext& context_;
  const Storages* storages_ = nullptr;
  StorageValues* values_ = nullptr;
  NodeId first_fresh_ = 0;
  NodeId first_copy_ = kNone;  // to an input, with which a functional graph ends
  std::vector<NodeId> gone_;
  std::optional<AliasClasses> classes_;  // of lists' elements, made when first asked
};

void run(Graph& graph, PassContext& context) { Functionaliser(graph, context).run(); }

}  // namespace

Pass functionalise() {
  return {.name = "functionalise",
          .contract =
              "Turns writes into values: what a tensor holds after a write is a value of its own, inputs get\n"
              "their final ones at the end. Asks what rows write, their written_base and places in memory.\n"
              "Keeps every result, and what the caller sees of memory.",
          .levels = {Level::torch},
          .idempotent = true,
          .run = run};
}

}  // namespace lenz
