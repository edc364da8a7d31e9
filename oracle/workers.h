// Numbered tasks in child processes: a task that kills its process, hangs in it or takes all of its memory is an answer
// like any other.
// Thread-safety: call from one thread of a process that has run nothing of libtorch yet (a child of a process that has
// used OpenMP hangs in its first parallel region).
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace lenz::oracle {

// Where a task is, written by the task into memory that outlives its process. `steps` must grow while it is alive.
struct Place {
  uint64_t steps = 0;
  uint32_t phase = 0, index = 0, stage = 0;
};

struct Death {
  int signal = 0;          // 0: it left by itself
  bool hung = false;       // nothing moved for as long as the limit says; we killed it
  bool no_memory = false;  // it reached its limit and said so
  Place place = {};
  std::string text() const;  // "SIGSEGV", "no answer", "out of memory"
};

struct WorkerLimits {
  int hang_seconds = 60;  // of a processor, or in which it takes none: what others do on the machine is no part of it
  uint64_t extra_memory = uint64_t{2} << 30;  // address space beyond what the process has at its start, half of it
                                              // for what earlier tasks left; 0: no limit
  bool fresh = false;                         // a process for each task: what one spoils, no other sees
};

struct WorkerCalls {
  std::function<std::string(size_t task, Place& place)> work;        // in a child
  std::function<void(size_t task, const std::string& result)> done;  // here
  std::function<bool(size_t task, const Death& death)> died;         // here; true: try once more, in a new child
  std::function<void(size_t finished)> tick;                         // here, a few times a second
};

// Runs tasks 0..count-1 in `jobs` children. Throws InternalError with the text of what `work` threw; std::bad_alloc is
// a death, for what a process without memory still holds nobody knows.
void run_in_workers(size_t count, int jobs, const WorkerLimits& limits, const WorkerCalls& calls);

}  // namespace lenz::oracle
