#include "compiler/lower/nest_builder.h"

#include <algorithm>

#include "compiler/scalar/rounding.h"

namespace lenz::lower {

using loops::Instr;
using loops::InstrKind;

namespace {
// In the dtype that arithmetic is done in: constants may be whole.
bool same_value(Dtype dtype, const ScalarValue& a, const ScalarValue& b) {
  return to_bits(arithmetic_dtype(dtype), a) == to_bits(arithmetic_dtype(dtype), b);
}

// Whether two instructions give one value. What reads no memory may be shared; a nest's loads too, since a nest does
// not read what it writes.
bool same(const Instr& a, const Instr& b) {
  return a.kind == b.kind && a.dtype == b.dtype && a.operands == b.operands && a.mask == b.mask && a.row == b.row &&
         a.compute == b.compute && a.buffer == b.buffer && a.index == b.index && a.extent == b.extent &&
         a.wraps == b.wraps && a.combine == b.combine && a.part == b.part && a.draw == b.draw && a.stream == b.stream &&
         (a.kind != InstrKind::constant || same_value(a.dtype, a.value, b.value));
}
}  // namespace

ScalarValue number_as(const Arg& number, Dtype dtype) {
  Dtype from;
  ScalarValue value;
  switch (number.kind) {
    case ArgKind::boolean: from = Dtype::b8, value = ScalarValue(int64_t{number.boolean()}); break;
    case ArgKind::integer: from = Dtype::i64, value = ScalarValue(number.dim().constant()); break;
    case ArgKind::real: from = Dtype::f64, value = ScalarValue(number.real()); break;
    case ArgKind::complex: from = Dtype::c128, value = ScalarValue(*number.complex_value); break;
    default: internal_error("no number to compute with", __FILE__, __LINE__);
  }
  const ScalarValue operands[] = {value};
  ScalarValue made = evaluate(*find_scalar("to_dtype"), from, operands, dtype);
  return from_bits(dtype, to_bits(dtype, made));
}

NestBuilder::NestBuilder(loops::Program& program, const SymbolSet& taken, std::string_view name, uint32_t origin)
    : program_(program), taken_(taken) {
  nest_.name = name;
  nest_.origin = origin;
  nest_.axes.reserve(2);  // of most nests: growing step by step costs more than they do
  nest_.body.reserve(3);
}

Dim NestBuilder::fresh_symbol(std::string_view prefix) {
  for (size_t n = local_.size();; ++n) {
    Dim symbol = program_.context->syms.symbol(std::string(prefix) + std::to_string(n));
    if (taken_.contains(symbol.node()) || is_local(symbol)) continue;
    local_.push_back(symbol.node());
    return symbol;
  }
}

bool NestBuilder::is_local(Dim dim) const {
  bool found = false;
  if (!dim.is_constant())
    for_each_symbol(dim, [&](const SymNode* s) { found |= std::ranges::find(local_, s) != local_.end(); });
  return found;
}

bool NestBuilder::is_position(Dim dim) const {
  bool found = false;
  if (!dim.is_constant())
    for_each_symbol(dim, [&](const SymNode* s) {
      for (const Instr& i : nest_.body) found |= i.kind == InstrKind::position && i.symbol.node() == s;
    });
  return found;
}

Dim NestBuilder::axis(Dim extent, loops::AxisKind kind) {
  if (extent.is(1)) return 0;
  Dim symbol = fresh_symbol("i");
  nest_.axes.push_back({symbol, extent, kind});
  return symbol;
}

Ssa NestBuilder::add(Instr instr) {
  constexpr size_t kLookBack = 64;  // a nest of an op is small; an unrolled one stays linear
  for (size_t n = nest_.body.size(), back = 0; n-- > 0 && back < kLookBack; ++back)
    if (same(nest_.body[n], instr)) return static_cast<Ssa>(n);
  nest_.body.push_back(std::move(instr));
  return static_cast<Ssa>(nest_.body.size() - 1);
}

Ssa NestBuilder::constant(Dtype dtype, const Arg& number) {
  if (number.kind == ArgKind::integer && number.symbolic) return converted(index(number.dim()), dtype);
  Instr i;
  i.kind = InstrKind::constant;
  i.dtype = dtype;
  i.value = number_as(number, dtype);
  return add(std::move(i));
}

Ssa NestBuilder::whole_constant(Dtype dtype, const Arg& number) {
  Instr i;
  i.kind = InstrKind::constant;
  i.dtype = dtype;
  i.value = number_as(number, arithmetic_dtype(dtype));
  return add(std::move(i));
}

Ssa NestBuilder::index(Dim value) {
  if (value.is_constant()) return constant(Dtype::i64, Arg::of_dim(value));
  Instr i;
  i.kind = InstrKind::index;
  i.dtype = Dtype::i64;
  i.index = {value};
  return add(std::move(i));
}

Ssa NestBuilder::load(loops::BufferId buffer, std::span<const Dim> at) {
  const loops::Buffer& b = program_.buffers[buffer];
  LENZ_CHECK(at.size() == b.type.rank(), nest_.name + " reads " + b.name + " at another rank");
  Instr i;
  i.kind = InstrKind::load;
  i.dtype = b.type.dtype;
  i.buffer = buffer;
  i.index = DimVec(at);
  i.mask = mask();
  return add(std::move(i));
}

// Which whole number is the result already: of a sum with 0, of a product with 1. Counting from 0 by one is an index
// then, which readers rather compute than load.
std::optional<Ssa> NestBuilder::unchanged(const ScalarRow& row, Dtype compute, std::span<const Ssa> operands) const {
  static const ScalarRow &sum = *find_scalar("add"), &product = *find_scalar("mul");
  if ((&row != &sum && &row != &product) || !is_integral(compute, false)) return std::nullopt;
  const ScalarValue nothing(int64_t{&row == &sum ? 0 : 1});
  for (size_t k = 0; k < 2; ++k)
    if (const Instr& i = nest_.body[operands[k]];
        i.kind == InstrKind::constant && same_value(compute, i.value, nothing))
      return operands[1 - k];
  return std::nullopt;
}

Ssa NestBuilder::apply(const ScalarRow& row, std::span<const Ssa> operands, std::optional<Dtype> target) {
  size_t first = row.operands == OperandRule::condition_first || row.operands == OperandRule::integer_first ? 1 : 0;
  Dtype compute = dtype(operands[std::min(first, operands.size() - 1)]);
  LENZ_CHECK(row.dtypes.has(compute),
             nest_.name + ": no " + std::string(row.name) + " of " + std::string(name(compute)));
  for (size_t k = 0; k < operands.size(); ++k)
    LENZ_CHECK(dtype(operands[k]) == operand_dtype(row, compute, static_cast<int>(k)),
               nest_.name + ": operands of " + std::string(row.name) + " have different dtypes");
  if (std::optional<Ssa> same = unchanged(row, compute, operands)) return *same;
  Instr i;
  i.kind = InstrKind::scalar;
  i.row = &row;
  i.compute = compute;
  i.dtype = result_dtype(row, compute, target);
  i.operands = SmallVec<Ssa, 3>(operands);
  return add(std::move(i));
}

Ssa NestBuilder::apply(std::string_view row, std::initializer_list<Ssa> operands) {
  const ScalarRow* found = find_scalar(row);
  LENZ_CHECK(found, "no scalar row " + std::string(row));
  return apply(*found, {operands.begin(), operands.size()});
}

Ssa NestBuilder::converted(Ssa value, Dtype to) {
  if (dtype(value) == to) return value;
  static const ScalarRow& row = *find_scalar("to_dtype");
  // There and back through a wider float is where it came from.
  if (const Instr& i = nest_.body[value]; i.kind == InstrKind::scalar && i.row == &row && i.compute == to &&
                                          is_floating(to) && is_floating(i.dtype) && item_size(to) < item_size(i.dtype))
    return i.operands[0];
  return apply(row, {&value, 1}, to);
}

Dim NestBuilder::position(Ssa value, Dim extent, bool wraps) {
  Instr i;
  i.kind = InstrKind::position;
  i.dtype = Dtype::i64;
  i.operands = {converted(value, Dtype::i64)};
  i.extent = extent;
  i.wraps = wraps;
  i.mask = mask();
  for (const Instr& before : nest_.body)
    if (same(before, i)) return before.symbol;
  i.symbol = fresh_symbol("p");
  nest_.body.push_back(i);
  return i.symbol;
}

Ssa NestBuilder::combined(InstrKind kind, loops::Combine combine, std::span<const Ssa> operands, bool ordered) {
  Instr i;
  i.kind = kind;
  i.combine = combine;
  i.operands = SmallVec<Ssa, 3>(operands);
  i.dtype = loops::part_dtype(combine, dtype(operands[0]), 0);
  i.ordered = ordered;
  return add(std::move(i));
}

Ssa NestBuilder::part(Ssa of, uint32_t number) {
  if (number == 0) return of;
  const Instr& whole = nest_.body[of];
  Instr i;
  i.kind = InstrKind::part;
  i.dtype = loops::part_dtype(whole.combine, dtype(whole.operands[0]), number);
  i.operands = {of};
  i.part = number;
  return add(std::move(i));
}

Ssa NestBuilder::draw(loops::DrawKind kind, Dtype dtype, uint32_t stream, Dim element) {
  Instr i;
  i.kind = InstrKind::draw;
  i.draw = kind;
  i.dtype = dtype;
  i.stream = stream;
  i.index = {element};
  return add(std::move(i));
}

Facts NestBuilder::facts() const {
  // Extents are at least 1 wherever a point exists.
  Facts facts = program_.assumptions.known();
  for (const loops::Axis& a : nest_.axes) {
    facts.set_range(a.symbol.node(), {0, std::nullopt});
    if (a.extent.is_constant() && a.extent.constant() > 0)
      facts.set_range(a.symbol.node(), {0, a.extent.constant() - 1});
    else
      facts.add(lt(a.symbol, a.extent));
  }
  return facts;
}

Dim NestBuilder::smaller(Dim a, Dim b) const {
  if (!is_local(a) && !is_local(b)) return min(a, b);
  const Facts known = facts();
  return known.proves(le(a, b)) ? a : known.proves(le(b, a)) ? b : min(a, b);
}

Dim NestBuilder::larger(Dim a, Dim b) const {
  if (!is_local(a) && !is_local(b)) return max(a, b);
  const Facts known = facts();
  return known.proves(le(b, a)) ? a : known.proves(le(a, b)) ? b : max(a, b);
}

Ssa NestBuilder::condition(const Cond& cond) {
  const Truth truth = facts().prove(cond);
  if (truth != Truth::unknown) return constant(Dtype::b8, Arg::of_bool(truth == Truth::yes));
  constexpr std::string_view kRows[] = {"eq", "ne", "lt", "le"};
  return apply(kRows[static_cast<size_t>(cond.rel)], {index(cond.lhs), index(cond.rhs)});
}

void NestBuilder::push_mask(Ssa condition) {
  masks_.push_back(masks_.empty() ? condition : apply("logical_and", {masks_.back(), condition}));
}

void NestBuilder::store(loops::BufferId buffer, std::span<const Dim> at, Ssa value, loops::StoreMode mode,
                        bool distinct) {
  const loops::Buffer& b = program_.buffers[buffer];
  LENZ_CHECK(at.size() == b.type.rank(), nest_.name + " writes " + b.name + " at another rank");
  nest_.stores.push_back({buffer, DimVec(at), converted(value, b.type.dtype), mask(), mode, distinct});
}

void NestBuilder::finish(loops::Block& block) {
  if (nest_.stores.empty()) return;
  // Reductions inside, a scan innermost.
  std::ranges::stable_sort(nest_.axes, {}, [](const loops::Axis& a) { return a.kind; });
  block.nodes.push_back({std::move(nest_)});
}

}  // namespace lenz::lower
