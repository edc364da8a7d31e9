#include "fuzz/from_corpus.h"

#include <algorithm>
#include <set>

#include "compiler/driver/pipeline.h"
#include "compiler/graph/alias.h"
#include "compiler/graph/drawing.h"
#include "compiler/graph/rebuild.h"
#include "compiler/graph/text.h"
#include "compiler/graph/verify.h"
#include "compiler/ops/op_table.h"
#include "fuzz/corpus_texts.h"
#include "fuzz/habits.h"

namespace lenz::fuzz {

namespace {
constexpr size_t kMostElements = 1 << 14, kMostNodes = 40, kMostOfText = 200;

bool is_open(const Type& t) {
  bool open = false;
  for_each_symbolic_dim(t, [&](Dim) { open = true; });
  return open;
}

bool is_small(const Type& t) {
  if (!t.is_tensor()) return false;
  int64_t elements = 1;
  for (const Dim d : t.sizes())
    if (d.is_constant()) elements *= std::max<int64_t>(d.constant(), 1);
  return elements <= static_cast<int64_t>(kMostElements);
}

// What has no row, and libtorch knows: its results are as the text says them, and so nothing before it may change.
bool is_foreign(const OpDef& op) { return op.infer == nullptr && op.schema.space == "aten"; }
bool has_foreign(const Graph& graph) {
  bool some = false;
  graph.for_each_node([&](NodeId id) { some = some || is_foreign(*graph.node(id).op); });
  return some;
}

// Those whose ops the fuzzer grows graphs from, without sub-graphs.
bool serves(const Graph& graph, size_t most_nodes) {
  bool fine = graph.subgraphs.empty() && graph.node_count() <= most_nodes && !graph.inputs().empty();
  for (const Input& input : graph.inputs()) fine = fine && is_small(graph.type(input.value));
  graph.for_each_node([&](NodeId id) {
    const OpDef& op = *graph.node(id).op;
    fine = fine &&
           (Pool::takes(op) || op.has(Trait::structural) || op.has(Trait::reads_metadata_only) || is_foreign(op)) &&
           !draws_numbers(op, graph.node(id).arguments());
    for (const Arg& a : graph.node(id).arguments()) {
      const bool elsewhere = a.kind == ArgKind::data && !a.data->bytes;
      fine = fine && !elsewhere && a.kind != ArgKind::graph;
    }
  });
  return fine;
}

// Of a pass's example what it is given.
std::unique_ptr<Graph> parsed(std::string_view text) {
  try {
    auto graph = parse_graph(text.substr(0, text.find("\n# ---- after")), op_table());
    return verify(*graph).empty() ? std::move(graph) : nullptr;
  } catch (const Error&) {  // ops of plugins that are not here
    return nullptr;
  }
}

const std::vector<const char*>& texts() {
  static const std::vector<const char*> all = [] {
    std::vector<const char*> some;
    for (const NamedText& t : kCorpusTexts)
      if (auto graph = parsed(t.text); graph && serves(*graph, kMostOfText)) some.push_back(t.text);
    return some;
  }();
  return all;
}

// A text that shows many things shows a case one of them: what one of its outputs needs.
void one_of_many(Graph& graph, Chooser& c) {
  constexpr size_t kFew = 12;
  if (graph.node_count() <= kFew || graph.outputs().size() < 2) return;
  const Arg output = graph.outputs()[c.below(graph.outputs().size())];
  graph.set_outputs({&output, 1});
  PassContext context;
  find_pass("dead_code")->pass.run(graph, context);
}

// What a graph becomes another by.
class Changes {
 public:
  Changes(const Graph& graph, Chooser& choose) : graph_(graph), c_(choose) {
    std::vector<Dtype> dtypes;
    std::vector<int64_t> sizes;
    for (const Input& input : graph.inputs()) {
      const Type& t = graph.type(input.value);
      dtypes.push_back(t.dtype);
      for (const Dim d : t.sizes()) sizes.push_back(d.constant());
    }
    if (c_.below(3) == 2) {
      from_ = c_.pick(dtypes);
      to_ = c_.any_of({Dtype::f32, Dtype::f64, Dtype::bf16, Dtype::f16, Dtype::i64, Dtype::i32, Dtype::u8, Dtype::i8,
                       Dtype::b8, Dtype::c64});
    }
    if (!sizes.empty() && c_.below(3) == 2) {
      size_ = c_.pick(sizes);
      other_size_ = c_.any_of<int64_t>({1, 0, 2, 3, 5, 8, 17, 33});
    }
    arguments_ = c_.below(3);  // of 8
  }

  std::unique_ptr<Graph> made() {
    std::vector<const Type*> inputs;
    for (const Input& input : graph_.inputs()) inputs.push_back(type_of(input));
    return rebuilt(graph_,
                   {.inputs = inputs, .argument = [&](const Arg& a, const ParamType& p) { return other(a, p); }});
  }

