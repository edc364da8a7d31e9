#include "oracle/type_check.h"

#include <algorithm>
#include <unordered_map>

#include "compiler/graph/text.h"

namespace lenz::oracle {

std::string_view name(Aspect aspect) {
  constexpr std::string_view names[kAspectCount] = {
      "schema", "broken", "crash", "rule_raises", "eager_raises", "count",  "dtype",    "sizes",     "strides",
      "offset", "device", "alias", "operand",     "meta",         "dtypes", "symbolic", "definition"};
  return names[static_cast<size_t>(aspect)];
}

Prediction predict(DrawnCall& call) {
  Prediction p;
  Graph& graph = *call.graph;
  try {
    Infer infer(graph.shared_context(), graph.ops(), *call.op, call.args, graph.types(), graph.assumptions);
    infer.owner = &graph;
    infer.unbacked_prefix = "u";
    infer.run();
    p.results.assign(infer.results().begin(), infer.results().end());
  } catch (const UserError& error) {
    p.raised = true;
    p.text = error.message();
  } catch (const Error& error) {
    p.broken = true;
    p.text = error.what();
  }
  return p;
}

namespace {
// Symbols that stand for what only the run knows take the value that eager gave, once.
class Unbacked {
 public:
  explicit Unbacked(const Facts& facts) : facts_(facts) {}

  bool matches(Dim claimed, int64_t seen) {
    if (claimed.is_constant()) return claimed.constant() == seen;
    auto lookup = [&](const SymNode* s) -> std::optional<int64_t> {
      auto found = values_.find(s);
      return found == values_.end() ? std::nullopt : std::optional(found->second);
    };
    if (auto value = evaluate(claimed, lookup)) return *value == seen;
    // A symbol by itself: bind it, within its range.
    const SymNode* first = nullptr;
    for_each_symbol(claimed, [&](const SymNode* s) {
      if (!first && !values_.contains(s)) first = s;
    });
    if (!first || !(Dim(first) == claimed)) return true;  // an expression of what is not known yet
    Range range = facts_.range(claimed);
    if ((range.low && seen < *range.low) || (range.high && seen > *range.high)) return false;
    values_[first] = seen;
    return true;
  }

 private:
  const Facts& facts_;
  std::unordered_map<const SymNode*, int64_t> values_;
};

struct Comparison {
  const DrawnCall& call;
  std::span<const Seen> inputs;  // by ValueId
  Unbacked unbacked;
  SmallVec<const void*, 4> fresh;  // storages of results that are nobody's view
  const void* one_copy = nullptr;  // the storage of which all elements of the list at hand are views

  std::string value_name(ValueId v) const { return call.graph->value_name(v); }

  ValueId owner(const void* storage) const {
    for (size_t v = 0; v < inputs.size(); ++v)
      if (inputs[v].kind == TypeKind::tensor && inputs[v].storage == storage) return static_cast<ValueId>(v);
    return kNone;
  }

  bool same(std::span<const Dim> claimed, const SmallVec<int64_t, 6>& seen) {
    if (claimed.size() != seen.size()) return false;
    for (size_t i = 0; i < claimed.size(); ++i)
      if (!unbacked.matches(claimed[i], seen[i])) return false;
    return true;
  }

  std::optional<Aspect> geometry(const Type& t, const Seen& seen) {
    if (seen.foreign || t.dtype != seen.dtype) return Aspect::dtype;
    if (!same(t.sizes(), seen.sizes)) return Aspect::sizes;
    // A rule speaks of sizes that only the run knows as of several elements.
    const bool open = std::ranges::any_of(t.sizes(), [](Dim d) { return !d.is_constant(); });
    const bool empty = std::ranges::find(seen.sizes, 0) != seen.sizes.end();
    if (!(open && empty) && !same(t.strides(), seen.strides)) return Aspect::strides;
    if (!unbacked.matches(t.offset, seen.offset)) return Aspect::offset;
    if (seen.device.kind != DeviceKind::meta && !(seen.device == t.device)) return Aspect::device;
    return std::nullopt;
  }

