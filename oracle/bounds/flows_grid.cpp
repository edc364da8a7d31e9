#include "oracle/bounds/flows_grid.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include "compiler/scalar/rounding.h"

namespace lenz::oracle::flow {

namespace {
enum Mode : int64_t { kLinear, kNearest, kCubic };
enum Padding : int64_t { kZeros, kBorder, kReflection };

// Where a sample is taken, and how far off that may be: each position is a box.
struct Positions {
  size_t param = 0;                // the operand that says it: from -1 to 1 along each dim, the last dim first
  at::Tensor in_grid;              // in that operand's own units, for each coordinate
  std::vector<at::Tensor> by_dim;  // in elements, from the last dim on: [N, 1, places...]
  at::Tensor farthest;             // of these
  Mode mode = kLinear;
  Padding padding = kZeros;
};

Positions positions_of(FlowContext& in, const Call& call, const at::Tensor& from, double unit) {
  const auto number = [&](const char* name) { return call.args[static_cast<size_t>(call.op->schema.find(name))].i; };
  Positions p;
  p.param = static_cast<size_t>(call.op->schema.find("grid"));
  p.mode = static_cast<Mode>(number("interpolation_mode"));
  p.padding = static_cast<Padding>(number("padding_mode"));
  const Planes grid = in.store.read(call.values[call.args[p.param].value()]->value.toTensor());
  // ((x + 1) size - 1) / 2: three roundings of no more than (|x| + 1) size / 2; what reflects takes three more.
  const double roundings = p.padding == kReflection ? 6.25 : 3.25;
  p.in_grid = roundings * unit * (magnitude(grid.value) + 1);
  if (grid.error.defined()) p.in_grid = p.in_grid + grid.error;
  for (int64_t d = 0; d < grid.value.size(-1); ++d) {
    // One that overflows on its way is no number in some kernels.
    constexpr double kSlack = 16;
    const double elements = static_cast<double>(from.size(-1 - d));
    const at::Tensor most = (magnitude(grid.value.select(-1, d)) + 1) * (elements * kSlack);
    const at::Tensor leaves_range = most.ge(largest_finite(to_real(call.result_dtypes[0]))).unsqueeze(1);
    const at::Tensor e = (p.in_grid.select(-1, d) * (0.5 * elements)).unsqueeze(1);
    p.by_dim.push_back(nothing_where(at::isfinite(e).logical_not().logical_or(leaves_range), e, kInf));
    p.farthest = p.farthest.defined() ? at::maximum(p.farthest, p.by_dim.back()) : p.by_dim.back();
  }
  return p;
}

// How far a function that is constant from one jump to the next moves within the positions' boxes: one narrower than an
// element has each constant at some corner.
at::Tensor at_corners(FlowContext& in, const Call& call, const Positions& positions, const at::Tensor& value) {
  const auto dims = static_cast<int64_t>(positions.by_dim.size());
  at::Tensor farthest = at::zeros(value.sizes(), at::kDouble);
  for (int64_t corner = 0; corner < int64_t{1} << dims; ++corner) {
    std::vector<double> signs;
    for (int64_t d = 0; d < dims; ++d) signs.push_back(corner >> d & 1 ? 1 : -1);
    auto moved = run_on(in, call, call.args, [&](const Leaf& leaf) {
      if (leaf.param != positions.param) return leaf.value;
      return leaf.value + positions.in_grid * at::tensor(signs, at::kDouble);
    });
    if (moved.empty()) return at::full(value.sizes(), kInf, at::kDouble);
    at::Tensor off = at::abs(moved[0] - value);
    farthest = at::maximum(farthest, nothing_where(off.isnan(), off, kInf));
  }
  return farthest;
}

// As far as positions may be off for neighbours to be known.
constexpr double kReach = 2;

// The largest element within `radius` of each.
at::Tensor around(at::Tensor t, int64_t radius) {
  const auto dims = static_cast<size_t>(t.dim() - 2);
  for (size_t d = 0; d < dims; ++d) {  // one dim after the other
    std::vector<int64_t> side(dims, 1), ones(dims, 1), pad(dims, 0);
    side[d] = 2 * radius + 1;
    pad[d] = radius;
    t = dims == 2 ? at::max_pool2d(t, side, ones, pad) : at::max_pool3d(t, side, ones, pad);
  }
  return t;
}

// The most that elements beside each other along `dim` differ there, for each of both; what is outside may be zero.
at::Tensor steps_along(const at::Tensor& t, int64_t dim, bool zeros_outside) {
  const int64_t n = t.size(dim);
  at::Tensor steps = at::zeros(t.sizes(), at::kDouble);
  const auto meet = [&](const at::Tensor& part, const at::Tensor& step) { part.copy_(at::maximum(part, step)); };
  if (n > 1) {
    const at::Tensor between = at::abs(t.narrow(dim, 1, n - 1) - t.narrow(dim, 0, n - 1));
    meet(steps.narrow(dim, 0, n - 1), between);
    meet(steps.narrow(dim, 1, n - 1), between);
  }
  if (zeros_outside)
    for (int64_t end : {int64_t{0}, n - 1}) meet(steps.select(dim, end), at::abs(t.select(dim, end)));
  return steps;
}
}  // namespace

Sampled errors_by_grid(FlowContext& in, const Call& call, const Planes& operand, const at::Tensor& value, double unit) {
  const Positions positions = positions_of(in, call, operand.value, unit);
  const bool cubic = positions.mode == kCubic, zeros = positions.padding == kZeros;
  std::vector<int64_t> places;
  for (int64_t k = 2; k < operand.value.dim(); ++k) places.push_back(k);
  const at::Tensor elements = operand.value.to(at::kDouble);
  const at::Tensor own = operand.error.defined() ? operand.error : at::zeros(elements.sizes(), at::kDouble);
  const at::Tensor size = at::abs(elements) + own;
  // The largest around each position, wherever in its box that is; where it is wider than is looked at, of the whole
  // image and channel.
  std::vector<Arg> plainly = call.args;
  const auto set = [&](const char* name, int64_t to) {
    plainly[static_cast<size_t>(call.op->schema.find(name))] = Arg::of_int(to);
  };
  set("interpolation_mode", kLinear);
  if (zeros) set("padding_mode", kBorder);
  const at::Tensor known = positions.farthest <= kReach;
  // Beside the element below a position lies one above, of cubic means two on either side.
  const bool close = at::all(positions.farthest <= 1).item<bool>();
  const int64_t radius = (close ? 1 : static_cast<int64_t>(kReach)) + (cubic ? 2 : 1);
  const auto near = [&](const at::Tensor& plane) {
    const std::vector<at::Tensor> made = run_on(in, call, plainly, [&](const Leaf& leaf) -> at::Tensor {
      return leaf.param == positions.param ? leaf.value : around(plane, radius);
    });
    const at::Tensor everywhere = at::amax(plane, places, true);
    return made.empty() ? everywhere.expand(value.sizes()) : at::where(known, made[0], everywhere);
  };
  Sampled s;
  s.jumps = positions.mode == kNearest;
  s.largest = near(size);
  // Weights add up to one; those of cubic means have signs, and come to less than two without them.
  const double all_weights = cubic ? 2 : 1;
  constexpr double kSlack = 1.25;
  const at::Tensor brought = near(own) * (all_weights * kSlack);
  if (s.jumps) {
    s.error = brought + at_corners(in, call, positions, value);
    s.error = nothing_where((positions.farthest < 0.5).logical_not().expand(value.sizes()), s.error, kInf);
    return s;
  }
  // A mean moves with its position by no more than its neighbours differ from each other, a cubic one by five times
  // that: its weights' slopes times how far each element is from the next to the position.
  const double slope = cubic ? 6 : 1;
  at::Tensor moved = at::zeros(value.sizes(), at::kDouble);
  for (size_t d = 0; d < positions.by_dim.size(); ++d)
    moved = moved + near(steps_along(elements, -1 - static_cast<int64_t>(d), zeros)) * positions.by_dim[d] * slope;
  // And is a mean of the image's elements wherever it lies.
  at::Tensor least = at::amin(elements, places, true), most = at::amax(elements, places, true);
  if (zeros) least = least.clamp_max(0), most = most.clamp_min(0);
  const at::Tensor anywhere =
      cubic ? (2 * all_weights * (most - least)).expand(value.sizes()) : at::maximum(most - value, value - least);
  moved = at::minimum(moved, nothing_where(anywhere.isnan(), anywhere, kInf));
  moved = nothing_where(at::isfinite(positions.farthest).logical_not().expand(value.sizes()), moved, kInf);
  // Each dim's weights are off by a rounding each, each of their products and of the sum's terms and parts by another:
  // 9 in two dims, 16 in three. A cubic weight is a polynomial of 26 at most, 68 for the four along a dim.
  const double roundings = cubic ? 200 : positions.by_dim.size() == 2 ? 10 : 18;
  s.error = brought + moved + roundings * unit * s.largest;
  return s;
}

}  // namespace lenz::oracle::flow
