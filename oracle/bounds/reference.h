// What a graph's results should be, and how far from it a right answer may lie.
//
// The reference runs the graph's own ops in eager libtorch with every float widened to float64 (complex64 to
// complex128), and beside each value carries an error: any compilation that is legal (any order of a reduction,
// contraction, wider intermediates, a rounding to the storage dtype left out or not, transcendentals within their
// rows' accuracy) ends within it. Integers and bools keep their dtypes; their error is 0 where the answer is certain.
//
// * error 0: the element is exact, and must come out bit for bit (all NaNs are one value; so are the two zeros, but in
//   what rows made whose zeros have one sign: movement, and primitives that are exact and say no other);
// * infinite: anything goes, as nothing useful is known (an ambiguous index, an overflow that may happen);
// * ambiguous: a discontinuity lies within reach, so that another branch may be right too; the error covers it.
// Thread-safety: one Referee per thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "oracle/bounds/choices.h"
#include "oracle/compare.h"
#include "oracle/execute.h"

namespace lenz::oracle {

// A tensor's three planes, of one geometry.
struct Bounded {
  Dtype dtype = Dtype::f32;  // the graph's own
  RunValue value;            // float64, complex128, or the dtype of an integer; what is no tensor stands as it is
  RunValue error;            // float64 (complex128: of each part); null: zero everywhere
  RunValue lean;             // float64: by how much less below the value, or if negative above; null: nowhere
  RunValue ambiguous;        // bool; null: nowhere
  RunValue choice;           // int64: which of Reference::choices an element is; 0 or null: none
  bool whole = false;        // of floats: whatever is right and finite is a whole number
  double least = -HUGE_VAL;  // nothing that is right is less than this, or more than that, wherever errors reach
  double greatest = HUGE_VAL;
  double terms = 0;               // the size of what it adds up, if its errors exceed all that it holds
  bool zeros_signed = false;      // a zero that is exact has the sign that it must have
  double number_error = 0;        // of a number
  std::vector<Bounded> elements;  // of a list
};

struct Reference {
  Ending ending = Ending::finished;
  std::string text, where;  // as in Execution
  std::vector<Bounded> outputs;
  std::vector<Bounded> inputs;         // as they are afterwards
  std::vector<std::string> excused;    // scalar rows where eager was given more, and would be wrong else
  std::vector<std::string> unbounded;  // ops that no rule bounds; what hangs on their errors has an infinite one
  bool sizes_open = false;             // what decides sizes that only the run knows was uncertain
  bool refusals_open = false;          // what a row refuses by may have been another: a divisor, an index
  size_t lines_certain = SIZE_MAX;     // behind so many lines a truth that was uncertain decided what is printed
  size_t lines = 0;                    // that are printed, up to there
  bool zero_signs_open = false;        // there was a zero that may have either sign
  std::shared_ptr<const Choices> choices;
};

enum class Widening : uint8_t {
  values_only,  // float64 values, no errors
  bounds,
  // And what rows list of eager's own contradictions (EagerCall::exceptions): for what libtorch has computed, which
  // would be wrong of anybody else.
  bounds_of_eager,
};
// Where random ops draw from: eager's generator, or Lenz's own stream (oracle/random_machine.h), as compiled code does.
enum class Draws : uint8_t { eager, lenz };

class Referee {
 public:
  // With `noise`, the seed of a generator, every result of an op that rounds is off at random by up to half a last
  // place of the graph's dtype, a sum's by the root of its terms as many: a run of values_only for likeness.h.
  explicit Referee(Boxed& boxed, ExecuteOptions options = {}, Widening widening = Widening::bounds,
                   Draws draws = Draws::eager, std::optional<uint64_t> noise = {});
  ~Referee();
  // `inputs` are the graph's, in its own dtypes; they are copied, not written to.
  // `observe` sees what each node of the outermost graph gives, and says whether to go on; where it does not, nothing
  // else is said of the run.
  using Observe = std::function<bool(std::span<const Bounded> results)>;
  Reference run(const Graph& graph, std::span<const RunValue> inputs, const Binding& binding = {},
                const Observe& observe = {});

 private:
  Reference run_within_memory(const Graph& graph, std::span<const RunValue> inputs, const Binding& binding,
                              const Observe& observe);
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// How well the bounds can tell, over all elements of outputs and of inputs that the graph writes to.
struct Shares {
  uint64_t elements = 0;
  // Marked, or with an error beyond every number in the result, and beyond all that it adds up or the inputs that it
  // may hang on, which leaves more than 2^-6 of the value open.
  uint64_t ambiguous = 0;
  uint64_t strong = 0;            // error below 2^-6 of the value, or exact
  uint64_t open = 0;              // tensors among the results more than half of whose elements are ambiguous
  std::string open_results = {};  // their names, with commas
  // Agreement says too little: more than 5 % of all elements are ambiguous, or most of one result are.
  bool weak() const { return ambiguous * 20 > elements || open > 0; }
  std::string to_string() const;  // how much is open
  void add(const Shares& other) {
    elements += other.elements;
    ambiguous += other.ambiguous;
    strong += other.strong;
    open += other.open;
    if (!open_results.empty() && !other.open_results.empty()) open_results += ", ";
    open_results += other.open_results;
  }
};

// Whatever is computed; an error below `strong` times the value counts as strong.
Shares shares_of(const Bounded& result, double strong);

struct Judgement {
  std::optional<Mismatch> mismatch;
  Shares shares;
};

// The ladder's upper rungs: special values, exact elements bitwise, the others within their errors. The lower ones
// (ending, metadata, aliasing) are compare_runs' against eager in the graph's own dtypes.
Judgement judge(const Graph& graph, const Reference& reference, const Execution& got);

// What differs from another run in any bit, but for zeros that may have either sign and for marked elements, which hang
// on open decisions. Both runs have ended, and look the same from outside.
std::optional<Mismatch> differs_where_settled(const Graph& graph, const Reference& reference, const Execution& expected,
                                              const Execution& got);

}  // namespace lenz::oracle
