#include "oracle/values_check.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "compiler/base/hash.h"
#include "compiler/driver/program_set.h"
#include "compiler/graph/text.h"
#include "compiler/ops/call_maker.h"
#include "compiler/ops/symbolic_call.h"
#include "oracle/controls/call_controls.h"
#include "oracle/element_compare.h"
#include "oracle/interpreted.h"
#include "oracle/layout_turns.h"
#include "oracle/native_run.h"
#include "oracle/random_machine.h"
#include "oracle/row_check.h"
#include "oracle/tensors.h"
#include "oracle/trial.h"
#include "oracle/value_refusals.h"
#include "oracle/workers.h"

namespace lenz::oracle {

namespace {
OpDef in_one_dtype(const OpDef& op, Dtype dtype) {
  OpDef narrowed = op;
  narrowed.dtypes = DtypeSet::of(dtype);
  return narrowed;
}

const Type* leading_tensor(const Graph& graph) {
  for (const Input& input : graph.inputs()) {
    const Type& t = graph.type(input.value);
    if (t.is_tensor()) return &t;
    if (t.kind == TypeKind::list && !t.elements().empty()) return t.elements()[0];
  }
  return nullptr;
}

std::string first_line(std::string_view text) { return std::string(text.substr(0, text.find('\n'))); }

void find_wrong(ValuesCell& cell, const Graph& graph, const std::string& what) {
  ++cell.wrong;
  if (!cell.finding.empty()) return;
  cell.finding = what;
  cell.graph = print(graph);
}

// What a call is run on: the same values each time, in memory of their own.
struct Operands {
  std::function<std::vector<RunValue>()> make;
  Binding sizes;
};

// Programs as the interpreter runs them, or built for a target; each is built once.
class Runner {
 public:
  Runner(const Graph& graph, const ValuesOptions& options, Boxed& boxed)
      : options_(options),
        boxed_(boxed),
        programs_(graph, {}, kLower),
        executables_(graph, build_options(options), kLower, ShortSizes::open) {}

  bool native() const { return !options_.target.empty(); }
  size_t programs() const { return native() ? executables_.built() : programs_.size(); }

  // How many points the interpreter visits, of loops outside of control flow; machine code is none of its business.
  double points(const SymValues& sizes) {
    double sum = 0;
    if (native()) return sum;
    for (const loops::Node& node : programs_.at(sizes).body.nodes) {
      const auto* nest = std::get_if<loops::Nest>(&node.is);
      double count = nest ? 1 : 0;
      for (size_t i = 0; nest && i < nest->axes.size(); ++i)
        count *= static_cast<double>(evaluate(nest->axes[i].extent, sizes).value_or(1));
      sum += count;
    }
    return sum;
  }

  Execution run(const SymValues& sizes, std::vector<RunValue> inputs) {
    if (!native()) return run_interpreted(programs_.at(sizes), inputs, boxed_);
    return run_native(*executables_.at(sizes), inputs, boxed_);
  }

