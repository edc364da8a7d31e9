// One array: NumPy's header, a Python dict literal, and the elements behind it.
#include <algorithm>
#include <charconv>
#include <cstring>

#include "compiler/graph/npz.h"

namespace lenz {

namespace {
constexpr std::string_view kMagic("\x93NUMPY", 6);
constexpr size_t kMostRank = 64, kLongestHeader = 1 << 16;

struct Descr {
  std::string_view text;  // without the byte order
  Dtype dtype;
};
constexpr Descr kDescrs[] = {{"b1", Dtype::b8},  {"u1", Dtype::u8},  {"i1", Dtype::i8},   {"i2", Dtype::i16},
                             {"i4", Dtype::i32}, {"i8", Dtype::i64}, {"f2", Dtype::f16},  {"f4", Dtype::f32},
                             {"f8", Dtype::f64}, {"c8", Dtype::c64}, {"c16", Dtype::c128}};

[[noreturn]] void fail(const std::string& what) { throw UserError("not a NumPy array that can be read: " + what); }

// NumPy says of a type its kind and how many bytes an element has: its f16 is no float16.
std::string in_words(std::string_view type) {
  constexpr std::pair<char, std::string_view> kKinds[] = {
      {'f', "floats"},  {'c', "complex numbers"}, {'i', "integers"}, {'u', "unsigned integers"},
      {'U', "strings"}, {'S', "strings"},         {'O', "objects"},  {'V', "records or raw bytes"},
      {'M', "dates"},   {'m', "spans of time"}};
  std::string text = "its elements are of dtype '" + std::string(type.substr(0, 20)) + "'";
  const auto* kind = std::ranges::find(kKinds, type[0], &std::pair<char, std::string_view>::first);
  if (kind == std::end(kKinds)) return text;
  text += ", " + std::string(kind->second);
  const std::string_view size = type.substr(1);
  const bool counts =
      !size.empty() && size.size() <= 4 && std::ranges::all_of(size, [](char c) { return c >= '0' && c <= '9'; });
  if (counts && kind->second != "strings") text += " of " + std::string(size) + " bytes";
  return text;
}

// {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
class HeaderReader {
 public:
  explicit HeaderReader(std::string_view text) : rest_(text) {}

  void read(NpyArray& array, bool& fortran) {
    expect('{');
    int seen = 0;
    while (!eat('}')) {
      std::string_view key = quoted();
      expect(':');
      if (key == "descr") {
        if (peek('['))  // a list of fields
          throw UserError("not a NumPy array that can be read: its elements are records, of a structured dtype", {},
                          "save each field as an array of its own: x['name']");
        descr(array, quoted());
        seen |= 1;
      } else if (key == "fortran_order") {
        fortran = word("True");
        if (!fortran && !word("False")) fail("fortran_order is neither True nor False");
        seen |= 2;
      } else if (key == "shape") {
        shape(array);
        seen |= 4;
      } else {
        fail("its header has an unknown key");
      }
      if (!eat(',') && !peek('}')) fail("its header is no dict");
    }
    if (seen != 7) fail("its header lacks descr, fortran_order or shape");
  }

