#include "compiler/runtime/executable.h"

#include <algorithm>

#include "compiler/loops/uses.h"
#include "compiler/runtime/frame.h"
#include "compiler/runtime/together.h"

namespace lenz::runtime {

namespace {
constexpr size_t kMostIdle = 16;  // frames that wait for another call of their sizes

loops::Tensor constant_of(const loops::Buffer& buffer, const ExecutableOptions& options) {
  const ConstantData& data = *buffer.data;
  if (data.bytes == nullptr) {
    if (!options.load_constant) throw Unsupported("nobody loads the constant '" + data.key + "'");
    return options.load_constant(data);
  }
  auto storage = std::make_shared<loops::Storage>();
  storage->data = const_cast<std::byte*>(data.bytes->data());  // never written: the verifier sees to it
  storage->bytes = data.bytes->size();
  storage->owner = data.bytes;
  storage->read_only = true;
  loops::Ints sizes;
  for (Dim d : buffer.type.sizes) sizes.push_back(d.constant());
  return {std::move(storage), data.type.dtype, sizes, loops::contiguous_strides(sizes), 0};
}
}  // namespace

struct Executable::Impl {
  Shared shared;
  std::mutex mutex;
  std::vector<std::unique_ptr<Frame>> idle;  // the last used last
  size_t made = 0;

  std::unique_ptr<Frame> take(std::span<const Argument> arguments) {
    {
      std::scoped_lock lock(mutex);
      for (size_t i = idle.size(); i-- > 0;)
        if (idle[i]->fits(arguments)) {
          std::unique_ptr<Frame> found = std::move(idle[i]);
          idle.erase(idle.begin() + static_cast<ptrdiff_t>(i));
          return found;
        }
      ++made;
    }
    return std::make_unique<Frame>(shared, arguments);
  }
  void give(std::unique_ptr<Frame> frame) {
    frame->clear();
    std::unique_ptr<Frame> dropped;  // outside the lock
    std::scoped_lock lock(mutex);
    if (idle.size() == kMostIdle) {
      dropped = std::move(idle.front());
      idle.erase(idle.begin());
    }
    idle.push_back(std::move(frame));
  }
};

Executable::Executable(loops::Program program, KernelCode code, ExecutableOptions options)
    : impl_(std::make_unique<Impl>()) {
  Shared& s = impl_->shared;
  s.program = std::move(program);
  s.code = std::move(code);
  s.options = std::move(options);
  if (!s.options.pool) s.options.pool = make_pool(usable_threads());
  s.plan = plan_memory(s.program);
  s.tape = make_tape(s.program, s.code, s.steps);
  find_together(*s.tape, s.program, s.plan);
  s.early = loops::early_symbols(s.program);
  s.views.resize(s.program.buffers.size());
  for (loops::BufferId id = 0; id < s.plan.places.size(); ++id)
    if (s.plan.places[id].kind == Place::view) s.views[s.plan.places[id].number].push_back(id);
  s.dying.resize(s.program.body.nodes.size());
  std::vector<bool> shown(s.program.buffers.size());
  loops::for_each_output_buffer(s.program, [&](loops::BufferId id) { shown[s.owner(id)] = true; });
  for (loops::BufferId id = 0; id < shown.size(); ++id)
    if (s.plan.places[id].kind == Place::external && !shown[id]) s.dying[s.plan.places[id].last].push_back(id);
  for (const loops::Input& i : s.program.inputs)
    if (i.buffer != kNone)
      s.shares_inputs =
          s.shares_inputs || s.program.buffers[i.buffer].mutated || s.program.buffers[i.buffer].alias.has_value();
  s.constants.resize(s.program.buffers.size());
  for (loops::BufferId id = 0; id < s.program.buffers.size(); ++id)
    if (s.plan.places[id].kind == Place::constant) s.constants[id] = constant_of(s.program.buffers[id], s.options);
}
Executable::~Executable() = default;

Executable::Call::Call(Executable& owner, std::unique_ptr<Frame> frame) : owner_(&owner), frame_(std::move(frame)) {}
Executable::Call::Call(Call&&) noexcept = default;
Executable::Call::~Call() {
  if (frame_) owner_->impl_->give(std::move(frame_));
}
const std::vector<Result>& Executable::Call::outputs() const { return frame_->outputs(); }

Executable::Call Executable::call(std::span<const Argument> arguments, Host& host, const RandomStream& ambient) {
  Call made(*this, impl_->take(arguments));
  made.frame_->run(arguments, host, ambient);
  return made;
}

const loops::Program& Executable::program() const { return impl_->shared.program; }
const MemoryPlan& Executable::memory() const { return impl_->shared.plan; }
size_t Executable::frames_made() const {
  std::scoped_lock lock(impl_->mutex);
  return impl_->made;
}

void Executable::profile(bool on) {
  Shared& s = impl_->shared;
  std::scoped_lock lock(s.times_mutex);
  s.times.assign(s.steps, {});
  auto name = [&](const Tape& tape, auto&& self) -> void {
    for (const Step& step : tape.steps) {
      s.times[step.number].name = step_name(*step.node);
      s.times[step.number].node = step.node;
    }
    for (const auto& inner : tape.inner) self(*inner, self);
  };
  name(*s.tape, name);
  s.profiling = on;
}

std::vector<StepTime> Executable::times() const {
  std::scoped_lock lock(impl_->shared.times_mutex);
  return impl_->shared.times;
}

}  // namespace lenz::runtime
