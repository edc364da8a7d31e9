#include "oracle/draw_inputs.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <unordered_map>

#include "compiler/base/hash.h"
#include "compiler/graph/number_fits.h"
#include "compiler/graph/pattern_functions.h"
#include "compiler/scalar/rounding.h"
#include "oracle/exact.h"
#include "oracle/execute.h"
#include "oracle/tensors.h"

namespace lenz::oracle {

namespace {
constexpr std::string_view kNames[kValueModes] = {"ordinary", "special",  "exact", "ties",
                                                  "sorted",   "constant", "nan",   "beyond"};
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kNearZero = 0.0625;  // what divides keeps this far away from zero
constexpr double kWidth = 8;          // of a range whose end nobody gives

double unit(uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-53; }  // in [0, 1)

// The elements of one tensor.
class Source {
 public:
  // `said`: numbers that the graph itself says.
  Source(Dtype dtype, const Demand& demand, Values values, uint64_t seed, int exact_range, std::span<const double> said)
      : dtype_(dtype), real_(to_real(dtype)), demand_(demand), values_(values), seed_(seed), said_(said) {
    if (values == Values::exact && exact_range > 0) demand_.usual = {-1.0 * exact_range, 1.0 * exact_range};
    auto [low, high] = range();
    low_ = low;
    high_ = high;
    // Where nothing keeps the graph exact numbers are whole if their readers take several such.
    whole_ = values == Values::exact && (exact_range > 0 || std::ceil(low) < std::floor(high));
    if (is_integral(dtype, true) || whole_) {
      low_ = std::ceil(low);
      high_ = std::max(low_, std::floor(high));
    }
  }

  std::vector<std::byte> elements(std::span<const int64_t> sizes) {
    uint64_t count = 1;
    for (int64_t s : sizes) count *= static_cast<uint64_t>(s);
    certain_ = count ? mix(seed_ + 7) % count : 0;
    auto size = static_cast<size_t>(item_size(dtype_));
    std::vector<std::byte> bytes(count * size);
    uint64_t row = sizes.empty() ? 1 : static_cast<uint64_t>(sizes.back());
    // Of some tensors neighbours are special together, part of a line or all of one: what is masked out is.
    if (const uint64_t how = mix(seed_ + 8) % 8; how < 2 && !demand_.strict)
      stretch_ = how == 0 ? std::max<uint64_t>(row, 1) : 2 + mix(seed_ + 9) % 15;
    bool sorts = (demand_.sorted || values_ == Values::sorted) && !is_complex(dtype_);
    auto put = [&](uint64_t i, const ScalarValue& value) {
      const ScalarBits bits = to_bits(dtype_, value);
      std::memcpy(bytes.data() + i * size, bits.data(), size);
    };
    if (!sorts) {
      for (uint64_t i = 0; i < count; ++i) put(i, element(i));
      return bytes;
    }
    std::vector<ScalarValue> values;
    for (uint64_t start = 0; start < count; start += row) {
      values.clear();
      for (uint64_t i = start; i < start + row; ++i) values.push_back(element(i));
      std::ranges::stable_sort(values, before);
      for (uint64_t k = 0; k < row; ++k) put(start + k, values[k]);
    }
    return bytes;
  }

 private:
  static bool before(const ScalarValue& a, const ScalarValue& b) {  // NaN last
    if (a.kind() == ScalarKind::integer) return a.integer() < b.integer();
    return a.real() < b.real() || (std::isnan(b.real()) && !std::isnan(a.real()));
  }

  // What readers ask for, and of that what is usual.
  std::pair<double, double> range() const {
    double least = dtype_ == Dtype::b8 || !info(real_).is_signed ? 0 : -std::numeric_limits<double>::infinity();
    double low = std::max(demand_.low, least), high = demand_.high;
    double usual_low = std::max(demand_.usual.low, least), usual_high = demand_.usual.high;
    if (dtype_ == Dtype::b8) usual_high = high = std::min(high, 1.0);
    if (demand_.strict && is_integral(dtype_, false) && low > -1e9 && high < 1e15) return {low, high};
    if (std::max(low, usual_low) <= std::min(high, usual_high))
      return {std::max(low, usual_low), std::min(high, usual_high)};
    if (low > usual_high) return {low, std::min(high, low + kWidth)};
    return {std::max(low, high - kWidth), high};
  }

