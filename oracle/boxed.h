// Eager libtorch, one op at a time, through its boxed dispatcher: the graph's own names and arguments are the program.
// Autograd is off unless asked for, and results are what eager gives under no_grad: views share storage, in-place ops
// mutate. What eager refuses comes back as a value, never as libtorch's exception. Thread-safety: one Boxed per thread.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/graph/graph.h"
#include "oracle/value.h"

namespace lenz::oracle {

struct Outcome {
  bool raised = false;
  bool no_kernel = false;         // raised because this device has no kernel for the op or for one that it calls
  std::string text;               // the first line of what eager said
  std::vector<RunValue> results;  // in the schema's order

  void clear() {
    raised = no_kernel = false;
    text.clear();
    results.clear();
  }
  bool out_of_memory() const { return raised && says_no_memory(text); }
  static bool says_no_memory(std::string_view text);  // of libtorch's allocators, in what they raise
};

class Boxed {
 public:
  // Skip autograd's keys, pass through them in no_grad mode, or record for a backward pass.
  enum class Autograd { below, disabled, recorded };

  explicit Boxed(DeviceKind device, Autograd autograd = Autograd::below);
  ~Boxed();
  Boxed(const Boxed&) = delete;
  Boxed& operator=(const Boxed&) = delete;

  DeviceKind device() const { return device_; }

  // A tensor of this type (constant sizes, strides and offset) on our device, in the storage of `shared` if given,
  // filled as `init` says. Meta tensors have no elements.
  RunValue make(const Type& type, const Initialiser& init, const RunValue& shared = nullptr);

  // The values of a graph's inputs; those of one alias class share a storage. `symbols` gives the sizes of symbols.
  std::vector<RunValue> inputs(const Graph& graph, const SymValues& symbols = {});

  // Of the generator that ops without one draw from.
  void seed(uint64_t seed);
  uint64_t draw_seed();  // 64 bits of it

  // Runs `op`. `values` are indexed by ValueId; `op` must be one of ATen's, with the arguments that its row says.
  Outcome run(const OpDef& op, std::span<const Arg> args, std::span<const RunValue> values,
              const SymValues& symbols = {});
  // The same into memory that is there already.
  void run(const OpDef& op, std::span<const Arg> args, std::span<const RunValue> values, const SymValues& symbols,
           Outcome& outcome);
  // Many such calls: libtorch is told once how it has to run them.
  void within(const std::function<void()>& calls);

 private:
  RunValue input(const Type& type, const Initialiser& init, const RunValue& shared, const SymValues& symbols);
  struct Impl;
  DeviceKind device_;
  std::unique_ptr<Impl> impl_;
};

// The schema under which libtorch registers an op, in its own words; nothing if it has none.
std::optional<std::string> registered_schema(const Schema& schema);

// libtorch's own threads: none for calls of our sizes, where they cost more than they give and are shared by all of our
// threads. Call once, before the first run.
void quieten_libtorch();
// Loads libtorch's CUDA half, for a Boxed on a GPU; throws Unsupported, and says why, where there is none. Floats of 32
// bits are computed as such from then on (no TF32), and sums of narrow ones in them.
void require_cuda();
// As many as a compiled program has: for what it leaves to libtorch.
void give_libtorch_threads(int threads);

}  // namespace lenz::oracle
