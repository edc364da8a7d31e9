#include "compiler/ops/decompose.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <limits>
#include <map>

#include "compiler/base/text_cursor.h"
#include "compiler/ops/definition_values.h"

namespace lenz {

namespace {

// Walks the text once, executing as it goes; of a branch that isn't taken its end alone is looked for.
class Expander : TextCursor<Expander> {
 public:
  Expander(Graph& graph, NodeId before, const OpDef& op, std::string_view text, std::span<const Arg> args,
           uint32_t origin)
      : TextCursor(text), values_(graph, before, op, args, origin), op_(op), args_(args) {}

  void bind(std::string_view name, Arg value) { locals_[name] = value; }

  SmallVec<Arg, 4> run() {
    statements(true);
    LENZ_CHECK(returned_, op_.full_name + ": its definition returns nothing");
    return results_;
  }

 private:
  friend TextCursor;
  [[noreturn]] void fail(const std::string& what) {
    throw InternalError("the definition of " + op_.full_name + ": " + what + " at `" +
                        std::string(rest_.substr(0, 40)) + "`");
  }

  // --- statements
  void statements(bool live) {
    while (true) {
      spaces();
      if (rest_.empty() || rest_.front() == '}') return;
      live = live && !returned_;
      if (!live) return skip_statements();
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

  // To the end of the block, or of the text.
  void skip_statements() {
    size_t at = 0, depth = 0;
    for (; at < rest_.size(); ++at) {
      const char c = rest_[at];
      if (c == '"') at = std::min(rest_.find('"', at + 1), rest_.size() - 1);
      if (c == '{') ++depth;
      if (c == '}' && depth-- == 0) break;
    }
    rest_.remove_prefix(at);
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
      return Arg::of_bool(live && values_.compare(left, op, right));
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
    Arg text = values_.graph().context().string(rest_.substr(0, end));
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
    return live ? values_.list_of(items) : Arg::none();
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
    return values_.insert(op_name, positional, keywords);
  }

  bool truth(const Arg& a, bool live) { return live && values_.truth(a); }
  bool is_of_the_run(const Arg& a) {
    return a.is_value() && values_.graph().type(a.value()).kind == TypeKind::sym_float;
  }
  // Of a number that only the run knows, by steps of the graph: in f64, as of those that are written.
  Arg computed(char op, const Arg& a, const Arg& b) {
    const std::string_view name = op == '+'   ? "aten.add"  // op name: a step of arithmetic
                                  : op == '-' ? "aten.sub"  // op name: as above
                                  : op == '*' ? "aten.mul"  // op name: as above
                                  : op == '/' ? "aten.div"  // op name: as above
                                              : "";
    const bool numbers = (is_of_the_run(a) || is_number(a)) && (is_of_the_run(b) || is_number(b));
    if (name.empty() || !numbers || a.symbolic || b.symbolic) return values_.arithmetic(op, a, b);
    const Keyword wide{"dtype", Arg::of_dtype(Dtype::f64)};
    auto tensor = [&](const Arg& number) {
      const Arg filled[] = {values_.graph().context().dims({}), number};
      return values_.insert("aten.full", filled, {&wide, 1})[0];  // op name: a tensor of the number
    };
    const bool minus = op == '-' && a.kind == ArgKind::integer && a.i == 0;  // which keeps -0.0
    const Arg both[] = {minus ? tensor(b) : tensor(a), minus ? Arg::none() : tensor(b)};
    const Arg result = minus ? values_.insert("aten.neg", {both, 1})[0]  // op name: as above
                             : values_.insert(name, both)[0];
    return values_.insert("aten._local_scalar_dense", {&result, 1})[0];  // op name: as a number
  }
  Arg arithmetic(char op, const Arg& a, const Arg& b, bool live) {
    if (!live) return Arg::none();
    if (is_of_the_run(a) || is_of_the_run(b)) return computed(op, a, b);
    return values_.arithmetic(op, a, b);
  }

  // each(list, %x, call): walks the call once for each element, and at least once, without effect if there is none.
  Arg each(bool live) {
    Arg list = expression(live);
    expect(",");
    expect("%");
    std::string_view element = name();
    expect(",");
    SmallVec<Arg, 8> from = live ? values_.items_of(list) : SmallVec<Arg, 8>(), made;
    std::string_view body = rest_;
    for (const Arg& item : from) {
      rest_ = body;
      locals_[element] = item;
      made.push_back(expression(live));
    }
    if (from.empty()) expression(false);
    locals_.erase(element);
    expect(")");
    return live ? values_.list_of(made) : Arg::none();
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
    return live ? values_.function(name, a) : Arg::none();
  }

  DefinitionValues values_;
  const OpDef& op_;
  std::span<const Arg> args_;
  std::map<std::string_view, Arg> locals_;
  SmallVec<Arg, 4> results_;
  bool returned_ = false;
};

}  // namespace

namespace {
const Type* tensor_type(const Graph& graph, const OpDef& op, std::span<const Arg> args, size_t i) {
  if (!args[i].is_value() || op.schema.params[i].is_out) return nullptr;
  const Type& type = graph.type(args[i].value());
  return type.is_tensor() ? &type : nullptr;
}

bool steps_are_wide(const Graph& graph, const OpDef& op, std::span<const Arg> args) {
  SmallVec<const Type*, 4> operands;
  for (size_t i = 0; op.wide_steps && i < args.size(); ++i)
    if (const Type* type = tensor_type(graph, op, args, i)) operands.push_back(type);
  return steps_are_wide(op, operands);
}

// The steps in f32: operands are converted before, results behind.
SmallVec<Arg, 4> expand_widely(Graph& graph, NodeId before, const OpDef& op, std::span<const Arg> args,
                               uint32_t origin) {
  DefinitionValues values(graph, before, op, args, origin);
  auto convert = [&](const Arg& a, Dtype to) {
    const Keyword dtype{"dtype", Arg::of_dtype(to)};
    return values.insert("aten._to_copy", {&a, 1}, {&dtype, 1})[0];  // op name: what converts
  };
  SmallVec<Arg, 12> wide;
  for (size_t i = 0; i < args.size(); ++i)
    wide.push_back(tensor_type(graph, op, args, i) ? convert(args[i], Dtype::f32) : args[i]);
  SmallVec<Arg, 4> results = Expander(graph, before, op, op.decompose, wide, origin).run();
  for (size_t i = 0; i < results.size(); ++i) {
    const Dtype claimed = values.result_dtype(i);
    if (graph.type(results[i].value()).dtype != claimed) results[i] = convert(results[i], claimed);
  }
  return results;
}
}  // namespace

bool steps_are_wide(const OpDef& op, std::span<const Type* const> operands) {
  return op.wide_steps && !operands.empty() && is_reduced_float(operands[0]->dtype) &&
         std::ranges::all_of(operands, [&](const Type* t) { return t->dtype == operands[0]->dtype; });
}

SmallVec<Arg, 4> expand(Graph& graph, NodeId before, const OpDef& op, std::span<const Arg> args, uint32_t origin) {
  LENZ_CHECK(!op.decompose.empty(), op.full_name + " has no definition");
  if (steps_are_wide(graph, op, args)) return expand_widely(graph, before, op, args, origin);
  return Expander(graph, before, op, op.decompose, args, origin).run();
}

void write_results(Graph& definition, std::span<Arg> results, std::span<const Dtype> into) {
  for (size_t i = 0; i < results.size() && i < into.size(); ++i) {
    if (!results[i].is_value() || !definition.type(results[i].value()).is_tensor()) continue;
    const Dtype own = definition.type(results[i].value()).dtype;
    if (!is_floating(into[i]) || !is_floating(own) || info(into[i]).mantissa_bits == info(own).mantissa_bits) continue;
    const ValueId before = results[i].value();
    const NodeId id = definition.value(before).producer;
    if (id == kNone) continue;
    const Node step = definition.node(id);
    const int dtype = step.op->schema.find("dtype");
    if (dtype < 0 || step.result_count != 1 || !step.args[dtype].is_none()) continue;
    std::vector<Arg> args(step.arguments().begin(), step.arguments().end());
    args[static_cast<size_t>(dtype)] = Arg::of_dtype(into[i]);
    const NodeId told = definition.insert(id, *step.op, args, step.origin);
    results[i] = Arg::of_value(definition.node(told).result());
    definition.replace_uses(before, results[i].value());
    definition.erase(id);
  }
}

ValueId expand_written_base(Graph& graph, NodeId before, const OpDef& op, std::span<const Arg> args, ValueId written,
                            int64_t element, uint32_t origin) {
  LENZ_CHECK(!op.written_base.empty(), op.full_name + " does not say what its operand holds when it is written to");
  Expander expander(graph, before, op, op.written_base, args, origin);
  expander.bind("written", Arg::of_value(written));
  expander.bind("element", Arg::of_int(element));
  return expander.run()[0].value();
}

bool definition_writes(const OpDef& op) {
  for (size_t at = op.decompose.find("_("); at != std::string_view::npos; at = op.decompose.find("_(", at + 1)) {
    size_t begin = op.decompose.find_last_of(" =(", at);
    if (op.decompose.substr(begin + 1).starts_with("aten.")) return true;
  }
  return false;
}

}  // namespace lenz
