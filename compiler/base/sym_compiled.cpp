#include "compiler/base/sym_compiled.h"

#include "compiler/base/small_vec.h"
#include "compiler/base/sym_node.h"

namespace lenz {

CompiledDim::CompiledDim(Dim dim, const SymValues& fixed) {
  if (dim.is_constant()) {
    constant_ = dim.constant();
    return;
  }
  if (std::optional<int64_t> value = evaluate(dim, fixed)) {
    constant_ = *value;
    return;
  }
  SumView sum(dim);
  constant_ = sum.constant();
  for (const SymTerm& term : sum.terms())
    if (!add_linear(term.monomial, term.coefficient, fixed)) {
      terms_.clear();
      emit(dim, fixed);
      return;
    }
}

// A monomial with at most one factor that is not fixed, a symbol.
bool CompiledDim::add_linear(const SymNode* monomial, int64_t coefficient, const SymValues& fixed) {
  const SymNode* open = nullptr;
  ProductView product(monomial);
  for (const SymFactor& factor : product.factors()) {
    std::optional<int64_t> value = evaluate(Dim(factor.atom), fixed);
    if (!value && (open != nullptr || factor.power != 1 || factor.atom->kind != SymKind::symbol)) return false;
    if (!value) open = factor.atom;
    for (int64_t i = 0; value && i < factor.power; ++i)
      if (__builtin_mul_overflow(coefficient, *value, &coefficient)) return false;
  }
  if (open == nullptr) return !__builtin_add_overflow(constant_, coefficient, &constant_);
  terms_.push_back({coefficient, open->id});
  return true;
}

void CompiledDim::emit(Dim dim, const SymValues& fixed) {
  auto push = [&](int64_t value) { steps_.push_back({.kind = Step::constant, .value = value}); };
  if (std::optional<int64_t> value = evaluate(dim, fixed)) return push(*value);
  LENZ_CHECK(!dim.is_constant(), "a constant has a value");
  const SymNode* node = dim.node();
  auto fold = [&](Step::Kind kind) {
    for (size_t i = 0; i < node->args().size(); ++i) {
      emit(node->args()[i], fixed);
      if (i > 0) steps_.push_back({.kind = kind});
    }
  };
  switch (node->kind) {
    case SymKind::symbol: steps_.push_back({.kind = Step::symbol, .value = node->id}); return;
    case SymKind::sum:
      push(node->constant);
      for (const SymTerm& term : node->terms()) {
        emit(Dim(term.monomial), fixed);
        push(term.coefficient);
        steps_.push_back({.kind = Step::multiply});
        steps_.push_back({.kind = Step::add});
      }
      return;
    case SymKind::product:
      push(1);
      for (const SymFactor& factor : node->factors())
        for (int64_t i = 0; i < factor.power; ++i) {
          emit(Dim(factor.atom), fixed);
          steps_.push_back({.kind = Step::multiply});
        }
      return;
    case SymKind::floor_div: return fold(Step::floor_div);
    case SymKind::mod: return fold(Step::mod);
    case SymKind::min: return fold(Step::min);
    case SymKind::max: return fold(Step::max);
    case SymKind::call:
      emit(node->args()[0], fixed);
      steps_.push_back({.kind = Step::call, .fn = node->fn, .factor = node->factor()});
      return;
  }
}

int64_t CompiledDim::run(const int64_t* values) const {
  const std::optional<int64_t> result = run_narrow(values);
  return result ? *result : run_wide(values);
}

// What nearly all take: nothing on the way needs more than 64 bits. Nothing: it may, or is an error.
std::optional<int64_t> CompiledDim::run_narrow(const int64_t* values) const {
  constexpr size_t kDeepest = 16;
  int64_t stack[kDeepest];
  size_t depth = 0;
  for (const Step& step : steps_) {
    if (step.kind == Step::constant || step.kind == Step::symbol) {
      if (depth == kDeepest) return std::nullopt;
      stack[depth++] = step.kind == Step::constant ? step.value : values[step.value];
      continue;
    }
    if (step.kind == Step::call) return std::nullopt;
    const int64_t b = stack[--depth];
    int64_t& a = stack[depth - 1];
    switch (step.kind) {
      case Step::add:
        if (__builtin_add_overflow(a, b, &a)) return std::nullopt;
        break;
      case Step::multiply:
        if (__builtin_mul_overflow(a, b, &a)) return std::nullopt;
        break;
      case Step::floor_div:
      case Step::mod: {
        if (b <= 0) return std::nullopt;
        const int64_t rest = a % b, below = rest < 0;
        a = step.kind == Step::mod ? rest + (below ? b : 0) : a / b - below;
        break;
      }
      case Step::min: a = a < b ? a : b; break;
      default: a = a > b ? a : b; break;
    }
  }
  return stack[0];
}

// Sums and products may pass 64 bits on the way, if the whole does not: the stack is wide.
int64_t CompiledDim::run_wide(const int64_t* values) const {
  SmallVec<Wide, 16> stack;
  auto pop = [&] {
    Wide top = stack.back();
    stack.pop_back();
    return top;
  };
  for (const Step& step : steps_) {
    if (step.kind == Step::constant) {
      stack.push_back(step.value);
      continue;
    }
    if (step.kind == Step::symbol) {
      stack.push_back(values[step.value]);
      continue;
    }
    Wide b = pop();
    if (step.kind == Step::call) {
      std::optional<int64_t> result = apply_call(step.fn, narrow(b), step.factor);
      if (!result) throw_overflow();
      stack.push_back(*result);
      continue;
    }
    Wide a = pop(), result = 0;
    switch (step.kind) {
      case Step::add:
        if (__builtin_add_overflow(a, b, &result)) throw_overflow();
        break;
      case Step::multiply:
        if (__builtin_mul_overflow(a, b, &result)) throw_overflow();
        break;
      case Step::floor_div:
      case Step::mod:
        a = narrow(a), b = narrow(b);
        if (b == 0) throw_zero_division();
        result = step.kind == Step::mod ? floor_rest(a, b) : floor_quotient(a, b);
        break;
      case Step::min: result = a < b ? a : b; break;
      default: result = a > b ? a : b; break;
    }
    stack.push_back(result);
  }
  return narrow(stack.back());
}

int64_t CompiledDim::wide_sum(const int64_t* values) const {
  Wide total = constant_;
  for (const Term& t : terms_)
    if (__builtin_add_overflow(total, Wide{t.coefficient} * values[t.slot], &total)) throw_overflow();
  return narrow(total);
}

}  // namespace lenz
