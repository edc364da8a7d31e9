#include "compiler/ops/rules/pointwise.h"

#include "compiler/ops/rules/elementwise.h"

namespace lenz::rule {

namespace {
const Type* interned(Infer& in, const TensorType& t) { return in.context().tensor(t); }

Operand operand(Infer& in, const TensorType& t) { return {interned(in, t), Dtype::b8}; }
Operand operand(const Type& t) { return {&t, Dtype::b8}; }
constexpr Operand kNumber{nullptr, Dtype::f64};

// One step of one operand; of one operand and a number.
TensorType step(Infer& in, const TensorType& t, Dtype dtype) {
  return elementwise_result(in, Operands{operand(in, t)}, dtype, std::nullopt);
}
TensorType step_with_number(Infer& in, const TensorType& t, Dtype dtype) {
  return elementwise_result(in, Operands{operand(in, t), kNumber}, dtype, std::nullopt);
}

// empty_like(t, dtype).
TensorType like(Infer& in, const Type& t, Dtype dtype) {
  return {dtype, t.device, DimVec(t.sizes()), preserved_strides(in, t), 0};
}

void refuse_complex(Infer& in, const Type& t) {
  if (is_complex(t.dtype)) in.raise("not supported for complex numbers");
}

bool is_complex_number(const Arg& a) { return a.kind == ArgKind::complex; }

// Real numbers that eager makes of complex ones: they are complex first, and copied; into a complex `out` they are
// written as they come.
TensorType complex_first(Infer& in, const Type& self) {
  const Dtype real = to_real(self.dtype);
  const bool direct = in.op().variant == VariantKind::out && is_complex(in.tensor("out").dtype);
  return direct ? step(in, self.tensor(), real) : contiguous_tensor(real, self.sizes(), self.device);
}
}  // namespace

void abs(Infer& in) {
  const Type& self = in.tensor(0);
  require_dtype(in, self.dtype);
  bool out = in.op().variant == VariantKind::out;
  if (!is_complex(self.dtype)) {
    if (out && in.tensor("out").dtype != self.dtype) in.raise("`out` must have the operand's dtype");
    in.result(step(in, self.tensor(), self.dtype));
    return;
  }
  if (in.op().variant == VariantKind::in_place) in.raise("complex numbers have no absolute value in place");
  if (out && is_complex(in.tensor("out").dtype) && in.tensor("out").dtype != self.dtype)
    in.raise("a complex `out` must have the operand's dtype");
  if (!out) return in.result(like(in, self, to_real(self.dtype)));
  in.result(complex_first(in, self));
}

void angle(Infer& in) {
  const Type& self = in.tensor(0);
  require_dtype(in, self.dtype);
  if (!is_complex(self.dtype)) return float_dtype(in);
  in.result(complex_first(in, self));
}

void predicate(Infer& in) {
  const Type& self = in.tensor(0);
  refuse_complex(in, self);
  require_dtype(in, self.dtype);
  in.result(step(in, self.tensor(), Dtype::b8));
}

void logical_not(Infer& in) {
  const Type& self = in.tensor(0);
  if (in.op().variant == VariantKind::out && is_float8(in.tensor("out").dtype)) in.raise("`out` can't be float8");
  require_dtype(in, self.dtype);
  in.result(step(in, self.tensor(), Dtype::b8));
}

void not_nan(Infer& in) {
  const Type& self = in.tensor(0);
  in.result(elementwise_result(in, Operands{operand(self), operand(self)}, Dtype::b8, std::nullopt));
}

namespace {
// at::real or at::imag of a complex tensor, as far as strides go.
TensorType complex_part(const Type& t) {
  TensorType part = t.tensor();
  part.dtype = to_real(t.dtype);
  for (Dim& s : part.strides) s *= 2;
  part.offset *= 2;
  return part;
}
}  // namespace

namespace {
TensorType is_infinity(Infer& in, const Type& self) {
  require_dtype(in, self.dtype);
  if (is_integral(self.dtype, true)) return like(in, self, Dtype::b8);
  TensorType part = is_complex(self.dtype) ? complex_part(self) : self.tensor();
  return step_with_number(in, step(in, part, part.dtype), Dtype::b8);  // abs(part) == inf
}
}  // namespace

void is_infinite(Infer& in) { in.result(is_infinity(in, in.tensor(0))); }

void is_finite(Infer& in) {
  const Type& self = in.tensor(0);
  TensorType large = is_infinity(in, self);
  if (is_integral(self.dtype, true)) {
    in.result(large);
    return;
  }
  // (part == part) * (abs(part) != inf)
  const Type* part = is_complex(self.dtype) ? interned(in, complex_part(self)) : &self;
  TensorType ordered = elementwise_result(in, Operands{operand(*part), operand(*part)}, Dtype::b8, std::nullopt);
  in.result(elementwise_result(in, Operands{operand(in, ordered), operand(in, large)}, Dtype::b8));
}

void is_real(Infer& in) {
  const Type& self = in.tensor(0);
  in.result(is_complex(self.dtype) ? step_with_number(in, complex_part(self), Dtype::b8) : like(in, self, Dtype::b8));
}

void preserved(Infer& in) {
  const Type& self = in.tensor(0);
  require_dtype(in, self.dtype);
  if (in.op().variant != VariantKind::out) {
    in.result(like(in, self, self.dtype));
  } else if (is_integral(self.dtype, true)) {
    in.result(contiguous_tensor(self.dtype, self.sizes(), self.device));
  } else {
    in.result(step(in, self.tensor(), self.dtype));
  }
}

void conj_physical(Infer& in) {
  const Type& self = in.tensor(0);
  if (in.op().variant == VariantKind::out) {
    require_dtype(in, self.dtype);
    in.result(step(in, self.tensor(), self.dtype));
  } else if (is_complex(self.dtype)) {
    in.result(like(in, self, self.dtype));
  } else {
    in.alias(&self, in.arg(0).value());
  }
}

void itself(Infer& in) {
  const Type& self = in.tensor(0);
  require_dtype(in, self.dtype);
  in.alias(&self, in.arg(0).value());
}

void frexp(Infer& in) {
  const Type& self = in.tensor(0);
  require_dtype(in, self.dtype);
  if (in.op().variant != VariantKind::out) {
    for (Dtype d : {self.dtype, Dtype::i32}) in.result(like(in, self, d));
    return;
  }
  // Results that have their shape already are operands, and say where the others' dims go: as copies, if they are read
  // lazily.
  Operands list;
  for (std::string_view out : {"mantissa", "exponent"}) {
    const Type& t = copied_if_lazy(in, in.at(out));
    bool fits = t.rank() == self.rank();
    for (size_t i = 0; fits && i < t.rank(); ++i) fits = in.same(t.sizes()[i], self.sizes()[i]);
    if (fits) list.push_back(operand(t));
  }
  list.push_back(operand(self));
  for (Dtype d : {self.dtype, Dtype::i32}) in.result(elementwise_result(in, list, d, std::nullopt));
}

void scaled_to_float(Infer& in) {
  const Type& self = in.tensor(0);
  refuse_complex(in, self);
  Operands list{operand(self), kNumber};
  Dtype common = result_type(in, list);
  require_dtype(in, common);
  bool out = in.op().variant == VariantKind::out;
  in.result(out ? elementwise_result(in, list, common) : like(in, self, common));
}

void normal_distribution(Infer& in) {
  // (1 + erf(self * c)) * c
  Operands list{operand(in.tensor(0)), kNumber};
  Dtype common = result_type(in, list);
  require_dtype(in, common);
  TensorType t = step(in, elementwise_result(in, list, common), common);
  for (int i = 0; i < 2; ++i) t = step_with_number(in, t, common);
  in.result(t);
}

void square(Infer& in) {  // pow(self, 2)
  Operands list{operand(in.tensor(0)), {nullptr, Dtype::i64}};
  Dtype common = result_type(in, list);
  require_dtype(in, common);
  in.result(step(in, converted(in, in.tensor(0), common), common));
}

void polygamma(Infer& in) {
  Dim n = in.integer("n");
  in.require(ge(n, 0), "polygamma needs n >= 0");
  float_dtype(in);
}

void polygamma_into(Infer& in) {
  const Type& self = in.tensor("self");
  in.require(ge(in.integer("n"), 0), "polygamma needs n >= 0");
  require_dtype(in, self.dtype);
  for (size_t i = 0; i < self.rank(); ++i)
    if (self.strides()[i].is(0)) in.require(le(self.sizes()[i], 1), "elements of `self` share one memory location");
  in.alias(&self, in.arg(0).value());
}

void mvlgamma(Infer& in) {
  const Type& self = in.tensor(0);
  in.require(ge(in.integer("p"), 1), "p must be at least 1");
  if (self.dtype == Dtype::b8) in.raise("not supported for bool");
  refuse_complex(in, self);
  require_dtype(in, self.dtype);
  // The last step is a sum, whose result is contiguous.
  Dtype dtype = is_integral(self.dtype, true) ? Dtype::f32 : self.dtype;
  in.result(contiguous_tensor(dtype, self.sizes(), self.device));
}

// --- two operands

namespace {
void check_alpha(Infer& in, Dtype common) {
  const Dtype alpha = number_operand(in, in.arg("alpha")).number;  // of one that only the run knows too
  if (alpha == Dtype::b8 && common != Dtype::b8) in.raise("a boolean alpha is for boolean results only");
  if (is_floating(alpha) && !is_inexact(common)) in.raise("integers need an integral alpha");
  if (is_complex(alpha) && !is_complex(common)) in.raise("a complex alpha is for complex results only");
}

// Eager adds what it multiplies by the negative alpha.
void require_fitting_negative(Infer& in, const Arg& alpha, Dtype common) {
  const std::string refusal =
      "`alpha`: a number out of the range of " + std::string(name(common)) + ", which its negative has to be in";
  if (alpha.kind == ArgKind::integer && alpha.symbolic) {
    if (!is_integral(common, false) || item_size(common) == sizeof(int64_t)) return;
    const auto high = static_cast<int64_t>(finite_range(common).high);
    in.require(ge(alpha.dim(), -high), refusal);
    in.require(le(alpha.dim(), common == Dtype::u8 ? high : high + 1), refusal);  // negative bytes wrap round
    return;
  }
  Arg negative = alpha;
  if (alpha.kind == ArgKind::integer) negative = Arg::of_int(static_cast<int64_t>(-static_cast<uint64_t>(alpha.i)));
  if (alpha.kind == ArgKind::real) negative = Arg::of_real(-alpha.d);
  if (!representable(negative, common)) in.raise(refusal);
}

void sum_with_alpha(Infer& in, const Operands& list, bool subtract) {
  for (const Operand& o : list)
    if (subtract && (o.type ? o.type->dtype : o.number) == Dtype::b8) in.raise("bools can't be subtracted");
  Dtype common = result_type(in, list);
  check_alpha(in, common);
  require_dtype(in, common);
  in.result(elementwise_result(in, list, common));
  if (subtract) require_fitting_negative(in, in.arg("alpha"), common);
}
}  // namespace

void add(Infer& in) { sum_with_alpha(in, all_operands(in), false); }
void sub(Infer& in) { sum_with_alpha(in, all_operands(in), true); }
void rsub(Infer& in) { sum_with_alpha(in, operands(in, {"other", "self"}), true); }

void mul(Infer& in) {
  Operands list = all_operands(in);
  Dtype common = result_type(in, list);
  if (is_float8(common)) {
    // Eager's kernel for one second value (a number, one element, or one element expanded) among reduced floats knows
    // only f16 and bf16. In place, a number comes first.
    bool number_first = in.op().variant == VariantKind::in_place && !list[1].type;
    const Type* second = list[number_first ? 0 : 1].type;
    bool one_value = true;
    for (size_t i = 0; second && one_value && i < second->rank(); ++i)
      one_value = in.is_one(second->sizes()[i]) || in.is_zero(second->strides()[i]);
    if (one_value) in.raise("not implemented for one value of " + std::string(name(common)));
  }
  in.result(elementwise_result(in, list, common));
}

void div_mode(Infer& in) {
  Operands list = all_operands(in);
  std::string_view mode = in.string("rounding_mode");
  if (!mode.empty() && mode != "trunc" && mode != "floor")
    in.raise("rounding_mode must be none, \"trunc\" or \"floor\", not \"" + std::string(mode) + "\"");
  Dtype common = mode.empty() ? float_result_type(in, list) : result_type(in, list);
  if (!mode.empty() && (is_complex(common) || common == Dtype::b8))
    in.raise("rounding division is not implemented for " + std::string(name(common)));
  if (!mode.empty() || !is_inexact(common)) require_dtype(in, common);
  if (is_float8(common)) in.raise("not implemented for float8");
  in.result(elementwise_result(in, list, common));
}

void pow_number(Infer& in) {
  const Type& base = in.tensor("self");
  const Arg& exponent = in.arg("exponent");
  Operands list{operand(base), number_operand(in, exponent)};
  bool whole = exponent.kind == ArgKind::integer || exponent.kind == ArgKind::boolean;
  if (is_integral(base.dtype, true) && exponent.kind == ArgKind::integer)
    in.require(ge(exponent.dim(), 0), "integers to negative powers are not defined");
  Dtype common = result_type(in, list);
  // Eager fills with 1 or copies for the exponents 0 and 1, whatever the dtype.
  bool trivial = (whole && !exponent.symbolic && (exponent.i == 0 || exponent.i == 1)) ||
                 (exponent.kind == ArgKind::real && (exponent.real() == 0 || exponent.real() == 1));
  if (!trivial) require_dtype(in, common);
  in.result(step(in, converted(in, base, common), common));
}

void pow_of_number(Infer& in) {
  const Type& exponent = in.tensor("exponent");
  const Arg& base = in.arg("self");
  Dtype common = result_type(in, Operands{number_operand(in, base), operand(exponent)});
  bool one = (base.kind == ArgKind::integer && base.dim().is(1)) || (base.kind == ArgKind::real && base.real() == 1) ||
             (base.kind == ArgKind::boolean && base.boolean());
  if (!one) require_dtype(in, common);
  if (one && in.op().variant == VariantKind::out) common = in.tensor("out").dtype;  // filled, not computed
  in.result(contiguous_tensor(common, exponent.sizes(), exponent.device));
}

void float_power(Infer& in) {
  Operands list = all_operands(in);
  bool any_complex = false;
  for (const Operand& o : list) any_complex = any_complex || is_complex(o.type ? o.type->dtype : o.number);
  Dtype dtype = any_complex ? Dtype::c128 : Dtype::f64;
  if (in.op().variant == VariantKind::in_place && in.tensor(0).dtype != dtype)
    in.raise("in place the base must be " + std::string(name(dtype)));
  for (Operand& o : list)
    if (o.type) o.type = interned(in, converted(in, *o.type, dtype));
  if (!list[0].type) {
    in.result(contiguous_tensor(dtype, list[1].type->sizes(), list[1].type->device));
  } else if (!list[1].type) {
    in.result(step(in, list[0].type->tensor(), dtype));
  } else {
    in.result(elementwise_result(in, list, dtype));
  }
}

void ldexp(Infer& in) {
  const Type &self = in.tensor("self"), &other = in.tensor("other");
  if (is_floating(self.dtype) && is_integral(other.dtype, true)) {
    // Only here the exponent's bits are used as such.
    if (other.dtype == Dtype::b8 || is_float8(self.dtype)) in.raise("not implemented for these dtypes");
    if (in.op().variant == VariantKind::out && in.tensor("out").dtype != self.dtype)
      in.raise("`out` must have the dtype of `self`");
    TensorType result = elementwise_result(in, Operands{operand(self), operand(other)}, self.dtype, std::nullopt);
    // The result is made like `self`, and made anew only where that is too small.
    bool fits = in.op().variant != VariantKind::out && result.rank() == self.rank();
    for (size_t i = 0; fits && i < self.rank(); ++i) fits = in.same(result.sizes[i], self.sizes()[i]);
    in.result(fits ? like(in, self, self.dtype) : result);
    return;
  }
  // self * pow(2, other): 2 is a number, unless `self` has a floating or complex dtype that is not the default.
  TensorType power;
  if (is_integral(self.dtype, true) || self.dtype == Dtype::f32) {
    Dtype d = result_type(in, Operands{kNumber, operand(other)});
    power = contiguous_tensor(d, other.sizes(), other.device);
  } else {
    Operands list{operand(in, contiguous_tensor(self.dtype, {}, self.device)), operand(other)};
    power = elementwise_result(in, list, result_type(in, list));
  }
  Operands list{operand(self), operand(in, power)};
  Dtype common = result_type(in, list);
  require_dtype(in, power.dtype);
  require_dtype(in, common);
  in.result(elementwise_result(in, list, common));
}

void heaviside(Infer& in) {
  const Type &self = in.tensor("self"), &values = in.tensor("values");
  refuse_complex(in, self);
  if (self.dtype != values.dtype) in.raise("both operands must have one dtype");
  same_dtype(in);
}

void isclose(Infer& in) {
  const Type &self = in.tensor("self"), &other = in.tensor("other");
  if (self.dtype != other.dtype) in.raise("both operands must have one dtype");
  if (!(in.real("rtol") >= 0)) in.raise("rtol must not be negative");
  if (!(in.real("atol") >= 0)) in.raise("atol must not be negative");
  TensorType result = elementwise_result(in, all_operands(in), Dtype::b8, std::nullopt);
  if (in.boolean("equal_nan") && is_inexact(self.dtype)) {
    // self.isnan() takes other.isnan() in place.
    bool fits = result.rank() == self.rank();
    for (size_t i = 0; fits && i < self.rank(); ++i) fits = in.same(result.sizes[i], self.sizes()[i]);
    if (!fits) in.raise("with equal_nan, `self` must have the broadcast shape");
  }
  if (in.real("rtol") != 0 || in.real("atol") != 0) require_dtype(in, self.dtype);
  in.result(result);
}

void make_complex(Infer& in) {
  const Type &a = in.tensor(0), &b = in.tensor(1);
  if (a.dtype != b.dtype) in.raise("both operands must have one dtype");
  require_dtype(in, a.dtype);
  if (a.dtype == Dtype::f16) throw Unsupported(in.op().full_name + ": the result would be complex32");
  in.result(elementwise_result(in, all_operands(in), to_complex(a.dtype), std::nullopt));
}

// --- more

void where(Infer& in) {
  const Type& condition = in.tensor("condition");
  Operands list = operands(in, {"self", "other"});
  Dtype common = result_type(in, list);
  if (condition.dtype != Dtype::b8 && condition.dtype != Dtype::u8) in.raise("the condition must be bool");
  if (!list[0].type && !list[1].type && common == Dtype::f64) common = Dtype::f32;
  Operands all;
  all.push_back(operand(in, converted(in, condition, Dtype::b8)));
  for (const Operand& o : list)
    all.push_back({o.type ? interned(in, converted(in, *o.type, common)) : nullptr, o.number});
  in.result(elementwise_result(in, all, common, std::nullopt));
}

namespace {
void no_complex_bound(Infer& in, std::string_view param) {
  if (in.has_param(param) && is_complex_number(in.arg(param))) in.raise("a bound can't be complex");
}
}  // namespace

void clamp(Infer& in) {
  const Type& self = in.tensor("self");
  refuse_complex(in, self);
  no_complex_bound(in, "min");
  no_complex_bound(in, "max");
  Operands list = operands(in, {"self", "min", "max"});
  if (list.size() == 1) in.raise("one of min and max must be given");
  Dtype common = self.dtype;
  if (!is_floating(self.dtype)) common = result_type(in, list);
  require_dtype(in, common);
  in.result(step(in, converted(in, self, common), common));
}

void clamp_tensor(Infer& in) {
  Operands list = operands(in, {"self", "min", "max"});
  if (list.size() == 1) in.raise("one of min and max must be given");
  Dtype common = result_type(in, list);
  if (is_complex(common)) in.raise("not supported for complex numbers");
  // With one bound eager takes the maximum or minimum, which exist for bools too.
  if (list.size() == 3 || common != Dtype::b8) require_dtype(in, common);
  in.result(elementwise_result(in, list, common));
}

void lerp(Infer& in) {
  Operands list = all_operands(in);
  if (list[0].type->dtype != list[1].type->dtype) in.raise("`self` and `end` must have one dtype");
  bool promotes = list.size() == 3 && list[2].type->rank() == 0;
  if (list.size() == 3 && !promotes) {
    if (list[2].type->dtype != list[0].type->dtype) in.raise("a `weight` with dims must have the dtype of `self`");
    if (in.op().variant == VariantKind::out && in.tensor("out").dtype != list[0].type->dtype)
      in.raise("`out` must have the dtype of `self`");
  }
  Dtype common = promotes ? result_type(in, list) : list[0].type->dtype;
  require_dtype(in, common);
  in.result(elementwise_result(in, list, common));
}

namespace {
void fused(Infer& in, bool divide) {
  Operands list = operands(in, {"self", "tensor1", "tensor2"});
  Dtype common = result_type(in, list);
  if (divide && is_integral(list[1].type->dtype, true) && is_integral(list[2].type->dtype, true))
    in.raise("integer division is not supported: convert to floats, or divide with a rounding mode");
  require_dtype(in, common);
  if (is_complex_number(in.arg("value")) && !is_complex(common)) in.raise("`value` is complex, the tensors are not");
  in.result(elementwise_result(in, list, common));
}
}  // namespace

void addcmul(Infer& in) { fused(in, false); }
void addcdiv(Infer& in) { fused(in, true); }

}  // namespace lenz::rule
