#include "oracle/run_compiled.h"

#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "compiler/driver/program_set.h"
#include "compiler/torch/torch_pool.h"
#include "oracle/host_processor.h"
#include "oracle/interpreted.h"
#include "oracle/native_run.h"
#include "oracle/tensors.h"

namespace lenz::oracle {

namespace {

std::vector<RunValue> copies(std::span<const RunValue> inputs) {
  std::vector<RunValue> made;
  for (const RunValue& v : inputs) made.push_back(v && look(v).kind == TypeKind::tensor ? detached_copy(v) : v);
  return made;
}

// What this machine copies in a second, for so many bytes read and written: the roof over kernels that compute little.
double copied_bytes_per_second(double footprint, runtime::Pool& pool) {
  const auto half = static_cast<size_t>(std::clamp(footprint / 2, 4096.0, 256e6));
  std::vector<char> from(half, 1), to(half);
  const int64_t parts = pool.workers();
  auto part = [&](int64_t chunk, int) {
    const size_t begin = half * static_cast<size_t>(chunk) / static_cast<size_t>(parts);
    const size_t end = half * static_cast<size_t>(chunk + 1) / static_cast<size_t>(parts);
    std::memcpy(to.data() + begin, from.data() + begin, end - begin);
  };
  double best = 1e9;
  const int rounds = half > 1'000'000 ? 7 : 50;
  for (int r = 0; r < rounds; ++r) {
    const auto start = std::chrono::steady_clock::now();
    pool.run(parts, runtime::Work::of(part));
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return 2.0 * static_cast<double>(half) / best;
}

void print_profile(const std::vector<runtime::StepTime>& times, runtime::Pool& pool) {
  double total = 0;
  for (const runtime::StepTime& t : times) total += t.best;
  std::printf("%10s %6s %10s %8s %8s %6s  %s\n", "us", "share", "MB", "GB/s", "Gop/s", "roof", "step");
  for (const runtime::StepTime& t : times) {
    if (t.calls == 0) continue;
    std::printf("%10.1f %5.1f%%", t.best * 1e6, 100 * t.best / total);
    if (t.bytes > 0 && t.best > 0) {
      const double rate = t.bytes / t.best;
      std::printf(" %10.3f %8.1f %8.1f %5.0f%%", t.bytes / 1e6, rate / 1e9, t.operations / t.best / 1e9,
                  100 * rate / copied_bytes_per_second(t.bytes, pool));
    } else {
      std::printf(" %10s %8s %8s %6s", "-", "-", "-", "-");
    }
    std::printf("  %s\n", t.name.c_str());
  }
  std::printf("%10.1f us in all, steps one by one; roof: bytes against a copy of as many on this machine\n",
              total * 1e6);
}

// Steps in their order, each as long as its best run.
void write_trace(const std::string& file, const std::vector<runtime::StepTime>& times) {
  auto events = nlohmann::json::array();
  double at = 0;
  for (const runtime::StepTime& t : times) {
    if (t.calls == 0) continue;
    events.push_back({{"name", t.name},
                      {"ph", "X"},
                      {"pid", 1},
                      {"tid", 1},
                      {"ts", at},
                      {"dur", t.best * 1e6},
                      {"args", {{"bytes", t.bytes}, {"operations", t.operations}, {"calls", t.calls}}}});
    at += t.best * 1e6;
  }
  std::ofstream out(file);
  out << nlohmann::json{{"traceEvents", events}, {"displayTimeUnit", "ns"}}.dump(1) << "\n";
  if (!out.flush()) throw UserError("can't write the trace to '" + file + "'");
}

}  // namespace

Execution run_compiled(const Graph& graph, std::span<const RunValue> inputs, const SymValues& sizes, Boxed& boxed,
                       const ExecuteOptions& options, const CompiledRun& how) {
  BuildOptions build_options;
  build_options.target = how.target;
  build_options.cache = how.cache;
  build_options.threads = how.threads;
  describe_host(build_options.runner);
  build_options.executable.load_constant = constants_in(options.folder);
  if (options.memory_limit) {
    const uint64_t taken = storage_bytes(inputs);
    if (taken > options.memory_limit) return out_of_memory(inputs, options.memory_limit);
    build_options.executable.memory_limit = options.memory_limit - taken;
  }
  build_options.executable.while_limit = options.loop_limit;
  std::shared_ptr<runtime::Pool> pool = make_torch_pool(how.threads > 0 ? how.threads : runtime::usable_threads());
  build_options.executable.pool = pool;
  give_libtorch_threads(pool->workers());
  BuildReport report;
  const auto executable =
      ExecutableSet(graph, build_options, {.products_outside = true}, how.short_sizes).at(sizes, &report);
  if (!how.profile && how.trace.empty()) return run_native(*executable, inputs, boxed, options);

  std::printf(
      "compiled in %.1f ms: %.1f to loops, %.1f to plan, %.1f to code (%zu kernels, %zu like others, %zu from the "
      "cache, %zu externs)\n",
      1e3 * (report.graph_seconds + report.schedule_seconds + report.code_seconds), 1e3 * report.graph_seconds,
      1e3 * report.schedule_seconds, 1e3 * report.code_seconds, report.kernels.kernels, report.kernels.repeated,
      report.kernels.from_cache, report.externs);
  for (const auto& [symbol, value] : report.constants)
    std::printf("%s is %lld in it, for it is short: other calls get other code\n",
                std::string(symbol_name(symbol)).c_str(), static_cast<long long>(value));
  if (!report.given_up.empty()) std::printf("each nest is a kernel of its own: %s\n", report.given_up.c_str());
  double best = 1e9;
  for (int i = 0; i < how.calls; ++i) {
    std::vector<RunValue> given = copies(inputs);
    const auto start = std::chrono::steady_clock::now();
    run_native(*executable, given, boxed, options);
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  std::printf("best of %d calls: %.1f us\n", how.calls, best * 1e6);
  executable->profile(true);
  for (int i = 1; i < how.calls; ++i) run_native(*executable, copies(inputs), boxed, options);
  Execution run = run_native(*executable, inputs, boxed, options);
  if (how.profile) print_profile(executable->times(), *pool);
  if (!how.trace.empty()) write_trace(how.trace, executable->times());
  return run;
}

}  // namespace lenz::oracle
