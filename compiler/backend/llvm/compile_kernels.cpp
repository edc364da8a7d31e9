#include "compiler/backend/llvm/compile_kernels.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>

#include "compiler/backend/llvm/kernel_code.h"
#include "compiler/backend/llvm/object_cache.h"
#include "compiler/base/error.h"

namespace lenz::native {

using loops::Kernel;
using loops::Program;
using runtime::KernelCode;

namespace {

constexpr size_t kBatch = 256;  // modules that exist at one time

template <class F>
void for_each_kernel(const Program& program, F&& visit) {
  size_t number = 0;
  loops::for_each_node(program.body, [&](const loops::Node& node) {
    if (const auto* kernel = std::get_if<Kernel>(&node.is)) visit(*kernel, "kernel_" + std::to_string(number++));
  });
}

struct Emitted {
  const Kernel* kernel;
  std::string symbol;
  KernelArguments arguments;
  CodeModule module;
  std::string object;
};

// Objects of modules, each thread with a compiler of its own. The first thing that goes wrong is thrown.
void make_objects(std::vector<Emitted>& all, const CpuTarget& target, const CompileOptions& options,
                  const std::optional<ObjectCache>& cache, CompileStatistics& statistics) {
  std::atomic<size_t> next = 0, found = 0;
  std::mutex mutex;
  std::exception_ptr failure;
  auto work = [&] {
    try {
      std::optional<Compiler> compiler;
      for (size_t i; (i = next++) < all.size();) {
        std::string key;
        if (cache) {
          key = ObjectCache::key(all[i].module.text(), target.key());
          if (std::optional<std::string> object = cache->find(key)) {
            all[i].object = std::move(*object);
            ++found;
            continue;
          }
        }
        if (!compiler) compiler.emplace(target);
        all[i].object = compiler->object(all[i].module);
        if (cache) cache->put(key, all[i].object);
      }
    } catch (...) {
      std::scoped_lock lock(mutex);
      if (!failure) failure = std::current_exception();
      next = all.size();
    }
  };
  std::vector<std::thread> others;
  const size_t threads = std::min<size_t>(static_cast<size_t>(std::max(1, options.threads)), all.size());
  for (size_t t = 1; t < threads; ++t) others.emplace_back(work);
  work();
  for (std::thread& t : others) t.join();
  if (failure) std::rethrow_exception(failure);
  statistics.from_cache += found;
  statistics.compiled += all.size() - found;
}

}  // namespace

KernelCode compile_kernels(const Program& program, const CpuTarget& target, const CompileOptions& options,
                           CompileStatistics* statistics) {
  KernelCode code;
  CompileStatistics counted;
  auto jit = std::make_shared<Jit>();
  std::optional<ObjectCache> cache;
  if (!options.cache.empty()) cache.emplace(options.cache);
  const Compiler emitter(target);  // says types' layout; emission makes sizes, which belong to one thread
  std::vector<Emitted> batch;
  auto flush = [&] {
    make_objects(batch, target, options, cache, counted);
    for (Emitted& e : batch) {
      jit->add_object(e.object);
      runtime::NativeKernel made{std::move(e.arguments), jit->function<KernelFunction>(e.symbol)};
      LENZ_CHECK(made.function != nullptr, "a kernel was compiled and is not there");
      code.kernels.emplace(e.kernel, std::move(made));
    }
    batch.clear();
  };
  for_each_kernel(program, [&](const Kernel& kernel, const std::string& symbol) {
    ++counted.kernels;
    try {
      CodeModule module(symbol);
      KernelArguments arguments = emit_kernel(module, emitter, program, kernel, symbol);
      batch.push_back({&kernel, symbol, std::move(arguments), std::move(module), {}});
    } catch (const Unsupported& why) {
      code.refused.push_back(kernel.name + ": " + why.what());
    }
    if (batch.size() == kBatch) flush();
  });
  flush();
  code.owner = std::move(jit);
  if (statistics) *statistics = counted;
  return code;
}

std::string kernels_as_text(const Program& program, const CpuTarget& target, bool assembly) {
  const Compiler compiler(target);
  std::string out;
  for_each_kernel(program, [&](const Kernel& kernel, const std::string& symbol) {
    out += (assembly ? "# " : "; ") + symbol + ": " + kernel.name + "\n";
    try {
      CodeModule module(symbol);
      emit_kernel(module, compiler, program, kernel, symbol);
      if (assembly) {
        out += compiler.assembly(module);
      } else {
        compiler.optimise(module);
        out += module.text();
      }
    } catch (const Unsupported& why) {
      out += (assembly ? "# " : "; ") + std::string("no code: ") + why.what() + "\n";
    }
  });
  return out;
}

}  // namespace lenz::native
