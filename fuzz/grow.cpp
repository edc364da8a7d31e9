#include "fuzz/grow.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <ranges>
#include <utility>

#include "compiler/base/hash.h"
#include "compiler/graph/alias.h"
#include "compiler/graph/tried.h"
#include "compiler/ops/decompose.h"
#include "compiler/ops/op_table.h"
#include "fuzz/adapt.h"
#include "fuzz/computed_numbers.h"
#include "fuzz/control_flow.h"
#include "fuzz/effects.h"
#include "fuzz/from_corpus.h"
#include "fuzz/graph_calls.h"
#include "fuzz/hazards.h"
#include "fuzz/idioms.h"
#include "fuzz/names.h"
#include "fuzz/numbers.h"
#include "fuzz/parts.h"
#include "fuzz/symbolic.h"

namespace lenz::fuzz {

namespace {
constexpr std::string_view kElement = "lenz.getitem";
constexpr std::string_view kTaming[] = {"aten.tanh", "aten.sin", "aten.sigmoid"};  // op name: they bound magnitudes

constexpr std::string_view kMinus = "aten.neg";        // op name: numbers that differ stay apart
constexpr std::string_view kNot = "aten.logical_not";  // op name: as do truths

class Grower {
 public:
  Grower(Chooser& choose, const Pool& pool, const GrowOptions& options, GrowthStatistics& statistics)
      : c_(choose), pool_(pool), options_(options), statistics_(statistics) {}

  std::unique_ptr<Graph> make() {
    Growth growth;
    growth.habits = draw_habits(pool_, options_, c_);
    statistics_.sizes.clear();
    if (growth.habits.corpus) graph_ = graph_from_corpus(c_, options_.turn);
    if (!graph_) graph_ = std::make_unique<Graph>(std::make_shared<Context>(), op_table(), "fuzzed");
    growth.graph = graph_.get();
    growth.most_inputs = 3 + c_.below(8);
    take_over(growth);
    if (graph_->level == Level::torch) grow_from_turn(growth);
    outputs(growth);
    // A number that is handed over seldom is the same each time.
    const bool numbers = std::ranges::any_of(
        graph_->inputs(), [&](const Input& i) { return graph_->type(i.value).kind == TypeKind::sym_int; });
    if (numbers && options_.symbols && c_.below(4) != 3) growth.habits.symbolic = true;
    for (const Input& input : graph_->inputs())
      for_each_symbolic_dim(graph_->type(input.value), [&](Dim) { growth.habits.symbolic = false; });
    auto whole = growth.habits.symbolic ? with_symbols(*graph_, c_, statistics_.sizes) : nullptr;
    auto made = (whole ? *whole : *graph_).clone();  // values numbered densely, inputs first: as its text would be read
    if (c_.below(8) == 7) give_names(*made, c_);
    return made;
  }

 private:
  // What a graph that did not grow here offers. Its integers may be indices: nobody may write to them.
  void take_over(Growth& growth) {
    Graph& graph = *growth.graph;
    for (const Input& input : graph.inputs())
      if (input.init.kind == Initialiser::none) growth.made_for.emplace(input.value, TensorWish());
    // Rules and patterns look for values that nobody else uses.
    const bool from_outside = c_.flip();
    for (ValueId v = 0; v < graph.value_count(); ++v)
      if (graph.type(v).kind == TypeKind::token)
        growth.token = v;
      else if (!from_outside || graph.value(v).producer == kNone ||
               std::ranges::all_of(graph.value(v).users, [](NodeId user) { return user == kOutputs; }))
        growth.add(v);
    graph.for_each_node([&](NodeId id) {
      if (graph.node(id).op->variant == VariantKind::out) forget_resized(growth, graph.node(id));
    });
  }

  // What the case's turn says stands first or in the middle, so that it meets what came before and what comes behind.
  void grow_from_turn(Growth& growth) {
    if (growth.habits.about != About::much) return grow_briefly(growth);
    const uint64_t number = options_.turn ? options_.turn->among_its_like() : 0;
    const size_t begun = growth.graph->node_count();
    if (c_.flip()) steps(growth, growth.habits.ops / 3);
    if (number % 2 == 0) idiom_in_turn(growth, number / 2);
    row_in_turn(growth, number);
    if (growth.habits.lazy > 0 && c_.flip()) look_lazily(growth);
    if (growth.habits.masked > 0 && c_.flip()) masked_quotient(growth);
    if (growth.habits.effects > 0) add_effect(growth, c_);
    if (growth.habits.control > 0 && c_.below(3) == 2) branches_and_loops(growth);
    if (growth.habits.parts > 0 && c_.flip()) grow_parts(growth, c_, [&](NodeId id) { made(growth, id); });
    const size_t made = growth.graph->node_count() - begun;
    if (made < growth.habits.ops) steps(growth, growth.habits.ops - made);
  }

