// Lists of views, and what eager makes of them: aliases, or fresh tensors.
#include "compiler/ops/rules/elementwise.h"
#include "compiler/ops/rules/view_parts.h"
#include "compiler/ops/rules/views.h"

namespace lenz::rule {

namespace at {

// --- lists

namespace {
// Lists are written out, a type each: nobody needs long ones, and a short text must not ask for gigabytes.
constexpr int64_t kMostParts = 65'536;
size_t number_of_parts(const Infer& in, int64_t count) {
  if (count > kMostParts)
    throw Unsupported(in.op().full_name + ": a list of " + std::to_string(count) + " tensors; the limit is " +
                      std::to_string(kMostParts));
  return static_cast<size_t>(count);
}

std::vector<TensorType> parts_of(const TensorType& t, size_t dim, std::span<const Dim> lengths) {
  std::vector<TensorType> parts;
  Dim start = 0;
  for (Dim length : lengths) {
    parts.push_back(slice_of(t, dim, start, length));
    start += length;
  }
  return parts;
}

std::vector<TensorType> equal_parts(Infer& in, const Type& t, size_t d, Dim length) {
  Dim size = t.sizes()[d];
  DimVec lengths;
  int64_t count = 1;
  if (!in.is_zero(length)) count = std::max<int64_t>(in.specialize(ceil_div(size, length)), 1);
  lengths.resize(number_of_parts(in, count) - 1, length);
  lengths.push_back(length - (length * count - size));
  return parts_of(t.tensor(), d, lengths);
}

std::vector<TensorType> near_equal_parts(Infer& in, const Type& t, size_t d, int64_t sections) {
  in.require(sections > 0, "needs at least one section");
  number_of_parts(in, sections);
  Dim least = floor_div(t.sizes()[d], sections);
  int64_t longer = in.specialize(t.sizes()[d] - least * sections);
  DimVec lengths;
  for (int64_t i = 0; i < sections; ++i) lengths.push_back(i < longer ? least + 1 : least);
  return parts_of(t.tensor(), d, lengths);
}

std::vector<TensorType> parts_between(Infer& in, const Type& t, size_t d, std::span<const Dim> indices) {
  Dim size = t.sizes()[d];
  std::vector<TensorType> parts;
  Dim previous = 0;
  for (size_t i = 0; i <= indices.size(); ++i) {
    Dim start = clamped(in, previous, 0, size);
    Dim end = i < indices.size() ? clamped(in, indices[i], start, size) : size;
    parts.push_back(slice_of(t.tensor(), d, start, end - start));
    if (i < indices.size()) previous = indices[i];
  }
  return parts;
}
}  // namespace

std::vector<TensorType> split(Infer& in, const Type& t) {
  size_t d = dim_of_ranked(in, "dim", t);
  Dim length = in.integer("split_size");
  in.require(ge(length, 0), "the split size is negative");
  in.require(!in.is_zero(length) || in.is_zero(t.sizes()[d]), "a split size of 0 needs a dim of size 0");
  return equal_parts(in, t, d, length);
}

std::vector<TensorType> split_with_sizes(Infer& in, const Type& t) {
  size_t d = dim_of_ranked(in, "dim", t);
  DimVec lengths = in.ints(param_name(in, 1));
  Dim total = 0;
  for (Dim l : lengths) {
    in.require(ge(l, 0), "a split size is negative");
    total += l;
  }
  in.require(eq(total, t.sizes()[d]), "the split sizes don't add up to the dim's size");
  return parts_of(t.tensor(), d, lengths);
}

std::vector<TensorType> chunked(Infer& in, const Type& t) {
  size_t d = dim_of_ranked(in, "dim", t);
  int64_t chunks = in.constant("chunks");
  in.require(chunks > 0, "needs at least one chunk");
  if (in.is_zero(t.sizes()[d])) return parts_of(t.tensor(), d, DimVec(number_of_parts(in, chunks), Dim(0)));
  return equal_parts(in, t, d, ceil_div(t.sizes()[d], chunks));
}

std::vector<TensorType> split_in_sections(Infer& in, const Type& t) {
  size_t d = dim_of_ranked(in, "dim", t);
  return near_equal_parts(in, t, d, in.specialize(in.integer("sections")));
}

std::vector<TensorType> split_at(Infer& in, const Type& t) {
  return parts_between(in, t, dim_of_ranked(in, "dim", t), in.ints("indices"));
}

std::vector<TensorType> split_along(Infer& in, const Type& t, size_t axis) {
  in.require(t.rank() >= (axis == 0 ? 2 : axis == 1 ? 1 : 3), "needs a tensor of more dims");
  size_t d = axis == 1 && t.rank() == 1 ? 0 : axis;
  if (in.has_param("indices")) return parts_between(in, t, d, in.ints("indices"));
  int64_t sections = in.constant("sections");
  in.require(sections != 0, "needs sections");
  in.require(divisible(t.sizes()[d], sections), "the dim's size is no multiple of the sections");
  return near_equal_parts(in, t, d, sections);
}

std::vector<TensorType> unbound(Infer& in, const Type& t) {
  size_t d = dim_of_ranked(in, "dim", t);
  TensorType element = t.tensor();
  element.sizes.erase(d);
  element.strides.erase(d);
  std::vector<TensorType> list;
  size_t count = number_of_parts(in, in.specialize(t.sizes()[d]));
  for (size_t i = 0; i < count; ++i) {
    list.push_back(element);
    element.offset += t.strides()[d];
  }
  return list;
}

}  // namespace at

namespace {
const Type* list_type(Infer& in, const std::vector<TensorType>& elements) {
  SmallVec<const Type*, 8> types;
  for (const TensorType& t : elements) types.push_back(in.context().tensor(t));
  return in.context().list(types);
}

}  // namespace

void alias_list(Infer& in, const std::vector<TensorType>& views) { in.alias(list_type(in, views), in.arg(0).value()); }

void maybe_alias_list(Infer& in, ViewList views) {
  if (!is_read_lazily(in, 0)) return alias_list(in, views(in, in.tensor(0)));
  in.result(list_type(in, views(in, copied_if_lazy(in, 0))));
}

void fresh_list(Infer& in, const std::vector<TensorType>& views) {
  std::vector<TensorType> fresh;
  for (const TensorType& t : views) fresh.push_back(contiguous_like(t));
  in.result(list_type(in, fresh));
}

}  // namespace lenz::rule
