// The interpreter of the loop IR: it runs a program as the IR's page reads, one element at a time, and is what all
// generated code is judged by. Every coordinate is checked against its buffer, every element read must have been
// written, an `assign` may write it once: what a program does wrong there is an InternalError that names nest, buffer
// and coordinates.
//
// * Points are walked in ascending order: parallel axes, then reduction axes, then the scan axis, innermost. What does
//   not depend on the inner axes is computed once for each point of the outer ones, and before them.
// * Floats are rounded to the dtype of each instruction and each combination.
//
// Thread-safety: one interpretation of the programs of a Context at a time.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "compiler/loops/program.h"
#include "compiler/loops/tensor.h"
#include "compiler/scalar/random_stream.h"

namespace lenz::loops {

struct Counters {
  uint64_t points = 0;      // of nests: times that a body ran
  uint64_t loads = 0;       // elements read; masked ones are not
  uint64_t stores = 0;      // elements written
  uint64_t operations = 0;  // scalar instructions, draws, and operands combined by reductions, scans and stores
  uint64_t flops = 0;       // those that compute a floating or complex number, conversions apart
  uint64_t bytes = 0;       // read and written
  Counters& operator+=(const Counters& o);
  friend bool operator==(const Counters&, const Counters&) = default;
};

struct NestCounters {
  std::string name;
  uint64_t runs = 0;
  Counters counters;
};

// Nothing for an absent input, a tensor, or a number: an integer binds a symbol, the others fill a 0-dim buffer.
using InputValue = std::variant<std::monostate, Tensor, int64_t, double, bool>;

// What an Extern sees of the run: its node, and the values of what its arguments mention.
struct ExternCall {
  const Extern& node;
  std::function<Tensor(BufferId)> tensor;
  std::function<int64_t(Dim)> integer;
};

// What runs a kernel in the interpreter's stead sees of the run. Buffers are allocated, local ones are its own
// business.
struct KernelCall {
  const Kernel& kernel;
  std::function<Tensor(BufferId)> tensor;
  std::function<int64_t(Dim)> integer;
  std::function<RandomStream(uint32_t)> stream;
};

struct InterpretOptions {
  RandomStream ambient;  // streams without a seed start from here: their offsets are added to its offset
  uint64_t memory_limit = uint64_t{4} << 30;  // bytes of temporaries
  uint64_t while_limit = 1'000'000;           // rounds of one While
  std::function<void(const Print& node, std::span<const Tensor> values)> print;
  // One tensor for each of node.results (none where it is not wanted), in the types of their buffers. Null:
  // Unsupported.
  std::function<std::vector<Tensor>(const ExternCall&)> run_extern;
  // Whether it has run the kernel. It throws UserError where the program raises. Null: the interpreter runs them all.
  std::function<bool(const KernelCall&)> run_kernel;
  std::function<Tensor(const ConstantData&)> load_constant;  // of elements beside the text. Null: Unsupported
};

struct OutputValue {
  Output::Kind kind = Output::none;
  Tensor tensor;  // tensor; number: of no dims
  int64_t integer = 0;
  Arg literal;
  std::vector<OutputValue> elements;  // list
};

enum class Ending : uint8_t {
  finished,
  raised,         // the program's own errors: a Check, an index out of range, a division by zero. No outputs
  out_of_memory,  // temporaries passed the limit, or the machine has no more
  endless,        // a While passed its limit
};

struct Results {
  Ending ending = Ending::finished;
  std::string text;  // why it did not finish
  std::vector<OutputValue> outputs;
  Counters counters;
  std::vector<NestCounters> nests;  // in the order of for_each_node
};

// Runs the program. Inputs that it mutates are written in place, as far as it came. Outputs share storage with inputs
// and each other as the program says. UserError for inputs that are not what it takes: sizes, facts, guards, aliasing.
Results interpret(const Program& program, std::span<const InputValue> inputs, const InterpretOptions& options = {});

}  // namespace lenz::loops
