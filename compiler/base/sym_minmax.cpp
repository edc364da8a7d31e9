// min, max and opaque calls. Rules, for every integer value of the symbols:
//   min(min(a, b), c) = min(a, b, c)     min(a, b) = min(b, a)     min(a, a) = a     min(3, 5) = 3
//   min(a, b) = a, if b - a >= 0 everywhere (a + 1, a % 8 against 8, ...)
//   min(a, max(a, b)) = a                and all of them with min and max, <= and >= exchanged
#include <algorithm>
#include <bit>
#include <cmath>

#include "compiler/base/sym_node.h"

namespace lenz {

namespace {

bool contains(Dim dim, SymKind kind, Dim arg) {
  if (dim.is_constant() || dim.node()->kind != kind) return false;
  for (const Dim& a : dim.node()->args())
    if (a == arg) return true;
  return false;
}

// Whether `keep` makes `drop` superfluous as a fellow argument.
bool dominates(SymKind kind, Dim keep, Dim drop) {
  SymKind other = kind == SymKind::min ? SymKind::max : SymKind::min;
  if (contains(drop, other, keep)) return true;
  if (keep.is_constant() && drop.is_constant()) return true;  // constants were merged before
  try {
    Range gap = range_of(kind == SymKind::min ? drop - keep : keep - drop, nullptr);
    return gap.low && *gap.low >= 0;
  } catch (const UserError&) {
    return false;  // the difference overflows or is too large to look at
  }
}

Dim choose(SymKind kind, Dim a, Dim b) {
  if (a == b) return a;
  std::vector<Dim> args;
  for (Dim d : {a, b}) {
    if (!d.is_constant() && d.node()->kind == kind) {
      args.insert(args.end(), d.node()->args().begin(), d.node()->args().end());
    } else {
      args.push_back(d);
    }
  }
  std::sort(args.begin(), args.end(), [](Dim x, Dim y) { return compare(x, y) < 0; });
  args.erase(std::unique(args.begin(), args.end()), args.end());
  // Constants come first, in order: one of them decides.
  size_t constants = 0;
  while (constants < args.size() && args[constants].is_constant()) ++constants;
  if (constants > 1) {
    if (kind == SymKind::min) {
      args.erase(args.begin() + 1, args.begin() + static_cast<ptrdiff_t>(constants));
    } else {
      args.erase(args.begin(), args.begin() + static_cast<ptrdiff_t>(constants) - 1);
    }
  }
  std::vector<Dim> kept;
  for (Dim candidate : args) {
    bool superfluous = false;
    for (Dim k : kept) superfluous = superfluous || dominates(kind, k, candidate);
    if (superfluous) continue;
    std::erase_if(kept, [&](Dim k) { return dominates(kind, candidate, k); });
    kept.push_back(candidate);
  }
  if (kept.size() == 1) return kept[0];
  if (kept.size() > kMaxTerms)
    throw UserError("dimension expression has too many terms", "", "name a part of it as a symbol");
  return pool_of(a, b).make(kind, kept);
}

}  // namespace

Dim min(Dim a, Dim b) {
  if (a.is_constant() && b.is_constant()) return std::min(a.constant(), b.constant());
  return choose(SymKind::min, a, b);
}

Dim max(Dim a, Dim b) {
  if (a.is_constant() && b.is_constant()) return std::max(a.constant(), b.constant());
  return choose(SymKind::max, a, b);
}

std::optional<int64_t> apply_call(SymFn fn, int64_t a, double factor) {
  double scaled = static_cast<double>(a) * factor, result = 0;
  switch (fn) {
    case SymFn::floor_scale: result = std::floor(scaled); break;
    case SymFn::ceil_scale: result = std::ceil(scaled); break;
    case SymFn::round_scale: result = scaled - std::remainder(scaled, 1.0); break;
  }
  if (!(result >= -0x1p63 && result < 0x1p63)) return std::nullopt;
  return static_cast<int64_t>(result);
}

Dim call(SymFn fn, Dim a, double factor) {
  if (!std::isfinite(factor)) throw UserError("dimension is scaled by a number that is not finite");
  if (a.is_constant()) {
    std::optional<int64_t> value = apply_call(fn, a.constant(), factor);
    if (!value) throw_overflow();
    return *value;
  }
  if (factor == 0) return 0;
  return a.node()->pool->make(SymKind::call, {&a, 1}, fn, std::bit_cast<int64_t>(factor));
}

}  // namespace lenz
