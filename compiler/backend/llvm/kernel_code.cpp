#include "compiler/backend/llvm/kernel_code.h"

#include <llvm/IR/IRBuilder.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>

#include "compiler/backend/llvm/combine_code.h"
#include "compiler/backend/llvm/dim_code.h"
#include "compiler/backend/llvm/ir.h"
#include "compiler/loops/index_algebra.h"

namespace lenz::native {

using loops::Axis;
using loops::AxisKind;
using loops::BufferId;
using loops::Instr;
using loops::InstrKind;
using loops::Nest;
using loops::Program;
using loops::Ssa;
using loops::Store;

namespace {

// A value of a nest's body: one for all lanes, or one for each.
struct Val {
  Lanes lanes;
  bool wide = false;
};

// One copy of a nest's body under construction.
struct Frame {
  std::vector<Val> values;
  std::map<Ssa, State> states;  // of reduces and scans, once they have values
  DimCode dims;
  llvm::Value* base = nullptr;  // of the axis that runs in lanes: its value in the first lane
  llvm::Value* mask = nullptr;  // lanes that there are; null: all
};

class KernelEmitter {
 public:
  KernelEmitter(CodeModule& module, const Compiler& compiler, const Program& program, const loops::Kernel& kernel)
      : ir_(module.ir()), target_(compiler.target()), program_(program), kernel_(kernel), b_(*ir_.context) {}

  KernelArguments run(std::string_view symbol) {
    collect();
    auto* pointer = llvm::PointerType::get(*ir_.context, 0);
    auto* type =
        llvm::FunctionType::get(b_.getInt32Ty(), {pointer, pointer, pointer, b_.getInt64Ty(), b_.getInt64Ty()}, false);
    function_ = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, std::string(symbol), *ir_.module);
    for (unsigned i = 0; i < 3; ++i) function_->getArg(i)->addAttr(llvm::Attribute::NoAlias);
    b_.SetInsertPoint(block("entry"));
    exit_ = block("exit");
    DimCode dims(b_, 1);
    for (size_t i = 0; i < arguments_.buffers.size(); ++i)
      pointers_[arguments_.buffers[i]] =
          b_.CreateLoad(pointer, b_.CreateConstGEP1_64(pointer, function_->getArg(0), i));
    for (size_t i = 0; i < arguments_.symbols.size(); ++i)
      dims.bind(arguments_.symbols[i],
                b_.CreateLoad(b_.getInt64Ty(), b_.CreateConstGEP1_64(b_.getInt64Ty(), function_->getArg(1), i)));
    for (size_t i = 0; i < 2 * arguments_.streams.size(); ++i)
      streams_.push_back(
          b_.CreateLoad(b_.getInt64Ty(), b_.CreateConstGEP1_64(b_.getInt64Ty(), function_->getArg(2), i)));
    for (BufferId id : registers_)
      pointers_[id] = b_.CreateAlloca(ScalarCode(b_, target_, 1).memory_type(dtype_of(id)),
                                      b_.getInt32(is_complex(dtype_of(id)) ? 2 : 1));
    loop(function_->getArg(3), function_->getArg(4), 1, [&](llvm::Value* point) {
      for (size_t k = kernel_.axes.size(); k-- > 0;) {
        if (k == 0) {
          dims.bind(kernel_.axes[k].symbol, point);
          break;
        }
        llvm::Value* extent = dims(kernel_.axes[k].extent);
        dims.bind(kernel_.axes[k].symbol, b_.CreateURem(point, extent));
        point = b_.CreateUDiv(point, extent);
      }
      for (const loops::Node& node : kernel_.body->nodes) nest(std::get<Nest>(node.is), dims);
    });
    leave(KernelStatus::finished);
    b_.SetInsertPoint(exit_);
    auto* status = b_.CreatePHI(b_.getInt32Ty(), static_cast<unsigned>(leaving_.size()));
    for (auto& [value, from] : leaving_) status->addIncoming(value, from);
    b_.CreateRet(status);
    return std::move(arguments_);
  }

 private:
  // --- what it takes