  ScalarValue element(uint64_t i) const {
    if (values_ == Values::constant) i = 0;
    if (values_ == Values::ties) i = mix(combine(seed_ + 1, i)) % 3;
    if (is_complex(dtype_)) return ScalarValue(std::complex<double>(number(i, 0), number(i, 1)));
    if (!is_integral(dtype_, true)) return ScalarValue(number(i, 0));
    return ScalarValue(integer(i));
  }

  // Whether this element is a number of the graph's: where steps, thresholds and rules have their ends.
  bool says(uint64_t i) const {
    if (said_.empty() || demand_.sorted) return false;
    return values_ == Values::ties ? i == 0 : values_ == Values::special && mix(combine(seed_ + 3, i)) % 4 == 0;
  }

  uint64_t bits(uint64_t i, uint64_t part) const { return mix(combine(combine(seed_, part), i)); }
  bool nonzero() const { return demand_.nonzero || demand_.usual.exclude_zero; }

  double number(uint64_t i, uint64_t part) const {
    if (values_ == Values::nan && !demand_.strict) return kNan;
    uint64_t b = bits(i, part);
    if (const uint64_t s = bits(i / stretch_, part); values_ == Values::special && mix(s) % 8 < 3)
      if (double x = special(mix(s + 1)); fits(x)) return x;
    if (values_ == Values::special && mix(b) % 8 == 3)
      if (double x = of_any_size(mix(b + 1)); fits(x)) return x;
    if (says(i))
      if (double x = said_[mix(b + 2) % said_.size()]; demand_.admits(x) && x >= -1e4 && x <= 1e4) return x;
    if (whole_) {
      double x = low_ + std::floor((high_ - low_ + 1) * unit(b));
      return nonzero() && x == 0 ? high_ : x;
    }
    double x = low_ + (high_ - low_) * unit(b);
    if (nonzero() && std::abs(x) < kNearZero) {
      x = std::copysign(kNearZero + std::abs(x), x);
      if (x > high_ || x < low_) x = std::abs(low_) > std::abs(high_) ? low_ : high_;
    }
    return x;
  }

  // NaN has no place in an order: what a search finds among it hangs on the way that it takes.
  bool fits(double x) const { return demand_.strict ? demand_.admits(x) : !(demand_.sorted && std::isnan(x)); }

  double special(uint64_t b) const {
    double least = smallest_subnormal(real_), normal = smallest_normal(real_), most = largest_finite(real_);
    double inf = std::numeric_limits<double>::infinity();
    const double list[] = {kNan, inf, 0, least, normal, most, 1, normal - least, 1 + last_place(real_, 1), most / 2};
    double x = list[(b >> 1) % std::size(list)];
    return (b & 1) ? -x : x;
  }

  // From small to large, each power of two as often, as far as the dtype goes, and a thousand of what eager counts.
  double of_any_size(uint64_t b) const {
    constexpr int kPowers = 20;
    const int least = std::max(-kPowers, std::ilogb(smallest_normal(real_)));
    const int most = std::min(demand_.counted ? kPowersCounted : kPowers, std::ilogb(largest_finite(real_)) - 1);
    const int power = least + static_cast<int>((b >> 1) % static_cast<uint64_t>(most - least + 1));
    const double x = std::ldexp(1 + unit(mix(b)), power);
    return (b & 1) ? -x : x;
  }

  // One element at least, and every eighth: by one, as whoever counts from the wrong end does, or by far.
  std::optional<int64_t> beyond(uint64_t i) const {
    if (values_ != Values::beyond || !demand_.indexes()) return std::nullopt;
    if (i != certain_ && mix(combine(seed_ + 5, i)) % 8) return std::nullopt;
    FiniteRange all = finite_range(dtype_);
    if (demand_.counted) {  // an order, say, which somebody counts up to before anyone raises
      all.high = std::min(all.high, std::ldexp(1, kPowersCounted));
      all.low = std::max(all.low, -std::ldexp(1, kPowersCounted));
    }
    const double choices[] = {demand_.high + 1, demand_.low - 1, all.high, all.low};
    const uint64_t first = mix(combine(seed_ + 6, i));
    for (uint64_t k = 0; k < std::size(choices); ++k) {
      const double x = choices[(first + k) % std::size(choices)];
      if (demand_.admits(x) || x < all.low || x > all.high) continue;
      return x >= 0x1p63 ? std::numeric_limits<int64_t>::max() : static_cast<int64_t>(x);
    }
    return std::nullopt;  // the dtype has none
  }

