// The result types of a composite are those of its definition, expanded into a scratch graph.
#include <map>

#include "compiler/graph/lazy_views.h"
#include "compiler/ops/decompose.h"
#include "compiler/ops/lazily_read.h"

namespace lenz::rule {

namespace {
// Lends the caller's assumptions to a scratch graph, so that guards of the definition become the caller's.
struct Lent {
  Lent(Assumptions& from, Assumptions& to) : from(from), to(to) { std::swap(from, to); }
  ~Lent() { std::swap(from, to); }
  Assumptions &from, &to;
};

Arg mapped(Context& context, const Arg& a, std::map<ValueId, ValueId>& ids, const auto& add) {
  if (a.kind == ArgKind::value) return Arg::of_value(add(a.value()));
  if (a.kind == ArgKind::value_list) {
    SmallVec<ValueId, 8> items(a.value_list());
    for (ValueId& v : items)
      if (v != kNone) v = add(v);
    return context.values(items);
  }
  if (a.kind == ArgKind::arg_list) {
    SmallVec<Arg, 8> items(a.arg_list());
    for (Arg& e : items) e = mapped(context, e, ids, add);
    return context.args(items);
  }
  return a;
}
}  // namespace

namespace {
void by_definition(Infer& in, bool of_copies) {
  Graph scratch(in.shared_context(), in.table(), "definition");
  std::map<ValueId, ValueId> ids;
  SmallVec<ValueId, 8> outer;  // by scratch input
  auto add = [&](ValueId v) {
    auto [at, fresh] = ids.emplace(v, kNone);
    if (!fresh) return at->second;
    const Laziness lazy = of_copies || !in.owner ? Laziness() : laziness(*in.owner, v);
    outer.push_back(v);
    const ValueId lent = scratch.add_input({}, lazy.any() ? &in.owner->type(v) : &in.type_of(v));
    return at->second = seen_lazily(scratch, lent, lazy);
  };
  SmallVec<Arg, 12> args(in.args());
  for (Arg& a : args) a = mapped(in.context(), a, ids, add);
  SmallVec<Arg, 4> results;
  {
    Lent lent(in.assumptions(), scratch.assumptions);
    results = expand(scratch, kNone, in.op(), args);
  }
  for (const Arg& r : results) {
    if (r.is_none()) {
      in.result(in.context().simple(TypeKind::none));
      continue;
    }
    if (!r.is_value()) in.raise("its definition returns no tensor");
    const Value& owner = scratch.value(scratch.storage(r.value()));
    in.alias(&scratch.type(r.value()), owner.producer == kNone ? outer[owner.index] : kNone);
  }
}
}  // namespace

void composite(Infer& in) { by_definition(in, false); }
void composite_of_copies(Infer& in) { by_definition(in, true); }

}  // namespace lenz::rule
