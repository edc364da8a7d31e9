#include "compiler/graph/print_literal.h"

#include <charconv>
#include <cstring>

#include "compiler/base/lexer.h"
#include "compiler/graph/float_bits.h"

namespace lenz {

void append_name(std::string& out, char sigil, std::string_view name) {
  out += sigil;
  bool plain = is_plain_name(name) && !(name[0] >= '0' && name[0] <= '9');
  if (plain) {
    out += name;
  } else {
    append_quoted(out, name);
  }
}

void append_int(std::string& out, int64_t value) {
  char buffer[24];
  out.append(buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr);
}

void append_dim(std::string& out, Dim d) {
  if (d.is_constant()) {
    append_int(out, d.constant());
  } else {
    out += to_string(d);
  }
}

std::string_view name(Layout layout) {
  constexpr std::string_view names[] = {"strided", "sparse_coo", "sparse_csr"};
  return names[static_cast<size_t>(layout)];
}
std::string_view name(MemoryFormat format) {
  constexpr std::string_view names[] = {"contiguous_format", "preserve_format", "channels_last", "channels_last_3d"};
  return names[static_cast<size_t>(format)];
}

// --- elements of constants

namespace {
uint64_t element_bits(const std::byte* at, int size) {
  uint64_t bits = 0;
  std::memcpy(&bits, at, static_cast<size_t>(size));
  return bits;
}

void append_float_element(std::string& out, Dtype dtype, uint64_t bits) {
  double value = float_value(dtype, bits);
  if (value == value) {
    append_real(out, value, dtype != Dtype::f64);
  } else if (bits == float_bits(dtype, value)) {
    out += "nan";
  } else {
    char buffer[24];
    out += "nan(0x";
    out.append(buffer, std::to_chars(buffer, buffer + sizeof buffer, bits, 16).ptr);
    out += ')';
  }
}

void append_element(std::string& out, Dtype dtype, const std::byte* at) {
  int size = item_size(dtype);
  if (dtype == Dtype::b8) {
    out += *at == std::byte{0} ? "false" : "true";
  } else if (is_complex(dtype)) {
    out += "complex(";
    append_float_element(out, to_real(dtype), element_bits(at, size / 2));
    out += ", ";
    append_float_element(out, to_real(dtype), element_bits(at + size / 2, size / 2));
    out += ')';
  } else if (is_floating(dtype)) {
    append_float_element(out, dtype, element_bits(at, size));
  } else {
    auto value = static_cast<int64_t>(element_bits(at, size));
    int unused = 64 - info(dtype).bits;
    if (info(dtype).is_signed && unused) value = static_cast<int64_t>(static_cast<uint64_t>(value) << unused) >> unused;
    append_int(out, value);
  }
}
}  // namespace

void append_data(std::string& out, Context& context, const ConstantData& data) {
  out += to_string(*context.tensor(data.type));
  out += ' ';
  if (!data.bytes) {
    append_quoted(out, data.file);
    out += ':';
    append_quoted(out, data.key);
    return;
  }
  size_t size = static_cast<size_t>(item_size(data.type.dtype));
  out += '[';
  for (size_t i = 0; i + size <= data.bytes->size(); i += size) {
    if (i) out += ", ";
    append_element(out, data.type.dtype, data.bytes->data() + i);
  }
  out += ']';
}

}  // namespace lenz
