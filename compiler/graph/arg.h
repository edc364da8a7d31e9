// Arguments of a node: a closed set of kinds, 16 bytes each. Lists, strings and constants live in the Context's arena.
// Thread-safety: values over constant memory.
#pragma once

#include <complex>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/base/small_vec.h"
#include "compiler/graph/type.h"

namespace lenz {

using ValueId = uint32_t;
using NodeId = uint32_t;
using NameId = uint32_t;
inline constexpr uint32_t kNone = 0xFFFFFFFFu;  // no value, no node, no name

class Graph;

enum class ArgKind : uint8_t {
  none,
  value,  // a graph value: tensor, tensor list, symbolic scalar, token
  boolean,
  integer,  // a Dim: constant or symbolic (a SymInt argument)
  real,     // incl. inf, nan, -0.0
  complex,
  string,
  dtype,
  device,
  layout,
  memory_format,
  seed,        // a generator, as an explicit seed
  value_list,  // Tensor[] and Tensor?[]: kNone stands for an absent element
  int_list,    // of Dim
  real_list,
  bool_list,
  arg_list,  // Scalar[] and other lists of mixed literals
  graph,     // a sub-graph, by index into Graph::subgraphs
  data,      // the payload of a constant
};

// Elements of a tensor constant: inline bytes, or an entry of an .npz beside the file.
struct ConstantData {
  TensorType type;                                      // contiguous
  std::shared_ptr<const std::vector<std::byte>> bytes;  // little-endian elements; null if external
  std::string file, key;                                // external: path as written, relative to the text's folder
};

struct Arg {
  ArgKind kind = ArgKind::none;
  bool symbolic = false;  // integer: payload is a SymNode
  uint32_t count = 0;     // of a list or a string
  union {
    int64_t i = 0;
    double d;
    const SymNode* sym;
    const ValueId* values;
    const Dim* dims;
    const double* reals;
    const bool* bools;
    const Arg* args;
    const char* chars;
    const std::complex<double>* complex_value;
    const ConstantData* data;
    uint64_t seed;
  };

  static Arg none() { return {}; }
  static Arg of_value(ValueId v) {
    Arg a;
    a.kind = ArgKind::value;
    a.i = v;
    return a;
  }
  static Arg of_bool(bool b) {
    Arg a;
    a.kind = ArgKind::boolean;
    a.i = b;
    return a;
  }
  static Arg of_int(int64_t v) {
    Arg a;
    a.kind = ArgKind::integer;
    a.i = v;
    return a;
  }
  static Arg of_dim(Dim d) {
    Arg a;
    a.kind = ArgKind::integer;
    if (d.is_constant()) {
      a.i = d.constant();
    } else {
      a.symbolic = true;
      a.sym = d.node();
    }
    return a;
  }
  static Arg of_real(double v) {
    Arg a;
    a.kind = ArgKind::real;
    a.d = v;
    return a;
  }
  static Arg of_dtype(Dtype v) {
    Arg a;
    a.kind = ArgKind::dtype;
    a.i = static_cast<int64_t>(v);
    return a;
  }
  static Arg of_device(Device v) {
    Arg a;
    a.kind = ArgKind::device;
    a.i = static_cast<int64_t>(v.kind) | (static_cast<int64_t>(static_cast<uint8_t>(v.index)) << 8);
    return a;
  }
  static Arg of_layout(Layout v) {
    Arg a;
    a.kind = ArgKind::layout;
    a.i = static_cast<int64_t>(v);
    return a;
  }
  static Arg of_memory_format(MemoryFormat v) {
    Arg a;
    a.kind = ArgKind::memory_format;
    a.i = static_cast<int64_t>(v);
    return a;
  }
  static Arg of_seed(uint64_t v) {
    Arg a;
    a.kind = ArgKind::seed;
    a.seed = v;
    return a;
  }
  static Arg of_graph(uint32_t index) {
    Arg a;
    a.kind = ArgKind::graph;
    a.i = index;
    return a;
  }
  // Lists, strings, complex numbers and constants need memory: Context::list(...), string(...), complex(...),
  // data(...).

  bool is_none() const { return kind == ArgKind::none; }
  bool is_value() const { return kind == ArgKind::value; }
  ValueId value() const { return static_cast<ValueId>(i); }
  bool boolean() const { return i != 0; }
  Dim dim() const { return symbolic ? Dim(sym) : Dim(i); }
  double real() const { return d; }
  Dtype dtype() const { return static_cast<Dtype>(i); }
  Device device() const { return {static_cast<DeviceKind>(i & 0xFF), static_cast<int8_t>((i >> 8) & 0xFF)}; }
  Layout layout() const { return static_cast<Layout>(i); }
  MemoryFormat memory_format() const { return static_cast<MemoryFormat>(i); }
  std::string_view string() const { return {chars, count}; }
  std::span<const ValueId> value_list() const { return {values, count}; }
  std::span<const Dim> dim_list() const { return {dims, count}; }
  std::span<const double> real_list() const { return {reals, count}; }
  std::span<const bool> bool_list() const { return {bools, count}; }
  std::span<const Arg> arg_list() const { return {args, count}; }
  uint32_t graph() const { return static_cast<uint32_t>(i); }
};
static_assert(sizeof(Arg) == 16);

// Equality of content. Reals compare by bits (NaN equals NaN, -0.0 differs from 0.0); values and graphs by index.
bool operator==(const Arg& a, const Arg& b);
uint64_t hash_arg(const Arg& arg);  // consistent with ==

// The items of a list of any kind, each as an argument of its own, an absent one as none; of anything else nothing.
SmallVec<Arg, 8> items(const Arg& list);

// Calls visit(ValueId) for every value an argument mentions.
template <class F>
void for_each_value(const Arg& arg, F&& visit) {
  if (arg.kind == ArgKind::value) visit(arg.value());
  if (arg.kind == ArgKind::value_list)
    for (ValueId v : arg.value_list())
      if (v != kNone) visit(v);
  if (arg.kind == ArgKind::arg_list)
    for (const Arg& a : arg.arg_list())
      if (a.kind == ArgKind::value) visit(a.value());
}

}  // namespace lenz
