#include "compiler/schedule/far.h"

#include <algorithm>
#include <map>
#include <set>

#include "compiler/base/error.h"
#include "compiler/loops/index_algebra.h"
#include "compiler/loops/uses.h"
#include "compiler/schedule/addresses.h"
#include "compiler/schedule/nest_facts.h"
#include "compiler/schedule/symbols.h"

namespace lenz::schedule {

namespace {

constexpr int64_t kLine = 64;         // bytes that memory takes at once
constexpr int64_t kLeast = 16 << 10;  // bytes: of less nobody sees where they went
constexpr int64_t kMostPoints = int64_t{1} << 48;
// Of sizes that are open, so many terms stand in the conditions of all results together: conditions print.
constexpr size_t kMostTerms = 1 << 16;
constexpr size_t kMostOfSum = 100;  // and in each fewer than an expression may have

class Marker {
 public:
  Marker(loops::Program& program, const Target& target)
      : program_(program),
        storages_(storages_of(program)),
        limit_(target.far_bytes()),
        least_(kLeast / target.grain),
        early_(loops::early_symbols(program)) {}

  void run() {
    const std::vector<loops::Node>& nodes = program_.body.nodes;
    for (uint32_t n = 0; n < nodes.size(); ++n) note(nodes[n], n);
    loops::for_each_output_buffer(program_, [&](BufferId id) { shown_.insert(storages_[id]); });
    add_up();
    for (auto& [id, by] : filled_)
      if (by.alone) decide(id, by.node);
  }

 private:
  struct Filled {
    uint32_t node = 0;
    bool alone = true;  // by plain stores of one kernel, which does not read it
  };

  // A node of the main block: what it fills, what it mentions, how many bytes that is.
  void note(const loops::Node& node, uint32_t number) {
    std::set<BufferId> seen;
    loops::for_each_buffer(node, [&](BufferId id) {
      if (!program_.buffers[id].local) seen.insert(storages_[id]);
    });
    Dim bytes = 0;
    for (BufferId id : seen) {
      bytes += moved(node, id);
      mentions_[id].push_back(number);
    }
    bytes_.push_back(bytes);
    if (const auto* kernel = std::get_if<loops::Kernel>(&node.is)) {
      for (const loops::Node& inner : kernel->body->nodes) fills(std::get<loops::Nest>(inner.is), number);
      for (const loops::Node& inner : kernel->body->nodes)
        for (const loops::Instr& i : std::get<loops::Nest>(inner.is).body)
          if (i.kind == loops::InstrKind::load) spoil(i.buffer, number);
    }
  }
  void fills(const loops::Nest& nest, uint32_t number) {
    for (const loops::Store& s : nest.stores) {
      const loops::Buffer& b = program_.buffers[s.buffer];
      if (b.local || storages_[s.buffer] != s.buffer || b.kind != loops::BufferKind::temporary) continue;
      auto [at, fresh] = filled_.try_emplace(s.buffer, Filled{number});
      if (at->second.node != number || s.mode != loops::StoreMode::assign) at->second.alone = false;
    }
  }
  void spoil(BufferId id, uint32_t number) {
    if (auto at = filled_.find(storages_[id]); at != filled_.end() && at->second.node == number)
      at->second.alone = false;
  }

