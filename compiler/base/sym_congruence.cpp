// Divisibility: what a dim is modulo what. For v = r1 (mod m1), w = r2 (mod m2):
//   v + w = r1 + r2 (mod gcd(m1, m2))             c*v = c*r1 (mod c*m1)
//   v * w = r1*r2   (mod gcd(m1*m2, m1*r2, m2*r1))
//   v // k = r1//k  (mod m1/k), if k divides m1    v % k = r1 (mod gcd(m1, k))
//   min(v, w) = r1  (mod gcd(m1, m2, r1 - r2))
#include <algorithm>
#include <numeric>

#include "compiler/base/sym_facts.h"

namespace lenz {

namespace {

Wide gcd(Wide a, Wide b) {
  if (a < 0) a = -a;
  if (b < 0) b = -b;
  while (b != 0) {
    Wide rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

// 0 as modulus: exactly the residue. What does not fit is forgotten.
Congruence make(Wide modulus, Wide residue) {
  if (!fits(modulus)) return {};
  if (modulus != 0) residue = floor_rest(residue, modulus);
  if (!fits(residue)) return {};
  return {static_cast<int64_t>(modulus), static_cast<int64_t>(residue)};
}

Congruence add(const Congruence& a, const Congruence& b) {
  return make(gcd(a.modulus, b.modulus), Wide{a.residue} + b.residue);
}

Congruence multiply(const Congruence& a, const Congruence& b) {
  Wide modulus = gcd(Wide{a.modulus} * b.modulus, gcd(Wide{a.modulus} * b.residue, Wide{b.modulus} * a.residue));
  return make(modulus, Wide{a.residue} * b.residue);
}

Congruence either(const Congruence& a, const Congruence& b) {
  return make(gcd(gcd(a.modulus, b.modulus), Wide{a.residue} - b.residue), a.residue);
}

Congruence divide(const Congruence& a, int64_t k) {
  if (a.modulus % k != 0) return {};
  return make(a.modulus / k, floor_quotient(a.residue, k));
}

int64_t inverse(int64_t a, int64_t m) {  // a*x = 1 (mod m) for coprime a, m; m >= 1
  Wide r0 = m, r1 = floor_rest(a, m), s0 = 0, s1 = 1;
  while (r1 != 0) {
    Wide q = r0 / r1;
    Wide r = r0 - q * r1, s = s0 - q * s1;
    r0 = r1, r1 = r, s0 = s1, s1 = s;
  }
  return static_cast<int64_t>(floor_rest(s0, m));
}

}  // namespace

Congruence canonical(const Congruence& c) { return make(c.modulus, c.residue); }

std::optional<Congruence> intersect(const Congruence& a, const Congruence& b) {
  if (a.modulus == 0 || b.modulus == 0) {
    const Congruence& exact = a.modulus == 0 ? a : b;
    const Congruence& other = a.modulus == 0 ? b : a;
    Wide gap = Wide{exact.residue} - other.residue;
    if (other.modulus == 0 ? gap != 0 : gap % other.modulus != 0) return std::nullopt;
    return exact;
  }
  int64_t g = std::gcd(a.modulus, b.modulus);
  Wide gap = Wide{b.residue} - a.residue;
  if (gap % g != 0) return std::nullopt;
  int64_t step = b.modulus / g;
  Wide modulus = Wide{a.modulus} * step;
  if (!fits(modulus)) return a;
  Wide times = floor_rest(floor_rest(gap / g, step) * inverse(a.modulus / g, step), step);
  return make(modulus, a.residue + times * a.modulus);
}

std::optional<Congruence> solve_congruence(int64_t c, int64_t r, int64_t m) {
  int64_t g = static_cast<int64_t>(std::gcd(magnitude(c), magnitude(m)));
  if (r % g != 0) return std::nullopt;
  int64_t step = m / g;
  Wide times = floor_rest(r / g, step) * inverse(c / g, step);
  return make(step, times);
}

Congruence FactsReader::node_congruence(const SymNode* node) const {
  auto arg = [&](size_t i) { return congruence(node->args()[i]); };
  switch (node->kind) {
    case SymKind::symbol: {
      const Facts::Known* k = known(node);
      return k != nullptr ? k->congruence : Congruence{};
    }
    case SymKind::sum: {
      Congruence out{0, node->constant};
      for (const SymTerm& t : node->terms()) out = add(out, multiply({0, t.coefficient}, congruence(Dim(t.monomial))));
      return out;
    }
    case SymKind::product: {
      Congruence out{0, 1};
      for (const SymFactor& f : node->factors()) {
        Congruence atom = congruence(Dim(f.atom));
        for (int64_t i = 0; i < f.power && out.modulus != 1; ++i) out = multiply(out, atom);
      }
      return out;
    }
    case SymKind::floor_div:
      if (!node->args()[1].is_constant()) return {};
      return divide(arg(0), node->args()[1].constant());
    case SymKind::mod: {
      if (!node->args()[1].is_constant()) return {};
      Congruence a = arg(0);
      return make(gcd(a.modulus, node->args()[1].constant()), a.residue);
    }
    case SymKind::min:
    case SymKind::max: {
      Congruence out = arg(0);
      for (size_t i = 1; i < node->count; ++i) out = either(out, arg(i));
      return out;
    }
    case SymKind::call: return {};
  }
  return {};
}

Congruence FactsReader::congruence(Dim dim) const {
  if (dim.is_constant()) return {0, dim.constant()};
  const SymNode* node = dim.node();
  Range r = node->kind == SymKind::symbol ? symbol_range(node) : Range{};
  if (r.low && r.low == r.high) return {0, *r.low};
  Congruence out = node_congruence(node);
  facts_.rewrites_.any_of(node->symbols, [&](const Facts::Rewrite& r) {  // (X + c) % k = r says that X = r - c (mod k)
    const SymNode* atom = r.from.node();
    if (atom->kind != SymKind::mod || !r.to.is_constant() || !atom->args()[1].is_constant()) return false;
    SumView x(dim), of(atom->args()[0]);
    if (!std::ranges::equal(x.terms(), of.terms(), [](const SymTerm& a, const SymTerm& b) {
          return a.monomial == b.monomial && a.coefficient == b.coefficient;
        }))
      return false;
    Congruence fact = make(atom->args()[1].constant(), Wide{r.to.constant()} + x.constant() - of.constant());
    if (auto both = intersect(out, fact)) out = *both;
    return false;
  });
  return out;
}

}  // namespace lenz
