#include "bench/subject.h"

#include <ATen/Parallel.h>

#include <chrono>
#include <set>

#include "compiler/graph/verify.h"
#include "compiler/ops/op_table.h"
#include "oracle/bounds/reference.h"
#include "oracle/element_compare.h"
#include "oracle/native_run.h"
#include "oracle/random_machine.h"
#include "oracle/tensors.h"
#include "oracle/trial.h"
#include "oracle/values_file.h"

namespace lenz::bench {

using namespace oracle;

void set_libtorch_threads(int threads) { at::set_num_threads(threads); }

namespace {
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

std::string folder_of(const std::string& file) {
  const size_t slash = file.rfind('/');
  return slash == std::string::npos ? "." : file.substr(0, slash);
}

double bytes_in(const RunValue& value, std::set<const void*>& seen) {
  double bytes = 0;
  for_each_storage(value, [&](const void* storage, uint64_t size) {
    if (seen.insert(storage).second) bytes += static_cast<double>(size);
  });
  return bytes;
}

// What eager and the bounds leave open where random numbers are drawn: a rounding or two of a narrow float.
constexpr Closeness kDrawn = {0.02, 0.03};
}  // namespace

struct Subject::Impl {
  Impl(const std::string& text, const std::string& inputs, const SubjectOptions& options)
      : boxed(DeviceKind::cpu), graph(read_valid_graph(text, op_table())) {
    execute.folder = folder_of(text);
    values = read_inputs(inputs, *graph, boxed, binding, 0, true);
    BuildOptions how;
    how.target = options.target;
    how.cache = options.cache;
    how.threads = options.pool->workers();
    how.executable.pool = options.pool;
    how.executable.load_constant = constants_in(execute.folder);
    executable = build(*graph, how, &report);
  }

  Execution call() { return run_native(*executable, values, boxed, execute); }

  Boxed boxed;
  std::unique_ptr<Graph> graph;
  Binding binding;
  ExecuteOptions execute;
  std::vector<RunValue> values;
  BuildReport report;
  std::unique_ptr<runtime::Executable> executable;
};

Subject::Subject(const std::string& text, const std::string& inputs, const SubjectOptions& options)
    : impl_(std::make_unique<Impl>(text, inputs, options)) {}
Subject::~Subject() = default;

std::optional<std::string> Subject::wrong() {
  const Execution got = impl_->call();
  const bool drawn = draws(*impl_->graph);
  LenzRandom stream(impl_->boxed);
  Executor eager = drawn ? Executor(stream, impl_->execute) : Executor(impl_->boxed, impl_->execute);
  const Execution expected = eager.run(*impl_->graph, impl_->values, impl_->binding);
  if (auto outside = compare_outside(*impl_->graph, expected, got)) return outside->summary();
  if (drawn) {
    for (size_t i = 0; i < expected.outputs.size(); ++i)
      if (auto apart = first_apart(expected.outputs[i], got.outputs[i], kDrawn))
        return "output " + std::to_string(i) + ": " + *apart;
    return std::nullopt;
  }
  const Reference reference = Referee(impl_->boxed, impl_->execute).run(*impl_->graph, impl_->values, impl_->binding);
  if (reference.ending != Ending::finished) throw Unsupported("the float64 reference: " + reference.text);
  const Judgement judgement = judge(*impl_->graph, reference, got);
  if (judgement.mismatch) return judgement.mismatch->summary();
  if (judgement.shares.weak()) throw Unsupported("the bounds are too wide to judge the results");
  return std::nullopt;
}

Times Subject::round(double seconds) {
  impl_->call();
  std::vector<double> times;
  const auto start = Clock::now();
  while (times.size() < 3 || seconds_since(start) < seconds) {
    const auto began = Clock::now();
    impl_->call();
    times.push_back(seconds_since(began));
  }
  return Times::of(std::move(times));
}

const BuildReport& Subject::report() const { return impl_->report; }

Traffic Subject::traffic() const {
  std::set<const void*> seen;
  Traffic traffic;
  for (const RunValue& v : impl_->values) traffic.read += bytes_in(v, seen);
  const Execution run = impl_->call();
  for (const RunValue& v : run.outputs) traffic.written += bytes_in(v, seen);
  return traffic;
}

}  // namespace lenz::bench
