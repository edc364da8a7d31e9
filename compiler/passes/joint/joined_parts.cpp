#include <algorithm>

#include "compiler/graph/match.h"
#include "compiler/passes/joint/join_patterns.h"
#include "compiler/passes/joint/node_maker.h"
#include "compiler/passes/joint/operands.h"
#include "compiler/passes/pass.h"
#include "compiler/passes/written_storage.h"

namespace lenz {

namespace {

constexpr size_t kAncestors = 6;  // how far up a chain of views we look
constexpr size_t kParts = 1024;   // of one list
constexpr size_t kSunk = 16;      // parts of which each gets a call of its own

struct Join {
  std::vector<ValueId> parts;
  size_t dim = 0;       // of the result
  bool stacks = false;  // along a dim that the parts have not
};

// `into` with a slice replaced by `part`.
struct Written {
  ValueId into = kNone, part = kNone;
  size_t dim = 0;
  int64_t start = 0, end = 0;
};

// Whoever takes a tensor apart and joins the parts has the tensor; whoever joins parts and takes one out has the part.
// Types say which part of what a view is: no op is asked for by name but those that join.
class Joiner {
 public:
  Joiner(Graph& graph, PassContext& context) : graph_(graph), context_(context), aliases_(graph), bases_(graph) {}

  void run() {
    graph_.for_each_node([&](NodeId id) {
      try {
        visit(id);
      } catch (const UserError&) {  // where views lie takes an expression that is too large
        context_.count("refused:sizes");
      }
    });
  }

 private:
  void visit(NodeId id) {
    if (auto join = join_at(id)) {
      if (!flatten(id, *join)) whole(id, *join);
      return;
    }
    if (sink(id)) return;
    const Node& node = graph_.node(id);
    if (node.result_count == 1 && is_geometry_view(graph_, node) && graph_.type(node.result()).is_tensor()) part(id);
  }

  const Type& type(ValueId v) const { return graph_.type(v); }

  std::optional<Join> join_at(NodeId id) const {
    const RuleSet& rules = join_patterns();
    for (uint32_t index : rules.rooted_at(*graph_.node(id).op)) {
      auto m = match(graph_, rules, rules.rules()[index], id);
      if (!m || m->rule->name == "written") continue;
      const Arg &parts = m->bound.attrs[0], &dim = m->bound.attrs[1];
      if (parts.kind != ArgKind::value_list || parts.count == 0 || parts.count > kParts) return std::nullopt;
      if (dim.kind != ArgKind::integer || dim.symbolic) return std::nullopt;
      Join join;
      join.stacks = m->rule->name == "stack";
      join.parts.assign(parts.value_list().begin(), parts.value_list().end());
      auto rank = static_cast<int64_t>(type(graph_.node(id).result()).rank());
      join.dim = static_cast<size_t>(dim.i < 0 ? dim.i + rank : dim.i);
      if (join.dim >= static_cast<size_t>(rank)) return std::nullopt;  // vectors of no elements may name any dim
      for (ValueId v : join.parts)  // eager passes by empty vectors among matrices, and promotes dtypes
        if (type(v).rank() + (join.stacks ? 1 : 0) != static_cast<size_t>(rank) ||
            type(v).dtype != type(graph_.node(id).result()).dtype)
          return std::nullopt;
      return join;
    }
    return std::nullopt;
  }

  std::optional<Written> written_at(NodeId id) const {
    if (id == kNone) return std::nullopt;
    const RuleSet& rules = join_patterns();
    for (uint32_t index : rules.rooted_at(*graph_.node(id).op)) {
      auto m = match(graph_, rules, rules.rules()[index], id);
      if (!m || m->rule->name != "written") continue;
      Written w{.into = graph_.node(id).args[0].value(), .part = graph_.node(id).args[1].value()};
      const Type &all = type(w.into), &made = type(graph_.node(id).result());
      const auto rank = static_cast<int64_t>(all.rank());
      for (const Arg& a : m->bound.attrs)
        if (!a.is_none() && (a.kind != ArgKind::integer || a.symbolic)) return std::nullopt;
      auto number = [&](size_t i, int64_t otherwise) {
        return m->bound.attrs[i].is_none() ? otherwise : m->bound.attrs[i].i;
      };
      const int64_t dim = number(0, 0);
      w.dim = static_cast<size_t>(dim < 0 ? dim + rank : dim);
      if (w.dim >= static_cast<size_t>(rank) || number(3, 1) != 1) return std::nullopt;
      if (!all.sizes()[w.dim].is_constant() || all.dtype != made.dtype || type(w.part).dtype != made.dtype)
        return std::nullopt;
      if (!lies_apart(graph_, made)) return std::nullopt;  // what is written to one element shows in others
      const int64_t size = all.sizes()[w.dim].constant();
      auto within = [&](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + size : at, 0, size); };
      w.start = within(number(1, 0));
      w.end = std::max(w.start, within(number(2, size)));
      return w;
    }
    return std::nullopt;
  }

