// A bug's mechanism as a pattern over graphs: which calls, of which dtypes and layouts, through which memory. It says
// less than any one graph that shows the bug, so that it can be counted in what the generator makes. PATTERNS.md has
// the notation.
// Thread-safety: constant once parsed; matching is pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/graph/graph.h"
#include "fuzz/property.h"

namespace lenz::fuzz {

struct BugPattern {
  std::string number, title;
  std::string waits_for;  // of one whose mechanism is not there yet; it has no steps

  struct Who {
    enum Kind : uint8_t { input, any, external, transcendental, trait, op } kind = any;
    Trait which = Trait::elementwise;
    std::vector<const OpDef*> ops = {};  // and what is derived from them
  };
  enum class Through : uint8_t { itself, memory, computed };  // x, ~x, >x
  struct Operand {
    uint8_t name = 0;
    Through through = Through::itself;
    bool written = false;
    std::string parameter = {};  // the only one at which it may stand; empty: any
  };
  struct Condition {
    enum Kind : uint8_t { is, is_not, same, recast, apart, wider, compare } kind = is;
    uint8_t name = 0, other = 0;
    std::vector<std::string_view> words;                      // is, is_not: one of these; parser's own texts
    std::string_view attribute, other_attribute, comparison;  // compare: with another's, or with a number
    double number = 0;
  };
  struct Step {
    uint8_t name = 0;
    std::vector<Who> who;  // one of these
    std::vector<Operand> operands;
    std::vector<Condition> conditions;
  };
  std::vector<Step> steps;               // in the order of the graph's nodes
  std::vector<std::string_view> values;  // what the case has to hold; one of these, or anything
  size_t names = 0;
};

// Throws UserError. `file` is for messages.
std::vector<BugPattern> parse_bug_patterns(std::string_view text, const std::string& file = "<text>");

// A graph, looked at once for many patterns.
class BugPatternMatcher {
 public:
  BugPatternMatcher(const Graph& graph, const Setting& setting);
  ~BugPatternMatcher();
  bool matches(const BugPattern& pattern);

 private:
  struct Looked;
  std::unique_ptr<Looked> looked_;
};

// --- the words of conditions, for the parser and the matcher

inline constexpr std::string_view kDtypeSets[] = {"integers", "floats", "complexes"};
// A dtype, or a set of them.
std::optional<DtypeSet> dtypes_called(std::string_view word);
inline constexpr std::string_view kValueWords[] = {
    "strided",  // other strides than contiguous ones
    "permuted",   "channels_last",
    "expanded",  // several elements at one place
    "offset",
    "open",    // a size that is a symbol
    "input",   // in memory of the caller's
    "shared",  // an input that says whose memory it shares
    "mutated",    "written",
    "output",      // itself
    "used",        // by a call, or as an output
    "negative",    // an input that is declared to have numbers below zero
    "fractional",  // a call with a number that is none of the integers
};
inline constexpr std::string_view kAttributes[] = {
    "rank",
    "elements",  // at most, where sizes are open
    "size",      // of some dim
    "number",    // of some argument
};
inline constexpr std::string_view kCaseWords[] = {"ordinary", "special", "exact", "ties", "sorted", "constant", "nan",
                                                  "zeros",     // declared of an input, or special
                                                  "extreme"};  // near the end of a dtype, declared, or special

}  // namespace lenz::fuzz
