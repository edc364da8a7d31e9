#include "fuzz/excuses.h"

#include "oracle/known_faults.h"
#include "oracle/value_refusals.h"

namespace lenz::fuzz {

std::string excuse_of(const Graph& graph, const SymValues& sizes) {
  for (auto lines : {oracle::known_faults(), oracle::known_openings()})
    for (bool rounding : {false, true})
      if (const oracle::KnownFault* line = oracle::known_in(lines, graph, sizes, {}, rounding))
        return line->row + ": " + line->why;
  return {};
}

std::string refusal_excuse(const Graph& graph, std::string_view said) {
  const std::string row = oracle::row_that_quotes(graph, said);
  return row.empty() ? row : row + " refuses by values";
}

}  // namespace lenz::fuzz
