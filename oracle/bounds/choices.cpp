#include "oracle/bounds/choices.h"

#include <algorithm>

namespace lenz::oracle {

bool Window::has(int64_t element) const {
  for (size_t d = sides.size(); d-- > 0; element /= sides[d].size) {
    const Side& side = sides[d];
    const int64_t i = element % side.size;
    if (i < side.first || i > side.last || (i - side.first) % side.step != 0) return false;
  }
  return true;
}

std::vector<int64_t> Window::elements() const {
  std::vector<int64_t> all{0};
  for (const Side& side : sides) {
    std::vector<int64_t> longer;
    for (int64_t begun : all)
      for (int64_t i = side.first; i <= side.last; i += side.step) longer.push_back(begun * side.size + i);
    all = std::move(longer);
  }
  return all;
}

bool Choices::may_have_its_value(const OpenIndex& open, int64_t element) const {
  const auto i = static_cast<size_t>(open.first + element * open.step);
  return open.among->low[i] <= open.high && open.among->high[i] >= open.low;
}

bool Choices::may_name(int64_t open, int64_t element) const {
  const OpenIndex& o = at(open);
  if (element < 0 || element >= o.count || !o.window.has(element)) return false;
  return may_have_its_value(o, element);
}

Choices::Range Choices::range(int64_t open) const {
  if (!at(open).window.sides.empty()) {
    const std::vector<int64_t> all = candidates(open);
    return all.empty() ? Range{0, at(open).count - 1} : Range{all.front(), all.back()};
  }
  Range r{0, at(open).count - 1};
  while (r.first < r.last && !may_name(open, r.first)) ++r.first;
  while (r.last > r.first && !may_name(open, r.last)) --r.last;
  return r;
}

std::vector<int64_t> Choices::candidates(int64_t open) const {
  const OpenIndex& o = at(open);
  std::vector<int64_t> all;
  if (!o.window.sides.empty()) {
    for (int64_t i : o.window.elements())
      if (may_have_its_value(o, i)) all.push_back(i);
    return all;
  }
  for (int64_t i = 0; i < o.count; ++i)
    if (may_have_its_value(o, i)) all.push_back(i);
  return all;
}

void Choices::look_for_ties(int64_t open) {
  OpenIndex& o = indices_[static_cast<size_t>(open - 1)];
  const auto certain = [&](int64_t element) {
    const auto i = static_cast<size_t>(o.first + element * o.step);
    return o.among->low[i] == o.among->high[i];
  };
  const std::vector<int64_t> all = candidates(open);
  o.ties_alone = o.low == o.high && std::ranges::all_of(all, certain);
}

std::optional<Choices::Order> Choices::order_of(int64_t open) const {
  if (open == 0 || !at(open).among->distinct) return std::nullopt;
  return Order{at(open).among, at(open).first};
}

}  // namespace lenz::oracle