 private:
  static BuildOptions build_options(const ValuesOptions& options) {
    BuildOptions how;
    how.target = options.target;
    how.threads = 1 + static_cast<int>(options.seed % 2);
    return how;
  }
  static constexpr LowerOptions kLower = {.externs = false};
  const ValuesOptions& options_;
  Boxed& boxed_;
  ProgramSet programs_;
  ExecutableSet executables_;
};

bool drawn_alike(const Execution& expected, const Execution& got) {
  for (size_t i = 0; i < expected.outputs.size(); ++i) {
    const Dtype dtype = look(expected.outputs[i]).dtype;
    const double places = is_floating(to_real(dtype)) ? 32 * std::ldexp(1.0, -info(to_real(dtype)).mantissa_bits) : 0;
    if (first_apart(expected.outputs[i], got.outputs[i], {.relative = places, .absolute = places})) return false;
  }
  return true;
}

// The compiler's loops in eager's place: they must end as it does, look like it from outside, and lie within the
// reference's bounds.
void judge_loops(const Graph& graph, Boxed& boxed, ValuesCell& cell, const Operands& on, Runner& runner,
                 const std::function<bool(const Binding& sizes)>& known) {
  ++cell.calls;
  LenzRandom stream(boxed);
  bool random = draws(graph);
  Execution eager = (random ? Executor(stream) : Executor(boxed)).run(graph, on.make(), on.sizes);
  Execution got;
  try {
    got = runner.run(on.sizes.lookup(), on.make());
  } catch (const Unsupported& error) {
    ++cell.unlowered;
    if (cell.note.empty()) cell.note = std::string("no loops or no code: ") + error.what();
    return;
  }
  if (eager.ending != Ending::finished) {
    bool no_kernel = eager.text.find("not implemented for") != std::string::npos;  // which says nothing of the op
    if (got.ending == Ending::finished && !no_kernel && !quotes(*graph.node(graph.last()).op, eager.text))
      return find_wrong(cell, graph, "the loops end, but eager refuses: " + eager.text);
    ++cell.refused;
    return;
  }
  std::string at = to_text(on.sizes, graph);
  if (!at.empty()) at = " at " + at;
  if (got.ending != Ending::finished) {
    if (!quotes(*graph.node(graph.last()).op, got.text))
      return find_wrong(cell, graph, "the loops raise" + at + ": " + got.text);
    ++cell.known;
    if (cell.note.empty()) cell.note = "known: the loops raise: " + got.text;
    return;
  }
  auto differs = [&](const Mismatch& m) {
    if (!known(on.sizes)) return find_wrong(cell, graph, m.summary() + at);
    ++cell.known;
    if (cell.note.empty()) cell.note = "known: " + m.summary();
  };
  if (auto outside = compare_outside(graph, eager, got)) return differs(*outside);
  if (random) {
    auto different = compare_runs(graph, eager, got);
    // Machine code draws normal numbers to the last places only.
    if (different && runner.native() && different->rung == Rung::bitwise && drawn_alike(eager, got)) different.reset();
    if (different) return differs(*different);
    ++cell.passed;
    return;
  }
  Reference reference = Referee(boxed).run(graph, on.make(), on.sizes);
  Judgement j = judge(graph, reference, got);
  cell.shares.add(j.shares);
  if (j.mismatch) return differs(*j.mismatch);
  if (!reference.unbounded.empty()) {
    ++cell.unbounded;
    if (cell.note.empty()) cell.note = "no bound for " + reference.unbounded[0];
  } else if (j.shares.weak()) {
    ++cell.weak;
  } else {
    ++cell.passed;
  }
}

void judge_call(const Graph& graph, Boxed& boxed, ValuesCell& cell, const Operands& on,
                const std::function<bool(const std::function<bool(const Leeway&)>& within)>& known) {
  ++cell.calls;
  Execution eager = Executor(boxed).run(graph, on.make());
  if (eager.ending != Ending::finished) {
    ++cell.refused;
    if (cell.note.empty()) cell.note = "eager refuses: " + eager.text;
    return;
  }
  Reference reference = Referee(boxed, {}, Widening::bounds_of_eager).run(graph, on.make());
  if (reference.ending != Ending::finished) {
    ++cell.wrong;
    if (cell.finding.empty()) {
      cell.finding = "the reference does not run: " + reference.text;
      cell.graph = print(graph);
    }
    return;
  }
  Judgement j = judge(graph, reference, eager);
  cell.shares.add(j.shares);
  if (j.mismatch && known([&](const Leeway& by) { return within(by, graph, reference, on.make(), eager, eager); })) {
    ++cell.known;
    if (cell.note.empty()) cell.note = "known: " + j.mismatch->summary();
  } else if (j.mismatch) {
    ++cell.wrong;
    if (cell.finding.empty()) {
      cell.finding = j.mismatch->summary();
      cell.graph = print(graph);
    }
  } else if (!reference.unbounded.empty()) {
    ++cell.unbounded;
    if (cell.note.empty()) cell.note = "no bound for " + reference.unbounded[0];
  } else if (j.shares.weak()) {
    ++cell.weak;
    if (cell.note.empty()) cell.note = "weak: " + print(graph);
  } else {
    ++cell.passed;
  }
}
}  // namespace

namespace {
uint64_t call_seed(const OpDef& op, Dtype dtype, int number, uint64_t seed) {
  return combine(hash_bytes(op.full_name, seed), static_cast<uint64_t>(static_cast<int>(dtype) * 1000003 + number));
}

// The calls of one row, each filed under the dtype of its leading tensor.
class RowValues {
 public:
  RowValues(const OpDef& op, const OpTable& table, const ValuesOptions& options, Place* place,
            std::span<const Death> deaths)
      : op_(op), table_(table), options_(options), place_(place), deaths_(deaths) {}

