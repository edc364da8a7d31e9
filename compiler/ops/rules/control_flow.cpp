#include "compiler/ops/rules/control_flow.h"

#include <map>

#include "compiler/graph/rebuild.h"

namespace lenz::rule {

namespace {
using Types = SmallVec<const Type*, 8>;
using Binding = std::map<const SymNode*, Dim>;

Types operand_types(Infer& in, std::string_view param) {
  Types types;
  const Arg& list = in.arg(param);
  if (list.is_value()) in.raise("operands of control flow are listed one by one");
  for (const Arg& a : items(list)) {
    if (a.kind == ArgKind::none) in.raise("an operand of control flow can't be none");
    if (!a.is_value() && a.kind != ArgKind::integer) in.raise("operands of control flow are values and integers");
    types.push_back(a.is_value() ? &in.type_of(a.value()) : in.context().sym_int(a.dim()));
  }
  return types;
}

bool is_symbol(Dim d) {
  bool is = false;
  if (!d.is_constant()) for_each_symbol(d, [&](const SymNode* s) { is = is || Dim(s) == d; });
  return is;
}

Dim bound_dim(Infer& in, Dim d, const Binding& binding) {
  return substitute(d, in.context().syms, [&](const SymNode* s) -> std::optional<Dim> {
    auto at = binding.find(s);
    if (at == binding.end()) return std::nullopt;
    return at->second;
  });
}

// A symbol is what it is called with; of other sizes that is known once all symbols are.
void bind_dim(Infer& in, Dim formal, Dim actual, Binding& binding, bool symbols, const std::string& where,
              std::string_view what) {
  if (symbols && is_symbol(formal)) {
    auto [at, fresh] = binding.emplace(formal.node(), actual);
    if (!fresh) in.require(eq(at->second, actual), where + ": one symbol stands for two" + std::string(what.substr(1)));
  } else if (!symbols && !is_symbol(formal)) {
    in.require(eq(bound_dim(in, formal, binding), actual), where + std::string(what) + " differ");
  }
}

// What a sub-graph assumes of its sizes, its caller has to: its types are those of such sizes alone.
void require_assumed(Infer& in, const Graph& sub, const Binding& binding) {
  const auto said = [&](Dim d) {
    bool all = true;
    if (!d.is_constant()) for_each_symbol(d, [&](const SymNode* s) { all = all && binding.contains(s); });
    return all;
  };
  const auto require = [&](const Cond& c) {
    in.require(Cond{c.rel, bound_dim(in, c.lhs, binding), bound_dim(in, c.rhs, binding)},
               sub.spelled_name() + " assumes " + to_string(c));
  };
  for (const auto* of : {&sub.assumptions.guards(), &sub.assumptions.facts().conditions()})
    for (const Cond& c : *of)
      if (said(c.lhs) && said(c.rhs)) require(c);
  for (const auto& [symbol, actual] : binding) {
    const Range range = sub.assumptions.known().range(Dim(symbol));
    if (range.low) require(le(*range.low, Dim(symbol)));
    if (range.high) require(le(Dim(symbol), *range.high));
  }
}

// Binds the sub-graph's symbols by matching its inputs with what it is called with.
Binding bind(Infer& in, const Graph& sub, std::span<const Type* const> actual) {
  if (sub.inputs().size() != actual.size())
    in.raise(sub.spelled_name() + " takes " + std::to_string(sub.inputs().size()) + " operands, not " +
             std::to_string(actual.size()));
  const auto where = [&](size_t i) { return "operand " + std::to_string(i) + " of @" + sub.name; };
  for (size_t i = 0; i < actual.size(); ++i) {
    const Type &formal = sub.type(sub.inputs()[i].value), &given = *actual[i];
    if (formal.kind != given.kind) in.raise(where(i) + " is " + to_string(given) + ", not " + to_string(formal));
    if (!formal.is_tensor()) continue;
    if (formal.dtype != given.dtype || formal.rank() != given.rank())
      in.raise(where(i) + " is " + to_string(given) + ", not " + to_string(formal));
    if (!(formal.device == given.device))
      in.raise(where(i) + " is on " + to_string(given.device) + ", not on " + to_string(formal.device));
  }
  Binding binding;
  for (const bool symbols : {true, false})
    for (size_t i = 0; i < actual.size(); ++i) {
      const Type &formal = sub.type(sub.inputs()[i].value), &given = *actual[i];
      if (formal.kind == TypeKind::sym_int)
        bind_dim(in, formal.offset, given.offset, binding, symbols, where(i), ": sizes");
      if (!formal.is_tensor()) continue;
      for (size_t d = 0; d < formal.rank(); ++d)
        bind_dim(in, formal.sizes()[d], given.sizes()[d], binding, symbols, where(i), ": sizes");
    }
  for (const bool symbols : {true, false})
    for (size_t i = 0; i < actual.size(); ++i) {
      if (!sub.inputs()[i].mutated) continue;  // what is only read may come as a copy in the layout that is declared
      const Type &formal = sub.type(sub.inputs()[i].value), &given = *actual[i];
      if (!formal.is_tensor()) continue;
      const std::string written = where(i) + " is written to";
      for (size_t d = 0; d < formal.rank(); ++d)
        bind_dim(in, formal.strides()[d], given.strides()[d], binding, symbols, written, ": strides");
      bind_dim(in, formal.offset, given.offset, binding, symbols, written, ": offsets");
    }
  require_assumed(in, sub, binding);
  return binding;
}

// What a loop hands from step to step is a value: a write to it would be a write to the operand in the first step only.
void require_unwritten(Infer& in, const Graph& sub, size_t handed) {
  for (size_t i = 0; i < std::min(handed, sub.inputs().size()); ++i)
    if (sub.inputs()[i].mutated)
      in.raise(sub.spelled_name() + " writes to its input " + sub.value_name(sub.inputs()[i].value) +
               ", which the loop hands it: return the new value instead");
}

// Of symbols that nothing the sub-graph is called with gives: its own run's, or of a layout that it declares.
bool names_its_own(Dim d, const Binding& binding) {
  bool own = false;
  if (!d.is_constant()) for_each_symbol(d, [&](const SymNode* s) { own = own || !binding.contains(s); });
  return own;
}

const Type* bound(Infer& in, const Graph& sub, const Type& t, const Binding& binding) {
  const Type* made = with_dims(in.context(), t, [&](Dim d) { return bound_dim(in, d, binding); });
  if (!made->is_tensor()) return made;
  const auto own = [&](Dim d) { return names_its_own(d, binding); };
  if (std::ranges::any_of(t.sizes(), own))
    in.raise(sub.spelled_name() + " returns " + to_string(t) + ", a size of which only its own run knows");
  TensorType copy = made->tensor();
  copy.offset = 0;  // what a branch returns is a tensor of its own
  if (shares_places(copy.sizes, copy.strides) || std::ranges::any_of(t.strides(), own))
    copy.strides = contiguous_strides(copy.sizes);
  return in.context().tensor(copy);
}

Types output_types(Infer& in, const Graph& sub, const Binding& binding) {
  Types types;
  for (const Arg& out : sub.outputs()) {
    if (!out.is_value()) in.raise(sub.spelled_name() + " must return values");
    types.push_back(bound(in, sub, sub.type(out.value()), binding));
  }
  return types;
}

bool same_kind(Infer& in, const Type& a, const Type& b) {
  if (a.kind != b.kind) return false;
  if (!a.is_tensor()) return true;
  if (a.dtype != b.dtype || a.rank() != b.rank() || !(a.device == b.device)) return false;
  for (size_t d = 0; d < a.rank(); ++d)
    if (!in.same(a.sizes()[d], b.sizes()[d])) return false;
  return true;
}

void require_predicate(Infer& in, const Type& t) {
  bool scalar_tensor =
      t.is_tensor() && t.dtype == Dtype::b8 && (t.rank() == 0 || (t.rank() == 1 && t.sizes()[0].is(1)));
  if (t.kind != TypeKind::sym_bool && !scalar_tensor) in.raise("the condition must be one bool, not " + to_string(t));
}
}  // namespace

void cond(Infer& in) {
  if (!in.arg("pred").is_value()) in.raise("the condition must be a value");
  require_predicate(in, in.type_of(in.arg("pred").value()));
  Types operands = operand_types(in, "operands");
  const Graph& yes = in.subgraph("true_graph");
  const Graph& no = in.subgraph("false_graph");
  Types a = output_types(in, yes, bind(in, yes, operands));
  Types b = output_types(in, no, bind(in, no, operands));
  bool agree = a.size() == b.size();
  for (size_t i = 0; agree && i < a.size(); ++i) agree = same_kind(in, *a[i], *b[i]);
  if (!agree) in.raise(yes.spelled_name() + " and @" + no.name + " return different types");
  for (const Type* t : a) in.result(t);
}

void while_loop(Infer& in) {
  Types operands = operand_types(in, "carried");
  size_t carried = operands.size();
  for (const Type* t : operand_types(in, "additional")) operands.push_back(t);
  const Graph& test = in.subgraph("cond_graph");
  const Graph& body = in.subgraph("body_graph");
  for (const Graph* sub : {&test, &body}) require_unwritten(in, *sub, carried);
  Types verdict = output_types(in, test, bind(in, test, operands));
  if (verdict.size() != 1) in.raise(test.spelled_name() + " must return one bool");
  require_predicate(in, *verdict[0]);
  Types next = output_types(in, body, bind(in, body, operands));
  bool agree = next.size() == carried;
  for (size_t i = 0; agree && i < carried; ++i) agree = same_kind(in, *next[i], *operands[i]);
  if (!agree) in.raise(body.spelled_name() + " must return what it carries, with the same types");
  for (const Type* t : next) in.result(t);
}

void scan(Infer& in) {
  Types init = operand_types(in, "init");
  Types xs = operand_types(in, "xs");
  if (xs.empty()) in.raise("scan needs at least one tensor to walk over");
  Types operands(init.span());
  std::optional<Dim> steps;
  for (const Type* x : xs) {
    if (!x->is_tensor() || x->rank() == 0) in.raise("scan walks over dim 0 of tensors");
    if (steps) in.require(eq(*steps, x->sizes()[0]), "scan walks over tensors of one length");
    steps = x->sizes()[0];
    TensorType slice = x->tensor();
    slice.sizes.erase(0);
    slice.strides.erase(0);
    operands.push_back(in.context().tensor(slice));
  }
  for (const Type* t : operand_types(in, "additional")) operands.push_back(t);
  const Graph& combine = in.subgraph("combine_graph");
  require_unwritten(in, combine, init.size() + xs.size());
  Types out = output_types(in, combine, bind(in, combine, operands));
  bool agree = out.size() >= init.size();
  for (size_t i = 0; agree && i < init.size(); ++i) agree = same_kind(in, *out[i], *init[i]);
  if (!agree) in.raise(combine.spelled_name() + " must return the carried values first, with the same types");
  for (size_t i = 0; i < out.size(); ++i) {
    if (i < init.size()) {
      in.result(out[i]);
      continue;
    }
    if (!out[i]->is_tensor()) in.raise("scan stacks tensors only");
    DimVec sizes(out[i]->sizes());
    sizes.insert(0, *steps);
    in.result(contiguous_tensor(out[i]->dtype, sizes, out[i]->device));
  }
}

void print(Infer& in) {
  const std::string_view text = in.string("format");
  const Arg& values = in.arg("values");
  if (values.is_value()) in.raise("what is printed is listed one by one");
  size_t places = 0;
  for (size_t at = text.find("{}"); at != std::string_view::npos; at = text.find("{}", at + 2)) ++places;
  const SmallVec<Arg, 8> shown = items(values);
  for (const Arg& a : shown)
    if (!a.is_value() && a.kind != ArgKind::integer && a.kind != ArgKind::real && a.kind != ArgKind::boolean)
      in.raise("tensors and numbers can be printed, nothing else");
  in.require(places == shown.size(), "the text has " + std::to_string(places) + " {}, and there are " +
                                         std::to_string(shown.size()) + " values to print");
  token(in);
}

void token(Infer& in) { in.result(in.context().simple(TypeKind::token)); }

}  // namespace lenz::rule
