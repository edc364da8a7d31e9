// The grammar of rewrite rules: text to statements.
#include <cmath>

#include "compiler/graph/pattern_ast.h"
#include "compiler/graph/pattern_functions.h"

namespace lenz::pattern_ast {

namespace {
constexpr size_t kMaxAlternatives = 256;
constexpr int kMaxDepth = 64;

class Parser {
 public:
  Parser(PatternLexer& lexer, Context& literals) : lex_(lexer), literals_(literals) {}

  std::vector<RuleText> file() {
    std::vector<RuleText> rules;
    while (lex_.peek().kind != PatternToken::end) {
      RuleText rule;
      rule.reason = lex_.comment();
      lex_.expect("rule");
      rule.at = lex_.peek().at;
      rule.name = lex_.expect(PatternToken::word, "the rule's name").text;
      rule.alternatives = body(0);
      rules.push_back(std::move(rule));
    }
    return rules;
  }

 private:
  // { statements }: every combination of its alternatives.
  std::vector<Statements> body(int depth) {
    if (depth > kMaxDepth) lex_.fail("too deeply nested");
    std::vector<Statements> all(1);
    lex_.expect("{");
    while (!lex_.eat("}")) {
      if (!lex_.eat("either")) {
        Statements some = statements();
        for (Statements& one : all) one.insert(one.end(), some.begin(), some.end());
        continue;
      }
      std::vector<Statements> branches = body(depth + 1);
      while (lex_.eat("or")) {
        auto more = body(depth + 1);
        branches.insert(branches.end(), more.begin(), more.end());
      }
      std::vector<Statements> product;
      if (all.size() * branches.size() > kMaxAlternatives) lex_.fail("too many alternatives");
      for (const Statements& one : all)
        for (const Statements& branch : branches) {
          product.push_back(one);
          product.back().insert(product.back().end(), branch.begin(), branch.end());
        }
      all = std::move(product);
    }
    return all;
  }

  // One statement; several for `where a, b`.
  Statements statements() {
    size_t at = lex_.peek().at;
    if (lex_.eat("where")) return tests();
    if (lex_.eat("let")) return lets();
    Statement s;
    s.at = at;
    if (lex_.eat("shared")) {
      s.kind = Statement::shared;
      s.names = values();
      return {s};
    }
    if (lex_.eat("replace")) {
      s.kind = Statement::replace;
      s.names = values();
      Statement result;
      result.kind = Statement::result;
      result.at = lex_.peek().at;
      if (lex_.eat("with")) {
        result.names = values();
      } else {
        lex_.expect("{");
        while (!lex_.eat("return")) s.body.push_back(node());
        result.names = values();
        lex_.expect("}");
      }
      s.body.push_back(std::move(result));
      return {s};
    }
    std::vector<std::string> names = results();
    if (names.size() == 1 && lex_.eat(":")) {
      s.kind = Statement::type;
      s.of = type();
      s.of.value = names[0];
      return {s};
    }
    return {node(std::move(names), at)};
  }

  Statements tests() {
    Statements all;
    do {
      Statement s;
      s.kind = Statement::test;
      s.at = lex_.peek().at;
      s.call = expression(0);
      all.push_back(std::move(s));
    } while (lex_.eat(","));
    return all;
  }

  Statements lets() {
    Statements all;
    do {
      Statement s;
      s.kind = Statement::let;
      s.at = lex_.peek().at;
      s.names = {std::string(lex_.expect(PatternToken::attr, "`$name`").text)};
      lex_.expect("=");
      s.call = expression(0);
      all.push_back(std::move(s));
    } while (lex_.eat(","));
    return all;
  }

  std::vector<std::string> values() {
    std::vector<std::string> names;
    do names.emplace_back(lex_.expect(PatternToken::value, "a value, `%name`").text);
    while (lex_.eat(","));
    return names;
  }

  std::vector<std::string> results() {
    std::vector<std::string> names;
    do {
      if (lex_.eat("_")) {
        names.emplace_back("_");
      } else {
        names.emplace_back(lex_.expect(PatternToken::value,
                                       "a statement: `%r = op(...)`, where, let, shared, either or "
                                       "replace")
                               .text);
      }
    } while (lex_.eat(","));
    return names;
  }

  Statement node() {
    size_t at = lex_.peek().at;
    return node(results(), at);
  }

  Statement node(std::vector<std::string> names, size_t at) {
    Statement s;
    s.at = at;
    s.names = std::move(names);
    lex_.expect("=");
    PatternToken op = lex_.take();
    if (op.kind != PatternToken::word && op.kind != PatternToken::op) lex_.fail_at(op.at, "expected an op");
    s.call.kind = op.kind == PatternToken::op ? Expr::op : Expr::call;
    s.call.text = op.text;
    s.call.at = op.at;
    lex_.expect("(");
    s.call.operands = arguments(0);
    return s;
  }

  std::vector<Node> arguments(int depth) {
    std::vector<Node> all;
    while (!lex_.eat(")")) {
      all.push_back(argument(depth));
      if (!lex_.is(")")) lex_.expect(",");
    }
    return all;
  }

  Node argument(int depth) {
    Node n = expression(depth);
    if (n.kind == Expr::word && lex_.eat("=")) {
      std::string keyword = n.text;
      n = expression(depth);
      n.keyword = keyword;
    }
    return n;
  }

