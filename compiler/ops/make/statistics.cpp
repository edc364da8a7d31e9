#include "compiler/ops/make/statistics.h"

#include "compiler/ops/make/common.h"

namespace lenz::make {

void quantile(CallMaker& m) {
  Chooser& c = m.choose();
  ValueId self = m.tensor({.min_size = 1});
  m.set("self", self);
  if (m.op().schema.params[1].type.kind == ParamKind::tensor) {
    Sizes sizes;
    if (c.flip()) sizes.push_back(m.a_size());
    m.set("q", m.tensor({.dtype = m.type(self).dtype, .sizes = sizes, .domain = Domain{0, 1}}));
  } else {
    m.set("q", Arg::of_real(c.any_of({0.5, 0.0, 1.0, 0.3125})));
  }
  if (c.chance(2, 3)) m.set("dim", Arg::of_int(m.a_dim(m.rank(self))));
  if (c.flip()) {
    constexpr std::string_view kHow[] = {"linear", "lower", "higher", "midpoint", "nearest"};
    m.set("interpolation", m.context().string(kHow[c.below(std::size(kHow))]));
  }
}

void trapezoid(CallMaker& m) {
  Chooser& c = m.choose();
  ValueId y = m.tensor({.min_rank = 1});
  m.set("y", y);
  int64_t dim = m.a_dim(m.rank(y));
  if (dim != -1 || c.flip()) m.set("dim", Arg::of_int(dim));
  if (!m.has("x")) {
    if (c.chance(1, 3)) return;
    bool real = m.op().schema.params[1].type.kind == ParamKind::real;
    m.set("dx", real || c.flip() ? Arg::of_real(m.a_real(0.25, 2)) : Arg::of_int(c.between(1, 3)));
    return;
  }
  Sizes sizes = m.sizes(y);
  auto at = static_cast<size_t>(dim < 0 ? dim + static_cast<int64_t>(sizes.size()) : dim);
  TensorWish wish{.sizes = sizes};
  wish.dtype = partner_of(m, m.type(y).dtype, m.op().dtypes, true);
  if (c.flip()) {
    wish.sizes = Sizes{sizes[at]};
  } else if (at > 0 && c.flip()) {
    wish.sizes->erase(0);
    wish.plain = true;  // it is viewed with the missing dims in front
  } else {
    for (size_t i = 0; i < sizes.size(); ++i)
      if (i != at && c.chance(1, 4)) (*wish.sizes)[i] = 1;
  }
  m.set("x", m.tensor(wish));
}

void covariance(CallMaker& m) {
  Chooser& c = m.choose();
  ValueId self = m.tensor({.max_rank = 2, .min_size = 1});
  m.set("self", self);
  Sizes observations{m.rank(self) ? m.size(self, -1) : 1};
  if (m.has("correction") && c.flip()) m.set("correction", Arg::of_int(c.between(0, 2)));
  if (observations[0] < 2) return;  // of a single one that is weighted eager overwrites its input
  if (m.has("fweights") && c.flip())
    m.set("fweights", m.tensor({.dtypes = dtypes::integers, .sizes = observations, .integers = {{1, 4}}}));
  if (m.has("aweights") && c.flip())
    m.set("aweights", m.tensor({.dtypes = dtypes::wide_floats, .sizes = observations, .domain = Domain{0.25, 4}}));
}

}  // namespace lenz::make
