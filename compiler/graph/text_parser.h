// What the parsers of the project's text forms share: tokens, types and dims (parse_type.cpp), facts
// (parse_facts.cpp), literals and constants (parse_literal.cpp). For parsers only: this room's and those of other IRs.
// Thread-safety: one parser per thread.
#pragma once

#include <deque>
#include <unordered_map>
#include <vector>

#include "compiler/base/lexer.h"
#include "compiler/base/source.h"
#include "compiler/graph/text.h"

namespace lenz {

// Values of one scope by the text that names them. %12 and %"12" are two names: a bare number names nothing for good.
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

class TextParser {
 public:
  TextParser(const TextParser&) = delete;
  TextParser& operator=(const TextParser&) = delete;

 protected:
  // `comments_below` (null: comments are dropped) gets those that nothing follows.
  TextParser(std::string_view text, const OpTable& ops, const ParseOptions& options,
             std::vector<std::string>* comments_below);
  ~TextParser() = default;

  // What stands behind a sigil in a literal.
  virtual ValueId value(const Token& token) = 0;
  virtual uint32_t subgraph(const Token& token) = 0;
  // Whether a word may be a symbol's name.
  virtual bool is_symbol(std::string_view word) const;

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

  // --- ops and names
  void extern_op();
  const std::vector<const OpDef*>& ops_named(const Token& token);
  uint32_t origin();
  [[noreturn]] void no_value(const Token& token, const ValueNames& names) const;  // says which is near

  // --- facts
  void facts(Assumptions& assumptions);
  void fact(Assumptions& assumptions);
  void guards(Assumptions& assumptions);
  Cond condition();

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
    explicit Nest(TextParser& parser);
    ~Nest() { --parser_.depth_; }
    TextParser& parser_;
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
  size_t depth_ = 0;
  size_t taken_end_ = 0;  // of the token taken last
  std::vector<Lexer::Comment> comments_;
  std::vector<std::string>* comments_below_;
  Comments::Place* last_place_ = nullptr;
  size_t last_place_end_ = 0;
  std::unordered_map<std::string_view, std::vector<const OpDef*>> op_names_;

  std::deque<std::vector<Arg>> lists_;  // of the open statements, until their parameter is known
  size_t list_count_ = 0;
};

// Words that mean something where a dim may stand: no symbol has such a name.
bool is_reserved_word(std::string_view word);

template <class F>
auto TextParser::placed(const Token& token, F&& work) {
  try {
    return work();
  } catch (const UserError& e) {
    if (!e.where().empty()) throw;
    throw source_.error(token.at, token.end, e.message(), e.remedy());
  } catch (const Unsupported& e) {
    throw Unsupported(source_.error(token.at, token.end, e.what(), "").what());
  }
}

}  // namespace lenz
