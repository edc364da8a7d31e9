// The buffers of a running program in memory. For interpret.cpp and nest_machine.cpp only. Thread-safety: one per run.
#pragma once

#include <optional>
#include <vector>

#include "compiler/loops/interpret.h"
#include "compiler/loops/symbols.h"

namespace lenz::loops {

// Says of each element of a storage which nest's run wrote it last.
using Stamps = std::vector<uint32_t>;
inline constexpr uint32_t kUnwritten = 0, kWrittenBefore = 1;  // runs count from 2

// A buffer's elements, for those who access it now.
struct Window {
  Tensor tensor;
  Stamps* stamps = nullptr;  // empty: all were written before

  bool written(int64_t address) const {
    return stamps->empty() || (*stamps)[static_cast<size_t>(address)] != kUnwritten;
  }
  uint32_t& stamp(int64_t address) const { return (*stamps)[static_cast<size_t>(address)]; }
};

class Memory {
 public:
  Memory(const Program& program, const Symbols& symbols, const InterpretOptions& options);

  const Buffer& buffer(BufferId id) const { return program_.buffers[id]; }
  Window readable(BufferId id);  // a temporary is allocated if nobody did
  Window writable(BufferId id);  // and again when its sizes have changed; stamped
  void put(BufferId id, Tensor tensor);
  void trust(BufferId id);   // that all of it has been written
  void forget(BufferId id);  // what a temporary holds; it stays allocated
  // The only element of a 0-dim buffer.
  ScalarValue scalar(BufferId id);
  void release(BufferId id);  // a temporary that nobody needs any more
  // As a tensor that was written, for those who read all of it.
  Tensor whole(BufferId id, std::string_view reader);

 private:
  struct Place {  // of a buffer that is no view
    Tensor tensor;
    Stamps stamps;
    uint64_t bytes = 0;  // that count against the limit
  };

  void allocate(BufferId id, const Ints& sizes);
  void load_constant(BufferId id, const Ints& sizes);
  Ints numbers(std::span<const Dim> dims) const;
  Window window(BufferId id, Place& place) const;
  BufferId owner(BufferId id) const { return buffer(id).view_of == kNone ? id : buffer(id).view_of; }

  const Program& program_;
  const Symbols& symbols_;
  const InterpretOptions& options_;
  std::vector<Place> places_;
  uint64_t bytes_ = 0;  // of temporaries
};

struct OutOfMemory {
  std::string text;
};

// Runs one nest; `run` counts runs from 2 on, for stamps.
void run_nest(const Nest& nest, const Program& program, Memory& memory, Symbols& symbols, const RandomStream& ambient,
              uint32_t run, Counters& counters);

}  // namespace lenz::loops
