// torch.compile in the place of Lenz: another compiler for the same graphs, with the same judge.
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "compiler/driver/arguments.h"
#include "compiler/driver/python_worker.h"
#include "compiler/graph/rebuild.h"
#include "fuzz/properties/list.h"
#include "oracle/python_program.h"
#include "oracle/scratch.h"
#include "oracle/values_file.h"

namespace lenz::fuzz {

namespace {
constexpr double kPatience = 90;  // seconds, for one compilation
constexpr double kStart = 240;    // for the first one

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

using Command = std::vector<std::string>;
Command script(const char* name) {
  return {repository() + "/.venv/bin/python", repository() + "/fuzz/subjects/" + name};
}
Command own(const std::string& cache) {
  Command command = script("inductor.py");
  command.push_back(cache);
  return command;
}

// It takes many seconds to start one: so those who are forked from this process ask the same ones, in turn.
struct Shared {
  explicit Shared(int count) : keeper(keep(count), {}) { keeper.greeting(); }
  Command keep(int count) const {
    Command command = script("shared.py");
    for (const std::string& word : {std::string("serve"), path(), std::to_string(count)}) command.push_back(word);
    for (const std::string& word : own(scratch.path() + "/cache")) command.push_back(word);
    return command;
  }
  std::string path() const { return scratch.path() + "/asked"; }

  oracle::Scratch scratch;
  Worker keeper;
};
std::unique_ptr<Shared> shared;
bool shares = false;

void share(int count) {
  shares = count > 0;
  if (!shares || shared) return;
  try {
    shared = std::make_unique<Shared>(count);
  } catch (const UserError&) {  // whoever asks is told
    shares = false;
  }
}

Command asked(const std::string& scratch) {
  if (!shares) return own(scratch + "/inductor");
  Command command = script("shared.py");
  command.insert(command.end(), {"ask", shared->path()});
  return command;
}

// One for the process, as long as this lives.
Worker& pytorch(const std::string& scratch) {
  try {
    static Worker worker(asked(scratch), {}, kStart);
    return worker;
  } catch (const UserError& error) {  // nobody was asked, so nobody is wrong
    throw Unsupported("torch.compile can't be asked: " + first_line(error.message()));
  }
}

// By the rule of those who would get the report.
std::string upstream(Worker& worker, const std::string& program) {
  try {
    const nlohmann::json told = worker.ask({{"do", "same"}, {"program", program}}, 2 * kPatience);
    return std::string("\n  by torch._dynamo.utils.same, with ") + told["by"].get<std::string>() +
           " as arbiter: " + (told["same"].get<bool>() ? "the same" : "not the same");
  } catch (const std::exception& error) {
    return std::string("\n  torch._dynamo.utils.same says nothing: ") + first_line(error.what());
  }
}

std::optional<Failure> holds(Subject& subject) {
  oracle::Trial& trial = subject.trial();
  if (trial.expected().ending != oracle::Ending::finished) return std::nullopt;  // nothing to hold it to
  if (oracle::draws(subject.graph())) throw Unsupported("random ops, which it draws in its own order");
  const std::unique_ptr<Graph> fixed = specialised(subject.graph(), trial.binding().lookup());
  const Graph& graph = fixed ? *fixed : subject.graph();
  // The folder is that of all workers.
  const std::string own = subject.scratch() + "/" + std::to_string(getpid());
  const std::string program = own + ".py", results = own + ".npz";
  write_output(program, oracle::python_program(graph, trial.inputs(),
                                               {.comment = {}, .compile = false, .folder = subject.setting().folder}));
  nlohmann::json mutated = nlohmann::json::array();
  for (size_t i = 0; i < graph.inputs().size(); ++i)
    if (graph.inputs()[i].mutated) mutated.push_back({i, oracle::input_key(graph, graph.inputs()[i])});
  Worker& worker = pytorch(subject.scratch());
  nlohmann::json told;
  try {
    told = worker.ask({{"do", "run"}, {"program", program}, {"results", results}, {"mutated", mutated}}, kPatience);
  } catch (const WorkerDied& died) {
    return Failure{"inductor", "torch.compile", std::string("the process: ") + died.what(), died.what()};
  }
  const std::string outcome = told["outcome"];
  if (outcome == "refused") throw Unsupported("torch.compile refuses: " + first_line(told["text"]));
  if (outcome == "raised") {
    const std::string kind = told["kind"], text = told["text"];
    return Failure{"inductor", "torch.compile", "raises " + kind, first_line(text)};
  }
  oracle::Untold untold;
  const oracle::Execution got =
      oracle::read_results(results, graph, subject.boxed(), trial.expected(), trial.inputs(), untold);
  auto mismatch = trial.eager_out_of_bounds(got);
  if (!mismatch) return std::nullopt;
  auto failure = subject.failed("inductor", *mismatch);
  failure->stage = "torch.compile";
  failure->detail += upstream(worker, program);
  return failure;
}
}  // namespace

Property inductor() {
  return {.name = "inductor",
          .contract = "torch.compile gives what the bounds allow (only with --subject inductor)",
          .holds = holds,
          .compiles = true,
          .foreign = true,
          .share = share};
}

}  // namespace lenz::fuzz
