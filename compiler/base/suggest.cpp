#include "compiler/base/suggest.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace lenz {

namespace {

// Insertions, deletions, replacements and swaps of neighbours, by three rows of the table at a time.
size_t edits(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1), above(row.size()), second_above(row.size());
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    std::swap(above, second_above);
    std::swap(row, above);
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t replaced = above[j] + (a[i] == b[j] ? 0 : 1);
      row[j + 1] = std::min({replaced, row[j] + 1, above[j + 1] + 1});
      if (i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j])
        row[j + 1] = std::min(row[j + 1], second_above[j - 1] + 1);
    }
  }
  return row[b.size()];
}

}  // namespace

std::string_view nearest_name(std::string_view name, std::span<const std::string_view> candidates) {
  // Names longer than this are no slips of the finger, and the table grows with their product.
  constexpr size_t kLongest = 100;
  if (name.size() > kLongest) return {};
  std::string_view best;
  size_t fewest = std::max<size_t>(1, name.size() / 3) + 1;
  for (std::string_view candidate : candidates) {
    if (candidate.size() > kLongest) continue;
    const size_t distance = edits(name, candidate);
    if (distance < fewest) {
      fewest = distance;
      best = candidate;
    }
  }
  return best;
}

}  // namespace lenz
