#include "oracle/demands.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "compiler/ops/wants.h"
#include "compiler/scalar/rounding.h"
#include "compiler/scalar/scalar.h"
#include "oracle/binding.h"
#include "oracle/expanded.h"

namespace lenz::oracle {

void Demand::narrow(const Demand& other) {
  hopeless |= other.hopeless;
  counted |= other.counted;
  if (other.strict && !strict) {
    Demand first = *this;
    *this = other;
    return narrow(first);
  }
  sorted |= other.sorted;
  double l = std::max(low, other.low), h = std::min(high, other.high);
  if (l <= h) {
    low = l;
    high = h;
    nonzero |= other.nonzero;
  }
  double ul = std::max(usual.low, other.usual.low), uh = std::min(usual.high, other.usual.high);
  if (ul <= uh) usual = {ul, uh, usual.exclude_zero || other.usual.exclude_zero};
}

namespace {
constexpr double kInf = std::numeric_limits<double>::infinity();

// Ranges that an operand may be asked to lie in, widest and most usual first.
constexpr std::pair<double, double> kRanges[] = {
    {-kInf, kInf}, {0, kInf},        {0x1p-10, kInf}, {-4, 4},     {-2, 2},           {0, 4},           {0.125, 4},
    {-1, 1},       {0.0625, 0.9375}, {1.125, 4},      {0.25, 1},   {2.5, 6},          {-0.5, 0.5},      {0, 0.25},
    {1, 1.5},      {-0.25, 0.25},    {-4, -0.125},    {-1, -0.25}, {-0.0625, 0.0625}, {0.03125, 0.0625}};

struct Candidate {
  double low, high;
  bool nonzero = false;
};

class Analysis {
 public:
  Analysis(const Graph& graph, const SymValues& sizes) : graph_(graph.clone()), sizes_(sizes) {}

  std::vector<Demand> run() {
    expand_definitions(*graph_, [&](const Node& node) { own_demands(node); });
    demands_.resize(graph_->value_count());
    for (NodeId id = graph_->last(); id != kNone; id = graph_->previous(id)) visit(graph_->node(id));
    std::vector<Demand> inputs;
    for (const Input& input : graph_->inputs()) inputs.push_back(demands_[input.value]);
    return inputs;
  }

  bool says_beyond() {
    const std::vector<Demand> asked = run();
    for (size_t i = 0; i < asked.size(); ++i) {
      const Initialiser& init = graph_->inputs()[i].init;
      if (init.kind == Initialiser::integers && asked[i].strict && init.high > asked[i].high) return true;
    }
    bool beyond = false;
    graph_->for_each_node([&](NodeId id) {
      const Node& node = graph_->node(id);
      if (node.arg_count == 0 || node.args[0].kind != ArgKind::data || !at(node.result()).strict) return;
      const ConstantData& data = *node.args[0].data;
      beyond = beyond || (is_integral(data.type.dtype, false) && greatest(data) > at(node.result()).high);
    });
    return beyond;
  }

 private:
  static double greatest(const ConstantData& data) {
    const auto size = static_cast<size_t>(item_size(data.type.dtype));
    double most = -kInf;
    for (size_t at = 0; data.bytes && at + size <= data.bytes->size(); at += size) {
      ScalarBits bits{};
      std::memcpy(bits.data(), data.bytes->data() + at, size);
      most = std::max(most, static_cast<double>(from_bits(data.type.dtype, bits).integer()));
    }
    return most;
  }

  Demand& at(ValueId v) {
    if (v >= demands_.size()) demands_.resize(v + 1);
    return demands_[v];
  }

