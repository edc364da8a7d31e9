#include "compiler/ops/decompose.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>

#include "compiler/ops/rules/elementwise.h"

namespace lenz {

namespace {

// Walks the text once, executing as it goes; a branch that isn't taken is walked without effect.
class Expander {
 public:
  Expander(Graph& graph, NodeId before, const OpDef& op, std::span<const Arg> args, uint32_t origin)
      : graph_(graph), before_(before), op_(op), args_(args), origin_(origin), rest_(op.decompose) {}

  SmallVec<Arg, 4> run() {
    statements(true);
    LENZ_CHECK(returned_, op_.full_name + ": its definition returns nothing");
    return results_;
  }

 private:
  // --- text
  void spaces() {
    while (!rest_.empty() && (rest_.front() == ' ' || rest_.front() == '\n')) rest_.remove_prefix(1);
  }
  bool peek(std::string_view token) {
    spaces();
    return rest_.starts_with(token);
  }
  bool eat(std::string_view token) {
    if (!peek(token)) return false;
    rest_.remove_prefix(token.size());
    return true;
  }
  // A keyword or operator in letters: not the beginning of a longer name.
  bool eat_word(std::string_view word) {
    if (!peek(word)) return false;
    if (rest_.size() > word.size() && is_name_char(rest_[word.size()])) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  void expect(std::string_view token) {
    if (!eat(token)) fail("expected `" + std::string(token) + "`");
  }
  [[noreturn]] void fail(const std::string& what) {
    throw InternalError("the definition of " + op_.full_name + ": " + what + " at `" +
                        std::string(rest_.substr(0, 40)) + "`");
  }
  static bool is_name_char(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }
  std::string_view name() {
    spaces();
    size_t n = 0;
    while (n < rest_.size() && is_name_char(rest_[n])) ++n;
    if (n == 0) fail("expected a name");
    std::string_view text = rest_.substr(0, n);
    rest_.remove_prefix(n);
    return text;
  }

  // --- statements
  void statements(bool live) {
    while (true) {
      spaces();
      if (rest_.empty() || rest_.front() == '}') return;
      live = live && !returned_;
      if (eat_word("if")) {
        branch(live);
      } else if (eat_word("return")) {
        SmallVec<Arg, 4> out;
        do out.push_back(expression(live));
        while (eat(","));
        if (live) {
          results_ = out;
          returned_ = true;
        }
      } else if (eat_word("raise")) {
        Arg message = expression(true);
        if (live) throw UserError(op_.full_name + ": " + std::string(message.string()));
      } else {
        assignment(live);
      }
    }
  }

  void branch(bool live) {
    bool yes = truth(expression(live), live);
    expect("{");
    statements(live && yes);
    expect("}");
    if (!eat_word("else")) return;
    if (eat_word("if")) return branch(live && !yes);
    expect("{");
    statements(live && !yes);
    expect("}");
  }

  void assignment(bool live) {
    SmallVec<std::string_view, 4> names;
    char sigil = peek("%") ? '%' : '$';
    do {
      expect(std::string_view(&sigil, 1));
      names.push_back(name());
    } while (eat(","));
    expect("=");
    if (sigil == '%' && names.size() > 1) {
      SmallVec<Arg, 4> results = call(live);
      for (size_t i = 0; live && i < names.size(); ++i) locals_[names[i]] = results[i];
      return;
    }
    Arg value = expression(live);
    if (live) locals_[names[0]] = value;
  }

  // --- expressions, by precedence
  Arg expression(bool live) {
    Arg left = conjunction(live);
    while (eat_word("or")) {
      bool decided = live && truth(left, live);
      Arg right = conjunction(live && !decided);
      left = Arg::of_bool(decided || (live && truth(right, live)));
    }
    return left;
  }

  Arg conjunction(bool live) {
    Arg left = comparison(live);
    while (eat_word("and")) {
      bool possible = live && truth(left, live);
      Arg right = comparison(possible);
      left = Arg::of_bool(possible && truth(right, possible));
    }
    return left;
  }

  Arg comparison(bool live) {
    if (eat_word("not")) {
      Arg inner = comparison(live);
      return Arg::of_bool(live && !truth(inner, live));
    }
    Arg left = sum(live);
    constexpr std::string_view kOps[] = {"==", "!=", "<=", ">=", "<", ">"};
    for (std::string_view op : kOps) {
      if (!eat(op)) continue;
      Arg right = sum(live);
      return Arg::of_bool(live && compare(left, op, right));
    }
    return left;
  }

  Arg sum(bool live) {
    Arg left = product(live);
    while (true) {
      if (eat("+")) {
        left = arithmetic('+', left, product(live), live);
      } else if (peek("-")) {
        eat("-");
        left = arithmetic('-', left, product(live), live);
      } else {
        return left;
      }
    }
  }

  Arg product(bool live) {
    Arg left = primary(live);
    while (true) {
      if (eat("//")) {
        left = arithmetic('f', left, primary(live), live);
      } else if (eat("/")) {
        left = arithmetic('/', left, primary(live), live);
      } else if (eat("*")) {
        left = arithmetic('*', left, primary(live), live);
      } else if (peek("% ") && eat("%")) {  // a modulo has a space behind it, a value has none
        left = arithmetic('%', left, primary(live), live);
      } else {
        return left;
      }
    }
  }

  Arg primary(bool live) {
    spaces();
    if (rest_.empty()) fail("unexpected end");
    char c = rest_.front();
    if (std::isdigit(static_cast<unsigned char>(c))) return number();
    if (eat("-")) return arithmetic('-', Arg::of_int(0), primary(live), live);
    if (eat("(")) {
      Arg inner = expression(live);
      expect(")");
      return inner;
    }
    if (eat("[")) return list_literal(live);
    if (c == '"') return string_literal();
    if (eat("%") || eat("$")) return variable(live);
    if (rest_.starts_with("aten.") || rest_.starts_with("lenz.")) {
      SmallVec<Arg, 4> results = call(live);
      return live ? results[0] : Arg::none();
    }
    std::string_view word = name();
    if (word == "true" || word == "false") return Arg::of_bool(word == "true");
    if (word == "none") return Arg::none();
    if (word == "inf") return Arg::of_real(std::numeric_limits<double>::infinity());
    if (word == "nan") return Arg::of_real(std::numeric_limits<double>::quiet_NaN());
    if (auto d = parse_dtype(word)) return Arg::of_dtype(*d);
    if (word == "contiguous_format") return Arg::of_memory_format(MemoryFormat::contiguous);
    if (word == "preserve_format") return Arg::of_memory_format(MemoryFormat::preserve);
    return function(word, live);
  }

  Arg number() {
    size_t n = 0;
    while (n < rest_.size() && (std::isdigit(static_cast<unsigned char>(rest_[n])) || rest_[n] == '.' ||
                                rest_[n] == 'e' || (rest_[n] == '-' && rest_[n - 1] == 'e')))
      ++n;
    std::string_view text = rest_.substr(0, n);
    rest_.remove_prefix(n);
    if (text.find_first_of(".e") == std::string_view::npos) {
      int64_t value = 0;
      std::from_chars(text.begin(), text.end(), value);
      return Arg::of_int(value);
    }
    double value = 0;
    std::from_chars(text.begin(), text.end(), value);
    return Arg::of_real(value);
  }

  Arg string_literal() {
    rest_.remove_prefix(1);
    size_t end = rest_.find('"');
    if (end == std::string_view::npos) fail("unterminated string");
    Arg text = graph_.context().string(rest_.substr(0, end));
    rest_.remove_prefix(end + 1);
    return text;
  }

  Arg variable(bool live) {
    std::string_view word = name();
    if (!live) return Arg::none();
    auto local = locals_.find(word);
    if (local != locals_.end()) return local->second;
    int at = op_.schema.find(word);
    if (at < 0) fail("no parameter or result named " + std::string(word));
    return args_[static_cast<size_t>(at)];
  }

  Arg list_literal(bool live) {
    SmallVec<Arg, 8> items;
    while (!eat("]")) {
      items.push_back(expression(live));
      if (!peek("]")) expect(",");
    }
    return live ? list_of(items) : Arg::none();
  }

  Arg list_of(std::span<const Arg> items) {
    Context& c = graph_.context();
    bool values = std::ranges::any_of(items, [](const Arg& a) { return a.is_value(); });
    if (values) {
      SmallVec<ValueId, 8> ids;
      for (const Arg& a : items) ids.push_back(a.is_value() ? a.value() : kNone);
      return c.values(ids);
    }
    if (std::ranges::all_of(items, [](const Arg& a) { return a.kind == ArgKind::integer; })) {
      DimVec dims;
      for (const Arg& a : items) dims.push_back(a.dim());
      return c.dims(dims);
    }
    return c.args(items);
  }

  SmallVec<Arg, 8> items_of(const Arg& list) {
    SmallVec<Arg, 8> items;
    if (list.kind == ArgKind::int_list)
      for (Dim d : list.dim_list()) items.push_back(Arg::of_dim(d));
    if (list.is_value()) {
      const auto elements = graph_.type(list.value()).elements();
      for (size_t i = 0; i < elements.size(); ++i) {
        const Arg args[] = {list, Arg::of_int(static_cast<int64_t>(i))};
        NodeId id = graph_.insert(before_, *graph_.ops().find("lenz.getitem"), args, origin_);
        items.push_back(Arg::of_value(graph_.node(id).result()));
      }
    }
    if (list.kind == ArgKind::value_list)
      for (ValueId v : list.value_list()) items.push_back(v == kNone ? Arg::none() : Arg::of_value(v));
    if (list.kind == ArgKind::arg_list)
      for (const Arg& a : list.arg_list()) items.push_back(a);
    if (list.kind == ArgKind::integer) items.push_back(list);  // one integer stands for a list of one
    return items;
  }

  // --- calls of ops
  SmallVec<Arg, 4> call(bool live) {
    spaces();
    size_t n = 0;
    while (n < rest_.size() && (is_name_char(rest_[n]) || rest_[n] == '.')) ++n;
    std::string_view op_name = rest_.substr(0, n);
    rest_.remove_prefix(n);
    expect("(");
    SmallVec<Arg, 8> positional;
    std::vector<Keyword> keywords;
    while (!eat(")")) {
      size_t word = 0;
      spaces();
      while (word < rest_.size() && is_name_char(rest_[word])) ++word;
      bool keyword = word && word + 1 < rest_.size() && rest_[word] == '=' && rest_[word + 1] != '=';
      if (keyword) {
        std::string_view key = rest_.substr(0, word);
        rest_.remove_prefix(word + 1);
        keywords.push_back({key, expression(live)});
      } else {
        positional.push_back(expression(live));
      }
      if (!peek(")")) expect(",");
    }
    if (!live) return {};
    Resolved r = resolve(graph_, op_name, positional, keywords);
    NodeId id = graph_.insert(before_, *r.op, r.args, origin_);
    SmallVec<Arg, 4> results;
    for (uint16_t i = 0; i < graph_.node(id).result_count; ++i)
      results.push_back(Arg::of_value(graph_.node(id).result(i)));
    return results;
  }

  // --- values of expressions
  const Type& tensor(const Arg& a) {
    if (!a.is_value()) fail("expected a tensor");
    return graph_.type(a.value());
  }

  Dtype dtype_of(const Arg& a) {
    if (a.kind == ArgKind::dtype) return a.dtype();
    if (a.is_value()) return tensor(a).dtype;
    if (a.kind == ArgKind::boolean) return Dtype::b8;
    if (a.kind == ArgKind::integer) return Dtype::i64;
    if (a.kind == ArgKind::real) return Dtype::f64;
    if (a.kind == ArgKind::complex) return Dtype::c128;
    fail("expected a dtype");
  }

  Dim dim_of(const Arg& a) {
    if (a.kind == ArgKind::boolean) return Dim(a.i);
    if (a.kind != ArgKind::integer) fail("expected an integer");
    return a.dim();
  }

  static bool is_number(const Arg& a) {
    return a.kind == ArgKind::integer || a.kind == ArgKind::real || a.kind == ArgKind::boolean;
  }
  static double real_of(const Arg& a) { return a.kind == ArgKind::real ? a.d : static_cast<double>(a.i); }

  bool truth(const Arg& a, bool live) {
    if (!live) return false;
    if (a.kind == ArgKind::boolean) return a.boolean();
    fail("expected a condition");
  }

  bool same(Dim x, Dim y) {
    return x.is_constant() && y.is_constant() ? x.constant() == y.constant() : graph_.assumptions.decide(eq(x, y));
  }

  bool compare(const Arg& a, std::string_view op, const Arg& b) {
    if (a.kind == ArgKind::integer && b.kind == ArgKind::integer) {
      Dim x = a.dim(), y = b.dim();
      Cond cond = op == "=="   ? eq(x, y)
                  : op == "!=" ? ne(x, y)
                  : op == "<"  ? lt(x, y)
                  : op == "<=" ? le(x, y)
                  : op == ">"  ? gt(x, y)
                               : ge(x, y);
      if (x.is_constant() && y.is_constant()) return *evaluate(cond, [](const SymNode*) { return std::nullopt; });
      return graph_.assumptions.decide(cond);
    }
    if (is_number(a) && is_number(b)) {
      double x = real_of(a), y = real_of(b);
      return op == "=="   ? x == y
             : op == "!=" ? x != y
             : op == "<"  ? x < y
             : op == "<=" ? x <= y
             : op == ">"  ? x > y
                          : x >= y;
    }
    if (op == "==") return a == b;
    if (op == "!=") return !(a == b);
    fail("these can't be ordered");
  }

  Arg arithmetic(char op, const Arg& a, const Arg& b, bool live) {
    if (!live) return Arg::none();
    if (a.kind == ArgKind::integer && b.kind == ArgKind::integer && op != '/') {
      Dim x = a.dim(), y = b.dim();
      switch (op) {
        case '+': return Arg::of_dim(x + y);
        case '-': return Arg::of_dim(x - y);
        case '*': return Arg::of_dim(x * y);
        case '%': return Arg::of_dim(mod(x, y));
        default: return Arg::of_dim(floor_div(x, y));
      }
    }
    if (a.symbolic || b.symbolic) {
      // A correction of 1.0 is an integer too.
      auto whole = [](const Arg& x) {
        bool is = x.kind == ArgKind::real && x.d == std::floor(x.d) && std::abs(x.d) < 0x1p53;
        return is ? Arg::of_int(static_cast<int64_t>(x.d)) : x;
      };
      Arg x = whole(a), y = whole(b);
      if (op != '/' && x.kind == ArgKind::integer && y.kind == ArgKind::integer) return arithmetic(op, x, y, live);
      fail("arithmetic needs constant numbers");
    }
    if (!is_number(a) || !is_number(b)) fail("arithmetic needs numbers");
    double x = real_of(a), y = real_of(b);
    switch (op) {
      case '+': return Arg::of_real(x + y);
      case '-': return Arg::of_real(a.kind == ArgKind::integer && a.i == 0 ? -y : x - y);  // unary minus keeps -0.0
      case '*': return Arg::of_real(x * y);
      case '/': return Arg::of_real(x / y);
      case '%': return Arg::of_real(x - y * std::floor(x / y));
      default: return Arg::of_real(std::floor(x / y));
    }
  }

  // each(list, %x, call): walks the call once for each element, and at least once, without effect if there is none.
  Arg each(bool live) {
    Arg list = expression(live);
    expect(",");
    expect("%");
    std::string_view element = name();
    expect(",");
    SmallVec<Arg, 8> from = live ? items_of(list) : SmallVec<Arg, 8>(), made;
    std::string_view body = rest_;
    for (const Arg& item : from) {
      rest_ = body;
      locals_[element] = item;
      made.push_back(expression(live));
    }
    if (from.empty()) expression(false);
    locals_.erase(element);
    expect(")");
    return live ? list_of(made) : Arg::none();
  }

  // choose(condition, x, y): the one that isn't chosen is walked without effect.
  Arg choose(bool live) {
    bool yes = truth(expression(live), live);
    expect(",");
    Arg first = expression(live && yes);
    expect(",");
    Arg second = expression(live && !yes);
    expect(")");
    return yes ? first : second;
  }

  Arg function(std::string_view name, bool live) {
    expect("(");
    if (name == "each") return each(live);
    if (name == "choose") return choose(live);
    SmallVec<Arg, 4> a;
    while (!eat(")")) {
      a.push_back(expression(live));
      if (!peek(")")) expect(",");
    }
    return live ? apply(name, a) : Arg::none();
  }

  Arg apply(std::string_view f, const SmallVec<Arg, 4>& a) {
    Context& c = graph_.context();
    auto n = [&](size_t i) { return dim_of(a[i]).constant(); };
    if (f == "given") return Arg::of_bool(!a[0].is_none());
    if (f == "rank") return Arg::of_int(static_cast<int64_t>(tensor(a[0]).rank()));
    if (f == "device") return Arg::of_device(tensor(a[0]).device);
    if (f == "dtype") return Arg::of_dtype(tensor(a[0]).dtype);
    if (f == "shape") return c.dims(tensor(a[0]).sizes());
    if (f == "numel") return Arg::of_dim(numel(tensor(a[0]).sizes()));
    if (f == "size") return Arg::of_dim(size_of(tensor(a[0]), n(1)));
    if (f == "is_float") return Arg::of_bool(is_floating(dtype_of(a[0])));
    if (f == "is_complex") return Arg::of_bool(lenz::is_complex(dtype_of(a[0])));
    if (f == "is_integral") return Arg::of_bool(lenz::is_integral(dtype_of(a[0]), true));
    if (f == "real_dtype") return Arg::of_dtype(to_real(dtype_of(a[0])));
    if (f == "compute_dtype") return Arg::of_dtype(is_reduced_float(dtype_of(a[0])) ? Dtype::f32 : dtype_of(a[0]));
    if (f == "promote") return Arg::of_dtype(promoted(dtype_of(a[0]), dtype_of(a[1])));
    if (f == "wrap") return Arg::of_int(n(0) < 0 ? n(0) + std::max<int64_t>(n(1), 1) : n(0));
    if (f == "result_type") return Arg::of_dtype(result_type(a));
    if (f == "float_type") return Arg::of_dtype(lenz::is_integral(dtype_of(a[0]), true) ? Dtype::f32 : dtype_of(a[0]));
    if (f == "is_tensor") return Arg::of_bool(a[0].is_value() && graph_.type(a[0].value()).is_tensor());
    if (f == "suggested_format") return Arg::of_memory_format(suggested_format(a[0]));
    if (f == "range") {
      DimVec dims;
      for (int64_t i = n(0); i < n(1); ++i) dims.push_back(Dim(i));
      return c.dims(dims);
    }
    if (f == "moved") return moved(n(0), items_of(a[1]), items_of(a[2]));
    if (f == "list") {
      SmallVec<Arg, 8> items(static_cast<size_t>(n(0)), a[1]);
      return list_of(items);
    }
    if (f == "count") return Arg::of_dim(count(tensor(a[0]), a[1]));
    if (f == "max" || f == "min" || f == "power" || f == "factorial" || f == "highest" || f == "lowest")
      return number_function(f, a);
    return list_function(f, a);
  }

  Arg number_function(std::string_view f, const SmallVec<Arg, 4>& a) {
    if (f == "highest" || f == "lowest") return limit(dtype_of(a[0]), f == "highest");
    for (const Arg& x : a)
      if (!is_number(x)) fail("expected a number");
    bool dims = std::ranges::all_of(a, [](const Arg& x) { return x.kind == ArgKind::integer; });
    if (f == "max" && dims) return Arg::of_dim(max(a[0].dim(), a[1].dim()));
    if (f == "min" && dims) return Arg::of_dim(min(a[0].dim(), a[1].dim()));
    for (const Arg& x : a)
      if (x.symbolic) fail("this needs constant numbers");
    double x = real_of(a[0]);
    if (f == "factorial") return Arg::of_real(std::tgamma(x + 1));
    double y = real_of(a[1]);
    return Arg::of_real(f == "max" ? std::max(x, y) : f == "min" ? std::min(x, y) : std::pow(x, y));
  }

  // The permutation that puts dims `from` at places `to` and leaves the others in their order.
  Arg moved(int64_t rank, const SmallVec<Arg, 8>& from, const SmallVec<Arg, 8>& to) {
    auto wrapped = [&](const Arg& d) {
      int64_t i = dim_of(d).constant();
      return i < 0 ? i + rank : i;
    };
    std::map<int64_t, int64_t> placed;  // by place
    std::vector<bool> taken(static_cast<size_t>(rank));
    for (size_t i = 0; i < from.size() && i < to.size(); ++i) {
      placed[wrapped(to[i])] = wrapped(from[i]);
      taken[static_cast<size_t>(wrapped(from[i]))] = true;
    }
    DimVec order;
    int64_t next = 0;
    for (int64_t place = 0; place < rank; ++place) {
      auto found = placed.find(place);
      if (found != placed.end()) {
        order.push_back(Dim(found->second));
        continue;
      }
      while (taken[static_cast<size_t>(next)]) ++next;
      order.push_back(Dim(next++));
    }
    return graph_.context().dims(order);
  }

  // The finite bounds of a dtype.
  Arg limit(Dtype d, bool highest) {
    auto of_float = [&](double largest) { return Arg::of_real(highest ? largest : -largest); };
    switch (d) {
      case Dtype::f16: return of_float(65504);
      case Dtype::bf16: return of_float(0x1.FEp127);
      case Dtype::f32:
      case Dtype::c64: return of_float(std::numeric_limits<float>::max());
      case Dtype::f64:
      case Dtype::c128: return of_float(std::numeric_limits<double>::max());
      default: fail("no bounds are known of " + std::string(lenz::name(d)));
    }
  }

  // How many elements a reduction over these dims takes together; of none, or no list, it takes all.
  Dim count(const Type& t, const Arg& dims) {
    SmallVec<Arg, 8> list = dims.is_none() ? SmallVec<Arg, 8>() : items_of(dims);
    if (list.empty()) return numel(t.sizes());
    Dim n = 1;
    for (const Arg& d : list)
      if (t.rank()) n *= size_of(t, dim_of(d).constant());
    return n;
  }

  // As eager promotes tensors and numbers that stand together.
  Dtype result_type(const SmallVec<Arg, 4>& a) {
    rule::Operands operands;
    for (const Arg& x : a) {
      if (x.is_value())
        operands.push_back({.type = &tensor(x)});
      else
        operands.push_back({.number = dtype_of(x)});
    }
    Infer in(graph_.shared_context(), graph_.ops(), op_, args_, graph_.types(), graph_.assumptions);
    return rule::result_type(in, operands);
  }

  Arg list_function(std::string_view f, const SmallVec<Arg, 4>& a) {
    SmallVec<Arg, 8> items = items_of(a[0]);
    auto count = static_cast<int64_t>(items.size());
    auto slice = [&](int64_t from, int64_t to) {
      from = std::clamp<int64_t>(from, 0, count);
      to = std::clamp<int64_t>(to, from, count);
      return list_of(items.span().subspan(static_cast<size_t>(from), static_cast<size_t>(to - from)));
    };
    if (f == "len") return Arg::of_int(count);
    if (f == "product") {
      Dim product = 1;
      for (const Arg& e : items) product *= dim_of(e);
      return Arg::of_dim(product);
    }
    if (f == "find") {  // where a constant stands first, or -1
      for (size_t i = 0; i < items.size(); ++i)
        if (same(dim_of(items[i]), dim_of(a[1]))) return Arg::of_int(static_cast<int64_t>(i));
      return Arg::of_int(-1);
    }
    if (f == "concat") {
      for (const Arg& e : items_of(a[1])) items.push_back(e);
      return list_of(items);
    }
    if (f == "broadcast") {
      DimVec x, y;
      for (const Arg& e : items) x.push_back(dim_of(e));
      for (const Arg& e : items_of(a[1])) y.push_back(dim_of(e));
      Infer in(graph_.shared_context(), graph_.ops(), op_, args_, graph_.types(), graph_.assumptions);
      return graph_.context().dims(rule::broadcast(in, x, y));
    }
    int64_t n = a.size() > 1 ? dim_of(a[1]).constant() : 0;
    if (f == "at") {
      int64_t i = n < 0 ? n + count : n;
      if (i < 0 || i >= count) throw UserError(op_.full_name + ": a list is too short");
      return items[static_cast<size_t>(i)];
    }
    if (f == "first") return slice(0, n);
    if (f == "last") return slice(count - n, count);
    if (f == "drop") return slice(n, count);
    fail("no function " + std::string(f));
  }

  Dim size_of(const Type& t, int64_t dim) {
    auto rank = static_cast<int64_t>(t.rank());
    if (dim < -rank || dim >= rank)
      throw UserError(op_.full_name + ": dim " + std::to_string(dim) + " is out of range");
    return t.sizes()[static_cast<size_t>(dim < 0 ? dim + rank : dim)];
  }

  MemoryFormat suggested_format(const Arg& a) {
    const Type& t = tensor(a);
    Infer in(graph_.shared_context(), graph_.ops(), op_, args_, graph_.types(), graph_.assumptions);
    if (!rule::suggests_channels_last(in, t)) return MemoryFormat::contiguous;
    return t.rank() == 4 ? MemoryFormat::channels_last : MemoryFormat::channels_last_3d;
  }

  Dtype promoted(Dtype a, Dtype b) {
    auto both = promote(a, b);
    if (!both) throw UserError(op_.full_name + ": these dtypes don't promote");
    return *both;
  }

  Graph& graph_;
  NodeId before_;
  const OpDef& op_;
  std::span<const Arg> args_;
  uint32_t origin_;
  std::string_view rest_;
  std::map<std::string_view, Arg> locals_;
  SmallVec<Arg, 4> results_;
  bool returned_ = false;
};

}  // namespace

SmallVec<Arg, 4> expand(Graph& graph, NodeId before, const OpDef& op, std::span<const Arg> args, uint32_t origin) {
  LENZ_CHECK(!op.decompose.empty(), op.full_name + " has no definition");
  return Expander(graph, before, op, args, origin).run();
}

namespace rule {

namespace {
// Lends the caller's assumptions to a scratch graph, so that guards of the definition become the caller's.
struct Lent {
  Lent(Assumptions& from, Assumptions& to) : from(from), to(to) { std::swap(from, to); }
  ~Lent() { std::swap(from, to); }
  Assumptions &from, &to;
};

Arg mapped(Context& context, const Arg& a, std::map<ValueId, ValueId>& ids, const auto& add) {
  if (a.kind == ArgKind::value) return Arg::of_value(add(a.value()));
  if (a.kind == ArgKind::value_list) {
    SmallVec<ValueId, 8> items(a.value_list());
    for (ValueId& v : items)
      if (v != kNone) v = add(v);
    return context.values(items);
  }
  if (a.kind == ArgKind::arg_list) {
    SmallVec<Arg, 8> items(a.arg_list());
    for (Arg& e : items) e = mapped(context, e, ids, add);
    return context.args(items);
  }
  return a;
}
}  // namespace

void composite(Infer& in) {
  Graph scratch(in.shared_context(), in.table(), "definition");
  std::map<ValueId, ValueId> ids;
  SmallVec<ValueId, 8> outer;  // by scratch input
  auto add = [&](ValueId v) {
    auto [at, fresh] = ids.emplace(v, kNone);
    if (fresh) {
      at->second = scratch.add_input({}, &in.type_of(v));
      outer.push_back(v);
    }
    return at->second;
  };
  SmallVec<Arg, 12> args(in.args());
  for (Arg& a : args) a = mapped(in.context(), a, ids, add);
  SmallVec<Arg, 4> results;
  {
    Lent lent(in.assumptions(), scratch.assumptions);
    results = expand(scratch, kNone, in.op(), args);
  }
  for (const Arg& r : results) {
    if (!r.is_value()) in.raise("its definition returns no tensor");
    ValueId owner = scratch.storage(r.value());
    in.alias(&scratch.type(r.value()), owner < outer.size() ? outer[owner] : kNone);
  }
}

}  // namespace rule

}  // namespace lenz
