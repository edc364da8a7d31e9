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

constexpr size_t kFewPlaces = 4;  // to find each of so many takes less time than to sort

struct Sorted {
  uint32_t dim = 0;
  std::optional<int64_t> read = 0;              // how many of its places, counted from the first; none: nobody knows
  std::optional<DimVec> places{std::in_place};  // which ones; none: they differ from point to point
  bool shown = false;                           // the first of them, as an output
  loops::SymbolSet known;                       // when it is sorted
};

class Reads {
 public:
  explicit Reads(loops::Program& program) : program_(program) {
    loops::SymbolSet known = loops::early_symbols(program);
    for_each_node(program.body, [&](loops::Node& node) {
      if (const auto* bind = std::get_if<loops::Bind>(&node.is))
        for_each_symbol(bind->symbol, [&](const SymNode* s) { known.insert(s); });
      const auto* sort = std::get_if<Sort>(&node.is);
      if (sort == nullptr) return;
      for (BufferId id : {sort->values, sort->indices})
        if (id != kNone && program.buffers[id].view_of == kNone && program.buffers[id].type.rank() > 0)
          sorted_[id] = {.dim = sort->dim, .known = known};
    });
  }

  bool any() const { return !sorted_.empty(); }

  std::unordered_map<BufferId, Sorted>& run() {
    auto lost = [&](BufferId id) {
      auto found = sorted_.find(id);
      if (found == sorted_.end()) return;
      found->second.read.reset();
      found->second.places.reset();
    };
    for (const loops::Buffer& b : program_.buffers)
      if (b.view_of != kNone) lost(b.view_of);
    for (const loops::Output& output : program_.outputs) shown(output, lost);
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

  void shown(const loops::Output& output, const auto& lost) {
    for (const loops::Output& element : output.elements) shown(element, lost);
    const auto found = sorted_.find(output.buffer);
    if (found == sorted_.end()) return;
    if (!shows_first(output, found->second.dim)) return lost(output.buffer);
    found->second.shown = true;
    read(found->second, 0, Range{0, 0});
  }
  // Whether all its elements are in the first of the places along the dim, which stays where it lies.
  bool shows_first(const loops::Output& output, uint32_t dim) const {
    const TensorType &of = program_.buffers[output.buffer].type, &type = output.type;
    if (output.kind != loops::Output::tensor || of.strides != contiguous_strides(of.sizes) || of.offset != Dim(0) ||
        type.strides != contiguous_strides(type.sizes) || type.offset != Dim(0))
      return false;
    const Facts& known = program_.assumptions.known();
    for (uint32_t d = 0; d < dim; ++d)
      if (!known.proves(eq(of.sizes[d], 1))) return false;
    Dim elements = 1;
    for (Dim size : type.sizes) elements = elements * size;
    return known.proves(le(elements, of.strides[dim]));
  }

  static void read(Sorted& sorted, Dim place, const Range& range) {
    if (sorted.read && range.high)
      sorted.read = std::max(*sorted.read, *range.high + 1);
    else
      sorted.read.reset();
    if (sorted.places && std::ranges::find(*sorted.places, place) == sorted.places->end())
      sorted.places->push_back(place);
  }

  void loads(const Nest& nest) {
    std::optional<loops::IndexSpace> space;
    for (const loops::Instr& i : nest.body) {
      if (i.kind != loops::InstrKind::load) continue;
      const auto found = sorted_.find(i.buffer);
      if (found == sorted_.end()) continue;
      if (!space) {
        space.emplace(program_.context->syms, program_.assumptions.known());
        for (const loops::Axis& a : nest.axes) space->add_axis(a.symbol, a.extent);
      }
      const Dim place = i.index[found->second.dim];
      if (!loops::all_in(place, found->second.known)) found->second.places.reset();
      read(found->second, place, space->range(place));
    }
  }

  loops::Program& program_;
  std::unordered_map<BufferId, Sorted> sorted_;
};

void resize(TensorType& type, uint32_t dim, Dim size) {
  type.sizes[dim] = size;
  type.strides = contiguous_strides(type.sizes);
}

// A sort of which a few places are read, which aren't the first ones, gives these.
void choose_places(loops::Program& program, Sort& sort, const std::unordered_map<BufferId, Sorted>& all) {
  std::vector<BufferId> results;
  DimVec places;
  bool shown = false;
  std::optional<int64_t> first = 0;  // so many are enough
  for (BufferId id : {sort.values, sort.indices}) {
    if (id == kNone) continue;
    const auto found = all.find(id);
    if (found == all.end() || !found->second.places || program.buffers[id].kind != loops::BufferKind::temporary) return;
    results.push_back(id);
    const Sorted& of = found->second;
    first = first && of.read ? std::optional(std::max(*first, *of.read)) : std::nullopt;
    shown = shown || of.shown;
    for (Dim place : *of.places) places.push_back(place);
  }
  DimVec kept;
  if (shown) kept.push_back(0);  // where it lies
  for (Dim place : places)
    if (std::ranges::find(kept, place) == kept.end()) kept.push_back(place);
  const Dim count = std::ssize(kept);
  const Facts& known = program.assumptions.known();
  const Dim length = program.buffers[sort.keys].type.sizes[sort.dim];
  // Of open lengths most have more places than these.
  if (kept.empty() || kept.size() > kFewPlaces || (first && *first <= std::ssize(kept)) ||
      known.proves(le(length, count)))
    return;
  for (Dim place : kept)
    if (!known.proves(le(0, place)) || !known.proves(lt(place, length))) return;
  sort.places = kept;
  for (BufferId id : results) resize(program.buffers[id].type, sort.dim, count);
  for_each_node(program.body, [&](loops::Node& node) {
    auto* nest = std::get_if<Nest>(&node.is);
    if (nest == nullptr) return;
    for (loops::Instr& i : nest->body)
      if (i.kind == loops::InstrKind::load && std::ranges::find(results, i.buffer) != results.end())
        i.index[sort.dim] = std::ranges::find(kept, i.index[sort.dim]) - kept.begin();
  });
}

}  // namespace

void shorten_sorts(loops::Program& program) {
  Reads reads(program);
  if (!reads.any()) return;
  std::unordered_map<BufferId, Sorted>& sorted = reads.run();
  for (auto& [id, of] : sorted)
    if (program.buffers[id].kind == loops::BufferKind::temporary && of.read &&
        program.assumptions.known().proves(le(*of.read, program.buffers[id].type.sizes[of.dim])))
      resize(program.buffers[id].type, of.dim, *of.read);
  for_each_node(program.body, [&](loops::Node& node) {
    if (auto* sort = std::get_if<Sort>(&node.is)) choose_places(program, *sort, sorted);
  });
}

}  // namespace lenz::schedule