  // What the row says of its operands by itself.
  void own_demands(const Node& node) {
    for (const OperandWant& want : wants_of(*graph_, *node.op, node.arguments())) {
      Demand d;
      d.strict = want.kind != OperandWant::sorted && want.kind != OperandWant::counted;
      switch (want.kind) {
        case OperandWant::sorted: d.sorted = true; break;
        case OperandWant::counted: d.counted = true; break;
        case OperandWant::within:
          d.low = want.low;
          d.high = want.high;
          break;
        case OperandWant::natural:
          d.low = 0;
          d.high = 8;
          break;
        case OperandWant::below:
          d.low = 0;
          d.hopeless = evaluate(want.bound, sizes_) == 0;
          d.high = static_cast<double>(std::max<int64_t>(evaluate(want.bound, sizes_).value_or(1), 1) - 1);
          break;
      }
      at(want.value).narrow(d);
    }
    const Domain& domain = node.op->domain;
    if (domain.low == Domain().low && domain.high == Domain().high && !domain.exclude_zero) return;
    for (const Arg& a : node.arguments())
      for_each_value(a, [&](ValueId v) {
        const Type& t = graph_->type(v);
        if (t.is_tensor() && t.dtype != Dtype::b8) at(v).narrow({.usual = domain});
      });
  }

  void visit(const Node& node) {
    own_demands(node);
    if (node.op->schema.mutates() && !node.op->scalar.empty() && node.result_count == 0) return;
    if (const ScalarRow* row = node.op->scalar.empty() ? nullptr : find_scalar(node.op->scalar);
        row && row->result != ResultRule::target)
      return through_primitive(node, *row);
    through_subgraphs(node);
    for (uint16_t i = 0; i < node.result_count; ++i) {
      Demand d = at(node.result(i));
      if (moves(node)) {
        for_each_operand(node, node.result(i), [&](ValueId v) { at(v).narrow(d); });
      } else if (d.low > -kInf || d.high < kInf) {
        through_sums(node, node.result(i), d);
      }
    }
  }

  // What control flow hands on, as the inputs of each of its sub-graphs: the tensors of its lists, one after another.
  void through_subgraphs(const Node& node) {
    SmallVec<ValueId, 8> handed;  // kNone: a number
    for (const Arg& a : node.arguments()) {
      if (a.kind == ArgKind::value_list)
        for (ValueId v : a.value_list()) handed.push_back(v);
      if (a.kind == ArgKind::arg_list)
        for (const Arg& e : a.arg_list()) handed.push_back(e.is_value() ? e.value() : kNone);
      if (a.kind == ArgKind::int_list) handed.resize(handed.size() + a.dim_list().size(), kNone);
    }
    for (const Arg& a : node.arguments())
      if (a.kind == ArgKind::graph) through_subgraph(*graph_->subgraphs[a.graph()], handed);
  }

  void through_subgraph(const Graph& sub, std::span<const ValueId> handed) {
    Binding known;
    const size_t count = std::min(handed.size(), sub.inputs().size());
    for (size_t i = 0; i < count; ++i) {
      if (handed[i] == kNone) continue;
      const Type &inside = sub.type(sub.inputs()[i].value), &outside = graph_->type(handed[i]);
      if (!inside.is_tensor() || !outside.is_tensor() || outside.rank() < inside.rank()) continue;
      const size_t sliced = outside.rank() - inside.rank();  // along its first dim
      for (size_t d = 0; d < inside.rank(); ++d)
        if (auto size = evaluate(outside.sizes()[sliced + d], sizes_)) known.match(inside.sizes()[d], *size);
    }
    const SymValues sizes = known.lookup();
    const std::vector<Demand> asked = Analysis(sub, sizes).run();
    for (size_t i = 0; i < count; ++i)
      if (handed[i] != kNone && !asked[i].hopeless) at(handed[i]).narrow(asked[i]);  // a branch may not be taken
  }

  bool moves(const Node& node) const {
    constexpr Trait kMoves[] = {Trait::movement, Trait::view, Trait::maybe_view, Trait::structural};
    bool copies = node.result_count && node.op->copies.has(graph_->type(node.result()).dtype);
    return copies || !node.op->scalar.empty() || std::ranges::any_of(kMoves, [&](Trait t) { return node.op->has(t); });
  }

