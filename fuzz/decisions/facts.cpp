#include "fuzz/decisions/facts.h"

#include <algorithm>
#include <set>
#include <utility>

#include "compiler/backend/llvm/code_summary.h"
#include "compiler/backend/llvm/kernel_code.h"
#include "compiler/backend/llvm/kernel_key.h"
#include "compiler/backend/llvm/row_kernel.h"
#include "compiler/backend/llvm/ulp_samples.h"
#include "compiler/base/hash.h"
#include "compiler/driver/program_set.h"
#include "compiler/graph/text.h"
#include "compiler/graph/verify.h"
#include "compiler/loops/clone.h"
#include "compiler/loops/text.h"
#include "compiler/loops/verify.h"
#include "compiler/ops/break_call.h"
#include "compiler/ops/lazily_read.h"
#include "compiler/ops/op_table.h"
#include "compiler/passes/postgrad/reuse.h"
#include "compiler/runtime/together.h"
#include "compiler/schedule/explain.h"
#include "compiler/schedule/proved.h"
#include "fuzz/decisions/broken.h"
#include "fuzz/decisions/fixed.h"
#include "fuzz/decisions/interpreted.h"
#include "fuzz/properties/linear.h"
#include "fuzz/symbolic.h"
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

int64_t jobs(const runtime::Tape& tape) {
  int64_t all = 0;
  for (const runtime::Step& step : tape.steps) all += step.together > 0;
  for (const auto& inner : tape.inner) all += jobs(*inner);
  return all;
}

// Who joins which job, of all steps.
std::string jobs_text(const runtime::Tape& tape) {
  std::string all;
  for (const runtime::Step& step : tape.steps) all += std::to_string(step.together) + " ";
  for (const auto& inner : tape.inner) all += "(" + jobs_text(*inner) + ")";
  return all;
}
int32_t nothing(void* const*, const int64_t*, const uint64_t*, int64_t, int64_t) { return 0; }

// Of modules: how many instructions and calls there are, and what they say.
struct Code {
  int64_t instructions = 0, calls = 0;
  uint64_t said = 0;

  void add(native::CodeModule& module) {
    const native::CodeSummary summary = native::summary_of(module);
    instructions += summary.instructions, calls += summary.calls;
    said = combine(said, summary.digest);
  }
  int64_t digest() const { return static_cast<int64_t>(said & 0xFFFFF); }
};

class Decider {
 public:
  explicit Decider(const Case& fixed) : graph_(*fixed.graph) {
    const int64_t chosen = digest(print(graph_));
    odd_ = chosen % 2 == 1;
    optimises_ = chosen / 4 % 32 == 0;
    binding_ = oracle::parse_binding(fixed.setting.sizes, graph_);
    oracle::complete(binding_, graph_, 0);
    sizes_ = binding_.lookup();
    runner_.verify = runner_.check_text = false;  // these are properties of their own
  }

  // Up to the loops alone: most of what a row decides.
  Facts run_to_loops() {
    lowered(false);
    return std::move(facts_);
  }

  Facts run() {
    scheduled(lowered(true), {"avx512", 8, 1});
    const loops::Program inside = lowered(false);
    planned(inside, other_machine(), true);
    apart(inside);
    if (digest(print(graph_)) % 6 == 1) executed(graph_, inside, some_sizes(), facts_);
    if (digest(print(graph_)) % 16 == 0) given_up(inside, other_machine());
    RandomChooser choose(hash_bytes(graph_.name) + graph_.node_count());
    set("run", "inputs", "#", digest(said_of_inputs(inside, sizes_, choose)));
    closed_sizes();
    broken_graph();
    if (!has_many_facts(inside)) broken_loops("loops", loops::print(inside), 3);
    drop_repeated();
    return std::move(facts_);
  }

  // Twice the same beside each other: how much of it is one.
  Facts run_twice() {
    apart(lowered(false));
    return std::move(facts_);
  }

  // In one of both ways.
  Facts run_in_part() {
    if (odd_) {
      const loops::Program outside = lowered(true);
      scheduled(outside, {"avx512", 8, 1});
      broken_loops("loops", loops::print(outside), 1);
    } else {
      planned(lowered(false), other_machine(), false);
    }
    return std::move(facts_);
  }

