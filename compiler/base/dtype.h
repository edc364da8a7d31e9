// Element types: a closed set, one table row each, and PyTorch's promotion lattice over them.
// Thread-safety: pure functions over constant tables.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace lenz {

enum class Dtype : uint8_t { b8, u8, i8, i16, i32, i64, f16, bf16, f32, f64, c64, c128, f8e4m3, f8e5m2 };
inline constexpr int kDtypeCount = 14;

// In promotion order: a higher category wins.
enum class DtypeClass : uint8_t { boolean, integer, floating, complex };

struct DtypeInfo {
  Dtype dtype;
  std::string_view name;   // the text form: "f32"
  std::string_view aten;   // c10::ScalarType's name: "Float"
  std::string_view torch;  // Python's name without "torch.": "float32"
  int bits;                // of one element in storage
  DtypeClass category;
  bool is_signed;
  int mantissa_bits;  // significand bits incl. the implicit one; 0 for integers; a component's for complex
};

const DtypeInfo& info(Dtype dtype);
std::string_view name(Dtype dtype);
std::optional<Dtype> parse_dtype(std::string_view text);  // accepts the text form and Python's name

inline int item_size(Dtype dtype) { return info(dtype).bits / 8; }
inline bool is_complex(Dtype d) { return info(d).category == DtypeClass::complex; }
inline bool is_floating(Dtype d) { return info(d).category == DtypeClass::floating; }
inline bool is_inexact(Dtype d) { return is_floating(d) || is_complex(d); }
inline bool is_integral(Dtype d, bool include_bool) {
  return info(d).category == DtypeClass::integer || (include_bool && d == Dtype::b8);
}
inline bool is_float8(Dtype d) { return d == Dtype::f8e4m3 || d == Dtype::f8e5m2; }
inline bool is_reduced_float(Dtype d) { return d == Dtype::f16 || d == Dtype::bf16; }

Dtype to_real(Dtype complex_dtype);  // c64 -> f32; the identity on real ones
Dtype to_complex(Dtype real_dtype);  // f32 -> c64, f64 -> c128, others -> c64

// PyTorch's promote_types. No value for a mix with float8 (eager raises).
std::optional<Dtype> promote(Dtype a, Dtype b);

// A set of dtypes as a bit mask: what a row supports.
struct DtypeSet {
  uint32_t bits = 0;
  constexpr DtypeSet() = default;
  constexpr explicit DtypeSet(uint32_t b) : bits(b) {}
  template <class... D>
  static constexpr DtypeSet of(D... d) {
    return DtypeSet(((1u << static_cast<int>(d)) | ... | 0u));
  }
  constexpr bool has(Dtype d) const { return (bits >> static_cast<int>(d)) & 1u; }
  constexpr bool empty() const { return bits == 0; }
  constexpr DtypeSet operator|(DtypeSet o) const { return DtypeSet(bits | o.bits); }
  constexpr DtypeSet operator&(DtypeSet o) const { return DtypeSet(bits & o.bits); }
  constexpr DtypeSet operator-(DtypeSet o) const { return DtypeSet(bits & ~o.bits); }
  constexpr bool operator==(const DtypeSet&) const = default;
};

namespace dtypes {
inline constexpr DtypeSet boolean = DtypeSet::of(Dtype::b8);
inline constexpr DtypeSet integers = DtypeSet::of(Dtype::u8, Dtype::i8, Dtype::i16, Dtype::i32, Dtype::i64);
inline constexpr DtypeSet wide_floats = DtypeSet::of(Dtype::f32, Dtype::f64);
inline constexpr DtypeSet half = DtypeSet::of(Dtype::f16);
inline constexpr DtypeSet bfloat = DtypeSet::of(Dtype::bf16);
inline constexpr DtypeSet floats = wide_floats | half | bfloat;
inline constexpr DtypeSet complexes = DtypeSet::of(Dtype::c64, Dtype::c128);
inline constexpr DtypeSet float8 = DtypeSet::of(Dtype::f8e4m3, Dtype::f8e5m2);
inline constexpr DtypeSet real = integers | floats;  // no bool, no complex, no float8
inline constexpr DtypeSet real_and_bool = real | boolean;
inline constexpr DtypeSet numbers = real | complexes;  // no bool, no float8
inline constexpr DtypeSet usual = numbers | boolean;   // all but float8
inline constexpr DtypeSet all = usual | float8;
}  // namespace dtypes

}  // namespace lenz