  void collect() {
    std::vector<const SymNode*> own, seen;
    for (const Axis& a : kernel_.axes) own.push_back(a.symbol.node());
    for (const loops::Node& node : kernel_.body->nodes)
      for (const Axis& a : std::get<Nest>(node.is).axes) own.push_back(a.symbol.node());
    for (const loops::Node& node : kernel_.body->nodes)
      for (const Instr& i : std::get<Nest>(node.is).body)
        if (i.kind == InstrKind::position) own.push_back(i.symbol.node());
    auto note = [&](Dim d) {
      if (d.is_constant()) return;
      for_each_symbol(d, [&](const SymNode* s) {
        if (std::ranges::find(own, s) != own.end() || std::ranges::find(seen, s) != seen.end()) return;
        seen.push_back(s);
        arguments_.symbols.push_back(Dim(s));
      });
    };
    auto use = [&](BufferId id) {
      const loops::Buffer& buffer = program_.buffers[id];
      auto& list = buffer.local && buffer.type.rank() == 0 ? registers_ : arguments_.buffers;
      if (std::ranges::find(list, id) != list.end()) return;
      list.push_back(id);
      for (Dim d : strides_of(id)) note(d);
    };
    for (const Axis& a : kernel_.axes) note(a.extent);
    for (const loops::Node& node : kernel_.body->nodes) {
      const Nest& n = std::get<Nest>(node.is);
      for (const Axis& a : n.axes) note(a.extent);
      for (const Instr& i : n.body) {
        if (i.kind == InstrKind::load) use(i.buffer);
        for (Dim d : i.index) note(d);
        if (i.kind == InstrKind::position) note(i.extent);
        if (i.kind == InstrKind::draw && std::ranges::find(arguments_.streams, i.stream) == arguments_.streams.end())
          arguments_.streams.push_back(i.stream);
      }
      for (const Store& s : n.stores) {
        if (s.mode != loops::StoreMode::assign) throw Unsupported("no code for stores that combine");
        use(s.buffer);
        for (Dim d : s.index) note(d);
      }
    }
  }

  Dtype dtype_of(BufferId id) const { return program_.buffers[id].type.dtype; }
  DimVec strides_of(BufferId id) const {
    const loops::Buffer& b = program_.buffers[id];
    return b.placed ? b.type.strides : contiguous_strides(b.type.sizes);
  }

  // --- control flow

  llvm::BasicBlock* block(const char* name) { return llvm::BasicBlock::Create(*ir_.context, name, function_); }

  void loop(llvm::Value* from, llvm::Value* to, int64_t step, const std::function<void(llvm::Value*)>& body) {
    auto *before = b_.GetInsertBlock(), *head = block("head"), *inside = block("body"), *done = block("done");
    b_.CreateBr(head);
    b_.SetInsertPoint(head);
    auto* at = b_.CreatePHI(b_.getInt64Ty(), 2);
    at->addIncoming(from, before);
    b_.CreateCondBr(b_.CreateICmpSLT(at, to), inside, done);
    b_.SetInsertPoint(inside);
    body(at);
    at->addIncoming(b_.CreateAdd(at, b_.getInt64(static_cast<uint64_t>(step))), b_.GetInsertBlock());
    b_.CreateBr(head);
    b_.SetInsertPoint(done);
  }

  void leave(KernelStatus status) {
    leaving_.emplace_back(b_.getInt32(static_cast<uint32_t>(status)), b_.GetInsertBlock());
    b_.CreateBr(exit_);
  }
  void leave_if(llvm::Value* any, KernelStatus status) {
    if (any->getType()->isVectorTy()) any = b_.CreateOrReduce(any);
    auto *out = block("raise"), *on = block("on");
    b_.CreateCondBr(any, out, on);
    b_.SetInsertPoint(out);
    leave(status);
    b_.SetInsertPoint(on);
  }

  // --- nests

