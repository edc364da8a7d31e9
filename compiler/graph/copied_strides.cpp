#include "compiler/graph/copied_strides.h"

#include <algorithm>

#include "compiler/graph/graph.h"
#include "compiler/graph/lazy_views.h"

namespace lenz {

bool is_contiguous(Infer& in, const Type& t) {
  // Of sizes that only the run knows less is asked: these strides are right for all of them.
  bool open = std::ranges::any_of(t.sizes(), [&](Dim s) { return in.assumptions().mentions_open(s); });
  if (open && std::ranges::equal(contiguous_strides(t.sizes()), t.strides())) return true;
  Dim expected = 1;
  for (Dim s : t.sizes())
    if (in.is_zero(s)) return true;
  for (size_t i = t.rank(); i-- > 0;) {
    if (in.is_one(t.sizes()[i])) continue;
    if (!in.same(t.strides()[i], expected)) return false;
    expected *= t.sizes()[i];
  }
  return true;
}

bool is_dense(Infer& in, const Type& t) {
  if (is_contiguous(in, t)) return true;  // so is every empty tensor
  if (t.rank() == 1) return in.is_one(t.sizes()[0]) || in.is_zero(t.sizes()[0]) || in.same(t.strides()[0], 1);
  // Dims by ascending stride; sizes below 2 go last, in any order.
  SmallVec<size_t, 6> order;
  for (size_t i = 0; i < t.rank(); ++i) order.push_back(i);
  auto small = [&](size_t d) { return in.is_one(t.sizes()[d]) || in.is_zero(t.sizes()[d]); };
  for (size_t i = 1; i < order.size(); ++i)
    for (size_t k = i; k > 0; --k) {
      size_t a = order[k - 1], b = order[k];
      bool swap = small(a) ? !small(b) : !small(b) && in.decide(lt(t.strides()[b], t.strides()[a]));
      if (!swap) break;
      std::swap(order[k - 1], order[k]);
    }
  Dim expected = 1;
  for (size_t d : order) {
    if (small(d)) return true;
    if (!in.same(t.strides()[d], expected)) return false;
    expected *= t.sizes()[d];
  }
  return true;
}

SmallVec<size_t, 6> iteration_order(Infer& in, std::span<const DimVec> strides, std::span<const Dim> shape) {
  SmallVec<size_t, 6> perm;
  for (size_t i = shape.size(); i-- > 0;) perm.push_back(i);
  if (shape.size() == 1) return perm;
  auto less = [&](Dim a, Dim b) {
    return a.is_constant() && b.is_constant() ? a.constant() < b.constant() : !(a == b) && in.decide(lt(a, b));
  };
  auto compare_dims = [&](size_t d0, size_t d1) {
    for (const DimVec& s : strides) {
      if (in.is_zero(s[d0]) || in.is_zero(s[d1])) continue;
      if (less(s[d0], s[d1])) return -1;
      if (less(s[d1], s[d0])) return 1;
      if (less(shape[d1], shape[d0])) return 1;
    }
    return 0;
  };
  for (size_t i = 1; i < perm.size(); ++i) {
    size_t at = i;
    for (size_t d = i; d-- > 0;) {
      int c = compare_dims(perm[d], perm[at]);
      if (c > 0) {
        std::swap(perm[d], perm[at]);
        at = d;
      } else if (c < 0) {
        break;
      }
    }
  }
  return perm;
}

DimVec strides_in_order(std::span<const Dim> shape, std::span<const size_t> inner_first) {
  bool plain = true;
  for (size_t i = 0; i < inner_first.size(); ++i) plain &= inner_first[i] == shape.size() - 1 - i;
  if (plain) return contiguous_strides(shape);
  DimVec strides(shape.size(), Dim(1));
  Dim at = 1;
  for (size_t d : inner_first) {
    strides[d] = at;
    at *= shape[d];
  }
  return strides;
}

DimVec preserved_strides(Infer& in, const Type& like) {
  if (is_dense(in, like)) return DimVec(like.strides());
  DimVec strides(like.strides());
  return strides_in_order(like.sizes(), iteration_order(in, {&strides, 1}, like.sizes()));
}

bool is_read_lazily(const Infer& in, size_t i) {
  return in.owner && in.arg(i).is_value() && laziness(*in.owner, in.arg(i).value()).any();
}

const Type& copied_if_lazy(Infer& in, size_t i) {
  const Type& t = in.tensor(i);
  if (!is_read_lazily(in, i)) return t;
  return *in.context().tensor({t.dtype, t.device, DimVec(t.sizes()), preserved_strides(in, t), 0});
}

}  // namespace lenz
