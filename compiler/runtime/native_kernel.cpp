#include "compiler/runtime/native_kernel.h"

#include "compiler/base/error.h"

namespace lenz::runtime {

void raise_for(int32_t status, const std::string& kernel) {
  switch (static_cast<KernelStatus>(status)) {
    case KernelStatus::finished: return;
    case KernelStatus::division_by_zero: throw UserError("division of an integer by zero", "kernel '" + kernel + "'");
    case KernelStatus::index_out_of_range: throw UserError("an index is out of range", "kernel '" + kernel + "'");
  }
  internal_error("a kernel ended in an unknown way", __FILE__, __LINE__);
}

}  // namespace lenz::runtime
