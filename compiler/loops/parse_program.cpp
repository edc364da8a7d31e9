// Declarations, nodes that are no nests, outputs.
#include <algorithm>

#include "compiler/loops/parser.h"

namespace lenz::loops {

ProgramParser::ProgramParser(std::string_view text, const OpTable& ops, const lenz::ParseOptions& options,
                             const ProgramParseOptions& given)
    : TextParser(text, ops, options, given.comments ? &given.comments->below : nullptr), given_(given) {
  program_.context = context_;
}

// --- lines

void ProgramParser::begin_line() {
  if (given_.comments) comments_to(&lines_.emplace_back());
}

void ProgramParser::end_line() {
  if (!given_.comments) return;
  last_place_ = &lines_.back();
  last_place_end_ = taken_end_;
}

// --- names

void ProgramParser::define(ValueNames& names, const Token& token, ValueId value) {
  Token key = token;
  if (key.quoted && key.text.find('\\') != std::string_view::npos) key.text = decoded_.emplace_back(unescape(key.text));
  if (key.text.size() > options_.limits.string) fail(token, "this name is longer than the limit");
  size_t earlier = 0;
  if (!names.add(key, value, earlier))
    fail(token, "%" + std::string(token.text.substr(0, 80)) + " is defined twice",
         "the other definition is at " + source_.where(earlier));
}

ValueId ProgramParser::find(const ValueNames& names, const Token& token) {
  Token key = token;
  std::string decoded;
  if (key.quoted && key.text.find('\\') != std::string_view::npos) key.text = decoded = unescape(key.text);
  ValueId v = names.find(key);
  if (v == kNone) no_value(token, names);
  return v;
}

ValueId ProgramParser::value(const Token& token) { return find(buffers_, token); }

uint32_t ProgramParser::subgraph(const Token& token) { fail(token, "a program has no sub-graphs"); }

// The ninth axis may be i8: no dtype stands where a dim does.
bool ProgramParser::is_symbol(std::string_view word) const {
  return is_word(word) && (!is_reserved_word(word) || parse_dtype(word).has_value());
}

BufferId ProgramParser::buffer() { return find(buffers_, expect(TokenKind::value, "a buffer such as %x")); }

BufferId ProgramParser::buffer_or_none() { return eat_word("none") ? kNone : buffer(); }

Dim ProgramParser::new_symbol(std::string_view what) {
  Token name = expect(TokenKind::name, what);
  if (!is_symbol(name.text)) fail(name, "`" + std::string(name.text.substr(0, 80)) + "` is no symbol");
  return context_->syms.symbol(name.text);
}

void ProgramParser::count_node(const Token& token) {
  if (++nodes_ > options_.limits.nodes)
    fail(token, "more nodes and instructions than the limit, " + std::to_string(options_.limits.nodes));
}

// --- the program

Program ProgramParser::program() {
  begin_line();
  expect_word("loops");
  Token name = expect(TokenKind::graph, "the program's name, such as @main");
  program_.name = text_of(name);
  if (given_.places) given_.places->program = {name.at, name.end};
  if (eat_word("where")) facts(program_.assumptions);
  if (eat_word("assuming")) guards(program_.assumptions);
  expect(TokenKind::l_brace);
  end_line();
  while (declaration()) {
  }
  block(program_.body);
  if (!at_word("return"))
    fail_here("expected a node or `return`", "a program ends with `return`, followed by its outputs");
  returns();
  close();
  if (!at(TokenKind::end)) fail_here("expected the end of the file", "a file holds one program");
  if (given_.comments) {
    comments_to(nullptr);
    given_.comments->lines.assign(lines_.begin(), lines_.end());
  }
  return std::move(program_);
}

bool ProgramParser::declaration() {
  int stage = at_word("extern")     ? 1
              : at_word("stream")   ? 2
              : at_word("input")    ? 3
              : at_word("constant") ? 4
              : at_word("temp")     ? 4
              : at_word("view")     ? 4
                                    : 0;
  if (stage == 0 || (stage == 1 && !next_is(TokenKind::string))) return false;
  if (stage < stage_)
    fail_here("this comes too late", "declare externs, streams, inputs, then constants, temps and views");
  stage_ = stage;
  count_node(token_);
  begin_line();
  if (stage == 1) {
    extern_op();
  } else if (stage == 2) {
    stream();
  } else if (stage == 3) {
    input();
  } else if (at_word("view")) {
    add_view();
  } else {
    add_buffer(take().text == "temp" ? BufferKind::temporary : BufferKind::constant);
  }
  end_line();
  return true;
}

void ProgramParser::stream() {
  take();
  Token number = peek();
  if (small("the stream's number") != program_.streams.size())
    fail(number, "streams are numbered in order", "write stream " + std::to_string(program_.streams.size()));
  Stream stream;
  if (eat_word("seed")) stream.seed = unsigned_integer();
  expect_word("offset");
  stream.offset = dim();
  program_.streams.push_back(stream);
}

void ProgramParser::input() {
  take();
  Token name = peek();
  Place place{name.at, name.end};
  Input input;
  bool number = name.kind == TokenKind::value && next_is(TokenKind::colon);
  if (number) {  // an `int` or `none` behind the colon?
    Lexer ahead = lexer_;
    ahead.keep_comments(nullptr);
    ahead.next();
    Token type = ahead.next();
    number = type.kind == TokenKind::name && (type.text == "int" || type.text == "none");
  }
  if (number) {
    take();
    take();
    input.name = text_of(name);
    if (take().text == "int") {
      input.kind = Input::symbol;
      input.sym = dim();
    } else {
      input.kind = Input::none;
    }
  } else {
    add_buffer(BufferKind::input);
    input.buffer = static_cast<BufferId>(program_.buffers.size() - 1);
    input.name = program_.buffers.back().name;
  }
  program_.inputs.push_back(std::move(input));
  if (given_.places) given_.places->inputs.push_back(place);
}

void ProgramParser::add_buffer(BufferKind kind) {
  Token name = expect(TokenKind::value, "the buffer's name, such as %x");
  Buffer made;
  made.kind = kind;
  bool numbered = !name.quoted && name.text[0] >= '0' && name.text[0] <= '9';
  if (!numbered) made.name = text_of(name);
  bool typed = eat(TokenKind::colon);
  if (typed) {
    made.type = tensor();
    flags(made);
  }
  if (kind == BufferKind::constant && (!typed || at(TokenKind::assign))) {
    expect(TokenKind::assign, typed ? "`=` and the elements" : "`:` and a type, or `=` and the elements");
    Token type = peek();
    auto dtype = parse_dtype(expect(TokenKind::name, "the constant's type").text);
    if (!dtype) fail(type, "there is no type `" + std::string(type.text.substr(0, 80)) + "`");
    made.data = data(*dtype, type).data;
    if (!typed) made.type = made.data->type;
  } else if (!typed) {
    fail_here("expected `:` and the buffer's type");
  }
  declare(name, std::move(made));
}

void ProgramParser::add_view() {
  take();
  Token name = expect(TokenKind::value, "the view's name, such as %x");
  expect_word("of");
  Buffer made;
  made.view_of = buffer();
  made.kind = program_.buffers[made.view_of].kind;
  expect(TokenKind::colon);
  made.type = tensor();
  made.placed = true;
  bool numbered = !name.quoted && name.text[0] >= '0' && name.text[0] <= '9';
  if (!numbered) made.name = text_of(name);
  declare(name, std::move(made));
}

void ProgramParser::declare(const Token& name, Buffer made) {
  if (at_word("from")) made.origin = origin();
  define(buffers_, name, static_cast<BufferId>(program_.buffers.size()));
  program_.buffers.push_back(std::move(made));
  if (given_.places) given_.places->buffers.push_back({name.at, name.end});
}

TensorType ProgramParser::tensor() {
  Token type = peek();
  auto dtype = parse_dtype(expect(TokenKind::name, "a type, such as f32[2, 3]").text);
  if (!dtype || !at(TokenKind::l_bracket))
    fail(type, "a buffer has a tensor's type", "types are f32[2, 3] and the like");
  return tensor_parts(*dtype, type, false);
}

void ProgramParser::flags(Buffer& made) {
  for (;;) {
    if (eat_word("placed")) {
      made.placed = true;
    } else if (eat_word("local")) {
      made.local = true;
    } else if (eat_word("mut")) {
      made.mutated = true;
    } else if (eat_word("alias")) {
      if (!at(TokenKind::name) && !at(TokenKind::string)) fail_here("expected the name of an alias class");
      made.alias = context_->intern(text_of(take()));
    } else if (eat_word("far")) {
      made.far = eat_word("where") ? condition() : kAlways;
    } else {
      return;
    }
  }
}

// --- nodes

void ProgramParser::block(Block& into) {
  TextParser::Nest deeper(*this);
  while (!at(TokenKind::r_brace) && !at_word("return") && !at(TokenKind::end)) node(into);
}

void ProgramParser::braces(Block& into) {
  expect(TokenKind::l_brace);
  end_line();
  block(into);
  begin_line();
  expect(TokenKind::r_brace, "a node or `}`");
}

void ProgramParser::close() {
  begin_line();
  expect(TokenKind::r_brace);
  end_line();
}

void ProgramParser::node(Block& into) {
  begin_line();
  Token word = peek();
  count_node(word);
  size_t number = 0;
  if (given_.places) {
    number = given_.places->nodes.size();
    given_.places->nodes.push_back({{word.at, word.end}, {}, {}});
  }
  if (!at(TokenKind::name)) fail_here("expected a node or `return`", "nodes start with a word: for, sort, extern, ...");
  Node made;
  if (word.text == "for") {
    made.is = nest(number);
  } else if (word.text == "sort") {
    made.is = sort();
  } else if (word.text == "extern") {
    made.is = external();
  } else if (word.text == "bind") {
    made.is = bind();
  } else if (word.text == "check") {
    made.is = check();
  } else if (word.text == "print") {
    made.is = print_node();
  } else if (word.text == "if") {
    made.is = conditional();
  } else if (word.text == "while") {
    made.is = loop();
  } else if (word.text == "repeat") {
    made.is = repeat();
  } else if (word.text == "kernel") {
    made.is = kernel();
  } else {
    fail_here("expected a node or `return`",
              "the nodes are for, sort, extern, bind, check, print, if, while, repeat and kernel; buffers are declared "
              "before");
  }
  end_line();
  into.nodes.push_back(std::move(made));
}

uint32_t ProgramParser::small(std::string_view what) {
  Token number = expect(TokenKind::integer, what);
  int64_t value = integer(number, false);
  if (value > (int64_t{1} << 30)) fail(number, "this number is too large");
  return static_cast<uint32_t>(value);
}

Sort ProgramParser::sort() {
  take();
  Sort made;
  made.stable = false;
  made.values = buffer_or_none();
  if (eat(TokenKind::comma)) made.indices = buffer_or_none();
  expect(TokenKind::assign);
  made.keys = buffer();
  expect_word("dim");
  made.dim = small("the number of the dim");
  made.descending = eat_word("descending");
  made.stable = eat_word("stable");
  if (eat_word("at")) do
      made.places.push_back(dim());
    while (eat(TokenKind::comma));
  if (at_word("from")) made.origin = origin();
  return made;
}

Extern ProgramParser::external() {
  take();
  Extern made;
  if (at(TokenKind::value) || at_word("none")) {
    do made.results.push_back(buffer_or_none());
    while (eat(TokenKind::comma));
    expect(TokenKind::assign, "`=` and the op");
  }
  Token name = expect(TokenKind::name, "an op with its overload");
  const std::vector<const OpDef*>& named = ops_named(name);
  if (named.size() > 1)
    fail(name, "`" + std::string(name.text.substr(0, 200)) + "` has several overloads",
         "name one of them, such as " + named[0]->schema.space + "." + named[0]->schema.packet + "." +
             (named[0]->schema.overload.empty() ? "default" : named[0]->schema.overload));
  made.op = named[0];
  const auto& params = made.op->schema.params;
  size_t lists_before = list_count_;
  std::vector<Arg> positional;
  std::vector<Keyword> keywords;
  expect(TokenKind::l_paren);
  while (!eat(TokenKind::r_paren)) {
    Token start = peek();
    Keyword keyword{};
    if (at(TokenKind::name) && next_is(TokenKind::assign)) {
      keyword.name = take().text;
      take();
    } else if (!keywords.empty()) {
      fail(start, "a positional argument behind a keyword", "give it by its name too");
    }
    keyword.arg = literal();
    if (keyword.name.empty()) {
      positional.push_back(keyword.arg);
    } else {
      keywords.push_back(keyword);
    }
    if (!at(TokenKind::r_paren)) expect(TokenKind::comma, "`,` or `)`");
  }
  for (size_t i = 0; i < positional.size(); ++i)
    if (i >= params.size() || params[i].keyword_only)
      fail(name, "`" + made.op->full_name + "` takes " + std::to_string(i) + " positional arguments");
  for (const Keyword& k : keywords) {
    int at = made.op->schema.find(k.name);
    if (at < 0) fail(name, "`" + made.op->full_name + "` has no parameter `" + std::string(k.name.substr(0, 80)) + "`");
    bool twice =
        static_cast<size_t>(at) < positional.size() || std::ranges::count(keywords, k.name, &Keyword::name) > 1;
    if (twice) fail(name, "`" + std::string(k.name) + "` is given twice");
  }
  for (size_t i = 0; i < params.size(); ++i) {
    Arg given = i < positional.size() ? positional[i] : keyword_or_default(params[i], keywords, name);
    std::optional<Arg> shaped = shaped_for(*context_, given, params[i].type);
    if (!shaped) fail(name, "the argument `" + params[i].name + "` does not fit its type");
    made.args.push_back(*shaped);
  }
  list_count_ = lists_before;
  if (at_word("from")) made.origin = origin();
  return made;
}

Arg ProgramParser::keyword_or_default(const Param& param, const std::vector<Keyword>& keywords, const Token& op) {
  for (const Keyword& k : keywords)
    if (k.name == param.name) return k.arg;
  if (param.fallback) return default_arg(*context_, param);
  if (!param.type.optional) fail(op, "the argument `" + param.name + "` is missing");
  return Arg::none();
}

Bind ProgramParser::bind() {
  take();
  Bind made;
  made.symbol = new_symbol("the symbol to bind");
  expect(TokenKind::assign);
  made.from = buffer();
  return made;
}

Check ProgramParser::check() {
  take();
  Check made;
  if (at(TokenKind::value) || at_word("none")) {
    made.holds = buffer_or_none();
  } else {
    made.cond = condition();
  }
  made.message = text_of(expect(TokenKind::string, "the message, between quotes"));
  if (at_word("from")) made.origin = origin();
  return made;
}

Print ProgramParser::print_node() {
  take();
  Print made;
  made.text = text_of(expect(TokenKind::string, "the text, between quotes"));
  while (eat(TokenKind::comma)) {
    made.numbers.push_back(eat_word("number"));
    made.values.push_back(buffer());
  }
  return made;
}

If ProgramParser::conditional() {
  take();
  If made;
  made.condition = buffer();
  made.then = std::make_unique<Block>();
  made.otherwise = std::make_unique<Block>();
  braces(*made.then);
  if (!eat_word("else")) return made;
  braces(*made.otherwise);
  if (given_.comments && made.otherwise->nodes.empty()) {  // one line when printed
    lenz::Comments::Place last = std::move(lines_.back());
    lines_.pop_back();
    for (std::string& comment : last.above) lines_.back().above.push_back(std::move(comment));
  }
  return made;
}

While ProgramParser::loop() {
  take();
  While made;
  made.test = std::make_unique<Block>();
  made.body = std::make_unique<Block>();
  braces(*made.test);
  made.condition = buffer();
  braces(*made.body);
  return made;
}

Repeat ProgramParser::repeat() {
  take();
  Repeat made;
  made.symbol = new_symbol("the counter's name");
  expect(TokenKind::less, "`<` and how often");
  made.count = dim();
  made.body = std::make_unique<Block>();
  braces(*made.body);
  return made;
}

Kernel ProgramParser::kernel() {
  take();
  Kernel made;
  made.axes = axes();
  if (at(TokenKind::string)) made.name = text_of(take());
  if (at_word("from")) made.origin = origin();
  made.body = std::make_unique<Block>();
  braces(*made.body);
  return made;
}

// --- outputs

void ProgramParser::returns() {
  begin_line();
  take();
  if (!at(TokenKind::r_brace)) {
    do {
      Token start = peek();
      program_.outputs.push_back(output());
      if (eat_word("into")) program_.outputs.back().input = changed_input();
      if (given_.places) given_.places->outputs.push_back({start.at, taken_end_});
    } while (eat(TokenKind::comma));
  }
  end_line();
}

// The input that an output is for, by number.
uint32_t ProgramParser::changed_input() {
  const Token named = peek();
  const BufferId id = buffer();
  for (uint32_t i = 0; i < program_.inputs.size(); ++i)
    if (program_.inputs[i].kind == Input::tensor && program_.inputs[i].buffer == id) return i;
  fail(named, "this is no input", "an output goes `into` an input, which becomes what it is");
}

Output ProgramParser::output() {
  Output made;
  if (at(TokenKind::value)) {
    made.kind = Output::tensor;
    made.buffer = buffer();
    made.type = program_.buffers[made.buffer].type;
    if (eat(TokenKind::colon)) made.type = tensor();
    made.conjugated = eat_word("conjugated");
    made.negated = eat_word("negated");
  } else if (at(TokenKind::l_bracket)) {
    TextParser::Nest deeper(*this);
    take();
    made.kind = Output::list;
    while (!eat(TokenKind::r_bracket)) {
      made.elements.push_back(output());
      if (!at(TokenKind::r_bracket)) expect(TokenKind::comma, "`,` or `]`");
    }
  } else if (eat_word("int")) {
    made.kind = Output::integer;
    made.value = dim();
  } else if (eat_word("literal")) {
    size_t lists_before = list_count_;
    Token start = peek();
    made.kind = Output::literal;
    ParamType any;
    any.kind = ParamKind::any;
    Arg given = literal();
    bool refers = given.kind == ArgKind::data;
    for_each_value(given, [&](ValueId) { refers = true; });
    if (refers) fail(start, "a literal has no buffers in it");
    made.literal_value = *shaped_for(*context_, given, any);
    list_count_ = lists_before;
  } else if (eat_word("number")) {
    made.kind = Output::number;
    made.buffer = buffer();
  } else if (!eat_word("none")) {
    fail_here("expected an output",
              "outputs are buffers, `int` sizes, `number` buffers, `literal` ones, none and lists");
  }
  return made;
}

// --- the doors

bool is_program_text(std::string_view text) {
  Token first = Lexer(text).next();
  return first.kind == TokenKind::name && first.text == "loops";
}

Program parse_program(std::string_view text, const OpTable& ops, const ProgramParseOptions& options) {
  lenz::ParseOptions base;
  base.file = options.file;
  base.limits = options.limits;
  return ProgramParser(text, ops, base, options).program();
}

}  // namespace lenz::loops
