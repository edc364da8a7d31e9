#include "fuzz/reduce.h"

#include <chrono>
#include <nlohmann/json.hpp>
#include <set>

#include "oracle/boxed.h"
#include "oracle/scratch.h"

namespace lenz::fuzz {

namespace {
using Clock = std::chrono::steady_clock;

std::string packed(const std::optional<Failure>& f) {
  if (!f) return {};
  nlohmann::json j = {f->property, f->stage, f->symptom, f->detail, f->values, f->without, f->inner, f->inner_property};
  return j.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}
std::optional<Failure> unpacked(const std::string& text) {
  if (text.empty()) return std::nullopt;
  auto j = nlohmann::json::parse(text);
  return Failure{j[0], j[1], j[2], j[3], j[4], j[5], j[6], j[7]};
}

// What each case fails with, run side by side. A fresh process each where they may kill it.
std::vector<std::optional<Failure>> failures(std::span<const Case> cases, const std::vector<const Property*>& only,
                                             int jobs, bool fresh) {
  std::vector<std::optional<Failure>> results(cases.size());
  oracle::WorkerCalls calls;
  oracle::Scratch scratch;  // here, for a child that is killed takes nothing away
  calls.work = [&](size_t task, oracle::Place& place) {
    oracle::quieten_libtorch();
    CaseRunner runner(only, scratch.path());
    return packed(runner
                      .run(*cases[task].graph, cases[task].setting,
                           [&](size_t property) {
                             ++place.steps;
                             place.phase = static_cast<uint32_t>(property);
                           })
                      .failure);
  };
  calls.done = [&](size_t task, const std::string& result) { results[task] = unpacked(result); };
  calls.died = [&](size_t task, const oracle::Death& death) {
    const Property& property = only.empty() ? properties()[death.place.phase] : *only[death.place.phase];
    const std::string name(property.name);
    results[task] = Failure{name, name, death.text(), "the process died: " + death.text()};
    return false;
  };
  share(only, fresh ? 0 : jobs);
  oracle::run_in_workers(cases.size(), jobs, limits_for(only, fresh), calls);
  return results;
}

class Reducer {
 public:
  Reducer(const Case& from, const Failure& failure, const ReduceOptions& options)
      : failure_(failure),
        options_(options),
        end_(Clock::now() +
             std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(options.seconds))) {
    result_.smallest = copy_of(from);
    only_ = leading_to(failure.property);
    // Memory too: what others of its process hold is not the case's.
    fresh_ = failure.symptom.starts_with("SIG") || failure.symptom == "no answer" || failure.symptom == "out of memory";
  }

  Reduction run() {
    for (bool smaller = true; smaller && result_.finished;) {
      smaller = false;
      for (const Simplification& way : simplifications())
        while (simplify(way)) smaller = true;
    }
    return std::move(result_);
  }

 private:
  bool simplify(const Simplification& way) {
    std::vector<Case> candidates;
    for (Case& c : way.candidates(result_.smallest))
      if (tried_.insert(std::hash<std::string>()(c.text())).second)  // all of it: a graph's hash leaves out idle inputs
        candidates.push_back(std::move(c));
    // Side by side, a few at a time: the first that fails is taken.
    const size_t group = static_cast<size_t>(options_.jobs) * 4;
    for (size_t at = 0; at < candidates.size(); at += group) {
      if (Clock::now() > end_) {
        result_.finished = false;
        return false;
      }
      std::span<Case> some = std::span(candidates).subspan(at, std::min(group, candidates.size() - at));
      auto found = failures(some, only_, options_.jobs, fresh_);
      result_.evaluations += some.size();
      for (size_t i = 0; i < some.size(); ++i) {
        if (!found[i] || found[i]->property != failure_.property || found[i]->symptom != failure_.symptom) continue;
        result_.smallest = std::move(some[i]);
        ++result_.steps;
        if (options_.progress) options_.progress(result_.evaluations, result_.smallest.graph->node_count());
        return true;
      }
    }
    return false;
  }

  const Failure& failure_;
  const ReduceOptions& options_;
  const Clock::time_point end_;
  Reduction result_;
  std::vector<const Property*> only_;
  std::set<size_t> tried_;
  bool fresh_ = false;
};
}  // namespace

oracle::WorkerLimits limits_for(const std::vector<const Property*>& only, bool fresh) {
  oracle::WorkerLimits limits{.hang_seconds = 30, .fresh = fresh};
  if (is_foreign(only)) limits.hang_seconds = 400, limits.extra_memory = 0;
  return limits;
}

Reduction reduce(const Case& from, const Failure& failure, const ReduceOptions& options) {
  return Reducer(from, failure, options).run();
}

std::optional<Failure> failure_alone(const Case& c, const std::vector<const Property*>& only) {
  return failures({&c, 1}, only, 1, true)[0];
}

std::optional<Found> drawn_beside(const Failure& failure) {
  if (failure.inner.empty()) return std::nullopt;
  Found found;
  try {
    found.by = parse_case(failure.inner);
  } catch (const UserError&) {  // it is the text that is wrong
    return std::nullopt;
  }
  auto alone = failure_alone(found.by, up_to(failure.inner_property));
  if (!alone || !alone->inner.empty()) return std::nullopt;
  found.failure = std::move(*alone);
  return found;
}

Failure failure_blamed(const Case& c, const Failure& failure) {
  const std::vector<const Property*> only = leading_to(failure.property);
  std::optional<Failure> alone = failure_alone(c, only);
  Failure result = alone.value_or(failure);
  if (!alone) result.detail += "\nThat was on the way: run once more by itself, this graph holds.";
  if (is_foreign(only)) return result;  // its steps are not ours
  oracle::WorkerCalls calls;
  calls.work = [&](size_t, oracle::Place&) {
    oracle::quieten_libtorch();
    Failure f = result;
    blame(*c.graph, c.setting, f);
    return packed(f);
  };
  calls.done = [&](size_t, const std::string& text) { result = unpacked(text).value_or(result); };
  calls.died = [](size_t, const oracle::Death&) { return false; };
  oracle::run_in_workers(1, 1, limits_for(only, true), calls);
  return result;
}

}  // namespace lenz::fuzz
