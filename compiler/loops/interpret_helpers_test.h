// For tests: runs programs made by hand, and shows what they give as numbers.
#pragma once

#include <gtest/gtest.h>

#include "compiler/loops/interpret.h"
#include "compiler/loops/program_builder_test.h"

namespace lenz::loops::test {

inline std::vector<double> numbers(const Tensor& t) {
  std::vector<double> all;
  for (int64_t i = 0; i < t.numel(); ++i) {
    ScalarValue v = t.at(i);
    all.push_back(v.kind() == ScalarKind::real ? v.real() : static_cast<double>(v.integer()));
  }
  return all;
}

inline Results run(const ProgramBuilder& p, std::vector<InputValue> inputs, const InterpretOptions& options = {}) {
  return interpret(p.program, inputs, options);
}
inline std::vector<double> run_for_first(const ProgramBuilder& p, std::vector<InputValue> inputs,
                                         const InterpretOptions& options = {}) {
  Results r = run(p, std::move(inputs), options);
  EXPECT_EQ(r.ending, Ending::finished) << r.text;
  return r.outputs.empty() ? std::vector<double>() : numbers(r.outputs[0].tensor);
}
template <class E, class F>
std::string thrown(F&& f) {
  try {
    f();
  } catch (const E& e) {
    return e.what();
  }
  return "nothing";
}

inline Tensor iota(Dtype dtype, Ints sizes) {
  Tensor t(dtype, std::move(sizes));
  for (int64_t i = 0; i < t.numel(); ++i)
    t.put(i, is_floating(dtype) ? ScalarValue(static_cast<double>(i)) : ScalarValue(i));
  return t;
}

// out = row(x, ...) over vectors of one size.
struct Pointwise : ProgramBuilder {
  Pointwise(std::string_view row, Dtype dtype, size_t operands, std::optional<Dtype> target = std::nullopt) {
    Dim n = symbol("n");
    const Dtype result = result_dtype(*find_scalar(row), dtype, target);
    std::vector<BufferId> in;
    for (size_t i = 0; i < operands; ++i) in.push_back(input("x" + std::to_string(i), dtype, {n}));
    BufferId out = temporary("out", result, {n});
    NestBuilder b = nest(std::string(row));
    Dim i = b.axis(n);
    std::vector<Ssa> v;
    for (BufferId id : in) v.push_back(load(b, id, {i}));
    Ssa made = operands == 1 ? b.scalar(row, dtype, {v[0]}, target.value_or(dtype))
                             : b.scalar(row, dtype, {v[0], v[1]}, target.value_or(dtype));
    b.store(out, {i}, made);
    add(b);
    output(out);
  }
};

// out = a @ b, accumulated in f32.
struct Matmul : ProgramBuilder {
  Matmul() {
    Dim m = symbol("m"), k = symbol("k"), n = symbol("n");
    BufferId a = input("a", Dtype::f32, {m, k}), c = input("b", Dtype::f32, {k, n}),
             out = temporary("out", Dtype::f32, {m, n});
    NestBuilder b = nest("mm");
    Dim i = b.axis(m), j = b.axis(n), r = b.reduction(k);
    Ssa product = b.scalar("mul", Dtype::f32, {load(b, a, {i, r}), load(b, c, {r, j})});
    b.store(out, {i, j}, b.reduce(Combine::sum, Dtype::f32, {product}));
    add(b);
    output(out);
  }
};

}  // namespace lenz::loops::test
