#include "oracle/controls/mutant.h"

#include <algorithm>
#include <cmath>

#include "oracle/bounds/rounded.h"

namespace lenz::oracle::controls {

namespace {
constexpr std::string_view kNames[kMutants] = {
    "one bad element", "reduction drops last", "extremum starts at zero", "transposed read",   "wrong dtype",
    "n - 1 for n",     "row off by one",       "element off by one",      "half overwritten",  "row unwritten",
    "eps dropped",     "operands swapped",     "wrong broadcast dim",     "stale accumulator", "nan lost"};

bool floating(const Step& s) { return is_floating(s.dtype); }
bool reads(const Step& s) { return s.compute == Compute::scalar || s.compute == Compute::sum; }
// The first operand that is a tensor.
size_t tensor_operand(const Step& s) {
  return static_cast<size_t>(std::ranges::find_if(s.operands, [](const Operand& o) { return o.value != kNone; }) -
                             s.operands.begin());
}
bool has_number(const Step& s, bool (*fits)(double)) {
  return s.compute == Compute::scalar && s.operands.size() == 2 && s.operands[1].value == kNone &&
         fits(s.operands[1].number);
}
bool is_count(double n) { return n >= 2 && n == std::floor(n); }
bool is_eps(double n) { return n > 0 && n < 0.01; }

bool fits(const Step& s, Mutant mutant) {
  switch (mutant) {
    case Mutant::one_bad_element: return floating(s) && s.compute != Compute::whole;
    case Mutant::reduction_drops_last:
      return s.length > 1 && (s.compute == Compute::sum || s.compute == Compute::greatest ||
                              s.compute == Compute::least || s.compute == Compute::contract);
    case Mutant::extremum_starts_at_zero: return s.compute == Compute::greatest || s.compute == Compute::least;
    case Mutant::transposed_read: return reads(s) && s.last > 1 && s.count * s.length > s.last;
    case Mutant::wrong_dtype: return floating(s) && s.compute != Compute::move && s.compute != Compute::whole;
    case Mutant::off_by_one_count:
      return s.inside_reduction && s.arithmetic == Arithmetic::div && has_number(s, is_count);
    case Mutant::row_off_by_one: return reads(s) && s.count * s.length > s.last && s.last > 1;
    case Mutant::element_off_by_one: return reads(s) && s.count * s.length > 1;
    case Mutant::half_overwritten:
      return s.compute == Compute::scalar && floating(s) && s.count > 1 && tensor_operand(s) < s.operands.size() &&
             !s.operands[tensor_operand(s)].sources;
    case Mutant::row_unwritten: return floating(s) && s.compute != Compute::whole && s.count > 1;
    case Mutant::eps_dropped: return s.arithmetic == Arithmetic::add && has_number(s, is_eps);
    case Mutant::operands_swapped:
      return (s.arithmetic == Arithmetic::sub || s.arithmetic == Arithmetic::div) && s.operands[0].value != kNone &&
             s.operands[1].value != kNone;
    case Mutant::wrong_broadcast_dim:
      return s.compute == Compute::scalar && s.last > 1 && s.count > s.last &&
             std::ranges::any_of(s.operands, [](const Operand& o) { return o.sources.has_value(); });
    case Mutant::stale_accumulator: return (s.compute == Compute::sum || s.compute == Compute::contract) && s.count > 1;
    case Mutant::nan_lost: return floating(s) && s.compute != Compute::whole;
  }
  return false;
}

void collect(std::vector<const Step*>& all, const std::vector<Step>& steps, Mutant mutant) {
  for (const Step& s : steps) {
    if (fits(s, mutant)) all.push_back(&s);
    collect(all, s.body, mutant);
  }
}

Sources& sources_of(Operand& o, size_t n) {
  if (!o.sources) {
    o.sources.emplace(n);
    for (size_t i = 0; i < n; ++i) (*o.sources)[i] = static_cast<uint32_t>(i);
  }
  return *o.sources;
}

// The operand is read at other places: element i where place(i) is read.
template <class F>
void read_elsewhere(Step& s, Operand& o, F&& place) {
  const size_t n = s.count * s.length;
  Sources& from = sources_of(o, n);
  const Sources before = from;
  for (size_t i = 0; i < n; ++i) from[i] = before[place(i) % n];
}

Dtype narrower(Dtype d, uint64_t seed) {
  switch (d) {
    case Dtype::f64: return Dtype::f32;
    case Dtype::f32: return seed % 2 ? Dtype::bf16 : Dtype::f16;
    case Dtype::f16: return seed % 2 ? Dtype::bf16 : Dtype::f8e5m2;
    default: return seed % 2 ? Dtype::f8e4m3 : Dtype::f8e5m2;
  }
}

double another(double v, uint64_t seed, double neighbour) {
  switch (seed % 5) {
    case 0: return 0;
    case 1: return -v;
    case 2: return v * 1.125;
    case 3: return v + 0.25;
    default: return neighbour;
  }
}
}  // namespace

std::string_view name(Mutant mutant) { return kNames[static_cast<size_t>(mutant)]; }

std::optional<Mutant> find_mutant(std::string_view name) {
  for (int m = 0; m < kMutants; ++m)
    if (kNames[m] == name) return static_cast<Mutant>(m);
  return std::nullopt;
}

std::vector<const Step*> sites(const Plan& plan, Mutant mutant) {
  std::vector<const Step*> all;
  collect(all, plan.steps, mutant);
  return all;
}

Mutation mutate(const Step& site, Mutant mutant, uint64_t seed) {
  Mutation m{mutant, &site, site, seed};
  Step& s = m.step;
  const size_t last = s.compute == Compute::sum ? s.length : s.last;  // what runs fastest
  const size_t n = s.count * s.length;
  const size_t first = tensor_operand(s);
  switch (mutant) {
    case Mutant::reduction_drops_last: s.dropped = 1; break;
    case Mutant::transposed_read:
      read_elsewhere(s, s.operands[first], [&](size_t i) { return i % last * (n / last) + i / last; });
      break;
    case Mutant::row_off_by_one: read_elsewhere(s, s.operands[first], [&](size_t i) { return i + last; }); break;
    case Mutant::element_off_by_one: read_elsewhere(s, s.operands[first], [](size_t i) { return i + 1; }); break;
    case Mutant::wrong_broadcast_dim:
      for (Operand& o : s.operands)
        if (o.sources) read_elsewhere(s, o, [&](size_t i) { return i % last * (n / last) + i / last; });
      break;
    case Mutant::off_by_one_count: s.operands[1].number -= 1; break;
    case Mutant::eps_dropped: s.operands[1].number = 0; break;
    case Mutant::operands_swapped: std::swap(s.operands[0], s.operands[1]); break;
    default: break;  // spoils results
  }
  return m;
}

void Mutation::spoil(std::span<Elements*> results, const std::vector<Elements>& values) const {
  Elements& r = *results[0];
  const size_t n = r.size(), at = seed / 8 % std::max<size_t>(n, 1);
  const size_t row = std::min(step.last, n), rows = row ? n / row : 0;
  if (n == 0) return;
  switch (mutant) {
    case Mutant::one_bad_element: r[at] = another(r[at], seed, r[(at + 1) % n]); break;
    case Mutant::extremum_starts_at_zero:
      for (double& v : r) v = step.compute == Compute::greatest ? std::fmax(v, 0) : std::fmin(v, 0);
      break;
    case Mutant::wrong_dtype:
      for (double& v : r) v = nearest(narrower(step.dtype, seed), v);
      break;
    case Mutant::half_overwritten: {
      const Elements& old = values[step.operands[tensor_operand(step)].value];
      for (size_t i = n / 2; i < n; ++i) r[i] = old[i];
      break;
    }
    case Mutant::row_unwritten: {
      const size_t begin = rows > 1 ? seed / 8 % rows * row : at;
      for (size_t i = begin; i < (rows > 1 ? begin + row : at + 1); ++i) r[i] = 0;
      break;
    }
    case Mutant::stale_accumulator:
      for (size_t i = n; i-- > 1;) r[i] += r[i - 1];
      break;
    case Mutant::nan_lost:
      for (double& v : r)
        if (std::isnan(v)) v = 0;
      break;
    default: break;
  }
}

}  // namespace lenz::oracle::controls
