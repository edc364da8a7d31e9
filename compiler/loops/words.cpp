// What the printer, the parser and the verifier agree on: words, orders, dtypes that follow.
#include <algorithm>

#include "compiler/loops/text.h"

namespace lenz::loops {

namespace {
template <size_t N>
std::string_view word_of(const std::string_view (&names)[N], size_t value) {
  LENZ_CHECK(value < N, "a value that the text form has no word for");
  return names[value];
}
}  // namespace

std::string_view name(AxisKind kind) {
  constexpr std::string_view kNames[] = {"", "reduce", "scan"};
  return word_of(kNames, static_cast<size_t>(kind));
}
std::string_view name(StoreMode mode) {
  constexpr std::string_view kNames[] = {"", "scatter", "add", "multiply", "minimum", "maximum", "any"};
  return word_of(kNames, static_cast<size_t>(mode));
}
std::string_view name(DrawKind kind) {
  constexpr std::string_view kNames[] = {"word", "signed_word", "wide_word", "uniform", "normal", "wide_normal"};
  return word_of(kNames, static_cast<size_t>(kind));
}
std::vector<BufferId> declaration_order(const Program& program) {
  std::vector<BufferId> order;
  std::vector<bool> listed(program.buffers.size(), false);
  auto add = [&](BufferId id) {
    if (id >= listed.size() || listed[id]) return;
    listed[id] = true;
    order.push_back(id);
  };
  for (const Input& i : program.inputs)
    if (i.kind == Input::tensor) add(i.buffer);
  for (BufferId id = 0; id < program.buffers.size(); ++id) add(id);
  return order;
}

std::optional<Dtype> derived_dtype(const Program& program, const Nest& nest, const Instr& instr) {
  auto operand = [&](size_t i) -> const Instr* {
    if (i >= instr.operands.size() || instr.operands[i] >= nest.body.size()) return nullptr;
    return &nest.body[instr.operands[i]];
  };
  auto part = [&](const Instr* whole, uint32_t number) -> std::optional<Dtype> {
    if (!whole || whole->operands.empty() || whole->operands[0] >= nest.body.size()) return std::nullopt;
    if (whole->kind != InstrKind::reduce && whole->kind != InstrKind::scan) return std::nullopt;
    if (number >= row_of(whole->combine).parts) return std::nullopt;
    return part_dtype(whole->combine, nest.body[whole->operands[0]].dtype, number);
  };
  switch (instr.kind) {
    case InstrKind::constant: return instr.dtype;
    case InstrKind::index:
    case InstrKind::position: return Dtype::i64;
    case InstrKind::load:
      if (instr.buffer >= program.buffers.size()) return std::nullopt;
      return program.buffers[instr.buffer].type.dtype;
    case InstrKind::scalar:
      if (!instr.row || !instr.row->dtypes.has(instr.compute) || instr.row->result == ResultRule::target)
        return std::nullopt;
      return result_dtype(*instr.row, instr.compute);
    case InstrKind::reduce:
    case InstrKind::scan: return part(&instr, 0);
    case InstrKind::part: return part(operand(0), instr.part);
    case InstrKind::draw:
      if (instr.draw == DrawKind::signed_word) return Dtype::i32;
      if (instr.draw == DrawKind::word || instr.draw == DrawKind::wide_word) return Dtype::i64;
      return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace lenz::loops
