#include "compiler/ops/symbolic_check.h"

#include <algorithm>
#include <unordered_map>

#include "compiler/graph/rebuild.h"

namespace lenz {

namespace {
using Results = std::vector<InferredResult>;

class Symbolic {
 public:
  Symbolic(const DrawnCall& call, Chooser& chooser)
      : call_(call),
        choose_(chooser),
        graph_(call.graph->shared_context(), call.graph->ops(), "symbolic"),
        share_(chooser.chance(3, 4)),
        open_(chooser.chance(1, 4)) {}

  SymbolicVerdict run() {
    Results concrete = infer(call_.graph->types(), call_.args, call_.graph->assumptions);
    for (const Input& input : call_.graph->inputs()) {
      const Type& t = call_.graph->type(input.value);
      graph_.add_input(call_.graph->value_name(input.value).substr(1),
                       t.is_tensor() ? context().tensor(symbolic(t)) : &t);
    }
    if (values_.empty()) return {};
    std::vector<Arg> args = call_.args;
    bool replaced = false;
    for (size_t i = 0; i < args.size(); ++i) replaced |= replace_sizes(args[i], call_.op->schema.params[i].type);

    Results results;
    std::string raised = attempt(args, results);
    // A rule may insist on numbers where they decide how many results there are.
    if (!raised.empty() && replaced) {
      graph_.assumptions.restart();
      raised = attempt(call_.args, results);
    }
    if (undecided_) return {SymbolicVerdict::guarded, {}};
    for (const Cond& guard : graph_.assumptions.guards())
      if (evaluate(guard, binding()) == false) return {SymbolicVerdict::guarded, {}};
    if (const std::optional<Cond> broken = broken_assertion())
      return differs("it asserts " + to_string(*broken) + ", which the same sizes as numbers need not");
    if (!raised.empty()) return differs("the rule refuses what it accepts with the same sizes as numbers: " + raised);
    if (results.size() != concrete.size()) return differs("another number of results");
    for (size_t i = 0; i < results.size(); ++i) {
      std::string why = results[i].alias_of != concrete[i].alias_of ? "another storage"
                                                                    : compare(*results[i].type, *concrete[i].type);
      if (!why.empty())
        return differs("result " + std::to_string(i) + ": " + why + ": " + to_string(*results[i].type) +
                       ", with numbers " + to_string(*concrete[i].type));
    }
    return {SymbolicVerdict::same, {}};
  }

 private:
  Context& context() { return graph_.context(); }

  Results infer(std::span<const Type* const> types, std::span<const Arg> args, Assumptions& assumptions) {
    Infer infer(graph_.shared_context(), graph_.ops(), *call_.op, args, types, assumptions);
    infer.owner = call_.graph.get();
    infer.unbacked_prefix = "u";
    infer.run();
    return {infer.results().begin(), infer.results().end()};
  }

  // What the rule raises, or nothing.
  std::string attempt(std::span<const Arg> args, Results& results) {
    try {
      results = infer(graph_.types(), args, graph_.assumptions);
      return {};
    } catch (const DataDependent&) {
      undecided_ = true;
      return {};
    } catch (const UserError& error) {
      return error.message();
    } catch (const Unsupported& gap) {  // perhaps of sizes that a guard rules out
      return gap.what();
    }
  }

  std::optional<Cond> broken_assertion() const {
    for (const Cond& c : graph_.assumptions.relied())
      if (graph_.assumptions.is_open(c) && evaluate(c, binding()) == false) return c;
    return std::nullopt;
  }

  SymValues binding() const {
    return [this](const SymNode* s) -> std::optional<int64_t> {
      auto found = values_.find(s);
      return found == values_.end() ? std::nullopt : std::optional(found->second);
    };
  }

  // Sizes 0 and 1 are mostly left alone: a capture specialises them.
  Dim symbol_for(int64_t size) {
    bool shared = share_ && size > 1;
    if (size > 1 ? choose_.chance(1, 8) : choose_.chance(15, 16)) return size;
    if (shared)
      if (auto found = shared_.find(size); found != shared_.end()) return found->second;
    Dim s = context().syms.symbol("s" + std::to_string(values_.size()));
    values_[s.node()] = size;
    if (open_) graph_.assumptions.open(s.node());
    if (shared) shared_[size] = s;
    Facts& facts = graph_.assumptions.facts();
    if (size > 1) {
      int64_t low = choose_.any_of<int64_t>({2, 1, 0});
      facts.set_range(s.node(), {low, choose_.flip() ? std::optional<int64_t>(4096) : std::nullopt});
    } else {
      facts.set_range(s.node(), {0, 64});
    }
    return s;
  }

