#include "compiler/backend/llvm/kernel_code.h"

#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/MDBuilder.h>

#include <algorithm>
#include <map>

#include "compiler/backend/llvm/kernel_emitter.h"
#include "compiler/base/sym_parts.h"

namespace lenz::native {

using loops::Axis;
using loops::BufferId;
using loops::Instr;
using loops::InstrKind;
using loops::Nest;
using loops::Store;

namespace {
struct Collected {
  KernelArguments arguments;
  std::vector<BufferId> registers;  // local buffers without dims
};

DimVec strides_of(const loops::Program& program, BufferId id) {
  const loops::Buffer& b = program.buffers[id];
  return b.placed ? b.type.strides : contiguous_strides(b.type.sizes);
}

Dim address_in(const loops::Program& program, BufferId id, const DimVec& index) {
  const DimVec strides = strides_of(program, id);
  Dim address = 0;
  for (size_t d = 0; d < index.size(); ++d) address += index[d] * strides[d];
  return address;
}

// What all accesses of a kernel to a buffer leave out of it: steps that are written out look at one slice each of what
// they share, and are one function if that is known to the caller alone.
class Skipped {
 public:
  Skipped(const loops::Program& program, const std::vector<const SymNode*>& own) : program_(program), own_(own) {}
  void note(BufferId id, const DimVec& index) {
    const Dim first = substitute(
        address_in(program_, id, index), program_.context->syms, [&](const SymNode* s) -> std::optional<Dim> {
          return std::ranges::find(own_, s) == own_.end() ? std::nullopt : std::optional(Dim(0));
        });
    const int64_t at = first.is_constant() && !program_.buffers[id].local ? std::max<int64_t>(first.constant(), 0) : 0;
    auto [known, fresh] = least_.try_emplace(id, at);
    if (!fresh) known->second = std::min(known->second, at);
  }
  int64_t of(BufferId id) const { return least_.at(id); }

