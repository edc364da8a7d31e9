#include "oracle/value_refusals.h"

namespace lenz::oracle {

bool quotes(const OpDef& op, std::string_view said) {
  for (std::string_view rest = op.exception; !rest.empty();) {
    size_t open = rest.find('`'), close = open == rest.npos ? open : rest.find('`', open + 1);
    if (close == rest.npos) return false;
    std::string_view quote = rest.substr(open + 1, close - open - 1);
    if (!quote.empty() && said.find(quote) != said.npos) return true;
    rest.remove_prefix(close + 1);
  }
  return false;
}

std::string row_that_quotes(const Graph& graph, std::string_view said) {
  std::string found;
  for (const auto& sub : graph.subgraphs)
    if (found = row_that_quotes(*sub, said); !found.empty()) return found;
  graph.for_each_node([&](NodeId id) {
    const OpDef& op = *graph.node(id).op;
    if (found.empty() && quotes(op, said)) found = op.full_name;
  });
  return found;
}

}  // namespace lenz::oracle
