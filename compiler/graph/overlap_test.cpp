// Which places two tensors share, against all places written out.
#include "compiler/graph/overlap.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "compiler/graph/context.h"

namespace lenz {
namespace {

std::set<int64_t> places(const Type& t) {
  std::set<int64_t> starts{t.offset.constant()};
  for (size_t i = 0; i < t.rank(); ++i) {
    std::set<int64_t> more;
    for (int64_t k = 0; k < t.sizes()[i].constant(); ++k)
      for (int64_t at : starts) more.insert(at + k * t.strides()[i].constant());
    starts = more;
  }
  std::set<int64_t> bytes;
  for (int64_t at : starts)
    for (int64_t k = 0; k < item_size(t.dtype); ++k) bytes.insert(at * item_size(t.dtype) + k);
  return bytes;
}

bool share(const Type& a, const Type& b) {
  std::set<int64_t> of_a = places(a);
  for (int64_t at : places(b))
    if (of_a.contains(at)) return true;
  return false;
}

const Type& tensor(Context& context, Dtype dtype, DimVec sizes, DimVec strides, Dim offset) {
  return *context.tensor(TensorType{dtype, {}, std::move(sizes), std::move(strides), offset});
}

TEST(LieApart, IsNeverSaidOfTensorsThatShareAPlace) {
  Context context;
  std::mt19937 random(1);
  auto pick = [&](int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(random); };
  auto any = [&]() -> const Type& {
    Dtype dtype = pick(0, 1) == 0 ? Dtype::f32 : Dtype::f64;
    const Dim sizes[] = {pick(0, 4), pick(1, 4)}, strides[] = {pick(0, 9), pick(0, 4)};
    return tensor(context, dtype, DimVec(std::span(sizes)), DimVec(std::span(strides)), pick(0, 20));
  };
  Facts none;
  size_t apart = 0, proved = 0;
  for (int i = 0; i < 20000; ++i) {
    const Type &a = any(), &b = any();
    bool shared = share(a, b), said = lie_apart(none, a, b);
    ASSERT_FALSE(shared && said) << to_string(a) << " and " << to_string(b);
    apart += !shared;
    proved += said;
  }
  EXPECT_GT(proved * 10, apart * 8);
}

TEST(LieApart, OfOpenSizes) {
  Context context;
  Facts facts;
  Dim n = context.syms.symbol("n"), m = context.syms.symbol("m");
  ASSERT_TRUE(facts.add(ge(n, 2)));
  ASSERT_TRUE(facts.add(ge(m, 2)));
  auto rows_of_m = [&](Dim rows, Dim columns, Dim offset) -> const Type& {
    const Dim sizes[] = {rows, columns}, strides[] = {m, 1};
    return tensor(context, Dtype::f32, DimVec(std::span(sizes)), DimVec(std::span(strides)), offset);
  };
  const Type &first = rows_of_m(n, 1, 0), &others = rows_of_m(n, m - 1, 1), &last = rows_of_m(n, 1, m - 1);
  const Type &top = rows_of_m(1, m, 0), &rest = rows_of_m(n - 1, m, m), &all = rows_of_m(n, m, 0);
  EXPECT_TRUE(lie_apart(facts, first, others));
  EXPECT_TRUE(lie_apart(facts, first, last));
  EXPECT_TRUE(lie_apart(facts, rest, top));
  EXPECT_FALSE(lie_apart(facts, all, first));
  EXPECT_FALSE(lie_apart(facts, others, last));
  EXPECT_FALSE(lie_apart(facts, all, top));
}

}  // namespace
}  // namespace lenz
