// The processors that code is made for, by name. A CpuTarget is a value: everything that code generation may depend on
// stands in it, so that equal targets make equal code.
// Thread-safety: pure functions; targets() asks the machine, once.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lenz::native {

struct CpuTarget {
  std::string name{};      // "avx512", "avx2", "generic", "aarch64"
  std::string triple{};    // as LLVM writes it
  std::string cpu{};       // LLVM's processor model
  std::string features{};  // and what is switched on or off beside it: "+fma,-prefer-256-bit"
  int vector_bytes = 16;
  bool fma = false;                 // fused multiply and add is an instruction
  bool avx512 = false;              // F, BW, DQ, VL, CD
  bool f16 = false;                 // conversion between f32 and f16 is an instruction
  bool bf16 = false;                // so is rounding to bf16, of numbers that are not subnormal
  bool stores_past_caches = false;  // and has a fence for them
  bool permute_bytes = false;       // so is any choice of a vector's bytes (VBMI)
  bool funnel_shifts = false;       // so is a shift of two vectors' bits (VBMI2), on other units than that of one
  bool masks_as_words = false;      // whether a mask has a lane is told sooner of it in a general register
  bool follows_squares = false;     // of many rows at once it finds the lines that come next by itself
  bool runs_here = false;

  // Eight words are permuted by as many indices (AVX2).
  bool permutes_words() const { return fma && vector_bytes >= 32; }
  bool gathers_words() const { return fma && vector_bytes == 32; }  // of lanes that a vector of as many words tells
  int lanes(int bytes) const { return vector_bytes / bytes; }       // of elements of so many bytes
  // Equal keys: equal code.
  std::string key() const {
    return triple + " " + cpu + " " + features + (masks_as_words ? " words" : "") + (follows_squares ? " squares" : "");
  }
};

// Every target, the widest first.
const std::vector<CpuTarget>& targets();
// One of them, whether or not it runs here. Throws UserError for a name that is none.
CpuTarget find_target(std::string_view name);
// That one; empty: the best that this machine runs. Throws UserError, which says what the machine has, where it can't
// run it.
CpuTarget runnable_target(std::string_view name = {});
// With all that processors of that name may have besides, whatever this one has: for code that is looked at, not run.
CpuTarget whole_target(std::string_view name);
// As targets() would be on that x86-64 processor of LLVM's ("znver3"): which of them run there.
std::vector<CpuTarget> targets_of(std::string_view x86);

}  // namespace lenz::native
