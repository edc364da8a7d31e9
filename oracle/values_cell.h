// What became of the calls of one row in one dtype, all together and by how their operands lie.
// Thread-safety: values.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "compiler/ops/layouts.h"
#include "oracle/bounds/reference.h"
#include "oracle/controls/histogram.h"

namespace lenz::oracle {

// Each of the calls is one of those that follow.
struct Verdicts {
  int calls = 0;
  int passed = 0, weak = 0, wrong = 0;
  int refused = 0;    // by eager
  int known = 0;      // differ where eager is known to be at fault (values_known.txt)
  int unbounded = 0;  // no rule bounds the op, or what it is made of
  int died = 0;       // of a call that no exception of the row's speaks of
  int unlowered = 0;  // on loops: an op has no loops, or its loops have no code

  void add(const Verdicts& more);
  void take(const Verdicts& less);
  int told() const;  // of the calls, how many have one
  int judged() const { return passed + weak + wrong + known; }
  nlohmann::json to_json(bool zeros) const;
  static Verdicts from_json(const nlohmann::json& j);
};

// One row in one dtype of its leading tensor.
struct ValuesCell : Verdicts {
  int rebound = 0;  // with symbolic sizes: programs that ran at four sizes or more
  // How many legal variants ran, of how many calls there are none, and how wide the bounds are beside what they reach.
  int variants = 0, uncontrolled = 0;
  controls::Histogram tightness;
  Shares shares;
  // A call counts in each class of layouts that an operand of it lies in, an out= tensor too.
  std::map<LayoutClass, Verdicts> layouts;
  std::map<LayoutClass, std::string> no_layouts;  // why none that was judged lies so
  std::string finding, graph;                     // the first wrong one
  std::string note;                               // the first refusal, or what is unbounded
  std::string uncontrolled_by;                    // why the first call without variants has none

  nlohmann::json to_json() const;
  static ValuesCell from_json(const nlohmann::json& j);
};

}  // namespace lenz::oracle
