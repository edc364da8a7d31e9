#include "compiler/graph/context.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <unordered_set>

#include "compiler/base/hash.h"

namespace lenz {

Context::Context() : type_slots_(256, nullptr) { origins_.emplace_back(); }
Context::~Context() = default;

void* Context::allocate(size_t bytes, size_t align) {
  bytes_used_ += bytes;
  return arena_.allocate(bytes, align);
}

template <class T>
const T* Context::copy_array(std::span<const T> items) {
  if (items.empty()) return nullptr;
  auto* memory = static_cast<T*>(allocate(items.size_bytes(), alignof(T)));
  std::memcpy(static_cast<void*>(memory), items.data(), items.size_bytes());
  return memory;
}

namespace {
uint64_t hash_of(const Type& t) {
  uint64_t h = mix(static_cast<uint64_t>(t.kind) << 32 | static_cast<uint64_t>(t.dtype) << 16 |
                   static_cast<uint64_t>(t.device.kind) << 8 | static_cast<uint8_t>(t.device.index));
  h = mix(h ^ t.count);
  h = mix(h ^ t.offset.hash());
  if (t.kind == TypeKind::tensor)
    for (size_t i = 0; i < t.count; ++i) h = mix(h ^ t.size_data[i].hash() ^ std::rotl(t.stride_data[i].hash(), 17));
  for (const Type* e : t.elements()) h = mix(h ^ e->hash);
  return h;
}

bool same(const Type& a, const Type& b) {
  if (a.hash != b.hash || a.kind != b.kind || a.count != b.count || !(a.offset == b.offset)) return false;
  if (a.kind == TypeKind::list) return std::equal(a.element_data, a.element_data + a.count, b.element_data);
  if (a.kind != TypeKind::tensor) return true;
  return a.dtype == b.dtype && a.device == b.device && std::equal(a.size_data, a.size_data + a.count, b.size_data) &&
         std::equal(a.stride_data, a.stride_data + a.count, b.stride_data);
}
}  // namespace

void Context::grow_types() {
  std::vector<const Type*> old(type_slots_.size() * 2, nullptr);
  old.swap(type_slots_);
  size_t mask = type_slots_.size() - 1;
  for (const Type* t : old) {
    if (!t) continue;
    size_t at = t->hash & mask;
    while (type_slots_[at]) at = (at + 1) & mask;
    type_slots_[at] = t;
  }
}

const Type* Context::intern_type(const Type& given) {
  Type probe = given;
  probe.hash = hash_of(probe);
  size_t mask = type_slots_.size() - 1, at = probe.hash & mask;
  for (; type_slots_[at]; at = (at + 1) & mask)
    if (same(*type_slots_[at], probe)) return type_slots_[at];
  if (probe.kind == TypeKind::tensor) {
    probe.size_data = copy_array(probe.sizes());
    probe.stride_data = copy_array(probe.strides());
  } else if (probe.kind == TypeKind::list) {
    probe.element_data = copy_array(probe.elements());
  }
  auto* type = new (allocate(sizeof(Type), alignof(Type))) Type(probe);
  type_slots_[at] = type;
  if (++type_count_ * 2 > type_slots_.size()) grow_types();
  return type;
}

const Type* Context::tensor(const TensorType& t) {
  LENZ_CHECK(t.sizes.size() == t.strides.size(), "a tensor type with unequal sizes and strides");
  Type probe;
  probe.kind = TypeKind::tensor;
  probe.dtype = t.dtype;
  probe.device = t.device;
  probe.count = static_cast<uint32_t>(t.sizes.size());
  probe.size_data = t.sizes.data();
  probe.stride_data = t.strides.data();
  probe.offset = t.offset;
  return intern_type(probe);
}

const Type* Context::list(std::span<const Type* const> elements) {
  Type probe;
  probe.kind = TypeKind::list;
  probe.count = static_cast<uint32_t>(elements.size());
  probe.element_data = elements.data();
  return intern_type(probe);
}

const Type* Context::sym_int(Dim value) {
  Type probe;
  probe.kind = TypeKind::sym_int;
  probe.offset = value;
  return intern_type(probe);
}

const Type* Context::simple(TypeKind kind) {
  Type probe;
  probe.kind = kind;
  return intern_type(probe);
}

NameId Context::intern(std::string_view name) {
  auto found = name_ids_.find(name);
  if (found != name_ids_.end()) return found->second;
  std::string_view kept{copy_array(std::span(name.data(), name.size())), name.size()};
  auto id = static_cast<NameId>(names_.size());
  names_.push_back(kept);
  name_ids_.emplace(kept, id);
  return id;
}

namespace {
constexpr size_t kFlatOrigin = 8;  // names; larger unions are pairs

void sort_and_unique(auto& names) {
  std::sort(names.begin(), names.end());
  auto last = std::unique(names.begin(), names.end());
  while (names.end() != last) names.pop_back();
}
}  // namespace

uint32_t Context::intern_origin(uint64_t hash, Origin origin) {
  auto [first, end] = origin_ids_.equal_range(hash);
  for (; first != end; ++first) {
    const Origin& o = origins_[first->second];
    if (o.left == origin.left && o.right == origin.right && std::ranges::equal(o.names, origin.names))
      return first->second;
  }
  auto id = static_cast<uint32_t>(origins_.size());
  origin.names = {copy_array(origin.names), origin.names.size()};
  origins_.push_back(origin);
  origin_ids_.emplace(hash, id);
  return id;
}

uint32_t Context::origin(std::span<const NameId> names) {
  if (names.empty()) return 0;
  SmallVec<NameId, 8> sorted(names);
  sort_and_unique(sorted);
  uint64_t h = 0;
  for (NameId n : sorted) h = mix(h ^ n);
  return intern_origin(h, {.names = sorted.span()});
}

uint32_t Context::merge_origins(uint32_t a, uint32_t b) {
  if (a == b || b == 0) return a;
  if (a == 0) return b;
  std::span<const NameId> x = origins_[a].names, y = origins_[b].names;
  if (!x.empty() && !y.empty() && x.size() + y.size() <= kFlatOrigin) {
    SmallVec<NameId, 8> all(x);
    all.append(y.data(), y.data() + y.size());
    return origin(all);
  }
  if (a > b) std::swap(a, b);
  if (origins_[b].left == a || origins_[b].right == a) return b;
  return intern_origin(mix(mix(a) ^ b), {.names = {}, .left = a, .right = b});
}

std::vector<NameId> Context::origin_names(uint32_t origin) const {
  std::vector<NameId> names;
  std::vector<uint32_t> stack{origin};
  std::unordered_set<uint32_t> seen;
  while (!stack.empty()) {
    uint32_t id = stack.back();
    stack.pop_back();
    if (id == 0 || !seen.insert(id).second) continue;
    const Origin& o = origins_[id];
    names.insert(names.end(), o.names.begin(), o.names.end());
    stack.push_back(o.left);
    stack.push_back(o.right);
  }
  sort_and_unique(names);
  return names;
}

Arg Context::values(std::span<const ValueId> items) {
  Arg a;
  a.kind = ArgKind::value_list;
  a.count = static_cast<uint32_t>(items.size());
  a.values = copy_array(items);
  return a;
}

Arg Context::dims(std::span<const Dim> items) {
  Arg a;
  a.kind = ArgKind::int_list;
  a.count = static_cast<uint32_t>(items.size());
  a.dims = copy_array(items);
  return a;
}

Arg Context::ints(std::span<const int64_t> items) {
  DimVec list;
  for (int64_t v : items) list.push_back(Dim(v));
  return dims(list);
}

Arg Context::reals(std::span<const double> items) {
  Arg a;
  a.kind = ArgKind::real_list;
  a.count = static_cast<uint32_t>(items.size());
  a.reals = copy_array(items);
  return a;
}

Arg Context::bools(std::span<const bool> items) {
  Arg a;
  a.kind = ArgKind::bool_list;
  a.count = static_cast<uint32_t>(items.size());
  a.bools = copy_array(items);
  return a;
}

Arg Context::args(std::span<const Arg> items) {
  Arg a;
  a.kind = ArgKind::arg_list;
  a.count = static_cast<uint32_t>(items.size());
  a.args = copy_array(items);
  return a;
}

Arg Context::string(std::string_view text) {
  Arg a;
  a.kind = ArgKind::string;
  a.count = static_cast<uint32_t>(text.size());
  a.chars = copy_array(std::span(text.data(), text.size()));
  return a;
}

Arg Context::complex(std::complex<double> value) {
  Arg a;
  a.kind = ArgKind::complex;
  a.complex_value = copy_array(std::span<const std::complex<double>>(&value, 1));
  return a;
}

Arg Context::data(ConstantData data) {
  constants_.push_back(std::move(data));
  Arg a;
  a.kind = ArgKind::data;
  a.data = &constants_.back();
  return a;
}

Arg* Context::copy(std::span<const Arg> items) { return const_cast<Arg*>(copy_array(items)); }

}  // namespace lenz
