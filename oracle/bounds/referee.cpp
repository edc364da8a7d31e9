#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Functions.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>

#include <array>
#include <ranges>

#include "compiler/graph/alias.h"
#include "compiler/graph/drawing.h"
#include "compiler/graph/host_kernels.h"
#include "compiler/graph/rebuild.h"
#include "compiler/ops/decompose.h"
#include "compiler/ops/rules/reduction.h"
#include "compiler/scalar/scalar.h"
#include "oracle/aten.h"
#include "oracle/bounds/centred.h"
#include "oracle/bounds/each_call.h"
#include "oracle/bounds/eager_kernels.h"
#include "oracle/bounds/flow_parts.h"
#include "oracle/bounds/flows.h"
#include "oracle/bounds/folded_factors.h"
#include "oracle/bounds/noise.h"
#include "oracle/bounds/reference.h"
#include "oracle/bounds/rules.h"
#include "oracle/bounds/wide_storages.h"
#include "oracle/bounds/zeros_of_calls.h"
#include "oracle/kept_memory.h"
#include "oracle/random_machine.h"
#include "oracle/tensors.h"

namespace lenz::oracle {

namespace {
bool changes_dtype(const Call& call) {
  return !call.op->schema.returns_list() && !call.values.empty() && call.values[0] &&
         call.values[0]->value.isTensor() && call.types[0]->dtype != call.result_dtypes[0];
}
}  // namespace

struct Referee::Impl final : NodeMachine {
  Boxed& boxed;
  ExecuteOptions options;
  Widening widening;
  Draws draws;
  PlaneStore store;
  SharedBits shared;
  std::set<std::string> unbounded, excused;
  std::optional<LenzRandom> stream;
  bool sizes_open = false;     // a size that only the run knows may be another
  bool refusals_open = false;  // as Reference has it
  size_t lines = 0;            // printed while no truth was uncertain
  bool undecided = false;      // a predicate of control flow is open: whatever follows may be otherwise

  std::optional<uint64_t> noise;

  Impl(Boxed& b, ExecuteOptions o, Widening w, Draws d, std::optional<uint64_t> n)
      : boxed(b), options(std::move(o)), widening(w), draws(d), noise(n) {
    if (draws == Draws::lenz) stream.emplace(boxed);
    if (noise) noise_source_ = at::detail::createCPUGenerator(*noise);
  }

  bool widens() const override { return true; }
  void seed(uint64_t ambient) override {
    if (stream) return stream->seed(ambient);
    boxed.seed(ambient);
  }

  RunValue constant(const ConstantData& data, const std::string& folder) override {
    return WideStorages().widen(constant_tensor(data, folder));
  }
  RunValue copied(const RunValue& tensor) override {
    RunValue made = detached_copy(tensor);
    store.carry(store.read(tensor->value.toTensor()), made->value.toTensor());
    return made;
  }
  RunValue placed(const RunValue& tensor, const Type& like, const SymValues& symbols) override {
    RunValue made = oracle::placed(tensor, like, symbols);
    store.carry(store.read(tensor->value.toTensor()), made->value.toTensor());
    return made;
  }
  void become(const RunValue&, const RunValue&) override {
    throw Unsupported("a reference for an input that gets another size at the end");
  }
  RunValue stacked(std::span<const RunValue> tensors, const Type& like, const SymValues& symbols) override {
    RunValue made = oracle::stacked(tensors, like, symbols);
    if (tensors.empty()) return WideStorages().widen(made);
    for (size_t i = 0; i < tensors.size(); ++i) {
      Planes p = store.read(tensors[i]->value.toTensor());
      store.write(made->value.toTensor().select(0, static_cast<int64_t>(i)), p.error, p.ambiguous, p.lean);
      if (p.loose_zeros) store.loosen_zeros(made->value.toTensor());
    }
    return made;
  }
  bool truth(const RunValue& predicate) override {
    if (predicate && predicate->value.isTensor() && !store.certain(predicate->value.toTensor())) undecided = true;
    return truth_of(predicate);
  }
  bool holds(const RunValue& condition) override {
    const bool open = condition && condition->value.isTensor() && !store.certain(condition->value.toTensor());
    refusals_open = refusals_open || open;
    return truth_of(condition);
  }
  void prints() override { lines += undecided ? 0 : 1; }
  // Also what is handed on as it is, or was made before the last truth was asked for.
  void chosen(std::span<const RunValue> results) override {
    if (FlowContext in = context(); undecided) mark_unknown(in, results);
  }

