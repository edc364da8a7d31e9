// Rules about symbols: who binds them, and where they may be used.
#include <algorithm>

#include "compiler/base/lexer.h"
#include "compiler/base/suggest.h"
#include "compiler/graph/text_parser.h"
#include "compiler/graph/verifier.h"

namespace lenz {

namespace {
const SymNode* bare_symbol(Dim d) { return !d.is_constant() && kind_of(d) == SymKind::symbol ? d.node() : nullptr; }
}  // namespace

void Verifier::bind(const Type& t) {
  for_each_symbolic_dim(t, [&](Dim d) {
    const SymNode* s = bare_symbol(d);
    if (!s) return;
    bound_.insert(s);
    makers_.emplace(s, kNone);
  });
}

// The symbols that a node makes are those that stand alone in its results' types and that no operand brings along.
// Where the op is not known to make any, a symbol that is bound already may well be what is known.
std::vector<const SymNode*> Verifier::made_by(NodeId id) const {
  const Node& n = graph_.node(id);
  bool data_dependent = n.op->has(Trait::data_dependent);
  std::vector<const SymNode*> made;
  for (size_t i = 0; i < n.result_count; ++i) {
    const Type& t = graph_.type(n.result(i));
    if (!data_dependent && seen_types_.contains(&t)) continue;
    for_each_symbolic_dim(t, [&](Dim d) {
      const SymNode* s = bare_symbol(d);
      if (s && (data_dependent || !bound_.contains(s)) && std::ranges::find(made, s) == made.end()) made.push_back(s);
    });
  }
  if (made.empty()) return made;
  auto bring = [&](Dim d) { for_each_symbol(d, [&](const SymNode* s) { std::erase(made, s); }); };
  for (const Arg& a : n.arguments()) {
    for_each_value(a, [&](ValueId v) { for_each_symbolic_dim(graph_.type(v), bring); });
    if (a.kind == ArgKind::integer) bring(a.dim());
    if (a.kind == ArgKind::int_list)
      for (Dim d : a.dim_list()) bring(d);
  }
  return made;
}

void Verifier::bind_results(NodeId id) {
  for (const SymNode* s : made_by(id)) {
    if (!bound_.insert(s).second && reported_.insert(s).second)
      report(703, id, "the symbol " + std::string(symbol_name(s)) + " is bound already");
    made_later_.erase(s);
  }
}

// What a rule makes may stand in the types of operands too, where `made_by` takes it for theirs: only the rule knows.
void Verifier::makes(NodeId id, std::span<const Dim> unbacked) {
  for (Dim d : unbacked) {
    const SymNode* s = bare_symbol(d);
    if (s && !makers_.emplace(s, id).second && reported_.insert(s).second)
      report(703, id, "the symbol " + std::string(symbol_name(s)) + " is bound already");
  }
}

void Verifier::use(NodeId id, Dim d) {
  for_each_symbol(d, [&](const SymNode* s) {
    if (bound_.contains(s) || !reported_.insert(s).second) return;
    std::string symbol(symbol_name(s));
    if (made_later_.contains(s)) {
      report(702, id, "the symbol " + symbol + " is used before the node that makes it");
    } else {
      report(701, id, "the symbol " + symbol + " is bound by no input and made by no node");
    }
  });
}

void Verifier::use(NodeId id, const Type& t) {
  if (!seen_types_.insert(&t).second) return;  // what is bound stays bound
  for_each_symbolic_dim(t, [&](Dim d) { use(id, d); });
}

void Verifier::use(NodeId id, const Arg& a) {
  if (a.kind == ArgKind::integer && a.symbolic) use(id, a.dim());
  if (a.kind == ArgKind::int_list)
    for (Dim d : a.dim_list())
      if (!d.is_constant()) use(id, d);
  if (a.kind == ArgKind::arg_list)
    for (const Arg& e : a.arg_list()) use(id, e);
}

void Verifier::fact_symbols() {
  auto about = [&](const SymNode* s) {
    if (bound_.contains(s) || !reported_.insert(s).second) return;
    std::vector<std::string_view> names;
    for (const SymNode* other : bound_) names.push_back(symbol_name(other));
    std::ranges::sort(names);
    std::string_view nearest = nearest_name(symbol_name(s), names);
    report(706, kNone,
           "a fact is about the symbol " + std::string(symbol_name(s)) + ", which nothing binds" +
               (nearest.empty() ? std::string() : "; did you mean " + std::string(nearest) + "?"));
  };
  const Assumptions& assumptions = graph_.assumptions;
  for (const auto& [symbol, range] : assumptions.facts().ranges()) about(symbol);
  for (const auto* list : {&assumptions.facts().conditions(), &assumptions.guards()})
    for (const Cond& c : *list)
      for (Dim side : {c.lhs, c.rhs}) for_each_symbol(side, about);
}

void Verifier::symbols() {
  for (const Input& i : graph_.inputs()) bind(graph_.type(i.value));
  graph_.for_each_node([&](NodeId id) {
    for (const SymNode* s : made_by(id))
      if (!bound_.contains(s)) made_later_.insert(s);
  });
  for (const Input& i : graph_.inputs()) use(kNone, graph_.type(i.value));
  graph_.for_each_node([&](NodeId id) {
    const Node& n = graph_.node(id);
    for (const Arg& a : n.arguments()) use(id, a);
    bind_results(id);
    for (size_t i = 0; i < n.result_count; ++i) use(id, graph_.type(n.result(i)));
  });
  for (const Arg& a : graph_.outputs()) use(kNone, a);
  fact_symbols();
  for (const SymNode* s : bound_)
    if (!is_word(symbol_name(s)) || is_reserved_word(symbol_name(s)))
      report(705, kNone, "a symbol is named `" + std::string(symbol_name(s)) + "`");
}

}  // namespace lenz
