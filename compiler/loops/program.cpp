#include "compiler/loops/program.h"

namespace lenz::loops {

namespace {
// The positions that a dim mentions, as instructions of the body.
bool mentions_late(Dim dim, const Nest& nest, const std::vector<bool>& late) {
  bool found = false;
  for_each_symbol(dim, [&](const SymNode* symbol) {
    for (Ssa i = 0; i < late.size() && !found; ++i)
      found = late[i] && nest.body[i].kind == InstrKind::position && nest.body[i].symbol.node() == symbol;
  });
  return found;
}
}  // namespace

namespace {
constexpr std::string_view kTags[] = {"none", "matmul", "convolution", "pooling", "attention"};
}  // namespace

std::string_view name(NestTag tag) { return kTags[static_cast<size_t>(tag)]; }

std::optional<NestTag> find_tag(std::string_view name) {
  for (size_t i = 0; i < std::size(kTags); ++i)
    if (kTags[i] == name) return static_cast<NestTag>(i);
  return std::nullopt;
}

int64_t few_inner_points(const Nest& nest) {
  constexpr int64_t kFew = 9;
  int64_t points = 1;
  for (const Axis& a : nest.axes) {
    if (a.kind == AxisKind::parallel) continue;
    if (a.lanes > 1 || !a.extent.is_constant() || a.extent.constant() < 1 || a.extent.constant() > kFew / points)
      return 0;
    points *= a.extent.constant();
  }
  return points;
}

std::vector<bool> epilogue(const Nest& nest) {
  std::vector<bool> late;
  late.reserve(nest.body.size());
  for (const Instr& instr : nest.body) {
    bool depends = instr.kind == InstrKind::reduce || (instr.mask != kNone && late[instr.mask]);
    for (Ssa operand : instr.operands) depends |= late[operand];
    for (Dim d : instr.index) depends = depends || (!d.is_constant() && mentions_late(d, nest, late));
    late.push_back(depends);
  }
  return late;
}

}  // namespace lenz::loops