 private:
  const loops::Program& program_;
  const std::vector<const SymNode*>& own_;
  std::map<BufferId, int64_t> least_;
};

// Of a long sum, what hangs on sizes alone: that comes as one value. Optimisers look at sums in loops term by term,
// each beside each.
constexpr size_t kLongSum = 8;
Dim sizes_of_long_sum(Dim dim, const std::vector<const SymNode*>& own) {
  Dim made = 0;
  if (dim.is_constant()) return made;
  const DimParts parts = parts_of(dim);
  if (parts.kind != SymKind::sum || parts.operands.size() < kLongSum) return made;
  for (size_t i = 0; i < parts.operands.size(); ++i) {
    bool moves = false;
    for_each_symbol(parts.operands[i],
                    [&](const SymNode* s) { moves = moves || std::ranges::find(own, s) != own.end(); });
    if (!moves) made += parts.operands[i] * parts.coefficients[i];
  }
  return made;
}

// The symbols that stand beside these in an equation: places in the code are simplified by it as a whole, though no
// part of one is. Of the inputs' symbols, whose values are there whenever a kernel runs.
void note_what_equals(const loops::Program& program, const std::vector<Dim>& symbols, auto&& note) {
  // Asked of few: most programs have no equation, and many inputs.
  auto is_of_an_input = [&](const SymNode* symbol) {
    auto has = [&](Dim d) {
      bool found = false;
      for_each_symbol(d, [&](const SymNode* s) { found = found || s == symbol; });
      return found;
    };
    return std::ranges::any_of(program.inputs, [&](const loops::Input& input) {
      if (input.kind == loops::Input::symbol) return has(input.sym);
      return input.buffer != kNone && std::ranges::any_of(program.buffers[input.buffer].type.sizes, has);
    });
  };
  for (size_t before = symbols.size() + 1; before != symbols.size();) {
    before = symbols.size();
    for (const Cond& fact : program.assumptions.known().conditions()) {
      if (fact.rel != Rel::eq) continue;
      bool beside = false, others = false, there = true;
      auto each = [&](auto&& look) {
        for (Dim side : {fact.lhs, fact.rhs}) for_each_symbol(side, look);
      };
      each([&](const SymNode* s) {
        const bool noted = std::ranges::find(symbols, Dim(s)) != symbols.end();
        beside = beside || noted;
        others = others || !noted;
      });
      if (!beside || !others) continue;
      each([&](const SymNode* s) { there = there && is_of_an_input(s); });
      if (!there) continue;
      note(fact.lhs);
      note(fact.rhs);
    }
  }
}

Collected collect(const loops::Program& program, const loops::Kernel& kernel) {
  Collected made;
  std::vector<const SymNode*> own, seen;
  for (const Axis& a : kernel.axes) own.push_back(a.symbol.node());
  for (const loops::Node& node : kernel.body->nodes)
    for (const Axis& a : std::get<Nest>(node.is).axes) own.push_back(a.symbol.node());
  for (const loops::Node& node : kernel.body->nodes)
    for (const Instr& i : std::get<Nest>(node.is).body)
      if (i.kind == InstrKind::position) own.push_back(i.symbol.node());
  // Which of a dim's symbols stands first in it hangs on the names of the axes beside them, which no code has.
  auto note_one = [&](Dim d) {
    if (d.is_constant()) return;
    std::vector<Dim> fresh;
    for_each_symbol(d, [&](const SymNode* s) {
      if (std::ranges::find(own, s) != own.end() || std::ranges::find(seen, s) != seen.end()) return;
      seen.push_back(s);
      fresh.push_back(Dim(s));
    });
    std::ranges::sort(fresh, [](Dim a, Dim b) { return compare(a, b) < 0; });
    for (Dim symbol : fresh) made.arguments.symbols.push_back(symbol);
  };
  // Indices are simplified by what is known of symbols, which may name others that are equal.
  const Facts& facts = program.assumptions.known();
  auto note = [&](Dim d) {
    note_one(d);
    for (size_t i = 0; i < made.arguments.symbols.size(); ++i) note_one(facts.simplify(made.arguments.symbols[i]));
    if (!d.is_constant()) note_one(facts.simplify(d));
  };
  auto note_value = [&](Dim d) {
    if (!d.is_constant() && std::ranges::find(made.arguments.symbols, d) == made.arguments.symbols.end())
      made.arguments.symbols.push_back(d);
  };
  Skipped skipped(program, own);
  std::vector<Dim> sums;
  auto use = [&](BufferId id, const DimVec& index) {
    skipped.note(id, index);
    sums.push_back(sizes_of_long_sum(facts.simplify(address_in(program, id, index)), own));
    const loops::Buffer& buffer = program.buffers[id];
    auto& list = buffer.local && buffer.type.rank() == 0 ? made.registers : made.arguments.buffers;
    if (std::ranges::find(list, id) != list.end()) return;
    list.push_back(id);
    for (Dim d : strides_of(program, id)) note(d);
  };
  for (const Axis& a : kernel.axes) note(a.extent);
  for (const loops::Node& node : kernel.body->nodes) {
    const Nest& n = std::get<Nest>(node.is);
    for (const Axis& a : n.axes) note(a.extent);
    for (const Instr& i : n.body) {
      if (i.kind == InstrKind::load) use(i.buffer, i.index);
      for (Dim d : i.index) note(d);
      if (i.kind == InstrKind::position) note(i.extent);
      if (i.kind == InstrKind::draw &&
          std::ranges::find(made.arguments.streams, i.stream) == made.arguments.streams.end())
        made.arguments.streams.push_back(i.stream);
    }
    for (const Store& s : n.stores) {
      use(s.buffer, s.index);
      for (Dim d : s.index) note(d);
    }
  }
  note_what_equals(program, made.arguments.symbols, note_one);
  // Conditions on what the whole program moves speak of all its sizes: their sides come as values.
  for (const loops::Node& node : kernel.body->nodes)
    for (const Store& s : std::get<Nest>(node.is).stores)
      if (const auto& far = program.buffers[s.buffer].far)
        for (Dim side : {far->lhs, far->rhs}) note_value(side);
  for (Dim sum : sums) note_value(sum);
  for (BufferId id : made.arguments.buffers) made.arguments.skipped.push_back(skipped.of(id));
  return made;
}
}  // namespace

KernelArguments KernelEmitter::run(std::string_view symbol) {
  Collected taken = collect(program_, *kernel_);
  arguments_ = std::move(taken.arguments);
  registers_ = std::move(taken.registers);
  auto* pointer = llvm::PointerType::get(*ir_.context, 0);
  auto* type =
      llvm::FunctionType::get(b_.getInt32Ty(), {pointer, pointer, pointer, b_.getInt64Ty(), b_.getInt64Ty()}, false);
  function_ = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, std::string(symbol), *ir_.module);
  for (unsigned i = 0; i < 3; ++i) function_->getArg(i)->addAttr(llvm::Attribute::NoAlias);
  b_.SetInsertPoint(block("entry"));
  exit_ = block("exit");
  DimCode dims(b_, 1);
  for (size_t i = 0; i < arguments_.buffers.size(); ++i)
    pointers_[arguments_.buffers[i]] = b_.CreateLoad(pointer, b_.CreateConstGEP1_64(pointer, function_->getArg(0), i));
  for (size_t i = 0; i < arguments_.symbols.size(); ++i)
    dims.bind(arguments_.symbols[i],
              b_.CreateLoad(b_.getInt64Ty(), b_.CreateConstGEP1_64(b_.getInt64Ty(), function_->getArg(1), i)));
  for (size_t i = 0; i < 2 * arguments_.streams.size(); ++i)
    streams_.push_back(b_.CreateLoad(b_.getInt64Ty(), b_.CreateConstGEP1_64(b_.getInt64Ty(), function_->getArg(2), i)));
  for (BufferId id : registers_)
    pointers_[id] = b_.CreateAlloca(ScalarCode(b_, target_, 1).memory_type(dtype_of(id)),
                                    b_.getInt32(is_complex(dtype_of(id)) ? 2 : 1));
  for (const loops::Node& node : kernel_->body->nodes)
    for (const Store& s : std::get<Nest>(node.is).stores)
      if (const auto& far = program_.buffers[s.buffer].far; far && !far_.contains(s.buffer))
        far_[s.buffer] = dims.holds(*far);
  auto few_vectors_of = [&](const loops::Kernel& kernel, const Facts& facts, std::span<const Cond> where) {
    for (uint32_t vectors : {1, 2})
      if (auto few = few_vectors(kernel, facts, vectors)) {
        few->where.insert(few->where.end(), where.begin(), where.end());
        as_one_tile(*few, dims);
      }
  };
  few_vectors_of(*kernel_, *facts_, {});
  if (const auto one = one_tile()) {
    few_vectors_of(one->kernel, one->facts, one->where);
    as_one_tile(*one, dims);
  }
  all_points(dims);
  leave(KernelStatus::finished);
  b_.SetInsertPoint(exit_);
  auto* status = b_.CreatePHI(b_.getInt32Ty(), static_cast<unsigned>(leaving_.size()));
  for (auto& [value, from] : leaving_) status->addIncoming(value, from);
  // What went past the caches is in order before whoever waits for the kernel reads it.
  if (!far_.empty() && target_.stores_past_caches) b_.CreateIntrinsic(llvm::Intrinsic::x86_sse_sfence, {}, {});
  b_.CreateRet(status);
  return std::move(arguments_);
}

