#include "compiler/backend/llvm/scalar_code.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <map>

#include "compiler/backend/llvm/families.h"
#include "compiler/backend/llvm/shared_rows.h"
#include "compiler/base/error.h"
#include "compiler/scalar/rounding.h"

namespace lenz::native {

namespace {

const std::map<std::string_view, Spelling>& spellings() {
  static const auto table = [] {
    Spellings all;
    add_arithmetic(all);
    add_divisions(all);
    add_comparisons(all);
    add_bits(all);
    add_float_parts(all);
    add_conversions(all);
    add_elementary(all);
    add_fast(all);
    add_fast_f64(all);
    add_fused(all);
    add_fused_logarithms(all);
    add_fused_powers(all);
    add_fused_angles(all);
    add_fused_arcs(all);
    add_fused_arc_tangents(all);
    add_fused_error_function(all);
    add_fused_lengths(all);
    add_fused_gamma(all);
    add_fused_normal(all);
    add_fused_incomplete_gamma(all);
    add_special(all);
    add_zeta(all);
    add_bessel(all);
    add_complex(all);
    // A row may be spelled by several families, each for its own dtypes.
    std::map<std::string_view, Spelling> merged;
    for (const Spelling& s : all) {
      LENZ_CHECK(find_scalar(s.name) != nullptr, "a spelling of '" + std::string(s.name) + "', which is no row");
      Spelling& into = merged[s.name];
      auto take = [&](Spell& to, Spell from) {
        LENZ_CHECK(to == nullptr || from == nullptr, "two spellings of '" + std::string(s.name) + "'");
        if (from != nullptr) to = from;
      };
      into.name = s.name;
      take(into.booleans, s.booleans);
      take(into.integers, s.integers);
      take(into.reals, s.reals);
      take(into.complexes, s.complexes);
      take(into.only_f32, s.only_f32);
      take(into.only_f64, s.only_f64);
      take(into.only_reduced, s.only_reduced);
      take(into.fused_f32, s.fused_f32);
      take(into.fused_f64, s.fused_f64);
    }
    return merged;
  }();
  return table;
}

Spell find_spelling(const ScalarRow& row, Dtype compute, bool fma) {
  if (!row.dtypes.has(compute)) return nullptr;
  auto found = spellings().find(row.name);
  if (found == spellings().end()) return nullptr;
  const Spelling& s = found->second;
  if (compute == Dtype::b8) return s.booleans;
  if (is_integral(compute, false)) return s.integers;
  if (is_complex(compute)) return s.complexes;
  if (is_reduced_float(compute) && s.only_reduced != nullptr) return s.only_reduced;
  const bool f64 = compute == Dtype::f64;
  if (const Spell fused = f64 ? s.fused_f64 : s.fused_f32; fma && fused != nullptr) return fused;
  const Spell own = f64 ? s.only_f64 : s.only_f32;
  return own != nullptr ? own : s.reals;
}

LaneType held_lane(Dtype dtype) {
  if (dtype == Dtype::b8) return LaneType::i1;
  if (is_integral(dtype, false)) return integer_of_bits(info(dtype).bits);
  return to_real(dtype) == Dtype::f64 ? LaneType::f64 : LaneType::f32;
}

}  // namespace

ScalarCode::ScalarCode(llvm::IRBuilderBase& builder, const CpuTarget& target, int lanes, bool shares_rows)
    : builder_(&builder), target_(&target), lanes_(lanes), shares_rows_(shares_rows) {
  LENZ_CHECK(lanes >= 1 && lanes <= 64, "between 1 and 64 lanes");
}

llvm::Type* ScalarCode::held_type(Dtype dtype) const {
  return LaneCode(*builder_, *target_, lanes_).llvm_type(held_lane(dtype));
}
llvm::Type* ScalarCode::memory_type(Dtype dtype) const {
  const LaneCode code(*builder_, *target_, lanes_);
  const Dtype part = to_real(dtype);
  if (part == Dtype::f32 || part == Dtype::f64) return code.llvm_type(held_lane(part));
  return code.llvm_type(integer_of_bits(info(part).bits));
}

Lanes ScalarCode::apply(const ScalarRow& row, Dtype compute, Dtype result, std::span<const Lanes> operands,
                        llvm::Value** raised) {
  if (is_called(row, compute)) {
    LaneCode code(*builder_, *target_, lanes_);
    std::vector<V> values;
    for (const Lanes& operand : operands) values.push_back(code.wrap(operand.value));
    return {code.by_table(row, compute == Dtype::f64 ? LaneType::f64 : LaneType::f32, values).value};
  }
  const Spell spelling = find_spelling(row, compute, target_->fma);
  if (spelling == nullptr)
    throw Unsupported("no code for scalar primitive '" + std::string(row.name) + "' in " + std::string(name(compute)));
  LENZ_CHECK(static_cast<int>(operands.size()) == row.arity, "a scalar primitive has another number of operands");
  if (shares_rows_)
    if (const SharedRow& shared = shared_row(row, compute, result, *target_, lanes_); shared.apart)
      return call(shared, result, operands, raised);
  // Algorithms below depend on each rounding: the caller's licence to reorder is not for them.
  llvm::IRBuilderBase::FastMathFlagGuard guard(*builder_);
  builder_->clearFastMathFlags();
  LaneCode code(*builder_, *target_, lanes_);
  Call call{code, compute, result, {}};
  Complex values[3];
  for (size_t i = 0; i < operands.size(); ++i) {
    values[i].re = code.wrap(operands[i].value);
    if (operands[i].imaginary != nullptr) values[i].im = code.wrap(operands[i].imaginary);
    LENZ_CHECK(values[i].re.type == held_lane(operand_dtype(row, compute, static_cast<int>(i))),
               "operand " + std::to_string(i) + " of '" + std::string(row.name) + "' is not held as its dtype is");
  }
  const Complex answer = spelling(call, values);
  LENZ_CHECK(answer.re.type == held_lane(result) && static_cast<bool>(answer.im) == is_complex(result),
             "the spelling of '" + std::string(row.name) + "' answers in another dtype");
  if (raised != nullptr) *raised = call.raised.value;
  return {answer.re.value, answer.im.value};
}

Lanes ScalarCode::call(const SharedRow& row, Dtype result, std::span<const Lanes> operands, llvm::Value** raised) {
  llvm::IRBuilderBase& b = *builder_;
  llvm::BasicBlock& entry = b.GetInsertBlock()->getParent()->getEntryBlock();
  llvm::IRBuilder<> at_entry(&entry, entry.begin());
  std::vector<llvm::Value*> arguments;
  for (const Lanes& operand : operands) {
    arguments.push_back(operand.value);
    if (operand.imaginary != nullptr) arguments.push_back(operand.imaginary);
  }
  llvm::Type *held = held_type(result), *lanes = held_type(Dtype::b8);
  llvm::Value* const nothing = llvm::ConstantPointerNull::get(b.getPtrTy());
  llvm::Value* const value = at_entry.CreateAlloca(held);
  llvm::Value* const imaginary = is_complex(result) ? at_entry.CreateAlloca(held) : nothing;
  llvm::Value* const where = row.raises ? at_entry.CreateAlloca(lanes) : nothing;
  arguments.insert(arguments.end(), {value, imaginary, where});
  std::vector<llvm::Type*> types;
  for (const llvm::Value* a : arguments) types.push_back(a->getType());
  auto* type = llvm::FunctionType::get(b.getVoidTy(), types, false);
  b.CreateCall(b.GetInsertBlock()->getModule()->getOrInsertFunction(row.symbol, type), arguments);
  if (raised != nullptr) *raised = row.raises ? b.CreateLoad(lanes, where) : nullptr;
  return {b.CreateLoad(held, value), is_complex(result) ? b.CreateLoad(held, imaginary) : nullptr};
}

Lanes ScalarCode::constant(Dtype dtype, const ScalarValue& value) {
  LaneCode code(*builder_, *target_, lanes_);
  const LaneType lane = held_lane(dtype);
  if (is_complex(dtype))
    return {code.real(lane, value.complex().real()).value, code.real(lane, value.complex().imag()).value};
  if (is_floating(dtype)) return {code.real(lane, value.real()).value};
  return {code.integer(lane, value.integer()).value};
}

Lanes ScalarCode::load_convert(Dtype dtype, const Lanes& in_memory) {
  if (is_complex(dtype) || dtype == Dtype::f32 || dtype == Dtype::f64) return in_memory;
  LaneCode code(*builder_, *target_, lanes_);
  return {held_from_bits(code, dtype, code.wrap(in_memory.value)).value};
}
Lanes ScalarCode::store_convert(Dtype dtype, const Lanes& held, bool fits) {
  if (is_complex(dtype) || dtype == Dtype::f32 || dtype == Dtype::f64) return held;
  LaneCode code(*builder_, *target_, lanes_);
  if (fits && dtype == Dtype::bf16) return {convert(lshr(bits(code.wrap(held.value)), 16), LaneType::i16).value};
  return {held_bits(code, dtype, code.wrap(held.value)).value};
}

bool ScalarCode::loads_pairs(Dtype dtype) const {
  return dtype == Dtype::bf16 && lanes_ == 16 && target_->permute_bytes;
}
bool ScalarCode::stores_pairs(Dtype dtype) const { return dtype == Dtype::bf16 && lanes_ == 16 && target_->bf16; }

std::array<Lanes, 2> ScalarCode::load_convert_pair(Dtype dtype, llvm::Value* in_memory) {
  LENZ_CHECK(loads_pairs(dtype), "a pair of vectors of another dtype");
  LaneCode code(*builder_, *target_, lanes_);
  const V words = code.wrap(in_memory);
  return {Lanes{as_float(code.in_upper_halves(words, 0)).value},
          Lanes{as_float(code.in_upper_halves(words, lanes_)).value}};
}

llvm::Value* ScalarCode::store_convert_pair(Dtype dtype, const Lanes& first, const Lanes& second) {
  LENZ_CHECK(stores_pairs(dtype), "a pair of vectors of another dtype");
  LaneCode code(*builder_, *target_, lanes_);
  return bf16_bits(code, code.wrap(first.value), code.wrap(second.value)).value;
}

std::array<Lanes, 2> ScalarCode::load_even_and_odd(llvm::Value* in_memory, bool adds) {
  LaneCode code(*builder_, *target_, lanes_);
  const V words = code.as_words(in_memory);
  const V even = adds && target_->funnel_shifts ? code.lower_halves_up(words) : words << 16;
  return {Lanes{as_float(even).value}, Lanes{as_float(words & kUpperHalf).value}};
}

llvm::Value* ScalarCode::store_even_and_odd(const Lanes& even, const Lanes& odd, bool fits) {
  LaneCode code(*builder_, *target_, lanes_);
  const V first = code.wrap(even.value), second = code.wrap(odd.value);
  if (!fits && stores_pairs(Dtype::bf16)) return code.alternating(bf16_bits(code, first, second)).value;
  const V words = fits ? lshr(bits(first), 16) | bits(second) : bf16_words(code, first, second);
  return code.as_halves(words).value;
}

llvm::Value* ScalarCode::store_even_and_odd_relu(const Lanes& even, const Lanes& odd) {
  LENZ_CHECK(stores_pairs(Dtype::bf16), "a pair of vectors for another target");
  LaneCode code(*builder_, *target_, lanes_);
  return code.alternating(bf16_bits_of_relu(code, code.wrap(even.value), code.wrap(odd.value))).value;
}

std::array<Lanes, 2> ScalarCode::in_order(const Lanes& even, const Lanes& odd) {
  std::array<Lanes, 2> made;
  for (int half = 0; half < 2; ++half) {
    std::vector<int> from(static_cast<size_t>(lanes_));
    for (int i = 0; i < lanes_; ++i) from[static_cast<size_t>(i)] = (half * lanes_ + i) / 2 + (i % 2 == 0 ? 0 : lanes_);
    made[static_cast<size_t>(half)] = {builder_->CreateShuffleVector(even.value, odd.value, from)};
  }
  return made;
}

bool ScalarCode::rounds_words(Dtype dtype) const { return dtype == Dtype::bf16 && lanes_ > 1 && !target_->bf16; }
std::array<Lanes, 2> ScalarCode::round_words(const Lanes& first, const Lanes& second) {
  LaneCode code(*builder_, *target_, lanes_);
  const auto words = bf16_words_apart(code, code.wrap(first.value), code.wrap(second.value));
  return {Lanes{as_float(words[0]).value}, Lanes{as_float(words[1]).value}};
}

bool has_spelling(const ScalarRow& row, Dtype compute) { return find_spelling(row, compute, false) != nullptr; }

bool is_called(const ScalarRow& row, Dtype compute) {
  return row.dtypes.has(compute) && is_floating(compute) && row.eval.reals != nullptr &&
         result_dtype(row, Dtype::f64, Dtype::f64) == Dtype::f64 && row.operands != OperandRule::condition_first &&
         !has_spelling(row, compute);
}

std::vector<std::string> missing_spellings() {
  std::vector<std::string> missing;
  for (const ScalarRow& row : scalar_table())
    for (int d = 0; d < kDtypeCount; ++d) {
      const auto dtype = static_cast<Dtype>(d);
      if (row.dtypes.has(dtype) && !has_spelling(row, dtype))
        missing.push_back(std::string(row.name) + " " + std::string(name(dtype)));
    }
  return missing;
}

}  // namespace lenz::native
