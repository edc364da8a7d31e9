#include "compiler/ops/make/loss.h"

#include "compiler/ops/make/common.h"

namespace lenz::make {

namespace {
// Integers have no mean.
void set_reduction(CallMaker& m, bool mean = true) {
  if (!m.has("reduction")) return;
  auto reduction = mean ? m.choose().any_of<int64_t>({1, 0, 2}) : m.choose().any_of<int64_t>({0, 2});
  m.set("reduction", Arg::of_int(reduction));
}

void set_real(CallMaker& m, std::string_view param, double low, double high) {
  if (m.has(param)) m.set(param, Arg::of_real(m.a_real(low, high)));
}

ValueId like(CallMaker& m, ValueId v, std::optional<Domain> domain = {}) {
  TensorWish wish;
  wish.dtype = m.type(v).dtype;
  wish.sizes = m.sizes(v);
  wish.domain = domain;
  return m.tensor(wish);
}

void common(CallMaker& m) {
  set_reduction(m, is_inexact(m.type(m.get(m.op().schema.params[0].name).value()).dtype));
  set_real(m, "margin", 0, 2);
  set_real(m, "delta", 0.5, 2);
  // Eager divides integers by an integral `beta`: 0 would take the process down.
  bool integral = m.has("beta") && is_integral(m.type(m.get("self").value()).dtype, true);
  set_real(m, "beta", integral ? 1 : 0, 2);
  if (m.has("eps")) m.set("eps", Arg::of_real(1e-6));
  // A negative norm has no value over no elements.
  Sizes sizes = m.sizes(m.get(m.op().schema.params[0].name).value());
  bool empty = std::ranges::find(sizes, 0) != sizes.end();
  if (m.has("p") && m.op().schema.params[static_cast<size_t>(m.op().schema.find("p"))].type.kind == ParamKind::real)
    m.set("p", Arg::of_real(m.choose().any_of({2.0, 1.0, empty ? 2.0 : -1.0})));
}
}  // namespace

void loss(CallMaker& m) {
  const auto& params = m.op().schema.params;
  ValueId self = m.tensor({.dtypes = alone(m)});
  m.set(params[0].name, self);
  m.set(params[1].name, like(m, self));
  // Stirling's term compares: complex numbers have no order.
  if (m.has("full") && is_complex(m.type(self).dtype)) m.set("full", Arg::of_bool(false));
  common(m);
}

namespace {
void broadcast_loss_of(CallMaker& m, bool promotes) {
  const auto& params = m.op().schema.params;
  Sizes full = m.a_shape();
  TensorWish wish;
  wish.sizes = full;
  wish.dtypes = alone(m);
  ValueId self = m.tensor(wish);
  m.set(params[0].name, self);
  wish.sizes = m.shape_like_with_ones(full);
  Dtype d = m.type(self).dtype;
  wish.dtype = promotes && is_inexact(d) ? partner_of(m, d, computes(m)) : d;
  m.set(params[1].name, m.tensor(wish));
  common(m);
}
}  // namespace

void broadcast_loss(CallMaker& m) { broadcast_loss_of(m, false); }
void promoting_loss(CallMaker& m) { broadcast_loss_of(m, true); }

namespace {
void maybe_weight(CallMaker& m, std::string_view param, ValueId self) {
  if (!m.has(param) || m.choose().flip()) return;
  TensorWish wish;
  wish.dtype = m.type(self).dtype;
  wish.sizes = m.shape_like_with_ones(m.sizes(self));
  wish.domain = Domain{0, 2};
  m.set(param, m.tensor(wish));
}
}  // namespace

void cross_entropy(CallMaker& m) {
  constexpr Domain kProbability{0.0625, 0.9375};
  TensorWish wish;
  wish.domain = kProbability;
  ValueId self = m.tensor(wish);
  m.set("self", self);
  m.set("target", like(m, self, kProbability));
  maybe_weight(m, "weight", self);
  set_reduction(m);
  if (!m.has("grad_output")) return;
  TensorWish grad;
  grad.dtype = m.type(self).dtype;
  grad.sizes = m.get("reduction").i == 0 ? m.sizes(self) : Sizes();
  m.set("grad_output", m.tensor(grad));
}

void logits(CallMaker& m) {
  ValueId self = m.tensor({});
  m.set("self", self);
  m.set("target", like(m, self, Domain{0, 1}));
  maybe_weight(m, "weight", self);
  maybe_weight(m, "pos_weight", self);
  set_reduction(m);
}

void loss_backward(CallMaker& m) {
  ValueId self = m.tensor({});
  m.set("self", self);
  m.set("target", like(m, self));
  common(m);
  TensorWish grad;
  grad.dtype = m.type(self).dtype;
  grad.sizes = m.get("reduction").i == 0 ? m.sizes(self) : Sizes();
  m.set("grad_output", m.tensor(grad));
}

void ranking_loss(CallMaker& m) {
  const auto& params = m.op().schema.params;
  TensorWish wish;
  wish.min_rank = m.has("swap") ? 1 : 0;
  ValueId self = m.tensor(wish);
  m.set(params[0].name, self);
  m.set(params[1].name, like(m, self));
  m.set(params[2].name, like(m, self));
  common(m);
}

namespace {
ValueId class_numbers(CallMaker& m, const Sizes& sizes, int64_t classes) {
  TensorWish wish;
  wish.dtype = Dtype::i64;
  wish.sizes = sizes;
  wish.integers = {0, classes - 1};
  return m.tensor(wish);
}

void maybe_class_weight(CallMaker& m, Dtype dtype, int64_t classes) {
  if (m.choose().flip()) return;
  TensorWish wish;
  wish.dtype = dtype;
  wish.sizes = Sizes{classes};
  wish.domain = Domain{0.25, 2};
  m.set("weight", m.tensor(wish));
}

// Scores of classes on dim 1 (dim 0 of a vector) and the class numbers that go with them.
ValueId scores(CallMaker& m, int min_rank, int max_rank) {
  TensorWish wish;
  wish.min_rank = min_rank;
  wish.max_rank = max_rank;
  wish.min_size = 1;
  ValueId self = m.tensor(wish);
  Sizes sizes = m.sizes(self), rest = sizes;
  size_t at = sizes.size() == 1 ? 0 : 1;
  int64_t classes = sizes[at];
  rest.erase(at);
  m.set("self", self);
  m.set("target", class_numbers(m, rest, classes));
  maybe_class_weight(m, m.type(self).dtype, classes);
  set_reduction(m);
  int64_t ignored = m.choose().chance(1, 3) ? m.choose().between(0, classes - 1) : -100;
  m.set("ignore_index", Arg::of_int(ignored));
  return self;
}
}  // namespace

void nll_loss(CallMaker& m) { scores(m, 1, 2); }
void nll_loss2d(CallMaker& m) { scores(m, 4, 4); }
void nll_loss_nd(CallMaker& m) { scores(m, 1, 5); }

void nll_loss_backward(CallMaker& m) {
  ValueId self = scores(m, 1, 2);
  TensorWish grad;
  grad.dtype = m.type(self).dtype;
  bool each = m.get("reduction").i == 0 && m.rank(self) == 2;
  grad.sizes = each ? Sizes{m.size(self, 0)} : Sizes();
  m.set("grad_output", m.tensor(grad));
  grad.sizes = Sizes();
  grad.domain = Domain{1, 2};
  m.set("total_weight", m.tensor(grad));
}

void classes_or_probabilities(CallMaker& m) {
  ValueId self = scores(m, 1, 5);
  if (m.choose().flip()) {
    m.set("target", like(m, self, Domain{0, 1}));
    m.set("ignore_index", Arg::of_int(-100));
  }
  m.set("label_smoothing", Arg::of_real(m.choose().flip() ? 0.0 : 0.125));
}

void histogram(CallMaker& m) {
  m.set("self", m.tensor({}));
  m.set("bins", Arg::of_int(m.choose().between(1, 12)));
  if (m.choose().flip()) {
    m.set("min", Arg::of_int(-2));
    m.set("max", m.choose().flip() ? Arg::of_int(2) : Arg::of_real(2.5));
  }
}

void bincount(CallMaker& m) {
  TensorWish wish;
  wish.min_rank = wish.max_rank = 1;
  wish.integers = {0, 9};
  ValueId self = m.tensor(wish);
  m.set("self", self);
  if (m.choose().flip()) {
    TensorWish weights;
    weights.dtypes = dtypes::real;
    weights.sizes = m.sizes(self);
    m.set("weights", m.tensor(weights));
  }
  m.set("minlength", Arg::of_int(m.choose().between(0, 12)));
}

void row_pairs(CallMaker& m) {
  Sizes full = m.a_shape();
  TensorWish wish;
  wish.sizes = full;
  wish.dtypes = alone(m);
  ValueId x1 = m.tensor(wish);
  m.set("x1", x1);
  wish.sizes = m.shape_like_with_ones(full);
  wish.dtype = m.type(x1).dtype;
  m.set("x2", m.tensor(wish));
  if (m.has("dim")) m.set("dim", Arg::of_int(m.a_dim(full.size())));
  common(m);
}

void cosine_embedding(CallMaker& m) {
  TensorWish wish;
  wish.min_rank = 1;
  wish.max_rank = 2;
  ValueId a = m.tensor(wish);
  m.set("input1", a);
  m.set("input2", like(m, a));
  wish.sizes = m.rank(a) == 2 ? Sizes{m.size(a, 0)} : Sizes();
  wish.dtype = m.type(a).dtype;
  m.set("target", m.tensor(wish));
  common(m);
}

void multi_margin(CallMaker& m) {
  TensorWish wish;
  wish.max_rank = 2;
  wish.min_size = 1;
  ValueId self = m.tensor(wish);
  m.set("self", self);
  bool matrix = m.rank(self) == 2;
  Sizes rows = matrix ? Sizes{m.size(self, 0)} : m.choose().flip() ? Sizes{1} : Sizes();
  m.set("target", class_numbers(m, rows, m.size(self, -1)));
  m.set("p", Arg::of_int(m.choose().between(1, 2)));
  m.set("margin", Arg::of_real(m.a_real(-1, 2)));
  maybe_class_weight(m, m.type(self).dtype, m.size(self, -1));
  set_reduction(m);
}

void multilabel_margin(CallMaker& m) {
  ValueId self = m.tensor({.max_rank = 2, .min_size = 1});
  m.set("self", self);
  int64_t classes = m.rank(self) ? m.size(self, -1) : 1;
  TensorWish target{.dtype = Dtype::i64, .sizes = m.sizes(self)};
  target.integers = {-1, classes - 1};
  m.set("target", m.tensor(target));
  set_reduction(m);
  if (!m.has("grad_output")) return;
  bool each = m.get("reduction").i == 0 && m.rank(self) == 2;
  Dtype dtype = m.type(self).dtype;
  m.set("grad_output", m.tensor({.dtype = dtype, .sizes = each ? Sizes{m.size(self, 0)} : Sizes()}));
  TensorWish is{.dtype = dtype, .sizes = m.sizes(self)};
  is.domain = Domain{0, 1};
  m.set("is_target", m.tensor(is));
}

}  // namespace lenz::make