  ValuesRow run() {
    if (options_.given) {
      auto found = options_.given->find(op_.full_name);
      if (found != options_.given->end())
        for (const CallText& call : found->second) given(call, static_cast<size_t>(&call - found->second.data()));
      return std::move(row_);
    }
    DtypeSet wanted = op_.dtypes & options_.dtypes;
    if (wanted.empty()) wanted = op_.dtypes;
    for (int d = 0; d < kDtypeCount && op_.generate; ++d)
      if (wanted.has(static_cast<Dtype>(d))) generated(static_cast<Dtype>(d));
    explain_empty();
    return std::move(row_);
  }

 private:
  void generated(Dtype dtype) {
    ValuesCell& cell = row_.cells[dtype];
    const OpDef narrowed = in_one_dtype(op_, dtype);
    LayoutTurns turns(call_seed(op_, dtype, 0, options_.seed));
    for (int i = 0; i < options_.calls; ++i) {
      const uint64_t seed = call_seed(op_, dtype, i, options_.seed);
      seed_ = seed;
      at(static_cast<uint32_t>(dtype), static_cast<uint32_t>(i));
      const bool told = !cell.graph.empty();
      judged(
          cell, dtype,
          [&] {
            auto graph = options_.rebind ? symbolic(narrowed, seed) : in_turn(narrowed, seed, turns);
            if (!graph && options_.rebind && cell.note.empty()) cell.note = "no size of its calls can be a symbol";
            return graph;
          },
          &turns);
      if (options_.special && !told && !cell.graph.empty())
        cell.graph = "# --values special --seed " + std::to_string(seed) + "\n" + cell.graph;
    }
    if (options_.rebind) return;
    for (size_t k = 0; k < kLayoutClasses; ++k) {
      const auto layout = static_cast<LayoutClass>(k);
      const auto found = cell.layouts.find(layout);
      if (found != cell.layouts.end() && found->second.judged() > 0) continue;
      const auto left = turns.left().find(layout);
      cell.no_layouts[layout] = left != turns.left().end()    ? left->second
                                : cell.judged() == 0          ? "no call in this dtype has a verdict"
                                : found != cell.layouts.end() ? "no call that lies so has a verdict"
                                                              : "its turn did not come in so few calls";
    }
  }

  // Of dtypes in which no call of the row can be: those that it is in.
  void explain_empty() {
    std::string others;
    for (const auto& [dtype, cell] : row_.cells)
      if (cell.calls > cell.refused) others += " " + std::string(lenz::name(dtype));
    for (auto& [dtype, cell] : row_.cells)
      if (cell.calls == 0 && cell.note.empty())
        cell.note =
            "none of its calls leads with a tensor of this dtype; they do with" + (others.empty() ? " none" : others);
  }

  std::unique_ptr<Graph> symbolic(const OpDef& narrowed, uint64_t seed) {
    RandomChooser random(seed);
    auto call = drawn(narrowed, random, std::nullopt);
    if (!call) return nullptr;
    call->op = &op_;
    return with_symbolic_sizes(*call);
  }

