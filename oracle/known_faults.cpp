#include "oracle/known_faults.h"

#include <fnmatch.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "compiler/graph/alias.h"
#include "compiler/graph/host_kernels.h"
#include "compiler/graph/lazy_views.h"
#include "compiler/graph/pattern_functions.h"
#include "compiler/scalar/rounding.h"
#include "oracle/tensors.h"

namespace lenz::oracle {

LayoutClass layout_of(const Type& t, const SymValues& sizes) {
  auto number = [&](Dim d) { return evaluate(d, sizes).value_or(1); };
  SmallVec<int64_t, 6> numbers;
  Strided lies{{}, number(t.offset)};
  for (size_t d = 0; d < t.rank(); ++d) {
    numbers.push_back(number(t.sizes()[d]));
    lies.strides.push_back(number(t.strides()[d]));
  }
  return lenz::layout_of(numbers, lies);
}

namespace {
constexpr double kRoundedPlaces = 8, kSingle = 4e-6, kRootsOfPlaces = 16, kNearPole = 1024, kNearEnd = 0.97,
                 kPolePlaces = 8, kCoarse = 0x1p-13, kOrdinary = 0x1p60;

std::vector<double> numbers_of(const RunValue& tensor) {
  const Dtype dtype = look(tensor).dtype;
  const std::vector<std::byte> bytes = elements_of(tensor);
  const auto size = static_cast<size_t>(item_size(dtype));
  std::vector<double> all;
  for (size_t at = 0; at < bytes.size(); at += size) {
    ScalarBits bits{};
    std::memcpy(bits.data(), bytes.data() + at, size);
    all.push_back(from_bits(dtype, bits).real());
  }
  return all;
}

// The largest element of any floating input, those left out that no ordinary values are.
double largest_ordinary(std::span<const RunValue> inputs) {
  double largest = 0;
  for (const RunValue& v : inputs) {
    const Seen seen = look(v);
    if (seen.kind != TypeKind::tensor || !is_floating(seen.dtype)) continue;
    for (double x : numbers_of(v))
      if (std::fabs(x) < kOrdinary) largest = std::max(largest, std::fabs(x));
  }
  return largest;
}

bool is_floating_tensor(const Bounded& b) {
  return b.value && is_floating(b.dtype) && look(b.value).kind == TypeKind::tensor;
}

std::vector<double> doubles(const RunValue& plane) {
  std::vector<std::byte> bytes = elements_of(plane);
  std::vector<double> all(bytes.size() / sizeof(double));
  if (!bytes.empty()) std::memcpy(all.data(), bytes.data(), bytes.size());
  return all;
}

// Errors of a floating tensor, each as `change` has it.
template <class Change>
void change_errors(Bounded& b, Change&& change) {
  RunValue error = detached_copy(b.error ? b.error : b.value);
  std::vector<double> errors = doubles(error);
  if (!b.error) std::ranges::fill(errors, 0.0);
  for (size_t i = 0; i < errors.size(); ++i) change(i, errors[i]);
  set_elements(error, std::as_bytes(std::span(errors)));
  b.error = error;
  b.lean = nullptr;
}

// `operand`: the largest element of any.
void loosen(Bounded& b, const Leeway& by, double operand) {
  for (Bounded& e : b.elements) loosen(e, by, operand);
  if (!is_floating_tensor(b)) return;
  double largest = by.of_operands ? operand : 0;
  const std::vector<double> values = doubles(b.value);
  for (double v : values)
    if (std::isfinite(v)) largest = std::max(largest, std::fabs(v));
  change_errors(b, [&](size_t i, double& error) {
    error += by.relative * largest + by.absolute;
    // (pi / sin(pi x))^2 = r changes by 2 r^1.5 at most, and all of a trigamma below zero but 2 is that.
    if (by.about_poles > 0 && std::isfinite(values[i]))
      error += 2 * std::pow(std::fabs(values[i]) + 2, 1.5) * by.about_poles * operand;
    if (by.open_from && std::fabs(values[i]) >= *by.open_from) error = HUGE_VAL;
  });
}

constexpr double kTimesEager = 4;

// By some times what eager's run is off by, where that is beyond its bound and a number.
void loosen_as_eager(Bounded& b, const RunValue& eager) {
  for (size_t i = 0; i < b.elements.size(); ++i)
    loosen_as_eager(b.elements[i], element(eager, static_cast<int64_t>(i)));
  if (!is_floating_tensor(b) || !eager || look(eager).kind != TypeKind::tensor) return;
  const std::vector<double> values = doubles(b.value), made = numbers_of(eager);
  const std::vector<double> errors = b.error ? doubles(b.error) : std::vector<double>(values.size(), 0.0);
  double most = 0;
  for (size_t i = 0; i < std::min(values.size(), made.size()); ++i)
    if (const double off = std::fabs(made[i] - values[i]); std::isfinite(off) && off > errors[i])
      most = std::max(most, off);
  if (most > 0) change_errors(b, [&](size_t, double& error) { error += kTimesEager * most; });
}

// Opens what is eager's, bit for bit.
void open_same(Bounded& b, const RunValue& eager, const RunValue& got) {
  for (size_t i = 0; i < b.elements.size(); ++i)
    open_same(b.elements[i], element(eager, static_cast<int64_t>(i)), element(got, static_cast<int64_t>(i)));
  if (!is_floating_tensor(b) || !eager || !got) return;
  const std::vector<std::byte> theirs = elements_of(eager), ours = elements_of(got);
  const auto size = static_cast<size_t>(item_size(b.dtype));
  if (theirs.size() != ours.size()) return;
  change_errors(b, [&](size_t i, double& error) {
    if (std::memcmp(theirs.data() + i * size, ours.data() + i * size, size) == 0) error = HUGE_VAL;
  });
}

// What an execution left in outputs and inputs, beside the reference's.
template <class Each>
void for_each_result(Reference& reference, const Execution& run, Each&& each) {
  for (size_t i = 0; i < std::min(reference.outputs.size(), run.outputs.size()); ++i)
    each(reference.outputs[i], i, true);
  for (size_t i = 0; i < std::min(reference.inputs.size(), run.inputs.size()); ++i) each(reference.inputs[i], i, false);
}

}  // namespace

bool within(const Leeway& by, const Graph& graph, Reference reference, std::span<const RunValue> inputs,
            const Execution& eager, const Execution& got) {
  if (by.as_eager) {
    for_each_result(reference, eager, [&](Bounded& b, size_t i, bool output) {
      loosen_as_eager(b, output ? eager.outputs[i] : eager.inputs[i]);
    });
    return !compare_runs(graph, eager, got) || within_or_same(graph, std::move(reference), eager, got);
  }
  const double operand = by.of_operands || by.about_poles > 0 ? largest_ordinary(inputs) : 0;
  for (Bounded& b : reference.outputs) loosen(b, by, operand);
  for (Bounded& b : reference.inputs) loosen(b, by, operand);
  return !judge(graph, reference, got).mismatch;
}

bool within_or_same(const Graph& graph, Reference reference, const Execution& eager, const Execution& got) {
  for_each_result(reference, eager, [&](Bounded& b, size_t i, bool output) {
    output ? open_same(b, eager.outputs[i], got.outputs[i]) : open_same(b, eager.inputs[i], got.inputs[i]);
  });
  return !judge(graph, reference, got).mismatch;
}

bool applies(const KnownFault& known, Dtype dtype, const Graph& graph, NodeId node, const SymValues& sizes,
             const std::function<bool(const Leeway&)>& within) {
  const Node& call = graph.node(node);
  if (fnmatch(known.row.c_str(), call.op->full_name.c_str(), 0) != 0) return false;
  bool named = known.dtypes == "*";
  for (size_t at = 0; at < known.dtypes.size() && !named;) {
    size_t end = std::min(known.dtypes.find(' ', at), known.dtypes.size());
    named = known.dtypes.substr(at, end - at) == lenz::name(dtype);
    at = end + 1;
  }
  if (!named) return false;
  if (known.when == KnownFault::always) return true;
  if (known.when == KnownFault::rounds || known.when == KnownFault::steps || known.when == KnownFault::averages) {
    // What the dtype may not hold is an infinity then, whatever it is stored in; of several that are averaged one is
    // enough.
    const double places = kRoundedPlaces * std::ldexp(1.0, 1 - info(dtype).mantissa_bits);
    int64_t terms = 1;
    if (known.when == KnownFault::averages) {
      const std::span<const Dim> images = graph.type(call.args[0].value()).sizes();
      if (!images.empty()) terms = std::max<int64_t>(evaluate(images[0], sizes).value_or(1), 1);
    }
    const double most = largest_finite(dtype) / static_cast<double>(terms);
    return is_floating(dtype) &&
           within(
               {.relative = places, .open_from = most * (1 - places), .of_operands = known.when == KnownFault::steps});
  }
  if (known.when == KnownFault::single) return within({kSingle, kSingle});
  if (known.when == KnownFault::coarse) return within({kCoarse, kCoarse});
  if (known.when == KnownFault::accumulates || known.when == KnownFault::pairs) {
    const int self = known.when == KnownFault::pairs ? call.op->schema.find("self") : 0;
    const Type& leading = graph.type(call.args[std::max(self, 0)].value());
    auto terms = static_cast<double>(evaluate(numel(leading.sizes()), sizes).value_or(0));
    if (known.when == KnownFault::pairs && leading.rank() > 0)
      terms *= static_cast<double>(evaluate(leading.sizes().back(), sizes).value_or(0));
    return is_floating(dtype) && within({.relative = terms * std::ldexp(1.0, -info(dtype).mantissa_bits)});
  }
  if (known.when == KnownFault::flushes) return is_floating(dtype) && within({.absolute = smallest_normal(dtype)});
  if (known.when == KnownFault::nears_end)
    return is_floating(dtype) && within({.open_from = kNearEnd * largest_finite(dtype)});
  if (known.when == KnownFault::infinite) return within({.open_from = HUGE_VAL});
  if (known.when == KnownFault::poles)
    return is_floating(dtype) &&
           within({.open_from = kNearPole, .about_poles = kPolePlaces * std::ldexp(1.0, -info(dtype).mantissa_bits)});
  if (known.when == KnownFault::drops) {
    int p = call.op->schema.find("dropout_p");
    return p >= 0 && call.args[p].kind == ArgKind::real && call.args[p].d > 0;
  }
  auto argument = [&](std::string_view name) -> const Arg* {
    int p = call.op->schema.find(name);
    return p < 0 ? nullptr : &call.args[p];
  };
  if (known.when == KnownFault::overflows) {
    // Of an exponential of what is not above a threshold that itself has none, or that only the run knows.
    constexpr double kHasAnExponential = 88;  // in f32
    const Arg* threshold = argument("threshold");
    const auto number = threshold ? number_of(*threshold) : 0;
    if (number && *number <= kHasAnExponential) return false;
    return is_floating(dtype) && within({.as_eager = true});
  }
  if (known.when == KnownFault::shifts) {
    const Arg* eps = argument("eps");
    return eps && number_of(*eps).value_or(-1) < 0 && is_floating(dtype) && within({.as_eager = true});
  }
  if (known.when == KnownFault::by_products) {
    // Asked for, or by default of many points.
    constexpr int64_t kAlways = 1, kNever = 2, kMany = 25;
    const Arg* mode = argument("compute_mode");
    const int64_t told = mode && mode->kind == ArgKind::integer ? mode->i : 0;
    auto points = [&](size_t operand) {
      const Type& t = graph.type(call.args[operand].value());
      return t.rank() < 2 ? 0 : evaluate(t.sizes()[t.rank() - 2], sizes).value_or(0);
    };
    if (told == kNever || (told != kAlways && points(0) <= kMany && points(1) <= kMany)) return false;
    return is_floating(dtype) &&
           within({.relative = kRootsOfPlaces * std::sqrt(std::ldexp(1.0, -info(dtype).mantissa_bits)),
                   .of_operands = true});
  }
  if (known.when == KnownFault::unsorted) {
    const Arg *sorted = argument("sorted"), *stable = argument("stable");
    return (sorted && sorted->kind == ArgKind::boolean && !sorted->boolean()) ||
           (stable && (stable->kind != ArgKind::boolean || !stable->boolean()));
  }
  if (known.when == KnownFault::misfit) {
    const Type &self = graph.type(call.args[0].value()), &result = graph.type(call.result());
    auto misfits = [&](std::string_view name, size_t from_last) {
      const Arg* scale = argument(name);
      if (!scale || scale->kind != ArgKind::real || self.rank() < 2 || result.rank() < 2) return false;
      auto in = evaluate(self.sizes()[self.rank() - from_last], sizes);
      auto out = evaluate(result.sizes()[result.rank() - from_last], sizes);
      return in && out && std::fabs(static_cast<double>(*in) * scale->d - static_cast<double>(*out)) >= 1;
    };
    return misfits("scales_h", 2) || misfits("scales_w", 1);
  }
  if (known.when == KnownFault::skips) {
    const Arg* stride = argument("stride");
    if (!stride || stride->kind != ArgKind::int_list || graph.type(call.result()).rank() < 4) return false;
    return evaluate(stride->dim_list().back(), sizes).value_or(2) > 1;
  }
  if (known.when == KnownFault::grouped_ones) {
    const Arg *groups = argument("groups"), *weight = argument("weight");
    if (!groups || !weight || !weight->is_value() || evaluate(groups->dim(), sizes).value_or(1) < 2) return false;
    const Type& t = graph.type(weight->value());
    if (t.rank() < 4 || evaluate(t.tensor().strides[1], sizes) != 1) return false;
    return std::ranges::any_of(t.sizes().subspan(2), [&](const Dim& d) { return evaluate(d, sizes) == 1; });
  }
  if (known.when == KnownFault::lone_columns) {
    const Arg *stride = argument("stride"), *weight = argument("weight");
    const Type& result = graph.type(call.result());
    if (!stride || stride->kind != ArgKind::int_list || !weight || !weight->is_value() || result.rank() < 4)
      return false;
    const Type &x = graph.type(call.args[0].value()), &w = graph.type(weight->value());
    const auto channels_last = [&](const Type& t) {
      return t.rank() == result.rank() && evaluate(t.tensor().strides[1], sizes) == 1;
    };
    return w.rank() == result.rank() && evaluate(w.sizes()[1], sizes) == 1 &&
           evaluate(result.sizes().back(), sizes) == 1 && evaluate(stride->dim_list().back(), sizes).value_or(2) > 1 &&
           (channels_last(x) || channels_last(w));
  }
  if (known.when == KnownFault::thin) {
    const Arg *input = argument("input"), *weight = argument("weight");
    if (!input || !weight || !input->is_value() || !weight->is_value()) return false;
    const Type &t = graph.type(input->value()), &w = graph.type(weight->value());
    return t.rank() == 5 && w.rank() == 5 && evaluate(t.sizes()[2], sizes) == 1 &&
           evaluate(w.sizes()[2], sizes).value_or(1) > 1;
  }
  if (known.when == KnownFault::negated) {
    bool negated = false;
    for (const Arg& a : call.arguments())
      for_each_value(a, [&](ValueId v) { negated = negated || laziness(graph, v).negated; });
    return negated;
  }
  if (known.when == KnownFault::told_unique) {
    const Arg* told = argument("assume_unique");
    return told && told->kind == ArgKind::boolean && told->boolean();
  }
  if (known.when == KnownFault::no_share) return has_no_share(call);
  if (known.when == KnownFault::out_is_read || known.when == KnownFault::out_grows) {
    std::vector<ValueId> written, read;  // by their memory
    const auto elements = [&](ValueId v) { return evaluate(numel(graph.type(v).sizes()), sizes); };
    for (size_t i = 0; i < call.arguments().size(); ++i)
      for_each_value(call.arguments()[i], [&](ValueId v) {
        const bool writes = writes_operand(*call.op, call.arguments(), i);
        if (!writes || known.when == KnownFault::out_is_read || elements(v) != elements(call.result()))
          (writes ? written : read).push_back(graph.storage(v));
      });
    return std::ranges::any_of(written, [&](ValueId v) { return std::ranges::find(read, v) != read.end(); });
  }
  if (known.when == KnownFault::out_is_scratch) {
    // What has no room in a part of some memory is written to what lies behind that part.
    std::optional<int64_t> room, most;
    for (size_t i = 0; i < call.arguments().size(); ++i)
      for_each_value(call.arguments()[i], [&](ValueId v) {
        const bool written = writes_operand(*call.op, call.arguments(), i);
        if (written && graph.storage(v) == v) return;
        std::optional<int64_t>& of = written ? room : most;
        of = std::max(of.value_or(0), evaluate(numel(graph.type(v).sizes()), sizes).value_or(0));
      });
    return room && most.value_or(0) > *room;
  }
  if (known.when == KnownFault::one_wide) {
    const Type& result = graph.type(call.result());
    return result.is_tensor() && result.rank() > 0 && evaluate(result.sizes().back(), sizes) == 1;
  }
  if (known.when == KnownFault::result_strided) {
    const Type& result = graph.type(call.result());
    return result.is_tensor() && !in_order(layout_of(result, sizes));
  }
  bool found = false;
  for (size_t i = 0; i < call.arguments().size(); ++i) {
    const bool written = writes_operand(*call.op, call.arguments(), i);
    auto look_at = [&](const Type& t) {
      const LayoutClass layout = layout_of(t, sizes);
      const bool strided = !in_order(layout);
      const bool overlaps = layout == LayoutClass::expanded || layout == LayoutClass::overlapping;
      found = found || (known.when == KnownFault::out_restrided && written && layout == LayoutClass::odd_ones) ||
              (known.when == KnownFault::out_strided && written && strided) ||
              ((known.when == KnownFault::any_strided || known.when == KnownFault::strided_rounds) && strided) ||
              (known.when == KnownFault::any_restrided && (strided || layout == LayoutClass::odd_ones)) ||
              (known.when == KnownFault::self_overlaps && overlaps);
    };
    for_each_value(call.arguments()[i], [&](ValueId v) {
      const Type& t = graph.type(v);
      if (t.is_tensor()) look_at(t);
      if (t.kind == TypeKind::list)
        for (const Type* e : t.elements()) look_at(*e);
    });
  }
  return found;
}

const KnownFault* known_in(std::span<const KnownFault> known, const Graph& graph, const SymValues& sizes,
                           const std::function<bool(const Leeway&)>& within, bool rounding) {
  const KnownFault* found = nullptr;
  const auto as_eager = [&](const Leeway&) { return within(Leeway{.as_eager = true}); };
  for (const auto& sub : graph.subgraphs)
    if (!found) found = known_in(known, *sub, sizes, within ? as_eager : within, rounding);
  if (found) return found;
  const bool alone = graph.first() == graph.last() && graph.subgraphs.empty();
  graph.for_each_node([&](NodeId node) {
    if (found) return;
    std::optional<Dtype> leading;
    for (const Arg& a : graph.node(node).arguments())
      for_each_value(a, [&](ValueId v) {
        const Type& t = graph.type(v);
        if (leading) return;
        if (t.is_tensor()) leading = t.dtype;
        if (t.kind == TypeKind::list && !t.elements().empty()) leading = t.elements()[0]->dtype;
      });
    if (!leading) return;
    for (const KnownFault& k : known)
      if (!found && (k.when == KnownFault::strided_rounds) == rounding &&
          applies(k, *leading, graph, node, sizes,
                  [&](const Leeway& by) { return !within || within(alone ? by : Leeway{.as_eager = true}); }))
        found = &k;
  });
  return found;
}

bool reads_beyond(const Graph& graph, const SymValues& sizes) {
  static const std::vector<KnownFault> beyond = [] {
    std::vector<KnownFault> lines;
    std::ranges::copy_if(known_faults(), std::back_inserter(lines),
                         [](const KnownFault& k) { return k.when == KnownFault::thin; });
    return lines;
  }();
  return known_in(beyond, graph, sizes, {}) != nullptr;
}

std::span<const KnownFault> known_faults() {
  static const std::vector<KnownFault> all = parse_known_faults(
#include "oracle/values_known.inc"
      , "oracle/values_known.txt");
  return all;
}

std::span<const KnownFault> known_openings() {
  static const std::vector<KnownFault> all = parse_known_faults(
#include "oracle/loops_known.inc"
      , "oracle/loops_known.txt");
  return all;
}

std::vector<KnownFault> parse_known_faults(std::string_view text, const std::string& file) {
  std::vector<KnownFault> all;
  int line = 0;
  while (!text.empty()) {
    ++line;
    size_t end = std::min(text.find('\n'), text.size());
    std::string_view rest = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (rest.empty() || rest[0] == '#') continue;
    std::string fields[4];
    for (size_t i = 0; i < 4; ++i) {
      size_t bar = i == 3 ? rest.size() : std::min(rest.find(" | "), rest.size());
      fields[i] = rest.substr(0, bar);
      rest.remove_prefix(std::min(bar + 3, rest.size()));
    }
    constexpr std::string_view kWhen[] = {
        "always",       "out_strided",  "any_strided", "any_restrided",  "self_overlaps", "drops",
        "rounds",       "single",       "unsorted",    "one_wide",       "misfit",        "out_restrided",
        "by_products",  "infinite",     "poles",       "strided_rounds", "steps",         "skips",
        "out_is_read",  "no_share",     "told_unique", "coarse",         "accumulates",   "result_strided",
        "grouped_ones", "lone_columns", "thin",        "negated",        "out_grows",     "averages",
        "overflows",    "flushes",      "nears_end",   "pairs",          "shifts",        "out_is_scratch"};
    auto when = std::ranges::find(kWhen, fields[2]);
    if (fields[3].empty() || when == std::end(kWhen))
      throw UserError(
          "not `row | dtypes | when | why`, with when one of always, out_strided, any_strided, any_restrided, "
          "self_overlaps, drops, "
          "rounds, single, unsorted, one_wide, misfit, out_restrided, by_products, infinite, poles, "
          "strided_rounds, steps, skips, out_is_read, no_share, told_unique, coarse, accumulates, result_strided, "
          "grouped_ones, lone_columns, thin, negated, out_grows, averages, overflows, flushes, nears_end, pairs, "
          "shifts, out_is_scratch",
          file + ":" + std::to_string(line), "see the head of the file");
    all.push_back({fields[0], fields[1], static_cast<KnownFault::When>(when - std::begin(kWhen)), fields[3]});
  }
  return all;
}

}  // namespace lenz::oracle
