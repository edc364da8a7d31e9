#include "compiler/graph/pattern_lexer.h"

#include <cctype>
#include <charconv>
#include <cmath>

#include "compiler/base/error.h"

namespace lenz {

namespace {
bool starts_name(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_'; }
bool in_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }
}  // namespace

void PatternLexer::fail_at(size_t at, const std::string& what, const std::string& remedy) const {
  size_t begin = at == 0 ? std::string_view::npos : text_.rfind('\n', at - 1);
  begin = begin == std::string_view::npos ? 0 : begin + 1;
  size_t end = std::min(text_.find('\n', at), text_.size());
  auto line = std::count(text_.begin(), text_.begin() + static_cast<ptrdiff_t>(at), '\n') + 1;
  std::string where = source_ + ":" + std::to_string(line) + ":" + std::to_string(at - begin + 1) + "\n    " +
                      std::string(text_.substr(begin, end - begin)) + "\n    " + std::string(at - begin, ' ') + "^";
  throw UserError(what, where, remedy);
}

void PatternLexer::fail(const std::string& what, const std::string& remedy) const { fail_at(token_.at, what, remedy); }

void PatternLexer::expect(std::string_view text) {
  if (!eat(text)) fail("expected `" + std::string(text) + "`");
}

PatternToken PatternLexer::expect(PatternToken::Kind kind, std::string_view what) {
  if (token_.kind != kind) fail("expected " + std::string(what));
  return take();
}

// Blanks and comments. Comment lines without a blank line between them and the token are its comment.
void PatternLexer::skip_blank() {
  int line_ends = 0;
  while (position_ < text_.size()) {
    char c = text_[position_];
    if (c == '#') {
      size_t end = std::min(text_.find('\n', position_), text_.size());
      std::string_view line = text_.substr(position_ + 1, end - position_ - 1);
      while (!line.empty() && line.front() == ' ') line.remove_prefix(1);
      if (!comment_.empty()) comment_ += ' ';
      comment_ += line;
      position_ = end;
      line_ends = 0;
    } else if (std::isspace(static_cast<unsigned char>(c))) {
      if (c == '\n' && ++line_ends > 1) comment_.clear();
      ++position_;
    } else {
      return;
    }
  }
}

void PatternLexer::lex_number() {
  size_t n = 0;
  std::string_view rest = text_.substr(position_);
  while (n < rest.size() && (std::isdigit(static_cast<unsigned char>(rest[n])) || rest[n] == '.' || rest[n] == 'e' ||
                             ((rest[n] == '-' || rest[n] == '+') && n > 0 && rest[n - 1] == 'e')))
    ++n;
  token_.kind = PatternToken::number;
  token_.text = rest.substr(0, n);
  const char* last = token_.text.data() + n;
  int64_t i = 0;
  if (auto [stop, error] = std::from_chars(token_.text.data(), last, i); error == std::errc() && stop == last) {
    token_.literal = Arg::of_int(i);
  } else {
    double d = 0;
    auto [end, bad] = std::from_chars(token_.text.data(), last, d);
    if (bad != std::errc() || end != last) fail_at(position_, "this is no number");
    token_.literal = Arg::of_real(d);
  }
  position_ += n;
}

void PatternLexer::advance() {
  comment_.clear();
  skip_blank();
  token_ = {};
  token_.at = position_;
  if (position_ >= text_.size()) return;
  std::string_view rest = text_.substr(position_);
  auto name_of = [&](size_t from, bool dots) {
    size_t n = from;
    while (n < rest.size() &&
           (in_name(rest[n]) || (dots && rest[n] == '.' && n + 1 < rest.size() && in_name(rest[n + 1]))))
      ++n;
    token_.text = rest.substr(from, n - from);
    position_ += n;
  };
  char c = rest[0];
  bool sigil = (c == '%' || c == '$' || c == '?') && rest.size() > 1 && starts_name(rest[1]);
  if (sigil) {
    token_.kind = c == '%' ? PatternToken::value : c == '$' ? PatternToken::attr : PatternToken::op;
    return name_of(1, false);
  }
  if (starts_name(c)) {
    token_.kind = PatternToken::word;
    return name_of(0, true);
  }
  if (std::isdigit(static_cast<unsigned char>(c))) return lex_number();
  if (c == '"') {
    size_t end = rest.find('"', 1);
    if (end == std::string_view::npos) fail_at(position_, "this string does not end");
    token_.kind = PatternToken::string;
    token_.text = rest.substr(1, end - 1);
    position_ += end + 1;
    return;
  }
  token_.kind = PatternToken::punctuation;
  for (std::string_view p : {"...", "==", "!=", "<=", ">=", "//", "(", ")", "[", "]", "{", "}",
                             ",",   "=",  "<",  ">",  "+",  "-",  "*", "/", "%", ":", "|"})
    if (rest.starts_with(p)) {
      token_.text = rest.substr(0, p.size());
      position_ += p.size();
      return;
    }
  fail_at(position_, "unexpected character `" + std::string(1, c) + "`");
}

}  // namespace lenz
