#include "compiler/loops/uses.h"

namespace lenz::loops {

namespace {
struct Visitor {
  const std::function<void(BufferId)>& visit;

  void one(BufferId id) const {
    if (id != kNone) visit(id);
  }
  void all(const Block& block) const {
    for (const Node& node : block.nodes) std::visit(*this, node.is);
  }

  void operator()(const Nest& n) const {
    for (const Instr& i : n.body) one(i.buffer);
    for (const Store& s : n.stores) one(s.buffer);
  }
  void operator()(const Sort& n) const {
    one(n.keys);
    one(n.values);
    one(n.indices);
  }
  void operator()(const Extern& n) const {
    for (const Arg& a : n.args) for_each_value(a, [&](ValueId id) { one(id); });
    for (BufferId id : n.results) one(id);
  }
  void operator()(const Bind& n) const { one(n.from); }
  void operator()(const Check& n) const { one(n.holds); }
  void operator()(const Print& n) const {
    for (BufferId id : n.values) one(id);
  }
  void operator()(const If& n) const {
    one(n.condition);
    all(*n.then);
    all(*n.otherwise);
  }
  void operator()(const While& n) const {
    one(n.condition);
    all(*n.test);
    all(*n.body);
  }
  void operator()(const Repeat& n) const { all(*n.body); }
  void operator()(const Kernel& n) const { all(*n.body); }
};
}  // namespace

void for_each_buffer(const Node& node, const std::function<void(BufferId)>& visit) {
  std::visit(Visitor{visit}, node.is);
}

namespace {
void visit_output(const Output& output, const std::function<void(BufferId)>& visit) {
  if (output.buffer != kNone) visit(output.buffer);
  for (const Output& element : output.elements) visit_output(element, visit);
}
}  // namespace

void for_each_output_buffer(const Program& program, const std::function<void(BufferId)>& visit) {
  for (const Output& output : program.outputs) visit_output(output, visit);
}

SymbolSet early_symbols(const Program& program) {
  SymbolSet early;
  auto take = [&](Dim d) {
    if (!d.is_constant()) for_each_symbol(d, [&](const SymNode* s) { early.insert(s); });
  };
  for (const Input& i : program.inputs) {
    take(i.sym);
    if (i.buffer == kNone) continue;
    const TensorType& type = program.buffers[i.buffer].type;
    for (Dim d : type.sizes) take(d);
    for (Dim d : type.strides) take(d);
    take(type.offset);
  }
  return early;
}

bool all_in(Dim dim, const SymbolSet& symbols) {
  bool all = true;
  if (!dim.is_constant()) for_each_symbol(dim, [&](const SymNode* s) { all = all && symbols.contains(s); });
  return all;
}

}  // namespace lenz::loops
