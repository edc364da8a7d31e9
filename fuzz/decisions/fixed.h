// The fixed things whose decisions are kept in baseline.txt: graphs of the corpus, graphs that were drawn once
// (graphs.txt), texts that have to be refused, rows. They are texts, not draws: who draws otherwise decides nothing
// else about them. Thread-safety: constant once made.
#pragma once

#include <istream>
#include <optional>
#include <string>
#include <vector>

#include "fuzz/decisions/commands.h"

namespace lenz::fuzz {

struct Fixed {
  enum Kind : uint8_t { graph, row, scalar, refusal, sizes, twice, command, target, processor } kind = graph;
  std::string name;
  std::string_view text = {};             // graph, refusal, twice; of a target or processor: its name
  const OpDef* op = nullptr;              // row
  const ScalarRow* scalar_row = nullptr;  // scalar
  uint64_t number = 0;                    // sizes
  const FixedCommand* said_by = nullptr;  // command
  Facts facts() const;                    // nothing but `refused#` where it is refused
};
// What a case of this number is asked for besides; nothing: not one of them. So many cases in a row ask for all.
std::optional<uint64_t> part_of_decisions(uint64_t number);
std::vector<const Fixed*> things_of(uint64_t part);
// In an order in which each part of them is of all kinds.
const std::vector<Fixed>& fixed_things();

using Baseline = std::map<std::string, Facts, std::less<>>;
Baseline parse_baseline(std::string_view text);  // throws UserError
std::string line_of(const std::string& name, const Facts& facts);
const Baseline& baseline();  // that of this build

// How decisions differ from those of the baseline. No stage: they don't.
struct Drift {
  std::string stage;    // a pass, "lowering", "scheduling", "memory", "machine code", "rule of aten.add.Tensor"
  std::string symptom;  // "feature lost", "worse", "another"
  std::string text;     // for people: all of it
};
Drift drift(const Fixed& fixed, const Facts& before, const Facts& now);

// All of them against the baseline in this file; with `update` it is rewritten.
ExitCode check_decisions(const std::string& file, bool update);
// About graphs as graphs.txt has them, a line each, printed once the next one begins: who asks may look on in between.
ExitCode decide_about(std::istream& graphs);
constexpr std::string_view kBetweenGraphs = "# ---- ";  // begins the line before each graph, with its name

}  // namespace lenz::fuzz
