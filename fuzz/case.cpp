#include "fuzz/case.h"

#include <algorithm>
#include <ctime>
#include <utility>

#include "compiler/backend/llvm/kept_objects.h"
#include "compiler/base/hash.h"
#include "compiler/graph/text.h"
#include "compiler/graph/verify.h"
#include "compiler/ops/op_table.h"
#include "fuzz/decisions/fixed.h"
#include "fuzz/excuses.h"
#include "fuzz/reasons.h"
#include "oracle/dying_calls.h"
#include "oracle/graph_check.h"
#include "oracle/kept_memory.h"
#include "oracle/rewritten.h"
#include "oracle/values_file.h"

namespace lenz::fuzz {

namespace {
constexpr std::string_view kSettingLine = "# fuzz: ";

// The same error at another place, or of another number, is the same error.
std::string without_details(std::string_view text) {
  std::string out;
  for (char c : text.substr(0, text.find('\n'))) {
    if (c >= '0' && c <= '9') {
      if (out.empty() || out.back() != 'N') out += 'N';
    } else {
      out += c;
    }
    if (out.size() > 100) break;
  }
  return out;
}
// Of all threads: what others do on the machine is no part of it.
double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}
bool of_values(std::string_view symptom) {
  for (auto rung = oracle::Rung::ending; rung <= oracle::Rung::bound;
       rung = static_cast<oracle::Rung>(static_cast<int>(rung) + 1))
    if (oracle::name(rung) == symptom) return true;
  return false;
}
}  // namespace

std::string Case::text() const { return std::string(kSettingLine) + setting.text() + "\n" + print(*graph); }

Case choose_case(Chooser& choose, const Pool& pool, const GrowOptions& options, GrowthStatistics* statistics) {
  Case c;
  using oracle::Values;
  constexpr Values kModes[] = {Values::ordinary, Values::special, Values::exact,   Values::ties,
                               Values::sorted,   Values::nan,     Values::constant};
  constexpr uint32_t kWeights[] = {9, 7, 6, 4, 1, 1, 1};
  c.setting.values = kModes[choose.weighted(kWeights)];
  c.setting.seed = choose.below(uint64_t{1} << 32);
  c.setting.target = choose.any_of<const char*>({"", "generic", "avx2"});
  GrowthStatistics own;
  GrowthStatistics& grown = statistics ? *statistics : own;
  GrowOptions what = options;
  if (choose.chance(1, 24)) {
    c.setting.values = Values::beyond;  // as ordinary where nothing indexes
    what.indexing = true;
  }
  c.graph = grow(choose, pool, what, &grown);
  c.setting.sizes = grown.sizes;
  return c;
}

Case draw_case(uint64_t seed, uint64_t number, const Pool& pool, const GrowOptions& options,
               GrowthStatistics* statistics) {
  RandomChooser choose(combine(seed, number));
  GrowOptions in_turn = options;
  in_turn.turn = Turn{seed, number};
  Case c = choose_case(choose, pool, in_turn, statistics);
  c.about = about(number);
  if (part_of_decisions(number)) c.setting.number = number;
  return c;
}

Case parse_case(const std::string& text, const std::string& file) {
  Case c;
  if (text.starts_with(kSettingLine))
    c.setting =
        Setting::parse(std::string_view(text).substr(kSettingLine.size(), text.find('\n') - kSettingLine.size()));
  ParseOptions options;
  options.file = file;
  c.graph = parse_graph(text, op_table(), options);
  std::vector<UserError> broken = verify_text(*c.graph, text, options);
  if (!broken.empty()) throw UserError(broken[0]);
  return c;
}

Case read_case(const std::string& path) {
  Case c = parse_case(read_text(path, ParseLimits().text), path);
  c.setting.folder = oracle::folder_of(path);
  return c;
}

