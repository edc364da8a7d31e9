#include "oracle/value_refusals.h"

#include <functional>

namespace lenz::oracle {

namespace {
constexpr std::string_view kNotAsked = "not ask";

bool quoted_in(std::string_view text, std::string_view said) {
  while (!text.empty()) {
    const size_t open = text.find('`'), close = open == text.npos ? open : text.find('`', open + 1);
    if (close == text.npos) return false;
    const std::string_view quote = text.substr(open + 1, close - open - 1);
    if (!quote.empty() && said.find(quote) != said.npos) return true;
    text.remove_prefix(close + 1);
  }
  return false;
}

bool does_not_ask(const OpDef& op, std::string_view said) {
  for (std::string_view rest = op.exception; !rest.empty();) {
    const std::string_view clause = rest.substr(0, rest.find(';'));
    if (clause.find(kNotAsked) != clause.npos && quoted_in(clause, said)) return true;
    rest.remove_prefix(std::min(rest.size(), clause.size() + 1));
  }
  return false;
}

std::string row_where(const Graph& graph, const std::function<bool(const OpDef&)>& holds) {
  std::string found;
  for (const auto& sub : graph.subgraphs)
    if (found = row_where(*sub, holds); !found.empty()) return found;
  graph.for_each_node([&](NodeId id) {
    const OpDef& op = *graph.node(id).op;
    if (found.empty() && holds(op)) found = op.full_name;
  });
  return found;
}
}  // namespace

bool quotes(const OpDef& op, std::string_view said) { return quoted_in(op.exception, said); }

std::string row_that_quotes(const Graph& graph, std::string_view said) {
  return row_where(graph, [&](const OpDef& op) { return quotes(op, said); });
}

std::string row_that_does_not_ask(const Graph& graph, std::string_view said) {
  return row_where(graph, [&](const OpDef& op) { return does_not_ask(op, said); });
}

}  // namespace lenz::oracle
