// One nest, run point by point: everything that its points share is worked out before the first.
#include <algorithm>
#include <cmath>

#include "compiler/base/sym_compiled.h"
#include "compiler/loops/run_state.h"

namespace lenz::loops {

namespace {

// `settled`, with what most values are at hand.
ScalarValue rounded_into(Dtype dtype, const ScalarValue& value) {
  if (dtype == Dtype::f32) {
    const double real = value.real();
    return std::isnan(real) ? ScalarValue(real) : ScalarValue(static_cast<double>(static_cast<float>(real)));
  }
  return dtype == Dtype::f64 || dtype == Dtype::i64 ? value : settled(dtype, value);
}

class NestMachine {
 public:
  NestMachine(const Nest& nest, const Program& program, Memory& memory, Symbols& symbols, const RandomStream& ambient,
              uint32_t run, Counters& counters)
      : nest_(nest),
        program_(program),
        memory_(memory),
        symbols_(symbols),
        ambient_(ambient),
        run_(run),
        total_(counters),
        values_(nest.body.size()),
        states_(nest.body.size()),
        levels_(nest.body.size()) {
    add_axes();
    steps_.reserve(nest.body.size());
    for (Ssa i = 0; i < nest.body.size(); ++i) add_step(i);
    for (const Store& store : nest.stores) add_store(store);
    leave_out_unasked();
    env_ = symbols.data();
  }
  ~NestMachine() {
    total_ += counters_;
    symbols_.unbind_all(&nest_);
  }
  NestMachine(const NestMachine&) = delete;
  NestMachine& operator=(const NestMachine&) = delete;

  void run() {
    walk(outer_axes_, [&] {
      for (const Step* step : outer_steps_) perform(*step);
      for (const Step* step : combining_) states_[step->at] = identity(step->instr->combine, step->instr->dtype);
      walk(inner_axes_, [&] {
        ++counters_.points;
        for (const Step* step : inner_steps_) perform(*step);
        for (const Step* step : reduces_) take_in(*step);
        for (const Write& write : writes_) perform(write);
      });
      for (const Step* step : late_steps_) perform(*step);
      for (const Write& write : late_writes_) perform(write);
    });
  }

 private:
  // When a value is computed: once for each point of the parallel axes, at each point of all axes, or, as it depends on
  // a reduce, after them.
  enum class Level : uint8_t { outer, inner, late };

  struct Loop {
    uint32_t slot;
    int64_t extent;
  };
  struct Access {
    BufferId buffer = kNone;
    Window window;
    std::vector<CompiledDim> index;
    // Where coordinates are linear in axes, and inside at every point: the address, which nothing needs to be asked of.
    bool inside = false;
    int64_t base = 0;
    std::vector<CompiledDim::Term> terms;
  };
  struct Step {
    const Instr* instr = nullptr;
    Ssa at = kNone;
    Evaluator evaluate = nullptr;      // scalar; reduce and scan whose combine is a primitive
    EvalContext context{};             // scalar
    bool flop = false;                 // counts as one
    Access access;                     // load
    std::optional<CompiledDim> index;  // index, draw; the extent of a position
    uint32_t slot = 0;                 // position
    RandomStream stream;               // draw
  };
  struct Write {
    const Store* store;
    Access access;
    std::optional<Combine> combine;  // with what is there
  };

  // --- before the first point

  void add_axes() {
    bool reduces = false, scans = false;
    for (const Axis& axis : nest_.axes) {
      const int64_t extent = symbols_.value(axis.extent);
      LENZ_CHECK(extent >= 0, "the extent of axis '" + to_string(axis.symbol) + "' is negative");
      symbols_.bind(axis.symbol, 0, &nest_);
      const bool inner = axis.kind != AxisKind::parallel;
      reduces = reduces || axis.kind == AxisKind::reduction;
      scans = scans || axis.kind == AxisKind::scan;
      (inner ? inner_axes_ : outer_axes_).push_back({symbol_id(axis.symbol.node()), extent});
      symbol_levels_.emplace_back(axis.symbol.node(), inner ? Level::inner : Level::outer);
    }
    LENZ_CHECK(!reduces || !scans, "reduction and scan axes in one nest");
  }

