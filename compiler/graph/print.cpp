// The printer of the text form. What it writes reads back as an equal graph, also for a graph that breaks rules, as far
// as text can say it: messages about broken graphs print them.
#include <algorithm>
#include <deque>
#include <unordered_map>
#include <unordered_set>

#include "compiler/base/lexer.h"
#include "compiler/graph/print_literal.h"
#include "compiler/graph/text.h"

namespace lenz {

namespace {

constexpr size_t kLineWidth = 100;  // of a header, before its inputs get a line each

// What the graphs of a file share: names of sub-graphs, spellings of ops.
struct FilePrinter {
  explicit FilePrinter(const PrintOptions& given) : options(given) {}
  const PrintOptions& options;
  std::unordered_map<const Graph*, std::string> graph_names;
  std::unordered_set<std::string> taken;
  std::vector<const Graph*> queue;  // sub-graphs to print, in order of mention
  struct Spelling {
    std::string packet, full;
    std::vector<const OpDef*> earlier;  // overloads that a call by the packet's name tries first
  };
  std::unordered_map<const OpDef*, Spelling> spellings;

  const std::string& graph_name(const Graph& graph) {
    auto [at, fresh] = graph_names.try_emplace(&graph);
    if (fresh) {
      std::string name = graph.name;
      for (int i = 1; !taken.insert(name).second; ++i) name = graph.name + "_" + std::to_string(i);
      at->second = std::move(name);
      queue.push_back(&graph);
    }
    return at->second;
  }

  Spelling& spelling(const Graph& graph, const OpDef& op) {
    auto [at, fresh] = spellings.try_emplace(&op);
    if (!fresh) return at->second;
    Spelling& s = at->second;
    s.packet = op.schema.space + "." + op.schema.packet;
    s.full = s.packet + "." + (op.schema.overload.empty() ? "default" : op.schema.overload);
    s.earlier = candidates(graph.context(), graph.ops(), s.packet);
    auto self = std::find(s.earlier.begin(), s.earlier.end(), &op);
    s.earlier.erase(self, s.earlier.end());
    return s;
  }
};

void append_lines(std::string& out, std::span<const std::string> lines, std::string_view indent) {
  for (const std::string& line : lines) {
    out += indent;
    out += line;
    out += '\n';
  }
}

// A list as a reader sees it before it knows the parameter.
Arg neutral(const Arg& a, std::deque<std::vector<Arg>>& memory) {
  std::vector<Arg> items;
  switch (a.kind) {
    case ArgKind::value_list:
      for (ValueId v : a.value_list()) items.push_back(v == kNone ? Arg::none() : Arg::of_value(v));
      break;
    case ArgKind::int_list:
      for (Dim d : a.dim_list()) items.push_back(Arg::of_dim(d));
      break;
    case ArgKind::real_list:
      for (double d : a.real_list()) items.push_back(Arg::of_real(d));
      break;
    case ArgKind::bool_list:
      for (bool b : a.bool_list()) items.push_back(Arg::of_bool(b));
      break;
    default: return a;
  }
  Arg list;
  list.kind = ArgKind::arg_list;
  list.count = a.count;
  list.args = memory.emplace_back(std::move(items)).data();
  return list;
}

class GraphPrinter {
 public:
  GraphPrinter(FilePrinter& file, const Graph& graph, std::string& out)
      : file_(file), graph_(graph), context_(graph.context()), out_(out) {
    name_values();
  }

