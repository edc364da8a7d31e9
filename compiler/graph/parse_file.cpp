// A file: externs, the graph, its sub-graphs. A sub-graph is read where a graph first names it, because the types of a
// control-flow op are its sub-graphs'; the lexer jumps there and back.
#include <algorithm>
#include <cstdio>

#include "compiler/base/hash.h"
#include "compiler/base/suggest.h"
#include "compiler/graph/parser.h"

namespace lenz {

Parser::Parser(std::string_view text, const OpTable& ops, const ParseOptions& options)
    : ops_(ops), options_(options), source_(text, options.file), lexer_(text), context_(std::make_shared<Context>()) {
  if (text.size() > options.limits.text)
    throw UserError(
        "the text has " + std::to_string(text.size()) + " bytes; the limit is " + std::to_string(options.limits.text),
        options.file);
  if (options.comments) lexer_.keep_comments(&comments_);
  take();
}

// --- tokens

Token Parser::take() {
  Token taken = token_;
  taken_end_ = taken.end;
  token_ = lexer_.next();
  if (token_.kind == TokenKind::bad) fail(token_, std::string(token_.text));
  return taken;
}

bool Parser::eat(TokenKind kind) {
  if (token_.kind != kind) return false;
  take();
  return true;
}

bool Parser::eat_word(std::string_view word) {
  if (!at_word(word)) return false;
  take();
  return true;
}

Token Parser::expect(TokenKind kind, std::string_view what) {
  if (token_.kind != kind) fail_here("expected " + std::string(what.empty() ? describe(kind) : what));
  return take();
}

void Parser::expect_word(std::string_view word) {
  if (!eat_word(word)) fail_here("expected `" + std::string(word) + "`");
}

bool Parser::next_is(TokenKind kind) const {
  Lexer ahead = lexer_;
  ahead.keep_comments(nullptr);
  return ahead.next().kind == kind;
}

void Parser::fail(const Token& token, const std::string& message, const std::string& remedy) const {
  throw source_.error(token.at, token.end, message, remedy);
}

void Parser::fail_here(const std::string& message, const std::string& remedy) const {
  constexpr size_t kShown = 40;
  std::string found =
      token_.kind == TokenKind::end
          ? "the end of the text"
          : "`" + std::string(source_.text().substr(token_.at, std::min(token_.end - token_.at, kShown))) + "`";
  for (char& c : found)
    if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7F) c = '?';
  fail(token_, message + ", found " + found, remedy);
}

std::string Parser::text_of(const Token& token) {
  if (token.text.size() > options_.limits.string) fail(token, "this is longer than the limit of strings");
  return token.quoted ? unescape(token.text) : std::string(token.text);
}

// --- comments

void Parser::comments_to(Comments::Place* next) {
  if (!options_.comments) return;
  std::string_view text = source_.text();
  for (Lexer::Comment c : comments_) {
    std::string comment(text.substr(c.at, c.end - c.at));
    while (!comment.empty() && (comment.back() == ' ' || comment.back() == '\r' || comment.back() == '\t'))
      comment.pop_back();
    bool same_line =
        last_place_ && text.substr(last_place_end_, c.at - last_place_end_).find('\n') == std::string_view::npos;
    if (same_line) {
      last_place_->behind = comment;
    } else if (next) {
      next->above.push_back(std::move(comment));
    } else {
      options_.comments->below.push_back(std::move(comment));
    }
  }
  comments_.clear();
}

// --- names

namespace {
bool is_number(const Token& t) { return !t.quoted && t.text[0] >= '0' && t.text[0] <= '9'; }
uint64_t hash_name(const Token& t) { return hash_bytes(t.text, is_number(t)); }
}  // namespace

size_t ValueNames::slot(const Token& token, uint64_t hash) const {
  size_t mask = slots_.size() - 1, at = hash & mask;
  for (; slots_[at]; at = (at + 1) & mask) {
    const Entry& e = entries_[slots_[at] - 1];
    if (e.hash == hash && e.text == token.text) break;
  }
  return at;
}