  // What the generator would do may have no place in one dtype alone.
  std::optional<DrawnCall> drawn(const OpDef& narrowed, Chooser& choose, std::optional<LayoutClass> wanted) const {
    try {
      return draw_call(narrowed, table_, choose, wanted);
    } catch (const InternalError&) {
      return std::nullopt;
    }
  }

  // A call that its rule takes, with an operand in the layout whose turn it is, the row's own definition in it. Calls
  // are drawn until one is, but not for ever: of a layout that no draw has the row has none.
  std::unique_ptr<Graph> in_turn(const OpDef& narrowed, uint64_t seed, LayoutTurns& turns) const {
    constexpr uint64_t kDraws = 64;
    while (true) {
      const std::optional<LayoutClass> wanted = turns.next();
      std::map<std::string_view, int> lacking;
      std::exception_ptr refusal;
      bool any = false;
      for (uint64_t draw = 0; draw < kDraws; ++draw) {
        RandomChooser random(draw == 0 ? seed : combine(seed, draw));
        try {
          auto call = drawn(narrowed, random, wanted);
          if (!call) continue;
          for (std::string_view why : call->lacking) ++lacking[why];
          auto graph = as_graph(op_, std::move(*call));
          any = true;
          if (wanted && !layouts_of(*graph).contains(*wanted)) continue;
          if (wanted) turns.take(*wanted);
          return graph;
        } catch (const UserError&) {  // an in-place result that can't be cast back
          refusal = std::current_exception();
        }
      }
      if (!any && refusal) std::rethrow_exception(refusal);
      if (!any || !wanted) return nullptr;
      const auto most = std::ranges::max_element(lacking, {}, [](const auto& why) { return why.second; });
      turns.leave(*wanted, most == lacking.end() ? "no tensor among its operands" : std::string(most->first));
    }
  }

  void given(const CallText& call, size_t number) {
    at(kGiven, static_cast<uint32_t>(number));
    std::unique_ptr<Graph> graph;
    ValuesCell failed;
    judged(failed, Dtype::f32, [&]() -> std::unique_ptr<Graph> {
      graph = parse_graph(call.text, table_);
      return nullptr;
    });
    const Type* leading = graph ? leading_tensor(*graph) : nullptr;
    Dtype dtype = leading ? leading->dtype : Dtype::f32;
    ValuesCell& cell = row_.cells[dtype];
    cell.add(failed);
    if (cell.note.empty()) cell.note = failed.note;
    if (cell.finding.empty()) cell.finding = failed.finding;
    if (graph) judged(cell, dtype, [&] { return std::move(graph); });
  }

  void judged(ValuesCell& cell, Dtype dtype, const std::function<std::unique_ptr<Graph>()>& make,
              LayoutTurns* turns = nullptr) {
    const Verdicts before = cell;
    std::unique_ptr<Graph> graph;
    std::string text;
    try {
      graph = make();
      if (!graph) return;
      text = print(*graph);
      judge_made(cell, dtype, *graph);
    } catch (const UserError& error) {  // no draw of a call was legal
      count(cell, &Verdicts::refused);
      if (cell.note.empty()) cell.note = std::string("no legal call: ") + error.what();
    } catch (const Unsupported& error) {
      count(cell, &Verdicts::unbounded);
      if (cell.note.empty()) cell.note = error.what();
    } catch (const std::exception& error) {
      const bool known = quotes(op_, error.what());
      count(cell, known ? &Verdicts::known : &Verdicts::wrong);
      if (known && cell.note.empty()) cell.note = "known: " + first_line(error.what());
      if (!known && cell.finding.empty()) {
        cell.finding = "the check failed: " + std::string(error.what()).substr(0, 600);
        cell.graph = text;
      }
    }
    if (graph && !options_.rebind) count_layouts(cell, before, *graph, turns);
  }

  // What was thrown at a call, which may have begun.
  static void count(ValuesCell& cell, int Verdicts::* verdict) {
    if (cell.told() == cell.calls) ++cell.calls;
    ++(cell.*verdict);
  }

