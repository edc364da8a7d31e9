// Lenz's own ops: constants, elements of lists, control flow with sub-graphs, effects.
#include <algorithm>
#include <ranges>

#include "compiler/graph/alias.h"
#include "compiler/graph/rebuild.h"
#include "compiler/lower/lowering.h"

namespace lenz::lower {

using loops::Block;
using loops::BufferId;

namespace {
using Bound = Lowering::Bound;

void bind_dim(Dim formal, Dim actual, Bound& bound) {
  if (!formal.is_constant() && kind_of(formal) == SymKind::symbol) bound.emplace(formal.node(), actual);
}

Dim bound_dim(Dim d, SymPool& pool, const Bound& bound) {
  if (d.is_constant()) return d;
  return substitute(d, pool, [&](const SymNode* s) -> std::optional<Dim> {
    auto at = bound.find(s);
    return at == bound.end() ? std::nullopt : std::optional(at->second);
  });
}

// The sub-graph in the caller's symbols.
void put_symbols(Graph& sub, const Bound& bound) {
  Context& context = sub.context();
  auto caller = [&](Dim d) { return bound_dim(d, context.syms, bound); };
  for (ValueId v = 0; v < sub.value_count(); ++v) sub.set_type(v, with_dims(context, sub.type(v), caller));
  sub.for_each_node([&](NodeId id) {
    SmallVec<Arg, 8> args;
    for (const Arg& a : sub.node(id).arguments()) args.push_back(with_dims(context, a, caller));
    sub.set_args(id, args);
  });
}

}  // namespace

// --- calls of sub-graphs

std::vector<BufferId> Lowering::call(const Graph& callee, std::span<const Operand> operands, Block& into) {
  std::unique_ptr<Graph> sub = callee.clone();
  sub->assumptions.open_as(graph_->assumptions);
  Bound bound;
  // Sizes and numbers say what symbols are; strides say it of those that nothing else does, as what is only read may
  // come in another layout than the one that is declared.
  for (const bool by_layout : {false, true})
    for (size_t i = 0; i < operands.size(); ++i) {
      const Type& formal = sub->type(sub->inputs()[i].value);
      if (!by_layout && formal.kind == TypeKind::sym_int) bind_dim(formal.offset, operands[i].number, bound);
      if (!formal.is_tensor()) continue;
      const TensorType& actual = program.buffers[operands[i].buffer].type;
      const DimVec& strides = operands[i].strides ? *operands[i].strides : actual.strides;
      for (size_t d = 0; d < formal.rank(); ++d)
        by_layout ? bind_dim(formal.strides()[d], strides[d], bound)
                  : bind_dim(formal.sizes()[d], actual.sizes[d], bound);
      if (by_layout) bind_dim(formal.offset, actual.offset, bound);
    }
  const SymbolSet own = name_own_symbols(*sub, bound);
  assume_of(*sub, own, [&](Dim d) { return bound_dim(d, sub->context().syms, bound); });
  put_symbols(*sub, bound);
  declare_symbols(*sub);
  // From here on all is said in the caller's symbols, of which the sub-graph's own facts say nothing: the same names
  // mean other sizes there.
  sub->assumptions = program.assumptions;

  Graph* caller = std::exchange(graph_, sub.get());
  Block* before = std::exchange(block, &into);
  std::vector<BufferId> outer = std::exchange(buffers_, std::vector<BufferId>(sub->value_count(), kNone));
  auto outer_lists = std::exchange(lists_, {});
  for (size_t i = 0; i < operands.size(); ++i) {
    BufferId given = operands[i].buffer;
    const Input& input = sub->inputs()[i];
    const Type& formal = sub->type(input.value);
    // What is only read may come in another layout; views in the sub-graph are of the one that it declares.
    if (given != kNone && formal.is_tensor() && !input.mutated && !shares_places(formal.sizes(), formal.strides())) {
      const TensorType& actual = program.buffers[given].type;
      if (!std::ranges::equal(actual.strides, formal.strides()) || actual.offset != formal.offset) {
        BufferId laid = add_buffer("operand", actual.dtype, actual.sizes);
        program.buffers[laid].type = formal.tensor();
        copy(given, laid, "operand");
        given = laid;
      }
    }
    buffers_[input.value] = given;
  }
  const size_t relied = sub->assumptions.relied().size(), decided = sub->assumptions.guards().size();
  sub->for_each_node([&](NodeId id) { lower_node(sub->node(id)); });
  for (const Cond& c : sub->assumptions.relied() | std::views::drop(relied)) program.assumptions.assume(c);
  for (const Cond& c : sub->assumptions.guards() | std::views::drop(decided)) program.assumptions.assume(c);
  std::vector<BufferId> results;
  for (const Arg& out : sub->outputs()) {
    if (!out.is_value()) throw Unsupported(sub->spelled_name() + " returns something that is no value");
    const TypeKind kind = sub->type(out.value()).kind;
    if (kind == TypeKind::sym_int)
      throw Unsupported(sub->spelled_name() + " returns a size, which control flow would have to carry");
    results.push_back(kind == TypeKind::token ? kNone : buffer(out.value()));
  }
  graph_ = caller;
  block = before;
  buffers_ = std::move(outer);
  lists_ = std::move(outer_lists);
  return results;
}

// What only a sub-graph's own run knows is another size in each call, and not one that bears its name elsewhere.
SymbolSet Lowering::name_own_symbols(Graph& sub, Bound& bound) {
  SymbolSet named;
  const auto own = [&](const SymNode* symbol) {
    if (bound.contains(symbol)) return;
    size_t number = 0;
    Dim made = program.context->syms.symbol("u0");
    while (!taken.insert(made.node()).second) made = program.context->syms.symbol("u" + std::to_string(++number));
    bound.emplace(symbol, made);
    named.insert(made.node());
    sub.assumptions.open(symbol);
    program.assumptions.open(made.node());
  };
  for (const Type* t : sub.types()) for_each_symbolic_dim(*t, [&](Dim d) { for_each_symbol(d, own); });
  return named;
}

// The types in a sub-graph are right where its facts and guards hold: so they must for what it is called with. What
// they say of sizes that only its own run knows is checked there, as in any graph.
void Lowering::assume_of(const Graph& sub, const SymbolSet& own, const std::function<Dim(Dim)>& bound) {
  program.assumptions.open_as(sub.assumptions);
  auto assume = [&](const Cond& c) {
    const Cond cond{c.rel, bound(c.lhs), bound(c.rhs)};
    // Asked when the caller knows the size, it might exclude what the way taken does not need.
    if (!sub.assumptions.is_open(c) && program.assumptions.is_open(cond) &&
        program.assumptions.truth(cond) == Truth::unknown)
      throw Unsupported(sub.spelled_name() + " needs " + to_string(cond) + ", which only the run knows");
    if (!program.assumptions.assume(cond))
      throw Unsupported(sub.spelled_name() + " is called with sizes that break " + to_string(c));
  };
  for (const auto& [symbol, range] : sub.assumptions.facts().ranges()) {
    const Dim here = bound(Dim(symbol));
    if (!here.is_constant() && own.contains(here.node())) {
      program.assumptions.declare_range(here.node(), range);
      continue;
    }
    if (range.low) assume(ge(Dim(symbol), *range.low));
    if (range.high) assume(le(Dim(symbol), *range.high));
  }
  for (const auto* list : {&sub.assumptions.facts().conditions(), &sub.assumptions.guards()})
    for (const Cond& c : *list) assume(c);
}

std::vector<Lowering::Operand> Lowering::operands_of(const Arg& list) const {
  std::vector<Operand> out;
  for (const Arg& a : items(list)) {
    bool number = !a.is_value() || graph_->type(a.value()).kind == TypeKind::sym_int;
    if (a.is_value() && graph_->type(a.value()).kind == TypeKind::token)
      out.push_back({kNone, 0, true});
    else if (number)
      out.push_back({kNone, a.is_value() ? graph_->type(a.value()).offset : a.dim()});
    else
      out.push_back({buffer(a.value()), 0});
  }
  return out;
}

// A condition as a 0-dim b8 buffer.
BufferId Lowering::truth(BufferId of) {
  if (program.buffers[of].type.rank() == 0 && program.buffers[of].type.dtype == Dtype::b8) return of;
  BufferId made = add_buffer("condition", Dtype::b8, {});
  NestBuilder nest = this->nest("condition", 0);
  DimVec first(program.buffers[of].type.rank(), Dim(0));
  nest.store(made, {}, nest.load(of, first), loops::StoreMode::assign);
  nest.finish(*block);
  return made;
}

BufferId Lowering::count_draws(const Node& node) {
  if (!effects(*graph_, node).advances_random) return kNone;
  BufferId counter = add_buffer("drawn", Dtype::i64, {});
  note_draws(counter, *block);
  return counter;
}

void Lowering::take_draws(BufferId counter, Block& into) {
  if (counter == kNone) return;
  Dim drawn = program.context->syms.symbol("drawn" + std::to_string(counts_++));
  taken.insert(drawn.node());
  program.assumptions.facts().set_range(drawn.node(), {0, std::nullopt});
  into.nodes.push_back({loops::Bind{drawn, counter}});
  ambient_offset_ = drawn;
}

void Lowering::note_draws(BufferId counter, Block& into) {
  if (counter == kNone) return;
  NestBuilder nest = this->nest("drawn", 0);
  nest.store(counter, {}, nest.index(ambient_offset_), loops::StoreMode::assign);
  nest.finish(into);
}

void Lowering::lower_cond(const Node& node) {
  std::vector<Operand> given = operands_of(node.args[3]);
  const BufferId drawn = count_draws(node);
  loops::If branch;
  branch.condition = truth(buffer(node.args[0].value()));
  branch.then = std::make_unique<Block>();
  branch.otherwise = std::make_unique<Block>();
  std::vector<BufferId> results;
  for (uint16_t i = 0; i < node.result_count; ++i) results.push_back(result_buffer(node, node.result(i)));
  for (auto [arg, into] : {std::pair(1, branch.then.get()), std::pair(2, branch.otherwise.get())}) {
    take_draws(drawn, *into);
    std::vector<BufferId> made = call(*graph_->subgraphs[node.args[arg].graph()], given, *into);
    note_draws(drawn, *into);
    Block* before = std::exchange(block, into);
    for (size_t i = 0; i < made.size(); ++i)
      if (results[i] != kNone) copy(made[i], results[i], "cond");  // op name: for people
    block = before;
  }
  for (uint16_t i = 0; i < node.result_count; ++i) buffers_[node.result(i)] = results[i];
  block->nodes.push_back({std::move(branch)});
  take_draws(drawn, *block);
}

// Copies what a step made to where the next one looks for it. All are made before the first is overwritten.
void Lowering::hand_on(std::vector<BufferId> made, std::span<const Operand> carried) {
  for (BufferId& b : made)
    if (b != kNone && std::ranges::any_of(carried, [&](const Operand& c) { return c.buffer == b; })) {
      BufferId fresh =
          add_buffer(program.buffers[b].name, program.buffers[b].type.dtype, program.buffers[b].type.sizes);
      copy(b, fresh, "step");
      b = fresh;
    }
  for (size_t i = 0; i < carried.size(); ++i)
    if (!carried[i].token) copy(made[i], carried[i].buffer, "step");
}

std::vector<Lowering::Operand> Lowering::fresh_copies(const Node& loop, std::span<const Operand> from) {
  std::vector<Operand> out;
  for (const Operand& o : from) {
    if (o.token) {
      out.push_back(o);
      continue;
    }
    if (o.buffer == kNone) throw Unsupported("a loop that carries a size");
    BufferId b = add_buffer("carried", program.buffers[o.buffer].type.dtype, program.buffers[o.buffer].type.sizes);
    // What the loop ends with is its result, which lies as its type says.
    const Type& result = graph_->type(loop.result(out.size()));
    if (result.is_tensor()) program.buffers[b].type = result.tensor();
    copy(o.buffer, b, "carried");
    out.push_back({b, 0});
  }
  return out;
}

void Lowering::lower_while(const Node& node) {
  std::vector<Operand> carried = fresh_copies(node, operands_of(node.args[2])), all = carried;
  for (const Operand& o : operands_of(node.args[3])) all.push_back(o);
  const BufferId drawn = count_draws(node);
  loops::While loop;
  loop.test = std::make_unique<Block>();
  loop.body = std::make_unique<Block>();
  take_draws(drawn, *loop.test);
  loop.condition = call(*graph_->subgraphs[node.args[0].graph()], all, *loop.test)[0];
  note_draws(drawn, *loop.test);
  Block* before = std::exchange(block, loop.test.get());
  loop.condition = truth(loop.condition);
  take_draws(drawn, *loop.body);
  std::vector<BufferId> made = call(*graph_->subgraphs[node.args[1].graph()], all, *loop.body);
  note_draws(drawn, *loop.body);
  block = loop.body.get();
  hand_on(made, carried);
  block = before;
  for (uint16_t i = 0; i < node.result_count; ++i) buffers_[node.result(i)] = carried[i].buffer;
  block->nodes.push_back({std::move(loop)});
  take_draws(drawn, *block);
}

void Lowering::lower_scan(const Node& node) {
  std::vector<Operand> carried = fresh_copies(node, operands_of(node.args[1])), all = carried;
  std::vector<Operand> xs = operands_of(node.args[2]);
  const BufferId drawn = count_draws(node);
  loops::Repeat loop;
  loop.symbol = program.context->syms.symbol("step" + std::to_string(steps_++));
  taken.insert(loop.symbol.node());
  loop.count = program.buffers[xs[0].buffer].type.sizes[0];
  loop.body = std::make_unique<Block>();
  Block* before = std::exchange(block, loop.body.get());
  const Graph& combine = *graph_->subgraphs[node.args[0].graph()];
  for (const Operand& x : xs) {
    std::span<const Dim> sizes = program.buffers[x.buffer].type.sizes.span().subspan(1);
    BufferId slice = add_buffer("slice", program.buffers[x.buffer].type.dtype, DimVec(sizes));
    NestBuilder nest = this->nest("slice", node.origin);
    DimVec at;
    for (Dim size : program.buffers[slice].type.sizes) at.push_back(nest.axis(size, loops::AxisKind::parallel));
    DimVec from = at;
    from.insert(0, loop.symbol);
    nest.store(slice, at, nest.load(x.buffer, from), loops::StoreMode::assign);
    nest.finish(*block);
    // What the sub-graph's facts say of its layout they say of the slice that eager hands over.
    const DimVec strides(program.buffers[x.buffer].type.strides.span().subspan(1));
    const Type& formal = combine.type(combine.inputs()[all.size()].value);
    const bool open = std::ranges::any_of(formal.strides(), [](Dim d) { return !d.is_constant(); });
    if (open && !shares_places(sizes, strides)) program.buffers[slice].type.strides = strides;
    all.push_back({slice, 0, false, strides});
  }
  for (const Operand& o : operands_of(node.args[3])) all.push_back(o);
  take_draws(drawn, *loop.body);
  std::vector<BufferId> made = call(combine, all, *loop.body);
  note_draws(drawn, *loop.body);
  for (size_t i = carried.size(); i < node.result_count; ++i) {  // a row of what is stacked
    BufferId stack = result_buffer(node, node.result(i));
    buffers_[node.result(i)] = stack;
    NestBuilder nest = this->nest("stack", node.origin);
    DimVec at;
    for (Dim size : program.buffers[made[i]].type.sizes) at.push_back(nest.axis(size, loops::AxisKind::parallel));
    DimVec to = at;
    to.insert(0, loop.symbol);
    nest.store(stack, to, nest.load(made[i], at), loops::StoreMode::assign);
    nest.finish(*block);
  }
  made.resize(carried.size());
  hand_on(made, carried);
  block = before;
  for (size_t i = 0; i < carried.size(); ++i) buffers_[node.result(i)] = carried[i].buffer;
  block->nodes.push_back({std::move(loop)});
  take_draws(drawn, *block);
}

// --- the others

void Lowering::lower_constant(const Node& node) {
  const ConstantData* data = node.args[0].data;
  BufferId b = add_buffer(buffer_name(node.result()), data->type.dtype, data->type.sizes, data->type.device);
  program.buffers[b].kind = loops::BufferKind::constant;
  program.buffers[b].data = data;
  program.buffers[b].origin = node.origin;
  buffers_[node.result()] = b;
}

void Lowering::lower_getitem(const Node& node) {
  const Arg& list = node.args[0];
  int64_t index = node.args[1].i;
  if (list.is_value()) {
    const std::vector<BufferId>& of = lists_.at(list.value());
    buffers_[node.result()] = of[static_cast<size_t>(index < 0 ? index + std::ssize(of) : index)];
    return;
  }
  auto all = list.value_list();
  buffers_[node.result()] = buffer(all[static_cast<size_t>(index < 0 ? index + std::ssize(all) : index)]);
}

// Outputs that share the input's storage show what it is from now on.
void Lowering::lower_resized_to(const Node& node) {
  const ValueId input = graph_->storage(node.args[0].value());
  const BufferId was = buffer(input);
  loops::Output now = output_of(node.args[1]);
  for (uint32_t i = 0; i < program.inputs.size(); ++i)
    if (program.inputs[i].kind == loops::Input::tensor && program.inputs[i].buffer == was) now.input = i;
  if (now.conjugated || now.negated) throw Unsupported("an input that becomes a lazy view");
  if (now.input == kNone) throw Unsupported("a sub-graph that gives its caller's tensor another size");
  program.buffers[was].mutated = true;
  buffers_[input] = now.buffer;
  buffers_[node.result()] = buffer(node.args[1].value());  // for what computes from it, as lazy views do
  changed_.push_back(std::move(now));
}

void Lowering::lower_assert(const Node& node) {
  loops::Check check;
  check.message = node.args[2].string();
  check.origin = node.origin;
  const Arg& holds = node.args[1];
  if (holds.is_value())
    check.holds = truth(buffer(holds.value()));
  else
    check.cond = eq(Dim(holds.i != 0 ? 1 : 0), 1);
  block->nodes.push_back({std::move(check)});
}

BufferId Lowering::shown_buffer(const Node& node, const Arg& shown) {
  const Type* type = shown.is_value() ? &graph_->type(shown.value()) : nullptr;
  const bool integer = type ? type->kind == TypeKind::sym_int : shown.kind == ArgKind::integer;
  if (type && !integer) {
    if (!type->is_tensor() && type->kind != TypeKind::sym_float && type->kind != TypeKind::sym_bool)
      throw Unsupported("nothing prints " + to_string(*type));
    return buffer(shown.value());
  }
  if (!integer && shown.kind != ArgKind::real && shown.kind != ArgKind::boolean)
    throw Unsupported("nothing prints a literal of this kind");
  const Dtype dtype = integer ? Dtype::i64 : shown.kind == ArgKind::real ? Dtype::f64 : Dtype::b8;
  const BufferId b = add_buffer("number", dtype, {});
  NestBuilder nest = this->nest("number", node.origin);
  nest.store(b, {}, integer ? nest.index(type ? type->offset : shown.dim()) : nest.constant(dtype, shown),
             loops::StoreMode::assign);
  nest.finish(*block);
  return b;
}

void Lowering::lower_print(const Node& node) {
  loops::Print print;
  print.text = node.args[1].string();
  for (const Arg& shown : items(node.args[2])) {
    print.numbers.push_back(!shown.is_value() || !graph_->type(shown.value()).is_tensor());
    print.values.push_back(shown_buffer(node, shown));
  }
  block->nodes.push_back({std::move(print)});
}

void Lowering::lower_structural(const Node& node) {
  struct Entry {
    std::string_view name;
    void (Lowering::*lower)(const Node&);
  };
  static constexpr Entry kEntries[] = {
      {"constant", &Lowering::lower_constant},      // op name: this table says what Lenz's own ops do
      {"getitem", &Lowering::lower_getitem},        // op name: as above
      {"cond", &Lowering::lower_cond},              // op name: as above
      {"while_loop", &Lowering::lower_while},       // op name: as above
      {"scan", &Lowering::lower_scan},              // op name: as above
      {"assert", &Lowering::lower_assert},          // op name: as above
      {"print", &Lowering::lower_print},            // op name: as above
      {"resized_to", &Lowering::lower_resized_to},  // op name: as above
  };
  for (const Entry& e : kEntries)
    if (e.name == node.op->schema.packet) return (this->*e.lower)(node);
  lower_computed(node);
}

}  // namespace lenz::lower
