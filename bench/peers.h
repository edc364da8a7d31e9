// Lenz beside what a user would take instead, on the workloads of workloads.py: in rounds, one side after the other and
// never two at one time, each side's best call.
// Thread-safety: one at a time in a process.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "bench/rows.h"
#include "bench/subject.h"

namespace lenz::bench {

struct PeersOptions {
  std::vector<std::string> only;                                          // rows; empty: all
  std::vector<std::string> peers = {"eager", "default", "max-autotune"};  // eager, and modes of torch.compile
  int rounds = 7;
  double seconds = 0.15;                        // of one side in one round
  int threads = 0;                              // 0: as many as this process may use
  int neighbours = 0;                           // sizes beside each own row's, of Lenz and the roof alone
  bool models = false;                          // rows that are models too
  bool dynamic = false;                         // Lenz also with every size left open
  ShortSizes short_sizes = ShortSizes::closed;  // of those
  bool check = true;                            // results against the oracle, before anything is timed
  std::string target, python, folder, module;   // `module`: a file with workloads in place of the tracked ones
  std::function<void(const std::string& line)> progress;
};

struct Measured {
  explicit Measured(std::string name) : subject(std::move(name)) {}
  std::string subject;
  Times times;
  double first_seconds = 0;  // the first call of what was compiled
  std::string failed;        // why there is no time
};

struct PeerRow {
  std::string name;
  bool own = false;                                    // products, convolutions and attention are no part of it
  std::vector<std::pair<std::string, int64_t>> sizes;  // of a neighbour; else the row's own
  std::vector<Measured> subjects;                      // Lenz first
  bool our_fault = false;                              // why it is not built
  std::string failed, wrong, unchecked;  // Lenz's: not built; other results than eager's; nobody could tell
  double read = 0, written = 0;          // bytes that have to move
  Times memory;                          // in which memory moves them
  Work work;                             // that has to be done
  double arithmetic_ms = 0;              // in which the machine does it
  std::string roof_failed;               // why arithmetic was not measured
  Measured dynamic{"lenz, sizes open"};
  size_t constants = 0;        // sizes that were left open there and are short, so that the code has them as numbers
  std::optional<Share> share;  // of a model
  std::vector<PeerRow> neighbours;

  double ms(const std::string& subject) const;  // its best call; 0: none
  const Measured* best_peer() const;
  double ratio() const;     // the best peer's time by ours; 0: one of them is missing
  double roof() const;      // milliseconds: memory's or arithmetic's, whichever takes longer
  double roofline() const;  // that by ours
};

struct PeersReport {
  std::string torch, cpu;
  int threads = 0;
  double load_before = 0, load_after = 0;  // processes that wanted a core, in the mean over a minute
  std::vector<PeerRow> rows;

  // Of rows of our own code alone, each ratio capped. 0: there are none.
  double geomean(double cap) const;
  nlohmann::json to_json() const;  // as peers.schema.json says
  void print(std::FILE* out) const;
};

PeersReport run_peers(const PeersOptions& options);

}  // namespace lenz::bench
