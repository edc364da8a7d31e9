// Dtypes of instructions, by the scalar table and the combines.
#include "compiler/loops/verifier.h"

namespace lenz::loops {

namespace {
std::string text(Dtype dtype) { return std::string(lenz::name(dtype)); }

bool has_value(Dtype dtype, const ScalarValue& value) {
  if (is_complex(dtype)) return value.kind() == ScalarKind::complex;
  if (is_floating(dtype)) return value.kind() == ScalarKind::real;
  if (value.kind() != ScalarKind::integer) return false;
  if (dtype == Dtype::b8) return value.integer() == 0 || value.integer() == 1;
  int bits = info(dtype).bits;
  if (bits == 64) return true;
  int64_t low = info(dtype).is_signed ? -(int64_t{1} << (bits - 1)) : 0;
  int64_t high = (int64_t{1} << (info(dtype).is_signed ? bits - 1 : bits)) - 1;
  return low <= value.integer() && value.integer() <= high;
}

// What a combine takes.
DtypeSet combinable(Combine combine) {
  switch (combine) {
    case Combine::sum: return find_scalar("add")->dtypes;
    case Combine::product: return find_scalar("mul")->dtypes;
    case Combine::minimum:
    case Combine::maximum:
    case Combine::argmin:
    case Combine::argmax:
    case Combine::argmin_last:
    case Combine::argmax_last: return dtypes::real_and_bool;
    case Combine::any:
    case Combine::all: return dtypes::boolean;
    case Combine::xor_sum: return dtypes::integers | dtypes::boolean;
    case Combine::welford:
    case Combine::log_sum_exp: return dtypes::floats;
    case Combine::last: return dtypes::all;
  }
  return {};
}

std::optional<Combine> combine_of(StoreMode mode) {
  switch (mode) {
    case StoreMode::assign:
    case StoreMode::scatter: return std::nullopt;
    case StoreMode::add: return Combine::sum;
    case StoreMode::multiply: return Combine::product;
    case StoreMode::minimum: return Combine::minimum;
    case StoreMode::maximum: return Combine::maximum;
    case StoreMode::any: return Combine::any;
  }
  return std::nullopt;
}
}  // namespace

void ProgramVerifier::types(const Nest& nest) {
  for (Ssa i = 0; i < nest.body.size(); ++i) type_of(nest, i);
  for (size_t s = 0; s < nest.stores.size(); ++s) {
    const Store& store = nest.stores[s];
    Dtype dtype = nest.body[store.value].dtype, wanted = buffer(store.buffer).type.dtype;
    if (dtype != wanted)
      report(208,
             "%" + std::to_string(store.value) + " is " + text(dtype) + ", and " + name(store.buffer) + " is " +
                 text(wanted),
             kNone, s);
    if (store.mask != kNone && nest.body[store.mask].dtype != Dtype::b8)
      report(207, "the mask is " + text(nest.body[store.mask].dtype), kNone, s);
    auto combine = combine_of(store.mode);
    if (combine && !combinable(*combine).has(wanted))
      report(209, std::string(loops::name(store.mode)) + " of " + text(wanted), kNone, s);
  }
}

void ProgramVerifier::type_of(const Nest& nest, Ssa at) {
  const Instr& instr = nest.body[at];
  if (instr.mask != kNone && nest.body[instr.mask].dtype != Dtype::b8)
    report(207, "the mask is " + text(nest.body[instr.mask].dtype), at);
  switch (instr.kind) {
    case InstrKind::constant:
      if (!has_value(instr.dtype, instr.value)) report(201, "this is no value of " + text(instr.dtype), at);
      break;
    case InstrKind::index:
    case InstrKind::position:
      if (instr.dtype != Dtype::i64) report(206, "it is " + text(instr.dtype), at);
      if (instr.kind == InstrKind::position && !is_integral(nest.body[instr.operands[0]].dtype, false))
        report(206, "%" + std::to_string(instr.operands[0]) + " is " + text(nest.body[instr.operands[0]].dtype), at);
      break;
    case InstrKind::load:
      if (instr.dtype != buffer(instr.buffer).type.dtype)
        report(202, name(instr.buffer) + " is " + text(buffer(instr.buffer).type.dtype), at);
      break;
    case InstrKind::scalar: scalar_types(nest, at); break;
    case InstrKind::reduce:
    case InstrKind::scan:
    case InstrKind::part: combine_types(nest, at); break;
    case InstrKind::draw: {
      bool word = instr.draw == DrawKind::word || instr.draw == DrawKind::wide_word;
      bool narrow = instr.draw == DrawKind::signed_word;
      if (word || narrow ? instr.dtype != (narrow ? Dtype::i32 : Dtype::i64) : !dtypes::floats.has(instr.dtype))
        report(210, "a draw of " + text(instr.dtype), at);
      if (instr.stream >= program_.streams.size())
        report(101, "there is no stream " + std::to_string(instr.stream), at);
      break;
    }
  }
}

void ProgramVerifier::scalar_types(const Nest& nest, Ssa at) {
  const Instr& instr = nest.body[at];
  const ScalarRow& row = *instr.row;
  if (!row.dtypes.has(instr.compute))
    return report(203, std::string(row.name) + " does not compute in " + text(instr.compute), at);
  for (size_t i = 0; i < instr.operands.size(); ++i) {
    Dtype wanted = operand_dtype(row, instr.compute, static_cast<int>(i)), is = nest.body[instr.operands[i]].dtype;
    if (wanted != is)
      return report(203,
                    "operand %" + std::to_string(instr.operands[i]) + " is " + text(is) + ", and " +
                        std::string(row.name) + " takes " + text(wanted),
                    at);
  }
  if (row.result == ResultRule::target) return;
  Dtype result = result_dtype(row, instr.compute);
  if (result != instr.dtype) report(203, std::string(row.name) + " gives " + text(result), at);
}

void ProgramVerifier::combine_types(const Nest& nest, Ssa at) {
  const Instr& instr = nest.body[at];
  const Instr& whole = instr.kind == InstrKind::part ? nest.body[instr.operands[0]] : instr;
  bool combines = whole.kind == InstrKind::reduce || whole.kind == InstrKind::scan;
  uint32_t part = instr.kind == InstrKind::part ? instr.part : 0;
  if (!combines || part >= row_of(whole.combine).parts)
    return report(205,
                  combines ? std::string(row_of(whole.combine).name) + " has " +
                                 std::to_string(row_of(whole.combine).parts) + " parts"
                           : "%" + std::to_string(instr.operands[0]) + " is neither a reduce nor a scan",
                  at);
  Dtype operand = nest.body[whole.operands[0]].dtype;
  if (instr.kind != InstrKind::part) {
    if (!combinable(instr.combine).has(operand))
      return report(204, std::string(row_of(instr.combine).name) + " of " + text(operand), at);
    if (instr.operands.size() == 2 && nest.body[instr.operands[1]].dtype != Dtype::i64)
      return report(204, "its index is " + text(nest.body[instr.operands[1]].dtype) + ", not i64", at);
  }
  Dtype wanted = part_dtype(whole.combine, operand, part);
  if (wanted != instr.dtype) report(204, "it gives " + text(wanted), at);
}

void ProgramVerifier::sort_types(const Sort& n) {
  const TensorType& keys = buffer(n.keys).type;
  if (n.dim >= std::max<size_t>(keys.rank(), 1))
    report(112, name(n.keys) + " has " + std::to_string(keys.rank()) + " dims");
  const Facts& facts = program_.assumptions.known();
  for (Dim place : n.places)
    if (n.dim >= keys.rank() || !facts.proves(le(0, place)) || !facts.proves(lt(place, keys.sizes[n.dim])))
      report(211, "there may be no place " + to_string(place) + " among the keys");
  for (BufferId to : {n.values, n.indices}) {
    if (to == kNone) continue;
    const TensorType& type = buffer(to).type;
    Dtype dtype = to == n.values ? keys.dtype : Dtype::i64;
    bool fits = type.rank() == keys.rank() && type.dtype == dtype;
    for (size_t d = 0; fits && d < keys.rank(); ++d) {
      const Dim size = type.sizes[d], whole = keys.sizes[d];
      if (d != n.dim)
        fits = size == whole || facts.proves(eq(size, whole));
      else if (!n.places.empty())
        fits = size == Dim(std::ssize(n.places));
      else
        fits = size == whole || facts.proves(le(size, whole));
    }
    if (!fits)
      report(211, name(to) + " is " + to_string(*program_.context->tensor(type)) + ", and the keys are " +
                      to_string(*program_.context->tensor(keys)));
  }
}

}  // namespace lenz::loops
