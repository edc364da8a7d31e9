#include "compiler/ops/make/activation.h"

#include "compiler/ops/make/common.h"

namespace lenz::make {

namespace {
// Attributes: numbers are positive (some may be 0) and ordered (lower < upper), or left at their defaults.
void set_attributes(CallMaker& m, Dtype dtype) {
  Chooser& c = m.choose();
  for (const Param& p : m.op().schema.params) {
    if (p.is_out || m.is_set(p.name) || p.type.list) continue;
    if (p.fallback && c.flip() && p.type.kind != ParamKind::boolean) continue;
    if (p.type.kind == ParamKind::scalar) {
      bool low = p.name == "min_val" || p.name == "lower", may_be_zero = low || p.name == "lambd";
      if (may_be_zero && is_inexact(dtype) && c.chance(1, 8)) {
        m.set(p.name, Arg::of_real(0));
        continue;
      }
      bool whole = is_integral(dtype, true) || c.chance(1, 4);
      int64_t base = low ? 0 : 1;
      m.set(p.name, whole ? Arg::of_int(c.between(base, base + (low ? 0 : 3)))
                          : Arg::of_real(m.a_real(low ? 0.0625 : 0.5, low ? 0.25 : 2.5)));
    } else if (p.type.kind == ParamKind::string) {
      m.set(p.name, m.context().string(c.flip() ? "tanh" : "none"));
    } else if (p.type.kind == ParamKind::real) {
      if (c.flip()) m.set(p.name, Arg::of_real(m.a_real(0, 0.5)));
    }
  }
}
}  // namespace

void activation(CallMaker& m) {
  ValueId self = m.tensor({.written = writes_in_place(m)});
  m.set("self", self);
  set_attributes(m, m.type(self).dtype);
}

void activation_of_any_sign(CallMaker& m) {
  Chooser& c = m.choose();
  ValueId self = m.tensor({.written = writes_in_place(m)});
  m.set("self", self);
  bool integral = is_integral(m.type(self).dtype, true);
  for (const Param& p : m.op().schema.params)
    if (p.type.kind == ParamKind::scalar && (!p.fallback || c.flip()))
      m.set(p.name, integral || c.chance(1, 4) ? Arg::of_int(c.between(-2, 3))
                    : c.chance(1, 8)           ? Arg::of_real(0)
                                               : Arg::of_real(m.a_real(-2, 2.5)));
}

void hardtanh(CallMaker& m) {
  activation(m);
  // The default bounds are -1 and 1; an unsigned type takes none below 0.
  Dtype dtype = m.type(m.get("self").value()).dtype;
  if (is_inexact(dtype) && m.choose().chance(1, 8)) {
    m.set("min_val", Arg::of_real(m.a_real(-2, -0.5)));
    m.set("max_val", Arg::of_real(0));
  }
  if (dtype != Dtype::u8) return;
  m.set("min_val", Arg::of_int(0));
  if (!m.is_set("max_val")) m.set("max_val", Arg::of_int(m.choose().between(1, 9)));
}

void rrelu(CallMaker& m) {
  activation(m);
  if (m.type(m.get("self").value()).dtype == Dtype::f16) m.set("training", Arg::of_bool(false));
}

void rrelu_with_noise(CallMaker& m) {
  rrelu(m);
  ValueId self = m.get("self").value();
  // Eager writes the noise as if it were contiguous.
  m.set("noise", m.tensor({.dtype = m.type(self).dtype, .sizes = m.sizes(self), .plain = true, .written = true}));
}

void activation_backward(CallMaker& m) {
  Sizes full = m.a_shape();
  std::optional<Dtype> first;
  for (const Param& p : m.op().schema.params) {
    if (p.type.kind != ParamKind::tensor || p.is_out) continue;
    Dtype d = first ? partner_of(m, *first, computes(m)) : m.a_dtype(computes(m));
    if (!first) first = d;
    m.set(p.name, m.tensor({.dtype = d, .sizes = m.shape_like_with_ones(full)}));
  }
  set_attributes(m, *first);
}

void mish_backward(CallMaker& m) {
  // The result has the dtype of `self`, so that must hold the gradient.
  activation_backward(m);
  ValueId grad = m.get("grad_output").value();
  if (info(m.type(grad).dtype).category > info(m.type(m.get("self").value()).dtype).category)
    m.set("self", m.tensor({.dtype = m.type(grad).dtype, .sizes = m.sizes(grad)}));
}

void same_shape_backward(CallMaker& m) {
  Sizes full = m.a_shape();
  Dtype d = m.a_dtype(computes(m));
  // Eager hands some of these to a library that refuses tensors whose elements overlap.
  for (const Param& p : m.op().schema.params)
    if (p.type.kind == ParamKind::tensor && !p.is_out)
      m.set(p.name, m.tensor({.dtype = d, .sizes = full, .written = true}));
  set_attributes(m, d);
}

void glu(CallMaker& m) {
  Sizes full = m.choose().chance(1, 32) ? m.a_shape(6, 6) : m.a_shape(1);
  int64_t dim = m.a_dim(full.size());
  size_t at = static_cast<size_t>(dim < 0 ? dim + static_cast<int64_t>(full.size()) : dim);
  full[at] += full[at] % 2;
  Sizes half = full;
  half[at] /= 2;
  Dtype d = m.a_dtype(computes(m));
  for (const Param& p : m.op().schema.params) {
    if (p.type.kind != ParamKind::tensor || p.is_out) continue;
    bool of_result = p.name == "grad_output" || p.name == "grad_glu" || p.name == "dgrad_glu" ||
                     p.name == "glu";  // op name: a parameter's name
    m.set(p.name, m.tensor({.dtype = d, .sizes = of_result ? half : full}));
  }
  if (!m.op().schema.params.back().fallback || m.choose().flip() || m.op().variant == VariantKind::out || dim != -1)
    m.set("dim", Arg::of_int(dim));
}

void prelu(CallMaker& m) {
  ValueId self = m.tensor({});
  m.set("self", self);
  Sizes sizes = m.sizes(self);
  bool per_channel = sizes.size() > 1 && m.choose().flip();
  Sizes weight;
  if (per_channel) {
    weight = {sizes[1]};
  } else if (m.choose().flip()) {
    weight = {1};
  }
  m.set("weight", m.tensor({.dtype = m.type(self).dtype, .sizes = weight}));
}

void prelu_kernel(CallMaker& m) {
  ValueId self = m.tensor({});
  m.set("self", self);
  Dtype d = m.type(self).dtype;
  m.set("weight", m.tensor({.dtype = d, .sizes = m.shape_like_with_ones(m.sizes(self))}));
  if (m.has("grad_output")) m.set("grad_output", m.tensor({.dtype = d, .sizes = m.sizes(self)}));
}

}  // namespace lenz::make
