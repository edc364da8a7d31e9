// The loop IR: a program is buffers and a tree of nodes that fill them. It says what is computed from what, element by
// element; in which order, on which processor and in which memory is a plan's business.
//
// * A buffer is a tensor with logical coordinates: accesses name one coordinate for each dim. Where its elements lie is
//   binding for inputs and outputs (`Buffer::placed`), and free elsewhere.
// * Coordinates are Dims over the program's symbols, the nest's axes and positions (integers that the body computed).
// * A nest runs its body at every point of its axes. Values that depend on a `reduce` belong to its epilogue: they
// exist
//   once for every point of the parallel axes, when the reduction axes have been walked.
// * A point of a nest may read what it writes itself, and what other points write only where `Store::mode` says so. Its
//   points may run in any order, those of a scan axis in ascending one.
// * A program that a plan has been applied to says more: a `Kernel` runs its body at every point of axes that may run
//   side by side, axes of its nests run in lanes, and `local` buffers belong to one such point. What is computed, the
//   interpreter's results, and the rules are the same: a realised program is a program.
// * Arithmetic is the scalar table's: integers wrap in their own dtype; a floating result is rounded to its
//   instruction's dtype, or may be kept wider; contraction and the order of a `reduce` over floats are free
//   (`Instr::ordered` takes that freedom away).
//
// Thread-safety: a program belongs to one thread at a time, as its Context does.
#pragma once

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "compiler/graph/graph.h"
#include "compiler/loops/combine.h"
#include "compiler/scalar/scalar.h"

namespace lenz::loops {

using BufferId = uint32_t;
using Ssa = uint32_t;  // an instruction of a nest's body, which is also its value

// ---------------------------------------------------------------------------------------------------------------------
// Memory

enum class BufferKind : uint8_t {
  input,      // the caller's; written only by programs that say so (Buffer::mutated)
  constant,   // Buffer::data
  temporary,  // the program's own; it may be shown by an output
};

inline const Cond kAlways{Rel::eq, 0, 0};

struct Buffer {
  std::string name;
  BufferKind kind = BufferKind::temporary;
  TensorType type;      // sizes count; strides and offset where `placed`
  bool placed = false;  // strides and offset are binding
  bool mutated = false;
  std::optional<NameId> alias;  // inputs of one alias class share storage
  bool local = false;           // temporaries: one for each point of the kernel that writes it, and gone after it
  // Temporaries: when it is read only after caches have lost it. Stores may go past them then.
  std::optional<Cond> far = {};
  BufferId view_of = kNone;            // another look at that (placed) buffer's storage, through this type; placed
  const ConstantData* data = nullptr;  // kind constant
  uint32_t origin = 0;                 // Context::origin: the graph's nodes that it comes from
};

// As what code keeps its elements: what belongs to one point of a kernel stays as registers would hold it, which takes
// no rounding and no widening.
inline Dtype kept_as(const Buffer& b) { return b.local && is_reduced_float(b.type.dtype) ? Dtype::f32 : b.type.dtype; }

// ---------------------------------------------------------------------------------------------------------------------
// Nests

enum class AxisKind : uint8_t {
  parallel,
  reduction,
  scan,  // walked in ascending order, innermost; at most one in a nest
};

inline constexpr uint32_t kMostTogether = 4096;  // points of an axis, in lanes or unrolled

struct Axis {
  Dim symbol;  // of the pool; runs from 0 to below the extent
  Dim extent;  // over the program's symbols
  AxisKind kind = AxisKind::parallel;
  // How many of its points run together, in one vector, and how many such vectors in one turn. The order of a
  // reduction's points follows: lanes are combined last.
  uint32_t lanes = 1, unroll = 1;
};

enum class InstrKind : uint8_t {
  constant,  // `value`
  index,     // the value of the expression index[0], i64
  load,      // an element of `buffer` at `index`; zero where `mask` does not hold
  scalar,    // `row`, computed in `compute`
  position,  // makes the operand, an integer, a coordinate: `symbol` stands for it in later expressions. It must lie in
             // 0 .. extent - 1, or from -extent on where it `wraps`: else the program raises. Not looked at, and 0,
             // where `mask` does not hold
  reduce,    // operands of all points of the reduction axes, combined; the combine's first part
  scan,      // operands of this and all earlier points of the scan axis, combined; the first part
  part,      // another part of the reduce or scan operands[0]: number `part`
  draw,      // a random number of `stream`, for the logical element index[0]
};

enum class DrawKind : uint8_t {
  word,         // 32 bits, as i64
  signed_word,  // a word less 2^31, as i32: words in their order, in half the room
  wide_word,    // 64 bits, as i64
  uniform,      // [0, 1)
  normal,       // of two words
  wide_normal,  // of two 64-bit numbers
};

struct Instr {
  InstrKind kind = InstrKind::constant;
  Dtype dtype = Dtype::f32;  // of the value
  SmallVec<Ssa, 3> operands;
  Ssa mask = kNone;  // load, position: a b8 value

