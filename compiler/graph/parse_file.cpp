// A file: externs, the graph, its sub-graphs. A sub-graph is read where a graph first names it, because the types of a
// control-flow op are its sub-graphs'; the lexer jumps there and back.
#include <algorithm>
#include <cstdio>

#include "compiler/base/suggest.h"
#include "compiler/graph/parser.h"

namespace lenz {

Parser::Parser(std::string_view text, const OpTable& ops, const ParseOptions& options)
    : TextParser(text, ops, options, options.comments ? &options.comments->below : nullptr) {}

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
  if (entry.state == Entry::open)
    fail(name, "@" + text + " would call itself", "lenz.while_loop and lenz.scan repeat a sub-graph");
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
  if (failed) throw UserError("can't read the file", path, "is it a folder?");
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
