#include "oracle/judge_results.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "compiler/graph/alias.h"
#include "compiler/graph/rebuild.h"
#include "oracle/decisions.h"
#include "oracle/known_faults.h"
#include "oracle/likeness.h"
#include "oracle/needless.h"
#include "oracle/random_machine.h"
#include "oracle/tensors.h"
#include "oracle/trial.h"
#include "oracle/values_file.h"

namespace lenz::oracle {

namespace {
ResultsVerdict not_covered(ResultsVerdict verdict, std::string why) {
  verdict.code = ExitCode::not_covered;
  verdict.why = std::move(why);
  return verdict;
}

std::vector<RunValue> copies_of(Boxed& boxed, const Graph& graph, Binding& binding, const JudgeOptions& options) {
  if (!options.inputs.empty()) return read_inputs(options.inputs, graph, boxed, binding, options.seed, true);
  return draw_inputs(graph, boxed, binding, options.values, options.seed);
}

// The first node that writes to a tensor whose elements share places: what they are afterwards hangs on its order,
// which is nobody's promise.
std::optional<NodeId> write_in_some_order(const Graph& graph, const SymValues& sizes) {
  std::optional<NodeId> first;
  auto share_places = [&](ValueId v) {
    const Type& t = graph.type(v);
    if (!t.is_tensor()) return false;
    const LayoutClass layout = layout_of(t, sizes);
    return layout == LayoutClass::expanded || layout == LayoutClass::overlapping;
  };
  graph.for_each_node([&](NodeId id) {
    const Node& node = graph.node(id);
    for (size_t i = 0; !first && i < node.arguments().size(); ++i)
      if (writes_operand(*node.op, node.arguments(), i))
        for_each_value(node.arguments()[i], [&](ValueId v) {
          if (share_places(v)) first = id;
        });
  });
  return first;
}

}  // namespace

ResultsVerdict judge_results(const Graph& given, const JudgeOptions& options) {
  ResultsVerdict verdict;
  Boxed boxed(DeviceKind::cpu);
  Binding binding = parse_binding(options.bind, given);
  if (options.inputs.empty()) {
    complete(binding, given);
    check_facts(binding, given);
  }
  copies_of(boxed, given, binding, options);  // a file's sizes bind symbols
  if (options.inputs.empty()) {
    const std::string sizes = to_text(binding, given);
    verdict.drawn = "--seed " + std::to_string(options.seed) + " --values " + std::string(name(options.values)) +
                    (sizes.empty() ? "" : " --bind " + sizes);
  }
  const std::unique_ptr<Graph> other = specialised(given, binding.lookup());
  const Graph& graph = other ? *other : given;
  ExecuteOptions execute;
  execute.memory_limit = options.memory_limit;
  execute.ambient_seed = options.seed;
  execute.folder = options.folder;
  // Eager writes to its inputs: each run's are made anew.
  NeededRun run = run_needed(graph, execute, [&](const Graph& part, const ExecuteOptions& how) {
    const std::vector<RunValue> own = copies_of(boxed, graph, binding, options);
    LenzRandom stream(boxed, LenzRandom::Others::left_to_libtorch);
    return (options.draws == Draws::lenz ? Executor(stream, how) : Executor(boxed, how)).run(part, own, binding);
  });
  const Graph& needed = run.left ? *run.left : graph;
  if (run.ended.ending == Ending::out_of_memory)
    return not_covered(verdict, "out of memory at " + run.ended.where + ": " + run.ended.text);

  std::vector<RunValue> fresh = copies_of(boxed, graph, binding, options);
  Untold untold;
  Execution got = read_results(options.results, graph, boxed, run.ended, fresh, untold);
  Execution& expected = run.refusal && got.ending == Ending::raised ? *run.refusal : run.ended;
  // Which integer it is, the reference knows better than eager.
  for (size_t i = 0; i < got.outputs.size(); ++i)
    if (look(expected.outputs[i]).kind == TypeKind::sym_int && look(got.outputs[i]).kind == TypeKind::sym_int)
      expected.outputs[i] = got.outputs[i];
  if (!expected.printed.empty() && got.ending == Ending::finished) {
    untold.prints = true;
    got.printed = expected.printed;
  }
  verdict.untold = untold.each();
  verdict.untold_together = untold.together();
  verdict.mismatch = compare_outside(graph, expected, got);
  // Where it was assumed who shares memory, an element that is wrong says more than that they do not.
  const bool by_elements = verdict.mismatch && verdict.mismatch->rung == Rung::aliasing && untold.contradicted;
  // Sizes that only the run knows may hang on what is open.
  const bool by_sizes = verdict.mismatch && verdict.mismatch->rung == Rung::metadata;
  if (verdict.mismatch) verdict.code = ExitCode::wrong;
  if (verdict.mismatch && !by_elements && !by_sizes) return verdict;
  verdict.refused = expected.ending == Ending::raised;
  if (verdict.refused) return verdict;

  fresh = copies_of(boxed, graph, binding, options);
  // Inputs drawn for it keep every operation exact: nothing but these values is right. Else anybody, libtorch too, may
  // have computed it.
  const bool exact = options.inputs.empty() && options.values == Values::exact;
  verdict.exact = exact;
  Reference reference =
      Referee(boxed, execute, exact ? Widening::values_only : Widening::bounds_of_eager, options.draws)
          .run(needed, fresh, binding);
  if (reference.ending != Ending::finished && (by_elements || by_sizes)) return verdict;
  if (reference.ending != Ending::finished)
    return not_covered(verdict, std::string("the float64 reference ") +
                                    (reference.ending == Ending::out_of_memory ? "ran out of memory" : "ended") +
                                    " at " + reference.where + ": " + reference.text);
  if (by_sizes) {
    if (!reference.sizes_open) return verdict;
    verdict.mismatch = compare_outside(graph, expected, got, &binding);
    if (verdict.mismatch) return verdict;
    verdict.code = ExitCode::fine;
  }
  verdict.unbounded = reference.unbounded;
  for (size_t i : untold.outputs) reference.outputs[i] = {};
  Judgement judgement = judge(graph, reference, got);
  // What bounds leave open is still no further off than rounding noise takes it: of values that are not special, where
  // no decision may fall otherwise.
  const bool by_noise = judgement.shares.weak() && !judgement.mismatch && !verdict.mismatch && !exact &&
                        options.values == Values::ordinary && !draws(needed) && !decides_by_floats(needed);
  if (by_noise) {
    std::vector<Reference> noisy;
    for (uint64_t noise = 0; noise < kNoisyRuns; ++noise)
      noisy.push_back(Referee(boxed, execute, Widening::values_only, options.draws, noise)
                          .run(needed, copies_of(boxed, graph, binding, options), binding));
    verdict.mismatch = unlike(needed, reference, noisy, run.ended, got, Whose::others);
    verdict.alike = !verdict.mismatch;
  }
  verdict.shares = judgement.shares;
  if (judgement.mismatch || verdict.mismatch)
    if (const auto node = write_in_some_order(needed, binding.lookup())) {
      verdict.mismatch.reset();
      return not_covered(verdict, "elements hang on the order of a write to a tensor whose elements share places: " +
                                      needed.node(*node).op->full_name);
    }
  // Where eager is known to be off, and is, its own elements are known for it. What lies no further off may be those of
  // its kernels on another machine, or wrong: nobody can tell.
  if (judgement.mismatch) {
    auto leeway = [&](const Leeway& by, const Execution& of) {
      return within(by, needed, reference, copies_of(boxed, graph, binding, options), run.ended, of);
    };
    bool by_leeway = false;  // kernels round otherwise on another machine
    const KnownFault* known = verdict.mismatch || !judge(needed, reference, run.ended).mismatch
                                  ? nullptr  // another op of eager's may be known for much, and is not off here
                                  : known_in(known_faults(), graph, binding.lookup(),
                                             [&](const Leeway& by) { return by_leeway = leeway(by, run.ended); });
    const bool own =
        known && (!compare_runs(graph, expected, got) || within_or_same(needed, reference, run.ended, got));
    if (own)
      verdict.known = known->row + " " + known->why;
    else if (by_leeway && leeway({.as_eager = true}, got))
      return not_covered(verdict, "no further off than a few times what eager is here, and is known for: " +
                                      known->row + " " + known->why);
    else
      verdict.mismatch = judgement.mismatch;
  }
  // Bounds that were widened for what eager's own kernels give hold whatever lies between: where they alone do, eager's
  // elements are right.
  if (!judgement.mismatch && !verdict.mismatch && !reference.excused.empty()) {
    Reference strict = Referee(boxed, execute, Widening::bounds, options.draws)
                           .run(needed, copies_of(boxed, graph, binding, options), binding);
    for (size_t i : untold.outputs) strict.outputs[i] = {};
    if (strict.ending == Ending::finished && judge(needed, strict, got).mismatch) {
      std::string rows;
      for (const std::string& row : reference.excused) rows += (rows.empty() ? "" : ", ") + row;
      rows += ": eager's own kernels are off by more than a right one may be";
      if (compare_runs(graph, expected, got)) return not_covered(verdict, "no further off than eager is; " + rows);
      verdict.known = rows;
    }
  }
  if (const KnownFault* open = verdict.mismatch && verdict.mismatch->rung >= Rung::special
                                   ? known_in(known_openings(), graph, binding.lookup(), {})
                                   : nullptr) {
    verdict.mismatch.reset();
    return not_covered(
        verdict, "others than eager's, where what was asked for leaves that open: " + open->row + " " + open->why);
  }
  if (verdict.mismatch) {
    verdict.code = ExitCode::wrong;
  } else if (untold.outputs.size() == reference.outputs.size() && !untold.outputs.empty()) {
    return not_covered(verdict, "the file says none of the results");
  } else if (verdict.shares.weak()) {
    std::string ops;
    for (const std::string& op : verdict.unbounded) ops += (ops.empty() ? "; nothing bounds " : ", ") + op;
    if (verdict.alike)
      ops += "; where both it and the reference are finite it lies no further off than 1024 times rounding noise";
    return not_covered(verdict, "weak: " + verdict.shares.to_string() + ops);
  }
  return verdict;
}

nlohmann::json ResultsVerdict::to_json() const {
  nlohmann::json j = {{"code", static_cast<int>(code)},
                      {"elements", shares.elements},
                      {"ambiguous", shares.ambiguous},
                      {"strong", shares.strong},
                      {"unbounded", unbounded},
                      {"untold", untold},
                      {"exact", exact}};
  if (!why.empty()) j["why"] = why;
  if (alike) j["alike"] = alike;
  if (!drawn.empty()) j["drawn"] = drawn;
  if (!error.empty()) j["error"] = error;
  if (!known.empty()) j["known"] = known;
  if (mismatch) j["mismatch"] = mismatch->to_json();
  return j;
}

}  // namespace lenz::oracle
