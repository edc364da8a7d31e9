#include "fuzz/campaign.h"

#include <sys/mman.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <nlohmann/json.hpp>
#include <set>

#include "compiler/driver/plugin.h"
#include "compiler/ops/op_table.h"
#include "fuzz/run_record.h"
#include "fuzz/triage.h"
#include "oracle/scratch.h"
#include "oracle/workers.h"

namespace lenz::fuzz {

namespace {
using Clock = std::chrono::steady_clock;
using nlohmann::json;
constexpr size_t kSlice = 6144;  // cases that one worker process sees at most: it compiles what they share
constexpr size_t kForeignSlice = 192;
constexpr int kDeathsOfBatch = 16;
constexpr double kSlow = 0.005;  // seconds of the processor; what takes less nobody asks about
const std::string kLooksLike = "Looks like issue ";
const std::string kKilled = oracle::Death{.signal = SIGKILL}.text();

double since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

// Ctrl-C as something to ask for. Workers inherit the blocked signal, and end when their parent asks them to.
class Interrupt {
 public:
  Interrupt() {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigprocmask(SIG_BLOCK, &set, &before_);
    fd_ = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
  }
  ~Interrupt() {
    if (fd_ >= 0) close(fd_);
    sigprocmask(SIG_SETMASK, &before_, nullptr);
  }
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;
  bool came() {
    signalfd_siginfo info;
    came_ |= fd_ >= 0 && read(fd_, &info, sizeof info) == static_cast<ssize_t>(sizeof info);
    return came_;
  }

 private:
  int fd_ = -1;
  sigset_t before_{};
  bool came_ = false;
};

// A flag that workers see.
class Shared {
 public:
  Shared() {
    void* memory = mmap(nullptr, sizeof(std::atomic<bool>), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw Unsupported("no memory to share with worker processes");
    stop_ = new (memory) std::atomic<bool>(false);
  }
  ~Shared() { munmap(stop_, sizeof(std::atomic<bool>)); }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;
  std::atomic<bool>& stop() { return *stop_; }

 private:
  std::atomic<bool>* stop_;
};

struct Dead {
  uint64_t number = 0;
  uint32_t property = 0;
  std::string symptom;
};

bool by_itself(const Dead& d) { return d.symptom != kKilled; }

class Campaign {
 public:
  explicit Campaign(const CampaignOptions& options)
      : options_(options), batch_(is_foreign(options.only) ? 4 : 32), pool_(op_table()), store_(store_in(options.out)) {
    begin_run();
  }

  CampaignSummary run() {
    begin_ = Clock::now();
    if (options_.begins) options_.begins(seed_);
    look_into_findings();
    while (!over()) {
      slice();
      look_into_findings();
    }
    return summary();
  }

 private:
  json options_json() const {
    json only = json::array();
    for (const Property* p : options_.only) only.push_back(p->name);
    json all = {{"only", only}, {"target", options_.target}, {"first", options_.first}};
    if (options_.source) all["cases_are"] = options_.cases_are;
    if (!options_.leave_out.empty()) all["leave_out"] = options_.leave_out;
    return all;
  }

  Case drawn(uint64_t number, GrowthStatistics* grown = nullptr) {
    Case c = options_.source ? options_.source(number) : draw_case(seed_, number, pool_, {}, grown);
    if (!options_.target.empty()) c.setting.target = options_.target;
    if (!options_.decisions) c.setting.number.reset();
    return c;
  }

  void begin_run() {
    next_ = options_.first;
    if (options_.resume) {
      std::tie(run_, seed_) = last_run(store_, "fuzz", options_json().dump());
      for (const store::Row& row : store_.query("SELECT first, cases FROM batch WHERE run = ?", {run_}))
        done_[static_cast<uint64_t>(store::integer(row[0]))] = static_cast<uint64_t>(store::integer(row[1]));
      return;
    }
    seed_ = options_.seed;
    run_ = new_run(store_, "fuzz", seed_, options_json().dump());
  }

  uint64_t end() const { return options_.cases ? options_.first + options_.cases : UINT64_MAX; }
  bool time_is_up() const { return options_.seconds > 0 && since(begin_) >= options_.seconds; }
  bool enough() const { return options_.first_finding && found_ > 0; }
  bool over() { return interrupt_.came() || time_is_up() || enough() || next_ >= end(); }

