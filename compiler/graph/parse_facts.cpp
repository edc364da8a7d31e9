// Facts and guards.
#include "compiler/graph/text_parser.h"

namespace lenz {

namespace {
constexpr const char* kContradiction = "together they leave the symbols no values: change this one or one before it";
}  // namespace

void TextParser::facts(Assumptions& assumptions) {
  do fact(assumptions);
  while (eat(TokenKind::comma));
}

void TextParser::fact(Assumptions& assumptions) {
  Token start = peek();
  if (at(TokenKind::name) && !at_word("min") && !at_word("max")) {
    Lexer ahead = lexer_;
    ahead.keep_comments(nullptr);
    Token second = ahead.next();
    if (second.kind == TokenKind::name && second.text == "in") {
      Token name = take();
      take();
      if (!is_symbol(name.text)) fail(name, "this is no symbol", "symbols are names such as s0, and no dtype's");
      Range range;
      auto number = [&] { return at(TokenKind::integer) || at(TokenKind::minus); };
      if (number()) range.low = signed_integer();
      expect(TokenKind::dot_dot, "`..`");
      if (number()) range.high = signed_integer();
      Dim symbol = context_->syms.symbol(name.text);
      if (range.low && range.high && *range.low > *range.high)
        fail(name, "this range is empty", "write low..high with low <= high");
      placed(name, [&] { assumptions.facts().set_range(symbol.node(), range); });
      return;
    }
  }
  placed(start, [&] {
    if (!assumptions.facts().add(condition()))
      throw UserError("this contradicts the facts before it", "", kContradiction);
  });
}

void TextParser::guards(Assumptions& assumptions) {
  do {
    Token start = peek();
    placed(start, [&] {
      if (!assumptions.assume(condition())) throw UserError("this contradicts the facts", "", kContradiction);
    });
  } while (eat(TokenKind::comma));
}

Cond TextParser::condition() {
  Dim lhs = dim();
  Token relation = peek();
  switch (relation.kind) {
    case TokenKind::equal: take(); return eq(lhs, dim());
    case TokenKind::not_equal: take(); return ne(lhs, dim());
    case TokenKind::less: take(); return lt(lhs, dim());
    case TokenKind::less_equal: take(); return le(lhs, dim());
    case TokenKind::greater: take(); return gt(lhs, dim());
    case TokenKind::greater_equal: take(); return ge(lhs, dim());
    default:
      fail_here("expected a relation: == != < <= > >= or, behind a symbol, `in`",
                "of an expression, write both ends: 3 <= s0*2, s0*2 <= 4");
  }
}

}  // namespace lenz
