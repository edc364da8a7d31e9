#include "bench/peers.h"

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "bench/stream.h"
#include "compiler/torch/torch_pool.h"
#include "oracle/boxed.h"

namespace lenz::bench {

namespace {

// Threads of a side that has just run look for more work for a while before they sleep.
void let_threads_sleep() { std::this_thread::sleep_for(std::chrono::milliseconds(5)); }

constexpr double kCompileLimit = 1800;  // seconds; a mode of torch.compile may try out hundreds of kernels

std::string cpu_model() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  return "unknown";
}

class Peers {
 public:
  explicit Peers(const PeersOptions& options)
      : options_(options),
        threads_(options.threads > 0 ? options.threads : runtime::usable_threads()),
        pool_(make_torch_pool(threads_)),
        throughput_(pool_),
        worker_(script_command("worker.py", options.python, options.module,
                               {"--threads", std::to_string(threads_), "--cache", options.folder + "/inductor"}),
                options.folder + "/worker.log") {
    oracle::give_libtorch_threads(threads_);
  }

  PeersReport run() {
    PeersReport report;
    report.torch = worker_.greeting()["torch"];
    report.threads = threads_;
    report.cpu = cpu_model();
    getloadavg(&report.load_before, 1);
    for (const Listed& listed : chosen_rows(worker_, options_.only, options_.models)) {
      report.rows.push_back(row(listed, nullptr, listed.name));
      PeerRow& own = report.rows.back();
      if (!listed.own || options_.neighbours == 0 || own.ms("lenz") == 0) continue;
      const nlohmann::json told =
          worker_.ask({{"do", "neighbours"}, {"row", listed.name}, {"count", options_.neighbours}});
      int number = 0;
      for (const nlohmann::json& sizes : told["sizes"])
        own.neighbours.push_back(row(listed, sizes, listed.name + ".n" + std::to_string(++number)));
    }
    for (PeerRow& r : report.rows) settle(r);
    getloadavg(&report.load_after, 1);
    return report;
  }

 private:
  void say(const std::string& line) const {
    if (options_.progress) options_.progress(line);
  }

  // `sizes`: other ones than the row's, for Lenz alone; null: its own, beside its peers.
  PeerRow row(const Listed& listed, const nlohmann::json& sizes, const std::string& name) {
    PeerRow row;
    row.name = name;
    row.own = listed.own;
    for (const auto& [size, value] : sizes.items()) row.sizes.emplace_back(size, value.get<int64_t>());
    row.subjects.emplace_back("lenz");
    std::unique_ptr<Subject> lenz;
    try {
      nlohmann::json exported = {{"do", "export"}, {"row", listed.name}, {"name", name}, {"folder", options_.folder}};
      nlohmann::json loaded = {{"do", "load"}, {"row", listed.name}};
      if (!sizes.is_null()) exported["sizes"] = loaded["sizes"] = sizes;
      say(name + ": making and exporting");
      const nlohmann::json touched = worker_.ask(loaded, 300)["touched"];
      const nlohmann::json files = worker_.ask(exported, 300);
      lenz = prepared(row, files["lenz"], files["inputs"], touched);
    } catch (const InternalError& error) {
      row.failed = error.what();
      row.our_fault = true;
    } catch (const std::exception& error) {
      row.failed = error.what();
    }
    if (!row.failed.empty()) row.subjects[0].failed = row.failed;
    std::unique_ptr<Subject> open;
    if (sizes.is_null() && options_.dynamic && lenz) open = with_open_sizes(row);
    if (sizes.is_null()) prepare_peers(row);
    if (row.wrong.empty()) measure(row, lenz.get(), open.get());
    if (listed.model && lenz && row.wrong.empty()) row.share = lenz->share();
    return row;
  }

