#include "fuzz/symbolic.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>

#include "compiler/graph/rebuild.h"
#include "compiler/graph/verify.h"
#include "oracle/binding.h"

namespace lenz::fuzz {

namespace {
class Symbols {
 public:
  Symbols(const Graph& graph, Chooser& choose) : graph_(graph), c_(choose), share_(choose.below(4) != 3) {}

  std::unique_ptr<Graph> make() {
    bool ruled = true;  // what has no rule keeps the results that the text says
    graph_.for_each_node([&](NodeId id) { ruled = ruled && graph_.node(id).op->infer; });
    if (!ruled) return nullptr;
    // Sizes that data decide are bounded by facts, and those speak of the numbers.
    for (const Type* t : graph_.types()) {
      bool constant = true;
      for_each_symbolic_dim(*t, [&](Dim) { constant = false; });
      if (!constant) return nullptr;
    }
    auto base = graph_.clone();
    // A sub-graph's symbols are its own, and stand for what it is called with: numbers too.
    for (auto& sub : base->subgraphs)
      if (auto open = Symbols(*sub, c_).make()) sub = std::move(open);
    std::vector<const Type*> types;
    for (const Input& input : base->inputs()) {
      const Type& t = base->type(input.value);
      types.push_back(t.kind == TypeKind::sym_int     ? base->context().sym_int(symbol_for(*base, t.offset.constant()))
                      : t.is_tensor() && !input.alias ? symbolic(*base, t)
                                                      : &t);
    }
    if (values_.empty()) return nullptr;
    if (c_.below(4) == 3) relate(*base);
    auto argument = [&](const Arg& a, const ParamType& type) {
      return with_sizes(base->context(), a, type, [&](Dim d) { return replaced(d); });
    };
    auto made = rebuilt(*base, {.inputs = types, .argument = argument});
    if (!made) return nullptr;
    // Guards that the rules recorded must hold where the graph came from.
    SymValues at = [&](const SymNode* s) -> std::optional<int64_t> {
      auto found = values_.find(s);
      return found == values_.end() ? std::nullopt : std::optional(found->second);
    };
    for (const Cond& guard : made->assumptions.guards())
      if (evaluate(guard, at) != true) return nullptr;
    return made;
  }

  std::string sizes(const Graph& made) const {
    oracle::Binding binding;
    for (const auto& [symbol, size] : values_) binding.set(symbol, size);
    return to_text(binding, made);
  }

 private:
  Dim symbol_for(Graph& graph, int64_t size) {
    if (size < 2 || c_.below(4) == 3) return size;
    if (share_)
      if (auto found = shared_.find(size); found != shared_.end()) return found->second;
    Dim s = graph.context().syms.symbol("s" + std::to_string(values_.size()));
    values_[s.node()] = size;
    shared_[size] = s;
    graph.assumptions.facts().set_range(s.node(), {c_.any_of<int64_t>({0, 1, 2}), std::max<int64_t>(64, size)});
    return s;
  }

  // What facts say of two symbols, or of one: that one follows from the other, or what divides it.
  void relate(Graph& graph) {
    std::vector<std::pair<Dim, int64_t>> all;
    for (const auto& [symbol, value] : values_) all.emplace_back(Dim(symbol), value);
    std::ranges::sort(all, {}, [](const auto& one) { return to_string(one.first); });
    Facts& facts = graph.assumptions.facts();
    const auto& [a, x] = c_.pick(all);
    const auto& [b, y] = c_.pick(all);
    if (a == b) {
      if (const int64_t by = c_.between(2, 4); x % by == 0) facts.add(divisible(a, by));
    } else if (x % y == 0 && c_.flip()) {
      facts.add(eq(a, b * (x / y)));
    } else if (c_.flip()) {
      facts.add(eq(a, b + (x - y)));
    } else {
      facts.add(x < y ? lt(a, b) : ge(a, b));
    }
  }

  // Strides that are products of sizes become products of symbols, in whatever order the dims lie; a tensor with others
  // keeps its sizes.
  const Type* symbolic(Graph& graph, const Type& t) {
    TensorType s = t.tensor();
    std::vector<size_t> order(s.sizes.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::ranges::stable_sort(order, std::greater{}, [&](size_t d) { return s.strides[d].constant(); });
    const auto dense = [&](const DimVec& sizes) {
      DimVec laid;
      for (size_t d : order) laid.push_back(sizes[d]);
      const DimVec strides = contiguous_strides(laid);
      DimVec made = s.strides;
      for (size_t at = 0; at < order.size(); ++at) made[order[at]] = strides[at];
      return made;
    };
    if (!std::ranges::equal(t.strides(), dense(s.sizes))) return &t;
    for (Dim& d : s.sizes) d = symbol_for(graph, d.constant());
    s.strides = dense(s.sizes);
    return graph.context().tensor(s);
  }

  Dim replaced(Dim d) const {
    auto found = d.is_constant() ? shared_.find(d.constant()) : shared_.end();
    return found == shared_.end() ? d : found->second;
  }

  const Graph& graph_;
  Chooser& c_;
  const bool share_;
  std::unordered_map<const SymNode*, int64_t> values_;
  std::map<int64_t, Dim> shared_;
};
}  // namespace

std::unique_ptr<Graph> with_symbols(const Graph& graph, Chooser& choose, std::string& sizes) {
  Symbols symbols(graph, choose);
  auto made = symbols.make();
  // Calls that were legal for numbers need not be for all that the symbols may be.
  if (!made || !verify(*made).empty()) return nullptr;
  sizes = symbols.sizes(*made);
  return made;
}

}  // namespace lenz::fuzz