  void nest(const Nest& n, const DimCode& outside) {
    nest_ = &n;
    lane_axis_ = nullptr;
    for (const Axis& a : n.axes)
      if (a.lanes > 1) lane_axis_ = &a;
    lanes_ = lane_axis_ ? static_cast<int>(lane_axis_->lanes) : 1;
    narrow_.emplace(b_, target_, 1);
    wide_.emplace(b_, target_, lanes_);
    find_levels();
    Frame frame{std::vector<Val>(n.body.size()), {}, outside, nullptr, nullptr};
    std::vector<const Axis*> outer, inner;
    for (const Axis& a : n.axes) {
      if (&a == lane_axis_) continue;
      (a.kind == AxisKind::parallel ? outer : inner).push_back(&a);
    }
    const bool lanes_outside = lane_axis_ && lane_axis_->kind == AxisKind::parallel;
    nested(outer, 0, frame, [&](Frame& at) {
      if (lanes_outside) {
        in_lanes(at, [&](std::vector<Frame>& frames) { points(frames, inner); });
      } else {
        std::vector<Frame> one{at};
        points(one, inner);
      }
    });
  }

  void nested(const std::vector<const Axis*>& axes, size_t depth, Frame& frame,
              const std::function<void(Frame&)>& body) {
    if (depth == axes.size()) return body(frame);
    loop(b_.getInt64(0), frame.dims(axes[depth]->extent), 1, [&](llvm::Value* at) {
      frame.dims.bind(axes[depth]->symbol, at);
      nested(axes, depth + 1, frame, body);
    });
  }

  // Copies of the frame, each for some lanes: as many as are unrolled, then one after another for the rest.
  void in_lanes(const Frame& frame, const std::function<void(std::vector<Frame>&)>& body) {
    Frame dims = frame;
    llvm::Value* count = dims.dims(lane_axis_->extent);
    const int64_t turn = int64_t{lanes_} * lane_axis_->unroll;
    std::vector<llvm::Constant*> numbers;
    for (int i = 0; i < lanes_; ++i) numbers.push_back(b_.getInt64(static_cast<uint64_t>(i)));
    llvm::Value* iota = llvm::ConstantVector::get(numbers);
    auto at_base = [&](llvm::Value* base) {
      Frame made = frame;
      made.dims = DimCode(frame.dims);
      made.dims.lanes(lanes_);
      made.base = base;
      made.dims.bind(lane_axis_->symbol, b_.CreateAdd(b_.CreateVectorSplat(static_cast<unsigned>(lanes_), base), iota));
      return made;
    };
    llvm::Value* whole = b_.CreateSub(count, b_.CreateURem(count, b_.getInt64(static_cast<uint64_t>(turn))));
    loop(b_.getInt64(0), whole, turn, [&](llvm::Value* at) {
      std::vector<Frame> frames;
      for (uint32_t u = 0; u < lane_axis_->unroll; ++u)
        frames.push_back(at_base(b_.CreateAdd(at, b_.getInt64(uint64_t{u} * static_cast<uint64_t>(lanes_)))));
      body(frames);
    });
    if (lane_axis_->extent.is_constant() && lane_axis_->extent.constant() % turn == 0) return;
    loop(whole, count, lanes_, [&](llvm::Value* at) {
      std::vector<Frame> frames{at_base(at)};
      llvm::Value* limit = b_.CreateVectorSplat(static_cast<unsigned>(lanes_), count);
      frames[0].mask = b_.CreateICmpSLT(frames[0].dims.value_of(lane_axis_->symbol), limit);
      body(frames);
    });
  }

  // Of each instruction: whether it belongs to a point of the axes that are reduced or scanned, or comes after these.
  void find_levels() {
    inner_.assign(nest_->body.size(), false);
    late_ = loops::epilogue(*nest_);
    std::vector<const SymNode*> symbols;
    for (const Axis& a : nest_->axes)
      if (a.kind != AxisKind::parallel) symbols.push_back(a.symbol.node());
    auto mentions = [&](Dim d) {
      bool found = false;
      if (!d.is_constant())
        for_each_symbol(d, [&](const SymNode* s) { found = found || std::ranges::find(symbols, s) != symbols.end(); });
      return found;
    };
    for (Ssa i = 0; i < nest_->body.size(); ++i) {
      const Instr& instr = nest_->body[i];
      bool inner = instr.kind == InstrKind::scan || (instr.mask != kNone && inner_[instr.mask]);
      for (Ssa operand : instr.operands) inner = inner || inner_[operand];
      for (Dim d : instr.index) inner = inner || mentions(d);
      inner_[i] = inner && instr.kind != InstrKind::reduce;
      if (instr.kind == InstrKind::position && inner_[i]) symbols.push_back(instr.symbol.node());
    }
    store_inner_.clear();
    for (const Store& s : nest_->stores) {
      bool inner = inner_[s.value] || (s.mask != kNone && inner_[s.mask]);
      for (Dim d : s.index) inner = inner || mentions(d);
      store_inner_.push_back(inner);
    }
  }

