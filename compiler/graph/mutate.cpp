#include "compiler/graph/mutate.h"

#include <algorithm>

#include "compiler/base/lexer.h"
#include "compiler/graph/diff.h"
#include "compiler/graph/equal.h"
#include "compiler/graph/text.h"
#include "compiler/graph/verify.h"

namespace lenz {

namespace {
constexpr std::string_view kTokens[] = {"graph",
                                        "extern",
                                        "return",
                                        "where",
                                        "assuming",
                                        "level",
                                        "alias",
                                        "mut",
                                        "init",
                                        "from",
                                        "in",
                                        "%x",
                                        "%y",
                                        "%0",
                                        "@g",
                                        "@yes",
                                        "s0",
                                        "s1",
                                        "u0",
                                        "int",
                                        "float",
                                        "bool",
                                        "none",
                                        "token",
                                        "f32",
                                        "f32[]",
                                        "i64[s0]",
                                        "c64[2]",
                                        "strides",
                                        "offset",
                                        "on",
                                        "cuda:0",
                                        "(",
                                        ")",
                                        "[",
                                        "]",
                                        "{",
                                        "}",
                                        ",",
                                        ":",
                                        "=",
                                        "==",
                                        "!=",
                                        "<=",
                                        "..",
                                        "+",
                                        "-",
                                        "*",
                                        "//",
                                        "%",
                                        "0",
                                        "1",
                                        "-1",
                                        "9223372036854775807",
                                        "9223372036854775808",
                                        "18446744073709551615",
                                        "1e308",
                                        "1e999",
                                        "-0.0",
                                        "nan",
                                        "inf",
                                        "nan(0x7ff0000000000001)",
                                        "seed(1)",
                                        "complex(1, 2)",
                                        "\"\"",
                                        "\"\\x00\"",
                                        "min(",
                                        "floor(1.5*",
                                        "f32[2] [1, 2]",
                                        "level aten",
                                        "level core",
                                        "mut",
                                        "alias a",
                                        "init zeros",
                                        "#",
                                        "\n"};

constexpr size_t kLongest = 1 << 16;

struct Piece {
  size_t at, end;
  TokenKind kind = TokenKind::bad;
};

std::vector<Piece> tokens_of(std::string_view text) {
  std::vector<Piece> pieces;
  Lexer lexer(text);
  for (Token t = lexer.next(); t.kind != TokenKind::end; t = lexer.next()) pieces.push_back({t.at, t.end, t.kind});
  return pieces;
}

std::vector<Piece> lines_of(std::string_view text) {
  std::vector<Piece> pieces;
  for (size_t at = 0; at < text.size();) {
    size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
    pieces.push_back({at, end, TokenKind::bad});
    at = end;
  }
  return pieces;
}

void change_bytes(std::string& text, Chooser& c) {
  size_t at = c.below(text.size() + 1);
  switch (c.below(3)) {
    case 0: text.insert(at, 1, static_cast<char>(c.below(256))); break;
    case 1: text.erase(at, 1 + c.below(4)); break;
    default:
      if (at < text.size()) text[at] = static_cast<char>(c.flip() ? c.below(256) : text[at] ^ (1 << c.below(8)));
  }
}

// Changes one of the pieces: deleted, doubled, exchanged with another, replaced, or many times over.
void change_pieces(std::string& text, const std::vector<Piece>& pieces, const std::vector<std::string>& spare,
                   Chooser& c) {
  if (pieces.empty()) return;
  Piece p = c.pick(pieces), q = c.pick(pieces);
  if (q.at < p.at) std::swap(p, q);
  std::string first = text.substr(p.at, p.end - p.at), second = text.substr(q.at, q.end - q.at);
  switch (c.below(6)) {
    case 0: text.erase(p.at, first.size()); break;
    case 1: text.insert(p.end, " " + first); break;
    case 2:
      if (p.end > q.at) break;
      text.replace(q.at, second.size(), first);
      text.replace(p.at, first.size(), second);
      break;
    case 3: text.replace(p.at, first.size(), second); break;
    case 4: text.replace(p.at, first.size(), c.pick(spare)); break;
    default: {
      std::string many;
      for (size_t n = c.below(200); n-- > 0 && many.size() + text.size() < kLongest;) many += first + " ";
      text.insert(p.at, many);
    }
  }
}
// Replaces a token by another of its kind: often still a graph, and another one.
void change_like(std::string& text, const std::vector<Piece>& pieces, Chooser& c) {
  if (pieces.empty()) return;
  Piece p = c.pick(pieces);
  std::vector<Piece> like;
  for (const Piece& q : pieces)
    if (q.kind == p.kind) like.push_back(q);
  Piece q = c.pick(like);
  text.replace(p.at, p.end - p.at, text.substr(q.at, q.end - q.at));
}
}  // namespace

std::string mutate(std::string_view given, std::span<const std::string> others, Chooser& c) {
  std::string text(given.substr(0, kLongest));
  constexpr uint32_t kWeights[] = {12, 8, 3, 3, 1};
  for (size_t changes = c.flip() ? 1 : 1 + c.below(8); changes-- > 0;) {
    switch (c.weighted(kWeights)) {
      case 0: change_like(text, tokens_of(text), c); break;
      case 1: {
        std::vector<std::string> spare{std::string(c.pick(kTokens))};
        change_pieces(text, tokens_of(text), spare, c);
        break;
      }
      case 2: change_bytes(text, c); break;
      case 3: {
        const std::string& other = others.empty() ? text : others[c.below(others.size())];
        std::vector<Piece> lines = lines_of(other);
        if (lines.empty()) break;
        Piece line = c.pick(lines);
        std::vector<std::string> spare{other.substr(line.at, line.end - line.at)};
        change_pieces(text, lines_of(text), spare, c);
        break;
      }
      default: text.resize(c.below(text.size() + 1));
    }
    if (text.size() > kLongest) text.resize(kLongest);
  }
  return text;
}

bool survives(std::string_view text, const OpTable& ops) {
  std::unique_ptr<Graph> graph;
  try {
    graph = parse_graph(text, ops);
  } catch (const UserError&) {
    return false;
  } catch (const Unsupported&) {  // a call of a form that a rule says it does not know
    return false;
  }
  if (!verify(*graph).empty()) {
    print(*graph);
    return true;
  }
  std::string printed = print(*graph), why;
  try {
    auto again = parse_graph(printed, ops);
    LENZ_CHECK(structurally_equal(*graph, *again, &why), "a text parses into another graph once printed: " + why);
    LENZ_CHECK(structural_hash(*graph) == structural_hash(*again), "equal graphs of unequal hash");
    LENZ_CHECK(diff(*graph, *again).empty(), "equal graphs that differ");
    LENZ_CHECK(print(*again) == printed, "the canonical spelling is not stable");
    LENZ_CHECK(structurally_equal(*graph, *graph->clone(), &why), "a clone is another graph: " + why);
  } catch (const InternalError&) {
    throw;
  } catch (const Error& e) {
    internal_error("a printed graph does not parse: " + std::string(e.what()), __FILE__, __LINE__);
  }
  return true;
}

}  // namespace lenz