  // --- cases

  void slice() {
    const int workers = options_.workers;
    std::vector<std::pair<uint64_t, uint64_t>> batches;  // first, cases
    const size_t most = (is_foreign(options_.only) ? kForeignSlice : kSlice) / batch_ * static_cast<size_t>(workers);
    while (batches.size() < most && next_ < end()) {
      // A run that was to have fewer cases ended with a shorter batch.
      if (const auto there = done_.find(next_); there != done_.end()) {
        next_ += there->second;
        continue;
      }
      const auto behind = done_.upper_bound(next_);
      const uint64_t room = behind == done_.end() ? batch_ : behind->first - next_;
      const uint64_t count = std::min({batch_, end() - next_, room});
      batches.emplace_back(next_, count);
      next_ += count;
    }
    std::vector<std::vector<Dead>> dead(batches.size());
    std::vector<std::set<uint64_t>> killed(batches.size());
    shared_.stop() = false;
    oracle::WorkerCalls calls;
    calls.work = [&](size_t task, oracle::Place& place) {
      return batch(batches[task].first, batches[task].second, dead[task], place);
    };
    calls.done = [&](size_t task, const std::string& result) {
      if (result.empty()) return;
      json counts = json::parse(result);
      if (!killed[task].empty()) counts["killed"] = killed[task].size();
      record(batches[task].first, batches[task].second, counts, dead[task]);
    };
    calls.died = [&](size_t task, const oracle::Death& death) {
      // No case sends that to itself: somebody killed the worker, or the system had no memory left.
      const uint64_t number = batches[task].first + death.place.index;
      if (death.text() == kKilled && killed[task].insert(number).second) return true;
      dead[task].push_back({number, death.place.phase, death.text()});
      // Of those that give no answer each takes its minute: who wants one finding has it.
      const bool enough_died = options_.first_finding || std::ranges::count_if(dead[task], by_itself) >= kDeathsOfBatch;
      if (!enough_died) return true;
      record(batches[task].first, batches[task].second, {{"given_up", batches[task].second - dead[task].size()}},
             dead[task]);
      return false;
    };
    calls.tick = [&](size_t finished) {
      if (interrupt_.came() || time_is_up() || enough()) shared_.stop() = true;
      if (options_.progress) show_progress(finished);
    };
    oracle::WorkerLimits limits = limits_for(options_.only, false);
    limits.hang_seconds *= 2;  // beside all the others
    share(options_.only, workers);
    oracle::run_in_workers(batches.size(), workers, limits, calls);
  }

  // In a child. Empty: it was told to stop.
  std::string batch(uint64_t first, uint64_t count, const std::vector<Dead>& dead, oracle::Place& place) {
    oracle::quieten_libtorch();
    if (!runner_) runner_ = std::make_unique<CaseRunner>(options_.only, scratch_.path(), !options_.source);
    const auto begin = Clock::now();
    GrowthStatistics grown;
    json findings = json::array(), slow = json::array();
    std::map<std::string, uint64_t> ends, why, features, asked;
    std::map<std::string, double> seconds;
    for (uint64_t i = 0; i < count; ++i) {
      if (shared_.stop()) return {};
      ++place.steps;
      place.index = static_cast<uint32_t>(i);
      if (std::ranges::find(dead, first + i, &Dead::number) != dead.end()) continue;
      if (std::ranges::find(options_.leave_out, first + i) != options_.leave_out.end()) continue;
      Case c = drawn(first + i, &grown);
      auto before = [&](size_t property) {
        ++place.steps;
        place.phase = static_cast<uint32_t>(property);
      };
      CaseResult result = runner_->run(*c.graph, c.setting, before, c.about);
      constexpr const char* kEnds[] = {"held", "refused", "not_covered", "found"};
      ++ends[kEnds[static_cast<size_t>(result.end)]];
      for (const auto& [what, n] : result.not_covered) why[what] += n;
      for (const auto& [what, s] : result.seconds) {
        seconds[std::string(what)] += s, ++asked[std::string(what)];
        if (s >= kSlow) slow.push_back({s, first + i, what});
      }
      for (const std::string& f : result.features) ++features[f];
      if (!result.failure) continue;
      const Failure& f = *result.failure;
      if (!f.values.empty()) c.setting.values = oracle::parse_values(f.values).value();
      findings.push_back({{"number", first + i},
                          {"property", f.property},
                          {"symptom", f.symptom},
                          {"detail", f.detail},
                          {"text", c.text()}});
    }
    json all = {{"ends", ends},         {"why", why},           {"seconds", seconds},   {"asked", asked},
                {"features", features}, {"findings", findings}, {"calls", grown.calls}, {"refused", grown.refused},
                {"slow", slow},         {"took", since(begin)}};
    return all.dump(-1, ' ', false, json::error_handler_t::replace);
  }

