// Types, and the dims in them.
#include <charconv>

#include "compiler/base/suggest.h"
#include "compiler/graph/text_parser.h"

namespace lenz {

bool is_reserved_word(std::string_view word) {
  constexpr std::string_view kWords[] = {"true",
                                         "false",
                                         "none",
                                         "inf",
                                         "nan",
                                         "cpu",
                                         "cuda",
                                         "meta",
                                         "strided",
                                         "sparse_coo",
                                         "sparse_csr",
                                         "contiguous_format",
                                         "preserve_format",
                                         "channels_last",
                                         "channels_last_3d",
                                         "seed",
                                         "complex",
                                         "min",
                                         "max",
                                         "floor",
                                         "ceil",
                                         "round",
                                         "in",
                                         "on",
                                         "alias",
                                         "mut",
                                         "requires_grad",
                                         "init",
                                         "int",
                                         "token",
                                         "return",
                                         "graph",
                                         "where",
                                         "assuming",
                                         "level",
                                         "from"};
  return std::ranges::find(kWords, word) != std::end(kWords) || parse_dtype(word).has_value();
}

bool TextParser::is_symbol(std::string_view word) const { return is_word(word) && !is_reserved_word(word); }

const Type* TextParser::type(bool* any_int) {
  Token token = peek();
  if (eat(TokenKind::l_bracket)) {
    Nest nest(*this);
    SmallVec<const Type*, 8> elements;
    while (!eat(TokenKind::r_bracket)) {
      elements.push_back(type());
      if (!at(TokenKind::r_bracket)) expect(TokenKind::comma, "`,` or `]`");
    }
    return context_->list(elements);
  }
  if (token.kind != TokenKind::name)
    fail_here("expected a type", "types are f32[2, 3], int, float, bool, none, token and lists [f32[2], ...]");
  take();
  auto dtype = parse_dtype(token.text);
  if (dtype && at(TokenKind::l_bracket)) return tensor_type(*dtype, token);
  if (token.text == "float") return context_->simple(TypeKind::sym_float);
  if (token.text == "bool") return context_->simple(TypeKind::sym_bool);
  if (token.text == "none") return context_->simple(TypeKind::none);
  if (token.text == "token") return context_->simple(TypeKind::token);
  if (token.text == "int") {
    bool expression = at(TokenKind::integer) || at(TokenKind::minus) || at(TokenKind::l_paren) ||
                      (at(TokenKind::name) && (!is_reserved_word(token_.text) || next_is(TokenKind::l_paren)));
    if (expression) return context_->sym_int(dim());
    if (!any_int) fail(token, "an `int` needs its expression here", "write `int s0`");
    *any_int = true;
    return context_->sym_int(0);
  }
  if (dtype)
    fail(token, "a tensor type needs a shape", "write " + std::string(token.text) + "[] for a tensor of rank 0");
  std::vector<std::string_view> names{"int", "float", "bool", "none", "token"};
  for (int d = 0; d < kDtypeCount; ++d) names.push_back(name(static_cast<Dtype>(d)));
  std::string_view nearest = nearest_name(token.text.substr(0, 80), names);
  fail(token, "there is no type `" + std::string(token.text.substr(0, 80)) + "`",
       (nearest.empty() ? std::string() : "did you mean `" + std::string(nearest) + "`? ") +
           "types are f32[2, 3], int, float, bool, none, token and lists [f32[2], ...]");
}

DimVec TextParser::dim_list(bool sizes) {
  Token open = expect(TokenKind::l_bracket);
  DimVec dims;
  while (!eat(TokenKind::r_bracket)) {
    Token first = peek();
    dims.push_back(dim());
    if (sizes && dims.back().is_constant() && dims.back().constant() < 0)
      fail(first, "the size " + to_string(dims.back()) + " is negative", "write 0 or more");
    if (dims.size() > options_.limits.rank)
      fail(open, "a rank above the limit, " + std::to_string(options_.limits.rank), "join dims");
    if (!at(TokenKind::r_bracket)) expect(TokenKind::comma, "`,` or `]`");
  }
  return dims;
}

// Every element's place in memory, in bytes, must fit 64 bits (as far as constants tell).
void TextParser::check_extent(const TensorType& t, const Token& name) {
  using Wide = __int128;
  constexpr Wide kMost = std::numeric_limits<int64_t>::max();
  Wide elements = 1, last = t.offset.is_constant() ? t.offset.constant() : 0;
  bool fits = true, empty = false;
  for (size_t i = 0; i < t.rank(); ++i) {
    if (!t.sizes[i].is_constant()) continue;
    Wide size = t.sizes[i].constant();
    empty = empty || size == 0;
    if (size < 1) continue;
    elements *= size;
    if (t.strides[i].is_constant()) last += (size - 1) * t.strides[i].constant();
    fits = fits && elements <= kMost && last <= kMost && last >= -kMost;
    if (!fits) break;
  }
  int64_t bytes = item_size(t.dtype);
  fits = fits && elements * bytes <= kMost && (last + 1) * bytes <= kMost;
  if (!fits && !empty)
    fail(name, "the size of this tensor overflows 64 bits", "its bytes, and its last place, must stay below 2**63");
}

TensorType TextParser::tensor_parts(Dtype dtype, const Token& name, bool dense) {
  TensorType t;
  t.dtype = dtype;
  t.sizes = dim_list(true);
  bool strided = !dense && eat_word("strides");
  if (strided) {
    Token at = peek();
    t.strides = dim_list();
    if (t.strides.size() != t.sizes.size())
      fail(at, std::to_string(t.strides.size()) + " strides for " + std::to_string(t.sizes.size()) + " dims",
           "write one stride per dim, or none for a dense tensor");
  } else {
    t.strides = placed(name, [&] { return contiguous_strides(t.sizes); });
  }
  if (!dense && eat_word("offset")) t.offset = dim();
  if (eat_word("on")) t.device = device();
  check_extent(t, name);
  return t;
}

const Type* TextParser::tensor_type(Dtype dtype, const Token& name) {
  return context_->tensor(tensor_parts(dtype, name, false));
}

Device TextParser::device() {
  Token name = expect(TokenKind::name, "a device: cpu, cuda or meta");
  Device device;
  if (name.text == "cuda") {
    device.kind = DeviceKind::cuda;
  } else if (name.text == "meta") {
    device.kind = DeviceKind::meta;
  } else if (name.text != "cpu") {
    fail(name, "there is no device `" + std::string(name.text.substr(0, 80)) + "`",
         "the devices are cpu, cuda and meta");
  }
  if (eat(TokenKind::colon)) {
    Token index = expect(TokenKind::integer, "the device's index");
    int64_t i = integer(index, false);
    if (i > 127) fail(index, "a device's index is below 128");
    device.index = static_cast<int8_t>(i);
  }
  return device;
}

// --- numbers

namespace {
constexpr const char* kSixtyFour = "integers are from -2**63 to 2**63 - 1, seeds to 2**64 - 1";
}

int64_t TextParser::integer(const Token& token, bool negative) {
  uint64_t magnitude = 0;
  auto [end, error] = std::from_chars(token.text.data(), token.text.data() + token.text.size(), magnitude);
  if (error == std::errc() && end != token.text.data() + token.text.size())
    fail(token, "a decimal integer stands here");
  uint64_t most = uint64_t{1} << 63;
  if (error != std::errc() || magnitude > most - (negative ? 0 : 1))
    fail(token, "this integer does not fit 64 bits", kSixtyFour);
  return static_cast<int64_t>(negative ? 0 - magnitude : magnitude);
}

int64_t TextParser::signed_integer() {
  bool negative = eat(TokenKind::minus);
  return integer(expect(TokenKind::integer), negative);
}

uint64_t TextParser::unsigned_integer() {
  Token token = expect(TokenKind::integer, "an integer from 0 to 2**64 - 1");
  uint64_t value = 0;
  auto [end, error] = std::from_chars(token.text.data(), token.text.data() + token.text.size(), value);
  if (error != std::errc() || end != token.text.data() + token.text.size())
    fail(token, "this integer does not fit 64 bits", kSixtyFour);
  return value;
}

// --- dims: a sum of products of units. Errors of the arithmetic (overflow, division by zero) point at the expression.

Dim TextParser::dim(bool negative) {
  Token start = peek();
  return placed(start, [&] {
    std::vector<Dim> parts{dim_product(negative)};  // added up at once: no nodes for the steps
    for (;;) {
      if (eat(TokenKind::plus)) {
        parts.push_back(dim_product(false));
      } else if (eat(TokenKind::minus)) {
        parts.push_back(-dim_product(false));
      } else {
        return sum(parts);
      }
    }
  });
}

Dim TextParser::dim_product(bool negative) {
  Dim product = dim_unary(negative);
  for (;;) {
    if (at(TokenKind::value) && !token_.quoted) {  // `s0 %8`
      token_ = lexer_.split_percent(token_);
    }
    if (eat(TokenKind::star)) {
      product = product * dim_unary(false);
    } else if (eat(TokenKind::slash_slash)) {
      product = floor_div(product, dim_unary(false));
    } else if (eat(TokenKind::percent)) {
      product = mod(product, dim_unary(false));
    } else {
      return product;
    }
  }
}

Dim TextParser::dim_unary(bool negative) {
  while (eat(TokenKind::minus)) negative = !negative;
  Token token = peek();
  if (token.kind == TokenKind::integer) {
    take();
    return integer(token, negative);
  }
  Dim unit;
  if (token.kind == TokenKind::l_paren) {
    Nest nest(*this);
    take();
    unit = dim();
    expect(TokenKind::r_paren);
  } else if (token.kind == TokenKind::name) {
    take();
    if (at(TokenKind::l_paren)) {
      Nest nest(*this);
      unit = dim_function(token);
    } else {
      if (!is_word(token.text)) fail(token, "a symbol has no dot in its name");
      for (auto [python, ours] : {std::pair("True", "true"), std::pair("False", "false"), std::pair("None", "none")})
        if (token.text == python)
          fail(token, "`" + std::string(python) + "` is Python's", "write " + std::string(ours));
      if (!is_symbol(token.text))
        fail(token, "`" + std::string(token.text) + "` is no symbol", "it has a meaning of its own: take another name");
      unit = context_->syms.symbol(token.text);
    }
  } else {
    fail_here("expected a number, a symbol or `(`");
  }
  return negative ? -unit : unit;
}

Dim TextParser::dim_function(const Token& name) {
  if (name.text.find('.') != std::string_view::npos)
    fail(name, "a call inside a call",
         "name its result in a statement of its own, %a = " + std::string(name.text.substr(0, 80)) +
             "(...), and pass %a");
  expect(TokenKind::l_paren);
  Dim result;
  if (name.text == "min" || name.text == "max") {
    std::vector<Dim> args{dim()};
    while (eat(TokenKind::comma)) args.push_back(dim());
    result = name.text == "min" ? min(args) : max(args);
  } else if (name.text == "floor" || name.text == "ceil" || name.text == "round") {
    double factor = signed_real();
    expect(TokenKind::star);
    SymFn fn = name.text == "floor" ? SymFn::floor_scale : name.text == "ceil" ? SymFn::ceil_scale : SymFn::round_scale;
    result = call(fn, dim_unary(false), factor);
  } else {
    fail(name, "there is no function `" + std::string(name.text.substr(0, 80)) + "` of sizes",
         "the functions are min, max, floor, ceil and round");
  }
  expect(TokenKind::r_paren);
  return result;
}

}  // namespace lenz
