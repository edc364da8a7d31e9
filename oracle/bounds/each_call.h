// The calls that a row over lists (`_foreach_*`) stands for, one for each element. Internal to oracle/bounds.
// Thread-safety: belongs to one thread.
#pragma once

#include <optional>

#include "oracle/bounds/call.h"
#include "oracle/bounds/planes.h"

namespace lenz::oracle {

size_t elements_of_lists(const Call& call);  // how many

struct ElementCall {
  Call call;
  bool open = false;               // a number among its arguments may be another, and nothing follows what that does
  std::optional<Outcome> refused;  // eager raises instead
};
// The k-th. A number that stands in a tensor is one, if it is certain; else it is that tensor, of the type of a number,
// and has the tensor's error.
ElementCall element_call(const Call& call, size_t k, PlaneStore& store);

}  // namespace lenz::oracle
