#include "fuzz/decisions/facts.h"

#include <algorithm>
#include <set>

#include "compiler/backend/llvm/kernel_code.h"
#include "compiler/backend/llvm/kernel_key.h"
#include "compiler/base/hash.h"
#include "compiler/driver/program_set.h"
#include "compiler/graph/text.h"
#include "compiler/loops/clone.h"
#include "compiler/loops/text.h"
#include "compiler/loops/verify.h"
#include "compiler/ops/break_call.h"
#include "compiler/ops/op_table.h"
#include "compiler/runtime/together.h"
#include "compiler/schedule/explain.h"
#include "compiler/schedule/proved.h"
#include "oracle/binding.h"
#include "oracle/type_check.h"

namespace lenz::fuzz {

int64_t digest(std::string_view text) { return static_cast<int64_t>(hash_bytes(text) & 0xFFFFF); }

namespace {
// What code is written for: named here, whatever runs the fuzzer.
struct Machine {
  std::string name;
  uint32_t cores;
  int64_t grain;
};

schedule::Target target_of(const Machine& machine) {
  schedule::Target target = schedule::cpu_target(machine.name, machine.cores);
  target.grain = machine.grain;
  return target;
}

// Names of the module, of the processor and of attributes are LLVM's.
bool is_code(std::string_view line) {
  constexpr std::string_view kOthers[] = {";", "source_filename", "target ", "declare ", "attributes ", "!"};
  return std::ranges::none_of(kOthers, [&](std::string_view other) { return line.starts_with(other); });
}

int64_t jobs(const runtime::Tape& tape) {
  int64_t all = 0;
  for (const runtime::Step& step : tape.steps) all += step.together > 0;
  for (const auto& inner : tape.inner) all += jobs(*inner);
  return all;
}

class Decider {
 public:
  explicit Decider(const Case& fixed) : graph_(*fixed.graph) {
    binding_ = oracle::parse_binding(fixed.setting.sizes, graph_);
    oracle::complete(binding_, graph_, 0);
    sizes_ = binding_.lookup();
    runner_.verify = runner_.check_text = false;  // these are properties of their own
  }

  Facts run() {
    scheduled(lowered(true), {"avx512", 8, 1});
    const bool odd = digest(graph_.name + std::to_string(graph_.node_count())) % 2 == 1;
    planned(lowered(false), {odd ? "avx2" : "generic", 1, 64});
    drop_repeated();
    return std::move(facts_);
  }

 private:
  // Most graphs have no products: nothing needs to say twice what is the same whoever computes these.
  void drop_repeated() {
    std::erase_if(facts_, [](const auto& fact) { return fact.second == 0; });
    for (const std::string stage : {"passes", "lowering"}) {
      std::vector<std::string> inside;
      bool same = true;
      for (const auto& [what, value] : facts_) {
        const std::string prefix = stage + "/inside/";
        if (!what.starts_with(prefix)) continue;
        inside.push_back(what);
        const auto outside = facts_.find(stage + "/outside/" + what.substr(prefix.size()));
        same = same && outside != facts_.end() && outside->second == value;
      }
      if (same)
        for (const std::string& what : inside) facts_.erase(what);
    }
  }

  loops::Program lowered(bool products_outside) {
    const std::string name = products_outside ? "outside" : "inside";
    runner_.products_outside = products_outside;
    RunStatistics statistics;
    const auto passed = passed_for(graph_, sizes_, pipeline(), runner_, &statistics);
    for (const PassRun& run : statistics.runs)
      for (const auto& [what, times] : run.counters)
        facts_[std::string(run.pass) + "/" + what] += static_cast<int64_t>(times);
    set("passes", name, "nodes", static_cast<int64_t>(passed->node_count()));
    set("passes", name, "#", digest(print(*passed)));
    loops::Program program = program_for(*passed, sizes_, runner_, {.products_outside = products_outside}, {});
    const Costs costs = costs_of(program, sizes_);
    set("lowering", name, "nests", costs.nests);
    set("lowering", name, "instructions", costs.instructions);
    set("lowering", name, "others", costs.others);
    set("lowering", name, "guards", static_cast<int64_t>(program.assumptions.guards().size()));
    set("lowering", name, "#", digest(loops::print(program, {.provenance = true})));
    return program;
  }

  // As `lenz run` has it: what is not proved is given up.
  void scheduled(const loops::Program& program, const Machine& machine) {
    schedule::Proved made = schedule::schedule_proved(program, target_of(machine));
    if (!made.given_up.empty()) set("scheduling", machine.name, "given up #", digest(made.given_up));
    realised(made.program, machine);
  }

  // Step by step, with what is said of it.
  void planned(const loops::Program& program, const Machine& machine) {
    const schedule::Target target = target_of(machine);
    loops::Program prepared = loops::clone(program);
    schedule::prepare(prepared, target);
    const schedule::Plan plan = schedule::plan(prepared, target);
    set("plan", machine.name, "#", digest(schedule::print(plan, prepared)));
    std::vector<std::string> stored;
    for (const loops::Buffer& b : program.buffers)
      if (b.kind == loops::BufferKind::temporary && b.view_of == kNone) stored.push_back(b.name);
    std::string said;
    for (size_t i = 0; i + 1 < std::min<size_t>(stored.size(), 8); ++i)
      said += schedule::explain(program, prepared, plan, stored[i], stored[i + 1]);
    if (!said.empty()) set("plan", machine.name, "explained #", digest(said));
    realised(schedule::realise(std::move(prepared), plan), machine);
  }

