// Tokens of rewrite rules. See pattern.h for the language.
// Thread-safety: one lexer per thread.
#pragma once

#include <string>
#include <string_view>

#include "compiler/graph/arg.h"

namespace lenz {

struct PatternToken {
  enum Kind : uint8_t { end, word, value, attr, op, number, string, punctuation } kind = end;
  std::string_view text;  // without the sigil or the quotes
  Arg literal;            // of a number: integer or real
  size_t at = 0;          // character in the text
};

class PatternLexer {
 public:
  PatternLexer(std::string_view text, std::string_view source) : text_(text), source_(source) { advance(); }

  const PatternToken& peek() const { return token_; }
  PatternToken take() {
    PatternToken t = token_;
    advance();
    return t;
  }
  bool is(std::string_view punctuation_or_word) const {
    return (token_.kind == PatternToken::punctuation || token_.kind == PatternToken::word) &&
           token_.text == punctuation_or_word;
  }
  bool eat(std::string_view punctuation_or_word) {
    if (!is(punctuation_or_word)) return false;
    advance();
    return true;
  }
  void expect(std::string_view punctuation_or_word);
  PatternToken expect(PatternToken::Kind kind, std::string_view what);
  // The comment lines right before the current token.
  const std::string& comment() const { return comment_; }
  [[noreturn]] void fail(const std::string& what, const std::string& remedy = {}) const;
  [[noreturn]] void fail_at(size_t at, const std::string& what, const std::string& remedy = {}) const;

 private:
  void advance();
  void skip_blank();
  void lex_number();

  std::string_view text_;
  std::string source_;
  size_t position_ = 0;
  PatternToken token_;
  std::string comment_;
};

}  // namespace lenz
