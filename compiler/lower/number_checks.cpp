// Numbers that only the run knows, where eager refuses those that a dtype can't hold (number_fits.h): so does the run.
// What sizes tell of a number type rules ask.
#include <limits>

#include "compiler/graph/number_conversion.h"
#include "compiler/lower/lowering.h"

namespace lenz::lower {

namespace {
Ssa all_of(NestBuilder& nest, Ssa a, Ssa b) { return nest.apply("logical_and", {a, b}); }
Ssa any_of(NestBuilder& nest, Ssa a, Ssa b) { return nest.apply("logical_or", {a, b}); }
Ssa negated(NestBuilder& nest, Ssa a) { return nest.apply("logical_not", {a}); }

bool takes_all(NumberFit::Into into, Dtype result) {
  const std::optional<Dtype> dtype = converted_to(into, result);
  return !dtype || *dtype == Dtype::b8 || to_real(*dtype) == Dtype::f64;
}

// Whether it is an element of a tensor whose finite numbers are all among those of the dtype it is converted to. Each
// check that is left keeps what stands before and behind it from being one kernel.
bool always_fits(const Graph& graph, ValueId number, NumberFit::Into into, Dtype result) {
  const NodeId producer = graph.value(number).producer;
  if (producer == kNone) return false;
  const Node& from = graph.node(producer);
  if (from.op->accuracy != Accuracy::exact || from.arg_count != 1 || !from.args[0].is_value()) return false;
  const Type& read = graph.type(from.args[0].value());
  const std::optional<Dtype> dtype = converted_to(into, result);
  if (!read.is_tensor() || !dtype || is_integral(*dtype, true) || *dtype == Dtype::f8e4m3) return false;
  return finite_range(read.dtype).low >= finite_range(*dtype).low &&
         finite_range(read.dtype).high <= finite_range(*dtype).high;
}

// Whether eager does not convert this real number on the way to such a result.
Ssa is_refused(NestBuilder& nest, Ssa number, NumberFit::Into into, Dtype result) {
  auto real = [&](double x) { return nest.constant(Dtype::f64, Arg::of_real(x)); };
  if (takes_all(into, result)) return nest.constant(Dtype::b8, Arg::of_bool(false));
  const std::optional<Dtype> dtype = converted_to(into, result);
  const FiniteRange range = finite_range(*dtype);
  if (is_integral(*dtype, false)) {
    if (into == NumberFit::truncated) number = nest.apply("trunc", {number});
    return negated(
        nest, all_of(nest, nest.apply("le", {real(range.low), number}), nest.apply("le", {number, real(range.high)})));
  }
  const Ssa size = nest.apply("abs", {number}), beyond = nest.apply("lt", {real(range.high), size});
  if (*dtype == Dtype::f8e4m3) return beyond;  // it has no infinities
  return all_of(nest, beyond, nest.apply("lt", {size, real(std::numeric_limits<double>::infinity())}));
}
}  // namespace

// Whether there is something, as far as sizes decide it.
Ssa Lowering::has_something(NestBuilder& nest, const Node& node, const NumberFit::Something& what) {
  const Arg& a = node.args[what.param];
  auto beyond = [&](Dim d) { return nest.condition(gt(d, what.beyond)); };
  if (a.kind == ArgKind::int_list) {
    Ssa any = nest.constant(Dtype::b8, Arg::of_bool(false));
    for (Dim d : a.dim_list()) any = any_of(nest, any, beyond(d));
    return any;
  }
  if (a.is_value() && type(a.value()).is_tensor()) return beyond(numel(type(a.value()).sizes()));
  return beyond(a.is_value() ? type(a.value()).offset : a.dim());
}

void Lowering::check_numbers(const Node& node) {
  if (node.result_count == 0 || !type(node.result()).is_tensor()) return;
  const Type& result = type(node.result());
  for (const NumberFit& fit : node.op->number_fits) {
    const Arg& number = node.args[fit.param];
    if (!number.is_value() || type(number.value()).kind != TypeKind::sym_float) continue;
    auto fits = [&](NumberFit::Into into) { return always_fits(*graph_, number.value(), into, result.dtype); };
    if (takes_all(fit.into, result.dtype)) continue;
    if (fits(fit.into) && (fit.into != NumberFit::filled || fits(NumberFit::element))) continue;
    const loops::BufferId holds = add_buffer("fits", Dtype::b8, {});
    NestBuilder nest = this->nest("fits", node.origin);
    const Ssa x = nest.load(buffer(number.value()), {});
    Ssa refused = is_refused(nest, x, fit.into, result.dtype);
    if (fit.into == NumberFit::filled) {
      const Ssa one = nest.condition(eq(numel(result.sizes()), 1));
      refused = any_of(nest, all_of(nest, one, is_refused(nest, x, NumberFit::element, result.dtype)),
                       all_of(nest, negated(nest, one), refused));
    }
    for (const NumberFit::Something& what : fit.where) refused = all_of(nest, refused, has_something(nest, node, what));
    nest.store(holds, {}, negated(nest, refused), loops::StoreMode::assign);
    nest.finish(*block);
    loops::Check check;
    check.holds = holds;
    check.message = node.op->full_name + ": `" + node.op->schema.params[fit.param].name + "`: a number out of range";
    check.origin = node.origin;
    block->nodes.push_back({std::move(check)});
  }
}

}  // namespace lenz::lower
