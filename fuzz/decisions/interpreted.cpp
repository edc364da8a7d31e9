#include "fuzz/decisions/interpreted.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "compiler/backend/llvm/kept_objects.h"
#include "compiler/base/error.h"
#include "compiler/driver/build.h"
#include "compiler/loops/clone.h"
#include "compiler/loops/interpret.h"
#include "compiler/loops/points.h"
#include "oracle/initialise.h"

namespace lenz::fuzz {

namespace {
constexpr double kMostPoints = 2000;

// Digits of an f64 may be another machine's, where libm is: what is rounded to less is the same but once in a million.
std::string number(double x, bool wide) {
  if (std::isnan(x)) return "nan ";
  if (wide && std::abs(x) < 1e-9) x = 0;
  char text[40];
  std::snprintf(text, sizeof text, wide ? "%.4e " : "%.9g ", x);
  return text;
}

void add(std::string& text, const loops::Tensor& t) {
  const bool wide = t.dtype() == Dtype::f64 || t.dtype() == Dtype::c128;
  for (int64_t i = 0; i < t.numel(); ++i) {
    const ScalarValue v = t.at(i);
    switch (v.kind()) {
      case ScalarKind::integer: text += std::to_string(v.integer()) + " "; break;
      case ScalarKind::complex:
        text += number(v.complex().real(), wide);
        text += number(v.complex().imag(), wide);
        break;
      default: text += number(v.real(), wide);
    }
  }
}

void add(std::string& text, const loops::OutputValue& o) {
  text += "\n" + std::to_string(o.kind) + " " + std::to_string(o.integer) + " ";
  if (o.tensor) add(text, o.tensor);
  for (const loops::OutputValue& e : o.elements) add(text, e);
}

// At an address that vectors may be written to.
std::shared_ptr<loops::Storage> memory_of(uint64_t bytes) {
  constexpr size_t kAlignment = 64;
  auto storage = std::make_shared<loops::Storage>();
  auto held = std::make_shared<std::vector<std::byte>>(bytes + 2 * kAlignment);
  const auto at = reinterpret_cast<uintptr_t>(held->data());
  storage->data = held->data() + (kAlignment - at % kAlignment) % kAlignment;
  storage->bytes = bytes;
  storage->owner = held;
  return storage;
}

std::optional<loops::InputValue> value_of(Context& context, const Input& input, const Type& type,
                                          const SymValues& sizes) {
  if (!type.is_tensor()) return std::nullopt;
  auto known = [&](Dim d) { return evaluate(d, sizes); };
  loops::Ints own_sizes, own_strides;
  TensorType constant = type.tensor();
  for (size_t i = 0; i < constant.sizes.size(); ++i) {
    const auto size = known(constant.sizes[i]), stride = known(constant.strides[i]);
    if (!size || !stride) return std::nullopt;
    own_sizes.push_back(*size), own_strides.push_back(*stride);
    constant.sizes[i] = Dim(*size), constant.strides[i] = Dim(*stride);
  }
  const auto offset = known(constant.offset);
  if (!offset) return std::nullopt;
  constant.offset = Dim(*offset);
  const Type& whole = *context.tensor(constant);
  auto storage = memory_of(oracle::storage_bytes(whole));
  oracle::initialise({storage->data, storage->bytes}, whole, input.init, true);
  return loops::Tensor(storage, type.dtype, own_sizes, own_strides, *offset);
}
// Nothing of a program that is too long to be run, or that takes what stands for no memory of its own.
std::optional<std::vector<loops::InputValue>> inputs_of(const Graph& graph, const loops::Program& program,
                                                        const SymValues& sizes) {
  if (loops::points(program, sizes) > kMostPoints || program.inputs.size() != graph.inputs().size())
    return std::nullopt;
  std::vector<loops::InputValue> inputs;
  for (const Input& input : graph.inputs()) {
    if (input.alias) return std::nullopt;
    auto value = value_of(*graph.shared_context(), input, graph.type(input.value), sizes);
    if (!value) return std::nullopt;
    inputs.push_back(std::move(*value));
  }
  return inputs;
}

void add(std::string& text, std::span<const loops::InputValue> inputs) {
  for (const loops::InputValue& i : inputs)
    if (const auto* t = std::get_if<loops::Tensor>(&i)) add(text, *t);
}
constexpr RandomStream kAmbient{.seed = 5, .offset = 0};

// Stands for a host: what it makes is of the types that the program says, each element by its place alone. A size that
// data would decide is the same everywhere.
std::vector<loops::Tensor> made_up(const loops::Program& program, const loops::ExternCall& call) {
  constexpr int64_t kOfData = 2;
  constexpr int64_t kApart = 5;  // numbers that are told from each other, and often are places of something
  const SymValues known = [&](const SymNode* symbol) -> std::optional<int64_t> {
    try {
      return call.integer(Dim(symbol));
    } catch (const InternalError&) {  // this call makes it
      return kOfData;
    }
  };
  const auto number_of = [&](Dim d) { return evaluate(d, known).value_or(kOfData); };
  const auto numbers = [&](const auto& dims) {
    loops::Ints all;
    for (Dim d : dims) all.push_back(number_of(d));
    return all;
  };
  std::vector<loops::Tensor> made;
  for (loops::BufferId id : call.node.results) {
    if (id == kNone) {
      made.emplace_back();
      continue;
    }
    const auto& type = program.buffers[id].type;
    loops::Ints sizes = numbers(type.sizes), strides = numbers(type.strides);
    const int64_t offset = number_of(type.offset);
    int64_t elements = 0;  // also of who looks at it otherwise
    for (loops::BufferId other = 0; other < program.buffers.size(); ++other)
      if (const loops::Buffer& b = program.buffers[other]; other == id || b.view_of == id)
        elements = std::max(
            elements, loops::elements_needed(numbers(b.type.sizes), numbers(b.type.strides), number_of(b.type.offset))
                          .value_or(0));
    const auto bytes = static_cast<uint64_t>(elements * (info(type.dtype).bits / 8));
    loops::Tensor t(memory_of(bytes), type.dtype, std::move(sizes), std::move(strides), offset);
    for (int64_t i = 0; i < t.numel(); ++i) {
      const int64_t n = (i + std::ssize(made)) % kApart;
      const auto real = static_cast<double>(n);
      t.put(i, loops::settled(type.dtype, is_complex(type.dtype) ? ScalarValue(std::complex<double>(real, real))
                                          : is_integral(type.dtype, true) ? ScalarValue(n)
                                                                          : ScalarValue(real)));
    }
    made.push_back(std::move(t));
  }
  return made;
}
}  // namespace

void interpreted(const Graph& graph, const loops::Program& program, const SymValues& sizes, Facts& facts) {
  auto inputs = inputs_of(graph, program, sizes);
  if (!inputs) return;
  loops::InterpretOptions how;
  how.ambient = kAmbient;
  std::string text;
  how.print = [&](const loops::Print& node, std::span<const loops::Tensor> values) {
    text += node.text;
    for (const loops::Tensor& t : values) add(text, t);
  };
  how.run_extern = [&](const loops::ExternCall& call) { return made_up(program, call); };
  loops::Results got;
  try {
    got = loops::interpret(program, *inputs, how);
  } catch (const UserError& error) {
    text += error.what();
  } catch (const Unsupported&) {
    return;
  }
  text += got.text;
  for (const loops::OutputValue& o : got.outputs) add(text, o);
  add(text, *inputs);
  const loops::Counters& c = got.counters;
  for (const uint64_t n : {c.points, c.loads, c.stores, c.operations, c.flops, c.bytes})
    text += std::to_string(n) + " ";
  facts["run/interpreted #"] = digest(text);
}

namespace {
// What a program that runs is given.
class Memories : public runtime::Host {
 public:
  explicit Memories(const loops::Program& program) : program_(program) {}
  std::byte* output(uint32_t number, uint64_t bytes) override {
    outputs_.resize(std::max<size_t>(outputs_.size(), number + 1));
    outputs_[number] = memory_of(bytes);
    return outputs_[number]->data;
  }
  std::vector<loops::Tensor> run_extern(const loops::ExternCall& call) override { return made_up(program_, call); }
  void print(const loops::Print& node, std::span<const loops::Tensor> values) override {
    said += node.text;
    for (const loops::Tensor& t : values) add(said, t);
  }

