#include "oracle/exact.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <unordered_set>

#include "compiler/base/hash.h"
#include "compiler/graph/alias.h"
#include "compiler/graph/drawing.h"
#include "compiler/scalar/rounding.h"
#include "compiler/scalar/scalar.h"
#include "oracle/demands.h"
#include "oracle/expanded.h"
#include "oracle/tensors.h"
#include "oracle/ties.h"
#include "oracle/widen.h"

namespace lenz::oracle {

namespace {
constexpr int kRanges[] = {8, 4, 2, 1};

// Integers up to this are exact in the dtype, and sums of two as well.
double most_exact(Dtype d) { return is_inexact(d) ? std::ldexp(1.0, info(d).mantissa_bits - 1) : 0x1p62; }

std::optional<double> number_of(const Arg& a, const SymValues& sizes) {
  switch (a.kind) {
    case ArgKind::boolean: return a.boolean();
    case ArgKind::real: return a.real();
    case ArgKind::integer:
      if (auto known = evaluate(a.dim(), sizes)) return static_cast<double>(*known);
      return std::nullopt;
    default: return std::nullopt;
  }
}

struct Inexact {
  std::string why;
  bool of_range = false;  // in a smaller one it may be exact
};

class Magnitudes {
 public:
  // `whole`: nodes of which one knows by now that they give integers for integers.
  Magnitudes(const Graph& graph, Boxed& boxed, const SymValues& sizes, int range, std::unordered_set<ValueId>& whole)
      : graph_(graph),
        boxed_(boxed),
        sizes_(sizes),
        range_(range),
        whole_(whole),
        most_(graph.value_count(), 0),
        written_(graph.value_count(), 0) {}

  // Throws Inexact for what is so in any range and can be told without running anything.
  void glance() {
    glances_ = true;
    graph_.for_each_node([&](NodeId id) { visit(graph_.node(id)); });
    glances_ = false;
  }

  // Throws Inexact.
  void run(std::span<const Demand> demands) {
    ValueId no_integers = kNone;
    for (size_t i = 0; i < graph_.inputs().size(); ++i) {
      const Input& input = graph_.inputs()[i];
      const Demand& d = demands[i];
      if (graph_.type(input.value).kind == TypeKind::sym_float)
        throw Inexact{graph_.value_name(input.value) + " is a number that may be no integer"};
      bool narrow = d.low > -range_ || d.high < range_;  // an integer in both must exist, with room for choice
      if (narrow && (d.high < 1 || std::ceil(d.low) > range_)) no_integers = input.value;
      bool indices = d.strict && std::isfinite(d.high);
      most_[input.value] = indices ? std::max(std::abs(d.low), std::abs(d.high)) : range_;
    }
    bool writes = false;
    graph_.for_each_node(
        [&](NodeId id) { writes |= writes_operands(*graph_.node(id).op, graph_.node(id).arguments()); });
    graph_.for_each_node([&](NodeId id) {
      const Node& node = graph_.node(id);
      visit(node);
      if (writes && shows_bits(node)) written_[graph_.storage(node.result())] = HUGE_VAL;  // each one's are the other's
      if (writes_operands(*node.op, node.arguments()))
        for_each_written(graph_, node, [&](ValueId v) {
          double& written = written_[graph_.storage(v)];
          for (uint16_t i = 0; i < node.result_count; ++i) written = std::max(written, most_[node.result(i)]);
          if (node.result_count == 0 || !node.op->schema.mutates()) fail(node, "writes and shows not what");
        });
      for (uint16_t i = 0; i < node.result_count; ++i) {
        const Type& t = graph_.type(node.result(i));
        const double most = most_[node.result(i)];
        if (t.is_tensor() && !(most <= most_exact(t.dtype)) && !(std::isinf(most) && moves_bits(node)))
          throw Inexact{said_of(node, "may grow beyond what " + std::string(name(t.dtype)) + " holds exactly"), true};
      }
    });
    if (no_integers != kNone)
      throw Inexact{graph_.value_name(no_integers) + " has no integers in the range that its readers ask for", true};
  }

