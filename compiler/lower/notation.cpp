#include "compiler/lower/notation.h"

#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <mutex>

#include "compiler/base/dtype.h"
#include "compiler/base/error.h"
#include "compiler/base/text_cursor.h"

namespace lenz::notation {

namespace {
class Parser : TextCursor<Parser> {
 public:
  explicit Parser(std::string_view text) : TextCursor(text), all_(text) {}

  std::vector<Statement> program() {
    std::vector<Statement> out = statements();
    if (!rest_.empty()) fail("unexpected `}`");
    return out;
  }

 private:
  friend TextCursor;
  [[noreturn]] void fail(const std::string& what) const {
    throw InternalError("loop notation: " + what + " at `" + std::string(rest_.substr(0, 40)) + "` of `" +
                        std::string(all_.substr(0, 60)) + "`");
  }
  // --- statements
  std::vector<Statement> statements() {
    std::vector<Statement> out;
    for (spaces(); !rest_.empty() && rest_.front() != '}'; spaces()) out.push_back(statement());
    return out;
  }
  std::vector<Statement> block() {
    expect("{");
    std::vector<Statement> out = statements();
    expect("}");
    return out;
  }

  Statement statement() {
    Statement s;
    if (eat_word("for")) return loop();
    if (eat_word("if")) return branch();
    if (eat_word("each")) return each();
    if (eat_word("when")) {
      s.kind = Statement::when;
      s.exprs.push_back(expression());
      s.body = block();
      return s;
    }
    if (eat_word("raise")) {
      s.kind = Statement::raise;
      s.exprs.push_back(expression());
      return s;
    }
    if (peek("$") || peek("%")) return assignment_or_store();
    std::string_view before = rest_;
    std::string word(name());
    if (peek("(")) {
      rest_ = before;
      s.kind = Statement::procedure;
      ExprPtr call = primary();
      s.name = call->name;
      s.exprs = std::move(call->items);
      return s;
    }
    s.kind = Statement::let;
    s.names.push_back(word);
    while (eat(",")) s.names.emplace_back(name());
    expect("=");
    s.exprs.push_back(expression());
    return s;
  }

  Statement assignment_or_store() {
    Statement s;
    ExprPtr target = postfix();
    if (target->kind == Expr::subscript) {
      s.kind = Statement::store;
      for (std::string_view op : {"+=", "*=", "min=", "max=", "or=", "put=", "="}) {
        if (!eat(op)) continue;
        s.name = op;
        break;
      }
      if (s.name.empty()) fail("expected `=`");
      s.exprs.push_back(std::move(target));
      s.exprs.push_back(expression());
      return s;
    }
    s.kind = Statement::assign;
    s.names.push_back((target->kind == Expr::host ? "$" : "%") + target->name);
    expect("=");
    s.exprs.push_back(expression());
    return s;
  }

  Statement loop() {
    Statement s;
    s.kind = Statement::loop;
    do {
      AxisList axes;
      if (eat_word("reduce")) axes.kind = AxisList::reduction;
      if (eat_word("scan")) axes.kind = AxisList::scan;
      expect("$");
      axes.name = name();
      axes.single = eat("<");
      if (!axes.single && !eat_word("in")) fail("expected `in` or `<`");
      axes.extents = expression();
      s.axes.push_back(std::move(axes));
    } while (eat(","));
    if (eat_word("as")) s.name = name();
    s.body = block();
    return s;
  }

  Statement branch() {
    Statement s;
    s.kind = Statement::branch;
    s.exprs.push_back(expression());
    s.body = block();
    if (!eat_word("else")) return s;
    if (eat_word("if"))
      s.otherwise.push_back(branch());
    else
      s.otherwise = block();
    return s;
  }

  Statement each() {
    Statement s;
    s.kind = Statement::each;
    do {
      s.names.emplace_back(peek("%") ? "%" : "$");
      if (!eat("%")) expect("$");
      s.names.back() += name();
    } while (eat(","));
    if (!eat_word("in")) fail("expected `in`");
    s.exprs.push_back(expression());
    s.body = block();
    return s;
  }

  // --- expressions, by precedence
  ExprPtr make(Expr::Kind kind, std::string_view name = {}) {
    auto e = std::make_unique<Expr>();
    e->kind = kind;
    e->name = name;
    return e;
  }
  ExprPtr binary(std::string_view op, ExprPtr a, ExprPtr b) {
    ExprPtr e = make(Expr::binary, op);
    e->items.push_back(std::move(a));
    e->items.push_back(std::move(b));
    return e;
  }