  void record(uint64_t first, uint64_t count, const json& result, const std::vector<Dead>& dead) {
    store::Database::Transaction transaction(store_);
    json counts = result;
    counts.erase("features");
    counts.erase("findings");
    store_.query(
        "INSERT INTO batch (run, first, cases, seconds, counts) VALUES (?, ?, ?, ?, ?)",
        {run_, static_cast<int64_t>(first), static_cast<int64_t>(count), result.value("took", 0.0), counts.dump()});
    const json features = result.value("features", json::object()), findings = result.value("findings", json::array());
    store_.query(
        "INSERT INTO coverage (run, feature, cases) SELECT ?, key, value FROM json_each(?) WHERE true "
        "ON CONFLICT (run, feature) DO UPDATE SET cases = cases + excluded.cases",
        {run_, features.dump()});
    for (const json& f : findings) add_finding(f["number"], f["property"], f["symptom"], f["detail"], f["text"]);
    for (const Dead& d : dead) {
      const Property& p = options_.only.empty() ? properties()[d.property] : *options_.only[d.property];
      const Case c = drawn(d.number);
      add_finding(static_cast<int64_t>(d.number), std::string(p.name), d.symptom, "the process died: " + d.symptom,
                  c.text());
    }
    transaction.commit();
    done_[first] = count;
    cases_done_ += count;
    found_ += findings.size() + static_cast<size_t>(std::ranges::count_if(dead, by_itself));
  }

  void add_finding(int64_t number, const std::string& property, const std::string& symptom, const std::string& detail,
                   const std::string& text) {
    store_.query("INSERT INTO finding (run, number, property, symptom, detail, text) VALUES (?, ?, ?, ?, ?, ?)",
                 {run_, number, property, symptom, detail, text});
  }

  // --- findings

  void look_into_findings() {
    if (options_.first_finding) return;
    for (const store::Row& row : store_.query("SELECT id, property, symptom, detail, text FROM finding WHERE run = ? "
                                              "AND signature IS NULL ORDER BY number",
                                              {run_})) {
      if (interrupt_.came()) return;
      const std::string kind = store::text(row[1]) + " | " + store::text(row[2]);
      Failure failure{store::text(row[1]), store::text(row[1]), store::text(row[2]), store::text(row[3])};
      // What eager dies of by itself is told apart however many there are, and takes nobody's turn.
      const bool enough = looked_into_[kind] >= options_.reductions && failure.symptom != kKilled;
      if (enough && !dies_in_eager(store::text(row[4]), failure)) continue;
      if (options_.progress)
        std::fprintf(stderr, "%slooking into a finding: %s\n", isatty(STDERR_FILENO) ? "\r\33[K" : "", kind.c_str());
      Triaged t = enough ? Triaged{.eager_dies = true} : triaged(store::text(row[4]), failure);
      looked_into_[kind] += !t.eager_dies;
      store::Database::Transaction transaction(store_);
      if (t.eager_dies || (!t.alone && failure.symptom == kKilled)) {  // the latter again, and yet it holds
        store_.query("DELETE FROM finding WHERE id = ?", {row[0]});
        transaction.commit();
        if (t.eager_dies && options_.progress) std::fprintf(stderr, "  eager dies of it by itself\n");
        continue;
      }
      if (const std::string issues = issues_like(t.text); !issues.empty()) t.detail += "\n" + kLooksLike + issues;
      auto known = store_.query("SELECT id, state FROM signature WHERE name = ?", {t.name});
      int64_t id = 0;
      if (known.empty()) {
        store_.query("INSERT INTO signature (name, state, text, detail) VALUES (?, 'open', ?, ?)",
                     {t.name, t.text, t.detail});
        id = store_.last_id();
      } else {
        id = store::integer(known[0][0]);
        if (store::text(known[0][1]) == "fixed")
          store_.query("UPDATE signature SET state = 'open', returned = ? WHERE id = ?", {run_, id});
      }
      store_.query("UPDATE finding SET signature = ? WHERE id = ?", {id, row[0]});
      transaction.commit();
      write_finding(options_.out, id, t);
      if (options_.progress) std::fprintf(stderr, "  %s\n", t.name.c_str());
    }
  }