 private:
  std::string said_of(const Node& node, const std::string& why) const {
    return (node.result_count ? graph_.value_name(node.result()) + " = " : "") + node.op->full_name + " " + why;
  }
  [[noreturn]] void fail(const Node& node, const std::string& why) const { throw Inexact{said_of(node, why)}; }

  // What a value holds, or its memory since somebody wrote there.
  double most(ValueId v) const { return std::max(most_[v], written_[graph_.storage(v)]); }

  void visit(const Node& node) {
    for (const Arg& a : node.arguments()) {
      if (a.kind == ArgKind::graph) fail(node, "has a sub-graph");
      if (a.kind == ArgKind::data && holds_floats(graph_.type(node.result())))
        fail(node, "may hold more than integers");
    }
    bool floats = false;
    auto look_at = [&](ValueId v) { floats |= holds_floats(graph_.type(v)); };
    for (const Arg& a : node.arguments()) for_each_value(a, look_at);
    for (uint16_t i = 0; i < node.result_count; ++i) look_at(node.result(i));
    if (draws_numbers(*node.op, node.arguments()) || node.op->has(Trait::nondeterministic))
      fail(node, "draws, or reads what nobody wrote");
    const ScalarRow* row = node.op->scalar.empty() ? nullptr : find_scalar(node.op->scalar);
    // Integers that are made out of floats, as powers of a range are.
    if (node.op->has(Trait::creation) && node.op->accuracy != Accuracy::exact) fail(node, "is not exact");
    if (!floats || (row && row->result == ResultRule::target) || copies(node) || picks(node)) return pick(node);
    if (row) return compute(node, *row);
    if (node.op->accuracy == Accuracy::accumulated) return accumulate(node);
    fail(node, "is not exact");
  }

  // Bits read as another dtype: numbers of any size, and any that are none.
  bool shows_bits(const Node& node) const {
    if (!reads_bits(*node.op) || !node.args[0].is_value() || node.result_count != 1) return false;
    return graph_.type(node.args[0].value()).dtype != graph_.type(node.result()).dtype;
  }
  // Whatever its operands hold, its results hold it, or integers of integers.
  bool moves_bits(const Node& node) const {
    if (shows_bits(node)) return true;
    if (node.op->has(Trait::reduction) || node.op->has(Trait::scan)) return false;  // of several NaNs, or zeros, any
    SmallVec<Dtype, 4> dtypes;
    bool floats = false;
    auto look_at = [&](ValueId v) {
      const Type& t = graph_.type(v);
      floats |= holds_floats(t);
      if (t.is_tensor() && is_inexact(t.dtype)) dtypes.push_back(t.dtype);
    };
    for (const Arg& a : node.arguments()) for_each_value(a, look_at);
    for (uint16_t i = 0; i < node.result_count; ++i) look_at(node.result(i));
    if (!floats) return true;
    bool converts = false;  // such an integer to a float
    const auto may_convert = [&](ValueId v) { converts |= !holds_floats(graph_.type(v)) && std::isinf(most(v)); };
    for (const Arg& a : node.arguments()) for_each_value(a, may_convert);
    if (converts) return false;
    const bool alike = std::ranges::all_of(dtypes, [&](Dtype d) { return d == dtypes[0]; });
    const Type& made = graph_.type(node.result());
    return alike && made.is_tensor() && is_inexact(made.dtype) && (copies(node) || picks(node));
  }

  bool copies(const Node& node) const {
    return node.result_count && node.op->copies.has(graph_.type(node.result()).dtype);
  }

  static bool holds_floats(const Type& t) {
    if (t.kind == TypeKind::list) return std::ranges::any_of(t.elements(), [](auto* e) { return holds_floats(*e); });
    return t.is_tensor() && is_inexact(t.dtype);
  }

  // Every element of the results is an element of an operand, a number among the arguments, or an index.
  static bool picks(const Node& node) {
    constexpr Trait kPicks[] = {Trait::movement, Trait::view,      Trait::maybe_view, Trait::structural,
                                Trait::indexing, Trait::reduction, Trait::scan};
    bool picks = std::ranges::any_of(kPicks, [&](Trait t) { return node.op->has(t); }) || !node.op->fills.empty();
    return picks && node.op->accuracy == Accuracy::exact && node.op->scalar.empty();
  }