ValueId ValueNames::find(const Token& token) const {
  uint32_t index = slots_[slot(token, hash_name(token))];
  return index ? entries_[index - 1].value : kNone;
}

bool ValueNames::add(const Token& token, ValueId value, size_t& earlier) {
  if ((entries_.size() + 1) * 2 > slots_.size()) {
    slots_.assign(slots_.size() * 2, 0);
    for (uint32_t i = 0; i < entries_.size(); ++i) {
      size_t at = entries_[i].hash & (slots_.size() - 1);
      while (slots_[at]) at = (at + 1) & (slots_.size() - 1);
      slots_[at] = i + 1;
    }
  }
  uint64_t hash = hash_name(token);
  size_t at = slot(token, hash);
  if (slots_[at]) {
    earlier = entries_[slots_[at] - 1].at;
    return false;
  }
  entries_.push_back({token.text, hash, value, token.at});
  slots_[at] = static_cast<uint32_t>(entries_.size());
  return true;
}

std::vector<std::string_view> ValueNames::all() const {
  std::vector<std::string_view> names;
  for (const Entry& e : entries_) names.push_back(e.text);
  return names;
}

// --- file

std::unique_ptr<Graph> Parser::file() {
  while (at_word("extern")) extern_op();
  if (!at_word("graph"))
    fail_here("expected `graph @name(...)`", "a file starts with its graph: graph @main(%x: f32[2]) { return %x }");
  Scope scope;
  std::unique_ptr<Graph> main = graph(scope);
  while (!at(TokenKind::end)) {
    if (!at_word("graph")) fail_here("expected `graph` or the end of the file");
    Token word = take();
    Token name = expect(TokenKind::graph, "the sub-graph's name");
    auto known = graphs_.find(text_of(name));
    if (known == graphs_.end() || known->second.state != Entry::read || known->second.at != word.at)
      fail(name, "nothing calls the sub-graph @" + text_of(name),
           "a file holds one graph and the sub-graphs that it calls");
    if (options_.comments) comments_to(&options_.comments->graphs[known->second.graph]);
    last_place_ = nullptr;
    lexer_.seek(known->second.end);
    take();
    comments_.erase(std::remove_if(comments_.begin(), comments_.end(),
                                   [&](const Lexer::Comment& c) { return c.at < known->second.end; }),
                    comments_.end());
  }
  comments_to(nullptr);
  return main;
}

void Parser::extern_op() {
  take();
  Token text = expect(TokenKind::string, "a schema between quotes");
  Schema schema = placed(text, [&] { return parse_schema(text_of(text)); });
  if (schema.params.size() > options_.limits.params || schema.returns.size() > options_.limits.params)
    fail(text, "this schema has more parameters than the limit, " + std::to_string(options_.limits.params));
  std::string name = schema.full_name();
  if (ops_.find(name)) fail(text, "`" + name + "` is an op that Lenz knows", "leave the declaration out");
  if (context_->externs.find(name)) fail(text, "`" + name + "` is declared twice");
  placed(text, [&] {
    for (const Param& p : schema.params)
      if (p.fallback && !fits(default_arg(*context_, p), p.type, {}))
        throw UserError("the default of `" + p.name + "` does not fit its type");
  });
  OpDef def;
  def.schema = std::move(schema);
  context_->externs.add(std::move(def));
  op_names_.clear();
}

// Finds the graphs behind the current token. A bad token ends the search: reading it will say what is wrong.
void Parser::index_graphs() {
  indexed_ = true;
  Lexer ahead = lexer_;
  ahead.keep_comments(nullptr);
  int64_t braces = at(TokenKind::l_brace) ? 2 : at(TokenKind::r_brace) ? 0 : 1;  // the current graph's is open
  for (Token t = ahead.next(); t.kind != TokenKind::end && t.kind != TokenKind::bad; t = ahead.next()) {
    if (t.kind == TokenKind::l_brace) ++braces;
    if (t.kind == TokenKind::r_brace) --braces;
    if (braces != 0 || t.kind != TokenKind::name || t.text != "graph") continue;
    size_t start = t.at;
    t = ahead.next();
    if (t.kind != TokenKind::graph) return;
    Entry entry;
    entry.at = start;
    if (!graphs_.emplace(text_of(t), entry).second) fail(t, "there are two graphs @" + text_of(t));
  }
}

