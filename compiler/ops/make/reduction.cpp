#include "compiler/ops/make/reduction.h"

#include "compiler/ops/make/common.h"

#include <limits>

namespace lenz::make {

void set_dims(CallMaker& m, ValueId self, bool allow_empty) {
  int at = m.op().schema.find("dim");
  if (at < 0) return;
  const ParamType& type = m.op().schema.params[static_cast<size_t>(at)].type;
  if (type.optional && allow_empty && m.choose().chance(1, 4)) {
    m.set("dim", Arg::none());
  } else if (!type.list) {
    m.set("dim", Arg::of_int(m.a_dim(m.rank(self))));
  } else {
    auto dims = m.some_dims(m.rank(self), allow_empty);
    if (m.rank(self) == 0 && (!allow_empty || m.choose().chance(1, 2))) dims.push_back(m.a_dim(0));
    m.set_ints("dim", dims);
  }
}

namespace {
// A wider or equal dtype of the same kind or above: what `dtype=` may say without losing a part of the number.
void maybe_dtype(CallMaker& m, Dtype self) {
  if (!m.has("dtype")) return;
  DtypeSet fit;
  for (int i = 0; i < kDtypeCount; ++i) {
    auto d = static_cast<Dtype>(i);
    if (d == Dtype::b8 && m.op().has(Trait::scan)) continue;
    if (computes(m).has(d) && info(d).category >= info(self).category) fit = fit | DtypeSet::of(d);
  }
  if (fit.empty() || (computes(m).has(self) && !m.choose().chance(1, 3))) return;
  m.set("dtype", Arg::of_dtype(m.a_dtype(fit)));
}

ValueId reduced_tensor(CallMaker& m, int64_t min_size) {
  TensorWish wish;
  wish.min_size = min_size;
  ValueId self = m.tensor(wish);
  m.set(m.op().schema.params[0].name, self);
  // float8 is reduced over given dims only.
  set_dims(m, self, !is_float8(m.type(self).dtype));
  maybe_dtype(m, m.type(self).dtype);
  return self;
}
}  // namespace

void reduction(CallMaker& m) { reduced_tensor(m, 0); }

void logsumexp(CallMaker& m) {
  reduction(m);
  if (m.get("dim").count == 0) m.set("keepdim", Arg::of_bool(true));
}

void reduction_nonempty(CallMaker& m) {
  int at = m.op().schema.find("dim");
  bool one_dim = at >= 0 && !m.op().schema.params[static_cast<size_t>(at)].type.list;
  if (!one_dim || !m.choose().chance(1, 16)) {
    reduced_tensor(m, 1);
    return;
  }
  // Only the reduced dim needs elements.
  Sizes sizes = m.a_shape(2, 5, 1);
  auto dim = static_cast<int64_t>(m.choose().below(sizes.size()));
  sizes[(static_cast<size_t>(dim) + 1) % sizes.size()] = 0;
  m.set(m.op().schema.params[0].name, m.tensor({.dtypes = m.op().dtypes - dtypes::float8, .sizes = sizes}));
  m.set("dim", Arg::of_int(m.choose().flip() ? dim : dim - static_cast<int64_t>(sizes.size())));
}

void variance(CallMaker& m) {
  reduced_tensor(m, 0);
  if (m.has("correction") && m.choose().flip())
    m.set("correction", m.choose().flip() ? Arg::of_int(m.choose().between(-1, 2)) : Arg::of_real(m.a_real(0, 2)));
}

namespace {
Arg an_order(CallMaker& m, bool extremes) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  switch (m.choose().below(extremes ? 10 : 7)) {
    case 0: return Arg::of_int(2);
    case 1: return Arg::of_int(1);
    case 2: return Arg::of_int(0);
    case 3: return Arg::of_real(2.5);
    case 4: return Arg::of_int(3);
    case 5: return Arg::of_real(0.5);
    case 6: return Arg::of_real(0);
    case 7: return Arg::of_int(-1);
    case 8: return Arg::of_real(kInfinity);
    default: return Arg::of_real(-kInfinity);
  }
}

void set_norm_dtype(CallMaker& m, Dtype self) {
  if (!m.has("dtype")) return;
  const Param& p = m.op().schema.params[static_cast<size_t>(m.op().schema.find("dtype"))];
  if (p.type.optional && m.choose().flip()) return;
  DtypeSet fit;
  for (int i = 0; i < kDtypeCount; ++i) {
    auto d = static_cast<Dtype>(i);
    if (dtypes::floats.has(d) != is_floating(self) || dtypes::complexes.has(d) != is_complex(self)) continue;
    if (promote(self, d) == d) fit = fit | DtypeSet::of(d);
  }
  m.set("dtype", Arg::of_dtype(m.a_dtype(fit)));
}
}  // namespace