  // The level of what depends on these; a value of one point of a reduction means nothing after it.
  struct Needs {
    bool inner = false, late = false;
    void add(Level level) {
      inner = inner || level == Level::inner;
      late = late || level == Level::late;
    }
    Level level() const {
      LENZ_CHECK(!inner || !late, "a value of a reduction's points is used together with what it reduces to");
      return late ? Level::late : inner ? Level::inner : Level::outer;
    }
  };
  void need(Needs& needs, Ssa value) const {
    if (value != kNone) needs.add(levels_.at(value));
  }
  void need(Needs& needs, Dim dim) const {
    if (dim.is_constant()) return;
    for_each_symbol(dim, [&](const SymNode* symbol) {
      for (const auto& [known, level] : symbol_levels_)
        if (known == symbol) needs.add(level);
    });
  }

  CompiledDim compiled(Dim dim) const {
    return CompiledDim(dim, [&](const SymNode* symbol) -> std::optional<int64_t> {
      if (symbols_.bound_by(Dim(symbol), &nest_)) return std::nullopt;
      return symbols_.value(Dim(symbol));
    });
  }
  Access access(BufferId buffer, const DimVec& index, Window window) const {
    Access made;
    made.buffer = buffer;
    made.window = std::move(window);
    if (index.size() != made.window.tensor.rank())
      throw InternalError("buffer '" + memory_.buffer(buffer).name + "' of rank " +
                          std::to_string(made.window.tensor.rank()) + " is accessed with " +
                          std::to_string(index.size()) + " coordinates");
    made.index.reserve(index.size());
    for (Dim d : index) made.index.push_back(compiled(d));
    settle(made);
    return made;
  }

  std::optional<int64_t> extent_of(uint32_t slot) const {
    for (const auto* axes : {&outer_axes_, &inner_axes_})
      for (const Loop& axis : *axes)
        if (axis.slot == slot) return axis.extent;
    return std::nullopt;
  }

  // Finds out whether an access is inside at every point of the axes, by where each coordinate has its ends.
  void settle(Access& access) const {
    __extension__ typedef __int128 Wide;
    constexpr Wide kFar = Wide{1} << 61;  // sums of what lies nearer than that do not overflow, in any order
    const Tensor& tensor = access.window.tensor;
    Wide base = tensor.offset(), reach = 0;
    std::vector<CompiledDim::Term> terms;
    for (size_t i = 0; i < access.index.size(); ++i) {
      const CompiledDim& at = access.index[i];
      if (!at.is_linear()) return;
      Wide low = at.constant(), high = at.constant();
      base += Wide{at.constant()} * tensor.strides()[i];
      if (base < -kFar || base > kFar) return;
      for (const CompiledDim::Term& t : at.terms()) {
        const std::optional<int64_t> extent = extent_of(t.slot);
        if (!extent) return;
        const Wide last = Wide{t.coefficient} * std::max<int64_t>(*extent - 1, 0);
        (last < 0 ? low : high) += last;
        if (low < -kFar || high > kFar) return;
        const Wide step = last * tensor.strides()[i];
        reach += step < 0 ? -step : step;
        if (reach > kFar) return;
        const Wide coefficient = Wide{t.coefficient} * tensor.strides()[i];
        if (coefficient > kFar || coefficient < -kFar) return;
        const auto same = std::ranges::find(terms, t.slot, &CompiledDim::Term::slot);
        if (same == terms.end())
          terms.push_back({static_cast<int64_t>(coefficient), t.slot});
        else if (__builtin_add_overflow(same->coefficient, static_cast<int64_t>(coefficient), &same->coefficient))
          return;
      }
      if (low < 0 || high >= tensor.sizes()[i]) return;
    }
    access.inside = true;
    access.base = static_cast<int64_t>(base);
    access.terms = std::move(terms);
  }