  void grow_briefly(Growth& growth) {
    const uint64_t number = options_.turn->among_its_like();
    growth.most_inputs += 3 * kMostBegunFrom;  // what a row meets first is what its row says, not what others left
    const About about = growth.habits.about;
    const uint64_t count = begun_from(about);
    for (uint64_t place = 0; place < count; ++place) {
      const uint64_t index = number * count + place;
      switch (about) {
        case About::rules: idiom_in_turn(growth, index); break;
        case About::pointwise: pointwise_in_turn(growth, index); break;
        default: row_in_turn(growth, index);
      }
    }
    if (about == About::rows && growth.habits.hazards > 1) hazards(growth);
    steps(growth, growth.habits.ops);
  }

  // On inputs alone, which several share: what functions have made of numbers soon is no number any more.
  void pointwise_in_turn(Growth& growth, uint64_t index) {
    const uint64_t which = options_.turn->of(index, pool_.pointwise.size());
    call_in_turn(growth, pool_.pointwise[which], index / pool_.pointwise.size());
    std::erase_if(growth.values, [&](ValueId v) {
      return growth.graph->value(v).producer != kNone && !is_constant(*growth.graph, v);
    });
  }

  // A row with operands of one class of dtypes, which is another one each time that the row comes.
  void row_in_turn(Growth& growth, uint64_t index) {
    if (!options_.turn) return;
    // Cases of one kind are elsewhere in the order than those of another, and not at the same dtypes.
    index += static_cast<uint64_t>(growth.habits.about) * (pool_.kin.size() + pool_.kin.size() / std::size(kAbout));
    call_in_turn(growth, options_.turn->of(index, pool_.kin.size()), index / pool_.kin.size());
  }

  void call_in_turn(Growth& growth, uint64_t which, uint64_t round) {
    const auto& kin = pool_.kin[which];
    const OpDef& op = options_.writes && c_.below(3) == 2 ? *c_.pick(kin) : *kin[0];
    if (growth.habits.large && too_much(op)) return;
    if (!options_.writes && (op.schema.mutates() || op.variant != VariantKind::functional)) return;
    if (!options_.random && op.has(Trait::random)) return;
    std::vector<DtypeSet> classes;
    for (const DtypeSet one : {dtypes::wide_floats, dtypes::integers, dtypes::half | dtypes::bfloat, dtypes::boolean,
                               dtypes::complexes, dtypes::float8})
      if (!(one & op.dtypes).empty()) classes.push_back(one & op.dtypes);
    if (classes.empty()) classes.emplace_back();
    const DtypeSet liked = std::exchange(growth.habits.dtypes, classes[(which + round) % classes.size()]);
    growth.wants_input = true;
    const uint32_t fresh = std::exchange(growth.habits.fresh, std::max<uint32_t>(growth.habits.fresh, 8));
    const NodeId before = growth.graph->last();
    // Those that are compiled stand beside each other: what comes in turn of two comes in these.
    constexpr uint64_t kKinds = 4, kPlaces[] = {1, 0, 2, 3};  // by what the case is about
    const uint64_t place = kPlaces[static_cast<size_t>(growth.habits.about)];
    const uint64_t key = combine(options_.turn->seed, hash_bytes(kin[0]->full_name));
    call(growth, op, false, Visit{key, round * kKinds + place});
    if (c_.below(4) == 3) once_more(growth, before);
    growth.habits.dtypes = liked;
    growth.habits.fresh = fresh;
  }

