#include "oracle/controls/graph_maker.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "compiler/ops/op_table.h"

namespace lenz::oracle::controls {

namespace {

constexpr double kLargest = 1024;        // of any value
constexpr int64_t kElements = 4096;      // of any tensor
constexpr int64_t kProducts = 64 << 10;  // of a matrix product

struct Bounds {
  double low, high;
  double size() const { return std::max(std::fabs(low), std::fabs(high)); }
};
using Sizes = std::vector<int64_t>;

// What a function of one tensor does to an interval.
struct Unary {
  const char* op;
  Bounds (*of)(Bounds);
};
Bounds wide(Bounds b) { return {-b.size(), b.size()}; }
constexpr Unary kUnary[] = {
    {"aten.tanh", [](Bounds) { return Bounds{-1, 1}; }},
    {"aten.sigmoid", [](Bounds b) { return Bounds{1 / (1 + std::exp(-b.low)), 1}; }},
    {"aten.relu", [](Bounds b) { return Bounds{std::max(b.low, 0.0), std::max(b.high, 0.0)}; }},
    {"aten.sin", [](Bounds) { return Bounds{-1, 1}; }},
    {"aten.cos", [](Bounds) { return Bounds{-1, 1}; }},
    {"aten.erf", [](Bounds) { return Bounds{-1, 1}; }},
    {"aten.gelu", [](Bounds b) { return Bounds{-0.5, std::max(b.high, 0.0)}; }},
    {"aten.silu", [](Bounds b) { return Bounds{-0.5, std::max(b.high, 0.0)}; }},
    {"aten.hardswish", [](Bounds b) { return Bounds{-0.5, std::max(b.high, 0.0)}; }},
    {"aten.softplus", [](Bounds b) { return Bounds{0, std::max(b.high, 0.0) + 1}; }},
    {"aten.leaky_relu", wide},
    {"aten.elu", [](Bounds b) { return Bounds{-1, std::max(b.high, 0.0)}; }},
    {"aten.mish", [](Bounds b) { return Bounds{-0.5, std::max(b.high, 0.0)}; }},
    {"aten.atan", [](Bounds) { return Bounds{-1.6, 1.6}; }},
    {"aten.abs", [](Bounds b) { return Bounds{0, b.size()}; }},
    {"aten.neg", [](Bounds b) { return Bounds{-b.high, -b.low}; }},
    {"aten.square", [](Bounds b) { return Bounds{0, b.size() * b.size()}; }},
};
constexpr Unary kRoundings[] = {{"aten.floor", wide}, {"aten.round", wide}, {"aten.sign", wide}};
// Of operands above a quarter.
constexpr Unary kPositive[] = {
    {"aten.log", [](Bounds b) { return Bounds{std::log(b.low), std::log(b.high)}; }},
    {"aten.sqrt", [](Bounds b) { return Bounds{std::sqrt(b.low), std::sqrt(b.high)}; }},
    {"aten.rsqrt", [](Bounds b) { return Bounds{1 / std::sqrt(b.high), 1 / std::sqrt(b.low)}; }},
    {"aten.reciprocal", [](Bounds b) { return Bounds{1 / b.high, 1 / b.low}; }},
    {"aten.log2", [](Bounds b) { return Bounds{std::log2(b.low), std::log2(b.high)}; }},
    {"aten.log1p", [](Bounds b) { return Bounds{0, std::log1p(b.high)}; }},
};

class Maker {
 public:
  Maker(Chooser& choose, const GraphMakerOptions& options) : c_(choose), options_(options) {}

  std::unique_ptr<Graph> make() {
    graph_ = std::make_unique<Graph>(std::make_shared<Context>(), op_table(), "control");
    const size_t target =
        static_cast<size_t>(c_.between(static_cast<int64_t>(options_.least), static_cast<int64_t>(options_.most)));
    input(shape());
    if (c_.flip()) input(sibling(graph_->inputs()[0].value));
    // A step may take a few ops; the last ones are kept for what every graph must have.
    while (graph_->node_count() + 2 < target) {
      if (!reduced_ && graph_->node_count() * 2 >= target) {
        reduction(recent());
      } else {
        step(target - graph_->node_count());
      }
    }
    if (!reduced_) reduction(recent());
    if (!fans_out()) {
      ValueId x = last_float();
      ValueId y = unary(x, kUnary[0]);
      call("aten.mul", {Arg::of_value(y), Arg::of_value(x)}, wide(bounds(x)));
    }
    while (graph_->node_count() < options_.least) unary(last_float(), kUnary[c_.below(3)]);
    finish();
    return graph_->clone();  // values numbered densely, inputs first: as its text would be read
  }