void vector_norm(CallMaker& m) {
  TensorWish wish;
  bool extremes = m.choose().chance(1, 3);
  wish.min_size = extremes ? 1 : 0;
  ValueId self = m.tensor(wish);
  m.set("self", self);
  m.set("ord", an_order(m, extremes));
  set_dims(m, self, true);
  set_norm_dtype(m, m.type(self).dtype);
}

void power_sum(CallMaker& m) {
  ValueId self = m.tensor({});
  m.set("self", self);
  m.set("ord", an_order(m, true));
  set_dims(m, self, true);
  const bool complex = is_complex(m.type(self).dtype);
  if (m.choose().flip()) m.set("dtype", Arg::of_dtype(m.a_dtype(complex ? dtypes::complexes : dtypes::floats)));
}

void norm(CallMaker& m) {
  TensorWish wish;
  bool extremes = m.choose().chance(1, 3);
  wish.min_size = extremes ? 1 : 0;
  if (m.has("dtype")) wish.dtypes = dtypes::floats;  // eager takes no `dtype` for complex tensors
  ValueId self = m.tensor(wish);
  m.set("self", self);
  bool optional = m.op().schema.params[1].type.optional;
  m.set("p", optional && m.choose().chance(1, 4) ? Arg::none() : an_order(m, extremes));
  set_dims(m, self, true);
  set_norm_dtype(m, m.type(self).dtype);
}

void median(CallMaker& m) {
  ValueId self = m.tensor({.min_size = 1, .written = true});
  m.set("self", self);
  m.set("dim", Arg::of_int(m.a_dim(m.rank(self))));
  m.set("keepdim", Arg::of_bool(m.choose().flip()));
}

void kthvalue(CallMaker& m) {
  TensorWish wish;
  wish.min_size = 1;
  ValueId self = m.tensor(wish);
  m.set("self", self);
  int64_t dim = m.a_dim(m.rank(self));
  m.set("dim", Arg::of_int(dim));
  m.set("k", Arg::of_int(m.choose().between(1, m.size(self, dim))));
}

void matrix(CallMaker& m) {
  TensorWish wish;
  wish.min_rank = wish.max_rank = 2;
  m.set("self", m.tensor(wish));
}

void distance(CallMaker& m) {
  Sizes full = m.a_shape(0, 5, 1);
  TensorWish wish;
  wish.sizes = m.shape_like_with_ones(full);
  wish.dtypes = alone(m);
  ValueId self = m.tensor(wish);
  wish.sizes = m.shape_like_with_ones(full);
  wish.dtype = m.type(self).dtype;
  m.set("self", self);
  m.set("other", m.tensor(wish));
  m.set("p", an_order(m, true));
}

void scan(CallMaker& m) {
  bool in_place = m.op().variant == VariantKind::in_place;
  TensorWish wish;
  wish.written = in_place;
  if (in_place) wish.dtypes = m.op().dtypes - dtypes::boolean;
  ValueId self = m.tensor(wish);
  m.set("self", self);
  m.set("dim", Arg::of_int(m.a_dim(m.rank(self))));
  if (in_place && m.has("dtype")) {
    m.set("dtype", Arg::of_dtype(m.type(self).dtype));
  } else {
    maybe_dtype(m, m.type(self).dtype);
  }
}

void difference(CallMaker& m) {
  TensorWish wish;
  wish.min_rank = 1;
  wish.min_size = 1;
  ValueId self = m.tensor(wish);
  m.set("self", self);
  int64_t dim = m.a_dim(m.rank(self));
  m.set("dim", Arg::of_int(dim));
  m.set("n", Arg::of_int(m.choose().any_of<int64_t>({1, 1, 2, 0})));
  for (std::string_view more : {"prepend", "append"}) {
    if (!m.choose().chance(1, 4)) continue;
    Sizes sizes = m.sizes(self);
    sizes[static_cast<size_t>(dim < 0 ? dim + static_cast<int64_t>(sizes.size()) : dim)] = m.a_size(1);
    m.set(more, m.tensor({.dtype = m.type(self).dtype, .sizes = sizes}));
  }
}

void renorm(CallMaker& m) {
  TensorWish wish;
  wish.min_rank = 2;
  wish.written = m.op().variant == VariantKind::in_place;
  ValueId self = m.tensor(wish);
  m.set("self", self);
  m.set("p", m.choose().flip() ? Arg::of_int(m.choose().between(1, 3)) : Arg::of_real(1.5));
  m.set("dim", Arg::of_int(m.a_dim(m.rank(self))));
  m.set("maxnorm", m.choose().flip() ? Arg::of_int(m.choose().between(1, 3)) : Arg::of_real(0.5));
}

}  // namespace lenz::make
