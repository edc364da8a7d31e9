#include "oracle/bounds/open_indices.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include <algorithm>

#include "oracle/bounds/flow_parts.h"
#include "oracle/ties.h"

namespace lenz::oracle {

using namespace flow;

namespace {
// Between what each element lies. NaN stands above all numbers; what is NaN and may be otherwise may be anything.
struct Intervals {
  at::Tensor low, high, width;
};
Intervals intervals_of(const Planes& p) {
  const at::Tensor v = p.value.to(at::kDouble);
  const at::Tensor e = p.error.defined() ? p.error : at::zeros(v.sizes(), at::kDouble);
  const at::Tensor open = e.isinf().logical_or(v.isnan().logical_and(e > 0));
  at::Tensor low = v - e, high = v + e;
  // As those who sort by the ends take them, or an element would lie beyond the end of its own place.
  if (at::isIntegralType(p.value.scalar_type(), true)) low = low.floor(), high = high.ceil();
  return {nothing_where(open, low, -kInf).nan_to_num(kInf, kInf, -kInf),
          nothing_where(open, high, kInf).nan_to_num(kInf, kInf, -kInf), e};
}

// For each element of the operand, whether another one of its row may stand in its place: their intervals meet.
at::Tensor has_rival(const Planes& p, const Intervals& all, int64_t dim, bool ties_open) {
  at::Tensor v = p.value.to(at::kDouble);
  auto [sorted, order] = at::sort(v, dim);
  at::Tensor width = all.width.gather(dim, order);
  at::Tensor low = all.low.gather(dim, order), high = all.high.gather(dim, order);
  int64_t n = v.size(dim);
  at::Tensor met = at::zeros(v.sizes(), at::kBool);
  if (n > 1) {
    at::Tensor before = std::get<0>(at::cummax(high, dim)).narrow(dim, 0, n - 1);
    at::Tensor after = at::flip(std::get<0>(at::cummin(at::flip(low, {dim}), dim)), {dim}).narrow(dim, 1, n - 1);
    at::Tensor low_here = low.narrow(dim, 1, n - 1), high_here = high.narrow(dim, 0, n - 1);
    at::Tensor below = ties_open ? before >= low_here : before > low_here;
    at::Tensor above = ties_open ? after <= high_here : after < high_here;
    if (!ties_open) {  // two exact numbers that are equal are no rivals: the order among them is promised
      at::Tensor unsure_below = std::get<0>(at::cummax(width, dim)).narrow(dim, 0, n - 1) + width.narrow(dim, 1, n - 1);
      at::Tensor unsure_above =
          at::flip(std::get<0>(at::cummax(at::flip(width, {dim}), dim)), {dim}).narrow(dim, 1, n - 1) +
          width.narrow(dim, 0, n - 1);
      below = below.logical_or((before >= low_here).logical_and(unsure_below > 0));
      above = above.logical_or((after <= high_here).logical_and(unsure_above > 0));
    }
    met.narrow(dim, 1, n - 1).logical_or_(below);
    met.narrow(dim, 0, n - 1).logical_or_(above);
  }
  return at::zeros_like(met).scatter(dim, order, met);
}

// An ordering call's operand and indices, seen as rows along one dim.
struct Rows {
  Planes operand;
  at::Tensor indices;
  int64_t dim = 0;
  std::vector<Window> windows;  // of each index, where it counts the elements of a whole plane and looks at a few
};

// Of how many dims a window is; none: the call has no windows.
int64_t window_dims(const Call& call) {
  for (const char* name : {"kernel_size", "output_size"})
    if (const int at = call.op->schema.find(name); at >= 0)
      return call.op->schema.params[static_cast<size_t>(at)].type.list_size;
  return 0;
}

// What each window looks at: its first and last element are those that a call names of numbers that fall and rise.
// Empty if the op refuses such numbers.
std::vector<Window> windows_of(FlowContext& in, const Call& call, const at::Tensor& operand, int64_t dims) {
  int64_t plane = 1;
  for (int64_t d = operand.dim() - dims; d < operand.dim(); ++d) plane *= operand.size(d);
  const at::Tensor rising =
      at::arange(operand.numel(), at::kDouble).remainder(static_cast<double>(plane)).reshape(operand.sizes());
  auto named_of = [&](const at::Tensor& numbers) -> at::Tensor {
    const std::vector<at::Tensor> made =
        run_on(in, call, call.args, [&](const Leaf& leaf) { return leaf.param == 0 ? numbers : leaf.value; });
    return made.size() == 2 ? made[1].contiguous() : at::Tensor();
  };
  const at::Tensor first = named_of(-rising), last = named_of(rising);
  if (!first.defined() || !last.defined()) return {};
  std::vector<int64_t> steps(static_cast<size_t>(dims), 1);
  if (const int at = call.op->schema.find("dilation"); at >= 0) {
    const auto given = call.args[static_cast<size_t>(at)].dim_list();
    for (size_t d = 0; d < steps.size() && !given.empty(); ++d)
      steps[d] = evaluate(given[std::min(d, given.size() - 1)], *call.symbols).value_or(1);
  }
  std::vector<Window> windows(static_cast<size_t>(first.numel()));
  for (size_t w = 0; w < windows.size(); ++w) {
    int64_t begin = first.const_data_ptr<int64_t>()[w], end = last.const_data_ptr<int64_t>()[w];
    windows[w].sides.resize(steps.size());
    for (size_t d = steps.size(); d-- > 0;) {
      const int64_t size = operand.size(operand.dim() - dims + static_cast<int64_t>(d));
      windows[w].sides[d] = {begin % size, end % size, steps[d], size};
      begin /= size;
      end /= size;
    }
  }
  return windows;
}

std::optional<Rows> rows_of(FlowContext& in, const Call& call, const Planes& operand, const at::Tensor& indices) {
  const auto dim = dim_of(call);
  auto flat = [&](const at::Tensor& t, int64_t dims) {
    return t.defined() ? t.flatten(t.dim() - dims, t.dim() - 1) : t;
  };
  if (operand.value.dim() > 0 && !dim && indices.numel() != 1) {
    const int64_t dims = window_dims(call);
    if (dims == 0 || dims > operand.value.dim() || indices.dim() != operand.value.dim()) return std::nullopt;
    Rows rows{operand, flat(indices, dims), operand.value.dim() - dims, windows_of(in, call, operand.value, dims)};
    if (rows.windows.empty()) return std::nullopt;
    rows.operand.value = flat(operand.value, dims);
    rows.operand.error = flat(operand.error, dims);
    return rows;
  }
  Rows rows{operand, indices, dim.value_or(0), {}};
  if (!dim || operand.value.dim() == 0) {
    rows.operand.value = operand.value.reshape({-1});
    if (operand.error.defined()) rows.operand.error = operand.error.reshape({-1});
    rows.indices = indices.reshape({-1});
    rows.dim = 0;
  } else {
    rows.dim = at::maybe_wrap_dim(*dim, operand.value.dim());
    if (indices.dim() != operand.value.dim()) rows.indices = indices.unsqueeze(rows.dim);
  }
  return rows;
}

std::vector<double> doubles_of(const at::Tensor& t) {
  const at::Tensor flat = t.contiguous();
  return {flat.const_data_ptr<double>(), flat.const_data_ptr<double>() + flat.numel()};
}

// For each window, whether another element than the one that its index names may be its greatest.
at::Tensor has_rival_in_window(const Rows& rows, const Intervals& all, bool ties_open) {
  const std::vector<double> low = doubles_of(all.low), high = doubles_of(all.high), width = doubles_of(all.width);
  const at::Tensor named = in_order(rows.indices);
  at::Tensor met = at::zeros(named.sizes(), at::kBool);
  const int64_t n = rows.operand.value.size(rows.dim), places = named.size(rows.dim);
  for (int64_t w = 0; w < named.numel(); ++w) {
    const auto plane = static_cast<size_t>(w / places * n);
    const std::vector<int64_t> looked_at = rows.windows[static_cast<size_t>(w)].elements();
    double least = -kInf;  // that the greatest may be
    for (int64_t i : looked_at) least = std::max(least, low[plane + static_cast<size_t>(i)]);
    const int64_t index = named.const_data_ptr<int64_t>()[w];
    const double own_width = width[plane + static_cast<size_t>(index)];
    met.mutable_data_ptr<bool>()[w] = std::ranges::any_of(looked_at, [&](int64_t i) {
      const size_t at = plane + static_cast<size_t>(i);
      return i != index && high[at] >= least && (ties_open || width[at] + own_width > 0);
    });
  }
  return met;
}

// How far the other indices lie that each open one may name, and which these are.
struct Opened {
  at::Tensor error, choice;  // laid out as rows' indices
};

Opened opened(FlowContext& in, const Call& call, const Rows& rows, const Intervals& all, const at::Tensor& open,
              const IndicesAtEnds& ends) {
  constexpr int64_t kMuch = int64_t{1} << 26;  // elements looked at for the first and the last that may be named
  auto at_end = [&](const at::Tensor& side, const at::Tensor& index) {
    return side.gather(rows.dim, (index.defined() ? index : rows.indices).reshape(rows.indices.sizes())).contiguous();
  };
  const at::Tensor least = at_end(all.low, ends.low), most = at_end(all.high, ends.high);
  const at::Tensor named = in_order(rows.indices), is_open = open.contiguous();
  Opened made{at::zeros(named.sizes(), at::kDouble), at::zeros(named.sizes(), at::kLong)};
  const int64_t n = rows.operand.value.size(rows.dim), places = named.size(rows.dim);
  const bool running = call.op->has(Trait::scan);  // of each the elements up to it
  Choices& choices = *in.store.choices();
  const OrderedElements& elements =
      choices.keep({doubles_of(all.low), doubles_of(all.high), rows.windows.empty() && !running && places > 1});
  const bool all_certain = !rows.operand.error.defined() || !at::any(rows.operand.error != 0).item<bool>();
  int64_t step = 1;
  for (int64_t d = rows.dim + 1; d < named.dim(); ++d) step *= named.size(d);
  const bool few = !rows.windows.empty() || at::sum(is_open).item<int64_t>() <= kMuch / std::max<int64_t>(n, 1);
  for (int64_t i = 0; i < named.numel(); ++i) {
    if (!is_open.const_data_ptr<bool>()[i]) continue;
    const int64_t inner = i % step, place = i / step % places, outer = i / step / places;
    const int64_t index = named.const_data_ptr<int64_t>()[i];
    const int64_t choice =
        choices.add({&elements, outer * n * step + inner, step, running ? place + 1 : n,
                     least.const_data_ptr<double>()[i], most.const_data_ptr<double>()[i],
                     rows.windows.empty() ? Window{} : rows.windows[static_cast<size_t>(i)], all_certain});
    if (few && !all_certain) choices.look_for_ties(choice);
    const Choices::Range range = few ? choices.range(choice) : Choices::Range{0, n - 1};
    made.error.mutable_data_ptr<double>()[i] = static_cast<double>(std::max(index - range.first, range.last - index));
    made.choice.mutable_data_ptr<int64_t>()[i] = choice;
  }
  return made;
}
}  // namespace

void mark_indices(FlowContext& in, const Call& call, const Planes& operand, const at::Tensor& indices,
                  const IndicesAtEnds& ends) {
  const std::optional<Rows> rows = operand.value.numel() > 0 ? rows_of(in, call, operand, indices) : std::nullopt;
  if (!rows) {
    const at::Tensor all = at::ones(indices.sizes(), at::kBool);
    return in.store.write(indices, at::full(indices.sizes(), kInf, at::kDouble), all);
  }
  const Intervals all = intervals_of(rows->operand);
  const bool any_tie = ties_open(*call.op, call.args);
  const at::Tensor open = rows->windows.empty()
                              ? has_rival(rows->operand, all, rows->dim, any_tie).gather(rows->dim, rows->indices)
                              : has_rival_in_window(*rows, all, any_tie);
  if (!at::any(open).item<bool>()) return;
  const Opened made = opened(in, call, *rows, all, open, ends);
  in.store.write(indices, made.error.reshape(indices.sizes()), open.reshape(indices.sizes()));
  in.store.choose(indices, made.choice.reshape(indices.sizes()));
}

namespace {
constexpr int64_t kFewIndices = 64;  // that one may be, to be tried one after the other

// The indices that each element of an index tensor may be, one realisation after the other, and where they may be too
// many, or anything.
struct Realised {
  std::vector<at::Tensor> indices;
  at::Tensor unknown;
};

Realised realise(FlowContext& in, const at::Tensor& indices) {
  const Planes p = in.store.read(indices);
  const at::Tensor value = in_order(indices.to(at::kLong)), error = p.error.contiguous();
  const at::Tensor choice = p.choice.defined() ? p.choice.contiguous() : at::Tensor();
  Realised made{{}, at::zeros(value.sizes(), at::kBool)};
  std::vector<std::vector<int64_t>> may_be(static_cast<size_t>(value.numel()));
  size_t most = 0;
  for (int64_t i = 0; i < value.numel(); ++i) {
    const int64_t v = value.const_data_ptr<int64_t>()[i],
                  open = choice.defined() ? choice.const_data_ptr<int64_t>()[i] : 0;
    const double e = error.const_data_ptr<double>()[i];
    std::vector<int64_t>& all = may_be[static_cast<size_t>(i)];
    if (e == 0) continue;
    if (open != 0) {
      all = in.store.choices()->candidates(open);
    } else if (e <= kFewIndices) {
      for (auto k = static_cast<int64_t>(-e); k <= static_cast<int64_t>(e); ++k) all.push_back(v + k);
    }
    if (all.empty() || all.size() > kFewIndices) {
      all.clear();
      made.unknown.mutable_data_ptr<bool>()[i] = true;
    }
    most = std::max(most, all.size());
  }
  for (size_t k = 0; k < most; ++k) {
    at::Tensor one = value.clone();
    for (int64_t i = 0; i < value.numel(); ++i)
      if (const auto& all = may_be[static_cast<size_t>(i)]; !all.empty())
        one.mutable_data_ptr<int64_t>()[i] = all[std::min(k, all.size() - 1)];
    made.indices.push_back(one.to(indices.scalar_type()));
  }
  return made;
}
}  // namespace

void read_by_open_indices(FlowContext& in, const Call& call, const Outcome& results) {
  at::Tensor by;  // the index that is open: two of them would have to be tried in all pairs
  size_t open = 0;
  for (size_t v = 0; v < call.values.size(); ++v)
    for (const at::Tensor& t : leaves({&call.values[v], 1}))
      if (!t.is_floating_point() && !t.is_complex() && !in.store.certain(t) && ++open == 1) by = t;
  const std::vector<at::Tensor> made = leaves(results.results);
  // What is read may be an open integer itself, or one of a list of what is put together, by no index.
  const Arg& read = call.args[0];
  const bool by_index =
      read.is_value() && call.values[read.value()] && !leaves({&call.values[read.value()], 1})[0].is_same(by);
  if (open != 1 || !by_index || made.size() != 1 || made[0].numel() == 0) return mark_unknown(in, results.results);
  const Realised realised = realise(in, by);
  const auto with = [&](const at::Tensor& indices, bool errors) {
    return run_on(in, call, call.args, [&](const Leaf& leaf) -> at::Tensor {
      if (leaf.value.is_same(by)) return indices;
      if (!errors || !(leaf.value.is_floating_point() || leaf.value.is_complex())) return leaf.value;
      const Planes p = in.store.read(leaf.value);
      return p.error.defined() ? p.error : zeros_like_plane(leaf.value);
    });
  };
  at::Tensor error = at::zeros(made[0].sizes(), at::kDouble);
  const bool floats = made[0].is_floating_point() || made[0].is_complex();
  std::vector<at::Tensor> tried = realised.indices;
  tried.push_back(by);
  for (const at::Tensor& indices : tried) {
    const std::vector<at::Tensor> other = with(indices, false),
                                  off = floats ? with(indices, true) : std::vector<at::Tensor>{};
    if (other.size() != 1 || (floats && off.size() != 1)) return mark_unknown(in, results.results);  // refused
    // How much a mask takes is open with it.
    if (other[0].sizes() != made[0].sizes()) return mark_unknown(in, results.results);
    const at::Tensor apart = magnitude(other[0] - made[0]);
    const at::Tensor same = other[0].eq(made[0]).logical_or(other[0].ne(other[0]).logical_and(made[0].ne(made[0])));
    at::Tensor away = nothing_where(same, apart, 0);
    if (floats) away = away + magnitude(off[0]);
    error = at::maximum(error, nothing_where(away.isnan(), away, kInf));
  }
  if (realised.unknown.any().item<bool>()) {
    // Which results read them: what an index of 0 and one of 1 make different of elements that all differ.
    const auto numbered = [&](int64_t index) {
      return run_on(in, call, call.args, [&](const Leaf& leaf) -> at::Tensor {
        if (leaf.value.is_same(by)) return by.masked_fill(realised.unknown, index);
        const bool read = leaf.param == 0;
        return read ? at::arange(leaf.value.numel(), at::kDouble).reshape(leaf.value.sizes()) : leaf.value;
      });
    };
    const std::vector<at::Tensor> first = numbered(0), second = numbered(1);
    if (first.size() != 1 || second.size() != 1 || first[0].sizes() != made[0].sizes() ||
        second[0].sizes() != made[0].sizes())
      return mark_unknown(in, results.results);
    error = nothing_where(first[0] != second[0], error, kInf);
  }
  settle(in, made[0], error, error > 0);
}

}  // namespace lenz::oracle
