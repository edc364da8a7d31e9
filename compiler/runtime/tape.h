// A program as steps in the order in which they run, with what every run of them needs, found once.
// Thread-safety: constant once made.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "compiler/runtime/native_kernel.h"

namespace lenz::runtime {

struct Step {
  const loops::Node* node = nullptr;
  uint32_t number = 0;  // among all steps
  // A kernel:
  NativeKernel code;
  bool late = false;                    // it speaks of symbols that get their values while the program runs
  std::vector<loops::BufferId> stores;  // memory that it writes, no kernel's own
  uint32_t together = 1;  // kernels from this one on that run as one job (together.h); 0: in an earlier one
};

struct Tape {
  std::vector<Step> steps;
  std::vector<std::unique_ptr<Tape>> inner;  // of the control flow among the steps, in order
};

// `count` becomes the number of steps. Unsupported if a kernel has no code.
std::unique_ptr<Tape> make_tape(const loops::Program& program, const KernelCode& code, uint32_t& count);

// A name for people.
std::string step_name(const loops::Node& node);

}  // namespace lenz::runtime
