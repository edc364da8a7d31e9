// `lenz fuzz`: campaigns; single cases by number or from a file; the list of properties.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "compiler/backend/llvm/target.h"
#include "compiler/driver/arguments.h"
#include "compiler/graph/text.h"
#include "compiler/ops/op_table.h"
#include "fuzz/campaign.h"
#include "fuzz/commands.h"
#include "fuzz/decisions/fixed.h"
#include "fuzz/durations.h"
#include "fuzz/exhaustive.h"
#include "fuzz/pattern_census.h"
#include "fuzz/reasons.h"
#include "fuzz/reduce.h"
#include "fuzz/score.h"

namespace lenz::fuzz {

namespace {
std::vector<const Property*> named(const std::vector<std::string>& names) {
  std::vector<const Property*> list;
  for (const std::string& name : names) {
    const Property* p = find_property(name);
    if (!p) {
      std::string all;
      for (const Property& each : properties()) all += (all.empty() ? "" : ", ") + std::string(each.name);
      throw UserError("there is no property `" + name + "`", "lenz fuzz", "there are: " + all);
    }
    list.push_back(p);
  }
  return list;
}

ExitCode list_properties() {
  for (const Property& p : properties())
    std::printf("%-18s %s\n", std::string(p.name).c_str(), std::string(p.contract).c_str());
  return ExitCode::fine;
}

ExitCode print_cases(uint64_t seed, uint64_t first, uint64_t count) {
  const Pool pool(op_table());
  for (uint64_t i = 0; i < count; ++i) std::printf("%s\n", draw_case(seed, first + i, pool).text().c_str());
  return ExitCode::fine;
}

// Generated, printed, parsed and compared: how fast.
ExitCode time_generator(uint64_t seed, uint64_t count) {
  const Pool pool(op_table());
  GrowthStatistics grown;
  uint64_t nodes = 0, bytes = 0;
  const auto begin = std::chrono::steady_clock::now();
  for (uint64_t i = 0; i < count; ++i) {
    Case c = draw_case(seed, i, pool, {}, &grown);
    const std::string text = print(*c.graph);
    auto again = parse_graph(text, op_table());
    nodes += again->node_count();
    bytes += text.size();
  }
  const double s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  std::printf("%llu graphs generated, printed and parsed in %.2f s: %.0f/s; %.1f nodes and %.0f bytes each\n",
              static_cast<unsigned long long>(count), s, static_cast<double>(count) / s,
              static_cast<double>(nodes) / static_cast<double>(count),
              static_cast<double>(bytes) / static_cast<double>(count));
  std::printf("%llu calls drawn, %llu refused by their rules\n", static_cast<unsigned long long>(grown.calls),
              static_cast<unsigned long long>(grown.refused));
  return ExitCode::fine;
}

ExitCode replay(const std::string& file, const std::vector<const Property*>& only) {
  Case c = read_case(file);
  auto failure = failure_alone(c, only);
  if (!failure) {
    std::printf("%s: every property holds\n", file.c_str());
    return ExitCode::fine;
  }
  *failure = failure_blamed(c, *failure);
  std::printf("%s: %s\n%s\n", file.c_str(), failure->key().c_str(), failure->detail.c_str());
  return ExitCode::wrong;
}

// How often the patterns of a file come up.
ExitCode census(const std::string& file, uint64_t seed, uint64_t cases, int workers, bool as_json) {
  const auto patterns = parse_bug_patterns(read_text(file, ParseLimits().text), file);
  const bool terminal = isatty(STDERR_FILENO);
  uint64_t said = 0;  // to a file each tenth
  const Census c = count_patterns(patterns, seed, cases, workers, [&](uint64_t done) {
    if (!terminal && done - said < cases / 10) return;
    said = done;
    std::fprintf(stderr, terminal ? "\r\33[K%llu of %llu cases" : "%llu of %llu cases\n",
                 static_cast<unsigned long long>(done), static_cast<unsigned long long>(cases));
  });
  if (terminal) std::fprintf(stderr, "\r\33[K");
  const auto n = [](uint64_t x) { return static_cast<unsigned long long>(x); };
  const auto million = [&](double p) { return 1e6 * p; };
  nlohmann::json rows = nlohmann::json::array();
  size_t there = 0, with_steps = 0;
  std::string missing;
  if (!as_json) std::printf("seed %llu\npattern   cases  per million (95 %%)           grown  first case\n", n(seed));
  for (const PatternCount& p : c.patterns) {
    const auto [low, high] = confidence(p.cases, c.cases);
    const double rate = million(static_cast<double>(p.cases) / static_cast<double>(c.cases));
    with_steps += p.waits_for.empty();
    there += p.cases > 0;
    if (p.cases == 0)
      missing +=
          "  " + p.number + " " + p.title +
          (p.waits_for.empty() ? ": not met, below " + std::to_string(std::llround(million(high))) + " per million"
                               : ": waits for " + p.waits_for) +
          "\n";
    rows.push_back({{"pattern", p.number},
                    {"title", p.title},
                    {"cases", p.cases},
                    {"grown", p.grown},
                    {"first", p.first},
                    {"low", low},
                    {"high", high},
                    {"waits_for", p.waits_for}});
    if (as_json || p.cases == 0) continue;
    std::printf("%-8s %6llu  %8.0f (%.0f to %.0f)%*s %6llu  %10lld  %s\n", p.number.c_str(), n(p.cases), rate,
                million(low), million(high), 0, "", n(p.grown), static_cast<long long>(p.first), p.title.c_str());
  }
  if (as_json) {
    const nlohmann::json all = {
        {"seed", seed}, {"cases", c.cases}, {"seconds", c.processor_seconds}, {"patterns", rows}};
    std::printf("%s\n", all.dump(1).c_str());
    return ExitCode::fine;
  }
  std::printf(
      "%zu of %zu patterns come up in %llu cases (%zu wait for a mechanism), looked at with %.0f a second of the "
      "processor\n%s",
      there, c.patterns.size(), n(c.cases), c.patterns.size() - with_steps,
      static_cast<double>(c.cases) / c.processor_seconds, missing.c_str());
  return ExitCode::fine;
}

constexpr const char* kNews[] = {"new", "known", "back"};

// All graphs over a few ops in the place of random ones.
void take_all_small_graphs(CampaignOptions& options, ExhaustiveOptions few, const std::vector<std::string>& dtypes) {
  if (few.ops.empty()) throw UserError("it needs --ops", "lenz fuzz --exhaustive", "say which: --ops add,sum,t");
  if (!dtypes.empty()) few.dtypes.clear();
  for (const std::string& name : dtypes) {
    const auto dtype = parse_dtype(name);
    if (!dtype) throw UserError("there is no dtype `" + name + "`", "lenz fuzz --dtypes");
    few.dtypes.push_back(*dtype);
  }
  const auto graphs = std::make_shared<const SmallGraphs>(few);
  std::fprintf(stderr, "%llu graphs of up to %zu ops; %llu sequences of choices, of which %llu make no graph\n",
               static_cast<unsigned long long>(graphs->count()), few.most,
               static_cast<unsigned long long>(graphs->sequences()),
               static_cast<unsigned long long>(graphs->refused()));
  if (options.cases == 0) options.cases = graphs->count() - std::min(options.first, graphs->count());
  options.cases = std::min(options.cases, graphs->count() - std::min(options.first, graphs->count()));
  options.seed = 0;
  options.cases_are = "all small graphs, " + std::to_string(few.most) + " ops, breadth " + std::to_string(few.breadth);
  for (const std::string& op : few.ops) options.cases_are += " " + op;
  for (const Dtype d : few.dtypes) options.cases_are += " " + std::string(lenz::name(d));
  options.source = [graphs](uint64_t number) { return graphs->at(number); };
}

ExitCode recheck(const std::string& out) {
  size_t open = 0;
  const std::vector<Filed> all = recheck_filed(out);
  for (const Filed& f : all) {
    std::printf("%s %s\n", f.fixed ? "fixed:" : "open still:", f.name.c_str());
    open += !f.fixed;
  }
  std::printf("%zu findings were open, %zu are fixed\n", all.size(), all.size() - open);
  return open ? ExitCode::wrong : ExitCode::fine;
}

nlohmann::json to_json(const CampaignSummary& s) {
  nlohmann::json findings = nlohmann::json::array();
  for (const auto& f : s.findings)
    findings.push_back({{"name", f.name},
                        {"file", f.file},
                        {"cases", f.cases},
                        {"news", kNews[f.news]},
                        {"looks_like", f.looks_like},
                        {"looked_into", f.looked_into}});
  nlohmann::json slowest = nlohmann::json::array();
  for (const auto& one : s.slowest)
    slowest.push_back({{"case", one.number}, {"property", one.property}, {"seconds", one.seconds}});
  nlohmann::json unreached = nlohmann::json::object();
  for (const Unreached& u : s.unreached) unreached[u.kind] = {{"all", u.all}, {"unreached", u.names}};
  return {{"seed", s.seed},
          {"unreached", unreached},
          {"cases", s.cases},
          {"held", s.held},
          {"refused", s.refused},
          {"given_up", s.given_up},
          {"killed", s.killed},
          {"not_covered", s.not_covered},
          {"found", s.found},
          {"seconds", s.seconds},
          {"calls", s.calls},
          {"refused_calls", s.refused_calls},
          {"features", s.features},
          {"property_seconds", s.property_seconds},
          {"property_cases", s.property_cases},
          {"slowest", slowest},
          {"why_not_covered", s.why_not},
          {"findings", findings}};
}

void show(const CampaignSummary& s) {
  auto n = [](uint64_t x) { return static_cast<unsigned long long>(x); };
  std::printf(
      "%llu cases in %.0f s: %llu held, %llu refused by eager and by all else, %llu covered in part, %llu failed\n",
      n(s.cases), s.seconds, n(s.held), n(s.refused), n(s.not_covered), n(s.found));
  if (s.killed) std::printf("%llu times somebody killed a worker; what it was at was run again\n", n(s.killed));
  if (s.given_up) std::printf("%llu cases were not run: too many of their batch killed the process\n", n(s.given_up));
  std::printf("%llu calls drawn, %llu refused by their rules; %llu features covered\n", n(s.calls), n(s.refused_calls),
              n(s.features));
  for (const Unreached& u : s.unreached) {
    std::printf("  %-5s %zu of %zu reached", u.kind.c_str(), u.all - u.names.size(), u.all);
    for (size_t i = 0; i < std::min<size_t>(u.names.size(), 6); ++i)
      std::printf("%s%s", i ? ", " : "; not ", u.names[i].c_str());
    std::printf(u.names.size() > 6 ? ", ...\n" : "\n");
  }
  for (const Property& p : properties()) {
    auto at = s.property_cases.find(std::string(p.name));
    if (at == s.property_cases.end()) continue;
    const double seconds = s.property_seconds.at(at->first);
    std::printf("  %-18s %8llu cases, %9.1f/s\n", at->first.c_str(), n(at->second),
                seconds > 0 ? static_cast<double>(at->second) / seconds : 0);
  }
  for (const auto& one : s.slowest)
    std::printf("  slow %7.0f ms  case %llu, %s\n", one.seconds * 1e3, n(one.number), one.property.c_str());
  std::vector<std::pair<uint64_t, std::string>> why;
  for (const auto& [text, count] : s.why_not) why.emplace_back(count, text);
  std::ranges::sort(why, std::greater<>());
  for (size_t i = 0; i < std::min<size_t>(why.size(), 8); ++i)
    std::printf("  not covered %6llu times: %s\n", n(why[i].first), why[i].second.c_str());
  for (const auto& f : s.findings) {
    if (f.looked_into) {
      constexpr const char* kWords[] = {"FOUND", "known, and open still:", "BACK after it was fixed:"};
      std::printf("%s %s\n  %llu case(s); %s\n", kWords[f.news], f.name.c_str(), n(f.cases), f.file.c_str());
      if (!f.looks_like.empty()) std::printf("  looks like issue %s\n", f.looks_like.c_str());
    } else {
      std::printf("and %llu more that fail with %s\n", n(f.cases), f.name.c_str());
    }
  }
  if (s.interrupted) std::printf("Interrupted; go on with --resume.\n");
  const auto known = std::ranges::count(s.findings, CampaignSummary::Finding::known, &CampaignSummary::Finding::news);
  if (leaves_too_many_out(s))
    std::printf("fuzz: %llu of %llu cases are covered in part alone\n", n(s.not_covered), n(s.cases));
  for (const std::string& beyond : beyond_their_share(s.why_not, s.cases))
    std::printf("fuzz: a reason not to cover comes too often: %s\n", beyond.c_str());
  if (lacks_too_many_proofs(s))
    std::printf("fuzz: of %llu of %llu cases proofs are missing, which is too many\n", n(lacking_proofs(s)),
                n(s.cases));
  if (s.findings.empty()) {
    std::printf("fuzz: nothing found\n");
  } else {
    std::printf("fuzz: %zu findings, %zu of them known\n", s.findings.size(), static_cast<size_t>(known));
  }
}
}  // namespace

ExitCode fuzz_command(std::span<const std::string> args) {
  CLI::App app(
      "Random graphs through every stage of the compiler, each stage held against eager libtorch. What fails is "
      "run again alone, reduced, named and filed.",
      "lenz fuzz");
  CampaignOptions options;
  std::string time, replayed, patterns, issues, subject = "lenz";
  std::vector<std::string> only;
  std::optional<uint64_t> seed;
  ExhaustiveOptions few;
  std::vector<std::string> few_dtypes;
  bool exhaustive = false, list = false, json = false, score = false, filed = false;
  ScoreOptions faults;
  uint64_t print = 0, generate = 0;
  std::string decisions;
  bool update = false, decide = false;
  options.out = "lenz-fuzz";
  app.add_option("--time", time, "how long: 30s, 10m, 8h (default: 1m, if no --cases are given)");
  app.add_option("--cases", options.cases, "how many cases");
  app.add_option("--seed", seed, "one seed is one campaign (default: a fresh one, which is printed)");
  app.add_option("--first", options.first, "number of the first case");
  app.add_option("--workers", options.workers, "processes (default: one for each core)")->check(CLI::Range(0, 1024));
  auto* chosen = app.add_option("--only", only, "these properties alone")->delimiter(',');
  app.add_option("--subject", subject, "who is held to it: Lenz, or torch.compile on the same graphs")
      ->check(CLI::IsMember({"lenz", "inductor"}))
      ->excludes(chosen)
      ->capture_default_str();
  app.add_option("--target", options.target,
                 "of machine code: avx512, avx2, generic (default: the best that runs here)");
  app.add_option("--out", options.out, "folder of the store and of what is found");
  app.add_flag("--resume", options.resume, "go on with the last campaign in that folder's store");
  auto* held = app.add_option("--decisions", decisions,
                              "hold what is decided about fixed things to the baseline in this file, and run no case");
  app.add_flag("--update", update, "of --decisions: rewrite the file")->needs(held);
  app.add_flag(
         "--decide", decide,
         "print what is decided about each graph of standard input, behind a line `# ---- NAME` each, as it comes")
      ->excludes(held);
  app.add_flag("!--no-decisions", options.decisions, "hold nothing to the baseline of decisions");
  app.add_flag("--first-finding", options.first_finding, "end with the first case that fails, as it was found");
  app.add_option("--leave-out", options.leave_out, "numbers of cases that are not run")->delimiter(',');
  app.add_option("--reductions", options.reductions,
                 "look into so many findings that fail one property with one symptom")
      ->check(CLI::Range(0, 1000))
      ->capture_default_str();
  auto* small = app.add_flag("--exhaustive", exhaustive, "all graphs over the --ops instead of random ones");
  app.add_option("--ops", few.ops, "of --exhaustive: add,sum,max.dim,relu_")->delimiter(',')->needs(small);
  app.add_option("--most", few.most, "of --exhaustive: ops in a graph")
      ->check(CLI::Range(1, 4))
      ->needs(small)
      ->capture_default_str();
  app.add_option("--dtypes", few_dtypes, "of --exhaustive: of inputs (default: f32)")->delimiter(',')->needs(small);
  app.add_option("--deviations", few.deviations,
                 "of --exhaustive: choices of a call (sizes, dims, flags, numbers) that are not the plainest at once")
      ->check(CLI::Range(0, 8))
      ->needs(small)
      ->capture_default_str();
  app.add_option("--breadth", few.breadth, "of --exhaustive: alternatives of each choice")
      ->check(CLI::Range(2, 16))
      ->needs(small)
      ->capture_default_str();
  app.add_flag("--recheck", filed, "run what is filed as open in that folder again: what holds now is filed as fixed");
  app.add_option("--slowest", options.slowest, "name so many of the cases that took longest, with the property");
  app.add_flag("--json", json, "the summary as JSON");
  app.add_flag("--list", list, "the properties, in their order");
  app.add_option("--print", print, "print so many cases, and run none");
  app.add_option("--generate", generate, "time the generator over so many cases, and run none");
  app.add_option("--replay", replayed, "run one case from a file");
  app.add_option("--issues", issues, "patterns of known issues: a finding that matches one is said to look like it");
  app.add_option("--patterns", patterns,
                 "count in how many cases (--cases, 20000) the patterns of this file come up, and run none");
  auto* scored = app.add_flag("--score", score,
                              "put faults into the compiler, and say which are found: --time (1m) or --cases for each, "
                              "--only these of them")
                     ->excludes("--subject");
  for (const char* other : {"--first", "--target", "--first-finding", "--list", "--print", "--generate", "--replay",
                            "--patterns", "--recheck", "--exhaustive"})
    scored->excludes(other);
  app.add_option("--faults", faults.faults,
                 "`written`: those of fuzz/mutants/written.toml; or how many made mechanically")
      ->check(CLI::IsMember({"written"}) | CLI::PositiveNumber)
      ->needs(scored)
      ->capture_default_str();
  app.add_flag("--all-found", faults.all_found, "fail unless every fault is found and blamed rightly")->needs(scored);
  if (!parse_arguments(app, args)) return ExitCode::fine;
  if (list) return list_properties();
  if (decide) return decide_about(std::cin);
  if (!decisions.empty()) return check_decisions(decisions, update);
  if (seed && *seed > INT64_MAX)
    throw UserError("--seed is " + std::to_string(*seed), "lenz fuzz", "give one below 2^63");
  if (score) {
    faults.names = only;
    faults.cases = options.cases;
    if (options.cases && !time.empty())
      throw UserError("--time and --cases are both given", "lenz fuzz --score", "for each fault give one of them");
    if (!only.empty() && faults.faults != "written")
      throw UserError("--only names written faults", "lenz fuzz --score", "leave --faults out, or --only");
    if (options.cases == 0)
      faults.seconds = std::to_string(static_cast<int64_t>(std::ceil(parse_duration(time.empty() ? "1m" : time))));
    faults.seed = seed.value_or(1);
    faults.jobs =
        options.workers ? options.workers : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
    faults.out = options.out;
    faults.resume = options.resume;
    faults.json = json;
    return score_faults(faults);
  }
  options.only = named(subject == "lenz" ? only : std::vector{subject});
  if (is_foreign(options.only)) options.reduce_seconds = 300;  // each run of it takes seconds
  if (filed) return recheck(options.out);
  if (!replayed.empty()) return replay(replayed, options.only);
  options.seed = seed ? *seed : (uint64_t{std::random_device()()} << 20 ^ std::random_device()()) & 0xFFFFFFFFFF;
  if (!options.target.empty()) options.target = native::runnable_target(options.target).name;
  if (print) return print_cases(options.seed, options.first, print);
  if (generate) return time_generator(options.seed, generate);
  if (options.workers == 0) options.workers = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  if (!patterns.empty())
    return census(patterns, options.seed, options.cases ? options.cases : 20000, options.workers, json);
  if (!issues.empty()) options.issues = parse_bug_patterns(read_text(issues, ParseLimits().text), issues);
  if (exhaustive) take_all_small_graphs(options, few, few_dtypes);
  if (!time.empty()) options.seconds = parse_duration(time);
  if (time.empty() && options.cases == 0) options.seconds = 60;
  if (!json)
    options.begins = [](uint64_t seed) {
      std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
      std::fflush(stdout);
    };
  const CampaignSummary summary = run_campaign(options);
  if (json) {
    std::printf("%s\n", to_json(summary).dump(1).c_str());
  } else {
    if (isatty(STDERR_FILENO)) std::fprintf(stderr, "\r\33[K");
    show(summary);
  }
  if (!summary.findings.empty()) return ExitCode::wrong;
  if (subject == "lenz" && (leaves_too_many_out(summary) || lacks_too_many_proofs(summary) ||
                            !beyond_their_share(summary.why_not, summary.cases).empty()))
    return ExitCode::not_covered;
  return summary.cases ? ExitCode::fine : ExitCode::not_covered;
}

ExitCode reduce_command(std::span<const std::string> args) {
  CLI::App app(
      "The smallest graph that fails as a given one does: fewer nodes, smaller sizes, plainer types and numbers.",
      "lenz reduce");
  std::string file, out, time = "2m";
  ReduceOptions options;
  std::vector<std::string> only;
  app.add_option("graph", file, "a .lenz file; a first line `# fuzz: ...` says the setting, as `lenz fuzz` writes it")
      ->required();
  app.add_option("--only", only, "properties to ask (default: all, in their order)")->delimiter(',');
  app.add_option("--out", out, "where the result goes (default: standard output)");
  app.add_option("--time", time, "how long at most");
  app.add_option("--jobs", options.jobs, "processes side by side")->check(CLI::Range(1, 1024));
  if (!parse_arguments(app, args)) return ExitCode::fine;
  options.seconds = parse_duration(time);
  Case c = read_case(file);
  auto failure = failure_alone(c, named(only));
  if (!failure) {
    std::fprintf(stderr, "%s: every property holds, there is nothing to reduce\n", file.c_str());
    return ExitCode::not_covered;
  }
  std::fprintf(stderr, "%s fails: %s\n", file.c_str(), failure->key().c_str());
  if (auto beside = drawn_beside(*failure)) {
    std::fprintf(stderr, "that is of a graph that it draws: %s\n", beside->failure.key().c_str());
    c = std::move(beside->by);
    failure = std::move(beside->failure);
  }
  options.progress = [](size_t evaluations, size_t nodes) {
    std::fprintf(stderr, "  %zu runs: %zu nodes\n", evaluations, nodes);
  };
  Reduction r = reduce(c, *failure, options);
  Failure smallest = failure_blamed(r.smallest, *failure);
  std::fprintf(stderr, "%s after %zu runs: %s\n%s\n", r.finished ? "done" : "out of time", r.evaluations,
               smallest.key().c_str(), smallest.detail.c_str());
  write_output(out, r.smallest.text());
  return ExitCode::fine;
}

}  // namespace lenz::fuzz
