#include "compiler/schedule/recompute.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "compiler/base/sym_parts.h"
#include "compiler/loops/index_algebra.h"
#include "compiler/loops/verify.h"
#include "compiler/schedule/nest_facts.h"
#include "compiler/schedule/nest_writer.h"
#include "compiler/schedule/split.h"
#include "compiler/schedule/symbols.h"

namespace lenz::schedule {

using loops::Block;
using loops::Instr;
using loops::InstrKind;
using loops::Nest;
using loops::Program;
using loops::Store;

namespace {

constexpr double kCheap = 2;       // simple operations that are no more than a load and a store
constexpr double kFew = 4;         // that are less than both, where memory is far: of elements of 4 bytes
constexpr double kLoad = 0.5;      // that a reader need not make then
constexpr double kSimple = 16;     // that one core does while others would be told of them
constexpr size_t kMostBody = 128;  // instructions of a nest: beyond, registers run out and compilation takes long
constexpr size_t kMostReaders = 8;

const Nest& nest_at(const Uses::Place& place) { return std::get<Nest>(place.block->nodes[place.node].is); }

// The axis of each dim of what the nest stores, or none where it is one element.
bool stores_by_axes(const Nest& nest) {
  std::vector<Dim> seen;
  for (Dim d : nest.stores[0].index) {
    if (d.is(0)) continue;
    auto axis = std::ranges::find(nest.axes, d, &loops::Axis::symbol);
    if (axis == nest.axes.end() || std::ranges::find(seen, d) != seen.end()) return false;
    seen.push_back(d);
  }
  return seen.size() == nest.axes.size();
}

// At most one element is read for each that it gives; others are the same for many.
bool moves(const Nest& nest, const NestFacts& facts) {
  auto whole = [&](const Instr& i) {
    return std::ranges::all_of(nest.axes, [&](const loops::Axis& a) {
      return std::ranges::any_of(i.index, [&](Dim d) {
        bool found = false;
        if (!d.is_constant()) for_each_symbol(d, [&](const SymNode* s) { found = found || s == a.symbol.node(); });
        return found;
      });
    });
  };
  size_t loads = 0;
  for (const Instr& i : nest.body) loads += i.kind == InstrKind::load && whole(i);
  return loads <= 1 && !facts.draws;
}

// Whether a reader goes over the elements as the writer does: its first axes are the buffer's dims, in order.
bool in_order(const Nest& reader, BufferId buffer) {
  for (const Instr& i : reader.body) {
    if (i.kind != InstrKind::load || i.buffer != buffer) continue;
    size_t axis = 0;
    for (Dim d : i.index) {
      if (d.is(0)) continue;
      if (axis >= reader.axes.size() || reader.axes[axis].symbol != d) return false;
      ++axis;
    }
  }
  return true;
}

// Whether it has no more points than the buffer has elements.
bool fewer_points(const Program& program, const Nest& reader, BufferId buffer) {
  Dim points = 1;
  for (const loops::Axis& a : reader.axes) points = points * a.extent;
  const Dim elements = numel(program.buffers[buffer].type.sizes);
  return points == elements || program.assumptions.known().proves(le(points, elements));
}

// Whether it reads each element once at most.
bool once(const Program& program, const Nest& reader, BufferId buffer) {
  const Instr* only = nullptr;
  for (const Instr& i : reader.body) {
    if (i.kind != InstrKind::load || i.buffer != buffer) continue;
    if (only) return false;
    only = &i;
  }
  loops::IndexSpace space(program.context->syms, program.assumptions.known());
  for (const loops::Axis& a : reader.axes) space.add_axis(a.symbol, a.extent);
  return only && space.injective(only->index);
}

// Whether it reads each element, under no condition.
bool reads_all(const Program& program, const Nest& reader, BufferId buffer) {
  Dim points = 1;
  for (const loops::Axis& a : reader.axes) points = points * a.extent;
  const bool masked = std::ranges::any_of(
      reader.body, [&](const Instr& i) { return i.kind == InstrKind::load && i.buffer == buffer && i.mask != kNone; });
  return !masked && points == numel(program.buffers[buffer].type.sizes) && once(program, reader, buffer);
}

}  // namespace

namespace {

class Inliner {
 public:
  Inliner(const Program& program, const std::vector<BufferId>& chosen)
      : program_(program),
        chosen_(program.buffers.size()),
        quotients_(program.buffers.size()),
        taken_(symbols_of(program)),
        fresh_(*program.context, taken_) {
    for (BufferId id : chosen) chosen_[id] = true;
    open_ = std::ranges::any_of(program.buffers, [](const loops::Buffer& b) {
      return std::ranges::any_of(b.type.sizes, [](Dim d) { return !d.is_constant(); });
    });
  }

