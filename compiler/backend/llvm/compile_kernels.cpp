#include "compiler/backend/llvm/compile_kernels.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <unordered_map>
#include <unordered_set>

#include "compiler/backend/llvm/ir.h"
#include "compiler/backend/llvm/kept_objects.h"
#include "compiler/backend/llvm/kernel_code.h"
#include "compiler/backend/llvm/kernel_key.h"
#include "compiler/backend/llvm/object_cache.h"
#include "compiler/backend/llvm/row_call.h"
#include "compiler/backend/llvm/shared_rows.h"
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

constexpr std::string_view kAnyName = "kernel";  // of a function, until its text says what it is called

struct Emitted {
  const Kernel* kernel;
  KernelArguments arguments;
  CodeModule module;
  std::string key = {};     // kernels with equal keys are one function
  std::string object = {};  // of the first one of these
};

std::string symbol_of(const Emitted& e) { return "kernel_" + e.key; }

// A compiler of one's own for a while. To make one takes as long as to compile a small kernel: those that nobody uses
// wait for the next, who may be another thread.
class Lease {
 public:
  Lease(const CpuTarget& target, bool quick) : key_(target.key() + (quick ? " quick" : "")) {
    {
      std::scoped_lock lock(mutex());
      auto& waiting = idle()[key_];
      if (!waiting.empty()) {
        compiler_ = std::move(waiting.back());
        waiting.pop_back();
      }
    }
    if (!compiler_) compiler_ = std::make_unique<Compiler>(target, CompilerOptions{.quick = quick});
  }
  ~Lease() {
    std::scoped_lock lock(mutex());
    idle()[key_].push_back(std::move(compiler_));
  }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  const Compiler& operator*() const { return *compiler_; }

 private:
  static std::mutex& mutex() {
    static std::mutex one;
    return one;
  }
  using Idle = std::map<std::string, std::vector<std::unique_ptr<Compiler>>>;  // by what they make
  static Idle& idle() {
    static Idle& all = *new Idle;  // for ever: at the end of the process, LLVM's own statics may go first
    return all;
  }
  std::string key_;
  std::unique_ptr<Compiler> compiler_;
};

// do(i, compiler) for all i, on several threads, each with a compiler of its own once it asks for one. The first thing
// that goes wrong is thrown.
template <class F>
void in_parallel(size_t count, const CpuTarget& target, const CompileOptions& options, F&& work_on) {
  std::atomic<size_t> next = 0;
  std::mutex mutex;
  std::exception_ptr failure;
  auto work = [&] {
    try {
      std::optional<Lease> compiler;
      auto own = [&]() -> const Compiler& { return compiler ? **compiler : *compiler.emplace(target, options.quick); };
      for (size_t i; (i = next++) < count;) work_on(i, own);
    } catch (...) {
      std::scoped_lock lock(mutex);
      if (!failure) failure = std::current_exception();
      next = count;
    }
  };
  std::vector<std::thread> others;
  for (size_t t = 1; t < std::min<size_t>(static_cast<size_t>(std::max(1, options.threads)), count); ++t)
    others.emplace_back(work);
  work();
  for (std::thread& t : others) t.join();
  if (failure) std::rethrow_exception(failure);
}

// Functions of all that was emitted, by key; those that are there already are not made again.
struct Function {
  KernelFunction* code = nullptr;
  bool cached = false;
};
using Functions = std::unordered_map<std::string, Function>;