 private:
  static constexpr size_t kLongest = 4000, kSmall = 600;  // of a text that is broken
  Machine other_machine() const {
    return {digest(graph_.name + std::to_string(graph_.node_count())) % 2 == 1 ? "avx2" : "generic", 1, 64};
  }

  // Which sizes are short enough to be numbers in code, and the graph with those.
  void closed_sizes() {
    std::string said;
    for (int64_t size : {kShortSize, kShortSize + 1})
      for (const auto& [symbol, value] : short_sizes(graph_, [&](const SymNode*) { return std::optional(size); }))
        said += std::string(symbol_name(symbol)) + " ";
    const ClosedSizes found = short_sizes(graph_, sizes_);
    if (found.empty()) return;
    for (const ClosedSizes& some : {found, ClosedSizes{found.front()}}) {
      const auto graph = closed(graph_, some);
      said += graph ? print(*graph) : "no";
    }
    set("passes", "sizes", "closed #", digest(said));
  }

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
    // As `lenz run` has it, what nothing proves is left to the host.
    const LowerOptions how{.products_outside = products_outside, .proved = products_outside};
    loops::Program program = program_for(*passed, sizes_, runner_, how, {});
    const Costs costs = costs_of(program, sizes_);
    set("lowering", name, "nests", costs.nests);
    set("lowering", name, "instructions", costs.instructions);
    set("lowering", name, "others", costs.others);
    set("lowering", name, "guards", static_cast<int64_t>(program.assumptions.guards().size()));
    set("lowering", name, "#", digest(loops::print(program, {.provenance = true})));
    if (name == "inside" || odd_) interpreted(graph_, program, sizes_, facts_);
    if (products_outside && passed->level == Level::core && digest(print(graph_)) % 8 == 2) left_to_host(*passed);
    if (const auto memory = reuse_candidates(*passed); !memory.empty())
      set("passes", name, "reuse #", digest(print(*passed, memory)));
    return program;
  }

  // As `lenz run` has it: what is not proved is given up.
  void scheduled(const loops::Program& program, const Machine& machine) {
    schedule::Proved made = schedule::schedule_proved(program, target_of(machine));
    if (!made.given_up.empty()) set("scheduling", machine.name, "given up #", digest(made.given_up));
    realised(made.program, machine);
  }

  // What the host gets where some loops, and then others, are refused; and what is said where all always are.
  void left_to_host(const Graph& core) {
    std::string said;
    for (const int content_after : {1, 2, 100}) {
      int asked = 0;
      auto refuse = [&](const loops::Program& program) {
        loops::ProgramVerdict verdict;
        if (asked++ >= content_after) return verdict;
        std::vector<size_t> refusable;
        size_t number = 0;
        loops::for_each_node(program.body, [&](const loops::Node& node) {
          if (std::holds_alternative<loops::Nest>(node.is) || std::holds_alternative<loops::Sort>(node.is))
            refusable.push_back(number);
          ++number;
        });
        if (!refusable.empty()) verdict.violations.push_back({301, {refusable[refusable.size() / 2]}, "refused", "it"});
        return verdict;
      };
      try {
        said += loops::print(lower_proved(core, {.products_outside = true}, refuse));
      } catch (const Unsupported& why) {
        said += why.what();
      }
    }
    set("lowering", "refused", "#", digest(said));
  }

  // What is given up where nobody is content: nests that stand apart, at last without tiles.
  void given_up(const loops::Program& program, const Machine& machine) {
    constexpr int kAtLast = 2;  // as they stand when all else is refused
    int asked = 0;
    std::string said;
    try {
      const schedule::Proved made = schedule::schedule_proved(
          program, target_of(machine), {},
          [&](const loops::Program&) { return ++asked <= kAtLast ? "why " + std::to_string(asked) : ""; });
      said = made.given_up + loops::print(made.program);
      schedule::schedule_proved(program, target_of(machine), {}, [](const loops::Program&) { return "why"; });
    } catch (const InternalError& error) {
      said += error.what();
    }
    set("scheduling", "apart", "given up #", digest(said));
  }

  // Step by step, with what is said of it.
  void planned(const loops::Program& program, const Machine& machine, bool breaks) {
    const schedule::Target target = target_of(machine);
    loops::Program prepared = loops::clone(program);
    schedule::prepare(prepared, target);
    const schedule::Plan plan = schedule::plan(prepared, target);
    const std::string text = schedule::print(plan, prepared);
    set("plan", machine.name, "#", digest(text));
    const schedule::Plan again = schedule::parse_plan(text);
    set("plan", machine.name, "reads back otherwise", again != plan);
    if (const std::string why = schedule::why_illegal(again, prepared); !why.empty())
      set("plan", machine.name, "refused #", digest(why));
    std::vector<std::string> stored;
    for (const loops::Buffer& b : program.buffers)
      if (b.kind == loops::BufferKind::temporary && b.view_of == kNone) stored.push_back(b.name);
    std::string said;
    for (size_t i = 0; i + 1 < std::min<size_t>(stored.size(), 8); ++i)
      said += schedule::explain(program, prepared, plan, stored[i], stored[i + 1]);
    if (!said.empty()) set("plan", machine.name, "explained #", digest(said));
    if (breaks) broken_plan(text, prepared, machine);
    const loops::Program made = schedule::realise(std::move(prepared), plan);
    realised(made, machine);
    if (breaks && !has_many_facts(made)) broken_loops("kernels", loops::print(made), 2);
  }

  // Each nest by itself: more kernels, which may lie in each other's memory, run together and be one function.
  void apart(const loops::Program& program) {
    if (costs_of(program, sizes_).nests < 2) return;
    const schedule::Target target = target_of({odd_ ? "generic" : "avx2", 8, 64});
    loops::Program prepared = loops::clone(program);
    schedule::prepare(prepared, target);
    const schedule::Plan plan = schedule::plan(prepared, target, {.nests = 1});
    const loops::Program made = schedule::realise(std::move(prepared), plan);
    const runtime::MemoryPlan memory = runtime::plan_memory(made);
    runtime::KernelCode code;
    std::set<std::string> keys;
    loops::for_each_node(made.body, [&](const loops::Node& node) {
      const auto* kernel = std::get_if<loops::Kernel>(&node.is);
      if (!kernel) return;
      runtime::NativeKernel& known = code.kernels[kernel];
      known = {native::arguments_of(made, *kernel), &nothing};
      keys.insert(native::kernel_key(made, *kernel, known.arguments));
    });
    uint32_t steps = 0;
    const auto tape = runtime::make_tape(made, code, steps);
    runtime::find_together(*tape, made, memory);
    set("machine code", "apart", "functions", static_cast<int64_t>(keys.size()));
    set("scheduling", "apart", "#", digest(loops::print(made)));
    set("memory", "apart", "#", digest(runtime::print(memory, made)));
    set("memory", "apart", "jobs #", digest(jobs_text(*tape)));
  }

  // What verifiers and readers say of it with one thing otherwise. Many proofs about open sizes take long.
  void broken_loops(const char* what, const std::string& text, int times) {
    if (text.size() > kLongest) return;
    RandomChooser choose(hash_bytes(text));
    set("verifier", what, "#", digest(said_of_broken_loops(text, choose, times)));
  }
  void broken_graph() {
    const std::string text = print(graph_);
    if (text.size() > kLongest) return;
    RandomChooser choose(hash_bytes(text));
    set("verifier", "graph", "#", digest(said_of_broken_graphs(text, choose, text.size() < kSmall ? 6 : 3)));
  }
  void broken_plan(const std::string& text, const loops::Program& prepared, const Machine& machine) {
    if (text.size() > kLongest) return;
    RandomChooser choose(hash_bytes(text));
    set("plan", machine.name, "broken #", digest(said_of_broken_plans(text, prepared, choose, 4)));
  }
  bool has_many_facts(const loops::Program& program) const {
    constexpr size_t kMany = 3;
    return program.assumptions.guards().size() > kMany;
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

  // Its own and others; of each what it looks up lives as long as this.
  const std::vector<SymValues>& some_sizes() {
    if (!some_sizes_.empty()) return some_sizes_;
    various_ = oracle::various_sizes(binding_, graph_);
    some_sizes_.push_back(sizes_);
    for (const oracle::Binding& other : various_) some_sizes_.push_back(other.lookup());
    return some_sizes_;
  }

  // What sizes are where symbols are others.
  int64_t sizes_of(const loops::Program& program, const runtime::MemoryPlan& memory) {
    std::string text;
    for (const SymValues& sizes : some_sizes()) {
      auto add = [&](Dim d) { text += std::to_string(evaluate(d, sizes).value_or(-1)) + " "; };
      add(memory.arena_bytes);
      for (const loops::Buffer& b : program.buffers) add(runtime::storage_bytes(b));
    }
    return digest(text);
  }

  // Mostly not optimised: that is LLVM's business, and takes longer than all the rest.
  runtime::KernelCode coded(const loops::Program& program, const Machine& machine) {
    const native::Compiler compiler(native::whole_target(machine.name));
    runtime::KernelCode code;
    Code all, optimised;
    std::set<std::string> keys;
    loops::for_each_node(program.body, [&](const loops::Node& node) {
      const auto* kernel = std::get_if<loops::Kernel>(&node.is);
      if (!kernel) return;
      code.kernels[kernel].function = &nothing;
      runtime::KernelArguments& takes = code.kernels[kernel].arguments;
      takes = native::arguments_of(program, *kernel);
      if (!keys.insert(native::kernel_key(program, *kernel, takes)).second) return;
      try {
        native::CodeModule module("kernel");
        native::emit_kernel(module, compiler, program, *kernel, "kernel");
        all.add(module);
        if (!optimises_) return;
        compiler.optimise(module);
        optimised.add(module);
      } catch (const Unsupported& why) {
        code.refused.emplace_back(why.what());
      }
    });
    auto fact = [&](const char* what, int64_t value) { set("machine code", machine.name, what, value); };
    fact("functions", static_cast<int64_t>(keys.size()));
    if (!code.refused.empty()) fact("refused", static_cast<int64_t>(code.refused.size()));
    fact("instructions", all.instructions);
    fact("calls", all.calls);
    fact("#", all.digest());
    fact("optimised", optimised.instructions);
    return code;
  }

  void set(const char* stage, const std::string& name, const char* what, int64_t value) {
    facts_[std::string(stage) + "/" + name + "/" + what] = value;
  }

  const Graph& graph_;
  bool odd_, optimises_;
  oracle::Binding binding_;
  SymValues sizes_;
  std::vector<oracle::Binding> various_;
  std::vector<SymValues> some_sizes_;
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

Facts facts_of_twice(const Case& fixed) {
  Case twice;
  twice.setting = fixed.setting;
  twice.graph = beside_itself(*fixed.graph, 2);
  Facts facts;
  if (twice.graph) facts = unless_refused([&] { return Decider(twice).run_twice(); });
  facts["scheduling/apart/graphs"] = twice.graph ? 2 : 1;
  return facts;
}

namespace {
// What the row's generator draws, once with sizes left open.
Facts facts_of_calls(const OpDef& row, Chooser& choose) {
  constexpr int kGraphs = 2;
  Facts facts;
  std::string said;
  for (int i = 0; i < kGraphs; ++i) {
    Case call;
    call.graph = generate_call(row, op_table(), choose);
    if (!call.graph || !verify(*call.graph).empty()) continue;
    if (i % 2 == 1)
      if (auto open = with_symbols(*call.graph, choose, call.setting.sizes)) call.graph = std::move(open);
    const Facts own =
        unless_refused([&] { return i == 0 ? Decider(call).run_in_part() : Decider(call).run_to_loops(); });
    said += line_of({}, own);
    // There are many rows: of most it is enough to know that something is otherwise.
    for (const auto& [what, value] : own)
      if (what.ends_with("/kernels") || what.ends_with("/bytes moved") || what.ends_with("/instructions"))
        facts[what] += value;
  }
  facts["rule/loops #"] = digest(said);
  return facts;
}
}  // namespace

namespace {
// Kinds of the dtypes that a call is handed.
unsigned kinds_of(const DrawnCall& call) {
  enum : unsigned { truths = 1, integers = 2, floats = 4, complexes = 8, numbers = 16 };
  unsigned kinds = 0;
  for (const Input& input : call.graph->inputs()) {
    const Type& t = call.graph->type(input.value);
    kinds |= !t.is_tensor()                ? numbers
             : t.dtype == Dtype::b8        ? truths
             : is_integral(t.dtype, false) ? integers
             : is_complex(t.dtype)         ? complexes
                                           : floats;
  }
  return kinds;
}
}  // namespace

Facts facts_of(const OpDef& row) {
  constexpr int kCalls = 40;  // of which most are broken once: a row has many operands, and a dtype few edges
  constexpr size_t kBrokenThroughout = 3;  // the first of so many kinds, and one that is read lazily
  std::vector<unsigned> broken;
  bool lazy = false;
  RandomChooser choose(hash_bytes(row.full_name));
  std::string said, words;
  for (int i = 0; i < kCalls; ++i) {
    try {
      DrawnCall call = draw_call(row, op_table(), choose);
      said += oracle::describe(call);
      if (const unsigned kinds = kinds_of(call);
          broken.size() < kBrokenThroughout && std::ranges::find(broken, kinds) == broken.end()) {
        broken.push_back(kinds);
        words += said_of_broken_calls(call);
      }
      if (i % 4 == 3 && read_lazily(call, choose)) {
        words += std::exchange(lazy, true) ? oracle::predict(call).text : said_of_broken_calls(call);
        continue;
      }
      const std::string change = break_call(call, choose);
      if (!change.empty()) words += change + ": " + oracle::predict(call).text + "\n";
    } catch (const UserError& error) {
      words += error.what();
    } catch (const Unsupported& error) {
      words += error.what();
    }
  }
  Facts facts = unless_refused([&] { return facts_of_calls(row, choose); });
  facts["rule/calls #"] = digest(said);
  facts["rule/refusals #"] = digest(words);
  return facts;
}

namespace {
Dtype another_of(Dtype dtype, bool of_its_size) {
  constexpr int kStep = 5;  // prime to how many there are: each comes up
  Dtype other = dtype;
  do {
    other = static_cast<Dtype>((static_cast<int>(other) + kStep) % kDtypeCount);
  } while (of_its_size && item_size(other) != item_size(dtype));
  return other;
}
}  // namespace

Facts facts_of(const ScalarRow& row) {
  Facts facts;
  // Each dtype for one of them; what most is computed in for all.
  constexpr const char* kMachines[] = {"avx512", "avx2", "generic"};
  constexpr int64_t kSamples = 8;
  uint64_t samples = 0;
  for (size_t machine = 0; machine < std::size(kMachines); ++machine) {
    const char* const name = kMachines[machine];
    const native::CpuTarget target = native::whole_target(name);
    const native::Compiler compiler(target);
    Code all;
    int64_t refused = 0;
    for (int d = 0; d < kDtypeCount; ++d) {
      const auto dtype = static_cast<Dtype>(d);
      if (!row.dtypes.has(dtype)) continue;
      if (dtype != Dtype::f32 && static_cast<size_t>(d) % std::size(kMachines) != machine) continue;
      std::optional<Dtype> into;
      if (row.result == ResultRule::target) into = another_of(dtype, row.name == "bitcast");
      for (const auto& operands : native::sample_operands(row, dtype, kSamples))
        for (const ScalarBits& bits : operands) samples = combine(samples, combine(bits[0], bits[1]));
      try {
        native::CodeModule module =
            native::row_module(row, dtype, result_dtype(row, dtype, into), compiler, target.lanes(4));
        all.add(module);
      } catch (const Unsupported&) {
        ++refused;
      }
    }
    const std::string stage = "machine code/" + std::string(name) + "/";
    facts[stage + "instructions"] = all.instructions;
    facts[stage + "calls"] = all.calls;
    facts[stage + "refused"] = refused;
    facts[stage + "#"] = all.digest();
  }
  facts["operands/#"] = static_cast<int64_t>(samples & 0xFFFFF);
  std::erase_if(facts, [](const auto& fact) { return fact.second == 0; });
  return facts;
}

Facts facts_of_refusal(const std::string& text) {
  return unless_refused([&]() -> Facts {
    std::string said;
    if (loops::is_program_text(text))
      for (const auto& told = loops::verify_text(text, op_table(), "<text>");
           const auto* list : {&told.violations, &told.unproved})
        for (const UserError& error : *list) said += error.what();
    else
      parse_case(text);
    return {{"words/taken #", digest(said)}};
  });
}

}  // namespace lenz::fuzz