  void pick(const Node& node) {
    double most = 1, places = 1;
    for (size_t i = 0; i < node.arg_count; ++i) {
      const Arg& a = node.args[i];
      for_each_value(a, [&](ValueId v) {
        most = std::max(most, this->most(v));
        if (graph_.type(v).is_tensor()) places = std::max(places, elements(graph_.type(v)));
      });
      auto n = number_of(a, sizes_);
      ParamKind kind = node.op->schema.params[i].type.kind;
      if (!n || (kind != ParamKind::scalar && kind != ParamKind::real && kind != ParamKind::any)) continue;
      if (std::isfinite(*n) && *n != std::floor(*n)) fail(node, "has a number that is no integer");
      if (std::isfinite(*n)) most = std::max(most, std::abs(*n));
    }
    for (uint16_t i = 0; i < node.result_count; ++i) {
      const Type& t = graph_.type(node.result(i));
      bool index = t.is_tensor() && is_integral(t.dtype, false);
      most_[node.result(i)] = shows_bits(node) ? HUGE_VAL : index ? std::max(most, places) : most;
    }
  }

  double elements(const Type& t) const {
    double n = 1;
    for (Dim d : t.sizes()) n *= static_cast<double>(evaluate(d, sizes_).value_or(1));
    return n;
  }

  // --- scalar primitives

  void compute(const Node& node, const ScalarRow& row) {
    constexpr ErrorRule kExact[] = {ErrorRule::sum,     ErrorRule::product, ErrorRule::largest, ErrorRule::predicate,
                                    ErrorRule::corners, ErrorRule::step,    ErrorRule::fraction};
    const bool rounds = row.accuracy.kind == AccuracyClass::ulps;
    if (rounds || std::ranges::find(kExact, row.error.rule) == std::end(kExact)) fail(node, "is not exact");
    SmallVec<double, 3> most;
    SmallVec<bool, 3> free;
    bool complex = false;
    for (size_t i = 0; i < node.arg_count; ++i) {
      const Arg& a = node.args[i];
      if (a.is_value()) {
        complex |= graph_.type(a.value()).is_tensor() && is_complex(graph_.type(a.value()).dtype);
        if (i >= static_cast<size_t>(row.arity)) continue;
        most.push_back(std::max(this->most(a.value()), 1.0));
        free.push_back(true);
        continue;
      }
      auto n = number_of(a, sizes_);
      if (n && *n != std::floor(*n)) fail(node, "has a number that is no integer");
      if (i < static_cast<size_t>(row.arity)) {
        if (!n) fail(node, "has an operand that is no number");
        most.push_back(*n);
        free.push_back(false);
      } else if (n && std::abs(*n) > 1) {  // alpha, which multiplies an operand
        for (size_t k = 0; k < most.size(); ++k)
          if (free[k]) most[k] *= std::abs(*n);
      }
    }
    if (complex && row.accuracy.of_complex == AccuracyClass::ulps) fail(node, "is not exact");  // a modulus
    if (complex && row.error.rule == ErrorRule::product)
      for (double& m : most) m *= 2;  // a part is a sum of two products
    if (most.size() < static_cast<size_t>(row.arity)) fail(node, "has an operand that is no number");
    if (glances_) return;
    double corner = 0;
    // Integers for small integers, then the greatest value at the corners of the box.
    each_point(row, most, free, 6, [&](double v) {
      if (v != std::floor(v)) fail(node, "does not give integers for integers");
    });
    each_point(row, most, free, 0, [&](double v) { corner = std::max(corner, std::abs(v)); });
    for (uint16_t i = 0; i < node.result_count; ++i) most_[node.result(i)] = std::max(corner, 1.0);
  }

