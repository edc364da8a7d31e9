#include "compiler/graph/schema.h"

#include <cctype>
#include <charconv>

#include "compiler/base/error.h"
#include "compiler/base/text_cursor.h"

namespace lenz {

bool Schema::mutates() const {
  for (const Param& p : params)
    if (p.writes) return true;
  return false;
}

int Schema::find(std::string_view param) const {
  for (size_t i = 0; i < params.size(); ++i)
    if (params[i].name == param) return static_cast<int>(i);
  return -1;
}

std::string Schema::full_name() const {
  return overload.empty() ? space + "." + packet : space + "." + packet + "." + overload;
}

namespace {
struct KindName {
  std::string_view text;
  ParamKind kind;
};
constexpr KindName kKinds[] = {{"Tensor", ParamKind::tensor},
                               {"Scalar", ParamKind::scalar},
                               {"SymInt", ParamKind::sym_int},
                               {"int", ParamKind::integer},
                               {"float", ParamKind::real},
                               {"bool", ParamKind::boolean},
                               {"str", ParamKind::string},
                               {"ScalarType", ParamKind::dtype},
                               {"Device", ParamKind::device},
                               {"Layout", ParamKind::layout},
                               {"MemoryFormat", ParamKind::memory_format},
                               {"Generator", ParamKind::generator},
                               {"Token", ParamKind::token},
                               {"Graph", ParamKind::graph},
                               {"Data", ParamKind::data},
                               {"Any", ParamKind::any}};

constexpr int kLongestDefault = 64;  // one number stands for a list of so many at most

class SchemaParser : TextCursor<SchemaParser> {
 public:
  explicit SchemaParser(std::string_view text) : TextCursor(text), all_(text) {}

  Schema parse() {
    Schema s;
    s.space = "aten";
    std::string name = word();
    if (eat("::")) {
      s.space = name;
      name = word();
    }
    s.packet = name;
    if (eat(".")) s.overload = word();
    expect("(");
    bool keyword_only = false;
    while (!eat(")")) {
      if (eat("*")) {
        keyword_only = true;
      } else {
        s.params.push_back(param(keyword_only));
      }
      if (!peek(")")) expect(",");
    }
    expect("->");
    if (eat("(")) {
      while (!eat(")")) {
        s.returns.push_back(result());
        if (!peek(")")) expect(",");
      }
    } else {
      s.returns.push_back(result());
    }
    spaces();
    if (!rest_.empty()) fail("text after the end");
    return s;
  }

 private:
  friend TextCursor;
  [[noreturn]] void fail(const std::string& what) {
    throw UserError("bad schema: " + what + " at character " + std::to_string(all_.size() - rest_.size()) + " of `" +
                        std::string(all_) + "`",
                    "", "write it as PyTorch does: my::op(Tensor x, int n=0) -> Tensor");
  }
  std::string word() { return std::string(name()); }

  // "Tensor(a!)?[]": the alias set stands between the kind and its suffixes.
  ParamType type(char& alias, bool& writes, bool* widens = nullptr) {
    ParamType t;
    std::string kind = word();
    bool known = false;
    for (const KindName& k : kKinds)
      if (k.text == kind) {
        t.kind = k.kind;
        known = true;
      }
    if (!known) fail("unknown type `" + kind + "`");
    if (eat("(")) {
      std::string set = word();
      alias = set[0];
      writes = eat("!");
      if (eat("->")) {
        expect("*");
        if (widens) *widens = true;
      }
      expect(")");
    }
    bool optional = eat("?");
    if (eat("[")) {
      t.list = true;
      t.element_optional = optional;
      optional = false;
      if (!peek("]")) {
        std::string size = word();
        auto [end, error] = std::from_chars(size.data(), size.data() + size.size(), t.list_size);
        if (error != std::errc() || end != size.data() + size.size() || t.list_size > kLongestDefault)
          fail("a list's size is a small number");
      }
      expect("]");
      if (eat("(")) {  // Tensor(a)[] also appears as Tensor[](a)
        alias = word()[0];
        writes = eat("!");
        expect(")");
      }
      optional = eat("?");
    }
    t.optional = optional;
    return t;
  }

  Param param(bool keyword_only) {
    Param p;
    p.keyword_only = keyword_only;
    p.type = type(p.alias, p.writes, &p.widens);
    p.name = word();
    p.is_out = keyword_only && p.writes;
    if (eat("=")) p.fallback = std::make_shared<const Default>(fallback(p.type));
    return p;
  }

  Return result() {
    Return r;
    r.type = type(r.alias, r.writes);
    spaces();
    if (!rest_.empty() && (std::isalpha(static_cast<unsigned char>(rest_.front())) || rest_.front() == '_'))
      r.name = word();
    return r;
  }