  void block(Block& b) {
    std::vector<loops::Node> kept;
    for (loops::Node& node : b.nodes) {
      auto* nest = std::get_if<Nest>(&node.is);
      if (auto* n = std::get_if<loops::If>(&node.is)) block(*n->then), block(*n->otherwise);
      if (auto* n = std::get_if<loops::While>(&node.is)) block(*n->test), block(*n->body);
      if (auto* n = std::get_if<loops::Repeat>(&node.is)) block(*n->body);
      if (nest == nullptr) {
        kept.push_back(std::move(node));
        continue;
      }
      Nest made = inlined(std::move(*nest));
      if (made.stores.size() == 1 && chosen_[made.stores[0].buffer]) {
        sources_.emplace(made.stores[0].buffer, std::move(made));
      } else {
        kept.push_back({std::move(made)});
      }
    }
    b.nodes = std::move(kept);
  }

  // Whether readers of what the nest stores keep their proofs where they compute it themselves; it is chosen then.
  // Places that open sizes have a hand in, or quotients, are more, put together, than every proof sees through.
  bool choose(const Nest& nest, const std::vector<Uses::Place>& readers) {
    const BufferId id = nest.stores[0].buffer;
    quotients_[id] = loads_by_quotients(nest, kNone);
    chosen_[id] = true;
    const bool plain = !open_ && !quotients_[id] && std::ranges::none_of(readers, [&](const Uses::Place& reader) {
      return loads_by_quotients(nest_at(reader), id);
    });
    tried_[id] = &nest;
    if (plain) return true;
    auto proved = [&](const Uses::Place& reader) {
      if (!proofs_) proofs_.emplace(program_);
      return proofs_->inside(inlined(nest_at(reader))) || !proofs_->inside(nest_at(reader));
    };
    chosen_[id] = std::ranges::all_of(readers, proved);
    return chosen_[id];
  }

 private:
  Nest inlined(Nest from) {
    bool any =
        std::ranges::any_of(from.body, [&](const Instr& i) { return i.kind == InstrKind::load && chosen_[i.buffer]; });
    if (!any) return from;
    Nest made;
    made.name = from.name;
    made.tag = from.tag;
    made.axes = from.axes;
    made.origin = from.origin;
    NestWriter writer(made);
    loops::IndexSpace space(program_.context->syms, program_.assumptions.known());
    for (const loops::Axis& a : from.axes) space.add_axis(a.symbol, a.extent);
    std::vector<Ssa> values;
    for (Instr& i : from.body) {
      for (Ssa& operand : i.operands) operand = values[operand];
      if (i.mask != kNone) i.mask = values[i.mask];
      bool replaced = i.kind == InstrKind::load && chosen_[i.buffer];
      values.push_back(replaced ? source(writer, space, i) : writer.add(std::move(i)));
    }
    for (Store& s : from.stores) {
      s.value = values[s.value];
      if (s.mask != kNone) s.mask = values[s.mask];
      made.stores.push_back(std::move(s));
    }
    return made;
  }

  // What computes a chosen buffer; that of a nest which is only tried is made where it is asked for.
  const Nest& source_of(BufferId id) {
    auto at = sources_.find(id);
    if (at == sources_.end()) at = sources_.emplace(id, inlined(*tried_.at(id))).first;
    return at->second;
  }

  // Of that buffer, or of any; what is computed again loads as it did.
  bool loads_by_quotients(const Nest& nest, BufferId of) const {
    bool any = false;
    for (const Instr& i : nest.body) {
      if (i.kind != InstrKind::load || (of != kNone && i.buffer != of)) continue;
      any = any || (of == kNone && chosen_[i.buffer] && quotients_[i.buffer]);
      for (const Dim d : i.index) for_each_divisor(d, [&](Dim) { any = true; });
    }
    return any;
  }

