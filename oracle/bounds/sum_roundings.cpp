#include "oracle/bounds/sum_roundings.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <vector>

#include "compiler/graph/pattern_functions.h"
#include "compiler/scalar/rounding.h"

namespace lenz::oracle {

using namespace flow;

at::Tensor most_of_sums(const at::Tensor& far, const at::Tensor& near, const at::Tensor& size, const at::Tensor& n,
                        Dtype sums) {
  at::Tensor of_one_sign = (near + size) * 0.5 + (far - near).clamp_min(0);
  return at::minimum(of_one_sign, far) + gamma(n, unit_of(sums)) * far;
}

at::Tensor lesser_of_sums(const at::Tensor& far, const at::Tensor& near, const at::Tensor& size, const at::Tensor& n) {
  return (near - size).clamp_min(0) * 0.5 + (far - near).clamp_min(0) + gamma(n, 0x1p-53) * far;
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

// By how much elements are rounded up at most, or down, where each is added to a multiple of g, or of g / 2 too; where
// that is less than `share` of g, that. Nothing for what is zero for certain.
at::Tensor beside_grid(const Planes& p, double g, bool up, bool halves, double share) {
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
  return nothing_where(none, most.clamp_min(share) * g, 0);
}

// --- level by level
// Let all terms have one sign, for now, and add up to T < 2^(e+1); level i are the parts from 2^(e-i) on, that round to
// multiples of g_i = g / 2^i. What is said above counts every term as if it met one of level 0. But few can: one part
// of 2^(e-i) or more has come together of terms that are 2^(e-i) in all, so that what is added to such parts comes to T
// - 2^(e-i) at most. Let no term be more than 2^(e-2) / 4, of i below 3.
//
// Call of a part's two operands the heavy one that which is a part itself, of two such the one of which the largest
// part was made. From any part go on to the heavy operand until that is a sum of two terms: each such pair ends one
// path of these, which begins at the whole sum or at a light operand. So each sum of two parts can be charged to the
// two terms of the pair where the path from its light operand ends, every other sum of a part and a term to that term,
// and no term is charged twice, but for the sum of its pair, which is ll = 2^-p greatest for each of both at most.
//
// A sum of level i is plain if, of every level from i to 2, one of its operands, which is the heavy one then, has parts
// of that level or above it. Of one level or above it there are at most c_i = T / 2^(e-i) disjoint parts. Where neither
// operand has any the sum is the first: it is of level i itself, for two of less than 2^(e-i) come to less than twice
// that, and there are c_i such, g_i / 2 each. Where both have, they have some of level 2: c_2 - 1 such, g / 2 each.
// What plain sums are charged to stands in light operands that have no such part: beside the terms of the first one
// that came to 2^(e-i).
//
// A plain sum of a part and a term that meet on level i rounds by what the term is beside g_i, for the part is of that
// level too, or has been kept wider than the format and did not round: then g_i / 4 that it has not spent and g_i / 4
// of this term pay. Of two parts it rounds by g_i / 2, g_i / 4 for each of two terms. Below level 2 a sum rounds by g
// / 16.
//
// How many terms meet which level is a problem of linear programming, any prices of which bound it: for prices l_i of
// size at level i, and L_i what they add up to from i to 2, terms pay the most that they may less L_i times their size,
// or g / 16, and sum(l_i (T - 2^(e-i))) is added. Prices are about right where a term of so many times the mean size
// would as soon be on the next level: there it pays half as much, of 0.28 g_i.
//
// Now let there be terms of the other sign too, that come to N < 2^(e-2) without it, all but these to less than
// 2^(e+1), and all to T. No part of any level has that sign. All the above holds, but for one thing: a plain sum of a
// part below 2^(e-i) and a term may be of level i, where the path has been there before and has come down. Such a one
// rounds by g_i / 2 at most: the last one on each of the c_i paths that get there costs g_i / 4 more than its term pays
// anyhow. Before any other, what its part lacks of 2^(e-i) was taken away by terms of the other sign (and by
// roundings), since the path was last above; and what its result has beyond 2^(e-i) will be, before the path is below
// again: all this is taken away once, so that these sums' terms come to no more than N in all. They have the sign of
// the sum, and pay g_i / 2 less a price m_i for their size, and m_i N is added. A price is about right where a term of
// so little size that all of that and less pay together as much as m_i N would as soon pay it.
constexpr int kLevels = 3;
constexpr int64_t kTermsOfLevels = 256;
// In mean sizes; and how much more on the next level.
constexpr double kSizes[][2] = {{0.7, 1}, {1.4, 1}, {2, 3}};

struct Levels {
  double g = 0, ll = 0;
  std::array<double, kLevels> price{};  // the L_i
  double way = 0;                       // the sum's sign, or zero: all terms have it
  double little = 0;                    // size of a term that would as soon pay m_i

  Levels(double place, double greatest, double unit, double size, double more) : g(place), ll(greatest * unit) {
    constexpr double kHalfOfWhatIsPaid = 0.14;
    for (int i = kLevels; i-- > 0;)
      price[i] = kHalfOfWhatIsPaid * grid(i) / (size * std::pow(more, i)) + (i + 1 < kLevels ? price[i + 1] : 0);
  }
  double grid(int i) const { return std::ldexp(g, -i); }
  at::Tensor paid(const Planes& p, bool up) const {
    at::Tensor size = at::abs(p.value.to(at::kDouble));
    at::Tensor most = at::full_like(size, grid(kLevels) / 2);
    if (p.error.defined()) size = (size - p.error).clamp_min(0);
    at::Tensor returns;  // whether it may bring a path back to a level
    if (way != 0) {
      const at::Tensor along = p.value.to(at::kDouble) * way;
      returns = (p.error.defined() ? along + p.error : along) > 0;
    }
    for (int i = 0; i < kLevels; ++i) {
      most = at::maximum(most, beside_grid(p, grid(i), up, false, 0.25 + ll / grid(i)) - size * price[i]);
      if (returns.defined()) {
        const at::Tensor paid = (0.5 * grid(i) + ll) - size * (price[i] + return_price(i));
        most = at::where(returns, at::maximum(most, paid), most);
      }
    }
    return nothing_where(p.error.defined() ? (p.value == 0).logical_and(p.error == 0) : p.value == 0, most, 0);
  }
  double return_price(int i) const { return 0.25 * grid(i) / std::ldexp(little, 2 * i); }
  // What is added for terms of this whole size, of which so much has the lesser sign.
  at::Tensor fixed(const at::Tensor& whole, const at::Tensor& lesser, double unit) const {
    at::Tensor all = at::zeros_like(whole);
    for (int i = 0; i < kLevels; ++i) {
      const double level = grid(i) / (2 * unit) / kSlack;
      const at::Tensor parts = at::floor(whole / level);
      all = all + (whole - level).clamp_min(0) * (price[i] - (i + 1 < kLevels ? price[i + 1] : 0));
      all = all + parts * grid(i) / 2;
      if (way != 0) all = all + parts * grid(i) / 4 + lesser * return_price(i);
      if (i + 1 == kLevels) all = all + (parts - 1).clamp_min(0) * g / 2;
    }
    return all;
  }
};

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
    const double g = 2 * g_half;
    const at::Tensor here = counts.logical_and(half == g_half);
    // No more than what terms pay, and beside that something fixed, of the results that are meant.
    auto no_more_than = [&](const auto& paid, const at::Tensor& meant, const at::Tensor& beside) {
      auto added = [&](bool up) {
        return run_on(in, call, args, [&](const Leaf& leaf) {
          return flows(in, call, leaf) ? paid(in.store.read(leaf.value), up) : leaf.value;
        });
      };
      const std::vector<at::Tensor> up = added(true), down = added(false);
      if (up.size() <= result || down.size() <= result) return;
      constexpr double kSummed = 1 + 0x1p-30;  // as these sums are off themselves
      const at::Tensor all = at::maximum(up[result], down[result]) * kSummed + beside;
      // Of an infinite term nothing is beside a grid.
      lost = at::where(meant.logical_and(all.isnan().logical_not()), at::minimum(lost, all), lost);
    };
    const double few = std::max(2.0, std::ceil(g_half / unit / (4 * greatest)));
    no_more_than([&](const Planes& p, bool up) { return beside_grid(p, g, up, !one_sign, kShare); }, here,
                 (at::floor(sum.n / few) + (one_sign ? 1 : 0)) * g_half);
    if (g_half < 16 * unit * greatest) continue;
    const at::Tensor many = here.logical_and(sum.n >= kTermsOfLevels).logical_and(sum.n * unit <= kSlack - 1);
    auto by_levels = [&](const at::Tensor& meant, const at::Tensor& lesser, double way) {
      if (!at::any(meant).item<bool>()) return;
      const double mean = (sum.most / sum.n).masked_select(meant).mean().item<double>();
      for (const auto& [sizes, more] : kSizes) {
        Levels levels(g, greatest, unit, sizes * mean, more);
        levels.way = way;
        if (way != 0)
          levels.little = 4 * at::sqrt(lesser * sum.most).div(sum.n).masked_select(meant).mean().item<double>();
        no_more_than([&](const Planes& p, bool up) { return levels.paid(p, up); }, meant,
                     levels.fixed(sum.most + lesser, lesser, unit));
      }
    };
    if (one_sign) {
      by_levels(many, at::zeros_like(sum.most), 0);
      continue;
    }
    const at::Tensor lesser = sum.lesser * kSlack + sum.n * g;  // and roundings
    const at::Tensor some = many.logical_and(lesser < g_half / unit / 4);
    for (const double way : {1.0, -1.0}) by_levels(some.logical_and(sum.value * way > 0), lesser, way);
  }
  return lost;
}

