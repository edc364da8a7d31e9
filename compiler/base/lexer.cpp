#include "compiler/base/lexer.h"

#include <array>
#include <bit>
#include <charconv>
#include <cmath>

namespace lenz {

namespace {
enum CharClass : uint8_t { other = 0, blank = 1, digit = 2, letter = 4, hex = 8 };
constexpr auto kClass = [] {
  std::array<uint8_t, 256> table{};
  for (char c : {' ', '\t', '\r', '\n'}) table[static_cast<uint8_t>(c)] = blank;
  for (int c = '0'; c <= '9'; ++c) table[static_cast<size_t>(c)] = digit | hex;
  for (int c = 'a'; c <= 'z'; ++c) table[static_cast<size_t>(c)] = letter;
  for (int c = 'A'; c <= 'Z'; ++c) table[static_cast<size_t>(c)] = letter;
  for (int c = 0; c < 6; ++c) table[static_cast<size_t>('a' + c)] = table[static_cast<size_t>('A' + c)] = letter | hex;
  table['_'] = letter;
  return table;
}();
bool is(char c, int classes) { return (kClass[static_cast<uint8_t>(c)] & classes) != 0; }

// The end of a dotted name that starts at `at`.
size_t name_end(std::string_view text, size_t at) {
  while (at < text.size() &&
         (is(text[at], digit | letter) || (text[at] == '.' && at + 1 < text.size() && is(text[at + 1], letter))))
    ++at;
  return at;
}

// Values and graphs may also have dots before digits: %layers.0.weight.
size_t sigil_name_end(std::string_view text, size_t at) {
  while (at < text.size() && (is(text[at], digit | letter) ||
                              (text[at] == '.' && at + 1 < text.size() && is(text[at + 1], digit | letter))))
    ++at;
  return at;
}
}  // namespace

std::string_view describe(TokenKind kind) {
  constexpr std::string_view names[] = {"the end of the text",
                                        "a name",
                                        "a value",
                                        "a sub-graph",
                                        "an integer",
                                        "a real",
                                        "a string",
                                        "`(`",
                                        "`)`",
                                        "`[`",
                                        "`]`",
                                        "`{`",
                                        "`}`",
                                        "`,`",
                                        "`:`",
                                        "`=`",
                                        "`+`",
                                        "`-`",
                                        "`*`",
                                        "`//`",
                                        "`%`",
                                        "`..`",
                                        "`==`",
                                        "`!=`",
                                        "`<`",
                                        "`<=`",
                                        "`>`",
                                        "`>=`",
                                        "no token"};
  return names[static_cast<size_t>(kind)];
}

Token Lexer::punctuation(TokenKind kind, size_t length) {
  Token t{kind, false, text_.substr(at_, length), at_, at_ + length};
  at_ += length;
  return t;
}

// `what` is wrong; behind "; " stands what to do.
Token Lexer::bad(size_t end, std::string_view what) {
  Token t{TokenKind::bad, false, what, at_, end};
  at_ = end;
  return t;
}

Token Lexer::quoted(TokenKind kind, size_t start) {
  size_t at = start + 1;
  for (; at < text_.size() && text_[at] != '"'; ++at) {
    if (text_[at] == '\n') break;
    if (text_[at] != '\\') continue;
    char c = at + 1 < text_.size() ? text_[at + 1] : '\0';
    if (c == 'x' && at + 3 < text_.size() && is(text_[at + 2], hex) && is(text_[at + 3], hex)) {
      at += 3;
    } else if (c == '"' || c == '\\' || c == 'n' || c == 't' || c == 'r') {
      ++at;
    } else {
      at_ = at;
      return bad(at + 1, "unknown escape; the escapes are \\\" \\\\ \\n \\t \\r \\xHH");
    }
  }
  if (at >= text_.size() || text_[at] != '"')
    return bad(at, "a string without its closing quote; end it with \" on its own line");
  Token t{kind, true, text_.substr(start + 1, at - start - 1), at_, at + 1};
  at_ = at + 1;
  return t;
}

Token Lexer::sigil(TokenKind kind) {
  if (at_ + 1 < text_.size() && text_[at_ + 1] == '"') return quoted(kind, at_ + 1);
  size_t end = sigil_name_end(text_, at_ + 1);
  if (end == at_ + 1) {
    if (kind == TokenKind::value) return punctuation(TokenKind::percent, 1);
    return bad(end, "`@` without a name");
  }
  Token t{kind, false, text_.substr(at_ + 1, end - at_ - 1), at_, end};
  at_ = end;
  return t;
}

Token Lexer::split_percent(const Token& value) {
  at_ = value.at;
  return punctuation(TokenKind::percent, 1);
}

Token Lexer::number() {
  size_t at = at_;
  TokenKind kind = TokenKind::integer;
  auto digits = [&](int classes) {
    size_t from = at;
    while (at < text_.size() && is(text_[at], classes)) ++at;
    return at > from;
  };
  if (text_[at] == '0' && at + 1 < text_.size() && text_[at + 1] == 'x') {
    at += 2;
    if (!digits(hex)) return bad(at, "`0x` without digits");
  } else {
    digits(digit);
    if (at + 1 < text_.size() && text_[at] == '.' && is(text_[at + 1], digit)) {
      kind = TokenKind::real;
      ++at;
      digits(digit);
    }
    if (at < text_.size() && (text_[at] == 'e' || text_[at] == 'E')) {
      size_t exponent = at++;
      if (at < text_.size() && (text_[at] == '+' || text_[at] == '-')) ++at;
      if (!digits(digit)) return bad(exponent + 1, "a number with an empty exponent");
      kind = TokenKind::real;
    }
  }
  if (at < text_.size() && is(text_[at], letter))
    return bad(name_end(text_, at), "a number that runs into a name; put a space or a comma between them");
  Token t{kind, false, text_.substr(at_, at - at_), at_, at};
  at_ = at;
  return t;
}

Token Lexer::next() {
  for (;;) {
    while (at_ < text_.size() && is(text_[at_], blank)) ++at_;
    if (at_ == text_.size()) return {TokenKind::end, false, {}, at_, at_};
    if (text_[at_] != '#') break;
    size_t newline = text_.find('\n', at_);
    size_t end = newline == std::string_view::npos ? text_.size() : newline;
    if (comments_) comments_->push_back({at_, end});
    at_ = end;
  }
  char c = text_[at_], following = at_ + 1 < text_.size() ? text_[at_ + 1] : '\0';
  if (is(c, letter)) {
    size_t end = name_end(text_, at_);
    Token t{TokenKind::name, false, text_.substr(at_, end - at_), at_, end};
    at_ = end;
    return t;
  }
  if (is(c, digit)) return number();
  switch (c) {
    case '%': return sigil(TokenKind::value);
    case '@': return sigil(TokenKind::graph);
    case '"': return quoted(TokenKind::string, at_);
    case '(': return punctuation(TokenKind::l_paren, 1);
    case ')': return punctuation(TokenKind::r_paren, 1);
    case '[': return punctuation(TokenKind::l_bracket, 1);
    case ']': return punctuation(TokenKind::r_bracket, 1);
    case '{': return punctuation(TokenKind::l_brace, 1);
    case '}': return punctuation(TokenKind::r_brace, 1);
    case ',': return punctuation(TokenKind::comma, 1);
    case ':': return punctuation(TokenKind::colon, 1);
    case '+': return punctuation(TokenKind::plus, 1);
    case '-': return punctuation(TokenKind::minus, 1);
    case '*': return punctuation(TokenKind::star, 1);
    case '=': return following == '=' ? punctuation(TokenKind::equal, 2) : punctuation(TokenKind::assign, 1);
    case '<': return following == '=' ? punctuation(TokenKind::less_equal, 2) : punctuation(TokenKind::less, 1);
    case '>': return following == '=' ? punctuation(TokenKind::greater_equal, 2) : punctuation(TokenKind::greater, 1);
    case '!':
      if (following == '=') return punctuation(TokenKind::not_equal, 2);
      break;
    case '/':
      if (following == '/') return punctuation(TokenKind::slash_slash, 2);
      return bad(at_ + 1, "no operator `/`; floor division is `//`");
    case '.':
      if (following == '.') return punctuation(TokenKind::dot_dot, 2);
      return bad(at_ + 1, "a `.` that starts nothing; a number has a digit before its point");
    case '\'': return bad(at_ + 1, "strings stand between double quotes; write \" for '");
    case ';': return bad(at_ + 1, "no `;` ends a statement; the next one just follows");
    default: break;
  }
  return bad(at_ + 1, "a character that starts nothing; text stands in strings and comments alone");
}

namespace {
int hex_value(char c) { return c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10; }

// The length of the UTF-8 sequence at the front, 0 if there is none.
size_t utf8_length(std::string_view text) {
  auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  uint8_t lead = byte(0);
  size_t length = lead < 0x80 ? 1 : lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (length == 1) return 1;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xC0) != 0x80) return 0;
  if ((lead == 0xE0 && byte(1) < 0xA0) || (lead == 0xED && byte(1) > 0x9F) || (lead == 0xF0 && byte(1) < 0x90) ||
      (lead == 0xF4 && byte(1) > 0x8F))
    return 0;
  return length;
}
}  // namespace

