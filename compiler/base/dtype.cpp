#include "compiler/base/dtype.h"

namespace lenz {

namespace {
using enum DtypeClass;
constexpr std::array<DtypeInfo, kDtypeCount> kTable = {{
    {Dtype::b8, "bool", "Bool", "bool", 8, boolean, false, 0},
    {Dtype::u8, "u8", "Byte", "uint8", 8, integer, false, 0},
    {Dtype::i8, "i8", "Char", "int8", 8, integer, true, 0},
    {Dtype::i16, "i16", "Short", "int16", 16, integer, true, 0},
    {Dtype::i32, "i32", "Int", "int32", 32, integer, true, 0},
    {Dtype::i64, "i64", "Long", "int64", 64, integer, true, 0},
    {Dtype::f16, "f16", "Half", "float16", 16, floating, true, 11},
    {Dtype::bf16, "bf16", "BFloat16", "bfloat16", 16, floating, true, 8},
    {Dtype::f32, "f32", "Float", "float32", 32, floating, true, 24},
    {Dtype::f64, "f64", "Double", "float64", 64, floating, true, 53},
    {Dtype::c64, "c64", "ComplexFloat", "complex64", 64, complex, true, 24},
    {Dtype::c128, "c128", "ComplexDouble", "complex128", 128, complex, true, 53},
    {Dtype::f8e4m3, "f8e4m3", "Float8_e4m3fn", "float8_e4m3fn", 8, floating, true, 4},
    {Dtype::f8e5m2, "f8e5m2", "Float8_e5m2", "float8_e5m2", 8, floating, true, 3},
}};

// Rank inside the lattice of one category; i8 and u8, f16 and bf16 have no order between them.
Dtype promote_integers(Dtype a, Dtype b) {
  if ((a == Dtype::u8 && b == Dtype::i8) || (a == Dtype::i8 && b == Dtype::u8)) return Dtype::i16;
  return a > b ? a : b;
}

Dtype promote_floats(Dtype a, Dtype b) {
  if (is_reduced_float(a) && is_reduced_float(b)) return Dtype::f32;
  return a > b ? a : b;
}
}  // namespace

const DtypeInfo& info(Dtype dtype) { return kTable[static_cast<size_t>(dtype)]; }
std::string_view name(Dtype dtype) { return info(dtype).name; }

std::optional<Dtype> parse_dtype(std::string_view text) {
  for (const DtypeInfo& row : kTable)
    if (row.name == text || row.torch == text) return row.dtype;
  return std::nullopt;
}

Dtype to_real(Dtype d) { return d == Dtype::c64 ? Dtype::f32 : d == Dtype::c128 ? Dtype::f64 : d; }

Dtype to_complex(Dtype d) {
  if (is_complex(d)) return d;
  return d == Dtype::f64 ? Dtype::c128 : Dtype::c64;
}

std::optional<Dtype> promote(Dtype a, Dtype b) {
  if (a == b) return a;
  if (is_float8(a) || is_float8(b)) return std::nullopt;
  DtypeClass ca = info(a).category, cb = info(b).category;
  if (ca != cb) {
    Dtype high = ca > cb ? a : b, low = ca > cb ? b : a;
    if (high == Dtype::c64 && low == Dtype::f64) return Dtype::c128;
    return high;
  }
  switch (ca) {
    case boolean: return Dtype::b8;
    case integer: return promote_integers(a, b);
    case floating: return promote_floats(a, b);
    case complex: return Dtype::c128;
  }
  return std::nullopt;
}

}  // namespace lenz
