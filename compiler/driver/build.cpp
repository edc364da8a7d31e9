#include "compiler/driver/build.h"

#include <chrono>

#include "compiler/loops/verify.h"
#include "compiler/schedule/proved.h"

namespace lenz {

namespace {
class Stopwatch {
 public:
  double lap() {
    const auto now = std::chrono::steady_clock::now();
    const double seconds = std::chrono::duration<double>(now - last_).count();
    last_ = now;
    return seconds;
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};
}  // namespace

std::unique_ptr<runtime::Executable> build(loops::Program program, const BuildOptions& options, BuildReport* report,
                                           bool proved) {
  BuildReport made;
  Stopwatch watch;
  const native::CpuTarget cpu = native::runnable_target(options.target);
  const int threads = options.threads > 0 ? options.threads : runtime::usable_threads();
  if (options.verify && !proved) loops::require_valid(program, "lowering");
  schedule::Target target = schedule::cpu_target(cpu.name, static_cast<uint32_t>(threads));
  target.grain = options.grain;
  if (options.verify) {
    schedule::Proved scheduled = schedule::schedule_proved(program, target);
    program = std::move(scheduled.program);
    made.given_up = std::move(scheduled.given_up);
  } else {
    program = schedule::schedule(std::move(program), target);
  }
  made.schedule_seconds = watch.lap();
  loops::for_each_node(program.body,
                       [&](const loops::Node& n) { made.externs += std::holds_alternative<loops::Extern>(n.is); });
  runtime::KernelCode code = native::compile_kernels(
      program, cpu, {.threads = threads, .cache = options.cache, .quick = options.quick, .kept = options.kept},
      &made.kernels);
  if (!code.refused.empty()) throw Unsupported("no code for kernel " + code.refused[0]);
  runtime::ExecutableOptions how = options.executable;
  if (!how.pool) how.pool = runtime::make_pool(threads);
  how.grain = static_cast<double>(options.grain);
  auto executable = std::make_unique<runtime::Executable>(std::move(program), std::move(code), std::move(how));
  made.code_seconds = watch.lap();
  if (report) {
    made.graph_seconds = report->graph_seconds;
    *report = made;
  }
  return executable;
}

std::unique_ptr<runtime::Executable> build(const Graph& graph, const BuildOptions& options, BuildReport* report) {
  Stopwatch watch;
  loops::Program program =
      to_loops(graph, options.runner, {.products_outside = options.products_outside, .proved = options.verify});
  if (report) report->graph_seconds = watch.lap();
  return build(std::move(program), options, report, options.verify);
}

}  // namespace lenz
