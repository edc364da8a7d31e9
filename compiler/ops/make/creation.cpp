#include "compiler/ops/make/creation.h"

#include <cmath>

#include "compiler/ops/make/common.h"

namespace lenz::make {

namespace {
// A dtype of the row's, or none; the dtype that the result then has.
Dtype maybe_dtype(CallMaker& m, Dtype otherwise) {
  if (!m.has("dtype") || m.choose().flip()) return otherwise;
  Dtype d = m.a_dtype(m.op().dtypes);
  m.set("dtype", Arg::of_dtype(d));
  return d;
}

void maybe_format(CallMaker& m, size_t rank, bool preserve) {
  if (!m.has("memory_format") || m.choose().flip()) return;
  SmallVec<MemoryFormat, 4> fit{MemoryFormat::contiguous};
  if (preserve) fit.push_back(MemoryFormat::preserve);
  if (rank == 4) fit.push_back(MemoryFormat::channels_last);
  if (rank == 5) fit.push_back(MemoryFormat::channels_last_3d);
  m.set("memory_format", Arg::of_memory_format(fit[m.choose().below(fit.size())]));
}

// What the op fills in, of a result of this dtype.
void set_values(CallMaker& m, Dtype dtype) {
  Chooser& c = m.choose();
  if (m.has("fill_value")) m.set("fill_value", m.a_number(dtype));
  if (!m.has("high")) return;
  int64_t low =
      m.has("low") ? c.between(dtype == Dtype::b8 || dtype == Dtype::u8 ? 0 : -5, dtype == Dtype::b8 ? 1 : 5) : 0;
  int64_t high = dtype == Dtype::b8 ? 2 : low + c.between(1, 9);
  if (m.has("low")) m.set("low", Arg::of_int(low));
  if (m.op().schema.params[1].type.kind == ParamKind::tensor) {
    TensorWish wish;
    wish.sizes = Sizes{};
    wish.dtype = Dtype::i64;
    wish.integers = {high, high};
    m.set("high", m.tensor(wish));
  } else {
    m.set("high", Arg::of_int(high));
  }
}
}  // namespace

void sized(CallMaker& m) {
  bool from_tensor = m.op().schema.params[0].type.kind == ParamKind::tensor;
  Dtype otherwise = Dtype::f32;
  if (from_tensor) otherwise = m.type(set_self(m)).dtype;
  Sizes sizes = m.a_shape();
  m.set_ints("size", sizes);
  bool number_tells = m.has("fill_value") && !from_tensor;
  Dtype dtype = maybe_dtype(m, otherwise);
  if (number_tells && !m.is_set("dtype")) {
    m.set("fill_value", m.any_number());
  } else {
    set_values(m, m.is_set("dtype") || from_tensor ? dtype : Dtype::i64);
  }
  maybe_format(m, sizes.size(), false);
  if (m.has("mean")) m.set("mean", Arg::of_real(m.a_real(-2, 2)));
  if (m.has("std")) m.set("std", Arg::of_real(m.a_real(0, 2)));
}

void strided(CallMaker& m) {
  if (m.op().schema.params[0].type.kind == ParamKind::tensor) set_self(m);
  Sizes sizes = m.a_shape(), strides;
  for (size_t i = 0; i < sizes.size(); ++i) strides.push_back(m.choose().between(0, 12));
  m.set_ints("size", sizes);
  m.set_ints("stride", strides);
  maybe_dtype(m, Dtype::f32);
}

void permuted_layout(CallMaker& m) {
  Sizes sizes = m.a_shape();
  Sizes left, order;
  for (size_t i = 0; i < sizes.size(); ++i) left.push_back(static_cast<int64_t>(i));
  while (!left.empty()) {
    size_t at = m.choose().below(left.size());
    order.push_back(left[at]);
    left.erase(at);
  }
  m.set_ints("size", sizes);
  m.set_ints("physical_layout", order);
  maybe_dtype(m, Dtype::f32);
}

void like_of(CallMaker& m, DtypeSet results) {
  ValueId self = set_self(m);
  Dtype dtype = m.type(self).dtype;
  if (!results.has(dtype) || m.choose().flip()) {
    dtype = m.a_dtype(results);
    m.set("dtype", Arg::of_dtype(dtype));
  }
  set_values(m, dtype);
  maybe_format(m, m.rank(self), true);
}

void arange(CallMaker& m) {
  Chooser& c = m.choose();
  Dtype dtype = maybe_dtype(m, Dtype::f32);
  bool fractions = c.chance(1, 3) && !(m.is_set("dtype") && is_integral(dtype, true));
  auto number = [&](double low, double high) {
    return fractions ? Arg::of_real(m.a_real(low, high))
                     : Arg::of_int(c.between(static_cast<int64_t>(low), static_cast<int64_t>(high)));
  };
  bool down = m.has("step") && c.chance(1, 3);
  double sign = down ? -1 : 1;
  auto signed_number = [&](double low, double high) { return down ? number(-high, -low) : number(low, high); };
  if (c.chance(1, 16)) {  // booleans count as numbers
    if (m.has("start")) m.set("start", Arg::of_bool(false));
    m.set("end", Arg::of_bool(true));
    if (m.has("step")) m.set("step", Arg::of_bool(true));
    return;
  }
  if (!down && m.has("start") && c.chance(1, 8)) {
    m.set("start", number(0, 3));
    m.set("end", number(3, 9));
  } else {
    if (m.has("start")) m.set("start", down ? number(0, 5) : number(-5, 0));
    m.set("end", signed_number(0, 9));
  }
  if (m.has("step"))
    m.set("step", fractions ? Arg::of_real(sign * m.a_real(0.5, 3))
                            : Arg::of_int(static_cast<int64_t>(sign) * c.between(1, 4)));
}

void linspace(CallMaker& m) {
  Dtype dtype = maybe_dtype(m, Dtype::f32);
  bool complex = is_complex(dtype);
  int64_t low = m.is_set("dtype") && dtype == Dtype::u8 ? 0 : -2;
  // Bounds up to 2: a power of 10 must fit the narrowest integers.
  for (std::string_view side : {"start", "end"}) {
    const Param& p = m.op().schema.params[static_cast<size_t>(m.op().schema.find(side))];
    if (p.type.kind == ParamKind::tensor) {
      TensorWish wish;
      wish.sizes = Sizes{};
      wish.dtypes = complex ? m.op().dtypes : m.op().dtypes - dtypes::complexes;
      wish.domain = Domain{static_cast<double>(low), 2};
      m.set(side, m.tensor(wish));
    } else if (complex && m.choose().chance(1, 3)) {
      m.set(side, m.context().complex({m.a_real(0, 2), m.a_real(0, 2)}));
    } else {
      m.set(side, m.choose().flip() ? Arg::of_int(m.choose().between(low, 2))
                                    : Arg::of_real(m.a_real(static_cast<double>(low), 2)));
    }
  }
  m.set("steps", Arg::of_int(m.choose().between(0, 7)));
  if (m.has("base")) m.set("base", Arg::of_real(m.choose().any_of({2.0, 10.0, 1.0})));
}

void eye(CallMaker& m) {
  m.set("n", Arg::of_int(m.a_size()));
  if (m.has("m")) m.set("m", Arg::of_int(m.a_size()));
  maybe_dtype(m, Dtype::f32);
}

void triangle_indices(CallMaker& m) {
  m.set("row", Arg::of_int(m.a_size()));
  m.set("col", Arg::of_int(m.a_size()));
  m.set("offset", Arg::of_int(m.choose().between(-6, 6)));
  maybe_dtype(m, Dtype::i64);
}

void number(CallMaker& m) {
  Dtype dtype = maybe_dtype(m, Dtype::f32);
  bool odd = is_floating(dtype) && m.choose().chance(1, 8);
  m.set("s", odd ? Arg::of_real(std::nan("")) : m.a_number(dtype));
}

void window(CallMaker& m) {
  m.set("window_length", Arg::of_int(m.a_size()));
  maybe_dtype(m, Dtype::f32);
  if (m.has("beta")) m.set("beta", Arg::of_real(m.a_real(0, 14)));
  if (m.has("alpha")) m.set("alpha", Arg::of_real(m.a_real(0, 1)));
}

void randperm(CallMaker& m) {
  m.set("n", Arg::of_int(m.a_size()));
  maybe_dtype(m, Dtype::i64);
  if (m.choose().chance(1, 8)) m.set("dtype", Arg::none());  // not what leaving it out means
}

void fill(CallMaker& m) {
  ValueId self = set_self(m);
  if (!m.has("value")) return;
  Dtype dtype = m.type(self).dtype;
  if (m.op().schema.params[1].type.kind != ParamKind::tensor) return m.set("value", m.a_number(dtype));
  TensorWish wish;
  wish.sizes = Sizes{};
  wish.dtypes = m.choose().flip() ? DtypeSet::of(dtype) : m.op().dtypes - dtypes::complexes;
  m.set("value", m.tensor(wish));
}

// --- random

void draw(CallMaker& m) {
  Chooser& c = m.choose();
  ValueId self = set_self(m);
  bool integers = m.has("to") &&
                  m.op().schema.params[static_cast<size_t>(m.op().schema.find("to"))].type.kind == ParamKind::integer;
  if (integers) {
    Dtype d = m.type(self).dtype;
    int64_t low = d == Dtype::b8 || d == Dtype::u8 || !m.has("from") ? 0 : c.between(-4, 4);
    if (m.has("from")) m.set("from", Arg::of_int(low));
    bool open = m.has("from") && c.chance(1, 4) && d != Dtype::b8;
    if (!open) m.set("to", Arg::of_int(low + (d == Dtype::b8 ? 1 : c.between(1, 9))));
  } else if (m.has("to")) {
    double low = m.a_real(-2, 1);
    m.set("from", Arg::of_real(low));
    m.set("to", Arg::of_real(low + m.a_real(0, 2)));
  }
  if (m.has("p")) m.set("p", Arg::of_real(m.a_real(0.0625, 0.9375)));
  if (m.has("mean")) m.set("mean", Arg::of_real(m.a_real(-2, 2)));
  if (m.has("median")) m.set("median", Arg::of_real(m.a_real(-2, 2)));
  for (std::string_view positive : {"std", "lambd", "sigma"})
    if (m.has(positive)) m.set(positive, Arg::of_real(m.a_real(0.0625, 2)));
}

namespace {
TensorWish unit_interval(CallMaker& m) {
  TensorWish wish;
  wish.domain = Domain{0, 1};
  wish.dtypes = m.op().dtypes & dtypes::floats;
  if (wish.dtypes.empty()) wish.dtypes = dtypes::floats;
  return wish;
}
}  // namespace

void probabilities(CallMaker& m) { set_self(m, unit_interval(m)); }

void by_probabilities(CallMaker& m) {
  ValueId self = set_self(m);
  TensorWish p = unit_interval(m);
  p.sizes = m.shape_like_with_ones(m.sizes(self));
  m.set("p", m.tensor(p));
}

void normal(CallMaker& m) {
  auto shapes = m.broadcast_shapes(2);
  const auto& params = m.op().schema.params;
  for (size_t i = 0; i < 2; ++i) {
    bool deviation = params[i].name == "std";
    if (params[i].type.kind != ParamKind::tensor) {
      m.set(params[i].name, Arg::of_real(m.a_real(deviation ? 0 : -2, 2)));
      continue;
    }
    TensorWish wish;
    wish.sizes = shapes[i];
    wish.domain = Domain{deviation ? 0.0 : -2.0, 2};
    if (deviation) wish.dtypes = dtypes::floats;
    m.set(params[i].name, m.tensor(wish));
  }
}

void counts(CallMaker& m) {
  TensorWish wish;
  wish.domain = Domain{0, 9};
  set_self(m, wish);
}

void binomial(CallMaker& m) {
  TensorWish count;
  count.integers = {1, 9};  // of NaN eager never ends
  ValueId self = set_self(m, count);
  TensorWish p = unit_interval(m);
  p.dtype = m.type(self).dtype;
  p.sizes = m.shape_like_with_ones(m.sizes(self));
  m.set("prob", m.tensor(p));
}

void dropout_backward(CallMaker& m) {
  ValueId grad = set_self(m);
  TensorWish mask;
  mask.sizes = m.sizes(grad);
  mask.dtype = Dtype::b8;
  m.set("mask", m.tensor(mask));
  m.set("scale", Arg::of_real(m.choose().any_of({2.0, 1.0, 1.25, 0.0})));
}

void dropout_from(CallMaker& m, int rank) {
  TensorWish wish;
  if (m.op().schema.returns.size() == 1 && m.choose().chance(1, 4)) {  // nothing is dropped: anything passes
    set_self(m, wish);
    bool trained = m.choose().flip();
    m.set("train", Arg::of_bool(trained));
    m.set("p", Arg::of_real(trained ? 0 : 0.5));
    return;
  }
  wish.min_rank = rank;
  // Others pass only when nothing is to be dropped.
  wish.dtypes = m.op().schema.returns.size() > 1 ? dtypes::floats | dtypes::complexes : dtypes::floats;
  set_self(m, wish);
  m.set("p", Arg::of_real(m.choose().any_of({0.5, 0.25, 0.0, 1.0, 0.75})));
  if (m.choose().chance(1, 4)) m.set("train", m.choose().flip() ? Arg::of_bool(false) : Arg::of_bool(true));
}

void multinomial(CallMaker& m) {
  TensorWish wish;
  wish.min_rank = 1;
  wish.max_rank = 2;
  wish.sizes = Sizes{m.a_size(1)};
  if (m.choose().flip()) wish.sizes->insert(0, m.a_size());
  wish.domain = Domain{0.25, 2};
  ValueId self = set_self(m, wish);
  bool replacement = m.choose().flip();
  m.set("replacement", Arg::of_bool(replacement));
  m.set("num_samples", Arg::of_int(m.choose().between(1, m.size(self, -1) + (replacement ? 3 : 0))));
}

}  // namespace lenz::make
