// What of a nest decides how it may be scheduled.
// Thread-safety: values.
#pragma once

#include <vector>

#include "compiler/loops/program.h"

namespace lenz::schedule {

using loops::BufferId;
using loops::Ssa;

struct NestFacts {
  std::vector<Dim> parallel, inner;  // symbols of its parallel axes, and of those that it reduces or scans, in order
  bool reduces = false, scans = false, draws = false, positions = false, combines = false, masked_store = false;
  std::vector<BufferId> reads, writes;  // each once
  // Of one point of all axes, in simple operations: a transcendental counts as many.
  double cost = 0;

  // A value for each point, and nothing else: it may be computed anywhere and as often as one likes.
  bool plain() const { return a_value_each() && !positions; }
  // So much, but it may raise.
  bool a_value_each() const { return !reduces && !scans && !combines && !masked_store && writes.size() == 1; }
};

NestFacts facts_of(const loops::Nest& nest);

// What is another one for each point along an axis: symbols, its own and of positions that data decide, and values.
struct Along {
  std::vector<const SymNode*> symbols;
  std::vector<bool> values;
  bool move(Dim d) const;     // whether it is another one, too
  bool decides(Dim d) const;  // and that is for data to say
};
Along along(const loops::Nest& nest, Dim axis);

// Whether it may raise: of an index out of range, of a division of integers by zero.
bool may_raise(const loops::Instr& instr);

// Simple operations that an instruction stands for.
double cost_of(const loops::Instr& instr);

// For each buffer the first one of those that share its memory: views, and inputs of one alias class.
std::vector<BufferId> storages_of(const loops::Program& program);

// Who reads and writes each buffer.
struct Uses {
  struct Place {
    const loops::Block* block;
    uint32_t node;
    friend bool operator==(const Place&, const Place&) = default;
  };
  struct OfBuffer {
    std::vector<Place> writers, readers;  // nests, each once
    bool otherwise = false;               // by nodes that are no nests, by outputs, through another name
    size_t writes = 0;                    // nodes that write the memory, under whatever name; the caller's own is one
  };
  std::vector<OfBuffer> buffers;
};
Uses uses_of(const loops::Program& program);

}  // namespace lenz::schedule
