#include "compiler/ops/make/common.h"

#include "compiler/graph/whole_numbers.h"

namespace lenz::make {

DtypeSet castable_into(Dtype first, DtypeSet from) {
  DtypeSet fit;
  for (int i = 0; i < kDtypeCount; ++i) {
    auto d = static_cast<Dtype>(i);
    if (from.has(d) && info(d).category <= info(first).category) fit = fit | DtypeSet::of(d);
  }
  return fit;
}

ValueId set_self(CallMaker& m, TensorWish wish) {
  const Param& self = m.op().schema.params[0];
  wish.written = wish.written || self.writes;
  ValueId v = m.tensor(wish);
  m.set(self.name, v);
  return v;
}

ValueId set_self_sized(CallMaker& m, const Sizes& sizes) {
  TensorWish wish;
  wish.sizes = sizes;
  return set_self(m, wish);
}

DtypeSet computes(const CallMaker& m) { return m.op().computes.empty() ? m.op().dtypes : m.op().computes; }

DtypeSet alone(const CallMaker& m) {
  DtypeSet both = computes(m) & m.op().dtypes;
  return both.empty() ? computes(m) : both;
}

bool writes_in_place(const CallMaker& m) { return m.op().variant == VariantKind::in_place; }

std::optional<Dtype> dtype_with_number(Dtype tensor, const Arg& number) {
  switch (number.kind) {
    case ArgKind::integer: return tensor == Dtype::b8 ? Dtype::i64 : tensor;
    case ArgKind::real: return is_integral(tensor, true) ? Dtype::f32 : tensor;
    case ArgKind::complex:
      if (tensor == Dtype::f16 || is_float8(tensor)) return std::nullopt;
      return is_complex(tensor) ? tensor : to_complex(tensor);
    default: return tensor;
  }
}

Arg number_for(CallMaker& m, Dtype tensor, DtypeSet allowed, bool in_place) {
  // What half precision can't hold.
  if (tensor == Dtype::f16 && takes_whole(m.op(), 1) && m.choose().chance(1, 8)) return Arg::of_real(70000);
  Arg number = m.choose().flip()          ? m.a_number(tensor)
               : m.choose().chance(1, 16) ? m.context().complex({m.a_real(-2, 2), m.a_real(-2, 2)})
                                          : m.any_number();
  std::optional<Dtype> common = dtype_with_number(tensor, number);
  bool fits = common && allowed.has(*common) && (!in_place || info(*common).category <= info(tensor).category);
  if (fits) return number;
  Arg plain = m.a_number(tensor);
  if (allowed.has(*dtype_with_number(tensor, plain))) return plain;
  return Arg::of_int(1);  // a bool tensor where no computation in bools exists
}

void unary(CallMaker& m) {
  TensorWish wish;
  wish.written = writes_in_place(m);
  // In place, an op that makes floats of integers has no integers to write into.
  bool makes_floats = m.op().base && m.op().base->traits.has(Trait::makes_float);
  if (wish.written && makes_floats) wish.dtypes = m.op().dtypes - dtypes::integers - dtypes::boolean;
  m.set(m.op().schema.params[0].name, m.tensor(wish));
}

Dtype partner_of(CallMaker& m, Dtype first, DtypeSet allowed, bool no_bool) {
  if (!m.choose().chance(1, 3)) return first;
  DtypeSet fit;
  for (int i = 0; i < kDtypeCount; ++i) {
    auto d = static_cast<Dtype>(i);
    // Beside an operand of a higher category another dtype may do than what the row computes in.
    bool lower = info(d).category < info(first).category && m.op().dtypes.has(d) && !(d == Dtype::b8 && no_bool);
    if (!allowed.has(d) && !lower) continue;
    // complex with f16 would give complex32, which no table knows.
    if ((d == Dtype::f16 && is_complex(first)) || (first == Dtype::f16 && is_complex(d))) continue;
    if (auto both = promote(first, d); both && allowed.has(*both)) fit = fit | DtypeSet::of(d);
  }
  return fit.empty() ? first : m.a_dtype(fit);
}

void binary_of(CallMaker& m, const BinaryWish& wish) {
  Chooser& c = m.choose();
  const auto& params = m.op().schema.params;
  bool in_place = writes_in_place(m);
  bool into_own_dtype = in_place && wish.result != BinaryWish::boolean;
  DtypeSet allowed = wish.dtypes.empty() ? computes(m) : wish.dtypes;
  Sizes full = m.a_shape();
  TensorWish first, second;
  first.sizes = in_place ? full : m.shape_like_with_ones(full);
  first.written = in_place;
  second.sizes = m.shape_like_with_ones(full);
  second.domain = wish.second;
  Dtype a = m.a_dtype(
      into_own_dtype && wish.result == BinaryWish::floating ? allowed - dtypes::integers - dtypes::boolean : allowed);
  // A bool tensor becomes an integer beside an integral number.
  bool any_number = params[0].type.kind == ParamKind::scalar || params[1].type.kind == ParamKind::scalar;
  if (any_number && !wish.no_bool && !in_place && m.op().dtypes.has(Dtype::b8) && !allowed.has(Dtype::b8) &&
      allowed.has(Dtype::i64) && c.chance(1, 16))
    a = Dtype::b8;
  if (params[0].type.kind == ParamKind::scalar) {
    second.dtype = a;
    m.set(params[1].name, m.tensor(second));
    m.set(params[0].name, number_for(m, a, allowed, false));
    return;
  }
  Dtype b = wish.one_dtype ? a : partner_of(m, a, allowed, wish.no_bool);
  if (into_own_dtype && info(b).category > info(a).category) b = a;
  if (!in_place && a != b && c.flip()) std::swap(a, b);
  if (params[1].type.kind == ParamKind::scalar) {
    b = a;
  } else if (!in_place && !wish.one_dtype && !allowed.has(Dtype::f16) && allowed.has(Dtype::f32) &&
             m.op().dtypes.has(Dtype::f16) && c.chance(1, 16)) {
    // Half precision beside f32 with dims.
    a = c.any_of({Dtype::f16, Dtype::bf16});
    b = Dtype::f32;
    second.sizes = m.a_shape(1);
    first.sizes = m.shape_like_with_ones(*second.sizes);
  }
  first.dtype = a;
  second.dtype = b;
  m.set(params[0].name, m.tensor(first));
  if (params[1].type.kind == ParamKind::tensor) {
    m.set(params[1].name, m.tensor(second));
    return;
  }
  Arg number = number_for(m, a, allowed, into_own_dtype);
  bool zero = (number.kind == ArgKind::integer && number.i == 0) ||
              (number.kind == ArgKind::boolean && !number.boolean()) ||
              (number.kind == ArgKind::real && number.real() == 0);
  if (wish.second && wish.second->exclude_zero && zero) number = Arg::of_int(2);
  if (wish.no_bool && number.kind == ArgKind::boolean) number = Arg::of_int(2);
  m.set(params[1].name, number);
}

void binary(CallMaker& m) { binary_of(m, {}); }
void binary_float(CallMaker& m) { binary_of(m, {.result = BinaryWish::floating}); }
void comparison(CallMaker& m) { binary_of(m, {.result = BinaryWish::boolean}); }

}  // namespace lenz::make
