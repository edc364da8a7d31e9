// The controls: random graphs computed in legal ways, none of which may raise an alarm, and with one fault each, which
// should; our judge beside other criteria on the same runs.
// Thread-safety: a batch belongs to one thread; tallies are values.
#pragma once

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "oracle/controls/criteria.h"
#include "oracle/controls/histogram.h"
#include "oracle/controls/mutant.h"
#include "oracle/controls/subject.h"
#include "oracle/controls/survivor.h"

namespace lenz::oracle::controls {

struct ControlsOptions {
  uint64_t graphs = 1000, seed = 0;
  std::shared_ptr<const Graph> given;  // on other inputs each time, in place of random graphs
  int variants = 1;                    // legal ones per graph
  bool mutants = false;                // one of each kind per graph where it fits, and how far legal variants reach
  bool criteria = true;                // the others too
  bool as_eager = false;               // by the bounds that eager's own results are held to
  int reach = 12;                      // legal variants whose worst deviation is what is reached
  Efforts efforts;                     // for each mutant that survives beyond that
  std::optional<Mutant> fault;         // of what passes for legal: to see that, and how, an alarm is raised
};

struct MutantTally {
  uint64_t made = 0;  // those that changed some bit, by scope
  uint64_t killed[kCriteria] = {};
};
struct SurvivorTally {
  uint64_t counts[kStandings] = {};
  Histogram beyond;  // of those beyond: by what factor
  uint64_t survivors() const { return std::accumulate(std::begin(counts), std::end(counts), uint64_t{0}); }
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

// A survivor that no legal result reaches that was found, at the element where it is most so.
struct Unreached {
  Standing standing = Standing::beyond;
  std::string dtype, mutant, op, text;  // whose result it is; the graph's text
  uint64_t index = 0;                   // of the graph in the campaign
  uint64_t result = 0, element = 0;
  double factor = 1;  // beyond: the share of its bound over the greatest that legal results have; may be infinite
  double expected = 0, got = 0, bound = 0, reached = 0;  // reached: how far from `expected` legal results get there
};

struct Tally {
  std::map<std::string, DtypeTally> dtypes;
  std::vector<Alarm> alarms;         // the first few: legal variants', then eager's
  std::vector<Unreached> unreached;  // all of them
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
// UserError for a graph that controls can't be made of: open sizes, no float among its inputs, outputs that are no
// tensors.
void require_controllable(const Graph& graph);

}  // namespace lenz::oracle::controls
