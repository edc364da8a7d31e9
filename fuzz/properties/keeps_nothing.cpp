#include <malloc.h>

#include <algorithm>
#include <fstream>

#include "compiler/graph/text.h"
#include "fuzz/properties/list.h"
#include "oracle/kept_memory.h"

namespace lenz::fuzz {

namespace {
struct Held {
  int64_t heap = 0;    // bytes that are in use
  int64_t mapped = 0;  // pages of the process
};
Held held() {
  const struct mallinfo2 info = mallinfo2();
  const auto small = static_cast<int64_t>(oracle::kept_bytes().small_in_use);
  Held h{.heap = static_cast<int64_t>(info.uordblks + info.hblkhd) + small};
  std::ifstream("/proc/self/statm") >> h.mapped;
  return h;
}

// From the text on: a context keeps what its graphs have named.
void live_once(const std::string& text, Subject& subject) {
  const auto graph = parse_graph(text, subject.graph().ops());
  Subject own(*graph, subject.setting(), subject.boxed(), subject.scratch());
  BuildOptions options = own.build_options(2, false);
  options.cache.clear();
  const auto made = build(own.program(), options);
  own.trial().on_executable(*made);
}

// What caches of threads hold comes and goes: the least of a few rounds says what stays.
Held least_held(const std::string& text, Subject& subject) {
  constexpr int kRounds = 2;
  Held least{.heap = INT64_MAX, .mapped = INT64_MAX};
  for (int i = 0; i < kRounds; ++i) {
    live_once(text, subject);
    const Held now = held();
    least = {std::min(least.heap, now.heap), std::min(least.mapped, now.mapped)};
  }
  return least;
}

// What is made once and stays, in us, in LLVM or in libtorch, is made after some rounds, and the caches of threads are
// full; what leaks never ends.
constexpr int kEnd = 48;

std::optional<Failure> holds(Subject& subject) {
  if (!subject.has_few_elements()) return std::nullopt;
  const std::string text = print(subject.graph());
  const Held first = least_held(text, subject);
  Held last = first;
  bool heap = true, mapped = true;
  for (int i = 0; i < kEnd && (heap || mapped); ++i) {
    const Held now = least_held(text, subject);
    heap &= now.heap > last.heap;
    mapped &= now.mapped > last.mapped;
    last = now;
  }
  auto grows = [](const char* what, int64_t by, const char* unit) {
    return Failure{"keeps_nothing", "keeps_nothing", what,
                   "compiled, called and dropped again and again: each few times more is in use, in the end " +
                       std::to_string(by) + " " + unit};
  };
  if (heap) return grows("heap grows", last.heap - first.heap, "bytes");
  if (mapped) return grows("mappings grow", last.mapped - first.mapped, "pages");
  return std::nullopt;
}
}  // namespace

Property keeps_nothing() {
  return {.name = "keeps_nothing",
          .contract = "compiled, called and dropped again and again, it leaves no memory behind",
          .holds = holds,
          .compiles = true,
          .every = 64,
          .repeats = true};
}

}  // namespace lenz::fuzz
