// Printing of dims and conditions. What is printed reads back as the same dim (sym_parse.cpp).
#include <charconv>
#include <cmath>

#include "compiler/base/sym_node.h"

namespace lenz {

namespace {

std::string_view function_name(SymFn fn) {
  switch (fn) {
    case SymFn::floor_scale: return "floor";
    case SymFn::ceil_scale: return "ceil";
    case SymFn::round_scale: return "round";
  }
  return "";
}

// How tightly a text binds: a sum loosest, then products and divisions, then what needs no parentheses anywhere.
enum class Bind { sum, product, atom };

class Printer {
 public:
  std::string text;

  void dim(Dim d, Bind at_least) {
    bool parentheses = binding(d) < at_least;
    if (parentheses) text += '(';
    if (d.is_constant()) {
      text += std::to_string(d.constant());
    } else {
      node(d.node());
    }
    if (parentheses) text += ')';
  }

 private:
  static Bind binding(Dim d) {
    if (d.is_constant()) return d.constant() < 0 ? Bind::sum : Bind::atom;
    switch (d.node()->kind) {
      case SymKind::sum: return Bind::sum;
      case SymKind::product:
      case SymKind::floor_div:
      case SymKind::mod: return Bind::product;
      case SymKind::symbol:
      case SymKind::min:
      case SymKind::max:
      case SymKind::call: return Bind::atom;
    }
    return Bind::sum;
  }

  void node(const SymNode* n) {
    switch (n->kind) {
      case SymKind::symbol: text += n->name(); return;
      case SymKind::sum: return sum(n);
      case SymKind::product: return product(n);
      case SymKind::floor_div: return binary(n, "//");
      case SymKind::mod: return binary(n, " % ");
      case SymKind::min: return list("min", n);
      case SymKind::max: return list("max", n);
      case SymKind::call: return call(n);
    }
  }

  void binary(const SymNode* n, std::string_view op) {
    dim(n->args()[0], Bind::atom);
    text += op;
    dim(n->args()[1], Bind::atom);
  }

  void list(std::string_view name, const SymNode* n) {
    text += name;
    char separator = '(';
    for (Dim a : n->args()) {
      text += separator;
      if (separator == ',') text += ' ';
      dim(a, Bind::sum);
      separator = ',';
    }
    text += ')';
  }

  void call(const SymNode* n) {
    char digits[32];
    auto end = std::to_chars(digits, digits + sizeof digits, n->factor()).ptr;
    std::string_view number(digits, static_cast<size_t>(end - digits));
    text += function_name(n->fn);
    text += '(';
    text += number;
    if (number.find_first_of(".e") == std::string_view::npos) text += ".0";
    text += '*';
    dim(n->args()[0], Bind::atom);
    text += ')';
  }

  // Sums stand first, two and two: what stays a product of two of them is one where they meet, and what comes to a sum
  // from the left is multiplied out.
  void product(const SymNode* n) {
    std::vector<const SymNode*> sums, others;
    for (const SymFactor& f : n->factors()) {
      auto& into = f.atom->kind == SymKind::sum ? sums : others;
      into.insert(into.end(), static_cast<size_t>(f.power), f.atom);
    }
    const size_t pairs = sums.size() / 2 * 2;
    auto factor = [&](const SymNode* atom, std::string_view before) {
      text += before;
      dim(Dim(atom), Bind::atom);
    };
    for (size_t i = 0; i < sums.size(); ++i) {
      const bool grouped = i >= 2 && i < pairs;
      factor(sums[i], i == 0 ? "" : grouped && i % 2 == 0 ? "*(" : "*");
      if (grouped && i % 2 == 1) text += ')';
    }
    for (size_t i = 0; i < others.size(); ++i) factor(others[i], i == 0 && sums.empty() ? "" : "*");
  }

  // One term without its sign: "s0*8". A leading minus binds tighter than //, so that "-(s0//2)" keeps its parentheses.
  void term(const SymTerm& t, bool after_minus) {
    bool plain = t.coefficient == 1 || t.coefficient == -1;
    bool loose = plain && !after_minus;
    dim(Dim(t.monomial), loose || t.monomial->kind == SymKind::product ? Bind::product : Bind::atom);
    if (!plain) text += '*' + std::to_string(magnitude(t.coefficient));
  }

  // The first positive term leads, if there is one: "s1 - s0", "4 - s0".
  void sum(const SymNode* n) {
    std::span<const SymTerm> terms = n->terms();
    size_t lead = 0;
    while (lead < terms.size() && terms[lead].coefficient < 0) ++lead;
    bool constant_leads = lead == terms.size() && n->constant > 0;
    if (constant_leads) {
      text += std::to_string(n->constant);
    } else {
      if (lead == terms.size()) lead = 0;
      bool minus = terms[lead].coefficient < 0;
      if (minus) text += '-';
      term(terms[lead], minus);
    }
    for (size_t i = 0; i < terms.size(); ++i) {
      if (!constant_leads && i == lead) continue;
      text += terms[i].coefficient < 0 ? " - " : " + ";
      term(terms[i], false);
    }
    if (n->constant == 0 || constant_leads) return;
    text += n->constant < 0 ? " - " : " + ";
    text += std::to_string(magnitude(n->constant));
  }
};

std::string_view relation(Rel rel) {
  switch (rel) {
    case Rel::eq: return " == ";
    case Rel::ne: return " != ";
    case Rel::lt: return " < ";
    case Rel::le: return " <= ";
  }
  return "";
}

}  // namespace

std::string to_string(Dim dim) {
  Printer printer;
  printer.dim(dim, Bind::sum);
  return std::move(printer.text);
}

std::string to_string(const Cond& cond) {
  return to_string(cond.lhs) + std::string(relation(cond.rel)) + to_string(cond.rhs);
}

}  // namespace lenz