  int64_t integer(uint64_t i) const {
    uint64_t b = bits(i, 0);
    if (const auto x = beyond(i)) return *x;
    if (dtype_ == Dtype::b8) return low_ == high_ ? static_cast<int64_t>(low_) : static_cast<int64_t>(b >> 63);
    if (const uint64_t s = bits(i / stretch_, 0); values_ == Values::special && mix(s) % 8 < 3)
      return special_integer(mix(s + 1));
    if (says(i)) {
      const double x = said_[mix(b + 2) % said_.size()];
      const bool fits = x == std::floor(x) && x >= low_ && x <= high_ && !(nonzero() && x == 0);
      if (fits && demand_.admits(x)) return static_cast<int64_t>(x);
    }
    int64_t x = static_cast<int64_t>(low_ + std::floor((high_ - low_ + 1) * unit(b)));
    bool traps = nonzero() && (x == 0 || (x == -1 && values_ == Values::special));  // the least integer / -1 does
    if (!traps) return x;
    int64_t other = high_ >= 1 ? 1 : static_cast<int64_t>(std::min(low_, -2.0));
    return demand_.strict && (static_cast<double>(other) < low_ || static_cast<double>(other) > high_) ? x : other;
  }

  int64_t special_integer(uint64_t b) const {
    int width = info(dtype_).bits;
    bool is_signed = info(dtype_).is_signed;
    int64_t most = static_cast<int64_t>((~uint64_t{0} >> (64 - width)) >> (is_signed ? 1 : 0));
    int64_t least = is_signed ? -most - 1 : 0;
    bool bounded = demand_.strict && !demand_.open() && demand_.high < 1e15;
    if (bounded) return static_cast<int64_t>(b % 2 ? low_ : high_);
    if (demand_.counted) {
      most = std::min(most, int64_t{1} << kPowersCounted);
      least = std::max(least, -(int64_t{1} << kPowersCounted));
    }
    if (nonzero()) return std::array{most, least + (is_signed ? 0 : 1), int64_t{1}}[b % 3];  // least / -1 traps
    return std::array{most, least, int64_t{0}, int64_t{1}, is_signed ? int64_t{-1} : most - 1}[b % 5];
  }