  void run(const Graph& graph, const Node& node, std::span<const RunValue> values, const SymValues& symbols,
           Outcome& out) override {
    at::NoGradGuard no_grad;
    at::AutoDispatchBelowADInplaceOrView below;  // nor is asked at each of its own calls
    Call call(graph, node, values, symbols);
    if (noise) turn_signs_of_nan(call);
    std::vector<Dtype> dtypes = call.result_dtypes;
    if (FlowContext in = context(); may_refuse_others(in, call)) refusals_open = true;
    std::set<std::string> earlier = std::exchange(unbounded, {});
    out = run_call(call, dtypes);
    sizes_open = sizes_open || (flow::may_make_sizes(*node.op) && !unbounded.empty());
    unbounded.merge(earlier);
    lay_as_claimed(graph, node, call, symbols, out);
    if (noise && !out.raised && rounds(*node.op)) add_noise(noise_source_, values, graph, node, dtypes, out);
    for (const RunValue& r : out.results)  // an integer or a truth that may be another
      undecided = undecided || (r && !r->value.isDouble() && store.number_error(r) > 0);
    if (!out.raised) chosen(out.results);
    store.collect();
  }

 private:
  FlowContext context() {
    return {.boxed = boxed,
            .store = store,
            .unbounded = unbounded,
            .shared = shared,
            .excused = excused,
            .stream = stream ? &*stream : nullptr,
            .of_eager = widening == Widening::bounds_of_eager,
            .errors = widening != Widening::values_only,
            .in_storage = in_storage_,
            .running_mean = averages_,
            .formula = formula_};
  }

  // A kernel of float64 may lay its results in another way than the one of the graph's dtype, on whose strides the
  // views behind it count (a look at bits on the last one, of one element too).
  void lay_as_claimed(const Graph& graph, const Node& node, const Call& call, const SymValues& symbols, Outcome& out) {
    for (uint16_t i = 0; !out.raised && i < node.result_count && i < out.results.size(); ++i)
      out.results[i] = laid_as(graph.type(node.result(i)), out.results[i], call, symbols);
  }
  RunValue laid_as(const Type& claimed, const RunValue& result, const Call& call, const SymValues& symbols) {
    if (result && result->value.isTensorList() && claimed.kind == TypeKind::list) {
      std::vector<RunValue> items;
      for (const Type* type : claimed.elements())
        items.push_back(laid_as(*type, element(result, static_cast<int64_t>(items.size())), call, symbols));
      return list_of(items);
    }
    if (!claimed.is_tensor() || !result || !result->value.isTensor()) return result;
    const at::Tensor& made = result->value.toTensor();
    bool elsewhere = false, known = evaluate(claimed.offset, symbols).has_value();
    for (int64_t d = 0; d < made.dim() && made.numel() > 0; ++d) {
      auto stride = evaluate(claimed.strides()[static_cast<size_t>(d)], symbols);
      known = known && stride.has_value();
      elsewhere = elsewhere || ((made.size(d) > 1 || d + 1 == made.dim()) && stride != made.stride(d));
    }
    for (const at::Tensor& operand : leaves(call.values))
      elsewhere = elsewhere && !operand.is_alias_of(made);  // a view lies where it lies
    return elsewhere && known ? placed(result, claimed, symbols) : result;
  }

