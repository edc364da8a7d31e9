#include "oracle/controls/survivor.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "compiler/base/hash.h"
#include "oracle/controls/extremes.h"
#include "oracle/controls/search.h"
#include "oracle/controls/variant.h"

namespace lenz::oracle::controls {

namespace {

constexpr int kVariants = 12;  // of each redrawn graph
const Pains kPains{.tries = 100};
const Pains kHard{.tries = 100, .climbs = 128};  // for few, seconds each
constexpr size_t kBest = 8;                      // of redrawn graphs, those that get farthest
constexpr int kOnceIn = 8;                       // of so many draws, for it takes its time

// How much of its bound a result's deviations take, at most, and where.
struct Share {
  double share = 0;
  size_t element = 0;
};
std::vector<Share> shares_of(const Subject& s, const std::vector<Elements>& deviations) {
  std::vector<Share> shares(deviations.size());
  for (size_t i = 0; i < deviations.size(); ++i)
    for (size_t k = 0; k < deviations[i].size(); ++k) {
      const double d = deviations[i][k], e = s.errors()[i][k];
      if (d > 0 && e > 0 && !std::isinf(e) && d / e > shares[i].share) shares[i] = {d / e, k};
    }
  return shares;
}

// The result whose share exceeds the one that is reached by the greatest factor.
struct Farthest {
  size_t result = 0;
  double factor = 0;
};
Farthest farthest_share(const std::vector<Share>& shares, const std::vector<Share>& reached) {
  Farthest most;
  for (size_t i = 0; i < shares.size(); ++i) {
    if (shares[i].share == 0) continue;
    const double factor = shares[i].share / reached[i].share;
    if (factor > most.factor) most = {i, factor};
  }
  return most;
}

// The subject's graph on inputs of this seed. Empty as Subject::make is.
std::optional<Subject> redrawn(const Subject& s, Boxed& boxed, uint64_t seed) {
  std::unique_ptr<Graph> graph = s.graph(Scope::outputs).clone();
  for (size_t i = 0; i < graph->inputs().size(); ++i) graph->input(i).init.seed = mix(combine(seed, i)) >> 32;
  return Subject::make(std::move(graph), boxed, Others::refused, s.by());
}

// Raises the shares to what legal results reach of other inputs, until nothing is beyond them: first of many, then,
// with more effort, of those few of them that get farthest.
void redraw(const Subject& s, Boxed& boxed, const std::vector<Share>& shares, const Efforts& efforts, uint64_t seed,
            std::vector<Share>& reached) {
  auto beyond = [&] { return farthest_share(shares, reached).factor > 1; };
  std::multimap<double, uint64_t> draws;  // by the factor that they leave
  auto raise = [&](const Subject& other, std::vector<Elements>& worst, const Pains& pains) {
    const Extremes found = find_extremes(other.plan(), pains);
    raise_to(worst, other.exact(), found.least);
    raise_to(worst, other.exact(), found.greatest);
    std::vector<Share> there = shares_of(other, worst);
    for (size_t i = 0; i < reached.size(); ++i) reached[i].share = std::max(reached[i].share, there[i].share);
    return farthest_share(shares, there).factor;
  };
  for (int draw = 0; draw < efforts.redraws && beyond(); ++draw) {
    if (efforts.alive) efforts.alive();
    const uint64_t chosen = combine(seed, static_cast<uint64_t>(draw));
    const std::optional<Subject> other = redrawn(s, boxed, chosen);
    if (!other) continue;
    std::vector<Elements> worst = reach_at_random(*other, kVariants, chosen);
    draws.emplace(raise(*other, worst, draw % kOnceIn == kOnceIn - 1 ? kPains : Pains{}), chosen);
  }
  size_t best = 0;
  for (const auto& [factor, chosen] : draws) {
    if (best++ == kBest || !beyond()) return;
    if (efforts.alive) efforts.alive();
    const std::optional<Subject> other = redrawn(s, boxed, chosen);
    std::vector<Elements> worst = other->eager_deviations();
    raise(*other, worst, kHard);
  }
}

}  // namespace

std::vector<Elements> reach_at_random(const Subject& subject, int variants, uint64_t seed) {
  std::vector<Elements> worst = subject.eager_deviations();
  for (int v = 0; v < variants; ++v) {
    RandomChooser choose(mix(combine(seed, static_cast<uint64_t>(v))));
    raise_to(worst, subject.exact(), run_variant(subject.plan(), choose));
  }
  return worst;
}

Survivor look_at(const Subject& subject, Boxed& boxed, const std::vector<Elements>& bad,
                 const std::vector<Elements>& at_random, const std::vector<Elements>& utmost, const Efforts& efforts,
                 uint64_t seed) {
  const std::vector<Elements>& exact = subject.exact();
  if (!farthest(exact, bad, at_random)) return {.standing = Standing::reached};
  if (!farthest(exact, bad, utmost)) return {.standing = Standing::attained};
  std::vector<Elements> worst = utmost;
  if (efforts.search > 0) {
    const Extremes tried = find_extremes(subject.plan(), kPains);
    raise_to(worst, exact, tried.least);
    raise_to(worst, exact, tried.greatest);
    if (!farthest(exact, bad, worst)) return {.standing = Standing::attained};
  }
  search_towards(subject.plan(), exact, bad, efforts.search, seed, worst, efforts.alive);
  const std::optional<FarElement> far = farthest(exact, bad, worst);
  if (!far) return {.standing = Standing::found};
  auto unreached = [&](Standing standing, size_t result, size_t element, double factor) {
    return Survivor{standing, result, element, factor, worst[result][element]};
  };

  std::vector<Elements> deviations;
  for (const Elements& e : exact) deviations.emplace_back(e.size(), 0.0);
  raise_to(deviations, exact, bad);
  const std::vector<Share> shares = shares_of(subject, deviations);
  std::vector<Share> reached = shares_of(subject, worst);
  if (farthest_share(shares, reached).factor <= 1) return unreached(Standing::in_tensor, far->result, far->element, 1);
  redraw(subject, boxed, shares, efforts, seed, reached);
  const Farthest most = farthest_share(shares, reached);
  if (most.factor <= 1) return unreached(Standing::redrawn, far->result, far->element, 1);
  return unreached(Standing::beyond, most.result, shares[most.result].element, most.factor);
}

}  // namespace lenz::oracle::controls