  std::unique_ptr<Subject> prepared(PeerRow& row, const std::string& text, const std::string& inputs,
                                    const nlohmann::json& touched) {
    say(row.name + ": compiling");
    auto lenz = std::make_unique<Subject>(text, inputs, SubjectOptions{options_.target, "", pool_});
    const BuildReport& built = lenz->report();
    row.subjects[0].first_seconds = built.graph_seconds + built.schedule_seconds + built.code_seconds;
    const Traffic traffic = lenz->traffic();
    row.read = traffic.read;
    row.written = traffic.written;
    row.work = lenz->work();
    if (!touched.is_null()) row.read = std::max(0.0, touched.get<double>() - row.written);
    if (!options_.check) {
      row.unchecked = "not asked for";
      return lenz;
    }
    say(row.name + ": checking");
    try {
      row.wrong = lenz->wrong().value_or("");
    } catch (const Unsupported& error) {
      row.unchecked = error.what();
    }
    return lenz;
  }

  std::unique_ptr<Subject> with_open_sizes(PeerRow& row) {
    try {
      say(row.name + ": compiling, with its sizes open");
      const nlohmann::json files = worker_.ask({{"do", "export"},
                                                {"row", row.name},
                                                {"name", row.name + ".open"},
                                                {"folder", options_.folder},
                                                {"dynamic", true}},
                                               300);
      auto open = std::make_unique<Subject>(files["lenz"], files["inputs"],
                                            SubjectOptions{options_.target, "", pool_, true, options_.short_sizes});
      row.constants = open->report().constants.size();
      if (options_.check)
        if (auto wrong = open->wrong()) row.wrong = "with its sizes open: " + *wrong;
      return open;
    } catch (const std::exception& error) {
      row.dynamic.failed = error.what();
      return nullptr;
    }
  }

  void prepare_peers(PeerRow& row) {
    for (const std::string& peer : options_.peers) {
      Measured made(peer);
      try {
        say(row.name + ": first call, " + peer);
        made.first_seconds = worker_.ask({{"do", "first"}, {"subject", peer}}, kCompileLimit)["seconds"];
      } catch (const std::exception& error) {  // an answer may be anything
        made.failed = error.what();
      }
      row.subjects.push_back(std::move(made));
    }
  }

  void measure(PeerRow& row, Subject* lenz, Subject* open) {
    Stream stream(row.read, row.written, *pool_);
    const size_t sides = row.subjects.size() + 1;
    for (int r = 0; r < options_.rounds; ++r) {
      say(row.name + ": round " + std::to_string(r + 1) + " of " + std::to_string(options_.rounds));
      for (size_t k = 0; k < sides; ++k) {  // who begins changes
        const size_t side = (k + static_cast<size_t>(r)) % sides;
        let_threads_sleep();
        if (side == row.subjects.size()) {
          row.memory.keep_better(stream.round(options_.seconds));
          measure_arithmetic(row);
        } else if (side == 0) {
          if (lenz) row.subjects[0].times.keep_better(lenz->round(options_.seconds));
          if (open) row.dynamic.times.keep_better(open->round(options_.seconds));
        } else {
          round_of(row.subjects[side]);
        }
      }
    }
  }

  void measure_arithmetic(PeerRow& row) {
    if (!row.roof_failed.empty()) return;
    try {
      throughput_.measure(row.work);
    } catch (const std::exception& error) {
      row.roof_failed = error.what();
    }
  }

  // What was measured for one row's arithmetic tells more of another's.
  void settle(PeerRow& row) const {
    row.arithmetic_ms = throughput_.time(row.work);
    for (PeerRow& n : row.neighbours) settle(n);
  }

  void round_of(Measured& peer) {
    if (!peer.failed.empty()) return;
    try {
      const nlohmann::json told = worker_.ask(
          {{"do", "round"}, {"subject", peer.subject}, {"seconds", options_.seconds}}, 120 + 20 * options_.seconds);
      peer.times.keep_better({told["best"], told["median"]});
    } catch (const std::exception& error) {
      peer.failed = error.what();
    }
  }

  const PeersOptions& options_;
  int threads_;
  std::shared_ptr<runtime::Pool> pool_;
  Throughput throughput_;
  Worker worker_;
};

}  // namespace

PeersReport run_peers(const PeersOptions& options) { return Peers(options).run(); }

}  // namespace lenz::bench