  Outcome run_call(const Call& call, std::vector<Dtype>& dtypes) {
    // What is written over is looked at before.
    bool promised = keeps_zero_signs(store, call);
    const bool functional = call.op->variant == VariantKind::functional;
    if (!promised && !functional) promised = zeros_are_positive(store, call);
    Outcome out = run_unsigned(call, dtypes);
    if (out.raised) return out;
    std::vector<at::Tensor> written = written_by(call);
    if (loses_numbers(call)) {
      FlowContext in = context();
      unbounded.insert(call.op->full_name + ": of a number that may be another");
      mark_unknown(in, out.results);
      for (const at::Tensor& t : written) mark_unknown(in, std::array{hold(t)});
    }
    for (const at::Tensor& t : written) {
      if (call.op->variant != VariantKind::functional) continue;
      store.may_be_any(t);
    }
    std::vector<at::Tensor> made = leaves(out.results);
    made.insert(made.end(), written.begin(), written.end());
    const auto loose = [&](const at::Tensor& t) { return !promised && may_hold_zero(store.read(t)); };
    if (functional && std::ranges::any_of(made, loose)) promised = written.empty() && zeros_are_positive(store, call);
    for (const at::Tensor& t : made)
      if (loose(t)) store.loosen_zeros(t);
    for (const at::Tensor& t : written) shared.written(store, t);
    return out;
  }

  // Whether a number among the arguments may be another, and no rule asks by how much: primitives' alone do. A variant
  // that writes asks what it is made of.
  bool loses_numbers(const Call& call) const {
    const OpDef& op = *call.op;
    if (!op.each && !op.redefined() && (op.variant != VariantKind::functional || is_scalar_row(op))) return false;
    return std::ranges::any_of(call.numbers, [&](const auto& n) { return store.number_error(n.second) > 0; });
  }

  // Who lowers an op without a sampling of its own draws as its definition does, and leaves the stream where that does;
  // and draws nothing where that draws nothing.
  bool draws_by_definition(const Call& call) const {
    const OpDef& row = call.op->base ? *call.op->base : *call.op;
    return !has_sampling(row) && !row.decompose.empty() && (stream || !definition_draws(call));
  }

  // `dtypes`: of the results in the graph's own terms; a variant that writes may compute in another one first.
  Outcome run_unsigned(const Call& call, std::vector<Dtype>& dtypes) {
    const OpDef& op = *call.op;
    FlowContext in = context();
    if (op.has(Trait::random) && !draws_by_definition(call)) return flow_random(in, call);
    if (op.each) return run_each(call);
    if (op.variant != VariantKind::functional) return run_writing(call);
    bool bits = op.has(Trait::movement) && op.schema.find("dtype") >= 0;
    if (op.has(Trait::view) && !bits) return call.run_widened(boxed);
    if (const std::optional<Call> wide = in_wide_dtypes(call)) return run_wide_steps(call, *wide);
    Outcome out = run_functional(call, dtypes);
    if (!out.raised && eager_adds_more(call) && in.errors && !computed_wider(call, dtypes))
      add_steps_of_eager(call, out);
    return out;
  }

  // The steps in f32, their results rounded once.
  Outcome run_wide_steps(const Call& call, const Call& wide) {
    std::vector<Dtype> made = wide.result_dtypes;
    Outcome out = run_unsigned(wide, made);
    if (out.raised) return out;
    FlowContext in = context();
    for (size_t i = 0; i < out.results.size(); ++i) {
      const at::Tensor& result = out.results[i]->value.toTensor();
      if (made[i] != call.result_dtypes[i])
        assign(in, result, store.read(result), made[i], call.result_dtypes[i], false);
    }
    if (formula_ == Formula::given && in.of_eager && any_operand_at_range_end(call)) excuse_definition(in, call, out);
    return out;
  }

  // Narrow floats of a pointwise op eager computes in f32, whose last places are nothing beside theirs.
  static bool computed_wider(const Call& call, std::span<const Dtype> made) {
    return call.op->has(Trait::elementwise) && call.op->flow.in_storage.empty() && !made.empty() &&
           is_reduced_float(made[0]);
  }

  // What the op's steps add by themselves, as many times more as eager's do: what operands bring does not grow by that.
  void add_steps_of_eager(const Call& call, const Outcome& out) {
    FlowContext in = context();
    Outcome steps = out;
    if (any_error(in, call.values)) {
      Call certain = call;
      for (RunValue& v : certain.values)
        if (v && v->value.isTensor()) v = hold(v->value.toTensor().clone());  // whose errors nobody knows of
      std::vector<Dtype> dtypes = call.result_dtypes;
      steps = run_functional(certain, dtypes);
    }
    grow_errors(in, call, out, steps, call.op->flow.eager - 1);
  }

