// The verifier: the specification of graphs as numbered rules. A pass may produce, and a text may contain, only graphs
// that break none. `lenz verify --rules` prints the table; corpus/errors has a file that breaks just each.
// Thread-safety: a graph belongs to one thread at a time.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/graph/graph.h"

namespace lenz {

struct VerifyRule {
  int number;  // G104 is 104
  std::string_view name;
  std::string_view text;
  bool text_can_break = true;  // false: the parser refuses, or no text can say it
};
std::span<const VerifyRule> verify_rules();
const VerifyRule& verify_rule(int number);

struct Violation {
  int rule = 0;
  const Graph* graph = nullptr;  // the graph given, or one of its sub-graphs
  NodeId node = kNone;           // kNone: of the graph as a whole
  std::string message;
};
std::string to_string(const Violation& violation);  // "G503 write_to_input: ... in @main: %y = ..."

// All violations of the graph and its sub-graphs (the first hundred), in order of the nodes; empty: it is valid.
// `level` asks for the rules of another level than the graph says it has.
std::vector<Violation> verify(const Graph& graph, std::optional<Level> level = {});

// Throws UserError with the violations.
void verify_or_throw(const Graph& graph, std::optional<Level> level = {});

}  // namespace lenz
