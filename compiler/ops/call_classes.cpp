#include "compiler/ops/call_classes.h"

#include <algorithm>

#include "compiler/ops/layouts.h"

namespace lenz {

namespace {
constexpr std::string_view name(DtypeClass category) {
  constexpr std::string_view names[] = {"boolean", "integer", "floating", "complex"};
  return names[static_cast<size_t>(category)];
}

std::string plural(size_t n, std::string_view what) {
  return (n > 3 ? "4+" : std::to_string(n)) + " " + std::string(what) + (n == 1 ? "" : "s");
}

bool is(const Type& t, size_t d, int64_t size) { return t.sizes()[d].is(size); }

// Facets have a class of its own for an offset, and none for strides of dims of one element.
std::string layout(const Type& t) {
  SmallVec<int64_t, 6> sizes;
  Strided lies;
  for (size_t d = 0; d < t.rank(); ++d) {
    sizes.push_back(t.sizes()[d].constant());
    lies.strides.push_back(t.strides()[d].constant());
  }
  const LayoutClass found = layout_of(sizes, lies);
  return std::string(name(found == LayoutClass::odd_ones ? LayoutClass::contiguous : found));
}

std::string sign(double v) {
  if (v != v) return "nan";
  return v < 0 ? "negative" : v > 0 ? "positive" : "zero";
}

std::string integer(Dim d) {
  if (!d.is_constant()) return "symbol";
  int64_t v = d.constant();
  return v < 0 ? "negative" : v == 0 ? "zero" : v == 1 ? "one" : "positive";
}

std::string number(const Graph& graph, const Arg& a) {
  switch (a.kind) {
    case ArgKind::boolean: return "bool";
    case ArgKind::integer: return "int " + integer(a.dim());
    case ArgKind::real: return "real " + sign(a.real());
    case ArgKind::complex: return "complex";
    case ArgKind::value: return graph.type(a.value()).is_tensor() ? "tensor" : "symbol";
    default: return "none";
  }
}

// How a dim is said, whatever its number.
bool is_dim(const Param& p) {
  return p.name == "dim" || p.name == "dims" || p.name.starts_with("dim") || p.name == "axis";
}

std::vector<std::string> of_param(const Graph& graph, const Param& p, const Arg& a) {
  if (a.is_none()) return {"none"};
  switch (a.kind) {
    case ArgKind::value: return {"given"};
    case ArgKind::boolean: return {a.boolean() ? "true" : "false"};
    case ArgKind::integer:
      if (p.type.kind == ParamKind::scalar) return {number(graph, a)};
      if (is_dim(p)) return {a.dim().is_constant() && a.dim().constant() < 0 ? "negative" : "nonnegative"};
      return {integer(a.dim())};
    case ArgKind::real:
      if (p.type.kind == ParamKind::scalar) return {number(graph, a)};
      return {sign(a.real())};
    case ArgKind::complex: return {"complex"};
    case ArgKind::string: return {"\"" + std::string(a.string()) + "\""};
    case ArgKind::dtype: return {std::string(name(info(a.dtype()).category))};
    case ArgKind::memory_format: {
      constexpr std::string_view names[] = {"contiguous", "preserve", "channels_last", "channels_last_3d"};
      return {std::string(names[static_cast<size_t>(a.memory_format())])};
    }
    case ArgKind::value_list: {
      std::vector<std::string> classes{plural(a.count, "tensor")};
      for (ValueId v : a.value_list())
        if (v == kNone) {
          classes.emplace_back("absent elements");
          break;
        }
      return classes;
    }
    case ArgKind::int_list: {
      std::vector<std::string> classes{plural(a.count, "item")};
      if (std::ranges::any_of(a.dim_list(), [](Dim d) { return d.is_constant() && d.constant() < 0; }))
        classes.emplace_back("negative items");
      return classes;
    }
    case ArgKind::real_list:
    case ArgKind::bool_list:
    case ArgKind::arg_list: return {plural(a.count, "item")};
    default: return {"given"};
  }
}

bool given_by_place(ArgKind kind) { return kind == ArgKind::device || kind == ArgKind::layout; }

void add_broadcast(const std::vector<const Type*>& operands, std::vector<Facet>& facets) {
  if (operands.size() < 2) return;
  bool rank = false, ones = false;
  for (const Type* t : operands) {
    rank |= t->rank() != operands[0]->rank();
    for (size_t d = 0; d < std::min(t->rank(), operands[0]->rank()); ++d) {
      Dim a = t->sizes()[t->rank() - 1 - d], b = operands[0]->sizes()[operands[0]->rank() - 1 - d];
      ones |= !(a == b) && (a.is(1) || b.is(1));
    }
  }
  facets.push_back({"broadcast",
                    {std::string("broadcast:") + (rank && ones ? "both"
                                                  : rank       ? "rank"
                                                  : ones       ? "ones"
                                                               : "same")}});
}
}  // namespace

std::vector<Facet> call_classes(const OpDef& op, const Graph& graph, std::span<const Arg> args) {
  std::vector<Facet> facets;
  std::vector<const Type*> tensors, operands;  // all; those that stand as arguments by themselves
  for (size_t i = 0; i < args.size(); ++i) {
    if (op.schema.params[i].is_out) continue;
    for_each_value(args[i], [&](ValueId v) {
      if (!graph.type(v).is_tensor()) return;
      tensors.push_back(&graph.type(v));
      if (args[i].is_value()) operands.push_back(&graph.type(v));
    });
  }
  if (!tensors.empty()) {
    const Type& lead = *tensors[0];
    Facet dtype{"lead", {"lead:" + std::string(name(lead.dtype))}};
    std::vector<std::string> mixed;
    for (const Type* t : tensors) mixed.emplace_back(name(info(t->dtype).category));
    std::ranges::sort(mixed);
    mixed.erase(std::unique(mixed.begin(), mixed.end()), mixed.end());
    if (mixed.size() > 1) {
      std::string text;
      for (const std::string& m : mixed) text += (text.empty() ? "mix:" : "+") + m;
      dtype.classes.push_back(text);
    }
    facets.push_back(std::move(dtype));
    Facet rank{"rank", {"rank:" + (lead.rank() > 5 ? "6+" : std::to_string(lead.rank()))}};
    bool empty = false, one = false;
    for (size_t d = 0; d < lead.rank(); ++d) {
      empty |= is(lead, d, 0);
      one |= is(lead, d, 1);
    }
    if (empty) rank.classes.emplace_back("shape:empty");
    if (one) rank.classes.emplace_back("shape:one");
    facets.push_back(std::move(rank));
    Facet where{"layout", {"layout:" + layout(lead)}};
    if (!lead.offset.is(0)) where.classes.emplace_back("layout:offset");
    facets.push_back(std::move(where));
    add_broadcast(operands, facets);
  }
  for (size_t i = 0; i < args.size(); ++i) {
    const Param& p = op.schema.params[i];
    bool always_there = p.type.kind == ParamKind::tensor && !p.type.optional && !p.type.list;
    if (p.is_out || always_there || given_by_place(args[i].kind)) continue;
    if (p.type.kind == ParamKind::device || p.type.kind == ParamKind::layout || p.name == "pin_memory") continue;
    Facet facet{p.name, of_param(graph, p, args[i])};
    for (std::string& c : facet.classes) c = p.name + ":" + c;
    facets.push_back(std::move(facet));
  }
  return facets;
}

}  // namespace lenz