  static bool mixes_dtypes(const Call& call) {
    bool mixes = false;
    for (const Arg& a : call.args)
      for_each_value(a, [&](ValueId v) {
        const Type& t = *call.types[v];
        if (!t.is_tensor() || call.result_dtypes.empty() || t.dtype == call.result_dtypes[0]) return;
        // Integers that indices are none of round too, where they have more digits.
        mixes |= is_inexact(t.dtype) ||
                 (t.dtype == Dtype::i64 && is_inexact(call.result_dtypes[0]) && !call.op->has(Trait::indexing));
      });
    return mixes;
  }

  Outcome run_functional(const Call& given, std::vector<Dtype>& dtypes) {
    const std::optional<Call> read = without_ignored(given);
    const Call& call = read ? *read : given;
    const OpDef& op = *call.op;
    FlowContext in = context();
    if (const ScalarRow* row = op.scalar.empty() ? nullptr : find_scalar(op.scalar)) {
      auto flow = [&](FlowContext& context, const Call& c) { return flow_elementwise(context, c, dtypes[0]); };
      // Of what hangs on the very number, such as the next one, the middle of its interval tells nothing.
      if (row->error.rule == ErrorRule::unbounded || (in.of_eager && !row->eager.exceptions.empty()))
        return flow(in, call);
      return flow_about_middles(in, with_settled_numbers(in, call, *row), flow);
    }
    // A move between dtypes rounds, which its definition shows.
    bool moves = op.has(Trait::movement) && !mixes_dtypes(call);
    // Of equal elements a definition names the one that it finds, and the op may name another.
    bool defined = op.flow.kind == ErrorFlow::by_traits && !op.decompose.empty() && !op.flow.ties_open;
    if (defined && !moves) return run_definition(call, dtypes);
    bool copy = op.has(Trait::maybe_view) || op.has(Trait::elementwise);
    if (copy && op.accuracy == Accuracy::exact && dtypes.size() == 1 && changes_dtype(call))
      return flow_about_middles(in, call, flow_converted);
    const Rule rule = rule_for(call);
    if (rule == flow_moved || rule == flow_positive || rule == flow_monotone) return flow_about_middles(in, call, rule);
    return rule(in, call);
  }

  // The functional row, then a copy into the tensors that the variant writes to.
  Outcome run_writing(const Call& call) {
    const OpDef& op = *call.op;
    FlowContext in = context();
    Call functional = call.functional();
    std::vector<RunValue> targets;
    std::vector<Dtype> target_dtypes;
    for (size_t i = 0; i < call.args.size(); ++i) {
      bool writes = op.variant == VariantKind::in_place ? i == 0 : op.schema.params[i].is_out;
      if (!writes) continue;
      for_each_value(call.args[i], [&](ValueId v) {
        targets.push_back(call.values[v]);
        const Type& type = *call.types[v];
        if (type.is_tensor()) target_dtypes.push_back(type.dtype);
        if (type.kind == TypeKind::list)
          for (const Type* e : type.elements()) target_dtypes.push_back(e->dtype);
      });
    }
    // None: that of the tensor that is written to. A norm's is the result's own, a real one of what is complex.
    int dtype = op.base->schema.find("dtype");
    const bool norm = op.schema.packet.find("norm") != std::string_view::npos;  // op name: no trait tells norms
    if (op.variant == VariantKind::out && dtype >= 0 && !target_dtypes.empty() && !norm)
      if (Arg& told = functional.args[static_cast<size_t>(dtype)]; told.is_none())
        told = Arg::of_dtype(target_dtypes[0]);
    if (target_dtypes.empty()) target_dtypes.push_back(Dtype::i64);  // lists of nothing
    if (op.variant == VariantKind::out && rule::asks_what_it_writes(*op.base, target_dtypes[0]) &&
        functional.values[functional.args[0].value()]->value.toTensor().numel() != 1) {
      std::vector<Dtype> bytes = {target_dtypes[0]};
      const Outcome converted = run_call(functional.conversion(0, bytes[0]), bytes);
      if (converted.raised) return converted;
      functional = functional.with_converted(0, bytes[0], converted.results[0]);
    }
    functional.result_dtypes = target_dtypes;
    std::vector<Dtype> made_dtypes = target_dtypes;
    if (op.redefined()) functional.op = &op;
    Outcome out = op.redefined() ? run_definition(functional, made_dtypes) : run_call(functional, made_dtypes);
    if (out.raised) return out;
    std::vector<at::Tensor> made = leaves(out.results), shown = leaves(targets);
    for (size_t i = 0; i < shown.size() && i < made.size(); ++i)
      assign(in, shown[i], store.read(made[i]), made_dtypes[std::min(i, made_dtypes.size() - 1)],
             target_dtypes[std::min(i, target_dtypes.size() - 1)], op.variant == VariantKind::out);
    out.results.clear();
    if (!op.schema.returns.empty()) out.results = targets;
    return out;
  }