  // The points of the inner axes for some frames of the outer ones. Where the lanes are inside, there is one frame.
  void points(std::vector<Frame>& frames, const std::vector<const Axis*>& inner) {
    const bool lanes_inside = lane_axis_ && lane_axis_->kind != AxisKind::parallel;
    const bool any_inner = lanes_inside || !inner.empty();
    for (Ssa i = 0; i < nest_->body.size(); ++i)
      for (Frame& f : frames)
        if (!inner_[i] && !late_[i] && nest_->body[i].kind != InstrKind::reduce) instruction(i, f);
    if (!any_inner) {
      for (Frame& f : frames)
        for (Ssa i = 0; i < nest_->body.size(); ++i)
          if (nest_->body[i].kind == InstrKind::reduce) finish_reduce(i, f, element(i, f));
      for (Frame& f : frames) late(f, true);
      return;
    }
    // States in memory that the first pass of the pipeline takes into registers.
    const size_t copies = lanes_inside ? lane_axis_->unroll : frames.size();
    struct Accumulator {
      Ssa at;
      std::vector<std::vector<llvm::Value*>> parts;  // by copy, by part: real and imaginary
    };
    std::vector<Accumulator> all;
    for (Ssa i = 0; i < nest_->body.size(); ++i) {
      const Instr& instr = nest_->body[i];
      if (instr.kind != InstrKind::reduce && instr.kind != InstrKind::scan) continue;
      Accumulator made{i, {}};
      ScalarCode& code = lane_axis_ ? *wide_ : *narrow_;
      State start = identity_code(code, instr.combine, instr.dtype);
      for (size_t c = 0; c < copies; ++c) {
        made.parts.emplace_back();
        for (const Lanes& part : start)
          for (llvm::Value* v : {part.value, part.imaginary}) {
            if (!v) continue;
            llvm::Value* slot = alloca_at_entry(v->getType());
            b_.CreateStore(v, slot);
            made.parts.back().push_back(slot);
          }
      }
      all.push_back(std::move(made));
    }
    auto read = [&](const Accumulator& a, size_t copy) {
      const Instr& instr = nest_->body[a.at];
      State state;
      size_t slot = 0;
      for (uint32_t p = 0; p < loops::row_of(instr.combine).parts; ++p) {
        auto get = [&] {
          auto* from = llvm::cast<llvm::AllocaInst>(a.parts[copy][slot++]);
          return static_cast<llvm::Value*>(b_.CreateLoad(from->getAllocatedType(), from));
        };
        Lanes lanes{get()};
        if (is_complex(loops::part_dtype(instr.combine, instr.dtype, p))) lanes.imaginary = get();
        state.push_back(lanes);
      }
      return state;
    };
    auto write = [&](const Accumulator& a, size_t copy, const State& state) {
      size_t slot = 0;
      for (const Lanes& part : state)
        for (llvm::Value* v : {part.value, part.imaginary})
          if (v) b_.CreateStore(v, a.parts[copy][slot++]);
    };
    auto take_in = [&](const Accumulator& a, Frame& f, size_t copy) {
      const Instr& instr = nest_->body[a.at];
      ScalarCode& code = lane_axis_ ? *wide_ : *narrow_;
      State before = read(a, copy), after = combine_code(code, instr.combine, instr.dtype, before, element(a.at, f));
      if (f.mask && lanes_inside)
        for (size_t p = 0; p < after.size(); ++p) after[p] = select_code(code, f.mask, after[p], before[p]);
      write(a, copy, after);
      return after;
    };
    auto body = [&](std::vector<Frame>& at) {
      for (Ssa i = 0; i < nest_->body.size(); ++i) {
        if (!inner_[i]) continue;
        const auto scan = std::ranges::find(all, i, &Accumulator::at);
        for (size_t c = 0; c < at.size(); ++c) {
          if (scan == all.end()) {
            instruction(i, at[c]);
            continue;
          }
          State state = take_in(*scan, at[c], c);
          at[c].values[i] = {state[0], lane_axis_ != nullptr};
          at[c].states[i] = std::move(state);
        }
      }
      for (const Accumulator& a : all)
        for (size_t c = 0; c < at.size() && nest_->body[a.at].kind == InstrKind::reduce; ++c) take_in(a, at[c], c);
      for (size_t s = 0; s < nest_->stores.size(); ++s)
        for (Frame& f : at)
          if (store_inner_[s]) store(nest_->stores[s], f);
    };
    // Every frame walks the same inner points: the first one's sizes serve all.
    walk(inner, 0, frames, [&](std::vector<Frame>& at) {
      if (lanes_inside) {
        in_lanes(at[0], [&](std::vector<Frame>& copies_at) { body(copies_at); });
      } else {
        body(at);
      }
    });
    for (const Accumulator& a : all) {
      if (nest_->body[a.at].kind != InstrKind::reduce) continue;
      if (!lanes_inside) {
        for (size_t c = 0; c < frames.size(); ++c) finish_reduce(a.at, frames[c], read(a, c));
        continue;
      }
      const Instr& instr = nest_->body[a.at];
      State total = read(a, 0);
      for (size_t c = 1; c < copies; ++c) total = combine_code(*wide_, instr.combine, instr.dtype, total, read(a, c));
      finish_reduce(a.at, frames[0], across_lanes(instr, std::move(total)), false);
    }
    for (Frame& f : frames) late(f, false);
  }

