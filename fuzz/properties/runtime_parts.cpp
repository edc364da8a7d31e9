#include "fuzz/properties/runtime_parts.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <map>
#include <numeric>
#include <vector>

#include "compiler/backend/llvm/kept_objects.h"
#include "compiler/backend/llvm/target.h"
#include "compiler/base/hash.h"
#include "compiler/loops/interpret.h"
#include "compiler/loops/text.h"
#include "compiler/ops/eager_processor.h"
#include "compiler/ops/op_table.h"
#include "compiler/runtime/executable.h"
#include "compiler/runtime/float_mode.h"
#include "compiler/runtime/sort.h"
#include "compiler/runtime/thread_pool.h"

namespace lenz::fuzz {

namespace {
using loops::Ints;
using loops::Tensor;

// NaN is the greatest; zeros are equal.
bool less(const ScalarValue& a, const ScalarValue& b) {
  if (a.kind() == ScalarKind::integer) return a.integer() < b.integer();
  const double x = a.real(), y = b.real();
  return std::isnan(y) ? !std::isnan(x) : x < y;
}

// Many are equal, some are at the ends.
ScalarValue some_key(Dtype dtype, Chooser& choose, int64_t most) {
  if (dtype == Dtype::b8) return ScalarValue(static_cast<int64_t>(choose.below(2)));
  if (is_integral(dtype, false)) {
    const FiniteRange range = finite_range(dtype);
    const int64_t low = range.low < 0 ? -most : 0;
    if (choose.chance(1, 16)) {
      constexpr double kWide = 0x1p62;
      return ScalarValue(
          static_cast<int64_t>(choose.flip() ? std::min(range.high, kWide) : std::max(range.low, -kWide)));
    }
    return loops::settled(dtype, ScalarValue(choose.between(low, most)));
  }
  if (choose.chance(1, 16)) return ScalarValue(choose.any_of<double>({NAN, INFINITY, -INFINITY, 0.0, -0.0}));
  return loops::settled(dtype, ScalarValue(0.25 * static_cast<double>(choose.between(-most, most))));
}

struct Lines {
  Dtype dtype;
  Ints sizes, room;  // room: of what is written, which may be shorter lines
  uint32_t dim;
  bool descending;
  Ints places;  // of the order, of which results are made; else of its first ones