  void count_layouts(ValuesCell& cell, const Verdicts& before, const Graph& graph, LayoutTurns* turns) {
    Verdicts of_this = cell;
    of_this.take(before);
    for (const LayoutClass layout : layouts_of(graph)) {
      cell.layouts[layout].add(of_this);
      if (turns && of_this.judged() > 0) turns->judged(layout);
    }
  }

  void judge_made(ValuesCell& cell, Dtype dtype, const Graph& graph) {
    if (const Death* died = last_death()) return ask_why(*died, cell, graph);
    auto known_at = [&](const Binding& sizes, const std::function<bool(const Leeway&)>& within) {
      return std::ranges::any_of(options_.known, [&](const KnownFault& k) {
        return k.when != KnownFault::strided_rounds && applies(k, dtype, graph, graph.first(), sizes.lookup(), within);
      });
    };
    auto known = [&](const std::function<bool(const Leeway&)>& within) { return known_at({}, within); };
    if (!options_.on_loops) {
      const Verdicts before = cell;
      judge_call(graph, boxed_, cell, operands(graph, {}), known);
      if (options_.variants > 0) control(cell, before, dtype, graph, known([](const Leeway&) { return false; }));
      return;
    }
    Runner runner(graph, options_, boxed_);
    auto listed = [&](const Binding& sizes) { return known_at(sizes, [](const Leeway&) { return false; }); };
    if (!options_.rebind) return judge_loops(graph, boxed_, cell, operands(graph, {}), runner, listed);
    int sizes = 0;
    for (const Binding& binding : various_sizes({}, graph)) {
      if (elements(graph, binding) > kMostElements) continue;
      if (InputSource(graph, binding, Values::ordinary, seed_).hopeless()) continue;  // eager may die of it
      if (too_many_points(runner, binding)) continue;
      judge_loops(graph, boxed_, cell, operands(graph, binding), runner, listed);
      ++sizes;
    }
    cell.rebound += sizes >= 4 && runner.programs() == 1;
  }

  // --- calls that killed a process
  static constexpr uint32_t kGiven = 1000;  // in the place of a dtype
  static constexpr uint32_t kEagerAlone = 1;

  void at(uint32_t index, uint32_t call) {
    if (!place_) return;
    place_->phase = 0;
    place_->index = index;
    place_->stage = call;
    ++place_->steps;
  }
  const Death* last_death() const {
    const Death* last = nullptr;
    for (const Death& d : deaths_)
      if (place_ && d.place.index == place_->index && d.place.stage == place_->stage) last = &d;
    return last;
  }
  // A death is eager's own if eager dies of the call alone; what the row's exception says of that is no finding.
  void ask_why(const Death& died, ValuesCell& cell, const Graph& graph) {
    std::string said = died.text();
    if (died.place.phase != kEagerAlone) {
      place_->phase = kEagerAlone;
      for (const Binding& binding : options_.rebind ? various_sizes({}, graph) : std::vector<Binding>{{}})
        (void)Executor(boxed_).run(graph, operands(graph, binding).make());
      said += ", but not in libtorch";
    } else {
      said += " in libtorch, on the CPU";
    }
    ++cell.calls;
    if (quotes(op_, said)) {
      ++cell.known;
      if (cell.note.empty()) cell.note = "known: " + said;
      return;
    }
    ++cell.died;
    if (!cell.finding.empty()) return;
    cell.finding = "the process died: " + said;
    cell.graph = print(graph);
  }

  // What a row's variants do to their operands is its own business: they are computed as the row itself.
  void control(ValuesCell& cell, const Verdicts& before, Dtype dtype, const Graph& graph, bool known) {
    if (op_.base || !is_floating(dtype) || is_float8(dtype)) return;
    const controls::CallControls found =
        controls::control_call(graph, boxed_, options_.variants, seed_, options_.known);
    cell.variants += found.runs;
    cell.tightness.merge(found.tightness);
    cell.uncontrolled += !found.uncovered.empty();
    if (cell.uncontrolled_by.empty()) cell.uncontrolled_by = found.uncovered;
    if (found.alarm.empty() || known || found.known) return;
    static_cast<Verdicts&>(cell) = before;
    ++cell.calls;
    find_wrong(cell, graph, found.alarm);
  }

