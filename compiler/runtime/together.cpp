#include "compiler/runtime/together.h"

#include <algorithm>
#include <map>

namespace lenz::runtime {

using loops::BufferId;

namespace {
constexpr uint32_t kMost = 1024;  // kernels of one job

class Neighbours {
 public:
  Neighbours(const loops::Program& program, const MemoryPlan& plan) : program_(program), plan_(plan) {}

  void find(Tape& tape) {
    Step* first = nullptr;  // of those that run together so far
    for (Step& step : tape.steps) {
      if (!may_join(step)) {
        first = nullptr;
        continue;
      }
      if (first == nullptr || first->together == kMost || meets(step)) {
        first = &step;
        touched_.clear();
      } else {
        ++first->together;
        step.together = 0;
      }
      for_each(step, [&](const Memory& m, bool written) {
        bool& known = touched_.try_emplace(m, false).first->second;
        known = known || written;
      });
    }
    for (const auto& inner : tape.inner) find(*inner);
  }

 private:
  // What nothing else overlaps: the kind of a place, and which of them.
  using Memory = std::pair<Place::Kind, uint64_t>;

  Memory memory_of(BufferId id) const {
    const BufferId owner = program_.buffers[id].view_of == kNone ? id : program_.buffers[id].view_of;
    const Place& p = plan_.places[owner];
    if (p.kind == Place::arena || p.kind == Place::output) return {p.kind, p.number};
    // Inputs of one class share storage.
    if (const auto alias = program_.buffers[owner].alias; p.kind == Place::input && alias)
      return {p.kind, uint64_t{*alias} << 32};
    return {p.kind, owner};
  }

  // What is the program's own: others may be views of what the caller gave, which an extern has made.
  bool may_join(const Step& step) const {
    if (step.code.function == nullptr || step.late) return false;
    return std::ranges::all_of(step.stores, [&](BufferId id) {
      const Place::Kind kind = memory_of(id).first;
      return kind == Place::arena || kind == Place::output || (kind == Place::input && !has_externs_);
    });
  }

  template <class F>
  void for_each(const Step& step, F&& visit) const {
    for (BufferId id : step.code.arguments.buffers)
      if (!program_.buffers[id].local) visit(memory_of(id), std::ranges::find(step.stores, id) != step.stores.end());
  }

  bool meets(const Step& step) const {
    bool found = false;
    for_each(step, [&](const Memory& m, bool written) {
      const auto known = touched_.find(m);
      found = found || (known != touched_.end() && (written || known->second));
    });
    return found;
  }

  const loops::Program& program_;
  const MemoryPlan& plan_;
  const bool has_externs_ = std::ranges::any_of(plan_.places, [](const Place& p) { return p.kind == Place::external; });
  std::map<Memory, bool> touched_;  // by those that run together so far: whether it is written
};
}  // namespace

void find_together(Tape& tape, const loops::Program& program, const MemoryPlan& plan) {
  Neighbours(program, plan).find(tape);
}

}  // namespace lenz::runtime
