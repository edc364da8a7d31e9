// Elements of results and of the planes beside them, one by one.
// Internal to the oracle. Thread-safety: pure functions.
#pragma once

#include <cmath>
#include <cstring>
#include <vector>

#include "oracle/tensors.h"
#include "oracle/value.h"

namespace lenz::oracle {

// The elements of a plane, in logical order.
class PlaneElements {
 public:
  explicit PlaneElements(const RunValue& plane) : present_(plane != nullptr) {
    if (present_) bytes_ = elements_of(plane);
  }
  bool present() const { return present_; }
  ScalarValue scalar(Dtype dtype, uint64_t i) const { return scalar_at(dtype, bytes_, i); }
  template <class T>
  T at(uint64_t i) const {
    T value;
    std::memcpy(&value, bytes_.data() + i * sizeof(T), sizeof(T));
    return value;
  }

 private:
  bool present_;
  std::vector<std::byte> bytes_;
};

inline double part(const ScalarValue& v, bool imaginary) {
  if (v.kind() == ScalarKind::complex) return imaginary ? v.complex().imag() : v.complex().real();
  return v.kind() == ScalarKind::integer ? static_cast<double>(v.integer()) : v.real();
}

inline double magnitude(const ScalarValue& v) {
  return v.kind() == ScalarKind::complex ? std::hypot(part(v, false), part(v, true)) : std::fabs(part(v, false));
}

inline uint64_t count_of(const Seen& tensor) {
  uint64_t count = 1;
  for (int64_t s : tensor.sizes) count *= static_cast<uint64_t>(s);
  return count;
}

}  // namespace lenz::oracle
