// Bessel functions of order 0 and 1: near zero what is smooth of them, far out their amplitudes, which are smooth
// functions of 1 / x; orthogonal polynomials by their recurrences.
#include <cmath>
#include <limits>

#include "compiler/backend/llvm/families.h"
#include "compiler/backend/llvm/pieces.h"
#include "compiler/backend/llvm/row_call.h"
#include "compiler/backend/llvm/wide.h"
#include "compiler/scalar/special_functions.h"

namespace lenz::native {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
const double kNan = std::numeric_limits<double>::quiet_NaN();

Wide one(Wide like) { return constant(like, 1); }
V power_of_two(V n) { return n.code->scale(from(n, 1), n); }

// `usual`, but where `condition` holds of any lane: a branch around what is long.
V unless(V condition, V usual, const std::function<V()>& rare) {
  return usual.code->rarely(condition, {usual}, [&] { return std::vector<V>{select(condition, rare(), usual)}; })[0];
}

Wide unless(V condition, Wide usual, const std::function<Wide()>& rare) {
  auto parts = [](Wide v) { return v.is_double() ? std::vector{v.hi} : std::vector{v.hi, v.lo}; };
  const auto both =
      condition.code->rarely(condition, parts(usual), [&] { return parts(select(condition, rare(), usual)); });
  return both.size() == 1 ? Wide{both[0], {}} : Wide{both[0], both[1]};
}

Quadrant quadrant_of(Wide angle) {
  const Quadrant at = quadrant(angle.hi);
  if (angle.is_double()) return at;
  const Quadrant rest = quadrant(angle.lo);  // a large one has whole turns there too
  const Wide both = at.angle + rest.angle;
  const V more = round_even(both.hi * 0.6366197723675814);
  return {at.number + rest.number + bits(more + 0x1.8p52), both - constant(both, dd::kHalfPi) * wide_of(both, more)};
}

// --- modified, of the first kind, over e^x; x >= 0. For order 1 the quotient by x.

template <DoubleDouble (*Scaled)(DoubleDouble)>
DoubleDouble of_inverse(DoubleDouble u) {  // sqrt(x) f(x) at x = 1 / u
  const DoubleDouble x = DoubleDouble(1) / u;
  return Scaled(x) * dd::sqrt(x);
}
template <DoubleDouble (*Scaled)(DoubleDouble), bool Odd>
Wide first_kind(Wide x) {
  static const Pieces near_pieces([](DoubleDouble at) { return Odd ? Scaled(at) / at : Scaled(at); }, 0, 16, 32, 14, 8);
  static const Pieces far_pieces(of_inverse<Scaled>, 0, 0.0625, 8, 12, 6);
  const V far = x.hi > 16;
  Wide near = evaluate(near_pieces, select(far, one(x), x));
  if (Odd) near = near * x;
  return unless(far, near, [&] {
    const Wide size = select(far, x, constant(x, 32));
    return evaluate(far_pieces, one(x) / size) / sqrt(size);
  });
}
template <DoubleDouble (*Scaled)(DoubleDouble), bool Odd, bool Grown>
V modified_first(V x) {
  const V plain = is_finite(x) & (abs(x) < 0x1p1000);
  const Wide w = widen(abs(select(plain, x, 1)));
  Wide value = first_kind<Scaled, Odd>(w);
  V result;
  if (Grown) {
    const Wide most = select(w.hi > 720, constant(w, 720), w);
    const Exponential e = exponential(most);
    result = convert(ldexp(narrow(value * (e.minus_one + 1.0), LaneType::f64), e.n), x.type);
    result = select(w.hi > 719, kInfinity, result);
  } else {
    result = narrow(value, x.type);
  }
  const V size = abs(x), tiny = size < 0x1p-100;
  if (Odd) result = select(tiny, size * 0.5, result);
  // Of an infinite operand i0 and i1 are NaN, as the table has it.
  const V most = Grown ? from(x, kInfinity) : from(x, 0.3989422804014327) / sqrt(size);
  const V limit = Grown ? select(is_infinite(x), kNan, most) : most;
  result = select(plain, result, limit);
  return select(is_nan(x), x, Odd ? copysign(result, x) : result);
}

// --- modified, of the second kind; x > 0. Up to one with the logarithm taken out.

template <int Order>
Wide second_kind_near(Wide x) {  // k0, or k1 - 1 / x over x
  static const Pieces smooth_pieces(
      [](DoubleDouble at) {
        return Order == 0 ? dd::bessel_k0(at) + dd::log(at) * dd::bessel_i0(at)
                          : (dd::bessel_k1(at) - dd::log(at) * dd::bessel_i1(at) - DoubleDouble(1) / at) / at;
      },
      0.0009765625, 1.0009765625, 8, 14, 7);
  static const Pieces first_pieces(
      [](DoubleDouble at) { return Order == 0 ? dd::bessel_i0(at) : dd::bessel_i1(at) / at; }, 0, 1, 8, 14, 7);
  const Wide smooth = evaluate(smooth_pieces, x), product = log(x) * evaluate(first_pieces, x);
  return Order == 0 ? smooth - product : smooth + product;
}
template <DoubleDouble (*Scaled)(DoubleDouble)>
Wide second_kind_far(Wide x) {  // over e^-x
  static const Pieces amplitude_pieces(of_inverse<Scaled>, 0, 1, 32, 14, 8);
  return evaluate(amplitude_pieces, one(x) / x) / sqrt(x);
}
template <int Order, DoubleDouble (*Scaled)(DoubleDouble), bool Grown>
V modified_second(V x) {
  const V plain = (x > 0x1p-100) & (x < 0x1p1000), far = x > 1;
  const Wide w = widen(select(plain, x, 1)), out = second_kind_far<Scaled>(select(far & plain, w, one(w)));
  Wide near = second_kind_near<Order>(select(far | !plain, one(w), w));
  // Below the pieces' beginning nothing but the logarithm is left: 1e-3 is where x^2 log x counts.
  const Wide small = select(far | !plain, one(w), w);
  if (Order == 1) near = near * small + one(w) / small;
  const Exponential grow = exponential(small);
  const Wide factor = (grow.minus_one + 1.0) * wide_of(w, power_of_two(grow.n));
  if (Grown) near = near * factor;
  V result;
  if (Grown) {
    result = narrow(select(far, out, near), x.type);
  } else {
    const Wide most = select(w.hi > 800, constant(w, 800), w);
    const Exponential fall = exponential(-select(far, most, one(w)));
    const V outside = ldexp(narrow(out * (fall.minus_one + 1.0), LaneType::f64), fall.n);
    result = convert(select(far, outside, narrow(near, LaneType::f64)), x.type);
  }
  const V tiny = Order == 0 ? narrow(constant(w, DoubleDouble(0)) - log(widen(select(x > 0, x, 1))) +
                                         constant(w, dd::kLn2 - dd::kEulerGamma),
                                     x.type)
                            : from(x, 1) / x;
  const V large = Grown ? sqrt(from(x, 1.5707963267948966) / x) : from(x, 0);
  V special = select(x > 1, large, tiny);
  special = select(x == 0, kInfinity, select(x < 0, kNan, special));
  return select(is_nan(x), x, select(plain, result, special));
}

// --- of the first and second kind; x >= 0

// The amplitudes P and Q of j = sqrt(2 / (pi x)) (P cos t - Q sin t), y = ... (P sin t + Q cos t), t = x - phase.
template <int Order, bool Cosine>
DoubleDouble amplitude(DoubleDouble u) {
  const DoubleDouble x = DoubleDouble(1) / u, root = dd::sqrt(x * dd::kHalfPi);
  const DoubleDouble j = Order == 0 ? dd::bessel_j0(x) : dd::bessel_j1(x);
  const DoubleDouble y = Order == 0 ? dd::bessel_y0(x) : dd::bessel_y1(x);
  const DoubleDouble turn = x - dd::kHalfPi * DoubleDouble(Order == 0 ? 0.5 : 1.5);
  const DoubleDouble c = dd::cos(turn), s = dd::sin(turn);
  return root * (Cosine ? j * c + y * s : (y * c - j * s) / u);
}
struct Oscillation {
  Wide j, y;
};
template <int Order>
Oscillation oscillation(Wide x, V value) {
  static const Pieces p_pieces(amplitude<Order, true>, 0.0001220703125, 0.1251220703125, 8, 12, 6);
  static const Pieces q_pieces(amplitude<Order, false>, 0.0001220703125, 0.1251220703125, 8, 12, 6);
  const Wide u = one(x) / x;
  const Wide p = evaluate(p_pieces, u), q = evaluate(q_pieces, u) * u;
  const SinCos at = sin_cos(x, quadrant(convert(value, LaneType::f64)));
  // Of an angle less a quarter turn's half: sums and differences over the root of two.
  const Wide sum = at.cos + at.sin, difference = at.sin - at.cos;
  const Wide cosine = Order == 0 ? sum : difference, sine = Order == 0 ? difference : -sum;
  const Wide factor = sqrt(u * constant(u, DoubleDouble(1) / dd::kPi));
  return {factor * (p * cosine - q * sine), factor * (p * sine + q * cosine)};
}
template <int Order>
Wide first_near(Wide x) {  // of order 1: over x
  static const Pieces near_pieces(
      [](DoubleDouble at) { return Order == 0 ? dd::bessel_j0(at) : dd::bessel_j1(at) / at; }, 0, 8, 16, 14, 8);
  return evaluate(near_pieces, x);
}
template <int Order>
V bessel_j(V x) {
  const V size = abs(x), plain = is_finite(x), far = size > 8;
  const V value = select(plain & far, size, 16);
  const Wide w = widen(select(far | !plain, 1, size));
  Wide near = first_near<Order>(w);
  if (Order == 1) near = near * w;
  V result = unless(plain & far, narrow(near, x.type),
                    [&] { return narrow(oscillation<Order>(widen(value), value).j, x.type); });
  if (Order == 1) result = select(size < 0x1p-100, x * 0.5, copysign(from(x, 1), x) * result);
  return select(plain, result, from(x, kNan));
}
template <int Order>
V bessel_y(V x) {
  static const Pieces smooth_pieces(
      [](DoubleDouble at) {
        const DoubleDouble two_over_pi = DoubleDouble(1) / dd::kHalfPi;
        return Order == 0
                   ? dd::bessel_y0(at) - two_over_pi * dd::log(at) * dd::bessel_j0(at)
                   : (dd::bessel_y1(at) - two_over_pi * (dd::log(at) * dd::bessel_j1(at) - DoubleDouble(1) / at)) / at;
      },
      0.0009765625, 8.0009765625, 16, 14, 9);
  const V plain = is_finite(x) & (x > 0x1p-100), far = x > 8;
  const V value = select(plain & far, x, 16);
  const Wide w = widen(select(plain & !far, x, 1)), two_over_pi = constant(w, DoubleDouble(1) / dd::kHalfPi);
  const Wide smooth = evaluate(smooth_pieces, w), product = log(w) * first_near<Order>(w);
  const Wide near =
      Order == 0 ? smooth + two_over_pi * product : (smooth + two_over_pi * product) * w - two_over_pi / w;
  const V result = unless(plain & far, narrow(near, x.type),
                          [&] { return narrow(oscillation<Order>(widen(value), value).y, x.type); });
  const Wide small = log(widen(select((x > 0) & is_finite(x), x, 1))) - constant(w, dd::kLn2 - dd::kEulerGamma);
  const V tiny = Order == 0 ? narrow(small * two_over_pi, x.type) : from(x, -0.6366197723675814) / x;
  const V special = select(x == 0, -kInfinity, select(x < 0, kNan, select(is_infinite(x), from(x, kNan), tiny)));
  return select(is_nan(x), x, select(plain, result, special));
}

// --- Airy's: near zero as it is, above that by its decay, below by its wave; far below nobody needs it fast

Wide two_thirds_root_cube(Wide x, Wide root) { return x * root * constant(x, DoubleDouble(2) / DoubleDouble(3)); }

V airy_above(V x) {  // x >= 2
  static const Pieces pieces(dd::airy_decay, 0.0009765625, 0.5634765625, 18, 14, 8);
  constexpr double kNothingLeft = 120;
  const Wide w = widen(select(x > kNothingLeft, kNothingLeft, x)), root = sqrt(w);
  const Wide zeta = two_thirds_root_cube(w, root), smooth = evaluate(pieces, one(w) / zeta) / sqrt(root);
  const Exponential fall = exponential(-zeta);
  return convert(ldexp(narrow(smooth * (fall.minus_one + 1.0), LaneType::f64), fall.n), x.type);
}

// The angle is kept in two doubles whatever the dtype: of a large one little is left but its last places.
V airy_below(V size) {  // 10 <= size < 2^32
  static const Pieces even(dd::airy_even, 0, 0.05, 8, 12, 6), odd(dd::airy_odd, 0, 0.05, 8, 12, 6);
  const V wide_size = convert(size, LaneType::f64);
  const Wide exact{wide_size, from(wide_size, 0)}, root = sqrt(exact), zeta = two_thirds_root_cube(exact, root);
  const Wide like = widen(size), u = one(like) / (like.is_double() ? Wide{zeta.hi, {}} : zeta);
  const SinCos at = sin_cos(like, quadrant_of(zeta));
  const Wide wave = (at.sin + at.cos) * evaluate(even, u) + (at.cos - at.sin) * evaluate(odd, u) * u;
  const Wide length = like.is_double() ? Wide{root.hi, {}} : root;
  return narrow(wave / sqrt(length * constant(like, dd::kPi) * 2.0), size.type);
}

V airy_ai(V x) {
  static const Pieces near_pieces(dd::airy_ai, -10, 2, 24, 16, 10);
  constexpr double kFar = 0x1p32;
  const V near = (x >= -10) & (x < 2);
  V value = narrow(evaluate(near_pieces, widen(select(near, x, 0))), x.type);
  const V above = (x >= 2) & is_finite(x), below = (x < -10) & (x > -kFar), beyond = (x <= -kFar) & is_finite(x);
  value = unless(above, value, [&] { return airy_above(select(above, x, 2)); });
  value = unless(below, value, [&] { return airy_below(select(below, -x, 16)); });
  value = unless(beyond, value, [&] {
    const V far[] = {select(beyond, x, 0)};
    return x.code->by_table(*find_scalar("special_airy_ai"), x.type, far);
  });
  return select(is_nan(x), x, select(is_finite(x), value, kNan));
}

// --- orthogonal polynomials of degree n: p[k + 1] = (a x + b) p[k] - c p[k - 1], with a, b, c by the family

struct Recurrence {
  Wide first;                                               // p[1]
  Wide (*next)(Wide x, Wide k, Wide current, Wide before);  // p[k + 1]
};
Wide climb(const Recurrence& r, Wide x, V last) {
  const bool plain = x.is_double();
  const V zero = from(x.hi, 0);
  auto pack = [&](Wide current, Wide before, V k) {
    return std::vector<V>{current.hi, plain ? zero : current.lo, before.hi, plain ? zero : before.lo, k};
  };
  auto unpack = [&](V hi, V lo) { return plain ? Wide{hi, {}} : Wide{hi, lo}; };
  const auto state = x.hi.code->repeat(
      pack(r.first, one(x), from(zero, 1)), [&](const std::vector<V>& s) { return (s[4] < last) & !is_nan(s[0]); },
      [&](const std::vector<V>& s) {
        const Wide current = unpack(s[0], s[1]), before = unpack(s[2], s[3]);
        return pack(r.next(x, wide_of(x, s[4]), current, before), current, s[4] + 1);
      });
  return unpack(state[0], state[1]);
}

// Chebyshev's, by the angle whose cosine x is, of which no degree takes long; and at 1 and -1, which end no recurrence.
struct ByAngle {
  Wide inside;            // of |x| < 1
  Wide at_one, at_minus;  // but for the sign
};
Wide sine_of_multiple(Wide theta, Wide times, bool cosine) {
  const SinCos made = sin_cos(theta, quadrant_of(theta * times));
  return cosine ? made.cos : made.sin;
}
Wide angle_of(Wide x) { return atan2_positive(sqrt(one(x) - x), sqrt(x + 1.0)) * 2.0; }
ByAngle chebyshev_t_by_angle(Wide x, Wide n) { return {sine_of_multiple(angle_of(x), n, true), one(x), one(x)}; }
ByAngle chebyshev_u_by_angle(Wide x, Wide n) {
  const Wide more = n + 1.0;
  return {sine_of_multiple(angle_of(x), more, false) / sqrt((one(x) - x) * (x + 1.0)), more, more};
}
ByAngle chebyshev_v_by_angle(Wide x, Wide n) {
  return {sine_of_multiple(angle_of(x), n + 0.5, true) / sqrt((x + 1.0) * 0.5), one(x), n * 2.0 + 1.0};
}
ByAngle chebyshev_w_by_angle(Wide x, Wide n) {
  return {sine_of_multiple(angle_of(x), n + 0.5, false) / sqrt((one(x) - x) * 0.5), n * 2.0 + 1.0, one(x)};
}
struct Way {
  V by_angle, inside;  // of many steps; not at an end
};
Way way_of(Wide x, V degree) {
  constexpr double kManySteps = 100;
  const Wide size = abs(x);
  V at_end = size.hi == 1, inside = size.hi < 1;
  if (!size.is_double()) {
    const V near = at_end & (abs(size.lo) < 0x1p-108);  // no multiple of an angle tells them apart
    inside = inside | (at_end & (size.lo < 0) & !near), at_end = near;
  }
  return {(degree > kManySteps) & (inside | at_end), inside};
}

template <Recurrence (*Family)(Wide x), bool Shifted, ByAngle (*Angle)(Wide x, Wide n) = nullptr>
V orthogonal(V x, V n) {
  const V degree = trunc(n), none = !(degree >= 0) | is_infinite(n) | (convert(degree, LaneType::f64) >= 0x1p63);
  Wide w = widen(x);
  if (Shifted) w = w * 2.0 - 1.0;
  const V wanted = convert(select(none, from(degree, -1), degree), LaneType::f64);
  V last = wanted;
  Way way;
  if constexpr (Angle != nullptr) {
    way = way_of(w, wanted);
    last = select(way.by_angle, 1, wanted);
  }
  Wide result = climb(Family(w), w, last);
  if (!result.is_double()) {
    // Infinities, of the operand or on the way, are NaN in two parts.
    const auto plain = x.code->rarely(!is_finite(result.hi), {result.hi}, [&] {
      const Wide single{Shifted ? x * 2 - 1 : x, {}};
      return std::vector<V>{climb(Family(single), single, last).hi};
    });
    result.hi = plain[0];
  }
  if constexpr (Angle != nullptr) {
    result = unless(way.by_angle, result, [&] {
      const Wide at = select(way.by_angle & way.inside, w, constant(w, 0));
      const ByAngle made = Angle(at, wide_of(w, wanted));
      const V half = wanted * 0.5, odd = trunc(half) != half;
      const Wide at_end = select(w.hi > 0, made.at_one, select(odd, -made.at_minus, made.at_minus));
      return select(way.inside, made.inside, at_end);
    });
  }
  const V value = narrow(result, x.type);
  return select(none, 0, select(degree == 0, 1, value));
}
Wide chebyshev_next(Wide x, Wide, Wide current, Wide before) { return x * 2.0 * current - before; }
Recurrence chebyshev_t(Wide x) { return {x, chebyshev_next}; }
Recurrence chebyshev_u(Wide x) { return {x * 2.0, chebyshev_next}; }
Recurrence chebyshev_v(Wide x) { return {x * 2.0 - 1.0, chebyshev_next}; }
Recurrence chebyshev_w(Wide x) { return {x * 2.0 + 1.0, chebyshev_next}; }
Recurrence hermite_h(Wide x) {
  return {x * 2.0, [](Wide at, Wide k, Wide current, Wide before) { return (at * current - k * before) * 2.0; }};
}
Recurrence hermite_he(Wide x) {
  return {x, [](Wide at, Wide k, Wide current, Wide before) { return at * current - k * before; }};
}
Recurrence laguerre(Wide x) {
  return {one(x) - x, [](Wide at, Wide k, Wide current, Wide before) {
            return ((k * 2.0 + 1.0 - at) * current - k * before) / (k + 1.0);
          }};
}
Recurrence legendre(Wide x) {
  return {x, [](Wide at, Wide k, Wide current, Wide before) {
            return ((k * 2.0 + 1.0) * at * current - k * before) / (k + 1.0);
          }};
}

}  // namespace