  Type type() {
    Type t;
    if (!lex_.eat("_")) {
      do {
        PatternToken word = lex_.expect(PatternToken::word, "a dtype or a set of dtypes");
        auto set = dtype_set(word.text);
        if (!set) lex_.fail_at(word.at, "unknown dtype `" + std::string(word.text) + "`");
        t.dtypes = t.dtypes | *set;
      } while (lex_.eat("|"));
    }
    if (!lex_.eat("[")) return t;
    t.has_shape = true;
    while (!lex_.eat("]")) {
      PatternToken token = lex_.take();
      Type::Dim d{DimPattern::any, 0, {}};
      if (token.text == "...") {
        d.kind = DimPattern::rest;
      } else if (token.kind == PatternToken::attr) {
        d.kind = DimPattern::attr;
        d.attr = token.text;
      } else if (token.kind == PatternToken::number && token.literal.kind == ArgKind::integer) {
        d.kind = DimPattern::constant;
        d.number = token.literal.i;
      } else if (token.text != "_") {
        lex_.fail_at(token.at, "expected a size: a number, `$name`, `_` or `...`");
      }
      t.dims.push_back(std::move(d));
      if (!lex_.is("]")) lex_.expect(",");
    }
    return t;
  }

  static Node make(Expr::Kind kind, std::string_view text, size_t at, std::vector<Node> operands = {}) {
    Node n;
    n.kind = kind;
    n.text = text;
    n.at = at;
    n.operands = std::move(operands);
    return n;
  }

  Node expression(int depth) {
    if (depth > kMaxDepth) lex_.fail("too deeply nested");
    size_t at = lex_.peek().at;
    if (lex_.eat("not")) return make(Expr::binary, "not", at, {expression(depth + 1)});
    Node left = sum(depth);
    for (std::string_view op : {"==", "!=", "<=", ">=", "<", ">", "in", "is"})
      if (lex_.eat(op)) return make(Expr::binary, op, at, {left, sum(depth)});
    return left;
  }

  Node sum(int depth) {
    Node left = product(depth);
    for (;;) {
      size_t at = lex_.peek().at;
      std::string op(lex_.peek().text);
      if (!lex_.is("+") && !lex_.is("-")) return left;
      lex_.take();
      left = make(Expr::binary, op, at, {left, product(depth)});
    }
  }

  Node product(int depth) {
    Node left = unary(depth);
    for (;;) {
      size_t at = lex_.peek().at;
      std::string op(lex_.peek().text);
      if (!lex_.is("*") && !lex_.is("/") && !lex_.is("//") && !lex_.is("%")) return left;
      lex_.take();
      left = make(Expr::binary, op, at, {left, unary(depth)});
    }
  }

  Node unary(int depth) {
    size_t at = lex_.peek().at;
    if (!lex_.eat("-")) return primary(depth);
    Node n = primary(depth);
    if (n.kind == Expr::literal && n.number.kind == ArgKind::integer) {
      n.number = Arg::of_int(-n.number.i);
      return n;
    }
    if (n.kind == Expr::literal && n.number.kind == ArgKind::real) {
      n.number = Arg::of_real(-n.number.real());
      return n;
    }
    Node zero = make(Expr::literal, "", at);
    zero.number = Arg::of_int(0);
    return make(Expr::binary, "-", at, {zero, n});
  }

  Node primary(int depth) {
    PatternToken t = lex_.take();
    Node n = make(Expr::literal, t.text, t.at);
    switch (t.kind) {
      case PatternToken::number: n.number = t.literal; return n;
      case PatternToken::string: n.number = literals_.string(t.text); return n;
      case PatternToken::value: n.kind = Expr::value; return n;
      case PatternToken::attr: n.kind = Expr::attr; return n;
      case PatternToken::op: n.kind = Expr::op; return n;
      case PatternToken::word:
        if (lex_.eat("(")) return make(Expr::call, t.text, t.at, arguments(depth + 1));
        if (t.text == "true" || t.text == "false") {
          n.number = Arg::of_bool(t.text == "true");
        } else if (t.text == "inf" || t.text == "nan") {
          n.number = Arg::of_real(t.text == "inf" ? INFINITY : NAN);
        } else if (t.text != "none") {
          n.kind = Expr::word;
        }
        return n;
      case PatternToken::punctuation:
        if (t.text == "...") {
          bool named = lex_.peek().kind == PatternToken::attr;
          return make(Expr::rest, named ? lex_.take().text : "", t.at);
        }
        if (t.text == "(") {
          n = expression(depth + 1);
          lex_.expect(")");
          return n;
        }
        if (t.text == "[") {
          n.kind = Expr::list;
          while (!lex_.eat("]")) {
            n.operands.push_back(expression(depth + 1));
            if (!lex_.is("]")) lex_.expect(",");
          }
          return n;
        }
        [[fallthrough]];
      default: lex_.fail_at(t.at, "expected an argument");
    }
  }

  PatternLexer& lex_;
  Context& literals_;
};
}  // namespace

std::vector<RuleText> parse(PatternLexer& lexer, Context& literals) { return Parser(lexer, literals).file(); }

}  // namespace lenz::pattern_ast
