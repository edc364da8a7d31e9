// The controls: random graphs computed in legal ways, none of which may raise an alarm, and with one fault each, which
// should; our judge beside other criteria on the same runs.
// Thread-safety: a batch belongs to one thread; tallies are values.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "oracle/controls/criteria.h"
#include "oracle/controls/histogram.h"
#include "oracle/controls/mutant.h"
#include "oracle/controls/subject.h"

namespace lenz::oracle::controls {

struct ControlsOptions {
  uint64_t graphs = 1000, seed = 0;
  int variants = 1;             // legal ones per graph
  bool mutants = false;         // one of each kind per graph where it fits, and how far legal variants reach
  bool criteria = true;         // the others too
  int reach = 12;               // legal variants whose worst deviation is what is reached
  int search = 400;             // more of them, for each mutant that survives beyond that: steps towards its deviation
  std::optional<Mutant> fault;  // of what passes for legal: to see that, and how, an alarm is raised
};

struct MutantTally {
  uint64_t made = 0;  // those that changed some bit, by scope
  uint64_t killed[kCriteria] = {};
};
struct SurvivorTally {
  uint64_t survivors = 0;
  uint64_t reached = 0;    // each deviation within the worst of some random legal variants at that element
  uint64_t attained = 0;   // within what the element attains by choices of its own (extremes.h)
  uint64_t found = 0;      // the same once legal variants have been searched for such deviations
  uint64_t in_tensor = 0;  // beyond it there, but within the worst of the tensor, relative to the bound
  Histogram beyond;        // of the others: deviation over the worst one reached
  std::map<std::string, uint64_t> beyond_at;  // and by the op whose result is farthest beyond
};

// Of the results of one op.
struct OpTally {
  uint64_t tensors = 0, elements = 0;
  uint64_t open = 0;    // elements without a bound, though the operands have theirs
  uint64_t strong = 0;  // bound below 2^-6 of the value
  Histogram tightness;  // as in DtypeTally, where no reduction is longer than 32
};

struct DtypeTally {
  uint64_t graphs = 0, refused = 0, nodes = 0, weak = 0;
  uint64_t elements = 0, strong = 0, ambiguous = 0;
  uint64_t runs = 0;  // of legal variants
  uint64_t alarms[kScopes][kCriteria] = {};
  uint64_t eager_alarms = 0;
  uint64_t extremes = 0, extreme_alarms = 0;  // results whose every element is as far out as is attained
  std::map<std::string, MutantTally> mutants[kScopes];
  std::map<std::string, SurvivorTally> survivors;  // of our judge on every result
  std::map<std::string, OpTally> ops;
  std::map<uint64_t, Histogram> tightness;  // by the longest reduction, up to a power of two: bound / worst deviation
};

inline constexpr size_t kAlarmsKept = 40;

struct Alarm {
  std::string dtype, by, summary, text;  // by: "a legal variant", "eager"; text: the graph's
  uint64_t index = 0, variant = 0;       // of the graph in the campaign, of the variant of it
  std::vector<std::string> choices;      // what is not plain in the smallest variant that still raises it
};

struct Tally {
  std::map<std::string, DtypeTally> dtypes;
  std::vector<Alarm> alarms;  // the first few: legal variants', then eager's
  std::map<std::string, uint64_t> unsupported;

  void merge(const Tally& other);
  nlohmann::json to_json() const;
  static Tally from_json(const nlohmann::json& json);
};

// Graphs [first, first + count) of the campaign.
Tally run_batch(const ControlsOptions& options, uint64_t first, uint64_t count, Boxed& boxed,
                const std::function<void()>& alive = {});
// One graph of it, to look at.
std::unique_ptr<Graph> control_graph(uint64_t seed, uint64_t index);

}  // namespace lenz::oracle::controls
