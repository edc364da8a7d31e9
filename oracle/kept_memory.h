// Large memory that libtorch allocates while it works for a compiled program is kept for the next call. What the system
// gives afresh it has to clear, page by page: that takes longer than many an op.
//
// Results that go to the caller come from there too, and come back when the caller lets go of them, whenever and on
// whichever thread that is. Kept are blocks of kFreshBytes and more, never more bytes than were in use at one time;
// the system may take their pages when it runs short, but for the last 256 MiB. What is smaller, and what libtorch's
// libraries take beside it, the C library keeps. Allocations outside of programs are libtorch's own, as ever.
// Thread-safety: any thread.
#pragma once

#include <cstdint>

namespace lenz::oracle {

// While one lives, what this thread allocates by libtorch is kept.
class KeepMemory {
 public:
  KeepMemory();
  ~KeepMemory();
  KeepMemory(const KeepMemory&) = delete;
  KeepMemory& operator=(const KeepMemory&) = delete;
};

// From now on all of this process that libtorch allocates in small pieces comes from memory that is kept for such, 64
// MiB at most: for who runs small graphs, which spend a twelfth of their time on having it from the C library.
void keep_small_blocks();

struct KeptBytes {
  uint64_t in_use = 0, free = 0, most_in_use = 0;
  uint64_t small_in_use = 0;  // by keep_small_blocks
};
KeptBytes kept_bytes();

}  // namespace lenz::oracle
