// Kernels of one key are one function, so that whatever code hangs on has to be in the key: of two kernels that differ
// in little, programs seldom have both. So a case's kernels are changed in one place each, in ways that keep the types:
// where the key stays, the code has to. And names, which no code has, leave the key as it is.
#include <algorithm>
#include <map>

#include "compiler/backend/llvm/kernel_code.h"
#include "compiler/backend/llvm/kernel_key.h"
#include "compiler/base/hash.h"
#include "compiler/loops/clone.h"
#include "compiler/loops/text.h"
#include "compiler/schedule/realise.h"
#include "fuzz/properties/kernel_keys.h"

namespace lenz::fuzz {

namespace {
using loops::Instr;
using loops::InstrKind;
using loops::Kernel;
using loops::Nest;
using loops::Program;
using loops::Ssa;

template <class T>
bool change_to(T& what, const T& other) {
  if (what == other) return false;
  what = other;
  return true;
}

class Changer {
 public:
  Changer(Program& program, Kernel& kernel, Chooser& choose) : program_(program), choose_(choose) {
    for (loops::Node& node : kernel.body->nodes) nests_.push_back(&std::get<Nest>(node.is));
  }

  // In words; empty: nothing was changed.
  std::string run() {
    Nest& nest = *choose_.pick(nests_);
    if (choose_.chance(1, 8)) return buffer();
    if (choose_.chance(1, 4) && !nest.stores.empty()) return store(nest);
    return nest.body.empty() ? "" : instruction(nest);
  }

 private:
  static std::string if_so(bool changed, const char* what) { return changed ? what : ""; }

  bool is_like(loops::BufferId a, loops::BufferId b) const {
    const loops::Buffer &x = program_.buffers[a], &y = program_.buffers[b];
    return x.type.dtype == y.type.dtype && x.local == y.local && x.type.rank() == y.type.rank();
  }
  bool another_buffer(loops::BufferId& id) {
    std::vector<loops::BufferId> others;
    for (const Nest* nest : nests_) {
      for (const Instr& i : nest->body)
        if (i.kind == InstrKind::load && i.buffer != id && is_like(i.buffer, id)) others.push_back(i.buffer);
      for (const loops::Store& s : nest->stores)
        if (s.buffer != id && is_like(s.buffer, id)) others.push_back(s.buffer);
    }
    return !others.empty() && change_to(id, choose_.pick(others));
  }
  bool another_value(const Nest& nest, Ssa& value, size_t before) {
    std::vector<Ssa> others;
    for (Ssa other = 0; other < before; ++other)
      if (nest.body[other].dtype == nest.body[value].dtype) others.push_back(other);
    return !others.empty() && change_to(value, choose_.pick(others));
  }
  bool another_index(DimVec& index) {
    if (index.empty()) return false;
    const size_t d = choose_.below(index.size()), e = choose_.below(index.size());
    if (choose_.flip()) {
      index[d] = index[d] + choose_.any_of({1, 2});
      return true;
    }
    if (index[d] == index[e]) return false;
    std::swap(index[d], index[e]);
    return true;
  }

  std::string buffer() {
    const Nest& nest = *choose_.pick(nests_);
    std::vector<loops::BufferId> all;
    for (const Instr& i : nest.body)
      if (i.kind == InstrKind::load) all.push_back(i.buffer);
    for (const loops::Store& s : nest.stores) all.push_back(s.buffer);
    if (all.empty()) return {};
    loops::Buffer& b = program_.buffers[choose_.pick(all)];
    DimVec& dims = choose_.flip() ? b.type.sizes : b.type.strides;
    if (dims.empty()) return {};
    const size_t d = choose_.below(dims.size());
    dims[d] = dims[d] + 1;
    return "a size or stride of %" + b.name;
  }

  std::string store(Nest& nest) {
    loops::Store& s = nest.stores[choose_.below(nest.stores.size())];
    switch (choose_.below(4)) {
      case 0: return if_so(another_buffer(s.buffer), "the buffer of a store");
      case 1: return if_so(another_index(s.index), "the index of a store");
      case 2: return if_so(another_value(nest, s.value, nest.body.size()), "the value of a store");
      default: s.distinct = !s.distinct; return "whether a store is distinct";
    }
  }

