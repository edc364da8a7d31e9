#include "compiler/graph/renumber.h"
#include "compiler/schedule/realise.h"

namespace lenz::schedule {

using loops::BufferId;

namespace {

// Calls visit(BufferId&) for every mention of a buffer but those in declarations and in arguments of externs.
template <class F>
void for_each_mention(loops::Program& program, F&& visit) {
  auto maybe = [&](BufferId& id) {
    if (id != kNone) visit(id);
  };
  auto output = [&](auto& self, loops::Output& o) -> void {
    if (o.kind == loops::Output::tensor || o.kind == loops::Output::number) visit(o.buffer);
    for (loops::Output& e : o.elements) self(self, e);
  };
  for (loops::Output& o : program.outputs) output(output, o);
  for (loops::Input& i : program.inputs) maybe(i.buffer);
  for_each_node(program.body, [&](loops::Node& node) {
    if (auto* n = std::get_if<loops::Nest>(&node.is)) {
      for (loops::Instr& i : n->body) maybe(i.buffer);
      for (loops::Store& s : n->stores) visit(s.buffer);
    } else if (auto* n = std::get_if<loops::Sort>(&node.is)) {
      visit(n->keys);
      maybe(n->values);
      maybe(n->indices);
    } else if (auto* n = std::get_if<loops::Extern>(&node.is)) {
      for (BufferId& r : n->results) maybe(r);
    } else if (auto* n = std::get_if<loops::Bind>(&node.is)) {
      visit(n->from);
    } else if (auto* n = std::get_if<loops::Check>(&node.is)) {
      maybe(n->holds);
    } else if (auto* n = std::get_if<loops::Print>(&node.is)) {
      for (BufferId& v : n->values) visit(v);
    } else if (auto* n = std::get_if<loops::If>(&node.is)) {
      visit(n->condition);
    } else if (auto* n = std::get_if<loops::While>(&node.is)) {
      visit(n->condition);
    }
  });
}

}  // namespace

void drop_unused_buffers(loops::Program& program) {
  std::vector<bool> used(program.buffers.size());
  for_each_mention(program, [&](BufferId& id) { used[id] = true; });
  auto of_externs = [&](auto&& visit) {
    for_each_node(program.body, [&](loops::Node& node) {
      if (auto* n = std::get_if<loops::Extern>(&node.is))
        for (Arg& a : n->args) visit(a);
    });
  };
  of_externs([&](Arg& a) { for_each_value(a, [&](ValueId v) { used[v] = true; }); });
  for (BufferId id = 0; id < used.size(); ++id)
    if (used[id] && program.buffers[id].view_of != kNone) used[program.buffers[id].view_of] = true;
  std::vector<BufferId> numbers(used.size(), kNone);
  std::vector<loops::Buffer> kept;
  for (BufferId id = 0; id < used.size(); ++id) {
    if (!used[id]) continue;
    numbers[id] = static_cast<BufferId>(kept.size());
    kept.push_back(std::move(program.buffers[id]));
  }
  for (loops::Buffer& b : kept)
    if (b.view_of != kNone) b.view_of = numbers[b.view_of];
  program.buffers = std::move(kept);
  for_each_mention(program, [&](BufferId& id) { id = numbers[id]; });
  of_externs([&](Arg& a) { a = renumbered(*program.context, a, numbers); });
}

}  // namespace lenz::schedule
