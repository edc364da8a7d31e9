#include "oracle/bounds/choices.h"

namespace lenz::oracle {

bool Choices::may_name(int64_t open, int64_t element) const {
  const OpenIndex& o = at(open);
  if (element < 0 || element >= o.count) return false;
  const auto i = static_cast<size_t>(o.first + element * o.step);
  return o.among->low[i] <= o.high && o.among->high[i] >= o.low;
}

Choices::Range Choices::range(int64_t open) const {
  Range r{0, at(open).count - 1};
  while (r.first < r.last && !may_name(open, r.first)) ++r.first;
  while (r.last > r.first && !may_name(open, r.last)) --r.last;
  return r;
}

std::vector<int64_t> Choices::candidates(int64_t open) const {
  std::vector<int64_t> all;
  for (int64_t i = 0; i < at(open).count; ++i)
    if (may_name(open, i)) all.push_back(i);
  return all;
}

bool Choices::exclude_each_other(int64_t one, int64_t other) const {
  if (one == other || one == 0 || other == 0) return false;
  const OpenIndex &a = at(one), &b = at(other);
  return a.among == b.among && a.among->distinct && a.first == b.first;
}

}  // namespace lenz::oracle