  std::string instruction(Nest& nest) {
    const size_t at = choose_.below(nest.body.size());
    Instr& i = nest.body[at];
    if (i.mask != kNone && choose_.chance(1, 3)) {
      if (choose_.flip()) return if_so(another_value(nest, i.mask, at), "a mask");
      i.mask = kNone;
      return "that there is a mask";
    }
    if (!i.operands.empty() && choose_.flip()) {
      if (i.operands.size() > 1 && choose_.flip())
        return if_so(i.operands[0] != i.operands[1] && (std::swap(i.operands[0], i.operands[1]), true),
                     "the order of operands");
      return if_so(another_value(nest, i.operands[choose_.below(i.operands.size())], at), "an operand");
    }
    switch (i.kind) {
      case InstrKind::constant:
        if (i.value.kind() != ScalarKind::real && i.value.kind() != ScalarKind::integer) return {};
        i.value = i.value.kind() == ScalarKind::real ? ScalarValue(i.value.real() == 2 ? 3.0 : 2.0)
                                                     : ScalarValue(int64_t{i.value.integer() == 0});
        return "a constant";
      case InstrKind::load:
        return choose_.flip() ? if_so(another_buffer(i.buffer), "the buffer of a load")
                              : if_so(another_index(i.index), "the index of a load");
      case InstrKind::index: return if_so(another_index(i.index), "an index");
      case InstrKind::position: i.wraps = !i.wraps; return "whether a position wraps";
      case InstrKind::reduce:
      case InstrKind::scan: {
        if (choose_.flip() && is_floating(i.dtype)) {
          i.ordered = !i.ordered;
          return "the order of a reduction";
        }
        constexpr loops::Combine kAll[] = {loops::Combine::sum, loops::Combine::product};
        if (std::ranges::find(kAll, i.combine) == std::end(kAll)) return {};
        i.combine = i.combine == kAll[0] ? kAll[1] : kAll[0];
        return "how a reduction combines";
      }
      case InstrKind::draw:
        if (choose_.flip()) return if_so(another_index(i.index), "the index of a draw");
        i.stream = i.stream == 0 && program_.streams.size() > 1 ? 1 : 0;
        return "the stream of a draw";
      case InstrKind::scalar:
      case InstrKind::part: return {};
    }
    return {};
  }

  Program& program_;
  Chooser& choose_;
  std::vector<Nest*> nests_;
};

std::vector<Kernel*> kernels_of(Program& program) {
  std::vector<Kernel*> all;
  loops::for_each_node(program.body, [&](loops::Node& node) {
    if (auto* kernel = std::get_if<Kernel>(&node.is)) all.push_back(kernel);
  });
  return all;
}

std::string code_of(const native::Compiler& compiler, const Program& program, const Kernel& kernel) {
  native::CodeModule module("kernel");
  native::emit_kernel(module, compiler, program, kernel, "kernel");
  return module.text();
}

// Axes and positions by other names, as another kernel of the program would have them.
void rename(Program& program, Kernel& kernel) {
  SymPool& pool = program.context->syms;
  std::map<const SymNode*, Dim> names;
  auto other = [&](Dim& symbol) {  // nests of a kernel have symbols in common
    const std::string name = "renamed" + std::to_string(names.size());
    symbol = names.try_emplace(symbol.node(), pool.symbol(name)).first->second;
  };
  auto in = [&](Dim& dim) {
    dim = substitute(dim, pool, [&](const SymNode* s) -> std::optional<Dim> {
      const auto found = names.find(s);
      return found == names.end() ? std::nullopt : std::optional(found->second);
    });
  };
  auto axes = [&](std::vector<loops::Axis>& all) {
    for (loops::Axis& a : all) in(a.extent), other(a.symbol);
  };
  axes(kernel.axes);
  for (loops::Node& node : kernel.body->nodes) {
    Nest& nest = std::get<Nest>(node.is);
    axes(nest.axes);
    for (Instr& i : nest.body) {
      for (Dim& d : i.index) in(d);
      if (i.kind != InstrKind::position) continue;
      in(i.extent);
      other(i.symbol);
    }
    for (loops::Store& s : nest.stores)
      for (Dim& d : s.index) in(d);
  }
}
}  // namespace

std::string key_of(const Program& program, const Kernel& kernel) {
  return native::kernel_key(program, kernel, native::arguments_of(program, kernel));
}

std::string wrong_keys(const Program& program, std::string_view target, Chooser& choose, const KeyOf& key_of) {
  constexpr int kChanges = 12;
  Program first = loops::clone(program);
  const std::vector<Kernel*> kernels = kernels_of(first);
  if (kernels.empty()) return {};
  const size_t chosen = choose.below(kernels.size());
  const Kernel& kernel = *kernels[chosen];
  const std::string key = key_of(first, kernel);
  auto told = [&](const std::string& what, const Program& other) {
    return what + "\n" + loops::print(first) + "\nand\n" + loops::print(other);
  };
  Program named = loops::clone(program);
  rename(named, *kernels_of(named)[chosen]);
  if (key_of(named, *kernels_of(named)[chosen]) != key) return told("other names make another key", named);
  std::string code;
  for (int i = 0; i < kChanges; ++i) {
    Program other = loops::clone(program);
    Kernel& changed = *kernels_of(other)[chosen];
    const std::string what = Changer(other, changed, choose).run();
    if (what.empty() || key_of(other, changed) != key) continue;
    try {
      const native::Compiler compiler(native::find_target(target));
      if (code.empty()) code = code_of(compiler, first, kernel);
      if (code_of(compiler, other, changed) != code) return told("one key for two codes, by " + what, other);
    } catch (const Unsupported&) {  // it has no code
    }
  }
  return {};
}

namespace {
std::optional<Failure> holds(Subject& subject) {
  RandomChooser choose(combine(subject.setting().seed, hash_bytes("kernel_keys")));
  const schedule::Target target = subject.loops_target();
  const Program program = schedule::schedule(subject.program(), target);
  if (std::string wrong = wrong_keys(program, target.name, choose); !wrong.empty())
    return Failure{"kernel_keys", "keys of kernels", "differs", std::move(wrong)};
  return std::nullopt;
}
}  // namespace

Property kernel_keys() {
  return {.name = "kernel_keys",
          .contract = "kernels of one key are of one code, whatever is changed in one, and names are in no key",
          .holds = holds,
          .lowers = true};
}

}  // namespace lenz::fuzz