void KernelEmitter::all_points(DimCode dims) {
  make_columns(dims);
  if (const Nest* rows = scanned_rows()) return scan_rows(*rows, dims);
  at_each_point(dims, [&] {
    for (const loops::Node& node : kernel_->body->nodes) nest(std::get<Nest>(node.is), dims);
  });
}

// The kernel's points that this call has, the last axis fastest. Quotients say where the first one is; those after it
// are counted on from there, for rows may take less time than the division of two numbers of 64 bits.
void KernelEmitter::at_each_point(DimCode& dims, const std::function<void()>& body) {
  const size_t count = kernel_->axes.size();
  llvm::Value *first = function_->getArg(3), *end = function_->getArg(4);
  if (count < 2)
    return loop(first, end, 1, [&](llvm::Value* point) {
      if (count == 1) dims.bind(kernel_->axes[0].symbol, point);
      body();
    });
  auto *some = block("points"), *turn = block("point"), *done = block("no_point");
  b_.CreateCondBr(b_.CreateICmpSLT(first, end), some, done);
  b_.SetInsertPoint(some);
  std::vector<llvm::Value*> extents(count), start(count);
  llvm::Value* rest = first;
  for (size_t k = count; k-- > 1;) {
    extents[k] = dims(kernel_->axes[k].extent);
    if (kernel_->axes[k].extent.is(1)) continue;
    start[k] = b_.CreateURem(rest, extents[k]);
    rest = b_.CreateUDiv(rest, extents[k]);
  }
  start[0] = rest;
  some = b_.GetInsertBlock();
  b_.CreateBr(turn);
  b_.SetInsertPoint(turn);
  auto* point = b_.CreatePHI(b_.getInt64Ty(), 2);
  point->addIncoming(first, some);
  std::vector<llvm::PHINode*> at;
  for (size_t k = 0; k < count; ++k) {
    at.push_back(start[k] ? b_.CreatePHI(b_.getInt64Ty(), 2) : nullptr);
    if (at[k]) at[k]->addIncoming(start[k], some);
    dims.bind(kernel_->axes[k].symbol, at[k] ? static_cast<llvm::Value*>(at[k]) : b_.getInt64(0));
  }
  body();
  llvm::Value* next = b_.CreateAdd(point, b_.getInt64(1));
  std::vector<llvm::Value*> stepped(count);
  llvm::Value* carry = b_.getInt64(1);
  for (size_t k = count; k-- > 1;) {
    if (!at[k]) continue;
    llvm::Value* one_on = b_.CreateAdd(at[k], carry);
    llvm::Value* over = b_.CreateICmpEQ(one_on, extents[k]);
    stepped[k] = b_.CreateSelect(over, b_.getInt64(0), one_on);
    carry = b_.CreateZExt(over, b_.getInt64Ty());
  }
  stepped[0] = b_.CreateAdd(at[0], carry);
  llvm::BasicBlock* last = b_.GetInsertBlock();
  point->addIncoming(next, last);
  for (size_t k = 0; k < count; ++k)
    if (at[k]) at[k]->addIncoming(stepped[k], last);
  b_.CreateCondBr(b_.CreateICmpSLT(next, end), turn, done);
  b_.SetInsertPoint(done);
}

