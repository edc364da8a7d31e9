#include "compiler/ops/rules/layout.h"

#include "compiler/graph/graph.h"
#include "compiler/ops/rules/elementwise.h"

namespace lenz::rule {

namespace {
// Strides ascend in the order channels, space, batch. A batch or space of size 1 must not make N1HW look like it.
bool ordered_channels_last(Infer& in, const Type& t, std::span<const size_t> order) {
  if (in.is_zero(t.strides()[1])) return false;
  Dim least = 0;
  for (size_t d : order) {
    if (in.is_zero(t.sizes()[d])) return false;
    if (in.decide(lt(t.strides()[d], least))) return false;
    if (d == 0 && in.same(least, t.strides()[1])) return false;
    least = t.strides()[d];
    if (!in.is_one(t.sizes()[d])) least *= t.sizes()[d];
  }
  return true;
}

constexpr size_t kOrder2d[] = {1, 3, 2, 0};
constexpr size_t kOrder3d[] = {1, 4, 3, 2, 0};

bool dense_channels_last(Infer& in, const Type& t, std::span<const size_t> order) {
  Dim expected = 1;
  for (size_t d : order) {
    if (in.is_one(t.sizes()[d])) continue;
    if (!in.same(t.strides()[d], expected)) return false;
    expected *= t.sizes()[d];
  }
  return true;
}
}  // namespace

MemoryFormat suggested_format(Infer& in, const Type& t) {
  if (t.rank() == 4 && ordered_channels_last(in, t, kOrder2d)) return MemoryFormat::channels_last;
  if (t.rank() == 5 && ordered_channels_last(in, t, kOrder3d)) return MemoryFormat::channels_last_3d;
  return MemoryFormat::contiguous;
}

bool is_contiguous_in(Infer& in, const Type& t, MemoryFormat format) {
  switch (format) {
    case MemoryFormat::channels_last: return t.rank() == 4 && dense_channels_last(in, t, kOrder2d);
    case MemoryFormat::channels_last_3d: return t.rank() == 5 && dense_channels_last(in, t, kOrder3d);
    default: return is_contiguous(in, t);
  }
}

DimVec format_strides(Infer& in, MemoryFormat format, std::span<const Dim> sizes) {
  if (format == MemoryFormat::preserve) in.raise("preserve_format says nothing about a new tensor");
  if (format == MemoryFormat::contiguous) return contiguous_strides(sizes);
  bool flat = format == MemoryFormat::channels_last;
  in.require(sizes.size() == (flat ? 4u : 5u), "this memory format needs another rank");
  DimVec strides(sizes.size(), Dim(1));
  Dim at = 1;
  for (size_t d : flat ? std::span<const size_t>(kOrder2d) : std::span<const size_t>(kOrder3d)) {
    strides[d] = at;
    at *= sizes[d];
  }
  return strides;
}

std::optional<MemoryFormat> format_argument(const Infer& in, std::string_view param) {
  int i = in.op().schema.find(param);
  if (i < 0 || in.arg(static_cast<size_t>(i)).kind != ArgKind::memory_format) return std::nullopt;
  return in.arg(static_cast<size_t>(i)).memory_format();
}

const Type& as_it_lies(const Infer& in, std::string_view param) {
  const size_t i = in.at(param);
  return in.owner && in.arg(i).is_value() ? in.owner->type(in.arg(i).value()) : in.tensor(i);
}

Device device_argument(const Infer& in, Device otherwise) {
  int i = in.op().schema.find("device");
  if (i < 0 || in.arg(static_cast<size_t>(i)).kind != ArgKind::device) return otherwise;
  return in.arg(static_cast<size_t>(i)).device();
}

DimVec like_strides(Infer& in, const Type& t, std::optional<MemoryFormat> format) {
  if (!format || format == MemoryFormat::preserve) return preserved_strides(in, t);
  return format_strides(in, *format, t.sizes());
}

bool overlaps_itself(Infer& in, const Type& t) {
  if (is_dense(in, t)) return false;
  for (size_t i = 0; i < t.rank(); ++i)
    if (t.strides()[i].is(0) && in.decide(gt(t.sizes()[i], 1))) return true;
  return false;
}

TensorType same_placement(Infer& in, const Type& t) {
  TensorType result = t.tensor();
  if (!overlaps_itself(in, t)) return result;
  result.strides = preserved_strides(in, t);
  result.offset = 0;
  return result;
}

Dim from_start(Assumptions& known, Dim at, Dim size) {
  if (!known.mentions_open(at)) {
    bool negative = at.is_constant() ? at.constant() < 0 : known.decide(lt(at, 0));
    return negative ? at + size : at;
  }
  Dim from_end = mod(max(min(at, 0), -size), max(size, 1));  // 0 where it is counted from the start
  return min(max(at, 0) + from_end, size);
}

bool is_left_open(Infer& in, Dim size) { return size.is_constant() ? size.is(-1) : in.decide(eq(size, -1)); }

DimVec infer_size(Infer& in, std::span<const Dim> shape, Dim elements) {
  DimVec sizes(shape);
  Dim known = 1;
  size_t hole = sizes.size();
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (is_left_open(in, sizes[i])) {
      in.require(hole == sizes.size(), "only one size may be -1");
      hole = i;
    } else {
      in.require(ge(sizes[i], 0), "a size is negative");
      known *= sizes[i];
    }
  }
  if (hole == sizes.size()) {
    in.require(eq(elements, known), "the shape has another number of elements");
    return sizes;
  }
  in.require(!in.is_zero(known), "a size of -1 is ambiguous beside a size of 0");
  in.require(divisible(elements, known), "the number of elements is no multiple of the other sizes");
  sizes[hole] = floor_div(elements, known);
  return sizes;
}

