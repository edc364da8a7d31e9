#include "oracle/trial.h"

#include <algorithm>
#include <cstring>

#include "compiler/graph/drawing.h"
#include "compiler/loops/symbols.h"
#include "compiler/loops/verify.h"
#include "compiler/lower/lower.h"
#include "compiler/scalar/rounding.h"
#include "oracle/interpreted.h"
#include "oracle/likeness.h"
#include "oracle/needless.h"
#include "oracle/tensors.h"
#include "oracle/value_refusals.h"

namespace lenz::oracle {

namespace {
// The values that the first nodes make and that somebody needs afterwards.
std::vector<ValueId> alive_behind(const Graph& graph, std::span<const NodeId> first) {
  std::vector<bool> made(graph.value_count()), asked(graph.value_count());
  std::vector<bool> early(graph.node_capacity());
  for (NodeId id : first) {
    early[id] = true;
    for (uint16_t i = 0; i < graph.node(id).result_count; ++i) made[graph.node(id).result(i)] = true;
  }
  auto ask = [&](ValueId v) { asked[v] = true; };
  graph.for_each_node([&](NodeId id) {
    if (early[id]) return;
    for (const Arg& a : graph.node(id).arguments()) for_each_value(a, ask);
  });
  for (const Arg& a : graph.outputs()) for_each_value(a, ask);
  std::vector<ValueId> alive;
  for (ValueId v = 0; v < graph.value_count(); ++v)
    if (made[v] && asked[v]) alive.push_back(v);
  return alive;
}
}  // namespace

namespace {
size_t calls_that_draw(const Graph& graph) {
  size_t calls = 0;
  for (const auto& sub : graph.subgraphs) calls += calls_that_draw(*sub);
  graph.for_each_node([&](NodeId id) {
    const Node& node = graph.node(id);
    calls += draws_numbers(*node.op, node.arguments());
  });
  return calls;
}
}  // namespace

bool draws(const Graph& graph) { return calls_that_draw(graph) > 0; }

HowRun how_run(const loops::Program& program, bool products_outside) {
  HowRun how{.drawn = !program.streams.empty(), .by_host = products_outside};
  loops::for_each_node(program.body, [&](const loops::Node& node) {
    const auto* e = std::get_if<loops::Extern>(&node.is);
    if (!e) return;
    how.drawn_by_host += draws_numbers(*e->op, e->args);
    how.by_host |= e->op->accuracy != Accuracy::exact;
  });
  return how;
}

Trial::Trial(const Graph& graph, Boxed& boxed, const InputSource& inputs, Binding binding, ExecuteOptions options)
    : graph_(graph), boxed_(boxed), inputs_(inputs), binding_(std::move(binding)), options_(std::move(options)) {
  NeededRun run = run_needed(graph_, options_, [&](const Graph& part, const ExecuteOptions& how) {
    return Executor(boxed_, how).run(part, this->inputs(), binding_);
  });
  needed_ = std::move(run.left), expected_ = std::move(run.ended), refusal_ = std::move(run.refusal);
}

const Execution& Trial::as_ended(const Execution& got) const {
  return refusal_ && got.ending == Ending::raised ? *refusal_ : expected_;
}

bool Trial::lacks_memory(const Execution& got) {
  for (const Execution* run : std::initializer_list<const Execution*>{&expected_, &got}) {
    if (run->ending != Ending::out_of_memory) continue;
    out_of_memory = (run->where.empty() ? "" : run->where + ": ") + run->text;
    return true;
  }
  return false;
}

bool Trial::refuses_unasked(const Execution& got) {
  const Execution& expected = as_ended(got);
  if ((expected.ending == Ending::raised) == (got.ending == Ending::raised)) return false;
  std::string row = row_that_does_not_ask(graph_, expected.ending == Ending::raised ? expected.text : got.text);
  if (row.empty()) return false;
  unasked = std::move(row);
  return true;
}

std::optional<Mismatch> Trial::differs(const Execution& got) {
  if (lacks_memory(got) || refuses_unasked(got)) return std::nullopt;
  return compare_runs(graph_, as_ended(got), got);
}

bool Trial::same(const Execution& got) {
  return lacks_memory(got) || refuses_unasked(got) || same_runs(graph_, as_ended(got), got);
}

Execution Trial::eager(const Graph& other) const {
  // The given graph says which values its inputs have: that of a pass may read them in other ways.
  return Executor(boxed_, options_).run(other, inputs(), binding_);
}

Execution Trial::on_loops(const loops::Program& program, KernelRunner kernels) const {
  return run_interpreted(program, inputs(), boxed_, options_, nullptr, std::move(kernels));
}

Execution Trial::on_executable(runtime::Executable& executable) const {
  return run_native(executable, inputs(), boxed_, options_);
}

Execution Trial::on_loops_up_to(const Graph& core, size_t nodes) const {
  std::unique_ptr<Graph> dense = core.clone(), before = dense->clone(), behind = dense->clone();  // of the same ids
  std::vector<NodeId> early, late;
  dense->for_each_node([&](NodeId id) { (early.size() < nodes ? early : late).push_back(id); });
  std::vector<RunValue> given = inputs();

  std::vector<ValueId> alive = alive_behind(*dense, early);
  if (!late.empty()) {
    SmallVec<Arg, 8> outputs;
    for (ValueId v : alive) outputs.push_back(Arg::of_value(v));
    before->set_outputs(outputs);
    before->erase_all(late);
  }
  loops::Program program = lower_graph(*before);
  loops::require_linear_proofs(program, "the lowering");  // what else nothing proves the interpreter asks of each point
  Execution first = run_interpreted(program, given, boxed_, options_);
  if (late.empty() || first.ending != Ending::finished) return first;

  std::vector<RunValue> handed = given;
  for (size_t i = 0; i < alive.size(); ++i) {
    behind->replace_uses(alive[i], behind->add_input("alive" + std::to_string(i), &dense->type(alive[i])));
    handed.push_back(first.outputs[i]);
  }
  behind->erase_all(early);
  ExecuteOptions plain = options_;
  plain.guard = false;  // it would hand over copies of what shares memory with inputs
  Execution rest = Executor(boxed_, plain).run(*behind, handed, binding_);
  rest.inputs = std::move(given);
  return rest;
}

const Reference& Trial::reference(Widening widening, Draws draws) {
  // Where eager needed no excuse, the bounds are the same for all.
  if (widening == Widening::bounds) {
    const Reference& of_eager = reference(Widening::bounds_of_eager, draws);
    if (of_eager.excused.empty()) return of_eager;
  }
  const How how{widening, draws};
  if (const auto known = references_.find(how); known != references_.end()) return known->second;
  ExecuteOptions options = options_;
  options.guard = false;  // its machine knows tensors by their memory
  // What is Unsupported is so again whenever somebody asks.
  Reference made = Referee(boxed_, options, widening, draws).run(needed(), inputs(), binding_);
  return references_.emplace(how, std::move(made)).first->second;
}

std::optional<Judgement> Trial::judged(Widening widening, const Execution& got, Draws draws) {
  const Reference& right = reference(widening, draws);
  if (right.ending == Ending::out_of_memory) out_of_memory = right.where + ": " + right.text;
  if (right.ending != Ending::finished) return std::nullopt;
  return judge(needed(), right, got);
}

// A second time everything else is asked for at once: parts have nodes in common, and who differs so differs in much.
std::vector<const Trial::Part*> Trial::computed(How how, const Asked& asked) {
  auto& parts = parts_[how];
  Asked missing = asked, rest(asked.size(), true);
  for (const auto& part : parts)
    for (size_t i = 0; i < asked.size(); ++i)
      if (part->outputs[i]) missing[i] = rest[i] = false;
  if (any_asked(missing)) {
    const Asked& outputs = parts.empty() ? missing : rest;
    auto part = std::make_unique<Part>(outputs, part_for(needed(), outputs));
    ExecuteOptions options = options_;
    options.guard = false;  // its machine knows tensors by their memory
    part->right = Referee(boxed_, options, how.first, how.second).run(*part->graph, inputs(), binding_);
    parts.push_back(std::move(part));
  }
  std::vector<const Part*> with;
  for (const auto& part : parts) {
    bool any = false;
    for (size_t i = 0; i < asked.size(); ++i) any = any || (asked[i] && part->outputs[i]);
    if (any) with.push_back(part.get());
  }
  return with;
}

std::vector<const Trial::Part*> Trial::parts_with(Widening widening, Draws draws, const Asked& asked) {
  if (widening != Widening::bounds) return computed({widening, draws}, asked);
  std::vector<const Part*> with;
  Asked excused(asked.size());
  for (const Part* part : computed({Widening::bounds_of_eager, draws}, asked)) {
    if (part->right.excused.empty()) {
      with.push_back(part);
      continue;
    }
    for (size_t i = 0; i < asked.size(); ++i) excused[i] = excused[i] || (asked[i] && part->outputs[i]);
  }
  if (any_asked(excused))
    for (const Part* part : computed({widening, draws}, excused)) with.push_back(part);
  return with;
}

namespace {
// Whether all outputs that are asked for are among those of these parts.
template <class Parts>
bool cover(const Parts& parts, const Asked& asked) {
  Asked missing = asked;
  for (const auto& part : parts)
    for (size_t i = 0; i < asked.size(); ++i)
      if (part->outputs[i]) missing[i] = false;
  return !any_asked(missing);
}
}  // namespace

std::optional<Mismatch> Trial::worst_of(std::span<const Part* const> parts, const Execution& got) {
  std::optional<Mismatch> worst;
  for (const Part* part : parts) {
    if (part->right.ending == Ending::out_of_memory) out_of_memory = part->right.where + ": " + part->right.text;
    if (part->right.ending != Ending::finished) continue;
    auto mismatch = judge(*part->graph, part->right, got).mismatch;
    if (mismatch && (!worst || mismatch->rung < worst->rung)) worst = std::move(mismatch);
  }
  return worst;
}

std::optional<Mismatch> Trial::differs_beyond(Widening widening, const Execution& got, Draws draws) {
  // What Lenz's stream draws is no part of eager's run; and what is there for all of it serves for a part.
  const bool whole = draws == Draws::lenz || references_.contains({widening, draws}) ||
                     (widening == Widening::bounds && references_.contains({Widening::bounds_of_eager, draws}));
  if (whole) {
    auto judgement = judged(widening, got, draws);
    return judgement ? judgement->mismatch : std::nullopt;
  }
  const Asked asked = asked_where_different(as_ended(got), got);
  // The bounds that excuse nothing of eager's are narrower, and take less long: what lies within them is right.
  if (widening != Widening::values_only && !cover(parts_[{Widening::bounds_of_eager, draws}], asked)) {
    const std::vector<const Part*> strictest = computed({Widening::bounds, draws}, asked);
    const auto finished = [](const Part* p) { return p->right.ending == Ending::finished; };
    if (std::ranges::all_of(strictest, finished) && !worst_of(strictest, got)) return std::nullopt;
  }
  return worst_of(parts_with(widening, draws, asked), got);
}

namespace {
// Whether what is drawn may decide what is printed.
bool prints_by_choice(const Graph& graph, bool inside = false) {
  bool any = std::ranges::any_of(graph.subgraphs, [](const auto& sub) { return prints_by_choice(*sub, true); });
  graph.for_each_node([&](NodeId id) {
    any |= inside && graph.node(id).op->full_name == "lenz.print";  // op name: what prints
  });
  return any;
}

Execution without_lines(Execution e) {
  e.printed.clear();
  return e;
}
}  // namespace

// Of other draws sizes of data may be others too, and what is printed.
std::optional<Mismatch> Trial::differs_outside(const Execution& got) {
  if (lacks_memory(got)) return std::nullopt;
  const Execution& expected = as_ended(got);
  if (prints_by_choice(graph_)) return compare_outside(graph_, without_lines(expected), without_lines(got), &binding_);
  return compare_outside(graph_, expected, got, &binding_);
}

bool Trial::open(bool Reference::* what, Widening widening, Draws draws) {
  const auto by = [&](Widening w) {
    try {
      return reference(w, draws).*what;
    } catch (const Unsupported&) {  // then nothing is known to be open
      return false;
    }
  };
  // It is eager's run that another one is held to: what its own kernels leave open has a part in how that ended.
  return by(widening) || (widening == Widening::bounds && by(Widening::bounds_of_eager));
}

size_t Trial::lines_certain(Widening widening, Draws draws) {
  const auto by = [&](Widening w) {
    try {
      return reference(w, draws).lines_certain;
    } catch (const Unsupported&) {
      return SIZE_MAX;
    }
  };
  return widening == Widening::bounds ? std::min(by(widening), by(Widening::bounds_of_eager)) : by(widening);
}

std::optional<Mismatch> Trial::differs_outside(const Execution& got, Widening widening, Draws draws) {
  const Execution& expected = as_ended(got);
  if (expected.printed.empty() && got.printed.empty()) return differs_outside(expected, got, widening, draws);
  if (draws == Draws::lenz && prints_by_choice(graph_)) {  // so many lines as by the reference, which draws so too
    const Reference& right = reference(widening, draws);
    if (right.ending == Ending::finished && got.ending == Ending::finished && right.lines_certain == SIZE_MAX &&
        right.lines != got.printed.size()) {
      Mismatch m;
      m.rung = Rung::metadata, m.what = "what is printed";
      m.expected = std::to_string(right.lines) + " lines", m.got = std::to_string(got.printed.size()) + " lines";
      return m;
    }
    return differs_outside(without_lines(expected), without_lines(got), widening, draws);
  }
  if (!compare_outside(graph_, expected, got)) return std::nullopt;
  const size_t certain = lines_certain(widening, draws);
  Execution wanted = expected, made = got;
  for (Execution* e : {&wanted, &made}) e->printed.resize(std::min(certain, e->printed.size()));
  return differs_outside(wanted, made, widening, draws);
}

std::optional<Mismatch> Trial::differs_outside(const Execution& expected, const Execution& got, Widening widening,
                                               Draws draws) {
  auto outside = compare_outside(graph_, expected, got);
  // Who has another integer for a divisor, or an index, may refuse it, and who has another may not. And who does not
  // make a size does not see that the data contradict what the graph says of it.
  const bool by_refusal = (expected.ending == Ending::raised && got.ending == Ending::finished) ||
                          (expected.ending == Ending::finished && got.ending == Ending::raised);
  if (outside && by_refusal && (expected.contradicted || open(&Reference::refusals_open, widening, draws)))
    return std::nullopt;
  // A size that what is uncertain makes may be one that the graph says it is not.
  const bool by_fact = got.ending == Ending::raised && (got.contradicted || loops::Symbols::tells_of_fact(got.text));
  if (outside && by_refusal && by_fact && open(&Reference::sizes_open, widening, draws)) return std::nullopt;
  // What eager refuses and a row's meaning does not ask is no part of what a graph means.
  if (outside && refuses_unasked(got)) return std::nullopt;
  // What Lenz's stream draws may be refused where what eager drew is not, and the other way.
  if (outside && by_refusal && draws == Draws::lenz) {
    try {
      if (reference(widening, draws).ending == got.ending) return std::nullopt;
    } catch (const Unsupported&) {  // then nobody knows how it ends
    }
  }
  // What Lenz's stream draws makes other sizes than what eager drew: the reference draws from it too.
  const bool sizes =
      outside && outside->rung == Rung::metadata &&
      (draws == Draws::lenz || reference(widening, draws).sizes_open || open(&Reference::sizes_open, widening, draws));
  return sizes ? compare_outside(graph_, expected, got, &binding_) : outside;
}

namespace {
// As libtorch says it of a dtype, whatever the values are.
bool lacks_kernel(const Execution& run) {
  return run.ending == Ending::raised && run.text.find("\" not implemented for '") != std::string::npos;
}
}  // namespace

std::optional<Mismatch> Trial::out_of_bounds(const Execution& got, HowRun how) {
  if (lacks_memory(got)) return std::nullopt;
  // A call that is left out, or has nothing to draw, has moved eager's generator all the same.
  if (how.drawn_by_host && (how.drawn || how.drawn_by_host != calls_that_draw(graph_))) {
    no_stream = "some of its random ops are libtorch's, which draw as in eager";
    auto outside = differs_outside(got);
    // Whether an op refuses what was drawn is as open as that.
    const bool refused = as_ended(got).ending == Ending::raised || got.ending == Ending::raised;
    return outside && outside->rung == Rung::ending && refused ? std::nullopt : outside;
  }
  const Widening widening = exact ? Widening::values_only : how.by_host ? Widening::bounds_of_eager : Widening::bounds;
  const Draws draws = how.drawn ? Draws::lenz : Draws::eager;
  try {
    if (auto outside = differs_outside(got, widening, draws)) return outside;
    if (got.ending == Ending::finished && lacks_kernel(as_ended(got))) {  // what eager lacks the reference may have
      auto judgement = judged(widening, got, draws);
      return judgement ? judgement->mismatch : std::nullopt;
    }
    if (got.ending != Ending::finished || as_ended(got).ending != Ending::finished) return std::nullopt;
    if (!how.drawn && same_runs(graph_, as_ended(got), got)) return std::nullopt;  // every bit of eager's
    by_the_reference = true;
    if (!asks_likeness) return differs_beyond(widening, got, draws);
    auto judgement = judged(widening, got, draws);
    if (!judgement || judgement->mismatch) return judgement ? judgement->mismatch : std::nullopt;
    return judgement->shares.weak() && asks_likeness && !how.drawn ? differs_from_noise(got, widening) : std::nullopt;
  } catch (const Unsupported& why) {
    if (!how.drawn) throw;
    no_stream = why.what();
    return std::nullopt;
  }
}

std::optional<Mismatch> Trial::differs_from_noise(const Execution& got, Widening widening) {
  ExecuteOptions options = options_;
  options.guard = false;
  for (uint64_t seed = noisy_.size(); seed < kNoisyRuns; ++seed)
    noisy_.push_back(
        Referee(boxed_, options, Widening::values_only, Draws::eager, seed).run(needed(), inputs(), binding_));
  auto mismatch = unlike(needed(), reference(widening, Draws::eager), noisy_, expected_, got);
  alike += mismatch ? 0 : 1;
  return mismatch;
}

std::optional<Mismatch> Trial::eager_out_of_bounds(const Execution& got, const Execution* elements) {
  if (lacks_memory(got)) return std::nullopt;
  if (auto outside = differs_outside(got, Widening::bounds_of_eager, Draws::eager)) return outside;
  if (got.ending != Ending::finished || as_ended(got).ending != Ending::finished) return std::nullopt;
  if (!elements && any_asked(asked_where_different(as_ended(got), got)))
    return differs_beyond(Widening::bounds_of_eager, got, Draws::eager);
  auto judgement = judged(Widening::bounds_of_eager, elements ? *elements : got);
  return judgement ? judgement->mismatch : std::nullopt;
}

std::optional<Mismatch> Trial::eager_beyond_bounds() {
  const How how{Widening::bounds_of_eager, Draws::eager}, strictest{Widening::bounds, Draws::eager};
  const bool any = parts_.contains(how) || parts_.contains(strictest);
  if (!any || references_.contains(how)) return eager_out_of_bounds(expected_);
  if (expected_.ending != Ending::finished || lacks_memory(expected_)) return std::nullopt;
  std::vector<Asked> beyond;  // the strictest bounds, which settle most
  for (const auto& part : parts_[strictest]) {
    if (cover(parts_[how], part->outputs)) continue;
    const Part* alone[] = {part.get()};
    if (part->right.ending != Ending::finished || worst_of(alone, expected_)) beyond.push_back(part->outputs);
  }
  for (const Asked& outputs : beyond) computed(how, outputs);
  std::vector<const Part*> all;
  for (const auto& part : parts_[how]) all.push_back(part.get());
  return worst_of(all, expected_);
}

namespace {
// Bit for bit, but for the signs of zeros.
bool same_elements(const RunValue& x, const RunValue& y, Dtype dtype) {
  const std::vector<std::byte> a = elements_of(x), b = elements_of(y);
  if (a == b || a.size() != b.size() || !is_inexact(dtype)) return a == b;
  const auto part = static_cast<size_t>(item_size(to_real(dtype)));
  for (size_t at = 0; at < a.size(); at += part) {
    ScalarBits one{}, other{};
    std::memcpy(one.data(), a.data() + at, part);
    std::memcpy(other.data(), b.data() + at, part);
    if (one == other) continue;
    if (from_bits(to_real(dtype), one).real() != 0 || from_bits(to_real(dtype), other).real() != 0) return false;
  }
  return true;
}

// Bounds are of what is returned.
bool prints_the_same(const Execution& a, const Execution& b, bool signs_too = false) {
  const auto same_value = [&](const RunValue& x, const RunValue& y) {
    const Seen seen = look(x), other = look(y);
    if (seen.kind != other.kind) return false;
    if (seen.kind != TypeKind::tensor) return to_text(x) == to_text(y);
    return seen.dtype == other.dtype &&
           (signs_too ? elements_of(x) == elements_of(y) : same_elements(x, y, seen.dtype));
  };
  return std::ranges::equal(a.printed, b.printed, [&](const Printed& x, const Printed& y) {
    return x.format == y.format && std::ranges::equal(x.values, y.values, same_value);
  });
}
}  // namespace

bool Trial::hangs_on_signs_of_zero(const Execution& got) {
  if (!prints_the_same(as_ended(got), got) || compare_outside(graph_, as_ended(got), got)) return false;
  if (got.ending != Ending::finished) return false;
  bool open = false;
  if (!prints_the_same(as_ended(got), got, true)) {
    const Reference& right = reference(Widening::bounds_of_eager, Draws::eager);
    if (right.ending != Ending::finished || !right.zero_signs_open) return false;
    open = true;
  }
  for (const Part* part :
       parts_with(Widening::bounds_of_eager, Draws::eager, asked_where_different(as_ended(got), got))) {
    if (part->right.ending != Ending::finished) return false;
    open = open || part->right.zero_signs_open;
    if (differs_where_settled(*part->graph, part->right, as_ended(got), got)) return false;
  }
  return open;
}

bool Trial::within(const Leeway& by, const Execution& got, Draws draws) {
  return oracle::within(by, needed(), reference(Widening::bounds_of_eager, draws), inputs(), expected_, got);
}

}  // namespace lenz::oracle
