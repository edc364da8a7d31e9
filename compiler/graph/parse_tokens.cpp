// Tokens, comments and names: what every text form of the project is read by.
#include <algorithm>

#include "compiler/base/hash.h"
#include "compiler/base/suggest.h"
#include "compiler/graph/text_parser.h"

namespace lenz {

TextParser::TextParser(std::string_view text, const OpTable& ops, const ParseOptions& options,
                       std::vector<std::string>* comments_below)
    : ops_(ops),
      options_(options),
      source_(text, options.file),
      lexer_(text),
      context_(std::make_shared<Context>()),
      comments_below_(comments_below) {
  if (text.size() > options.limits.text)
    throw UserError(
        "the text has " + std::to_string(text.size()) + " bytes; the limit is " + std::to_string(options.limits.text),
        options.file);
  if (comments_below_) lexer_.keep_comments(&comments_);
  take();
}

// --- tokens

Token TextParser::take() {
  Token taken = token_;
  taken_end_ = taken.end;
  token_ = lexer_.next();
  if (token_.kind == TokenKind::bad) {
    const size_t remedy = token_.text.find("; ");
    const bool has = remedy != std::string_view::npos;
    fail(token_, std::string(token_.text.substr(0, remedy)), has ? std::string(token_.text.substr(remedy + 2)) : "");
  }
  return taken;
}

bool TextParser::eat(TokenKind kind) {
  if (token_.kind != kind) return false;
  take();
  return true;
}

bool TextParser::eat_word(std::string_view word) {
  if (!at_word(word)) return false;
  take();
  return true;
}

Token TextParser::expect(TokenKind kind, std::string_view what) {
  if (token_.kind != kind) fail_here("expected " + std::string(what.empty() ? describe(kind) : what));
  return take();
}

void TextParser::expect_word(std::string_view word) {
  if (!eat_word(word)) fail_here("expected `" + std::string(word) + "`");
}

bool TextParser::next_is(TokenKind kind) const {
  Lexer ahead = lexer_;
  ahead.keep_comments(nullptr);
  return ahead.next().kind == kind;
}

void TextParser::fail(const Token& token, const std::string& message, const std::string& remedy) const {
  throw source_.error(token.at, token.end, message, remedy);
}

void TextParser::fail_here(const std::string& message, const std::string& remedy) const {
  constexpr size_t kShown = 40;
  std::string found =
      token_.kind == TokenKind::end
          ? "the end of the text"
          : "`" + std::string(source_.text().substr(token_.at, std::min(token_.end - token_.at, kShown))) + "`";
  for (char& c : found)
    if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7F) c = '?';
  const std::string general = token_.kind == TokenKind::end ? "something is left open: graphs end with }, lists with ]"
                                                            : "compiler/graph/GRAMMAR.md says what may stand here";
  fail(token_, message + ", found " + found, remedy.empty() ? general : remedy);
}

std::string TextParser::text_of(const Token& token) {
  if (token.text.size() > options_.limits.string) fail(token, "this is longer than the limit of strings");
  return token.quoted ? unescape(token.text) : std::string(token.text);
}

// --- comments

