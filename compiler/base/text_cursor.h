// Where the reader of a small notation stands in its text: schemas, definitions, loops of rows. They are read in one
// walk without tokens, by people's own words; graphs and loop programs have a lexer (lexer.h).
// A reader derives from it and has `[[noreturn]] void fail(const std::string& what)`, which says whose text is wrong.
// Thread-safety: one reader per thread.
#pragma once

#include <string>
#include <string_view>

namespace lenz {

template <class Reader>
class TextCursor {
  friend Reader;
  explicit TextCursor(std::string_view text) : rest_(text) {}

 protected:
  static bool is_name_char(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  }
  void spaces() {
    while (!rest_.empty() && (rest_.front() == ' ' || rest_.front() == '\n')) rest_.remove_prefix(1);
  }
  bool peek(std::string_view token) {
    spaces();
    return !rest_.empty() && rest_.front() == token.front() && rest_.starts_with(token);
  }
  bool eat(std::string_view token) {
    if (!peek(token)) return false;
    rest_.remove_prefix(token.size());
    return true;
  }
  // A keyword or operator in letters: not the beginning of a longer name.
  bool peek_word(std::string_view word) {
    return peek(word) && (rest_.size() == word.size() || !is_name_char(rest_[word.size()]));
  }
  bool eat_word(std::string_view word) {
    if (!peek_word(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  void expect(std::string_view token) {
    if (!eat(token)) static_cast<Reader*>(this)->fail("expected `" + std::string(token) + "`");
  }
  std::string_view name() {
    spaces();
    size_t n = 0;
    while (n < rest_.size() && is_name_char(rest_[n])) ++n;
    if (n == 0) static_cast<Reader*>(this)->fail("expected a name");
    std::string_view text = rest_.substr(0, n);
    rest_.remove_prefix(n);
    return text;
  }

  std::string_view rest_;
};

}  // namespace lenz
