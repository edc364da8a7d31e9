// In a campaign of a minute a graph of few nodes has each row once or never, and a row has modes: a reduction, a dtype
// of its result, a flag. So each case also runs calls that stand alone, of rows by chance: some 0.7 ms each.
#include "fuzz/properties/rows_alone.h"

#include <algorithm>
#include <utility>

#include "compiler/backend/llvm/kept_objects.h"
#include "compiler/base/hash.h"
#include "compiler/graph/alias.h"
#include "compiler/ops/call_maker.h"
#include "compiler/ops/symbolic_call.h"
#include "fuzz/graph_calls.h"
#include "fuzz/properties/alone.h"
#include "fuzz/properties/drawn_calls.h"
#include "fuzz/properties/list.h"
#include "oracle/binding.h"
#include "oracle/call_judge.h"
#include "oracle/dying_calls.h"

namespace lenz::fuzz {

namespace {
constexpr uint64_t kOpenEvery = 4;  // calls: the sizes of one are symbols

// The sizes that the call was drawn with: typical ones of symbols are greater, and took a third of the time. Nothing
// where the rules' guards say others.
std::string drawn_sizes(const Graph& open, const Graph& drawn) {
  oracle::Binding sizes;
  for (size_t i = 0; i < open.inputs().size(); ++i) {
    const Type &symbols = open.type(open.inputs()[i].value), &numbers = drawn.type(drawn.inputs()[i].value);
    for (size_t d = 0; symbols.is_tensor() && d < symbols.rank(); ++d)
      sizes.match(symbols.sizes()[d], numbers.sizes()[d].constant());
  }
  const SymValues at = sizes.lookup();
  const bool serves =
      std::ranges::all_of(open.assumptions.guards(), [&](const Cond& c) { return evaluate(c, at) == true; });
  return serves ? to_text(sizes, open) : std::string();
}

// At typical sizes: twice the product of all of them is too many.
bool is_small(const Graph& graph) {
  oracle::Binding sizes;
  complete(sizes, graph);
  const SymValues at = sizes.lookup();
  constexpr int64_t kMost = int64_t{1} << 16;
  for (ValueId v = 0; v < graph.value_count(); ++v)
    if (graph.type(v).is_tensor() && evaluate(numel(graph.type(v).sizes()), at).value_or(0) > kMost) return false;
  return true;
}

// As draw_call(), but of operands at the ends of their dtypes, of dims that end where vectors do, and into out= tensors
// of other dtypes: what the row's rule refuses of these is no call.
class AloneCalls final : public CallMaker {
 public:
  AloneCalls(Graph& graph, Chooser& choose, const OpDef& op)
      : CallMaker(graph, choose, op), fresh_(graph, choose, op) {}

  ValueId tensor(const TensorWish& wish) override {
    TensorWish whole = wish;
    if (!whole.dtype) whole.dtype = a_dtype(wish.dtypes.empty() ? op_.dtypes : wish.dtypes);
    if (whole.dtype && into_out_ && chooser_.chance(1, 4)) whole.dtype = CallMaker::a_dtype(op_.dtypes);
    if (!whole.sizes) whole.sizes = a_shape(wish.min_rank, wish.max_rank, wish.min_size);
    const ValueId v = fresh_.tensor(whole);
    // Where nothing is declared who reads it says what it may be.
    Initialiser& init = graph_.input(graph_.inputs().size() - 1).init;
    const bool meant = wish.integers || wish.permutation || wish.sorted;
    if (!meant && init.kind == Initialiser::integers && chooser_.below(3) != 0) init = {};
    return v;
  }
  Sizes a_shape(int min_rank, int max_rank, int64_t min_size) override {
    Sizes s = CallMaker::a_shape(min_rank, max_rank, min_size);
    constexpr int64_t kEdges[] = {16, 17, 31, 33, 64};
    if (!s.empty() && !std::exchange(at_an_edge_, true) && chooser_.below(4) == 3)
      s[chooser_.below(s.size())] = std::max(min_size, chooser_.pick(kEdges));
    return s;
  }
  // The one dtype without negatives comes oftener.
  Dtype a_dtype(DtypeSet set) override {
    return set.has(Dtype::u8) && chooser_.below(8) == 7 ? Dtype::u8 : CallMaker::a_dtype(set);
  }
  std::span<const Arg> finish_into_any() {
    into_out_ = true;
    return finish();
  }

