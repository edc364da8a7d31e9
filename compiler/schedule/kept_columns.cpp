#include "compiler/schedule/kept_columns.h"

#include <algorithm>
#include <unordered_map>

namespace lenz::schedule {

using loops::BufferId;
using loops::InstrKind;
using loops::Nest;

namespace {
constexpr int64_t kFewest = 64;  // columns of a tile: where rows lie far apart, what finds their pages is kept, too
constexpr int64_t kLeastColumns = 256;  // of all: tiles for more cores than most have
// Of those behind a buffer: what was walked long before is not walked again while it is near. Results that are made of
// several, made of several in turn, have as many as there are paths.
constexpr size_t kMostWalks = 16;
}  // namespace

bool columns_stay(Dim rows, size_t row_axes, Dim columns, int64_t item_bytes) {
  if (columns.is_constant() && columns.constant() < kLeastColumns) return false;
  if (!rows.is_constant()) return row_axes == 1;
  return rows.constant() <= kKeptColumns / (kFewest * item_bytes);
}

std::unordered_set<const Nest*> walked_again(const loops::Program& program) {
  struct Walk {
    const Nest* nest;
    Dim points;
  };
  std::unordered_map<BufferId, std::vector<Walk>> of_results;  // which walks gave a buffer's elements
  std::unordered_set<const Nest*> found;
  for_each_node(program.body, [&](const loops::Node& node) {
    const auto* nest = std::get_if<Nest>(&node.is);
    if (nest == nullptr) return;
    Dim points = 1;
    for (const loops::Axis& a : nest->axes) points *= a.extent;
    std::vector<Walk> given;
    const auto add = [&](const Walk& walk) {
      if (given.size() < kMostWalks && std::ranges::find(given, walk.nest, &Walk::nest) == given.end())
        given.push_back(walk);
    };
    for (const loops::Instr& i : nest->body) {
      if (i.kind == InstrKind::reduce) add({nest, points});
      if (i.kind != InstrKind::load) continue;
      const auto walks = of_results.find(i.buffer);
      if (walks == of_results.end()) continue;
      const bool one_each = std::ranges::all_of(
          nest->axes, [&](const loops::Axis& a) { return std::ranges::find(i.index, a.symbol) != i.index.end(); });
      for (const Walk& w : walks->second)
        if (one_each)
          add(w);
        else if (w.points == points)
          found.insert(w.nest);
    }
    for (const loops::Store& s : nest->stores)
      if (!given.empty()) of_results[s.buffer] = given;
  });
  return found;
}

}  // namespace lenz::schedule
