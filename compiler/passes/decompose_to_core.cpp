#include <algorithm>
#include <utility>
#include <vector>

#include "compiler/graph/host_kernels.h"
#include "compiler/graph/lazy_views.h"
#include "compiler/ops/looks_at_memory.h"
#include "compiler/passes/expand_node.h"
#include "compiler/passes/joint/node_maker.h"
#include "compiler/passes/pass.h"
#include "compiler/passes/written_storage.h"

namespace lenz {

Pass functionalise();

namespace {

// One node if it is none of level core: by its definition, or element by element. What the definition says is looked
// at in turn.
class Decomposer {
 public:
  Decomposer(Graph& graph, PassContext& context) : graph_(graph), context_(context) {}

  void run() {
    expand_all();
    // A definition may write to what it made itself, or, in the middle of the graph, to an input.
    bool early = writes_early();
    if (early) graph_.level = Level::torch;
    if (writes_ || early) {
      functionalise().run(graph_, context_);
      expand_all();  // what writes became
    }
    bool core = true;
    graph_.for_each_node([&](NodeId id) { core = core && stays(graph_.node(id)); });
    for (const auto& sub : graph_.subgraphs) core = core && sub->level == Level::core;
    if (core && graph_.level == Level::aten && context_.allow("level")) graph_.level = Level::core;
    for (const auto& sub : graph_.subgraphs) sub->level = graph_.level;
  }

 private:
  void expand_all() {
    for (NodeId id = graph_.first(); id != kNone;) {
      NodeId previous = graph_.previous(id), next = graph_.node(id).next;
      if (expanded(id)) next = previous == kNone ? graph_.first() : graph_.node(previous).next;
      id = next;
    }
  }

  // Externs say what they are; a write to an input is how a functional graph ends.
  static bool is_core(const Node& node) {
    return !node.op->infer || node.op->has(Trait::core) || node.op->schema.mutates();
  }

  bool stays(const Node& node) const {
    if (is_core(node)) return true;
    if (!context_.products_outside || !has_host_kernel(graph_, node)) return false;
    return !suits_steps(graph_, node, context_.attention_in_steps, context_.few_scores);
  }

  // Whether anything but writes and views stands behind a write.
  bool writes_early() const {
    bool written = false, early = false;
    graph_.for_each_node([&](NodeId id) {
      const OpDef& op = *graph_.node(id).op;
      early = early || (written && !op.schema.mutates() && !op.has(Trait::view));
      written = written || op.schema.mutates();
    });
    return early;
  }

  bool expanded(NodeId id) {
    const Node& node = graph_.node(id);
    const OpDef& op = *node.op;
    if (is_core(node)) {
      if (looks_at_all(id)) return true;
      writes_ = writes_ || (op.schema.mutates() && !ends(node));
      return false;
    }
    if (stays(node)) return false;
    if (op.each) return context_.allow("elements") && expand_elements(graph_, id);
    if (op.decompose.empty()) return false;
    if (!context_.allow("definition")) return false;
    std::string_view packet = op.schema.packet;
    if (expand_node(graph_, id)) {
      context_.count(packet);
      return true;
    }
    context_.count("refused " + op.full_name);
    return false;
  }

  // What looks through strides at a view of elements of another size, parts of complex numbers say, may see what lies
  // beside that view, which no loop makes of elements of that size: it looks at the whole memory as such elements.
  bool looks_at_all(NodeId id) {
    const Node node = graph_.node(id);
    if (!node.op->has(Trait::view) || !looks_at_memory(*node.op) || node.result_count != 1) return false;
    const Type& shown = graph_.type(node.args[0].value());
    ValueId base = node.args[0].value();
    bool resized = false;
    while (const Node* view = looked_through(base)) {
      base = view->args[0].value();
      resized =
          resized || (graph_.type(base).is_tensor() && item_size(graph_.type(base).dtype) != item_size(shown.dtype));
    }
    const Laziness lazy = laziness(graph_, node.result());
    if (!resized || laziness(graph_, base).any() || sees_no_more(graph_.type(node.result()), shown)) return false;
    NodeMaker make(graph_, id);
    try {
      const Dim bytes = extent_of(graph_, graph_.type(base)) * item_size(graph_.type(base).dtype);
      const bool all = shown.offset.is(0) && contiguous_strides(shown.sizes()) == DimVec(shown.strides()) &&
                       numel(shown.sizes()) == floor_div(bytes, item_size(shown.dtype));
      const ValueId memory = all ? kNone : memory_as(make, base, shown.dtype);
      const Type& type = graph_.type(node.result());
      ValueId made = all ? kNone : strided(make, memory, type.sizes(), type.strides(), type.offset);
      if (made != kNone && lazy.conjugated) made = make.call("aten._conj", {Arg::of_value(made)});   // op name: the bit
      if (made != kNone && lazy.negated) made = make.call("aten._neg_view", {Arg::of_value(made)});  // op name: the bit
      if (!all && !make.guards_added() && &graph_.type(made) == &type && context_.allow("memory")) {
        const Arg result = Arg::of_value(made);
        replace_node(graph_, id, {&result, 1});
        return true;
      }
    } catch (const UserError&) {  // of memory that ends within an element
    }
    make.undo();
    return false;
  }

