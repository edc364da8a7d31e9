// An executable keeps what it found out about its first call's arguments: other calls must not be taken for that one.
#include "compiler/base/hash.h"
#include "compiler/driver/program_set.h"
#include "compiler/loops/points.h"
#include "fuzz/properties/list.h"
#include "oracle/interpreted.h"
#include "oracle/native_run.h"
#include "oracle/tensors.h"

namespace lenz::fuzz {

namespace {
constexpr size_t kSizes = 3;
// A few open sizes multiply to more than code does in minutes, and than a worker has room for: points, of f32; of what
// is larger, as many fewer.
constexpr double kMost = 1 << 26;

// The same elements an element later in memory, or with gaps between them.
enum class Laid : uint8_t { later, apart };
oracle::RunValue laid(const oracle::RunValue& tensor, Laid how) {
  const oracle::Seen seen = oracle::look(tensor);
  Context context;
  TensorType type;
  type.dtype = seen.dtype;
  for (const int64_t n : seen.sizes) type.sizes.push_back(n);
  for (const int64_t n : seen.strides) type.strides.push_back(how == Laid::apart ? 2 * n : n);
  type.offset = seen.offset + (how == Laid::later ? 1 : 0);
  return oracle::placed(tensor, *context.tensor(type), {});
}

// Inputs that nobody shares memory with, no two of whose elements do.
std::vector<size_t> movable(const Graph& graph, std::span<const oracle::RunValue> inputs) {
  std::vector<size_t> all;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const oracle::Seen seen = oracle::look(inputs[i]);
    if (graph.inputs()[i].alias || seen.kind != TypeKind::tensor) continue;
    int64_t elements = 1, reach = 1;
    for (size_t d = 0; d < seen.sizes.size(); ++d) {
      elements *= seen.sizes[d];
      reach += (seen.sizes[d] - 1) * seen.strides[d];
    }
    if (elements > 1 && elements <= reach) all.push_back(i);
  }
  return all;
}

// What the interpreter refuses the executable refuses, after it has taken something like it.
std::optional<Failure> otherwise_laid(Subject& subject) {
  oracle::Trial& trial = subject.trial();
  runtime::Executable& executable = subject.executable(2, false);
  const std::vector<size_t> some = movable(subject.graph(), trial.inputs());
  if (some.empty()) return std::nullopt;
  const size_t which = some[subject.setting().seed % some.size()];
  for (const Laid how : {Laid::later, Laid::apart}) {
    if (trial.on_executable(executable).ending != oracle::Ending::finished) return std::nullopt;
    auto refused = [&](auto&& run) {
      std::vector<oracle::RunValue> inputs = trial.inputs();
      inputs[which] = laid(inputs[which], how);
      try {
        run(inputs);
      } catch (const UserError& error) {
        return error.message();
      }
      return std::string();
    };
    const std::string by_loops =
        refused([&](const auto& inputs) { oracle::run_interpreted(executable.program(), inputs, subject.boxed()); });
    const std::string by_code =
        refused([&](const auto& inputs) { oracle::run_native(executable, inputs, subject.boxed()); });
    if (by_loops.empty() != by_code.empty())
      return Failure{"called_elsewhere", "called_elsewhere", by_code.empty() ? "taken" : "refused",
                     "input " + std::to_string(which) + " laid " + (how == Laid::later ? "an element later" : "apart") +
                         ": the interpreter " + (by_loops.empty() ? "takes it" : "refuses it: " + by_loops) +
                         "; the executable " + (by_code.empty() ? "takes it" : "refuses it: " + by_code)};
  }
  return std::nullopt;
}

// As many times as much room as f32 takes.
double widest(const loops::Program& program) {
  int64_t most = 4;
  for (const loops::Buffer& b : program.buffers) most = std::max<int64_t>(most, item_size(b.type.dtype));
  return static_cast<double>(most) / 4;
}

// At one size after the other, and at the first again.
std::optional<Failure> of_other_sizes(Subject& subject) {
  const bool closed = combine(subject.setting().seed, hash_bytes("called_elsewhere")) % 2 == 0;
  ExecutableSet executables(subject.graph(), subject.build_options(2, false), {.products_outside = false},
                            closed ? ShortSizes::closed : ShortSizes::open);
  std::vector<oracle::Binding> sizes = oracle::various_sizes({}, subject.graph());
  if (sizes.size() > kSizes) sizes.resize(kSizes);
  if (!sizes.empty()) sizes.push_back(sizes[0]);
  std::shared_ptr<runtime::Executable> executable;  // outlives the look at what it gave
  return failure_at_sizes(subject, "called_elsewhere", sizes, [&](oracle::Trial& trial, const oracle::Binding& at) {
    executable = executables.at(at.lookup());
    const loops::Program& program = executable->program();
    if (loops::points(program, at.lookup()) * widest(program) > kMost) return RunAtSizes{};
    return RunAtSizes{&program, trial.on_executable(*executable)};
  });
}

std::optional<Failure> holds(Subject& subject) {
  if (auto failure = otherwise_laid(subject)) return failure;
  return of_other_sizes(subject);
}
}  // namespace

Property called_elsewhere() {
  return {"called_elsewhere", "called at other sizes it is right there too, and it refuses what is laid otherwise",
          holds, true};
}

}  // namespace lenz::fuzz