void make_functions(std::vector<Emitted>& all, const CpuTarget& target, const CompileOptions& options,
                    const std::optional<ObjectCache>& cache, Jit& jit, Functions& functions,
                    CompileStatistics& statistics) {
  const std::string made_for = target.key() + (options.quick ? " quick" : "");
  in_parallel(all.size(), target, options,
              [&](size_t i, auto&&) { all[i].key = ObjectCache::key(all[i].module.content(), made_for); });
  std::vector<Emitted*> first;
  for (Emitted& e : all)
    if (functions.try_emplace(e.key).second) first.push_back(&e);
  std::vector<char> found(first.size());
  in_parallel(first.size(), target, options, [&](size_t i, auto&& compiler) {
    Emitted& e = *first[i];
    std::optional<std::string> object = options.kept ? options.kept->find(e.key) : std::nullopt;
    if (!object && cache) object = cache->find(e.key);
    if (object) {
      e.object = std::move(*object);
      found[i] = 1;
      return;
    }
    e.module.ir().module->getFunction(kAnyName)->setName(symbol_of(e));
    e.object = compiler().object(e.module);
    if (options.kept) options.kept->put(e.key, e.object);
    if (cache) cache->put(e.key, e.object);
  });
  for (size_t i = 0; i < first.size(); ++i) {
    jit.add_object(first[i]->object);
    KernelFunction* made = jit.function<KernelFunction>(symbol_of(*first[i]));
    LENZ_CHECK(made != nullptr, "a kernel was compiled and is not there");
    functions[first[i]->key] = {made, found[i] != 0};
    statistics.compiled += found[i] == 0;
  }
  size_t from_cache = 0;
  for (const Emitted& e : all) from_cache += functions.at(e.key).cached;
  statistics.from_cache += from_cache;
  statistics.repeated += all.size() - from_cache - static_cast<size_t>(std::ranges::count(found, 0));
}

}  // namespace

KernelCode compile_kernels(const Program& program, const CpuTarget& target, const CompileOptions& options,
                           CompileStatistics* statistics) {
  KernelCode code;
  CompileStatistics counted;
  auto jit = std::make_shared<Jit>();
  define_row_calls(*jit);
  std::optional<ObjectCache> cache;
  if (!options.cache.empty()) cache.emplace(options.cache);
  const Lease emitter(target, options.quick);  // says types' layout; emission makes sizes, which belong to one thread
  std::vector<Emitted> batch;
  Functions functions;
  std::unordered_set<std::string> shared;  // that were defined
  auto flush = [&] {
    for (Emitted& e : batch)
      for_each_shared_row(e.module, [&](const SharedRow& row) {
        if (const Jit::Symbol known{row.symbol, row.code}; shared.insert(known.first).second) jit->define({&known, 1});
      });
    make_functions(batch, target, options, cache, *jit, functions, counted);
    for (Emitted& e : batch)
      code.kernels.emplace(e.kernel, runtime::NativeKernel{std::move(e.arguments), functions.at(e.key).code});
    batch.clear();
  };
  struct Like {
    const Kernel *kernel, *first;
    KernelArguments arguments;
  };
  std::unordered_map<std::string, const Kernel*> first;  // of each key
  std::vector<Like> others;
  for_each_kernel(program, [&](const Kernel& kernel, const std::string&) {
    ++counted.kernels;
    KernelArguments takes = arguments_of(program, kernel);
    if (auto [known, fresh] = first.try_emplace(kernel_key(program, kernel, takes), &kernel); !fresh) {
      others.push_back({&kernel, known->second, std::move(takes)});
      return;
    }
    try {
      CodeModule module(kAnyName);
      KernelArguments arguments = emit_kernel(module, *emitter, program, kernel, kAnyName);
      batch.push_back({&kernel, std::move(arguments), std::move(module)});
    } catch (const Unsupported& why) {
      code.refused.push_back(kernel.name + ": " + why.what());
    }
    if (batch.size() == kBatch) flush();
  });
  flush();
  std::unordered_set<KernelFunction*> cached;
  for (const auto& [key, function] : functions)
    if (function.cached) cached.insert(function.code);
  for (Like& other : others) {
    auto found = code.kernels.find(other.first);
    if (found == code.kernels.end()) {
      code.refused.push_back(other.kernel->name + ": it is like " + other.first->name);
      continue;
    }
    KernelFunction* function = found->second.function;
    code.kernels.emplace(other.kernel, runtime::NativeKernel{std::move(other.arguments), function});
    ++(cached.contains(function) ? counted.from_cache : counted.repeated);
  }
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