  // The value that the load would give, computed here. Where nothing is loaded, nothing is divided by a zero.
  Ssa source(NestWriter& writer, const loops::IndexSpace& space, const Instr& load) {
    const Nest& source = source_of(load.buffer);
    Replacement with(program_.context->syms);
    for (size_t d = 0; d < load.index.size(); ++d)
      if (Dim axis = source.stores[0].index[d]; !axis.is(0)) with.set(axis, load.index[d]);
    std::vector<Ssa> values;
    for (Instr i : source.body) {
      for (Ssa& operand : i.operands) operand = values[operand];
      for (Dim& d : i.index) d = space.simplify(with(d));
      if (i.mask != kNone) i.mask = values[i.mask];
      if (i.kind == InstrKind::position) {  // two that read it have one each
        const Dim symbol = fresh_("p");
        with.set(i.symbol, symbol);
        i.symbol = symbol;
      }
      if (i.kind == InstrKind::load) i.mask = writer.both(load.mask, i.mask);
      if (load.mask != kNone && i.kind == InstrKind::scalar && may_raise(i))
        i.operands[1] = chosen(writer, load.mask, i.operands[1], operand_dtype(*i.row, i.compute, 1), 1);
      if (i.kind == InstrKind::index && i.index[0].is_constant()) {
        values.push_back(writer.constant(Dtype::i64, ScalarValue(i.index[0].constant())));
      } else {
        values.push_back(writer.add(std::move(i)));
      }
    }
    Ssa value = values[source.stores[0].value];
    if (load.mask == kNone) return value;
    return chosen(writer, load.mask, value, load.dtype, 0);
  }

  static Ssa chosen(NestWriter& writer, Ssa mask, Ssa value, Dtype dtype, int64_t otherwise) {
    Instr made;
    made.kind = InstrKind::scalar;
    made.row = find_scalar("where");
    made.dtype = made.compute = dtype;
    made.operands = {mask, value, writer.constant(dtype, number(dtype, otherwise))};
    return writer.add(std::move(made));
  }
  static ScalarValue number(Dtype dtype, int64_t n) {
    if (is_complex(dtype)) return ScalarValue(std::complex<double>(static_cast<double>(n), 0));
    return is_floating(dtype) ? ScalarValue(static_cast<double>(n)) : ScalarValue(n);
  }