  // Which issues' mechanisms the smallest graph has. Whether it is one of them, people say.
  std::string issues_like(const std::string& text) const {
    if (options_.issues.empty()) return {};
    std::string all;
    try {
      const Case c = parse_case(text);
      BugPatternMatcher matcher(*c.graph, c.setting);
      for (const BugPattern& p : options_.issues)
        if (matcher.matches(p)) all += (all.empty() ? "" : ", ") + p.number + " (" + p.title + ")";
    } catch (const UserError&) {  // a text that can't be read
    }
    return all;
  }

  static bool dies_in_eager(const std::string& text, const Failure& failure) {
    try {
      return is_eagers_own_death(parse_case(text), failure);
    } catch (const UserError&) {  // a text that can't be read
      return false;
    }
  }

  // A case whose text can't be read back can't be reduced either: that is its finding.
  Triaged triaged(const std::string& text, const Failure& failure) {
    ReduceOptions options;
    options.jobs = options_.workers;
    options.seconds = options_.reduce_seconds;
    try {
      return triage(parse_case(text), failure, options);
    } catch (const UserError& error) {
      return {.name = failure.key() + " | not readable", .text = text, .detail = failure.detail + "\n" + error.what()};
    }
  }

  void show_progress(size_t) {
    const double s = since(begin_);
    const bool terminal = isatty(STDERR_FILENO);
    if (s - shown_ < (terminal ? 1 : 60)) return;
    shown_ = s;
    const std::string all = options_.cases ? " of " + std::to_string(options_.cases) : "";
    std::fprintf(stderr,
                 terminal ? "\r\33[K%.0f s: %llu%s cases, %.1f/s, %llu findings"
                          : "%.0f s: %llu%s cases, %.1f/s, %llu findings\n",
                 s, static_cast<unsigned long long>(cases_done_), all.c_str(), static_cast<double>(cases_done_) / s,
                 static_cast<unsigned long long>(found_));
  }

  CampaignSummary summary() {
    try {
      return counted();
    } catch (const json::exception& error) {
      throw UserError("a batch of the run is damaged: " + std::string(error.what()), store_.path(),
                      "give another folder, or remove that store");
    }
  }

  static std::string issues_in(const std::string& detail) {
    const size_t at = detail.find(kLooksLike);
    if (at == std::string::npos) return {};
    const size_t begin = at + kLooksLike.size();
    return detail.substr(begin, detail.find('\n', begin) - begin);
  }

