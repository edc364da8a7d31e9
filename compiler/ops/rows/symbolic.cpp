// Symbolic integers as values: sizes of tensors, and arithmetic on them. The type of a result says its value.
#include "compiler/graph/infer.h"
#include "compiler/ops/rows/families.h"

namespace lenz {

namespace {
void answer(Infer& in, Dim value) { in.result(in.context().sym_int(value)); }
void truth(Infer& in) { in.result(in.context().simple(TypeKind::sym_bool)); }

Dim along(Infer& in, std::span<const Dim> dims) {
  if (dims.empty()) in.raise("a tensor without dims has no dim");
  return dims[static_cast<size_t>(in.wrap_dim(in.constant("dim"), dims.size()))];
}
void size(Infer& in) { answer(in, along(in, in.tensor("self").sizes())); }
void stride(Infer& in) { answer(in, along(in, in.tensor("self").strides())); }
void elements(Infer& in) { answer(in, numel(in.tensor("self").sizes())); }
void offset(Infer& in) { answer(in, in.tensor("self").offset); }

Dim non_zero(Infer& in, Dim d) {
  in.require(ne(d, 0), "division by zero");
  return d;
}
template <Dim (*F)(Infer&, Dim, Dim)>
void binary(Infer& in) {
  answer(in, F(in, in.integer("a"), in.integer("b")));
}
Dim plus(Infer&, Dim a, Dim b) { return a + b; }
Dim minus(Infer&, Dim a, Dim b) { return a - b; }
Dim times(Infer&, Dim a, Dim b) { return a * b; }
Dim floor_quotient(Infer& in, Dim a, Dim b) { return floor_div(a, non_zero(in, b)); }
Dim modulo(Infer& in, Dim a, Dim b) { return mod(a, non_zero(in, b)); }
Dim smaller(Infer&, Dim a, Dim b) { return min(a, b); }
Dim larger(Infer&, Dim a, Dim b) { return max(a, b); }
}  // namespace

void symbolic_rows(RowSink& t) {
  using enum Trait;
  constexpr Traits kMetadata = structural | reads_metadata_only | core;
  t.row("sym_size.int(Tensor self, int dim) -> SymInt", {.traits = kMetadata, .infer = size, .dtypes = dtypes::all});
  t.row("sym_stride.int(Tensor self, int dim) -> SymInt",
        {.traits = kMetadata, .infer = stride, .dtypes = dtypes::all});
  t.row("sym_numel(Tensor self) -> SymInt", {.traits = kMetadata, .infer = elements, .dtypes = dtypes::all});
  t.row("sym_storage_offset(Tensor self) -> SymInt", {.traits = kMetadata, .infer = offset, .dtypes = dtypes::all});

  auto arithmetic = [&](std::string_view name, std::string_view scalar, void (*infer)(Infer&), Traits traits,
                        std::string_view raises = {}) {
    t.row("lenz::sym_" + std::string(name) + "(SymInt a, SymInt b) -> SymInt",
          {.traits = Traits(structural) | core | traits, .infer = infer, .scalar = scalar, .raises = raises});
  };
  arithmetic("add", "add", binary<plus>, commutative);
  arithmetic("sub", "sub", binary<minus>, {});
  arithmetic("mul", "mul", binary<times>, commutative);
  arithmetic("floor_div", "floor_divide", binary<floor_quotient>, {}, "b is zero");
  arithmetic("mod", "remainder", binary<modulo>, {}, "b is zero");
  arithmetic("min", "minimum", binary<smaller>, commutative);
  arithmetic("max", "maximum", binary<larger>, commutative);
  for (std::string_view name : {"eq", "ne", "lt", "le", "gt", "ge"})
    t.row("lenz::sym_" + std::string(name) + "(SymInt a, SymInt b) -> bool",
          {.traits = structural | core, .infer = truth, .scalar = name});
}

}  // namespace lenz
