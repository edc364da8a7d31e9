// `lenz controls`: the campaign, in processes, with progress; a table in words or JSON; 7 if a legal variant was called
// wrong.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <thread>

#include "compiler/driver/arguments.h"
#include "compiler/graph/verify.h"
#include "compiler/ops/op_table.h"
#include "oracle/commands.h"
#include "oracle/controls/controls.h"
#include "oracle/workers.h"

namespace lenz::oracle {

namespace {
using namespace controls;

constexpr uint64_t kBatch = 250;

struct Campaign {
  ControlsOptions options;
  int jobs = 0;
  bool json = false;
  std::string again;  // options that say which graphs, to be said once more
  uint64_t first = 0;
  double seconds = 0;
  Tally tally;
  std::vector<std::string> deaths;
};

void run(Campaign& campaign) {
  const auto begin = std::chrono::steady_clock::now();
  const uint64_t graphs = campaign.options.graphs;
  const size_t tasks = (graphs + kBatch - 1) / kBatch;
  WorkerCalls calls;
  calls.work = [&](size_t task, Place& place) {
    quieten_libtorch();
    Boxed boxed(DeviceKind::cpu);
    const uint64_t at = task * kBatch;
    ControlsOptions options = campaign.options;
    options.efforts.alive = [&] { ++place.steps; };
    return run_batch(options, campaign.first + at, std::min(kBatch, graphs - at), boxed,
                     [&] {
                       ++place.steps;
                       ++place.index;
                     })
        .to_json()
        .dump();
  };
  calls.done = [&](size_t, const std::string& result) {
    campaign.tally.merge(Tally::from_json(nlohmann::json::parse(result)));
  };
  calls.died = [&](size_t task, const Death& death) {
    campaign.deaths.push_back("graph " + std::to_string(campaign.first + task * kBatch + death.place.index) + ": " +
                              death.text());
    return false;
  };
  if (isatty(STDERR_FILENO))
    calls.tick = [&](size_t finished) {
      std::fprintf(stderr, "\r%zu of %zu graphs%s", static_cast<size_t>(std::min<uint64_t>(finished * kBatch, graphs)),
                   static_cast<size_t>(graphs), finished == tasks ? "\n" : "");
    };
  else
    calls.tick = [](size_t) {};
  run_in_workers(tasks, campaign.jobs, {}, calls);
  campaign.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double percent(uint64_t part, uint64_t whole) {
  return whole ? 100.0 * static_cast<double>(part) / static_cast<double>(whole) : 0;
}

void show_alarms(const Campaign& campaign) {
  for (const Alarm& a : campaign.tally.alarms) {
    const bool spoiled = campaign.options.fault && a.by != "eager";
    std::printf("%s%s of %s is called wrong: %s\n", a.by.c_str(), spoiled ? ", spoiled on purpose," : "",
                a.dtype.c_str(), a.summary.c_str());
    for (const std::string& c : a.choices) std::printf("  %s\n", c.c_str());
    std::printf("  again: lenz controls%s --seed %llu --first %llu --graphs 1\n%s\n", campaign.again.c_str(),
                static_cast<unsigned long long>(campaign.options.seed), static_cast<unsigned long long>(a.index),
                a.text.c_str());
  }
  for (const std::string& d : campaign.deaths) std::printf("%s\n", d.c_str());
  for (const auto& [why, count] : campaign.tally.unsupported)
    std::printf("%llu graphs not covered: %s\n", static_cast<unsigned long long>(count), why.c_str());
}

// With --ours alone nobody else was asked.
int asked(const Campaign& campaign) { return campaign.options.criteria ? kCriteria : 1; }

void show_criteria(const char* what, int criteria) {
  std::printf("%-32s", what);
  for (int c = 0; c < criteria; ++c) std::printf(" %14s", std::string(name(static_cast<Criterion>(c))).c_str());
  std::printf("\n");
}

// The one that catches most of a mutant, of those that call no legal result wrong; ours apart.
std::optional<Criterion> best_silent(const DtypeTally& t, int scope, const MutantTally& m) {
  std::optional<Criterion> best;
  for (int c = 1; c < kCriteria; ++c)
    if (t.runs && t.alarms[scope][c] == 0 && m.killed[c] && (!best || m.killed[c] > m.killed[static_cast<int>(*best)]))
      best = static_cast<Criterion>(c);
  return best;
}

void show_mutants(const std::string& dtype, const DtypeTally& t, const Campaign& campaign) {
  const int criteria = asked(campaign);
  for (int s = 0; s < kScopes; ++s) {
    show_criteria((dtype + ", " + std::string(kScopeNames[s])).c_str(), criteria);
    std::printf("  %-30s", "called wrong, of legal ones, %");
    for (int c = 0; c < criteria; ++c) std::printf(" %14.3f", percent(t.alarms[s][c], t.runs));
    std::printf("%s\n", campaign.options.mutants && criteria > 1 ? "  best of those that call none wrong" : "");
    if (!campaign.options.mutants) continue;
    for (const auto& [mutant, m] : t.mutants[s]) {
      std::printf("  %-22s %7llu", mutant.c_str(), static_cast<unsigned long long>(m.made));
      for (int c = 0; c < criteria; ++c) std::printf(" %14.1f", percent(m.killed[c], m.made));
      if (auto best = best_silent(t, s, m)) {
        const uint64_t theirs = m.killed[static_cast<int>(*best)];
        std::printf("  %s, %.1f", std::string(name(*best)).c_str(), percent(theirs, m.made));
        if (theirs > m.killed[0])
          std::printf(": %llu more than ours", static_cast<unsigned long long>(theirs - m.killed[0]));
      }
      std::printf("\n");
    }
  }
}

void show_survivors(const std::string& dtype, const DtypeTally& t, const Campaign& campaign) {
  std::printf(
      "%s: survivors of our judge, every result: within what random legal variants reach at the element; what "
      "it attains by choices of its own; what variants reach when searched; of the bound's share in the tensor; of its "
      "share where other inputs are drawn; beyond all (by what factor), as far as %d steps of --search and %d "
      "--redraws found: more may find those\n",
      dtype.c_str(), campaign.options.efforts.search, campaign.options.efforts.redraws);
  for (const auto& [mutant, m] : t.survivors) {
    std::printf("  %-22s %7llu", mutant.c_str(), static_cast<unsigned long long>(m.survivors()));
    for (uint64_t n : m.counts) std::printf(" %7llu", static_cast<unsigned long long>(n));
    std::printf(" (median %.2g)\n", m.beyond.median());
  }
  for (const Unreached& b : campaign.tally.unreached)
    if (b.dtype == dtype && b.standing == Standing::beyond)
      std::printf(
          "  beyond all by %.3g: graph %llu, %s, result %llu of %s [%llu]: %.9g for %.9g, off by %.3g of %.3g; %.3g "
          "reached\n    look longer: lenz controls%s --seed %llu --first %llu --graphs 1 --mutants --variants %d "
          "--ours "
          "--search %d --redraws %d\n",
          b.factor, static_cast<unsigned long long>(b.index), b.mutant.c_str(),
          static_cast<unsigned long long>(b.result), b.op.c_str(), static_cast<unsigned long long>(b.element), b.got,
          b.expected, std::fabs(b.got - b.expected), b.bound, b.reached, campaign.again.c_str(),
          static_cast<unsigned long long>(campaign.options.seed), static_cast<unsigned long long>(b.index),
          campaign.options.variants, 10 * std::max(400, campaign.options.efforts.search),
          10 * std::max(400, campaign.options.efforts.redraws));
  std::printf("%s: bound over the worst deviation reached, median over tensors, by the graph's longest reduction:",
              dtype.c_str());
  for (const auto& [length, h] : t.tightness)
    std::printf(" <=%llu: %.3g (%llu)", static_cast<unsigned long long>(length), h.median(),
                static_cast<unsigned long long>(h.count()));
  std::printf("\n");
}

void show_ops(const std::string& dtype, const DtypeTally& t) {
  std::printf(
      "%s: results by op: elements; %% left open though the operands are not; %% with a bound below 2^-6; bound "
      "over the worst deviation reached, median\n",
      dtype.c_str());
  for (const auto& [op, o] : t.ops)
    std::printf("  %-32s %9llu %7.2f %7.1f %9.3g\n", op.c_str(), static_cast<unsigned long long>(o.elements),
                percent(o.open, o.elements), percent(o.strong, o.elements), o.tightness.median());
}

void show(const Campaign& campaign) {
  show_alarms(campaign);
  uint64_t graphs = 0, runs = 0, extremes = 0, alarms = 0;
  for (const auto& [dtype, t] : campaign.tally.dtypes) {
    graphs += t.graphs;
    runs += t.runs;
    alarms += std::max(t.alarms[0][0], t.alarms[1][0]) + t.extreme_alarms;
    extremes += t.extremes;
    show_mutants(dtype, t, campaign);
    if (campaign.options.mutants) show_survivors(dtype, t, campaign);
    if (campaign.options.mutants) show_ops(dtype, t);
    std::printf(
        "%s: %llu graphs of %.1f ops, %llu weak, %llu refused by eager; %.1f %% of elements with a bound below "
        "2^-6, %.2f %% ambiguous; eager called wrong %llu times\n",
        dtype.c_str(), static_cast<unsigned long long>(t.graphs),
        t.graphs ? static_cast<double>(t.nodes) / static_cast<double>(t.graphs) : 0.0,
        static_cast<unsigned long long>(t.weak), static_cast<unsigned long long>(t.refused),
        percent(t.strong, t.elements), percent(t.ambiguous, t.elements),
        static_cast<unsigned long long>(t.eager_alarms));
  }
  std::printf(
      "%llu graphs, %llu legal variants, %llu extreme ones, %llu alarms; seed %llu, %.1f s, %.0f graphs a second in %d "
      "processes\n",
      static_cast<unsigned long long>(graphs), static_cast<unsigned long long>(runs),
      static_cast<unsigned long long>(extremes), static_cast<unsigned long long>(alarms),
      static_cast<unsigned long long>(campaign.options.seed), campaign.seconds,
      static_cast<double>(graphs) / campaign.seconds, campaign.jobs);
}

ExitCode verdict(const Campaign& campaign) {
  uint64_t graphs = 0;
  for (const auto& [dtype, t] : campaign.tally.dtypes) {
    graphs += t.graphs;
    if (t.alarms[0][0] + t.alarms[1][0] + t.extreme_alarms) return ExitCode::wrong;
  }
  if (!campaign.deaths.empty()) return ExitCode::our_fault;
  return graphs ? ExitCode::fine : ExitCode::not_covered;
}
}  // namespace

ExitCode controls_command(std::span<const std::string> args) {
  CLI::App app(
      "Holds the oracle to its word: random graphs are computed in legal ways, which it may not call wrong, and with "
      "one fault each, which it should.\nExit codes: 0 no alarm; 7 a legal variant was called wrong; 6 nothing was "
      "measured; 2 bad input; 1 a bug of Lenz's own.",
      "lenz controls");
  Campaign campaign;
  bool only_ours = false;
  std::string fault, on;
  app.add_option("--on", on,
                 "a graph of yours in place of random ones: how wide its bounds are beside what legal "
                 "results reach, and which faults pass; --graphs says on how many draws of its inputs");
  app.add_option("--graphs", campaign.options.graphs, "how many, over all floating dtypes")
      ->check(CLI::Range(uint64_t{1}, uint64_t{1} << 40))
      ->capture_default_str();
  app.add_option("--seed", campaign.options.seed, "of all choices")->capture_default_str();
  app.add_option("--first", campaign.first, "the number of the first graph")->capture_default_str();
  app.add_option("--variants", campaign.options.variants, "legal ones per graph")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  app.add_option("--jobs", campaign.jobs, "processes; the report does not depend on them")->check(CLI::Range(1, 1024));
  app.add_flag("--mutants", campaign.options.mutants, "wrong variants too, and how tight the bounds are");
  app.add_option("--search", campaign.options.efforts.search, "legal variants that look for each survivor's deviation")
      ->check(CLI::Range(0, 1000000))
      ->capture_default_str();
  app.add_option("--redraws", campaign.options.efforts.redraws,
                 "other inputs of its graph, to see how much of their bounds legal results use there")
      ->check(CLI::Range(0, 1000000))
      ->capture_default_str();
  app.add_option("--fault", fault, "of what passes for legal, to see that an alarm is raised: \"one bad element\"");
  app.add_flag("--ours", only_ours, "not the other criteria");
  app.add_flag("--as-eager", campaign.options.as_eager,
               "by the bounds that eager's own results are held to, and those that lenz check --against is given");
  app.add_flag("--json", campaign.json, "the tally as JSON (oracle/controls/controls.schema.json)");
  if (!parse_arguments(app, args)) return ExitCode::fine;
  campaign.options.criteria = !only_ours;
  if (campaign.options.as_eager) campaign.again = " --as-eager";
  if (!on.empty()) {
    campaign.options.given = read_valid_graph(on, op_table());
    require_controllable(*campaign.options.given);
    campaign.again += " --on " + on;
  }
  campaign.options.fault = find_mutant(fault);
  if (!fault.empty() && !campaign.options.fault) {
    std::string known;
    for (int m = 0; m < kMutants; ++m) known += (m ? ", " : "") + std::string(name(static_cast<Mutant>(m)));
    throw UserError("no mutant is called `" + fault + "`", "lenz controls --fault", "there are: " + known);
  }
  if (campaign.jobs == 0) campaign.jobs = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));

  run(campaign);
  if (campaign.json) {
    nlohmann::json j = campaign.tally.to_json();
    j["graphs"] = campaign.options.graphs;
    j["seed"] = campaign.options.seed;
    j["seconds"] = campaign.seconds;
    j["jobs"] = campaign.jobs;
    j["deaths"] = campaign.deaths;
    std::printf("%s\n", j.dump(1).c_str());
  } else {
    show(campaign);
  }
  return verdict(campaign);
}

}  // namespace lenz::oracle
