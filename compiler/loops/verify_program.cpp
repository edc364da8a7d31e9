// Declarations, control flow, symbols.
#include <algorithm>

#include "compiler/loops/verifier.h"

namespace lenz::loops {

namespace {
constexpr size_t kMostFindings = 100;
}  // namespace

ProgramVerifier::ProgramVerifier(const Program& program) : program_(program), text_(program) {}

// --- findings

void ProgramVerifier::add(std::vector<ProgramFinding>& list, int rule, ProgramSpot spot, std::string message,
                          bool nonlinear) {
  if (list.size() >= kMostFindings) return;
  ProgramFinding finding{rule, spot, std::move(message), {}, nonlinear};
  if (at_) {
    const auto* nest = std::get_if<Nest>(&at_->is);
    if (nest && spot.instr != kNone) {
      finding.line = text_.instruction(*nest, spot.instr);
    } else if (nest && spot.store != SIZE_MAX) {
      finding.line = text_.store(nest->stores[spot.store]);
    } else {
      finding.line = text_.node(*at_);
    }
  }
  list.push_back(std::move(finding));
}

void ProgramVerifier::report(int rule, std::string message, Ssa instr, size_t store) {
  add(out_.violations, rule, {node_, instr, store, kNone}, std::move(message));
}
void ProgramVerifier::missing(int rule, bool nonlinear, std::string message, Ssa instr, size_t store) {
  add(out_.violations, rule, {node_, instr, store, kNone}, std::move(message), nonlinear);
}
void ProgramVerifier::report_buffer(int rule, BufferId id, std::string message) {
  add(out_.violations, rule, {SIZE_MAX, kNone, SIZE_MAX, id}, std::move(message));
}
void ProgramVerifier::unproved(int rule, std::string message, Ssa instr, size_t store) {
  add(out_.unproved, rule, {node_, instr, store, kNone}, std::move(message));
}

// --- what everything else relies on

bool ProgramVerifier::known(BufferId id, bool optional) {
  if (id < program_.buffers.size() || (optional && id == kNone)) return true;
  report(101, "there is no buffer " + std::to_string(id));
  return false;
}

bool ProgramVerifier::known_outputs(const std::vector<Output>& outputs) {
  bool fine = true;
  for (const Output& o : outputs) {
    if (o.kind == Output::tensor || o.kind == Output::number) fine = known(o.buffer) && fine;
    if (o.kind == Output::list) fine = known_outputs(o.elements) && fine;
  }
  return fine;
}

// Outputs that say what an input is from now on.
bool ProgramVerifier::changed_inputs() {
  std::vector<uint32_t> seen;
  for (const Output& o : program_.outputs) {
    if (o.input == kNone) continue;
    const Input* into = o.input < program_.inputs.size() ? &program_.inputs[o.input] : nullptr;
    const bool tensors = into && into->kind == Input::tensor && o.kind == Output::tensor;
    if (tensors) {
      const Buffer& b = program_.buffers[into->buffer];
      const bool first = std::ranges::find(seen, o.input) == seen.end();
      seen.push_back(o.input);
      if (first && b.mutated && !b.alias && b.type.dtype == o.type.dtype) continue;
    }
    report(114, tensors ? name(into->buffer) + " can't become " + name(o.buffer) : "this is no tensor for an input");
    return false;
  }
  return true;
}

bool ProgramVerifier::structure() {
  bool fine = true;
  std::vector<size_t> taken(program_.buffers.size(), 0);
  for (const Input& i : program_.inputs) {
    if (i.kind != Input::tensor) continue;
    if (!known(i.buffer)) return false;
    ++taken[i.buffer];
  }
  for (BufferId id = 0; id < program_.buffers.size(); ++id) {
    const Buffer& b = program_.buffers[id];
    if (b.view_of != kNone && b.view_of >= program_.buffers.size()) return known(b.view_of);
    bool input = b.kind == BufferKind::input && b.view_of == kNone;
    if (taken[id] == (input ? 1 : 0)) continue;
    report_buffer(107, id, name(id) + " belongs to " + std::to_string(taken[id]) + " inputs");
    fine = false;
  }
  next_node_ = 0;
  fine = block_structure(program_.body) && fine;
  node_ = SIZE_MAX;
  at_ = nullptr;
  return known_outputs(program_.outputs) && changed_inputs() && fine;
}

bool ProgramVerifier::block_structure(const Block& block) {
  auto inner = [&](const std::unique_ptr<Block>& b) { return block_structure(*b); };
  for (const Node& n : block.nodes) {
    node_ = next_node_++;
    at_ = &n;
    if (!node_structure(n)) return false;
    bool fine = true;
    if (const auto* is = std::get_if<If>(&n.is)) fine = inner(is->then) && inner(is->otherwise);
    if (const auto* is = std::get_if<While>(&n.is)) fine = inner(is->test) && inner(is->body);
    if (const auto* is = std::get_if<Repeat>(&n.is)) fine = inner(is->body);
    if (const auto* is = std::get_if<Kernel>(&n.is)) fine = inner(is->body);
    if (!fine) return false;
  }
  return true;
}

bool ProgramVerifier::node_structure(const Node& node) {
  auto missing = [&](bool there) {
    if (!there) report(103, "a block is missing");
    return there;
  };
  if (const auto* n = std::get_if<Nest>(&node.is)) return nest_structure(*n);
  if (const auto* n = std::get_if<Sort>(&node.is))
    return known(n->keys) && known(n->values, true) && known(n->indices, true);
  if (const auto* n = std::get_if<Extern>(&node.is)) {
    if (!n->op || n->args.size() != n->op->schema.params.size()) {
      report(103, "a call has an argument for each parameter of its op");
      return false;
    }
    bool fine = true;
    for (BufferId r : n->results) fine = known(r, true) && fine;
    for (const Arg& a : n->args) for_each_value(a, [&](ValueId v) { fine = known(v) && fine; });
    return fine;
  }
  if (const auto* n = std::get_if<Bind>(&node.is)) return known(n->from);
  if (const auto* n = std::get_if<Check>(&node.is)) return known(n->holds, n->cond.has_value());
  if (const auto* n = std::get_if<Print>(&node.is))
    return std::ranges::all_of(n->values, [&](BufferId b) { return known(b); });
  if (const auto* n = std::get_if<If>(&node.is)) return missing(n->then && n->otherwise) && known(n->condition);
  if (const auto* n = std::get_if<While>(&node.is)) return missing(n->test && n->body) && known(n->condition);
  if (const auto* n = std::get_if<Kernel>(&node.is)) {
    for (const Axis& a : n->axes)
      if (a.symbol.is_constant() || kind_of(a.symbol) != SymKind::symbol) {
        report(103, "an axis has a symbol");
        return false;
      }
    return missing(n->body != nullptr);
  }
  return missing(std::get<Repeat>(node.is).body != nullptr);
}

bool ProgramVerifier::nest_structure(const Nest& nest) {
  auto symbol = [](Dim d) { return !d.is_constant() && kind_of(d) == SymKind::symbol; };
  for (const Axis& a : nest.axes)
    if (!symbol(a.symbol)) {
      report(103, "an axis has a symbol");
      return false;
    }
  for (Ssa i = 0; i < nest.body.size(); ++i) {
    const Instr& instr = nest.body[i];
    auto wrong = [&](int rule, std::string message) {
      report(rule, std::move(message), i);
      return false;
    };
    size_t operands = 0, indices = 0;
    switch (instr.kind) {
      case InstrKind::constant: break;
      case InstrKind::index: indices = 1; break;
      case InstrKind::load:
        if (!known(instr.buffer)) return false;
        indices = instr.index.size();
        break;
      case InstrKind::scalar:
        if (!instr.row) return wrong(103, "a primitive has a row");
        operands = static_cast<size_t>(instr.row->arity);
        break;
      case InstrKind::position:
        operands = 1;
        if (!symbol(instr.symbol)) return wrong(103, "a position has a symbol");
        break;
      case InstrKind::reduce:
      case InstrKind::scan: operands = row_of(instr.combine).operands; break;
      case InstrKind::part: operands = 1; break;
      case InstrKind::draw: indices = 1; break;
    }
    if (instr.operands.size() != operands || instr.index.size() != indices)
      return wrong(103,
                   "it takes " + std::to_string(operands) + " operands and " + std::to_string(indices) + " indices");
    for (Ssa operand : instr.operands)
      if (operand >= i) return wrong(102, "%" + std::to_string(operand) + " is not computed before it");
    if (instr.mask != kNone && instr.mask >= i) return wrong(102, "its mask is not computed before it");
  }
  for (size_t s = 0; s < nest.stores.size(); ++s) {
    const Store& store = nest.stores[s];
    if (!known(store.buffer)) return false;
    bool values = store.value < nest.body.size() && (store.mask == kNone || store.mask < nest.body.size());
    if (values) continue;
    report(102, "it stores a value that the nest does not compute");
    return false;
  }
  return true;
}

// --- declarations

BufferId ProgramVerifier::root(BufferId id) const {
  return program_.buffers[id].view_of == kNone ? id : program_.buffers[id].view_of;
}

bool ProgramVerifier::share(BufferId a, BufferId b) const {
  a = root(a), b = root(b);
  return a == b || (buffer(a).alias && buffer(a).alias == buffer(b).alias);
}

void ProgramVerifier::constant(BufferId id) {
  const Buffer& b = buffer(id);
  if (!b.data) return report_buffer(108, id, name(id) + " has no elements");
  std::optional<int64_t> count = 1;
  for (Dim d : b.data->type.sizes)
    count = count && d.is_constant() ? std::optional(*count * d.constant()) : std::nullopt;
  bool bytes =
      !b.data->bytes || (count && b.data->bytes->size() == static_cast<size_t>(*count) * item_size(b.type.dtype));
  if (b.data->type.dtype != b.type.dtype || b.data->type.sizes != b.type.sizes || !bytes)
    report_buffer(108, id,
                  name(id) + " is " + to_string(*program_.context->tensor(b.type)) + ", and its elements are " +
                      to_string(*program_.context->tensor(b.data->type)));
}

void ProgramVerifier::declaration(BufferId id) {
  const Buffer& b = buffer(id);
  const Facts& facts = program_.assumptions.known();
  if (b.type.strides.size() != b.type.sizes.size()) report_buffer(106, id, name(id) + " has a stride for each size");
  for (Dim size : b.type.sizes)
    if (facts.proves(lt(size, 0)))
      report_buffer(213, id, "the size " + to_string(size) + " of " + name(id) + " is negative");
  if (b.kind == BufferKind::constant && b.view_of == kNone) constant(id);
  if (b.local && (b.kind != BufferKind::temporary || b.placed || b.view_of != kNone))
    report_buffer(109, id, name(id) + " is local, so it is a temp without a place");
  if (b.far && (b.kind != BufferKind::temporary || b.local || b.view_of != kNone))
    report_buffer(109, id, name(id) + " is far, so it is a temp that is not local");
  if (b.kind != BufferKind::input && (b.mutated || b.alias)) report_buffer(109, id, name(id) + " is no input");
  if (b.view_of == kNone) return;
  const Buffer& of = buffer(b.view_of);
  if (of.view_of != kNone || !of.placed || !b.placed || of.kind != b.kind)
    return report_buffer(110, id, name(b.view_of) + (of.view_of != kNone ? " is a view itself" : " is not placed"));
  inside_storage(304, b.type, b.view_of, {SIZE_MAX, kNone, SIZE_MAX, id});
}

// The storage of a placed buffer reaches to its last element, and from 0 on.
void ProgramVerifier::inside_storage(int rule, const TensorType& view, BufferId of, ProgramSpot spot) {
  const TensorType& type = buffer(of).type;
  if (view == type || of >= program_.buffers.size()) return;
  Facts facts = program_.assumptions.known();
  auto elements = [&](const TensorType& t) {  // whether it surely has some
    return std::ranges::all_of(t.sizes, [&](Dim d) { return facts.proves(ge(d, 1)); });
  };
  auto last = [](const TensorType& t) {
    Dim at = t.offset;
    for (size_t d = 0; d < t.rank(); ++d) at += (t.sizes[d] - 1) * t.strides[d];
    return at;
  };
  bool both = false, inside = false;
  try {
    if (numel(view.sizes).is(0)) return;
    int64_t item = item_size(type.dtype), seen = item_size(view.dtype);
    Dim end = (last(type) + 1) * item, need = (last(view) + 1) * seen;
    both = elements(type) && elements(view);
    inside = facts.proves(le(need, end)) && facts.proves(ge(view.offset, 0));
    for (Dim stride : view.strides) inside = inside && facts.proves(ge(stride, 0));
    if (both && (facts.proves(gt(need, end)) || facts.proves(lt(view.offset, 0))))
      return add(out_.violations, rule, spot,
                 to_string(*program_.context->tensor(view)) + " reaches beyond the storage of " + name(of));
  } catch (const UserError&) {  // an overflow: nothing is known
  }
  if (!inside)
    add(out_.unproved, rule, spot,
        "nothing proves that " + to_string(*program_.context->tensor(view)) + " is within the storage of " + name(of));
}

void ProgramVerifier::declarations() {
  for (BufferId id = 0; id < program_.buffers.size(); ++id) declaration(id);
}

// --- the walk

ProgramVerdict ProgramVerifier::run() {
  if (!structure()) return std::move(out_);
  written_.resize(program_.buffers.size());
  declarations();
  Scope scope{program_.assumptions.known(), {}};
  auto own = [&](Dim d) {
    if (!d.is_constant()) for_each_symbol(d, [&](const SymNode* s) { own_.insert(s); });
  };
  for (const Buffer& b : program_.buffers) {
    for (Dim d : b.type.sizes) own(d);
    if (b.placed)
      for (Dim d : b.type.strides) own(d);
    if (b.placed) own(b.type.offset);
    if (b.far) own(b.far->lhs), own(b.far->rhs);
  }
  for (const Input& i : program_.inputs) {
    auto bind_all = [&](Dim d) {
      own(d);
      if (!d.is_constant()) for_each_symbol(d, [&](const SymNode* s) { scope.bound.change(symbol_id(s)) = s; });
    };
    if (i.kind == Input::symbol) bind_all(i.sym);
    if (i.kind != Input::tensor) continue;
    const Buffer& b = buffer(i.buffer);
    for (Dim d : b.type.sizes) bind_all(d);
    if (!b.placed) continue;
    for (Dim d : b.type.strides) bind_all(d);
    bind_all(b.type.offset);
  }
  for_each_node(program_.body, [&](const Node& n) {
    if (const auto* bound = std::get_if<Bind>(&n.is)) own(bound->symbol);
    if (const auto* loop = std::get_if<Repeat>(&n.is)) own(loop->symbol);
  });
  for (BufferId id = 0; id < program_.buffers.size(); ++id)  // nothing has to be written
    if (std::ranges::any_of(buffer(id).type.sizes, [](Dim d) { return d.is(0); })) written_[id].level = Written::whole;
  next_node_ = 0;
  block(program_.body, scope);
  return std::move(out_);
}

void ProgramVerifier::block(const Block& b, Scope scope) {
  bool main = &b == &program_.body;
  for (const Node& n : b.nodes) node(n, scope);
  if (!main) return;
  node_ = SIZE_MAX;
  at_ = nullptr;
  outputs(program_.outputs, scope);
}

void ProgramVerifier::node(const Node& n, Scope& scope) {
  size_t number = next_node_++;
  node_ = number;
  at_ = &n;
  std::visit([&](const auto& is) { visit(is, scope); }, n.is);
}

void ProgramVerifier::use(Dim dim, const Scope& scope) {
  if (dim.is_constant()) return;
  for_each_symbol(dim, [&](const SymNode* s) {
    if (!scope.bound.contains(symbol_id(s)) && reported_.insert(s).second)
      report(502, "nothing before it binds `" + std::string(symbol_name(s)) + "`");
  });
}

void ProgramVerifier::use_type(BufferId id, const Scope& scope) {
  const TensorType& t = buffer(id).type;
  for (Dim d : t.sizes) use(d, scope);
  if (!buffer(id).placed) return;
  for (Dim d : t.strides) use(d, scope);
  use(t.offset, scope);
}

void ProgramVerifier::bind(const SymNode* symbol, Scope& scope) {
  if (scope.bound.contains(symbol_id(symbol)) || !bound_once_.insert(symbol).second)
    report(503, "`" + std::string(symbol_name(symbol)) + "` is bound already");
  scope.bound.change(symbol_id(symbol)) = symbol;
}

void ProgramVerifier::scalar_of(BufferId id, bool truth, std::string_view what) {
  const TensorType& t = buffer(id).type;
  bool right = t.rank() == 0 && (truth ? t.dtype == Dtype::b8 : is_integral(t.dtype, false));
  if (!right)
    report(212, std::string(what) + " is a buffer " + (truth ? "bool[]" : "i64[]") + " or the like, and " + name(id) +
                    " is " + to_string(*program_.context->tensor(t)));
}

void ProgramVerifier::visit(const Nest& n, Scope& scope) {
  types(n);
  axes(n, scope);
  NestState state{n, scope, {}, {}, {}, {}, {}, {}};
  levels(state);
  for (Ssa i = 0; i < n.body.size(); ++i) {
    const Instr& instr = n.body[i];
    if (instr.kind == InstrKind::draw && instr.stream < program_.streams.size())
      use(program_.streams[instr.stream].offset, scope);  // at the draw: a loop may bind it anew each time
    if (instr.kind != InstrKind::load) continue;
    use_type(instr.buffer, scope);
    bool inside = bounds(state, 301, instr.buffer, instr.index, instr.mask, i, SIZE_MAX);
    read(instr.buffer, i);
    if (accesses_ && inside) note_load(state, i);
  }
  stores(state);
}

void ProgramVerifier::visit(const Sort& n, Scope& scope) {
  sort_types(n);
  for (Dim place : n.places) use(place, scope);
  use_type(n.keys, scope);
  read(n.keys);
  for (BufferId to : {n.values, n.indices}) {
    if (to == kNone) continue;
    use_type(to, scope);
    may_write(to);
    write_whole(to);
    if (share(to, n.keys)) report(403, "a sort reads " + name(n.keys) + " and writes " + name(to));
  }
}

void ProgramVerifier::visit(const Extern& n, Scope& scope) {
  for (const Arg& a : n.args) {
    for_each_value(a, [&](ValueId v) {
      use_type(v, scope);
      read(v);
    });
    if (a.kind == ArgKind::integer) use(a.dim(), scope);
    if (a.kind == ArgKind::int_list)
      for (Dim d : a.dim_list()) use(d, scope);
  }
  if (n.results.size() != n.op->schema.returns.size()) {
    bool list = n.op->schema.returns.size() == 1 && n.op->schema.returns[0].type.list;
    if (!list)
      report(111, "the op has " + std::to_string(n.op->schema.returns.size()) + " results, and " +
                      std::to_string(n.results.size()) + " are named");
  }
  for (BufferId r : n.results) {
    if (r == kNone) continue;
    const Buffer& b = buffer(r);
    if (b.kind != BufferKind::temporary || b.view_of != kNone || !b.placed) report(111, name(r) + " is no placed temp");
    for (Dim d : b.type.sizes)
      if (!d.is_constant())
        for_each_symbol(d, [&](const SymNode* s) {
          if (!scope.bound.contains(symbol_id(s))) bind(s, scope);
        });
    use_type(r, scope);
    write_whole(r);
  }
}

void ProgramVerifier::visit(const Bind& n, Scope& scope) {
  scalar_of(n.from, false, "what a size is read from");
  read(n.from);
  bind(n.symbol.node(), scope);
}

void ProgramVerifier::visit(const Check& n, Scope& scope) {
  if (n.holds != kNone) {
    scalar_of(n.holds, true, "what is checked");
    read(n.holds);
  }
  if (!n.cond) return;
  use(n.cond->lhs, scope);
  use(n.cond->rhs, scope);
  try {
    scope.facts.add(*n.cond);  // one that never holds leaves the facts as they are
  } catch (const UserError&) {
  }
}

void ProgramVerifier::visit(const Print& n, Scope& scope) {
  for (size_t i = 0; i < n.values.size(); ++i) {
    if (n.numbers[i] && buffer(n.values[i]).type.rank() != 0)
      report(212, "a number to print is a buffer of no dims, and " + name(n.values[i]) + " is " +
                      to_string(*program_.context->tensor(buffer(n.values[i]).type)));
    use_type(n.values[i], scope);
    read(n.values[i]);
  }
}

void ProgramVerifier::visit(const If& n, Scope& scope) {
  scalar_of(n.condition, true, "a condition");
  read(n.condition);
  std::vector<Written> before = written_;
  block(*n.then, scope);
  std::vector<Written> then = std::exchange(written_, before);
  block(*n.otherwise, scope);
  join(written_, then, before);
}

void ProgramVerifier::visit(const While& n, Scope& scope) {
  size_t number = node_;
  const Node* self = at_;
  block(*n.test, scope);
  node_ = number;
  at_ = self;
  scalar_of(n.condition, true, "a condition");
  read(n.condition);
  std::vector<Written> before = written_;
  block(*n.body, scope);
  join(written_, before, before);  // it may not run
}

void ProgramVerifier::visit(const Repeat& n, Scope& scope) {
  use(n.count, scope);
  Scope inner = scope;
  const bool runs = declare_counter(n.symbol, n.count, inner, true);
  std::vector<Written> before = written_;
  const size_t found = out_.violations.size();
  block(*n.body, inner);
  constexpr int kFirstOfProofs = 300;
  if (!runs)  // nothing proves what no run does, and nothing has to
    out_.violations.erase(std::remove_if(out_.violations.begin() + static_cast<ptrdiff_t>(found), out_.violations.end(),
                                         [](const ProgramFinding& f) { return f.rule >= kFirstOfProofs; }),
                          out_.violations.end());
  stack(before, n, scope);
}

bool ProgramVerifier::declare_counter(Dim counter, Dim count, Scope& inner, bool once) {
  if (inner.facts.proves(lt(count, 0))) report(213, "the count " + to_string(count) + " is negative");
  const SymNode* symbol = counter.node();
  if (inner.bound.contains(symbol_id(symbol)) || (!once && own_.contains(symbol)) ||
      (once && !bound_once_.insert(symbol).second))
    report(104, "`" + std::string(symbol_name(symbol)) + "` is something else already");
  inner.bound.change(symbol_id(symbol)) = symbol;
  if (inner.facts.proves(le(count, 0))) return false;
  try {
    inner.facts.add(ge(count, 1));  // in the body; first, as of an axis: IndexSpace::add_axis
    inner.facts.add(ge(counter, 0));
    inner.facts.add(lt(counter, count));
  } catch (const UserError&) {
    return false;
  }
  return true;
}

// --- outputs

void ProgramVerifier::output(const Output& o, const Scope& scope) {
  switch (o.kind) {
    case Output::tensor:
      use_type(o.buffer, scope);
      for (Dim d : o.type.sizes) use(d, scope);
      read(o.buffer);
      inside_storage(303, o.type, root(o.buffer), {});
      if ((o.conjugated && !is_complex(o.type.dtype)) ||
          (o.negated && (!is_inexact(o.type.dtype) || is_complex(o.type.dtype))) ||
          ((o.conjugated || o.negated) && o.input != kNone))
        report(214, name(o.buffer) + " can't be shown so");
      break;
    case Output::number:
      if (buffer(o.buffer).type.rank() != 0) report(212, "a number has no dims, and " + name(o.buffer) + " has some");
      read(o.buffer);
      break;
    case Output::integer: use(o.value, scope); break;
    case Output::list: outputs(o.elements, scope); break;
    case Output::literal:
    case Output::none: break;
  }
}

void ProgramVerifier::outputs(const std::vector<Output>& list, const Scope& scope) {
  for (const Output& o : list) output(o, scope);
}

}  // namespace lenz::loops