  // A row over lists, element by element.
  Outcome run_each(const Call& call) {
    Outcome out;
    std::vector<RunValue> made;
    std::vector<Dtype> made_dtypes;  // of an element that is narrower than what it meets: another one than its own
    for (size_t k = 0, count = elements_of_lists(call); k < count; ++k) {
      ElementCall one = element_call(call, k, store);
      if (one.refused) return *std::move(one.refused);
      std::vector<Dtype> dtypes = one.call.result_dtypes;
      try {
        out = run_call(one.call, dtypes);
      } catch (const UserError& refused) {  // a number that only the run knows, which eager raises at
        return {.raised = true, .text = refused.message(), .results = {}};
      }
      if (out.raised) return out;
      if (FlowContext in = context(); one.open && in.errors) mark_unknown(in, out.results);
      made.push_back(out.results[0]);
      made_dtypes.push_back(dtypes[0]);
    }
    if (call.op->variant == VariantKind::out) write_lists(call, made, made_dtypes);
    out.results.clear();
    if (!call.op->schema.returns.empty()) out.results.push_back(list_of(made));
    return out;
  }

  void write_lists(const Call& call, std::span<const RunValue> made, std::span<const Dtype> made_dtypes) {
    FlowContext in = context();
    for (size_t i = 0; i < call.args.size(); ++i) {
      if (!call.op->schema.params[i].is_out) continue;
      size_t k = 0;
      for_each_value(call.args[i], [&](ValueId v) {
        const Type& type = *call.types[v];
        size_t at = 0;
        for (const at::Tensor& target : leaves({&call.values[v], 1})) {
          const Dtype to = type.is_tensor() ? type.dtype : type.elements()[at++]->dtype;
          assign(in, target, store.read(made[k]->value.toTensor()), made_dtypes[k], to, true);
          ++k;
        }
      });
    }
  }

  static bool any_far(const Outcome& out, std::span<const Dtype> dtypes) {
    const std::vector<at::Tensor> made = leaves(out.results);
    for (size_t i = 0; i < made.size() && !dtypes.empty(); ++i)
      if ((made[i].is_floating_point() || made[i].is_complex()) &&
          at::any(at_range_end(made[i], dtypes[std::min(i, dtypes.size() - 1)])).item<bool>())
        return true;
    return false;
  }

  // A call that writes to its operands, with copies of them that lie as they do: its kernel is run once they are
  // written to.
  std::optional<Call> kept_if_written(const Call& call) const {
    bool writes = false;
    for (size_t i = 0; i < call.args.size(); ++i) writes = writes || writes_operand(*call.op, call.args, i);
    if (!writes || widening != Widening::bounds_of_eager) return std::nullopt;
    Call kept = call;
    kept.values = copied_as_laid(call);
    return kept;
  }

  // Whether a step's sum is divided by a number, for a mean that eager may take term by term: not where nothing but the
  // mean is asked for.
  bool makes_a_running_mean(const Graph& definition, const Node& sum, std::span<const Arg> results,
                            Formula around) const {
    bool found = false;
    definition.for_each_node([&](NodeId id) {
      const Node& user = definition.node(id);
      if (user.arg_count < 2 || !(user.args[0] == Arg::of_value(sum.result())) || user.args[1].is_value()) return;
      const ScalarRow* row = user.op->scalar.empty() ? nullptr : find_scalar(user.op->scalar);
      const bool asked = results.size() == 1 && results[0] == Arg::of_value(user.result());
      found = found || (row && row->error.rule == ErrorRule::quotient && (around != Formula::given || !asked));
    });
    return found && widening == Widening::bounds_of_eager;
  }

