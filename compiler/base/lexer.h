// Tokens of Lenz's text forms. Pulls one token at a time out of a text that outlives it; allocates nothing.
//
//   name      letters, digits, `_`; dotted when a letter or `_` follows the dot: aten.add.Tensor
//   value     %name, %12, %"any text"        graph   @name, @"any text"
//   integer   12, 0x1f (never signed)        real    1.5, 2e-3, 1.5e+300 (never signed)
//   string    "text", escapes \" \\ \n \t \r \xHH
//   the rest  punctuation, one TokenKind each; blanks, newlines and # comments separate tokens
//
// Thread-safety: one lexer per thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lenz {

enum class TokenKind : uint8_t {
  end,
  name,
  value,
  graph,
  integer,
  real,
  string,
  l_paren,
  r_paren,
  l_bracket,
  r_bracket,
  l_brace,
  r_brace,
  comma,
  colon,
  assign,
  plus,
  minus,
  star,
  slash_slash,
  percent,
  dot_dot,
  equal,
  not_equal,
  less,
  less_equal,
  greater,
  greater_equal,
  bad,  // no token of the language: text says what is wrong
};

struct Token {
  TokenKind kind = TokenKind::end;
  bool quoted = false;     // a value, graph or string whose text stands between quotes, escapes not yet decoded
  std::string_view text;   // without the sigil and the quotes
  size_t at = 0, end = 0;  // offsets of the whole token in the text
};

// How a token kind reads in a message: "a name", "`,`".
std::string_view describe(TokenKind kind);

class Lexer {
 public:
  explicit Lexer(std::string_view text, size_t at = 0) : text_(text), at_(at) {}
  Token next();
  // `s0 %8` lexes as a value: gives the `%` alone and goes on right behind it.
  Token split_percent(const Token& value);
  std::string_view text() const { return text_; }
  void seek(size_t at) { at_ = at; }
  // From here on, where each comment starts and ends is appended to `comments` (null: nowhere).
  struct Comment {
    size_t at, end;
  };
  void keep_comments(std::vector<Comment>* comments) { comments_ = comments; }

 private:
  Token punctuation(TokenKind kind, size_t length);
  Token number();
  Token quoted(TokenKind kind, size_t start);
  Token sigil(TokenKind kind);
  Token bad(size_t end, std::string_view what);

  std::string_view text_;
  size_t at_ = 0;
  std::vector<Comment>* comments_ = nullptr;
};

// What stands between the quotes, escapes decoded.
std::string unescape(std::string_view quoted);
// The same text between quotes; bytes that are no UTF-8 and control characters as escapes.
void append_quoted(std::string& out, std::string_view text);
// Whether `text` can stand after a sigil without quotes.
bool is_plain_name(std::string_view text);
// Whether it is a name without a dot.
bool is_word(std::string_view text);

// The shortest text that reads back as exactly this real and never as an integer: "1.0", "1e+30", "-inf", "nan",
// "nan(0x7ff8000000000001)" for any other NaN than the usual one. `single`: the value is a float, and the text is the
// shortest for that.
void append_real(std::string& out, double value, bool single = false);

}  // namespace lenz