  void add_step(Ssa at) {
    const Instr& instr = nest_.body[at];
    Step& step = steps_.emplace_back();
    step.instr = &instr;
    step.at = at;
    Needs needs;
    for (Ssa operand : instr.operands) {
      LENZ_CHECK(operand < at, "an instruction uses a later one");
      need(needs, operand);
    }
    need(needs, instr.mask);
    for (Dim d : instr.index) need(needs, d);
    Level level = instr.kind == InstrKind::scan ? Level::inner : needs.level();
    switch (instr.kind) {
      case InstrKind::constant: values_[at] = settled(arithmetic_dtype(instr.dtype), instr.value); return;
      case InstrKind::index: step.index = compiled(instr.index[0]); break;
      case InstrKind::load:
        LENZ_CHECK(instr.dtype == memory_.buffer(instr.buffer).type.dtype, "a load has another dtype than its buffer");
        step.access = access(instr.buffer, instr.index, memory_.readable(instr.buffer));
        break;
      case InstrKind::scalar: prepare_scalar(step); break;
      case InstrKind::position:
        symbols_.bind(instr.symbol, 0, &nest_);
        symbol_levels_.emplace_back(instr.symbol.node(), level);
        step.slot = symbol_id(instr.symbol.node());
        step.index = compiled(instr.extent);
        break;
      case InstrKind::reduce:
        LENZ_CHECK(level != Level::late, "a reduce of what another one gives");
        level = Level::late;
        reduces_.push_back(&step);
        prepare_combine(step);
        break;
      case InstrKind::scan:
        LENZ_CHECK(!needs.late, "a scan of what a reduce gives");
        prepare_combine(step);
        break;
      case InstrKind::part: break;
      case InstrKind::draw: {
        const Stream& stream = program_.streams.at(instr.stream);
        const auto offset = static_cast<uint64_t>(symbols_.value(stream.offset));
        step.stream =
            stream.seed ? RandomStream{*stream.seed, offset} : RandomStream{ambient_.seed, ambient_.offset + offset};
        step.index = compiled(instr.index[0]);
        step.flop = is_inexact(instr.dtype);
        break;
      }
    }
    levels_[at] = level;
    (level == Level::outer ? outer_steps_ : level == Level::inner ? inner_steps_ : late_steps_).push_back(&step);
  }

  void prepare_scalar(Step& step) const {
    const Instr& instr = *step.instr;
    LENZ_CHECK(static_cast<int>(instr.operands.size()) == instr.row->arity, "a scalar has another number of operands");
    step.evaluate = evaluator_of(*instr.row, instr.compute);
    step.context = {instr.compute, result_dtype(*instr.row, instr.compute, instr.dtype)};
    step.flop = is_inexact(instr.compute) && instr.row->result != ResultRule::boolean &&
                instr.row->result != ResultRule::target;
  }

  void prepare_combine(Step& step) {
    const Instr& instr = *step.instr;
    LENZ_CHECK(instr.operands.size() == row_of(instr.combine).operands, "a combine has another number of operands");
    if (const ScalarRow* row = primitive(instr.combine)) step.evaluate = evaluator_of(*row, instr.dtype);
    step.context = {instr.dtype, instr.dtype};
    step.flop = is_inexact(instr.dtype);
    combining_.push_back(&step);
  }

  void add_store(const Store& store) {
    LENZ_CHECK(nest_.body.at(store.value).dtype == memory_.buffer(store.buffer).type.dtype,
               "a store has another dtype than its buffer");
    Write write{&store, access(store.buffer, store.index, memory_.writable(store.buffer)), std::nullopt};
    for (const Step& step : steps_)
      if (step.access.window.tensor && step.access.window.tensor.storage() == write.access.window.tensor.storage() &&
          !(step.instr->buffer == store.buffer && step.instr->index == store.index))
        throw InternalError("buffer '" + memory_.buffer(store.buffer).name + "' is read and written");
    switch (store.mode) {
      case StoreMode::assign:
      case StoreMode::scatter: break;
      case StoreMode::add: write.combine = Combine::sum; break;
      case StoreMode::multiply: write.combine = Combine::product; break;
      case StoreMode::minimum: write.combine = Combine::minimum; break;
      case StoreMode::maximum: write.combine = Combine::maximum; break;
      case StoreMode::any: write.combine = Combine::any; break;
    }
    Needs needs;
    need(needs, store.value);
    need(needs, store.mask);
    for (Dim d : store.index) need(needs, d);
    (needs.level() == Level::late ? late_writes_ : writes_).push_back(std::move(write));
  }