CaseRunner::CaseRunner(std::vector<const Property*> only, std::string scratch, bool samples)
    : properties_(std::move(only)),
      samples_(samples && properties_.empty()),
      scratch_(std::move(scratch)),
      boxed_(DeviceKind::cpu),
      objects_(std::make_shared<native::KeptObjects>()) {
  oracle::keep_small_blocks();
  if (properties_.empty())
    for (const Property& p : properties())
      if (!p.foreign) properties_.push_back(&p);
}

// With machine code a case costs several times what it costs without; and what a step does wrong shows behind the steps
// after it too. One of many things has as many rows in turn as one of rows alone, and what they do to each other.
bool CaseRunner::asks(const Property& property, const Setting& setting, About about) const {
  constexpr uint64_t kCompiledEvery = 2;
  if (!samples_) return true;
  if (about == About::rules && (property.lowers || property.compiles)) return false;
  if (about == About::more_rows && property.compiles) return false;
  if (about == About::pointwise && property.repeats) return false;
  if (about == About::much && property.compiles && setting.seed % kCompiledEvery != 0) return false;
  return property.every == 1 || combine(setting.seed, hash_bytes(property.name)) % property.every == 0;
}

CaseResult CaseRunner::run(const Graph& graph, const Setting& setting, const std::function<void(size_t)>& before,
                           About about) {
  CaseResult result;
  Subject subject(graph, setting, boxed_, scratch_);
  // Some of libtorch's kernels write where an index points, wherever that is: such a case says nothing.
  std::optional<oracle::DyingCalls> looks_at_indices;
  if (setting.values == oracle::Values::beyond) looks_at_indices.emplace();
  const bool rereads =
      std::ranges::any_of(properties_, [&](const Property* p) { return p->rereads && asks(*p, setting, about); });
  if (!rereads) subject.keep_objects(objects_);
  double begin = processor_seconds();
  for (size_t i = 0; i < properties_.size() && !result.failure; ++i) {
    const Property& property = *properties_[i];
    if (!asks(property, setting, about)) continue;
    if (before) before(i);
    const std::string name(property.name);
    try {
      result.failure = property.holds(subject);
    } catch (const InternalError& error) {
      result.failure = Failure{name, name, "internal error: " + without_details(error.what()), error.what()};
    } catch (const Unsupported& why) {
      ++result.not_covered[name + ": " + without_details(why.what())];
      if (!property.foreign && !known_reason(why.what()))
        result.failure = Failure{name, name, "not covered: " + without_details(why.what()), why.what()};
    } catch (const UserError& error) {
      // Eager takes the graph, so it is no user's fault.
      result.failure = Failure{name, name, "refused: " + without_details(error.message()), error.what()};
    } catch (const std::bad_alloc&) {
      result.failure = Failure{name, name, "out of memory", "the process has no memory left"};
    } catch (const std::exception& error) {
      result.failure = Failure{name, name, "exception: " + without_details(error.what()), error.what()};
    }
    const double end = processor_seconds();
    result.seconds.emplace_back(property.name, end - std::exchange(begin, end));
  }
  graph.for_each_node([&](NodeId id) {
    const Node& node = graph.node(id);
    std::string_view dtype = "none";
    for (size_t a = node.arg_count; a-- > 0;)
      if (node.args[a].is_value() && graph.type(node.args[a].value()).is_tensor())
        dtype = info(graph.type(node.args[a].value()).dtype).name;
    subject.features.insert("op " + node.op->full_name + " " + std::string(dtype));
  });
  result.features = std::move(subject.features);
  if (subject.lacks_proofs()) ++result.not_covered[std::string(kLacksProofs)];
  // An error of ours is one whatever eager does; values of an op that is known are no evidence.
  if (result.failure && of_values(result.failure->symptom)) {
    std::string excuse;
    try {
      const Property* by = find_property(result.failure->property);
      const bool ours = by && (by->lowers || by->compiles || by->looks_back) && !by->foreign;
      excuse = excuse_of(graph, subject.sizes(), excused(result.failure->symptom, !ours));
    } catch (const Unsupported&) {  // the case has no sizes of its own: of others who met it has asked
    }
    if (excuse.empty() && result.failure->symptom == oracle::name(oracle::Rung::ending)) {
      excuse = refusal_excuse(graph, result.failure->detail);
      // The compiler may rely on facts: who does not make the size does not see that data contradict it.
      if (subject.has_run() && subject.trial().expected().contradicted) excuse = "data contradict a fact of the graph";
    }
    if (!excuse.empty()) {
      ++result.not_covered["differs, and eager's values are known: " + excuse];
      result.failure.reset();
    }
  }
  if (result.failure) {
    result.end = CaseEnd::found;
  } else if (!result.not_covered.empty()) {
    result.end = CaseEnd::not_covered;
  } else if (subject.has_run() && subject.trial().expected().ending == oracle::Ending::raised) {
    result.end = CaseEnd::refused;
  }
  return result;
}

