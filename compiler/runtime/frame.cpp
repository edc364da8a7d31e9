#include "compiler/runtime/frame.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <new>

#include "compiler/base/large_pages.h"
#include "compiler/loops/take_inputs.h"
#include "compiler/schedule/nest_facts.h"

namespace lenz::runtime {

using loops::Buffer;
using loops::BufferId;

namespace {
constexpr double kSerialNanoseconds = 4000;  // less than this is done before another core has heard of it
constexpr double kChunkNanoseconds = 2000;
constexpr int64_t kPiecesOfWorker = 16;  // at least, of kernels that run together

uint64_t rounded(uint64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }
}  // namespace

AlignedMemory::AlignedMemory(uint64_t bytes) : bytes_(bytes) {
  data_.reset(static_cast<std::byte*>(::operator new(rounded(std::max<uint64_t>(bytes, 1)), std::align_val_t{64})));
  prefer_large_pages(data_.get(), bytes);
}
void AlignedMemory::Free::operator()(std::byte* p) const { ::operator delete(p, std::align_val_t{64}); }

Frame::Frame(Shared& shared, std::span<const Argument> arguments) : s_(shared), symbols_(shared.program.assumptions) {
  const size_t buffers = s_.program.buffers.size();
  storages_.resize(buffers);
  first_.resize(buffers);
  offsets_.resize(buffers);
  bytes_.resize(buffers);
  kept_.resize(buffers);
  late_.resize(buffers);
  given_.resize(buffers);
  numbers_.resize(s_.program.inputs.size());
  kernels_.resize(s_.steps);
  remember(arguments);
  std::vector<loops::InputValue> inputs;
  for (const Argument& a : arguments) {
    if (const auto* t = std::get_if<TensorRef>(&a)) {
      auto storage = std::make_shared<loops::Storage>();
      storage->data = t->storage;
      storage->bytes = t->bytes;
      loops::Ints sizes, strides;
      for (int64_t n : t->sizes) sizes.push_back(n);
      for (int64_t n : t->strides) strides.push_back(n);
      inputs.emplace_back(loops::Tensor(std::move(storage), t->dtype, sizes, strides, t->offset));
    } else if (const auto* n = std::get_if<int64_t>(&a)) {
      inputs.emplace_back(*n);
    } else if (const auto* x = std::get_if<double>(&a)) {
      inputs.emplace_back(*x);
    } else if (const auto* b = std::get_if<bool>(&a)) {
      inputs.emplace_back(*b);
    } else {
      inputs.emplace_back();
    }
  }
  loops::take_inputs(s_.program, inputs, symbols_, [](BufferId, const loops::Tensor&) {});
  early_symbols_ = symbols_.mark();
  lay_out();
  prepare_all(*s_.tape);
  scratch_ = AlignedMemory(scratch_of_worker_ * static_cast<uint64_t>(s_.options.pool->workers()));
}

// ---------------------------------------------------------------------------------------------------------------------
// Once for these sizes

namespace {
// Calls visit(int64_t) for all that decides whether arguments look alike.
template <class F>
void for_each_mark(std::span<const Argument> arguments, F&& visit) {
  for (const Argument& a : arguments) {
    visit(static_cast<int64_t>(a.index()));
    if (const auto* n = std::get_if<int64_t>(&a)) visit(*n);
    const auto* t = std::get_if<TensorRef>(&a);
    if (t == nullptr) continue;
    visit(static_cast<int64_t>(t->dtype) << 8 | static_cast<int64_t>(t->sizes.size()));
    visit(t->offset);
    for (int64_t n : t->sizes) visit(n);
    for (int64_t n : t->strides) visit(n);
  }
}
}  // namespace

void Frame::remember(std::span<const Argument> arguments) {
  for_each_mark(arguments, [&](int64_t mark) { key_.push_back(mark); });
}

bool Frame::fits(std::span<const Argument> arguments) const {
  size_t at = 0;
  bool same = true;
  for_each_mark(arguments, [&](int64_t mark) {
    same = same && at < key_.size() && key_[at] == mark;
    ++at;
  });
  return same && at == key_.size();
}

uint64_t Frame::bytes_of(BufferId id) const {
  const Buffer& b = s_.program.buffers[id];
  loops::Ints sizes, strides;
  for (Dim d : b.type.sizes) sizes.push_back(value(d));
  if (b.placed) {
    for (Dim d : b.type.strides) strides.push_back(value(d));
  } else {
    strides = loops::contiguous_strides(sizes);
  }
  std::optional<int64_t> elements = loops::elements_needed(sizes, strides, b.placed ? value(b.type.offset) : 0);
  int64_t bytes = 0;
  if (!elements || __builtin_mul_overflow(*elements, item_size(loops::kept_as(b)), &bytes)) throw std::bad_alloc();
  return static_cast<uint64_t>(bytes);
}

// Where the product of the sizes is known early, one of them need not be: 0 times anything.
uint64_t Frame::early_bytes_of(BufferId id) const {
  const Buffer& b = s_.program.buffers[id];
  auto early = [&](Dim d) { return loops::all_in(d, s_.early); };
  if (std::ranges::all_of(b.type.sizes, early) && std::ranges::all_of(b.type.strides, early)) return bytes_of(id);
  return static_cast<uint64_t>(value(s_.plan.places[id].bytes));
}

void Frame::lay_out() {
  std::vector<uint64_t> slots(s_.plan.slots.size());
  for (BufferId id = 0; id < s_.plan.places.size(); ++id) {
    const Place& p = s_.plan.places[id];
    const Buffer& b = s_.program.buffers[id];
    if (b.placed && loops::all_in(b.type.offset, s_.early))
      offsets_[id] = value(b.type.offset) * item_size(b.type.dtype);
    if (p.kind == Place::arena || (p.kind == Place::output && loops::all_in(p.bytes, s_.early)))
      bytes_[id] = early_bytes_of(id);
    if (p.kind == Place::arena) slots[p.number] = std::max(slots[p.number], bytes_[id]);
  }
  std::vector<uint64_t> at;
  uint64_t total = 0;
  for (uint64_t bytes : slots) {
    at.push_back(total);
    if (__builtin_add_overflow(total, rounded(bytes), &total)) throw std::bad_alloc();
  }
  laid_out_bytes_ = total;
  for (BufferId id : s_.plan.outputs) laid_out_bytes_ += bytes_[id];
  if (laid_out_bytes_ > s_.options.memory_limit) throw std::bad_alloc();
  arena_ = AlignedMemory(total);
  for (BufferId id = 0; id < s_.plan.places.size(); ++id) {
    const Place& p = s_.plan.places[id];
    if (p.kind == Place::arena) {
      storages_[id] = arena_.data() + at[p.number];
      first_[id] = storages_[id] + offsets_[id];
    } else if (p.kind == Place::constant && s_.constants[id]) {
      storages_[id] = s_.constants[id].storage()->data;
      first_[id] = s_.constants[id].element(s_.constants[id].offset());
      bytes_[id] = s_.constants[id].storage()->bytes;
    }
  }
  for (BufferId id = 0; id < s_.plan.places.size(); ++id)
    if (s_.plan.places[id].kind == Place::view && storages_[s_.owner(id)])
      first_[id] = storages_[s_.owner(id)] + offsets_[id];
}

void Frame::prepare_all(const Tape& tape) {
  for (const Step& step : tape.steps)
    if (step.code.function && !step.late) prepare(step);
  for (size_t i = 0; i < tape.steps.size(); ++i)
    if (const uint32_t together = tape.steps[i].together; together > 1)
      deal(std::span(tape.steps).subspan(i, together));
  for (const auto& inner : tape.inner) prepare_all(*inner);
}

// How often an axis goes, at the first point of the axes around it.
int64_t Frame::count_of(Dim extent) const {
  return std::max<int64_t>(
      0, evaluate(extent, [&](const SymNode* s) { return std::optional(symbols_.find(s).value_or(0)); }).value_or(1));
}

double Frame::points_of(const loops::Nest& nest) const {
  double points = 1;
  for (const loops::Axis& a : nest.axes) points *= static_cast<double>(count_of(a.extent));
  return points;
}

double Frame::nanoseconds_of(const loops::Nest& nest) const {
  double lanes = 1, cost = static_cast<double>(nest.stores.size()) * 0.5;
  for (const loops::Axis& a : nest.axes) lanes = std::max(lanes, static_cast<double>(a.lanes));
  for (const loops::Instr& i : nest.body) cost += schedule::cost_of(i);
  return points_of(nest) * cost * 0.3 / std::max(1.0, lanes / 2);
}

// Each buffer once in and once out, however often it is looked at.
void Frame::measure(const Step& step, StepTime& time) const {
  const auto* kernel = std::get_if<loops::Kernel>(&step.node->is);
  if (kernel == nullptr) return;
  time.bytes = time.operations = 0;
  for (const loops::Node& node : kernel->body->nodes) {
    double cost = 0;
    for (const loops::Instr& i : std::get<loops::Nest>(node.is).body)
      if (i.kind != loops::InstrKind::load) cost += schedule::cost_of(i);
    time.operations +=
        cost * points_of(std::get<loops::Nest>(node.is)) * static_cast<double>(kernels_[step.number].points);
  }
  std::vector<BufferId> loaded;
  for (const loops::Node& node : kernel->body->nodes)
    for (const loops::Instr& i : std::get<loops::Nest>(node.is).body)
      if (i.kind == loops::InstrKind::load && !s_.program.buffers[i.buffer].local &&
          std::ranges::find(loaded, i.buffer) == loaded.end())
        loaded.push_back(i.buffer);
  for (BufferId id : loaded) time.bytes += static_cast<double>(bytes_of(id));
  for (BufferId id : step.stores) time.bytes += static_cast<double>(bytes_of(id));
}

void Frame::prepare(const Step& step) {
  const auto& kernel = std::get<loops::Kernel>(step.node->is);
  const KernelArguments& takes = step.code.arguments;
  KernelRun& run = kernels_[step.number];
  run.symbols.clear();
  for (Dim d : takes.symbols) run.symbols.push_back(value(d));
  run.points = 1;
  for (const loops::Axis& a : kernel.axes)
    if (__builtin_mul_overflow(run.points, value(a.extent), &run.points)) throw std::bad_alloc();
  run.locals.clear();
  run.scratch = 0;
  run.pointers.resize(takes.buffers.size());
  run.skipped.clear();
  for (uint32_t i = 0; i < takes.buffers.size(); ++i) {
    const Buffer& b = s_.program.buffers[takes.buffers[i]];
    run.skipped.push_back(takes.skipped[i] * item_size(b.type.dtype));
    if (!b.local) continue;
    run.locals.emplace_back(i, run.scratch);
    run.scratch += rounded(bytes_of(takes.buffers[i]));
  }
  double one = 0;
  for (const loops::Node& node : kernel.body->nodes) one += nanoseconds_of(std::get<loops::Nest>(node.is));
  run.nanoseconds = one * static_cast<double>(run.points);
  const int workers = s_.options.pool->workers();
  const double taken = run.nanoseconds * s_.options.grain;
  run.chunks = 1;
  if (workers > 1 && taken > kSerialNanoseconds)
    run.chunks = std::clamp<int64_t>(static_cast<int64_t>(taken / kChunkNanoseconds), 1,
                                     std::min<int64_t>(std::max<int64_t>(run.points, 1), workers * 8));
  scratch_of_worker_ = std::max(scratch_of_worker_, run.scratch);
  for (const loops::Node& node : kernel.body->nodes) look_at_numbers(std::get<loops::Nest>(node.is));
}

// The pieces of a job of several kernels, in the order in which a pool deals them out: each worker has the part of each
// kernel that it would have if that ran by itself. Pieces are large: there are many kernels to even out who is late.
// None where all of it is done before another core has heard of it.
void Frame::deal(std::span<const Step> together) {
  const int64_t workers = s_.options.pool->workers();
  double all = 0;
  for (const Step& step : together) all += kernels_[step.number].nanoseconds;
  if (workers == 1 || all * s_.options.grain <= kSerialNanoseconds) return;
  for (const Step& step : together) {
    KernelRun& run = kernels_[step.number];
    const double share = run.nanoseconds / std::max(all, 1.0) * static_cast<double>(workers * kPiecesOfWorker);
    run.chunks = std::clamp<int64_t>(std::llround(share), std::min(run.chunks, workers), run.chunks);
  }
  std::vector<Piece>& pieces = jobs_[together[0].number];
  for (int64_t w = 0; w < workers; ++w)
    for (size_t k = 0; k < together.size(); ++k) {
      const KernelRun& run = kernels_[together[k].number];
      if (run.points == 0) continue;
      for (int64_t c = 0; c < run.chunks; ++c) {
        const int64_t whose = run.chunks < workers ? (static_cast<int64_t>(k) + c) % workers : c * workers / run.chunks;
        if (whose == w) pieces.push_back({&together[k], c});
      }
    }
}

// Code counts without looking: numbers that sizes alone decide are looked at here, once for all calls of these sizes.
void Frame::look_at_numbers(const loops::Nest& nest) const {
  for (const loops::Instr& i : nest.body) {
    if (i.kind != loops::InstrKind::index) continue;
    for (Dim d : i.index) {
      bool known = true;
      if (!d.is_constant()) for_each_symbol(d, [&](const SymNode* s) { known = known && symbols_.find(s); });
      if (known) value(d);
    }
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// Each call

void Frame::point_at(BufferId owner, std::byte* storage) {
  storages_[owner] = storage;
  first_[owner] = storage + offsets_[owner];
}

// Inputs of one class share storage; what is written shares it with no others.
void Frame::check_sharing(std::span<const Argument> arguments) {
  sharing_.clear();
  for (uint32_t i = 0; i < arguments.size(); ++i)
    if (const auto* t = std::get_if<TensorRef>(&arguments[i]); t && t->storage && t->bytes > 0)
      sharing_.emplace_back(t->storage, i);
  std::ranges::sort(sharing_);
  auto of = [&](size_t k) -> const Buffer& { return s_.program.buffers[s_.program.inputs[sharing_[k].second].buffer]; };
  auto refuse = [&](size_t k, const std::string& why) {
    throw UserError("input '" + s_.program.inputs[sharing_[k].second].name + "' " + why, {},
                    std::string(loops::kAliasRemedy));
  };
  std::vector<std::pair<NameId, const std::byte*>> classes;
  for (size_t k = 0; k < sharing_.size(); ++k) {
    const Buffer& b = of(k);
    if (b.alias) {
      auto known = std::ranges::find(classes, *b.alias, &std::pair<NameId, const std::byte*>::first);
      if (known == classes.end())
        classes.emplace_back(*b.alias, sharing_[k].first);
      else if (known->second != sharing_[k].first)
        refuse(k, "does not share its storage with others of its class");
    }
    if (k == 0 || sharing_[k - 1].first != sharing_[k].first) continue;
    const Buffer& a = of(k - 1);
    if ((a.mutated || b.mutated) && !(a.alias && a.alias == b.alias))
      refuse(k, "shares its storage with input '" + s_.program.inputs[sharing_[k - 1].second].name +
                    "', and one of them is mutated");
  }
}

void Frame::take(std::span<const Argument> arguments, Host& host) {
  if (s_.shares_inputs) check_sharing(arguments);
  for (uint32_t i = 0; i < arguments.size(); ++i) {
    const BufferId id = s_.program.inputs[i].buffer;
    if (id == kNone) continue;
    if (const auto* t = std::get_if<TensorRef>(&arguments[i])) {
      storages_[id] = t->storage;
      first_[id] = t->first();
      bytes_[id] = t->bytes;
      continue;
    }
    auto* at = reinterpret_cast<std::byte*>(&numbers_[i]);
    if (const auto* x = std::get_if<double>(&arguments[i]))
      loops::write_element(s_.program.buffers[id].type.dtype, at, ScalarValue(*x));
    if (const auto* b = std::get_if<bool>(&arguments[i]))
      loops::write_element(s_.program.buffers[id].type.dtype, at, ScalarValue(int64_t{*b}));
    storages_[id] = first_[id] = at;
    bytes_[id] = sizeof(double);
  }
  for (uint32_t k = 0; k < s_.plan.outputs.size(); ++k)
    if (const BufferId id = s_.plan.outputs[k]; loops::all_in(s_.plan.places[id].bytes, s_.early))
      point_at(id, host.output(k, bytes_[id]));
  for (BufferId id = 0; id < s_.plan.places.size(); ++id)
    if (s_.plan.places[id].kind == Place::view && storages_[s_.plan.places[id].number])
      first_[id] = storages_[s_.plan.places[id].number] + offsets_[id];
}

void Frame::run(std::span<const Argument> arguments, Host& host, const RandomStream& ambient) {
  host_ = &host;
  ambient_ = ambient;
  late_output_bytes_ = 0;
  given_.assign(given_.size(), false);
  symbols_.unwind(early_symbols_);
  take(arguments, host);
  try {
    run(*s_.tape);
  } catch (const UserError& error) {
    throw Raised(error.message(), error.where(), error.remedy());
  }
  outputs_.clear();
  for (const loops::Output& o : s_.program.outputs) outputs_.push_back(shown(o));
}

void Frame::clear() {
  outputs_.clear();
  for (loops::Tensor& t : kept_)
    if (t) t = {};
  host_ = nullptr;
}

// A buffer whose size is known by now gets memory, unless what it has is enough.
void Frame::room_for(BufferId id) {
  id = s_.owner(id);
  const Place& p = s_.plan.places[id];
  if (p.kind != Place::late && (p.kind != Place::output || loops::all_in(p.bytes, s_.early))) return;
  const Buffer& b = s_.program.buffers[id];
  const uint64_t bytes = bytes_of(id);
  if (b.placed) offsets_[id] = value(b.type.offset) * item_size(b.type.dtype);
  // What a call gives to its caller is not what an earlier call gave to its own.
  const bool fresh = p.kind == Place::output && !given_[id];
  if (storages_[id] == nullptr || bytes > bytes_[id] || fresh) {
    given_[id] = true;
    uint64_t& counted = p.kind == Place::output ? late_output_bytes_ : late_bytes_;
    counted += bytes - (p.kind == Place::output ? 0 : late_[id].bytes);
    if (laid_out_bytes_ + late_bytes_ + late_output_bytes_ > s_.options.memory_limit) throw std::bad_alloc();
    if (p.kind == Place::output) {
      point_at(id, host_->output(p.number, bytes));
    } else {
      late_[id].memory = AlignedMemory(bytes);
      late_[id].bytes = bytes;
      point_at(id, late_[id].memory.data());
    }
    bytes_[id] = bytes;
  } else {
    point_at(id, storages_[id]);
  }
}

loops::Tensor Frame::tensor(BufferId id) {
  const Buffer& b = s_.program.buffers[id];
  const BufferId owner = s_.owner(id);
  loops::Ints sizes, strides;
  for (Dim d : b.type.sizes) sizes.push_back(value(d));
  int64_t offset = 0;
  if (b.placed) {
    for (Dim d : b.type.strides) strides.push_back(value(d));
    offset = value(b.type.offset);
  } else {
    strides = loops::contiguous_strides(sizes);
  }
  if (kept_[owner]) {
    if (owner == id) return kept_[owner];
    return {kept_[owner].storage(), b.type.dtype, sizes, strides, offset};
  }
  // Results may show a constant, and outlive the executable that loaded it.
  std::shared_ptr<loops::Storage> storage = s_.constants[owner] ? s_.constants[owner].storage() : nullptr;
  if (!storage) {
    storage = std::make_shared<loops::Storage>();
    storage->data = storages_[owner];
    storage->bytes = bytes_[owner];
  }
  if (loops::elements_needed(sizes, strides, offset) == std::optional<int64_t>(0)) offset = 0;
  return {std::move(storage), b.type.dtype, sizes, strides, offset};
}

bool Frame::truth(BufferId id) const { return first_[id] && std::to_integer<int>(*first_[id]) != 0; }

Result Frame::shown(const loops::Output& output) {
  Result r;
  r.kind = output.kind;
  auto stored = [&](BufferId id) {
    const BufferId owner = s_.owner(id);
    r.storage = s_.plan.places[owner].kind;
    r.number = r.storage == Place::input || r.storage == Place::output ? s_.plan.places[owner].number : owner;
    if (r.storage == Place::external || r.storage == Place::constant) r.tensor = tensor(id);
  };
  switch (output.kind) {
    case loops::Output::tensor:
      stored(output.buffer);
      r.dtype = output.type.dtype;
      for (Dim d : output.type.sizes) r.sizes.push_back(value(d));
      for (Dim d : output.type.strides) r.strides.push_back(value(d));
      r.offset = value(output.type.offset);
      break;
    case loops::Output::number:
      stored(output.buffer);
      r.dtype = s_.program.buffers[output.buffer].type.dtype;
      r.tensor = loops::Tensor(r.dtype, {});
      std::memcpy(r.tensor.element(0), first_[output.buffer], static_cast<size_t>(item_size(r.dtype)));
      break;
    case loops::Output::integer: r.integer = value(output.value); break;
    case loops::Output::literal: r.literal = &output.literal_value; break;
    case loops::Output::list:
      for (const loops::Output& e : output.elements) r.elements.push_back(shown(e));
      break;
    case loops::Output::none: break;
  }
  return r;
}

}  // namespace lenz::runtime