  // Tensors that may lend their values to a result: those of numbers, if it is one of numbers, and in lists too.
  // Indices have demands of their own, which are strict and stay.
  template <class F>
  void for_each_operand(const Node& node, ValueId result, F&& visit) {
    const Type& r = graph_->type(result);
    for (size_t i = 0; i < node.arg_count; ++i)
      for_each_value(node.args[i], [&](ValueId v) {
        const Type& t = graph_->type(v);
        bool number = t.is_tensor() && t.dtype != Dtype::b8;
        bool index = number && is_integral(t.dtype, false) && r.is_tensor() && is_inexact(r.dtype);
        bool casts = node.op->copies.bits != 0 || !node.op->scalar.empty();
        if ((number && (!index || casts)) || t.kind == TypeKind::list) visit(v);
      });
  }

  // A sum, mean or greatest of n elements, a product of matrices: its sign is that of its terms.
  void through_sums(const Node& node, ValueId result, const Demand& d) {
    const Type& r = graph_->type(result);
    if (!r.is_tensor() || !is_inexact(r.dtype)) return;
    for (const Arg& a : node.arguments())
      for_each_value(a, [&](ValueId v) {
        const Type& t = graph_->type(v);
        if (!t.is_tensor() || !is_inexact(t.dtype)) return;
        // Whether it is a sum or a mean the traits don't say; wide ranges are for fear of overflow alone. What picks
        // elements adds nothing up, and terms of both signs hardly ever add up to more than 2 sqrt(n) of them.
        const bool wide = d.low <= -4 && d.high >= 4, picks = node.op->accuracy == Accuracy::exact;
        double n = wide || picks ? 1 : std::max(1.0, elements(t) / std::max(1.0, elements(r)));
        if (!d.strict && d.low < 0 && d.high > 0) n = std::min(n, 2 * std::sqrt(n));
        Demand part;
        part.low = d.low > 0 || d.low == -kInf ? d.low : d.low / n;
        // A sum is positive where its terms are not all zero. Asked of each, the squares behind a variance would leave
        // their operands one sign and hardly any spread.
        if (n > 1 && d.low > 0 && d.low <= d.high / 4) part.low = 0;
        part.high = d.high / n;
        if (part.low > part.high) part.high = std::max(part.low * 2, d.high);
        at(v).narrow(part);
      });
  }

  double elements(const Type& t) const {
    double n = 1;
    for (Dim d : t.sizes()) n *= static_cast<double>(evaluate(d, sizes_).value_or(1));
    return n;
  }

  // --- elementwise ops: which ranges of the operands give results that are asked for, or at least defined

  struct Operand {
    ValueId value = kNone;  // kNone: a literal
    double literal = 0;
    bool boolean = false;
  };

  void through_primitive(const Node& node, const ScalarRow& row) {
    if (node.arg_count < row.arity || node.result_count == 0) return;
    SmallVec<Operand, 3> operands;
    std::optional<Dtype> compute;
    for (int i = 0; i < row.arity; ++i) {
      const Arg& a = node.args[i];
      Operand o;
      if (a.is_value() && graph_->type(a.value()).is_tensor()) {
        Dtype d = graph_->type(a.value()).dtype;
        o = {a.value(), 0, d == Dtype::b8};
        bool counts = !(row.operands == OperandRule::condition_first && i == 0);
        if (counts) compute = compute ? promote(*compute, d).value_or(d) : d;
      } else if (a.kind == ArgKind::real) {
        o.literal = a.real();
      } else if (auto known = a.kind == ArgKind::integer ? evaluate(a.dim(), sizes_) : std::nullopt) {
        o.literal = static_cast<double>(*known);
      } else if (a.kind == ArgKind::boolean) {
        o.literal = a.boolean();
      } else {
        return;
      }
      operands.push_back(o);
    }
    if (!compute || is_complex(*compute)) return;
    bool integers = is_integral(*compute, true) && !node.op->has(Trait::makes_float);
    if (integers)
      for (const Operand& o : operands)
        if (o.value == kNone && o.literal != std::floor(o.literal)) integers = false;
    Dtype in = integers ? *compute : Dtype::f64;
    if (!row.dtypes.has(in)) return;
    const Type& result = graph_->type(node.result());
    Demand wanted = at(node.result());
    if (is_floating(result.dtype)) {
      double most = largest_finite(result.dtype) / 4;
      wanted.low = std::max(wanted.low, -most);
      wanted.high = std::min(wanted.high, most);
    }
    SmallVec<ValueId, 3> free;  // distinct
    for (const Operand& o : operands)
      if (o.value != kNone && !o.boolean && std::ranges::find(free, o.value) == free.end()) free.push_back(o.value);
    if (!free.empty()) choose_ranges(row, in, operands, free, wanted, node.op->domain);
  }

