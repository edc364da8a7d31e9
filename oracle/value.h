// Values while a graph runs on libtorch, held without showing libtorch: a tensor, a list of tensors, a number, none.
// Thread-safety: a value may be shared between threads as long as nobody writes to its tensor.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "compiler/graph/type.h"

namespace lenz::oracle {

struct Held;                                   // oracle/aten.h
using RunValue = std::shared_ptr<const Held>;  // null: none

// What a value looks like from outside: everything that a result type speaks of.
struct Seen {
  TypeKind kind = TypeKind::none;  // sym_int, sym_float and sym_bool stand for numbers
  // kind tensor:
  bool foreign = false;  // a dtype, device or layout that Lenz has not; `text` names it
  Dtype dtype = Dtype::f32;
  Device device;
  SmallVec<int64_t, 6> sizes, strides;
  int64_t offset = 0;
  const void* storage = nullptr;  // the identity of the storage, not its address in memory

  double number = 0;           // kinds sym_float and sym_bool; roughly that of kind sym_int
  int64_t integer = 0;         // kind sym_int
  std::vector<Seen> elements;  // kind list
  std::string text;
};

Seen look(const RunValue& value);
RunValue element(const RunValue& list, int64_t index);  // negative: from the end
RunValue list_of(const std::vector<RunValue>& tensors);
std::string to_string(const Seen& seen);  // as Type prints

}  // namespace lenz::oracle
