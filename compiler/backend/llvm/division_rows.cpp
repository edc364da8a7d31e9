// Whole quotients and remainders of integers and floats, common divisors, integer powers.
#include "compiler/backend/llvm/families.h"
#include "compiler/backend/llvm/wide.h"

namespace lenz::native {

namespace {

// --- integers. Processors trap on division by zero, and have no vector of it: what fits goes through floats, whose
// quotient of integers of p bits, rounded and then cut, is exact in a float of more than p bits.

// Of 64 bits those below 2^51 go the same way, as most do; where a lane has others each is divided by itself.
V divide_long(V a, V b) {
  constexpr int64_t kHalf = int64_t{1} << 51, kMagic = 0x4338000000000000;  // the bits of 1.5 * 2^52
  const V small = lshr((a + kHalf) | (b + kHalf), 52) == 0;
  auto to_float = [](V x) { return as_float(x + kMagic) - 0x1.8p52; };
  const V quick = bits(trunc(to_float(a) / to_float(b)) + 0x1.8p52) - kMagic;
  return a.code->rarely(!small, {quick}, [&] { return std::vector<V>{a.code->binary(Binary::div, a, b)}; })[0];
}

V divide(const Call& call, V a, V b) {
  if (a.type == LaneType::i64) return divide_long(a, b);
  const LaneType by = a.type == LaneType::i32 ? LaneType::f64 : LaneType::f32;
  auto to_float = [&](V x) {
    return convert(call.is_unsigned() ? a.code->zero_extend(x, LaneType::i32) : convert(x, LaneType::i32), by);
  };
  return convert(convert(to_float(a) / to_float(b), LaneType::i32), a.type);
}

struct Division {
  V quotient, rest;
};
Division divided(Call& call, V a, V b) {
  const V none = b == 0;
  call.raise(none);
  if (call.is_unsigned()) {
    const V divisor = select(none, 1, b), q = divide(call, a, divisor);
    return {q, a - q * divisor};
  }
  const V inverse = b == -1;  // the least integer has no quotient by it that fits: it wraps
  const V divisor = select(none | inverse, 1, b);
  const V q = divide(call, a, divisor);
  return {select(inverse, -a, q), a - q * divisor};
}
V differ(V a, V b) { return (a ^ b) < 0; }

V floor_divide(Call& call, V a, V b) {
  const Division d = divided(call, a, b);
  if (call.is_unsigned()) return d.quotient;
  return select((d.rest != 0) & differ(a, b), d.quotient - 1, d.quotient);
}
V trunc_divide(Call& call, V a, V b) { return divided(call, a, b).quotient; }
V floor_remainder(Call& call, V a, V b) {
  const Division d = divided(call, a, b);
  if (call.is_unsigned()) return d.rest;
  return select((d.rest != 0) & differ(d.rest, b), d.rest + b, d.rest);
}
V trunc_remainder(Call& call, V a, V b) { return divided(call, a, b).rest; }

V magnitude(const Call& call, V a) { return call.is_unsigned() ? a : select(a < 0, -a, a); }

V gcd(Call& call, V a, V b) {
  LaneCode& code = *a.code;
  // Euclid's. The least integer is its own magnitude; remainders, with their dividend's sign, are less than that from
  // the first on, so that it never meets -1.
  const Binary rest = call.is_unsigned() ? Binary::unsigned_rem : Binary::rem;
  return code.repeat(
      {magnitude(call, a), magnitude(call, b)}, [](const std::vector<V>& s) { return s[1] != 0; },
      [&](const std::vector<V>& s) {
        const V divisor = select(s[1] == 0, 1, s[1]);
        return std::vector<V>{s[1], code.binary(rest, s[0], divisor)};
      })[0];
}
V lcm(Call& call, V a, V b) {
  // Narrow integers are computed in 32 bits, the magnitude too, and cut at the end.
  const LaneType wide = call.compute == Dtype::i64 ? LaneType::i64 : LaneType::i32;
  auto widened = [&](V x) { return call.is_unsigned() ? a.code->zero_extend(x, wide) : convert(x, wide); };
  const V g = widened(magnitude(call, gcd(call, a, b)));  // never -1
  const V product = a.code->binary(Binary::div, widened(a), select(g == 0, 1, g)) * widened(b);
  return convert(select(g == 0, 0, select(product < 0, -product, product)), a.type);
}

V integer_pow(Call& call, V a, V n) {
  const V negative = call.is_unsigned() ? a.code->truth(false) : n < 0;
  const V power = a.code->repeat(
      {from(a, 1), a, select(negative, 0, n)}, [](const std::vector<V>& s) { return s[2] != 0; },
      [](const std::vector<V>& s) {
        return std::vector<V>{select((s[2] & 1) != 0, s[0] * s[1], s[0]), s[1] * s[1], lshr(s[2], 1)};
      })[0];
  const V inverse = select(a == 1, 1, select(a == -1, select((n & 1) != 0, from(a, -1), 1), from(a, 0)));
  return select(negative, inverse, power);
}

// --- floats

// What division leaves of `rest`, exactly, if the quotient's bits and the products they make fit: it may be one off.
V reduced(V rest, V divisor, bool fused) {
  const V q = trunc(rest / divisor);
  V r = fused ? rest.code->fused(-q, divisor, rest) : rest - q * divisor;
  r = select(r < 0, r + divisor, r);
  return select(r >= divisor, r - divisor, r);
}

// C's fmod of magnitudes a, b > 0, both finite doubles, exactly: by long division, `step` bits of the quotient at a
// time, each of which a double or a fused multiply and subtract holds exactly.
V long_division(V a, V b, int step, bool fused) {
  LaneCode& code = *a.code;
  auto exponent = [](V x) { return lshr(bits(x), 52); };
  auto normal = [&](V x) {
    const V tiny = x < 0x1p-1022;
    return select(tiny, exponent(x * 0x1p60) - 60, exponent(x));
  };
  // What is further above b than a step reaches is first brought nearer: seldom any.
  const V far = b * std::ldexp(1.0, step);
  const auto rest = code.repeat(
      {a}, [&](const std::vector<V>& s) { return s[0] >= far; },
      [&](const std::vector<V>& s) {
        const V n = as_float(normal(s[0]) - normal(b) - (step - 1) + 0x4338000000000000) - 0x1.8p52;
        return std::vector<V>{reduced(s[0], fused ? ldexp(b, n) : code.scale(b, n), fused)};
      });
  return reduced(rest[0], b, fused);
}

// The same of f32. The quotient of two of them rounds to a whole number or over it, never under: up to 2^23 what is
// left then fits. Larger ones, which are few, are doubles' work.
V short_division(V a, V b) {
  auto in_doubles = [&](V x) {
    return convert(long_division(convert(x, LaneType::f64), convert(b, LaneType::f64), 27, false), LaneType::f32);
  };
  if (!a.code->target().fma) return in_doubles(a);
  const V far = b * 0x1p23;
  const auto rest = a.code->repeat(
      {a}, [&](const std::vector<V>& s) { return s[0] >= far; },
      [&](const std::vector<V>& s) { return std::vector<V>{in_doubles(s[0])}; });
  return reduced(rest[0], b, true);
}

V fmod(V a, V b) {
  const V usable = is_finite(a) & (b != 0) & !is_nan(b);
  const V r = float_remainder(a, b);
  return select(usable, select(is_infinite(b), a, r), (a * b) / (a * b));
}
V remainder(V a, V b) {
  const V r = fmod(a, b);
  return select((r != 0) & ((r < 0) ^ (b < 0)), r + b, r);
}
V long_floor_divide(V a, V b) {
  const V r = fmod(a, b);
  // The products of the division must not overflow: what is large is made smaller, both alike.
  const V unit = a.type == LaneType::f64 ? select(abs(a) > 0x1p960, from(a, 0x1p-100), 1) : from(a, 1);
  const Wide x = widen(a * unit), y = widen(b * unit);
  const V down = (r != 0) & ((r < 0) ^ (b < 0));
  // Of the exact whole quotient: what division leaves is repaired by rounding.
  Wide q = (x - widen(r * unit)) / y;
  const V high = round_even(q.hi);
  if (!q.is_double()) {
    const V low = select(high == q.hi, round_even(q.lo), 0);
    q = renormalised(high, low);
  } else {
    q.hi = high;
  }
  q = select(is_infinite(widen(b).hi), constant(q, 0), q);
  q = select(down, q - 1.0, q);
  const V whole = narrow(q, a.type), plain = a / b;
  const V signed_whole = select(whole == 0, copysign(whole, plain), whole);
  const V answer = select(is_finite(plain), signed_whole, plain);  // a quotient that overflows is infinite
  return select(b == 0, plain, select(is_nan(r), r, answer));
}
// A quotient rounds to a whole number or over it, never under, and while whole numbers have no gaps one fused multiply
// and subtract says exactly on which side what is left lies. Larger ones, and infinite divisors, are few.
V float_floor_divide(V a, V b) {
  LaneCode& code = *a.code;
  if (!code.target().fma) return long_floor_divide(a, b);
  const V q = a / b, whole = floor(q), rest = code.fused(-whole, b, a);
  const V quick = select((rest != 0) & ((rest < 0) ^ (b < 0)), whole - 1, whole);
  const V simple = (abs(q) <= (a.type == LaneType::f64 ? 0x1p52 : 0x1p23)) & is_finite(b);
  return code.rarely(!simple, {quick}, [&] { return std::vector<V>{long_floor_divide(a, b)}; })[0];
}
V float_trunc_divide(Call& call, V a, V b) { return trunc(value_of_dtype(call, a / b, call.compute)); }

}  // namespace

V float_remainder(V a, V b) {
  const V x = abs(a), y = abs(b);
  // Where the division can't be made, it is one that can.
  const V usable = is_finite(a) & is_finite(b) & (b != 0);
  const V p = select(usable, x, 0), q = select(usable, y, 1);
  return copysign(a.type == LaneType::f32 ? short_division(p, q) : long_division(p, q, 50, true), a);
}

void add_divisions(Spellings& t) {
  t.push_back({.name = "floor_divide", .integers = spell<floor_divide>, .reals = spell<float_floor_divide>});
  t.push_back({.name = "trunc_div", .integers = spell<trunc_divide>, .reals = spell<float_trunc_divide>});
  t.push_back({.name = "remainder", .integers = spell<floor_remainder>, .reals = spell<remainder>});
  t.push_back({.name = "fmod", .integers = spell<trunc_remainder>, .reals = spell<fmod>});
  t.push_back({.name = "gcd", .integers = spell<gcd>});
  t.push_back({.name = "pow", .integers = spell<integer_pow>});
  t.push_back({.name = "lcm", .integers = spell<lcm>});
}

}  // namespace lenz::native