std::optional<DimVec> view_strides(Infer& in, const Type& t, std::span<const Dim> sizes) {
  DimVec plain = contiguous_strides(t.sizes());
  if (plain.span().size() == t.rank() && std::equal(plain.begin(), plain.end(), t.strides().begin()))
    return contiguous_strides(sizes);
  bool empty = false;
  for (Dim s : t.sizes()) empty = empty || in.is_zero(s);
  if (empty) {
    bool same = sizes.size() == t.rank();
    for (size_t i = 0; same && i < sizes.size(); ++i) same = in.same(sizes[i], t.sizes()[i]);
    return same ? DimVec(t.strides()) : contiguous_strides(sizes);
  }
  // Dims of the old shape that lie in one arithmetic progression form a chunk; the new shape must respect chunks.
  DimVec strides(sizes.size(), Dim(0));
  size_t at = sizes.size();  // new dims before this one have no stride yet
  Dim base = t.strides().back(), old_count = 1, new_count = 1;
  for (size_t d = t.rank(); d-- > 0;) {
    old_count *= t.sizes()[d];
    if (d > 0 && (in.is_one(t.sizes()[d - 1]) || in.same(t.strides()[d - 1], old_count * base))) continue;
    while (at > 0 && ((new_count != old_count && in.decide(lt(new_count, old_count))) || in.is_one(sizes[at - 1]))) {
      strides[--at] = new_count * base;
      new_count *= sizes[at];
    }
    if (!in.same(new_count, old_count)) return std::nullopt;
    if (d > 0) {
      base = t.strides()[d - 1];
      old_count = new_count = 1;
    }
  }
  if (at != 0) return std::nullopt;
  return strides;
}

TensorType contiguous_like(const TensorType& t) { return contiguous_tensor(t.dtype, t.sizes, t.device); }

void require_sizes(Infer& in, std::span<const Dim> sizes) {
  for (Dim s : sizes) in.require(ge(s, 0), "a size is negative");
}

}  // namespace lenz::rule