  void graph() {
    const Comments* comments = file_.options.comments;
    auto place = [&](const auto& places, const auto& key) -> const Comments::Place* {
      auto at = places.find(key);
      return at == places.end() ? nullptr : &at->second;
    };
    auto above = [&](const Comments::Place* p) {
      if (p) append_lines(out_, p->above, "  ");
    };
    auto line_end = [&](const Comments::Place* p) {
      if (p && !p->behind.empty()) out_ += "  " + p->behind;
      out_ += '\n';
    };
    const Comments::Place* at = comments ? place(comments->graphs, &graph_) : nullptr;
    out_ += "graph ";
    append_name(out_, '@', file_.graph_name(graph_));
    inputs();
    if (graph_.level != Level::torch) {
      out_ += " level ";
      out_ += name(graph_.level);
    }
    facts();
    out_ += " {";
    line_end(at);
    graph_.for_each_node([&](NodeId id) {
      at = comments ? place(comments->nodes, std::pair(&graph_, id)) : nullptr;
      above(at);
      out_ += "  ";
      statement(graph_.node(id));
      line_end(at);
    });
    at = comments ? place(comments->returns, &graph_) : nullptr;
    above(at);
    out_ += "  ";
    returns();
    line_end(at);
    out_ += "}\n";
  }

  void returns() {
    out_ += "return";
    bool first = true;
    for (const Arg& a : graph_.outputs()) {
      out_ += first ? " " : ", ";
      first = false;
      arg(a);
    }
  }

  void arg(const Arg& a) {
    append_arg(
        out_, context_, a, [&](ValueId v) { value(v); },
        [&](uint32_t index) {
          if (index < graph_.subgraphs.size()) {
            append_name(out_, '@', file_.graph_name(*graph_.subgraphs[index]));
          } else {
            out_ += "@\"?\"";
          }
        });
  }

  void statement(const Node& n) {
    bool annotate = makes_symbols(n) || file_.options.types || !n.op->infer || n.op->has(Trait::data_dependent);
    for (uint16_t i = 0; i < n.result_count; ++i) {
      if (i) out_ += ", ";
      value(n.result(i));
      if (!annotate) continue;
      out_ += ": ";
      type(graph_.type(n.result(i)));
    }
    if (n.result_count) out_ += " = ";
    call(n);
    if (file_.options.provenance) append_origin(out_, context_, n.origin);
  }

  void facts() { append_facts(out_, graph_.assumptions, file_.options.guards); }

  void input(const Input& i) {
    value(i.value);
    out_ += ": ";
    type(graph_.type(i.value));
    if (i.alias) {
      append_alias(out_, context_.name(*i.alias));
    }
    if (i.mutated) out_ += " mut";
    if (i.requires_grad) out_ += " requires_grad";
    initialiser(i.init);
  }

 private:
  // Whether a result's type has a symbol that nothing before it has: then its name must be said.
  bool makes_symbols(const Node& n) {
    bool fresh = false;
    for (uint16_t i = 0; i < n.result_count; ++i) fresh = add_symbols(graph_.type(n.result(i))) || fresh;
    return fresh;
  }

  bool add_symbols(const Type& t) {
    if (!known_types_.insert(&t).second) return false;
    bool fresh = false;
    auto add = [&](Dim d) {
      if (!d.is_constant())
        for_each_symbol(d, [&](const SymNode* s) { fresh = known_symbols_.insert(s).second || fresh; });
    };
    for (Dim d : t.sizes().subspan(0, t.is_tensor() ? t.count : 0)) add(d);
    if (t.kind == TypeKind::sym_int) add(t.offset);
    for (const Type* e : t.elements()) fresh = add_symbols(*e) || fresh;
    return fresh;
  }

  // Unnamed values get numbers, in order; the second of two values with one name gets another.
  void name_values() {
    std::vector<ValueId> clashes;
    auto add = [&](ValueId v) {
      NameId name = graph_.value(v).name;
      if (name != kNone) {
        if (name >= owner_.size()) owner_.resize(name + size_t{1}, kNone);
        if (owner_[name] != kNone)
          clashes.push_back(v);
        else
          owner_[name] = v;
        return;
      }
      if (numbers_.empty()) numbers_.resize(graph_.value_count(), kNone);
      numbers_[v] = next_number_++;
    };
    for (const Input& input : graph_.inputs()) {
      add(input.value);
      add_symbols(graph_.type(input.value));
    }
    graph_.for_each_node([&](NodeId id) {
      const Node& n = graph_.node(id);
      for (uint16_t i = 0; i < n.result_count; ++i) add(n.result(i));
    });
    if (clashes.empty()) return;
    std::unordered_set<std::string> taken;
    for (NameId name = 0; name < owner_.size(); ++name)
      if (owner_[name] != kNone) taken.emplace(context_.name(name));
    std::unordered_map<NameId, int> counts;
    for (ValueId v : clashes) {
      NameId name = graph_.value(v).name;
      std::string fresh;
      do fresh = std::string(context_.name(name)) + "_" + std::to_string(++counts[name]);
      while (!taken.insert(fresh).second);
      renamed_.emplace(v, std::move(fresh));
    }
  }

