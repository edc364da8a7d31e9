#include "compiler/graph/arg.h"

#include <bit>

#include "compiler/base/hash.h"

namespace lenz {

namespace {
bool same_real(double a, double b) { return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b); }
bool same_data(const ConstantData& a, const ConstantData& b) {
  if (!(a.type == b.type) || a.file != b.file || a.key != b.key || !a.bytes != !b.bytes) return false;
  return !a.bytes || a.bytes == b.bytes || *a.bytes == *b.bytes;
}
}  // namespace

bool operator==(const Arg& a, const Arg& b) {
  if (a.kind != b.kind || a.count != b.count || a.symbolic != b.symbolic) return false;
  switch (a.kind) {
    case ArgKind::none: return true;
    case ArgKind::value_list: return std::ranges::equal(a.value_list(), b.value_list());
    case ArgKind::int_list: return std::ranges::equal(a.dim_list(), b.dim_list());
    case ArgKind::real_list: return std::ranges::equal(a.real_list(), b.real_list(), same_real);
    case ArgKind::bool_list: return std::ranges::equal(a.bool_list(), b.bool_list());
    case ArgKind::arg_list: return std::ranges::equal(a.arg_list(), b.arg_list());
    case ArgKind::string: return a.string() == b.string();
    case ArgKind::complex:
      return same_real(a.complex_value->real(), b.complex_value->real()) &&
             same_real(a.complex_value->imag(), b.complex_value->imag());
    case ArgKind::data: return a.data == b.data || same_data(*a.data, *b.data);
    default: return a.i == b.i;  // one 64-bit payload
  }
}

uint64_t hash_arg(const Arg& a) {
  uint64_t h = mix(static_cast<uint64_t>(a.kind) << 40 | static_cast<uint64_t>(a.symbolic) << 36 | a.count);
  switch (a.kind) {
    case ArgKind::none: return h;
    case ArgKind::value_list:
      for (ValueId v : a.value_list()) h = combine(h, v);
      return h;
    case ArgKind::int_list:
      for (Dim d : a.dim_list()) h = combine(h, d.hash());
      return h;
    case ArgKind::real_list:
      for (double d : a.real_list()) h = combine(h, std::bit_cast<uint64_t>(d));
      return h;
    case ArgKind::bool_list:
      for (bool b : a.bool_list()) h = combine(h, b);
      return h;
    case ArgKind::arg_list:
      for (const Arg& e : a.arg_list()) h = combine(h, hash_arg(e));
      return h;
    case ArgKind::string: return hash_bytes(a.string(), h);
    case ArgKind::complex:
      h = combine(h, std::bit_cast<uint64_t>(a.complex_value->real()));
      return combine(h, std::bit_cast<uint64_t>(a.complex_value->imag()));
    case ArgKind::integer: return combine(h, a.dim().hash());
    case ArgKind::data: {
      for (Dim d : a.data->type.sizes) h = combine(h, d.hash());
      h = combine(h, static_cast<uint64_t>(a.data->type.dtype));
      if (a.data->bytes)
        return hash_bytes({reinterpret_cast<const char*>(a.data->bytes->data()), a.data->bytes->size()}, h);
      return hash_bytes(a.data->key, hash_bytes(a.data->file, h));
    }
    default: return combine(h, static_cast<uint64_t>(a.i));
  }
}

SmallVec<Arg, 8> items(const Arg& list) {
  SmallVec<Arg, 8> all;
  switch (list.kind) {
    case ArgKind::value_list:
      for (ValueId v : list.value_list()) all.push_back(v == kNone ? Arg::none() : Arg::of_value(v));
      break;
    case ArgKind::int_list:
      for (Dim d : list.dim_list()) all.push_back(Arg::of_dim(d));
      break;
    case ArgKind::real_list:
      for (double d : list.real_list()) all.push_back(Arg::of_real(d));
      break;
    case ArgKind::bool_list:
      for (bool b : list.bool_list()) all.push_back(Arg::of_bool(b));
      break;
    case ArgKind::arg_list: all = SmallVec<Arg, 8>(list.arg_list()); break;
    default: break;
  }
  return all;
}

}  // namespace lenz