  Default fallback(const ParamType& t) {
    Default d;
    if (eat("None")) return d;
    if (eat("True") || eat("False")) {
      d.kind = Default::boolean;
      d.i = all_[all_.size() - rest_.size() - 2] == 'u';  // "True" ends in "ue", "False" in "se"
      return d;
    }
    if (eat("[")) {
      d.kind = t.kind == ParamKind::boolean ? Default::bool_list : Default::int_list;
      while (!eat("]")) {
        if (t.kind == ParamKind::boolean) {
          d.list.push_back(word() == "True");
        } else {
          d.list.push_back(static_cast<int64_t>(number().d));
        }
        if (!peek("]")) expect(",");
      }
      return d;
    }
    if (eat("\"") || eat("'")) {
      char quote = all_[all_.size() - rest_.size() - 1];
      size_t end = rest_.find(quote);
      if (end == std::string_view::npos) fail("unterminated string");
      d.kind = Default::string;
      d.text = rest_.substr(0, end);
      rest_.remove_prefix(end + 1);
      return d;
    }
    spaces();
    if (!rest_.empty() && (std::isdigit(static_cast<unsigned char>(rest_.front())) || rest_.front() == '-')) {
      d = number();
      if (t.kind == ParamKind::real && d.kind == Default::integer) d.kind = Default::real;
      return d;
    }
    d.kind = Default::symbol;
    d.text = word();
    return d;
  }

  Default number() {
    spaces();
    size_t n = 0;
    while (n < rest_.size() && std::string_view("0123456789+-.eE").find(rest_[n]) != std::string_view::npos) ++n;
    std::string_view text = rest_.substr(0, n);
    rest_.remove_prefix(n);
    Default d;
    d.kind = text.find_first_of(".eE") == std::string_view::npos ? Default::integer : Default::real;
    if (d.kind == Default::integer) {
      if (std::from_chars(text.begin(), text.end(), d.i).ec != std::errc()) fail("bad number");
      d.d = static_cast<double>(d.i);
    } else if (std::from_chars(text.begin(), text.end(), d.d).ec != std::errc()) {
      fail("bad number");
    }
    return d;
  }

  std::string_view all_;
};

std::string text_of(const ParamType& t, char alias, bool writes, bool widens = false) {
  std::string text;
  for (const KindName& k : kKinds)
    if (k.kind == t.kind) text = k.text;
  if (alias) text += std::string("(") + alias + (writes ? "!)" : widens ? " -> *)" : ")");
  if (t.list) {
    text += t.element_optional ? "?[" : "[";
    if (t.list_size >= 0) text += std::to_string(t.list_size);
    text += "]";
  }
  return t.optional ? text + "?" : text;
}

std::string text_of(const Default& d) {
  switch (d.kind) {
    case Default::none: return "None";
    case Default::boolean: return d.i ? "True" : "False";
    case Default::integer: return std::to_string(d.i);
    case Default::real: {
      char buffer[32];
      auto end = std::to_chars(buffer, buffer + sizeof buffer, d.d).ptr;
      std::string text(buffer, end);
      return text.find_first_of(".e") == std::string::npos ? text + "." : text;
    }
    case Default::string: return "\"" + d.text + "\"";
    case Default::int_list:
    case Default::bool_list: {
      std::string text = "[";
      for (size_t i = 0; i < d.list.size(); ++i) {
        if (i) text += ", ";
        text += d.kind == Default::int_list ? std::to_string(d.list[i]) : d.list[i] ? "True" : "False";
      }
      return text + "]";
    }
    case Default::symbol: return d.text;
  }
  return {};
}
}  // namespace

Schema parse_schema(std::string_view text) { return SchemaParser(text).parse(); }

std::string to_string(const Schema& s) {
  std::string text = s.space + "::" + s.packet;
  if (!s.overload.empty()) text += "." + s.overload;
  text += "(";
  bool keyword = false;
  for (size_t i = 0; i < s.params.size(); ++i) {
    const Param& p = s.params[i];
    if (i) text += ", ";
    if (p.keyword_only && !keyword) text += "*, ";
    keyword |= p.keyword_only;
    text += text_of(p.type, p.alias, p.writes, p.widens) + " " + p.name;
    if (p.fallback) text += "=" + text_of(*p.fallback);
  }
  text += ") -> ";
  if (s.returns.size() != 1) text += "(";
  for (size_t i = 0; i < s.returns.size(); ++i) {
    const Return& r = s.returns[i];
    if (i) text += ", ";
    text += text_of(r.type, r.alias, r.writes);
    if (!r.name.empty()) text += " " + r.name;
  }
  return s.returns.size() != 1 ? text + ")" : text;
}

}  // namespace lenz
