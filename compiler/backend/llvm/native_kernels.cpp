#include "compiler/backend/llvm/native_kernels.h"

#include <algorithm>
#include <thread>

#include "compiler/base/error.h"

namespace lenz::native {

using loops::BufferId;
using loops::Program;

NativeKernels::NativeKernels(const Program& program, const CpuTarget& target, int threads, bool quick)
    : program_(program), threads_(std::max(1, threads)), code_(compile_kernels(program, target, {.quick = quick})) {}

bool NativeKernels::run(const loops::KernelCall& call) {
  auto found = code_.kernels.find(&call.kernel);
  if (found == code_.kernels.end()) return false;
  const runtime::KernelArguments& takes = found->second.arguments;
  std::vector<int64_t> symbols;
  for (Dim s : takes.symbols) symbols.push_back(call.integer(s));
  std::vector<uint64_t> streams;
  for (uint32_t s : takes.streams) {
    const RandomStream stream = call.stream(s);
    streams.push_back(stream.seed);
    streams.push_back(stream.offset);
  }
  int64_t points = 1;
  for (const loops::Axis& a : call.kernel.axes) points *= call.integer(a.extent);
  std::vector<void*> shared;
  std::vector<loops::Tensor> kept;
  std::vector<std::pair<size_t, size_t>> locals;  // which argument, how many bytes
  for (size_t i = 0; i < takes.buffers.size(); ++i) {
    const BufferId id = takes.buffers[i];
    const loops::Buffer& b = program_.buffers[id];
    if (!b.local) {
      kept.push_back(call.tensor(id));
      auto* first = static_cast<std::byte*>(kept.back().element(kept.back().numel() == 0 ? 0 : kept.back().offset()));
      shared.push_back(first + takes.skipped[i] * item_size(b.type.dtype));
      continue;
    }
    int64_t elements = 1;
    for (Dim d : b.type.sizes) elements *= call.integer(d);
    locals.emplace_back(shared.size(), static_cast<size_t>(elements * item_size(loops::kept_as(b))));
    shared.push_back(nullptr);
  }
  const int64_t threads = std::clamp<int64_t>(threads_, 1, std::max<int64_t>(points, 1));
  std::vector<int32_t> status(static_cast<size_t>(threads), 0);
  auto part = [&](int64_t number) {
    std::vector<void*> buffers = shared;
    std::vector<std::vector<std::max_align_t>> memory;
    for (auto [at, bytes] : locals) buffers[at] = memory.emplace_back(bytes / sizeof(std::max_align_t) + 1).data();
    status[static_cast<size_t>(number)] = found->second.function(
        buffers.data(), symbols.data(), streams.data(), points * number / threads, points * (number + 1) / threads);
  };
  std::vector<std::thread> others;
  for (int64_t t = 1; t < threads; ++t) others.emplace_back(part, t);
  part(0);
  for (std::thread& t : others) t.join();
  for (int32_t s : status) runtime::raise_for(s, call.kernel.name);
  return true;
}

}  // namespace lenz::native
