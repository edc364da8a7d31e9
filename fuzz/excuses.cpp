#include "fuzz/excuses.h"

#include <fnmatch.h>

#include "oracle/known_faults.h"
#include "oracle/row_check.h"

namespace lenz::fuzz {

namespace {
// In a larger graph nobody knows how far a line's conditions reach: its row and dtype decide.
bool names(const oracle::KnownFault& line, const OpDef& op, std::string_view dtype) {
  if (fnmatch(line.row.c_str(), op.full_name.c_str(), 0) != 0) return false;
  return line.dtypes == "*" || (" " + line.dtypes + " ").find(" " + std::string(dtype) + " ") != std::string::npos;
}
}  // namespace

std::string excuse_of(const Graph& graph) {
  std::string found;
  for (const auto& sub : graph.subgraphs)
    if (found = excuse_of(*sub); !found.empty()) return found;
  graph.for_each_node([&](NodeId id) {
    const Node& node = graph.node(id);
    for (const Arg& a : node.arguments())
      for_each_value(a, [&](ValueId v) {
        if (!graph.type(v).is_tensor() || !found.empty()) return;
        for (auto lines : {oracle::known_faults(), oracle::known_openings()})
          for (const oracle::KnownFault& line : lines)
            if (found.empty() && names(line, *node.op, name(graph.type(v).dtype)))
              found = node.op->full_name + ": " + line.why;
      });
  });
  return found;
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
