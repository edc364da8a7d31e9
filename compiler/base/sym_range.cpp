// Interval arithmetic over dims. An end that overflows is unbounded. Additive over the terms of a sum, so that
// "b - a >= 0" is transitive where it is proved by ranges: min and max rely on it for one canonical form.
#include "compiler/base/sym_facts.h"

namespace lenz {

namespace {

using End = std::optional<int64_t>;

End clip(Wide v) { return fits(v) ? End(static_cast<int64_t>(v)) : std::nullopt; }

Range negate(const Range& r) {
  Range out;
  if (r.high) out.low = clip(-Wide{*r.high});
  if (r.low) out.high = clip(-Wide{*r.low});
  return out;
}

bool nonnegative(const Range& r) { return r.low && *r.low >= 0; }
bool nonpositive(const Range& r) { return r.high && *r.high <= 0; }

Range multiply(const Range& a, const Range& b) {
  if (nonpositive(a) && !nonnegative(a)) return negate(multiply(negate(a), b));
  if (nonpositive(b) && !nonnegative(b)) return negate(multiply(a, negate(b)));
  Range out;
  if (nonnegative(a) && nonnegative(b)) {
    out.low = clip(Wide{*a.low} * *b.low);
    if (!out.low) out.low = INT64_MAX;  // beyond int64: at least that
    if (a.high && b.high) out.high = clip(Wide{*a.high} * *b.high);
    return out;
  }
  if (nonnegative(b)) {  // a has both signs
    if (a.low && b.high) out.low = clip(Wide{*a.low} * *b.high);
    if (a.high && b.high) out.high = clip(Wide{*a.high} * *b.high);
    return out;
  }
  if (nonnegative(a)) return multiply(b, a);
  if (!a.low || !a.high || !b.low || !b.high) return out;
  Wide products[] = {Wide{*a.low} * *b.low, Wide{*a.low} * *b.high, Wide{*a.high} * *b.low, Wide{*a.high} * *b.high};
  out.low = clip(std::min(std::min(products[0], products[1]), std::min(products[2], products[3])));
  out.high = clip(std::max(std::max(products[0], products[1]), std::max(products[2], products[3])));
  return out;
}

Range power(const Range& base, int64_t exponent) {
  if (exponent == 1 && nonnegative(base)) return base;  // as most are
  Range out{1, 1};
  for (int64_t i = 0; i < exponent; ++i) {
    Range next = multiply(out, base);
    if (next == out && i > 2) break;
    out = next;
  }
  if (exponent % 2 == 0 && !nonnegative(out)) out.low = 0;
  return out;
}

// a // b for b of one sign that is not 0.
Range divide(const Range& a, const Range& b) {
  if (b.high && *b.high < 0) return divide(negate(a), negate(b));
  Range out;
  if (!b.low || *b.low <= 0) {
    // b is anything but 0: the quotient is no further from 0 than a, and -1 at the least for small negative a/b.
    if (a.low && a.high) {
      Wide reach =
          std::max(Wide{*a.high} < 0 ? -Wide{*a.high} : Wide{*a.high}, Wide{*a.low} < 0 ? -Wide{*a.low} : Wide{*a.low});
      out.low = clip(-reach);
      out.high = clip(reach);
      if (b.low && *b.low >= 0) {  // b > 0 where it is defined
        out.low = *a.low >= 0 ? End(0) : a.low;
        out.high = *a.high < 0 ? End(-1) : a.high;
      }
    } else if (b.low && *b.low >= 0) {
      if (a.low) out.low = *a.low >= 0 ? End(0) : a.low;
      if (a.high) out.high = *a.high < 0 ? End(-1) : a.high;
    }
    return out;
  }
  if (a.low) {
    if (*a.low >= 0) {
      out.low = b.high ? clip(floor_quotient(*a.low, *b.high)) : End(0);
    } else {
      out.low = clip(floor_quotient(*a.low, *b.low));
    }
  }
  if (a.high) {
    if (*a.high >= 0) {
      out.high = clip(floor_quotient(*a.high, *b.low));
    } else {
      out.high = b.high ? clip(floor_quotient(*a.high, *b.high)) : End(-1);
    }
  }
  return out;
}

// a % b for b > 0 where it is defined.
Range remainder(const Range& a, const Range& b) {
  if (nonpositive(b) && !nonnegative(b)) return negate(remainder(negate(a), negate(b)));
  Range out;
  if (!nonnegative(b)) {
    if (b.high) out.high = clip(Wide{*b.high} - 1);
    if (b.low) out.low = clip(Wide{*b.low} + 1);
    return out;
  }
  if (a.low && a.high && b.low && b.low == b.high && *b.low > 0) {
    Wide q = floor_quotient(*a.low, *b.low);
    if (q == floor_quotient(*a.high, *b.low)) return {clip(*a.low - q * *b.low), clip(*a.high - q * *b.low)};
  }
  out.low = 0;
  if (b.high) out.high = std::max<int64_t>(0, *b.high - 1);
  if (nonnegative(a)) {
    if (a.high && (!out.high || *a.high < *out.high)) out.high = a.high;
    if (a.high && b.low && *a.high < *b.low) out.low = a.low;
  }
  return out;
}

Range lower(const Range& a, const Range& b) {  // of min
  Range out;
  if (a.low && b.low) out.low = std::min(*a.low, *b.low);
  out.high = !a.high ? b.high : !b.high ? a.high : End(std::min(*a.high, *b.high));
  return out;
}

Range call_range(const SymNode* node, const Range& a) {
  double f = node->factor();
  Range out;
  for (bool low : {true, false}) {
    const End& end = (f > 0) == low ? a.low : a.high;
    if (!end) continue;
    (low ? out.low : out.high) = apply_call(node->fn, *end, f);  // monotone in its argument
  }
  return out;
}

Range sum_range(const SymNode* node, const FactsReader* facts) {
  Wide low = node->constant, high = node->constant;
  bool has_low = true, has_high = true;
  for (const SymTerm& t : node->terms()) {
    Range r = range_of(Dim(t.monomial), facts);
    const End& down = t.coefficient > 0 ? r.low : r.high;
    const End& up = t.coefficient > 0 ? r.high : r.low;
    has_low = has_low && down;
    has_high = has_high && up;
    if (down) has_low = has_low && !__builtin_add_overflow(low, Wide{*down} * t.coefficient, &low);
    if (up) has_high = has_high && !__builtin_add_overflow(high, Wide{*up} * t.coefficient, &high);
  }
  Range out;
  if (has_low) out.low = clip(low);
  if (has_high) out.high = clip(high);
  return out;
}

}  // namespace

Range multiply_ranges(const Range& a, const Range& b) { return multiply(a, b); }

Range range_of(Dim dim, const FactsReader* facts) {
  if (dim.is_constant()) return {dim.constant(), dim.constant()};
  const SymNode* node = dim.node();
  auto arg = [&](size_t i) { return range_of(node->args()[i], facts); };
  switch (node->kind) {
    case SymKind::symbol: return facts != nullptr ? facts->symbol_range(node) : Range{};
    case SymKind::sum: return sum_range(node, facts);
    case SymKind::product: {
      Range out{1, 1};
      bool first = true;
      for (const SymFactor& f : node->factors()) {
        const Range r = power(range_of(Dim(f.atom), facts), f.power);
        out = first && nonnegative(r) ? r : multiply(out, r);
        first = false;
      }
      return out;
    }
    case SymKind::floor_div: return divide(arg(0), arg(1));
    case SymKind::mod: return remainder(arg(0), arg(1));
    case SymKind::min: {
      Range out = arg(0);
      for (size_t i = 1; i < node->count; ++i) out = lower(out, arg(i));
      return out;
    }
    case SymKind::max: {
      Range out = negate(arg(0));
      for (size_t i = 1; i < node->count; ++i) out = lower(out, negate(arg(i)));
      return negate(out);
    }
    case SymKind::call: return call_range(node, arg(0));
  }
  return {};
}

}  // namespace lenz
