// Arguments: literals, lists, constants.
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>

#include "compiler/graph/float_bits.h"
#include "compiler/graph/text_parser.h"

namespace lenz {

double TextParser::real(bool negative) {
  Token token = take();
  double value = 0;
  if (token.kind == TokenKind::name && token.text == "nan") {
    if (!at(TokenKind::l_paren)) return negative ? -std::nan("") : std::nan("");
    uint64_t bits = nan_bits();
    if (negative || !std::isnan(std::bit_cast<double>(bits)))
      fail(token, "these are not the 64 bits of a NaN", "nan(0x7ff8000000000000) is the usual one");
    return std::bit_cast<double>(bits);
  }
  if (token.kind == TokenKind::name && token.text == "inf") {
    value = HUGE_VAL;
  } else if (token.kind == TokenKind::real || token.kind == TokenKind::integer) {
    auto [end, error] = std::from_chars(token.text.data(), token.text.data() + token.text.size(), value);
    if (error == std::errc::result_out_of_range) {
      // Too large or too small; a text without a digit other than 0 is neither.
      fail(token, "this real does not fit a double", "write inf or 0.0 if that is what you mean");
    }
    if (error != std::errc() || end != token.text.data() + token.text.size()) fail(token, "this is no real");
  } else {
    fail(token, "expected a number");
  }
  return negative ? -value : value;
}

// `nan(0x7ff8000000000001)` behind the word: which NaN it is.
uint64_t TextParser::nan_bits() {
  expect(TokenKind::l_paren);
  Token token = expect(TokenKind::integer, "the bits of a NaN, in hexadecimal");
  uint64_t bits = 0;
  std::string_view digits = token.text.substr(std::min<size_t>(2, token.text.size()));
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), bits, 16);
  if (!token.text.starts_with("0x") || error != std::errc() || end != digits.data() + digits.size())
    fail(token, "expected the bits of a NaN, in hexadecimal");
  expect(TokenKind::r_paren);
  return bits;
}

double TextParser::signed_real() {
  bool negative = eat(TokenKind::minus);
  return real(negative);
}

std::complex<double> TextParser::complex_number() {
  expect(TokenKind::l_paren);
  double re = signed_real();
  expect(TokenKind::comma);
  double im = signed_real();
  expect(TokenKind::r_paren);
  return {re, im};
}

namespace {
template <class T>
struct Word {
  std::string_view text;
  T value;
};
constexpr Word<Layout> kLayouts[] = {
    {"strided", Layout::strided}, {"sparse_coo", Layout::sparse_coo}, {"sparse_csr", Layout::sparse_csr}};
constexpr Word<MemoryFormat> kFormats[] = {{"contiguous_format", MemoryFormat::contiguous},
                                           {"preserve_format", MemoryFormat::preserve},
                                           {"channels_last", MemoryFormat::channels_last},
                                           {"channels_last_3d", MemoryFormat::channels_last_3d}};
}  // namespace

Arg TextParser::word_literal() {
  std::string_view word = token_.text;
  if (word == "true" || word == "false" || word == "none") {
    bool truth = word == "true", is_none = word == "none";
    take();
    return is_none ? Arg::none() : Arg::of_bool(truth);
  }
  if (word == "inf" || word == "nan") return Arg::of_real(real(false));
  if (word == "cpu" || word == "cuda" || word == "meta") return Arg::of_device(device());
  if (word == "seed" && next_is(TokenKind::l_paren)) {
    take();
    take();
    Arg seed = Arg::of_seed(unsigned_integer());
    expect(TokenKind::r_paren);
    return seed;
  }
  if (word == "complex" && next_is(TokenKind::l_paren)) {
    take();
    return context_->complex(complex_number());
  }
  for (const auto& row : kLayouts)
    if (row.text == word) {
      take();
      return Arg::of_layout(row.value);
    }
  for (const auto& row : kFormats)
    if (row.text == word) {
      take();
      return Arg::of_memory_format(row.value);
    }
  if (auto dtype = parse_dtype(word)) {
    Token name = take();
    return at(TokenKind::l_bracket) ? data(*dtype, name) : Arg::of_dtype(*dtype);
  }
  return Arg::of_dim(dim());
}

Arg TextParser::literal() {
  switch (token_.kind) {
    case TokenKind::value: {
      Token token = take();
      return Arg::of_value(value(token));
    }
    case TokenKind::graph: {
      Token token = take();
      return Arg::of_graph(subgraph(token));
    }
    case TokenKind::string: {
      Token token = take();
      return context_->string(text_of(token));
    }
    case TokenKind::l_bracket: return list();
    case TokenKind::real: return Arg::of_real(real(false));
    case TokenKind::minus: {
      take();
      if (at(TokenKind::real) || at_word("inf") || at_word("nan")) return Arg::of_real(real(true));
      return Arg::of_dim(dim(true));
    }
    case TokenKind::integer:
    case TokenKind::l_paren: return Arg::of_dim(dim());
    case TokenKind::name: return word_literal();
    default: fail_here("expected an argument");
  }
}