 private:
  // --- values
  struct Known {
    ValueId value;
    Bounds bounds;
  };
  Bounds bounds(ValueId v) const { return std::ranges::find(known_, v, &Known::value)->bounds; }
  Dtype dtype(ValueId v) const { return graph_->type(v).dtype; }
  Sizes sizes(ValueId v) const {
    Sizes s;
    for (Dim d : graph_->type(v).sizes()) s.push_back(d.constant());
    return s;
  }
  static int64_t count(const Sizes& s) {
    int64_t n = 1;
    for (int64_t d : s) n *= d;
    return n;
  }
  static DimVec dims_of(const Sizes& s) {
    DimVec dims;
    for (int64_t d : s) dims.push_back(d);
    return dims;
  }
  int64_t rank(ValueId v) const { return static_cast<int64_t>(graph_->type(v).rank()); }

  ValueId recent() {  // often a new one, and one that nobody uses yet
    std::vector<ValueId> unused;
    for (const Known& k : known_)
      if (graph_->value(k.value).users.empty()) unused.push_back(k.value);
    if (!unused.empty() && c_.below(3) != 0) return unused[unused.size() - 1 - c_.below(unused.size())];
    return known_[known_.size() - 1 - c_.below(known_.size())].value;
  }
  ValueId last_float() const { return known_.back().value; }
  bool fans_out() const {
    for (ValueId v = 0; v < graph_->value_count(); ++v)
      if (graph_->value(v).users.size() > 1) return true;
    return false;
  }

  Sizes shape() {
    constexpr int64_t kSizes[] = {8, 5, 17, 33, 64, 1, 8, 5, 17, 33, 64};
    while (true) {
      Sizes s;
      size_t rank = 1 + c_.below(3);
      for (size_t i = 0; i < rank; ++i) s.push_back(c_.pick(kSizes));
      if (rank == 3 && c_.flip()) s[0] = c_.any_of<int64_t>({1, 5, 8});
      if (count(s) <= kElements) return s;
    }
  }
  // A shape that broadcasts into v's.
  Sizes sibling(ValueId v) {
    Sizes s = sizes(v);
    if (s.empty() || c_.flip()) return s;
    if (c_.flip()) {
      s[c_.below(s.size())] = 1;
    } else {
      s.erase(s.begin(), s.begin() + static_cast<ptrdiff_t>(c_.below(s.size())));
    }
    return s;
  }

  ValueId input(const Sizes& s, bool positive = false) {
    const DimVec dims = dims_of(s);
    Dtype d = options_.dtype;
    if (c_.below(16) == 15) d = c_.any_of({Dtype::f32, Dtype::f16, Dtype::bf16, Dtype::f64});
    ValueId v = graph_->add_input("x" + std::to_string(graph_->inputs().size()),
                                  graph_->context().tensor(contiguous_tensor(d, dims)));
    Initialiser& init = graph_->input(graph_->inputs().size() - 1).init;
    init.seed = c_.below(1u << 20);
    Bounds b{-2, 2};
    if (positive) {
      b = {0.5, 2.5};
    } else if (c_.below(4) == 3) {
      init.kind = Initialiser::normal;
      init.low = 0, init.high = 1;
      b = {-6, 6};
      known_.push_back({v, b});
      return v;
    } else if (c_.below(4) == 3) {
      b = {0.25, 4};
    } else if (c_.below(6) == 5) {
      b = {-0.03125, 0.03125};
    }
    init.kind = Initialiser::uniform;
    init.low = b.low, init.high = b.high;
    known_.push_back({v, b});
    return v;
  }
  ValueId indices(const Sizes& s, int64_t bound) {
    const DimVec dims = dims_of(s);
    ValueId v = graph_->add_input("i" + std::to_string(graph_->inputs().size()),
                                  graph_->context().tensor(contiguous_tensor(Dtype::i64, dims)));
    graph_->input(graph_->inputs().size() - 1).init = {Initialiser::integers, 0, static_cast<double>(bound - 1),
                                                       c_.below(1u << 20)};
    return v;
  }
  // Another operand for v: an older value that broadcasts into its shape, or a new input.
  ValueId partner(ValueId v) {
    const Sizes s = sizes(v);
    std::vector<ValueId> fitting;
    for (const Known& k : known_)
      if (k.value != v && broadcasts(sizes(k.value), s)) fitting.push_back(k.value);
    if (fitting.empty() || c_.below(4) == 3) return input(sibling(v));
    return fitting[fitting.size() - 1 - c_.below(fitting.size())];
  }
  static bool broadcasts(const Sizes& from, const Sizes& to) {
    if (from.size() > to.size()) return false;
    for (size_t i = 0; i < from.size(); ++i)
      if (from[from.size() - 1 - i] != to[to.size() - 1 - i] && from[from.size() - 1 - i] != 1) return false;
    return true;
  }

