#include "compiler/lower/lower.h"

#include <algorithm>

#include "compiler/graph/alias.h"
#include "compiler/graph/divisors.h"
#include "compiler/graph/host_kernels.h"
#include "compiler/graph/lazy_views.h"
#include "compiler/graph/rewrite.h"
#include "compiler/lower/lowering.h"
#include "compiler/scalar/random_stream.h"

namespace lenz {

namespace {
// Elements that loops make, as those of conjugates, and that somebody looks at through memory in which they share
// places: what shares one is the same number, but more than one point writes it.
void store_to_shared_places(loops::Program& program) {
  loops::for_each_node(program.body, [&](loops::Node& node) {
    auto* nest = std::get_if<loops::Nest>(&node.is);
    if (!nest) return;
    for (loops::Store& store : nest->stores) {
      const loops::Buffer& b = program.buffers[store.buffer];
      const bool shares = b.placed && shares_places(b.type.sizes, b.type.strides);
      if (shares && store.mode == loops::StoreMode::assign) store.mode = loops::StoreMode::scatter;
    }
  });
}
}  // namespace

loops::Program lower_graph(const Graph& graph, const LowerOptions& options) {
  loops::Program program;
  lower::Lowering(graph, program, options).run();
  store_to_shared_places(program);
  return program;
}

bool lowers_to_loops(const OpDef& op) {
  const OpDef& row = op.base ? *op.base : op;
  return row.lowering.kind == LoweringKind::loops;
}

namespace lower {

using loops::Buffer;
using loops::BufferId;
using loops::BufferKind;

namespace {
// What is made of a node says its names, so that messages can.
void say_where_from(Graph& graph) {
  graph.for_each_node([&](NodeId id) { graph.set_origin(id, provenance(graph, id)); });
  for (const auto& sub : graph.subgraphs) say_where_from(*sub);
}
}  // namespace

Lowering::Lowering(const Graph& graph, loops::Program& program, const LowerOptions& options)
    : program(program), block(&program.body), options_(options), whole_(graph.clone()), graph_(whole_.get()) {
  program.name = graph.name;
  program.context = graph.shared_context();
  program.assumptions = graph.assumptions;
  const size_t results = graph.inputs().size() + graph.node_count();  // and seldom much more
  program.buffers.reserve(results);
  program.body.nodes.reserve(results);
  declare_symbols(graph);
  say_where_from(*whole_);
}

void Lowering::declare_symbols(const Graph& graph) {
  auto take = [&](Dim d) { for_each_symbol(d, [&](const SymNode* s) { taken.insert(s); }); };
  auto take_arg = [&](const Arg& a, auto&& self) -> void {
    if (a.kind == ArgKind::integer && a.symbolic) take(a.dim());
    if (a.kind == ArgKind::int_list)
      for (Dim d : a.dim_list())
        if (!d.is_constant()) take(d);
    if (a.kind == ArgKind::arg_list)
      for (const Arg& e : a.arg_list()) self(e, self);
  };
  for (const Type* t : graph.types()) for_each_symbolic_dim(*t, take);
  graph.for_each_node([&](NodeId id) {
    for (const Arg& a : graph.node(id).arguments()) take_arg(a, take_arg);
  });
  for (const auto& sub : graph.subgraphs) declare_symbols(*sub);
}

// --- memory

BufferId Lowering::add_buffer(NameId name, Dtype dtype, std::span<const Dim> sizes, Device device) {
  if (device.kind != DeviceKind::cpu) throw Unsupported("loops over tensors on " + to_string(device));
  Buffer b;
  b.name = program.context->name(name);
  if (name >= names_.size()) names_.resize(std::max<size_t>(name + 1, names_.size() * 2));
  if (uint32_t& used = names_[name]; used++) b.name += "_" + std::to_string(used);
  b.type = contiguous_tensor(dtype, sizes, device);
  program.buffers.push_back(std::move(b));
  return static_cast<BufferId>(program.buffers.size() - 1);
}

BufferId Lowering::view(BufferId of, TensorType type) {
  BufferId made = add_buffer(program.buffers[of].name, type.dtype, type.sizes, type.device);
  Buffer& b = program.buffers[made];
  program.buffers[of].placed = true;
  b.kind = program.buffers[of].kind;
  b.mutated = program.buffers[of].mutated;
  b.type = std::move(type);
  b.placed = true;
  b.view_of = program.buffers[of].view_of == kNone ? of : program.buffers[of].view_of;
  return made;
}

uint32_t Lowering::stream(std::optional<uint64_t> seed, Dim elements, bool wide) {
  program.streams.push_back({seed, seed ? Dim(0) : ambient_offset_});
  if (!seed) ambient_offset_ += ceil_div(elements, wide ? 2 : 4);
  return static_cast<uint32_t>(program.streams.size() - 1);
}

BufferId Lowering::buffer(ValueId v) const {
  LENZ_CHECK(v < buffers_.size() && buffers_[v] != kNone, "no buffer for " + graph_->value_name(v));
  return buffers_[v];
}

NameId Lowering::buffer_name(ValueId v) const {
  auto is_sign = [](char c) { return c == '%' || c == '#'; };
  auto is_number = [](std::string_view name) { return std::isdigit(static_cast<unsigned char>(name[0])); };
  NameId given = graph_->value(v).name;
  if (given != kNone) {
    std::string_view name = program.context->name(given);
    if (!name.empty() && !is_number(name) && std::ranges::none_of(name, is_sign)) return given;
  }
  std::string name = graph_->value_name(v);
  std::erase_if(name, is_sign);
  return program.context->intern(is_number(name) ? "v" + name : name);
}

// --- inputs

void Lowering::lower_inputs() {
  for (const lenz::Input& input : graph_->inputs()) {
    const Type& t = graph_->type(input.value);
    loops::Input in;
    in.name = program.context->name(buffer_name(input.value));
    switch (t.kind) {
      case TypeKind::tensor: {
        in.buffer = add_buffer(in.name, t.dtype, t.sizes(), t.device);
        Buffer& b = program.buffers[in.buffer];
        b.kind = BufferKind::input;
        b.type = t.tensor();
        b.placed = true;
        b.mutated = input.mutated;
        b.alias = input.alias;
        buffers_[input.value] = in.buffer;
        break;
      }
      case TypeKind::sym_int:
        in.kind = loops::Input::symbol;
        in.sym = t.offset;
        break;
      case TypeKind::sym_float:
      case TypeKind::sym_bool:
        in.buffer = add_buffer(in.name, t.kind == TypeKind::sym_float ? Dtype::f64 : Dtype::b8, {});
        program.buffers[in.buffer].kind = BufferKind::input;
        buffers_[input.value] = in.buffer;
        break;
      case TypeKind::none:
      case TypeKind::token: in.kind = loops::Input::none; break;
      case TypeKind::list: throw Unsupported("an input that is a list of tensors: " + in.name);
    }
    program.inputs.push_back(std::move(in));
  }
}

// --- nodes

BufferId Lowering::result_buffer(const Node& node, ValueId v) {
  const Type& t = graph_->type(v);
  switch (t.kind) {
    case TypeKind::tensor: break;
    case TypeKind::sym_float: return add_buffer(buffer_name(v), Dtype::f64, {});
    case TypeKind::sym_bool: return add_buffer(buffer_name(v), Dtype::b8, {});
    default: return kNone;
  }
  if (node.op->variant == VariantKind::in_place) {  // the epilogue writes to inputs
    BufferId target = buffer(graph_->storage(v));
    program.buffers[target].mutated = true;  // also where an op's own schema does not say that it writes
    // Through a view the input's memory is written as that view lies.
    return graph_->storage(v) == node.args[0].value() ? target : view(target, t.tensor());
  }
  return tensor_buffer(node, v, t);
}

BufferId Lowering::tensor_buffer(const Node& node, ValueId v, const Type& type) {
  BufferId b = add_buffer(buffer_name(v), type.dtype, type.sizes(), type.device);
  program.buffers[b].type = type.tensor();
  program.buffers[b].origin = node.origin;
  return b;
}

// A view as elements of another size, of complex numbers' parts say: a buffer that others look at holds none such.
bool Lowering::resizes_elements(const Node& node) const {
  return node.result_count == 1 && type(node.result()).is_tensor() && type(node.args[0].value()).is_tensor() &&
         item_size(type(node.result()).dtype) != item_size(type(node.args[0].value()).dtype);
}

ValueId Lowering::viewed_memory(ValueId v) const {
  ValueId base = v;
  for (NodeId n; (n = graph_->value(v).producer) != kNone && is_geometry_view(*graph_, graph_->node(n)) &&
                 !resizes_elements(graph_->node(n));) {
    v = graph_->node(n).args[0].value();
    if (type(v).is_tensor()) base = v;  // else a list of views
  }
  return base;
}

ValueId Lowering::viewed_through_lazy(ValueId v) const {
  for (;;) {
    v = viewed_memory(v);
    const NodeId n = graph_->value(v).producer;
    if (n == kNone || !graph_->node(n).op->has(Trait::opaque_view) || !graph_->node(n).args[0].is_value()) return v;
    const ValueId of = graph_->node(n).args[0].value();
    if (graph_->storage(of) != graph_->storage(v) || type(of).dtype != type(v).dtype) return v;
    v = of;
  }
}

// Whether loops make its elements, as those of conjugates, and it would share them: so its buffer lies otherwise, and
// no view of that shows it, unless who looks through memory has it lie so (store_to_shared_places).
bool Lowering::is_apart(ValueId v) const {
  return graph_->storage(v) != v && type(v).is_tensor() && shares_places(type(v).sizes(), type(v).strides());
}

// A view that is only shown, as an output or to an extern kernel, is made of its storage's buffer there. Backwards, so
// that a chain of views is walked once.
std::vector<bool> Lowering::only_shown() const {
  std::vector<bool> only(graph_->node_capacity()), only_outputs(graph_->node_capacity());
  std::vector<bool> of_apart(graph_->value_count());  // views whose memory is
  graph_->for_each_node([&](NodeId id) {
    const Node& node = graph_->node(id);
    const bool goes_on = is_geometry_view(*graph_, node) && !resizes_elements(node);
    for (uint16_t i = 0; i < node.result_count; ++i)
      of_apart[node.result(i)] = goes_on ? of_apart[node.args[0].value()] : is_apart(node.result(i));
  });
  for (NodeId id = graph_->last(); id != kNone; id = graph_->previous(id)) {
    const Node& node = graph_->node(id);
    bool shown = is_geometry_view(*graph_, node), outputs = shown;
    for (uint16_t i = 0; i < node.result_count && shown; ++i)
      for (NodeId user : graph_->value(node.result(i)).users) {
        shown = shown && (user == kOutputs || only[user] || is_extern(graph_->node(user)));
        outputs = outputs && (user == kOutputs || only_outputs[user]);
      }
    only_outputs[id] = outputs;
    only[id] = shown && (outputs || (!resizes_elements(node) && !of_apart[node.args[0].value()]));
  }
  return only;
}

// Guards keep divisors from 0 that inputs give; of the others the run has to see.
void Lowering::check_divisors(const Node& node) {
  auto check = [&](Dim divisor) {
    loops::Check made;
    made.cond = ne(divisor, 0);
    made.message = node.op->full_name + ": a size divides by " + to_string(divisor) + ", which is 0 here";
    made.origin = node.origin;
    block->nodes.push_back({std::move(made)});
  };
  for (const Arg& a : node.arguments()) for_each_open_divisor(program.assumptions, a, check);
  if (node.op->has(Trait::data_dependent)) return;  // the sizes that it makes are not known before
  for (uint16_t i = 0; i < node.result_count; ++i)
    for_each_open_divisor(program.assumptions, type(node.result(i)), check);
}

void Lowering::lower_node(const Node& node) {
  check_divisors(node);
  check_numbers(node);
  if (node.op->has(Trait::structural)) return lower_structural(node);
  lower_computed(node);
}

void Lowering::lower_computed(const Node& node) {
  const OpDef& row = node.op->base ? *node.op->base : *node.op;
  std::vector<BufferId> results;
  for (uint16_t i = 0; i < node.result_count; ++i) {
    ValueId v = node.result(i);
    if (type(v).kind == TypeKind::list) {
      for (const Type* element : type(v).elements()) results.push_back(tensor_buffer(node, v, *element));
      lists_[v] = results;
      continue;
    }
    results.push_back(result_buffer(node, v));
    buffers_[v] = results.back();
  }
  // Sizes are known from types; only what depends on data is computed.
  bool only_sizes = std::ranges::all_of(results, [](BufferId b) { return b == kNone; });
  if (only_sizes && !node.op->has(Trait::data_dependent) && !effects(*graph_, node).visible) return;
  if (is_extern(node)) {
    lower_extern(node, results);
  } else if (!row.lowering.body.empty()) {
    size_t nodes = block->nodes.size();
    try {
      lower_by_text(*this, node, results);
    } catch (const NeedsExtern&) {
      LENZ_CHECK(block->nodes.size() == nodes, node.op->full_name + " asks for an extern after it has made loops");
      lower_extern(node, results);
    }
  } else {
    lower_pointwise(*this, node, results[0]);
  }
}

// Whether there are no loops for it, whatever its operands are.
bool Lowering::is_extern(const Node& node) const {
  if (node.op->has(Trait::structural)) return false;
  const OpDef& row = node.op->base ? *node.op->base : *node.op;
  const bool left = node.op->variant == VariantKind::functional &&
                    std::ranges::any_of(options_.by_host, [&](const LowerOptions::OfHost& of) {
                      return of.origin == node.origin && (of.op.empty() || of.op == node.op->full_name);
                    });
  return left || runs_outside(node) || (row.lowering.body.empty() && row.scalar.empty());
}

bool Lowering::runs_outside(const Node& node) const {
  const OpDef& row = node.op->base ? *node.op->base : *node.op;
  return options_.products_outside && row.has(Trait::contraction) &&
         (row.has(Trait::core) || may_have_host_kernel(row)) && node.op->variant == VariantKind::functional &&
         !is_small_product(node, row) && !is_thin_convolution(node, row) && !has_no_share(node);
}

// Whether a product of matrices takes loops less time than a host needs to be called. Its factors are the last two
// operands.
bool Lowering::is_small_product(const Node& node, const OpDef& row) const {
  // Of few rows the other factor is read, and may have to be turned, for little work: but once for many steps.
  constexpr int64_t kMultiplications = 1 << 18, kOfFewRows = 1 << 14, kTiny = 1 << 9, kManyRows = 8, kVector = 16;
  constexpr size_t kOften = 8;
  constexpr int64_t kFewTerms = 8, kSomeTerms = 16, kWide = 32, kVeryWide = 128;
  if (row.lowering.body.find(" as matmul ") == std::string::npos) return false;
  SmallVec<ValueId, 4> operands;
  for (const Arg& a : node.arguments())
    if (a.is_value()) operands.push_back(a.value());
  if (operands.size() < 2) return false;
  const Type &left = type(operands[operands.size() - 2]), &made = type(node.result());
  if (made.rank() == 0) return false;
  const Dim all = numel(made.sizes()), terms = left.rank() ? left.sizes().back() : Dim(1);
  const Dim columns = made.sizes().back(), rows = made.rank() < 2 ? Dim(1) : made.sizes()[made.rank() - 2];
  if (multiplies_a_vector(node)) return true;
  const bool many = !rows.is_constant() || rows.constant() >= kManyRows;  // of open sizes: taken to be so
  const bool many_in_all = many || made.rank() > 2;                       // as many batches are
  // A few terms are less work than to write what they add up to; of narrow floats a library multiplies two at once.
  auto few = [&] {
    return !more_than(terms, kFewTerms) || (!more_than(terms, kSomeTerms) && more_than(columns, kWide - 1));
  };
  // One of complex numbers is four, of parts that lie side by side.
  const int64_t much = is_complex(made.dtype) ? kMultiplications / 8 : kMultiplications;
  auto narrow = [&] {
    if (is_complex(made.dtype)) return !more_than(columns, kVector);
    return !more_than(columns, kVeryWide) || !more_than(all, kMultiplications);
  };
  if (item_size(made.dtype) >= 4 && !more_than(all * terms, kTiny)) return true;
  if (many_in_all && item_size(made.dtype) >= 4 && few() && narrow()) return true;
  const bool enough = many || products_by(operands.back()) >= kOften;
  return more_than(columns, kVector - 1) && !more_than(all * terms, enough ? much : kOfFewRows);
}

// Whether a convolution takes each result from one channel by a few weights, and makes few of each: a host that has its
// elements in blocks of channels takes as long for one as for a block. Not of what lies channel by channel, whose
// blocks are there already. Its operands are the image and the weights.
bool Lowering::is_thin_convolution(const Node& node, const OpDef& row) const {
  constexpr int64_t kTaps = 9, kResults = 8;
  if (row.lowering.body.find(" as convolution ") == std::string::npos) return false;
  const int groups = row.schema.find("groups"), transposed = row.schema.find("transposed");
  if (groups < 0 || transposed < 0 || node.args[static_cast<size_t>(transposed)].boolean()) return false;
  const Type &image = type(node.args[0].value()), &weights = type(node.args[1].value());
  if (weights.rank() < 3 || !weights.sizes()[1].is(1) || item_size(image.dtype) < 4) return false;
  if (image.rank() != weights.rank() || !image.strides().back().is(1)) return false;
  Dim taps = 1;
  for (size_t d = 2; d < weights.rank(); ++d) taps *= weights.sizes()[d];
  const Dim made = weights.sizes()[0], of = node.args[static_cast<size_t>(groups)].dim();
  if (!taps.is_constant() || !made.is_constant() || !of.is_constant() || of.is(0)) return false;
  return taps.constant() <= kTaps && made.constant() <= kResults * of.constant();
}

// How many products have it as their last factor: it is turned once for all of them, and stays in a cache.
size_t Lowering::products_by(ValueId factor) const {
  return static_cast<size_t>(std::ranges::count_if(graph_->value(factor).users, [&](NodeId user) {
    if (user == kOutputs) return false;
    const Node& node = graph_->node(user);
    ValueId last = kNone;
    for (const Arg& a : node.arguments())
      if (a.is_value()) last = a.value();
    return node.op->has(Trait::contraction) && last == factor;
  }));
}

// A vector by a matrix of its own, which is read once, whose sizes are open: sums, as they are where sizes are known
// (passes/postgrad/vector_products.cpp).
bool Lowering::multiplies_a_vector(const Node& node) const {
  if (node.arguments().size() != 2 || !node.args[0].is_value() || !node.args[1].is_value()) return false;
  const Type &x = type(node.args[0].value()), &w = type(node.args[1].value()), &made = type(node.result());
  if (made.rank() < 2 || made.rank() > 3 || x.rank() != made.rank() || w.rank() != made.rank()) return false;
  const Dim rows = made.sizes()[made.rank() - 2], columns = made.sizes().back(), terms = x.sizes().back();
  if (item_size(made.dtype) < 4 || terms.is_constant() || !(rows.is(1) || columns.is(1))) return false;
  return made.rank() == 2 || !(rows.is(1) ? w : x).strides()[0].is(0);
}

// No guard is made of it: one program serves all sizes.
bool Lowering::more_than(Dim size, int64_t most) const {
  if (size.is_constant()) return size.constant() > most;
  return program.assumptions.truth(gt(size, most)) != Truth::no;
}

// Whether its buffer is its own: of a view too whose elements loops make (complex numbers of parts, conjugates).
bool Lowering::lies_by_itself(ValueId v) const {
  const ValueId storage = graph_->storage(v);
  if (storage == v) return true;
  const Type& t = type(v);
  return t.is_tensor() && buffers_[v] != buffers_[storage] && !shares_places(t.sizes(), t.strides());
}

// What an extern kernel looks at lies as the graph says, for the kernel may see that: a view is one of its storage's
// buffer. A product's own strides are its host's business.
BufferId Lowering::operand_outside(const Node& node, ValueId v) {
  const ValueId base = viewed_memory(v);
  if (base != v && !is_apart(base)) return view(buffer(base), type(v).tensor());
  if (!runs_outside(node) && lies_by_itself(v)) program.buffers[buffer(v)].placed = true;
  return buffer(v);
}

void Lowering::lower_extern(const Node& node, std::span<const BufferId> results) {
  if (!options_.externs) throw Unsupported(node.op->full_name + " has no loops");
  if (node.result_count == 1 && type(node.result()).kind == TypeKind::list)
    throw Unsupported(node.op->full_name + " gives a list and has no loops");
  loops::Extern e;
  e.op = node.op;
  e.origin = node.origin;
  Context& context = *program.context;
  for (const Arg& a : node.arguments()) {
    Arg made = a;
    if (a.is_value() && type(a.value()).kind == TypeKind::sym_int) {
      made = Arg::of_dim(type(a.value()).offset);
    } else if (a.is_value()) {
      made = Arg::of_value(operand_outside(node, a.value()));
    } else if (a.kind == ArgKind::value_list) {
      SmallVec<ValueId, 8> ids;
      for (ValueId v : a.value_list()) ids.push_back(v == kNone ? kNone : operand_outside(node, v));
      made = context.values(ids);
    }
    e.args.push_back(made);
  }
  for (BufferId b : results) {
    e.results.push_back(b);
    if (b != kNone) program.buffers[b].placed = true;
  }
  block->nodes.push_back({std::move(e)});
}

void Lowering::copy(BufferId from, BufferId to, std::string_view name) {
  NestBuilder nest = this->nest(name, program.buffers[to].origin);
  DimVec at;
  for (Dim size : program.buffers[to].type.sizes) at.push_back(nest.axis(size, loops::AxisKind::parallel));
  nest.store(to, at, nest.load(from, at), loops::StoreMode::assign);
  nest.finish(*block);
}

// --- outputs

// Whether a view shows the conjugates, or negatives, of its storage's elements.
void Lowering::say_what_is_lazy(ValueId v, loops::Output& o) const {
  const Laziness lazy = laziness(*graph_, v);
  o.conjugated = lazy.conjugated;
  o.negated = lazy.negated;
}

loops::Output Lowering::output_of(const Arg& arg) {
  loops::Output out;
  if (arg.is_none()) return out;
  if (arg.kind == ArgKind::value_list) {
    out.kind = loops::Output::list;
    for (ValueId v : arg.value_list()) out.elements.push_back(output_of(v == kNone ? Arg::none() : Arg::of_value(v)));
    return out;
  }
  if (arg.kind == ArgKind::integer) {
    out.kind = loops::Output::integer;
    out.value = arg.dim();
    return out;
  }
  if (!arg.is_value()) {
    out.kind = loops::Output::literal;
    out.literal_value = arg;
    return out;
  }
  ValueId v = arg.value();
  const Type& t = graph_->type(v);
  ValueId base = graph_->storage(v);
  // What shares storage with a value shows that value's buffer.
  auto shown = [&](BufferId of, const Type& as) {
    loops::Output o;
    o.kind = loops::Output::tensor;
    o.buffer = of;
    o.type = as.tensor();
    program.buffers[of].placed = true;
    return o;
  };
  switch (t.kind) {
    case TypeKind::tensor:
      out = shown(buffer(base), t);
      say_what_is_lazy(v, out);
      break;
    case TypeKind::list:
      out.kind = loops::Output::list;
      for (size_t k = 0; k < t.elements().size(); ++k)
        out.elements.push_back(shown(base == v ? lists_.at(v)[k] : buffer(base), *t.elements()[k]));
      break;
    case TypeKind::sym_int:
      out.kind = loops::Output::integer;
      out.value = t.offset;
      break;
    case TypeKind::sym_float:
    case TypeKind::sym_bool:
      out.kind = loops::Output::number;
      out.buffer = buffer(v);
      break;
    case TypeKind::none:
    case TypeKind::token: break;
  }
  return out;
}

void Lowering::run() {
  buffers_.assign(graph_->value_count(), kNone);
  lower_inputs();
  std::vector<bool> skipped = only_shown();
  graph_->for_each_node([&](NodeId id) {
    if (!skipped[id]) lower_node(graph_->node(id));
  });
  for (const Arg& a : graph_->outputs()) program.outputs.push_back(output_of(a));
  for (loops::Output& o : changed_) program.outputs.push_back(std::move(o));
  for (const Cond& c : whole_->assumptions.relied()) program.assumptions.assume(c);
}

}  // namespace lower
}  // namespace lenz
