#include "compiler/ops/make/common.h"

namespace lenz::make {

DtypeSet castable_into(Dtype first, DtypeSet from) {
  DtypeSet fit;
  for (int i = 0; i < kDtypeCount; ++i) {
    auto d = static_cast<Dtype>(i);
    if (from.has(d) && info(d).category <= info(first).category) fit = fit | DtypeSet::of(d);
  }
  return fit;
}

void unary(CallMaker& m) {
  bool in_place = m.op().variant == VariantKind::in_place;
  TensorWish wish;
  wish.written = in_place;
  // In place, an op that makes floats of integers has no integers to write into.
  bool makes_floats = m.op().base && m.op().base->traits.has(Trait::makes_float);
  if (in_place && makes_floats) wish.dtypes = m.op().dtypes - dtypes::integers - dtypes::boolean;
  m.set(m.op().schema.params[0].name, m.tensor(wish));
}

namespace {
enum class Result { promoted, floating, boolean };

// float8 has no promotion: it goes with itself only. complex with f16 would give complex32, which no table knows.
DtypeSet partners(Dtype first, DtypeSet set) {
  if (is_float8(first)) return DtypeSet::of(first) & set;
  set = set - dtypes::float8;
  if (first == Dtype::f16) set = set - dtypes::complexes;
  if (is_complex(first)) set = set - dtypes::half;
  return set;
}

void two_operands(CallMaker& m, Result result) {
  Chooser& c = m.choose();
  const auto& params = m.op().schema.params;
  bool in_place = m.op().variant == VariantKind::in_place;
  Sizes full = m.a_shape();
  TensorWish first;
  first.sizes = in_place ? full : m.shape_like_with_ones(full);
  first.written = in_place;
  if (in_place && result == Result::floating) first.dtypes = m.op().dtypes - dtypes::integers - dtypes::boolean;
  bool number_first = params[0].type.kind == ParamKind::scalar;
  ValueId a = kNone;
  Dtype d = Dtype::f32;
  if (!number_first) {
    a = m.tensor(first);
    d = m.type(a).dtype;
    m.set(params[0].name, a);
  }
  if (params[1].type.kind == ParamKind::scalar) {
    m.set(params[1].name, in_place || c.flip() || is_float8(d) ? m.a_number(d) : m.any_number());
    return;
  }
  TensorWish second;
  second.sizes = m.shape_like_with_ones(full);
  bool mixed = !number_first && c.chance(1, 3);
  if (mixed) {
    DtypeSet set = partners(d, m.op().dtypes);
    second.dtypes = in_place && result != Result::boolean ? castable_into(d, set) : set;
  } else if (!number_first) {
    second.dtype = d;
  }
  ValueId b = m.tensor(second);
  m.set(params[1].name, b);
  if (number_first) m.set(params[0].name, m.a_number(m.type(b).dtype));
}
}  // namespace

void binary(CallMaker& m) { two_operands(m, Result::promoted); }
void binary_float(CallMaker& m) { two_operands(m, Result::floating); }
void comparison(CallMaker& m) { two_operands(m, Result::boolean); }

}  // namespace lenz::make
