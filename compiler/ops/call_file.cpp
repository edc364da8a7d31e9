#include "compiler/ops/call_file.h"

#include "compiler/graph/text.h"

namespace lenz {

namespace {
// "  %0 = aten.add.Tensor(" or "  aten._foreach_add_.Scalar(": the op of the one statement. An overload that is written
// as "default" has no name.
std::string called(std::string_view text) {
  for (std::string_view rest = text; !rest.empty();) {
    std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    size_t start = line.find_first_not_of(' ');
    if (start == std::string_view::npos) continue;
    line.remove_prefix(start);
    size_t equals = line.find(" = ");
    if (line.starts_with('%') && equals != std::string_view::npos) line.remove_prefix(equals + 3);
    size_t end = line.find('(');
    if (!line.starts_with("aten.") || end == std::string_view::npos) continue;
    std::string name(line.substr(0, end));
    if (name.ends_with(".default")) name.resize(name.size() - 8);
    return name;
  }
  throw UserError("a part of the file calls no op of ATen's", std::string(text.substr(0, 200)));
}
}  // namespace

std::vector<CallText> split_calls(std::string_view text) {
  std::vector<CallText> calls;
  while (!text.empty()) {
    size_t end = text.find("\n%%\n");
    std::string_view part = text.substr(0, end == std::string_view::npos ? end : end + 1);
    if (part.find_first_not_of(" \n") != std::string_view::npos) calls.push_back({called(part), std::string(part)});
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 4);
  }
  return calls;
}

DrawnCall read_call(const CallText& text, const OpTable& table) {
  DrawnCall call;
  call.graph = parse_graph(text.text, table, {.file = text.op, .limits = {}});
  Graph& graph = *call.graph;
  if (graph.node_count() != 1)
    throw UserError("a call is a graph of one node, not of " + std::to_string(graph.node_count()));
  const Node& node = graph.node(graph.first());
  call.op = node.op;
  call.args.assign(node.arguments().begin(), node.arguments().end());
  graph.set_outputs({});
  graph.erase(graph.first());
  graph.assumptions.restart();
  return call;
}

}  // namespace lenz
