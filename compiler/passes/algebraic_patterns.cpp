#include "compiler/passes/algebraic_patterns.h"

#include "compiler/ops/op_table.h"

namespace lenz {

namespace {
// Every rule here is exact: for floats it holds for NaN, infinities and the sign of zero; for integers it holds modulo
// 2^n. What holds only for real numbers (x/x = 1, x - x = 0 of floats, exp(log(x)) = x) is not here. The rewriter adds
// that the type stays, so promotion and broadcasting need no words.
constexpr std::string_view kRules = R"(
  # f(f(x)) = f(x), by the op's row.
  rule idempotent {
    %a = ?f(%x, ...$rest)
    %b = ?f(%a, ...$rest)
    where ?f is idempotent
    replace %b with %a
  }

  # f(f(x)) = x, by the op's row: -(-x) flips the sign bit twice, and wraps back.
  rule involution {
    %a = ?f(%x)
    %b = ?f(%a)
    where ?f is involution
    shared %a
    replace %b with %x
  }

  # f(x, x) = x. The maximum of two NaNs is NaN.
  rule same_operands {
    %r = ?f(%x, %x)
    where ?f in [aten.bitwise_and.Tensor, aten.bitwise_or.Tensor, aten.maximum, aten.minimum, aten.fmax, aten.fmin]
    replace %r with %x
  }
  # c ? x : x = x
  rule same_branches {
    %r = aten.where.self(_, %x, %x)
    replace %r with %x
  }

  # x - x = x ^ x = 0 for integers only: inf - inf is NaN.
  rule difference_of_same {
    %r = ?f(%x, %x)
    where ?f in [aten.sub.Tensor, aten.bitwise_xor.Tensor], dtype(%r) in integers
    replace %r {
      %z = aten.full(sizes(%r), 0, dtype=dtype(%r), device=device(%r))
      return %z
    }
  }

  # x - (-y) = x + y; a float is negated exactly, an integer modulo 2^n: its own n, so it must not be promoted behind.
  # Not of complex numbers: what is subtracted is multiplied by -1 there, and inf * 0 is NaN.
  rule minus_negative {
    %n = aten.neg(%y)
    %r = aten.sub.Tensor(%x, %n)
    where dtype(%r) in real
    either { where dtype(%y) in floats } or { where dtype(%y) == dtype(%r) }
    shared %n
    replace %r { %s = aten.add.Tensor(%x, %y) return %s }
  }
  # x + (-y) = x - y
  rule plus_negative {
    %n = aten.neg(%y)
    %r = aten.add.Tensor(%x, %n)
    where dtype(%r) in real
    either { where dtype(%y) in floats } or { where dtype(%y) == dtype(%r) }
    shared %n
    replace %r { %s = aten.sub.Tensor(%x, %y) return %s }
  }
  # (-x) * (-y) = x * y, and so for quotients of floats: the signs meet in the sign bit alone. The quotient of integers
  # is a float, and the negative of the smallest one, or of an unsigned one, wraps before it is one.
  rule negative_times_negative {
    %m = aten.neg(%x)
    %n = aten.neg(%y)
    %r = ?f(%m, %n)
    either { where ?f in [aten.mul.Tensor, aten.div.Tensor], dtype(%x) in floats, dtype(%y) in floats }
    or { where ?f in [aten.mul.Tensor], dtype(%x) in integers, dtype(%x) == dtype(%r), dtype(%y) == dtype(%r) }
    shared %m, %n
    replace %r { %s = ?f(%x, %y) return %s }
  }
  # |-x| = |x|, also for the smallest integer: both wrap to it. Unsigned ones are their own magnitude, wrapped or not.
  rule magnitude_of_negative {
    %n = aten.neg(%x)
    %r = aten.abs(%n)
    where not dtype(%x) == u8
    shared %n
    replace %r { %s = aten.abs(%x) return %s }
  }
  # x * -1 = -x; not for complex numbers, where inf * 0 is NaN.
  rule times_minus_one {
    %r = aten.mul.Scalar(%x, -1)
    where dtype(%r) in real
    replace %r { %n = aten.neg(%x) return %n }
  }

  # not (x == y) is x != y, for NaN too.
  rule not_equal {
    %e = aten.eq.Tensor(%x, %y)
    %r = aten.logical_not(%e)
    shared %e
    replace %r { %n = aten.ne.Tensor(%x, %y) return %n }
  }
  rule not_unequal {
    %e = aten.ne.Tensor(%x, %y)
    %r = aten.logical_not(%e)
    shared %e
    replace %r { %n = aten.eq.Tensor(%x, %y) return %n }
  }
  # not (x < y) is x >= y for integers only: with a NaN both are false.
  rule not_less {
    %c = aten.lt.Tensor(%x, %y)
    %r = aten.logical_not(%c)
    where dtype(%x) in integers, dtype(%y) in integers
    shared %c
    replace %r { %n = aten.ge.Tensor(%x, %y) return %n }
  }
  rule not_greater {
    %c = aten.gt.Tensor(%x, %y)
    %r = aten.logical_not(%c)
    where dtype(%x) in integers, dtype(%y) in integers
    shared %c
    replace %r { %n = aten.le.Tensor(%x, %y) return %n }
  }

  # To a dtype that holds every value, and back.
  rule there_and_back {
    %a = ?f(%x, ...)
    %b = ?g(%a, ...)
    where ?f in [aten.to, aten._to_copy], ?g in [aten.to, aten._to_copy], holds(dtype(%a), dtype(%x))
    where same_type(%b, %x)
    shared %a
    replace %b with %x
  }
  # To a dtype that holds every value, and on: one rounding either way. From floats to integers the width in between
  # may decide what happens to numbers out of range.
  rule by_way_of_wider {
    %a = ?f(%x, ...)
    %b = ?g(%a, ...)
    where ?f in [aten.to.dtype, aten._to_copy], ?g in [aten.to.dtype, aten._to_copy]
    where holds(dtype(%a), dtype(%x)), not dtype(%a) == dtype(%x), not dtype(%b) == dtype(%x)
    either { where dtype(%b) in floats } or { where dtype(%a) in integers, dtype(%b) in integers }
    where device(%a) == device(%x), device(%b) == device(%x)
    shared %a
    replace %b { %c = aten._to_copy(%x, dtype=dtype(%b)) return %c }
  }
)";
}  // namespace

const RuleSet& algebraic_patterns() {
  static const RuleSet rules = RuleSet::parse(kRules, op_table(), "algebraic_patterns");
  return rules;
}

std::string_view filled_form() { return "aten.full"; }

}  // namespace lenz
