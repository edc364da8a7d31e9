#include "compiler/graph/verify.h"

#include <algorithm>

#include "compiler/base/hash.h"
#include "compiler/base/source.h"
#include "compiler/graph/alias.h"
#include "compiler/graph/host_kernels.h"
#include "compiler/graph/text.h"
#include "compiler/graph/verifier.h"

namespace lenz {

namespace {
constexpr std::string_view kNotInText = {};
constexpr VerifyRule kRules[] = {
    {101, "node_links", "The list of nodes is linked both ways and holds every node that is not erased, once.",
     kNotInText},
    {102, "results", "A node's results are consecutive values that name it as their producer, in order.", kNotInText},
    {103, "inputs", "An input is a value without a producer that knows its place.", kNotInText},
    {104, "uses", "The users of a value are the nodes and outputs that mention it, each as often as it does.",
     kNotInText},
    {105, "names", "No two values of a graph have one name.", kNotInText},
    {106, "argument_count", "A node has one argument for each parameter of its op.", kNotInText},
    {107, "known_values", "Every value and sub-graph that is mentioned exists, and its node is not erased.",
     kNotInText},

    {201, "argument_kinds", "Every argument fits the type of its parameter.", kNotInText},
    {202, "constants", "A constant is contiguous, of constant shape, and has as many bytes as its type says.",
     kNotInText},
    {203, "outputs", "Outputs are values, literals or lists of them: neither sub-graphs nor constants.",
     "give the constant a statement and a name, and return that"},

    {301, "order", "A value is defined before the nodes that use it.", kNotInText},

    {401, "result_types", "The types of a node's results are those that its op's rule infers.", kNotInText},
    {402, "result_count", "A node has as many results as its op gives.", kNotInText},
    {403, "guards", "Type rules need no condition beyond the graph's facts and guards.", kNotInText},
    {404, "sizes", "The sizes of inputs and of annotated results are not negative.", "write 0 or more"},
    {405, "strides", "The strides of inputs and of annotated results are not negative.", "write 0 or more"},
    {406, "offset", "The storage offset of an input or an annotated result is not negative.", "write 0 or more"},

    {407, "requires_grad", "What requires a gradient is a tensor of floating or complex numbers.",
     "leave out `requires_grad`, or make the input one of floats"},
    {408, "initialiser", "An initialiser gives a tensor values of its dtype.", "correct the initialiser"},

    {501, "storage", "A value's storage is its own, or that of the operand that its op says it shares.", kNotInText},
    {502, "alias_device", "Inputs of one alias class are on one device.",
     "put them on one device, or leave out one's alias class"},
    {503, "write_to_input", "Only inputs marked `mut` are written to, through views too.",
     "mark the input `mut`, or write to a clone of it"},
    {504, "write_overlap", "What is written has no dim of several elements at one place, as an expanded tensor has.",
     "write to a copy of it"},
    {505, "write_to_constant", "Constants are not written to.", "write to a clone of it"},

    {506, "resized", "A tensor that an out= op resizes is not used again as what it was.", "use what the op returns"},

    {601, "functional",
     "From level aten on, no op writes to an operand, but `copy_` and `resized_to` to inputs at the end.",
     "call the functional op, or write `level torch`"},
    {602, "no_out", "From level aten on, no op has an out= argument.",
     "use the call's result and leave out=, or write `level torch`"},
    {603, "core_ops", "At level core, ops are core ones.", "write `level aten`, or core ops instead"},
    {604, "subgraph_level", "A sub-graph has the level of its caller.", "write the same level behind its inputs"},
    {605, "epilogue", "From level aten on, behind a `copy_` to an input stand only more of them and views of inputs.",
     "move it before the first `copy_`"},
    {606, "epilogue_sources", "What a `copy_` at the end copies lies in no input that one of them writes to.",
     "copy a clone that is made before"},

    {701, "symbol_bound", "A symbol is bound: it is a size, stride, offset or value of an input, or a node makes it.",
     "is it misspelt? An input `%n: int n` binds n"},
    {702, "symbol_order", "An unbacked symbol is used only behind the node that makes it.",
     "move this behind that node"},
    {703, "symbol_made_once", "An unbacked symbol is made by one node and is no symbol of an input.",
     "annotate this with a symbol of its own"},
    {704, "guards_hold", "The facts refute no guard.", kNotInText},
    {705, "symbol_names", "The name of a symbol is a word that a text can say.", kNotInText},
    {706, "fact_symbols", "A fact or guard is about symbols that are bound.",
     "is it misspelt? A fact speaks of sizes of inputs, or of what nodes make"},

    {801, "subgraph_signature", "A control-flow op's operands and results are those of its sub-graphs.", kNotInText},
    {802, "subgraph_inputs", "An initialiser or `requires_grad` stands only at inputs of the main graph.",
     "say it of the main graph's input"},
    {803, "subgraph_aliasing",
     "Operands that share memory, one of which a sub-graph writes to, are inputs of one alias class there.",
     "give these inputs of the sub-graph one `alias` class, or pass a clone"},

    {901, "token_linear", "A token is used once at most.",
     "an op with an effect gives the token that the next one takes"},
    {902, "effects_ordered",
     "The tokens of a graph's effects descend from one, and from level aten on an op with an effect takes one.",
     "take the token that the op with an effect before it gives"},
};
constexpr size_t kMostViolations = 100;
}  // namespace

std::span<const VerifyRule> verify_rules() { return kRules; }

const VerifyRule& verify_rule(int number) {
  for (const VerifyRule& rule : kRules)
    if (rule.number == number) return rule;
  internal_error("no verifier rule " + std::to_string(number), __FILE__, __LINE__);
}

std::string to_string(const Violation& v) {
  std::string text = "G" + std::to_string(v.rule) + " " + std::string(verify_rule(v.rule).name) + ": " + v.message +
                     "\n    in @" + v.graph->name;
  if (v.node != kNone) text += ": " + GraphText(*v.graph).node(v.node);
  return text;
}

Verifier::Verifier(const Graph& graph, Level level, std::vector<Violation>& out)
    : graph_(graph), level_(level), out_(out), assumptions_(graph.assumptions) {}

bool Verifier::full() const { return out_.size() >= kMostViolations; }

void Verifier::report(int rule, NodeId node, std::string message) {
  if (!full()) out_.push_back({rule, &graph_, node, std::move(message), {}});
}

void Verifier::report_input(int rule, size_t number, std::string message) {
  if (!full()) out_.push_back({rule, &graph_, kNone, std::move(message), number});
}

void Verifier::run() {
  if (!structure()) return;  // nothing else can be asked of it
  size_t before = out_.size();
  names();
  order();
  inputs();
  graph_.for_each_node([&](NodeId id) { arguments(id); });
  outputs();
  level();
  effects();
  alias_classes();
  guards();
  symbols();
  resizes();
  for (const auto& sub : graph_.subgraphs) {
    if (sub->level != graph_.level)
      report(604, kNone,
             sub->spelled_name() + " is of level " + std::string(lenz::name(sub->level)) + ", its caller of level " +
                 std::string(lenz::name(graph_.level)));
    for (const Input& i : sub->inputs())
      if (i.init.kind != Initialiser::none || i.requires_grad)
        report(802, kNone,
               "the input " + sub->value_name(i.value) + " of the sub-graph @" + sub->name +
                   " has an initialiser or `requires_grad`");
    Verifier(*sub, level_, out_).run();
  }
  if (out_.size() != before) return;  // re-inference asks for arguments of the right kinds
  graph_.for_each_node([&](NodeId id) {
    if (full()) return;
    results(id);
    writes(id);
  });
}

// --- structure

bool Verifier::structure() { return links() && values() && uses(); }

bool Verifier::links() {
  size_t count = 0;
  NodeId previous = kNone;
  for (NodeId at = graph_.first(); at != kNone; at = graph_.node(at).next) {
    if (at >= graph_.node_capacity() || graph_.node(at).erased || graph_.previous(at) != previous ||
        ++count > graph_.node_count()) {
      report(101, kNone, "the list of nodes is broken at node " + std::to_string(at));
      return false;
    }
    previous = at;
  }
  bool whole = previous == graph_.last() && count == graph_.node_count();
  if (!whole) report(101, kNone, "the list of nodes does not hold all of them");
  return whole;
}

bool Verifier::values() {
  size_t before = out_.size(), count = graph_.value_count();
  for (size_t i = 0; i < graph_.inputs().size(); ++i) {
    ValueId v = graph_.inputs()[i].value;
    if (v >= count || graph_.value(v).producer != kNone || graph_.value(v).index != i)
      report(103, kNone, "input " + std::to_string(i) + " is broken");
  }
  graph_.for_each_node([&](NodeId id) {
    const Node& n = graph_.node(id);
    if (n.arg_count != n.op->schema.params.size())
      report(106, kNone,
             n.op->full_name + " has " + std::to_string(n.op->schema.params.size()) + " parameters, node " +
                 std::to_string(id) + " " + std::to_string(n.arg_count) + " arguments");
    for (size_t i = 0; i < n.result_count; ++i) {
      ValueId v = n.result(i);
      if (v >= count || graph_.value(v).producer != id || graph_.value(v).index != i) {
        report(102, kNone, "result " + std::to_string(i) + " of node " + std::to_string(id) + " is broken");
        return;
      }
    }
  });
  for (ValueId v = 0; v < count; ++v)
    if (graph_.storage(v) >= count) report(501, kNone, "value " + std::to_string(v) + " has no storage");
  return out_.size() == before;
}

// Users are compared as multisets through sums of hashes: linear, and a mistake goes unseen once in 2^64.
bool Verifier::uses() {
  size_t before = out_.size(), count = graph_.value_count();
  std::vector<uint64_t> sums(count, 0);
  auto mention = [&](NodeId user, const Arg& a) {
    for_each_value(a, [&](ValueId v) {
      if (v >= count) {
        report(107, kNone, "node " + std::to_string(user) + " mentions a value that does not exist");
      } else {
        NodeId producer = graph_.value(v).producer;
        if (producer != kNone && graph_.node(producer).erased)
          report(107, kNone, name(v) + " is used, but its node is erased");
        sums[v] += mix(user);
      }
    });
    if (a.kind == ArgKind::graph && a.graph() >= graph_.subgraphs.size())
      report(107, kNone, "node " + std::to_string(user) + " mentions a sub-graph that does not exist");
  };
  graph_.for_each_node([&](NodeId id) {
    for (const Arg& a : graph_.node(id).arguments()) mention(id, a);
  });
  for (const Arg& a : graph_.outputs()) mention(kOutputs, a);
  if (out_.size() != before) return false;
  for (ValueId v = 0; v < count; ++v) {
    uint64_t sum = 0;
    for (NodeId user : graph_.value(v).users) sum += mix(user);
    if (sum != sums[v]) report(104, kNone, "the users of " + name(v) + " are not those that mention it");
  }
  return out_.size() == before;
}

void Verifier::names() {
  std::vector<bool> taken;
  auto check = [&](ValueId v, NodeId id) {
    NameId name_id = graph_.value(v).name;
    if (name_id == kNone) return;
    if (name_id >= taken.size()) taken.resize(name_id + size_t{1});
    if (taken[name_id]) report(105, id, "two values are named " + name(v));
    taken[name_id] = true;
  };
  for (const Input& i : graph_.inputs()) check(i.value, kNone);
  graph_.for_each_node([&](NodeId id) {
    for (size_t i = 0; i < graph_.node(id).result_count; ++i) check(graph_.node(id).result(i), id);
  });
}

void Verifier::order() {
  std::vector<bool> defined(graph_.value_count());
  for (const Input& i : graph_.inputs()) defined[i.value] = true;
  graph_.for_each_node([&](NodeId id) {
    const Node& n = graph_.node(id);
    for (const Arg& a : n.arguments())
      for_each_value(a, [&](ValueId v) {
        if (!defined[v]) report(301, id, name(v) + " is used before it is defined");
      });
    for (size_t i = 0; i < n.result_count; ++i) defined[n.result(i)] = true;
  });
  for (const Arg& a : graph_.outputs())
    for_each_value(a, [&](ValueId v) {
      if (!defined[v]) report(301, kNone, name(v) + " is an output and not defined");
    });
}

// --- levels and effects

void Verifier::level() {
  if (level_ == Level::torch) return;
  epilogue();
  graph_.for_each_node([&](NodeId id) {
    const Node& node = graph_.node(id);
    const OpDef& op = *node.op;
    std::string level_name(lenz::name(level_));
    bool out = std::ranges::any_of(op.schema.params, [](const Param& p) { return p.is_out; });
    if (out) {
      report(602, id, op.full_name + " has an out= argument at level " + level_name);
    } else if (writes_operands(op, node.arguments()) && !copies_back(node)) {
      report(601, id, op.full_name + " writes to an operand at level " + level_name);
    } else if (level_ == Level::core && op.infer && !op.has(Trait::core) && !op.schema.mutates() &&
               !may_have_host_kernel(op)) {
      report(603, id, op.full_name + " is no core op");
    }
  });
}

// The one write of a functional graph: an input gets its final value.
bool Verifier::copies_back(const Node& node) const {
  const bool copies = gives_a_size(node) || node.op->full_name == "aten.copy_";  // op name: the rule names it
  if (!copies || !node.args[0].is_value()) return false;
  ValueId owner = graph_.storage(node.args[0].value());
  return graph_.value(owner).producer == kNone;
}

void Verifier::epilogue() {
  bool begun = false;
  SmallVec<NodeId, 8> copies;
  graph_.for_each_node([&](NodeId id) {
    const Node& node = graph_.node(id);
    if (copies_back(node)) {
      begun = true;
      copies.push_back(id);
      return;
    }
    if (!begun || node.op->schema.mutates()) return;
    bool view = node.result_count > 0;  // whatever its row is: one that may compute may give a view of these operands
    for (uint16_t i = 0; i < node.result_count; ++i)
      view = view && graph_.value(graph_.storage(node.result(i))).producer == kNone;
    if (!view) report(605, id, node.op->full_name + " stands behind a `copy_` to an input");
  });
  if (copies.empty()) return;
  if (!aliases_) aliases_.emplace(graph_);
  std::vector<bool> written(graph_.value_count());
  for (NodeId id : copies) written[aliases_->root(graph_.node(id).args[0].value())] = true;
  for (NodeId id : copies) {
    const Arg& source = graph_.node(id).args[1];
    if (source.is_value() && written[aliases_->root(source.value())])
      report(606, id, "this copies " + name(source.value()) + ", which lies in an input that is written to");
  }
}

void Verifier::effects() {
  auto check_token = [&](ValueId v, NodeId id) {
    if (graph_.type(v).kind == TypeKind::token && graph_.value(v).users.size() > 1)
      report(901, id, "the token " + name(v) + " is used " + std::to_string(graph_.value(v).users.size()) + " times");
  };
  for (const Input& i : graph_.inputs()) check_token(i.value, kNone);
  std::unordered_map<ValueId, ValueId> descends;  // from which first one a token does
  ValueId first = kNone;
  graph_.for_each_node([&](NodeId id) {
    const Node& n = graph_.node(id);
    for (size_t i = 0; i < n.result_count; ++i) check_token(n.result(i), id);
    ValueId taken = kNone;
    for (const Arg& a : n.arguments())
      for_each_value(a, [&](ValueId v) {
        if (graph_.type(v).kind == TypeKind::token) taken = descends.emplace(v, v).first->second;
      });
    for (size_t i = 0; i < n.result_count && taken != kNone; ++i)
      if (graph_.type(n.result(i)).kind == TypeKind::token) descends.emplace(n.result(i), taken);
    if (!n.op->has(Trait::effect)) return;
    if (taken == kNone) {
      if (level_ != Level::torch) report(902, id, n.op->full_name + " has an effect and takes no token");
      return;
    }
    if (first == kNone) first = taken;
    if (taken != first)
      report(902, id,
             "nothing orders this and the effects before it: its token descends from " + name(taken) +
                 ", theirs from " + name(first));
  });
}

// --- all of it

std::vector<Violation> verify(const Graph& graph, std::optional<Level> level) {
  std::vector<Violation> out;
  Verifier(graph, level.value_or(graph.level), out).run();
  return out;
}

std::vector<UserError> verify_text(const Graph& graph, std::string_view text, ParseOptions options,
                                   std::optional<Level> level) {
  if (verify(graph, level).empty()) return {};
  Places places;  // kept for no graph that is valid: a second reading finds them
  options.places = &places;
  options.comments = nullptr;
  auto again = parse_graph(text, graph.ops(), options);
  Source source(text, options.file);
  std::vector<UserError> errors;
  for (const Violation& v : verify(*again, level)) {
    const VerifyRule& rule = verify_rule(v.rule);
    Places::Place place = v.input           ? places.inputs.at({v.graph, *v.input})
                          : v.node == kNone ? places.graphs.at(v.graph)
                                            : places.nodes.at({v.graph, v.node});
    errors.push_back(source.error(place.at, place.end,
                                  "G" + std::to_string(rule.number) + " " + std::string(rule.name) + ": " + v.message,
                                  std::string(rule.remedy)));
  }
  return errors;
}

std::unique_ptr<Graph> read_valid_graph(const std::string& path, const OpTable& ops) {
  std::string text = read_text(path, ParseLimits().text);
  ParseOptions options;
  options.file = text_name(path);
  auto graph = parse_graph(text, ops, options);
  std::vector<UserError> errors = verify_text(*graph, text, options);
  if (errors.empty()) return graph;
  std::string all;
  for (const UserError& e : errors) all += (all.empty() ? "" : "\n") + std::string(e.what());
  throw UserError(all);
}

}  // namespace lenz