  // --- calls
  NodeId append(std::string_view op, std::initializer_list<Arg> positional, std::initializer_list<Keyword> keywords) {
    Resolved r = resolve(*graph_, op, {positional.begin(), positional.size()}, {keywords.begin(), keywords.size()});
    return graph_->append(*r.op, r.args);
  }
  // A call whose first result lies within `b`: brought back into range where that is large.
  ValueId call(std::string_view op, std::initializer_list<Arg> positional, Bounds b,
               std::initializer_list<Keyword> keywords = {}) {
    ValueId v = graph_->node(append(op, positional, keywords)).result();
    if (!is_floating(dtype(v))) return v;
    known_.push_back({v, b});
    if (b.size() <= kLargest) return v;
    return scaled(v, std::exp2(std::floor(std::log2(8 / b.size()))) * 1.25);
  }
  ValueId scaled(ValueId v, double by) {
    Bounds b = bounds(v);
    return call("aten.mul", {Arg::of_value(v), Arg::of_real(by)}, {b.low * by, b.high * by});
  }
  ValueId at_most(ValueId v, double size) { return bounds(v).size() <= size ? v : scaled(v, size / bounds(v).size()); }
  ValueId unary(ValueId v, const Unary& u) { return call(u.op, {Arg::of_value(v)}, u.of(bounds(v))); }
  // A value of v's shape that is above a quarter.
  ValueId positive(ValueId v) {
    Bounds b = bounds(v);
    if (b.low >= 0.25) return v;
    switch (c_.below(4)) {
      case 1: {
        ValueId e = call("aten.exp", {Arg::of_value(at_most(v, 1))}, {std::exp(-1.0), std::exp(1.0)});
        return e;
      }
      case 2: {
        ValueId s = call("aten.mul", {Arg::of_value(v), Arg::of_value(v)}, {0, b.size() * b.size()});
        return call("aten.add", {Arg::of_value(s), Arg::of_real(0.3)}, {0.3, bounds(s).high + 0.3});
      }
      case 3: return input(sizes(v), true);
      default: {
        ValueId a = call("aten.abs", {Arg::of_value(v)}, {0, b.size()});
        return call("aten.add", {Arg::of_value(a), Arg::of_real(0.5)}, {0.5, b.size() + 0.5});
      }
    }
  }

  // --- steps
  void step(size_t left) {
    ValueId v = recent();
    switch (c_.below(left > 4 ? 16 : 12)) {
      case 0:
      case 1:
      case 2: unary(at_most(v, 30), c_.pick(kUnary)); return;
      case 3:
      case 4:
      case 5: binary(v); return;
      case 6: number(v); return;
      case 7:
      case 8:
      case 9: movement(v); return;
      case 10:
      case 11: reduction(v); return;
      case 12: {
        ValueId p = positive(v);
        unary(p, c_.pick(kPositive));
        return;
      }
      case 13: call("aten.exp", {Arg::of_value(at_most(v, 3))}, {0, std::exp(3.0)}); return;
      case 14: choice(v); return;
      default: rare(v); return;
    }
  }

