#include "compiler/ops/make/pointwise.h"

#include <limits>

#include "compiler/ops/make/common.h"

namespace lenz::make {

namespace {
constexpr Domain kNoZero{1, 4, true};

// The dtype that two tensor operands compute in, ranks aside.
Dtype common_dtype(CallMaker& m, std::string_view a, std::string_view b) {
  auto dtype_of = [&](std::string_view p) { return m.type(m.get(p).value()).dtype; };
  return m.get(b).is_value() ? promote(dtype_of(a), dtype_of(b)).value_or(dtype_of(a))
                             : dtype_with_number(dtype_of(a), m.get(b)).value_or(dtype_of(a));
}

// A factor that eager takes for results of this dtype.
Arg a_factor(CallMaker& m, Dtype common) {
  if (common == Dtype::b8) return m.choose().flip() ? Arg::of_bool(m.choose().flip()) : Arg::of_int(1);
  if (is_inexact(common) && m.choose().flip()) return Arg::of_real(m.a_real(-2, 2));
  if (is_complex(common) && m.choose().flip()) return m.context().complex({m.a_real(-2, 2), m.a_real(-2, 2)});
  return Arg::of_int(m.choose().between(info(common).is_signed || is_inexact(common) ? -2 : 0, 3));
}
}  // namespace

void abs(CallMaker& m) {
  TensorWish wish;
  wish.written = writes_in_place(m);
  if (wish.written) wish.dtypes = m.op().dtypes - dtypes::complexes;
  m.set("self", m.tensor(wish));
}

void conj_physical(CallMaker& m) {
  // Real numbers, float8 among them, come back as they are; out= computes.
  bool out = m.op().variant == VariantKind::out;
  m.set("self", m.tensor({.dtypes = out ? computes(m) : m.op().dtypes, .written = writes_in_place(m)}));
}

void square(CallMaker& m) {
  // Bools have integral squares.
  bool in_place = writes_in_place(m);
  m.set("self", m.tensor({.dtypes = in_place ? m.op().dtypes - dtypes::boolean : m.op().dtypes, .written = in_place}));
}

void nan_to_num(CallMaker& m) {
  unary(m);
  for (std::string_view p : {"nan", "posinf", "neginf"})
    if (m.choose().flip()) m.set(p, Arg::of_real(m.a_real(-3, 3)));
}

void round_decimals(CallMaker& m) {
  unary(m);
  const bool optional = m.op().schema.params[1].fallback != nullptr;
  if (optional && m.choose().chance(1, 4)) return;
  m.set("decimals", Arg::of_int(m.choose().between(-2, 3)));
}

void logit(CallMaker& m) {
  unary(m);
  if (m.choose().flip()) m.set("eps", Arg::of_real(m.a_real(0, 0.5)));
}

void polygamma(CallMaker& m) {
  TensorWish wish;
  wish.written = writes_in_place(m);
  if (wish.written) wish.dtypes = m.op().dtypes - dtypes::integers - dtypes::boolean;
  m.set("self", m.tensor(wish));
  m.set("n", Arg::of_int(m.choose().between(0, 4)));
}

void polygamma_into(CallMaker& m) {
  m.set("self", m.tensor({.written = true}));
  m.set("n", Arg::of_int(m.choose().between(0, 4)));
}

void mvlgamma(CallMaker& m) {
  TensorWish wish;
  wish.written = writes_in_place(m);
  if (wish.written) wish.dtypes = m.op().dtypes - dtypes::integers;
  m.set("self", m.tensor(wish));
  m.set("p", Arg::of_int(m.choose().between(1, 5)));
}

namespace {
void set_alpha(CallMaker& m) {
  const auto& params = m.op().schema.params;
  if (m.choose().flip()) return;
  m.set("alpha", a_factor(m, common_dtype(m, params[0].name, params[1].name)));
}
}  // namespace

void binary_alpha(CallMaker& m) {
  binary(m);
  set_alpha(m);
}

void subtraction(CallMaker& m) {
  binary_of(m, {.no_bool = true});
  set_alpha(m);
}

void product(CallMaker& m) {
  bool number = m.op().schema.params[1].type.kind == ParamKind::scalar;
  if (!m.choose().chance(1, 32) || (number && !writes_in_place(m)))
    return binary_of(m, {.dtypes = m.op().dtypes - dtypes::float8});
  // float8 goes with its like, and not with a single element; with a number only in place.
  Sizes full = m.a_shape(1, 5, 2);
  ValueId self = m.tensor({.dtypes = dtypes::float8, .sizes = full, .written = writes_in_place(m)});
  m.set("self", self);
  m.set("other",
        number
            ? m.a_number(Dtype::f32)
            : Arg::of_value(m.tensor({.dtype = m.type(self).dtype, .sizes = full, .written = true})));  // not expanded
}

void one_dtype(CallMaker& m) { binary_of(m, {.one_dtype = true}); }

void complex_parts(CallMaker& m) {
  // A complex number of two f16 is a dtype that no table knows.
  binary_of(m, {.one_dtype = true, .dtypes = dtypes::wide_floats});
}

void division(CallMaker& m) { binary_of(m, {.second = kNoZero}); }

void division_mode(CallMaker& m) {
  switch (m.choose().below(3)) {
    case 0: {
      m.set("rounding_mode", Arg::none());
      binary_of(m, {.result = BinaryWish::floating, .second = kNoZero, .dtypes = m.op().dtypes});
      return;
    }
    case 1: m.set("rounding_mode", m.context().string("trunc")); break;
    default: m.set("rounding_mode", m.context().string("floor")); break;
  }
  division(m);
}

void pow(CallMaker& m) {
  if (m.op().schema.params[1].type.kind == ParamKind::scalar && m.choose().chance(1, 16)) {
    // Any dtype has the powers 0 and 1.
    m.set("self", m.tensor({.written = writes_in_place(m)}));
    m.set("exponent", Arg::of_bool(m.choose().flip()));
    return;
  }
  binary(m);
  const Arg& exponent = m.get("exponent");
  // Integers have no negative powers.
  if (exponent.kind == ArgKind::integer && exponent.i < 0 && is_integral(m.type(m.get("self").value()).dtype, true))
    m.set("exponent", Arg::of_int(-exponent.i));
}

void float_power(CallMaker& m) {
  Chooser& c = m.choose();
  const auto& params = m.op().schema.params;
  if (!writes_in_place(m)) {
    // Both operands are converted, so any dtypes go together.
    Sizes full = m.a_shape();
    for (const Param& p : {params[0], params[1]})
      m.set(p.name, p.type.kind == ParamKind::scalar
                        ? number_for(m, Dtype::f32, dtypes::usual, false)
                        : Arg::of_value(m.tensor({.sizes = m.shape_like_with_ones(full)})));
    return;
  }
  Sizes full = m.a_shape();
  bool wide = c.chance(1, 4);
  Dtype d = wide ? Dtype::c128 : Dtype::f64;
  DtypeSet other = wide ? m.op().dtypes : m.op().dtypes - dtypes::complexes;
  m.set("self", m.tensor({.dtype = d, .sizes = full, .written = true}));
  if (params[1].type.kind == ParamKind::scalar) {
    m.set("exponent", wide ? m.a_number(d) : Arg::of_real(m.a_real(-2, 2)));
  } else {
    m.set("exponent", m.tensor({.dtypes = other, .sizes = m.shape_like_with_ones(full)}));
  }
}

void ldexp(CallMaker& m) {
  // A bool exponent suits integers only.
  if (!writes_in_place(m) && m.choose().chance(1, 16)) {
    Sizes full = m.a_shape();
    m.set("self", m.tensor({.dtypes = dtypes::integers | dtypes::boolean, .sizes = m.shape_like_with_ones(full)}));
    m.set("other", m.tensor({.dtype = Dtype::b8, .sizes = full}));
    return;
  }
  binary_of(m, {.result = BinaryWish::floating, .no_bool = true, .dtypes = m.op().dtypes - dtypes::boolean});
}

void isclose(CallMaker& m) {
  Chooser& c = m.choose();
  Sizes full = m.a_shape();
  ValueId self = m.tensor({.sizes = c.flip() ? full : m.shape_like_with_ones(full)});
  m.set("self", self);
  bool equal_nan = c.flip();
  // With equal_nan eager needs `self` to have the broadcast shape.
  m.set("other", m.tensor({.dtype = m.type(self).dtype,
                           .sizes = equal_nan ? m.shape_like_with_ones(m.sizes(self)) : m.shape_like_with_ones(full)}));
  m.set("equal_nan", Arg::of_bool(equal_nan));
  if (c.flip()) m.set("rtol", Arg::of_real(c.flip() ? 0 : m.a_real(0, 1)));
  if (c.flip()) m.set("atol", Arg::of_real(c.flip() ? 0 : m.a_real(0, 1)));
}

void equal(CallMaker& m) {
  ValueId self = m.tensor({});
  m.set("self", self);
  bool other_shape = m.choose().chance(1, 4);
  m.set("other", m.tensor({.dtype = m.type(self).dtype, .sizes = other_shape ? m.a_shape() : m.sizes(self)}));
}

void where(CallMaker& m) {
  Chooser& c = m.choose();
  Sizes full = m.a_shape();
  const auto& params = m.op().schema.params;
  m.set("condition",
        m.tensor({.dtype = c.chance(1, 8) ? Dtype::u8 : Dtype::b8, .sizes = m.shape_like_with_ones(full)}));
  DtypeSet usual = computes(m) - dtypes::float8;
  bool tensors[] = {params[1].type.kind == ParamKind::tensor, params[2].type.kind == ParamKind::tensor};
  Dtype a = m.a_dtype(tensors[0] && tensors[1] ? computes(m) : usual);
  Dtype b = is_float8(a) ? a : partner_of(m, a, usual);
  if (!tensors[0] || !tensors[1]) b = a;
  for (int i = 0; i < 2; ++i) {
    std::string_view name = params[static_cast<size_t>(1 + i)].name;
    Dtype d = i ? b : a;
    if (tensors[i]) {
      m.set(name, m.tensor({.dtype = d, .sizes = m.shape_like_with_ones(full)}));
    } else {
      Arg number = number_for(m, d, usual, false);
      bool odd = number.kind == ArgKind::real && c.chance(1, 8);
      m.set(name, odd ? Arg::of_real(std::numeric_limits<double>::quiet_NaN()) : number);
    }
  }
}

namespace {
// Which of `min` and `max` to give: at least one that there is.
std::pair<bool, bool> some_bounds(CallMaker& m) {
  if (!m.has("min") || !m.has("max")) return {m.has("min"), m.has("max")};
  uint64_t which = m.choose().below(3);
  return {which != 1, which != 2};
}
}  // namespace

void clamp(CallMaker& m) {
  bool in_place = writes_in_place(m);
  ValueId self = m.tensor({.dtypes = in_place ? computes(m) : m.op().dtypes, .written = in_place});
  m.set("self", self);
  Dtype d = m.type(self).dtype;
  auto [low, high] = some_bounds(m);
  if (low) m.set("min", number_for(m, d, computes(m), in_place));
  if (high) m.set("max", number_for(m, d, computes(m), in_place));
}

void clamp_tensor(CallMaker& m) {
  bool in_place = writes_in_place(m);
  Sizes full = m.a_shape();
  ValueId self = m.tensor({.sizes = in_place ? full : m.shape_like_with_ones(full), .written = in_place});
  m.set("self", self);
  Dtype d = m.type(self).dtype;
  auto [low, high] = some_bounds(m);
  if (d == Dtype::b8 && low && high) high = false;  // bools have a maximum and a minimum, but no clamp
  for (std::string_view p : {"min", "max"}) {
    if (p == "min" ? !low : !high) continue;
    Dtype bound = partner_of(m, d, computes(m));
    if (in_place && info(bound).category > info(d).category) bound = d;
    m.set(p, m.tensor({.dtype = bound, .sizes = m.shape_like_with_ones(full)}));
  }
}

void lerp(CallMaker& m) {
  bool in_place = writes_in_place(m);
  Sizes full = m.a_shape();
  ValueId self = m.tensor({.sizes = in_place ? full : m.shape_like_with_ones(full), .written = in_place});
  Dtype d = m.type(self).dtype;
  m.set("self", self);
  m.set("end", m.tensor({.dtype = d, .sizes = m.shape_like_with_ones(full)}));
  if (m.op().schema.params[2].type.kind == ParamKind::tensor) {
    // Without dims the weight may have another dtype.
    bool promotes = m.choose().chance(1, 8) && m.rank(self) > 0;
    Dtype w = promotes ? partner_of(m, d, m.op().dtypes) : d;
    if (in_place && info(w).category > info(d).category) w = d;
    m.set("weight", m.tensor({.dtype = w, .sizes = promotes ? Sizes() : m.shape_like_with_ones(full)}));
  } else {
    m.set("weight", is_complex(d) ? m.a_number(d) : Arg::of_real(m.a_real(-1, 2)));
  }
}

namespace {
void fused(CallMaker& m, bool divide) {
  bool in_place = writes_in_place(m);
  Sizes full = m.a_shape();
  Dtype d = m.a_dtype(computes(m));
  uint64_t certain = m.choose().below(3);  // this one has it: three partners of it alone might promote to another
  uint64_t at = 0;
  auto operand = [&](bool self) {
    // Beside floats `self` may be an integer; in place it must hold the result. Eager refuses to divide integers here.
    Dtype other = (in_place && self) || at++ == certain ? d : partner_of(m, d, computes(m));
    if (info(other).category > info(d).category || (divide && !self && is_integral(other, true))) other = d;
    TensorWish wish;
    wish.dtype = other;
    wish.sizes = in_place && self ? full : m.shape_like_with_ones(full);
    wish.written = in_place && self;
    return m.tensor(wish);
  };
  ValueId self = operand(true), a = operand(false), b = operand(false);
  m.set("self", self);
  m.set("tensor1", a);
  m.set("tensor2", b);
  Dtype common = m.type(self).dtype;
  for (ValueId v : {a, b}) common = promote(common, m.type(v).dtype).value_or(common);
  if (m.choose().flip()) m.set("value", a_factor(m, common));
}
}  // namespace

void addcmul(CallMaker& m) { fused(m, false); }
void addcdiv(CallMaker& m) { fused(m, true); }

}  // namespace lenz::make
