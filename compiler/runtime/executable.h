// A program ready to be called. What does not depend on sizes is made once; what sizes decide (values of symbols,
// places in the arena, how kernels are cut into chunks) is a frame, kept for the next call of these sizes; a call fills
// in pointers and runs.
//
//   Executable run(std::move(program), code, options);
//   Executable::Call call = run.call(arguments, host);   // throws what the program raises
//   call.outputs();
//
// Thread-safety: call() from any number of threads at one time; calls share the pool, not memory.
#pragma once

#include <functional>
#include <memory>
#include <variant>

#include "compiler/base/error.h"
#include "compiler/runtime/host.h"
#include "compiler/runtime/memory_plan.h"
#include "compiler/runtime/native_kernel.h"
#include "compiler/runtime/thread_pool.h"
#include "compiler/scalar/random_stream.h"

namespace lenz::runtime {

// Nothing for an absent input, a tensor, or a number.
using Argument = std::variant<std::monostate, TensorRef, int64_t, double, bool>;

struct ExecutableOptions {
  std::shared_ptr<Pool> pool;          // null: one of usable_threads()
  uint64_t memory_limit = UINT64_MAX;  // bytes of temporaries and outputs; more is std::bad_alloc
  uint64_t while_limit = 1'000'000;    // rounds of one While
  double grain = 1;                    // kernels are cut for threads as if they took so many times longer
  std::function<loops::Tensor(const ConstantData&)> load_constant;  // of elements beside the text. Null: Unsupported
};

// What a program raised, rather than inputs that it does not take.
class Raised : public UserError {
 public:
  using UserError::UserError;
};

// A loop that goes on past ExecutableOptions::while_limit.
class Endless : public Unsupported {
 public:
  using Unsupported::Unsupported;
};

// What an output is, once the program has run.
struct Result {
  loops::Output::Kind kind = loops::Output::none;
  // tensor, number: the storage it shows, which is an input's, the host's output storage, an extern's or a constant's.
  Place::Kind storage = Place::none;
  uint32_t number = 0;   // of the input, of the output storage; else of the buffer
  loops::Tensor tensor;  // external, constant: it; number: a copy
  Dtype dtype = Dtype::f32;
  loops::Ints sizes, strides;
  int64_t offset = 0;
  int64_t integer = 0;
  const Arg* literal = nullptr;
  std::vector<Result> elements;  // list
};

// Time that one step took in profiled calls.
struct StepTime {
  std::string name;
  const loops::Node* node = nullptr;
  uint64_t calls = 0;
  double seconds = 0, best = 0;
  double bytes = 0, operations = 0;  // of one call: what it has to read and write, and to compute
};

class Frame;

class Executable {
 public:
  // Unsupported if a kernel has no code.
  Executable(loops::Program program, KernelCode code, ExecutableOptions options = {});
  ~Executable();

  class Call {
   public:
    ~Call();
    Call(Call&&) noexcept;
    const std::vector<Result>& outputs() const;

   private:
    friend class Executable;
    Call(Executable& owner, std::unique_ptr<Frame> frame);
    Executable* owner_;
    std::unique_ptr<Frame> frame_;
  };

  // Inputs that the program mutates are written in place, as far as it came. UserError for inputs that it does not
  // take, Raised for what it raises; std::bad_alloc.
  Call call(std::span<const Argument> arguments, Host& host, const RandomStream& ambient = {});

  const loops::Program& program() const;
  const MemoryPlan& memory() const;
  size_t frames_made() const;  // for how many sets of sizes, and calls at one time

  // From now on each step is timed, and by itself: kernels do not overlap.
  void profile(bool on);
  std::vector<StepTime> times() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace lenz::runtime