  Dim at_least_one(Dim size) { return graph_.assumptions.facts().proves(ge(size, 1)) ? size : max(size, Dim(1)); }

  // Symbols for sizes. Strides that are products of sizes become products of symbols, others stay numbers.
  TensorType symbolic(const Type& t) {
    TensorType s = t.tensor();
    for (Dim& d : s.sizes) d = symbol_for(d.constant());
    SmallVec<size_t, 6> inner_first;
    for (size_t d = t.rank(); d-- > 0;) inner_first.push_back(d);
    std::stable_sort(inner_first.begin(), inner_first.end(),
                     [&](size_t a, size_t b) { return t.strides()[a].constant() < t.strides()[b].constant(); });
    int64_t expected = 1;
    Dim product = 1;
    for (size_t d : inner_first) {
      if (t.strides()[d].constant() != expected) continue;
      s.strides[d] = product;
      expected *= std::max<int64_t>(t.sizes()[d].constant(), 1);
      product = product * at_least_one(s.sizes[d]);
    }
    return s;
  }

  // A number that the run reads from a tensor, and that is no size.
  Dim number_for(int64_t number) {
    Dim s = context().syms.symbol("n" + std::to_string(values_.size()));
    values_[s.node()] = number;
    graph_.assumptions.open(s.node());
    graph_.assumptions.facts().set_range(s.node(), {INT64_MIN, std::nullopt});
    return s;
  }

  Dim replaced(Dim d) {
    if (open_ && d.is_constant() && choose_.chance(1, 3)) return number_for(d.constant());
    auto found = d.is_constant() ? shared_.find(d.constant()) : shared_.end();
    return found != shared_.end() && choose_.chance(1, 3) ? found->second : d;
  }

  // SymInt arguments that equal a size may be that size's symbol. Whether any is.
  bool replace_sizes(Arg& arg, const ParamType& type) {
    Arg old = arg;
    arg = with_sizes(context(), arg, type, [&](Dim d) { return replaced(d); });
    return !(arg == old);
  }

  bool equal(Dim symbolic, Dim number) const {
    auto value = evaluate(symbolic, binding());
    return !value || !number.is_constant() || *value == number.constant();  // no value: only the run knows it
  }

  std::string compare(const Type& a, const Type& b) const {
    if (a.kind != b.kind || a.count != b.count) return "another kind";
    if (a.kind == TypeKind::list) {
      for (size_t i = 0; i < a.count; ++i)
        if (std::string why = compare(*a.elements()[i], *b.elements()[i]); !why.empty()) return why;
      return {};
    }
    if (!equal(a.offset, b.offset)) return "another offset";
    if (!a.is_tensor()) return {};
    if (a.dtype != b.dtype) return "another dtype";
    for (size_t i = 0; i < a.rank(); ++i) {
      if (!equal(a.sizes()[i], b.sizes()[i])) return "another size of dim " + std::to_string(i);
      // Where only a run knows the sizes, they are those of dims of several elements.
      if (open_ && (b.sizes()[i].is(1) || numel(b.sizes()).is(0))) continue;
      if (!equal(a.strides()[i], b.strides()[i])) return "another stride of dim " + std::to_string(i);
    }
    return {};
  }

  SymbolicVerdict differs(std::string why) const {
    why += "\n  with";
    for (ValueId v = 0; v < graph_.value_count(); ++v)
      why += (v ? ", " : " ") + graph_.value_name(v) + ": " + to_string(graph_.type(v));
    for (const Cond& guard : graph_.assumptions.guards()) why += ", guard " + to_string(guard);
    return {SymbolicVerdict::differs, std::move(why)};
  }

  const DrawnCall& call_;
  Chooser& choose_;
  Graph graph_;
  bool share_, open_;  // open: as if only the run knew them
  bool undecided_ = false;
  std::unordered_map<const SymNode*, int64_t> values_;
  std::unordered_map<int64_t, Dim> shared_;
};
}  // namespace

SymbolicVerdict check_symbolic(const DrawnCall& call, Chooser& chooser) {
  if (!call.op->infer) return {};
  return Symbolic(call, chooser).run();
}

}  // namespace lenz
