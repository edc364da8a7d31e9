// The scalar table as code: emits any row, in any of its dtypes, for a number of lanes.
//
// How values are held between load and store (the compute representation), in vectors of `lanes` elements, or as plain
// scalars where lanes is 1:
// * b8: i1. Integers: iN, in PyTorch's semantics.
// * f32, f64: themselves. f16, bf16, f8e4m3, f8e5m2: as f32, not rounded between rows but where a row's meaning asks
//   for it (to_dtype, trunc_div, nextafter, bitcast, ...).
// * c64, c128: two values, real and imaginary part.
// In memory: b8 is a byte, f16 and bf16 are i16, float8 are i8, complex numbers are interleaved; load_convert and
// store_convert know how to get there.
//
// Emission may make new basic blocks: rare cases (huge arguments of sin) are branched around. The builder then stands
// in the block that follows, and what was emitted before dominates it.
//
// Thread-safety: as the builder's module.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "compiler/backend/llvm/target.h"
#include "compiler/loops/program.h"
#include "compiler/scalar/scalar.h"

namespace llvm {
class IRBuilderBase;
class Type;
class Value;
}  // namespace llvm

namespace lenz::native {

struct SharedRow;

struct Lanes {
  llvm::Value* value = nullptr;      // the real part of a complex one
  llvm::Value* imaginary = nullptr;  // complex dtypes only
};

class ScalarCode {
 public:
  // Stays valid as the builder moves. The target outlives it. `shares_rows`: long rows are called (shared_rows.h).
  ScalarCode(llvm::IRBuilderBase& builder, const CpuTarget& target, int lanes, bool shares_rows = false);

  llvm::IRBuilderBase& builder() const { return *builder_; }
  const CpuTarget& target() const { return *target_; }
  int lanes() const { return lanes_; }

  // The type of a value of this dtype (of one part of a complex one) as it is held, and as it stands in memory.
  llvm::Type* held_type(Dtype dtype) const;
  llvm::Type* memory_type(Dtype dtype) const;

  // Computes a row. `result` is result_dtype(row, compute, target). Where eager raises in some lanes (integer division
  // by zero), *raised becomes a vector of i1 that says in which, and these lanes' values mean nothing; it becomes null
  // where none can. The caller masks out lanes that don't exist. Throws Unsupported for a row without spelling
  // that is not called either.
  Lanes apply(const ScalarRow& row, Dtype compute, Dtype result, std::span<const Lanes> operands,
              llvm::Value** raised = nullptr);

  // A constant in every lane.
  Lanes constant(Dtype dtype, const ScalarValue& value);

  // Between memory and the held form: what a load gave, or what a store takes. Complex parts come and go already
  // separated: memory_type of their component. Stores round to nearest even; a NaN stays one.
  Lanes load_convert(Dtype dtype, const Lanes& in_memory);
  // `fits`: a number of the dtype, which need not be rounded.
  Lanes store_convert(Dtype dtype, const Lanes& held, bool fits = false);

  // Two vectors that follow one another in memory, as one of twice as many elements, where the target converts both
  // together in fewer steps.
  bool loads_pairs(Dtype dtype) const;
  bool stores_pairs(Dtype dtype) const;
  std::array<Lanes, 2> load_convert_pair(Dtype dtype, llvm::Value* in_memory);
  llvm::Value* store_convert_pair(Dtype dtype, const Lanes& first, const Lanes& second);
  // The same of bf16 on any target, where nobody asks which vector has which element: the first vector has those at
  // even places, the second those at odd ones, each in one instruction; `adds`: among more additions than products.
  // `fits` as above.
  std::array<Lanes, 2> load_even_and_odd(llvm::Value* in_memory, bool adds);
  llvm::Value* store_even_and_odd(const Lanes& even, const Lanes& odd, bool fits);
  // bf16 on targets that have no instruction for it: both vectors rounded, held as before.
  bool rounds_words(Dtype dtype) const;
  std::array<Lanes, 2> round_words(const Lanes& first, const Lanes& second);
  // The same of f32, which need not be rounded: as two vectors that follow one another.
  std::array<Lanes, 2> in_order(const Lanes& even, const Lanes& odd);
  // Where stores_pairs: of both numbers' relu.
  llvm::Value* store_even_and_odd_relu(const Lanes& even, const Lanes& odd);

  // Random numbers (compiler/scalar/random_stream.h) of the stream {seed, offset}, both i64 scalars, for the logical
  // elements `element` (a vector of i64). `dtype` is the instruction's: word and wide_word give i64, signed_word i32.
  // `consecutive`: element i + 1 follows element i, and the first is a multiple of four: then one Philox block serves
  // four lanes (two of wide draws).
  Lanes draw(loops::DrawKind kind, Dtype dtype, llvm::Value* seed, llvm::Value* offset, llvm::Value* element,
             bool consecutive = false);
  // Several vectors that follow one another, the first one for `element`, and that for a multiple of four if
  // `in_blocks`: their blocks fill whole vectors.
  std::vector<Lanes> draw_together(loops::DrawKind kind, Dtype dtype, llvm::Value* seed, llvm::Value* offset,
                                   llvm::Value* element, int vectors, bool in_blocks);

 private:
  Lanes call(const SharedRow& row, Dtype result, std::span<const Lanes> operands, llvm::Value** raised);

  llvm::IRBuilderBase* builder_;
  const CpuTarget* target_;
  int lanes_;
  bool shares_rows_;
};

// Whether apply() has a spelling.
bool has_spelling(const ScalarRow& row, Dtype compute);
// Whether it calls the table's own function instead, for want of one (row_call.h).
bool is_called(const ScalarRow& row, Dtype compute);

// The rows and dtypes of the table that have no spelling: "special_zeta f64", in the table's order.
std::vector<std::string> missing_spellings();

}  // namespace lenz::native