  void idiom_in_turn(Growth& growth, uint64_t index) {
    if (!options_.turn || growth.habits.large || idiom_count() == 0) return;
    // Rules, what strings them together, and what rows say of numbers, which is as good as a rule.
    // Attention is many things at once: scales, masks and biases, in any order.
    constexpr size_t kOftener = 3;
    const size_t idioms = idiom_count(), attention = kOftener * attention_count();
    constexpr size_t kSpread = 8;
    const size_t count = idioms + attention + pool_.singling.size() + kSpread;
    const size_t which = options_.turn->of(index, count);
    auto note = [&](NodeId id) { made(growth, id); };
    if (which < idioms) {
      // Cases of another kind, and of another seed, are not at the same things that it lacks.
      const uint64_t begin = combine(options_.turn->seed, combine(static_cast<uint64_t>(growth.habits.about), which));
      grow_idiom(growth, c_, note, IdiomTurn{which, begin % 64 + index / count});
    } else if (which < idioms + attention) {
      grow_attention(growth, c_, note, (which - idioms) / kOftener);
    } else if (which < count - kSpread) {
      call(growth, *pool_.singling[which - idioms - attention], true);
    } else {
      read_spread(growth);
    }
    // Rules leave an output alone that would become an input, or another one.
    if (!growth.values.empty() && c_.below(8) != 7) call_on(growth, pool_.pure, growth.values.back());
  }

  void steps(Growth& growth, size_t count) {
    const size_t goal = growth.graph->node_count() + count;
    // A call may be refused or bring others with it; so many attempts, and no more.
    for (size_t tries = 0; growth.graph->node_count() < goal && tries < 2 * count + 2; ++tries) step(growth);
  }

  void step(Growth& growth) {
    if (c_.below(16) < growth.habits.control) return branches_and_loops(growth);
    if (c_.below(16) < growth.habits.effects) return add_effect(growth, c_);
    if (growth.habits.aliases && !growth.graph->inputs().empty() && c_.below(16) < growth.habits.aliases)
      return alias_input(growth);
    if (c_.below(16) < growth.habits.repeats && repeat(growth)) return;
    if (c_.below(16) < growth.habits.lazy) return look_lazily(growth);
    if (c_.below(16) < growth.habits.hazards) return hazards(growth);
    if (c_.below(16) < growth.habits.masked) return masked_quotient(growth);
    if (c_.below(16) < growth.habits.parts) return grow_parts(growth, c_, [&](NodeId id) { made(growth, id); });
    if (c_.below(16) < growth.habits.idioms && grow_idiom(growth, c_, [&](NodeId id) { made(growth, id); })) return;
    const OpDef* op = choose_op(growth.habits);
    if (op && !(growth.habits.large && too_much(*op))) call(growth, *op);
  }

  // What is the same along a dim, read by whoever counts or adds up that dim's elements: passes read what was expanded
  // where that gives the same.
  void read_spread(Growth& growth) {
    constexpr Family kReaders[] = {Family::contraction, Family::contraction, Family::contraction, Family::reduction,
                                   Family::other,       Family::other,       Family::scan};
    const auto& rows = pool_.pure[static_cast<size_t>(c_.pick(kReaders))];
    if (rows.empty()) return;
    const OpDef& op = *c_.pick(rows);
    ValueId wide = kNone;
    try {
      wide = spread(*growth.graph, GraphCalls(growth, c_, op).tensor({.max_rank = 2, .min_size = 1}), c_);
    } catch (const Unsupported&) {  // more elements than a case may have
    }
    if (wide == kNone) return;
    growth.add(wide);
    call_on(growth, op, wide);
  }

  void branches_and_loops(Growth& growth) {
    control_flow(growth, c_, [&](Growth& inner, size_t count) { steps(inner, count); });
  }

  // A call that the graph has already, once more: the same one or, where it writes nothing, with another operand of
  // that type. What may be made one, must not be, or runs beside the other.
  bool repeat(Growth& growth) {
    Graph& graph = *growth.graph;
    std::vector<NodeId> calls;
    graph.for_each_node([&](NodeId id) {
      const Node& node = graph.node(id);
      bool fits = node.op->generate && node.result_count > 0 && !is_costly(*node.op) && resized(graph, node).empty();
      for (const Arg& a : node.arguments()) {
        fits = fits && a.kind != ArgKind::graph;
        for_each_value(a, [&](ValueId v) { fits = fits && std::ranges::count(growth.values, v) > 0; });
      }
      if (fits) calls.push_back(id);
    });
    if (calls.empty()) return false;
    const Node node = graph.node(c_.pick(calls));
    std::vector<Arg> args(node.arguments().begin(), node.arguments().end());
    if (!writes_to_any(*node.op, args) && c_.flip()) {
      if (options_.writes && c_.flip())
        write_to_operand(growth, args);  // what was equal is so no more
      else
        replace_operand(growth, args);
    }
    append(growth, *node.op, args);
    return true;
  }