  ScalarValue value;               // constant
  const ScalarRow* row = nullptr;  // scalar
  Dtype compute = Dtype::f32;      // scalar
  BufferId buffer = kNone;         // load
  DimVec index;                    // load, index, draw
  Dim symbol, extent;              // position
  bool wraps = false;              // position
  Combine combine = Combine::sum;  // reduce, scan
  bool ordered = false;            // reduce: floats are combined in ascending order of the axes
  uint32_t part = 0;               // part
  DrawKind draw = DrawKind::word;  // draw
  uint32_t stream = 0;             // draw: of Program::streams
};

enum class StoreMode : uint8_t {
  assign,   // every element at most once, proved by the verifier or claimed by `distinct`
  scatter,  // several points may write one element: the last one in eager's order (ascending points) wins
  add,      // the element becomes element + value; others likewise
  multiply,
  minimum,  // NaN wins
  maximum,
  any,  // logical or
};

struct Store {
  BufferId buffer = kNone;
  DimVec index;
  Ssa value = kNone;
  Ssa mask = kNone;
  StoreMode mode = StoreMode::assign;
  bool distinct = false;  // positions in the index never coincide, for a reason that the index algebra cannot see
};

// What a nest is, for plans that know better ways to run it than loops.
enum class NestTag : uint8_t { none, matmul, convolution, pooling, attention };

// Whether plans leave it to a template or a library, alone. Windows are reductions like others.
inline bool stands_alone(NestTag tag) { return tag != NestTag::none && tag != NestTag::pooling; }

std::string_view name(NestTag tag);
std::optional<NestTag> find_tag(std::string_view name);

struct Nest {
  std::string name;  // of the op that it comes from, for people
  NestTag tag = NestTag::none;
  std::vector<Axis> axes;  // outermost first
  std::vector<Instr> body;
  std::vector<Store> stores;
  uint32_t origin = 0;
};

// ---------------------------------------------------------------------------------------------------------------------
// What is no nest

// Sorts along one dim. NaN is greater than everything. `indices`, i64, may be none. Results may be shorter along the
// dim than the keys: then they are the first ones in order, or, with `places`, those at these places of the order.
struct Sort {
  BufferId keys = kNone, values = kNone, indices = kNone;
  uint32_t dim = 0;
  bool descending = false, stable = true;
  DimVec places;
  uint32_t origin = 0;
};

// An op that somebody else computes: values in `args` are buffers. Results are allocated by it, in the types of their
// buffers, which are placed.
struct Extern {
  const OpDef* op = nullptr;
  std::vector<Arg> args;
  std::vector<BufferId> results;  // kNone: not wanted
  uint32_t origin = 0;
};

// The program's own symbol gets the value of a 0-dim integer buffer (a size that depends on data), once for each
// execution of the node. It raises where the facts about the symbol do not allow the value.
struct Bind {
  Dim symbol;
  BufferId from = kNone;
};

// Raises `message` (a UserError) unless the condition on dims, or the 0-dim b8 buffer `holds`, is true.
struct Check {
  std::optional<Cond> cond;
  BufferId holds = kNone;
  std::string message;
  uint32_t origin = 0;
};

struct Print {
  std::string text;
  std::vector<BufferId> values;
  std::vector<bool> numbers;  // by value: shown as a number, not as a tensor of no dims
};

struct Node;
struct Block {
  std::vector<Node> nodes;
};

struct If {
  BufferId condition = kNone;  // 0-dim b8
  std::unique_ptr<Block> then, otherwise;
};
// Runs `test`, which fills the 0-dim b8 buffer `condition`, and, while that holds, `body`, again and again.
struct While {
  std::unique_ptr<Block> test;
  BufferId condition = kNone;
  std::unique_ptr<Block> body;
};
// Runs the body for symbol = 0 .. count - 1, in this order.
struct Repeat {
  Dim symbol, count;
  std::unique_ptr<Block> body;
};

// Runs the body, nests only, at every point of the axes (parallel ones), in any order or at the same time: what a point
// writes no other one reads or writes, local buffers aside.
struct Kernel {
  std::string name;
  std::vector<Axis> axes;
  std::unique_ptr<Block> body;
  uint32_t origin = 0;
};

struct Node {
  std::variant<Nest, Sort, Extern, Bind, Check, Print, If, While, Repeat, Kernel> is;
};

// ---------------------------------------------------------------------------------------------------------------------
// The program

// A graph's input: a tensor is a buffer, a number binds a symbol (int) or fills a 0-dim buffer (f64, b8).
struct Input {
  enum Kind : uint8_t { tensor, symbol, none } kind = tensor;
  BufferId buffer = kNone;
  Dim sym = 0;
  std::string name;
};

// A graph's output: a tensor shows a buffer's storage through sizes, strides and offset (`type`); of a list, its
// elements; else a number of the host's. Nobody is handed one that says what an input is from now on.
struct Output {
  enum Kind : uint8_t { tensor, list, integer, literal, number, none } kind = none;
  BufferId buffer = kNone;  // tensor; number: a 0-dim buffer
  TensorType type;
  Dim value = 0;  // integer
  Arg literal_value;
  std::vector<Output> elements;
  // tensor: it shows the elements' conjugates, or negatives, which whoever reads it computes (eager's lazy views).
  bool conjugated = false, negated = false;
  uint32_t input = kNone;  // tensor: of Program::inputs, the one whose sizes, strides and elements become these
};

// Random numbers (compiler/scalar/random_stream.h): of the ambient seed, or of one that the op names.
struct Stream {
  std::optional<uint64_t> seed;
  Dim offset = 0;
};

struct Program {
  std::string name;
  std::shared_ptr<Context> context;
  Assumptions assumptions;  // facts about its symbols, and guards: conditions that lowering relied on
  std::vector<Buffer> buffers;
  std::vector<Stream> streams;
  std::vector<Input> inputs;
  std::vector<Output> outputs;
  Block body;
};

// Calls visit(Node&) for every node, outer ones first. Const or not.
template <class BlockT, class F>
void for_each_node(BlockT& block, F&& visit) {
  for (auto& node : block.nodes) {
    visit(node);
    if (auto* n = std::get_if<If>(&node.is)) {
      for_each_node(*n->then, visit);
      for_each_node(*n->otherwise, visit);
    } else if (auto* n = std::get_if<While>(&node.is)) {
      for_each_node(*n->test, visit);
      for_each_node(*n->body, visit);
    } else if (auto* n = std::get_if<Repeat>(&node.is)) {
      for_each_node(*n->body, visit);
    } else if (auto* n = std::get_if<Kernel>(&node.is)) {
      for_each_node(*n->body, visit);
    }
  }
}

// For each instruction of a nest, whether it belongs to the epilogue: whether it depends on a reduce.
std::vector<bool> epilogue(const Nest& nest);

// How many points the axes have that are reduced or scanned, where these are so few that code may have each point of
// its own (1: there is no such axis); else 0, and where one of them runs in lanes.
int64_t few_inner_points(const Nest& nest);

}  // namespace lenz::loops
