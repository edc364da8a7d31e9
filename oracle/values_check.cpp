#include "oracle/values_check.h"

#include <fnmatch.h>

#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "compiler/base/hash.h"
#include "compiler/driver/program_set.h"
#include "compiler/graph/text.h"
#include "compiler/ops/call_maker.h"
#include "compiler/ops/symbolic_call.h"
#include "oracle/interpreted.h"
#include "oracle/random_machine.h"
#include "oracle/tensors.h"
#include "oracle/trial.h"
#include "oracle/workers.h"

namespace lenz::oracle {

namespace {
// The class of layouts that a tensor belongs to.
std::string_view layout_of(const Type& t) {
  int64_t count = 1, dense = 1;
  for (Dim s : t.sizes()) count *= s.constant();
  if (t.rank() == 0) return "scalar";
  if (count == 0) return "empty";
  bool contiguous = true, repeated = false;
  std::vector<std::pair<int64_t, int64_t>> steps;  // stride, size
  for (size_t i = t.rank(); i-- > 0;) {
    int64_t size = t.sizes()[i].constant(), stride = t.strides()[i].constant();
    if (size == 1) continue;
    contiguous &= stride == dense;
    repeated |= stride == 0;
    dense *= size;
    steps.push_back({stride, size});
  }
  bool shifted = t.offset.constant() != 0;
  if (contiguous) return shifted ? "contiguous, with an offset" : "contiguous";
  if (repeated) return "stride 0";
  std::ranges::sort(steps);
  bool overlaps = false, gaps = false;
  int64_t extent = 1;
  for (auto [stride, size] : steps) {
    overlaps |= stride < extent;
    gaps |= stride > extent;
    extent = stride * size;
  }
  return overlaps ? "overlapping" : gaps ? "gaps" : "permuted";
}

OpDef in_one_dtype(const OpDef& op, Dtype dtype) {
  OpDef narrowed = op;
  narrowed.dtypes = DtypeSet::of(dtype);
  return narrowed;
}

// One call as a graph. The row's own definition stands in it, not the narrowed one that drew it.
std::unique_ptr<Graph> one_call(const OpDef& op, const OpTable& table, Dtype dtype, uint64_t seed, bool symbolic) {
  RandomChooser random(seed);
  OpDef narrowed = in_one_dtype(op, dtype);
  DrawnCall call;
  try {
    call = draw_call(narrowed, table, random);
  } catch (const InternalError&) {  // what the generator would do has no place in one dtype alone
    return nullptr;
  }
  if (symbolic) {
    call.op = &op;
    return with_symbolic_sizes(call);
  }
  NodeId node = call.graph->append(op, call.args);
  SmallVec<Arg, 4> outputs;
  for (uint16_t i = 0; i < call.graph->node(node).result_count; ++i)
    outputs.push_back(Arg::of_value(call.graph->node(node).result(i)));
  call.graph->set_outputs(outputs);
  return std::move(call.graph);
}

const Type* leading_tensor(const Graph& graph) {
  for (const Input& input : graph.inputs()) {
    const Type& t = graph.type(input.value);
    if (t.is_tensor()) return &t;
    if (t.kind == TypeKind::list && !t.elements().empty()) return t.elements()[0];
  }
  return nullptr;
}

void add(Shares& to, const Shares& from) {
  to.elements += from.elements;
  to.ambiguous += from.ambiguous;
  to.strong += from.strong;
}

std::string first_line(std::string_view text) { return std::string(text.substr(0, text.find('\n'))); }

bool overlaps(const Type& t) {
  std::string_view layout = layout_of(t);
  return layout == "stride 0" || layout == "overlapping";
}

constexpr double kRoundedPlaces = 8, kSingle = 4e-6;

// The reference, with so much more at each element: a part of the tensor's largest, and something whatever that is.
struct Leeway {
  double relative = 0, absolute = 0;
};
void loosen(Bounded& b, const Leeway& by) {
  for (Bounded& e : b.elements) loosen(e, by);
  if (!b.value || !is_floating(b.dtype) || look(b.value).kind != TypeKind::tensor) return;
  auto doubles = [](const RunValue& plane) {
    std::vector<std::byte> bytes = elements_of(plane);
    std::vector<double> all(bytes.size() / sizeof(double));
    std::memcpy(all.data(), bytes.data(), bytes.size());
    return all;
  };
  double largest = 0;
  for (double v : doubles(b.value))
    if (std::isfinite(v)) largest = std::max(largest, std::fabs(v));
  RunValue error = detached_copy(b.error ? b.error : b.value);
  std::vector<double> errors = doubles(error);
  if (!b.error) std::ranges::fill(errors, 0.0);
  for (double& e : errors) e += by.relative * largest + by.absolute;
  set_elements(error, std::as_bytes(std::span(errors)));
  b.error = error;
}

bool within(const Leeway& by, const Graph& graph, Reference reference, const Execution& got) {
  for (Bounded& b : reference.outputs) loosen(b, by);
  for (Bounded& b : reference.inputs) loosen(b, by);
  return !judge(graph, reference, got).mismatch;
}

// `within`: whether it is right if given some leeway.
bool applies(const KnownFault& known, const OpDef& op, Dtype dtype, const Graph& graph,
             const std::function<bool(const Leeway&)>& within) {
  if (fnmatch(known.row.c_str(), op.full_name.c_str(), 0) != 0) return false;
  bool named = known.dtypes == "*";
  for (size_t at = 0; at < known.dtypes.size() && !named;) {
    size_t end = std::min(known.dtypes.find(' ', at), known.dtypes.size());
    named = known.dtypes.substr(at, end - at) == lenz::name(dtype);
    at = end + 1;
  }
  if (!named) return false;
  if (known.when == KnownFault::always) return true;
  if (known.when == KnownFault::rounds)
    return is_floating(dtype) && within({kRoundedPlaces * std::ldexp(1.0, 1 - info(dtype).mantissa_bits), 0});
  if (known.when == KnownFault::single) return within({kSingle, kSingle});
  if (known.when == KnownFault::drops) {
    const Node& node = graph.node(graph.first());
    int p = node.op->schema.find("dropout_p");
    return p >= 0 && node.args[p].kind == ArgKind::real && node.args[p].d > 0;
  }
  const Node& call = graph.node(graph.first());
  auto argument = [&](std::string_view name) -> const Arg* {
    int p = call.op->schema.find(name);
    return p < 0 ? nullptr : &call.args[p];
  };
  if (known.when == KnownFault::unsorted) {
    const Arg *sorted = argument("sorted"), *stable = argument("stable");
    return (sorted && sorted->kind == ArgKind::boolean && !sorted->boolean()) ||
           (stable && (stable->kind != ArgKind::boolean || !stable->boolean()));
  }
  if (known.when == KnownFault::part_overlaps) {
    const Arg *size = argument("size"), *stride = argument("stride");
    if (!size || !stride || size->kind != ArgKind::int_list || stride->kind != ArgKind::int_list) return false;
    TensorType part;
    part.sizes = DimVec(size->dim_list());
    part.strides = DimVec(stride->dim_list());
    return overlaps(*graph.context().tensor(part));
  }
  for (const Input& input : graph.inputs()) {
    const Type& t = graph.type(input.value);
    if (!t.is_tensor()) continue;
    std::string_view layout = layout_of(t);
    if (known.when == KnownFault::out_strided && input.mutated && !layout.starts_with("contiguous")) return true;
    if (known.when == KnownFault::any_strided && !layout.starts_with("contiguous")) return true;
    if (known.when == KnownFault::self_overlaps && overlaps(t)) return true;
  }
  return false;
}

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

// The compiler's loops in eager's place: they must end as it does, look like it from outside, and lie within the
// reference's bounds.
void judge_loops(const Graph& graph, Boxed& boxed, ValuesCell& cell, const Operands& on, ProgramSet& programs,
                 const std::function<bool()>& known) {
  ++cell.calls;
  LenzRandom stream(boxed);
  bool random = draws(graph);
  Execution eager = (random ? Executor(stream) : Executor(boxed)).run(graph, on.make(), on.sizes);
  const loops::Program* program = nullptr;
  try {
    program = &programs.at(on.sizes.lookup());
  } catch (const Unsupported& error) {
    ++cell.unlowered;
    if (cell.note.empty()) cell.note = std::string("no loops: ") + error.what();
    return;
  }
  Execution got = run_interpreted(*program, on.make(), boxed);
  if (eager.ending != Ending::finished) {
    ++cell.refused;
    bool no_kernel = eager.text.find("not implemented for") != std::string::npos;  // which says nothing of the op
    if (got.ending == Ending::finished && !no_kernel)
      find_wrong(cell, graph, "the loops end, but eager refuses: " + eager.text);
    return;
  }
  std::string at = to_text(on.sizes, graph);
  if (!at.empty()) at = " at " + at;
  if (got.ending != Ending::finished) return find_wrong(cell, graph, "the loops raise" + at + ": " + got.text);
  auto differs = [&](const Mismatch& m) {
    if (!known()) return find_wrong(cell, graph, m.summary() + at);
    ++cell.known;
    if (cell.note.empty()) cell.note = "known: " + m.summary();
  };
  if (auto outside = compare_outside(graph, eager, got)) return differs(*outside);
  if (random) {
    if (auto different = compare_runs(graph, eager, got)) return differs(*different);
    ++cell.passed;
    return;
  }
  Reference reference = Referee(boxed).run(graph, on.make(), on.sizes);
  Judgement j = judge(graph, reference, got);
  add(cell.shares, j.shares);
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
  Reference reference = Referee(boxed).run(graph, on.make());
  if (reference.ending != Ending::finished) {
    ++cell.wrong;
    if (cell.finding.empty()) {
      cell.finding = "the reference does not run: " + reference.text;
      cell.graph = print(graph);
    }
    return;
  }
  Judgement j = judge(graph, reference, eager);
  add(cell.shares, j.shares);
  if (j.mismatch && known([&](const Leeway& by) { return within(by, graph, reference, eager); })) {
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

std::vector<KnownFault> parse_known_faults(std::string_view text, const std::string& file) {
  std::vector<KnownFault> all;
  int line = 0;
  while (!text.empty()) {
    ++line;
    size_t end = std::min(text.find('\n'), text.size());
    std::string_view rest = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (rest.empty() || rest[0] == '#') continue;
    std::string fields[4];
    for (size_t i = 0; i < 4; ++i) {
      size_t bar = i == 3 ? rest.size() : std::min(rest.find(" | "), rest.size());
      fields[i] = rest.substr(0, bar);
      rest.remove_prefix(std::min(bar + 3, rest.size()));
    }
    constexpr std::string_view kWhen[] = {"always", "out_strided", "any_strided", "self_overlaps", "drops",
                                          "rounds", "single",      "unsorted",    "part_overlaps"};
    auto when = std::ranges::find(kWhen, fields[2]);
    if (fields[3].empty() || when == std::end(kWhen))
      throw UserError(
          "not `row | dtypes | when | why`, with when one of always, out_strided, any_strided, self_overlaps, drops, "
          "rounds, single, unsorted, part_overlaps",
          file + ":" + std::to_string(line), "see the head of the file");
    all.push_back({fields[0], fields[1], static_cast<KnownFault::When>(when - std::begin(kWhen)), fields[3]});
  }
  return all;
}

namespace {
// The calls of one row, each filed under the dtype of its leading tensor.
class RowValues {
 public:
  RowValues(const OpDef& op, const OpTable& table, const ValuesOptions& options)
      : op_(op), table_(table), options_(options) {}

  ValuesRow run() {
    if (options_.given) {
      auto found = options_.given->find(op_.full_name);
      if (found != options_.given->end())
        for (const CallText& call : found->second) given(call);
      return std::move(row_);
    }
    for (int d = 0; d < kDtypeCount && op_.generate; ++d)
      if (op_.dtypes.has(static_cast<Dtype>(d))) generated(static_cast<Dtype>(d));
    return std::move(row_);
  }

 private:
  void generated(Dtype dtype) {
    ValuesCell& cell = row_.cells[dtype];
    for (int i = 0; i < options_.calls; ++i) {
      uint64_t seed = combine(hash_bytes(op_.full_name, options_.seed),
                              static_cast<uint64_t>(static_cast<int>(dtype) * 1000003 + i));
      seed_ = seed;
      judged(cell, dtype, [&] {
        auto graph = one_call(op_, table_, dtype, seed, options_.rebind);
        if (!graph && cell.note.empty())
          cell.note =
              options_.rebind ? "no size of its calls can be a symbol" : "its generator makes no call in this dtype";
        return graph;
      });
    }
  }

  void given(const CallText& call) {
    std::unique_ptr<Graph> graph;
    ValuesCell failed;
    judged(failed, Dtype::f32, [&]() -> std::unique_ptr<Graph> {
      graph = parse_graph(call.text, table_);
      return nullptr;
    });
    const Type* leading = graph ? leading_tensor(*graph) : nullptr;
    Dtype dtype = leading ? leading->dtype : Dtype::f32;
    ValuesCell& cell = row_.cells[dtype];
    cell.refused += failed.refused;
    cell.wrong += failed.wrong;
    if (cell.note.empty()) cell.note = failed.note;
    if (cell.finding.empty()) cell.finding = failed.finding;
    if (graph) judged(cell, dtype, [&] { return std::move(graph); });
  }

  void judged(ValuesCell& cell, Dtype dtype, const std::function<std::unique_ptr<Graph>()>& make) {
    try {
      auto graph = make();
      if (!graph) return;
      auto known = [&](const std::function<bool(const Leeway&)>& within) {
        return std::ranges::any_of(options_.known,
                                   [&](const KnownFault& k) { return applies(k, op_, dtype, *graph, within); });
      };
      if (const Type* t = options_.rebind ? nullptr : leading_tensor(*graph)) cell.layouts.emplace(layout_of(*t));
      if (!options_.on_loops) return judge_call(*graph, boxed_, cell, operands(*graph, {}), known);
      ProgramSet programs(*graph, {}, {.externs = false});
      auto listed = [&] { return known([](const Leeway&) { return false; }); };
      if (!options_.rebind) return judge_loops(*graph, boxed_, cell, operands(*graph, {}), programs, listed);
      int sizes = 0;
      for (const Binding& binding : various_sizes({}, *graph)) {
        if (elements(*graph, binding) > kMostElements) continue;
        judge_loops(*graph, boxed_, cell, operands(*graph, binding), programs, listed);
        ++sizes;
      }
      cell.rebound += sizes >= 4 && programs.size() == 1;
    } catch (const UserError& error) {  // an in-place result that can't be cast back
      ++cell.refused;
      if (cell.note.empty()) cell.note = std::string("no legal call: ") + error.what();
    } catch (const Unsupported& error) {
      ++cell.unbounded;
      if (cell.note.empty()) cell.note = error.what();
    } catch (const std::exception& error) {
      ++cell.wrong;
      if (cell.finding.empty()) cell.finding = "the check failed: " + first_line(error.what());
    }
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

  static constexpr int64_t kMostElements = 5000;  // the interpreter takes its time
  uint64_t seed_ = 0;
  const OpDef& op_;
  const OpTable& table_;
  const ValuesOptions& options_;
  Boxed boxed_{DeviceKind::cpu};
  ValuesRow row_{&op_, {}};
};
}  // namespace

ValuesRow check_row_values(const OpDef& op, const OpTable& table, const ValuesOptions& options) {
  return RowValues(op, table, options).run();
}

nlohmann::json ValuesCell::to_json() const {
  nlohmann::json j = {{"calls", calls},
                      {"passed", passed},
                      {"weak", weak},
                      {"wrong", wrong},
                      {"refused", refused},
                      {"unbounded", unbounded},
                      {"known", known},
                      {"died", died},
                      {"unlowered", unlowered},
                      {"rebound", rebound},
                      {"elements", shares.elements},
                      {"ambiguous", shares.ambiguous},
                      {"strong", shares.strong},
                      {"layouts", layouts}};
  if (!finding.empty()) j["finding"] = finding;
  if (!graph.empty()) j["graph"] = graph;
  if (!note.empty()) j["note"] = note;
  return j;
}

namespace {
ValuesCell cell_from(const nlohmann::json& j) {
  ValuesCell c;
  c.calls = j["calls"];
  c.passed = j["passed"];
  c.weak = j["weak"];
  c.wrong = j["wrong"];
  c.refused = j["refused"];
  c.unbounded = j["unbounded"];
  c.known = j["known"];
  c.died = j["died"];
  c.unlowered = j["unlowered"];
  c.rebound = j["rebound"];
  c.shares = {j["elements"], j["ambiguous"], j["strong"]};
  c.layouts = j["layouts"].get<std::set<std::string>>();
  c.finding = j.value("finding", "");
  c.graph = j.value("graph", "");
  c.note = j.value("note", "");
  return c;
}
}  // namespace

std::vector<ValuesRow> check_values(std::span<const OpDef* const> rows, const OpTable& table,
                                    const ValuesOptions& options, int jobs,
                                    const std::function<void(size_t done)>& progress) {
  std::vector<ValuesRow> all(rows.size());
  WorkerCalls calls;
  calls.work = [&](size_t task, Place& place) {
    quieten_libtorch();
    ++place.steps;
    nlohmann::json j = nlohmann::json::object();
    for (const auto& [dtype, cell] : check_row_values(*rows[task], table, options).cells)
      j[std::to_string(static_cast<int>(dtype))] = cell.to_json();
    return j.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  };
  calls.done = [&](size_t task, const std::string& result) {
    all[task].op = rows[task];
    nlohmann::json cells = nlohmann::json::parse(result);
    for (const auto& [key, cell] : cells.items()) all[task].cells[static_cast<Dtype>(std::stoi(key))] = cell_from(cell);
  };
  calls.died = [&](size_t task, const Death& death) {
    all[task].op = rows[task];
    ValuesCell& cell = all[task].cells[Dtype::f32];
    cell.died = 1;
    cell.finding = "the process died: " + death.text();
    return false;
  };
  calls.tick = progress;
  run_in_workers(rows.size(), jobs, {.hang_seconds = 120, .fresh = true}, calls);
  return all;
}

}  // namespace lenz::oracle
