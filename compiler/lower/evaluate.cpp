#include "compiler/lower/evaluate.h"

#include <algorithm>

#include "compiler/graph/alias.h"
#include "compiler/graph/lazy_views.h"
#include "compiler/lower/coordinates.h"

namespace lenz::lower {

using loops::BufferId;
using notation::AxisList;
using notation::Expr;
using notation::Statement;

TextRunner::TextRunner(Lowering& lowering, const Node& node, std::span<const BufferId> results)
    : lowering_(lowering),
      node_(node),
      results_(results),
      values_(lowering.graph(), kNone, *node.op, node.arguments(), node.origin) {}

void TextRunner::wrong(const std::string& what) const {
  throw InternalError("the loops of " + node_.op->full_name + ": " + what);
}

NestBuilder& TextRunner::nest() {
  if (!nest_) wrong("a scalar outside of a nest");
  return *nest_;
}

// --- values

const TensorType& TextRunner::type(const Item& v) const { return lowering_.program.buffers[buffer(v)].type; }

BufferId TextRunner::buffer(const Item& v) const {
  if (v.kind == Item::buffer) return v.id;
  if (v.kind != Item::host || !v.arg.is_value()) wrong("expected a tensor");
  return lowering_.buffer(v.arg.value());
}

ValueId TextRunner::operand_in(BufferId operand) const {
  for (const Arg& a : node_.arguments())
    if (a.is_value() && lowering_.buffer(a.value()) == operand) return a.value();
  wrong("memory of what is no operand");
}

namespace {
// Whether all places of a tensor are known to lie between the first and the last of another one.
bool lies_within(const Facts& facts, const TensorType& part, const TensorType& whole) {
  if (std::ranges::any_of(part.sizes, [&](Dim size) { return facts.proves(eq(size, 0)); })) return true;
  auto last = [](const TensorType& t) {
    Dim at = t.offset;
    for (size_t d = 0; d < t.sizes.size(); ++d) at += t.strides[d] * (t.sizes[d] - 1);
    return at;
  };
  return facts.proves(ge(part.offset, whole.offset)) && facts.proves(le(last(part), last(whole)));
}
}  // namespace

BufferId TextRunner::memory(BufferId operand) const {
  const ValueId owner = lowering_.viewed_through_lazy(operand_in(operand));
  const BufferId b = lowering_.buffer(owner);
  const TensorType &said = lowering_.type(owner).tensor(), &laid = lowering_.program.buffers[b].type;
  if (!(said.strides == laid.strides &&
        said.offset == laid.offset))  // the operand of a sub-graph that says another one
    throw Unsupported("a tensor that lies otherwise, looked at through its memory");
  const NodeId producer = lowering_.graph().value(owner).producer;
  const bool resized = producer != kNone && is_geometry_view(lowering_.graph(), lowering_.graph().node(producer));
  if (resized && !(is_dense(lowering_.program, said) &&
                   lies_within(lowering_.program.assumptions.known(), type(Item::of_buffer(results_[0])), said)))
    throw Unsupported("memory beside a view of elements of another size, which loops make by themselves");
  return b;
}

Ssa TextRunner::shown(BufferId operand, Ssa of_memory) {
  const ValueId v = operand_in(operand);
  const Laziness by = laziness(lowering_.graph(), v),
                 owner = laziness(lowering_.graph(), lowering_.viewed_through_lazy(v));
  const Dtype dtype = lowering_.type(v).dtype;
  if (nest().dtype(of_memory) != dtype) of_memory = nest().apply(*find_scalar("bitcast"), {{of_memory}}, dtype);
  if (by.conjugated != owner.conjugated) of_memory = nest().apply("conj_physical", {of_memory});
  if (by.negated != owner.negated) of_memory = nest().apply("neg", {of_memory});
  return of_memory;
}

bool TextRunner::is_number_of_the_run(const Item& v) const {
  if (v.kind != Item::host || !v.arg.is_value()) return false;
  const TypeKind kind = lowering_.type(v.arg.value()).kind;
  return kind == TypeKind::sym_float || kind == TypeKind::sym_bool;
}

Ssa TextRunner::scalar(const Item& v, std::optional<Dtype> like) {
  if (v.kind == Item::scalar) return v.ssa;
  if (v.kind == Item::host && v.arg.is_value() && lowering_.type(v.arg.value()).kind == TypeKind::sym_int)
    return scalar(Item::of(Arg::of_dim(lowering_.type(v.arg.value()).offset)), like);
  if (v.kind == Item::buffer) return nest().load(buffer(v), {});
  if (v.arg.is_value()) {  // a number that only the run knows takes a dtype as one that is written does
    const Ssa number = nest().load(buffer(v), {});
    return like && is_number_of_the_run(v) ? nest().converted(number, *like) : number;
  }
  if (!like && v.arg.kind == ArgKind::integer) return nest().index(v.arg.dim());
  if (!like && v.arg.kind == ArgKind::boolean) like = Dtype::b8;
  if (!like) wrong("a number whose dtype nothing says");
  return nest().constant(*like, v.arg);
}

Ssa TextRunner::condition(const Item& v) { return scalar(v, Dtype::b8); }

Dim TextRunner::dim(const Item& v) {
  if (v.kind == Item::scalar) wrong("a scalar where a size or coordinate stands: position(x, size) makes one of it");
  return values_.dim(v.arg);
}

DimVec TextRunner::dims(const Item& v) {
  if (v.kind != Item::host) wrong("expected a list");
  DimVec out;
  if (v.arg.kind == ArgKind::int_list) {
    out.append(v.arg.dim_list().data(), v.arg.dim_list().data() + v.arg.dim_list().size());
  } else {
    for (const Arg& a : values_.items_of(v.arg)) out.push_back(values_.dim(a));
  }
  return out;
}

Item TextRunner::list(std::span<const Dim> dims) { return Item::of(lowering_.program.context->dims(dims)); }

uint32_t TextRunner::stream(bool wide, std::optional<Dim> elements) {
  if (stream_) return *stream_;
  std::optional<uint64_t> seed;
  for (const Arg& a : node_.arguments())
    if (a.kind == ArgKind::seed) seed = a.seed;
  Dim drawn = elements ? *elements : numel(lowering_.program.buffers[results_[0]].type.sizes);
  stream_ = lowering_.stream(seed, drawn, wide);
  return *stream_;
}

Item TextRunner::host_name(const std::string& name) {
  if (auto local = locals_.find("$" + name); local != locals_.end()) return local->second;
  if (name == "out") return Item::of(Arg::of_dim(lowering_.type(node_.result()).offset));  // a result that is a size
  int at = node_.op->schema.find(name);
  if (at < 0) wrong("no parameter or value $" + name);
  return Item::of(node_.args[static_cast<size_t>(at)]);
}

Item TextRunner::buffer_name(const std::string& name) {
  if (auto local = locals_.find("%" + name); local != locals_.end()) return local->second;
  if (name.starts_with("out")) {
    size_t number = name.size() == 3 ? 0 : static_cast<size_t>(name[3] - '0');
    if (number >= results_.size()) wrong("no result %" + name);
    return Item::of_buffer(results_[number]);
  }
  Item v = host_name(name);
  return Item::of_buffer(buffer(v));
}

bool TextRunner::is_truth(const Item& v) {
  if (v.kind != Item::host) wrong("a condition that only the nest knows: `when` or choose by `where`");
  return values_.truth(v.arg);
}

// --- statements

void TextRunner::run(std::span<const Statement> statements) {
  for (const Statement& s : statements) statement(s);
}

void TextRunner::statement(const Statement& s) {
  switch (s.kind) {
    case Statement::assign: locals_[s.names[0]] = evaluate(*s.exprs[0]); return;
    case Statement::let: return let(s);
    case Statement::store: return store(s);
    case Statement::loop: return loop(s);
    case Statement::each: return each(s);
    case Statement::branch: return run(is_truth(evaluate(*s.exprs[0])) ? s.body : s.otherwise);
    case Statement::when: {
      nest().push_mask(condition(evaluate(*s.exprs[0])));
      run(s.body);
      nest().pop_mask();
      return;
    }
    case Statement::raise: throw UserError(node_.op->full_name + ": " + s.exprs[0]->name);
    case Statement::procedure: return procedure(s);
  }
}

void TextRunner::let(const Statement& s) {
  Item v = evaluate(*s.exprs[0]);
  locals_[s.names[0]] = v;
  for (size_t i = 1; i < s.names.size(); ++i)
    locals_[s.names[i]] = Item::of_scalar(nest().part(scalar(v), static_cast<uint32_t>(i)));
}

void TextRunner::loop(const Statement& s) {
  if (nest_) wrong("a nest in a nest");
  nest_.emplace(lowering_.nest(node_.op->full_name, node_.origin));
  if (!s.name.empty() && !(s.name == "matmul" && lowering_.multiplies_a_vector(node_)))
    nest_->tag(loops::find_tag(s.name).value());
  for (const AxisList& axes : s.axes) {
    auto kind = static_cast<loops::AxisKind>(axes.kind);
    Item extents = evaluate(*axes.extents);
    if (axes.single) {
      locals_["$" + axes.name] = Item::of(Arg::of_dim(nest_->axis(dim(extents), kind)));
      continue;
    }
    DimVec at;
    for (Dim extent : dims(extents)) at.push_back(nest_->axis(extent, kind));
    locals_["$" + axes.name] = list(at);
  }
  run(s.body);
  nest_->finish(*lowering_.block);
  nest_.reset();
}

void TextRunner::store(const Statement& s) {
  if (nest_) return store_at(s);
  // Outside of a nest: over all places of the buffer, which the one name in the brackets stands for.
  const Expr& target = *s.exprs[0];
  if (target.items.size() != 2 || target.items[1]->kind != Expr::host) wrong("a store outside of a nest is %x[$i] = e");
  nest_.emplace(lowering_.nest(node_.op->full_name, node_.origin));
  DimVec at;
  for (Dim extent : type(evaluate(*target.items[0])).sizes)
    at.push_back(nest_->axis(extent, loops::AxisKind::parallel));
  locals_["$" + target.items[1]->name] = list(at);
  store_at(s);
  nest_->finish(*lowering_.block);
  nest_.reset();
}

void TextRunner::store_at(const Statement& s) {
  BufferId target = buffer(evaluate(*s.exprs[0]->items[0]));
  DimVec at = coordinates(*s.exprs[0]);
  Ssa value = scalar(evaluate(*s.exprs[1]), lowering_.program.buffers[target].type.dtype);
  using enum loops::StoreMode;
  loops::StoreMode mode = s.name == "="      ? assign
                          : s.name == "put=" ? scatter
                          : s.name == "+="   ? add
                          : s.name == "*="   ? multiply
                          : s.name == "min=" ? minimum
                          : s.name == "max=" ? maximum
                                             : any;
  bool through_position = std::ranges::any_of(at, [&](Dim d) { return nest().is_position(d); });
  nest().store(target, at, value, mode, mode == assign && through_position);
}

void TextRunner::each(const Statement& s) {
  Item list = evaluate(*s.exprs[0]);
  if (list.kind != Item::host) wrong("expected a list");
  int64_t number = 0;
  for (const Arg& item : values_.items_of(list.arg)) {
    locals_[s.names[0]] =
        s.names[0][0] == '%' && item.is_value() ? Item::of_buffer(lowering_.buffer(item.value())) : Item::of(item);
    if (s.names.size() > 1) locals_[s.names[1]] = Item::of(Arg::of_int(number));
    ++number;
    run(s.body);
  }
}

void TextRunner::procedure(const Statement& s) {
  if (s.name == "sort") return sort(s);
  if (s.name == "bind") return bind(s);
  if (s.name == "check") return check(s);
  if (s.name == "unsupported")
    throw Unsupported(node_.op->full_name + ": " + std::string(evaluate(*s.exprs[0]).arg.string()));
  if (s.name == "extern") throw NeedsExtern();
  wrong("no procedure " + s.name);
}

// sort(%keys, %values, %indices, dim, descending, stable)
void TextRunner::sort(const Statement& s) {
  std::vector<Item> a;
  for (const auto& e : s.exprs) a.push_back(evaluate(*e));
  if (a.size() != 6) wrong("sort(keys, values, indices, dim, descending, stable)");
  loops::Sort node;
  node.keys = buffer(a[0]);
  node.values = buffer(a[1]);
  if (a[2].kind == Item::buffer) node.indices = a[2].id;
  node.dim = static_cast<uint32_t>(values_.constant(a[3].arg));
  node.descending = is_truth(a[4]);
  node.stable = is_truth(a[5]);
  node.origin = node_.origin;
  lowering_.block->nodes.push_back({node});
}

// check(%holds, "text")
void TextRunner::check(const Statement& s) {
  if (s.exprs.size() != 2) wrong("check(tensor, text)");
  loops::Check node;
  node.holds = buffer(evaluate(*s.exprs[0]));
  node.message = node_.op->full_name + ": " + std::string(evaluate(*s.exprs[1]).arg.string());
  node.origin = node_.origin;
  lowering_.block->nodes.push_back({std::move(node)});
}

// bind(%count, size): the symbol that a run only knows gets its value.
void TextRunner::bind(const Statement& s) {
  if (s.exprs.size() != 2) wrong("bind(tensor, size)");
  BufferId from = buffer(evaluate(*s.exprs[0]));
  Dim symbol = dim(evaluate(*s.exprs[1]));
  if (symbol.is_constant()) return;  // known already
  if (kind_of(symbol) != SymKind::symbol) wrong("bind needs a symbol, not " + to_string(symbol));
  lowering_.block->nodes.push_back({loops::Bind{symbol, from}});
}

// --- expressions

Item TextRunner::evaluate(const Expr& e) {
  switch (e.kind) {
    case Expr::literal: return Item::of(e.value);
    case Expr::text: return Item::of(lowering_.program.context->string(e.name));
    case Expr::host: return host_name(e.name);
    case Expr::buffer: return buffer_name(e.name);
    case Expr::scalar: {
      auto local = locals_.find(e.name);
      if (local == locals_.end()) wrong("no scalar " + e.name);
      return local->second;
    }
    case Expr::list: {
      SmallVec<Arg, 8> items;
      for (const auto& item : e.items) {
        Item v = evaluate(*item);
        if (v.kind == Item::scalar) wrong("a scalar in a list");
        items.push_back(v.arg);
      }
      return Item::of(values_.list_of(items));
    }
    case Expr::subscript: return subscript(e);
    case Expr::binary: return binary(e);
    case Expr::negate: {
      Item v = evaluate(*e.items[0]);
      if (v.kind == Item::host && !v.arg.is_value()) return host_binary("-", Arg::of_int(0), v.arg);
      return Item::of_scalar(nest().apply("neg", {scalar(v)}));
    }
    case Expr::invert: {
      Item v = evaluate(*e.items[0]);
      if (v.kind == Item::host) return Item::of(Arg::of_bool(!is_truth(v)));
      return Item::of_scalar(nest().apply("logical_not", {v.ssa}));
    }
    case Expr::call: return call(e);
    case Expr::reduce:
    case Expr::scan: return combined(e);
  }
  wrong("an expression of no kind");
}

DimVec TextRunner::coordinates(const Expr& e) {
  DimVec at;
  for (size_t i = 1; i < e.items.size(); ++i) {
    Item v = evaluate(*e.items[i]);
    bool is_list = v.kind == Item::host && (v.arg.kind == ArgKind::int_list || v.arg.kind == ArgKind::arg_list);
    if (is_list) {
      DimVec part = dims(v);
      at.append(part.begin(), part.end());
    } else {
      at.push_back(dim(v));
    }
  }
  return at;
}

Item TextRunner::subscript(const Expr& e) {
  Item base = evaluate(*e.items[0]);
  return Item::of_scalar(nest().load(buffer(base), coordinates(e)));
}

Item TextRunner::combined(const Expr& e) {
  auto combine = loops::find_combine(e.name);
  if (!combine) wrong("no combine " + e.name);
  SmallVec<Ssa, 3> operands;
  for (const auto& item : e.items) operands.push_back(scalar(evaluate(*item)));
  auto kind = e.kind == Expr::reduce ? loops::InstrKind::reduce : loops::InstrKind::scan;
  return Item::of_scalar(nest().combined(kind, *combine, operands));
}

namespace {
std::string_view row_of_operator(std::string_view op) {
  constexpr std::pair<std::string_view, std::string_view> kRows[] = {
      {"+", "add"},       {"-", "sub"}, {"*", "mul"},           {"/", "div"},        {"//", "floor_divide"},
      {"%", "remainder"}, {"==", "eq"}, {"!=", "ne"},           {"<", "lt"},         {"<=", "le"},
      {">", "gt"},        {">=", "ge"}, {"and", "logical_and"}, {"or", "logical_or"}};
  for (auto [name, row] : kRows)
    if (name == op) return row;
  return {};
}
bool is_comparison(std::string_view op) {
  return op == "==" || op == "!=" || op == "<" || op == "<=" || op == ">" || op == ">=";
}
}  // namespace

Item TextRunner::binary(const Expr& e) {
  Item a = evaluate(*e.items[0]);
  bool logical = e.name == "and" || e.name == "or";
  if (logical && a.kind == Item::host) {
    bool first = is_truth(a);
    return first == (e.name == "or") ? Item::of(Arg::of_bool(first)) : evaluate(*e.items[1]);
  }
  Item b = evaluate(*e.items[1]);
  if (logical && b.kind == Item::host) return is_truth(b) == (e.name == "or") ? b : a;
  auto is_host = [](const Item& v) { return v.kind == Item::host && !v.arg.is_value(); };
  if (a.kind == Item::host && b.kind == Item::host) {  // a number that a value of the graph holds is its symbol
    Item x = Item::of(values_.integer_of(a.arg)), y = Item::of(values_.integer_of(b.arg));
    if (is_host(x) && is_host(y)) return host_binary(e.name, x.arg, y.arg);
  }
  // A number takes the dtype of what it stands beside.
  std::optional<Dtype> like;
  const bool both = is_number_of_the_run(a) && is_number_of_the_run(b);
  for (const Item& v : {a, b})
    if (!is_host(v) && (both || !is_number_of_the_run(v))) like = nest().dtype(scalar(v));
  if (!like) like = Dtype::f64;  // beside one that is written
  return Item::of_scalar(nest().apply(row_of_operator(e.name), {scalar(a, like), scalar(b, like)}));
}

Item TextRunner::compare_coordinates(const std::string& op, Dim a, Dim b) {
  Cond cond = op == "=="   ? eq(a, b)
              : op == "!=" ? ne(a, b)
              : op == "<"  ? lt(a, b)
              : op == "<=" ? le(a, b)
              : op == ">"  ? gt(a, b)
                           : ge(a, b);
  return Item::of_scalar(nest().condition(cond));
}

Item TextRunner::host_binary(const std::string& op, const Arg& a, const Arg& b) {
  auto is_list = [](const Arg& x) {
    return x.kind == ArgKind::int_list || x.kind == ArgKind::real_list || x.kind == ArgKind::arg_list;
  };
  if (!is_comparison(op) && (is_list(a) || is_list(b))) {  // element by element
    SmallVec<Arg, 8> x = is_list(a) ? values_.items_of(a) : SmallVec<Arg, 8>{a};
    SmallVec<Arg, 8> y = is_list(b) ? values_.items_of(b) : SmallVec<Arg, 8>{b};
    size_t count = is_list(a) ? x.size() : y.size();
    SmallVec<Arg, 8> out;
    for (size_t i = 0; i < count; ++i)
      out.push_back(host_binary(op, x[x.size() == 1 ? 0 : i], y[y.size() == 1 ? 0 : i]).arg);
    return Item::of(values_.list_of(out));
  }
  if (is_comparison(op)) {
    bool integers = a.kind == ArgKind::integer && b.kind == ArgKind::integer;
    if (integers && nest_ && (nest_->is_local(a.dim()) || nest_->is_local(b.dim())))
      return compare_coordinates(op, a.dim(), b.dim());
    return Item::of(Arg::of_bool(values_.compare(a, op, b)));
  }
  return Item::of(values_.arithmetic(op == "//" ? 'f' : op[0], a, b));
}

Item TextRunner::call(const Expr& e) {
  // These look at an argument only where it is wanted.
  if (e.name == "choose") return evaluate(*e.items[is_truth(evaluate(*e.items[0])) ? 1 : 2]);
  if (e.name == "masked") {  // masked(condition, x, other)
    Item holds = evaluate(*e.items[0]);
    if (holds.kind == Item::host) return evaluate(*e.items[is_truth(holds) ? 1 : 2]);
    nest().push_mask(holds.ssa);
    Ssa inside = scalar(evaluate(*e.items[1]));
    nest().pop_mask();
    Ssa other = scalar(evaluate(*e.items[2]), nest().dtype(inside));
    return Item::of_scalar(nest().apply("where", {holds.ssa, inside, other}));
  }
  std::vector<Item> args;
  bool scalars = false;
  for (const auto& item : e.items) {
    args.push_back(evaluate(*item));
    scalars |= args.back().kind == Item::scalar;
  }
  if (NotationFunction f = find_notation_function(e.name)) return f(*this, args);
  if (scalars) {
    const ScalarRow* row = find_scalar(e.name);
    if (!row) wrong("no function or scalar primitive " + e.name);
    std::optional<Dtype> like;
    for (size_t i = args.size(); i-- > 0;)
      if (args[i].kind == Item::scalar) like = nest().dtype(args[i].ssa);
    if (row->operands == OperandRule::condition_first)
      for (size_t i = 1; i < args.size(); ++i)
        if (args[i].kind == Item::scalar) like = nest().dtype(args[i].ssa);
    SmallVec<Ssa, 3> operands;
    for (size_t i = 0; i < args.size(); ++i)
      operands.push_back(scalar(args[i], operand_dtype(*row, *like, static_cast<int>(i))));
    return Item::of_scalar(nest().apply(*row, operands));
  }
  SmallVec<Arg, 4> plain;
  for (const Item& v : args) {
    if (v.kind == Item::buffer) wrong(e.name + " does not take a tensor");
    plain.push_back(v.arg);
  }
  return Item::of(values_.function(e.name, plain));
}

void lower_by_text(Lowering& lowering, const Node& node, std::span<const BufferId> results) {
  TextRunner(lowering, node, results).run(notation::parsed(node.op->lowering.body));
}

}  // namespace lenz::lower
