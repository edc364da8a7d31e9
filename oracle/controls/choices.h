// What a legal compilation may choose for one primitive, and what its elements then are.
// Thread-safety: pure functions; values.
#pragma once

#include <span>
#include <string>

#include "compiler/base/chooser.h"
#include "compiler/scalar/double_double.h"
#include "oracle/controls/accumulate.h"
#include "oracle/controls/plan.h"

namespace lenz::oracle::controls {

// What is chosen for a primitive. Always the same number of draws, so that a mutant's other choices are the original's.
struct Choices {
  enum Push : uint8_t { none, up, down, outwards, at_random } push = none;
  Dtype keeps = Dtype::f32;    // where the result is rounded to
  Dtype through = Dtype::f32;  // what a narrow dtype is computed in: itself or f32
  bool formula = false;        // exp by exp2, division by reciprocal, contraction
  bool in_one_go = false;
  uint64_t number = 0;  // 0: rounded to f32 at least; 1: as it stands; 2: rounded to the dtype
  bool wide_sum = false;
  size_t block = 1;  // of a scan
  Order order;
  uint64_t seed = 0;
};

Choices choose_for(const Step& s, Chooser& c);
std::string text_of(const Choices& x, const Step& s);  // what is not plain, in words

// A whole number in the integral dtype that it is computed in.
ScalarValue wrapped(Dtype dtype, double number);
// A number that stands in the graph.
double number_of(const Step& s, const Operand& o, const Choices& x);
// An exact answer as it is kept.
double rounded(const Choices& x, double exact);
// Steps of a definition may be computed by other formulas, in f32 at least, where they are stored in a narrow dtype: in
// units of something else, as exponentials are by powers of two, which rounds twice on the way.
bool may_be_in_units(const Step& s);
double in_units(double exact, uint64_t which);
// In f32 and float64 the same, rounded once and not kept in the dtype: on the way to a result, no farther off than half
// such a place. The least and the greatest of so many units.
bool may_be_off_on_the_way(const Step& s);
std::pair<DoubleDouble, DoubleDouble> off_on_the_way(Dtype dtype, DoubleDouble exact, int units, double place);
struct ByUnits {
  double least, greatest;
};
// In units of something, and what that gives in those of something else, as often as a step's accuracy leaves room for.
ByUnits in_any_units(double exact);
// An answer off by what the row's accuracy allows. `state` is of the random numbers that some choices draw.
double pushed(const Step& s, const Choices& x, double exact, std::span<const ScalarValue> operands, uint64_t& state);
// The same in f64, measured from double-double.
double precise(const Step& s, const Choices& x, const double* v, std::span<const ScalarValue> plain, double fallback);
// Sums, differences and products of two numbers of float64 may be kept without being rounded, as the unevaluated sum
// of two, for others of them that read it: contraction, and arithmetic wider than any dtype.
bool may_stay_wide(const Step& s);
DoubleDouble unrounded(const Step& s, DoubleDouble a, DoubleDouble b);
// a / b by b's reciprocal; of a narrow dtype, in f32, that may have been estimated and refined.
bool may_be_off_by_reciprocal(const Step& s);
double divided(const Choices& x, const Step& s, double a, double b, double exact);

}  // namespace lenz::oracle::controls
