#include "fuzz/triage.h"

#include <filesystem>

#include "compiler/driver/arguments.h"
#include "compiler/graph/text.h"
#include "oracle/known_faults.h"
#include "oracle/python_program.h"
#include "oracle/workers.h"

namespace lenz::fuzz {

namespace {
// Packets in their order: what remains of names when types and overloads don't matter.
std::string op_chain(const Graph& graph) {
  std::string chain;
  graph.for_each_node([&](NodeId id) {
    const OpDef& op = *graph.node(id).op;
    chain += (chain.empty() ? "" : " > ") + op.schema.packet;
  });
  return chain;
}
}  // namespace

namespace {
// The same for somebody who has PyTorch alone; empty where that has not all of it. In a process of its own, as all that
// runs libtorch.
std::string python_of(const Case& c, const std::string& name) {
  std::string made;
  oracle::WorkerCalls calls;
  calls.work = [&](size_t, oracle::Place&) -> std::string {
    oracle::quieten_libtorch();
    oracle::Boxed boxed(DeviceKind::cpu);
    try {
      Subject subject(*c.graph, c.setting, boxed, {});
      return python_program(*c.graph, subject.trial().inputs(), {.comment = name, .folder = c.setting.folder});
    } catch (const Error&) {
      return {};
    }
  };
  calls.done = [&](size_t, const std::string& text) { made = text; };
  calls.died = [](size_t, const oracle::Death&) { return false; };
  oracle::run_in_workers(1, 1, {.fresh = true}, calls);
  return made;
}
}  // namespace

namespace {
// Whether running the case as it is, with nothing of ours, kills the process, or takes so long that what runs it a few
// times gives no answer. With each kind of values that properties ask for, and at sizes that they bind anew.
bool eager_dies(const Case& c) {
  bool dies = false;
  oracle::WorkerCalls calls;
  calls.work = [&](size_t, oracle::Place&) -> std::string {
    oracle::quieten_libtorch();
    oracle::Boxed boxed(DeviceKind::cpu);
    using enum oracle::Values;
    for (const oracle::Values kind : {c.setting.values, special, ties, ordinary}) {
      Setting setting = c.setting;
      setting.values = kind;
      try {
        Subject(*c.graph, setting, boxed, {}).trial().expected();
      } catch (const Error&) {  // as long as it lives
      }
    }
    try {
      Subject subject(*c.graph, c.setting, boxed, {});
      failure_at_sizes(subject, {}, oracle::various_sizes({}, *c.graph), [](oracle::Trial& trial, const auto&) {
        trial.expected();
        return RunAtSizes{};
      });
    } catch (const Error&) {
    }
    return {};
  };
  calls.done = [](size_t, const std::string&) {};
  calls.died = [&](size_t, const oracle::Death& death) {
    dies = death.signal != 0 || death.hung;
    return false;
  };
  oracle::WorkerLimits limits = limits_for({}, true);
  constexpr int kRuns = 4;
  limits.hang_seconds /= kRuns;
  oracle::run_in_workers(1, 1, limits, calls);
  return dies;
}
}  // namespace

namespace {
// Whether eager may die of what passes make of it, where definitions call what it reads beyond its memory in: it does
// now and then, as memory lies.
bool may_die_of_definitions(const Case& c) {
  bool may = false;
  oracle::WorkerCalls calls;
  calls.work = [&](size_t, oracle::Place&) -> std::string {
    oracle::quieten_libtorch();  // threads that it had where this process was made are not here
    oracle::Boxed boxed(DeviceKind::cpu);
    try {
      Subject subject(*c.graph, c.setting, boxed, {});
      return oracle::reads_beyond(*subject.passed().whole, subject.sizes()) ? "it may" : "";
    } catch (const Error&) {
      return {};
    }
  };
  calls.done = [&](size_t, const std::string& text) { may = !text.empty(); };
  calls.died = [](size_t, const oracle::Death&) { return false; };
  oracle::run_in_workers(1, 1, {.fresh = true}, calls);
  return may;
}
}  // namespace

bool is_eagers_own_death(const Case& found, const Failure& failure) {
  if (!failure.symptom.starts_with("SIG") && failure.symptom != "no answer") return false;
  const bool of_memory = failure.symptom == "SIGSEGV" || failure.symptom == "SIGBUS";
  return eager_dies(found) || (of_memory && may_die_of_definitions(found));
}

Triaged triage(const Case& found, const Failure& failure, const ReduceOptions& options) {
  Triaged t;
  if (is_eagers_own_death(found, failure)) {
    t.eager_dies = true;
    return t;
  }
  // A campaign samples: alone, a property that comes before may say it.
  auto alone = failure_alone(found, up_to(failure.property));
  if (!alone || (alone->property == failure.property && alone->symptom != failure.symptom)) {
    t.alone = false;
    t.name = failure.key() + " | not alone";
    t.text = found.text();
    t.detail = failure.detail + "\nThe case by itself " +
               (alone ? "fails otherwise: " + alone->key() : "holds: something that ran before it is to blame.");
    return t;
  }
  const std::optional<Found> beside = drawn_beside(*alone);
  const Failure& fails = beside ? beside->failure : *alone;
  Reduction r = reduce(beside ? beside->by : found, fails, options);
  t.evaluations = r.evaluations;
  Failure smallest = failure_blamed(r.smallest, fails);
  t.name = smallest.key() + " | " + op_chain(*r.smallest.graph);
  t.text = r.smallest.text();
  t.detail = smallest.detail;
  t.python = python_of(r.smallest, t.name);
  if (!r.finished) t.detail += "\nThe reduction ran out of time.";
  return t;
}

namespace {
// As it may stand in this folder: it fails until the finding is mended.
std::string test_of(const Triaged& t, int64_t id) {
  const std::string property = t.name.substr(0, t.name.find(" | "));
  return "// " + t.name + "\n#include <gtest/gtest.h>\n\n#include \"fuzz/reduce.h\"\n\nTEST(Finding, N" +
         std::to_string(id) + ") {\n  const lenz::fuzz::Case c = lenz::fuzz::parse_case(R\"lenz(" + t.text +
         ")lenz\");\n  const auto failure = lenz::fuzz::failure_alone(c, lenz::fuzz::up_to(\"" + property +
         "\"));\n  EXPECT_FALSE(failure) << failure->key() << failure->detail;\n}\n";
}
}  // namespace

std::string finding_file(const std::string& folder, int64_t id) {
  return (std::filesystem::path(folder) / ("finding_" + std::to_string(id) + ".lenz")).string();
}

void write_finding(const std::string& folder, int64_t id, const Triaged& t) {
  const std::string file = finding_file(folder, id), stem = file.substr(0, file.size() - 5);
  write_output(file, t.text);
  if (!t.python.empty()) write_output(stem + ".py", t.python);
  write_output(stem + "_test.cpp", test_of(t, id));
  write_output(stem + ".md", "# " + t.name + "\n\n```\n" + t.text + "```\n\n" + t.detail +
                                 "\n\nAgain: `lenz fuzz --replay " + file + "`\nAs a test: " + stem + "_test.cpp\n" +
                                 (t.python.empty() ? "" : "For PyTorch: `python " + stem + ".py`\n"));
}

}  // namespace lenz::fuzz
