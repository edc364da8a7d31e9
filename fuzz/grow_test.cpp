#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "compiler/driver/pipeline.h"
#include "compiler/driver/program_set.h"
#include "compiler/graph/alias.h"
#include "compiler/graph/equal.h"
#include "compiler/graph/lazy_views.h"
#include "compiler/graph/match.h"
#include "compiler/graph/overlap.h"
#include "compiler/graph/text.h"
#include "compiler/graph/verify.h"
#include "compiler/ops/op_table.h"
#include "compiler/ops/wants.h"
#include "fuzz/case.h"
#include "fuzz/coverage.h"
#include "fuzz/from_corpus.h"
#include "fuzz/graph_calls.h"
#include "fuzz/idioms.h"

namespace lenz::fuzz {
namespace {

const Pool& pool() {
  static const Pool p(op_table());
  return p;
}

TEST(Grow, GraphsAreValidAndPrintAndParse) {
  for (uint64_t i = 0; i < 600; ++i) {
    Case c = draw_case(11, i, pool());
    const std::string text = print(*c.graph);
    ASSERT_TRUE(verify(*c.graph).empty()) << to_string(verify(*c.graph)[0]) << text;
    auto again = parse_graph(text, op_table());
    std::string why;
    ASSERT_TRUE(structurally_equal(*again, *c.graph, &why)) << why << text;
  }
}

// Without them nobody asks what becomes of an input that is a number, or of sizes that follow from others.
TEST(Grow, SomeTakeNumbersAndSomeRelateSizes) {
  constexpr std::string_view kComputed[] = {"lenz.sym_sub(", "lenz.sym_mul(", "lenz.sym_max(", "lenz.sym_min("};
  size_t numbers = 0, open_numbers = 0, related = 0, named = 0, sizes_returned = 0, numbers_returned = 0;
  std::set<std::string_view> computed;
  for (uint64_t i = 0; i < 6000; ++i) {
    const Case c = draw_case(13, i, pool());
    for (const Input& input : c.graph->inputs()) {
      const Type& t = c.graph->type(input.value);
      numbers += t.kind == TypeKind::sym_int;
      open_numbers += t.kind == TypeKind::sym_int && !t.offset.is_constant();
    }
    for (const Arg& a : c.graph->outputs()) {
      sizes_returned += a.kind == ArgKind::integer && a.symbolic;
      numbers_returned += a.is_value() && c.graph->type(a.value()).kind == TypeKind::sym_int;
    }
    const auto& facts = c.graph->assumptions.facts().conditions();
    related += std::ranges::any_of(facts, [](const Cond& f) { return !f.lhs.is_constant() && !f.rhs.is_constant(); });
    const std::string text = print(*c.graph);
    named += text.find("%\"") != std::string::npos;
    for (const std::string_view op : kComputed)
      if (text.find(op) != std::string::npos) computed.insert(op);
  }
  EXPECT_GT(numbers, 40u);
  EXPECT_GT(open_numbers, 4u);
  EXPECT_GT(sizes_returned, 15u);
  EXPECT_GT(numbers_returned, 4u);
  EXPECT_GT(related, 20u);
  EXPECT_GT(named, 100u);
  EXPECT_EQ(computed.size(), std::size(kComputed));
}

// What raises beside something else that does, and bits of a fill that are another dtype's, come up by chance too
// seldom.
TEST(Grow, WhatIsRareIsDrawn) {
  size_t beyond = 0, raising = 0, bits = 0;
  for (uint64_t i = 0; i < 4000; ++i) {
    const Case c = draw_case(14, i, pool());
    size_t indexing = 0;
    c.graph->for_each_node([&](NodeId id) {
      const Node& node = c.graph->node(id);
      indexing += family_of(*node.op) == Family::indexing;
      const NodeId before = c.graph->previous(id);
      const bool shown = node.op->full_name == "aten.view.dtype" && before != kNone && node.args[0].is_value();
      bits += shown && c.graph->node(before).op->full_name == "aten.full_like" &&
              c.graph->node(before).result() == node.args[0].value();
    });
    if (c.setting.values != oracle::Values::beyond || c.about != About::much) continue;
    ++beyond;
    raising += indexing > 1;
  }
  EXPECT_GT(beyond, 30u);
  EXPECT_GT(raising, beyond / 4);
  EXPECT_GT(bits, 8u);
}

TEST(Grow, OneSeedIsOneCase) {
  for (uint64_t i : {0, 7, 123}) {
    EXPECT_EQ(draw_case(3, i, pool()).text(), draw_case(3, i, pool()).text());
    EXPECT_NE(draw_case(3, i, pool()).text(), draw_case(4, i, pool()).text());
  }
}

// The same code driven by a record, and by bytes that mean nothing.
TEST(Grow, EveryChooserDrivesIt) {
  RandomChooser random(5);
  RecordingChooser recording(random);
  const std::string text = print(*grow(recording, pool()));
  ReplayChooser replay(recording.record());
  EXPECT_EQ(print(*grow(replay, pool())), text);
  for (uint8_t length = 0; length < 60; ++length) {
    std::vector<uint8_t> bytes;
    for (uint8_t i = 0; i < length; ++i) bytes.push_back(static_cast<uint8_t>(i * 37 + length * 11));
    BytesChooser chooser(bytes);
    auto graph = grow(chooser, pool());
    EXPECT_TRUE(verify(*graph).empty()) << print(*graph);
  }
}

TEST(Grow, FewCallsAreRefused) {
  GrowthStatistics statistics;
  for (uint64_t i = 0; i < 2500; ++i) draw_case(21, i, pool(), {}, &statistics);  // of fewer the share hangs on chance
  EXPECT_GT(statistics.calls, 7000u);
  EXPECT_LT(statistics.refused * 100, statistics.calls) << statistics.refused << " of " << statistics.calls;
}

TEST(Grow, MakesWhatRewriteRulesLookFor) {
  constexpr int kGraphs = 400;
  int begun = 0, several = 0;
  for (uint64_t i = 0; i < kGraphs; ++i) {
    RandomChooser choose(i);
    Graph graph(std::make_shared<Context>(), op_table(), "g");
    Growth growth;
    growth.graph = &graph;
    growth.habits.adapt = 10;
    int nodes = 0;
    begun += grow_idiom(growth, choose, [&](NodeId id) {
      ++nodes;
      for_each_written(graph, graph.node(id), [&](ValueId v) {
        const ValueId base = graph.storage(v);
        if (graph.value(base).producer == kNone) graph.input(graph.value(base).index).mutated = true;
      });
      for (uint16_t r = 0; r < graph.node(id).result_count; ++r) growth.add(graph.node(id).result(r));
    });
    several += nodes > 1;
    const auto broken = verify(graph);
    EXPECT_TRUE(broken.empty()) << to_string(broken[0]) << print(graph);
  }
  EXPECT_GT(begun, kGraphs * 9 / 10);
  EXPECT_GT(several, kGraphs / 4);
}

TEST(Grow, ChangesGraphsOfTheCorpus) {
  constexpr int kGraphs = 2000;
  std::set<std::string> texts;
  for (uint64_t i = 0; i < kGraphs; ++i) {
    RandomChooser choose(i);
    auto graph = graph_from_corpus(choose);
    if (!graph) continue;
    EXPECT_TRUE(verify(*graph).empty()) << print(*graph);
    graph->for_each_node([&](NodeId id) {
      std::set<ValueId> written;
      for_each_written(*graph, graph->node(id), [&](ValueId v) {
        EXPECT_TRUE(written.insert(graph->storage(v)).second) << "two operands write one memory: " << print(*graph);
      });
    });
    texts.insert(print(*graph));
  }
  EXPECT_GT(texts.size(), size_t{kGraphs} / 2);
}

TEST(Turn, CountsCasesThatAreAboutTheSame) {
  std::map<About, uint64_t> met;
  for (uint64_t number = 0; number < 20; ++number) EXPECT_EQ((Turn{1, number}).among_its_like(), met[about(number)]++);
}

// Four thousand cases begin from every row, and from every rule's idiom many times; all but a pass or two find
// something to do.
TEST(Grow, ReachesEverythingInTurn) {
  std::set<std::string> features;
  for (uint64_t i = 0; i < 4000; ++i) {
    Case c = draw_case(5, i, pool());
    c.graph->for_each_node([&](NodeId id) { features.insert("op " + c.graph->node(id).op->full_name); });
    RunStatistics run;
    try {
      passed_for(*c.graph, oracle::parse_binding(c.setting.sizes, *c.graph).lookup(), pipeline(), {}, &run);
    } catch (const Error&) {  // not for that graph, or at these sizes
    }
    for (const PassRun& pass : run.runs)
      if (pass.changed) features.insert("pass " + std::string(pass.pass));
  }
  for (const Unreached& kind : unreached(pool(), features)) {
    if (kind.kind == "op") EXPECT_LT(kind.names.size(), kind.all / 100);
    if (kind.kind == "pass") EXPECT_LE(kind.names.size(), 2u) << testing::PrintToString(kind.names);
  }
}

// Eager counts from such a number up to zero: of what the graph computes, a million times now and then.
TEST(Grow, NumbersThatAreCountedToAreInputs) {
  GrowOptions options;
  options.corpus = options.control = false;
  size_t counted = 0;
  for (uint64_t i = 0; i < 1500; ++i) {
    const Case c = draw_case(5, i, pool(), options);
    c.graph->for_each_node([&](NodeId id) {
      const Node& node = c.graph->node(id);
      for (size_t i = 0; i < node.arg_count; ++i) {
        const Arg& a = node.args[i];
        if (!counts_to_operand(*node.op, node.op->schema.params[i].name) || !a.is_value()) continue;
        if (c.graph->type(a.value()).is_tensor()) continue;
        const NodeId made = c.graph->value(a.value()).producer;
        if (made == kNone) continue;  // handed over: a truth, or what the number was
        // A number that only the run knows is a small one, or none that is counted to.
        const Node& item = c.graph->node(made);
        if (item.op->full_name != "aten._local_scalar_dense") continue;  // op name: so it is read
        const double to = *number_of(c.graph->node(c.graph->value(item.args[0].value()).producer).args[1]);
        EXPECT_TRUE(!std::isfinite(to) || to < 16) << c.text();
      }
      for (const OperandWant& want : wants_of(*c.graph, *node.op, node.arguments())) {
        if (want.kind != OperandWant::counted || !c.graph->type(want.value).is_tensor()) continue;
        ++counted;
        const NodeId maker = c.graph->value(want.value).producer;
        const bool copied = maker != kNone && c.graph->node(maker).op->full_name == "aten._to_copy";  // op name: a cast
        const ValueId from = copied ? c.graph->node(maker).args[0].value() : want.value;
        EXPECT_TRUE(c.graph->value(from).producer == kNone || is_constant(*c.graph, from))
            << c.graph->value_name(want.value) << " of " << node.op->full_name << " in\n"
            << c.text();
      }
    });
  }
  EXPECT_GT(counted, 30u);
}

// One call may make every element of one operand meet every one of another. Graphs of the corpus are as they are.
TEST(Grow, LeavesOutResultsOfTooManyElements) {
  constexpr double kMost = 1 << 23;
  uint64_t thousands = 0;
  for (uint64_t i = 0; i < 1000; ++i) {
    if (i % kCorpusEvery == kCorpusEvery - 1) continue;
    Case c = draw_case(2, i, pool());
    for (ValueId v = 0; v < c.graph->value_count(); ++v) {
      const Type& t = c.graph->type(v);
      double elements = 1;
      if (!t.is_tensor()) continue;
      for (Dim d : t.sizes()) elements *= d.is_constant() ? static_cast<double>(d.constant()) : 1;
      EXPECT_LE(elements, kMost) << "case " << i;
      thousands += elements > 1 << 12;
    }
  }
  EXPECT_GT(thousands, 20u);
}

// What other fuzzers' graphs lack has to be there, and not as a rarity: several times in a second of a campaign.
TEST(Grow, ReachesWhatGraphsCanBe) {
  std::map<std::string, int> share;
  std::set<std::string> ops;
  constexpr int kGraphs = 4500;
  for (uint64_t i = 0; i < kGraphs; ++i) {
    Case c = draw_case(31, i, pool());
    const Graph& g = *c.graph;
    bool fans_out = false, views = false, odd = false;
    for (ValueId v = 0; v < g.value_count(); ++v) {
      fans_out |= g.value(v).users.size() > 1;
      views |= g.storage(v) != v;
    }
    bool writes = false, aliases = false, symbols = false, empty = false, large = false, again = false;
    bool edge = false, constants = false, seeds = false, numbers = false, lazy = false;
    for (const Input& input : g.inputs()) {
      const Type& t = g.type(input.value);
      writes |= input.mutated;
      aliases |= input.alias.has_value();
      for_each_symbolic_dim(t, [&](Dim) { symbols = true; });
      if (!t.is_tensor()) continue;
      odd |= !std::ranges::equal(t.strides(), contiguous_strides(t.sizes()));
      for (Dim d : t.sizes())
        empty |= d.is(0), large |= d.is_constant() && d.constant() > 1000,
            edge |= d.is(31) || d.is(33) || d.is(63) || d.is(65);
    }
    std::vector<const Node*> calls;
    g.for_each_node([&](NodeId id) {
      const Node& node = g.node(id);
      ops.insert(node.op->full_name);
      for (const Arg& a : node.arguments()) lazy |= a.is_value() && laziness(g, a.value()).conjugated;
      again |= node.arg_count > 0 && std::ranges::any_of(calls, [&](const Node* other) {
                 return other->op == node.op && std::ranges::equal(other->arguments(), node.arguments());
               });
      calls.push_back(&node);
      for (const Arg& a : node.arguments()) {
        constants |= a.kind == ArgKind::data;
        seeds |= a.kind == ArgKind::seed;
        numbers |= a.is_value() && g.type(a.value()).kind == TypeKind::sym_int;
      }
    });
    share["sizes beside vectors' ends"] += edge;
    share["readers of lazy conjugates"] += lazy;
    share["constants"] += constants;
    share["draws by a seed"] += seeds;
    share["numbers computed from sizes"] += numbers;
    share["narrow processors"] += c.setting.target == "generic";
    share["fan-out"] += fans_out;
    share["several outputs"] += g.outputs().size() > 1;
    share["views"] += views;
    share["odd strides"] += odd;
    share["written inputs"] += writes;
    share["inputs that share memory"] += aliases;
    share["open sizes"] += symbols;
    share["empty dims"] += empty;
    share["dims of thousands"] += large;
    share["calls made twice"] += again;
    share["control flow"] += !g.subgraphs.empty();
    share["more than ten ops"] += g.node_count() > 10;
  }
  for (const auto& [what, count] : share) EXPECT_GT(count, kGraphs / 150) << what;
  EXPECT_GT(ops.size(), 700u);
}

// A body that hands one thing it carries on in another's place is what tells whether both are read before either is
// written.
TEST(Grow, LoopsHandOnWhatTheyCarryInOtherPlaces) {
  int moved = 0, as_it_is = 0;
  for (uint64_t i = 0; i < 6000; ++i) {
    const Case c = draw_case(37, i, pool());
    c.graph->for_each_node([&](NodeId id) {
      const Node& node = c.graph->node(id);
      if (node.op->full_name != "lenz.while_loop") return;
      const Graph& body = *c.graph->subgraphs[node.args[1].graph()];
      for (size_t k = 1; k < body.outputs().size(); ++k) {
        const Value& handed = body.value(body.outputs()[k].value());
        const bool copied = handed.producer != kNone && body.node(handed.producer).op->full_name == "aten.clone";
        const Value& from = copied ? body.value(body.node(handed.producer).args[0].value()) : handed;
        const bool other = from.producer == kNone && from.index != k && from.index < body.outputs().size();
        (copied ? moved : as_it_is) += other;
      }
    });
  }
  EXPECT_GT(moved, 1);
  EXPECT_GT(as_it_is, 1);
}

// A seed whose branch wrote to an input that lies in the memory of another one.
TEST(Grow, SubGraphsWriteToNothingThatOperandsShare) {
  const Case c = draw_case(4242, 10883, pool());
  EXPECT_TRUE(verify(*c.graph).empty()) << c.text();
}

// Which element is written last where several share a place hangs on an order that a sub-graph does not promise.
TEST(Grow, WhatSubGraphsWriteToLiesApart) {
  int written = 0;
  for (uint64_t i = 0; i < 3000; ++i) {
    const Case c = draw_case(43, i, pool());
    for (const auto& sub : c.graph->subgraphs)
      for (const Input& input : sub->inputs()) {
        if (!input.mutated) continue;
        ++written;
        const Type& t = sub->type(input.value);
        EXPECT_FALSE(may_meet(sub->assumptions.known(), t.sizes(), t.strides())) << c.text();
      }
  }
  EXPECT_GT(written, 5);
}

// Sorts of long lines, which go another way than those of short ones.
TEST(Grow, SortsLongLines) {
  int long_lines = 0;
  for (uint64_t i = 0; i < 6000; ++i) {
    const Case c = draw_case(37, i, pool());
    c.graph->for_each_node([&](NodeId id) {
      const Node& node = c.graph->node(id);
      if (std::ranges::find(pool().sorting, node.op) == pool().sorting.end() || !node.args[0].is_value()) return;
      const Type& keys = c.graph->type(node.args[0].value());
      if (std::ranges::any_of(keys.sizes(), [](Dim d) { return d.is_constant() && d.constant() >= 512; })) ++long_lines;
    });
  }
  EXPECT_GT(long_lines, 4) << long_lines;
}

// What a sub-graph is called with may lie otherwise than it declares, and a condition may have a dim.
TEST(Grow, SubGraphsDeclareOtherLayouts) {
  int laid_otherwise = 0, conditions_with_a_dim = 0;
  for (uint64_t i = 0; i < 6000; ++i) {
    const Case c = draw_case(37, i, pool());
    c.graph->for_each_node([&](NodeId id) {
      const Node& node = c.graph->node(id);
      if (node.op->full_name != "lenz.cond") return;
      conditions_with_a_dim += c.graph->type(node.args[0].value()).rank() == 1;
      const Graph& yes = *c.graph->subgraphs[node.args[1].graph()];
      const auto operands = node.args[3].value_list();
      for (size_t k = 0; k < operands.size(); ++k)
        laid_otherwise +=
            !std::ranges::equal(c.graph->type(operands[k]).strides(), yes.type(yes.inputs()[k].value).strides());
    });
  }
  EXPECT_GT(laid_otherwise, 1);
  EXPECT_GT(conditions_with_a_dim, 1);
}

// Open sizes lie in any order, of the graph's inputs and of its sub-graphs'.
TEST(Grow, LeavesSizesOfTurnedInputsOpen) {
  int turned = 0, turned_inside = 0;
  const auto is_turned = [](const Graph& g) {
    return std::ranges::any_of(g.inputs(), [&](const Input& input) {
      const Type& t = g.type(input.value);
      bool open = false;
      for_each_symbolic_dim(t, [&](Dim) { open = true; });
      return open && t.is_tensor() && !std::ranges::equal(t.strides(), contiguous_strides(t.sizes()));
    });
  };
  for (uint64_t i = 0; i < 4000; ++i) {
    const Case c = draw_case(43, i, pool());
    turned += is_turned(*c.graph);
    turned_inside += std::ranges::any_of(c.graph->subgraphs, [&](const auto& sub) { return is_turned(*sub); });
  }
  EXPECT_GT(turned, 20);
  EXPECT_GT(turned_inside, 0);
}

// A sub-graph's sizes are its own symbols, which stand for what it is called with: for the graph's symbols, for
// numbers.
TEST(Grow, LeavesSizesOfSubGraphsOpen) {
  int inside = 0, called_with_open_ones = 0;
  auto open = [](const Graph& g) {
    return std::ranges::any_of(g.inputs(), [&](const Input& input) {
      bool any = false;
      for_each_symbolic_dim(g.type(input.value), [&](Dim) { any = true; });
      return any;
    });
  };
  for (uint64_t i = 0; i < 4000; ++i) {
    const Case c = draw_case(41, i, pool());
    const bool within = std::ranges::any_of(c.graph->subgraphs, [&](const auto& sub) { return open(*sub); });
    inside += within;
    called_with_open_ones += within && open(*c.graph);
  }
  EXPECT_GT(inside, 4);
  EXPECT_GT(called_with_open_ones, 4);
}

// Rules are led on by graphs that lack one thing that they ask for: each condition of most rules is broken alone.
TEST(Grow, MakesNearMissesOfRules) {
  std::set<std::string> missed, met;
  for (uint64_t i = 0; i < 3000; ++i) {
    RandomChooser choose(i);
    Graph graph(std::make_shared<Context>(), op_table(), "g");
    Growth growth;
    growth.graph = &graph;
    const size_t which = i % idiom_count();
    std::vector<NodeId> nodes;
    grow_idiom(growth, choose, [&](NodeId id) { nodes.push_back(id); }, IdiomTurn{which, i / idiom_count()});
    size_t before = 0;
    for (const RuleSet* rules : rule_sets()) {
      if (which >= before + rules->rules().size()) {
        before += rules->rules().size();
        continue;
      }
      const Rule& rule = rules->rules()[which - before];
      const size_t root = rule.plan[0].node;
      if (nodes.size() == rule.nodes.size()) (match(graph, *rules, rule, nodes[root]) ? met : missed).insert(rule.name);
      break;
    }
  }
  EXPECT_GT(missed.size(), idiom_count() / 2);
  EXPECT_GT(met.size(), idiom_count() * 3 / 4);
}

// What a row chooses of few alternatives: each comes once before any comes again, in each place in an order of its own.
TEST(Grow, AlternativesOfARowComeInTurn) {
  RandomChooser random(3);
  std::set<std::vector<uint64_t>> orders;
  for (const uint64_t n : {2, 3, 8})
    for (uint64_t key = 0; key < 10; ++key) {
      std::vector<std::set<uint64_t>> met(2);
      std::vector<uint64_t> order;
      for (uint64_t visit = 0; visit < n; ++visit) {
        StratifiedChooser choose(random, {key, visit});
        for (auto& place : met) place.insert(choose.below(n));
        order.push_back(StratifiedChooser(random, {key, visit}).below(n));
      }
      for (const auto& place : met) EXPECT_EQ(place.size(), n);
      orders.insert(order);
    }
  EXPECT_GT(orders.size(), 12u);
}

// An input that is written, and seen in other places than it lies at: what moves past the write meets it.
TEST(Grow, ReadsAndWritesOneMemoryInSeveralPlaces) {
  size_t met = 0;
  for (uint64_t i = 0; i < 2400; ++i) {
    Case c = draw_case(4, i, pool());
    const Graph& g = *c.graph;
    std::map<ValueId, std::set<const Type*>> looks;
    for (ValueId v = 0; v < g.value_count(); ++v)
      if (g.type(v).is_tensor()) looks[g.storage(v)].insert(&g.type(v));
    met += std::ranges::any_of(g.inputs(),
                               [&](const Input& input) { return input.mutated && looks[input.value].size() > 2; });
  }
  EXPECT_GT(met, 35u);
}

// rand, rand, bernoulli of the first: what changes places with the draw between them draws something else.
TEST(Grow, DrawsReadWhatAnotherDrewBeforeTheLast) {
  int found = 0;
  for (uint64_t i = 0; i < 3000; ++i) {
    const Case c = draw_case(29, i, pool());
    std::vector<NodeId> draws;
    c.graph->for_each_node([&](NodeId id) {
      const Node& node = c.graph->node(id);
      if (!node.op->has(Trait::random)) return;
      const bool reads =
          draws.size() > 1 && std::ranges::any_of(std::span(draws).first(draws.size() - 1), [&](NodeId by) {
            return std::ranges::any_of(node.arguments(), [&](const Arg& a) {
              return a.is_value() && c.graph->value(a.value()).producer == by;
            });
          });
      found += reads;
      draws.push_back(id);
    });
  }
  EXPECT_GT(found, 5);
}

TEST(Grow, NumbersOfTheRunDecideAndAreHuge) {
  std::set<std::string> huge;  // ops that are given one
  int numbers = 0;
  for (uint64_t i = 0; i < 4000; ++i) {
    const Case c = draw_case(31, i, pool());
    c.graph->for_each_node([&](NodeId id) {
      for (const Arg& a : c.graph->node(id).arguments()) {
        if (!a.is_value() || c.graph->type(a.value()).kind != TypeKind::sym_float) continue;
        ++numbers;
        const NodeId item = c.graph->value(a.value()).producer;
        if (item == kNone || !c.graph->node(item).args[0].is_value()) continue;
        const NodeId full = c.graph->value(c.graph->node(item).args[0].value()).producer;
        if (full == kNone || c.graph->node(full).op->full_name != "aten.full") continue;
        if (std::abs(c.graph->node(full).args[1].real()) > 60000) huge.insert(c.graph->node(id).op->full_name);
      }
    });
  }
  EXPECT_GT(numbers, 50);
  EXPECT_GT(huge.size(), 20u);
}

TEST(Setting, ReadsWhatItWrites) {
  Setting s{
      .values = oracle::Values::special, .seed = 77, .sizes = "s0=4,s1=2", .passes = "-dead_code", .target = "avx2"};
  const Setting again = Setting::parse(s.text());
  EXPECT_EQ(again.text(), s.text());
  for (const char* bad :
       {"passes=-no_such_pass", "values=strange", "seed=-1", "seed=", "seed=99999999999999999999", "what=1", "values"})
    EXPECT_THROW(Setting::parse(bad), UserError) << bad;
}

}  // namespace
}  // namespace lenz::fuzz