  void binary(ValueId v) {
    ValueId w = partner(v);
    Bounds a = bounds(v), b = bounds(w);
    Arg x = Arg::of_value(v), y = Arg::of_value(w);
    const double p = a.size() * b.size();
    switch (c_.below(9)) {
      case 0:
      case 1: call("aten.add", {x, y}, {a.low + b.low, a.high + b.high}); return;
      case 2: call("aten.sub", {x, y}, {a.low - b.high, a.high - b.low}); return;
      case 3: call("aten.sub", {y, x}, {b.low - a.high, b.high - a.low}); return;
      case 4:
      case 5: call("aten.mul", {x, y}, {a.low >= 0 && b.low >= 0 ? a.low * b.low : -p, p}); return;
      case 6: call("aten.maximum", {x, y}, {std::max(a.low, b.low), std::max(a.high, b.high)}); return;
      case 7: call("aten.minimum", {x, y}, {std::min(a.low, b.low), std::min(a.high, b.high)}); return;
      default: {
        ValueId d = positive(w);
        double q = a.size() / bounds(d).low;
        call("aten.div", {x, Arg::of_value(d)}, {a.low >= 0 ? 0 : -q, q});
        return;
      }
    }
  }
  void number(ValueId v) {
    const double n = c_.any_of({0.5, 2.0, 0.1, -1.5, 3.0, 0.37, 1.0 / 3, 7.0});
    Bounds b = bounds(v);
    Arg x = Arg::of_value(v), y = Arg::of_real(n);
    switch (c_.below(4)) {
      case 0: call("aten.add", {x, y}, {b.low + n, b.high + n}); return;
      case 1: call("aten.mul", {x, y}, {std::min(b.low * n, b.high * n), std::max(b.low * n, b.high * n)}); return;
      case 2: call("aten.div", {x, y}, {std::min(b.low / n, b.high / n), std::max(b.low / n, b.high / n)}); return;
      default: call("aten.rsub", {x, y}, {n - b.high, n - b.low}); return;
    }
  }

  void movement(ValueId v) {
    Context& context = graph_->context();
    const Sizes s = sizes(v);
    const int64_t r = rank(v);
    const Bounds b = bounds(v);
    if (r == 0) return number(v);
    const auto dim = static_cast<int64_t>(c_.below(static_cast<uint64_t>(r)));
    const int64_t n = s[static_cast<size_t>(dim)];
    Arg x = Arg::of_value(v), d = Arg::of_int(dim);
    switch (c_.below(12)) {
      case 0: call("aten.transpose", {x, d, Arg::of_int(r - 1)}, b); return;
      case 1: {
        std::vector<int64_t> order(static_cast<size_t>(r));
        for (int64_t i = 0; i < r; ++i) order[static_cast<size_t>(i)] = r - 1 - i;
        call("aten.permute", {x, context.ints(order)}, b);
        return;
      }
      case 2: {
        const int64_t from = n > 1 ? c_.between(0, n / 2) : 0, step = c_.any_of<int64_t>({1, 1, 2});
        call("aten.slice", {x, d, Arg::of_int(from), Arg::of_int(n), Arg::of_int(step)}, b);
        return;
      }
      case 3: call("aten.flip", {x, context.ints(std::vector<int64_t>{dim})}, b); return;
      case 4: {
        ValueId other = c_.flip() ? v : partner(v);
        if (sizes(other) != s) other = v;
        if (count(s) * 2 > kElements) return number(v);
        Bounds o = bounds(other);
        ValueId both[] = {v, other};
        call("aten.cat", {context.values(both), d}, {std::min(b.low, o.low), std::max(b.high, o.high)});
        return;
      }
      case 5: call("aten.reshape", {x, context.ints(std::vector<int64_t>{-1})}, b); return;
      case 6: {
        if (r > 2) return number(v);
        call("aten.unsqueeze", {x, d}, b);
        return;
      }
      case 7:
        call("aten.roll",
             {x, context.ints(std::vector<int64_t>{c_.between(1, 3)}), context.ints(std::vector<int64_t>{dim})}, b);
        return;
      case 8: {
        ValueId i = indices({c_.any_of<int64_t>({8, 5, 17})}, n);
        if (count(s) / n * 17 > kElements) return number(v);
        call("aten.index_select", {x, d, Arg::of_value(i)}, b);
        return;
      }
      case 9: {
        ValueId i = indices(s, n);
        call("aten.gather", {x, d, Arg::of_value(i)}, b);
        return;
      }
      case 10:
        if (r < 2) return number(v);
        call(c_.flip() ? "aten.tril" : "aten.triu", {x}, {std::min(b.low, 0.0), std::max(b.high, 0.0)});
        return;
      default:
        if (count(s) / n * (n + 2) > kElements) return number(v);
        call("aten.constant_pad_nd", {x, context.ints(std::vector<int64_t>{1, 1})},
             {std::min(b.low, 0.0), std::max(b.high, 0.0)});
        return;
    }
  }