void TextParser::comments_to(Comments::Place* next) {
  if (!comments_below_) return;
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
      comments_below_->push_back(std::move(comment));
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

namespace {
// Whether a statement of this text gives its value such a name: `%name` stands before `=`, a type, or others that do.
bool defines(std::string_view text, std::string_view name) {
  auto skip = [&](size_t& at, auto&& of) {
    while (at < text.size() && of(text[at])) ++at;
  };
  auto space = [](char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; };
  auto word = [](char c) { return is_word(std::string_view(&c, 1)) || (c >= '0' && c <= '9'); };
  const std::string wanted = "%" + std::string(name);
  for (size_t from = text.find(wanted); from != text.npos; from = text.find(wanted, from + 1)) {
    size_t at = from + wanted.size();
    if (at < text.size() && word(text[at])) continue;
    for (skip(at, space); at < text.size() && text[at] == ','; skip(at, space)) {
      skip(++at, space);
      if (at == text.size() || text[at] != '%') break;
      skip(++at, word);
    }
    if (at < text.size() && (text[at] == '=' || text[at] == ':')) return true;
  }
  return false;
}
}  // namespace

void TextParser::no_value(const Token& token, const ValueNames& known) const {
  std::string shown(token.text.substr(0, 80));
  const std::string_view rest = source_.text().substr(token.end);
  if (defines(rest.substr(0, rest.find("graph @")), token.text))
    fail(token, "%" + shown + " is used before it is defined",
         "move the statement that defines it in front of this one");
  std::vector<std::string_view> names = known.all();
  constexpr size_t kSearched = 20'000;  // the nearest of the last ones is near enough
  std::span<const std::string_view> searched = names;
  if (names.size() > kSearched) searched = searched.last(kSearched);
  std::string_view nearest = nearest_name(token.text, searched);
  fail(token, "there is no value %" + shown + " here",
       nearest.empty() ? "a value is defined before it is used" : "did you mean %" + std::string(nearest) + "?");
}

// --- ops

namespace {
// What a schema that writes to its first operand, and returns that, is the in-place variant of: foo of foo_.
std::optional<Schema> functional_of(const Schema& schema) {
  Schema made = schema;
  if (schema.params.empty() || schema.returns.size() != 1) return std::nullopt;
  if (!made.packet.ends_with('_')) return std::nullopt;  // op name: how ATen names what writes in place
  made.packet.pop_back();
  for (Param& p : made.params) {
    const bool first = &p == &made.params[0];
    if (p.writes != first || (p.alias == 'a') != first || p.is_out || (first && p.type.list)) return std::nullopt;
    p.alias = 0;
    p.writes = false;
  }
  Return& result = made.returns[0];
  if (made.packet.empty() || result.alias != 'a' || !result.writes) return std::nullopt;
  result.alias = 0;
  result.writes = false;
  return made;
}
}  // namespace

void TextParser::extern_op() {
  take();
  Token text = expect(TokenKind::string, "a schema between quotes");
  Schema schema = placed(text, [&] { return parse_schema(text_of(text)); });
  if (schema.params.size() > options_.limits.params || schema.returns.size() > options_.limits.params)
    fail(text, "this schema has more parameters than the limit, " + std::to_string(options_.limits.params));
  std::string name = schema.full_name();
  if (ops_.find(name)) fail(text, "`" + name + "` is an op that Lenz knows", "leave the declaration out");
  if (const OpDef* known = context_->externs.find(name)) {
    if (known->variants.in_place && to_string(known->schema) == to_string(schema)) return;  // its variant brought it
    fail(text, "`" + name + "` is declared twice", "leave one of the two out");
  }
  placed(text, [&] {
    for (const Param& p : schema.params)
      if (p.fallback && !fits(default_arg(*context_, p), p.type, {}))
        throw UserError("the default of `" + p.name + "` does not fit its type", "", "write one that does, or none");
  });
  OpDef def;
  // A graph of values alone needs the op that gives what this one writes.
  std::optional<Schema> functional = functional_of(schema);
  if (functional) {
    const std::string its_name = functional->full_name();
    def.variants.in_place = !ops_.find(its_name) && !context_->externs.find(its_name);
  }
  def.schema = def.variants.in_place ? std::move(*functional) : std::move(schema);
  context_->externs.add(std::move(def));
  op_names_.clear();
}

const std::vector<const OpDef*>& TextParser::ops_named(const Token& token) {
  auto [at, fresh] = op_names_.try_emplace(token.text);
  if (fresh) at->second = candidates(*context_, ops_, token.text);
  if (!at->second.empty()) return at->second;
  std::string name(token.text.substr(0, 200));
  std::vector<std::string_view> names;
  std::deque<std::string> packets;
  for (const OpTable* table : {&ops_, static_cast<const OpTable*>(&context_->externs)})
    for (const auto& row : table->rows()) {
      names.push_back(row->full_name);
      if (!row->schema.overload.empty())
        names.push_back(packets.emplace_back(row->schema.space + "." + row->schema.packet));
    }
  std::string_view nearest = nearest_name(token.text, names);
  // A short word resembles many, whatever stands before its dot.
  if (size_t dot = name.find('.'); dot != std::string::npos && !nearest.empty()) {
    std::string_view given = std::string_view(name).substr(dot + 1), meant = nearest.substr(nearest.find('.') + 1);
    if (nearest.starts_with(name.substr(0, dot + 1)) && nearest_name(given, {&meant, 1}).empty()) nearest = {};
  }
  bool torch = name.starts_with("torch.");  // as one writes it in Python
  if (torch || name.find('.') == std::string::npos) {
    std::string with_space = "aten." + (torch ? name.substr(6) : name);
    if (!candidates(*context_, ops_, with_space).empty()) nearest = packets.emplace_back(with_space);
  }
  std::string schema_name = name;
  if (size_t dot = schema_name.find('.'); dot != std::string::npos) schema_name.replace(dot, 1, "::");
  std::string declare = "declare it before the graph: extern \"" + schema_name + "(Tensor x) -> Tensor\"";
  if (nearest.empty()) fail(token, "there is no op `" + name + "`", declare);
  std::string help = "did you mean `" + std::string(nearest) + "`?";
  for (const OpDef* op : candidates(*context_, ops_, nearest))
    if (op->variant != VariantKind::out) help += "\n    " + to_string(op->schema);
  fail(token, "there is no op `" + name + "`", help + "\n  Else " + declare);
}

uint32_t TextParser::origin() {
  take();
  std::vector<NameId> names;
  do {
    Token name = expect(TokenKind::value, "the name of a value");
    names.push_back(context_->intern(text_of(name)));
  } while (eat(TokenKind::comma));
  return context_->origin(names);
}

TextParser::Nest::Nest(TextParser& parser) : parser_(parser) {
  if (parser.depth_ >= parser.options_.limits.nesting) {
    parser.fail(parser.token_, "nested deeper than " + std::to_string(parser.options_.limits.nesting) + " levels",
                "split it: name parts by nodes or symbols of their own");
  }
  ++parser.depth_;
}

}  // namespace lenz