std::string unescape(std::string_view quoted) {
  std::string out;
  out.reserve(quoted.size());
  for (size_t i = 0; i < quoted.size(); ++i) {
    if (quoted[i] != '\\' || i + 1 == quoted.size()) {
      out += quoted[i];
      continue;
    }
    char c = quoted[++i];
    if (c == 'x' && i + 2 < quoted.size()) {
      out += static_cast<char>(hex_value(quoted[i + 1]) << 4 | hex_value(quoted[i + 2]));
      i += 2;
    } else {
      out += c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c;
    }
  }
  return out;
}

void append_quoted(std::string& out, std::string_view text) {
  constexpr std::string_view digits = "0123456789abcdef";
  out += '"';
  while (!text.empty()) {
    auto c = static_cast<uint8_t>(text[0]);
    size_t length = utf8_length(text);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += text[0];
    } else if (c == '\n' || c == '\t' || c == '\r') {
      out += c == '\n' ? "\\n" : c == '\t' ? "\\t" : "\\r";
    } else if (length == 0 || c < 0x20 || c == 0x7F) {
      out += "\\x";
      out += digits[c >> 4];
      out += digits[c & 15];
      length = 1;
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  out += '"';
}

bool is_plain_name(std::string_view text) { return !text.empty() && sigil_name_end(text, 0) == text.size(); }

bool is_word(std::string_view text) {
  if (text.empty() || !is(text[0], letter)) return false;
  for (char c : text)
    if (!is(c, letter | digit)) return false;
  return true;
}

void append_real(std::string& out, double value, bool single) {
  if (std::isnan(value)) {
    auto bits = std::bit_cast<uint64_t>(value);
    if (bits == 0x7FF8000000000000ull) {
      out += "nan";
      return;
    }
    char buffer[24];
    out += "nan(0x";
    out.append(buffer, std::to_chars(buffer, buffer + sizeof buffer, bits, 16).ptr);
    out += ')';
    return;
  }
  char buffer[40];
  char* end = single ? std::to_chars(buffer, buffer + sizeof buffer, static_cast<float>(value)).ptr
                     : std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  std::string_view text(buffer, static_cast<size_t>(end - buffer));
  out += text;
  if (text.find_first_of(".enf") == std::string_view::npos) out += ".0";
}

}  // namespace lenz
