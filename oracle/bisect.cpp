#include "oracle/bisect.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "compiler/driver/program_set.h"
#include "compiler/graph/diff.h"
#include "compiler/graph/text.h"
#include "compiler/graph/verify.h"
#include "compiler/loops/text.h"
#include "compiler/lower/lower.h"
#include "compiler/passes/runner.h"
#include "oracle/rewritten.h"

namespace lenz::oracle {

namespace {
constexpr size_t kAll = 1'000'000'000;
using Lines = std::span<const PipelineLine>;

PassSelection first_rewrites(size_t count, Lines lines) {
  return PassSelection::parse("all:" + std::to_string(count), lines);
}

// What each line did, as far as the run came: it ends at the first graph that is not valid.
struct Steps {
  std::vector<PassRun> runs;
  std::vector<std::unique_ptr<Graph>> after;  // those that are valid
  std::string diff;                           // what the last line did, or the first that did more than another time
};

class Bisection {
 public:
  Bisection(Trial& trial, Lines lines, size_t exact, std::span<const KnownFault> known)
      : trial_(trial), rewritten_(trial, known), lines_(lines), exact_(exact) {}

  std::optional<Culprit> run() {
    if (auto found = among_rewrites(lines_.first(exact_), 0, true)) return found;
    if (exact_ < lines_.size()) {
      size_t from = count(lines_.first(exact_));
      if (auto mismatch = trial_.eager_out_of_bounds(trial_.expected())) return among_definitions(from, *mismatch);
      if (auto found = among_rewrites(lines_, from, false)) return found;
    }
    return among_nodes();
  }

 private:
  // --- rewrites

  std::unique_ptr<Graph> passed(Lines lines, size_t rewrites) const {
    RunnerOptions options = checked_options();
    options.selection = first_rewrites(rewrites, lines_);
    return passed_for(trial_.graph(), trial_.binding().lookup(), lines, options);
  }

  std::optional<Mismatch> differs(Lines lines, size_t rewrites, bool exact) {
    try {
      auto graph = passed(lines, rewrites);
      const Execution got = trial_.eager(*graph);
      return exact ? rewritten_.differs(*graph, got) : rewritten_.out_of_bounds(*graph, got);
    } catch (const InternalError& error) {
      return broken(error);
    }
  }

  Steps steps(Lines lines, size_t rewrites, const Steps* with_less = nullptr) const {
    Steps made;
    auto graph = trial_.graph().clone();
    RunnerOptions options;
    options.selection = first_rewrites(rewrites, lines_);
    options.verify = options.check_text = false;
    options.on_pass = [&](const PassRun& run, const Graph& before, const Graph& after) {
      size_t at = made.runs.size();
      made.runs.push_back(run);
      if (!with_less)
        made.diff = diff(before, after);
      else if (made.diff.empty() && run.allowed != with_less->runs[at].allowed)
        made.diff = diff(*with_less->after[at], after);
      LENZ_CHECK(verify(after).empty(), "a graph that is not valid can't go on");
      made.after.push_back(after.clone());
    };
    try {
      run_passes(*graph, lines, options);
    } catch (const InternalError&) {  // the line behind those that are noted, or the last of them
    }
    return made;
  }

  // How many rewrites there are; where a pass dies of them, more than there are.
  size_t count(Lines lines) const {
    Steps all = steps(lines, kAll);
    if (all.runs.size() < lines.size()) return kAll;
    size_t sum = 0;
    for (const PassRun& run : all.runs) sum += run.allowed;
    return sum;
  }

  std::optional<Culprit> among_rewrites(Lines lines, size_t from, bool exact) {
    size_t good = from, bad = count(lines);
    if (auto mismatch = differs(lines, good, exact)) return unasked(lines, from, exact);
    auto worst = differs(lines, bad, exact);
    if (!worst) return std::nullopt;
    while (bad - good > 1) {
      size_t middle = good + (bad - good) / 2;
      if (auto mismatch = differs(lines, middle, exact)) {
        bad = middle;
        worst = mismatch;
      } else {
        good = middle;
      }
    }
    return named(lines, bad, *worst);
  }