  // Visits the primitive's values where each free operand takes -side ... side, or the ends of its range and 0.
  template <class F>
  void each_point(const ScalarRow& row, std::span<const double> most, std::span<const bool> free, int side, F&& visit) {
    int per_operand = side ? 2 * side + 1 : 3;
    int points = 1;
    for (bool f : free) points *= f ? per_operand : 1;
    for (int p = 0; p < points; ++p) {
      std::array<ScalarValue, 3> values;
      int rest = p;
      for (size_t i = 0; i < most.size(); ++i) {
        double v = most[i];
        if (free[i]) {
          int digit = rest % per_operand;
          rest /= per_operand;
          v = side ? digit - side : (digit - 1) * most[i];
        }
        bool whole = is_integral(operand_dtype(row, Dtype::f64, static_cast<int>(i)), true);
        values[i] = whole ? ScalarValue(static_cast<int64_t>(v != 0)) : ScalarValue(v);
      }
      ScalarValue r = lenz::evaluate(row, Dtype::f64, {values.data(), most.size()});
      if (r.kind() == ScalarKind::complex) {
        visit(r.complex().real());
        visit(r.complex().imag());
      } else {
        visit(r.kind() == ScalarKind::integer ? static_cast<double>(r.integer()) : r.real());
      }
    }
  }

  // --- what accumulates: run on constants

  void accumulate(const Node& node) {
    SmallVec<Arg, 12> args(node.arguments());
    for (size_t i = 0; i < args.size(); ++i) {
      if (node.op->schema.params[i].type.kind != ParamKind::scalar) continue;
      auto n = number_of(args[i], sizes_);
      if (n && *n != std::floor(*n)) fail(node, "has a number that is no integer");
    }
    for (uint16_t i = 0; i < node.result_count; ++i)
      if (!holds_floats(graph_.type(node.result(i)))) fail(node, "makes integers of sums");
    if (glances_) return;
    std::vector<RunValue> values(graph_.value_count());
    auto fill = [&](auto&& number) {
      for (const Arg& a : node.arguments())
        for_each_value(a, [&](ValueId v) { values[v] = made(graph_.type(v), v, number); });
    };
    indices_ = node.op->has(Trait::indexing);
    const bool tried = whole_.contains(node.result());
    for (uint64_t round = 0; round < 2 && !tried; ++round) {
      fill([&](ValueId v, uint64_t i) { return static_cast<double>(mix(combine(combine(round, v), i)) % 5) - 2; });
      for (double v : numbers(node, args, values))
        if (v != std::floor(v) || !std::isfinite(v)) fail(node, "does not give integers for integers");
    }
    whole_.insert(node.result());
    for (size_t i = 0; i < args.size(); ++i) {
      if (node.op->schema.params[i].type.kind != ParamKind::scalar) continue;
      if (auto n = number_of(args[i], sizes_); n && *n < 0) args[i] = Arg::of_int(static_cast<int64_t>(-*n));
    }
    fill([&](ValueId v, uint64_t) { return std::max(this->most(v), 1.0); });
    double most = 1, parts = 1;
    for (const Arg& a : node.arguments())
      for_each_value(a, [&](ValueId v) {
        if (graph_.type(v).is_tensor() && is_complex(graph_.type(v).dtype)) parts *= 2;  // each a sum of two products
      });
    for (double v : numbers(node, args, values)) most = std::max(most, std::isfinite(v) ? std::abs(v) : HUGE_VAL);
    for (uint16_t i = 0; i < node.result_count; ++i) most_[node.result(i)] = most * parts;
  }

  // A float64 tensor for a float; indices are zeros, which meet in one place.
  template <class F>
  RunValue made(const Type& type, ValueId v, F&& number) {
    if (type.kind == TypeKind::list) {
      std::vector<RunValue> all;
      for (const Type* t : type.elements()) all.push_back(made(*t, v, number));
      return list_of(all);
    }
    if (!type.is_tensor()) return nullptr;
    DimVec sizes;
    for (Dim d : type.sizes()) sizes.push_back(evaluate(d, sizes_).value_or(1));
    Dtype dtype = is_complex(type.dtype) ? Dtype::c128 : is_floating(type.dtype) ? Dtype::f64 : type.dtype;
    TensorType plain = contiguous_tensor(dtype, sizes);
    RunValue tensor = boxed_.make(*graph_.context().tensor(plain), {.kind = Initialiser::zeros});
    if (is_integral(dtype, true) && indices_) return tensor;
    auto size = static_cast<size_t>(item_size(dtype));
    std::vector<std::byte> bytes(static_cast<size_t>(numel(sizes).constant()) * size);
    for (uint64_t i = 0; i * size < bytes.size(); ++i) {
      double x = number(v, i);
      if (dtype == Dtype::f64 || dtype == Dtype::c128) {  // the real part of the latter; the other one is 0
        std::memcpy(bytes.data() + i * size, &x, sizeof x);
        continue;
      }
      const ScalarValue element(wrap_to(dtype, static_cast<int64_t>(std::abs(x))));
      ScalarBits bits = to_bits(dtype, element);
      std::memcpy(bytes.data() + i * size, bits.data(), size);
    }
    set_elements(tensor, bytes);
    return tensor;
  }

