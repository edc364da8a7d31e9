#include "compiler/backend/llvm/row_call.h"

#include <cmath>
#include <vector>

#include "compiler/scalar/quick_functions.h"

namespace lenz::native {

namespace {
ScalarValue read(Dtype dtype, const void* array, int64_t at) {
  switch (dtype) {
    case Dtype::f32: return ScalarValue(static_cast<double>(static_cast<const float*>(array)[at]));
    case Dtype::f64: return ScalarValue(static_cast<const double*>(array)[at]);
    default: return ScalarValue(static_cast<const int64_t*>(array)[at]);
  }
}
double number(const ScalarValue& v) {
  return v.kind() == ScalarKind::integer ? static_cast<double>(v.integer()) : v.real();
}
}  // namespace

std::string symbol_of(const ScalarRow& row) { return "lenz_row_" + std::string(row.name); }

void evaluate_row(const ScalarRow* row, int32_t compute, int64_t lanes, const void* a, const void* b, const void* c,
                  void* result) {
  const auto dtype = static_cast<Dtype>(compute);
  const void* const arrays[] = {a, b, c};
  const auto quick = dtype == Dtype::f64 ? quick::of_f64(row->quick) : row->quick;
  for (int64_t i = 0; i < lanes; ++i) {
    ScalarValue operands[3];
    for (int k = 0; k < row->arity; ++k) operands[k] = read(operand_dtype(*row, dtype, k), arrays[k], i);
    double value = quick ? quick(number(operands[0]), number(operands[1])) : NAN;
    if (std::isnan(value)) value = evaluate(*row, dtype, {operands, static_cast<size_t>(row->arity)}).real();
    if (dtype == Dtype::f64) {
      static_cast<double*>(result)[i] = value;
    } else {
      static_cast<float*>(result)[i] = static_cast<float>(value);
    }
  }
}

void define_row_calls(Jit& jit) {
  static const std::vector<Jit::Symbol> all = [] {
    std::vector<Jit::Symbol> made{{std::string(kRowFunction), reinterpret_cast<const void*>(&evaluate_row)}};
    for (const ScalarRow& row : scalar_table()) made.emplace_back(symbol_of(row), &row);
    return made;
  }();
  jit.define(all);
}

}  // namespace lenz::native