  int64_t place(int64_t i) const { return places.empty() ? i : places[static_cast<size_t>(i)]; }
  std::string text() const {
    return std::string(name(dtype)) + loops::to_string(sizes) + " to " + loops::to_string(room) + ", dim " +
           std::to_string(dim) + (descending ? ", descending" : "") +
           (places.empty() ? "" : ", at " + loops::to_string(places));
  }
};

Lines draw_lines(Chooser& choose) {
  constexpr Dtype kDtypes[] = {Dtype::f32, Dtype::f64, Dtype::i64, Dtype::i32, Dtype::i16,
                               Dtype::i8,  Dtype::u8,  Dtype::b8,  Dtype::f16, Dtype::bf16};
  constexpr uint32_t kWeights[] = {6, 6, 2, 1};
  Lines made;
  made.dtype = choose.pick(kDtypes);
  int64_t length = 0;
  switch (choose.weighted(kWeights)) {
    case 0: length = choose.between(0, 9); break;
    case 1: length = choose.between(10, 200); break;
    case 2: length = choose.between(200, 700); break;
    default: length = choose.between(700, 1500);
  }
  made.sizes = {length};
  made.dim = 0;
  if (choose.chance(3, 4)) {
    made.dim = static_cast<uint32_t>(choose.below(2));
    made.sizes.insert(made.dim == 0 ? 1 : 0, choose.between(1, length > 200 ? 3 : 9));
  }
  made.room = made.sizes;
  if (length > 0 && choose.flip()) made.room[made.dim] = choose.between(1, choose.flip() ? length : 1 + length / 10);
  made.descending = choose.flip();
  if (length > 0 && choose.chance(1, 3)) {
    made.room[made.dim] = choose.between(1, 4);
    for (int64_t i = 0; i < made.room[made.dim]; ++i) made.places.push_back(choose.between(0, length - 1));
  }
  return made;
}

// However it lies.
Tensor fresh(Dtype dtype, const Ints& sizes, Chooser& choose) {
  Tensor plain(dtype, sizes);
  if (sizes.size() < 2 || choose.flip()) return plain;
  return plain.view(sizes, {1, sizes[0]}, 0);
}

struct Sorted {
  Tensor values, indices;
};

std::string difference(const Lines& lines, const Tensor& keys, const Sorted& got, const char* by) {
  const int64_t length = lines.sizes[lines.dim], room = lines.room[lines.dim];
  const int64_t count = lines.sizes.size() < 2 ? 1 : lines.sizes[1 - lines.dim];
  for (int64_t line = 0; line < count; ++line) {
    Ints at(lines.sizes);
    if (at.size() > 1) at[1 - lines.dim] = line;
    auto place = [&](int64_t i) -> Ints {
      at[lines.dim] = i;
      return at;
    };
    std::vector<int64_t> order(static_cast<size_t>(length));
    std::iota(order.begin(), order.end(), 0);
    std::vector<ScalarValue> all;
    for (int64_t i = 0; i < length; ++i) all.push_back(keys.get(place(i)));
    std::ranges::stable_sort(order, [&](int64_t a, int64_t b) {
      const ScalarValue &x = all[static_cast<size_t>(a)], &y = all[static_cast<size_t>(b)];
      return lines.descending ? less(y, x) : less(x, y);
    });
    for (int64_t i = 0; i < (lines.places.empty() ? std::min(room, length) : room); ++i) {
      const int64_t wanted = order[static_cast<size_t>(lines.place(i))];
      const Ints from = place(wanted), to = place(i);
      const bool found = got.indices.get(to).integer() == wanted;
      const bool same = std::memcmp(got.values.element(got.values.address(to)), keys.element(keys.address(from)),
                                    static_cast<size_t>(keys.item_bytes())) == 0;
      if (!found || !same)
        return std::string(by) + " sorts " + lines.text() + ": at " + loops::to_string(to) + " " +
               (found ? "another value than that" : "not the key") + " of " + std::to_string(wanted);
    }
  }
  return {};
}

std::string program_of(const Lines& lines) {
  const std::string of(name(lines.dtype)), keys = loops::to_string(lines.sizes), room = loops::to_string(lines.room);
  std::string at;
  for (int64_t place : lines.places) at += (at.empty() ? " at " : ", ") + std::to_string(place);
  return "loops @g {\n  input %x: " + of + keys + " placed\n  temp %v: " + of + room + " placed\n  temp %i: i64" +
         room + " placed\n  sort %v, %i = %x dim " + std::to_string(lines.dim) +
         (lines.descending ? " descending" : "") + " stable" + at + "\n  return %v, %i\n}\n";
}
}  // namespace

std::string wrongly_sorted(Chooser& choose) {
  const Lines lines = draw_lines(choose);
  const int64_t most = choose.any_of<int64_t>({3, 40, 100'000});
  const Tensor dense(lines.dtype, lines.sizes);
  const Tensor keys = lines.sizes.size() > 1 && choose.flip() ? dense.view(lines.sizes, {1, lines.sizes[0]}, 0) : dense;
  Tensor filled = keys;
  for (int64_t i = 0; i < filled.numel(); ++i) filled.put(i, some_key(lines.dtype, choose, most));
  const auto pool = runtime::make_pool(static_cast<int>(choose.between(1, 2)));
  Sorted native{fresh(lines.dtype, lines.room, choose), fresh(Dtype::i64, lines.room, choose)};
  runtime::sort_lines(keys, native.values, native.indices, lines.dim, lines.descending, *pool, lines.places);
  if (std::string text = difference(lines, keys, native, "the runtime"); !text.empty()) return text;

  constexpr int64_t kMost = 600;
  if (keys.numel() > kMost) return {};
  Tensor copy(lines.dtype, lines.sizes);
  for (int64_t i = 0; i < copy.numel(); ++i) copy.put(i, keys.at(i));
  const loops::Program program = loops::parse_program(program_of(lines), op_table());
  const loops::InputValue input = copy;
  const loops::Results got = loops::interpret(program, {&input, 1});
  return difference(lines, keys, {got.outputs.at(0).tensor, got.outputs.at(1).tensor}, "the interpreter");
}

std::string wrongly_dealt(Chooser& choose) {
  const int threads = static_cast<int>(choose.between(2, 3));
  const auto pool = runtime::make_pool(threads);
  const runtime::FloatMode before;
  runtime::FloatMode odd;
#if defined(__x86_64__)
  constexpr unsigned kToZero = 0x6000, kSubnormals = 0x8040;  // rounds to zero; no subnormals
  odd.word = before.word | (choose.flip() ? kToZero : kSubnormals);
#endif
  std::string wrong;
  for (const bool together : {true, false}) {
    const int64_t chunks = together ? threads : choose.between(1, 40);
    std::vector<std::atomic<int>> ran(static_cast<size_t>(chunks));
    std::atomic<int64_t> began = 0;
    std::atomic<bool> otherwise = false, outside = false, alone = false;
    auto work = [&](int64_t chunk, int worker) {
      ++began;
      ++ran.at(static_cast<size_t>(chunk));
      const runtime::FloatMode mode;
#if defined(__x86_64__)
      if ((mode.word ^ odd.word) & ~runtime::FloatMode::kFlags) otherwise = true;
#endif
      if (worker < 0 || worker >= pool->workers()) outside = true;
      // Each waits for all others: one worker alone never sees them begin.
      constexpr auto kPatience = std::chrono::seconds(5);
      const auto end = std::chrono::steady_clock::now() + kPatience;
      while (together && began < chunks && !alone)
        if (std::chrono::steady_clock::now() > end) alone = true;
    };
    odd.enter();
    pool->run(chunks, runtime::Work::of(work));
    before.enter();
    if (std::ranges::any_of(ran, [](const std::atomic<int>& times) { return times != 1; }))
      wrong = "a chunk runs not once";
    if (otherwise) wrong = "a worker computes in another mode than its caller";
    if (outside) wrong = "a worker has a number that there is not";
    if (alone) wrong = "workers leave all to the caller";
    if (!wrong.empty()) return wrong + ", of " + std::to_string(chunks) + " of " + std::to_string(threads) + " threads";
  }
  return {};
}

namespace {
// As code of a kernel that adds one to each point's element, in place.
int32_t add_one(void* const* buffers, const int64_t*, const uint64_t*, int64_t begin, int64_t end) {
  auto* counts = static_cast<int64_t*>(buffers[0]);
  for (int64_t p = begin; p < end; ++p) std::atomic_ref(counts[p]).fetch_add(1, std::memory_order_relaxed);
  return 0;
}

class NoHost : public runtime::Host {
 public:
  std::byte* output(uint32_t, uint64_t) override { throw InternalError("nothing is given back"); }
  std::vector<Tensor> run_extern(const loops::ExternCall&) override { throw InternalError("nothing is left to it"); }
  void print(const loops::Print&, std::span<const Tensor>) override {}
};

// Kernels that write apart, which run as one job.
std::string program_of(std::span<const Ints> counts) {
  std::string inputs, kernels;
  for (size_t k = 0; k < counts.size(); ++k) {
    const std::string name = "%x" + std::to_string(k), rows = std::to_string(counts[k][0]);
    inputs += "  input " + name + ": i64" + loops::to_string(counts[k]) + " placed mut\n";
    kernels += "  kernel i < " + rows + ", j < " + std::to_string(counts[k][1]) + " {\n    for {\n      %a = load " +
               name + "[i, j]\n      %b = neg.i64 %a\n      store " + name + "[i, j] = %b\n    }\n  }\n";
  }
  return "loops @g {\n" + inputs + kernels + "  return\n}\n";
}
}  // namespace

std::string wrongly_cut(Chooser& choose) {
  constexpr int64_t kRows = 40, kColumns = 200, kMostKernels = 3, kGrains[] = {1, 64, 4096, int64_t{1} << 30};
  std::vector<Ints> counts(static_cast<size_t>(choose.between(1, kMostKernels)));
  for (Ints& sizes : counts) sizes = {choose.between(0, kRows), choose.between(0, kColumns)};
  loops::Program program = loops::parse_program(program_of(counts), op_table());
  runtime::KernelCode code;
  loops::for_each_node(program.body, [&](const loops::Node& node) {
    const auto* kernel = std::get_if<loops::Kernel>(&node.is);
    if (!kernel) return;
    runtime::NativeKernel& native = code.kernels[kernel];
    native.function = add_one;
    native.arguments.buffers = {std::get<loops::Nest>(kernel->body->nodes[0].is).stores[0].buffer};
    native.arguments.skipped = {0};
  });
  const int threads = static_cast<int>(choose.between(1, 3));
  const int64_t grain = choose.pick(kGrains);
  runtime::ExecutableOptions options;
  options.pool = runtime::make_pool(threads);
  options.grain = static_cast<double>(grain);
  runtime::Executable executable(std::move(program), std::move(code), options);
  std::vector<Tensor> made;
  for (const Ints& sizes : counts) {
    made.emplace_back(Dtype::i64, sizes);
    for (int64_t i = 0; i < made.back().numel(); ++i) made.back().put(i, ScalarValue(int64_t{0}));
  }
  std::vector<runtime::Argument> arguments;
  for (const Tensor& t : made)
    arguments.emplace_back(
        runtime::TensorRef{t.storage()->data, t.storage()->bytes, t.dtype(), t.sizes(), t.strides(), 0});
  NoHost host;
  executable.call(arguments, host);
  for (size_t k = 0; k < made.size(); ++k)
    for (int64_t i = 0; i < made[k].numel(); ++i)
      if (const int64_t times = made[k].at(i).integer(); times != 1)
        return "point " + std::to_string(i) + " of " + loops::to_string(counts[k]) + " is computed " +
               std::to_string(times) + " times, of " + std::to_string(counts.size()) + " kernels by " +
               std::to_string(threads) + " threads, grain " + std::to_string(grain);
  return {};
}

std::string wrongly_seen_machine() {
#if defined(__x86_64__)
  const bool v3 = __builtin_cpu_supports("x86-64-v3"), v4 = __builtin_cpu_supports("x86-64-v4");
  const std::pair<const char*, bool> runs[] = {{"avx512", v4}, {"avx2", v3}, {"generic", true}, {"aarch64", false}};
  std::string best;
  for (const auto& [name, here] : runs) {
    const native::CpuTarget target = native::find_target(name);
    if (target.runs_here != here) return std::string(name) + " runs here, or does not";
    if (here && best.empty()) best = name;
  }
  const native::CpuTarget widest = native::find_target("avx512");
  if (widest.bf16 != (__builtin_cpu_supports("avx512bf16") != 0)) return "rounding to bf16";
  if (widest.permute_bytes != (__builtin_cpu_supports("avx512vbmi") != 0)) return "choosing bytes of vectors";
  if (native::targets().size() != std::size(runs)) return "not all targets are there";
  if (native::runnable_target().name != best)
    return native::runnable_target().name + " is not the best of this machine";
  if (eager_processor().computes_in_half != (__builtin_cpu_supports("avx512fp16") != 0))
    return "what eager computes in half precision";
  if (widest.runs_here && !eager_processor().computes_in_bf16) return "what eager computes in bf16";
#endif
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0 && runtime::usable_threads() != CPU_COUNT(&set))
    return std::to_string(runtime::usable_threads()) + " threads are usable, of " + std::to_string(CPU_COUNT(&set));
  return {};
}

std::string wrongly_kept(Chooser& choose) {
  constexpr size_t kRoom = 100;
  native::KeptObjects kept(kRoom);
  std::map<std::string, std::string> known;
  size_t bytes = 0;
  for (int i = 0; i < 24; ++i) {
    const std::string key = std::to_string(choose.below(8));
    const auto at = known.find(key);
    const auto got = kept.find(key);
    if (got.has_value() != (at != known.end()) || (got && *got != at->second)) return "another object than was put";
    const std::string object(choose.below(40), static_cast<char>('a' + choose.below(20)));
    if (bytes + object.size() > kRoom) known.clear(), bytes = 0;
    if (known.try_emplace(key, object).second) bytes += object.size();
    kept.put(key, object);
  }
  return {};
}

namespace {
std::optional<Failure> holds(Subject& subject) {
  RandomChooser choose(combine(subject.setting().seed, hash_bytes("runtime_parts")));
  constexpr int kSorts = 4;
  for (int i = 0; i < kSorts; ++i)
    if (std::string wrong = wrongly_sorted(choose); !wrong.empty())
      return Failure{"runtime_parts", "sort", "another order", std::move(wrong)};
  if (std::string wrong = wrongly_kept(choose); !wrong.empty())
    return Failure{"runtime_parts", "kept objects", "differs", std::move(wrong)};
  if (choose.chance(1, 4))
    if (std::string wrong = wrongly_cut(choose); !wrong.empty())
      return Failure{"runtime_parts", "kernels", "not once", std::move(wrong)};
  static const std::string seen = wrongly_seen_machine();
  if (!seen.empty()) return Failure{"runtime_parts", "machine", "differs", seen};
  if (choose.chance(1, 16))
    if (std::string wrong = wrongly_dealt(choose); !wrong.empty())
      return Failure{"runtime_parts", "threads", "differs", std::move(wrong)};
  return std::nullopt;
}
}  // namespace

Property runtime_parts() {
  return {
      .name = "runtime_parts",
      .contract =
          "lines are sorted as by std::stable_sort, threads do a job as its caller would, each point of a kernel is "
          "computed once, and the machine is seen as it is",
      .holds = holds,
      .of_graph = true};
}

}  // namespace lenz::fuzz