  // cat([cat([a, b]), c]) along one dim is cat([a, b, c]).
  bool flatten(NodeId id, const Join& join) {
    std::vector<ValueId> parts;
    for (ValueId v : join.parts) {
      NodeId producer = graph_.value(v).producer;
      auto inner =
          producer == kNone || join.stacks || graph_.value(v).users.size() != 1 ? std::nullopt : join_at(producer);
      if (inner && !inner->stacks && inner->dim == join.dim && !aliases_.is_written(v) && !any_written(inner->parts))
        parts.insert(parts.end(), inner->parts.begin(), inner->parts.end());
      else
        parts.push_back(v);
    }
    if (parts.size() <= join.parts.size() || parts.size() > kParts) return false;
    NodeMaker make(graph_, id);
    ValueId made =
        make.call(join_forms().cat, {graph_.context().values(parts), Arg::of_int(static_cast<int64_t>(join.dim))});
    return take(id, made, make, "list of lists");
  }

  // neg(cat([a, b])), of a cat that nobody else reads, is cat([neg(a), neg(b)]): loops write each part where it
  // belongs, but not behind a cat that has to be whole first. Only of calls that give each element the same bits
  // wherever it lies.
  bool sink(NodeId id) {
    const Node node = graph_.node(id);
    if (!node.op->has(Trait::elementwise) || node.op->has(Trait::random) || node.result_count != 1) return false;
    if (node.op->accuracy != Accuracy::exact && node.op->accuracy != Accuracy::rounded) return false;
    if (effects(graph_, node).any() || !type(node.result()).is_tensor()) return false;
    size_t operands = 0, at = 0;
    for (size_t i = 0; i < node.arg_count; ++i) {
      const Arg& a = node.args[i];
      if (a.kind == ArgKind::value_list || a.kind == ArgKind::arg_list) return false;
      if (a.is_value()) ++operands, at = i;
    }
    if (operands != 1) return false;
    const ValueId joined = node.args[at].value();
    // Eager multiplies complex numbers in vectors and one by one, which round apart.
    const bool complex = lenz::is_complex(type(joined).dtype) || lenz::is_complex(type(node.result()).dtype);
    if (complex && node.op->accuracy != Accuracy::exact) return false;
    const NodeId producer = graph_.value(joined).producer;
    if (producer == kNone || graph_.value(joined).users.size() != 1 || aliases_.is_written(joined)) return false;
    auto join = join_at(producer);
    if (!join || join->parts.size() > kSunk || any_written(join->parts)) return false;
    NodeMaker make(graph_, id);
    SmallVec<ValueId, 8> parts;
    SmallVec<Arg, 8> args(node.arguments());
    for (ValueId part : join->parts) {
      args[at] = Arg::of_value(part);
      parts.push_back(make.call(*node.op, args));
    }
    const Node whole = graph_.node(producer);
    SmallVec<Arg, 8> again(whole.arguments());
    for (Arg& a : again)
      if (a.kind == ArgKind::value_list) a = graph_.context().values(parts);
    return take(id, make.call(*whole.op, again), make, "call of parts");
  }

  bool any_written(std::span<const ValueId> values) {
    return aliases_.any_writes() && std::ranges::any_of(values, [&](ValueId v) { return aliases_.is_written(v); });
  }

  // The type of a view of the parts' base that holds them one behind the other; nothing if they lie otherwise.
  const Type* together(const Join& join) {
    const Type& first = type(join.parts[0]);
    if (!first.is_tensor()) return nullptr;
    ValueId base = bases_.of(join.parts[0]);
    TensorType all = first.tensor();
    Dim step = join.stacks ? type(join.parts[std::min<size_t>(1, join.parts.size() - 1)]).offset - first.offset
                           : first.strides()[join.dim];
    if (join.stacks) {
      if (join.parts.size() < 2) return nullptr;
      all.sizes.insert(join.dim, Dim(static_cast<int64_t>(join.parts.size())));
      all.strides.insert(join.dim, step);
    }
    Dim at = first.offset, length = 0;
    for (ValueId v : join.parts) {
      const Type& t = type(v);
      if (!t.is_tensor() || bases_.of(v) != base || t.dtype != first.dtype || !(t.offset == at)) return nullptr;
      for (size_t d = 0; d < t.rank(); ++d)
        if (!(t.strides()[d] == first.strides()[d]) ||
            (!(t.sizes()[d] == first.sizes()[d]) && (join.stacks || d != join.dim)))
          return nullptr;
      at += join.stacks ? step : step * t.sizes()[join.dim];
      if (!join.stacks) length += t.sizes()[join.dim];
    }
    if (!join.stacks) all.sizes[join.dim] = length;
    return graph_.context().tensor(all);
  }

