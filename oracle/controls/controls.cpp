#include "oracle/controls/controls.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "compiler/base/hash.h"
#include "compiler/graph/text.h"
#include "oracle/controls/extremes.h"
#include "oracle/controls/search.h"
#include "oracle/controls/survivor.h"
#include "oracle/controls/variant.h"

namespace lenz::oracle::controls {

namespace {

constexpr Dtype kDtypes[] = {Dtype::f32, Dtype::bf16, Dtype::f16, Dtype::f64};

Dtype dtype_of(uint64_t index) { return kDtypes[index % std::size(kDtypes)]; }
uint64_t seed_of(uint64_t seed, uint64_t index, uint64_t what) { return mix(combine(mix(combine(seed, index)), what)); }

bool same_bits(const Elements& a, const Elements& b) {
  return std::ranges::equal(a, b, [](double x, double y) {
    return std::bit_cast<uint64_t>(x) == std::bit_cast<uint64_t>(y) || (std::isnan(x) && std::isnan(y));
  });
}

std::optional<Dtype> first_float(const Graph& graph) {
  for (const Input& i : graph.inputs())
    if (const Type& t = graph.type(i.value); t.is_tensor() && is_floating(t.dtype)) return t.dtype;
  return std::nullopt;
}

class Batch {
 public:
  Batch(const ControlsOptions& options, Boxed& boxed) : options_(options), boxed_(boxed) {}

  void graph(uint64_t index) {
    dtype_ = options_.given ? first_float(*options_.given).value() : dtype_of(index);
    DtypeTally& tally = tally_.dtypes[std::string(lenz::name(dtype_))];
    std::optional<Subject> made;
    try {
      made = Subject::make(options_.given ? with_initial_values(*options_.given, seed_of(options_.seed, index, 0))
                                          : control_graph(options_.seed, index),
                           boxed_, Others::refused, options_.as_eager ? Widening::bounds_of_eager : Widening::bounds);
    } catch (const Unsupported& error) {
      ++tally_.unsupported[error.what()];
      return;
    }
    if (!made) {
      ++tally.refused;
      return;
    }
    Subject& s = *made;
    ++tally.graphs;
    tally.nodes += s.graph(Scope::outputs).node_count();
    judge_eager(s, tally, index);
    for (int v = 0; v < options_.variants; ++v) legal(s, tally, index, static_cast<uint64_t>(v));
    if (options_.mutants) {
      const std::vector<Elements> worst = reach_at_random(s, options_.reach, seed_of(options_.seed, index, 1000));
      tightness(s, tally, worst);
      const std::vector<Elements> utmost = extremes(s, tally, index, worst);
      for (int m = 0; m < kMutants; ++m) mutant(s, tally, static_cast<Mutant>(m), index, worst, utmost);
    }
  }

  Tally take() { return std::move(tally_); }

 private:
  bool asked(int criterion) const {
    return criterion == 0 || (options_.criteria && applies(static_cast<Criterion>(criterion), dtype_));
  }

  void judge_eager(Subject& s, DtypeTally& tally, uint64_t index) {
    const Judgement j = s.judge_eager();
    tally.elements += j.shares.elements;
    tally.strong += j.shares.strong;
    tally.ambiguous += j.shares.ambiguous;
    tally.weak += j.shares.weak() ? 1 : 0;
    if (!j.mismatch) return;
    ++tally.eager_alarms;
    keep_alarm(s, index, "eager", 0, *j.mismatch, {});
  }

  void legal(Subject& s, DtypeTally& tally, uint64_t index, uint64_t variant) {
    const uint64_t seed = seed_of(options_.seed, index, variant + 1);
    std::optional<Mutation> fault;
    if (options_.fault) {
      const std::vector<const Step*> places = sites(s.plan(), *options_.fault);
      if (!places.empty()) fault = mutate(*places[seed % places.size()], *options_.fault, seed / 64);
    }
    const VariantOptions how{.mutation = fault ? &*fault : nullptr, .by_definition = fault.has_value()};
    RandomChooser random(seed);
    RecordingChooser choose(random);
    const std::vector<Elements> got = run_variant(s.plan(), choose, how);
    ++tally.runs;
    bool wrong = false;
    for (int scope = kScopes; scope-- > 0;)
      for (int c = 0; c < kCriteria; ++c) {
        // The outputs are among the results that our judge has looked at element by element.
        const bool silent = c == 0 && scope == 0 && !wrong;
        if (silent || !asked(c) || !s.alarmed(static_cast<Criterion>(c), got, static_cast<Scope>(scope))) continue;
        ++tally.alarms[scope][c];
        wrong = wrong || c == 0;
      }
    if (!wrong && s.judge_as_written(got).mismatch) ++tally.alarms[0][0], wrong = true;
    if (wrong && kept_[1] < kAlarmsKept) explain(s, index, variant, how, choose.record());
  }