void add_bessel(Spellings& t) {
  auto add = [&](std::string_view name, Spell spelling) { t.push_back({.name = name, .reals = spelling}); };
  add("i0", spell<modified_first<dd::bessel_i0e, false, true>>);
  add("special_i0e", spell<modified_first<dd::bessel_i0e, false, false>>);
  add("special_i1", spell<modified_first<dd::bessel_i1e, true, true>>);
  add("special_i1e", spell<modified_first<dd::bessel_i1e, true, false>>);
  add("special_modified_bessel_i0", spell<modified_first<dd::bessel_i0e, false, true>>);
  add("special_modified_bessel_i1", spell<modified_first<dd::bessel_i1e, true, true>>);
  add("special_modified_bessel_k0", spell<modified_second<0, dd::bessel_k0_scaled, false>>);
  add("special_modified_bessel_k1", spell<modified_second<1, dd::bessel_k1_scaled, false>>);
  add("special_scaled_modified_bessel_k0", spell<modified_second<0, dd::bessel_k0_scaled, true>>);
  add("special_scaled_modified_bessel_k1", spell<modified_second<1, dd::bessel_k1_scaled, true>>);
  add("special_bessel_j0", spell<bessel_j<0>>);
  add("special_bessel_j1", spell<bessel_j<1>>);
  add("special_bessel_y0", spell<bessel_y<0>>);
  add("special_bessel_y1", spell<bessel_y<1>>);
  add("special_airy_ai", spell<airy_ai>);
  add("special_chebyshev_polynomial_t", spell<orthogonal<chebyshev_t, false, chebyshev_t_by_angle>>);
  add("special_chebyshev_polynomial_u", spell<orthogonal<chebyshev_u, false, chebyshev_u_by_angle>>);
  add("special_chebyshev_polynomial_v", spell<orthogonal<chebyshev_v, false, chebyshev_v_by_angle>>);
  add("special_chebyshev_polynomial_w", spell<orthogonal<chebyshev_w, false, chebyshev_w_by_angle>>);
  add("special_shifted_chebyshev_polynomial_t", spell<orthogonal<chebyshev_t, true, chebyshev_t_by_angle>>);
  add("special_shifted_chebyshev_polynomial_u", spell<orthogonal<chebyshev_u, true, chebyshev_u_by_angle>>);
  add("special_shifted_chebyshev_polynomial_v", spell<orthogonal<chebyshev_v, true, chebyshev_v_by_angle>>);
  add("special_shifted_chebyshev_polynomial_w", spell<orthogonal<chebyshev_w, true, chebyshev_w_by_angle>>);
  add("special_hermite_polynomial_h", spell<orthogonal<hermite_h, false>>);
  add("special_hermite_polynomial_he", spell<orthogonal<hermite_he, false>>);
  add("special_laguerre_polynomial_l", spell<orthogonal<laguerre, false>>);
  add("special_legendre_polynomial_p", spell<orthogonal<legendre, false>>);
}

}  // namespace lenz::native
