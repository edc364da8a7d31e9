// Planes as arrays of numbers, for rules that take elements one by one: one pass where operators on tensors would take
// many, each with a tensor of its own.
// Internal to oracle/bounds; includes libtorch. Thread-safety: values.
#pragma once

#include <ATen/Functions.h>

#include "oracle/bounds/planes.h"

namespace lenz::oracle {

// A plane's numbers in logical order; of an undefined one zeros.
class Numbers {
 public:
  explicit Numbers(const at::Tensor& plane, const at::Tensor& like)
      : laid_(plane.defined() ? in_order(plane.to(at::kDouble).expand(like.sizes())) : at::Tensor()),
        at_(laid_.defined() ? laid_.const_data_ptr<double>() : nullptr) {}
  double operator[](int64_t i) const { return at_ ? at_[i] : 0; }

 private:
  at::Tensor laid_;
  const double* at_;
};

// Room for the numbers of a new plane.
inline at::Tensor plane_like(const at::Tensor& t) { return at::empty(t.sizes(), at::kDouble); }
inline double* numbers_of(const at::Tensor& plane) { return plane.mutable_data_ptr<double>(); }

}  // namespace lenz::oracle
