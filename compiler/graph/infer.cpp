#include "compiler/graph/infer.h"

namespace lenz {

void Assumptions::record(const Cond& cond) {
  if (!started_) {
    known_ = declared_;
    started_ = true;
  }
  known_.add(cond);
  guards_.push_back(cond);
}

bool Assumptions::decide(const Cond& cond) {
  Truth truth = prove(cond);
  if (truth != Truth::unknown) return truth == Truth::yes;
  auto lhs = known().hint(cond.lhs), rhs = known().hint(cond.rhs);
  bool holds = false;
  if (lhs && rhs) {
    switch (cond.rel) {
      case Rel::eq: holds = *lhs == *rhs; break;
      case Rel::ne: holds = *lhs != *rhs; break;
      case Rel::lt: holds = *lhs < *rhs; break;
      case Rel::le: holds = *lhs <= *rhs; break;
    }
  }
  record(holds ? cond : negate(cond));
  return holds;
}

bool Assumptions::assume(const Cond& cond) {
  Truth truth = prove(cond);
  if (truth == Truth::unknown) record(cond);
  return truth != Truth::no;
}

Infer::Infer(Context& context, const OpDef& op, std::span<const Arg> args, std::span<const Type* const> value_types,
             Assumptions& assumptions)
    : context_(context), op_(op), args_(args), value_types_(value_types), assumptions_(assumptions) {}

size_t Infer::at(std::string_view param) const {
  int i = op_.schema.find(param);
  LENZ_CHECK(i >= 0, op_.full_name + " has no parameter " + std::string(param));
  return static_cast<size_t>(i);
}

void Infer::raise(std::string_view message) const { throw UserError(op_.full_name + ": " + std::string(message)); }

void Infer::require(const Cond& cond, std::string_view message) {
  if (cond.lhs.is_constant() && cond.rhs.is_constant()) {
    if (*evaluate(cond, [](const SymNode*) { return std::nullopt; })) return;
  } else if (assumptions_.assume(cond)) {
    return;
  }
  raise(std::string(message) + " (needs " + to_string(cond) + ")");
}

const Type& Infer::tensor(size_t i) const {
  const Arg& a = args_[i];
  if (!a.is_value()) raise("argument `" + op_.schema.params[i].name + "` must be a tensor");
  const Type& t = *value_types_[a.value()];
  if (!t.is_tensor()) raise("argument `" + op_.schema.params[i].name + "` must be a tensor, not " + to_string(t));
  return t;
}

const Type* Infer::tensor_or_null(std::string_view param) const {
  int i = op_.schema.find(param);
  if (i < 0 || args_[static_cast<size_t>(i)].is_none()) return nullptr;
  return &tensor(static_cast<size_t>(i));
}

std::vector<const Type*> Infer::tensors(std::string_view param) const {
  const Arg& a = arg(param);
  std::vector<const Type*> types;
  if (a.is_value()) {
    for (const Type* t : value_types_[a.value()]->elements()) types.push_back(t);
  } else {
    for (ValueId v : a.value_list()) types.push_back(v == kNone ? nullptr : value_types_[v]);
  }
  for (const Type* t : types)
    if (t && !t->is_tensor()) raise("`" + std::string(param) + "` must hold tensors");
  return types;
}

std::optional<Dim> Infer::maybe_integer(std::string_view param) const {
  const Arg& a = arg(param);
  if (a.is_none()) return std::nullopt;
  if (a.kind == ArgKind::integer) return a.dim();
  if (a.kind == ArgKind::boolean) return Dim(a.i);
  if (a.is_value() && value_types_[a.value()]->kind == TypeKind::sym_int) return value_types_[a.value()]->offset;
  raise("argument `" + std::string(param) + "` must be an integer");
}

Dim Infer::integer(std::string_view param) const {
  auto value = maybe_integer(param);
  if (!value) raise("argument `" + std::string(param) + "` is missing");
  return *value;
}

int64_t Infer::constant(std::string_view param) const {
  Dim d = integer(param);
  if (!d.is_constant()) raise("argument `" + std::string(param) + "` must be a constant integer");
  return d.constant();
}

bool Infer::boolean(std::string_view param) const { return arg(param).kind == ArgKind::boolean && arg(param).boolean(); }

DimVec Infer::ints(std::string_view param) const {
  const Arg& a = arg(param);
  if (a.kind == ArgKind::int_list) return DimVec(a.dim_list());
  if (a.is_none()) return {};
  return {integer(param)};
}

SmallVec<int64_t, 6> Infer::constants(std::string_view param) const {
  SmallVec<int64_t, 6> values;
  for (Dim d : ints(param)) {
    if (!d.is_constant()) raise("argument `" + std::string(param) + "` must hold constant integers");
    values.push_back(d.constant());
  }
  return values;
}

std::optional<Dtype> Infer::dtype(std::string_view param) const {
  int i = op_.schema.find(param);
  if (i < 0 || args_[static_cast<size_t>(i)].kind != ArgKind::dtype) return std::nullopt;
  return args_[static_cast<size_t>(i)].dtype();
}

double Infer::real(std::string_view param) const {
  const Arg& a = arg(param);
  if (a.kind == ArgKind::real) return a.real();
  if (a.kind == ArgKind::boolean) return a.boolean() ? 1 : 0;
  if (a.kind == ArgKind::integer && !a.symbolic) return static_cast<double>(a.i);
  raise("argument `" + std::string(param) + "` must be a constant number");
}

std::string_view Infer::string(std::string_view param) const {
  const Arg& a = arg(param);
  return a.kind == ArgKind::string ? a.string() : std::string_view{};
}

int64_t Infer::wrap_dim(int64_t dim, size_t rank) const {
  auto n = static_cast<int64_t>(rank == 0 ? 1 : rank);
  if (dim < -n || dim >= n)
    raise("dim " + std::to_string(dim) + " is out of range for a tensor of rank " + std::to_string(rank));
  return dim < 0 ? dim + n : dim;
}

Dim Infer::unbacked(Dim low, std::optional<Dim> high) {
  Dim symbol = context_.syms.symbol(unbacked_prefix + std::to_string(unbacked_count++));
  assumptions_.facts().add(ge(symbol, low));
  if (high) assumptions_.facts().add(le(symbol, *high));
  return symbol;
}

}  // namespace lenz