  void spread(Arg x, Arg dims, Arg keep, const Bounds& b) {
    const char* op = c_.flip() ? "aten.var" : "aten.std";
    call(op, {x, dims}, {0, 2 * b.size() * b.size()},
         {{"correction", Arg::of_int(c_.between(0, 1))}, {"keepdim", keep}});
  }

  void reduction(ValueId v) {
    Context& context = graph_->context();
    const int64_t r = rank(v);
    if (r == 0) v = input(shape());
    const Sizes s = sizes(v);
    const auto dim = static_cast<int64_t>(c_.below(s.size()));
    const bool all = c_.below(8) == 7;
    const auto n = static_cast<double>(all ? count(s) : s[static_cast<size_t>(dim)]);
    std::vector<int64_t> one{dim};
    if (all) {
      one.clear();
      for (size_t i = 0; i < s.size(); ++i) one.push_back(static_cast<int64_t>(i));
    }
    Arg dims = context.ints(one), keep = Arg::of_bool(c_.below(3) != 0);
    reduced_ = true;
    // Sums of squares have to stay in range too.
    v = at_most(v, std::sqrt(kLargest / n));
    const Bounds b = bounds(v);
    Arg x = Arg::of_value(v);
    switch (c_.below(14)) {
      case 0:
      case 1: call("aten.sum", {x, dims, keep}, {b.low * n, b.high * n}); return;
      case 2:
      case 3: call("aten.mean", {x, dims, keep}, b); return;
      case 4: call("aten.amax", {x, dims, keep}, b); return;
      case 5: call("aten.amin", {x, dims, keep}, b); return;
      case 6: call("aten._softmax", {x, Arg::of_int(dim), Arg::of_bool(false)}, {0, 1}); return;
      case 7:
        call("aten._log_softmax", {x, Arg::of_int(dim), Arg::of_bool(false)}, {-2 * b.size() - std::log(n), 0});
        return;
      case 8:
        if (s[static_cast<size_t>(dim)] < 2) {
          call("aten.mean", {x, dims, keep}, b);
          return;
        }
        spread(x, dims, keep, b);
        return;
      case 9: layer_norm(v); return;
      case 10: call("aten.logsumexp", {x, dims, keep}, {b.low, b.high + std::log(n)}); return;
      case 11: {
        const double m = s[static_cast<size_t>(dim)];
        call("aten.cumsum", {x, Arg::of_int(dim)}, {-b.size() * m, b.size() * m});
        return;
      }
      default: product(v); return;
    }
  }
  void layer_norm(ValueId v) {
    const Sizes s = sizes(v);
    const int64_t n = s.back();
    if (n == 1) return static_cast<void>(call("aten.sum", {Arg::of_value(v)}, {-kLargest, kLargest}));
    Arg shape = graph_->context().ints(std::vector<int64_t>{n});
    const double largest = std::sqrt(static_cast<double>(n));
    Arg weight = Arg::none(), bias = Arg::none();
    double factor = 1;
    if (c_.flip()) {
      ValueId w = input_like(v, {n}), o = input_like(v, {n});
      factor = bounds(w).size() + bounds(o).size();
      weight = Arg::of_value(w), bias = Arg::of_value(o);
    }
    call("aten.layer_norm", {Arg::of_value(v), shape, weight, bias, Arg::of_real(c_.any_of({1e-5, 1e-3}))},
         {-largest * factor, largest * factor});
  }
  // An input of v's dtype.
  ValueId input_like(ValueId v, const Sizes& s) {
    Dtype before = options_.dtype;
    options_.dtype = dtype(v);
    ValueId made = input(s);
    options_.dtype = before;
    if (dtype(made) == dtype(v)) return made;
    return call("aten._to_copy", {Arg::of_value(made)}, bounds(made), {{"dtype", Arg::of_dtype(dtype(v))}});
  }
  void product(ValueId v) {
    const Sizes s = sizes(v);
    const int64_t k = s.back();
    const int64_t n = c_.any_of<int64_t>({8, 5, 17, 1, 33});
    if (s.size() > 2 || count(s) * n > kProducts) {
      call("aten.sum", {Arg::of_value(v)}, {-kLargest, kLargest});
      return;
    }
    ValueId w =
        s.size() == 2 && c_.below(4) == 3 && dtype(v) == options_.dtype ? transposed_of(v) : input_like(v, {k, n});
    const double m = bounds(v).size() * bounds(w).size() * static_cast<double>(k);
    if (s.size() == 1) {
      call("aten.matmul", {Arg::of_value(v), Arg::of_value(w)}, {-m, m});
    } else {
      call(c_.flip() ? "aten.mm" : "aten.matmul", {Arg::of_value(v), Arg::of_value(w)}, {-m, m});
    }
  }
  ValueId transposed_of(ValueId v) { return call("aten.t", {Arg::of_value(v)}, bounds(v)); }

