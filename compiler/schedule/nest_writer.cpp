#include "compiler/schedule/nest_writer.h"

#include "compiler/scalar/rounding.h"

namespace lenz::schedule {

using loops::InstrKind;

Dim Replacement::operator()(Dim dim) const {
  if (dim.is_constant() || by_.empty()) return dim;
  bool mentioned = false;
  for_each_symbol(dim, [&](const SymNode* s) { mentioned = mentioned || by_.contains(s); });
  if (!mentioned) return dim;
  return substitute(dim, *pool_, [&](const SymNode* s) -> std::optional<Dim> {
    auto found = by_.find(s);
    return found == by_.end() ? std::nullopt : std::optional(found->second);
  });
}

DimVec Replacement::operator()(const DimVec& dims) const {
  DimVec made;
  for (Dim d : dims) made.push_back((*this)(d));
  return made;
}

bool same_instruction(const Instr& a, const Instr& b) {
  return a.kind == b.kind && a.dtype == b.dtype && a.operands == b.operands && a.mask == b.mask && a.row == b.row &&
         a.compute == b.compute && a.buffer == b.buffer && a.index == b.index && a.extent == b.extent &&
         a.wraps == b.wraps && a.combine == b.combine && a.ordered == b.ordered && a.part == b.part &&
         a.draw == b.draw && a.stream == b.stream &&
         (a.kind != InstrKind::constant ||
          to_bits(arithmetic_dtype(a.dtype), a.value) == to_bits(arithmetic_dtype(a.dtype), b.value));
}

uint64_t NestWriter::hash(const Instr& instr) {
  uint64_t h = static_cast<uint64_t>(instr.kind) * 0x9E3779B97F4A7C15u + static_cast<uint64_t>(instr.dtype);
  auto mix = [&](uint64_t more) { h = (h ^ more) * 0xBF58476D1CE4E5B9u, h ^= h >> 29; };
  for (Ssa operand : instr.operands) mix(operand);
  mix(instr.mask);
  mix(instr.buffer);
  mix(reinterpret_cast<uintptr_t>(instr.row));
  mix(static_cast<uint64_t>(instr.part) << 8 | static_cast<uint64_t>(instr.combine));
  return h;
}

Ssa NestWriter::add(Instr instr) {
  const uint64_t key = hash(instr);
  // A position binds a name of its own: two of them are two, even if they are of one value.
  if (instr.kind != InstrKind::position) {
    auto [from, to] = known_.equal_range(key);
    for (auto it = from; it != to; ++it)
      if (same_instruction(nest_.body[it->second], instr)) return it->second;
  }
  auto made = static_cast<Ssa>(nest_.body.size());
  nest_.body.push_back(std::move(instr));
  known_.emplace(key, made);
  return made;
}

Ssa NestWriter::constant(Dtype dtype, ScalarValue value) {
  Instr made;
  made.kind = InstrKind::constant;
  made.dtype = dtype;
  made.value = value;
  return add(std::move(made));
}

Ssa NestWriter::both(Ssa a, Ssa b) {
  if (a == kNone || a == b) return b;
  if (b == kNone) return a;
  Instr made;
  made.kind = InstrKind::scalar;
  made.dtype = made.compute = Dtype::b8;
  made.row = find_scalar("logical_and");
  made.operands = {a, b};
  return add(std::move(made));
}

}  // namespace lenz::schedule
