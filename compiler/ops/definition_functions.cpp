// The functions that a definition's text may call, as a table; decompose.h says what each is.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "compiler/graph/lazy_views.h"
#include "compiler/ops/definition_values.h"
#include "compiler/ops/rules/elementwise.h"
#include "compiler/ops/rules/layout.h"
#include "compiler/ops/rules/view_parts.h"

#include "compiler/scalar/rounding.h"

namespace lenz {

namespace {
using Args = std::span<const Arg>;

// --- of tensors
Dim size_of(DefinitionValues& v, const Type& t, int64_t dim) {
  auto rank = static_cast<int64_t>(t.rank());
  if (dim < -rank || dim >= rank) v.refuse("dim " + std::to_string(dim) + " is out of range");
  return t.sizes()[static_cast<size_t>(dim < 0 ? dim + rank : dim)];
}
Arg given(DefinitionValues&, Args a) { return Arg::of_bool(!a[0].is_none()); }
Arg rank(DefinitionValues& v, Args a) { return Arg::of_int(static_cast<int64_t>(v.tensor(a[0]).rank())); }
Arg device(DefinitionValues& v, Args a) { return Arg::of_device(v.tensor(a[0]).device); }
Arg shape(DefinitionValues& v, Args a) { return v.graph().context().dims(v.tensor(a[0]).sizes()); }
Arg elements(DefinitionValues& v, Args a) { return Arg::of_dim(numel(v.tensor(a[0]).sizes())); }
Arg size(DefinitionValues& v, Args a) { return Arg::of_dim(size_of(v, v.tensor(a[0]), v.constant(a[1]))); }
Arg is_tensor(DefinitionValues& v, Args a) {
  return Arg::of_bool(a[0].is_value() && v.graph().type(a[0].value()).is_tensor());
}
// Whether a view is lazily conjugated: its storage holds the conjugates of what it shows; or that, or negated.
Arg conjugated(DefinitionValues& v, Args a) {
  v.tensor(a[0]);
  return Arg::of_bool(laziness(v.graph(), a[0].value()).conjugated);
}
Arg lazy(DefinitionValues& v, Args a) {
  v.tensor(a[0]);
  return Arg::of_bool(laziness(v.graph(), a[0].value()).any());
}
Arg suggested_format(DefinitionValues& v, Args a) {
  const Type& t = v.tensor(a[0]);
  Infer in = v.rules();
  if (!rule::suggests_channels_last(in, t)) return Arg::of_memory_format(MemoryFormat::contiguous);
  return Arg::of_memory_format(t.rank() == 4 ? MemoryFormat::channels_last : MemoryFormat::channels_last_3d);
}
// How many elements a reduction over these dims takes together; of none, or no list, it takes all.
Arg count(DefinitionValues& v, Args a) {
  const Type& t = v.tensor(a[0]);
  SmallVec<Arg, 8> list = a[1].is_none() ? SmallVec<Arg, 8>() : v.items_of(a[1]);
  if (list.empty()) return Arg::of_dim(numel(t.sizes()));
  Dim n = 1;
  for (const Arg& d : list)
    if (t.rank()) n *= size_of(v, t, v.constant(d));
  return Arg::of_dim(n);
}

// --- of dtypes
Arg dtype(DefinitionValues& v, Args a) { return Arg::of_dtype(v.dtype(a[0])); }
Arg is_float(DefinitionValues& v, Args a) { return Arg::of_bool(is_floating(v.dtype(a[0]))); }
Arg is_complex_type(DefinitionValues& v, Args a) { return Arg::of_bool(is_complex(v.dtype(a[0]))); }
Arg is_integral_type(DefinitionValues& v, Args a) { return Arg::of_bool(is_integral(v.dtype(a[0]), true)); }
Arg real_dtype(DefinitionValues& v, Args a) { return Arg::of_dtype(to_real(v.dtype(a[0]))); }
Arg compute_dtype(DefinitionValues& v, Args a) {
  Dtype d = v.dtype(a[0]);
  return Arg::of_dtype(is_reduced_float(d) ? Dtype::f32 : d);
}
Arg float_type(DefinitionValues& v, Args a) {
  Dtype d = v.dtype(a[0]);
  return Arg::of_dtype(is_integral(d, true) ? Dtype::f32 : d);
}
Arg promoted(DefinitionValues& v, Args a) {
  auto both = promote(v.dtype(a[0]), v.dtype(a[1]));
  if (!both) v.refuse("these dtypes don't promote");
  return Arg::of_dtype(*both);
}
// As eager promotes tensors and numbers that stand together.
Arg result_type(DefinitionValues& v, Args a) {
  rule::Operands operands;
  for (const Arg& x : a) {
    if (x.is_value()) {
      operands.push_back({.type = &v.tensor(x)});
    } else {
      operands.push_back({.number = v.dtype(x)});
    }
  }
  Infer in = v.rules();
  return Arg::of_dtype(rule::result_type(in, operands));
}
// The finite bounds of a dtype, and how far its numbers lie apart at 1.
struct FloatLimits {
  double highest, epsilon;
};
FloatLimits limits(DefinitionValues& v, const Arg& of) {
  switch (v.dtype(of)) {
    case Dtype::f16: return {65504, 0x1p-10};
    case Dtype::bf16: return {0x1.FEp127, 0x1p-7};
    case Dtype::f32:
    case Dtype::c64: return {std::numeric_limits<float>::max(), 0x1p-23};
    case Dtype::f64:
    case Dtype::c128: return {std::numeric_limits<double>::max(), 0x1p-52};
    default: v.wrong("no bounds are known of " + std::string(name(v.dtype(of))));
  }
}
Arg highest(DefinitionValues& v, Args a) { return Arg::of_real(limits(v, a[0]).highest); }
Arg lowest(DefinitionValues& v, Args a) { return Arg::of_real(-limits(v, a[0]).highest); }
Arg epsilon(DefinitionValues& v, Args a) { return Arg::of_real(limits(v, a[0]).epsilon); }

// --- of numbers
Arg wrap(DefinitionValues& v, Args a) {
  int64_t d = v.constant(a[0]), r = std::max<int64_t>(v.constant(a[1]), 1);
  if (d < -r || d >= r) v.refuse("dim " + std::to_string(d) + " is out of range");
  return Arg::of_int(d < 0 ? d + r : d);
}
Arg from_start(DefinitionValues& v, Args a) {
  return Arg::of_dim(rule::from_start(v.graph().assumptions, v.dim(a[0]), v.dim(a[1])));
}
Arg element_place(DefinitionValues& v, Args a) {
  return Arg::of_dim(rule::at::element_place(v.graph().assumptions, v.dim(a[0]), v.dim(a[1])));
}
void require_numbers(DefinitionValues& v, Args a) {
  for (const Arg& x : a)
    if (!is_number(x) || x.symbolic) v.wrong("this needs constant numbers");
}
bool whole(Args a) {
  return std::ranges::all_of(a, [](const Arg& x) { return x.kind == ArgKind::integer; });
}
Arg larger(DefinitionValues& v, Args a) {
  if (whole(a)) return Arg::of_dim(max(a[0].dim(), a[1].dim()));
  require_numbers(v, a);
  return Arg::of_real(std::max(real_of(a[0]), real_of(a[1])));
}
Arg smaller(DefinitionValues& v, Args a) {
  if (whole(a)) return Arg::of_dim(min(a[0].dim(), a[1].dim()));
  require_numbers(v, a);
  return Arg::of_real(std::min(real_of(a[0]), real_of(a[1])));
}
Arg power(DefinitionValues& v, Args a) {
  require_numbers(v, a);
  return Arg::of_real(std::pow(real_of(a[0]), real_of(a[1])));
}
Arg factorial(DefinitionValues& v, Args a) {
  require_numbers(v, a);
  return Arg::of_real(std::tgamma(real_of(a[0]) + 1));
}
Arg fits(DefinitionValues& v, Args a) { return Arg::of_bool(representable(a[0], v.dtype(a[1]))); }
// The number as a float of this dtype; of integers any.
Arg rounded(DefinitionValues& v, Args a) {
  const Dtype d = v.dtype(a[1]);
  if (!is_inexact(d)) return a[0];
  if (a[0].kind == ArgKind::complex) {
    if (!is_complex(d)) v.refuse("a complex number for a real dtype");
    return v.graph().context().complex(round_to(d, *a[0].complex_value));
  }
  return Arg::of_real(round_to(to_real(d), real_of(a[0])));
}
// A complex number that is a real one as that, which compares as such.
Arg without_imaginary(DefinitionValues&, Args a) {
  const bool real = a[0].kind == ArgKind::complex && a[0].complex_value->imag() == 0;
  return real ? Arg::of_real(a[0].complex_value->real()) : a[0];
}
// Whether it is a number now, and a finite one.
Arg is_finite(DefinitionValues&, Args a) {
  switch (a[0].kind) {
    case ArgKind::boolean: return Arg::of_bool(true);
    case ArgKind::integer: return Arg::of_bool(!a[0].symbolic);
    case ArgKind::real: return Arg::of_bool(std::isfinite(a[0].d));
    case ArgKind::complex:
      return Arg::of_bool(std::isfinite(a[0].complex_value->real()) && std::isfinite(a[0].complex_value->imag()));
    default: return Arg::of_bool(false);
  }
}
// What an element of this dtype becomes that is given the number: eager refuses such a number, and rounds an element.
Arg held(DefinitionValues& v, Args a) {
  const Dtype d = v.dtype(a[1]);
  if (a[0].is_value() && is_inexact(d) && v.graph().type(a[0].value()).kind == TypeKind::sym_float) {
    const Arg filled[] = {v.graph().context().dims({}), a[0]};
    const Keyword wide{"dtype", Arg::of_dtype(Dtype::f64)}, narrow{"dtype", Arg::of_dtype(to_real(d))};
    const Arg as_element = v.insert("aten.full", filled, {&wide, 1})[0];               // op name: a tensor of it
    const Arg element = v.insert("aten._to_copy", {&as_element, 1}, {&narrow, 1})[0];  // op name: what rounds
    return v.insert("aten._local_scalar_dense", {&element, 1})[0];                     // op name: as a number
  }
  if (representable(a[0], d)) return a[0];
  if (is_inexact(d)) return rounded(v, a);
  if (a[0].kind != ArgKind::integer) v.refuse("a number that no integer is");
  return Arg::of_int(wrap_to(d, a[0].i));
}
Arg is_constant(DefinitionValues&, Args a) { return Arg::of_bool(!a[0].symbolic && !a[0].is_value()); }
Arg is_open(DefinitionValues& v, Args a) {
  try {
    v.same(v.dim(a[0]), Dim(0));
    return Arg::of_bool(false);
  } catch (const DataDependent&) {
    return Arg::of_bool(true);
  }
}
Arg run_tells(DefinitionValues& v, Args a) {
  const Assumptions& known = v.graph().assumptions;
  return Arg::of_bool(
      std::ranges::any_of(v.items_of(a[0]), [&](const Arg& n) { return known.mentions_open(v.dim(n)); }));
}
// floor(size * factor), as interpolation scales a size.
Arg scaled(DefinitionValues& v, Args a) { return Arg::of_dim(call(SymFn::floor_scale, v.dim(a[0]), real_of(a[1]))); }

// --- of the op's own results, as its type rule gives them
InferredResult result(DefinitionValues& v, size_t i) {
  Infer in = v.rules();
  in.run();
  return in.results()[i];
}
InferredResult result(DefinitionValues& v, Args a) {
  return result(v, a.empty() ? 0 : static_cast<size_t>(v.constant(a[0])));
}
Arg result_shape(DefinitionValues& v, Args a) { return v.graph().context().dims(result(v, a).type->sizes()); }
Arg result_strides(DefinitionValues& v, Args a) { return v.graph().context().dims(result(v, a).type->strides()); }
Arg result_dtype(DefinitionValues& v, Args a) { return Arg::of_dtype(result(v, a).type->dtype); }
Arg result_device(DefinitionValues& v, Args a) { return Arg::of_device(result(v, a).type->device); }
Arg result_count(DefinitionValues& v, Args a) {
  return Arg::of_int(static_cast<int64_t>(result(v, a).type->elements().size()));
}
Arg result_is_view(DefinitionValues& v, Args a) { return Arg::of_bool(result(v, a).alias_of != kNone); }

// --- of lists
Arg range(DefinitionValues& v, Args a) {
  DimVec dims;
  for (int64_t i = v.constant(a[0]), end = v.constant(a[1]); i < end; ++i) dims.push_back(Dim(i));
  return v.graph().context().dims(dims);
}
Arg list(DefinitionValues& v, Args a) {
  SmallVec<Arg, 8> items(static_cast<size_t>(v.constant(a[0])), a[1]);
  return v.list_of(items);
}
Arg length(DefinitionValues& v, Args a) { return Arg::of_int(static_cast<int64_t>(v.items_of(a[0]).size())); }
Arg product(DefinitionValues& v, Args a) {
  Dim all = 1;
  for (const Arg& e : v.items_of(a[0])) all *= v.dim(e);
  return Arg::of_dim(all);
}
Arg total(DefinitionValues& v, Args a) {
  Dim all = 0;
  for (const Arg& e : v.items_of(a[0])) all += v.dim(e);
  return Arg::of_dim(all);
}
Arg find(DefinitionValues& v, Args a) {  // where an integer stands first, or -1
  SmallVec<Arg, 8> items = v.items_of(a[0]);
  for (size_t i = 0; i < items.size(); ++i)
    if (v.same(v.dim(items[i]), v.dim(a[1]))) return Arg::of_int(static_cast<int64_t>(i));
  return Arg::of_int(-1);
}
Arg concat(DefinitionValues& v, Args a) {
  SmallVec<Arg, 8> items = v.items_of(a[0]);
  for (const Arg& e : v.items_of(a[1])) items.push_back(e);
  return v.list_of(items);
}
Arg broadcast(DefinitionValues& v, Args a) {
  DimVec x, y;
  for (const Arg& e : v.items_of(a[0])) x.push_back(v.dim(e));
  for (const Arg& e : v.items_of(a[1])) y.push_back(v.dim(e));
  Infer in = v.rules();
  return v.graph().context().dims(rule::broadcast(in, x, y));
}
Arg equal_sizes(DefinitionValues& v, Args a) {
  SmallVec<Arg, 8> x = v.items_of(a[0]), y = v.items_of(a[1]);
  bool same = x.size() == y.size();
  for (size_t i = 0; same && i < x.size(); ++i) same = v.same(v.dim(x[i]), v.dim(y[i]));
  return Arg::of_bool(same);
}
Arg at(DefinitionValues& v, Args a) {
  SmallVec<Arg, 8> items = v.items_of(a[0]);
  auto count = static_cast<int64_t>(items.size());
  int64_t n = v.constant(a[1]), i = n < 0 ? n + count : n;
  if (i < 0 || i >= count) v.refuse("a list is too short");
  return items[static_cast<size_t>(i)];
}
Arg part(DefinitionValues& v, const SmallVec<Arg, 8>& items, int64_t from, int64_t to) {
  auto count = static_cast<int64_t>(items.size());
  from = std::clamp<int64_t>(from, 0, count);
  to = std::clamp<int64_t>(to, from, count);
  return v.list_of(items.span().subspan(static_cast<size_t>(from), static_cast<size_t>(to - from)));
}
Arg first(DefinitionValues& v, Args a) { return part(v, v.items_of(a[0]), 0, v.constant(a[1])); }
Arg last(DefinitionValues& v, Args a) {
  SmallVec<Arg, 8> items = v.items_of(a[0]);
  auto count = static_cast<int64_t>(items.size());
  return part(v, items, count - v.constant(a[1]), count);
}
Arg drop(DefinitionValues& v, Args a) {
  SmallVec<Arg, 8> items = v.items_of(a[0]);
  return part(v, items, v.constant(a[1]), static_cast<int64_t>(items.size()));
}
// The permutation that puts dims `from` at places `to` and leaves the others in their order.
Arg moved(DefinitionValues& v, Args a) {
  int64_t rank = v.constant(a[0]);
  SmallVec<Arg, 8> from = v.items_of(a[1]), to = v.items_of(a[2]);
  auto wrapped = [&](const Arg& d) {
    int64_t i = v.constant(d);
    return i < 0 ? i + rank : i;
  };
  std::map<int64_t, int64_t> placed;  // by place
  std::vector<bool> taken(static_cast<size_t>(rank));
  for (size_t i = 0; i < from.size() && i < to.size(); ++i) {
    placed[wrapped(to[i])] = wrapped(from[i]);
    taken[static_cast<size_t>(wrapped(from[i]))] = true;
  }
  DimVec order;
  int64_t next = 0;
  for (int64_t place = 0; place < rank; ++place) {
    auto found = placed.find(place);
    if (found != placed.end()) {
      order.push_back(Dim(found->second));
      continue;
    }
    while (taken[static_cast<size_t>(next)]) ++next;
    order.push_back(Dim(next++));
  }
  return v.graph().context().dims(order);
}
Arg einsum(DefinitionValues& v, Args a) {  // op name: the function is called as its only user is
  return contract(v, a[0].string(), v.items_of(a[1]), a[2]);
}

struct Function {
  std::string_view name;
  size_t arguments;  // at least
  Arg (*apply)(DefinitionValues&, Args);
};
constexpr Function kFunctions[] = {
    {"given", 1, given},
    {"rank", 1, rank},
    {"device", 1, device},
    {"shape", 1, shape},
    {"numel", 1, elements},
    {"size", 2, size},
    {"is_tensor", 1, is_tensor},
    {"conjugated", 1, conjugated},
    {"lazy", 1, lazy},
    {"suggested_format", 1, suggested_format},
    {"count", 2, count},
    {"dtype", 1, dtype},
    {"is_float", 1, is_float},
    {"is_complex", 1, is_complex_type},
    {"is_integral", 1, is_integral_type},
    {"real_dtype", 1, real_dtype},
    {"compute_dtype", 1, compute_dtype},
    {"float_type", 1, float_type},
    {"promote", 2, promoted},
    {"result_type", 1, result_type},
    {"highest", 1, highest},
    {"lowest", 1, lowest},
    {"epsilon", 1, epsilon},
    {"wrap", 2, wrap},
    {"from_start", 2, from_start},
    {"element_place", 2, element_place},
    {"max", 2, larger},
    {"min", 2, smaller},
    {"power", 2, power},
    {"factorial", 1, factorial},
    {"fits", 2, fits},
    {"held", 2, held},
    {"rounded", 2, rounded},
    {"without_imaginary", 1, without_imaginary},
    {"is_finite", 1, is_finite},
    {"is_constant", 1, is_constant},
    {"is_open", 1, is_open},
    {"run_tells", 1, run_tells},
    {"scaled", 2, scaled},
    {"result_shape", 0, result_shape},
    {"result_strides", 0, result_strides},
    {"result_dtype", 0, result_dtype},
    {"result_device", 0, result_device},
    {"result_count", 0, result_count},
    {"result_is_view", 0, result_is_view},
    {"range", 2, range},
    {"list", 2, list},
    {"len", 1, length},
    {"product", 1, product},
    {"sum", 1, total},
    {"find", 2, find},
    {"concat", 2, concat},
    {"broadcast", 2, broadcast},
    {"equal", 2, equal_sizes},
    {"at", 2, at},
    {"first", 2, first},
    {"last", 2, last},
    {"drop", 2, drop},
    {"moved", 3, moved},
    {"einsum", 3, einsum},
};
}  // namespace

Arg DefinitionValues::function(std::string_view name, std::span<const Arg> args) {
  for (const Function& f : kFunctions) {
    if (f.name != name) continue;
    if (args.size() < f.arguments) wrong("too few arguments of " + std::string(name));
    return f.apply(*this, args);
  }
  wrong("no function " + std::string(name));
}

Dtype DefinitionValues::result_dtype(size_t i) { return result(*this, i).type->dtype; }

}  // namespace lenz
