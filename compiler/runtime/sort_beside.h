// Short lines, as many sorted at once as a few registers have lanes: no comparison decides a branch, and a line of
// seven takes no longer than its share of vectors. Thread-safety: pure functions.
#pragma once

#include <span>

#include "compiler/loops/tensor.h"
#include "compiler/runtime/thread_pool.h"

namespace lenz::runtime {

// As sort_lines, whose rules for equal ones and results these are: true if it has done it, false where lines are too
// long, too few or of a dtype that is not for this. `count`: of the first ones in order that are wanted.
bool sort_beside(const loops::Tensor& keys, const loops::Tensor& values, const loops::Tensor& indices, uint32_t dim,
                 bool descending, Pool& pool, std::span<const int64_t> places, int64_t count);

}  // namespace lenz::runtime