  void choice(ValueId v) {
    const Bounds b = bounds(v);
    Arg x = Arg::of_value(v);
    ValueId w = partner(v);
    const Bounds o = bounds(w);
    NodeId test = c_.flip() ? append(c_.any_of({"aten.gt", "aten.le"}), {x, Arg::of_value(w)}, {})
                            : append(c_.any_of({"aten.lt", "aten.ge"}), {x, Arg::of_real(0.25)}, {});
    const Bounds both{std::min(b.low, o.low), std::max(b.high, o.high)};
    call("aten.where", {Arg::of_value(graph_->node(test).result()), x, Arg::of_value(w)}, both);
  }

  void rare(ValueId v) {
    Arg x = Arg::of_value(v);
    const Bounds b = bounds(v);
    switch (c_.below(6)) {
      case 0: {
        constexpr Dtype kFloats[] = {Dtype::f32, Dtype::f16, Dtype::bf16, Dtype::f64};
        call("aten._to_copy", {x}, b, {{"dtype", Arg::of_dtype(c_.pick(kFloats))}});
        return;
      }
      case 1: {
        ValueId y = unary(scaled(v, 3.5), c_.pick(kRoundings));
        static_cast<void>(y);
        return;
      }
      case 2: call("aten.clamp", {x, Arg::of_real(-0.75), Arg::of_real(1.5)}, {-0.75, 1.5}); return;
      case 3: call("aten.addcmul", {x, x, Arg::of_value(input_like(v, sizes(v)))}, wide({0, b.size() * 8})); return;
      case 4:
        call("aten.lerp", {x, Arg::of_value(input_like(v, sizes(v))), Arg::of_real(0.3)}, wide({0, b.size() + 8}));
        return;
      default: call("aten.expand_copy", {x, graph_->context().dims(widened(v))}, b); return;
    }
  }
  DimVec widened(ValueId v) {
    DimVec dims;
    const Sizes s = sizes(v);
    if (count(s) * 5 <= kElements && s.size() < 3) dims.push_back(5);
    for (int64_t d : s) dims.push_back(d);
    return dims;
  }

  void finish() {
    std::vector<Arg> outputs;
    graph_->for_each_node([&](NodeId id) {
      const Node& node = graph_->node(id);
      for (uint16_t i = 0; i < node.result_count; ++i)
        if (graph_->value(node.result(i)).users.empty()) outputs.push_back(Arg::of_value(node.result(i)));
    });
    graph_->set_outputs(outputs);
    for (size_t i = graph_->inputs().size(); i-- > 0;)
      if (graph_->value(graph_->inputs()[i].value).users.empty()) graph_->remove_input(i);
  }

  Chooser& c_;
  GraphMakerOptions options_;
  std::unique_ptr<Graph> graph_;
  std::vector<Known> known_;
  bool reduced_ = false;
};

}  // namespace

std::unique_ptr<Graph> make_graph(Chooser& choose, const GraphMakerOptions& options) {
  return Maker(choose, options).make();
}

std::unique_ptr<Graph> with_every_result(const Graph& graph) {
  auto all = graph.clone();
  std::vector<Arg> outputs;
  all->for_each_node([&](NodeId id) {
    const Node& node = all->node(id);
    for (uint16_t i = 0; i < node.result_count; ++i)
      if (all->type(node.result(i)).is_tensor()) outputs.push_back(Arg::of_value(node.result(i)));
  });
  all->set_outputs(outputs);
  return all;
}

}  // namespace lenz::oracle::controls