  // Bytes of it that the node may touch: of a table as many as there are points that look something up. Nests of a
  // kernel look the same up, as far as anybody asks.
  Dim moved(const loops::Node& node, BufferId id) const {
    const Dim whole = bytes_of(id);
    const auto* kernel = std::get_if<loops::Kernel>(&node.is);
    if (!kernel) return whole;
    std::optional<Dim> elements;
    for (const loops::Node& inner : kernel->body->nodes) {
      const auto& nest = std::get<loops::Nest>(inner.is);
      int64_t looks = 0;
      bool all = false;
      auto access = [&](BufferId at, const DimVec& index) {
        if (storages_[at] != id) return;
        ++looks;
        all = all || !looked_up(nest, index);
      };
      for (const loops::Instr& i : nest.body)
        if (i.kind == loops::InstrKind::load) access(i.buffer, i.index);
      for (const loops::Store& s : nest.stores) access(s.buffer, s.index);
      if (looks == 0) continue;
      const std::optional<Dim> points = all ? std::nullopt : points_of(*kernel, nest);
      if (!points) return whole;
      elements = elements ? max(*elements, looks * *points) : looks * *points;
    }
    return elements ? min(whole, *elements * item_size(program_.buffers[id].type.dtype)) : whole;
  }
  static bool looked_up(const loops::Nest& nest, const DimVec& index) {
    return std::ranges::any_of(nest.body, [&](const loops::Instr& i) {
      return i.kind == loops::InstrKind::position &&
             std::ranges::any_of(index, [&](Dim d) { return mentions(d, i.symbol); });
    });
  }
  // Of an extent that hangs on what a kernel's own points are, at most.
  std::optional<Dim> points_of(const loops::Kernel& kernel, const loops::Nest& nest) const {
    int64_t counted = 1;
    Dim open = 1;
    for (const auto* axes : {&kernel.axes, &nest.axes})
      for (const loops::Axis& a : *axes) {
        if (!a.extent.is_constant() && loops::all_in(a.extent, early_)) {
          open *= a.extent;
          continue;
        }
        const std::optional<int64_t> most = program_.assumptions.known().range(a.extent).high;
        if (!most || *most > kMostPoints / std::max<int64_t>(counted, 1)) return std::nullopt;
        counted *= *most;
      }
    return counted * open;
  }

  Dim bytes_of(BufferId id) const {
    const loops::Buffer& b = program_.buffers[id];
    Dim bytes = item_size(b.type.dtype);
    for (Dim d : b.type.sizes) bytes = bytes * d;
    return bytes;
  }

  // What the program moves in all: what is constant, and as many as may be of the terms that inputs tell.
  void add_up() {
    std::map<const SymNode*, int64_t> times;
    std::vector<Dim> open;  // in order
    for (Dim bytes : bytes_)
      if (bytes.is_constant())
        whole_ += bytes;
      else if (loops::all_in(bytes, early_) && times[bytes.node()]++ == 0)
        open.push_back(bytes);
    open.resize(
        std::min({open.size(), kMostOfSum, std::max<size_t>(kMostTerms / std::max<size_t>(shown_.size(), 1), 1)}));
    for (Dim& bytes : open) {
      in_whole_.insert(bytes.node());
      bytes = times[bytes.node()] * bytes;
    }
    open.push_back(whole_);
    // Halves of it first: each addition writes all terms that it has.
    for (; open.size() > 1; open.resize((open.size() + 1) / 2))
      for (size_t k = 0; k < open.size(); k += 2) open[k / 2] = k + 1 < open.size() ? open[k] + open[k + 1] : open[k];
    whole_ = open[0];
    least_whole_ = program_.assumptions.known().range(whole_).low.value_or(0);
    most_whole_ = program_.assumptions.known().range(whole_).high;
  }

  // What moves before somebody reads what this node writes. Whoever reads a result reads it as it was written: from the
  // same place on. A result of the program is read after everything, and all that the program has moved lies between.
  Dim between(uint32_t writer, uint32_t reader) const {
    const Dim own = bytes_[writer];
    if (reader == bytes_.size()) return is_counted(own) ? whole_ : whole_ + own;
    Dim all = own;
    for (uint32_t n = writer + 1; n < reader; ++n)
      if (bytes_[n].is_constant()) all += bytes_[n];
    return all;
  }

  bool is_counted(Dim own) const { return own.is_constant() || in_whole_.contains(own.node()); }

