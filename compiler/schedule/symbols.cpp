#include "compiler/schedule/symbols.h"

namespace lenz::schedule {

SymbolSet symbols_of(const loops::Program& program) {
  SymbolSet taken;
  auto all = [&](Dim d) {
    if (!d.is_constant()) for_each_symbol(d, [&](const SymNode* s) { taken.insert(s); });
  };
  for (const loops::Input& i : program.inputs) all(i.sym);
  for (const loops::Buffer& b : program.buffers) {
    for (Dim d : b.type.sizes) all(d);
    for (Dim d : b.type.strides) all(d);
    all(b.type.offset);
  }
  for_each_node(program.body, [&](const loops::Node& n) {
    if (const auto* repeat = std::get_if<loops::Repeat>(&n.is)) all(repeat->symbol);
    if (const auto* bind = std::get_if<loops::Bind>(&n.is)) all(bind->symbol);
    const auto* nest = std::get_if<loops::Nest>(&n.is);
    if (nest == nullptr) return;
    for (const loops::Axis& a : nest->axes) all(a.symbol);
    for (const loops::Instr& i : nest->body)
      if (i.kind == loops::InstrKind::position) all(i.symbol);
  });
  return taken;
}

Dim FreshSymbols::operator()(std::string_view prefix) {
  auto next = next_.find(prefix);
  if (next == next_.end()) next = next_.emplace(prefix, 0).first;
  for (;;) {
    const Dim symbol = context_.syms.symbol(next->first + std::to_string(next->second++));
    if (!taken_.contains(symbol.node()) && own_.insert(symbol.node()).second) return symbol;
  }
}

bool mentions(Dim dim, Dim symbol) {
  bool found = false;
  if (!dim.is_constant()) for_each_symbol(dim, [&](const SymNode* s) { found = found || s == symbol.node(); });
  return found;
}

}  // namespace lenz::schedule
