// Random draws: the results' types, and the parameters that eager refuses.
#include "compiler/ops/rules/creation.h"
#include "compiler/ops/rules/elementwise.h"
#include "compiler/ops/rules/layout.h"

namespace lenz::rule {

namespace {
// Numbers of the dtype, and what lies between them. Eager does not look where there are no complex numbers to draw.
void require_interval(Infer& in) {
  const Type& self = in.tensor(0);
  if (is_complex(self.dtype) && in.is_zero(numel(self.sizes()))) return;
  const double from = in.real("from"), to = in.real("to");
  const FiniteRange range = finite_range(self.dtype);
  for (double bound : {from, to})
    in.require(bound >= range.low && bound <= range.high, "a bound is no finite number of the dtype");
  in.require(from <= to, "an empty range");
  in.require(to - from <= range.high, "a range that is wider than the dtype");
}

// What a distribution's parameters must be, by the names that ATen gives them.
void require_parameters(Infer& in) {
  auto real = [&](std::string_view name) { return in.has_param(name) && in.arg(in.at(name)).kind != ArgKind::value; };
  if (real("p")) in.require(in.real("p") >= 0 && in.real("p") <= 1, "a probability out of [0, 1]");
  if (real("std")) in.require(in.real("std") >= 0, "a negative deviation");
  if (real("lambd")) in.require(in.real("lambd") > 0, "a rate that is not positive");
  if (real("sigma")) in.require(in.real("sigma") > 0, "a scale that is not positive");
  bool between = in.has_param("from") && in.has_param("to");
  if (between && in.op().schema.params[in.at("from")].type.kind == ParamKind::real) require_interval(in);
  if (!in.has_param("to") || in.op().schema.params[in.at("to")].type.kind != ParamKind::integer) return;
  Dim low = in.has_param("from") ? in.integer("from") : Dim(0);
  if (in.given("to")) in.require(lt(low, in.integer("to")), "an empty range");
}

TensorType contiguous_like_self(const Type& t) { return contiguous_tensor(t.dtype, t.sizes(), t.device); }
}  // namespace

void draw_like(Infer& in) {
  require_parameters(in);
  TensorType t = in.tensor(0).tensor();
  t.strides = preserved_strides(in, in.tensor(0));
  t.offset = 0;
  in.result(t);
}

void geometric(Infer& in) {
  in.require(in.real("p") > 0 && in.real("p") < 1, "a probability out of (0, 1)");
  draw_like(in);
}

void log_normal(Infer& in) {
  in.require(in.real("std") > 0, "a deviation that is not positive");
  draw_like(in);
}

void draw_into(Infer& in) {
  require_parameters(in);
  in.require(!overlaps_itself(in, in.tensor(0)), "self's elements share memory locations");
  in.alias(in.tensor(0).tensor(), 0);
}

void bernoulli(Infer& in) {
  require_parameters(in);
  if (in.op().variant == VariantKind::out)
    in.require(dtypes::real_and_bool.has(in.tensor("out").dtype), "draws only numbers that are real");
  in.result(contiguous_like_self(in.tensor(0)));
}

void bernoulli_by_tensor(Infer& in) {
  const Type &self = in.tensor(0), &p = in.tensor("p");
  if (std::ranges::any_of(self.sizes(), [](Dim d) { return d.is(0); })) return draw_like(in);  // eager looks no further
  in.require(dtypes::floats.has(p.dtype), "p holds no probabilities");
  DimVec shape = broadcast(in, self.sizes(), p.sizes());
  in.require(shape.size() == self.rank(), "p does not expand to self");
  for (size_t i = 0; i < shape.size(); ++i) in.require(eq(shape[i], self.sizes()[i]), "p does not expand to self");
  draw_like(in);
}

void normal(Infer& in) {
  require_parameters(in);
  const Type& first = in.tensor(in.op().schema.params[0].type.kind == ParamKind::tensor ? 0 : 1);
  DimVec sizes(first.sizes());
  if (in.op().schema.params[0].type.kind == ParamKind::tensor &&
      in.op().schema.params[1].type.kind == ParamKind::tensor) {
    Dtype deviation = in.tensor(1).dtype;
    in.require(!is_complex(deviation) && !is_float8(deviation), "a deviation is a real number");
    sizes = broadcast(in, sizes, in.tensor(1).sizes());
  }
  in.result(contiguous_tensor(first.dtype, sizes, first.device));
}

void poisson(Infer& in) { in.result(contiguous_like_self(in.tensor(0))); }

void binomial(Infer& in) {
  const Type &count = in.tensor(0), &p = in.tensor("prob");
  in.require(count.dtype == p.dtype, "count and prob have different dtypes");
  DimVec shape = broadcast(in, count.sizes(), p.sizes());
  in.require(shape.size() == count.rank(), "prob does not expand to count");
  for (size_t i = 0; i < shape.size(); ++i) in.require(eq(shape[i], count.sizes()[i]), "prob does not expand to count");
  in.result(contiguous_like_self(count));
}

namespace {
bool is_empty(Infer& in, const Type& t) {
  for (Dim s : t.sizes())
    if (in.is_zero(s)) return true;
  return false;
}

// input.mul(noise), where the noise is like the input.
TensorType masked(Infer& in, const Type& input, const TensorType& noise) {
  Operands operands{{&input, Dtype::b8}, {in.context().tensor(noise), Dtype::b8}};
  return elementwise_result(in, operands, input.dtype);
}
}  // namespace

void dropout_of(Infer& in, bool channels) {
  const Type& input = in.tensor(0);
  double p = in.real("p");
  in.require(p >= 0 && p <= 1, "a probability out of [0, 1]");
  if (p == 0 || !in.boolean("train") || is_empty(in, input)) return in.alias(input.tensor(), 0);
  const Type& copied = copied_if_lazy(in, 0);
  TensorType noise = copied.tensor();
  noise.strides = preserved_strides(in, copied);
  noise.offset = 0;
  in.require(p == 1 || is_floating(input.dtype), "needs floats to scale up");
  in.require(!is_float8(input.dtype), "float8 is not supported");
  if (channels && p != 1) {
    in.require(input.rank() >= 2, "needs at least two dims");
    for (size_t i = 2; i < noise.rank(); ++i) noise.sizes[i] = 1;
    noise = contiguous_like(noise);
  }
  if (p == 1) noise = contiguous_tensor(input.dtype, {}, input.device);
  in.result(masked(in, copied, noise));
}

void native_dropout(Infer& in) {
  const Type& input = copied_if_lazy(in, 0);
  TensorType mask = input.tensor();
  mask.strides = preserved_strides(in, input);
  mask.offset = 0;
  if (is_empty(in, input)) {
    is_read_lazily(in, 0) ? in.result(input.tensor()) : in.alias(input.tensor(), 0);
    return in.result(mask);
  }
  mask.dtype = Dtype::b8;
  bool train = !in.given("train") || in.boolean("train");
  if (train) {
    in.require(in.real("p") >= 0 && in.real("p") <= 1, "a probability out of [0, 1]");
    in.require(is_inexact(input.dtype) && !is_float8(input.dtype), "needs floats to scale up");
  }
  TensorType output = mask;
  output.dtype = input.dtype;
  in.result(train ? masked(in, input, mask) : output);
  in.result(mask);
}

void multinomial(Infer& in) {
  const Type& weights = in.tensor(0);
  in.require(weights.rank() == 1 || weights.rank() == 2, "needs one or two dims of weights");
  Dim samples = in.integer("num_samples");
  in.require(gt(samples, 0), "needs a positive number of samples");
  if (weights.rank() == 1 || !in.same(weights.sizes()[0], 0))  // of no rows nothing is drawn
    in.require(gt(weights.sizes().back(), 0), "there is nothing to draw from");
  if (!in.boolean("replacement")) in.require(le(samples, weights.sizes().back()), "more samples than there are");
  DimVec sizes(weights.sizes());
  sizes.back() = samples;
  in.result(contiguous_tensor(Dtype::i64, sizes, weights.device));
}

}  // namespace lenz::rule