namespace {
// Whether each term is one element, and no product: twice the operands are twice the result then.
bool has_one_factor(FlowContext& in, const Call& call, const std::vector<Arg>& ones) {
  auto of = [&](double size) {
    return run_on(in, call, ones, [&](const Leaf& leaf) {
      return flows(in, call, leaf) ? at::full(leaf.value.sizes(), size, at::kDouble) : leaf.value;
    });
  };
  const std::vector<at::Tensor> once = of(1), twice = of(2);
  for (size_t i = 0; i < once.size(); ++i)
    if (twice.size() != once.size() || !twice[i].equal(once[i] * 2)) return false;
  return true;
}

// Numbers of the op's own by which terms or the sum are multiplied, but for those that change no more than a sign.
bool scales(const Call& call) {
  for (size_t i = 0; i < call.args.size(); ++i) {
    if (call.op->schema.params[i].type.kind != ParamKind::scalar) continue;
    const std::optional<double> number = number_of(call.args[i]);
    if (!number || (*number != 0 && std::fabs(*number) != 1)) return true;
  }
  return false;
}
}  // namespace

// A product is rounded once, or not at all where it is contracted; a number that scales it may come first or last, and
// be rounded itself. What is carried in storage may be stored a part at a time, a term at least. What has been computed
// may be kept in units that change from term to term, as the weights of attention in one pass are: each part is rounded
// once more then.
TermRoundings roundings_of_terms(FlowContext& in, const Call& call, const std::vector<Arg>& ones, Dtype sums) {
  const bool single = !call.op->has(Trait::contraction) && has_one_factor(in, call, ones), scaled = scales(call);
  const bool computed = any_error(in, call.values);
  return {.each = (single ? 0.0 : 2.0) + (scaled ? 2.0 : 0.0),
          .part = computed ? 2.0 : 1.0,
          .whole_places = !single || scaled || computed,
          .carried = sums};
}

at::Tensor lost_in_linear(const TermRoundings& terms, const at::Tensor& n, const at::Tensor& most,
                          const at::Tensor& far) {
  const double unit = unit_of(terms.carried);
  const at::Tensor grown = most + far * (terms.each * unit * kSlack);  // by what terms are rounded to
  const at::Tensor place = terms.whole_places ? grown * unit : half_place(grown, terms.carried);
  const at::Tensor additions = terms.whole_places ? n : (n - 1).clamp_min(1);  // at least what stores the sum
  return (additions * terms.part * place + far * (terms.each * unit)) * kSlack;
}

}  // namespace lenz::oracle
