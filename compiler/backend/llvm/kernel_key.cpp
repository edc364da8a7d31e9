#include "compiler/backend/llvm/kernel_key.h"

#include <bit>
#include <map>
#include <unordered_map>

#include "compiler/backend/llvm/kernel_code.h"
#include "compiler/base/hash.h"

namespace lenz::native {

using loops::Axis;
using loops::BufferId;
using loops::Instr;
using loops::InstrKind;
using loops::Nest;
using loops::Store;

namespace {

class KeyWriter {
 public:
  KeyWriter(const loops::Program& program, const loops::Kernel& kernel, const KernelArguments& arguments)
      : program_(program), pool_(program.context->syms), kernel_(kernel), arguments_(arguments) {}

  std::string run() {
    for (Dim symbol : arguments_.symbols)
      add(reinterpret_cast<uintptr_t>(symbol.node()));  // in an order by the names of sizes
    add(arguments_.symbols.size());
    for (const Axis& a : kernel_.axes) own(a.symbol);
    axes(kernel_.axes);
    for (const loops::Node& node : kernel_.body->nodes) nest(std::get<Nest>(node.is));
    return std::move(key_);
  }

 private:
  template <class T>
  void add(T value) {
    const auto word = static_cast<uint64_t>(value);
    key_.append(reinterpret_cast<const char*>(&word), sizeof word);
  }
  // Axes and positions are called by their number from here on.
  void own(Dim symbol) { own_.try_emplace(symbol.node(), pool_.symbol("#" + std::to_string(own_.size()))); }
  void add(Dim dim) {
    if (dim.is_constant()) return add(0), add(dim.constant());
    const Dim named = substitute(dim, pool_, [&](const SymNode* s) -> std::optional<Dim> {
      auto found = own_.find(s);
      return found == own_.end() ? std::nullopt : std::optional(found->second);
    });
    if (named.is_constant()) return add(0), add(named.constant());
    add(1), add(reinterpret_cast<uintptr_t>(named.node()));
  }
  template <class Dims>
  void dims(const Dims& all) {
    add(all.size());
    for (Dim d : all) add(d);
  }
  void add(BufferId id, bool) {
    auto [at, fresh] = buffers_.try_emplace(id, buffers_.size());
    add(at->second);
    if (!fresh) return;
    const loops::Buffer& b = program_.buffers[id];
    add(b.type.dtype), add(b.local), add(b.placed);
    dims(b.type.sizes);
    dims(b.type.strides);
    add(b.far.has_value());
    if (b.far) add(b.far->rel), add(b.far->lhs), add(b.far->rhs);
  }
  void add(const ScalarValue& value) {
    add(value.kind());
    switch (value.kind()) {
      case ScalarKind::integer: return add(value.integer());
      case ScalarKind::real: return add(std::bit_cast<uint64_t>(value.real()));
      case ScalarKind::double_double:
        add(std::bit_cast<uint64_t>(value.double_double().hi));
        return add(std::bit_cast<uint64_t>(value.double_double().lo));
      case ScalarKind::complex:
        add(std::bit_cast<uint64_t>(value.complex().real()));
        return add(std::bit_cast<uint64_t>(value.complex().imag()));
    }
  }

  void axes(const std::vector<Axis>& all) {
    add(all.size());
    for (const Axis& a : all) {
      add(a.extent);
      add(a.kind), add(a.lanes), add(a.unroll);
    }
  }
  void nest(const Nest& n) {
    for (const Axis& a : n.axes) own(a.symbol);
    for (const Instr& i : n.body)
      if (i.kind == InstrKind::position) own(i.symbol);
    axes(n.axes);
    add(n.tag), add(n.body.size()), add(n.stores.size());
    for (const Instr& i : n.body) instruction(i);
    for (const Store& s : n.stores) {
      add(s.buffer, true);
      add(address_of(program_, arguments_, s.buffer, s.index));
      add(s.value), add(s.mask), add(s.mode), add(s.distinct);
    }
  }
  void instruction(const Instr& i) {
    add(i.kind), add(i.dtype), add(i.operands.size());
    for (loops::Ssa operand : i.operands) add(operand);
    add(i.mask);
    if (i.kind == InstrKind::load)
      add(address_of(program_, arguments_, i.buffer, i.index));
    else
      dims(i.index);
    switch (i.kind) {
      case InstrKind::constant: return add(i.value);
      case InstrKind::load: return add(i.buffer, true);
      case InstrKind::scalar: return add(reinterpret_cast<uintptr_t>(i.row)), add(i.compute);
      case InstrKind::position: return add(i.symbol), add(i.extent), add(i.wraps);
      case InstrKind::reduce:
      case InstrKind::scan: return add(i.combine), add(i.ordered);
      case InstrKind::part: return add(i.part);
      case InstrKind::draw: return add(i.draw), add(streams_.try_emplace(i.stream, streams_.size()).first->second);
      case InstrKind::index: return;
    }
  }

  const loops::Program& program_;
  SymPool& pool_;
  const loops::Kernel& kernel_;
  const KernelArguments& arguments_;
  std::string key_;
  std::unordered_map<const SymNode*, Dim> own_;
  std::map<BufferId, size_t> buffers_;
  std::map<uint32_t, size_t> streams_;
};

}  // namespace

std::string kernel_key(const loops::Program& program, const loops::Kernel& kernel,
                       const runtime::KernelArguments& arguments) {
  const std::string all = KeyWriter(program, kernel, arguments).run();
  const uint64_t digest[] = {hash_bytes(all, 1), hash_bytes(all, 2)};  // programs have tens of thousands of kernels
  return {reinterpret_cast<const char*>(digest), sizeof digest};
}

}  // namespace lenz::native