  ExprPtr expression() {
    ExprPtr left = conjunction();
    while (eat_word("or")) left = binary("or", std::move(left), conjunction());
    return left;
  }
  ExprPtr conjunction() {
    ExprPtr left = comparison();
    while (eat_word("and")) left = binary("and", std::move(left), comparison());
    return left;
  }
  ExprPtr comparison() {
    if (eat_word("not")) {
      ExprPtr e = make(Expr::invert);
      e->items.push_back(comparison());
      return e;
    }
    ExprPtr left = sum();
    for (std::string_view op : {"==", "!=", "<=", ">=", "<", ">"})
      if (eat(op)) return binary(op, std::move(left), sum());
    return left;
  }
  ExprPtr sum() {
    ExprPtr left = product();
    while (true) {
      if (peek("+") && !peek("+=") && eat("+")) {
        left = binary("+", std::move(left), product());
      } else if (eat("-")) {
        left = binary("-", std::move(left), product());
      } else {
        return left;
      }
    }
  }
  ExprPtr product() {
    ExprPtr left = unary();
    while (true) {
      if (eat("//")) {
        left = binary("//", std::move(left), unary());
      } else if (eat("/")) {
        left = binary("/", std::move(left), unary());
      } else if (peek("*") && !peek("*=") && eat("*")) {
        left = binary("*", std::move(left), unary());
      } else if (peek("% ") && eat("%")) {  // a modulo has a space behind it, a buffer has none
        left = binary("%", std::move(left), unary());
      } else {
        return left;
      }
    }
  }
  ExprPtr unary() {
    if (!eat("-")) return postfix();
    ExprPtr e = make(Expr::negate);
    e->items.push_back(unary());
    return e;
  }
  ExprPtr postfix() {
    ExprPtr e = primary();
    while (eat("[")) {
      ExprPtr s = make(Expr::subscript);
      s->items.push_back(std::move(e));
      items(*s, "]");
      e = std::move(s);
    }
    return e;
  }
  void items(Expr& into, std::string_view end) {
    while (!eat(end)) {
      into.items.push_back(expression());
      if (!peek(end)) expect(",");
    }
  }

  ExprPtr primary() {
    spaces();
    if (rest_.empty()) fail("unexpected end");
    char c = rest_.front();
    if (std::isdigit(static_cast<unsigned char>(c))) return number();
    if (eat("(")) {
      ExprPtr inner = expression();
      expect(")");
      return inner;
    }
    if (eat("[")) {
      ExprPtr e = make(Expr::list);
      items(*e, "]");
      return e;
    }
    if (c == '"') return string();
    if (eat("%")) return make(Expr::buffer, name());
    if (eat("$")) return make(Expr::host, name());
    return word();
  }
  ExprPtr literal(Arg value) {
    ExprPtr e = make(Expr::literal);
    e->value = value;
    return e;
  }
  ExprPtr word() {
    std::string_view w = name();
    if (w == "true" || w == "false") return literal(Arg::of_bool(w == "true"));
    if (w == "none") return literal(Arg::none());
    if (w == "inf") return literal(Arg::of_real(std::numeric_limits<double>::infinity()));
    if (w == "nan") return literal(Arg::of_real(std::numeric_limits<double>::quiet_NaN()));
    if (auto d = parse_dtype(w)) return literal(Arg::of_dtype(*d));
    bool reduces = w == "reduce", scans = w == "scan";
    if (reduces || scans) w = name();
    if (!eat("(")) {
      if (reduces || scans) fail("expected `(`");
      return make(Expr::scalar, w);
    }
    ExprPtr e = make(reduces ? Expr::reduce : scans ? Expr::scan : Expr::call, w);
    items(*e, ")");
    return e;
  }
  ExprPtr number() {
    size_t n = 0;
    while (n < rest_.size() && (std::isdigit(static_cast<unsigned char>(rest_[n])) || rest_[n] == '.' ||
                                rest_[n] == 'e' || (rest_[n] == '-' && rest_[n - 1] == 'e')))
      ++n;
    std::string_view digits = rest_.substr(0, n);
    rest_.remove_prefix(n);
    if (digits.find_first_of(".e") == std::string_view::npos) {
      int64_t value = 0;
      std::from_chars(digits.begin(), digits.end(), value);
      return literal(Arg::of_int(value));
    }
    double value = 0;
    std::from_chars(digits.begin(), digits.end(), value);
    return literal(Arg::of_real(value));
  }
  ExprPtr string() {
    rest_.remove_prefix(1);
    size_t end = rest_.find('"');
    if (end == std::string_view::npos) fail("unterminated string");
    ExprPtr e = make(Expr::text, rest_.substr(0, end));
    rest_.remove_prefix(end + 1);
    return e;
  }

  std::string_view all_;
};
}  // namespace

std::vector<Statement> parse(std::string_view text) { return Parser(text).program(); }

const std::vector<Statement>& parsed(std::string_view text) {
  static std::mutex mutex;
  static std::map<std::string, std::vector<Statement>, std::less<>> texts;
  const std::lock_guard lock(mutex);
  const auto known = texts.find(text);
  return known != texts.end() ? known->second : texts.emplace(std::string(text), parse(text)).first->second;
}

}  // namespace lenz::notation
