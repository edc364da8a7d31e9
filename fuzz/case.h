// One case of a campaign: what its seed and number stand for, and how it ends. Within a version of Lenz a case is the
// same for ever, on every machine.
// Thread-safety: pure functions; a runner belongs to one thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "fuzz/grow.h"
#include "fuzz/property.h"

namespace lenz::fuzz {

struct Case {
  std::unique_ptr<Graph> graph;
  Setting setting;
  About about = About::much;

  std::string text() const;  // a .lenz file: the setting in its first line, then the graph
};
// Whatever the chooser says: a byte string is a case too (cases_fuzz.cpp).
Case choose_case(Chooser& choose, const Pool& pool, const GrowOptions& options = {},
                 GrowthStatistics* statistics = nullptr);
Case draw_case(uint64_t seed, uint64_t number, const Pool& pool, const GrowOptions& options = {},
               GrowthStatistics* statistics = nullptr);
Case parse_case(const std::string& text, const std::string& file = "<text>");
Case read_case(const std::string& path);  // a graph without such a line has the setting that is drawn first

enum class CaseEnd : uint8_t { held, refused, not_covered, found };  // refused: eager raises, and so does all else

struct CaseResult {
  CaseEnd end = CaseEnd::held;
  std::optional<Failure> failure;
  std::map<std::string, uint64_t> not_covered;               // why a property could not be asked
  std::vector<std::pair<std::string_view, double>> seconds;  // of the processor, by property
  std::set<std::string> features;
};

class CaseRunner {
 public:
  // `only`: these properties, in their order; empty: all, of which `samples` asks those that compile for some
  // alone, so that more graphs meet the passes and the loops. `before` is told of each before it is asked.
  CaseRunner(std::vector<const Property*> only, std::string scratch, bool samples = false);
  // Instead of its own: of several runners.
  void keep_objects(std::shared_ptr<native::KeptObjects> objects) { objects_ = std::move(objects); }
  CaseResult run(const Graph& graph, const Setting& setting, const std::function<void(size_t property)>& before = {},
                 About about = About::much);

 private:
  bool asks(const Property& property, const Setting& setting, About about) const;

  std::vector<const Property*> properties_;
  bool samples_;
  std::string scratch_;
  oracle::Boxed boxed_;
  std::shared_ptr<native::KeptObjects> objects_;  // of all its cases
};

// The pipeline without the passes that these leave out ("-noop_removal,-dead_code"): what they would do hides what
// only shows without them.
std::vector<PipelineLine> lines_left_in(std::string_view passes);

// What the failure of a case is to be called: the step that a bisection finds in the place of the property's name.
void blame(const Graph& graph, const Setting& setting, Failure& failure);

}  // namespace lenz::fuzz