Dtype KernelEmitter::dtype_of(BufferId id) const { return loops::kept_as(program_.buffers[id]); }
Dim address_of(const loops::Program& program, const KernelArguments& arguments, BufferId id, const DimVec& index) {
  const auto at = std::ranges::find(arguments.buffers, id);
  const int64_t skipped =
      at == arguments.buffers.end() ? 0 : arguments.skipped[static_cast<size_t>(at - arguments.buffers.begin())];
  return address_in(program, id, index) - skipped;
}

// --- control flow

llvm::BasicBlock* KernelEmitter::block(const char* name) {
  return llvm::BasicBlock::Create(*ir_.context, name, function_);
}

void KernelEmitter::loop(llvm::Value* from, llvm::Value* to, int64_t step,
                         const std::function<void(llvm::Value*)>& body) {
  // Where it is known to run once or not at all, nothing is left to decide.
  const auto *first = llvm::dyn_cast<llvm::ConstantInt>(from), *end = llvm::dyn_cast<llvm::ConstantInt>(to);
  if (first && end) {
    const int64_t left = end->getSExtValue() - first->getSExtValue();
    if (left <= 0) return;
    if (left <= step) return body(from);
  }
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

void KernelEmitter::only_if(llvm::Value* condition, const std::function<void()>& body) {
  auto *yes = block("yes"), *after = block("after");
  b_.CreateCondBr(condition, yes, after);
  b_.SetInsertPoint(yes);
  body();
  b_.CreateBr(after);
  b_.SetInsertPoint(after);
}

void KernelEmitter::leave(KernelStatus status) {
  leaving_.emplace_back(b_.getInt32(static_cast<uint32_t>(status)), b_.GetInsertBlock());
  b_.CreateBr(exit_);
}
void KernelEmitter::leave_if(llvm::Value* any, KernelStatus status) {
  if (any->getType()->isVectorTy()) any = b_.CreateOrReduce(any);
  auto *out = block("raise"), *on = block("on");
  b_.CreateCondBr(any, out, on, llvm::MDBuilder(*ir_.context).createUnlikelyBranchWeights());
  b_.SetInsertPoint(out);
  leave(status);
  b_.SetInsertPoint(on);
}

KernelArguments emit_kernel(CodeModule& module, const Compiler& compiler, const loops::Program& program,
                            const loops::Kernel& kernel, std::string_view symbol) {
  compiler.prepare(module);
  return KernelEmitter(module, compiler, program, kernel).run(symbol);
}

KernelArguments arguments_of(const loops::Program& program, const loops::Kernel& kernel) {
  return collect(program, kernel).arguments;
}

}  // namespace lenz::native
