#include "compiler/driver/compile_command.h"

#include <cstdio>
#include <map>

#include "compiler/backend/llvm/compile_kernels.h"
#include "compiler/driver/arguments.h"
#include "compiler/driver/compile.h"
#include "compiler/graph/text.h"
#include "compiler/graph/verify.h"
#include "compiler/loops/text.h"
#include "compiler/loops/verify.h"
#include "compiler/ops/op_table.h"
#include "compiler/passes/postgrad/reuse.h"
#include "compiler/runtime/memory_plan.h"
#include "compiler/schedule/explain.h"
#include "compiler/schedule/proved.h"

namespace lenz {

namespace {
constexpr size_t kLongestPlan = size_t{1} << 28;

// The program as a plan that somebody wrote makes it.
loops::Program realise_given(loops::Program program, const schedule::Plan& plan, const std::string& file,
                             const schedule::RealiseOptions& options) {
  std::string why = schedule::why_illegal(plan, program);
  if (why.empty()) {
    program = schedule::realise(std::move(program), plan, options);
    const loops::ProgramVerdict verdict = loops::verify(program);
    if (verdict.valid()) return program;
    why = to_string(verdict.violations[0]);
  }
  throw UserError("this plan is not legal: " + why, file, "`lenz compile FILE --emit=plan` prints one that is");
}
}  // namespace

ExitCode compile_command(std::span<const std::string> args) {
  CLI::App app("Takes a graph as far as a stage of the compiler and prints what it is then.", "lenz compile");
  std::string file, stage = "core";
  const std::map<std::string, Level> levels{{"graph", Level::torch}, {"functional", Level::aten}};
  const std::map<std::string, Stage> passes{
      {"pregrad", Stage::pregrad}, {"joint", Stage::joint}, {"postgrad", Stage::postgrad}};
  std::string target = "avx512";
  uint32_t cores = 1;
  app.add_option("FILE", file, "a graph's text; - is the standard input")->required();
  app.add_option(
         "--emit", stage,
         "graph: as it is; pregrad: cleaned up, its writes where they were; functional: once values are all "
         "there is; joint: once idioms are recognised; postgrad: as that is decomposed; core: once ops are core "
         "ones; reuse: which of those results may take an operand's memory; loops: a nest for each value; plan: which "
         "nests make a kernel; fused: kernels; realised: kernels in "
         "tiles and lanes; memory: where buffers lie; llvm, asm: kernels' code")
      ->check(CLI::IsMember({"graph", "pregrad", "functional", "joint", "postgrad", "core", "reuse", "loops", "plan",
                             "fused", "realised", "memory", "llvm", "asm"}))
      ->capture_default_str();
  app.add_option("--target", target, "the machine to plan for: avx512, avx2, generic")->capture_default_str();
  app.add_option("--cores", cores, "how many cores it has")->check(CLI::Range(1, 4096))->capture_default_str();
  std::string plan_file;
  app.add_option("--plan", plan_file,
                 "make kernels as this plan says, which --emit=plan printed, for the machine that it names");
  LowerOptions lower;
  app.add_flag("--products-outside", lower.products_outside,
               "products, convolutions and attention are steps of the host's, as `lenz run` has them");
  std::vector<std::string> pair;
  app.add_option("--explain", pair, "instead: why two buffers or nodes are, or are not, computed by one kernel")
      ->expected(2);
  if (!parse_arguments(app, args)) return ExitCode::fine;

  const schedule::Target asked = schedule::cpu_target(target, cores);  // whatever is printed: a name that is none
  auto graph = read_valid_graph(file, op_table());
  if (!pair.empty()) stage = "plan";
  if (!plan_file.empty() && stage == "core") stage = "realised";
  auto at = passes.find(stage);
  graph = at == passes.end() ? to_level(*graph, levels.contains(stage) ? levels.at(stage) : Level::core)
                             : to_stage(*graph, at->second);
  std::string text;
  if (stage == "reuse") {
    text = print(*graph, reuse_candidates(*graph));
  } else if (stage == "loops") {
    text = loops::print(lower_proved(*graph, lower));
  } else if (stage == "plan" || stage == "fused" || stage == "realised" || stage == "memory" || stage == "llvm" ||
             stage == "asm") {
    loops::Program program = lower_graph(*graph, lower);
    std::optional<schedule::Plan> given;
    if (!plan_file.empty()) given = schedule::parse_plan(read_text(plan_file, kLongestPlan), plan_file);
    const schedule::Target machine = given ? given->target : asked;
    schedule::prepare(program, machine);
    const schedule::Plan plan = given ? *given : schedule::plan(program, machine);
    if (!pair.empty()) {
      text = schedule::explain(lower_graph(*graph, lower), program, plan, pair[0], pair[1]);
    } else if (stage == "plan") {
      text = schedule::print(plan, program);
    } else {
      const schedule::RealiseOptions how{.tiles = stage != "fused"};
      program = given ? realise_given(std::move(program), plan, plan_file, how)
                      : schedule::schedule_proved(lower_proved(*graph, lower), machine, how).program;
      bool code = stage == "llvm" || stage == "asm";
      text = stage == "memory" ? runtime::print(runtime::plan_memory(program), program)
             : code            ? native::kernels_as_text(program, native::find_target(machine.name), stage == "asm")
                               : loops::print(program);
    }
  } else {
    text = print(*graph);
  }
  std::fwrite(text.data(), 1, text.size(), stdout);
  return ExitCode::fine;
}

}  // namespace lenz