  void value(ValueId v) {
    if (v >= graph_.value_count()) {
      out_ += "%\"?\"";
      return;
    }
    NameId name = graph_.value(v).name;
    if (name == kNone) {
      out_ += '%';
      append_int(out_, v < numbers_.size() && numbers_[v] != kNone ? numbers_[v] : next_number_ + v);
      return;
    }
    if (!renamed_.empty())
      if (auto other = renamed_.find(v); other != renamed_.end()) return append_name(out_, '%', other->second);
    append_name(out_, '%', context_.name(name));
  }

  void type(const Type& t) {
    auto [at, fresh] = types_.try_emplace(&t);
    if (fresh) at->second = to_string(t);
    out_ += at->second;
  }

  // --- header

  void inputs() {
    size_t start = out_.size(), line = out_.rfind('\n', start);
    line = start - (line == std::string::npos ? 0 : line + 1);
    for (bool wrapped : {false, true}) {
      out_.resize(start);
      out_ += '(';
      bool first = true;
      for (const Input& i : graph_.inputs()) {
        if (!first) out_ += wrapped ? "," : ", ";
        if (wrapped) out_ += "\n    ";
        first = false;
        input(i);
      }
      if (wrapped) out_ += '\n';
      out_ += ')';
      if (line + out_.size() - start <= kLineWidth || graph_.inputs().empty()) return;
    }
  }

  void initialiser(const Initialiser& init) {
    constexpr std::string_view names[] = {"", "uniform", "normal", "integers", "zeros", "ones", "permutation"};
    if (init.kind == Initialiser::none) return;
    out_ += " init ";
    out_ += names[init.kind];
    if (init.kind == Initialiser::zeros || init.kind == Initialiser::ones) return;
    out_ += '(';
    if (init.kind != Initialiser::permutation) {
      append_bound(init.low, init.kind);
      out_ += ", ";
      append_bound(init.high, init.kind);
      out_ += ", ";
    }
    out_ += "seed=";
    out_ += std::to_string(init.seed);
    if (init.sorted) out_ += ", sorted=true";
    out_ += ')';
  }

  void append_bound(double value, Initialiser::Kind kind) {
    size_t start = out_.size();
    append_real(out_, value);
    bool whole = kind == Initialiser::integers && out_.size() - start > 2 && out_.ends_with(".0");
    if (whole) out_.resize(out_.size() - 2);
  }

  void call(const Node& n) {
    positional_.clear();
    keywords_.clear();
    const auto& params = n.op->schema.params;
    bool whole = true;  // every parameter so far has its place
    for (size_t i = 0; i < n.arg_count; ++i) {
      const Arg& a = n.args[i];
      if (i >= params.size()) {
        positional_.push_back(a);
        continue;
      }
      const Param& p = params[i];
      bool required = !p.fallback && !p.type.optional;
      if (!required && is_default(context_, p, a)) {
        whole = false;
        continue;
      }
      bool by_place = whole && !p.keyword_only && (required || a.is_value());
      whole = by_place;
      if (by_place) {
        positional_.push_back(a);
      } else {
        keywords_.push_back({p.name, a});
      }
    }
    auto& spelling = file_.spelling(graph_, *n.op);
    out_ += spelling.earlier.empty() || !taken_earlier(spelling.earlier) ? spelling.packet : spelling.full;
    out_ += '(';
    bool first = true;
    auto separate = [&] {
      if (!first) out_ += ", ";
      first = false;
    };
    for (const Arg& a : positional_) {
      separate();
      arg(a);
    }
    for (const Keyword& k : keywords_) {
      separate();
      out_ += k.name;
      out_ += '=';
      arg(k.arg);
    }
    out_ += ')';
  }