  // What a composite means: its definition, node by node.
  Outcome run_definition(const Call& call, std::vector<Dtype>& dtypes) {
    const std::optional<Call> before = formula_ != Formula::given ? std::nullopt : kept_if_written(call);
    if (formula_ == Formula::given)
      far_step_ =
          widening == Widening::bounds_of_eager && call.op->has(Trait::elementwise) && any_operand_at_range_end(call);
    Graph scratch(call.graph->shared_context(), call.graph->ops(), "definition");
    // In numbers: a definition that is open to other sizes may be another one.
    auto number = [&](Dim d) {
      const auto known = evaluate(d, *call.symbols);
      return known ? Dim(*known) : d;
    };
    for (size_t v = 0; v < call.values.size(); ++v)
      scratch.add_input({}, with_dims(scratch.context(), *call.types[v], number));
    SmallVec<Arg, 12> args;
    for (const Arg& a : call.args) args.push_back(with_dims(scratch.context(), a, number));
    Outcome failed;
    SmallVec<Arg, 4> results;
    try {
      results = expand(scratch, kNone, *call.op, args);
      write_results(scratch, results, call.result_dtypes);
    } catch (const UserError& refusal) {
      if (call.numbers.empty()) throw;  // a definition that is none for these dtypes says nothing of what eager takes
      failed.raised = true;
      failed.text = refusal.message();
      return failed;
    }
    std::vector<RunValue> values(scratch.value_count());
    std::copy(call.values.begin(), call.values.end(), values.begin());
    bool outside = in_storage_;
    in_storage_ = in_storage_ || (!call.op->flow.in_storage.empty() && sums_in_storage(call));
    const Formula around = formula_;
    const bool stores = around == Formula::stored || in_storage_ || call.op->flow.stores_steps;
    // A variant that is defined otherwise than its row is defined by the very steps that eager takes.
    if (!call.op->redefined() && !(around == Formula::given && rounds_once(scratch)))
      formula_ = stores ? Formula::stored : Formula::computed;
    scratch.for_each_node([&](NodeId id) {
      if (failed.raised) return;
      const Node& node = scratch.node(id);
      if (node.op->has(Trait::structural)) {  // an element of a list
        values[node.result()] = element(values[node.args[0].value()], node.args[1].dim().constant());
        return;
      }
      Call inner(scratch, node, values, *call.symbols);
      std::vector<Dtype> made = inner.result_dtypes;
      averages_ = makes_a_running_mean(scratch, node, results, around);
      const Formula step = std::exchange(formula_, begins_with(*call.op, node) ? Formula::given : formula_);
      Outcome out = run_call(inner, made);
      formula_ = step;
      averages_ = false;
      if (FlowContext in = context(); in.errors && call.op->has(Trait::contraction)) allow_bias_first(in, inner, out);
      lay_as_claimed(scratch, node, inner, *call.symbols, out);
      if (out.raised) {
        failed = std::move(out);
        return;
      }
      for (uint16_t i = 0; i < node.result_count; ++i) values[node.result(i)] = out.results[i];
      far_step_ = far_step_ || (widening == Widening::bounds_of_eager && any_far(out, made));
    });
    in_storage_ = outside;
    formula_ = around;
    if (failed.raised) return failed;
    Outcome out;
    dtypes.clear();
    for (const Arg& r : results) {
      dtypes.push_back(r.is_value() && scratch.type(r.value()).is_tensor() ? scratch.type(r.value()).dtype
                                                                           : Dtype::i64);
      if (r.is_value()) {
        out.results.push_back(values[r.value()]);
      } else {
        std::vector<RunValue> items;
        for_each_value(r, [&](ValueId v) { items.push_back(values[v]); });
        out.results.push_back(list_of(items));
      }
    }
    // Who leaves an op whole to a host has the host's kernel, with what that loses of NaN.
    const bool hosts = widening != Widening::values_only && is_attention(*call.op);
    // What draws its kernel would draw once more.
    if ((far_step_ || hosts) && formula_ == Formula::given && !draws_numbers(*call.op, call.args)) {
      FlowContext in = context();
      excuse_definition(in, before ? *before : call, out);
    }
    if (FlowContext in = context(); in.errors) allow_folding(in, call, out);
    return out;
  }

