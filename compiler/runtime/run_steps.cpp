// The steps of a call, one after another.
#include <algorithm>
#include <chrono>

#include "compiler/runtime/frame.h"
#include "compiler/runtime/sort.h"

namespace lenz::runtime {

using loops::BufferId;

void Frame::run(const Tape& tape) {
  size_t inner = 0;
  const bool timed = s_.profiling.load(std::memory_order_relaxed);
  for (size_t i = 0; i < tape.steps.size(); ++i) {
    const Step& step = tape.steps[i];
    if (timed) {
      run_timed(step, tape, inner);
    } else if (step.together > 1) {
      run_together(std::span(tape.steps).subspan(i, step.together));
    } else if (step.together == 1) {
      if (step.code.function)
        run_kernel(step);
      else
        run(step, tape, inner);
    }
    if (&tape == s_.tape.get())
      for (BufferId id : s_.dying[i]) kept_[id] = {};
  }
}

void Frame::run_timed(const Step& step, const Tape& tape, size_t& inner) {
  const auto start = std::chrono::steady_clock::now();
  run(step, tape, inner);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::scoped_lock lock(s_.times_mutex);
  StepTime& t = s_.times[step.number];
  t.best = t.calls == 0 ? seconds : std::min(t.best, seconds);
  t.seconds += seconds;
  if (t.calls++ == 0) measure(step, t);
}

void Frame::run_kernel(const Step& step) {
  get_ready(step);
  const KernelRun& run = kernels_[step.number];
  if (run.points == 0) return;
  std::atomic<int32_t> status = 0;
  auto part = [&](int64_t chunk, int worker) {
    if (const int32_t ended = run_chunk(step, chunk, worker)) status.store(ended, std::memory_order_relaxed);
  };
  if (run.chunks == 1) {
    part(0, 0);
  } else {
    s_.options.pool->run(run.chunks, Work::of(part));
  }
  if (status != 0) raise_for(status, std::get<loops::Kernel>(step.node->is).name);
}

// What the first of them raises is raised, as if the others came behind it.
void Frame::run_together(std::span<const Step> together) {
  const auto job = jobs_.find(together[0].number);
  if (job == jobs_.end()) {
    for (const Step& step : together) run_kernel(step);
    return;
  }
  for (const Step& step : together) get_ready(step);
  const std::vector<Piece>& pieces = job->second;
  std::vector<std::atomic<int32_t>> status(together.size());
  auto piece = [&](int64_t number, int worker) {
    const Piece& p = pieces[static_cast<size_t>(number)];
    if (const int32_t ended = run_chunk(*p.step, p.chunk, worker))
      status[static_cast<size_t>(p.step - together.data())].store(ended, std::memory_order_relaxed);
  };
  s_.options.pool->run(static_cast<int64_t>(pieces.size()), Work::of(piece));
  for (size_t k = 0; k < together.size(); ++k)
    if (status[k] != 0) raise_for(status[k], std::get<loops::Kernel>(together[k].node->is).name);
}

// Memory and arguments of a kernel for this call.
void Frame::get_ready(const Step& step) {
  for (BufferId id : step.stores) room_for(id);
  if (step.late) {
    prepare(step);
    if (const uint64_t needed = scratch_of_worker_ * static_cast<uint64_t>(s_.options.pool->workers());
        needed > scratch_.bytes())
      scratch_ = AlignedMemory(needed);
  }
  KernelRun& run = kernels_[step.number];
  if (run.points == 0) return;
  const KernelArguments& takes = step.code.arguments;
  for (size_t i = 0; i < takes.buffers.size(); ++i) run.pointers[i] = first_[takes.buffers[i]] + run.skipped[i];
  run.streams.clear();
  for (uint32_t number : takes.streams) {
    const loops::Stream& stream = s_.program.streams[number];
    const auto offset = static_cast<uint64_t>(value(stream.offset));
    run.streams.push_back(stream.seed ? *stream.seed : ambient_.seed);
    run.streams.push_back(stream.seed ? offset : ambient_.offset + offset);
  }
}

int32_t Frame::run_chunk(const Step& step, int64_t chunk, int worker) const {
  const KernelRun& run = kernels_[step.number];
  void* const* pointers = run.pointers.data();
  SmallVec<void*, 24> own;
  if (!run.locals.empty()) {
    for (void* p : run.pointers) own.push_back(p);
    std::byte* scratch = scratch_.data() + static_cast<uint64_t>(worker) * scratch_of_worker_;
    for (auto [at, place] : run.locals) own[at] = scratch + place;
    pointers = own.data();
  }
  const int64_t begin = run.points / run.chunks * chunk + std::min(chunk, run.points % run.chunks);
  const int64_t end = run.points / run.chunks * (chunk + 1) + std::min(chunk + 1, run.points % run.chunks);
  return step.code.function(pointers, run.symbols.data(), run.streams.data(), begin, end);
}

void Frame::run_extern(const loops::Extern& node) {
  s_.options.pool->park();  // whoever runs it has threads of its own
  const loops::ExternCall call{node, [&](BufferId id) { return tensor(id); }, [&](Dim d) { return value(d); }};
  std::vector<loops::Tensor> made = host_->run_extern(call);
  s_.options.pool->resume();
  LENZ_CHECK(made.size() == node.results.size(), "extern op " + node.op->full_name + " gave another number of results");
  symbols_.unbind_all(&node);
  for (size_t i = 0; i < made.size(); ++i) {
    const BufferId id = node.results[i];
    if (id == kNone) continue;
    symbols_.take_sizes(s_.program.buffers[id].type.sizes, made[i].sizes(), &node);
    const BufferId owner = s_.owner(id);
    kept_[owner] = made[i];
    storages_[owner] = made[i].storage()->data;
    first_[owner] = made[i].element(made[i].numel() == 0 ? 0 : made[i].offset());
    bytes_[owner] = made[i].storage()->bytes;
    for (BufferId view : s_.views[owner]) first_[view] = storages_[owner] + offsets_[view];
  }
}

void Frame::run(const Step& step, const Tape& tape, size_t& inner) {
  using namespace loops;
  struct Runner {
    Frame& f;
    const Step& step;
    const Tape& tape;
    size_t& inner;

    void operator()(const Kernel&) const { f.run_kernel(step); }
    void operator()(const Nest&) const { internal_error("a nest without a kernel", __FILE__, __LINE__); }
    void operator()(const Sort& n) const {
      for (BufferId id : step.stores) f.room_for(id);
      auto maybe = [&](BufferId id) { return id == kNone ? Tensor() : f.tensor(id); };
      Ints places;
      for (Dim place : n.places) places.push_back(f.value(place));
      sort_lines(f.tensor(n.keys), maybe(n.values), maybe(n.indices), n.dim, n.descending, *f.s_.options.pool, places,
                 f.sorting_);
    }
    void operator()(const Extern& n) const { f.run_extern(n); }
    void operator()(const Bind& n) const {
      const Dtype dtype = f.s_.program.buffers[n.from].type.dtype;
      f.symbols_.take_made(n.symbol, read_element(dtype, f.first_[n.from]).integer(), &n);
    }
    void operator()(const Check& n) const {
      bool holds = true;
      if (n.cond) {
        std::optional<bool> told = evaluate(*n.cond, [&](const SymNode* s) { return f.symbols_.find(s); });
        LENZ_CHECK(told.has_value(), "a check has a condition that can be told");
        holds = *told;
      }
      if (n.holds != kNone) holds = holds && f.truth(n.holds);
      if (!holds) throw UserError(n.message);
    }
    void operator()(const Print& n) const {
      std::vector<Tensor> values;
      for (BufferId id : n.values) values.push_back(f.tensor(id));
      f.host_->print(n, values);
    }
    void operator()(const If& n) const {
      const size_t branch = inner + (f.truth(n.condition) ? 0 : 1);
      inner += 2;
      f.run(*tape.inner[branch]);
    }
    void operator()(const While& n) const {
      const size_t test = inner;
      inner += 2;
      const size_t mark = f.symbols_.mark();
      for (uint64_t round = 0;; ++round) {
        f.symbols_.unwind(mark);
        f.run(*tape.inner[test]);
        if (!f.truth(n.condition)) return;
        if (round == f.s_.options.while_limit)
          throw Endless("a while ran more than " + std::to_string(f.s_.options.while_limit) + " rounds");
        f.run(*tape.inner[test + 1]);
      }
    }
    void operator()(const Repeat& n) const {
      const size_t body = inner++;
      const int64_t count = f.value(n.count);
      const size_t mark = f.symbols_.mark();
      for (int64_t i = 0; i < count; ++i) {
        f.symbols_.unwind(mark);
        f.symbols_.bind(n.symbol, i, &n);
        f.run(*tape.inner[body]);
      }
      f.symbols_.unbind_all(&n);
    }
  };
  std::visit(Runner{*this, step, tape, inner}, step.node->is);
}

}  // namespace lenz::runtime
