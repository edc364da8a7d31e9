// The reader of dims and conditions: recursive descent over the grammar in sym.h.
#include <charconv>

#include "compiler/base/sym_node.h"

namespace lenz {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

class Reader {
 public:
  Reader(std::string_view text, SymPool& pool) : text_(text), pool_(pool) {}

  Dim sum() {
    std::vector<Dim> parts{product()};
    for (;;) {
      if (take("+")) {
        parts.push_back(product());
      } else if (take("-")) {
        parts.push_back(-product());
      } else {
        return lenz::sum(parts);
      }
    }
  }

  Cond condition() {
    Dim lhs = sum();
    if (take("==")) return eq(lhs, sum());
    if (take("!=")) return ne(lhs, sum());
    if (take("<=")) return le(lhs, sum());
    if (take(">=")) return ge(lhs, sum());
    if (take("<")) return lt(lhs, sum());
    if (take(">")) return gt(lhs, sum());
    fail("expected one of == != < <= > >=");
  }

  void end() {
    skip_blanks();
    if (at_ != text_.size()) fail("expected the end");
  }

 private:
  [[noreturn]] void fail(const std::string& what) {
    throw UserError(what, "column " + std::to_string(at_ + 1) + " of '" + std::string(text_.substr(0, 200)) + "'");
  }
  void skip_blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  }
  bool take(std::string_view token) {
    skip_blanks();
    if (!text_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }
  void expect(std::string_view token) {
    if (!take(token)) fail("expected '" + std::string(token) + "'");
  }

  Dim product() {
    Dim out = unary();
    for (;;) {
      if (take("*")) {
        out = out * unary();
      } else if (take("//")) {
        out = floor_div(out, unary());
      } else if (take("%")) {
        out = mod(out, unary());
      } else {
        return out;
      }
    }
  }

  Dim unary() {
    bool negative = false;
    while (take("-")) negative = !negative;
    skip_blanks();
    if (at_ == text_.size()) fail("expected a number, a symbol or '('");
    if (is_digit(text_[at_])) return number(negative);
    Dim out = primary();
    return negative ? -out : out;
  }

  Dim number(bool negative) {
    size_t start = at_;
    uint64_t value = 0;
    for (; at_ < text_.size() && is_digit(text_[at_]); ++at_)
      if (__builtin_mul_overflow(value, 10u, &value) ||
          __builtin_add_overflow(value, static_cast<uint64_t>(text_[at_] - '0'), &value)) {
        at_ = start;
        fail("number does not fit 64 bits");
      }
    Wide signed_value = negative ? -static_cast<Wide>(value) : static_cast<Wide>(value);
    if (!fits(signed_value)) {
      at_ = start;
      fail("number does not fit 64 bits");
    }
    return static_cast<int64_t>(signed_value);
  }

  Dim primary() {
    if (take("(")) {
      if (++depth_ > kMaxDimDepth) fail("nested too deeply");
      Dim out = sum();
      --depth_;
      expect(")");
      return out;
    }
    size_t start = at_;
    while (at_ < text_.size() && (is_letter(text_[at_]) || (at_ > start && is_digit(text_[at_])))) ++at_;
    if (at_ == start) fail("expected a number, a symbol or '('");
    std::string_view name = text_.substr(start, at_ - start);
    if (!take("(")) return pool_.symbol(name);
    if (++depth_ > kMaxDimDepth) fail("nested too deeply");
    Dim out = function(name);
    --depth_;
    expect(")");
    return out;
  }

  Dim function(std::string_view name) {
    if (name == "floor") return scaled(SymFn::floor_scale);
    if (name == "ceil") return scaled(SymFn::ceil_scale);
    if (name == "round") return scaled(SymFn::round_scale);
    if (name != "min" && name != "max") fail("unknown function '" + std::string(name) + "'");
    std::vector<Dim> args{sum()};
    while (take(",")) args.push_back(sum());
    return name == "min" ? min(args) : max(args);
  }

  Dim scaled(SymFn fn) {
    skip_blanks();
    double factor = 0;
    auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), factor);
    if (error != std::errc()) fail("expected a factor such as 1.5");
    at_ = static_cast<size_t>(end - text_.data());
    expect("*");
    return call(fn, sum(), factor);
  }

  std::string_view text_;
  SymPool& pool_;
  size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

Dim parse_dim(std::string_view text, SymPool& pool) {
  Reader reader(text, pool);
  Dim out = reader.sum();
  reader.end();
  return out;
}

Cond parse_cond(std::string_view text, SymPool& pool) {
  Reader reader(text, pool);
  Cond out = reader.condition();
  reader.end();
  return out;
}

}  // namespace lenz