// An arg_list in scratch memory; its parameter's type decides what it becomes.
Arg TextParser::list() {
  take();
  SmallVec<Arg, 16> items;
  while (!eat(TokenKind::r_bracket)) {
    if (at(TokenKind::l_bracket))
      fail_here("a list can't hold a list", "no op takes lists of lists: write them one behind the other");
    Token start = peek();
    Arg item = literal();
    if (item.kind == ArgKind::data || item.kind == ArgKind::graph) fail(start, "a list can't hold this");
    items.push_back(item);
    if (!at(TokenKind::r_bracket)) expect(TokenKind::comma, "`,` or `]`");
  }
  Arg a;
  a.kind = ArgKind::arg_list;
  a.count = static_cast<uint32_t>(items.size());
  if (list_count_ == lists_.size()) lists_.emplace_back();
  std::vector<Arg>& kept = lists_[list_count_++];
  kept.assign(items.begin(), items.end());
  a.args = kept.data();
  return a;
}

// --- constants

Arg TextParser::data(Dtype dtype, const Token& name) {
  ConstantData constant;
  constant.type = tensor_parts(dtype, name, true);
  int64_t count = 1;
  for (Dim d : constant.type.sizes) {
    if (!d.is_constant() || d.constant() < 0) fail(name, "a constant has a constant shape");
    count = d.constant() == 0 ? 0 : count;
  }
  for (Dim d : constant.type.sizes)
    if (count != 0) count *= d.constant();  // its extent was checked
  if (at(TokenKind::string)) {
    Token file = take();
    constant.file = text_of(file);
    bool leaves = constant.file.empty() || constant.file[0] == '/' || constant.file.find('\0') != std::string::npos ||
                  ("/" + constant.file + "/").find("/../") != std::string::npos;
    if (leaves) fail(file, "a constant's file lies beside the text or below", "write a relative path without `..`");
    expect(TokenKind::colon, "`:` and the entry's name");
    constant.key = text_of(expect(TokenKind::string, "the entry's name between quotes"));
    return context_->data(std::move(constant));
  }
  expect(TokenKind::l_bracket, "`[` and the elements, or \"file.npz\":\"entry\"");
  auto bytes = std::make_shared<std::vector<std::byte>>();
  int64_t found = 0;
  while (!eat(TokenKind::r_bracket)) {
    if (found++ == count) fail_here("more elements than the shape has, " + std::to_string(count));
    element(*bytes, dtype);
    if (!at(TokenKind::r_bracket)) expect(TokenKind::comma, "`,` or `]`");
  }
  if (found < count)
    fail(name, "the shape has " + std::to_string(count) + " elements, and " + std::to_string(found) + " are given",
         "write one element for each place, in the order of a dense tensor");
  constant.bytes = std::move(bytes);
  return context_->data(std::move(constant));
}

namespace {
void append(std::vector<std::byte>& bytes, uint64_t bits, int size) {
  std::byte raw[8];
  std::memcpy(raw, &bits, 8);
  bytes.insert(bytes.end(), raw, raw + size);
}
}  // namespace

void TextParser::element(std::vector<std::byte>& bytes, Dtype dtype) {
  if (dtype == Dtype::b8) {
    if (!at_word("true") && !at_word("false")) fail_here("expected true or false");
    append(bytes, take().text == "true", 1);
  } else if (is_complex(dtype)) {
    expect_word("complex");
    expect(TokenKind::l_paren);
    float_element(bytes, to_real(dtype));
    expect(TokenKind::comma);
    float_element(bytes, to_real(dtype));
    expect(TokenKind::r_paren);
  } else if (is_floating(dtype)) {
    float_element(bytes, dtype);
  } else {
    integer_element(bytes, dtype);
  }
}

void TextParser::float_element(std::vector<std::byte>& bytes, Dtype dtype) {
  int size = item_size(dtype);
  bool negative = eat(TokenKind::minus);
  Token number = peek();
  if (at_word("nan") && next_is(TokenKind::l_paren)) {
    take();
    uint64_t bits = nan_bits();
    if (negative || (size < 8 && bits >> (8 * size)) || !std::isnan(float_value(dtype, bits)))
      fail(number, "these are not the bits of a NaN of " + std::string(lenz::name(dtype)));
    append(bytes, bits, size);
    return;
  }
  if (dtype == Dtype::f32 && (at(TokenKind::real) || at(TokenKind::integer))) {
    float value = 0;  // rounded once, not to double first
    auto [end, error] = std::from_chars(number.text.data(), number.text.data() + number.text.size(), value);
    if (error == std::errc() && end == number.text.data() + number.text.size()) {
      take();
      append(bytes, std::bit_cast<uint32_t>(negative ? -value : value), size);
      return;
    }
  }
  double value = real(negative);
  uint64_t bits = float_bits(dtype, value);
  if (std::isfinite(value) && !std::isfinite(float_value(dtype, bits)))
    fail(number, "this does not fit " + std::string(lenz::name(dtype)), "write inf if that is what you mean");
  append(bytes, bits, size);
}

void TextParser::integer_element(std::vector<std::byte>& bytes, Dtype dtype) {
  Token start = peek();
  int64_t value = signed_integer();
  int bits = info(dtype).bits;
  if (bits < 64) {
    int64_t low = info(dtype).is_signed ? -(int64_t{1} << (bits - 1)) : 0;
    int64_t high = (int64_t{1} << (info(dtype).is_signed ? bits - 1 : bits)) - 1;
    if (value < low || value > high)
      fail(start, "this does not fit " + std::string(lenz::name(dtype)),
           "it holds " + std::to_string(low) + " to " + std::to_string(high));
  }
  append(bytes, static_cast<uint64_t>(value), bits / 8);
}

}  // namespace lenz
