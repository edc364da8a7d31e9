#include "fuzz/pattern_census.h"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <nlohmann/json.hpp>

#include "compiler/ops/op_table.h"
#include "fuzz/case.h"
#include "oracle/workers.h"

namespace lenz::fuzz {

namespace {
double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

PatternCount& count_of(Census& census, const std::string& number) {
  return *std::ranges::find(census.patterns, number, &PatternCount::number);
}

void look(Census& census, const std::vector<BugPattern>& patterns, const Pool& pool, uint64_t number) {
  const Case c = draw_case(census.seed, number, pool);
  BugPatternMatcher matcher(*c.graph, c.setting);
  const bool corpus = number % kCorpusEvery == kCorpusEvery - 1;
  const PatternCount* counted = nullptr;  // several patterns of one number stand beside each other
  for (const BugPattern& p : patterns) {
    if ((counted && counted->number == p.number) || !matcher.matches(p)) continue;
    PatternCount& count = count_of(census, p.number);
    counted = &count;
    ++count.cases;
    count.grown += corpus ? 0 : 1;
    if (count.first < 0) count.first = static_cast<int64_t>(number);
  }
}
}  // namespace

Census count_patterns(const std::vector<BugPattern>& patterns, uint64_t seed, uint64_t cases, int workers,
                      const std::function<void(uint64_t)>& progress) {
  constexpr uint64_t kBatch = 2000;
  Census all{.seed = seed, .cases = cases};
  for (const BugPattern& p : patterns)
    if (std::ranges::find(all.patterns, p.number, &PatternCount::number) == all.patterns.end())
      all.patterns.push_back({.number = p.number, .title = p.title, .waits_for = p.waits_for});
  oracle::WorkerCalls calls;
  calls.work = [&](size_t task, oracle::Place& place) -> std::string {
    const double begin = thread_seconds();
    const Pool pool(op_table());
    Census part = all;
    const uint64_t first = task * kBatch;
    for (uint64_t i = first; i < std::min(first + kBatch, cases); ++i) {
      ++place.steps;
      place.index = static_cast<uint32_t>(i);
      look(part, patterns, pool, i);
    }
    nlohmann::json counts = nlohmann::json::array();
    for (const PatternCount& p : part.patterns) counts.push_back({p.cases, p.grown, p.first});
    return nlohmann::json{{"seconds", thread_seconds() - begin}, {"counts", counts}}.dump();
  };
  uint64_t batches = 0;
  calls.done = [&](size_t, const std::string& result) {
    if (progress) progress(std::min(++batches * kBatch, cases));
    const nlohmann::json part = nlohmann::json::parse(result);
    all.processor_seconds += part["seconds"].get<double>();
    for (size_t i = 0; i < all.patterns.size(); ++i) {
      PatternCount& p = all.patterns[i];
      p.cases += part["counts"][i][0].get<uint64_t>();
      p.grown += part["counts"][i][1].get<uint64_t>();
      const auto first = part["counts"][i][2].get<int64_t>();
      if (first >= 0 && (p.first < 0 || first < p.first)) p.first = first;
    }
  };
  calls.died = [](size_t, const oracle::Death& death) -> bool {
    throw InternalError("drawing case " + std::to_string(death.place.index) + ", a process ended with " + death.text());
  };
  oracle::run_in_workers((cases + kBatch - 1) / kBatch, workers, {.hang_seconds = 300}, calls);
  return all;
}

Interval confidence(uint64_t hits, uint64_t cases) {
  if (cases == 0) return {};
  constexpr double z = 1.96;
  const auto n = static_cast<double>(cases);
  const double p = static_cast<double>(hits) / n, scale = 1 + z * z / n;
  const double middle = (p + z * z / (2 * n)) / scale;
  const double reach = z / scale * std::sqrt(p * (1 - p) / n + z * z / (4 * n * n));
  return {hits == 0 ? 0 : std::max(0.0, middle - reach), std::min(1.0, middle + reach)};
}

}  // namespace lenz::fuzz
