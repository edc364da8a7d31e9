#include "fuzz/excuses.h"

#include <functional>

#include "oracle/compare.h"
#include "oracle/known_faults.h"
#include "oracle/value_refusals.h"

namespace lenz::fuzz {

Excused excused(std::string_view symptom, bool by_eager) {
  for (const auto rung : {oracle::Rung::special, oracle::Rung::bitwise, oracle::Rung::bound, oracle::Rung::likeness})
    if (oracle::name(rung) == symptom) return by_eager ? Excused::unbounded : Excused::left_open;
  return Excused::anything;
}

std::string excuse_of(const Graph& graph, const SymValues& sizes, Excused what) {
  std::function<bool(const oracle::Leeway&)> within;
  if (what != Excused::anything) within = [](const oracle::Leeway&) { return false; };
  for (auto lines : {oracle::known_faults(), oracle::known_openings()}) {
    const bool faults = lines.data() == oracle::known_faults().data();
    if (faults && what == Excused::left_open) continue;
    for (bool rounding : {false, true})
      if (const oracle::KnownFault* line = oracle::known_in(lines, graph, sizes, faults ? within : nullptr, rounding))
        return line->row + ": " + line->why;
  }
  return {};
}

std::string refusal_excuse(const Graph& graph, std::string_view said) {
  const std::string row = oracle::row_that_quotes(graph, said);
  return row.empty() ? row : row + " refuses by values";
}

}  // namespace lenz::fuzz
