#include "compiler/schedule/short_sorts.h"

#include <algorithm>
#include <unordered_map>

#include "compiler/loops/index_algebra.h"
#include "compiler/loops/uses.h"

namespace lenz::schedule {

using loops::BufferId;
using loops::Nest;
using loops::Sort;

namespace {

struct Sorted {
  uint32_t dim = 0;
  std::optional<int64_t> read = 0;  // how many of its places, counted from the first; none: nobody knows
};

class Reads {
 public:
  explicit Reads(loops::Program& program) : program_(program) {
    for_each_node(program.body, [&](loops::Node& node) {
      const auto* sort = std::get_if<Sort>(&node.is);
      if (sort == nullptr) return;
      for (BufferId id : {sort->values, sort->indices})
        if (id != kNone && program.buffers[id].view_of == kNone && program.buffers[id].type.rank() > 0)
          sorted_.try_emplace(id, Sorted{sort->dim, 0});
    });
  }

  bool any() const { return !sorted_.empty(); }

  std::unordered_map<BufferId, Sorted>& run() {
    auto lost = [&](BufferId id) {
      if (auto found = sorted_.find(id); found != sorted_.end()) found->second.read.reset();
    };
    for (const loops::Buffer& b : program_.buffers)
      if (b.view_of != kNone) lost(b.view_of);
    for_each_output_buffer(program_, lost);
    std::vector<bool> written(program_.buffers.size());
    for_each_node(program_.body, [&](loops::Node& node) {
      if (const auto* sort = std::get_if<Sort>(&node.is)) {
        lost(sort->keys);
        for (BufferId id : {sort->values, sort->indices}) {
          if (id == kNone) continue;
          if (written[id]) lost(id);
          written[id] = true;
        }
      } else if (const auto* nest = std::get_if<Nest>(&node.is)) {
        for (const loops::Store& s : nest->stores) lost(s.buffer);
        loads(*nest);
      } else if (inside_of_none(node)) {
        for_each_buffer(node, lost);
      }
    });
    return sorted_;
  }

 private:
  // Nodes that hold others: these are visited themselves; what else they name are conditions, of one element.
  static bool inside_of_none(const loops::Node& node) {
    return !std::holds_alternative<loops::Repeat>(node.is) && !std::holds_alternative<loops::If>(node.is) &&
           !std::holds_alternative<loops::While>(node.is);
  }

  void loads(const Nest& nest) {
    std::optional<loops::IndexSpace> space;
    for (const loops::Instr& i : nest.body) {
      if (i.kind != loops::InstrKind::load) continue;
      const auto found = sorted_.find(i.buffer);
      if (found == sorted_.end() || !found->second.read) continue;
      if (!space) {
        space.emplace(program_.context->syms, program_.assumptions.known());
        for (const loops::Axis& a : nest.axes) space->add_axis(a.symbol, a.extent);
      }
      const Range range = space->range(i.index[found->second.dim]);
      if (range.high)
        found->second.read = std::max(*found->second.read, *range.high + 1);
      else
        found->second.read.reset();
    }
  }

  loops::Program& program_;
  std::unordered_map<BufferId, Sorted> sorted_;
};

}  // namespace

void shorten_sorts(loops::Program& program) {
  Reads reads(program);
  if (!reads.any()) return;
  for (auto& [id, sorted] : reads.run()) {
    TensorType& type = program.buffers[id].type;
    const Dim size = type.sizes[sorted.dim];
    if (program.buffers[id].kind != loops::BufferKind::temporary || !sorted.read || *sorted.read < 1 ||
        !program.assumptions.known().proves(lt(*sorted.read, size)))
      continue;
    type.sizes[sorted.dim] = *sorted.read;
    type.strides = contiguous_strides(type.sizes);
  }
}

}  // namespace lenz::schedule
