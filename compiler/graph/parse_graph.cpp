// One graph: its inputs, facts and statements.
#include "compiler/base/suggest.h"
#include "compiler/graph/parser.h"

namespace lenz {

std::unique_ptr<Graph> Parser::graph(Scope& scope) {
  scope.outer = scope_;
  scope_ = &scope;
  expect_word("graph");
  Token name = expect(TokenKind::graph, "the graph's name, such as @main");
  auto made = std::make_unique<Graph>(context_, ops_, text_of(name));
  scope.graph = made.get();
  if (options_.places) options_.places->graphs[made.get()] = {name.at, name.end};
  if (options_.comments) comments_to(&options_.comments->graphs[made.get()]);
  expect(TokenKind::l_paren);
  inputs(*made);
  if (eat_word("level")) {
    Token level = expect(TokenKind::name, "a level: torch, aten or core");
    bool known = false;
    for (Level l : {Level::torch, Level::aten, Level::core})
      if (lenz::name(l) == level.text) {
        made->level = l;
        known = true;
      }
    if (!known)
      fail(level, "there is no level `" + std::string(level.text) + "`", "the levels are torch, aten and core");
  }
  if (eat_word("where")) facts(made->assumptions);
  if (eat_word("assuming")) guards(made->assumptions);
  if (options_.comments) comments_to(&options_.comments->graphs[made.get()]);
  if (at(TokenKind::minus)) fail_here("expected `{`", "a graph does not declare its results: their types are inferred");
  expect(TokenKind::l_brace);
  if (options_.comments) {
    last_place_ = &options_.comments->graphs[made.get()];
    last_place_end_ = taken_end_;
  }
  while (!at_word("return")) {
    if (at(TokenKind::r_brace) || at(TokenKind::end))
      fail_here("expected a statement or `return`", "a graph ends with `return`, followed by its outputs");
    statement();
  }
  returns();
  expect(TokenKind::r_brace);
  scope_ = scope.outer;
  return made;
}

void Parser::inputs(Graph& graph) {
  while (!eat(TokenKind::r_paren)) {
    Token name = expect(TokenKind::value, "an input such as %x or `)`");
    expect(TokenKind::colon, "`:` and the input's type");
    bool any_int = false;
    const Type* t = type(&any_int);
    if (any_int) {
      if (!is_word(name.text) || is_reserved_word(name.text))
        fail(name, "an `int` input without an expression needs a plain name", "write `int s0`");
      t = context_->sym_int(context_->syms.symbol(name.text));
    }
    ValueId v = graph.add_input({}, t);
    define(name, v);
    if (options_.places) options_.places->inputs[{&graph, graph.inputs().size() - 1}] = {name.at, name.end};
    Input& input = graph.input(graph.inputs().size() - 1);
    for (;;) {
      if (eat_word("alias")) {
        if (!at(TokenKind::name) && !at(TokenKind::string)) fail_here("expected the name of an alias class");
        input.alias = context_->intern(text_of(take()));
      } else if (eat_word("mut")) {
        input.mutated = true;
      } else if (eat_word("requires_grad")) {
        input.requires_grad = true;
      } else if (eat_word("init")) {
        input.init = initialiser();
      } else {
        break;
      }
    }
    if (!at(TokenKind::r_paren)) expect(TokenKind::comma, "`,` or `)`");
  }
}

namespace {
struct InitialiserName {
  std::string_view name;
  Initialiser::Kind kind;
  int numbers;
};
constexpr InitialiserName kInitialisers[] = {
    {"uniform", Initialiser::uniform, 2},   {"normal", Initialiser::normal, 2},
    {"integers", Initialiser::integers, 2}, {"zeros", Initialiser::zeros, 0},
    {"ones", Initialiser::ones, 0},         {"permutation", Initialiser::permutation, 0}};
}  // namespace

Initialiser Parser::initialiser() {
  Token name = expect(TokenKind::name, "an initialiser");
  const InitialiserName* row = nullptr;
  for (const InitialiserName& i : kInitialisers)
    if (i.name == name.text) row = &i;
  if (!row)
    fail(name, "there is no initialiser `" + std::string(name.text) + "`",
         "they are uniform(low, high, seed=), normal(mean, deviation, seed=), integers(low, high, seed=), "
         "permutation(seed=), zeros and ones");
  Initialiser init;
  init.kind = row->kind;
  if (row->kind == Initialiser::zeros || row->kind == Initialiser::ones) return init;
  expect(TokenKind::l_paren);
  bool first = true;
  if (row->numbers == 2) {
    init.low = signed_real();
    expect(TokenKind::comma);
    init.high = signed_real();
    first = false;
  }
  while (!eat(TokenKind::r_paren)) {
    if (!first) expect(TokenKind::comma, "`,` or `)`");
    first = false;
    Token key = expect(TokenKind::name, "`seed=` or `sorted=`");
    expect(TokenKind::assign);
    if (key.text == "seed") {
      init.seed = unsigned_integer();
    } else if (key.text == "sorted") {
      Token flag = expect(TokenKind::name, "true or false");
      if (flag.text != "true" && flag.text != "false") fail(flag, "expected true or false");
      init.sorted = flag.text == "true";
    } else {
      fail(key, "an initialiser has no `" + std::string(key.text) + "`", "it has seed= and sorted=");
    }
  }
  return init;
}

// --- values

void Parser::define(const Token& token, ValueId v) {
  Token key = token;
  if (key.quoted && key.text.find('\\') != std::string_view::npos) key.text = decoded_.emplace_back(unescape(key.text));
  if (key.text.size() > options_.limits.string) fail(token, "this name is longer than the limit");
  size_t earlier = 0;
  if (!scope_->names.add(key, v, earlier))
    fail(token, "%" + std::string(token.text) + " is defined twice",
         "the other definition is at " + source_.where(earlier));
  bool numbered = !key.quoted && key.text[0] >= '0' && key.text[0] <= '9' && !key.text.empty();
  if (!numbered) scope_->graph->set_name(v, context_->intern(key.text));
}

ValueId Parser::value(const Token& token) {
  Token key = token;
  std::string decoded;
  if (key.quoted && key.text.find('\\') != std::string_view::npos) key.text = decoded = unescape(key.text);
  ValueId v = scope_->names.find(key);
  if (v != kNone) return v;
  no_value(token, scope_->names);
}

// --- statements

void Parser::call_arguments() {
  positional_.clear();
  keywords_.clear();
  expect(TokenKind::l_paren);
  while (!eat(TokenKind::r_paren)) {
    Token start = peek();
    if (at(TokenKind::name) && next_is(TokenKind::assign)) {
      take();
      take();
      Arg a = literal();
      keywords_.push_back({start.text, a});
    } else {
      if (!keywords_.empty()) fail(start, "a positional argument behind a keyword", "give it by its name too");
      Arg a = literal();
      positional_.push_back(a);
    }
    refuse_operator("`,` or `)`");
    if (!at(TokenKind::r_paren)) expect(TokenKind::comma, "`,` or `)`");
  }
}

// Behind a complete argument an operator is one between values: that of sizes is part of the argument.
void Parser::refuse_operator(std::string_view expected) {
  for (TokenKind kind :
       {TokenKind::plus, TokenKind::minus, TokenKind::star, TokenKind::slash_slash, TokenKind::percent})
    if (at(kind))
      fail_here("expected " + std::string(expected),
                "operators are for sizes; an op computes with values, and its result has a name: "
                "%y = aten.add(%x, 1)");  // op name: an example in a message
}

// Where nothing infers an integer, `int` alone would say nothing of it.
void Parser::require_expressions(const OpDef& op) const {
  for (const Target& t : targets_)
    if (t.any_int)
      throw source_.error(t.type_at, t.type_end,
                          "`" + op.full_name + "` has no type rule, so its `int` needs an expression",
                          "name it: `int u0` is whatever the op gives");
}

void Parser::statement() {
  targets_.clear();
  size_t lists_before = list_count_;
  Token start = peek();
  Comments::Place above;
  comments_to(&above);
  if (at(TokenKind::value)) {
    do {
      Target target;
      target.name = expect(TokenKind::value, "a value to define");
      if (eat(TokenKind::colon)) {
        target.type_at = peek().at;
        target.type = type(&target.any_int);
        target.type_end = token_.at;
      }
      targets_.push_back(target);
    } while (eat(TokenKind::comma));
    expect(TokenKind::assign, "`=` and an op");
  }
  if (at(TokenKind::slash_slash)) fail_here("expected a statement or `return`", "a comment starts with #");
  if (at(TokenKind::name) && next_is(TokenKind::assign))
    fail(start, "a value's name starts with %", "write %" + std::string(start.text.substr(0, 80)) + " = ...");
  Token op_name = expect(TokenKind::name, "an op such as aten.relu");  // op name: an example in a message
  const std::vector<const OpDef*>* ops = &ops_named(op_name);
  call_arguments();
  uint32_t from = at_word("from") ? origin() : 0;
  if (++nodes_ > options_.limits.nodes)
    fail(op_name, "more nodes than the limit, " + std::to_string(options_.limits.nodes));

  Graph& graph = *scope_->graph;
  NodeId id = placed(op_name, [&] {
    Resolved call = resolve(graph, op_name.text, *ops, positional_, keywords_);
    annotated_.clear();
    for (const Target& t : targets_) annotated_.push_back(t.type);
    auto is_told = [](const Type* t) { return t != nullptr; };
    // A rule infers what is not annotated; without one all of it has to be.
    if (call.op->infer ? std::ranges::none_of(annotated_, is_told) : !std::ranges::all_of(annotated_, is_told))
      annotated_.clear();
    if (!call.op->infer) require_expressions(*call.op);
    try {
      return graph.insert(kNone, *call.op, call.args, from, annotated_);
    } catch (const UserError& e) {
      if (!e.remedy().empty()) throw;
      throw UserError(e.message(), e.where(), "`lenz ops " + call.op->full_name + "` says what it takes, and refuses");
    }
  });
  list_count_ = lists_before;
  if (options_.places) options_.places->nodes[{&graph, id}] = {op_name.at, op_name.end};
  if (options_.comments) {
    Comments::Place& place = options_.comments->nodes[{&graph, id}];
    place.above = std::move(above.above);
    last_place_ = &place;
    last_place_end_ = taken_end_;
  }
  const Node& node = graph.node(id);
  for (size_t i = 0; i < node.result_count; ++i) list_elements_ += graph.type(node.result(i)).elements().size();
  if (list_elements_ > options_.limits.list_elements)
    fail(op_name, "the lists of tensors are longer than the limit, " + std::to_string(options_.limits.list_elements) +
                      " in all");
  if (node.result_count != targets_.size())
    fail(targets_.empty() ? op_name : start,
         "`" + node.op->full_name + "` has " + std::to_string(node.result_count) + " results here, and " +
             std::to_string(targets_.size()) + " are named",
         node.result_count == 1 && graph.type(node.result()).kind == TypeKind::list
             ? "its result is one list: `%b = lenz.getitem(%a, 0)` names an element of the list %a"
             : "name each of them: %a, %b = ...");
  for (size_t i = 0; i < targets_.size(); ++i) {
    const Target& t = targets_[i];
    ValueId v = node.result(i);
    bool agrees = !t.type || t.type == &graph.type(v) || (t.any_int && graph.type(v).kind == TypeKind::sym_int);
    if (!agrees)
      throw source_.error(t.type_at, t.type_end,
                          "%" + std::string(t.name.text.substr(0, 80)) + " is " + to_string(graph.type(v)) + " here",
                          "correct the annotation or leave it out");
    define(t.name, v);
  }
}

void Parser::returns() {
  if (options_.comments) comments_to(&options_.comments->returns[scope_->graph]);
  const Token start = take();
  size_t lists_before = list_count_;
  std::vector<Arg> outputs;
  if (!at(TokenKind::r_brace)) {
    ParamType any;
    any.kind = ParamKind::any;
    do outputs.push_back(*shaped_for(*context_, literal(), any));
    while (eat(TokenKind::comma));
    refuse_operator("`,` or `}`");
  }
  placed(start, [&] { scope_->graph->set_outputs(outputs); });
  if (options_.comments) {
    last_place_ = &options_.comments->returns[scope_->graph];
    last_place_end_ = taken_end_;
    comments_to(last_place_);  // one between the outputs and the brace goes above them
  }
  list_count_ = lists_before;
}

}  // namespace lenz
