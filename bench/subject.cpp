#include "bench/subject.h"

#include <set>

#include "compiler/driver/program_set.h"
#include "compiler/graph/rebuild.h"
#include "compiler/graph/verify.h"
#include "compiler/ops/op_table.h"
#include "oracle/bounds/reference.h"
#include "oracle/decisions.h"
#include "oracle/element_compare.h"
#include "oracle/host_processor.h"
#include "oracle/likeness.h"
#include "oracle/native_run.h"
#include "oracle/random_machine.h"
#include "oracle/tensors.h"
#include "oracle/trial.h"
#include "oracle/values_file.h"

namespace lenz::bench {

using namespace oracle;

namespace {
double bytes_in(const RunValue& value, std::set<const void*>& seen) {
  double bytes = 0;
  for_each_storage(value, [&](const void* storage, uint64_t size) {
    if (seen.insert(storage).second) bytes += static_cast<double>(size);
  });
  return bytes;
}

// How far results of a dtype may lie from eager's where no bound can tell: of their own size, and of the largest one.
double tolerance(const RunValue& v) { return is_reduced_float(look(v).dtype) ? 0.02 : 1e-3; }

// A tie that falls otherwise moves what hangs on it: a window of an image, a row of a batch. Chosen, not derived.
constexpr double kDecidedOtherwise = 1.0 / 16;

std::optional<std::string> apart_from(const Execution& eager, const Execution& got) {
  for (size_t i = 0; i < eager.outputs.size(); ++i) {
    const RunValue& e = eager.outputs[i];
    const double near = look(e).kind == TypeKind::tensor ? tolerance(e) : 0;
    if (auto apart = first_apart(e, got.outputs[i], {near, near * magnitude(e)}))
      return "output " + std::to_string(i) + ": " + *apart;
  }
  return std::nullopt;
}
}  // namespace

struct Subject::Impl {
  Impl(const std::string& text, const std::string& inputs, const SubjectOptions& options)
      : boxed(DeviceKind::cpu), graph(read_valid_graph(text, op_table())) {
    execute.folder = folder_of(text);
    if (inputs.empty()) {
      complete(binding, *graph);
      values = initial_inputs(*graph, boxed, binding);
    } else {
      values = read_inputs(inputs, *graph, boxed, binding, 0, true);
    }
    if (auto other = specialised(*graph, binding.lookup())) graph = std::move(other);
    BuildOptions how;
    how.target = options.target;
    how.cache = options.cache;
    how.threads = options.pool->workers();
    how.verify = options.verify;
    describe_host(how.runner);
    how.executable.pool = options.pool;
    how.executable.load_constant = constants_in(execute.folder);
    executable =
        ExecutableSet(*graph, how, {.products_outside = true}, options.short_sizes).at(binding.lookup(), &report);
  }

  // What a run writes to stays what it was.
  std::vector<RunValue> copies() const {
    std::vector<RunValue> made;
    for (const RunValue& v : values) made.push_back(v && look(v).kind == TypeKind::tensor ? detached_copy(v) : v);
    return made;
  }

  loops::Program program(const LowerOptions& lower) const { return program_for(*graph, binding.lookup(), {}, lower); }
  Execution call() { return run_native(*executable, values, boxed, execute); }

  Boxed boxed;
  std::unique_ptr<Graph> graph;
  Binding binding;
  ExecuteOptions execute;
  std::vector<RunValue> values;
  BuildReport report;
  std::shared_ptr<runtime::Executable> executable;
};

Subject::Subject(const std::string& text, const std::string& inputs, const SubjectOptions& options)
    : impl_(std::make_unique<Impl>(text, inputs, options)) {}
Subject::~Subject() = default;

std::optional<std::string> Subject::wrong() {
  const Execution got = run_native(*impl_->executable, impl_->copies(), impl_->boxed, impl_->execute);
  const bool drawn = draws(*impl_->graph);
  LenzRandom stream(impl_->boxed);
  Executor eager = drawn ? Executor(stream, impl_->execute) : Executor(impl_->boxed, impl_->execute);
  const Execution expected = eager.run(*impl_->graph, impl_->copies(), impl_->binding);
  if (auto outside = compare_outside(*impl_->graph, expected, got)) return outside->summary();
  if (drawn) return apart_from(expected, got);
  const Reference reference = Referee(impl_->boxed, impl_->execute).run(*impl_->graph, impl_->values, impl_->binding);
  if (reference.ending != Ending::finished) throw Unsupported("the float64 reference: " + reference.text);
  const Judgement judgement = judge(*impl_->graph, reference, got);
  if (judgement.mismatch) return judgement.mismatch->summary();
  if (!judgement.shares.weak()) return std::nullopt;
  const double apart = decides_by_floats(*impl_->graph) ? kDecidedOtherwise : 0;
  auto unlike_noise = unlike(*impl_->graph, reference, {}, expected, got, Whose::others, apart);
  return unlike_noise ? std::optional(unlike_noise->summary()) : std::nullopt;
}

void Subject::call() { impl_->call(); }

Times Subject::round(double seconds) {
  impl_->call();
  return turn_of(seconds, 3, [&] { impl_->call(); });
}

const BuildReport& Subject::report() const { return impl_->report; }

Work Subject::work() const { return work_of(impl_->program({.products_outside = false}), impl_->binding.lookup()); }

Share Subject::share() {
  impl_->executable->profile(true);
  for (int i = 0; i < 5; ++i) impl_->call();
  return share_of(impl_->program({.products_outside = true}), impl_->binding.lookup(), impl_->executable->times());
}

Traffic Subject::traffic() const {
  std::set<const void*> seen;
  Traffic traffic;
  for (const RunValue& v : impl_->values) traffic.read += bytes_in(v, seen);
  const Execution run = impl_->call();
  for (const RunValue& v : run.outputs) traffic.written += bytes_in(v, seen);
  return traffic;
}

}  // namespace lenz::bench