  Culprit named(Lines lines, size_t rewrites, const Mismatch& mismatch) const {
    Culprit c;
    c.mismatch = mismatch;
    c.selection = "all:" + std::to_string(rewrites);
    Steps without = steps(lines, rewrites - 1), with = steps(lines, rewrites, &without);
    size_t at = 0;
    while (at < with.runs.size() && with.runs[at].allowed == without.runs[at].allowed) ++at;
    LENZ_CHECK(at < lines.size(), "no pass has this rewrite");
    c.line = at + 1;
    c.step = lines[at].pass.name;
    c.occurrence = 1;
    for (const PassRun& run : without.runs)
      if (run.pass == c.step) c.occurrence += run.allowed;
    c.within = without.runs[at].first_denied.within;
    if (at == with.runs.size()) {  // it dies of it
      c.what = without.runs[at].first_denied.what;
      return c;
    }
    for (const auto& [what, times] : with.runs[at].counters) {
      auto before = without.runs[at].counters.find(what);
      bool more = before == without.runs[at].counters.end() || before->second < times;
      if (more && !what.starts_with("refused")) c.what += (c.what.empty() ? "" : ", ") + what;
    }
    c.diff = with.diff;
    return c;
  }

  // Where eager itself disagrees with the reference, which takes an op for its definition: the rewrite that puts that
  // in the op's place is the first with which they agree.
  std::optional<Culprit> among_definitions(size_t from, const Mismatch& mismatch) {
    size_t off = from, agreed = count(lines_);
    if (differs(lines_, agreed, false)) return std::nullopt;
    while (agreed - off > 1) {
      size_t middle = off + (agreed - off) / 2;
      (differs(lines_, middle, false) ? off : agreed) = middle;
    }
    return named(lines_, agreed, mismatch);
  }

  // What a pass does without asking, of the rewrites that are allowed.
  std::optional<Culprit> unasked(Lines lines, size_t rewrites, bool exact) {
    for (size_t i = 0; i < lines.size(); ++i) {
      auto mismatch = differs(lines.first(i + 1), rewrites, exact);
      if (!mismatch) continue;
      Culprit c;
      c.mismatch = *mismatch;
      c.step = lines[i].pass.name;
      c.line = i + 1;
      c.selection = "all:" + std::to_string(rewrites);
      Steps all = steps(lines.first(i + 1), rewrites);
      if (all.runs.size() == i + 1) c.diff = all.diff;
      return c;
    }
    return std::nullopt;
  }

  // --- nodes

  std::optional<Culprit> among_nodes() {
    std::unique_ptr<Graph> core = passed(lines_, kAll);
    if (core->level != Level::core) return std::nullopt;
    core_ = core->clone();  // ids in order
    bool drawn = draws(*core_);
    // Nothing where the first nodes can't be lowered alone: a value that can't be shown.
    auto lowered = [&](size_t nodes) -> std::optional<std::optional<Mismatch>> {
      try {
        return trial_.out_of_bounds(trial_.on_loops_up_to(*core_, nodes), {.drawn = drawn});
      } catch (const InternalError& error) {
        return broken(error);
      } catch (const Unsupported&) {
        return std::nullopt;
      }
    };
    size_t good = 0, bad = core_->node_count();
    auto worst = lowered(bad);
    if (!worst || !*worst) return std::nullopt;
    while (bad - good > 1) {
      size_t middle = good + (bad - good) / 2, at = middle;
      auto found = lowered(at);
      while (!found && ++at < bad) found = lowered(at);
      for (at = found ? at : middle; !found && --at > good;) found = lowered(at);
      if (!found) break;  // one of these nodes: they are lowered together
      (*found ? bad : good) = at;
      if (*found) worst = found;
    }
    return lowered_wrong(good, bad, **worst);
  }

  Culprit lowered_wrong(size_t good, size_t bad, const Mismatch& mismatch) const {
    Culprit c;
    c.kind = Culprit::lowering;
    c.mismatch = mismatch;
    GraphText text(*core_);
    size_t position = 0;
    core_->for_each_node([&](NodeId id) {
      ++position;
      if (position <= good || position > bad) return;
      const Node& node = core_->node(id);
      c.step += (c.step.empty() ? "" : ", ") + node.op->full_name;
      c.node += (c.node.empty() ? "" : "\n") + text.node(id);
      for (NameId name : core_->context().origin_names(node.origin)) c.origin.emplace_back(core_->context().name(name));
      if (bad - good == 1) show_alone(c, id);
    });
    return c;
  }

