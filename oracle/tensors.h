// What a graph's executor does with values beside running ops: reads numbers, copies, takes slices, moves elements in
// and out of libtorch.
// Thread-safety: as RunValue.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "compiler/graph/npz.h"
#include "compiler/scalar/rounding.h"
#include "oracle/value.h"

namespace lenz::oracle {

RunValue number(int64_t value);
RunValue truth_value(bool value);
RunValue real_number(double value);
int64_t integer_of(const RunValue& value);  // of a number, or of a tensor with one element
bool truth_of(const RunValue& value);

RunValue detached_copy(const RunValue& tensor);  // the same elements, sizes and strides in storage of its own
// The same tensors, in storage of their own; what shares it goes on sharing.
std::vector<RunValue> detached_copies(std::span<const RunValue> values);
std::vector<RunValue> copies_on(DeviceKind device, std::span<const RunValue> values);  // the same on that device
RunValue slice_at(const RunValue& tensor, int64_t index);                              // a view of one slice of dim 0
// Along a new dim 0; of none: what `like` says of the others' sizes.
RunValue stacked(std::span<const RunValue> tensors, const Type& like, const SymValues& symbols);
// The same elements in storage of its own, in the strides and at the offset that `like` says.
RunValue placed(const RunValue& tensor, const Type& like, const SymValues& symbols);
// The tensor itself lies where the other one does, with its elements.
void become(const RunValue& target, const RunValue& like);
RunValue constant_tensor(const ConstantData& constant, const std::string& folder);
std::string to_text(const RunValue& value);  // elements of a small tensor, a number: for people
// Each tensor's storage, of a list's elements too.
std::optional<std::pair<const void*, uint64_t>> only_storage(const RunValue& value);  // of one tensor
void for_each_storage(const RunValue& value, const std::function<void(const void* storage, uint64_t bytes)>& visit);
// Of all these values, storage that several share counted once.
uint64_t storage_bytes(std::span<const RunValue> values);
// Whether a tensor is just what a type without symbols says; false where that takes a closer look.
bool plainly_is(const Type& claimed, const RunValue& value);

// What a view does to elements when they are read.
struct Lazy {
  bool conjugate = false, negate = false;
};
Lazy lazy_of(const RunValue& value);
RunValue read_lazily(const RunValue& tensor, Lazy lazy);  // the same memory, read so

// Elements in logical order, as to_bits (compiler/scalar/rounding.h) packs them in memory; lazy conjugation done.
std::vector<std::byte> elements_of(const RunValue& tensor);
// Whether elements_of gives the same for both, told without a copy; no: perhaps, for it looks at what is contiguous
// alone.
bool plainly_same_elements(const RunValue& a, const RunValue& b);
// The element at this place among them; of a bool its byte, of which only 0 and 1 are bools.
ScalarValue scalar_at(Dtype dtype, std::span<const std::byte> elements, uint64_t i);
bool are_bools(std::span<const std::byte> elements);
// Writes elements in that order into a tensor, such that they are read as these; of those that share memory the last
// one stays.
void set_elements(const RunValue& tensor, std::span<const std::byte> elements);
NpyArray to_npy(const RunValue& tensor);

}  // namespace lenz::oracle