  void walk(const std::vector<const Axis*>& axes, size_t depth, std::vector<Frame>& frames,
            const std::function<void(std::vector<Frame>&)>& body) {
    if (depth == axes.size()) return body(frames);
    loop(b_.getInt64(0), frames[0].dims(axes[depth]->extent), 1, [&](llvm::Value* at) {
      for (Frame& f : frames) f.dims.bind(axes[depth]->symbol, at);
      walk(axes, depth + 1, frames, body);
    });
  }

  void late(Frame& f, bool all_stores) {
    for (Ssa i = 0; i < nest_->body.size(); ++i)
      if (late_[i] && nest_->body[i].kind != InstrKind::reduce) instruction(i, f);
    for (size_t s = 0; s < nest_->stores.size(); ++s)
      if (all_stores || !store_inner_[s]) store(nest_->stores[s], f);
  }

  State element(Ssa at, Frame& f) {
    const Instr& instr = nest_->body[at];
    std::vector<Lanes> operands;
    for (Ssa operand : instr.operands) operands.push_back(as(f.values[operand], lane_axis_ != nullptr));
    return one_code(lane_axis_ ? *wide_ : *narrow_, instr.combine, instr.dtype, operands);
  }

  void finish_reduce(Ssa at, Frame& f, State state) { finish_reduce(at, f, std::move(state), lane_axis_ != nullptr); }
  void finish_reduce(Ssa at, Frame& f, State state, bool wide) {
    f.values[at] = {state[0], wide};
    f.states[at] = std::move(state);
  }

  // All lanes' states as one, of scalars.
  State across_lanes(const Instr& instr, State state) {
    for (int half = lanes_ / 2; half > 0; half /= 2) {
      std::vector<int> from;
      for (int i = 0; i < lanes_; ++i) from.push_back(i < half ? i + half : i);
      auto upper = [&](llvm::Value* v) { return v ? b_.CreateShuffleVector(v, from) : nullptr; };
      State other;
      for (const Lanes& part : state) other.push_back({upper(part.value), upper(part.imaginary)});
      state = combine_code(*wide_, instr.combine, instr.dtype, state, other);
    }
    State made;
    auto first = [&](llvm::Value* v) { return v ? b_.CreateExtractElement(v, uint64_t{0}) : nullptr; };
    for (const Lanes& part : state) made.push_back({first(part.value), first(part.imaginary)});
    return made;
  }

