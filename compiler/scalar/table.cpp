#include "compiler/scalar/table.h"

#include <string>

#include "compiler/base/error.h"
#include "compiler/scalar/rounding.h"
#include "compiler/scalar/scalar.h"

namespace lenz {

namespace {

scalar_rows::Table build_table() {
  using namespace scalar_rows;
  Table table;
  add_arithmetic(table);
  add_comparisons(table);
  add_rounding(table);
  add_elementary(table);
  add_float_parts(table);
  add_special(table);
  add_bessel(table);
  add_polynomials(table);
  add_conversions(table);
  return table;
}

[[noreturn]] void no_dtype(const ScalarRow& row, Dtype dtype) {
  throw Unsupported("scalar primitive '" + std::string(row.name) + "' is not defined for " + std::string(name(dtype)));
}

ScalarValue widened(const ScalarValue& v) {
  return v.kind() == ScalarKind::real ? ScalarValue(DoubleDouble(v.real())) : v;
}

}  // namespace

void ScalarValue::wrong_kind(ScalarKind wanted) const {
  constexpr std::string_view kNames[] = {"an integer", "a real", "a double-double", "a complex"};
  internal_error("scalar holds " + std::string(kNames[static_cast<int>(kind_)]) + ", asked for " +
                     std::string(kNames[static_cast<int>(wanted)]),
                 __FILE__, __LINE__);
}

std::span<const ScalarRow> scalar_table() {
  static const scalar_rows::Table table = build_table();
  return table;
}

const ScalarRow* find_scalar(std::string_view name) {
  for (const ScalarRow& row : scalar_table())
    if (row.name == name) return &row;
  return nullptr;
}

Dtype arithmetic_dtype(Dtype dtype) { return is_reduced_float(dtype) || is_float8(dtype) ? Dtype::f32 : dtype; }

Dtype operand_dtype(const ScalarRow& row, Dtype compute, int operand) {
  if (row.operands == OperandRule::condition_first && operand == 0) return Dtype::b8;
  if (row.operands == OperandRule::integer_first && operand == 0) return Dtype::i64;
  if (row.operands == OperandRule::integer_last && operand == row.arity - 1) return Dtype::i64;
  return compute;
}

Dtype result_dtype(const ScalarRow& row, Dtype compute, std::optional<Dtype> target) {
  switch (row.result) {
    case ResultRule::same: return compute;
    case ResultRule::boolean: return Dtype::b8;
    case ResultRule::int32: return Dtype::i32;
    case ResultRule::real_of: return to_real(compute);
    case ResultRule::complex_of: return to_complex(compute);
    case ResultRule::target: break;
  }
  LENZ_CHECK(target.has_value(), "this scalar primitive needs a target dtype");
  return *target;
}

ScalarValue evaluate(const ScalarRow& row, Dtype compute, std::span<const ScalarValue> operands,
                     std::optional<Dtype> target) {
  LENZ_CHECK(static_cast<int>(operands.size()) == row.arity, "wrong number of operands of a scalar primitive");
  if (!row.dtypes.has(compute)) no_dtype(row, compute);
  const EvalContext context{compute, result_dtype(row, compute, target)};
  ScalarValue values[3];  // absent operands stay integers, which no evaluator reads
  bool wide = false;
  for (size_t i = 0; i < operands.size(); ++i) {
    values[i] = operands[i];
    wide = wide || operands[i].kind() == ScalarKind::double_double;
  }
  Evaluator evaluator = row.eval.integers;
  if (is_complex(compute)) {
    evaluator = row.eval.complexes;
  } else if (is_floating(compute)) {
    evaluator = wide ? row.eval.dds : row.eval.reals;
    if (evaluator == nullptr && wide)
      throw Unsupported("scalar primitive '" + std::string(row.name) + "' has no evaluation in double-double");
    if (wide)
      for (ScalarValue& value : values) value = widened(value);
  }
  LENZ_CHECK(evaluator != nullptr, "a row lacks the evaluator of one of its dtypes");
  ScalarValue result = evaluator(context, values);
  if (is_integral(context.result, true)) return ScalarValue(wrap_to(context.result, result.integer()));
  return result;
}

bool is_defined(const ScalarRow& row, Dtype compute, std::span<const ScalarValue> operands,
                std::optional<Dtype> target) {
  if (row.defined == nullptr) return true;
  ScalarValue values[3];
  for (size_t i = 0; i < operands.size(); ++i) {
    // A low part never decides whether a result is defined.
    values[i] = operands[i].kind() == ScalarKind::double_double
                    ? ScalarValue(static_cast<double>(operands[i].double_double()))
                    : operands[i];
  }
  return row.defined(EvalContext{compute, result_dtype(row, compute, target)}, values);
}

}  // namespace lenz
