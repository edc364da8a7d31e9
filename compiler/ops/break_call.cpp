#include "compiler/ops/break_call.h"

#include <cmath>

#include "compiler/graph/text.h"
#include "compiler/ops/layouts.h"

namespace lenz {

namespace {
struct Breaker {
  DrawnCall& call;
  Chooser& choose;

  Context& context() { return call.graph->context(); }

  // A site is an input tensor or an argument; negative answers of `break_*` mean "not this one".
  std::string break_input(size_t i) {
    Input& input = call.graph->input(i);
    TensorType t = call.graph->type(input.value).tensor();
    std::string what = call.graph->value_name(input.value) + ": ";
    switch (choose.below(6)) {
      case 0: {
        auto d = static_cast<Dtype>(choose.below(kDtypeCount));
        what += "dtype " + std::string(name(t.dtype)) + " -> " + std::string(name(d));
        t.dtype = d;
        refill(input, d);
        call.graph->set_type(input.value, context().tensor(t));
        return what;
      }
      case 1:
      case 2: {
        if (t.sizes.empty()) return {};
        size_t d = choose.below(t.sizes.size());
        int64_t old = t.sizes[d].constant();
        t.sizes[d] = choose.any_of<int64_t>({old + 1, 0, 1, old + 2});
        what += "size of dim " + std::to_string(d) + " " + std::to_string(old) + " -> " + to_string(t.sizes[d]);
        break;
      }
      case 3: {
        if (t.sizes.empty()) return {};
        size_t d = choose.below(t.sizes.size());
        t.sizes.erase(d);
        what += "without dim " + std::to_string(d);
        break;
      }
      case 4: {
        if (t.sizes.size() < 2) return {};
        const size_t d = choose.below(t.sizes.size() - 1);
        std::swap(t.sizes[d], t.sizes[d + 1]);
        what += "dims " + std::to_string(d) + " and " + std::to_string(d + 1) + " exchanged";
        break;
      }
      default: {
        const size_t at = choose.below(t.sizes.size() + 1);
        t.sizes.insert(at, Dim(choose.any_of<int64_t>({1, 2, 3})));
        what += "one dim more, at " + std::to_string(at);
      }
    }
    t.strides = contiguous_strides(t.sizes);
    t.offset = 0;
    call.graph->set_type(input.value, context().tensor(t));
    return what;
  }

  void refill(Input& input, Dtype dtype) {
    if (input.init.kind != Initialiser::uniform || is_inexact(dtype)) return;
    input.init.kind = Initialiser::integers;
    input.init.low = 0;
    input.init.high = 1;
  }

  int64_t odd_integer(int64_t old) {
    const int64_t more = old == INT64_MAX ? old : old + 1, less = old == INT64_MIN ? old : old - 1;
    return choose.any_of<int64_t>({more, less, -1, 0, 5, 6, -6, 100, -100});
  }

  // What eager resizes, if it takes it.
  Sizes other_sizes(Sizes sizes) {
    if (sizes.empty()) return {choose.any_of<int64_t>({0, 1, 3})};
    const size_t d = choose.below(sizes.size());
    switch (choose.below(5)) {
      case 0: sizes = {0}; break;
      case 1: sizes[d] = 0; break;
      case 2: sizes[d] += 1; break;
      case 3: sizes.insert(d, 1); break;
      default: sizes.erase(d);
    }
    return sizes;
  }

  // An out= tensor that is not such as the result: of other sizes or another dtype, however it lies.
  std::string break_out(const Input& input) {
    const Type& t = call.graph->type(input.value);
    TensorType odd = t.tensor();
    Sizes sizes;
    for (const Dim n : odd.sizes) sizes.push_back(n.constant());
    if (choose.flip()) sizes = other_sizes(sizes);
    const auto layout = static_cast<LayoutClass>(choose.below(kLayoutClasses));
    const Strided lies = draw_layout(layout, sizes, true, choose);
    odd.sizes = odd.strides = {};
    for (const int64_t n : sizes) odd.sizes.push_back(Dim(n));
    for (const int64_t n : lies.strides) odd.strides.push_back(Dim(n));
    odd.offset = lies.offset;
    if (choose.flip()) odd.dtype = static_cast<Dtype>(choose.below(kDtypeCount));
    call.graph->set_type(input.value, context().tensor(odd));
    return call.graph->value_name(input.value) + ": " + to_string(t) + " -> " +
           to_string(call.graph->type(input.value));
  }