  // Whether a reader of this call would take it for an earlier overload.
  bool taken_earlier(std::span<const OpDef* const> earlier) {
    std::deque<std::vector<Arg>> memory;
    for (const Arg& a : positional_)
      if (a.is_value() && a.value() >= graph_.value_count()) return true;  // a broken graph
    std::vector<Arg> positional;
    std::vector<Keyword> keywords;
    for (const Arg& a : positional_) positional.push_back(neutral(a, memory));
    for (const Keyword& k : keywords_) keywords.push_back({k.name, neutral(k.arg, memory)});
    CallArgs full;
    return std::ranges::any_of(earlier,
                               [&](const OpDef* op) { return match_call(graph_, *op, positional, keywords, full); });
  }

  FilePrinter& file_;
  const Graph& graph_;
  Context& context_;
  std::string& out_;
  std::vector<ValueId> owner_;     // of a name
  std::vector<uint32_t> numbers_;  // of unnamed values
  uint32_t next_number_ = 0;
  std::unordered_map<ValueId, std::string> renamed_;
  std::unordered_map<const Type*, std::string> types_;
  std::unordered_set<const Type*> known_types_;
  std::unordered_set<const SymNode*> known_symbols_;
  std::vector<Arg> positional_;  // of one call
  std::vector<Keyword> keywords_;
};

void externs_used(const Graph& graph, std::unordered_set<const OpDef*>& used) {
  if (graph.context().externs.rows().empty()) return;
  graph.for_each_node([&](NodeId id) { used.insert(graph.node(id).op); });
  for (const auto& sub : graph.subgraphs) externs_used(*sub, used);
}

}  // namespace

std::string print(const Graph& graph, const PrintOptions& options) {
  std::string out;
  auto comments_above = [&](const Graph& g) {
    if (!options.comments) return;
    auto at = options.comments->graphs.find(&g);
    if (at != options.comments->graphs.end()) append_lines(out, at->second.above, "");
  };
  comments_above(graph);
  std::unordered_set<const OpDef*> used;
  externs_used(graph, used);
  for (const auto& row : graph.context().externs.rows()) {
    if (!used.contains(row.get())) continue;
    out += "extern ";
    append_quoted(out, to_string(row->schema));
    out += '\n';
  }
  FilePrinter file(options);
  file.graph_name(graph);
  for (size_t i = 0; i < file.queue.size(); ++i) {
    if (i) {
      out += '\n';
      comments_above(*file.queue[i]);
    }
    GraphPrinter(file, *file.queue[i], out).graph();
  }
  if (options.comments) append_lines(out, options.comments->below, "");
  return out;
}

struct GraphText::Impl {
  Impl(const Graph& graph, const PrintOptions& given) : options(given), file(options), printer(file, graph, out) {}
  PrintOptions options;
  FilePrinter file;
  std::string out;
  GraphPrinter printer;
};

GraphText::GraphText(const Graph& graph, const PrintOptions& options)
    : graph_(graph), impl_(std::make_unique<Impl>(graph, options)) {}
GraphText::~GraphText() = default;

template <class F>
std::string GraphText::piece(F&& write) {
  impl_->out.clear();
  write(impl_->printer);
  return impl_->out;
}

std::string GraphText::node(NodeId id) {
  return piece([&](GraphPrinter& p) { p.statement(graph_.node(id)); });
}
std::string GraphText::arg(const Arg& arg) {
  return piece([&](GraphPrinter& p) { p.arg(arg); });
}
std::string GraphText::input(size_t i) {
  return piece([&](GraphPrinter& p) { p.input(graph_.inputs()[i]); });
}
std::string GraphText::facts() {
  return piece([&](GraphPrinter& p) { p.facts(); });
}
std::string GraphText::returns() {
  return piece([&](GraphPrinter& p) { p.returns(); });
}

}  // namespace lenz