  static bool writes_to_any(const OpDef& op, std::span<const Arg> args) {
    for (size_t i = 0; i < args.size(); ++i)
      if (writes_operand(op, args, i)) return true;
    return false;
  }

  // The newest call again as it stands: equal calls are one, but for those that draw or write.
  void once_more(Growth& growth, NodeId before) {
    Graph& graph = *growth.graph;
    NodeId id = graph.last();
    while (id != before && graph.node(id).op->full_name == kElement) id = graph.previous(id);
    if (id == before || !graph.node(id).op->generate || is_costly(*graph.node(id).op)) return;
    if (!resized(graph, graph.node(id)).empty()) return;
    const Node node = graph.node(id);
    std::vector<Arg> args(node.arguments().begin(), node.arguments().end());
    auto writes = [&] { return writes_to_any(*node.op, args); };
    if (!writes() && c_.flip()) {  // what is written to keeps its size
      change_one(c_, *node.op, args);
      if (writes()) return;  // as a flag may say, to what nobody may write to
    } else if (options_.writes && !writes() && c_.flip()) {
      write_to_operand(growth, args);  // what was equal is so no more
    }
    append(growth, *node.op, args);
  }

  void append(Growth& growth, const OpDef& op, std::span<const Arg> args) {
    ++statistics_.calls;
    try {
      made(growth, appended(growth, op, args));
    } catch (const UserError&) {
      ++statistics_.refused;
    } catch (const Unsupported&) {
      ++statistics_.refused;
    }
  }

  // Unsupported: of values that are used again a result may have many times the elements (a product of each with each),
  // and one such case would cost as much as a thousand others.
  static NodeId appended(Growth& growth, const OpDef& op, std::span<const Arg> args) {
    Graph& graph = *growth.graph;
    Tried tried(graph.assumptions);
    const NodeId id = graph.append(op, args);
    if (growth.has_too_many(graph.node(id))) {
      graph.erase(id);
      throw Unsupported("more elements than a case may have");
    }
    tried.stays();
    return id;
  }

  void write_to_operand(Growth& growth, std::span<const Arg> args) {
    std::vector<ValueId> operands;
    for (const Arg& a : args)
      if (a.is_value() && growth.graph->type(a.value()).is_tensor() && !growth.made_for.contains(a.value()))
        operands.push_back(a.value());
    if (!operands.empty()) call_on(growth, pool_.writing, c_.pick(operands));
  }

  // A lazy view of something, seen through others, and read.
  void look_lazily(Growth& growth) {
    if (pool_.lazy.empty() || pool_.looks.empty()) return;
    const std::vector<ValueId> others = growth.values;
    const DtypeSet liked = growth.habits.dtypes;
    const uint32_t fresh = growth.habits.fresh;
    if (c_.below(4) != 3)
      growth.habits.dtypes = dtypes::complexes, growth.habits.fresh = 12;  // of others they are views
    call(growth, *c_.pick(pool_.lazy));
    growth.habits.dtypes = liked;
    growth.habits.fresh = fresh;
    ValueId view = growth.values.empty() ? kNone : growth.values.back();
    if (view == kNone || std::ranges::find(others, view) != others.end()) return;
    std::vector<ValueId> lazy{view};
    for (uint64_t more = c_.below(3); more > 0; --more) {
      call_on(growth, *c_.pick(pool_.looks), view);
      const ValueId seen = growth.values.back();
      if (seen == view || growth.graph->storage(seen) != growth.graph->storage(view)) break;
      lazy.push_back(view = seen);
    }
    for (uint64_t readers = 1 + c_.below(2); readers > 0; --readers)
      c_.flip() ? call_on(growth, pool_.pure, view) : call_on_any(growth, view);
    std::erase_if(growth.values, [&](ValueId v) { return std::ranges::find(lazy, v) != lazy.end(); });
  }

