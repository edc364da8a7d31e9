#include "compiler/schedule/addresses.h"

namespace lenz::schedule {

Dim address_of(const loops::Program& program, loops::BufferId id, const DimVec& index) {
  const TensorType& type = program.buffers[id].type;
  Dim at = program.buffers[id].placed ? type.offset : Dim(0), stride = 1;
  for (size_t d = index.size(); d-- > 0;) {
    at += index[d] * (program.buffers[id].placed ? type.strides[d] : stride);
    stride = stride * type.sizes[d];
  }
  return at;
}

}  // namespace lenz::schedule