 private:
  FreshCalls fresh_;
  bool into_out_ = false, at_an_edge_ = false;
};

DrawnCall drawn_call(const OpDef& op, Chooser& choose) {
  DrawnCall call{&op, std::make_unique<Graph>(std::make_shared<Context>(), op_table(), "call"), {}, {}};
  Graph& graph = *call.graph;
  AloneCalls maker(graph, choose, op);
  op.generate(maker);
  const std::span<const Arg> args = maker.finish_into_any();
  call.args.assign(args.begin(), args.end());
  for (size_t i = 0; i < args.size(); ++i)
    if (writes_operand(op, args, i))
      for_each_value(args[i], [&](ValueId v) {
        if (graph.value(v).producer == kNone) graph.input(graph.value(v).index).mutated = true;
      });
  return call;
}

// Null: none whose values anybody may ask for.
std::unique_ptr<Graph> drawn_alone(const OpDef& op, Chooser& choose, Setting& setting) {
  DrawnCall call = drawn_call(op, choose);
  if (eager_may_die(op, call) || oracle::too_large(call) || looks_into_gaps(*call.graph, op, call.args)) return nullptr;
  if (choose.below(kOpenEvery) == 0)
    if (auto open = with_symbolic_sizes(call)) {
      setting.sizes = drawn_sizes(*open, *call.graph);
      if (!setting.sizes.empty() || is_small(*open)) return open;
    }
  return as_graph(op, std::move(call));
}

std::optional<Failure> failing(std::string_view property, std::span<const OpDef* const> rows, const Setting& setting,
                               int calls, CaseRunner& runner) {
  const oracle::DyingCalls told_apart;  // of the least integer by -1
  RandomChooser choose(combine(setting.seed, hash_bytes(property)));
  for (int i = 0; i < calls; ++i) {
    const OpDef& op = *choose.pick(rows);
    Setting alone;
    alone.values = setting.values;
    alone.target = setting.target;
    alone.seed = choose.below(uint64_t{1} << 32);
    std::unique_ptr<Graph> graph;
    try {
      graph = drawn_alone(op, choose, alone);
    } catch (const UserError&) {  // drawn_calls asks for what rules refuse
    } catch (const Unsupported&) {
    }
    if (!graph || is_costly(op)) continue;
    if (auto failure = failure_of_drawn(property, op.full_name, *graph, alone, runner)) return failure;
  }
  return std::nullopt;
}

// Whose code is its own: others are made of these, or write as these do.
std::span<const OpDef* const> rows_with_code() {
  static const std::vector<const OpDef*> rows = [] {
    std::vector<const OpDef*> all;
    for (const OpDef* op : rows_that_are_drawn())
      if (op->variant == VariantKind::functional && !op->schema.mutates() && op->has(Trait::core)) all.push_back(op);
    return all;
  }();
  return rows;
}

}  // namespace

std::optional<Failure> call_that_fails(std::span<const OpDef* const> rows, const Setting& setting,
                                       const std::string& scratch, int calls) {
  // What rules, definitions and passes do wrong shows behind them, and of a definition that misleads the reference too
  // in what eager gives; blame() says where it began, but of texts.
  CaseRunner runner({find_property("text_round_trip"), find_property("loops_interpreted"), find_property("reference")},
                    scratch);
  return failing("rows_alone", rows, setting, calls, runner);
}

namespace {
constexpr int kCalls = 8;  // in each case: a row has modes and dtypes, and a fault in one of them

std::optional<Failure> holds(Subject& subject) {
  return call_that_fails(rows_that_are_drawn(), subject.setting(), subject.scratch(), kCalls);
}

// Code of a row meets ends of vectors, masks and special values in few of the graphs that are compiled: 5 ms each.
std::optional<Failure> code_holds(Subject& subject) {
  static const auto objects = std::make_shared<native::KeptObjects>();  // of all cases
  CaseRunner runner({find_property("machine_code")}, subject.scratch());
  runner.keep_objects(objects);
  return failing("code_alone", rows_with_code(), subject.setting(), 1, runner);
}
}  // namespace

Property code_alone() {
  return {.name = "code_alone",
          .contract = "calls that stand alone, of rows with loops of their own, hold as machine code",
          .holds = code_holds,
          .of_graph = true};
}

Property rows_alone() {
  return {.name = "rows_alone",
          .contract = "calls that stand alone, of rows by chance, hold through passes and loops",
          .holds = holds,
          .of_graph = true};
}

}  // namespace lenz::fuzz
