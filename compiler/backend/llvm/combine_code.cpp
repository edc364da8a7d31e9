#include "compiler/backend/llvm/combine_code.h"

#include <llvm/IR/IRBuilder.h>

#include "compiler/backend/llvm/lane_code.h"
#include "compiler/base/error.h"

namespace lenz::native {

using loops::Combine;

namespace {

Lanes row(ScalarCode& code, std::string_view name, Dtype compute, Dtype result, std::initializer_list<Lanes> operands) {
  return code.apply(*find_scalar(name), compute, result, std::vector<Lanes>(operands));
}

// mean, sum of squared deviations, count
State merge_moments(ScalarCode& code, Dtype t, const State& a, const State& b) {
  auto add = [&](Lanes x, Lanes y) { return row(code, "add", t, t, {x, y}); };
  auto mul = [&](Lanes x, Lanes y) { return row(code, "mul", t, t, {x, y}); };
  auto div = [&](Lanes x, Lanes y) { return row(code, "div", t, t, {x, y}); };
  const Lanes zero = code.constant(t, ScalarValue(0.0));
  const Lanes count = add(a[2], b[2]), delta = row(code, "sub", t, t, {b[0], a[0]});
  const Lanes left = div(a[2], count), right = div(b[2], count);
  // An infinite difference times a share of the count would turn one infinity into NaN.
  const Lanes finite = row(code, "isfinite", t, Dtype::b8, {delta});
  State made{select_code(code, finite.value, add(a[0], mul(delta, right)), add(mul(a[0], left), mul(b[0], right))),
             add(add(a[1], b[1]), mul(mul(delta, delta), mul(a[2], right))), count};
  const Lanes no_left = row(code, "eq", t, Dtype::b8, {a[2], zero}),
              no_right = row(code, "eq", t, Dtype::b8, {b[2], zero});
  for (size_t p = 0; p < made.size(); ++p)
    made[p] = select_code(code, no_left.value, b[p], select_code(code, no_right.value, a[p], made[p]));
  return made;
}

// maximum m, sum of exp(x - m): the sum beside the lesser maximum is scaled.
State merge_exponentials(ScalarCode& code, Dtype t, const State& a, const State& b) {
  const Lanes most = row(code, "maximum", t, t, {a[0], b[0]});
  const Lanes a_most = row(code, "eq", t, Dtype::b8, {a[0], most}),
              b_most = row(code, "eq", t, Dtype::b8, {b[0], most});
  const Lanes less = select_code(code, row(code, "lt", t, Dtype::b8, {a[0], b[0]}).value, a[0], b[0]);
  const Lanes factor = row(code, "exp", t, t, {row(code, "sub", t, t, {less, most})});
  auto scaled = [&](const Lanes& sum, const Lanes& is_most) {
    return select_code(code, is_most.value, sum, row(code, "mul", t, t, {sum, factor}));
  };
  return {most, row(code, "add", t, t, {scaled(a[1], a_most), scaled(b[1], b_most)})};
}

bool of_least(Combine combine) { return combine == Combine::argmin || combine == Combine::argmin_last; }

State merge_any_positions(ScalarCode& code, Combine combine, Dtype t, const State& a, const State& b) {
  llvm::IRBuilderBase& builder = code.builder();
  const bool least = of_least(combine);
  const bool last = combine == Combine::argmin_last || combine == Combine::argmax_last;
  llvm::Value* less = row(code, "lt", t, Dtype::b8, {a[0], b[0]}).value;
  llvm::Value* greater = row(code, "gt", t, Dtype::b8, {a[0], b[0]}).value;
  llvm::Value* first =
      last ? builder.CreateICmpSGT(a[1].value, b[1].value) : builder.CreateICmpSLT(a[1].value, b[1].value);
  llvm::Value* wins = builder.CreateSelect(
      less, least ? llvm::ConstantInt::getTrue(less->getType()) : llvm::ConstantInt::getFalse(less->getType()),
      builder.CreateSelect(
          greater, least ? llvm::ConstantInt::getFalse(less->getType()) : llvm::ConstantInt::getTrue(less->getType()),
          first));
  if (is_floating(t)) {
    llvm::Value* nan_a = row(code, "isnan", t, Dtype::b8, {a[0]}).value;
    llvm::Value* nan_b = row(code, "isnan", t, Dtype::b8, {b[0]}).value;
    llvm::Value* both = builder.CreateAnd(nan_a, nan_b);
    wins = builder.CreateSelect(builder.CreateXor(nan_a, nan_b), nan_a, builder.CreateSelect(both, first, wins));
  }
  return {select_code(code, wins, a[0], b[0]), select_code(code, wins, a[1], b[1])};
}

// One by one, few come that are as good as the best so far: a branch around those lets the next one be looked at before
// that is decided.
State merge_positions(ScalarCode& code, Combine combine, Dtype t, const State& a, const State& b) {
  if (code.lanes() != 1) return merge_any_positions(code, combine, t, a, b);
  LaneCode lane(code.builder(), code.target(), 1);
  const Lanes worse = row(code, of_least(combine) ? "gt" : "lt", t, Dtype::b8, {b[0], a[0]});
  const auto made = lane.rarely(!lane.wrap(worse.value), {lane.wrap(a[0].value), lane.wrap(a[1].value)}, [&] {
    const State merged = merge_any_positions(code, combine, t, a, b);
    return std::vector<V>{lane.wrap(merged[0].value), lane.wrap(merged[1].value)};
  });
  return {{made[0].value}, {made[1].value}};
}

}  // namespace

Lanes select_code(ScalarCode& code, llvm::Value* condition, const Lanes& yes, const Lanes& no) {
  Lanes made{code.builder().CreateSelect(condition, yes.value, no.value)};
  if (yes.imaginary) made.imaginary = code.builder().CreateSelect(condition, yes.imaginary, no.imaginary);
  return made;
}

State identity_code(ScalarCode& code, Combine combine, Dtype dtype) {
  const loops::CombineState state = loops::identity(combine, dtype);
  State made;
  for (uint32_t p = 0; p < loops::row_of(combine).parts; ++p)
    made.push_back(code.constant(loops::part_dtype(combine, dtype, p), state[p]));
  return made;
}

State one_code(ScalarCode& code, Combine combine, Dtype dtype, std::span<const Lanes> operands) {
  const Lanes& x = operands[0];
  if (combine == Combine::welford)
    return {x, row(code, "sub", dtype, dtype, {x, x}), code.constant(dtype, ScalarValue(1.0))};
  if (combine == Combine::log_sum_exp) return {x, code.constant(dtype, ScalarValue(1.0))};
  return {operands.begin(), operands.end()};
}

State combine_code(ScalarCode& code, Combine combine, Dtype dtype, const State& a, const State& b) {
  if (const ScalarRow* primitive = loops::primitive(combine)) {
    const Lanes operands[] = {a[0], b[0]};
    return {code.apply(*primitive, dtype, dtype, operands)};
  }
  switch (combine) {
    case Combine::welford: return merge_moments(code, dtype, a, b);
    case Combine::log_sum_exp: return merge_exponentials(code, dtype, a, b);
    case Combine::last: return b;
    default: return merge_positions(code, combine, dtype, a, b);
  }
}

}  // namespace lenz::native
