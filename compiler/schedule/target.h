// The machine that a plan is for. Decisions depend on this value alone, so that a plan is the same wherever it is made.
// Thread-safety: values.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "compiler/base/dtype.h"

namespace lenz::schedule {

struct Target {
  std::string name = "avx512";
  uint32_t vector_bytes = 64;
  uint32_t cores = 1;
  int64_t grain = 1;  // tiles and parts are so many times smaller than is good: then few elements reach their ends

  friend bool operator==(const Target&, const Target&) = default;

  // Of f32, the lanes that scalar code computes in: narrower dtypes are widened to it.
  uint32_t lanes(int64_t item_bytes) const {
    return vector_bytes / static_cast<uint32_t>(item_bytes < 4 ? 4 : item_bytes);
  }
  uint32_t registers() const { return vector_bytes >= 64 ? 32 : 16; }  // of vectors
  // What moves between a store and the next read of the place when caches have lost it. Of a last-level cache that
  // others use too nobody knows his share: this is what two cores of a server were measured to keep, where stores past
  // the caches begin to win even if somebody reads the results next.
  int64_t far_bytes() const { return std::max<int64_t>(1, (int64_t{20} << 20) * cores / (grain * grain)); }
  int64_t grained(int64_t size) const { return std::max<int64_t>(2, size / grain); }
};

// avx512, avx2, generic. UserError for another name.
Target cpu_target(const std::string& name, uint32_t cores);

}  // namespace lenz::schedule
