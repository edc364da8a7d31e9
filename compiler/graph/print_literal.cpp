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

void append_alias(std::string& out, std::string_view name) {
  out += " alias ";
  if (is_word(name)) {
    out += name;
  } else {
    append_quoted(out, name);
  }
}

void append_origin(std::string& out, const Context& context, uint32_t origin) {
  if (origin == 0) return;
  std::string_view separator = " from ";
  for (NameId name : context.origin_names(origin)) {
    out += separator;
    separator = ", ";
    append_name(out, '%', context.name(name));
  }
}

void append_facts(std::string& out, const Assumptions& assumptions, bool guards) {
  std::string_view separator = " where ";
  auto separate = [&] {
    out += separator;
    separator = ", ";
  };
  const Facts& facts = assumptions.facts();
  for (const auto& [symbol, range] : facts.ranges()) {
    separate();
    out += symbol_name(symbol);
    out += " in ";
    if (range.low) append_int(out, *range.low);
    out += "..";
    if (range.high) append_int(out, *range.high);
  }
  for (const Cond& c : facts.conditions()) {
    separate();
    out += to_string(c);
  }
  if (!guards) return;
  separator = " assuming ";
  for (const Cond& c : assumptions.guards()) {
    separate();
    out += to_string(c);
  }
}

// --- arguments

namespace {
template <class Items, class F>
void append_list(std::string& out, const Items& items, F&& append) {
  out += '[';
  bool first = true;
  for (const auto& item : items) {
    if (!first) out += ", ";
    first = false;
    append(item);
  }
  out += ']';
}
}  // namespace

void append_arg(std::string& out, Context& context, const Arg& a, const std::function<void(ValueId)>& value,
                const std::function<void(uint32_t)>& graph) {
  switch (a.kind) {
    case ArgKind::none: out += "none"; return;
    case ArgKind::value: return value(a.value());
    case ArgKind::boolean: out += a.boolean() ? "true" : "false"; return;
    case ArgKind::integer: return append_dim(out, a.dim());
    case ArgKind::real: return append_real(out, a.real());
    case ArgKind::complex:
      out += "complex(";
      append_real(out, a.complex_value->real());
      out += ", ";
      append_real(out, a.complex_value->imag());
      out += ')';
      return;
    case ArgKind::string: return append_quoted(out, a.string());
    case ArgKind::dtype: out += name(a.dtype()); return;
    case ArgKind::device: out += to_string(a.device()); return;
    case ArgKind::layout: out += name(a.layout()); return;
    case ArgKind::memory_format: out += name(a.memory_format()); return;
    case ArgKind::seed:
      out += "seed(";
      out += std::to_string(a.seed);
      out += ')';
      return;
    case ArgKind::value_list:
      return append_list(out, a.value_list(), [&](ValueId v) {
        if (v == kNone) {
          out += "none";
        } else {
          value(v);
        }
      });
    case ArgKind::int_list: return append_list(out, a.dim_list(), [&](Dim d) { append_dim(out, d); });
    case ArgKind::real_list: return append_list(out, a.real_list(), [&](double d) { append_real(out, d); });
    case ArgKind::bool_list: return append_list(out, a.bool_list(), [&](bool b) { out += b ? "true" : "false"; });
    case ArgKind::arg_list:
      return append_list(out, a.arg_list(), [&](const Arg& e) { append_arg(out, context, e, value, graph); });
    case ArgKind::graph: return graph(a.graph());
    case ArgKind::data: return append_data(out, context, *a.data);
  }
}

bool is_default(Context& context, const Param& param, const Arg& arg) {
  if (!param.fallback) return param.type.optional && arg.is_none();
  Arg standard = default_arg(context, param);
  auto is_list = [](const Arg& a) { return a.kind >= ArgKind::value_list && a.kind <= ArgKind::arg_list; };
  if (is_list(standard) && is_list(arg) && standard.count == 0 && arg.count == 0) return true;
  return standard == arg;
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
