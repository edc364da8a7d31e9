// The parser of the text form, shared by its parts: parse_file.cpp (file, externs, sub-graphs), parse_graph.cpp (one
// graph), parse_type.cpp (types and dims), parse_literal.cpp (arguments). Internal to the room.
// Thread-safety: one parser per thread.
#pragma once

#include <deque>
#include <unordered_map>
#include <vector>

#include "compiler/base/lexer.h"
#include "compiler/base/source.h"
#include "compiler/graph/text.h"

namespace lenz {

// Values of one graph by the text that names them. %12 and %"12" are two names: a bare number names nothing for good.
class ValueNames {
 public:
  ValueNames() : slots_(64, 0) {}
  ValueId find(const Token& token) const;                        // kNone if there is none
  bool add(const Token& token, ValueId value, size_t& earlier);  // false: taken, by what stands at `earlier`
  std::vector<std::string_view> all() const;

 private:
  struct Entry {
    std::string_view text;
    uint64_t hash;
    ValueId value;
    size_t at;
  };
  size_t slot(const Token& token, uint64_t hash) const;
  std::vector<Entry> entries_;
  std::vector<uint32_t> slots_;  // index into entries_ plus one
};

class Parser {
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

  // --- tokens
  const Token& peek() const { return token_; }
  Token take();
  bool at(TokenKind kind) const { return token_.kind == kind; }
  bool at_word(std::string_view word) const { return token_.kind == TokenKind::name && token_.text == word; }
  bool eat(TokenKind kind);
  bool eat_word(std::string_view word);
  Token expect(TokenKind kind, std::string_view what = {});
  void expect_word(std::string_view word);
  bool next_is(TokenKind kind) const;  // the token behind the current one
  [[noreturn]] void fail(const Token& token, const std::string& message, const std::string& remedy = {}) const;
  [[noreturn]] void fail_here(const std::string& message, const std::string& remedy = {}) const;
  // Runs `work`; a UserError that says no place gets this one.
  template <class F>
  auto placed(const Token& token, F&& work);
  std::string text_of(const Token& token);  // a name or string, escapes decoded

  // --- comments: those since the last place belong to it if they are on its line, else to the next
  void comments_to(Comments::Place* next);

  // --- file
  void extern_op();
  uint32_t subgraph(const Token& name);
  void index_graphs();
  std::unique_ptr<Graph> graph(Scope& scope);

  // --- graph
  void inputs(Graph& graph);
  Initialiser initialiser();
  void facts(Graph& graph);
  void fact(Graph& graph);
  void guards(Graph& graph);
  Cond condition();
  void statement();
  void returns();
  uint32_t origin();
  const std::vector<const OpDef*>& ops_named(const Token& token);
  void define(const Token& token, ValueId value);
  ValueId value(const Token& token);
  void call_arguments();
  void refuse_operator(std::string_view expected);

  // --- types and dims
  const Type* type(bool* any_int = nullptr);
  const Type* tensor_type(Dtype dtype, const Token& name);
  TensorType tensor_parts(Dtype dtype, const Token& name, bool dense);
  void check_extent(const TensorType& type, const Token& name);
  DimVec dim_list(bool sizes = false);  // sizes are not negative
  Device device();
  Dim dim(bool negative = false);
  Dim dim_product(bool negative);
  Dim dim_unary(bool negative);
  Dim dim_function(const Token& name);
  int64_t integer(const Token& token, bool negative);
  int64_t signed_integer();
  uint64_t unsigned_integer();
  struct Nest {  // counts nesting
    explicit Nest(Parser& parser);
    ~Nest() { --parser_.depth_; }
    Parser& parser_;
  };

  // --- literals
  Arg literal();
  Arg list();
  Arg word_literal();
  Arg data(Dtype dtype, const Token& name);
  double real(bool negative);
  double signed_real();
  std::complex<double> complex_number();
  void element(std::vector<std::byte>& bytes, Dtype dtype);
  void float_element(std::vector<std::byte>& bytes, Dtype dtype);
  void integer_element(std::vector<std::byte>& bytes, Dtype dtype);
  uint64_t nan_bits();

  const OpTable& ops_;
  const ParseOptions& options_;
  Source source_;
  Lexer lexer_;
  Token token_;
  std::shared_ptr<Context> context_;
  Scope* scope_ = nullptr;
  size_t depth_ = 0, nodes_ = 0, list_elements_ = 0;
  size_t taken_end_ = 0;  // of the token taken last
  std::vector<Lexer::Comment> comments_;
  Comments::Place* last_place_ = nullptr;
  size_t last_place_end_ = 0;
  bool indexed_ = false;
  std::unordered_map<std::string, Entry> graphs_;
  std::unordered_map<std::string_view, std::vector<const OpDef*>> op_names_;
  std::deque<std::string> decoded_;  // names that had escapes

  // Reused from statement to statement.
  std::vector<Target> targets_;
  std::vector<Arg> positional_;
  std::vector<Keyword> keywords_;
  std::vector<const Type*> annotated_;
  std::deque<std::vector<Arg>> lists_;  // of the open statements, until their parameter is known
  size_t list_count_ = 0;
};

// Words that mean something where a dim may stand: no symbol has such a name.
bool is_reserved_word(std::string_view word);

template <class F>
auto Parser::placed(const Token& token, F&& work) {
  try {
    return work();
  } catch (const UserError& e) {
    if (!e.where().empty()) throw;
    throw source_.error(token.at, token.end, e.message(), e.remedy());
  }
}

}  // namespace lenz
