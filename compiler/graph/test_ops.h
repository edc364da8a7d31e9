// A small table for tests of this room: an op for every kind of argument, and a few that alias, write and branch.
// Thread-safety: as op_table().
#pragma once

#include "compiler/graph/graph.h"

namespace lenz::test {

inline void same_as_first(Infer& in) { in.result(in.tensor(0).tensor()); }
inline void view_of_first(Infer& in) { in.alias(in.tensor(0).tensor(), 0); }
inline void one_float(Infer& in) { in.result(contiguous_tensor(Dtype::f32, {})); }
inline void constant_type(Infer& in) { in.result(in.arg(0).data->type); }
inline void token_type(Infer& in) { in.result(in.context().simple(TypeKind::token)); }
inline void two_results(Infer& in) {
  in.result(in.tensor(0).tensor());
  in.result(contiguous_tensor(Dtype::i64, in.tensor(0).sizes()));
}
inline void no_result(Infer&) {}
inline void filled(Infer& in) { in.result(contiguous_tensor(Dtype::f32, in.ints("size"))); }
inline void size_of_dim(Infer& in) {
  int64_t dim = in.wrap_dim(in.constant("dim"), in.tensor(0).rank());
  in.result(in.context().sym_int(in.tensor(0).sizes()[static_cast<size_t>(dim)]));
}
inline void broadcast_last(Infer& in) {
  const Type& a = in.tensor(0);
  const Type& b = in.tensor(1);
  in.require(a.rank() == b.rank(), "ranks differ");
  for (size_t i = 0; i < a.rank(); ++i) in.require(eq(a.sizes()[i], b.sizes()[i]), "sizes differ");
  in.result(contiguous_tensor(a.dtype, a.sizes()));
}
inline void nonzero_type(Infer& in) {
  Dim count = in.unbacked(0, numel(in.tensor(0).sizes()));
  in.result(contiguous_tensor(Dtype::i64, DimVec{count, Dim(static_cast<int64_t>(in.tensor(0).rank()))}));
}
inline void pieces(Infer& in) {
  const Type* piece = in.context().tensor(in.tensor(0).tensor());
  const Type* both[] = {piece, piece};
  in.alias(in.context().list(both), in.args()[0].value());
}
inline void choose_type(Infer& in) {
  const Graph& yes = in.subgraph("yes");
  const Graph& no = in.subgraph("no");
  in.require(yes.outputs().size() == no.outputs().size(), "the branches differ");
  for (const Arg& a : yes.outputs()) in.result(yes.type(a.value()).tensor());
}

inline const OpTable& table() {
  static const OpTable made = [] {
    OpTable t;
    auto row = [&](std::string_view schema, void (*infer)(Infer&), Traits traits = {}, Variants variants = {}) {
      OpDef def;
      def.schema = parse_schema(schema);
      def.infer = infer;
      def.traits = traits;
      def.variants = variants;
      t.add(std::move(def));
    };
    using enum Trait;
    row("test::relu(Tensor self) -> Tensor", same_as_first, elementwise | core, {true, "out", {}});
    row("test::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", broadcast_last, elementwise | core);
    row("test::add.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor", same_as_first, elementwise | core);
    row("test::max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)", two_results);
    row("test::max(Tensor self) -> Tensor", one_float, reduction | core);
    row("test::max.other(Tensor self, Tensor other) -> Tensor", broadcast_last);
    row("test::view(Tensor(a) self) -> Tensor(a)", view_of_first, view);
    row("test::pieces(Tensor(a) self) -> Tensor(a)[]", pieces, view);
    row("test::empty(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
        "MemoryFormat? memory_format=None) -> Tensor",
        filled, creation);
    row("test::size(Tensor self, int dim) -> SymInt", size_of_dim);
    row("test::nonzero(Tensor self) -> Tensor", nonzero_type, data_dependent);
    row("test::draw(Tensor self, float p=0.5, *, Generator? generator=None) -> Tensor", same_as_first, random);
    row("test::cat(Tensor[] tensors, int dim=0) -> Tensor", one_float);
    row("test::index(Tensor self, Tensor?[] indices) -> Tensor", same_as_first);
    row("test::kinds(Tensor x, Tensor? y=None, *, Scalar s=1, int i=0, SymInt[2] dims=[0, 1], float f=0.5, bool "
        "b=False,"
        " str t=\"none\", ScalarType? d=None, Device? dev=None, Layout? layout=None, MemoryFormat? m=None, Generator? "
        "g=None,"
        " float[]? fs=None, bool[3] bs=[True, True, False], Scalar[] ss=[], SymInt? n=None) -> Tensor",
        same_as_first);
    row("lenz::constant(Data value) -> Tensor", constant_type, structural | core);
    row("test::choose(Any pred, Graph yes, Graph no, Any[] operands) -> Any[]", choose_type, structural | core);
    row("test::make_token() -> Token", token_type, structural | core);
    row("test::say(Token token, str text, Any[] values=[]) -> Token", token_type, structural | effect | core);
    row("test::check(Tensor x) -> ()", no_result, effect);
    return t;
  }();
  return made;
}

}  // namespace lenz::test