  static constexpr int kPowersCounted = 10;
  Dtype dtype_, real_;
  Demand demand_;
  Values values_;
  uint64_t seed_;
  std::span<const double> said_;
  double low_ = 0, high_ = 0;
  bool whole_ = false;    // floats hold integers alone
  uint64_t stretch_ = 1;  // as many elements are special together
  uint64_t certain_ = 0;  // the element that points beyond in any case
};

// The numbers among a graph's arguments that stand for elements, not for dims or sizes.
void said_in(const Graph& graph, std::vector<double>& numbers) {
  graph.for_each_node([&](NodeId id) {
    const Node& node = graph.node(id);
    for (size_t i = 0; i < node.arg_count; ++i) {
      const ParamKind kind = node.op->schema.params[i].type.kind;
      if (kind != ParamKind::scalar && kind != ParamKind::real) continue;
      if (const auto x = number_of(node.args[i]); x && std::isfinite(*x)) numbers.push_back(*x);
    }
  });
  for (const auto& sub : graph.subgraphs) said_in(*sub, numbers);
}

// What the graph itself says of an input's values; nothing if it says all of them.
std::optional<Demand> declared(const Initialiser& init) {
  Demand d;
  switch (init.kind) {
    case Initialiser::none: return d;
    case Initialiser::uniform: d.usual = {init.low, init.high}; break;
    case Initialiser::normal: d.usual = {init.low - 2 * init.high, init.low + 2 * init.high}; break;
    case Initialiser::integers:
      d.low = init.low;
      d.high = init.high;
      d.strict = true;
      break;
    default: return std::nullopt;
  }
  d.sorted = init.sorted;
  return d;
}

void fill(const RunValue& value, const Type& type, const Demand& demand, Values values, uint64_t seed, int exact_range,
          std::span<const double> said) {
  if (type.kind == TypeKind::list) {
    for (size_t k = 0; k < type.elements().size(); ++k)
      fill(element(value, static_cast<int64_t>(k)), *type.elements()[k], demand, values, combine(seed, k), exact_range,
           said);
    return;
  }
  if (!type.is_tensor()) return;
  Seen seen = look(value);
  Source source(type.dtype, demand, values, seed, exact_range, said);
  set_elements(value, source.elements({seen.sizes.data(), seen.sizes.size()}));
}
}  // namespace

std::string_view name(Values values) { return kNames[static_cast<size_t>(values)]; }

std::optional<Values> parse_values(std::string_view name) {
  auto found = std::ranges::find(kNames, name);
  if (found == std::end(kNames)) return std::nullopt;
  return static_cast<Values>(found - std::begin(kNames));
}

std::vector<std::string> value_mode_names() { return {std::begin(kNames), std::end(kNames)}; }

Values values_of_seed(uint64_t seed) { return static_cast<Values>(seed % (kValueModes - 1)); }

InputSource::InputSource(const Graph& graph, const Binding& binding, Values values, uint64_t seed, int exact_range,
                         const Asked& given)
    : graph_(graph),
      binding_(binding),
      values_(values),
      seed_(seed),
      exact_range_(exact_range),
      demands_(graph.inputs().size()) {
  said_in(graph, said_);
  std::vector<Demand> asked = given ? *given : input_demands(graph, binding.lookup());
  std::unordered_map<NameId, size_t> owners;  // of memory that inputs share: the first of them is filled
  for (size_t i = 0; i < asked.size(); ++i)
    if (auto alias = graph.inputs()[i].alias) {
      auto [owner, first] = owners.emplace(*alias, i);
      if (!first) asked[owner->second].narrow(asked[i]);
    }
  for (size_t i = 0; i < asked.size(); ++i) {
    const Input& input = graph.inputs()[i];
    const Type& type = graph.type(input.value);
    hopeless_ |= asked[i].hopeless && type.is_tensor() &&
                 std::ranges::none_of(type.sizes(), [&](Dim s) { return evaluate(s, binding.lookup()) == 0; });
    bool none = input.init.kind == Initialiser::none;
    const size_t owner = input.alias ? owners[*input.alias] : i;
    if (values == Values::beyond && asked[owner].indexes()) {
      demands_[i] = asked[owner];
      continue;
    }
    if ((values == Values::ordinary || values == Values::beyond) && !none) continue;
    demands_[i] = none ? asked[owner] : declared(input.init);
    if (!none && demands_[i] && asked[i].strict && !demands_[i]->strict) demands_[i]->narrow(asked[i]);
    if (!none && demands_[i]) demands_[i]->counted |= asked[i].counted;
  }
}

InputSource::InputSource(const Graph& graph, Given given) : graph_(graph), given_(std::move(given)) {}

std::vector<RunValue> InputSource::make(Boxed& boxed) const {
  if (given_) return given_(boxed);
  if (drawn_.empty()) {
    const auto filled = [&](size_t i) {  // of shared memory another one may show more
      const Input& input = graph_.inputs()[i];
      return demands_[i] && !input.alias && graph_.type(input.value).is_tensor();
    };
    drawn_ = initial_inputs(graph_, boxed, binding_, seed_, filled);
    // Of memory that inputs share the first says what it shows, the others what they show beyond.
    for (size_t i = drawn_.size(); i-- > 0;)
      if (demands_[i])
        fill(drawn_[i], graph_.type(graph_.inputs()[i].value), *demands_[i], values_, combine(combine(seed_, 0xD1), i),
             exact_range_, said_);
  }
  return detached_copies(drawn_);
}

std::vector<RunValue> draw_inputs(const Graph& graph, Boxed& boxed, const Binding& binding, Values values,
                                  uint64_t seed) {
  ExactPlan plan;
  if (values == Values::exact) {
    plan = plan_exact(graph, boxed, binding);
    if (!plan.possible()) throw Unsupported("no inputs keep @" + graph.name + " exact: " + plan.why);
  }
  return InputSource(graph, binding, values, seed, plan.range).make(boxed);
}

}  // namespace lenz::oracle