  at::Generator noise_source_;
  bool in_storage_ = false;
  bool averages_ = false;  // the step at hand is a mean's sum
  Formula formula_ = Formula::given;
  bool far_step_ = false;  // of the outermost definition

 public:
  Bounded bounded(const RunValue& v, const Type& type) const {
    Bounded b;
    b.value = v;
    if (type.is_tensor()) b.dtype = type.dtype;
    if (v && v->value.isTensor() && v->value.toTensor().defined()) tell(store.read(v->value.toTensor()), b);
    if (v && (v->value.isDouble() || v->value.isInt() || v->value.isBool()))
      b.number_error = undecided ? HUGE_VAL : store.number_error(v);
    if (v && v->value.isTensorList())
      for (size_t i = 0; i < type.elements().size(); ++i)
        b.elements.push_back(bounded(element(v, static_cast<int64_t>(i)), *type.elements()[i]));
    return b;
  }
};

Referee::Referee(Boxed& boxed, ExecuteOptions options, Widening widening, Draws draws, std::optional<uint64_t> noise)
    : impl_(std::make_unique<Impl>(boxed, std::move(options), widening, draws, noise)) {}
Referee::~Referee() = default;

namespace {
struct SeenEnough {};
}  // namespace

Reference Referee::run(const Graph& graph, std::span<const RunValue> inputs, const Binding& binding,
                       const Observe& observe) {
  const KeepMemory kept;  // planes come and go, and pages that are there already are half of the time
  auto out_of_memory = [&](const char* what) {
    Reference r;
    r.ending = Ending::out_of_memory;
    r.text = std::string(what).substr(0, std::string(what).find('\n'));
    r.where = "the reference of @" + graph.name;
    return r;
  };
  try {  // its own tensors are more and wider than eager's
    return run_within_memory(graph, inputs, binding, observe);
  } catch (const SeenEnough&) {
    return {};
  } catch (const c10::Error& error) {
    if (!Outcome::says_no_memory(error.what())) throw;
    return out_of_memory(error.what());
  } catch (const std::bad_alloc&) {
    return out_of_memory("the process has no memory left");
  }
}

Reference Referee::run_within_memory(const Graph& graph, std::span<const RunValue> inputs, const Binding& binding,
                                     const Observe& observe) {
  Impl run(impl_->boxed, impl_->options, impl_->widening, impl_->draws, impl_->noise);
  if (observe)
    run.options.on_node = [&](NodeId node, std::span<const RunValue> results) {
      std::vector<Bounded> seen;
      for (size_t i = 0; i < results.size(); ++i)
        seen.push_back(run.bounded(results[i], graph.type(graph.node(node).result(static_cast<uint16_t>(i)))));
      if (!observe(seen)) throw SeenEnough();
    };
  WideStorages wide(&run.shared);
  std::vector<RunValue> widened_inputs;
  for (const RunValue& v : inputs) widened_inputs.push_back(wide.widen(v));
  Execution e = Executor(run, run.options).run(graph, widened_inputs, binding);
  Reference r;
  r.ending = e.ending;
  r.text = e.text;
  r.where = e.where;
  r.unbounded.assign(run.unbounded.begin(), run.unbounded.end());
  r.excused.assign(run.excused.begin(), run.excused.end());
  r.sizes_open = run.sizes_open || run.undecided;
  r.refusals_open = run.refusals_open || run.undecided;
  r.lines = run.lines;
  if (run.undecided) r.lines_certain = run.lines;
  r.zero_signs_open = run.store.loosened();
  r.choices = run.store.choices();
  const Type nothing{};
  for (size_t i = 0; i < e.outputs.size(); ++i) {
    const Arg& a = graph.outputs()[i];
    r.outputs.push_back(run.bounded(e.outputs[i], a.is_value() ? graph.type(a.value()) : nothing));
  }
  for (size_t i = 0; i < e.inputs.size(); ++i)
    r.inputs.push_back(run.bounded(e.inputs[i], graph.type(graph.inputs()[i].value)));
  return r;
}

}  // namespace lenz::oracle
