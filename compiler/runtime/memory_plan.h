// Where the buffers of a program lie: which temporaries share memory because they are never needed at one time, what
// the host provides. Sizes are expressions, so that one plan serves all of a program's sizes.
// Thread-safety: values.
#pragma once

#include <string>
#include <vector>

#include "compiler/loops/program.h"

namespace lenz::runtime {

struct Place {
  enum Kind : uint8_t {
    none,      // nobody needs it, or it is a kernel's own
    input,     // the caller's: `number` of the program's inputs
    constant,  // of the program
    arena,     // in slot `number`
    output,    // memory of the host's, which goes to the caller: storage `number`
    external,  // made by an extern, kept by the host
    view,      // at another buffer's place: `number`
    late,      // of a size that data decide: memory of its own, once that is known
  };
  Kind kind = none;
  uint32_t number = 0;
  Dim bytes = 0;                 // arena, output, late
  uint32_t first = 0, last = 0;  // nodes of the main block between which a temporary is needed
};

struct MemoryPlan {
  std::vector<Place> places;  // of each buffer
  // The arena: each slot as large as the largest buffer in it, rounded up to kAlignment, one behind another.
  std::vector<Dim> slots;
  Dim arena_bytes = 0;
  std::vector<loops::BufferId> outputs;  // of each output storage, the buffer that fills it
};

inline constexpr int64_t kAlignment = 64;

MemoryPlan plan_memory(const loops::Program& program);
std::string print(const MemoryPlan& plan, const loops::Program& program);

// The bytes of a buffer's storage.
Dim storage_bytes(const loops::Buffer& buffer);

}  // namespace lenz::runtime
