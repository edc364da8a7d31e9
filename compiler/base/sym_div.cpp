// Floor division and remainder, with Python's signs. Rules, for every integer value of the symbols with which the left
// side is defined (k, d, m: constants > 0; g: what all terms share; X: no constant term of its own):
//   a // -b = (-a) // b                           a % -b = -((-a) % b)        if no term of b is negative: which of
//                                                 s - t and t - s is a size only facts know, so they stay as they are
//   (g*a) // (g*b) = a // b                       (g*a) % (g*b) = g*(a % b)
//   (g*X + c) // (g*k) = (X + c//g) // k          (g*X + c) % (g*k) = g*((X + c//g) % k) + c%g
//   (q*b + r) // b = q + r//b                     (q*b + r) % b = r % b
//   (-X + c) // k = -((X + k-1-c) // k)
//   (X + a//d) // k = (d*X + a) // (d*k)          (X + c*(a % d)) % k = (X + c*a) % k, if k divides c*d
//   a // k = n, if n <= a/k < n+1 everywhere      a % k = a - n*k, likewise
//   (a // b) // k = a // (b*k)                    (X + c*(a % b)) % b = (X + c*a) % b
#include <algorithm>
#include <numeric>

#include "compiler/base/sym_node.h"

namespace lenz {

namespace {

// The largest number that divides `start` and every coefficient of the view; its constant too, if asked.
uint64_t content(const SumView& view, uint64_t start, bool with_constant) {
  uint64_t g = start;
  for (const SymTerm& t : view.terms()) g = std::gcd(g, magnitude(t.coefficient));
  return with_constant ? std::gcd(g, magnitude(view.constant())) : g;
}

// If floor(a/k) is one number for every value of the symbols: that number.
std::optional<int64_t> fixed_quotient(Dim a, int64_t k) {
  Range range = range_of(a, nullptr);
  if (!range.low || !range.high) return std::nullopt;
  Wide low = floor_quotient(*range.low, k);
  if (low != floor_quotient(*range.high, k)) return std::nullopt;
  return static_cast<int64_t>(low);
}

Dim make_node(SymKind kind, Dim a, Dim b) {
  Dim args[] = {a, b};
  return pool_of(a, b).make(kind, args);
}

// A rule that may be left out: what it gives, or nullopt where it would overflow or outgrow a limit.
template <class Rule>
auto attempt(Rule rule) -> decltype(rule()) {
  try {
    return rule();
  } catch (const UserError&) {
    return std::nullopt;
  }
}

Dim divide_by_constant(Dim a, int64_t k);
Dim remainder_by_constant(Dim a, int64_t k);

// (X + a//d) // k, where exactly one term is a floor division with coefficient 1; nullopt if the rule does not apply.
std::optional<Dim> merge_nested_division(Dim a, int64_t k) {
  SumView view(a);
  const SymNode* inner = nullptr;
  for (const SymTerm& t : view.terms()) {
    if (t.coefficient != 1 || t.monomial->kind != SymKind::floor_div) continue;
    if (inner != nullptr) return std::nullopt;
    inner = t.monomial;
  }
  if (inner == nullptr) return std::nullopt;
  Dim top = inner->args()[0], by = inner->args()[1];
  if (!by.is_constant()) {
    if (a != Dim(inner)) return std::nullopt;
    return floor_div(top, by * k);
  }
  int64_t d = by.constant();
  return divide_by_constant(add_scaled(top, a - Dim(inner), d), narrow(Wide{d} * k));
}

Dim divide_by_constant(Dim a, int64_t k) {
  if (k == 0) throw_zero_division();
  if (a.is_constant()) return narrow(floor_quotient(a.constant(), k));
  if (k < 0) return divide_by_constant(-a, narrow(-Wide{k}));
  if (k == 1) return a;
  SymPool::Impl& pool = *a.node()->pool;
  SumView view(a);
  int64_t g = static_cast<int64_t>(content(view, magnitude(k), false));
  Wide constant = floor_quotient(view.constant(), g);
  k /= g;
  std::vector<SymTerm> whole, rest;
  for (const SymTerm& t : view.terms()) {
    int64_t c = t.coefficient / g, q = c / k, r = c % k;
    if (q != 0) whole.push_back({q, t.monomial});
    if (r != 0) rest.push_back({r, t.monomial});
  }
  if (rest.empty()) return pool.make_sum(whole, narrow(floor_quotient(constant, k)));
  int64_t sign = 1;
  if (rest[0].coefficient < 0) {
    sign = -1;
    for (SymTerm& t : rest) t.coefficient = -t.coefficient;
    constant = k - 1 - constant;
  }
  Dim quotient = pool.make_sum(whole, narrow(sign * floor_quotient(constant, k)));
  Dim left = pool.make_sum(rest, static_cast<int64_t>(floor_rest(constant, k)));
  if (auto fixed = fixed_quotient(left, k)) return add_scaled(quotient, *fixed, sign);
  if (auto merged = attempt([&] { return merge_nested_division(left, k); })) return add_scaled(quotient, *merged, sign);
  return add_scaled(quotient, make_node(SymKind::floor_div, left, k), sign);
}

// (x % m) // n is x // n less a multiple of m/n, if n divides m: x // n, where that multiple is one of k too.
std::optional<Dim> quotient_of_remainder(const SymNode* node, int64_t coefficient, int64_t k) {
  if (node->kind != SymKind::floor_div || node->args()[0].is_constant() || !node->args()[1].is_constant())
    return std::nullopt;
  const SymNode* top = node->args()[0].node();
  if (top->kind != SymKind::mod || !top->args()[1].is_constant()) return std::nullopt;
  const int64_t n = node->args()[1].constant(), m = top->args()[1].constant();
  if (n <= 0 || m % n != 0 || (Wide{coefficient} * (m / n)) % k != 0) return std::nullopt;
  return divide_by_constant(top->args()[0], n);
}

// Coefficients into (-k/2, k/2], the constant into [0, k), inner remainders opened where k allows.
Dim reduce_terms(Dim a, int64_t k) {
  SumView view(a);
  Dim opened = 0;
  std::vector<SymTerm> kept;
  for (const SymTerm& t : view.terms()) {
    int64_t c = static_cast<int64_t>(floor_rest(t.coefficient, k));
    if (c > k / 2) c -= k;
    if (c == 0) continue;
    bool inner = t.monomial->kind == SymKind::mod && t.monomial->args()[1].is_constant() &&
                 (Wide{c} * t.monomial->args()[1].constant()) % k == 0;
    if (inner) {
      opened = add_scaled(opened, reduce_terms(t.monomial->args()[0], k), c);
    } else if (auto quotient = quotient_of_remainder(t.monomial, c, k)) {
      opened = add_scaled(opened, *quotient, c);
    } else {
      kept.push_back({c, t.monomial});
    }
  }
  Dim rest = a.node()->pool->make_sum(kept, static_cast<int64_t>(floor_rest(view.constant(), k)));
  if (opened.is(0)) return rest;
  return opened + rest;
}

Dim remainder_by_constant(Dim a, int64_t k) {
  if (k == 0) throw_zero_division();
  if (a.is_constant()) return static_cast<int64_t>(floor_rest(a.constant(), k));
  if (k < 0) return -remainder_by_constant(-a, narrow(-Wide{k}));
  if (k == 1) return 0;
  SumView view(a);
  int64_t g = static_cast<int64_t>(content(view, magnitude(k), false));
  if (g > 1) {
    std::vector<SymTerm> terms(view.terms().begin(), view.terms().end());
    for (SymTerm& t : terms) t.coefficient /= g;
    Dim shrunk = a.node()->pool->make_sum(terms, static_cast<int64_t>(floor_quotient(view.constant(), g)));
    return add_scaled(static_cast<int64_t>(floor_rest(view.constant(), g)), remainder_by_constant(shrunk, k / g), g);
  }
  auto reduced = attempt([&] { return std::optional(reduce_terms(a, k)); });
  if (reduced && *reduced != a) return remainder_by_constant(*reduced, k);
  if (auto fixed = fixed_quotient(a, k)) return a - narrow(Wide{*fixed} * k);
  return make_node(SymKind::mod, a, k);
}

// What both sides share, as a monomial with a coefficient: {1, null} if nothing. `b` is symbolic.
SymTerm shared_factor(const SumView& a, const SumView& b) {
  uint64_t g = content(a, content(b, 0, true), true);
  SymTerm shared{static_cast<int64_t>(std::min<uint64_t>(g, INT64_MAX)), nullptr};
  if (g > INT64_MAX) shared.coefficient = 1;
  if (a.constant() != 0 || b.constant() != 0) return shared;
  Dim common(b.terms()[0].monomial);
  for (const SumView* view : {&b, &a})
    for (const SymTerm& t : view->terms()) {
      if (common.is_constant()) return shared;
      common = common_monomial(common.node(), t.monomial);
    }
  if (!common.is_constant()) shared.monomial = common.node();
  return shared;
}

Dim divide_exactly(const SumView& a, const SymTerm& by) {
  std::vector<Dim> parts{Dim(a.constant() / by.coefficient)};
  for (const SymTerm& t : a.terms()) {
    Dim m = by.monomial != nullptr ? divide_monomial(t.monomial, by.monomial) : Dim(t.monomial);
    parts.push_back(m * Dim(t.coefficient / by.coefficient));
  }
  return sum(parts);
}

struct Division {
  Dim quotient, rest;
};

size_t term_count(Dim a) {
  SumView view(a);
  return view.terms().size() + (view.constant() != 0);
}

// a = quotient*b + rest by long division of polynomials, if that leaves fewer terms than a has.
std::optional<Division> divide_polynomial(Dim a, Dim b) {
  SumView divisor(b);
  const SymTerm lead = divisor.terms()[0];
  Dim quotient = 0, rest = a;
  bool monomial = divisor.terms().size() == 1 && divisor.constant() == 0;
  if (monomial) {
    SumView view(a);
    for (const SymTerm& t : view.terms()) {
      Dim m = divide_monomial(t.monomial, lead.monomial);
      int64_t c = lead.coefficient == -1 ? narrow(-Wide{t.coefficient}) : t.coefficient / lead.coefficient;
      if (m.is(0) || c == 0) continue;
      quotient += m * Dim(c);
    }
    if (quotient.is(0)) return std::nullopt;
    return Division{quotient, a - quotient * b};
  }
  // A product that was too large to expand may hold the divisor as a factor.
  if (!a.is_constant())
    for (SumView view(a); const SymTerm& t : view.terms()) {
      Dim m = divide_monomial(t.monomial, b.node());
      if (!m.is(0)) quotient += m * Dim(t.coefficient);
    }
  if (!quotient.is(0)) {
    for (SumView view(a); const SymTerm& t : view.terms())
      if (!divide_monomial(t.monomial, b.node()).is(0)) rest = rest - monomial_dim(t);
    return Division{quotient, rest};
  }
  // Each step removes the leading term that the divisor's leading term divides, and adds only smaller ones.
  const SymNode* done_above = nullptr;
  for (size_t step = 0; step < 2 * kMaxExpandedTerms; ++step) {
    SumView view(rest);
    Dim factor = 0;
    for (const SymTerm& t : view.terms()) {
      if (done_above != nullptr && compare_monomials(t.monomial, done_above) <= 0) continue;
      done_above = t.monomial;
      Dim m = divide_monomial(t.monomial, lead.monomial);
      int64_t c = lead.coefficient == -1 ? narrow(-Wide{t.coefficient}) : t.coefficient / lead.coefficient;
      if (m.is(0) || c == 0) continue;
      factor = m * Dim(c);
      break;
    }
    if (factor.is(0)) break;
    quotient += factor;
    rest = rest - factor * b;
  }
  if (quotient.is(0) || term_count(rest) >= term_count(a)) return std::nullopt;
  return Division{quotient, rest};
}

bool is_negated(Dim b) {
  SumView view(b);
  return view.constant() <= 0 && std::ranges::all_of(view.terms(), [](const SymTerm& t) { return t.coefficient < 0; });
}

Dim divide_by_symbol(Dim a, Dim b) {
  if (a.is(0)) return 0;
  if (is_negated(b)) return divide_by_symbol(-a, -b);
  {
    SumView va(a), vb(b);
    SymTerm shared = shared_factor(va, vb);
    if (shared.coefficient > 1 || shared.monomial != nullptr)
      return floor_div(divide_exactly(va, shared), divide_exactly(vb, shared));
  }
  if (auto division = attempt([&] { return divide_polynomial(a, b); }))
    return division->quotient + floor_div(division->rest, b);
  return make_node(SymKind::floor_div, a, b);
}

// Opens c*(y % b) inside a numerator of % b.
Dim open_remainders(Dim a, Dim b) {
  SumView view(a);
  for (const SymTerm& t : view.terms()) {
    if (t.monomial->kind != SymKind::mod || t.monomial->args()[1] != b) continue;
    return open_remainders(add_scaled(a, t.monomial->args()[0] - Dim(t.monomial), t.coefficient), b);
  }
  return a;
}

Dim remainder_by_symbol(Dim a, Dim b) {
  if (a.is(0)) return 0;
  if (is_negated(b)) return -remainder_by_symbol(-a, -b);
  {
    SumView va(a), vb(b);
    SymTerm shared = shared_factor(va, vb);
    if (shared.coefficient > 1 || shared.monomial != nullptr) {
      Dim factor = shared.monomial != nullptr ? Dim(shared.monomial) * Dim(shared.coefficient) : shared.coefficient;
      return factor * mod(divide_exactly(va, shared), divide_exactly(vb, shared));
    }
  }
  if (auto division = attempt([&] { return divide_polynomial(a, b); })) return mod(division->rest, b);
  auto opened = attempt([&] { return std::optional(open_remainders(a, b)); });
  if (opened && *opened != a) return mod(*opened, b);
  return make_node(SymKind::mod, a, b);
}

}  // namespace

Dim floor_div(Dim a, Dim b) { return b.is_constant() ? divide_by_constant(a, b.constant()) : divide_by_symbol(a, b); }

Dim mod(Dim a, Dim b) { return b.is_constant() ? remainder_by_constant(a, b.constant()) : remainder_by_symbol(a, b); }

}  // namespace lenz