  // What a value is a view of, step by step, itself first; lists of views count with what they are taken from.
  SmallVec<ValueId, 8> above(ValueId v) const {
    SmallVec<ValueId, 8> all{v};
    while (all.size() < kAncestors) {
      NodeId producer = graph_.value(v).producer;
      if (producer == kNone || graph_.node(producer).arg_count == 0 || !graph_.node(producer).args[0].is_value()) break;
      bool list = !type(graph_.node(producer).result()).is_tensor();
      if (!list && !is_geometry_view(graph_, graph_.node(producer))) break;
      v = graph_.node(producer).args[0].value();
      if (type(v).is_tensor()) all.push_back(v);
    }
    return all;
  }

  // All parts of one tensor, or neighbours, in order.
  void whole(NodeId id, const Join& join) {
    if (join.parts.size() < 2 || any_written(join.parts)) return;
    const Type* wanted = together(join);
    if (!wanted) return;
    ValueId base = bases_.of(join.parts[0]);
    for (ValueId v : above(join.parts[0])) {
      if (bases_.of(v) != base) break;
      if (&type(v) == wanted) {
        replace_whole(id, v);
        return;
      }
      if (auto start = slice_of(v, *wanted, join.dim)) {
        NodeMaker make(graph_, id);
        Dim end = *start + wanted->sizes()[join.dim];
        ValueId part = make.call(join_forms().slice, {Arg::of_value(v), Arg::of_int(static_cast<int64_t>(join.dim)),
                                                      Arg::of_dim(*start), Arg::of_dim(end)});
        ValueId copy = make.call(join_forms().copy, {Arg::of_value(part)},
                                 {{"memory_format", Arg::of_memory_format(MemoryFormat::contiguous)}});
        take(id, copy, make, "neighbours");
        return;
      }
    }
  }

  // Where along `dim` a type lies in a tensor of its dtype that is as large in every other dim.
  std::optional<Dim> slice_of(ValueId of, const Type& part, size_t dim) const {
    const Type& t = type(of);
    if (t.rank() != part.rank() || t.dtype != part.dtype) return std::nullopt;
    for (size_t d = 0; d < t.rank(); ++d)
      if (!(t.strides()[d] == part.strides()[d]) || (d != dim && !(t.sizes()[d] == part.sizes()[d])))
        return std::nullopt;
    Dim gap = part.offset - t.offset, stride = t.strides()[dim];
    if (!gap.is_constant() || !stride.is_constant() || !t.sizes()[dim].is_constant() ||
        !part.sizes()[dim].is_constant())
      return std::nullopt;
    if (stride.constant() <= 0 || gap.constant() < 0 || gap.constant() % stride.constant() != 0) return std::nullopt;
    int64_t start = gap.constant() / stride.constant();
    if (start + part.sizes()[dim].constant() > t.sizes()[dim].constant()) return std::nullopt;
    return Dim(start);
  }

  // The tensor itself, if nobody sees that it is no copy; else one copy of the whole.
  void replace_whole(NodeId id, ValueId v) {
    ValueId out = graph_.node(id).result();
    if (may_replace(graph_, aliases_, out, v) == Refusal::none) {
      if (context_.allow("whole")) replace_value(graph_, aliases_, out, v);
      return;
    }
    NodeMaker make(graph_, id);
    ValueId copy = make.call(join_forms().copy, {Arg::of_value(v)});
    if (&type(copy) != &type(out)) {
      make.undo();
      copy = make.call(join_forms().copy, {Arg::of_value(v)},
                       {{"memory_format", Arg::of_memory_format(MemoryFormat::contiguous)}});
    }
    take(id, copy, make, "copy of the whole");
  }

  bool take(NodeId id, ValueId made, NodeMaker& make, std::string_view what) {
    ValueId out = graph_.node(id).result();
    if (make.guards_added() || may_replace(graph_, aliases_, out, made) != Refusal::none || !context_.allow(what)) {
      make.undo();
      return false;
    }
    replace_value(graph_, aliases_, out, made);
    return true;
  }

