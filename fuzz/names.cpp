#include "fuzz/names.h"

#include <set>
#include <string>

namespace lenz::fuzz {

namespace {
std::string drawn_name(Chooser& c) {
  // Words of the text form, what looks like a number, and what has to be quoted.
  constexpr std::string_view kBeginnings[] = {
      "layers.0.weight", "model.norm", "x",      "return",   "7",    "two words",
      "say \"no\"",      "back\\n",    "\n\t\r", "\x01\x7f", "\xff", "\xc3\xa9"};
  constexpr std::string_view kEnds[] = {"", "", ".0", ".a.1", "_", ".", "\"", "\\", "\\x41", "\xe2\x82"};
  std::string name(c.pick(kBeginnings));
  name += c.pick(kEnds);
  return name;
}

void give_names(Graph& graph, Chooser& c, std::set<std::string>& graphs) {
  std::set<std::string> taken;
  for (ValueId v = 0; v < graph.value_count(); ++v) {
    const bool input = graph.value(v).producer == kNone;
    if (!input && graph.node(graph.value(v).producer).erased) continue;
    if (c.flip()) continue;
    std::string name = drawn_name(c);
    if (!taken.insert(name).second) name += std::to_string(v);
    graph.set_name(v, graph.context().intern(name));
  }
  for (auto& sub : graph.subgraphs) {
    std::string name = drawn_name(c);
    if (graphs.insert(name).second) sub->name = name;
    give_names(*sub, c, graphs);
  }
}
}  // namespace

void give_names(Graph& graph, Chooser& choose) {
  std::set<std::string> graphs;
  give_names(graph, choose, graphs);
}

}  // namespace lenz::fuzz