  Operands operands(const Graph& graph, const Binding& binding) {
    if (!options_.special && !options_.rebind) return {[&] { return initial_inputs(graph, boxed_, {}); }, {}};
    Values values = options_.special ? Values::special : Values::ordinary;
    auto source = std::make_shared<InputSource>(graph, binding, values, seed_);
    return {[this, source] { return source->make(boxed_); }, binding};
  }

  // Of all inputs.
  static int64_t elements(const Graph& graph, const Binding& binding) {
    int64_t sum = 0;
    for (const Input& input : graph.inputs()) {
      const Type& t = graph.type(input.value);
      int64_t count = 1;
      for (size_t d = 0; t.is_tensor() && d < t.rank(); ++d)
        count *= evaluate(t.sizes()[d], binding.lookup()).value_or(0);
      sum += count;
    }
    return sum;
  }

  // A few operands may meet at very many places: large kernels spread over a large result.
  static bool too_many_points(Runner& runner, const Binding& binding) {
    try {
      return runner.points(binding.lookup()) > kMostPoints;
    } catch (const Unsupported&) {
      return false;  // which running it will tell
    }
  }

  static constexpr int64_t kMostElements = 5000;  // the interpreter takes its time
  static constexpr double kMostPoints = 1e7;
  uint64_t seed_ = 0;
  const OpDef& op_;
  const OpTable& table_;
  const ValuesOptions& options_;
  Place* place_;  // where it is; may be null
  std::span<const Death> deaths_;
  Boxed boxed_{DeviceKind::cpu};
  ValuesRow row_{&op_, {}};
};
}  // namespace

ValuesRow check_row_values(const OpDef& op, const OpTable& table, const ValuesOptions& options, Place* place,
                           std::span<const Death> deaths) {
  return RowValues(op, table, options, place, deaths).run();
}

std::vector<ValuesRow> check_values(std::span<const OpDef* const> rows, const OpTable& table,
                                    const ValuesOptions& options, int jobs,
                                    const std::function<void(size_t done)>& progress) {
  constexpr size_t kMostDeaths = 40;  // of a row; each call that dies does so twice
  std::vector<ValuesRow> all(rows.size());
  std::vector<std::vector<Death>> deaths(rows.size());
  WorkerCalls calls;
  calls.work = [&](size_t task, Place& place) {
    quieten_libtorch();
    ++place.steps;
    nlohmann::json j = nlohmann::json::object();
    for (const auto& [dtype, cell] : check_row_values(*rows[task], table, options, &place, deaths[task]).cells)
      j[std::to_string(static_cast<int>(dtype))] = cell.to_json();
    return j.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  };
  calls.done = [&](size_t task, const std::string& result) {
    all[task].op = rows[task];
    nlohmann::json cells = nlohmann::json::parse(result);
    for (const auto& [key, cell] : cells.items())
      all[task].cells[static_cast<Dtype>(std::stoi(key))] = ValuesCell::from_json(cell);
  };
  calls.died = [&](size_t task, const Death& death) {
    deaths[task].push_back(death);
    if (deaths[task].size() < kMostDeaths) return true;  // the others of its calls are judged all the same
    all[task].op = rows[task];
    ValuesCell& cell = all[task].cells[static_cast<Dtype>(std::min<uint32_t>(death.place.index, kDtypeCount - 1))];
    cell.calls = cell.died = static_cast<int>(kMostDeaths);
    cell.finding =
        "the row was given up: the process died " + std::to_string(kMostDeaths) + " times, at last: " + death.text();
    return false;
  };
  calls.tick = progress;
  run_in_workers(rows.size(), jobs, {.hang_seconds = 120, .fresh = true}, calls);
  return all;
}

}  // namespace lenz::oracle
