#include "oracle/controls/steered_sums.h"

#include <algorithm>
#include <cmath>

#include "compiler/scalar/rounding.h"

namespace lenz::oracle::controls {

namespace {
template <class Sum>
double add(double a, double b) {
  return static_cast<double>(static_cast<Sum>(a) + static_cast<Sum>(b));
}

template <class Sum>
double steered_in(SumOrder& order, double way, Chance& chance) {
  std::vector<double>& terms = order.terms;
  order.joined.assign(terms.size(), false);
  constexpr size_t kWindow = 24;
  auto left_out = [](double a, double b, double sum) {
    const double part = sum - a;
    return (a - (sum - part)) + (b - part);
  };
  double sum = 0;
  for (size_t i = 0; i < terms.size();) {
    const size_t end = std::min(terms.size(), i + kWindow);
    size_t first = i, second = i;                             // one term where both are the same
    double most = -HUGE_VAL, next = add<Sum>(sum, terms[i]);  // NaN and infinities do nothing
    auto better = [&](size_t k, size_t l, double gain, double to) {
      if (const double by = gain * chance.share(); by > most) most = by, first = k, second = l, next = to;
    };
    for (size_t k = i; k < end; ++k) {
      const double alone = add<Sum>(sum, terms[k]);
      better(k, k, -way * left_out(sum, terms[k], alone), alone);
      for (size_t l = k + 1; l < end; ++l) {
        const double two = add<Sum>(terms[k], terms[l]), to = add<Sum>(sum, two);
        better(k, l, -way * (left_out(terms[k], terms[l], two) + left_out(sum, two, to)) / 2, to);
      }
    }
    order.joined[i] = second != first;
    std::swap(terms[i++], terms[first]);
    if (second != first) std::swap(terms[i++], terms[second]);
    sum = next;
  }
  return sum;
}

template <class Sum>
double added_up(const SumOrder& order) {
  const std::vector<double>& terms = order.terms;
  Sum sum = 0;
  for (size_t i = 0; i < terms.size(); ++i) {
    Sum next = static_cast<Sum>(terms[i]);
    if (order.joined[i] && i + 1 < terms.size()) next += static_cast<Sum>(terms[++i]);
    sum += next;
  }
  return static_cast<double>(sum);
}

template <class Sum>
double exchanged_in(SumOrder& order, double way, size_t times) {
  const size_t n = order.terms.size();
  std::mt19937 bits;
  double best = added_up<Sum>(order);
  constexpr size_t kNear = 16;
  auto moved = [&](size_t from, size_t to) {
    const auto at = [&](size_t k) { return order.terms.begin() + static_cast<std::ptrdiff_t>(k); };
    if (from < to)
      std::rotate(at(from), at(from + 1), at(to + 1));
    else
      std::rotate(at(to), at(from), at(from + 1));
  };
  for (size_t t = 0; t < times && n > 1; ++t) {
    const size_t i = bits() % n, far = bits() % n;
    const size_t near = std::min(n - 1, i + far % (2 * kNear) - std::min(i, kNear));
    // What undoes a change is the same, the other way round.
    auto change = [&](bool back) {
      switch (t % 4) {
        case 0: order.joined[i] = !order.joined[i]; break;
        case 1: std::swap(order.terms[i], order.terms[far]); break;
        case 2: std::swap(order.terms[i], order.terms[near]); break;
        case 3: back ? moved(near, i) : moved(i, near); break;
      }
    };
    change(false);
    const double sum = added_up<Sum>(order);
    if (way * sum >= way * best)
      best = sum;
    else
      change(true);
  }
  return best;
}
}  // namespace

double steered(SumOrder& order, double way, Dtype carried, Chance& chance) {
  return carried == Dtype::f64 ? steered_in<double>(order, way, chance) : steered_in<float>(order, way, chance);
}

double with_exchanges(SumOrder& order, double way, Dtype carried, size_t times) {
  return carried == Dtype::f64 ? exchanged_in<double>(order, way, times) : exchanged_in<float>(order, way, times);
}

void good_ones_late(std::vector<double>& terms, double way, Dtype carried, double share) {
  double above = 0, below = 0;
  for (double t : terms) (t > 0 ? above : below) += t;
  if (!std::isfinite(above + below)) return;
  const double sign = above >= -below ? 1 : -1, place = last_place(carried, std::max(above, -below));
  std::vector<std::pair<double, double>> keyed;
  for (double t : terms) {
    const double gain = way * (std::round(t / place) - t / place);
    keyed.emplace_back(sign * t * (gain > 0.25 ? share : 1), t);
  }
  std::ranges::sort(keyed, std::ranges::greater());
  std::ranges::transform(keyed, terms.begin(), [](const auto& k) { return k.second; });
}

}  // namespace lenz::oracle::controls