  // A view of what was joined that shows one part, or a slice of it: those who need no more than its elements read the
  // part.
  void part(NodeId id) {
    ValueId v = graph_.node(id).result(), base = bases_.of(v);
    NodeId producer = graph_.value(base).producer;
    if (producer == kNone || base == v || graph_.value(v).users.empty()) return;
    if (aliases_.any_writes() && aliases_.is_written(base)) return;
    if (unwritten(id, v, base)) return;
    auto join = join_at(producer);
    if (!join || any_written(join->parts)) return;
    auto found = join->stacks ? layer(*join, base, type(v)) : segment(*join, base, type(v));
    if (!found) return;
    auto [which, start] = *found;
    ValueId from = join->parts[which];
    const bool all = join->stacks || type(from).sizes()[join->dim] == type(v).sizes()[join->dim];
    read_from(id, v, from, join->dim, all ? std::nullopt : std::optional(start));
  }

  // A view of a tensor with slices that were written, which shows nothing but what was there before, or nothing but one
  // of them.
  bool unwritten(NodeId id, ValueId v, ValueId base) {
    ValueId from = base;
    std::optional<Written> w = written_at(graph_.value(base).producer);
    if (!w) return false;
    const size_t dim = w->dim;
    const std::optional<Dim> found = slice_of(base, type(v), dim);
    if (!found) return true;
    int64_t start = found->constant(), length = type(v).sizes()[dim].constant();
    for (size_t step = 0; w && w->dim == dim && step < kParts; ++step) {
      if (aliases_.any_writes() && (aliases_.is_written(w->into) || aliases_.is_written(w->part))) break;
      if (start >= w->start && start + length <= w->end) {
        from = w->part;
        start -= w->start;
        break;
      }
      if (start < w->end && w->start < start + length) break;
      from = w->into;
      w = written_at(graph_.value(from).producer);
    }
    if (from == base) return true;
    const bool all = start == 0 && type(from).sizes()[dim] == type(v).sizes()[dim];
    read_from(id, v, from, dim, all ? std::nullopt : std::optional(Dim(start)));
    return true;
  }

  // Has whoever needs no more of `v` than its elements read them in `from`, or in a slice of it.
  void read_from(NodeId id, ValueId v, ValueId from, size_t dim, std::optional<Dim> start) {
    SmallVec<NodeId, 8> users;
    for (NodeId user : graph_.value(v).users)
      if (user != kOutputs && std::ranges::find(users, user) == users.end()) users.push_back(user);
    NodeMaker make(graph_, id);
    if (start)
      from = make.call(join_forms().slice, {Arg::of_value(from), Arg::of_int(static_cast<int64_t>(dim)),
                                            Arg::of_dim(*start), Arg::of_dim(*start + type(v).sizes()[dim])});
    bool read = false;
    for (NodeId user : users)
      if (may_read(graph_, user, v, from) && context_.allow("part")) {
        read_instead(graph_, user, v, from);
        read = true;
      }
    if (!read) make.undo();
  }

  // select(stack(parts), i): which part it is.
  std::optional<std::pair<size_t, Dim>> layer(const Join& join, ValueId base, const Type& view) const {
    const Type& all = type(base);
    TensorType one = all.tensor();
    Dim stride = one.strides[join.dim], gap = view.offset - all.offset;
    one.sizes.erase(join.dim);
    one.strides.erase(join.dim);
    one.offset = view.offset;
    if (!(one == view.tensor()) || !gap.is_constant() || !stride.is_constant() || stride.constant() <= 0) return {};
    int64_t which = gap.constant() / stride.constant();
    if (gap.constant() % stride.constant() || which < 0 || which >= static_cast<int64_t>(join.parts.size())) return {};
    return std::pair{static_cast<size_t>(which), Dim(0)};
  }

  // slice(cat(parts)) within one part: which, and from where on.
  std::optional<std::pair<size_t, Dim>> segment(const Join& join, ValueId base, const Type& view) const {
    auto start = slice_of(base, view, join.dim);
    if (!start) return {};
    int64_t at = start->constant(), length = view.sizes()[join.dim].constant();
    for (size_t i = 0; i < join.parts.size(); ++i) {
      Dim size = type(join.parts[i]).sizes()[join.dim];
      if (!size.is_constant()) return {};
      if (at >= 0 && at + length <= size.constant()) return std::pair{i, Dim(at)};
      at -= size.constant();
      if (at < 0) return {};
    }
    return {};
  }

  Graph& graph_;
  PassContext& context_;
  AliasClasses aliases_;
  GeometryBases bases_;
};

void run(Graph& graph, PassContext& context) { Joiner(graph, context).run(); }

}  // namespace

Pass joined_parts() {
  return {
      .name = "joined_parts",
      .contract =
          "Joined parts of one tensor are it or a slice of it; a part of what was joined or written, or a call of it, "
          "the part's.\n"
          "Asks types where views lie, patterns what joins (join_patterns.cpp), and users whether they can tell.\n"
          "Keeps types, aliasing, and copies that somebody holds: one of the whole instead of one a part.",
      .levels = {Level::torch, Level::aten},
      .run = run};
}

}  // namespace lenz
