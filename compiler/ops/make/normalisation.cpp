#include "compiler/ops/make/normalisation.h"

namespace lenz::make {

void softmax(CallMaker& m) {
  ValueId self = m.tensor({});
  m.set("self", self);
  m.set("dim", Arg::of_int(m.a_dim(m.rank(self))));
  if (m.has("half_to_float")) m.set("half_to_float", Arg::of_bool(false));
}

void softmax_dtype(CallMaker& m) {
  bool convert = m.choose().chance(1, 3);
  TensorWish wish;
  wish.dtypes = convert ? m.op().dtypes : dtypes::floats;  // others only with a `dtype`
  ValueId self = m.tensor(wish);
  m.set("self", self);
  m.set("dim", Arg::of_int(m.a_dim(m.rank(self))));
  if (convert) m.set("dtype", Arg::of_dtype(m.a_dtype(dtypes::floats)));
}

void softmax_backward(CallMaker& m) {
  ValueId grad = m.tensor({});
  TensorWish same;
  same.dtype = m.type(grad).dtype;
  same.sizes = m.sizes(grad);
  m.set("grad_output", grad);
  m.set("output", m.tensor(same));
  m.set("dim", Arg::of_int(m.a_dim(m.rank(grad))));
  m.set("input_dtype", Arg::of_dtype(*same.dtype));
}

namespace {
// A parameter of this shape, or none; f32 may stand beside a half-precision input.
void maybe_parameter(CallMaker& m, std::string_view name, const Sizes& sizes, Dtype dtype, bool positive = false,
                     bool dense = false) {
  if (!m.has(name) || m.choose().chance(1, 3)) return;
  TensorWish wish;
  wish.dtype = dtype;
  wish.sizes = sizes;
  wish.plain = dense;
  if (positive) wish.domain = Domain{0.25, 4};
  m.set(name, m.tensor(wish));
}

Dtype parameter_dtype(CallMaker& m, Dtype input) {
  return is_reduced_float(input) && m.choose().chance(1, 3) ? Dtype::f32 : input;
}

void set_eps(CallMaker& m) {
  if (m.has("eps")) m.set("eps", Arg::of_real(m.choose().any_of({1e-5, 0.125, -0.125})));
}
}  // namespace

void layer_norm(CallMaker& m) {
  TensorWish wish;
  wish.min_rank = 1;
  ValueId input = m.tensor(wish);
  m.set("input", input);
  Sizes sizes = m.sizes(input);
  auto count = static_cast<size_t>(m.choose().between(1, static_cast<int64_t>(sizes.size())));
  Sizes tail(sizes.span().last(count));
  m.set_ints("normalized_shape", tail);
  Dtype dtype = parameter_dtype(m, m.type(input).dtype);
  maybe_parameter(m, "weight", tail, dtype);
  maybe_parameter(m, "bias", tail, dtype);
  set_eps(m);
}

namespace {
Sizes grouped_shape(CallMaker& m, int64_t& groups, int min_rank) {
  groups = m.choose().between(1, 3);
  Sizes sizes = m.a_shape(min_rank, 5, 1);
  sizes[1] = groups * m.choose().between(1, 3);
  if (m.choose().chance(1, 16)) sizes[0] = 0;
  return sizes;
}

// The input of a native op, dense in either format, what the op is told of its sizes, and its groups.
TensorWish native_groups(CallMaker& m) {
  int64_t groups = 1;
  TensorWish wish;
  wish.sizes = grouped_shape(m, groups, 2);
  wish.plain = true;
  if (wish.sizes->size() == 4 && m.choose().chance(1, 3)) wish.format = MemoryFormat::channels_last;
  ValueId input = m.tensor(wish);
  wish.dtype = m.type(input).dtype;
  m.set("input", input);
  int64_t area = 1;
  for (size_t i = 2; i < wish.sizes->size(); ++i) area *= (*wish.sizes)[i];
  m.set("N", Arg::of_int(m.size(input, 0)));
  m.set("C", Arg::of_int(m.size(input, 1)));
  m.set("HxW", Arg::of_int(area));
  m.set("group", Arg::of_int(groups));
  return wish;
}
}  // namespace

void group_norm(CallMaker& m) {
  int64_t groups = 1;
  TensorWish wish;
  wish.sizes = grouped_shape(m, groups, 2);
  ValueId input = m.tensor(wish);
  m.set("input", input);
  m.set("num_groups", Arg::of_int(groups));
  Dtype dtype = parameter_dtype(m, m.type(input).dtype);
  maybe_parameter(m, "weight", {m.size(input, 1)}, dtype, false, true);
  maybe_parameter(m, "bias", {m.size(input, 1)}, dtype, false, true);
  set_eps(m);
}

void native_group_norm(CallMaker& m) {
  TensorWish input = native_groups(m);
  Sizes channels{(*input.sizes)[1]};
  Dtype dtype = parameter_dtype(m, *input.dtype);
  maybe_parameter(m, "weight", channels, dtype, false, true);
  maybe_parameter(m, "bias", channels, dtype, false, true);
  set_eps(m);
}

void batch_norm(CallMaker& m) {
  TensorWish wish;
  wish.min_rank = 2;
  wish.min_size = 1;
  // Where the input is not contiguous, eager's out= kernels leave parts of their results unwritten.
  wish.plain = m.op().variant == VariantKind::out;
  if (m.has("cudnn_enabled") && m.choose().chance(1, 16)) {  // the composite takes an empty batch
    wish.sizes = m.a_shape(2, 5, 1);
    (*wish.sizes)[0] = 0;
  }
  ValueId input = m.tensor(wish);
  m.set("input", input);
  Sizes channels{m.size(input, 1)};
  Dtype dtype = parameter_dtype(m, m.type(input).dtype);
  maybe_parameter(m, "weight", channels, dtype);
  maybe_parameter(m, "bias", channels, dtype);
  bool statistics = m.has("running_mean");
  const Param* mean =
      statistics ? &m.op().schema.params[static_cast<size_t>(m.op().schema.find("running_mean"))] : nullptr;
  bool required = statistics && !mean->type.optional;
  std::string_view flag = m.has("use_input_stats") ? "use_input_stats" : "training";
  bool training = !statistics || m.choose().flip();
  if (statistics && (required || !training || m.choose().flip())) {
    TensorWish running;
    running.dtype = dtype;
    running.sizes = channels;
    running.written = training || mean->writes;
    m.set("running_mean", m.tensor(running));
    running.domain = Domain{0.25, 4};
    m.set("running_var", m.tensor(running));
  }
  if (m.has(flag)) m.set(flag, Arg::of_bool(training));
  m.set("momentum", Arg::of_real(m.choose().any_of({0.125, 0.0, -0.5})));
  set_eps(m);
}

void instance_norm(CallMaker& m) {
  ValueId input = m.tensor({.min_rank = 3, .min_size = 1});
  m.set("input", input);
  Sizes channels{m.size(input, 1)};
  Dtype dtype = parameter_dtype(m, m.type(input).dtype);
  maybe_parameter(m, "weight", channels, dtype);
  // Without a weight eager takes only statistics of the input's own dtype beside a bias.
  if (m.is_set("weight") || dtype == m.type(input).dtype) maybe_parameter(m, "bias", channels, dtype);
  bool of_input = m.choose().flip();
  if (!of_input || m.choose().flip()) {
    TensorWish running{.dtype = dtype, .sizes = channels, .written = true};
    m.set("running_mean", m.tensor(running));
    running.domain = Domain{0.25, 4};
    m.set("running_var", m.tensor(running));
  }
  m.set("use_input_stats", Arg::of_bool(of_input));
  m.set("momentum", Arg::of_real(m.choose().any_of({0.125, 0.0, -0.5})));
  set_eps(m);
}

void rms_norm(CallMaker& m) {
  ValueId input = m.tensor({.min_rank = 1});
  m.set("input", input);
  Sizes sizes = m.sizes(input);
  auto count = static_cast<size_t>(m.choose().between(1, static_cast<int64_t>(sizes.size())));
  Sizes tail(sizes.span().last(count));
  m.set_ints("normalized_shape", tail);
  maybe_parameter(m, "weight", tail, parameter_dtype(m, m.type(input).dtype));
  if (m.choose().flip()) m.set("eps", Arg::of_real(m.choose().any_of({1e-5, 0.125, -0.125})));
}

namespace {
// Which gradients are asked for: not those of parameters that are none.
void set_mask(CallMaker& m, bool weight, bool bias, bool all = false) {
  all = all || m.op().variant == VariantKind::out;
  Chooser& c = m.choose();
  bool mask[] = {all || c.chance(3, 4), weight && (all || c.flip()), bias && (all || c.flip())};
  m.set("output_mask", m.context().bools(mask));
}

ValueId statistic(CallMaker& m, std::string_view name, const Sizes& sizes, Dtype dtype, bool positive) {
  TensorWish wish{.dtype = dtype, .sizes = sizes, .plain = true};
  if (positive) wish.domain = Domain{0.25, 4};
  ValueId v = m.tensor(wish);
  m.set(name, v);
  return v;
}
}  // namespace

void layer_norm_backward(CallMaker& m) {
  ValueId input = m.tensor({.min_rank = 1});
  m.set("input", input);
  Sizes sizes = m.sizes(input);
  auto count = static_cast<size_t>(m.choose().between(1, static_cast<int64_t>(sizes.size())));
  Sizes tail(sizes.span().last(count)), lead(sizes.span().first(sizes.size() - count));
  m.set_ints("normalized_shape", tail);
  Dtype dtype = m.type(input).dtype, statistics = parameter_dtype(m, dtype);
  m.set("grad_out", m.tensor({.dtype = dtype, .sizes = sizes}));
  bool all = m.op().variant == VariantKind::out;
  bool weight = all || statistics != dtype || m.choose().flip(), bias = all || m.choose().flip();
  if (weight) m.set("weight", m.tensor({.dtype = statistics, .sizes = tail}));
  if (bias) m.set("bias", m.tensor({.dtype = statistics, .sizes = tail}));
  for (size_t i = 0; i < count; ++i) lead.push_back(1);
  statistic(m, "mean", lead, statistics, false);
  statistic(m, "rstd", lead, statistics, true);
  set_mask(m, weight, bias);
}

void group_norm_backward(CallMaker& m) {
  TensorWish wish = native_groups(m);
  m.set("grad_out", m.tensor(wish));
  const Sizes& sizes = *wish.sizes;
  Dtype statistics = parameter_dtype(m, *wish.dtype);
  Sizes grouped{sizes[0], m.get("group").i};
  statistic(m, "mean", grouped, statistics, false);
  statistic(m, "rstd", grouped, statistics, true);
  bool weight = m.op().variant == VariantKind::out || m.choose().flip();
  if (weight) m.set("weight", m.tensor({.dtype = statistics, .sizes = Sizes{sizes[1]}, .plain = true}));
  // Eager's channels-last kernel writes the input's gradient whether anyone wants it or not, and dies if not.
  set_mask(m, weight, weight, sizes.size() >= 4);
}

void batch_norm_backward(CallMaker& m) {
  ValueId input = m.tensor({.min_rank = 2, .min_size = 1});
  m.set("input", input);
  Dtype dtype = m.type(input).dtype, statistics = parameter_dtype(m, dtype);
  m.set("grad_out", m.tensor({.dtype = dtype, .sizes = m.sizes(input)}));
  Sizes channels{m.size(input, 1)};
  maybe_parameter(m, "weight", channels, statistics, false, true);  // eager reads one with gaps as if it had none
  bool train = m.choose().flip();
  m.set("train", Arg::of_bool(train));
  if (train || m.choose().flip()) {
    const Sizes saved = !train && m.choose().flip() ? Sizes{0} : channels;
    statistic(m, "save_mean", saved, statistics, false);
    statistic(m, "save_invstd", saved, statistics, true);
  }
  if (!train || m.choose().flip()) {
    statistic(m, "running_mean", channels, statistics, false);
    statistic(m, "running_var", channels, statistics, true);
  }
  if (m.has("eps")) m.set("eps", Arg::of_real(m.choose().any_of({1e-5, 0.125})));
  set_mask(m, true, true);
}

}  // namespace lenz::make