  void show(const runtime::Result& r, std::span<const loops::InputValue> inputs) {
    said += "\n" + std::to_string(r.kind) + " " + std::to_string(r.integer) + " ";
    const bool own = r.storage == runtime::Place::output, given = r.storage == runtime::Place::input;
    if (r.kind == loops::Output::tensor && (own || given))
      add(said, loops::Tensor(own ? outputs_[r.number] : std::get<loops::Tensor>(inputs[r.number]).storage(), r.dtype,
                              r.sizes, r.strides, r.offset));
    else if (r.tensor)
      add(said, r.tensor);
    for (const runtime::Result& e : r.elements) show(e, inputs);
  }

  std::string said;

 private:
  const loops::Program& program_;
  std::vector<std::shared_ptr<loops::Storage>> outputs_;
};

std::string called(runtime::Executable& executable, std::span<const loops::InputValue> inputs) {
  std::vector<runtime::Argument> arguments;
  for (const loops::InputValue& i : inputs) {
    const auto& t = std::get<loops::Tensor>(i);
    arguments.emplace_back(
        runtime::TensorRef{t.storage()->data, t.storage()->bytes, t.dtype(), t.sizes(), t.strides(), t.offset()});
  }
  Memories host(executable.program());
  try {
    runtime::Executable::Call call = executable.call(arguments, host, kAmbient);
    for (const runtime::Result& r : call.outputs()) host.show(r, inputs);
  } catch (const UserError& error) {
    host.said += error.what();
  } catch (const Unsupported& error) {
    host.said += error.what();
  }
  add(host.said, inputs);
  return host.said;
}

std::string counted(const BuildReport& report) {
  std::string all = report.given_up;
  const native::CompileStatistics& k = report.kernels;
  for (const size_t n : {report.externs, k.kernels, k.compiled, k.from_cache, k.repeated})
    all += " " + std::to_string(n);
  return all + "\n";
}
}  // namespace

void executed(const Graph& graph, const loops::Program& program, std::span<const SymValues> sizes, Facts& facts) {
  BuildOptions how;
  how.target = "generic";  // which gives the same bits everywhere
  how.threads = 2;
  how.quick = true;
  how.grain = 64;  // so that few elements are parted, and shared by threads
  how.verify = false;
  how.executable.while_limit = 1000;
  how.kept = std::make_shared<native::KeptObjects>();
  std::string text;
  try {
    BuildReport first, again;
    const auto executable = build(loops::clone(program), how, &first);
    build(loops::clone(program), how, &again);
    text += counted(first) + counted(again);
    for (const bool profiled : {false, true}) {
      executable->profile(profiled);
      for (const SymValues& s : sizes)
        if (auto inputs = inputs_of(graph, program, s)) text += called(*executable, *inputs);
    }
    for (const runtime::StepTime& step : executable->times())
      text += step.name + " " + std::to_string(step.calls) + number(step.bytes, false) + number(step.operations, false);
    text += std::to_string(executable->frames_made());
  } catch (const Unsupported& error) {
    text += error.what();
  }
  facts["run/executed #"] = digest(text);
}

}  // namespace lenz::fuzz