  void choose_ranges(const ScalarRow& row, Dtype in, std::span<const Operand> operands, std::span<const ValueId> free,
                     const Demand& wanted, const Domain& domain) {
    std::vector<SmallVec<Candidate, 16>> candidates(free.size());
    for (size_t i = 0; i < free.size(); ++i) {
      size_t place = 0;
      while (operands[place].value != free[i]) ++place;
      candidates[i] = candidates_of(row, place, wanted, domain, is_integral(in, true));
    }
    size_t most = 0;
    for (const auto& c : candidates) most = std::max(most, c.size());
    for (size_t total = 0; total <= (most - 1) * std::min<size_t>(free.size(), 2); ++total)
      for (size_t first = 0; first <= total; ++first) {
        size_t second = free.size() == 1 ? first : total - first;
        if (free.size() == 1 && first != total) continue;
        if (free.size() > 2 && first != second) continue;
        SmallVec<Candidate, 3> chosen;
        for (size_t i = 0; i < free.size(); ++i) {
          size_t k = i == 0 ? first : second;
          if (k < candidates[i].size()) chosen.push_back(candidates[i][k]);
        }
        if (chosen.size() != free.size() || !serves(row, in, operands, free, chosen, wanted)) continue;
        for (size_t i = 0; i < free.size(); ++i) {
          Demand d;
          d.low = chosen[i].low;
          d.high = chosen[i].high;
          d.nonzero = chosen[i].nonzero;
          // Whoever divides integers by zero is stopped; other primitives merely give NaN.
          d.strict = wanted.strict || row.has(traits::costly) || (is_integral(in, true) && !d.open());
          at(free[i]).narrow(d);
        }
        return;
      }
  }

  static SmallVec<Candidate, 16> candidates_of(const ScalarRow& row, size_t place, const Demand& wanted,
                                               const Domain& domain, bool integers) {
    SmallVec<Candidate, 16> list;
    std::span<const Interval> domain_of_row =
        place < row.domain.size() ? row.domain[place] : std::span<const Interval>();
    // Beyond its domain a costly primitive may never come back.
    bool costly = row.has(traits::costly) && !domain_of_row.empty();
    if (!costly) {
      list.push_back({-kInf, kInf, false});
      list.push_back({-kInf, kInf, true});
    }
    for (const Interval& i : domain_of_row) list.push_back({i.low, i.high, false});
    if (costly) return list;
    if (wanted.low > -1e300 || wanted.high < 1e300) list.push_back({wanted.low, wanted.high, wanted.nonzero});
    // An input is drawn from the row's own domain in any case (`usual`); what comes from other ops may be all that is
    // defined.
    auto add_ranges = [&](bool bounded) {
      for (auto [low, high] : kRanges)
        if (bounded == (high < kInf) && (!integers || (low == std::floor(low) && high == std::floor(high))))
          list.push_back({low, high, false});
    };
    add_ranges(false);
    list.push_back({domain.low, domain.high, domain.exclude_zero});
    add_ranges(true);
    if (integers) {
      double half = std::floor(wanted.high / 2), root = std::floor(std::sqrt(std::max(wanted.high, 0.0)));
      if (wanted.high < 1e15) {
        list.push_back({0, half, false});
        list.push_back({0, root, false});
        list.push_back({-root, 0, false});
      }
      for (double n : {31.0, 7.0, 1.0}) list.push_back({0, n, false});  // widths of a shift
      list.push_back({1, 1, false});
      list.push_back({0, 0, false});
    }
    return list;
  }

