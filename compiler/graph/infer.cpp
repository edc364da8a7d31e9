#include "compiler/graph/infer.h"

#include "compiler/graph/alias.h"
#include "compiler/graph/copied_strides.h"
#include "compiler/graph/graph.h"
#include "compiler/graph/lazy_views.h"
#include "compiler/graph/operand_devices.h"
#include "compiler/graph/overlap.h"
#include "compiler/graph/simplified.h"

namespace lenz {

Infer::Infer(const std::shared_ptr<Context>& context, const OpTable& table, const OpDef& op, std::span<const Arg> args,
             std::span<const Type* const> value_types, Assumptions& assumptions)
    : context_(context), table_(table), op_(op), args_(args), value_types_(value_types), assumptions_(assumptions) {
  see_numbers();
}

// A number that the graph computes is judged as one that is written there: what eager refuses of it at some sizes
// becomes a guard.
void Infer::see_numbers() {
  for (size_t i = 0; i < args_.size() && i < op_.schema.params.size(); ++i) {
    if (op_.schema.params[i].type.kind != ParamKind::scalar || !args_[i].is_value()) continue;
    const Type& number = *value_types_[args_[i].value()];
    if (number.kind != TypeKind::sym_int) continue;
    if (seen_.empty()) seen_ = SmallVec<Arg, 8>(args_);
    seen_[i] = Arg::of_dim(number.offset);
  }
  if (!seen_.empty()) args_ = seen_;
}

size_t Infer::at(std::string_view param) const {
  int i = op_.schema.find(param);
  LENZ_CHECK(i >= 0, op_.full_name + " has no parameter " + std::string(param));
  return static_cast<size_t>(i);
}

int64_t Infer::specialize(Dim d) {
  if (d.is_constant()) return d.constant();
  if (assumptions_.mentions_open(d)) {
    Range range = assumptions_.known().range(d);
    if (range.low && range.low == range.high) return *range.low;
    const Facts& known = assumptions_.known();
    throw DataDependent(simplified(eq(d, known.hint(d).value_or(1)), known), op_.full_name);
  }
  for (const Cond& c : assumptions_.guards())  // settled before, whatever later guards made of the hints
    if (c.rel == Rel::eq && c.lhs == d && c.rhs.is_constant()) return c.rhs.constant();
  auto value = assumptions_.known().hint(d);
  if (!value) raise("the number of results depends on " + to_string(d));
  if (!decide(eq(d, *value))) raise("the facts leave no value for the number of results, " + to_string(d));
  return *value;
}

const Type* Infer::storage_owner(ValueId v) const {
  if (!owner) return nullptr;
  const ValueId own = owner->storage(v);
  if (owner->type(own).kind != TypeKind::list) return &owner->type(own);
  // Each element of a list has memory of its own: that of the one which v was made from.
  while (v != own) {
    const NodeId by = owner->value(v).producer;
    ValueId from = kNone;
    if (by != kNone)
      for (const Arg& a : owner->node(by).arguments())
        for_each_value(a, [&](ValueId u) {
          if (from == kNone && owner->storage(u) == own) from = u;
        });
    if (from == kNone || from == own) return &owner->type(v);
    v = from;
  }
  return nullptr;
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
  // A definition may hand on a size where its op takes a number.
  if (!d.is_constant()) throw Unsupported(op_.full_name + ": `" + std::string(param) + "` is a size that is left open");
  return d.constant();
}

bool Infer::boolean(std::string_view param) const {
  const Arg& a = arg(param);
  if (a.is_value()) raise("`" + std::string(param) + "` must be a constant: the result's type depends on it");
  return a.kind == ArgKind::boolean && a.boolean();
}

DimVec Infer::ints(std::string_view param) const {
  const Arg& a = arg(param);
  if (a.kind == ArgKind::int_list) return DimVec(a.dim_list());
  if (a.is_none()) return {};
  if (a.kind == ArgKind::arg_list) {  // numbers among values that hold numbers
    DimVec dims;
    for (const Arg& e : a.arg_list()) {
      bool is_int = e.is_value() && value_types_[e.value()]->kind == TypeKind::sym_int;
      if (!is_int && e.kind != ArgKind::integer) raise("argument `" + std::string(param) + "` must hold integers");
      dims.push_back(is_int ? value_types_[e.value()]->offset : e.dim());
    }
    return dims;
  }
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

namespace {
std::string listed(DtypeSet set) {
  std::string text;
  for (int d = 0; d < kDtypeCount; ++d)
    if (set.has(static_cast<Dtype>(d))) text += (text.empty() ? "" : ", ") + std::string(name(static_cast<Dtype>(d)));
  return text;
}

// A row lists the dtypes that its kernels take; what its rule would make of others, nothing can run.
void require_listed_dtype(const Infer& in) {
  const Type* leading = nullptr;
  for (const Arg& a : in.args())
    for_each_value(a, [&](ValueId v) {
      const Type& t = in.type_of(v);
      if (!leading && t.is_tensor()) leading = &t;
      if (!leading && t.kind == TypeKind::list && !t.elements().empty()) leading = t.elements()[0];
    });
  if (leading && leading->is_tensor() && !in.op().dtypes.has(leading->dtype))
    in.raise("has no kernel for " + std::string(name(leading->dtype)) + "; it takes " + listed(in.op().dtypes));
}
}  // namespace

// What libtorch iterates over has no more dims than that.
void Infer::require_rank(const Type& type) const {
  constexpr size_t kMostDims = 64;
  if (type.is_tensor()) require(type.rank() <= kMostDims, "a result of a rank above the limit, 64");
  if (type.kind == TypeKind::list)
    for (const Type* e : type.elements()) require_rank(*e);
}

namespace {
// Operands that eager hands over as copies: what is lazily conjugated or negated, of an op that neither may give a view
// of it nor writes to it. (What eager's own kernels take as it is, products and what makes a tensor like another one,
// does not look at how it lies.)
SmallVec<ValueId, 4> copied_operands(const Infer& in) {
  SmallVec<ValueId, 4> copied;
  const OpDef& op = in.op();
  if (!in.owner || op.schema.space != "aten") return copied;
  if (op.variant == VariantKind::functional && (op.has(Trait::view) || op.has(Trait::maybe_view))) return copied;
  for (size_t i = 0; i < in.args().size(); ++i)
    for_each_value(in.arg(i), [&](ValueId v) {
      if (in.owner->storage(v) == v || !in.type_of(v).is_tensor() || writes_operand(op, in.args(), i)) return;
      if (laziness(*in.owner, v).any()) copied.push_back(v);
    });
  return copied;
}
}  // namespace

void Infer::run_rule() {
  require_listed_dtype(*this);
  const std::optional<Device> joined = require_one_device(*this);
  if (const auto copied = copied_operands(*this); copied.empty()) {
    op_.infer(*this);
  } else {
    std::vector<const Type*> handed_over(value_types_.begin(), value_types_.end());
    for (ValueId v : copied) {
      const Type& t = type_of(v);
      handed_over[v] = context_->tensor({t.dtype, t.device, DimVec(t.sizes()), preserved_strides(*this, t), 0});
    }
    {
      struct Restored {  // also where the rule raises
        std::span<const Type* const>& types;
        const std::span<const Type* const> lying;
        ~Restored() { types = lying; }
      } restored{value_types_, std::exchange(value_types_, handed_over)};
      op_.infer(*this);
    }
    // What gives an operand itself is strung together of ops that saw it as it lies.
    if (std::ranges::any_of(results_, [&](const InferredResult& r) {
          return r.alias_of != kNone && std::ranges::find(copied, r.alias_of) != copied.end();
        })) {
      results_.clear();
      op_.infer(*this);
    }
  }
  for (const InferredResult& r : results_) require_rank(*r.type);
  require_fitting_numbers(*this);
  if (joined) move_results(*joined);
  if (op_.variant == VariantKind::in_place) finish_in_place();
  if (op_.variant == VariantKind::out) finish_out();
  if (owner) refuse_lazy_writes(*this);
  if (op_.variant != VariantKind::functional && owner) refuse_overlaps(*this);
}

// Rules take the first operand's device for the results'.
void Infer::move_results(Device device) {
  for (InferredResult& r : results_) {
    if (!r.type->is_tensor()) continue;
    TensorType moved = r.type->tensor();
    moved.device = device;
    r.type = context_->tensor(moved);
  }
}

namespace {
// c10::canCast: a result may narrow within its category, and never lose complex, fraction or integer.
bool can_cast(Dtype from, Dtype to) {
  if (is_complex(from) && !is_complex(to)) return false;
  if (is_floating(from) && is_integral(to, true)) return false;
  return from == Dtype::b8 || to != Dtype::b8;
}

// Whether what only the run knows holds, as facts say. To assert it would refuse what eager takes: it resizes.
bool is_told(const Assumptions& known, const Cond& cond, const std::string& who) {
  Truth truth = known.truth(cond);
  if (truth == Truth::unknown) throw DataDependent(simplified(cond, known.known()), who);
  return truth == Truth::yes;
}
}  // namespace

// Also refuses a target in which the write would hit one location twice: a dim with stride 0 and more than one element.
void Infer::write_to(const Type& target, const Type& computed, std::string_view param, bool exact) {
  if (exact ? computed.dtype != target.dtype : !can_cast(computed.dtype, target.dtype))
    raise("result type " + std::string(name(computed.dtype)) + " can't be " + (exact ? "stored as" : "cast to") +
          " the type of `" + std::string(param) + "`, " + std::string(name(target.dtype)));
  if (op_.variant == VariantKind::in_place && !on_one_device(computed.device, target.device))
    raise("a result on " + to_string(computed.device) + " can't be stored in `" + std::string(param) +
          "`, which is on " + to_string(target.device));
  for (Dim size : target.sizes())
    if (is_zero(size)) return;  // nothing is written
  for (size_t i = 0; i < target.rank(); ++i)
    if (is_zero(target.strides()[i]) && decide(gt(target.sizes()[i], 1)))
      raise("`" + std::string(param) + "` is written to, but several of its elements share one memory location");
}

void Infer::finish_in_place() {
  const std::string& param = op_.schema.params[0].name;
  auto check = [&](const Type& self, const Type& computed) {
    bool same_shape = self.rank() == computed.rank();
    for (size_t i = 0; same_shape && i < self.rank(); ++i) same_shape = same(self.sizes()[i], computed.sizes()[i]);
    if (!same_shape)
      raise("the result has shape " + to_string(computed) + ", which `" + param + "` (" + to_string(self) +
            ") can't hold in place");
    write_to(self, computed, param, false);
  };
  const Type& computed = *results_[0].type;
  results_.clear();
  if (computed.kind == TypeKind::list) {
    std::vector<const Type*> list = tensors(param);
    for (size_t i = 0; i < list.size(); ++i) check(*list[i], *computed.elements()[i]);
  } else {
    check(tensor(0), computed);
    add(&tensor(0), args_[0].value());
  }
}

// The type of an out= tensor once it is written: one of another shape is resized, as eager does (with a warning unless
// it is empty).
const Type* Infer::written_out(const Type& target, const Type& computed, std::string_view param) {
  OutRule rule = op_.base->variants.out_rule;
  write_to(target, computed, param, rule == OutRule::same_dtype || rule == OutRule::copied || rule == OutRule::plain);
  if (rule == OutRule::plain) {
    auto equal = [&](Dim a, Dim b) {
      if (a == b) return true;
      if (assumptions_.is_open(eq(a, b))) return is_told(assumptions_, eq(a, b), op_.full_name);
      return !(a.is_constant() && b.is_constant()) && assumptions_.assume(eq(a, b));
    };
    DimVec strides = contiguous_strides(target.sizes());
    bool plain = target.rank() == computed.rank();
    for (size_t i = 0; plain && i < target.rank(); ++i)
      plain = equal(target.sizes()[i], computed.sizes()[i]) && equal(target.strides()[i], strides[i]);
    if (plain) return &target;
    throw Unsupported(op_.full_name + ": what eager makes of `" + std::string(param) +
                      "` unless it is contiguous and has the result's sizes");
  }
  bool same_shape = target.rank() == computed.rank();
  for (size_t i = 0; same_shape && i < target.rank(); ++i) same_shape = same(target.sizes()[i], computed.sizes()[i]);
  if (same_shape) return &target;
  TensorType resized = computed.tensor();
  resized.dtype = target.dtype;
  resized.offset = target.offset;
  if (rule == OutRule::copied || rule == OutRule::copied_cast) resized.strides = contiguous_strides(resized.sizes);
  return context_->tensor(resized);
}

void Infer::finish_out() {
  const auto& params = op_.schema.params;
  size_t first = args_.size() - results_.size();
  if (op_.schema.returns.empty()) {  // a list: nothing returned could say what its tensors became
    std::vector<const Type*> list = tensors(params[first].name);
    std::span<const Type* const> computed = results_[0].type->elements();
    if (list.size() != computed.size()) raise("`" + params[first].name + "` has another length than the result");
    for (size_t i = 0; i < list.size(); ++i) {
      std::span<const Dim> have = list[i]->sizes(), want = computed[i]->sizes();
      bool fits = have.size() == want.size();
      for (size_t d = 0; fits && d < have.size(); ++d)
        fits = have[d] == want[d] || !(have[d].is_constant() && want[d].is_constant());
      if (!fits) throw Unsupported(op_.full_name + ": eager would resize a tensor of `" + params[first].name + "`");
      for (size_t d = 0; d < have.size(); ++d) {
        const Cond equal = eq(have[d], want[d]);
        if (assumptions_.is_open(equal)) is_told(assumptions_, equal, op_.full_name);
        require(equal, "an out= tensor must have the result's size");
      }
      written_out(*list[i], *computed[i], params[first].name);
    }
    results_.clear();
    return;
  }
  for (size_t k = 0; k < results_.size(); ++k) {
    if (results_[k].type->kind != TypeKind::tensor) continue;
    const Type* type = written_out(tensor(first + k), *results_[k].type, params[first + k].name);
    // What is read lazily is resized once the result is there, and takes its elements alone.
    if (type != &tensor(first + k) && is_read_lazily(*this, first + k)) {
      TensorType resized = type->tensor();
      resized.strides = contiguous_strides(resized.sizes);
      type = context_->tensor(resized);
    }
    results_[k] = {type, args_[first + k].value()};
  }
}

namespace {
Dim fresh_symbol(SymPool& pool, const std::string& prefix, uint32_t number) {
  std::string name;
  do name = prefix + std::to_string(number++);
  while (pool.find_symbol(name));
  return pool.symbol(name);
}
}  // namespace

Dim Infer::unbacked(Dim low, std::optional<Dim> high) {
  Dim symbol;
  if (keep_assumptions_ && !kept_) kept_ = fork_ ? *fork_ : assumptions_;
  if (unbacked_count_ < unbacked_symbols.size()) {
    symbol = unbacked_symbols[unbacked_count_];
  } else {
    // What a first run learns is forgotten: its symbols serve again, and no text can name them.
    symbol = keep_assumptions_ ? context_->syms.symbol("?" + std::to_string(unbacked_count_))
                               : fresh_symbol(context_->syms, unbacked_prefix, unbacked_count_);
    unbacked_symbols.push_back(symbol);
  }
  ++unbacked_count_;
  assumptions_.open(symbol.node());
  if (low.is_constant() && low.constant() < 0) {
    LENZ_CHECK(!high, "an upper bound beside a negative lower one");
    assumptions_.declare_range(symbol.node(), {low.constant(), std::nullopt});
    return symbol;
  }
  require(assumptions_.declare(ge(symbol, low)) && (!high || assumptions_.declare(le(symbol, *high))),
          "the facts contradict what is known of " + to_string(symbol));
  return symbol;
}

namespace {
bool is_symbol(Dim d) {
  bool found = false;
  for_each_symbol(d, [&](const SymNode* s) { found = found || Dim(s) == d; });
  return found;
}

// Finds what stands in `actual` where `pattern` has just this symbol.
std::optional<Dim> counterpart(const Type& pattern, const Type& actual, Dim symbol) {
  if (pattern.kind != actual.kind || pattern.count != actual.count) return std::nullopt;
  if (pattern.kind == TypeKind::sym_int && pattern.offset == symbol) return actual.offset;
  if (pattern.kind == TypeKind::tensor)
    for (size_t i = 0; i < pattern.count; ++i)
      if (pattern.sizes()[i] == symbol) return actual.sizes()[i];
  for (size_t i = 0; i < pattern.elements().size(); ++i)
    if (auto found = counterpart(*pattern.elements()[i], *actual.elements()[i], symbol)) return found;
  return std::nullopt;
}

}  // namespace

void Infer::run_as(std::span<const Type* const> expected) {
  if (expected.empty()) return run();
  // A first run finds out whether there are unbacked symbols, and where they stand. Most ops have none.
  keep_assumptions_ = true;
  run();
  keep_assumptions_ = false;
  if (!kept_) return;
  SmallVec<Dim, 2> symbols = unbacked_symbols;
  for (uint32_t number = 0; number < symbols.size(); ++number) {
    std::optional<Dim> found;
    for (size_t i = 0; i < std::min(expected.size(), results_.size()) && !found; ++i) {
      if (!expected[i]) continue;
      found = counterpart(*results_[i].type, *expected[i], symbols[number]);
      if (found && !is_symbol(*found)) found.reset();
    }
    symbols[number] = found ? *found : fresh_symbol(context_->syms, unbacked_prefix, number);
  }
  assumptions_ = std::move(*kept_);
  kept_.reset();
  results_.clear();
  unbacked_count_ = 0;
  unbacked_symbols = symbols;
  run();
}

}  // namespace lenz
