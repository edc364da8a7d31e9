// Indices that libtorch does not look at: where one is out of range it reads, or writes, what is nobody's, which gives
// another result each time and may kill anybody later.
// Thread-safety: free functions.
#pragma once

#include <ATen/core/ivalue.h>

#include <string>
#include <vector>

namespace lenz::oracle {

// While one lives, calls look at them: one that is out of range is Unsupported.
class TrustedIndices {
 public:
  TrustedIndices();
  ~TrustedIndices();
  TrustedIndices(const TrustedIndices&) = delete;
  TrustedIndices& operator=(const TrustedIndices&) = delete;

  static bool are_looked_at();

  // Whether one is wrong, of a call of such an op; null where libtorch looks itself.
  using Wrong = bool (*)(const std::vector<c10::IValue>& operands);
  static Wrong of(const std::string& packet);
};

}  // namespace lenz::oracle