  // Whether that is as many as make it far, if it is so or otherwise whatever the sizes are. Of all terms together, by
  // their ranges, which one look at them tells for all results.
  std::optional<bool> is_far(Dim moved, uint32_t writer, uint32_t reader) const {
    const Facts& known = program_.assumptions.known();
    const Cond far = le(limit_, moved);
    if (reader < bytes_.size() || moved.is_constant()) {
      if (known.proves(negate(far))) return false;
      return known.proves(far) ? std::optional(true) : std::nullopt;
    }
    const bool counted = is_counted(bytes_[writer]);
    const auto more = known.range(counted ? Dim(0) : bytes_[writer]);
    if (least_whole_ >= limit_ || more.low.value_or(0) >= limit_ - least_whole_) return true;
    if (most_whole_ && more.high && *most_whole_ < limit_ && *more.high < limit_ - *most_whole_) return false;
    return std::nullopt;
  }

  // Whether it is filled in squares, along the lanes, in rows of which nobody knows that they begin with a line: only
  // whole lines go past the caches at no cost, and a vector of a square's row is rarely one.
  bool begins_anywhere(BufferId id, uint32_t writer) const {
    const auto& kernel = std::get<loops::Kernel>(program_.body.nodes[writer].is);
    return std::ranges::any_of(kernel.body->nodes, [&](const loops::Node& node) {
      const auto& nest = std::get<loops::Nest>(node.is);
      return in_squares(nest) && std::ranges::any_of(nest.stores, [&](const loops::Store& s) {
               return s.buffer == id && begins_anywhere(nest, s);
             });
    });
  }
  static bool in_squares(const loops::Nest& nest) {
    const bool plain = nest.axes.size() == 2 && std::ranges::all_of(nest.axes, [](const loops::Axis& a) {
                         return a.kind == loops::AxisKind::parallel;
                       });
    return plain && nest.axes[1].lanes > 1 && nest.axes[0].unroll == nest.axes[1].lanes;
  }
  bool begins_anywhere(const loops::Nest& nest, const loops::Store& s) const {
    const Dim address = address_of(program_, s.buffer, s.index), lane = nest.axes[1].symbol;
    loops::IndexSpace space(program_.context->syms, program_.assumptions.known());
    for (const loops::Axis& a : nest.axes) space.add_axis(a.symbol, a.extent);
    const auto along = space.stride(address, 1);
    if (!along || !along->is(1)) return false;
    const Dim first = substitute(address, program_.context->syms, [&](const SymNode* n) -> std::optional<Dim> {
      return n == lane.node() ? std::optional(Dim(0)) : std::nullopt;
    });
    const int64_t items = kLine / item_size(program_.buffers[s.buffer].type.dtype);
    return !program_.assumptions.known().proves(eq(mod(first, items), 0));
  }

  void decide(BufferId id, uint32_t writer) {
    const std::vector<uint32_t>& at = mentions_[id];
    if (at.front() < writer) return;  // somebody else has filled a part of it
    const bool read = at.back() > writer;
    if (!read && !shown_.contains(id)) return;
    const Dim own = bytes_of(id);
    if (own.is_constant() && own.constant() < least_) return;
    const uint32_t reader = read ? *std::ranges::upper_bound(at, writer) : static_cast<uint32_t>(bytes_.size());
    const Dim moved = between(writer, reader);
    const std::optional<bool> far = is_far(moved, writer, reader);
    if (far == true && begins_anywhere(id, writer)) return;
    if (far.value_or(true)) program_.buffers[id].far = far ? loops::kAlways : le(0, moved - limit_);
  }

  loops::Program& program_;
  const std::vector<BufferId> storages_;
  const int64_t limit_, least_;
  const loops::SymbolSet early_;
  std::vector<Dim> bytes_;   // by node
  Dim whole_ = 0;            // of all of them, as far as it is counted
  int64_t least_whole_ = 0;  // it may be, and at most
  std::optional<int64_t> most_whole_;
  loops::SymbolSet in_whole_;                           // open terms of it
  std::map<BufferId, std::vector<uint32_t>> mentions_;  // of a storage, by nodes in order
  std::map<BufferId, Filled> filled_;
  std::set<BufferId> shown_;  // by outputs
};

}  // namespace

void mark_far(loops::Program& program, const Target& target) {
  try {
    Marker(program, target).run();
  } catch (const UserError&) {  // so many bytes that they can't be counted: nobody will run that
  }
}

}  // namespace lenz::schedule
