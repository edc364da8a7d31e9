// Rows that are one scalar primitive: every element of the result from the elements that stand below it, in the dtype
// that the operands promote to.
#include <cmath>

#include "compiler/graph/pattern_functions.h"
#include "compiler/graph/whole_numbers.h"
#include "compiler/lower/coordinates.h"
#include "compiler/lower/lowering.h"
#include "compiler/ops/rules/elementwise.h"

namespace lenz::lower {

namespace {
bool is_number(Lowering& lowering, const Arg& a) { return !a.is_value() || !lowering.type(a.value()).is_tensor(); }

// The dtype that the operands meet in, as the op's type rule promotes.
Dtype compute_dtype(Lowering& lowering, const Node& node, const ScalarRow& row) {
  Graph& graph = lowering.graph();
  Infer in(graph.shared_context(), graph.ops(), *node.op, node.arguments(), lowering.graph().types(),
           graph.assumptions);
  rule::Operands operands;
  size_t first = row.operands == OperandRule::condition_first || row.operands == OperandRule::integer_first ? 1 : 0;
  size_t end = static_cast<size_t>(row.arity) - (row.operands == OperandRule::integer_last ? 1 : 0);
  for (size_t i = first; i < end; ++i) {
    const Arg& a = node.args[i];
    if (is_number(lowering, a)) {
      operands.push_back(rule::number_operand(in, a));
    } else {
      operands.push_back({&lowering.type(a.value()), Dtype::b8});
    }
  }
  return node.op->has(Trait::makes_float) ? rule::float_result_type(in, operands) : rule::result_type(in, operands);
}

// Whether the operand that this parameter takes is a number that a program's text has: a constant need not be rounded.
bool is_whole_constant(const Node& node, size_t param) {
  const Arg& a = node.args[param];
  return !a.is_value() && !(a.kind == ArgKind::integer && a.symbolic) && takes_whole(*node.op, param);
}

// Whether an operand is one value of another dtype, which half precision is not to round (takes_whole), and no
// constant by itself.
bool keeps_number(Lowering& lowering, const Node& node, const ScalarRow& row, Dtype compute) {
  if (compute != Dtype::f16 && compute != Dtype::bf16) return false;
  for (size_t i = 0; i < static_cast<size_t>(row.arity); ++i) {
    if (!takes_whole(*node.op, i)) continue;
    const Arg& a = node.args[i];
    if (is_whole_constant(node, i) && node.op->schema.find("alpha") < 0) continue;
    if (is_number(lowering, a)) return true;
    const Type& type = lowering.type(a.value());
    if (type.dtype != compute && numel(type.sizes()).is(1)) return true;
  }
  return false;
}

// What eager computes in place of a power by these numbers, if they are numbers and no tensors: a root, of -0 and -inf
// too, and of complex numbers products and reciprocals.
struct PowerByNumber {
  double exponent;
  Ssa (*made)(NestBuilder& nest, Ssa x);
  DtypeSet dtypes;
};
constexpr DtypeSet kRoots = dtypes::wide_floats | dtypes::bfloat | dtypes::complexes;
constexpr PowerByNumber kPowersByNumbers[] = {
    {0.5, [](NestBuilder& nest, Ssa x) { return nest.apply("sqrt", {x}); }, kRoots},
    {-0.5, [](NestBuilder& nest, Ssa x) { return nest.apply("rsqrt", {x}); }, kRoots},
    {-1, [](NestBuilder& nest, Ssa x) { return nest.apply("reciprocal", {x}); }, dtypes::complexes},
    {-2, [](NestBuilder& nest, Ssa x) { return nest.apply("reciprocal", {nest.apply("mul", {x, x})}); },
     dtypes::complexes},
    {0, [](NestBuilder& nest, Ssa x) { return nest.constant(nest.dtype(x), Arg::of_real(1)); }, dtypes::complexes},
    {1, [](NestBuilder&, Ssa x) { return x; }, dtypes::complexes},
    {2, [](NestBuilder& nest, Ssa x) { return nest.apply("mul", {x, x}); }, dtypes::complexes},
    {3, [](NestBuilder& nest, Ssa x) { return nest.apply("mul", {nest.apply("mul", {x, x}), x}); }, dtypes::complexes}};

class PointNest {
 public:
  PointNest(Lowering& lowering, const Node& node, loops::BufferId result)
      : lowering_(lowering), nest_(lowering.nest(node.op->full_name, node.origin)) {
    for (Dim size : lowering.program.buffers[result].type.sizes)
      at_.push_back(nest_.axis(size, loops::AxisKind::parallel));
  }
  NestBuilder& nest() { return nest_; }
  const DimVec& at() const { return at_; }