  void realised(const loops::Program& program, const Machine& machine) {
    auto fact = [&](const char* stage, const char* what, int64_t value) { set(stage, machine.name, what, value); };
    const Costs costs = costs_of(program, sizes_);
    fact("scheduling", "kernels", costs.kernels);
    fact("scheduling", "nests", costs.nests);
    fact("scheduling", "accesses", costs.accesses);
    fact("scheduling", "bytes moved", static_cast<int64_t>(costs.moved));
    fact("scheduling", "operations", static_cast<int64_t>(costs.work));
    fact("scheduling", "axes in lanes", costs.lanes);
    fact("scheduling", "axes unrolled", costs.unrolled);
    fact("scheduling", "kernels' own buffers", costs.local);
    fact("scheduling", "#", digest(loops::print(program, {.provenance = true})));
    const runtime::MemoryPlan memory = runtime::plan_memory(program);
    fact("memory", "arena", memory_of(memory, sizes_).arena);
    fact("memory", "#", digest(runtime::print(memory, program)));
    fact("memory", "sizes #", sizes_of(program, memory));
    const runtime::KernelCode code = coded(program, machine);
    if (!code.refused.empty()) return;
    uint32_t steps = 0;
    const auto tape = runtime::make_tape(program, code, steps);
    runtime::find_together(*tape, program, memory);
    fact("memory", "jobs", jobs(*tape));
  }

  // What sizes are where symbols are others.
  int64_t sizes_of(const loops::Program& program, const runtime::MemoryPlan& memory) {
    std::vector<SymValues> all{sizes_};
    const std::vector<oracle::Binding> various = oracle::various_sizes(binding_, graph_);
    for (const oracle::Binding& other : various) all.push_back(other.lookup());
    std::string text;
    for (const SymValues& sizes : all) {
      auto add = [&](Dim d) { text += std::to_string(evaluate(d, sizes).value_or(-1)) + " "; };
      add(memory.arena_bytes);
      for (const loops::Buffer& b : program.buffers) add(runtime::storage_bytes(b));
    }
    return digest(text);
  }

  // Not optimised: that is LLVM's business, and takes longer than all the rest.
  runtime::KernelCode coded(const loops::Program& program, const Machine& machine) {
    const native::Compiler compiler(native::find_target(machine.name));
    runtime::KernelCode code;
    int64_t lines = 0, calls = 0;
    std::string text;
    std::set<std::string> keys;
    loops::for_each_node(program.body, [&](const loops::Node& node) {
      const auto* kernel = std::get_if<loops::Kernel>(&node.is);
      if (!kernel) return;
      runtime::KernelArguments& takes = code.kernels[kernel].arguments;
      takes = native::arguments_of(program, *kernel);
      if (!keys.insert(native::kernel_key(program, *kernel, takes)).second) return;
      try {
        native::CodeModule module("kernel");
        native::emit_kernel(module, compiler, program, *kernel, "kernel");
        const std::string said = module.text();
        for (size_t at = 0, end = 0; at < said.size(); at = end + 1) {
          end = std::min(said.find('\n', at), said.size());
          const std::string_view line = std::string_view(said).substr(at, end - at);
          if (line.starts_with("  ")) ++lines, calls += line.find("call ") != line.npos;
          if (is_code(line)) text.append(line.substr(0, line.rfind(" #")));
        }
      } catch (const Unsupported& why) {
        code.refused.emplace_back(why.what());
      }
    });
    auto fact = [&](const char* what, int64_t value) { set("machine code", machine.name, what, value); };
    fact("functions", static_cast<int64_t>(keys.size()));
    if (!code.refused.empty()) fact("refused", static_cast<int64_t>(code.refused.size()));
    fact("instructions", lines);
    fact("calls", calls);
    fact("#", digest(text));
    return code;
  }

  void set(const char* stage, const std::string& name, const char* what, int64_t value) {
    facts_[std::string(stage) + "/" + name + "/" + what] = value;
  }

  const Graph& graph_;
  oracle::Binding binding_;
  SymValues sizes_;
  RunnerOptions runner_;
  Facts facts_;
};

// Nothing of it but the words where it is refused.
template <class F>
Facts unless_refused(F&& make) {
  try {
    return make();
  } catch (const UserError& error) {
    return {{"words/refused #", digest(error.what())}};
  } catch (const Unsupported& error) {
    return {{"words/unsupported #", digest(error.what())}};
  }
}
}  // namespace

Facts facts_of(const Case& fixed) {
  return unless_refused([&] { return Decider(fixed).run(); });
}

Facts facts_of(const OpDef& row) {
  constexpr int kCalls = 16;
  RandomChooser choose(hash_bytes(row.full_name));
  std::string said, words;
  for (int i = 0; i < kCalls; ++i) {
    try {
      DrawnCall call = draw_call(row, op_table(), choose);
      said += oracle::describe(call);
      const std::string change = break_call(call, choose);
      if (!change.empty()) words += change + ": " + oracle::predict(call).text + "\n";
    } catch (const UserError& error) {
      words += error.what();
    } catch (const Unsupported& error) {
      words += error.what();
    }
  }
  return {{"rule/calls #", digest(said)}, {"rule/refusals #", digest(words)}};
}

Facts facts_of_refusal(const std::string& text) {
  return unless_refused([&]() -> Facts {
    std::string said;
    if (loops::is_program_text(text))
      for (const UserError& error : loops::verify_text(text, op_table(), "<text>").violations) said += error.what();
    else
      parse_case(text);
    return {{"words/taken #", digest(said)}};
  });
}

}  // namespace lenz::fuzz
