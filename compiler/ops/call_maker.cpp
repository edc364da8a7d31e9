#include "compiler/ops/call_maker.h"

#include <algorithm>

#include "compiler/graph/alias.h"
#include "compiler/ops/symbolic_call.h"

namespace lenz {

CallMaker::CallMaker(Graph& graph, Chooser& chooser, const OpDef& op)
    : graph_(graph), chooser_(chooser), op_(op), args_(op.schema.params.size()), set_(op.schema.params.size()) {}

Sizes CallMaker::sizes(ValueId v) const {
  Sizes s;
  for (Dim d : type(v).sizes()) s.push_back(d.constant());
  return s;
}

int64_t CallMaker::size(ValueId v, int64_t dim) const {
  auto n = static_cast<int64_t>(rank(v));
  return n == 0 ? 1 : type(v).sizes()[static_cast<size_t>(dim < 0 ? dim + n : dim)].constant();
}

ValueId CallMaker::transposed(const Sizes& sizes, Dtype dtype, size_t a, size_t b) {
  Sizes stored = sizes;
  std::swap(stored[a], stored[b]);
  Sizes strides(sizes.size(), 1);
  for (size_t i = sizes.size(); i-- > 1;) strides[i - 1] = strides[i] * std::max<int64_t>(stored[i], 1);
  std::swap(strides[a], strides[b]);
  TensorWish wish;
  wish.dtype = dtype;
  wish.sizes = sizes;
  wish.strides = strides;
  return tensor(wish);
}

int64_t CallMaker::a_size(int64_t low) {
  constexpr int64_t kSizes[] = {3, 2, 4, 1, 5, 7, 8, 0, 6, 9, 16, 17};
  constexpr uint32_t kWeights[] = {20, 20, 15, 14, 8, 6, 5, 4, 4, 2, 1, 1};
  return std::max(low, kSizes[chooser_.weighted(kWeights)]);
}

Sizes CallMaker::a_shape(int min_rank, int max_rank, int64_t min_size) {
  constexpr int kRanks[] = {2, 1, 3, 4, 0, 5, 6, 7};
  constexpr uint32_t kWeights[] = {8, 5, 6, 6, 3, 3, 0, 0};
  int rank = kRanks[chooser_.weighted(kWeights)];
  if (rank < min_rank || rank > max_rank) rank = static_cast<int>(chooser_.between(min_rank, max_rank));
  Sizes shape;
  int64_t elements = 1;
  for (int i = 0; i < rank; ++i) {
    int64_t size = a_size(min_size);
    if (elements * size > 4096) size = std::max<int64_t>(min_size, 1);  // a call is a sample, not a load
    elements *= std::max<int64_t>(size, 1);
    shape.push_back(size);
  }
  return shape;
}

Sizes CallMaker::shape_like_with_ones(const Sizes& full) {
  Sizes shape = full;
  if (chooser_.chance(1, 2)) return shape;
  for (int64_t& s : shape)
    if (chooser_.chance(1, 3)) s = 1;
  if (chooser_.chance(1, 3)) {
    auto drop = chooser_.below(shape.size() + 1);
    for (uint64_t i = 0; i < drop; ++i) shape.erase(0);
  }
  return shape;
}

std::vector<Sizes> CallMaker::broadcast_shapes(size_t count, int max_rank) {
  Sizes full = a_shape(0, max_rank);
  std::vector<Sizes> shapes;
  for (size_t i = 0; i < count; ++i) shapes.push_back(shape_like_with_ones(full));
  return shapes;
}

Dtype CallMaker::a_dtype(DtypeSet set) {
  SmallVec<Dtype, kDtypeCount> list;
  // The plainest first, so that small choices make plain calls.
  for (Dtype d : {Dtype::f32, Dtype::i64, Dtype::f64, Dtype::b8, Dtype::i32, Dtype::bf16, Dtype::f16, Dtype::u8,
                  Dtype::i8, Dtype::i16, Dtype::c64, Dtype::c128, Dtype::f8e4m3, Dtype::f8e5m2})
    if (set.has(d)) list.push_back(d);
  LENZ_CHECK(!list.empty(), op_.full_name + ": its generator asks for a dtype of an empty set");
  return list[chooser_.below(list.size())];
}

int64_t CallMaker::a_dim(size_t rank) {
  auto n = static_cast<int64_t>(std::max<size_t>(rank, 1));
  return static_cast<int64_t>(chooser_.below(static_cast<uint64_t>(2 * n))) - n;
}

SmallVec<int64_t, 6> CallMaker::some_dims(size_t rank, bool allow_empty) {
  SmallVec<int64_t, 6> all, picked;
  for (size_t i = 0; i < rank; ++i) all.push_back(static_cast<int64_t>(i));
  size_t count = rank == 0 ? 0 : static_cast<size_t>(chooser_.between(allow_empty ? 0 : 1, static_cast<int64_t>(rank)));
  for (size_t i = 0; i < count; ++i) {
    size_t at = chooser_.below(all.size());
    picked.push_back(chooser_.chance(1, 3) ? all[at] - static_cast<int64_t>(rank) : all[at]);
    all.erase(at);
  }
  return picked;
}

double CallMaker::a_real(double low, double high) {
  // Sixteenths: short in text, exact in every float type that can hold the range.
  auto steps = static_cast<uint64_t>((high - low) * 16);
  return low + static_cast<double>(chooser_.below(steps + 1)) / 16;
}

Arg CallMaker::a_number(Dtype like) {
  if (like == Dtype::b8) return Arg::of_bool(chooser_.flip());
  if (is_integral(like, false) || chooser_.chance(1, 3))
    return Arg::of_int(chooser_.between(info(like).is_signed ? -3 : 0, 5));
  if (is_complex(like) && chooser_.chance(1, 3)) return context().complex({a_real(-2, 2), a_real(-2, 2)});
  return Arg::of_real(chooser_.chance(1, 16) ? 0 : a_real(-3, 3));
}

Arg CallMaker::any_number() {
  switch (chooser_.below(8)) {
    case 0:
    case 1:
    case 2: return Arg::of_real(a_real(-3, 3));
    case 6: return Arg::of_bool(chooser_.flip());
    default: return Arg::of_int(chooser_.between(-3, 5));
  }
}

bool CallMaker::is_set(std::string_view param) const {
  int i = op_.schema.find(param);
  return i >= 0 && set_[static_cast<size_t>(i)];
}

const Arg& CallMaker::get(std::string_view param) const {
  int i = op_.schema.find(param);
  LENZ_CHECK(i >= 0, op_.full_name + " has no parameter " + std::string(param));
  return args_[static_cast<size_t>(i)];
}

void CallMaker::set(std::string_view param, Arg arg) {
  int i = op_.schema.find(param);
  LENZ_CHECK(i >= 0, op_.full_name + ": its generator sets `" + std::string(param) + "`, which it has not");
  args_[static_cast<size_t>(i)] = arg;
  set_[static_cast<size_t>(i)] = true;
}

std::span<const Arg> CallMaker::finish() {
  const auto& params = op_.schema.params;
  size_t outs = params.size();
  for (size_t i = 0; i < params.size(); ++i) {
    if (params[i].is_out) {
      outs = std::min(outs, i);
      continue;
    }
    if (set_[i]) continue;
    const Param& p = params[i];
    bool flag = p.type.kind == ParamKind::boolean && !p.type.list && p.name != "pin_memory";
    if (flag && !p.type.optional) {
      args_[i] = Arg::of_bool(a_flag(p.name));
    } else if (p.type.kind == ParamKind::generator && chooser_.below(4) == 3) {
      args_[i] = Arg::of_seed(chooser_.below(8));
    } else {
      args_[i] = default_arg(context(), p);
    }
  }
  if (outs < params.size()) {
    // The functional row's result types are those of its out= tensors.
    Infer infer(graph_.shared_context(), graph_.ops(), *op_.base, std::span<const Arg>(args_).first(outs),
                graph_.types(), graph_.assumptions);
    infer.run();
    for (size_t k = 0; k < infer.results().size(); ++k) {
      auto out_tensor = [&](const Type& t, bool resizable) {
        TensorWish wish;
        wish.dtype = t.dtype;
        wish.sizes = Sizes();
        for (Dim d : t.sizes()) wish.sizes->push_back(d.constant());
        wish.plain = op_.base->variants.out_rule == OutRule::plain;
        if (resizable && !wish.plain && chooser_.chance(1, 8)) wish.sizes = Sizes{0};  // empty: eager resizes it
        wish.written = true;
        return tensor(wish);
      };
      const Type& result = *infer.results()[k].type;
      if (result.kind == TypeKind::list) {
        SmallVec<ValueId, 4> list;
        for (const Type* t : result.elements()) list.push_back(out_tensor(*t, false));
        args_[outs + k] = context().values(list);
        continue;
      }
      args_[outs + k] = Arg::of_value(out_tensor(result, true));
    }
  }
  return args_;
}

DrawnCall draw_call(const OpDef& op, const OpTable& table, Chooser& chooser, std::optional<LayoutClass> wanted) {
  DrawnCall call{&op, nullptr, {}, {}};
  if (!op.generate) return call;
  call.graph = std::make_unique<Graph>(std::make_shared<Context>(), table, "call");
  Graph& graph = *call.graph;
  FreshCalls maker(graph, chooser, op, wanted);
  op.generate(maker);
  std::span<const Arg> args = maker.finish();
  call.args.assign(args.begin(), args.end());
  call.lacking = maker.lacking();
  for (size_t i = 0; i < args.size(); ++i) {
    if (!writes_operand(op, args, i)) continue;
    for_each_value(args[i], [&](ValueId v) {
      if (graph.value(v).producer == kNone) graph.input(graph.value(v).index).mutated = true;
    });
  }
  return call;
}

std::unique_ptr<Graph> generate_call(const OpDef& op, const OpTable& table, Chooser& chooser) {
  DrawnCall call = draw_call(op, table, chooser);
  if (!call.graph) return nullptr;
  return as_graph(op, std::move(call));
}

}  // namespace lenz