  llvm::Value* alloca_at_entry(llvm::Type* type) {
    llvm::IRBuilder<> at(&function_->getEntryBlock(), function_->getEntryBlock().begin());
    return at.CreateAlloca(type);
  }

  // --- instructions

  Lanes as(const Val& v, bool wide) {
    if (v.wide || !wide) return v.lanes;
    auto splat = [&](llvm::Value* x) { return x ? b_.CreateVectorSplat(static_cast<unsigned>(lanes_), x) : nullptr; };
    return {splat(v.lanes.value), splat(v.lanes.imaginary)};
  }

  void instruction(Ssa at, Frame& f) {
    const Instr& i = nest_->body[at];
    Val& made = f.values[at];
    switch (i.kind) {
      case InstrKind::constant: made = {narrow_->constant(i.dtype, i.value), false}; return;
      case InstrKind::index: {
        llvm::Value* value = f.dims(i.index[0]);
        made = {{value}, value->getType()->isVectorTy()};
        return;
      }
      case InstrKind::load: made = load(i, f); return;
      case InstrKind::scalar: made = scalar(i, f); return;
      case InstrKind::position: made = position(i, f); return;
      case InstrKind::part: made = {f.states.at(i.operands[0]).at(i.part), f.values[i.operands[0]].wide}; return;
      case InstrKind::draw: {
        llvm::Value* element = f.dims(i.index[0]);
        const auto stream =
            static_cast<size_t>(std::ranges::find(arguments_.streams, i.stream) - arguments_.streams.begin());
        const bool wide = element->getType()->isVectorTy();
        made = {
            (wide ? *wide_ : *narrow_).draw(i.draw, i.dtype, streams_[2 * stream], streams_[2 * stream + 1], element),
            wide};
        return;
      }
      case InstrKind::reduce:
      case InstrKind::scan: break;
    }
    internal_error("an instruction out of its place", __FILE__, __LINE__);
  }

  Val scalar(const Instr& i, Frame& f) {
    bool wide = false;
    for (Ssa operand : i.operands) wide = wide || f.values[operand].wide;
    std::vector<Lanes> operands;
    for (Ssa operand : i.operands) operands.push_back(as(f.values[operand], wide));
    llvm::Value* raised = nullptr;
    Val made{(wide ? *wide_ : *narrow_)
                 .apply(*i.row, i.compute, result_dtype(*i.row, i.compute, i.dtype), operands, &raised),
             wide};
    if (raised) {
      if (wide && f.mask) raised = b_.CreateAnd(raised, f.mask);
      leave_if(raised, KernelStatus::division_by_zero);
    }
    return made;
  }

  Val position(const Instr& i, Frame& f) {
    const Val& operand = f.values[i.operands[0]];
    const bool wide = operand.wide || (i.mask != kNone && f.values[i.mask].wide);
    llvm::Type* type =
        wide ? static_cast<llvm::Type*>(llvm::FixedVectorType::get(b_.getInt64Ty(), static_cast<unsigned>(lanes_)))
             : b_.getInt64Ty();
    const Dtype dtype = nest_->body[i.operands[0]].dtype;
    llvm::Value* given = as(operand, wide).value;
    given = dtype == Dtype::u8 || dtype == Dtype::b8 ? b_.CreateZExt(given, type) : b_.CreateSExtOrTrunc(given, type);
    llvm::Value* extent = f.dims(i.extent);
    if (wide && !extent->getType()->isVectorTy()) extent = b_.CreateVectorSplat(static_cast<unsigned>(lanes_), extent);
    llvm::Value* zero = llvm::Constant::getNullValue(type);
    llvm::Value* low = i.wraps ? b_.CreateNeg(extent) : zero;
    llvm::Value* bad = b_.CreateOr(b_.CreateICmpSLT(given, low), b_.CreateICmpSGE(given, extent));
    llvm::Value* at = b_.CreateSelect(b_.CreateICmpSLT(given, zero), b_.CreateAdd(given, extent), given);
    if (i.mask != kNone) {
      llvm::Value* mask = as(f.values[i.mask], wide).value;
      bad = b_.CreateAnd(bad, mask);
      at = b_.CreateSelect(mask, at, zero);
    }
    if (wide && f.mask) {
      bad = b_.CreateAnd(bad, f.mask);
      at = b_.CreateSelect(f.mask, at, zero);
    }
    leave_if(bad, KernelStatus::index_out_of_range);
    f.dims.bind(i.symbol, at);
    return {{at}, wide};
  }