  // The node as a graph of its own, if it can be one.
  void show_alone(Culprit& c, NodeId id) const {
    std::unique_ptr<Graph> alone = core_->clone();
    SmallVec<ValueId, 8> operands;
    for (const Arg& a : alone->node(id).arguments())
      for_each_value(a, [&](ValueId v) {
        if (alone->value(v).producer != kNone && std::ranges::find(operands, v) == operands.end())
          operands.push_back(v);
      });
    for (ValueId v : operands) {
      std::string name = alone->value_name(v).substr(1);
      if (name[0] == '#') name = "v" + name.substr(1);
      alone->set_name(v, kNone);
      alone->replace_uses(v, alone->add_input(name, &alone->type(v)));
    }
    SmallVec<Arg, 4> outputs;
    for (uint16_t i = 0; i < alone->node(id).result_count; ++i)
      outputs.push_back(Arg::of_value(alone->node(id).result(i)));
    alone->set_outputs(outputs);
    const Node& node = alone->node(id);
    for (size_t i = 0; i < node.arg_count; ++i)
      if (node.op->schema.params[i].writes)
        for_each_value(node.args[i], [&](ValueId v) {
          if (const Value& value = alone->value(v); value.producer == kNone) alone->input(value.index).mutated = true;
        });
    std::vector<NodeId> others;
    alone->for_each_node([&](NodeId other) {
      if (other != id) others.push_back(other);
    });
    alone->erase_all(others);
    for (size_t i = alone->inputs().size(); i-- > 0;)
      if (alone->value(alone->inputs()[i].value).users.empty()) alone->remove_input(i);
    if (!verify(*alone).empty()) return;
    c.graph = print(*alone);
    try {
      loops::Program program = lower_graph(*alone);
      loops::for_each_node(program.body, [&](const loops::Node& node) {
        if (const auto* nest = std::get_if<loops::Nest>(&node.is)) c.nests.push_back(nest->name);
      });
      c.loops = loops::print(program);
    } catch (const Error&) {  // said by the mismatch, or what it takes to lower it is more than the node
    }
  }

  Trial& trial_;
  Rewritten rewritten_;
  Lines lines_;
  size_t exact_;
  std::unique_ptr<Graph> core_;
};

std::string indented(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    size_t end = std::min(text.find('\n'), text.size());
    out += "    " + std::string(text.substr(0, end)) + "\n";
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}
}  // namespace

Mismatch broken(const InternalError& error) {
  Mismatch m;
  m.rung = Rung::ending;
  m.what = "the compiler";
  m.expected = "finished";
  m.got = error.what();
  return m;
}

std::optional<Culprit> bisect(Trial& trial, std::span<const PipelineLine> lines, size_t exact,
                              std::span<const KnownFault> known) {
  return Bisection(trial, lines, exact, known).run();
}

nlohmann::json Culprit::to_json() const {
  nlohmann::json j = {
      {"kind", kind == rewrite ? "rewrite" : "lowering"}, {"step", step}, {"mismatch", mismatch.to_json()}};
  if (kind == rewrite)
    j.update({{"line", line},
              {"occurrence", occurrence},
              {"within", within},
              {"what", what},
              {"selection", selection},
              {"diff", diff}});
  else
    j.update({{"node", node}, {"origin", origin}, {"nests", nests}, {"graph", graph}, {"loops", loops}});
  return j;
}

std::string Culprit::text() const {
  std::string out;
  if (kind == rewrite) {
    out = occurrence ? "rewrite " + std::to_string(occurrence) + " of pass " + step : "pass " + step + ", unasked";
    out += " (line " + std::to_string(line) + " of the pipeline)" + (within.empty() ? "" : ", in its " + within) +
           (what.empty() ? "" : ": " + what) + "\n";
    out += "  " + mismatch.summary() + "\n" + indented(diff);
    out += "  the last rewrite of: lenz opt --select " + selection + "\n";
    return out;
  }
  out = "the loops of " + step + "\n" + indented(node);
  for (size_t i = 0; i < origin.size(); ++i) out += (i ? ", %" : "  from %") + origin[i];
  if (!origin.empty()) out += "\n";
  return out + "  " + mismatch.summary() + "\n" + indented(graph) + indented(loops);
}

}  // namespace lenz::oracle