  // An elementwise call, or this one, with this operand, as far as it fits.
  void call_on(Growth& growth, const std::array<std::vector<const OpDef*>, kFamilies>& pool, ValueId operand) {
    const auto& rows = pool[static_cast<size_t>(Family::elementwise)];
    if (!rows.empty()) call_on(growth, *c_.pick(rows), operand);
  }
  void call_on_any(Growth& growth, ValueId operand) {
    const auto& rows = pool_.pure[c_.below(kFamilies)];
    if (!rows.empty()) call_on(growth, *c_.pick(rows), operand);
  }
  void call_on(Growth& growth, const OpDef& op, ValueId operand, std::optional<ValueId> beside = {}) {
    std::vector<ValueId> all = std::exchange(growth.values, {operand});
    if (beside) growth.values.insert(growth.values.begin(), *beside);
    const size_t given = growth.values.size();
    const uint32_t fresh = std::exchange(growth.habits.fresh, 0);
    call(growth, op);
    all.insert(all.end(), growth.values.begin() + static_cast<ptrdiff_t>(given), growth.values.end());
    growth.values = std::move(all);
    growth.habits.fresh = fresh;
  }

  void hazards(Growth& growth) {
    auto call = [&](const OpDef& op, ValueId operand, std::optional<ValueId> beside) {
      call_on(growth, op, operand, beside);
    };
    if (options_.random && growth.habits.families[static_cast<size_t>(Family::random)] && c_.below(4) == 3)
      return grow_draws(growth, c_, pool_, call);
    grow_hazards(growth, c_, pool_, options_.writes, call);
  }

  // What may raise, in a larger tensor or beside others: points that have none of it must not compute it.
  void masked_quotient(Growth& growth) {
    const auto& around = pool_.pure[static_cast<size_t>(Family::movement)];
    if (pool_.raising.empty() || around.empty() || growth.habits.large) return;
    const DtypeSet liked = std::exchange(growth.habits.dtypes, dtypes::integers);
    const uint32_t fresh = std::exchange(growth.habits.fresh, 16);  // what is there already is no integer, mostly
    const std::vector<ValueId> before = growth.values;
    call(growth, *c_.pick(pool_.raising));
    growth.habits.dtypes = liked;
    growth.habits.fresh = fresh;
    for (uint64_t left = 1 + c_.below(2); left > 0 && growth.values.size() > before.size(); --left)
      call_on(growth, *c_.pick(around), growth.values.back());
    if (growth.values.size() > before.size() && c_.flip()) call_on(growth, pool_.pure, growth.values.back());
  }

  void replace_operand(Growth& growth, std::vector<Arg>& args) {
    Arg& a = args[c_.below(args.size())];
    if (!a.is_value() || growth.made_for.contains(a.value())) return;
    std::vector<ValueId> alike;
    for (ValueId v : growth.values)
      if (&growth.graph->type(v) == &growth.graph->type(a.value())) alike.push_back(v);
    if (!alike.empty()) a = Arg::of_value(c_.pick(alike));
  }

  // For many elements: lists have a tensor for each.
  static bool too_much(const OpDef& op) {
    return is_made_of_others(op) || (op.base ? *op.base : op).schema.returns_list();
  }

  const OpDef* choose_op(const Habits& h) {
    if (!h.favourites.empty() && c_.below(8) != 7) return c_.pick(h.favourites);
    const size_t family = c_.weighted(h.families);
    const auto& rows =
        c_.below(16) < h.writing && !pool_.writing[family].empty() ? pool_.writing[family] : pool_.pure[family];
    return rows.empty() ? nullptr : c_.pick(rows);
  }

  // `singled`: with a number among its operands that the row singles out, which comes now and then by itself.
  void call(Growth& growth, const OpDef& op, bool singled = false, std::optional<Visit> visit = {}) {
    Graph& graph = *growth.graph;
    ++statistics_.calls;
    try {
      GraphCalls maker(growth, c_, op, visit);
      op.generate(maker);
      const std::span<const Arg> made_args = maker.finish();
      std::vector<Arg> args(made_args.begin(), made_args.end());
      if (Pool::singles_out(op) && (singled || c_.below(3) == 2))
        number_singled_out(growth, op, args);
      else if (op.has(Trait::commutative) && c_.below(16) == 15)
        far_number(*growth.graph, c_, op, args);
      if (looks_into_gaps(graph, op, args)) return;
      if (!growth.habits.large && op.variant == VariantKind::functional && !op.decompose.empty() &&
          !definition_writes(op) && c_.below(8) == 7)
        return write_out(growth, op, args);
      if (c_.below(16) < growth.habits.numbers) {
        // What is refused of literals eager refuses of computed numbers too. Only calls that name no sizes can be
        // undone.
        if (op.has(Trait::elementwise)) graph.erase(appended(growth, op, args));
        compute_numbers(growth, c_, &graph == graph_.get(), op, args);
      } else if (c_.below(16) == 15) {
        number_of_the_run(graph, c_, op, args);
      }
      made(growth, appended(growth, op, args));
    } catch (const UserError&) {
      ++statistics_.refused;
    } catch (const Unsupported&) {
      ++statistics_.refused;
    }
  }