 private:
  const Type* type_of(const Input& input) {
    const Type& t = graph_.type(input.value);
    TensorType other = t.tensor();
    const bool of_bytes = input.alias && to_ == Dtype::b8;  // what others write there may be no truth
    if (t.dtype == from_ && !is_index(input) && !of_bytes) other.dtype = to_;
    const DimVec sizes(t.sizes());
    if (size_ > 0 && !input.alias && std::ranges::equal(t.strides(), contiguous_strides(sizes))) {
      for (Dim& d : other.sizes)
        if (d.is(size_)) d = other_size_;
      const DimVec strides = contiguous_strides(other.sizes);
      for (size_t i = 0; i < strides.size(); ++i) other.strides[i] = strides[i];
    }
    return graph_.context().tensor(other);
  }
  static bool is_index(const Input& input) { return input.init.kind == Initialiser::integers; }

  Arg other(const Arg& a, const ParamType& p) {
    const bool changes = c_.below(8) < arguments_;
    if (a.kind == ArgKind::integer && !a.symbolic) {
      if (size_ > 0 && a.i == size_ && p.kind != ParamKind::scalar) return Arg::of_int(other_size_);
      if (!changes) return a;
      if (p.kind == ParamKind::scalar) return Arg::of_int(c_.any_of<int64_t>({0, 1, -1, 2, 3}));
      return Arg::of_int(a.i + (c_.flip() ? 1 : -1));
    }
    if (a.kind == ArgKind::int_list && size_ > 0) {
      SmallVec<int64_t, 6> items;
      for (const Dim d : a.dim_list()) items.push_back(d.is(size_) ? other_size_ : d.is_constant() ? d.constant() : 0);
      return graph_.context().ints(items);
    }
    if (!changes) return a;
    if (a.kind == ArgKind::real) return Arg::of_real(c_.any_of({0.0, 1.0, -1.0, 2.0, 0.5, -0.0, 3.0}));
    if (a.kind == ArgKind::boolean && !p.optional) return Arg::of_bool(!a.boolean());  // those left open: pinned memory
    if (a.kind == ArgKind::value && c_.flip()) return Arg::of_value(an_input_like(a.value()));
    return a;
  }

  ValueId an_input_like(ValueId v) {
    std::vector<ValueId> alike{v};
    for (const Input& input : graph_.inputs())
      if (!is_index(input) && &graph_.type(input.value) == &graph_.type(v)) alike.push_back(input.value);
    return c_.pick(alike);
  }

  const Graph& graph_;
  Chooser& c_;
  std::optional<Dtype> from_;
  Dtype to_ = Dtype::f32;
  int64_t size_ = 0, other_size_ = 0;
  uint64_t arguments_ = 0;
};

// So that what grows on it does not meet its names.
void rename(Graph& graph) {
  Context& context = graph.context();
  for (ValueId v = 0; v < graph.value_count(); ++v) graph.set_name(v, kNone);
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    Input& input = graph.input(i);
    graph.set_name(input.value, context.intern("b" + std::to_string(i)));
    if (input.alias) input.alias = context.intern("shared" + std::to_string(*input.alias));
  }
}

// Nobody else says what that may be.
bool read_by_foreign(const Graph& graph, ValueId v) {
  return std::ranges::any_of(graph.value(v).users,
                             [&](NodeId user) { return user != kOutputs && is_foreign(*graph.node(user).op); });
}

// Integers have none: they may be indices, and who reads them says into what.
void initialise(Graph& graph, Chooser& c) {
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    Input& input = graph.input(i);
    if (input.alias || read_by_foreign(graph, input.value)) continue;
    if (is_integral(graph.type(input.value).dtype, true)) {
      input.init = {};
    } else if (input.init.kind == Initialiser::none) {
      input.init = {Initialiser::uniform, -4, 4, c.below(1 << 16)};
    }
  }
}

// Whether a call writes to one memory by way of two operands: what stands there then is nobody's promise.
bool writes_twice(const Graph& graph) {
  bool twice = false;
  graph.for_each_node([&](NodeId id) {
    std::set<ValueId> written;
    for_each_written(graph, graph.node(id), [&](ValueId v) { twice |= !written.insert(graph.storage(v)).second; });
  });
  return twice;
}
}  // namespace

std::span<const NamedText> corpus_texts() { return kCorpusTexts; }

std::unique_ptr<Graph> graph_from_corpus(Chooser& choose, const std::optional<Turn>& turn) {
  const auto& all = texts();
  if (all.empty()) return nullptr;
  const uint64_t which = turn ? turn->of(turn->number / kCorpusEvery, all.size()) : choose.below(all.size());
  std::unique_ptr<Graph> graph = parsed(all[which]);
  one_of_many(*graph, choose);
  std::unique_ptr<Graph> made;
  const bool open = std::ranges::any_of(graph->inputs(), [&](const Input& i) { return is_open(graph->type(i.value)); });
  try {
    // Sizes that are open have no others.
    made = open || has_foreign(*graph) ? graph->clone() : Changes(*graph, choose).made();
  } catch (const Error&) {  // numbers that make no type
  }
  if (!made || !serves(*made, kMostNodes) || !verify(*made).empty() || writes_twice(*made)) return nullptr;
  rename(*made);
  initialise(*made, choose);
  made->name = "fuzzed";
  return made;
}

}  // namespace lenz::fuzz
