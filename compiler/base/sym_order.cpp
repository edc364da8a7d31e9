// The total order behind canonical form: by structure and symbol name, never by address. Two different nodes of one
// pool differ in some first part, and equal parts are equal pointers, so a comparison walks down one path only.
#include "compiler/base/sym_node.h"

namespace lenz {

namespace {

template <class T>
int three_way(T a, T b) {
  return a < b ? -1 : b < a ? 1 : 0;
}

// "s2" before "s10": the stem as text, then the digits at the end as a number.
int compare_names(std::string_view a, std::string_view b) {
  auto split = [](std::string_view name) {
    size_t stem = name.size();
    while (stem > 0 && name[stem - 1] >= '0' && name[stem - 1] <= '9') --stem;
    size_t first = stem;
    while (first < name.size() && name[first] == '0') ++first;
    return std::pair(name.substr(0, stem), name.substr(first));
  };
  auto [stem_a, number_a] = split(a);
  auto [stem_b, number_b] = split(b);
  if (int c = stem_a.compare(stem_b)) return c < 0 ? -1 : 1;
  if (int c = three_way(number_a.size(), number_b.size())) return c;
  if (int c = number_a.compare(number_b)) return c < 0 ? -1 : 1;
  return three_way(a.size(), b.size());
}

int64_t degree(std::span<const SymFactor> factors) {
  int64_t total = 0;
  for (const SymFactor& f : factors) total += f.power;
  return total;
}

int compare_sums(const SymNode* a, const SymNode* b) {
  std::span<const SymTerm> ta = a->terms(), tb = b->terms();
  for (size_t i = 0; i < std::min(ta.size(), tb.size()); ++i) {
    if (int c = compare_monomials(ta[i].monomial, tb[i].monomial)) return c;
    if (int c = three_way(ta[i].coefficient, tb[i].coefficient)) return c;
  }
  if (int c = three_way(ta.size(), tb.size())) return c;
  return three_way(a->constant, b->constant);
}

}  // namespace

int compare_monomials(const SymNode* a, const SymNode* b) {
  if (a == b) return 0;
  ProductView va(a), vb(b);
  std::span<const SymFactor> fa = va.factors(), fb = vb.factors();
  if (int c = three_way(degree(fb), degree(fa))) return c;
  for (size_t i = 0; i < std::min(fa.size(), fb.size()); ++i) {
    if (int c = compare_nodes(fa[i].atom, fb[i].atom)) return c;
    if (int c = three_way(fb[i].power, fa[i].power)) return c;
  }
  return three_way(fb.size(), fa.size());
}

int compare_nodes(const SymNode* a, const SymNode* b) {
  if (a == b) return 0;
  if (int c = three_way(a->kind, b->kind)) return c;
  switch (a->kind) {
    case SymKind::symbol: return compare_names(a->name(), b->name());
    case SymKind::sum: return compare_sums(a, b);
    case SymKind::product: return compare_monomials(a, b);
    case SymKind::floor_div:
    case SymKind::mod:
    case SymKind::min:
    case SymKind::max:
    case SymKind::call: break;
  }
  if (int c = three_way(a->fn, b->fn)) return c;
  if (int c = three_way(a->constant, b->constant)) return c;
  for (size_t i = 0; i < std::min(a->count, b->count); ++i)
    if (int c = compare(a->args()[i], b->args()[i])) return c;
  return three_way(a->count, b->count);
}

int compare(Dim a, Dim b) {
  if (a.is_constant() && b.is_constant()) return three_way(a.constant(), b.constant());
  if (a.is_constant() != b.is_constant()) return a.is_constant() ? -1 : 1;
  return compare_nodes(a.node(), b.node());
}

}  // namespace lenz