  void number_singled_out(Growth& growth, const OpDef& op, std::vector<Arg>& args) {
    const ValueId fill = single_out(*growth.graph, c_, op, args);
    if (fill != kNone && options_.writes && !growth.habits.large && c_.below(4) == 3)
      call_on(growth, pool_.writing, fill);
  }

  // What users write who don't know the op: passes look for that.
  void write_out(Growth& growth, const OpDef& op, std::span<const Arg> args) {
    Graph& graph = *growth.graph;
    const NodeId before = graph.last();
    expand(graph, kNone, op, args);
    std::vector<NodeId> steps;
    bool too_many = false;
    for (NodeId id = graph.last(); id != before; id = graph.previous(id)) {
      steps.push_back(id);
      too_many = too_many || growth.has_too_many(graph.node(id));
    }
    if (too_many) {
      graph.erase_all(steps);
      throw Unsupported("more elements than a case may have");
    }
    for (const NodeId id : steps | std::views::reverse) made(growth, id);
  }

  void made(Growth& growth, NodeId id) {
    Graph& graph = *growth.graph;
    const Node node = graph.node(id);
    for_each_written(graph, node, [&](ValueId v) { mark_written(growth, v); });
    if (node.op->variant == VariantKind::out) forget_resized(growth, node);
    for (uint16_t i = 0; i < node.result_count; ++i) {
      ValueId v = node.result(i);
      const Type& t = graph.type(v);
      const size_t elements = t.elements().size();
      for (size_t e = c_.below(2); e < elements; e += 1 + c_.below(3)) {
        Arg args[] = {Arg::of_value(v), Arg::of_int(static_cast<int64_t>(e))};
        Resolved r = resolve(graph, kElement, args, {});
        growth.add(graph.node(graph.append(*r.op, r.args)).result());
      }
      if (std::ranges::find(growth.values, v) == growth.values.end()) growth.add(v);
      if (t.is_tensor() && t.rank() > 0 && !t.sizes()[0].is_constant() && c_.below(4) == 3) as_long_as(graph, v);
      if (growth.habits.tame && t.is_tensor() && is_floating(t.dtype) && c_.below(6) == 5) tame(growth, v);
    }
  }

  void mark_written(Growth& growth, ValueId v) {
    Graph& graph = *growth.graph;
    for (size_t i = 0; i < graph.inputs().size(); ++i)
      if (graph.inputs()[i].value == graph.storage(v)) graph.input(i).mutated = true;
    growth.made_for.erase(graph.storage(v));
  }

  // A tensor that an out= op resized is not what its type says; nor are views of it.
  void forget_resized(Growth& growth, const Node& node) {
    const Graph& graph = *growth.graph;
    for (ValueId v : resized(graph, node))
      std::erase_if(growth.values, [&](ValueId other) { return graph.storage(other) == graph.storage(v); });
  }

  // What is written to another size than its type says: it may be used through the result alone.
  static std::vector<ValueId> resized(const Graph& graph, const Node& node) {
    std::vector<ValueId> all;
    const Schema& schema = node.op->schema;
    for (uint16_t i = 0; node.op->variant == VariantKind::out && i < node.result_count; ++i)
      for (size_t k = 0; k < node.arg_count; ++k) {
        if (schema.returns[i].alias == 0 || schema.params[k].alias != schema.returns[i].alias) continue;
        const Arg& to = node.args[k];
        if (to.is_value() && !std::ranges::equal(graph.type(node.result(i)).sizes(), graph.type(to.value()).sizes()))
          all.push_back(to.value());
      }
    return all;
  }

