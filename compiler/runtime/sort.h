// The sort node in native code: lines along one dim, always stable, NaN greater than everything; or the first few in
// order, or those at some places of the order. Thread-safety: pure functions.
#pragma once

#include <memory>
#include <span>
#include <utility>

#include "compiler/loops/tensor.h"
#include "compiler/runtime/thread_pool.h"

namespace lenz::runtime {

// What workers sort in, kept for the next sort: whoever asks for such memory anew has its pages cleared each time. Of
// one sort at a time.
class SortRooms {
 public:
  SortRooms();
  ~SortRooms();
  struct Rooms;
  Rooms& rooms() { return *rooms_; }

 private:
  std::unique_ptr<Rooms> rooms_;
};

// `values` and `indices` may be absent, and shorter than keys. Values lie beside keys, not on them. With places, which
// are inside the lines, results have one element for each.
void sort_lines(const loops::Tensor& keys, loops::Tensor values, loops::Tensor indices, uint32_t dim, bool descending,
                Pool& pool, std::span<const int64_t> places, SortRooms& rooms);
inline void sort_lines(const loops::Tensor& keys, loops::Tensor values, loops::Tensor indices, uint32_t dim,
                       bool descending, Pool& pool, std::span<const int64_t> places = {}) {
  SortRooms rooms;
  sort_lines(keys, std::move(values), std::move(indices), dim, descending, pool, places, rooms);
}

}  // namespace lenz::runtime