  CampaignSummary counted() {
    CampaignSummary s;
    s.seed = seed_;
    s.interrupted = interrupt_.came();
    s.seconds = since(begin_);
    for (const store::Row& row : store_.query("SELECT cases, counts FROM batch WHERE run = ?", {run_})) {
      const json j = json::parse(store::text(row[1]));
      const uint64_t given_up = j.value("given_up", 0u);
      s.given_up += given_up;
      s.killed += j.value("killed", 0u);
      s.cases += static_cast<uint64_t>(store::integer(row[0])) - given_up;
      const json ends = j.value("ends", json::object()), why = j.value("why", json::object()),
                 took = j.value("seconds", json::object()), asked = j.value("asked", json::object());
      s.held += ends.value("held", 0u);
      s.refused += ends.value("refused", 0u);
      s.not_covered += ends.value("not_covered", 0u);
      s.calls += j.value("calls", 0u);
      s.refused_calls += j.value("refused", 0u);
      for (const auto& [what, n] : why.items()) s.why_not[what] += n.get<uint64_t>();
      for (const auto& [what, n] : took.items()) s.property_seconds[what] += n.get<double>();
      for (const auto& [what, n] : asked.items()) s.property_cases[what] += n.get<uint64_t>();
      for (const json& one : j.value("slow", json::array()))
        s.slowest.push_back({one.at(0).get<double>(), one.at(1).get<uint64_t>(), one.at(2).get<std::string>()});
    }
    std::ranges::sort(s.slowest, std::greater<>(), &CampaignSummary::Slow::seconds);
    s.slowest.resize(std::min(s.slowest.size(), options_.slowest));
    s.found =
        static_cast<uint64_t>(store::integer(store_.query("SELECT count(*) FROM finding WHERE run = ?", {run_})[0][0]));
    std::set<std::string> features;
    for (const store::Row& row : store_.query("SELECT feature FROM coverage WHERE run = ?", {run_}))
      features.insert(store::text(row[0]));
    s.features = features.size();
    if (!options_.source) s.unreached = unreached(pool_, features);
    for (const store::Row& row : store_.query(
             "SELECT s.id, s.name, count(*), s.returned IS f.run, EXISTS (SELECT 1 FROM finding o WHERE "
             "o.signature = s.id AND o.run < f.run), s.detail FROM finding f JOIN signature s ON f.signature = s.id "
             "WHERE f.run = ? GROUP BY s.id ORDER BY s.id",
             {run_})) {
      using Finding = CampaignSummary::Finding;
      const bool back = store::integer(row[3]) != 0, before = store::integer(row[4]) != 0;
      s.findings.push_back({store::text(row[1]), finding_file(options_.out, store::integer(row[0])),
                            static_cast<uint64_t>(store::integer(row[2])), true, issues_in(store::text(row[5])),
                            back     ? Finding::back
                            : before ? Finding::known
                                     : Finding::fresh});
    }
    for (const store::Row& row : store_.query("SELECT property, symptom, count(*) FROM finding WHERE run = ? AND "
                                              "signature IS NULL GROUP BY property, symptom",
                                              {run_}))
      s.findings.push_back({store::text(row[0]) + " | " + store::text(row[1]), "",
                            static_cast<uint64_t>(store::integer(row[2])), false});
    return s;
  }

  const CampaignOptions& options_;
  const uint64_t batch_;                // cases that are stored together
  std::unique_ptr<CaseRunner> runner_;  // of a child: for all its batches, as it looks each op up once
  Interrupt interrupt_;                 // before anything that shows from outside that it runs
  Pool pool_;
  store::Database store_;
  Shared shared_;
  oracle::Scratch scratch_;
  int64_t run_ = 0;
  uint64_t seed_ = 0, next_ = 0, cases_done_ = 0, found_ = 0;
  double shown_ = 0;
  std::map<uint64_t, uint64_t> done_;
  std::map<std::string, int> looked_into_;
  Clock::time_point begin_;
};
}  // namespace

std::vector<Filed> recheck_filed(const std::string& out) {
  store::Database store(store_in(out));
  std::vector<Filed> all;
  for (const store::Row& row : store.query("SELECT id, name, text FROM signature WHERE state = 'open' ORDER BY id")) {
    Filed filed{store::text(row[1])};
    const std::string property = filed.name.substr(0, filed.name.find(" | "));
    try {
      filed.fixed = !failure_alone(parse_case(store::text(row[2])), up_to(property));
    } catch (const UserError&) {  // a text that can't be read is still what it was
    }
    if (filed.fixed) store.query("UPDATE signature SET state = 'fixed' WHERE id = ?", {row[0]});
    all.push_back(std::move(filed));
  }
  return all;
}

CampaignSummary run_campaign(const CampaignOptions& options) { return Campaign(options).run(); }

bool leaves_too_many_out(const CampaignSummary& summary) {
  constexpr uint64_t kFew = 64, kShare = 8;
  return summary.cases >= kFew && summary.not_covered > summary.cases / kShare;
}

uint64_t lacking_proofs(const CampaignSummary& summary) {
  const auto at = summary.why_not.find(std::string(kLacksProofs));
  return at == summary.why_not.end() ? 0 : at->second;
}

bool lacks_too_many_proofs(const CampaignSummary& summary) {
  constexpr uint64_t kFew = 2, kShare = 2000;  // two may come together
  return lacking_proofs(summary) > std::max(kFew, summary.cases / kShare);
}

}  // namespace lenz::fuzz