  // Where the inner axes have no point, what only their points would ask for is not computed: it may have no place.
  void leave_out_unasked() {
    if (std::ranges::none_of(inner_axes_, [](const Loop& loop) { return loop.extent == 0; })) return;
    std::vector<bool> asked(nest_.body.size());
    auto ask = [&](Ssa value, const DimVec& index) {
      if (value != kNone) asked[value] = true;
      for (Dim d : index)
        for (const Step* step : outer_steps_)
          if (step->instr->kind == InstrKind::position && mentions(d, step->instr->symbol)) asked[step->at] = true;
    };
    for (const Write& write : late_writes_) {
      ask(write.store->value, write.store->index);
      ask(write.store->mask, {});
    }
    for (size_t i = steps_.size(); i-- > 0;) {
      const Step& step = steps_[i];
      if (levels_[step.at] == Level::inner || step.instr->kind == InstrKind::reduce) continue;
      if (levels_[step.at] == Level::outer && !asked[step.at]) continue;
      for (Ssa operand : step.instr->operands) ask(operand, {});
      ask(step.instr->mask, step.instr->index);
    }
    std::erase_if(outer_steps_, [&](const Step* step) { return !asked[step->at]; });
  }
  static bool mentions(Dim dim, Dim symbol) {
    bool found = false;
    if (!dim.is_constant()) for_each_symbol(dim, [&](const SymNode* s) { found |= s == symbol.node(); });
    return found;
  }

  // --- at a point

  template <class F>
  void walk(const std::vector<Loop>& loops, F&& body) {
    for (const Loop& loop : loops) {
      if (loop.extent == 0) return;
      env_[loop.slot] = 0;
    }
    for (;;) {
      body();
      size_t i = loops.size();
      while (i > 0 && ++env_[loops[i - 1].slot] == loops[i - 1].extent) env_[loops[--i].slot] = 0;
      if (i == 0) return;
    }
  }

  bool holds(Ssa mask) const { return mask == kNone || values_[mask].integer() != 0; }

  int64_t locate(const Access& access) const {
    if (access.inside) {
      int64_t address = access.base;
      for (const CompiledDim::Term& t : access.terms) address += t.coefficient * env_[t.slot];
      return address;
    }
    const Tensor& tensor = access.window.tensor;
    int64_t address = tensor.offset();
    for (size_t i = 0; i < access.index.size(); ++i) {
      const int64_t at = access.index[i](env_);
      if (at < 0 || at >= tensor.sizes()[i]) fail(access, "which is outside");
      address += at * tensor.strides()[i];
    }
    return address;
  }
  [[noreturn]] void fail(const Access& access, const std::string& what) const {
    Ints at;
    for (const CompiledDim& d : access.index) at.push_back(d(env_));
    throw InternalError("buffer '" + memory_.buffer(access.buffer).name + "' of sizes " +
                        to_string(access.window.tensor.sizes()) + " is accessed at " + to_string(at) + ", " + what);
  }

  ScalarValue read(const Access& access, int64_t address) {
    const Tensor& tensor = access.window.tensor;
    if (!access.window.written(address)) fail(access, "which nobody has written");
    ++counters_.loads;
    counters_.bytes += static_cast<uint64_t>(tensor.item_bytes());
    return read_element(tensor.dtype(), tensor.element(address));
  }

  void count(bool flop) {
    ++counters_.operations;
    counters_.flops += flop;
  }

  void take_in(const Step& step) {
    const Instr& instr = *step.instr;
    CombineState& state = states_[step.at];
    if (step.evaluate != nullptr) {
      const ScalarValue operands[2] = {state[0], values_[instr.operands[0]]};
      state[0] = rounded_into(instr.dtype, step.evaluate(step.context, operands));
    } else {
      ScalarValue operands[2];
      for (size_t i = 0; i < instr.operands.size(); ++i) operands[i] = values_[instr.operands[i]];
      state = combine(instr.combine, instr.dtype, state,
                      one(instr.combine, instr.dtype, std::span(operands, instr.operands.size())));
    }
    count(step.flop);
  }