namespace {
// The first of the passes that may not round behind which some bit differs: bounds may leave that open, and then a
// bisection by bounds names nobody.
std::string pass_that_changes_bits(const Graph& graph, const Setting& setting) {
  oracle::Boxed boxed(DeviceKind::cpu);
  Subject subject(graph, setting, boxed, {});
  const auto lines = oracle::exact_lines(graph, pipeline());
  for (size_t n = 1; n <= lines.size(); ++n) {
    const auto made = subject.passed(std::span(lines).first(n));
    if (oracle::Rewritten(subject.trial()).differs(*made, subject.trial().eager(*made)))
      return std::string(lines[n - 1].pass.name);
  }
  return {};
}
}  // namespace

std::vector<PipelineLine> lines_left_in(std::string_view passes) {
  const PassSelection selection = PassSelection::parse(passes, pipeline());
  constexpr Level kLevels[] = {Level::torch, Level::aten, Level::core};
  std::vector<PipelineLine> lines;
  for (const PipelineLine& line : pipeline())
    if (std::ranges::any_of(
            kLevels, [&](Level at) { return line.pass.levels.has(at) && selection.enabled(line.pass.name, at); }))
      lines.push_back(line);
  return lines;
}

void blame(const Graph& graph, const Setting& setting, Failure& failure) {
  oracle::GraphCheckOptions options;
  options.seeds = 1;
  options.first_seed = setting.seed;
  options.bind = setting.sizes;
  options.values = setting.values;
  options.core = options.loops = options.bisect = true;
  options.folder = setting.folder;
  const std::vector<PipelineLine> left_in = lines_left_in(failure.without.empty() ? setting.passes : failure.without);
  options.lines = left_in;
  auto by_bits = [&] {
    if (failure.property != "exact_passes") return;
    for (const oracle::Values kind : {setting.values, another_kind(setting)}) {  // of both the property asks
      Setting with = setting;
      with.values = kind;
      const std::string pass = pass_that_changes_bits(graph, with);
      if (pass.empty()) continue;
      failure.stage = pass;
      return;
    }
  };
  try {
    // A step that goes wrong on what the pipeline left is looked for from there on.
    std::unique_ptr<Graph> left;
    const Property* property = find_property(failure.property);
    if (property && property->of_graph) return;
    if (property && property->over_result) {
      oracle::Boxed boxed(DeviceKind::cpu);
      left = Subject(graph, setting, boxed, {}).passed(pipeline());
    }
    oracle::GraphReport report = check_graph(left ? *left : graph, options);
    if (!report.culprit) return by_bits();
    const oracle::Culprit& culprit = *report.culprit;
    failure.stage = culprit.kind == oracle::Culprit::lowering ? "lowering of " + culprit.step
                    : culprit.within.empty()                  ? culprit.step
                                                              : culprit.within;
    failure.detail += "\n" + report.culprit->text();
  } catch (const std::exception&) {  // the bisection fails where the case does, or elsewhere
    try {
      by_bits();
    } catch (const std::exception&) {  // then the property's name has to do
    }
  }
}

}  // namespace lenz::fuzz