  // Whether all places of a look are known to be elements of what it looks at.
  bool sees_no_more(const Type& look, const Type& shown) const {
    if (shows_as(look, shown)) return true;
    if (!(contiguous_strides(shown.sizes()) == DimVec(shown.strides()))) return false;
    Dim last = look.offset;
    for (size_t d = 0; d < look.rank(); ++d) last += look.strides()[d] * (look.sizes()[d] - 1);
    const Facts& known = graph_.assumptions.known();
    return known.proves(ge(look.offset, shown.offset)) && known.proves(lt(last, shown.offset + numel(shown.sizes())));
  }

  // Whether both show the same places in the same order, whatever dims that is said in.
  bool shows_as(const Type& a, const Type& b) const {
    const Facts& known = graph_.assumptions.known();
    auto same = [&](Dim x, Dim y) { return x == y || known.proves(eq(x, y)); };
    const auto steps = [&](const Type& type) {
      std::vector<std::pair<Dim, Dim>> made;  // of each run of dims that are one: how many, and how far apart
      for (size_t d = 0; d < type.rank(); ++d) {
        const Dim size = type.sizes()[d], stride = type.strides()[d];
        if (same(size, 1)) continue;
        if (!made.empty() && same(made.back().second, size * stride))
          made.back() = {made.back().first * size, stride};
        else
          made.push_back({size, stride});
      }
      return made;
    };
    return same(a.offset, b.offset) && std::ranges::equal(steps(a), steps(b), [&](const auto& x, const auto& y) {
             return same(x.first, y.first) && same(x.second, y.second);
           });
  }

  // Who shows a value's memory, lazily conjugated or negated too; none if it is its own.
  const Node* looked_through(ValueId v) const {
    const NodeId id = graph_.value(v).producer;
    if (id == kNone) return nullptr;
    const Node& node = graph_.node(id);
    if (is_geometry_view(graph_, node)) return &node;
    const bool lazy = node.op->has(Trait::opaque_view) && node.arg_count > 0 && node.args[0].is_value();
    return lazy && graph_.storage(node.args[0].value()) == graph_.storage(v) ? &node : nullptr;
  }

  ValueId strided(NodeMaker& make, ValueId v, std::span<const Dim> sizes, std::span<const Dim> strides, Dim offset) {
    Context& c = graph_.context();
    return make.call("aten.as_strided", {Arg::of_value(v), c.dims(sizes), c.dims(strides),  // op name: memory as it is
                                         Arg::of_dim(offset)});
  }

  // All places of memory from its start, as a vector of this dtype.
  ValueId memory_as(NodeMaker& make, ValueId base, Dtype dtype) {
    Context& c = graph_.context();
    const Dim places[] = {extent_of(graph_, graph_.type(base))}, step[] = {1};
    ValueId v = strided(make, base, places, step, 0);
    auto count = [&] { return graph_.type(v).sizes()[0]; };
    auto is = [&](Dtype d) { return graph_.type(v).dtype == d; };
    if (is_complex(graph_.type(v).dtype) && !is(dtype)) {
      const Dim parts[] = {count() * 2};
      v = make.call("aten.view_as_real", {Arg::of_value(v)});         // op name: memory as it is
      v = make.call("aten.view", {Arg::of_value(v), c.dims(parts)});  // op name: memory as it is
    }
    const Dtype real = is_complex(dtype) ? to_real(dtype) : dtype;
    auto whole = [&](int64_t of) {
      const Dim kept = floor_div(count(), of) * of;
      if (!(kept == count()))
        v = make.call("aten.slice.Tensor", {Arg::of_value(v), Arg::of_int(0), Arg::of_int(0),  // op name: as above
                                            Arg::of_dim(kept)});
    };
    if (!is(dtype) && !is(real)) {
      whole(std::max<int64_t>(1, item_size(real) / item_size(graph_.type(v).dtype)));
      v = make.call("aten.view.dtype", {Arg::of_value(v), Arg::of_dtype(real)});  // op name: memory as it is
    }
    if (!is(dtype)) {
      whole(2);
      const Dim pairs[] = {floor_div(count(), 2), 2};
      v = make.call("aten.view", {Arg::of_value(v), c.dims(pairs)});  // op name: memory as it is
      v = make.call("aten.view_as_complex", {Arg::of_value(v)});      // op name: memory as it is
    }
    return v;
  }

  bool ends(const Node& node) const {
    for (size_t i = 0; i < node.arg_count; ++i)
      if (node.op->schema.params[i].writes && node.args[i].is_value() &&
          graph_.value(graph_.storage(node.args[i].value())).producer != kNone)
        return false;
    return true;
  }

  Graph& graph_;
  PassContext& context_;
  bool writes_ = false;
};

void run(Graph& graph, PassContext& context) { Decomposer(graph, context).run(); }

}  // namespace

Pass decompose_to_core() {
  return {
      .name = "decompose_to_core",
      .contract =
          "Puts definitions in the place of ops until only core ones are left, elements in the place of lists,\n"
          "and all memory in that of views that others look beside. Asks rows' definitions, types for how it lies.\n"
          "Keeps what a definition keeps: values but for rounding, types to the last stride.",
      .levels = {Level::aten},
      .idempotent = true,
      .rounds = true,
      .run = run};
}

}  // namespace lenz