  // Choices are made plain one by one as long as the alarm stays.
  void explain(Subject& s, uint64_t index, uint64_t variant, VariantOptions how, std::vector<uint64_t> record) {
    auto alarm = [&](const std::vector<uint64_t>& choices) {
      ReplayChooser replay(choices);
      const std::vector<Elements> got = run_variant(s.plan(), replay, how);
      auto found = s.judge_elements(got, Scope::every_result).mismatch;
      if (!found) found = s.judge_elements(got, Scope::outputs).mismatch;
      return found ? found : s.judge_as_written(got).mismatch;
    };
    for (uint64_t& choice : record) {
      const uint64_t before = std::exchange(choice, 0);
      if (before != 0 && !alarm(record)) choice = before;
    }
    std::vector<std::string> said;
    how.said = &said;
    const std::optional<Mismatch> mismatch = alarm(record);
    if (mismatch) keep_alarm(s, index, "a legal variant", variant, *mismatch, std::move(said));
  }

  void keep_alarm(const Subject& s, uint64_t index, std::string by, uint64_t variant, const Mismatch& mismatch,
                  std::vector<std::string> choices) {
    if (kept_[by != "eager"]++ >= kAlarmsKept) return;
    Alarm a;
    a.dtype = lenz::name(dtype_);
    a.by = std::move(by);
    a.summary = mismatch.summary();
    a.text = print(s.graph(Scope::every_result));
    a.index = index;
    a.variant = variant;
    a.choices = std::move(choices);
    tally_.alarms.push_back(std::move(a));
  }

  // What elements attain where each has choices of its own: beside what is reached, and judged as any legal result.
  std::vector<Elements> extremes(Subject& s, DtypeTally& tally, uint64_t index, const std::vector<Elements>& worst) {
    std::vector<Elements> utmost = worst;
    const Extremes found = find_extremes(s.plan());
    for (const std::vector<Elements>* got : {&found.least, &found.greatest}) {
      raise_to(utmost, s.exact(), *got);
      ++tally.extremes;
      Judgement j = s.judge_elements(*got, Scope::every_result);
      if (!j.mismatch) j = s.judge_as_written(*got);
      if (!j.mismatch) continue;
      ++tally.extreme_alarms;
      keep_alarm(s, index, "a legal variant", 0, *j.mismatch, {"each element as far as it gets"});
    }
    return utmost;
  }

  // How far from what is reached the bounds are: of whole tensors, for the share is the same thing in every element.
  void tightness(Subject& s, DtypeTally& tally, const std::vector<Elements>& worst) {
    const uint64_t length = std::max<uint64_t>(std::bit_ceil(s.plan().longest), 32);
    const Graph& graph = s.graph(Scope::every_result);
    std::vector<bool> bounded(graph.value_count(), true);
    size_t i = 0;
    graph.for_each_node([&](NodeId id) {
      const Node& node = graph.node(id);
      bool operands = true;
      for (const Arg& a : node.arguments()) for_each_value(a, [&](ValueId v) { operands = operands && bounded[v]; });
      for (uint16_t r = 0; r < node.result_count; ++r) {
        if (!graph.type(node.result(r)).is_tensor()) continue;
        OpTally& op = tally.ops[node.op->full_name];
        uint64_t open = 0;
        for (size_t k = 0; k < worst[i].size(); ++k) {
          const double error = s.errors()[i][k];
          open += std::isinf(error) ? 1 : 0;
          op.strong += error <= 0x1p-6 * std::fabs(s.exact()[i][k]) ? 1 : 0;
        }
        bounded[node.result(r)] = open == 0;
        ++op.tensors;
        op.elements += worst[i].size();
        op.open += operands ? open : 0;
        const double ratio = s.bound_over(worst[i], i);
        ++i;
        if (ratio == 0) continue;
        tally.tightness[length].add(ratio);
        if (length <= 32) op.tightness.add(ratio);
      }
    });
  }