  void perform(const Step& step) {
    const Instr& instr = *step.instr;
    ScalarValue& value = values_[step.at];
    switch (instr.kind) {
      case InstrKind::constant: return;
      case InstrKind::index: value = ScalarValue((*step.index)(env_)); return;
      case InstrKind::load:
        value = holds(instr.mask) ? read(step.access, locate(step.access)) : zero_of(instr.dtype);
        return;
      case InstrKind::scalar: {
        const Ssa* from = instr.operands.data();
        switch (instr.operands.size()) {
          case 1: value = rounded_into(instr.dtype, step.evaluate(step.context, &values_[from[0]])); break;
          case 2: {
            const ScalarValue operands[2] = {values_[from[0]], values_[from[1]]};
            value = rounded_into(instr.dtype, step.evaluate(step.context, operands));
            break;
          }
          default: {
            ScalarValue operands[3];
            for (size_t i = 0; i < instr.operands.size(); ++i) operands[i] = values_[from[i]];
            value = rounded_into(instr.dtype, step.evaluate(step.context, operands));
          }
        }
        return count(step.flop);
      }
      case InstrKind::position:
        env_[step.slot] = holds(instr.mask) ? position(step) : 0;
        value = ScalarValue(env_[step.slot]);
        return;
      case InstrKind::reduce: value = states_[step.at][0]; return;
      case InstrKind::scan:
        take_in(step);
        value = states_[step.at][0];
        return;
      case InstrKind::part: value = states_[instr.operands[0]].at(instr.part); return;
      case InstrKind::draw: value = settled(instr.dtype, drawn(step)); return count(step.flop);
    }
  }

  int64_t position(const Step& step) const {
    const Instr& instr = *step.instr;
    const int64_t at = values_[instr.operands[0]].integer(), extent = (*step.index)(env_);
    if (at >= extent || at < (instr.wraps ? -extent : 0))
      throw UserError("index " + std::to_string(at) + " is out of range for a dim of size " + std::to_string(extent));
    return at < 0 ? at + extent : at;
  }

  ScalarValue drawn(const Step& step) const {
    const auto element = static_cast<uint64_t>((*step.index)(env_));
    switch (step.instr->draw) {
      case DrawKind::word: return ScalarValue(int64_t{step.stream.word(element)});
      case DrawKind::signed_word: return ScalarValue(int64_t{step.stream.word(element)} - (int64_t{1} << 31));
      case DrawKind::wide_word: return ScalarValue(static_cast<int64_t>(step.stream.wide_word(element)));
      case DrawKind::uniform: return ScalarValue(step.stream.uniform(step.instr->dtype, element));
      case DrawKind::normal: return ScalarValue(step.stream.normal(Dtype::f32, element));
      case DrawKind::wide_normal: break;
    }
    return ScalarValue(step.stream.normal(Dtype::f64, element));
  }

  void perform(const Write& write) {
    if (!holds(write.store->mask)) return;
    const Tensor& tensor = write.access.window.tensor;
    const int64_t address = locate(write.access);
    uint32_t& stamp = write.access.window.stamp(address);
    const Dtype dtype = tensor.dtype();
    ScalarValue value = values_[write.store->value];
    if (write.store->mode == StoreMode::assign && stamp == run_) fail(write.access, "and assigned to twice");
    if (write.combine) {
      const CombineState there{read(write.access, address)};
      value = combine(*write.combine, dtype, there, {value})[0];
      count(is_inexact(dtype));
    }
    write_element(dtype, tensor.element(address), value);
    stamp = run_;
    ++counters_.stores;
    counters_.bytes += static_cast<uint64_t>(tensor.item_bytes());
  }

  const Nest& nest_;
  const Program& program_;
  Memory& memory_;
  Symbols& symbols_;
  const RandomStream& ambient_;
  const uint32_t run_;
  Counters& total_;
  Counters counters_;

  std::vector<Loop> outer_axes_, inner_axes_;
  std::vector<Step> steps_;
  std::vector<const Step*> outer_steps_, inner_steps_, late_steps_;
  std::vector<const Step*> reduces_, combining_;  // combining: reduces and scans
  std::vector<Write> writes_, late_writes_;
  std::vector<std::pair<const SymNode*, Level>> symbol_levels_;  // of axes and positions

  int64_t* env_ = nullptr;  // axes and positions, by symbol id
  std::vector<ScalarValue> values_;
  std::vector<CombineState> states_;  // of reduces and scans
  std::vector<Level> levels_;
};

}  // namespace

void run_nest(const Nest& nest, const Program& program, Memory& memory, Symbols& symbols, const RandomStream& ambient,
              uint32_t run, Counters& counters) {
  NestMachine(nest, program, memory, symbols, ambient, run, counters).run();
}

}  // namespace lenz::loops