  // --- memory

  struct Place {
    llvm::Value* address = nullptr;  // in elements: a scalar, or a vector
    bool consecutive = false;        // scalar, of the first lane; the others follow
  };

  Place place(BufferId id, const DimVec& index, Frame& f) {
    const DimVec strides = strides_of(id);
    Dim address = 0;
    bool varies = false;
    for (size_t d = 0; d < index.size(); ++d) varies = varies || f.dims.varies(index[d]);
    for (size_t d = 0; d < index.size(); ++d) address += index[d] * strides[d];
    if (!varies || !lane_axis_) return {f.dims(address), false};
    loops::IndexSpace space(program_.context->syms, program_.assumptions.known());
    space.add_axis(lane_axis_->symbol, lane_axis_->extent);
    auto stride = space.stride(address, 0);
    DimCode first = f.dims;
    first.bind(lane_axis_->symbol, f.base);
    const bool others = first.varies(address);
    if (stride && stride->is(1) && !others) return {first(space.simplify(address)), true};
    if (stride && stride->is(0) && !others) return {first(space.simplify(address)), false};
    return {f.dims(address), false};
  }

  llvm::Value* pointer(BufferId id, llvm::Value* address, int part) {
    const Dtype dtype = dtype_of(id);
    if (is_complex(dtype)) {
      llvm::Value* two =
          address->getType()->isVectorTy()
              ? static_cast<llvm::Value*>(b_.CreateVectorSplat(static_cast<unsigned>(lanes_), b_.getInt64(2)))
              : b_.getInt64(2);
      address = b_.CreateMul(address, two);
      if (part) address = b_.CreateAdd(address, llvm::ConstantInt::get(address->getType(), 1));
    }
    return b_.CreateGEP(narrow_->memory_type(dtype), pointers_.at(id), address);
  }

  llvm::Align alignment(BufferId id) const {
    return llvm::Align(static_cast<uint64_t>(item_size(to_real(dtype_of(id)))));
  }

  // Lanes that both masks let through; null: all.
  llvm::Value* both(llvm::Value* a, llvm::Value* b) { return !a ? b : !b ? a : b_.CreateAnd(a, b); }

  Val load(const Instr& i, Frame& f) {
    const Dtype dtype = i.dtype;
    const Place at = place(i.buffer, i.index, f);
    const bool masked = i.mask != kNone;
    const bool wide_mask = masked && f.values[i.mask].wide;
    const bool wide = at.consecutive || at.address->getType()->isVectorTy() || wide_mask;
    ScalarCode& code = wide ? *wide_ : *narrow_;
    llvm::Type* type = code.memory_type(dtype);
    llvm::Value* mask = wide ? f.mask : nullptr;
    if (masked) mask = both(mask, as(f.values[i.mask], wide).value);
    auto part = [&](int p) -> llvm::Value* {
      if (!wide) {
        llvm::Value* from = pointer(i.buffer, at.address, p);
        if (!mask) return b_.CreateAlignedLoad(type, from, alignment(i.buffer));
        return guarded(mask, type, [&] { return b_.CreateAlignedLoad(type, from, alignment(i.buffer)); });
      }
      if (at.consecutive && !is_complex(dtype)) {
        llvm::Value* from = pointer(i.buffer, at.address, p);
        if (!mask) return b_.CreateAlignedLoad(type, from, alignment(i.buffer));
        return b_.CreateMaskedLoad(type, from, alignment(i.buffer), mask, llvm::Constant::getNullValue(type));
      }
      return b_.CreateMaskedGather(type, pointer(i.buffer, spread(at), p), alignment(i.buffer), mask,
                                   llvm::Constant::getNullValue(type));
    };
    Lanes loaded{part(0)};
    if (is_complex(dtype)) loaded.imaginary = part(1);
    return {code.load_convert(dtype, loaded), wide};
  }

