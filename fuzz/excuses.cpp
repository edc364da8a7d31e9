#include "fuzz/excuses.h"

#include "oracle/known_faults.h"
#include "oracle/row_check.h"

namespace lenz::fuzz {

std::string excuse_of(const Graph& graph, const SymValues& sizes) {
  for (auto lines : {oracle::known_faults(), oracle::known_openings()})
    for (bool rounding : {false, true})
      if (const oracle::KnownFault* line = oracle::known_in(lines, graph, sizes, {}, rounding))
        return line->row + ": " + line->why;
  return {};
}

std::string refusal_excuse(const Graph& graph, std::string_view said) {
  std::string found;
  for (const auto& sub : graph.subgraphs)
    if (found = refusal_excuse(*sub, said); !found.empty()) return found;
  graph.for_each_node([&](NodeId id) {
    const OpDef& op = *graph.node(id).op;
    if (found.empty() && oracle::quotes(op, said)) found = op.full_name + " refuses by values";
  });
  return found;
}

}  // namespace lenz::fuzz
