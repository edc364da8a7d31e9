// What one call at a time of certain sizes needs: values of symbols, memory, kernels cut into chunks. For
// executable.cpp only. Thread-safety: one call at a time.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "compiler/loops/symbols.h"
#include "compiler/loops/uses.h"
#include "compiler/runtime/executable.h"
#include "compiler/runtime/sort.h"
#include "compiler/runtime/tape.h"

namespace lenz::runtime {

// What all frames of an executable share.
struct Shared {
  loops::Program program;
  KernelCode code;
  ExecutableOptions options;
  MemoryPlan plan;
  std::unique_ptr<Tape> tape;
  uint32_t steps = 0;
  loops::SymbolSet early;
  bool shares_inputs = false;            // some input is written, or of an alias class: pointers have to be looked at
  std::vector<loops::Tensor> constants;  // by buffer
  std::vector<std::vector<loops::BufferId>> views;  // by owner
  std::vector<std::vector<loops::BufferId>> dying;  // by step of the main block: results of externs, needed no more
  // Of profiled calls.
  std::atomic<bool> profiling = false;
  std::mutex times_mutex;
  std::vector<StepTime> times;

  loops::BufferId owner(loops::BufferId id) const {
    const loops::Buffer& b = program.buffers[id];
    return b.view_of == kNone ? id : b.view_of;
  }
};

// Memory at a multiple of a cache line.
class AlignedMemory {
 public:
  AlignedMemory() = default;
  explicit AlignedMemory(uint64_t bytes);  // std::bad_alloc
  std::byte* data() const { return data_.get(); }
  uint64_t bytes() const { return bytes_; }

 private:
  struct Free {
    void operator()(std::byte* p) const;
  };
  std::unique_ptr<std::byte, Free> data_;
  uint64_t bytes_ = 0;
};

class Frame {
 public:
  // For arguments of these sizes: UserError for those that the program does not take.
  Frame(Shared& shared, std::span<const Argument> arguments);

  bool fits(std::span<const Argument> arguments) const;
  void run(std::span<const Argument> arguments, Host& host, const RandomStream& ambient);
  const std::vector<Result>& outputs() const { return outputs_; }
  // Lets go of what a call left.
  void clear();

 private:
  struct KernelRun {
    std::vector<int64_t> symbols;
    std::vector<uint64_t> streams;
    std::vector<void*> pointers;
    std::vector<int64_t> skipped;                       // bytes of each
    std::vector<std::pair<uint32_t, uint64_t>> locals;  // argument, place in a worker's scratch
    uint64_t scratch = 0;
    int64_t points = 0, chunks = 0;
    double nanoseconds = 0;
  };
  struct Piece {  // of a job of several kernels
    const Step* step;
    int64_t chunk;
  };
  struct Late {  // memory of a buffer whose size was not known
    AlignedMemory memory;
    uint64_t bytes = 0;
  };

  // --- once
  void remember(std::span<const Argument> arguments);
  void lay_out();
  void prepare(const Step& step);
  void prepare_all(const Tape& tape);
  void deal(std::span<const Step> together);
  int64_t value(Dim d) const { return symbols_.value(d); }
  uint64_t bytes_of(loops::BufferId id) const;
  uint64_t early_bytes_of(loops::BufferId id) const;
  void look_at_numbers(const loops::Nest& nest) const;
  double points_of(const loops::Nest& nest) const;
  double nanoseconds_of(const loops::Nest& nest) const;
  void measure(const Step& step, StepTime& time) const;
  int64_t count_of(Dim extent) const;

  // --- each call
  void take(std::span<const Argument> arguments, Host& host);
  void check_sharing(std::span<const Argument> arguments);
  void point_at(loops::BufferId owner, std::byte* storage);
  void run(const Tape& tape);
  void run_timed(const Step& step, const Tape& tape, size_t& inner);
  void run(const Step& step, const Tape& tape, size_t& inner);
  void run_kernel(const Step& step);
  void run_together(std::span<const Step> together);
  void get_ready(const Step& step);
  int32_t run_chunk(const Step& step, int64_t chunk, int worker) const;
  void run_extern(const loops::Extern& node);
  void room_for(loops::BufferId id);
  loops::Tensor tensor(loops::BufferId id);
  bool truth(loops::BufferId id) const;
  Result shown(const loops::Output& output);

  Shared& s_;
  loops::Symbols symbols_;
  size_t early_symbols_ = 0;                     // the mark behind those that the arguments tell
  std::vector<int64_t> key_;                     // what the arguments look like
  std::vector<std::byte*> storages_;             // start of an owner's storage, by buffer
  std::vector<std::byte*> first_;                // first element, by buffer
  std::vector<int64_t> offsets_;                 // of it, in bytes
  std::vector<uint64_t> bytes_;                  // of an owner's storage
  std::vector<KernelRun> kernels_;               // by number of the step
  std::map<uint32_t, std::vector<Piece>> jobs_;  // of kernels that run together, by number of the first one's step
  std::vector<Late> late_;                       // by buffer; empty if there are none
  std::vector<bool> given_;                      // by buffer: outputs that got their memory during this call
  std::vector<loops::Tensor> kept_;              // results of externs, by buffer
  std::vector<double> numbers_;                  // arguments that are numbers, by input
  std::vector<Result> outputs_;
  std::vector<std::pair<const std::byte*, uint32_t>> sharing_;
  AlignedMemory arena_, scratch_;
  SortRooms sorting_;
  uint64_t scratch_of_worker_ = 0;
  // Of the arena and of outputs whose sizes are known early; of what got memory later; of outputs that did, this call.
  uint64_t laid_out_bytes_ = 0, late_bytes_ = 0, late_output_bytes_ = 0;
  Host* host_ = nullptr;
  RandomStream ambient_;
};

}  // namespace lenz::runtime