 private:
  void blanks() {
    while (!rest_.empty() && (rest_[0] == ' ' || rest_[0] == '\n')) rest_.remove_prefix(1);
  }
  bool peek(char c) {
    blanks();
    return !rest_.empty() && rest_[0] == c;
  }
  bool eat(char c) {
    if (!peek(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void expect(char c) {
    if (!eat(c)) fail("its header is no dict of three entries");
  }
  bool word(std::string_view w) {
    blanks();
    if (!rest_.starts_with(w)) return false;
    rest_.remove_prefix(w.size());
    return true;
  }
  std::string_view quoted() {
    char quote = peek('"') ? '"' : '\'';
    expect(quote);
    size_t end = rest_.find(quote);
    if (end == std::string_view::npos) fail("its header has an open string");
    std::string_view text = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    return text;
  }
  void descr(NpyArray& array, std::string_view text) {
    if (text.size() < 2) fail("its dtype is unknown");
    if (text[0] == '>') throw UserError("the array is big-endian", {}, "save it as little-endian");
    if (text[0] == '<' || text[0] == '|' || text[0] == '=') text.remove_prefix(1);
    for (const Descr& d : kDescrs)
      if (d.text == text) {
        array.dtype = d.dtype;
        return;
      }
    array.raw_bits = text == "u2" || text == "V2" ? 16 : text == "V1" ? 8 : 0;
    if (!array.raw_bits)
      throw UserError("not a NumPy array that can be read: " + in_words(text), {},
                      "save it as bool, uint8, int8 to int64, float16 to float64, complex64 or complex128: "
                      "x.astype(numpy.float64), say");
  }
  void shape(NpyArray& array) {
    expect('(');
    while (!eat(')')) {
      blanks();
      int64_t size = 0;
      auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), size);
      if (error != std::errc() || size < 0 || array.shape.size() == kMostRank) fail("its shape is bad");
      rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
      array.shape.push_back(size);
      if (!eat(',') && !peek(')')) fail("its shape is bad");
    }
  }

  std::string_view rest_;
};

// Bytes of an array; fails when they overflow or pass the limit. Of an empty one its other dims have strides too.
size_t byte_count(const NpyArray& array, size_t limit) {
  auto bytes = static_cast<uint64_t>(array.item_size());
  if (std::ranges::find(array.shape, 0) != array.shape.end()) {
    int64_t places = 1;
    for (int64_t s : array.shape)
      if (s != 0 && __builtin_mul_overflow(places, s, &places))
        throw UserError("its dims multiply to more than there are numbers for");
    return 0;
  }
  for (int64_t s : array.shape)
    if (__builtin_mul_overflow(bytes, static_cast<uint64_t>(s), &bytes) || bytes > limit)
      throw UserError("the array is larger than the limit of " + std::to_string(limit) + " bytes");
  return bytes;
}

// Elements in Fortran order, put into C order.
void to_c_order(NpyArray& array) {
  auto item = static_cast<size_t>(array.item_size());
  size_t count = array.bytes.size() / item, rank = array.shape.size();
  std::vector<std::byte> sorted(array.bytes.size());
  std::vector<size_t> index(rank, 0), stride(rank, item);
  for (size_t d = 1; d < rank; ++d) stride[d] = stride[d - 1] * static_cast<size_t>(array.shape[d - 1]);
  size_t from = 0;
  for (size_t to = 0; to < count; ++to) {
    std::memcpy(sorted.data() + to * item, array.bytes.data() + from, item);
    for (size_t d = rank; d-- > 0;) {
      from += stride[d];
      if (++index[d] < static_cast<size_t>(array.shape[d])) break;
      from -= stride[d] * index[d];
      index[d] = 0;
    }
  }
  array.bytes = std::move(sorted);
}
}  // namespace

namespace {
struct NpyHeader {
  NpyArray array;  // without elements
  bool fortran = false;
  size_t elements_at = 0;
};

NpyHeader header_of(std::span<const std::byte> file) {
  std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  if (!text.starts_with(kMagic) || text.size() < 10) fail("it does not start as one");
  auto byte = [&](size_t i) { return static_cast<size_t>(file[i]); };
  size_t version = byte(6), start = version == 1 ? 10 : 12;
  if (version < 1 || version > 3 || text.size() < start) fail("its version is unknown");
  size_t length = byte(8) | byte(9) << 8;
  if (version > 1) length |= byte(10) << 16 | byte(11) << 24;
  if (length > kLongestHeader || length > text.size() - start) fail("its header is longer than it is");
  NpyHeader header;
  header.elements_at = start + length;
  HeaderReader(text.substr(start, length)).read(header.array, header.fortran);
  return header;
}
}  // namespace

NpyArray parse_npy_header(std::span<const std::byte> file) { return header_of(file).array; }

NpyArray parse_npy(std::span<const std::byte> file, const NpzLimits& limits) {
  auto [array, fortran, elements_at] = header_of(file);
  size_t bytes = byte_count(array, limits.array_bytes);
  if (file.size() - elements_at != bytes)
    fail("its shape asks for " + std::to_string(bytes) + " bytes, it has " + std::to_string(file.size() - elements_at));
  array.bytes.assign(file.begin() + static_cast<ptrdiff_t>(elements_at), file.end());
  if (fortran && array.shape.size() > 1 && bytes) to_c_order(array);
  return array;
}

std::vector<std::byte> format_npy(const NpyArray& array) {
  std::string descr = array.raw_bits == 16 ? "<u2" : array.raw_bits == 8 ? "|u1" : "";
  for (const Descr& d : kDescrs)
    if (descr.empty() && d.dtype == array.dtype) descr = (item_size(d.dtype) == 1 ? "|" : "<") + std::string(d.text);
  LENZ_CHECK(!descr.empty(), "NumPy has no such dtype: give the raw bits");
  std::string header = "{'descr': '" + descr + "', 'fortran_order': False, 'shape': (";
  for (int64_t s : array.shape) header += std::to_string(s) + ",";
  header += "), }";
  header.append(63 - (10 + header.size()) % 64, ' ');  // the elements start at a multiple of 64
  header += '\n';
  std::string file(kMagic);
  file += {'\1', '\0', static_cast<char>(header.size() & 0xFF), static_cast<char>(header.size() >> 8)};
  file += header;
  std::vector<std::byte> bytes(file.size() + array.bytes.size());
  std::memcpy(bytes.data(), file.data(), file.size());
  if (!array.bytes.empty()) std::memcpy(bytes.data() + file.size(), array.bytes.data(), array.bytes.size());
  return bytes;
}

}  // namespace lenz
