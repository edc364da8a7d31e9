// What is agreed between those who make code of kernels and those who call it.
// Thread-safety: values.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "compiler/loops/program.h"

namespace lenz::runtime {

// What a kernel's function takes, in this order.
struct KernelArguments {
  std::vector<loops::BufferId> buffers;  // pointers to the first element; local ones with dims: memory for one point
  std::vector<int64_t> skipped;          // elements between a buffer's first one and where its pointer points
  std::vector<Dim> symbols;              // values of symbols, and of some expressions
  std::vector<uint32_t> streams;         // seed and offset of each
};

enum class KernelStatus : int32_t {
  finished = 0,
  division_by_zero = 1,
  index_out_of_range = 2,
};
// Throws what the status stands for; nothing if it finished.
void raise_for(int32_t status, const std::string& kernel);

// Runs the points begin <= p < end of the kernel's axes, the last axis fastest. Every point runs but for an error.
using KernelFunction = int32_t(void* const* buffers, const int64_t* symbols, const uint64_t* streams, int64_t begin,
                               int64_t end);

struct NativeKernel {
  KernelArguments arguments;
  KernelFunction* function = nullptr;
};

// Code for the kernels of one program; `owner` keeps it in memory. What has no code is not there, and runs on the
// interpreter.
struct KernelCode {
  std::unordered_map<const loops::Kernel*, NativeKernel> kernels;
  std::shared_ptr<const void> owner;
  std::vector<std::string> refused;  // why a kernel has no code
};

}  // namespace lenz::runtime
