// A graph made ready to be run many times in many ways, without libtorch (but for Others::by_eager): its composites
// written out by their definitions down to primitives, every movement a table of where elements come from.
// Thread-safety: constant once made.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler/graph/graph.h"
#include "compiler/scalar/scalar.h"
#include "oracle/boxed.h"

namespace lenz::oracle::controls {

// Elements in logical order. Integers and bools are held as doubles too: ours are small.
using Elements = std::vector<double>;
using Sources = std::vector<uint32_t>;  // for each element, where it comes from

// How a primitive's elements are computed.
enum class Compute : uint8_t {
  scalar,  // a row of the scalar table
  cast,    // rounded to the result's dtype
  move,    // taken from the operands' elements, joined; 0 stands for a literal zero, others are one too great
  fill,    // one number everywhere
  sum,
  greatest,
  least,
  contract,  // sums of products: of matrices, batches of them, vectors
  scan_sum,
  whole,  // a composite: its body, or a kernel that computes it in one go (`fused`)
  eager,  // what we don't compute ourselves, where the planner was told so
};
// What is computed in one go, beside the primitives of its definition.
enum class Fused : uint8_t { no, softmax, log_softmax, variance };

// What legal variants know of a scalar row beside its accuracy.
enum class Arithmetic : uint8_t { other, add, sub, mul, div, exp };

struct Operand {
  ValueId value = kNone;  // none: a number
  double number = 0;
  bool whole = false;              // which half precision does not round (compiler/graph/whole_numbers.h)
  double factor = 1;               // `alpha`
  std::optional<Sources> sources;  // none: element i of element i
};

struct Step {
  NodeId node = kNone;            // of the plan's graph
  bool inside_reduction = false;  // a part of a composite that reduces
  bool on_the_way = false;        // that is not its result
  Compute compute = Compute::scalar;
  Fused fused = Fused::no;
  Arithmetic arithmetic = Arithmetic::other;
  const ScalarRow* row = nullptr;
  Dtype dtype = Dtype::f32;     // of the result
  Dtype computes = Dtype::f32;  // scalar: the row's compute dtype
  std::vector<Operand> operands;
  SmallVec<ValueId, 3> results;  // one, but of `whole`
  size_t count = 0;              // elements of the result
  size_t length = 1;             // elements that make one: of a reduction, a product, a scan
  size_t last = 1;               // the result's last dim
  // contract: (batch, rows, columns), each operand's strides.
  size_t batches = 1, rows = 1, columns = 1;
  double correction = 0;       // variance
  size_t dropped = 0;          // of `length`, at the end: what a mutant forgets
  std::vector<Step> body;      // whole: in order
  SmallVec<ValueId, 3> gives;  // whole: the values that are its results; none: no tensor
};

struct Plan {
  std::unique_ptr<Graph> graph;  // expanded
  std::vector<Step> steps;
  std::vector<Elements> inputs;  // by input
  std::vector<Dtype> dtypes;     // by value
  std::vector<ValueId> outputs;  // of the graph handed in, in its order
  size_t longest = 1;            // reduction, at any depth
  Boxed* boxed = nullptr;        // of Compute::eager
  bool perturbed = true;         // no floating results are by eager: variants get about as far as is legal
};

// What becomes of primitives that we don't compute: no plan, or a plan that has eager compute them, as it does or
// wider.
enum class Others : uint8_t { refused, by_eager };

// `inputs` are the graph's. Throws Unsupported for ops whose primitives we can't compute. `boxed` outlives the plan.
Plan make_plan(const Graph& graph, std::span<const RunValue> inputs, Boxed& boxed, Others others = Others::refused);

Elements read_elements(const RunValue& tensor, Dtype dtype);
RunValue write_elements(const Elements& elements, const Type& type, Boxed& boxed);  // rounded to the type's dtype

}  // namespace lenz::oracle::controls
