#include "compiler/driver/program_set.h"

#include <algorithm>
#include <chrono>

#include "compiler/graph/rebuild.h"

namespace lenz {

namespace {
std::optional<Cond> broken_by(const SharedList<Cond>& conditions, const SymValues& sizes) {
  auto at = std::ranges::find_if(conditions, [&](const Cond& c) { return evaluate(c, sizes) == false; });
  return at == conditions.end() ? std::nullopt : std::optional(*at);
}

bool serves(const loops::Program& program, const SymValues& sizes) {
  for (const auto& [symbol, range] : program.assumptions.facts().ranges())
    if (auto v = sizes(symbol); v && ((range.low && *v < *range.low) || (range.high && *v > *range.high))) return false;
  return !broken_by(program.assumptions.facts().conditions(), sizes) && !broken_by(program.assumptions.guards(), sizes);
}

// What `make` gives, of a graph for which the sizes break no guard of what is given.
template <class Make, class Guards>
auto for_sizes(const Graph& given, const SymValues& sizes, Make make, Guards assumptions) {
  std::unique_ptr<Graph> graph = specialised(given, sizes);
  if (!graph) graph = given.clone();
  for (;;) {
    auto made = make(*graph);
    const std::optional<Cond> guard = broken_by(assumptions(made).guards(), sizes);
    if (!guard) return made;
    if (!declare_everywhere(*graph, negate(*guard)))
      throw UserError("these sizes break " + to_string(*guard) + ", which the graph's `where` implies",
                      given.spelled_name(), "give sizes for which that holds");
  }
}
}  // namespace

ProgramSet::ProgramSet(const Graph& graph, RunnerOptions options, LowerOptions lower,
                       std::span<const PipelineLine> lines)
    : graph_(graph), options_(std::move(options)), lower_(lower), lines_(lines) {}

const loops::Program& ProgramSet::at(const SymValues& sizes) {
  for (const loops::Program& program : programs_)
    if (serves(program, sizes)) return program;
  return programs_.emplace_back(program_for(graph_, sizes, options_, lower_, lines_));
}

loops::Program program_for(const Graph& given, const SymValues& sizes, const RunnerOptions& options,
                           const LowerOptions& lower, std::span<const PipelineLine> lines) {
  return for_sizes(
      given, sizes, [&](const Graph& graph) { return to_loops(graph, options, lower, lines); },
      [](const loops::Program& made) -> const Assumptions& { return made.assumptions; });
}

std::unique_ptr<Graph> passed_for(const Graph& given, const SymValues& sizes, std::span<const PipelineLine> lines,
                                  const RunnerOptions& options, RunStatistics* statistics) {
  auto pass = [&](const Graph& graph) {
    auto made = graph.clone();
    RunStatistics run = run_passes(*made, lines, options);
    if (statistics) *statistics = std::move(run);
    return made;
  };
  return for_sizes(given, sizes, pass,
                   [](const std::unique_ptr<Graph>& made) -> const Assumptions& { return made->assumptions; });
}

ExecutableSet::ExecutableSet(const Graph& graph, BuildOptions options, const LowerOptions& lower, ShortSizes how)
    : graph_(graph), options_(std::move(options)), lower_(lower), looked_(how == ShortSizes::open) {
  lower_.proved = options_.verify;
}

bool ExecutableSet::Kept::serves(const SymValues& sizes) const {
  return std::ranges::all_of(constants, [&](const auto& size) { return sizes(size.first) == size.second; }) &&
         lenz::serves(executable->program(), sizes);
}

// What changes from one call to another is open from then on.
void ExecutableSet::look_at(const SymValues& sizes) {
  if (!std::exchange(looked_, true)) first_ = short_sizes(graph_, sizes);
  std::erase_if(first_, [&](const auto& size) { return sizes(size.first) != size.second; });
}

// Where rules decide more of constants than of sizes, the rest of a graph may not go with it: a count that the run
// tells is known of nothing to count. Then they stay open.
loops::Program ExecutableSet::program_at(const SymValues& sizes, ClosedSizes& constants) {
  const auto special = first_.empty() ? nullptr : specialised(graph_, sizes);
  const auto graph = first_.empty() ? nullptr : closed(special ? *special : graph_, first_);
  if (graph) {
    try {
      loops::Program program = program_for(*graph, sizes, options_.runner, lower_);
      constants = first_;
      return program;
    } catch (const Unsupported&) {
    } catch (const UserError&) {
    }
  }
  return program_for(graph_, sizes, options_.runner, lower_);
}

std::shared_ptr<runtime::Executable> ExecutableSet::at(const SymValues& sizes, BuildReport* report) {
  look_at(sizes);
  auto found = kept_.end();
  for (auto at = kept_.begin(); at != kept_.end(); ++at)
    if ((found == kept_.end() || at->constants.size() > found->constants.size()) && at->serves(sizes)) found = at;
  Kept chosen;
  if (found != kept_.end()) {
    chosen = *found;
    kept_.erase(found);
  } else {
    const auto start = std::chrono::steady_clock::now();
    loops::Program program = program_at(sizes, chosen.constants);
    if (report) report->graph_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    chosen.executable = build(std::move(program), options_, report, options_.verify);
    if (report) report->constants = chosen.constants;
    ++built_;
    if (kept_.size() == kMost) kept_.pop_back();
  }
  kept_.push_front(chosen);
  return chosen.executable;
}

}  // namespace lenz