  std::optional<Difference> result(const std::string& where, const Type& t, ValueId alias_of, const Seen& seen) {
    auto differ = [&](Aspect aspect) {
      return Difference{aspect, where + ": the rule says " + lenz::to_string(t) + ", eager gives " + to_string(seen)};
    };
    if (t.kind != seen.kind) return differ(Aspect::count);
    if (t.kind == TypeKind::list) {
      if (t.elements().size() != seen.elements.size()) return differ(Aspect::count);
      // Views that are none of the operand's are those of one copy of it.
      const bool of_copy = alias_of == kNone && call.op->has(Trait::maybe_view) && !seen.elements.empty();
      one_copy = of_copy ? seen.elements[0].storage : nullptr;
      for (size_t i = 0; i < seen.elements.size(); ++i)
        if (auto d = result(where + "[" + std::to_string(i) + "]", *t.elements()[i], alias_of, seen.elements[i]))
          return d;
      one_copy = nullptr;
      return std::nullopt;
    }
    if (t.kind == TypeKind::sym_int && !unbacked.matches(t.offset, seen.integer)) return differ(Aspect::sizes);
    if (t.kind != TypeKind::tensor) return std::nullopt;
    if (auto aspect = geometry(t, seen)) return differ(*aspect);
    const void* claimed = alias_of == kNone ? nullptr : inputs[alias_of].storage;
    ValueId holder = owner(seen.storage);
    if (claimed && claimed != seen.storage)
      return Difference{Aspect::alias, where + ": the rule says that it shares the storage of " + value_name(alias_of) +
                                           ", eager gives it " +
                                           (holder == kNone ? "storage of its own" : "that of " + value_name(holder))};
    if (claimed) return std::nullopt;
    if (holder != kNone)
      return Difference{Aspect::alias,
                        where + ": the rule gives it storage of its own, eager that of " + value_name(holder)};
    const bool known = std::ranges::find(fresh, seen.storage) != fresh.end();
    if (one_copy && one_copy != seen.storage)
      return Difference{Aspect::alias, where + ": is no view of the copy that other results show"};
    if (known && !one_copy) return Difference{Aspect::alias, where + ": shares storage with another result"};
    fresh.push_back(seen.storage);
    return std::nullopt;
  }
};
}  // namespace

namespace {
// Beside a size of 0 eager's views and pools take sizes below it, and give what no tensor can be: as good as refused.
bool has_size_below_zero(const RunValue& value) {
  const Seen seen = look(value);
  return seen.kind == TypeKind::tensor && std::ranges::any_of(seen.sizes, [](int64_t size) { return size < 0; });
}
}  // namespace

std::optional<Difference> compare(const DrawnCall& call, const Prediction& predicted, const Outcome& outcome,
                                  std::span<const RunValue> inputs) {
  if (predicted.broken) return Difference{Aspect::broken, predicted.text};
  if (predicted.raised && !outcome.raised && !std::ranges::any_of(outcome.results, has_size_below_zero))
    return Difference{Aspect::rule_raises, "eager accepts what the rule refuses: " + predicted.text};
  if (!predicted.raised && outcome.raised) return Difference{Aspect::eager_raises, "eager raises: " + outcome.text};
  if (predicted.raised) return std::nullopt;
  if (predicted.results.size() != outcome.results.size())
    return Difference{Aspect::count, "the rule gives " + std::to_string(predicted.results.size()) + " results, eager " +
                                         std::to_string(outcome.results.size())};
  std::vector<Seen> seen_inputs;
  seen_inputs.reserve(inputs.size());
  for (const RunValue& v : inputs) seen_inputs.push_back(look(v));
  Comparison c{call, seen_inputs, Unbacked(call.graph->assumptions.known()), {}};
  std::vector<bool> told(inputs.size());  // operands whose type after the call is that of a result
  for (size_t i = 0; i < predicted.results.size(); ++i) {
    const InferredResult& r = predicted.results[i];
    std::string where = predicted.results.size() == 1 ? "result" : "result " + std::to_string(i);
    if (auto d = c.result(where, *r.type, r.alias_of, look(outcome.results[i]))) return d;
    if (r.alias_of == kNone || !r.type->is_tensor()) continue;
    for (size_t p = 0; p < call.args.size(); ++p)
      if (call.op->schema.params[p].writes && call.args[p].is_value() && call.args[p].value() == r.alias_of) {
        if (c.geometry(*r.type, seen_inputs[r.alias_of]))
          return Difference{Aspect::operand, c.value_name(r.alias_of) + " after the call: the rule says " +
                                                 lenz::to_string(*r.type) + ", eager leaves " +
                                                 to_string(seen_inputs[r.alias_of])};
        told[r.alias_of] = true;
      }
  }
  for (size_t v = 0; v < inputs.size(); ++v)
    if (!told[v] && seen_inputs[v].kind == TypeKind::tensor &&
        c.geometry(call.graph->type(static_cast<ValueId>(v)), seen_inputs[v]))
      return Difference{Aspect::operand, c.value_name(static_cast<ValueId>(v)) + " was " +
                                             lenz::to_string(call.graph->type(static_cast<ValueId>(v))) +
                                             " and is now " + to_string(seen_inputs[v])};
  return std::nullopt;
}

namespace {
bool append(Graph& graph, const DrawnCall& call) {
  try {
    NodeId node = graph.append(*call.op, call.args);
    std::vector<Arg> outputs;
    for (uint16_t i = 0; i < graph.node(node).result_count; ++i)
      outputs.push_back(Arg::of_value(graph.node(node).result(i)));
    graph.set_outputs(outputs);
    return true;
  } catch (const Error&) {
    return false;
  }
}
}  // namespace

std::string describe(const DrawnCall& call, bool run_rule) {
  std::unique_ptr<Graph> graph = call.graph->clone();
  bool whole = run_rule && append(*graph, call);
  std::string text = print(*graph);
  if (!whole) {
    GraphText pieces(*graph);
    std::string line = "  " + call.op->full_name + "(";
    for (size_t i = 0; i < call.args.size(); ++i)
      line += (i ? ", " : "") + call.op->schema.params[i].name + "=" + pieces.arg(call.args[i]);
    line += run_rule ? ")  # refused by its rule\n" : ")\n";
    text.insert(std::min(text.rfind("  return"), text.size()), line);
  }
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

namespace {
// The registry prints some defaults as the numbers that stand for them.
Default named(const Param& p) {
  Default d = *p.fallback;
  if (d.kind != Default::integer) return d;
  constexpr std::string_view kTypes[] = {"", "", "", "", "long", "", "float"};
  constexpr std::string_view kFormats[] = {"contiguous_format", "preserve_format"};
  if (p.type.kind == ParamKind::dtype && d.i >= 0 && d.i < 7) d.text = kTypes[d.i];
  if (p.type.kind == ParamKind::memory_format && d.i >= 0 && d.i < 2) d.text = kFormats[d.i];
  if (!d.text.empty()) d.kind = Default::symbol;
  return d;
}

bool same_default(const Param& a, const Param& b) {
  if (!a.fallback != !b.fallback) return false;
  if (!a.fallback) return true;
  Context scratch;
  auto value = [&](const Param& p) {
    Param copy = p;
    copy.fallback = std::make_shared<const Default>(named(p));
    return default_arg(scratch, copy);
  };
  return value(a) == value(b);
}
}  // namespace

std::optional<Difference> check_schema(const OpDef& op) {
  auto text = registered_schema(op.schema);
  std::string ours = to_string(op.schema);
  if (!text) return Difference{Aspect::schema, "libtorch has no " + ours};
  auto differ = [&](const std::string& where) {
    return Difference{Aspect::schema, where + " differs\n  row:      " + ours + "\n  libtorch: " + *text};
  };
  Schema theirs;
  try {
    theirs = parse_schema(*text);
  } catch (const UserError& error) {
    return differ(error.message());
  }
  if (theirs.params.size() != op.schema.params.size()) return differ("the number of parameters");
  if (theirs.returns.size() != op.schema.returns.size()) return differ("the number of results");
  for (size_t i = 0; i < theirs.params.size(); ++i) {
    const Param &a = op.schema.params[i], &b = theirs.params[i];
    bool same = a.name == b.name && a.type == b.type && a.keyword_only == b.keyword_only && a.alias == b.alias &&
                a.writes == b.writes && same_default(a, b);
    if (!same) return differ("parameter `" + a.name + "`");
  }
  for (size_t i = 0; i < theirs.returns.size(); ++i) {
    const Return &a = op.schema.returns[i], &b = theirs.returns[i];
    if (a.name != b.name || !(a.type == b.type) || a.alias != b.alias || a.writes != b.writes)
      return differ("result " + std::to_string(i));
  }
  return std::nullopt;
}

}  // namespace lenz::oracle
