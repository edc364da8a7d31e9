// Numbers that eager converts to a dtype, and refuses where the dtype can't hold them ("without overflow").
//
// OpDef::fits says which of a row's: `value:result` is converted to the result's dtype (before an in-place or out=
// variant casts it), and for
//
//   computed  to what is computed in: f32 for half precision
//   truncated to the result's dtype, of integers once cut to a whole number
//   element   to the result's dtype, but for half precision and float8, where numbers overflow as elements do
//   filled    as `element` where the result has one element, else to the result's dtype
//   power     to the result's dtype, but for f32, f64 and complex ones, which take all numbers
//
// `value:result/index/steps>1`: where these have something only. Of a tensor that is elements, of `rank(self)` dims, of
// a list a positive entry; a number is compared. Everything else is converted as a tensor's elements are, and takes any
// number. Thread-safety: pure functions, given one Infer.
#pragma once

#include <string_view>
#include <vector>

#include "compiler/base/dtype.h"

namespace lenz {

struct Arg;
struct OpDef;
class Infer;

struct NumberFit {
  enum Into : uint8_t { result, computed, truncated, element, filled, power };
  struct Something {
    size_t param;
    int64_t beyond;
  };
  size_t param = 0;
  Into into = result;
  std::vector<Something> where;
};

std::vector<NumberFit> read_fits(const OpDef& def);

// Least and greatest finite values, as a double says them: i64's greatest is rounded up.
struct FiniteRange {
  double low = 0, high = 0;
};
FiniteRange finite_range(Dtype dtype);

// Whether eager converts this number. Anything else than a constant number fits, as far as this can say.
bool representable(const Arg& number, Dtype dtype);

// Refuses a number that eager computes on the way to such a result.
void require_fit(const Infer& in, std::string_view what, double number, NumberFit::Into into, Dtype result);
// Refuses numbers that the results, as the row's rule gave them, make too large, and sizes that make numbers so.
void require_fitting_numbers(Infer& in);

}  // namespace lenz
