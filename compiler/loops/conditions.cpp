#include "compiler/loops/conditions.h"

namespace lenz::loops {

std::optional<Dim> coordinate(const Nest& nest, Ssa value) {
  const Instr& instr = nest.body[value];
  if (instr.dtype != Dtype::i64) return std::nullopt;
  if (instr.kind == InstrKind::index) return instr.index[0];
  if (instr.kind == InstrKind::position) return instr.symbol;
  if (instr.kind == InstrKind::constant && instr.value.kind() == ScalarKind::integer) return Dim(instr.value.integer());
  return std::nullopt;
}

std::optional<Cond> condition(const Nest& nest, Ssa value) {
  bool negated = false;
  const Instr* instr = &nest.body[value];
  for (; instr->kind == InstrKind::scalar && instr->row->name == "logical_not" && instr->compute == Dtype::b8;
       instr = &nest.body[instr->operands[0]])
    negated = !negated;
  if (instr->kind == InstrKind::constant && instr->value.kind() == ScalarKind::integer)
    return eq(Dim((instr->value.integer() != 0) != negated ? 1 : 0), 1);
  if (instr->kind != InstrKind::scalar || instr->compute != Dtype::i64 || instr->operands.size() != 2)
    return std::nullopt;
  auto a = coordinate(nest, instr->operands[0]), b = coordinate(nest, instr->operands[1]);
  if (!a || !b) return std::nullopt;
  struct Comparison {
    std::string_view row;
    Cond (*cond)(Dim, Dim);
  };
  static constexpr Comparison kComparisons[] = {{"eq", eq}, {"ne", ne}, {"lt", lt}, {"le", le}, {"gt", gt}, {"ge", ge}};
  for (const Comparison& c : kComparisons)
    if (c.row == instr->row->name) return negated ? negate(c.cond(*a, *b)) : c.cond(*a, *b);
  return std::nullopt;
}

bool is_conjunction(const Instr& instr) {
  return instr.kind == InstrKind::scalar && instr.compute == Dtype::b8 &&
         (instr.row->name == "logical_and" || instr.row->name == "bitwise_and");
}

}  // namespace lenz::loops