uint32_t Parser::subgraph(const Token& name) {
  auto seen = scope_->subgraphs.find(name.text);
  if (seen != scope_->subgraphs.end()) return seen->second;
  if (!indexed_) index_graphs();
  std::string text = text_of(name);
  auto known = graphs_.find(text);
  if (known == graphs_.end()) {
    std::vector<std::string_view> names;
    for (const auto& [other, entry] : graphs_) names.push_back(other);
    std::sort(names.begin(), names.end());
    std::string_view nearest = nearest_name(text, names);
    fail(name, "there is no sub-graph @" + text,
         nearest.empty() ? "define it behind the main graph: graph @" + text + "(...) {...}"
                         : "did you mean @" + std::string(nearest) + "?");
  }
  Entry& entry = known->second;
  if (entry.state == Entry::open) fail(name, "@" + text + " would call itself");
  if (entry.state == Entry::read)
    fail(name, "@" + text + " is called from two graphs", "a sub-graph belongs to one graph: write a copy of it");
  Nest nest(*this);
  Lexer back = lexer_;
  Token back_token = token_;
  auto back_comments = std::move(comments_);
  auto back_place = last_place_;
  auto back_place_end = last_place_end_;
  comments_.clear();
  last_place_ = nullptr;
  lexer_.seek(entry.at);
  take();
  entry.state = Entry::open;
  Scope scope;
  std::unique_ptr<Graph> sub;
  {
    // What the calling statement has gathered so far must survive.
    std::vector<Target> targets = std::move(targets_);
    std::vector<Arg> positional = std::move(positional_);
    std::vector<Keyword> keywords = std::move(keywords_);
    sub = graph(scope);
    targets_ = std::move(targets);
    positional_ = std::move(positional);
    keywords_ = std::move(keywords);
  }
  entry.state = Entry::read;
  entry.end = taken_end_;
  entry.graph = sub.get();
  lexer_ = back;
  token_ = back_token;
  comments_ = std::move(back_comments);
  last_place_ = back_place;
  last_place_end_ = back_place_end;
  auto index = static_cast<uint32_t>(scope_->graph->subgraphs.size());
  scope_->graph->subgraphs.push_back(std::move(sub));
  scope_->subgraphs.emplace(name.text, index);
  return index;
}

Parser::Nest::Nest(Parser& parser) : parser_(parser) {
  if (parser.depth_ >= parser.options_.limits.nesting) {
    parser.fail(parser.token_, "nested deeper than " + std::to_string(parser.options_.limits.nesting) + " levels");
  }
  ++parser.depth_;
}

std::unique_ptr<Graph> parse_graph(std::string_view text, const OpTable& ops, const ParseOptions& options) {
  return Parser(text, ops, options).file();
}

std::string text_name(const std::string& path) { return path == "-" ? "<stdin>" : path; }

std::string read_text(const std::string& path, size_t limit) {
  std::FILE* file = path == "-" ? stdin : std::fopen(path.c_str(), "rb");
  if (!file) throw UserError("can't open the file", path, "check the path");
  std::string text;
  char buffer[1 << 16];
  size_t got;
  while (text.size() <= limit && (got = std::fread(buffer, 1, sizeof buffer, file)) > 0) text.append(buffer, got);
  bool failed = std::ferror(file) != 0;
  if (file != stdin) std::fclose(file);
  if (failed) throw UserError("can't read the file", path);
  if (text.size() > limit)
    throw UserError("the file is larger than the limit of " + std::to_string(limit) + " bytes", path);
  return text;
}

std::unique_ptr<Graph> read_graph(const std::string& path, const OpTable& ops, const ParseLimits& limits) {
  std::string text = read_text(path, limits.text);
  ParseOptions options;
  options.file = text_name(path);
  options.limits = limits;
  return parse_graph(text, ops, options);
}

}  // namespace lenz
