#include "oracle/bounds/sum_roundings.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "compiler/scalar/rounding.h"

namespace lenz::oracle {

using namespace flow;

at::Tensor most_of_sums(const at::Tensor& far, const at::Tensor& near, const at::Tensor& size, const at::Tensor& n,
                        Dtype sums) {
  at::Tensor of_one_sign = (near + size) * 0.5 + (far - near).clamp_min(0);
  return at::minimum(of_one_sign, far) + gamma(n, unit_of(sums)) * far;
}

namespace {
constexpr double kSlack = 1 + 0x1p-10;  // what roundings bring to a part

// Roundings of a sum of n terms, counted as roundings of the greatest of its parts, `most`. A part of m terms is no
// more than m times the greatest of them, and of the n - 1 parts of any tree n - m at most have more than m terms: so
// where m of them stay below most's power of two, m - 1 parts round by half as much at most, and of these m / 2 - 1 by
// a quarter.
at::Tensor roundings_of(const at::Tensor& n, const at::Tensor& most, double greatest, Dtype sums) {
  if (!(greatest > 0) || !std::isfinite(greatest)) return n;
  const at::Tensor power = half_place(most, sums) / unit_of(sums);
  const at::Tensor below = nothing_where(n * unit_of(sums) > 0x1p-10, at::floor(power / (greatest * kSlack)), 0);
  const at::Tensor few = at::minimum(below, n);
  return n - (few - 1).clamp_min(0) * 0.5 - (at::floor(few * 0.5) - 1).clamp_min(0) * 0.25;
}

// --- beside the grid
// Let g be the last place of the largest parts, 2^e the least size that these have, and no term be more than 2^(e-1).
// Added alone to a part that is a multiple of g, or of g / 2, and gives one of the largest, a term rounds by what it is
// beside the next multiple of g, or of g by a half: an amount of its own, whatever the order. Other roundings are g / 2
// at most, and are paid for by the terms that round by no amount of their own, q = g (1/4 + 1/32) each:
// - where what is rounded is not among the largest it is g / 4 at most;
// - call a part small if it has fewer than k terms, k times the greatest being 2^(e-2): its m - 1 roundings are g / 16
// at
//   most, so that m q pay for these and for one of g / 2 where it is added, or where two such become a large one;
// - two parts that are not small are added n / k - 1 times at most: these roundings are counted beside all others;
// - a sum that is kept wider than the format rounds nothing, and what its terms did not spend pays where that is added.
// Where all terms have one sign a part of less than 2^e grows beyond it once only; all other times it is g that the
// part is a multiple of.
constexpr double kShare = 0.25 + 0x1p-5;
constexpr int64_t kManyTerms = 1 << 18;
constexpr int64_t kFewTerms = 32;
constexpr size_t kGrids = 8;

// By how much elements are rounded up at most, or down, where each is added to a multiple of g, or of g / 2 too.
at::Tensor beside_grid(const Planes& p, double g, bool up, bool halves) {
  const at::Tensor value = p.value.to(at::kDouble);
  at::Tensor place = value * ((up ? -1 : 1) / g);
  place = place - at::round(place);
  const at::Tensor within = p.error.defined() ? p.error / g : zeros_like_plane(value);
  auto reaches = [&](const at::Tensor& from) {  // an interval that meets a tie may be rounded either way
    return nothing_where(at::abs(from) + within >= 0.5, from + within, 0.5);
  };
  at::Tensor most = reaches(place);
  if (halves) most = at::maximum(most, reaches(at::where(place > 0, place - 0.5, place + 0.5)));
  at::Tensor none = value == 0;
  if (p.error.defined()) none = none.logical_and(p.error == 0);
  return nothing_where(none, most.clamp_min(kShare) * g, 0);
}

bool have_one_sign(FlowContext& in, const Call& call) {
  bool above = true, below = true;
  for (const at::Tensor& t : leaves(call.values)) {
    const Planes p = in.store.read(t);
    const at::Tensor v = p.value.to(at::kDouble), e = p.error.defined() ? p.error : zeros_like_plane(v);
    above = above && at::all(v - e >= 0).item<bool>();
    below = below && at::all(v + e <= 0).item<bool>();
  }
  return above || below;
}

int64_t terms_in(const Call& call) {
  int64_t terms = 0;
  for (const at::Tensor& t : leaves(call.values)) terms += t.numel();
  return terms;
}
}  // namespace

at::Tensor lost_in_sums(FlowContext& in, const Call& call, const SumOf& sum, size_t result) {
  const double unit = unit_of(sum.carried), greatest = sum.greatest * kSlack;
  const at::Tensor half = half_place(sum.most, sum.carried);
  at::Tensor lost = roundings_of(sum.n, sum.most, sum.greatest, sum.carried) * half;
  if (!(greatest > 0) || !std::isfinite(greatest) || terms_in(call) > kManyTerms) return lost;
  const at::Tensor counts = (sum.n >= kFewTerms)
                                .logical_and(half >= 2 * unit * greatest)
                                .logical_and(half >= smallest_subnormal(sum.carried))
                                .logical_and(half.isfinite());
  const at::Tensor some = half.masked_select(counts).contiguous();
  const std::set<double> halves(some.const_data_ptr<double>(), some.const_data_ptr<double>() + some.numel());
  if (halves.empty() || halves.size() > kGrids) return lost;
  const bool one_sign = have_one_sign(in, call);
  const std::vector<Arg> args = with_numbers(call, [](double x) { return x; });
  for (const double g_half : halves) {
    auto added = [&](bool up) {
      return run_on(in, call, args, [&](const Leaf& leaf) {
        return flows(in, call, leaf) ? beside_grid(in.store.read(leaf.value), 2 * g_half, up, !one_sign) : leaf.value;
      });
    };
    const std::vector<at::Tensor> up = added(true), down = added(false);
    if (up.size() <= result || down.size() <= result) return lost;
    const double few = std::max(2.0, std::ceil(g_half / unit / (4 * greatest)));
    const at::Tensor beside = (at::floor(sum.n / few) + (one_sign ? 1 : 0)) * g_half;
    const at::Tensor all = at::maximum(up[result], down[result]) * kSlack + beside;
    lost = at::where(counts.logical_and(half == g_half), at::minimum(lost, all), lost);
  }
  return lost;
}

}  // namespace lenz::oracle