  void tame(Growth& growth, ValueId v) {
    try {
      Arg self = Arg::of_value(v);
      Resolved r = resolve(*growth.graph, c_.pick(kTaming), {&self, 1}, {});
      growth.add(growth.graph->node(growth.graph->append(*r.op, r.args)).result());
    } catch (const UserError&) {  // float8
    }
  }

  void alias_input(Growth& growth) {
    const auto [v, made] = input_in_memory_of_another(growth, c_);
    if (made == kNone) return;
    if (!options_.writes || c_.below(4) == 3) return;
    const bool through_first = c_.flip();  // what one writes the other one sees
    call_on(growth, pool_.writing, through_first ? v : made);
    call_on(growth, pool_.pure, through_first ? made : v);
  }

  // Passes leave outputs alone that they would make inputs of, or two into one: so something stands behind them that
  // keeps apart what differs.
  ValueId turned(ValueId v) {
    try {
      const Arg self = Arg::of_value(v);
      Resolved r = resolve(*graph_, graph_->type(v).dtype == Dtype::b8 ? kNot : kMinus, {&self, 1}, {});
      return graph_->node(graph_->append(*r.op, r.args)).result();
    } catch (const UserError&) {  // float8
      return v;
    }
  }

  // What nobody uses, and some of what somebody does: intermediates, inputs, one value twice.
  void outputs(Growth& growth) {
    Graph& graph = *growth.graph;
    std::vector<Arg> all;
    std::vector<ValueId> made, gone;
    graph.for_each_node([&](NodeId id) {
      const Node& node = graph.node(id);
      if (node.op->variant != VariantKind::out) return;
      for (ValueId v : resized(graph, node))  // and so is whatever stood for its memory before
        for (ValueId before = 0; before < node.result(); ++before)
          if (graph.storage(before) == graph.storage(v)) gone.push_back(before);
    });
    for (ValueId v = 0; v < graph.value_count(); ++v)
      if (graph.type(v).is_tensor() && graph.value(v).producer != kNone &&
          !graph.node(graph.value(v).producer).erased && std::ranges::find(gone, v) == gone.end())
        made.push_back(v);
    const bool behind =
        graph.level == Level::torch && (growth.habits.about == About::much ? c_.below(4) == 3 : c_.flip());
    for (ValueId v : made)
      if (graph.value(v).users.empty() && (growth.habits.about != About::much || c_.below(8) != 7))
        all.push_back(Arg::of_value(behind ? turned(v) : v));
    if (!made.empty() && c_.below(3) == 2) all.push_back(Arg::of_value(c_.pick(made)));
    if (!growth.values.empty() && c_.below(12) == 11) all.push_back(Arg::of_value(c_.pick(growth.values)));
    if (all.empty() && !made.empty()) all.push_back(Arg::of_value(made.back()));
    const size_t most = growth.habits.about == About::much ? 12 : 20;
    if (all.size() > most) all.resize(most);
    if (const std::vector<Arg> numbers = sizes_and_numbers(graph); !numbers.empty() && c_.below(3) == 2)
      for (uint64_t n = c_.below(2); n < 2; ++n) all.push_back(c_.pick(numbers));
    graph.set_outputs(all);
  }

  // What a program may return that asks for shapes; not how many there are of what floats decide.
  static std::vector<Arg> sizes_and_numbers(const Graph& graph) {
    std::vector<Arg> found;
    for (ValueId v = 0; v < graph.value_count(); ++v) {
      const Type& type = graph.type(v);
      const NodeId by = graph.value(v).producer;
      if (by != kNone && graph.node(by).erased) continue;
      if (type.kind == TypeKind::sym_int && !graph.assumptions.mentions_open(type.offset))
        found.push_back(Arg::of_value(v));
      if (!type.is_tensor()) continue;
      for (Dim d : type.sizes())
        if (!d.is_constant() && !graph.assumptions.mentions_open(d)) found.push_back(Arg::of_dim(d));
    }
    return found;
  }

  Chooser& c_;
  const Pool& pool_;
  const GrowOptions& options_;
  GrowthStatistics& statistics_;
  std::unique_ptr<Graph> graph_;
};
}  // namespace

std::unique_ptr<Graph> grow(Chooser& choose, const Pool& pool, const GrowOptions& options,
                            GrowthStatistics* statistics) {
  GrowthStatistics own;
  return Grower(choose, pool, options, statistics ? *statistics : own).make();
}

}  // namespace lenz::fuzz