  // Each lane's address.
  llvm::Value* spread(const Place& at) {
    if (at.address->getType()->isVectorTy()) return at.address;
    llvm::Value* all = b_.CreateVectorSplat(static_cast<unsigned>(lanes_), at.address);
    if (!at.consecutive) return all;
    std::vector<llvm::Constant*> numbers;
    for (int k = 0; k < lanes_; ++k) numbers.push_back(b_.getInt64(static_cast<uint64_t>(k)));
    return b_.CreateAdd(all, llvm::ConstantVector::get(numbers));
  }

  llvm::Value* guarded(llvm::Value* condition, llvm::Type* type, const std::function<llvm::Value*()>& make) {
    auto *before = b_.GetInsertBlock(), *yes = block("yes"), *after = block("after");
    b_.CreateCondBr(condition, yes, after);
    b_.SetInsertPoint(yes);
    llvm::Value* made = make();
    auto* from = b_.GetInsertBlock();
    b_.CreateBr(after);
    b_.SetInsertPoint(after);
    auto* phi = b_.CreatePHI(type, 2);
    phi->addIncoming(made, from);
    phi->addIncoming(llvm::Constant::getNullValue(type), before);
    return phi;
  }

  void store(const Store& s, Frame& f) {
    const Dtype dtype = dtype_of(s.buffer);
    const Place at = place(s.buffer, s.index, f);
    const bool wide = at.consecutive || at.address->getType()->isVectorTy();
    ScalarCode& code = wide ? *wide_ : *narrow_;
    const Val& value = f.values[s.value];
    LENZ_CHECK(wide || !value.wide, "lanes of one point are stored at one place");
    const Lanes stored = code.store_convert(dtype, as(value, wide));
    llvm::Value* mask = wide ? f.mask : nullptr;
    if (s.mask != kNone) mask = both(mask, as(f.values[s.mask], wide).value);
    auto part = [&](int p, llvm::Value* v) {
      if (!wide) {
        llvm::Value* to = pointer(s.buffer, at.address, p);
        auto put = [&] { b_.CreateAlignedStore(v, to, alignment(s.buffer)); };
        if (!mask) return put();
        auto *yes = block("yes"), *after = block("after");
        b_.CreateCondBr(mask, yes, after);
        b_.SetInsertPoint(yes);
        put();
        b_.CreateBr(after);
        b_.SetInsertPoint(after);
        return;
      }
      if (at.consecutive && !is_complex(dtype)) {
        llvm::Value* to = pointer(s.buffer, at.address, p);
        if (mask) {
          b_.CreateMaskedStore(v, to, alignment(s.buffer), mask);
        } else {
          b_.CreateAlignedStore(v, to, alignment(s.buffer));
        }
        return;
      }
      b_.CreateMaskedScatter(v, pointer(s.buffer, spread(at), p), alignment(s.buffer), mask);
    };
    part(0, stored.value);
    if (is_complex(dtype)) part(1, stored.imaginary);
  }

  Ir& ir_;
  const CpuTarget& target_;
  const Program& program_;
  const loops::Kernel& kernel_;
  llvm::IRBuilder<> b_;
  llvm::Function* function_ = nullptr;
  llvm::BasicBlock* exit_ = nullptr;
  std::vector<std::pair<llvm::Value*, llvm::BasicBlock*>> leaving_;
  KernelArguments arguments_;
  std::vector<BufferId> registers_;  // local buffers without dims
  std::map<BufferId, llvm::Value*> pointers_;
  std::vector<llvm::Value*> streams_;

  // Of the nest at hand.
  const Nest* nest_ = nullptr;
  const Axis* lane_axis_ = nullptr;
  int lanes_ = 1;
  std::optional<ScalarCode> narrow_, wide_;
  std::vector<bool> inner_, late_, store_inner_;
};

}  // namespace

KernelArguments emit_kernel(CodeModule& module, const Compiler& compiler, const Program& program,
                            const loops::Kernel& kernel, std::string_view symbol) {
  compiler.prepare(module);
  return KernelEmitter(module, compiler, program, kernel).run(symbol);
}

}  // namespace lenz::native