  static SmallVec<double, 12> samples(const Candidate& c, bool integers) {
    SmallVec<double, 12> points;
    if (c.low < -1e300 && c.high > 1e300) {
      points = {-100.0, -4.0, -1.0, -0.3, 0.0, 0.3, 1.0, 4.0, 100.0};
    } else {
      double low = std::max(c.low, std::min(c.high, 0.0) - 100), high = std::min(c.high, std::max(c.low, 0.0) + 100);
      if (c.low >= -1e30) low = c.low;
      if (c.high <= 1e30) high = c.high;
      for (double part : {0.0, 0.001, 0.23, 0.5, 0.77, 1.0}) points.push_back(low + (high - low) * part);
    }
    for (double& p : points)
      if (integers) p = std::trunc(p);
    SmallVec<double, 12> kept;
    for (double p : points)
      if (!(c.nonzero && p == 0)) kept.push_back(p);
    return kept;
  }

  // Whether the primitive is defined, and gives what is wanted, at some points of these ranges.
  static bool serves(const ScalarRow& row, Dtype in, std::span<const Operand> operands, std::span<const ValueId> free,
                     std::span<const Candidate> chosen, const Demand& wanted) {
    bool integers = is_integral(in, true);
    std::vector<SmallVec<double, 12>> points;
    for (const Candidate& c : chosen) points.push_back(samples(c, integers));
    SmallVec<size_t, 3> digits(free.size(), 0);
    for (;;) {
      for (int flag = 0; flag < 2; ++flag) {
        std::array<ScalarValue, 3> values;
        bool flagged = false;
        for (size_t i = 0; i < operands.size(); ++i) {
          double v = operands[i].literal;
          flagged |= operands[i].boolean;
          if (operands[i].boolean) v = flag;
          for (size_t k = 0; k < free.size() && operands[i].value != kNone && !operands[i].boolean; ++k)
            if (free[k] == operands[i].value) v = points[k][digits[k]];
          bool whole = is_integral(operand_dtype(row, in, static_cast<int>(i)), true);
          values[i] = whole ? ScalarValue(static_cast<int64_t>(v)) : ScalarValue(v);
        }
        if (!gives(row, in, {values.data(), operands.size()}, wanted)) return false;
        if (!flagged) break;
      }
      size_t d = digits.size();
      while (d > 0 && ++digits[d - 1] == points[d - 1].size()) digits[--d] = 0;
      if (d == 0) return true;
    }
  }

  static bool gives(const ScalarRow& row, Dtype in, std::span<const ScalarValue> values, const Demand& wanted) {
    try {
      if (!is_defined(row, in, values)) return false;
      ScalarValue r = lenz::evaluate(row, in, values);
      if (r.kind() == ScalarKind::complex) return std::isfinite(std::abs(r.complex()));
      double v = r.kind() == ScalarKind::integer ? static_cast<double>(r.integer()) : r.real();
      return std::isfinite(v) && wanted.admits(v);
    } catch (const Error&) {
      return false;
    }
  }

  std::unique_ptr<Graph> graph_;
  const SymValues& sizes_;
  std::vector<Demand> demands_;
};
}  // namespace

std::vector<Demand> input_demands(const Graph& graph, const SymValues& sizes) { return Analysis(graph, sizes).run(); }

bool says_indices_beyond(const Graph& graph, const SymValues& sizes) { return Analysis(graph, sizes).says_beyond(); }

}  // namespace lenz::oracle
