#include "oracle/tensors.h"

#include <ATen/Functions.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/CPUAllocator.h>
#include <ranges>

#include <algorithm>
#include <cstring>
#include <map>
#include <sstream>

#include "oracle/aten.h"

namespace lenz::oracle {

namespace {
const at::Tensor& tensor_of(const RunValue& value) {
  LENZ_CHECK(value && value->value.isTensor(), "a tensor is needed here");
  return value->value.toTensor();
}
}  // namespace

RunValue number(int64_t value) { return hold(value); }
RunValue truth_value(bool value) { return hold(value); }
RunValue real_number(double value) { return hold(value); }

int64_t integer_of(const RunValue& value) {
  if (value && value->value.isTensor()) return tensor_of(value).item().toLong();
  LENZ_CHECK(value && value->value.isScalar(), "a number is needed here");
  return value->value.toScalar().toLong();
}
bool truth_of(const RunValue& value) {
  if (value && value->value.isTensor()) return tensor_of(value).is_nonzero();  // of any dtype, halves and NaN too
  return integer_of(value) != 0;
}

RunValue detached_copy(const RunValue& tensor) {
  at::NoGradGuard no_grad;
  return hold(tensor_of(tensor).clone());
}

namespace {
c10::Storage copy_of(const c10::Storage& from) {
  const size_t bytes = from.nbytes();
  c10::Allocator* allocator = c10::GetAllocator(from.device_type());
  c10::Storage to(c10::Storage::use_byte_size_t(), static_cast<int64_t>(bytes), allocator->allocate(bytes), allocator,
                  true);
  if (bytes) std::memcpy(to.mutable_data(), from.data(), bytes);
  return to;
}

// The tensors anew, in copies of their storages.
std::vector<RunValue> with_copies(std::span<const RunValue> values,
                                  const std::function<c10::Storage(const c10::Storage&)>& copy_of,
                                  const std::function<at::Tensor(const c10::Storage&, const at::Tensor&)>& as_before) {
  std::map<const void*, c10::Storage> copies;  // by the storage that they are of
  auto copied = [&](const at::Tensor& t) {
    auto [at, fresh] = copies.try_emplace(t.storage().unsafeGetStorageImpl());
    if (fresh) at->second = copy_of(t.storage());
    return as_before(at->second, t);
  };
  std::vector<RunValue> made(values.begin(), values.end());
  for (RunValue& value : made) {
    if (!value) continue;
    if (value->value.isTensor()) value = hold(copied(value->value.toTensor()));
    if (!value->value.isTensorList()) continue;
    c10::List<at::Tensor> list;
    for (const at::Tensor& t : value->value.toTensorVector()) list.push_back(copied(t));
    value = hold(std::move(list));
  }
  return made;
}
}  // namespace

std::vector<RunValue> detached_copies(std::span<const RunValue> values) {
  return with_copies(values, copy_of, [](const c10::Storage& storage, const at::Tensor& t) {
    auto copy = at::detail::make_tensor<c10::TensorImpl>(c10::Storage(storage), t.key_set(), t.dtype());
    copy.unsafeGetTensorImpl()->set_sizes_and_strides(t.sizes(), t.strides(), t.storage_offset());
    return copy;
  });
}

std::vector<RunValue> copies_on(DeviceKind device, std::span<const RunValue> values) {
  at::NoGradGuard no_grad;
  const c10::Device to = to_aten(Device{device, 0});
  auto bytes_there = [&](const c10::Storage& from) {
    const auto bytes = static_cast<int64_t>(from.nbytes());
    const auto of_bytes = at::TensorOptions().dtype(at::kByte);
    const at::Tensor all = at::empty({0}, of_bytes.device(from.device())).set_(from, 0, {bytes}, {1});
    const at::Tensor there = at::empty({bytes}, of_bytes.device(to));
    there.copy_(all);
    return there.storage();
  };
  return with_copies(values, bytes_there, [&](const c10::Storage& storage, const at::Tensor& t) {
    at::Tensor copy = at::empty({0}, t.options().device(to));
    copy.set_(storage, t.storage_offset(), t.sizes(), t.strides());
    copy._set_conj(t.is_conj());
    copy._set_neg(t.is_neg());
    return copy;
  });
}

Lazy lazy_of(const RunValue& value) {
  if (!value || !value->value.isTensor()) return {};
  return {tensor_of(value).is_conj(), tensor_of(value).is_neg()};
}

RunValue read_lazily(const RunValue& tensor, Lazy lazy) {
  at::Tensor read = tensor_of(tensor).alias();
  read._set_conj(lazy.conjugate);
  read._set_neg(lazy.negate);
  return hold(std::move(read));
}

RunValue slice_at(const RunValue& tensor, int64_t index) {
  at::NoGradGuard no_grad;
  return hold(tensor_of(tensor).select(0, index));
}

RunValue stacked(std::span<const RunValue> tensors, const Type& like, const SymValues& symbols) {
  at::NoGradGuard no_grad;
  if (tensors.empty()) {
    std::vector<int64_t> sizes;
    for (Dim d : like.sizes()) sizes.push_back(evaluate(d, symbols).value_or(0));
    return hold(at::empty(sizes, at::TensorOptions().dtype(to_aten(like.dtype))));
  }
  std::vector<at::Tensor> all;
  for (const RunValue& t : tensors) all.push_back(tensor_of(t));
  return hold(at::stack(all));
}

RunValue placed(const RunValue& tensor, const Type& like, const SymValues& symbols) {
  at::NoGradGuard no_grad;
  const at::Tensor& from = tensor_of(tensor);
  int64_t offset = evaluate(like.offset, symbols).value_or(0), extent = offset + 1;
  std::vector<int64_t> strides;
  for (size_t i = 0; i < like.rank(); ++i) {
    strides.push_back(evaluate(like.strides()[i], symbols).value_or(0));
    extent += (from.size(static_cast<int64_t>(i)) - 1) * strides.back();
  }
  if (from.numel() == 0) extent = offset;
  at::Tensor made = at::empty({extent}, from.options()).as_strided(from.sizes(), strides, offset);
  const auto overlaps = [&](size_t d) { return strides[d] == 0 && from.size(static_cast<int64_t>(d)) > 1; };
  if (std::ranges::any_of(std::views::iota(size_t{0}, strides.size()), overlaps))
    set_elements(hold(made), elements_of(tensor));  // which eager refuses to write
  else
    made.copy_(from);
  return hold(made);
}

void become(const RunValue& target, const RunValue& like) {
  at::NoGradGuard no_grad;
  const at::Tensor& t = tensor_of(like);
  tensor_of(target).set_(t.storage(), t.storage_offset(), t.sizes(), t.strides());
}

RunValue constant_tensor(const ConstantData& constant, const std::string& folder) {
  auto bytes = load_constant(constant, folder);
  std::vector<int64_t> sizes;
  for (Dim d : constant.type.sizes) sizes.push_back(d.constant());
  RunValue made = hold(at::empty(sizes, at::TensorOptions().dtype(to_aten(constant.type.dtype))));
  set_elements(made, *bytes);
  return made;
}

namespace {
// NaN has no sign that counts, though libtorch prints it; columns stay where they are.
std::string without_signed_nan(std::string text) {
  for (size_t at = 0; (at = text.find("-nan", at)) != std::string::npos; ++at) text[at] = ' ';
  return text.starts_with(" nan") && text.size() == 4 ? "nan" : text;
}
}  // namespace

std::string to_text(const RunValue& value) {
  if (!value) return "none";
  if (value->value.isTensor() && tensor_of(value).is_meta()) return "on meta: it has no elements";
  std::ostringstream text;
  if (!value->value.isTensor() || !tensor_of(value).is_complex()) {
    text << value->value;
  } else {  // libtorch prints the real parts alone
    text << at::view_as_real(tensor_of(value).detach().resolve_conj()) << "\n(pairs: real part, imaginary part)";
  }
  return without_signed_nan(text.str());
}

std::optional<std::pair<const void*, uint64_t>> only_storage(const RunValue& value) {
  if (!value || !value->value.isTensor() || !tensor_of(value).defined()) return std::nullopt;
  const c10::StorageImpl* storage = tensor_of(value).storage().unsafeGetStorageImpl();
  return std::pair<const void*, uint64_t>(storage, storage->nbytes());
}
void for_each_storage(const RunValue& value, const std::function<void(const void* storage, uint64_t bytes)>& visit) {
  auto one = [&](const at::Tensor& t) {
    if (t.defined()) visit(t.storage().unsafeGetStorageImpl(), t.storage().nbytes());
  };
  if (!value) return;
  if (value->value.isTensor()) one(tensor_of(value));
  if (value->value.isTensorList())
    for (const at::Tensor& t : value->value.toTensorVector()) one(t);
}

uint64_t storage_bytes(std::span<const RunValue> values) {
  std::map<const void*, uint64_t> storages;
  for (const RunValue& v : values)
    for_each_storage(v, [&](const void* storage, uint64_t bytes) { storages[storage] = bytes; });
  uint64_t total = 0;
  for (const auto& [storage, bytes] : storages) total += bytes;
  return total;
}

bool plainly_is(const Type& claimed, const RunValue& value) {
  if (!claimed.is_tensor() || !value || !value->value.isTensor()) return false;
  const at::Tensor& t = tensor_of(value);
  auto same = [](std::span<const Dim> dims, at::IntArrayRef seen) {
    return std::ranges::equal(dims, seen, [](Dim d, int64_t s) { return d.is_constant() && d.constant() == s; });
  };
  return t.defined() && t.layout() == at::kStrided && t.scalar_type() == to_aten(claimed.dtype) &&
         to_aten(claimed.device).type() == t.device().type() && same(claimed.sizes(), t.sizes()) &&
         same(claimed.strides(), t.strides()) && claimed.offset.is_constant() &&
         claimed.offset.constant() == t.storage_offset();
}

namespace {
// Whether its elements lie in memory as they are, one behind the other.
void require_elements(const at::Tensor& t) {
  if (t.is_meta()) throw Unsupported("what lies on meta has no elements to be compared");
}
bool lies_plainly(const at::Tensor& t) { return t.is_contiguous() && !t.is_conj() && !t.is_neg(); }
}  // namespace

std::vector<std::byte> elements_of(const RunValue& tensor) {
  at::Tensor t = tensor_of(tensor);
  require_elements(t);
  if (!lies_plainly(t)) {
    at::NoGradGuard no_grad;
    t = t.detach().resolve_conj().resolve_neg();
    if (t.scalar_type() == at::kBool) t = t.view(at::kByte);  // a copy of bools makes bools of any bytes
    t = t.contiguous();
  }
  const auto* data = static_cast<const std::byte*>(t.const_data_ptr());
  return {data, data + t.nbytes()};
}

bool plainly_same_elements(const RunValue& a, const RunValue& b) {
  const at::Tensor &x = tensor_of(a), &y = tensor_of(b);
  require_elements(x);
  require_elements(y);
  if (x.scalar_type() != y.scalar_type() || x.nbytes() != y.nbytes() || !lies_plainly(x) || !lies_plainly(y))
    return false;
  return x.nbytes() == 0 || std::memcmp(x.const_data_ptr(), y.const_data_ptr(), x.nbytes()) == 0;
}

ScalarValue scalar_at(Dtype dtype, std::span<const std::byte> elements, uint64_t i) {
  ScalarBits bits{};
  const auto size = static_cast<size_t>(item_size(dtype));
  std::memcpy(bits.data(), elements.data() + i * size, size);
  return from_bits(dtype == Dtype::b8 ? Dtype::u8 : dtype, bits);
}
bool are_bools(std::span<const std::byte> elements) {
  return std::ranges::all_of(elements, [](std::byte b) { return b <= std::byte{1}; });
}

namespace {
// What memory holds where a tensor is read as these elements.
at::Tensor as_stored(const at::Tensor& t, std::span<const std::byte> elements) {
  at::NoGradGuard no_grad;
  at::Tensor stored = at::empty(t.sizes(), at::TensorOptions().dtype(t.dtype()));
  std::memcpy(stored.mutable_data_ptr(), elements.data(), elements.size());
  if (t.is_conj()) stored = stored.conj_physical();
  return t.is_neg() ? stored.neg() : stored;
}
}  // namespace

void set_elements(const RunValue& tensor, std::span<const std::byte> elements) {
  const at::Tensor& t = tensor_of(tensor);
  LENZ_CHECK(elements.size() == t.nbytes(), "as many elements as the tensor has");
  if (elements.empty()) return;
  at::Tensor stored;
  if (t.is_conj() || t.is_neg()) {
    stored = as_stored(t, elements);
    elements = {static_cast<const std::byte*>(stored.const_data_ptr()), stored.nbytes()};
  }
  auto* data = static_cast<std::byte*>(t.mutable_data_ptr());
  if (t.is_contiguous()) {
    std::memcpy(data, elements.data(), elements.size());
    return;
  }
  // By hand: eager refuses to write where elements share memory.
  size_t item = t.itemsize();
  SmallVec<int64_t, 6> at(static_cast<size_t>(t.dim()), 0);
  for (const std::byte* from = elements.data();; from += item) {
    int64_t place = 0;
    for (size_t d = 0; d < at.size(); ++d) place += at[d] * t.strides()[d];
    std::memcpy(data + place * static_cast<int64_t>(item), from, item);
    size_t d = at.size();
    while (d > 0 && ++at[d - 1] == t.sizes()[d - 1]) at[--d] = 0;
    if (d == 0) return;
  }
}

NpyArray to_npy(const RunValue& tensor) {
  const at::Tensor& t = tensor_of(tensor);
  NpyArray array;
  auto dtype = from_aten(t.scalar_type());
  LENZ_CHECK(dtype.has_value(), "a dtype that Lenz has");
  array.dtype = *dtype;
  if (*dtype == Dtype::bf16 || is_float8(*dtype)) array.raw_bits = lenz::item_size(*dtype) * 8;
  array.shape.assign(t.sizes().begin(), t.sizes().end());
  array.bytes = elements_of(tensor);
  return array;
}

}  // namespace lenz::oracle
