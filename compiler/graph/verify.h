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
#include "compiler/graph/text.h"

namespace lenz {

struct VerifyRule {
  int number;  // G104 is 104
  std::string_view name;
  std::string_view text;
  std::string_view remedy;  // for who wrote the text; empty: no text can break it, or the parser refuses
};
std::span<const VerifyRule> verify_rules();
const VerifyRule& verify_rule(int number);

struct Violation {
  int rule = 0;
  const Graph* graph = nullptr;  // the graph given, or one of its sub-graphs
  NodeId node = kNone;           // kNone: of the graph as a whole
  std::string message;
  std::optional<size_t> input = {};  // the number of the input that it is about
};
std::string to_string(const Violation& violation);  // "G503 write_to_input: ... in @main: %y = ..."

// All violations of the graph and its sub-graphs (the first hundred), in order of the nodes; empty: it is valid.
// `level` asks for the rules of another level than the graph says it has.
std::vector<Violation> verify(const Graph& graph, std::optional<Level> level = {});

// The violations of a graph that was parsed from this text, each with line, column, a caret and the remedy.
std::vector<UserError> verify_text(const Graph& graph, std::string_view text, ParseOptions options,
                                   std::optional<Level> level = {});

// What read_graph reads. Throws UserError with the violations.
std::unique_ptr<Graph> read_valid_graph(const std::string& path, const OpTable& ops);

}  // namespace lenz
