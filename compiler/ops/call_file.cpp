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

namespace {
// The one node of a graph as a call of `op` (null: the node's own) in a graph that knows `table`.
DrawnCall call_of_graph(const Graph& parsed, const OpDef* op, const OpTable& table) {
  if (parsed.node_count() != 1)
    throw UserError("a call is a graph of one node, not of " + std::to_string(parsed.node_count()));
  if (!op) op = parsed.node(parsed.first()).op;
  DrawnCall call{op, std::make_unique<Graph>(parsed.shared_context(), table, parsed.name), {}};
  for (const Input& input : parsed.inputs()) {
    ValueId v = call.graph->add_input(parsed.context().name(parsed.value(input.value).name), &parsed.type(input.value));
    if (v != input.value) throw UserError("the inputs of a call come before what it makes");
    call.graph->input(call.graph->inputs().size() - 1) = input;
  }
  call.graph->assumptions = parsed.assumptions;
  call.graph->assumptions.restart();
  std::span<const Arg> args = parsed.node(parsed.first()).arguments();
  call.args.assign(args.begin(), args.end());
  return call;
}

// A rule that has no opinion: types that fit the schema.
void any_results(Infer& in) {
  for (const Return& r : in.op().schema.returns) {
    if (r.type.list) {
      in.result(in.context().list({}));
    } else {
      in.result(contiguous_tensor(Dtype::f32, {}));
    }
  }
}

std::unique_ptr<Graph> parsed_as(const OpDef& op, const CallText& text) {
  OpDef reading = op;
  reading.infer = any_results;
  reading.dtypes = dtypes::all;
  reading.variant = VariantKind::functional;
  reading.variants = {};
  OpTable table;
  table.add(std::move(reading));
  return parse_graph(text.text, table, {.file = text.op, .limits = {}});
}
}  // namespace

DrawnCall read_call(const CallText& text, const OpTable& table) {
  return call_of_graph(*parse_graph(text.text, table, {.file = text.op, .limits = {}}), nullptr, table);
}

DrawnCall read_unjudged_call(const CallText& text, const OpTable& table) {
  try {
    return read_call(text, table);
  } catch (const UserError&) {
    std::vector<const OpDef*> rows(table.packet(text.op).begin(), table.packet(text.op).end());
    if (rows.empty() && table.find(text.op)) rows.push_back(table.find(text.op));
    for (const OpDef* op : rows) {
      try {
        return call_of_graph(*parsed_as(*op, text), op, table);
      } catch (const UserError&) {  // not this overload's arguments
        continue;
      }
    }
    throw;
  }
}

std::map<std::string, std::vector<CallText>> calls_by_row(std::string_view text, const OpTable& table) {
  std::map<std::string, std::vector<CallText>> calls;
  for (CallText& call : split_calls(text)) {
    bool named = table.packet(call.op).size() <= 1;
    std::string row = named ? call.op : read_unjudged_call(call, table).op->full_name;
    if (!table.find(row)) throw UserError("there is no row of " + row, call.text.substr(0, 200));
    calls[row].push_back(std::move(call));
  }
  return calls;
}

}  // namespace lenz
