// How the floating-point unit of a thread rounds and treats subnormals: whoever works for a caller takes over his.
// Thread-safety: of this thread alone.
#pragma once

#include <cfenv>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace lenz::runtime {

// Made where it holds, entered where it shall hold.
struct FloatMode {
#if defined(__x86_64__)
  unsigned word = _mm_getcsr();
  void enter() const {
    if ((_mm_getcsr() ^ word) & ~kFlags) _mm_setcsr(word & ~kFlags);
  }
  static constexpr unsigned kFlags = 0x3F;  // what happened so far
#else
  int rounding = std::fegetround();
  void enter() const { std::fesetround(rounding); }
#endif
};

}  // namespace lenz::runtime