  const Program& program_;
  bool open_ = false;  // some size is
  std::optional<loops::AccessProofs> proofs_;
  std::vector<bool> chosen_, quotients_;  // and whether their computation has quotients in its loads' places
  const SymbolSet taken_;
  FreshSymbols fresh_;
  std::unordered_map<BufferId, Nest> sources_;
  std::unordered_map<BufferId, const Nest*> tried_;
};

}  // namespace

namespace {

// Whether all of its points become one number: it shares no axis with what it reads.
bool combines_all(const Nest& nest) {
  return !nest.axes.empty() &&
         std::ranges::all_of(nest.axes, [](const loops::Axis& a) { return a.kind == loops::AxisKind::reduction; });
}

// Nests that feed one reduction which fusion has no axis to share with, and nothing else: directly, or through others
// of them. Such a reduction is split, or is one core's: of more than simple operations several cores are faster.
std::unordered_set<const Nest*> feeding_reductions(const Program& program, const Target& target, const Uses& uses) {
  std::vector<const Nest*> nests;
  for_each_node(program.body, [&](const loops::Node& node) {
    if (const auto* nest = std::get_if<Nest>(&node.is)) nests.push_back(nest);
  });
  std::unordered_map<const Nest*, const Nest*> split;  // by what feeds it
  auto split_of = [&](const Nest& reader) -> const Nest* {
    if (auto at = split.find(&reader); at != split.end()) return at->second;
    return combines_all(reader) || chunks_of(program, reader, target) ? &reader : nullptr;
  };
  std::unordered_map<const Nest*, double> simple;  // operations that already went into those that are not split
  std::unordered_set<const Nest*> found;
  for (size_t i = nests.size(); i-- > 0;) {
    if (nests[i]->stores.size() != 1) continue;
    const Uses::OfBuffer& use = uses.buffers[nests[i]->stores[0].buffer];
    if (use.readers.empty() || use.readers.size() > kMostReaders) continue;
    const Nest* one = split_of(nest_at(use.readers[0]));
    if (!one || !std::ranges::all_of(use.readers, [&](const auto& r) { return split_of(nest_at(r)) == one; })) continue;
    if (combines_all(*one) && !chunks_of(program, *one, target)) {
      const double cost = facts_of(*nests[i]).cost;
      if (simple[one] + cost > kSimple) continue;
      simple[one] += cost;
    }
    split[nests[i]] = one;
    found.insert(nests[i]);
  }
  return found;
}

}  // namespace

namespace {
// Whether from that place on nobody writes the buffer's memory: what is written once is the same wherever it is read.
bool is_settled(const Uses::OfBuffer& use, const Uses::Place& from) {
  return use.writes <= 1 ||
         (use.writes == use.writers.size() && std::ranges::all_of(use.writers, [&](const Uses::Place& w) {
            return w.block == from.block && w.node < from.node;
          }));
}
}  // namespace

std::vector<BufferId> choose_recomputed(const Program& program, const Target& target) {
  Uses uses = uses_of(program);
  const std::unordered_set<const Nest*> feeding = feeding_reductions(program, target, uses);
  std::vector<BufferId> chosen;
  Inliner tried(program, {});
  std::unordered_map<const Nest*, size_t> sizes;  // of bodies that others went into
  auto size = [&](const Nest& n) -> size_t& { return sizes.try_emplace(&n, n.body.size()).first->second; };
  std::unordered_map<const Nest*, double> costs;  // with those of others that went into them
  auto cost = [&](const Nest& n) -> double& { return costs.try_emplace(&n, facts_of(n).cost).first->second; };
  std::unordered_set<const Nest*> raising;  // for others that went into them
  auto consider = [&](const loops::Node& node) {
    const auto* nest = std::get_if<Nest>(&node.is);
    if (nest == nullptr || nest->stores.size() != 1 || stands_alone(nest->tag)) return;
    const BufferId id = nest->stores[0].buffer;
    const loops::Buffer& buffer = program.buffers[id];
    const Uses::OfBuffer& use = uses.buffers[id];
    NestFacts facts = facts_of(*nest);
    bool possible = buffer.kind == loops::BufferKind::temporary && !use.otherwise && use.writers.size() == 1 &&
                    !use.readers.empty() && use.readers.size() <= kMostReaders && facts.a_value_each() &&
                    facts.inner.empty() && stores_by_axes(*nest);
    if (!possible) return;
    for (const Uses::Place& reader : use.readers) {
      // What it reads must be there still, and not be the reader's own.
      if (reader.block != use.writers[0].block) return;
      const Nest& into = nest_at(reader);
      if (stands_alone(into.tag) || size(into) + size(*nest) > kMostBody) return;
    }
    // What may raise does so for each element still.
    const bool raises = facts.positions || raising.contains(nest);
    if (raises && !std::ranges::all_of(use.readers, [&](const auto& r) { return reads_all(program, nest_at(r), id); }))
      return;
    // It is read later then.
    if (!std::ranges::all_of(facts.reads,
                             [&](BufferId read) { return is_settled(uses.buffers[read], use.writers[0]); }))
      return;
    bool one = (feeding.contains(nest) || (use.readers.size() == 1 && !in_order(nest_at(use.readers[0]), id))) &&
               std::ranges::all_of(use.readers, [&](const auto& r) { return once(program, nest_at(r), id); }) &&
               !facts.draws;
    auto fewer = [&](const Uses::Place& reader) { return fewer_points(program, nest_at(reader), id); };
    const double few = kFew * std::max(1.0, item_size(buffer.type.dtype) / 4.0);
    const bool cheap = moves(*nest, facts) &&
                       (cost(*nest) <= kCheap || (cost(*nest) <= few && std::ranges::all_of(use.readers, fewer)));
    if ((!cheap && !one) || !tried.choose(*nest, use.readers)) return;
    for (const Uses::Place& reader : use.readers) {
      if (raises) raising.insert(&nest_at(reader));
      size(nest_at(reader)) += size(*nest);
      cost(nest_at(reader)) += cost(*nest) - kLoad;
    }
    chosen.push_back(id);
  };
  for_each_node(program.body, consider);
  return chosen;
}

void recompute(Program& program, const std::vector<BufferId>& chosen) {
  if (!chosen.empty()) Inliner(program, chosen).block(program.body);
}

}  // namespace lenz::schedule