  // All of the call's out= tensors.
  std::string break_outs() {
    std::string what;
    for (size_t i = 0; i < call.args.size(); ++i) {
      if (!call.op->schema.params[i].is_out || !call.args[i].is_value()) continue;
      Input& input = call.graph->input(call.graph->value(call.args[i].value()).index);
      what += (what.empty() ? "" : "; ") + break_out(input);
      input.init = {Initialiser::zeros};  // which each dtype has
    }
    return what;
  }

  // A number at the edge of what a dtype holds, or beyond.
  Arg odd_number(bool real) {
    const FiniteRange range = finite_range(static_cast<Dtype>(choose.below(kDtypeCount)));
    const double edge = choose.flip() ? range.high : range.low;
    const double beyond = edge == 0 ? -1 : edge * (1 + 0x1p-20);
    switch (choose.below(6)) {
      case 0: return Arg::of_real(edge);
      case 1: return Arg::of_real(choose.any_of<double>({INFINITY, -INFINITY, NAN, 1e300, -1e300}));
      case 2: return Arg::of_real(beyond);
      case 3: return Arg::of_real(real ? choose.any_of<double>({-1, 0, 0.5}) : choose.any_of<double>({-1, 0, 1e-39}));
      default: break;
    }
    const bool whole = !real && std::abs(edge) < 0x1p62;
    return whole ? Arg::of_int(static_cast<int64_t>(edge) + choose.between(-1, 1)) : Arg::of_real(edge + edge);
  }

  std::string break_number(size_t i) {
    Arg& a = call.args[i];
    const Param& p = call.op->schema.params[i];
    a = odd_number(p.type.kind == ParamKind::real);
    return p.name + ": " + GraphText(*call.graph).arg(a);
  }

  std::string break_arg(size_t i) {
    Arg& a = call.args[i];
    const Param& p = call.op->schema.params[i];
    std::string what = p.name + ": ";
    if ((p.type.kind == ParamKind::scalar || p.type.kind == ParamKind::real) && !p.type.list) return break_number(i);
    switch (a.kind) {
      case ArgKind::integer: {
        if (a.symbolic) return {};
        int64_t fresh = odd_integer(a.i);
        what += std::to_string(a.i) + " -> " + std::to_string(fresh);
        a = Arg::of_int(fresh);
        return what;
      }
      case ArgKind::int_list: {
        DimVec list(a.dim_list());
        size_t at = list.empty() ? 0 : choose.below(list.size());
        switch (list.empty() ? 0 : choose.below(4)) {
          case 0: list.insert(at, Dim(choose.any_of<int64_t>({1, 0, 2, -1}))); break;
          case 1: list.erase(at); break;
          case 2: list.push_back(list[at]); break;
          default: list[at] = odd_integer(list[at].constant());
        }
        a = context().dims(list);
        what += "another list, [";
        for (size_t k = 0; k < list.size(); ++k) what += (k ? ", " : "") + to_string(list[k]);
        return what + "]";
      }
      case ArgKind::dtype: {
        auto d = static_cast<Dtype>(choose.below(kDtypeCount));
        what += std::string(name(a.dtype())) + " -> " + std::string(name(d));
        a = Arg::of_dtype(d);
        return what;
      }
      case ArgKind::string: a = context().string("no such mode"); return what + "no such mode";
      case ArgKind::value:
        if (!p.type.optional) return {};
        a = Arg::none();
        return what + "none";
      case ArgKind::value_list: {
        if (a.count == 0) return {};
        SmallVec<ValueId, 8> list(a.value_list());
        if (choose.flip()) {
          list.pop_back();
        } else {
          list.clear();
        }
        a = context().values(list);
        return what + std::to_string(list.size()) + " tensors";
      }
      default: return {};
    }
  }
};
}  // namespace

std::string break_call(DrawnCall& call, Chooser& chooser) {
  Breaker breaker{call, chooser};
  size_t inputs = call.graph->inputs().size(), sites = 2 * inputs + call.args.size();
  std::string what;
  if (call.op->variant == VariantKind::out && chooser.chance(1, 3)) what = breaker.break_outs();
  for (int tries = 0; sites && what.empty() && tries < 20; ++tries) {
    size_t site = chooser.below(sites);
    what = site < 2 * inputs ? breaker.break_input(site / 2) : breaker.break_arg(site - 2 * inputs);
  }
  for (size_t i = 0; i < inputs; ++i) {
    Initialiser& init = call.graph->input(i).init;
    if (init.kind == Initialiser::integers || init.kind == Initialiser::permutation) init = {Initialiser::zeros};
  }
  return what;
}

}  // namespace lenz