  void mutant(Subject& s, DtypeTally& tally, Mutant kind, uint64_t index, const std::vector<Elements>& worst,
              const std::vector<Elements>& utmost) {
    const std::vector<const Step*> places = sites(s.plan(), kind);
    if (places.empty()) return;
    const uint64_t seed = seed_of(options_.seed, index, 2000 + static_cast<uint64_t>(kind));
    const Mutation mutation = mutate(*places[seed % places.size()], kind, seed / 64);
    RandomChooser one(seed), two(seed);
    const std::vector<Elements> good = run_variant(s.plan(), one, {.by_definition = true});
    const std::vector<Elements> bad = run_variant(s.plan(), two, {.mutation = &mutation, .by_definition = true});
    const std::string called(name(kind));
    for (int i = 0; i < kScopes; ++i) {
      const auto scope = static_cast<Scope>(i);
      bool identical = true;
      for (size_t k = 0; k < good.size(); ++k)
        identical = identical && (!s.in_scope(k, scope) || same_bits(good[k], bad[k]));
      if (identical) continue;
      MutantTally& t = tally.mutants[i][called];
      ++t.made;
      bool killed = false;
      for (int c = 0; c < kCriteria; ++c) {
        if (!asked(c)) continue;
        const bool caught = s.alarmed(static_cast<Criterion>(c), bad, scope);
        t.killed[c] += caught ? 1 : 0;
        killed = killed || (c == 0 && caught);
      }
      if (killed || scope != Scope::every_result) continue;
      std::vector<Elements> at_random = worst, farthest = utmost;  // and as it is without the fault
      raise_to(at_random, s.exact(), good);
      raise_to(farthest, s.exact(), good);
      survivor(s, tally.survivors[called], bad, at_random, farthest, seed, index, called);
    }
  }

  void survivor(const Subject& s, SurvivorTally& t, const std::vector<Elements>& bad,
                const std::vector<Elements>& at_random, const std::vector<Elements>& utmost, uint64_t seed,
                uint64_t index, const std::string& mutant) {
    const Survivor found = look_at(s, boxed_, bad, at_random, utmost, options_.efforts, seed);
    ++t.counts[static_cast<int>(found.standing)];
    if (!unreached(found.standing)) return;
    if (found.standing == Standing::beyond) t.beyond.add(found.factor);
    Unreached b;
    b.standing = found.standing;
    b.dtype = lenz::name(dtype_);
    b.mutant = mutant;
    b.op = s.op_of(found.result);
    b.text = print(s.graph(Scope::every_result));
    b.index = index;
    b.result = found.result, b.element = found.element;
    b.factor = found.factor;
    b.expected = s.exact()[b.result][b.element];
    b.got = bad[b.result][b.element];
    b.bound = s.errors()[b.result][b.element];
    b.reached = found.reached;
    tally_.unreached.push_back(std::move(b));
  }

  const ControlsOptions& options_;
  Boxed& boxed_;
  Tally tally_;
  Dtype dtype_ = Dtype::f32;  // of the graph at hand
  size_t kept_[2] = {};       // alarms of eager, of legal variants
};

}  // namespace

void require_controllable(const Graph& graph) {
  const std::string where = graph.spelled_name();
  if (!first_float(graph)) throw UserError("controls want an input of floats, which can be computed otherwise", where);
  for (const Input& i : graph.inputs()) {
    const Type& t = graph.type(i.value);
    if (!t.is_tensor() || !std::ranges::all_of(t.sizes(), [](Dim d) { return d.is_constant(); }))
      throw UserError(
          "controls want tensors of constant sizes: " + graph.value_name(i.value) + " is " + lenz::to_string(t), where,
          "write numbers in place of its symbols");
    if (i.mutated || i.alias)
      throw UserError(
          "controls want inputs that nobody writes to and that share no memory: " + graph.value_name(i.value), where);
  }
  for (const Arg& a : graph.outputs())
    if (!a.is_value() || !graph.type(a.value()).is_tensor() || graph.value(a.value()).producer == kNone)
      throw UserError("controls want outputs that are tensors which nodes make", where);
}

std::unique_ptr<Graph> control_graph(uint64_t seed, uint64_t index) {
  RandomChooser choose(seed_of(seed, index, 0));
  return make_graph(choose, {.dtype = dtype_of(index)});
}

Tally run_batch(const ControlsOptions& options, uint64_t first, uint64_t count, Boxed& boxed,
                const std::function<void()>& alive) {
  Batch batch(options, boxed);
  for (uint64_t i = first; i < first + count; ++i) {
    batch.graph(i);
    if (alive) alive();
  }
  return batch.take();
}

}  // namespace lenz::oracle::controls
