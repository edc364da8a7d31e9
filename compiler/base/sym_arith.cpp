// Sums and products: integer polynomials over atoms.
//   (a + b) + c = a + (b + c)      a + b = b + a      k*a + l*a = (k+l)*a      0*a = 0
//   (a*b)*c = a*(b*c)              a*b = b*a          a*(b + c) = a*b + a*c    a^i * a^j = a^(i+j)
// A product of two sums of several terms is expanded while the result stays small (kMaxExpandedTerms).
#include <algorithm>

#include "compiler/base/small_vec.h"
#include "compiler/base/sym_node.h"

namespace lenz {

SumView::SumView(Dim dim) {
  if (dim.is_constant()) {
    constant_ = dim.constant();
  } else if (dim.node()->kind == SymKind::sum) {
    terms_ = dim.node()->terms();
    constant_ = dim.node()->constant;
  } else {
    self_ = {1, dim.node()};
    terms_ = {&self_, 1};
  }
}

ProductView::ProductView(const SymNode* monomial) {
  if (monomial->kind == SymKind::product) {
    factors_ = monomial->factors();
  } else {
    self_ = {monomial, 1};
    factors_ = {&self_, 1};
  }
}

namespace {

using Terms = SmallVec<SymTerm, 16>;
using Factors = SmallVec<SymFactor, 8>;

// Sorts, adds up equal monomials and drops what vanishes.
Dim collect(SymPool::Impl& pool, Terms& terms, Wide constant) {
  std::sort(terms.begin(), terms.end(),
            [](const SymTerm& a, const SymTerm& b) { return compare_monomials(a.monomial, b.monomial) < 0; });
  size_t kept = 0;
  for (size_t i = 0; i < terms.size();) {
    Wide coefficient = 0;
    const SymNode* monomial = terms[i].monomial;
    for (; i < terms.size() && terms[i].monomial == monomial; ++i) coefficient += terms[i].coefficient;
    if (coefficient != 0) terms[kept++] = {narrow(coefficient), monomial};
  }
  terms.resize(kept);
  return pool.make_sum(terms, narrow(constant));
}

const SymNode* multiply_monomials(SymPool::Impl& pool, const SymNode* a, const SymNode* b) {
  ProductView va(a), vb(b);
  std::span<const SymFactor> fa = va.factors(), fb = vb.factors();
  Factors out;
  size_t i = 0, j = 0;
  while (i < fa.size() || j < fb.size()) {
    int order = i == fa.size() ? 1 : j == fb.size() ? -1 : compare_nodes(fa[i].atom, fb[j].atom);
    if (order < 0) {
      out.push_back(fa[i++]);
    } else if (order > 0) {
      out.push_back(fb[j++]);
    } else {
      out.push_back({fa[i].atom, fa[i].power + fb[j].power});
      ++i, ++j;
    }
  }
  return pool.make_product(out).node();
}

bool expandable(const SumView& a, const SumView& b) {
  size_t na = a.terms().size() + (a.constant() != 0), nb = b.terms().size() + (b.constant() != 0);
  if (na == 1 || nb == 1) return true;
  if (na * nb > kMaxExpandedTerms) return false;
  size_t size_a = 0, size_b = 0;
  for (const SymTerm& t : a.terms()) size_a += t.monomial->size;
  for (const SymTerm& t : b.terms()) size_b += t.monomial->size;
  return size_a * nb + size_b * na <= kMaxExpandedSize;
}

Dim expand(SymPool::Impl& pool, const SumView& a, const SumView& b) {
  Terms out;
  for (const SymTerm& x : a.terms())
    for (const SymTerm& y : b.terms())
      out.push_back({narrow(Wide{x.coefficient} * y.coefficient), multiply_monomials(pool, x.monomial, y.monomial)});
  if (b.constant() != 0)
    for (const SymTerm& x : a.terms()) out.push_back({narrow(Wide{x.coefficient} * b.constant()), x.monomial});
  if (a.constant() != 0)
    for (const SymTerm& y : b.terms()) out.push_back({narrow(Wide{y.coefficient} * a.constant()), y.monomial});
  return collect(pool, out, Wide{a.constant()} * b.constant());
}

Dim scale(Dim a, int64_t by) {
  if (by == 0) return 0;
  if (by == 1) return a;
  SumView view(a);
  Terms out(view.terms());
  for (SymTerm& t : out) t.coefficient = narrow(Wide{t.coefficient} * by);
  return a.node()->pool->make_sum(out, narrow(Wide{view.constant()} * by));
}

}  // namespace

Dim add_scaled(Dim a, Dim b, int64_t by) {
  if (a.is_constant() && b.is_constant()) return narrow(Wide{b.constant()} * by + a.constant());
  if (by == 0 || b.is(0)) return a;
  SymPool::Impl& pool = pool_of(a, b);
  SumView va(a), vb(b);
  std::span<const SymTerm> ta = va.terms(), tb = vb.terms();
  Terms out;
  size_t i = 0, j = 0;
  while (i < ta.size() || j < tb.size()) {
    int order = i == ta.size() ? 1 : j == tb.size() ? -1 : compare_monomials(ta[i].monomial, tb[j].monomial);
    if (order < 0) {
      out.push_back(ta[i++]);
      continue;
    }
    Wide coefficient = Wide{tb[j].coefficient} * by;
    const SymNode* monomial = tb[j++].monomial;
    if (order == 0) coefficient += ta[i++].coefficient;
    if (coefficient != 0) out.push_back({narrow(coefficient), monomial});
  }
  return pool.make_sum(out, narrow(Wide{vb.constant()} * by + va.constant()));
}

namespace detail {
Dim add(Dim a, Dim b) { return add_scaled(a, b, 1); }
Dim subtract(Dim a, Dim b) { return add_scaled(a, b, -1); }

Dim multiply(Dim a, Dim b) {
  if (a.is_constant() && b.is_constant()) return narrow(Wide{a.constant()} * b.constant());
  if (a.is_constant()) return scale(b, a.constant());
  if (b.is_constant()) return scale(a, b.constant());
  SymPool::Impl& pool = pool_of(a, b);
  SumView va(a), vb(b);
  if (expandable(va, vb)) return expand(pool, va, vb);
  return Dim(multiply_monomials(pool, a.node(), b.node()));
}
}  // namespace detail

Dim sum(std::span<const Dim> dims) {
  Terms out;
  Wide constant = 0;
  SymPool::Impl* pool = nullptr;
  for (Dim d : dims) {
    SumView view(d);
    out.append(view.terms().data(), view.terms().data() + view.terms().size());
    constant += view.constant();
    if (d.is_constant()) continue;
    LENZ_CHECK(pool == nullptr || pool == d.node()->pool, "dims of two pools are mixed");
    pool = d.node()->pool;
  }
  return pool == nullptr ? Dim(narrow(constant)) : collect(*pool, out, constant);
}

Dim monomial_dim(const SymTerm& term) { return term.monomial->pool->make_sum({&term, 1}, 0); }

Dim divide_monomial(const SymNode* a, const SymNode* b) {
  ProductView va(a), vb(b);
  std::span<const SymFactor> fb = vb.factors();
  Factors out;
  size_t j = 0;
  for (const SymFactor& f : va.factors()) {
    int64_t power = f.power;
    if (j < fb.size() && fb[j].atom == f.atom) power -= fb[j++].power;
    if (power < 0) return 0;
    if (power > 0) out.push_back({f.atom, power});
  }
  return j == fb.size() ? a->pool->make_product(out) : Dim(0);
}

Dim common_monomial(const SymNode* a, const SymNode* b) {
  ProductView va(a), vb(b);
  Factors out;
  size_t j = 0;
  std::span<const SymFactor> fb = vb.factors();
  for (const SymFactor& f : va.factors()) {
    while (j < fb.size() && compare_nodes(fb[j].atom, f.atom) < 0) ++j;
    if (j < fb.size() && fb[j].atom == f.atom) out.push_back({f.atom, std::min(f.power, fb[j].power)});
  }
  return a->pool->make_product(out);
}

}  // namespace lenz
