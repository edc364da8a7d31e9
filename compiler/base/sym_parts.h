// The outermost operation of a dim and what it is of: for walks over expressions by rooms that may not see nodes.
// Thread-safety: as the dim's pool.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "compiler/base/sym.h"

namespace lenz {

struct DimParts {
  SymKind kind = SymKind::sum;
  int64_t constant = 0;               // sum
  std::vector<int64_t> coefficients;  // sum: one for each operand
  // sum: products and atoms; product: atoms, as often as their power; floor_div, mod: two; min, max, call: all
  std::vector<Dim> operands;
  SymFn function = SymFn::floor_scale;  // call, and
  double factor = 1;                    // of its operand
};

// A constant is a sum of no operands; anything else than a sum has one kind and no constant.
DimParts parts_of(Dim dim);

// Any dim as a sum of products, without terms that cancel.
DimParts terms_of(Dim dim);

// The factors of a product; of anything else, itself.
std::vector<Dim> factors_of(Dim dim);

// Why evaluate() gives no value, for people: empty where a symbol has none.
std::string why_no_value(Dim dim, const SymValues& values);

// Calls visit(divisor) for every division and remainder in it, however deep.
void for_each_divisor(Dim dim, const std::function<void(Dim)>& visit);

}  // namespace lenz