  // The elements of all floating results, in float64.
  std::vector<double> numbers(const Node& node, std::span<const Arg> given, std::span<const RunValue> values) {
    SmallVec<Arg, 12> args(given);
    for (Arg& a : args)
      if (a.kind == ArgKind::dtype && is_inexact(a.dtype()))
        a = Arg::of_dtype(is_complex(a.dtype()) ? Dtype::c128 : Dtype::f64);
    const Outcome outcome = [&] {
      try {
        return boxed_.run(*node.op, args, values, sizes_);
      } catch (const UserError& error) {  // a size among the arguments that only the run knows
        fail(node, "can't be tried: " + error.message());
      }
    }();
    if (outcome.raised) fail(node, "can't be tried: " + outcome.text);
    std::vector<double> all;
    for (const RunValue& r : outcome.results) {
      Seen seen = look(r);
      if (seen.kind != TypeKind::tensor || !is_inexact(seen.dtype)) continue;
      std::vector<std::byte> bytes = elements_of(r);
      if (to_real(seen.dtype) == Dtype::f64) {
        const size_t before = all.size();
        all.resize(before + bytes.size() / sizeof(double));
        if (!bytes.empty()) std::memcpy(all.data() + before, bytes.data(), bytes.size());
        continue;
      }
      auto size = static_cast<size_t>(item_size(to_real(seen.dtype)));
      for (size_t at = 0; at < bytes.size(); at += size) {
        ScalarBits bits{};
        std::memcpy(bits.data(), bytes.data() + at, size);
        all.push_back(from_bits(to_real(seen.dtype), bits).real());
      }
    }
    return all;
  }

  const Graph& graph_;
  Boxed& boxed_;
  const SymValues& sizes_;
  int range_;
  std::unordered_set<ValueId>& whole_;
  bool glances_ = false;  // nothing is run
  bool indices_ = false;  // integers beside floats say where to
  std::vector<double> most_;
  std::vector<double> written_;  // by storage
};
}  // namespace

ExactPlan plan_exact(const Graph& graph, Boxed& boxed, const Binding& binding) {
  return plan_exact(graph, boxed, binding, input_demands(graph, binding.lookup()));
}

ExactPlan plan_exact(const Graph& graph, Boxed& boxed, const Binding& binding, std::span<const Demand> demands) {
  ExactPlan plan;
  // Whoever computes it may name another of equal elements.
  graph.for_each_node([&](NodeId id) {
    const Node& node = graph.node(id);
    const OpDef& op = *node.op;
    if (ties_open(op, node.arguments())) plan.why = op.full_name + ": ties are open";
  });
  if (!plan.why.empty()) return plan;
  SymValues sizes = binding.lookup();
  auto expanded = graph.clone();
  expand_definitions(*expanded);
  std::unordered_set<ValueId> whole;
  try {
    Magnitudes(*expanded, boxed, sizes, kRanges[0], whole).glance();
  } catch (const Inexact& inexact) {
    plan.why = inexact.why;
    return plan;
  }
  for (int range : kRanges) {
    try {
      Magnitudes(*expanded, boxed, sizes, range, whole).run(demands);
      plan.range = range;
      plan.why.clear();
      return plan;
    } catch (const Inexact& inexact) {
      plan.why = inexact.why;
      if (!inexact.of_range) return plan;
    }
  }
  return plan;
}

}  // namespace lenz::oracle