  Ssa operand(const Arg& a, Dtype dtype, bool whole = false) {
    if (!a.is_value()) return whole ? nest_.whole_constant(dtype, a) : nest_.constant(dtype, a);
    const Type& type = lowering_.type(a.value());
    if (type.kind == TypeKind::sym_int) return nest_.constant(dtype, Arg::of_dim(type.offset));
    loops::BufferId buffer = lowering_.buffer(a.value());
    DimVec at = broadcast_coordinates(lowering_.program, at_, lowering_.program.buffers[buffer].type.sizes);
    return nest_.converted(nest_.load(buffer, at), dtype);
  }

 private:
  Lowering& lowering_;
  NestBuilder nest_;
  DimVec at_;
};

bool is_whole(Lowering& lowering, const Arg& number) {
  return number.is_value() ? lowering.type(number.value()).kind == TypeKind::sym_int
                           : number.kind == ArgKind::integer || number.kind == ArgKind::boolean;
}

// Of a number that only a run knows, whichever it is. `rounded`: the dtype that eager computes in.
Ssa power_by_number(Lowering& lowering, NestBuilder& nest, const Arg& exponent, std::span<const Ssa> operands,
                    Dtype rounded) {
  const Dtype compute = nest.dtype(operands[1]);
  const bool open = exponent.is_value() || (exponent.kind == ArgKind::integer && exponent.symbolic);
  std::optional<Ssa> power;
  for (const PowerByNumber& by : kPowersByNumbers) {
    if (!by.dtypes.has(rounded) || (is_whole(lowering, exponent) && std::nearbyint(by.exponent) != by.exponent))
      continue;
    if (open) {
      if (!power) power = nest.apply("pow", {operands[0], operands[1]});
      const Ssa is_it = nest.apply("eq", {operands[1], nest.constant(compute, Arg::of_real(by.exponent))});
      power = nest.apply("where", {is_it, by.made(nest, operands[0]), *power});
    } else if (exponent.kind == ArgKind::complex ? *exponent.complex_value == by.exponent
                                                 : number_of(exponent) == by.exponent) {
      return by.made(nest, operands[0]);
    }
  }
  return power ? *power : nest.apply("pow", {operands[0], operands[1]});
}
}  // namespace

void lower_pointwise(Lowering& lowering, const Node& node, loops::BufferId result) {
  const ScalarRow& row = *find_scalar(node.op->scalar);
  PointNest point(lowering, node, result);
  NestBuilder& nest = point.nest();
  Dtype compute = compute_dtype(lowering, node, row);
  if (is_float8(compute) && !row.dtypes.has(compute)) compute = Dtype::f32;   // float8 is for storage
  if (compute == Dtype::b8 && !row.dtypes.has(compute)) compute = Dtype::u8;  // 0 and 1
  const Dtype rounded = compute;
  if (keeps_number(lowering, node, row, compute)) compute = Dtype::f32;
  SmallVec<Ssa, 3> operands;
  for (int i = 0; i < row.arity; ++i)
    operands.push_back(point.operand(node.args[static_cast<size_t>(i)], operand_dtype(row, compute, i),
                                     is_whole_constant(node, static_cast<size_t>(i))));
  // A factor of the second operand.
  if (int alpha = node.op->schema.find("alpha"); alpha >= 0) {
    const Arg& by = node.args[static_cast<size_t>(alpha)];
    bool one = (by.kind == ArgKind::integer && !by.symbolic && by.i == 1) || (by.kind == ArgKind::real && by.d == 1);
    // One times a complex number is not always that number: the parts of an infinite one meet 0.
    if (!one || is_complex(compute)) operands[1] = nest.apply("mul", {operands[1], point.operand(by, compute)});
  }
  Dtype target = lowering.program.buffers[result].type.dtype;
  bool asks = row.result == ResultRule::target;
  Ssa value = row.name == "pow" && is_number(lowering, node.args[1])
                  ? power_by_number(lowering, nest, node.args[1], operands, rounded)
                  : nest.apply(row, operands, asks ? std::optional(target) : std::nullopt);
  if (compute != rounded) value = nest.converted(value, rounded);
  nest.store(result, point.at(), value, loops::StoreMode::assign);
  nest.finish(*lowering.block);
}

}  // namespace lenz::lower
