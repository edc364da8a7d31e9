// The parser of a graph's text form, shared by its parts: parse_file.cpp (file, sub-graphs), parse_graph.cpp (one
// graph). Internal to the room.
// Thread-safety: one parser per thread.
#pragma once

#include <deque>
#include <unordered_map>
#include <vector>

#include "compiler/graph/text_parser.h"

namespace lenz {

class Parser final : private TextParser {
 public:
  Parser(std::string_view text, const OpTable& ops, const ParseOptions& options);
  std::unique_ptr<Graph> file();

 private:
  // One graph while it is read.
  struct Scope {
    Graph* graph = nullptr;
    Scope* outer = nullptr;
    ValueNames names;
    std::unordered_map<std::string_view, uint32_t> subgraphs;  // by the text of @name
  };
  // Where a graph of the file stands.
  struct Entry {
    size_t at = 0, end = 0;
    enum State : uint8_t { unread, open, read } state = unread;
    const Graph* graph = nullptr;
  };
  struct Target {
    Token name;
    const Type* type = nullptr;
    bool any_int = false;
    size_t type_at = 0, type_end = 0;
  };

  // --- file
  uint32_t subgraph(const Token& name) override;
  void index_graphs();
  std::unique_ptr<Graph> graph(Scope& scope);

  // --- graph
  void inputs(Graph& graph);
  Initialiser initialiser();
  void require_expressions(const OpDef& op) const;
  void statement();
  void returns();
  void define(const Token& token, ValueId value);
  ValueId value(const Token& token) override;
  void call_arguments();
  void refuse_operator(std::string_view expected);

  Scope* scope_ = nullptr;
  size_t nodes_ = 0, list_elements_ = 0;
  bool indexed_ = false;
  std::unordered_map<std::string, Entry> graphs_;
  std::deque<std::string> decoded_;  // names that had escapes

  // Reused from statement to statement.
  std::vector<Target> targets_;
  std::vector<Arg> positional_;
  std::vector<Keyword> keywords_;
  std::vector<const Type*> annotated_;
};

}  // namespace lenz
