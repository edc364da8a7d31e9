// The text form of graphs: GRAMMAR.md. A file holds a graph and the sub-graphs that its control flow calls.
// parse_graph(print(g)) equals g (see equal.h), and print(parse_graph(text)) is the canonical spelling of text.
//
// Any text is safe to parse: bad ones give a UserError with file, line, column, a caret and a remedy, after time and
// memory in proportion to the text.
// Thread-safety: pure functions, but for the graph's context.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "compiler/graph/graph.h"

namespace lenz {

struct ParseLimits {
  size_t text = size_t{1} << 30;     // bytes
  size_t nodes = 10'000'000;         // of all graphs together
  size_t list_elements = 1'000'000;  // of the lists of tensors that nodes give, of all graphs together
  size_t rank = 64;                  // of a tensor
  size_t nesting = 64;               // of types, expressions and sub-graphs
  size_t string = size_t{16} << 20;  // bytes of one string or name
  size_t params = 256;               // of an extern's schema
};

// The comments of a text by what they stand at, so that a formatter keeps them.
struct Comments {
  struct Place {
    std::vector<std::string> above;  // each a line
    std::string behind;              // on the same line
  };
  std::map<std::pair<const Graph*, NodeId>, Place> nodes;
  std::map<const Graph*, Place> graphs, returns;
  std::vector<std::string> below;  // behind everything
};

// Where graphs and inputs (their names) and nodes (their ops) stand in a text, for messages about what was parsed.
struct Places {
  struct Place {
    size_t at = 0, end = 0;
  };
  std::map<const Graph*, Place> graphs;
  std::map<std::pair<const Graph*, NodeId>, Place> nodes;
  std::map<std::pair<const Graph*, size_t>, Place> inputs;  // by number
};

struct ParseOptions {
  std::string file = "<text>";  // how messages name the text
  ParseLimits limits;
  Comments* comments = nullptr;  // filled, if not null
  Places* places = nullptr;      // likewise
};

std::unique_ptr<Graph> parse_graph(std::string_view text, const OpTable& ops, const ParseOptions& options = {});

// The same of a file; "-" is the standard input. A graph may still break rules: read_valid_graph (verify.h).
std::unique_ptr<Graph> read_graph(const std::string& path, const OpTable& ops, const ParseLimits& limits = {});
std::string text_name(const std::string& path);                // how messages name it
std::string read_text(const std::string& path, size_t limit);  // UserError if it can't be read or is longer

struct PrintOptions {
  bool types = false;                  // annotate every result (those that need it are annotated always)
  bool provenance = false;             // `from %a, %b`: the names of the nodes that each came from
  bool guards = true;                  // the conditions that type rules relied on beyond the facts
  const Comments* comments = nullptr;  // of the text that the graph was parsed from
};

std::string print(const Graph& graph, const PrintOptions& options = {});

// Pieces of a graph's text, for messages and diffs: as print() writes them, without indentation and the line's end.
// Making one takes time linear in the graph.
class GraphText {
 public:
  explicit GraphText(const Graph& graph, const PrintOptions& options = {});
  ~GraphText();
  std::string node(NodeId id);
  std::string arg(const Arg& arg);
  std::string input(size_t i);
  std::string facts();  // " where ..."; empty if there are none
  std::string returns();

 private:
  struct Impl;
  template <class F>
  std::string piece(F&& write);
  const Graph& graph_;
  std::unique_ptr<Impl> impl_;
};

}  // namespace lenz
