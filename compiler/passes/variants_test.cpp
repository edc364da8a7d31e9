// Passes see through how a graph happens to be written: on the examples of corpus/passes each fires too when operands
// of commutative ops are exchanged, when the graph is computed in another dtype, when inputs are laid out transposed,
// and when everything is there twice.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "compiler/base/error.h"
#include "compiler/driver/pipeline.h"
#include "compiler/graph/text.h"
#include "compiler/ops/op_table.h"
#include "compiler/passes/runner.h"

namespace lenz {
namespace {

namespace fs = std::filesystem;

std::string read(const fs::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

using Variant = std::unique_ptr<Graph> (*)(const std::string& text);

std::unique_ptr<Graph> as_written(const std::string& text) { return parse_graph(text, op_table()); }

std::unique_ptr<Graph> exchanged(const std::string& text) {
  auto graph = parse_graph(text, op_table());
  bool any = false;
  std::vector<NodeId> nodes;
  graph->for_each_node([&](NodeId id) { nodes.push_back(id); });
  for (NodeId id : nodes) {
    const Node& node = graph->node(id);
    if (!node.op->has(Trait::commutative) || node.arg_count < 2 || !node.args[0].is_value() || !node.args[1].is_value())
      continue;
    if (&graph->type(node.args[0].value()) != &graph->type(node.args[1].value())) continue;
    if (node.args[0] == node.args[1]) continue;
    SmallVec<Arg, 8> args(node.arguments());
    std::swap(args[0], args[1]);
    graph->set_args(id, args);
    any = true;
  }
  return any ? std::move(graph) : nullptr;
}

// In f64 instead of f32.
std::unique_ptr<Graph> cast(const std::string& text) {
  std::string wide = std::regex_replace(text, std::regex("\\bf32\\b"), "f64");
  return wide == text ? nullptr : parse_graph(wide, op_table());
}

// Inputs of two dims or more that name no strides have those of their transposition.
std::unique_ptr<Graph> transposed(const std::string& text) {
  static const std::regex kInput("(%\\w+: \\w+\\[)((?:\\d+, )*)(\\d+), (\\d+)\\](?! strides)");
  size_t end = text.find(") ");  // of the inputs
  std::string head = text.substr(0, end), made;
  for (std::smatch m; std::regex_search(head, m, kInput); head = m.suffix()) {
    int64_t last = std::stoll(m[4]), before = std::stoll(m[3]), stride = last * before;
    std::vector<int64_t> outer;
    std::stringstream sizes(m[2].str());
    for (std::string s; std::getline(sizes, s, ',');)
      if (s.find_first_of("0123456789") != s.npos) outer.push_back(std::stoll(s));
    std::string strides;
    for (size_t i = outer.size(); i-- > 0; stride *= outer[i]) strides = std::to_string(stride) + ", " + strides;
    made += m.prefix().str() + m.str() + " strides [" + strides + "1, " + std::to_string(before) + "]";
  }
  if (made.empty()) return nullptr;
  return parse_graph(made + head + text.substr(end), op_table());
}

// All nodes once more behind the others, on the same inputs.
std::unique_ptr<Graph> twice(const std::string& text) {
  auto graph = parse_graph(text, op_table());
  std::vector<NodeId> nodes;
  graph->for_each_node([&](NodeId id) { nodes.push_back(id); });
  std::map<ValueId, ValueId> again;
  SmallVec<Arg, 4> outputs;
  for (const Arg& a : graph->outputs()) outputs.push_back(a);
  auto mapped = [&](const Arg& a) {
    if (a.is_value()) return Arg::of_value(again.contains(a.value()) ? again[a.value()] : a.value());
    if (a.kind != ArgKind::value_list) return a;
    SmallVec<ValueId, 8> list;
    for (ValueId v : a.value_list()) list.push_back(again.contains(v) ? again[v] : v);
    return graph->context().values(list);
  };
  for (NodeId id : nodes) {
    const OpDef& op = *graph->node(id).op;
    if (op.schema.mutates() || op.has(Trait::effect)) return nullptr;  // read again, or in no order
    SmallVec<Arg, 8> args;
    for (const Arg& a : graph->node(id).arguments()) args.push_back(mapped(a));
    NodeId copy = graph->append(op, args);
    for (uint16_t i = 0; i < graph->node(id).result_count; ++i)
      again[graph->node(id).result(i)] = graph->node(copy).result(i);
  }
  size_t count = outputs.size();
  for (size_t i = 0; i < count; ++i) outputs.push_back(mapped(outputs[i]));
  graph->set_outputs(outputs);
  return graph;
}

size_t rewrites(Graph& graph, std::string_view pass) {
  auto lines = select_passes(pass);
  lines.resize(1);
  return run_passes(graph, lines, checked_options()).rewrites;
}

// Variants that no example of a pass has: it has no commutative op, no f32, no input of two dims, or it writes.
constexpr size_t kMostWithout = 20;

// Where a pass rightly does nothing: it puts operands in order itself, or goes by their order; a result lies as its
// first operand does, so that another one can't take that place; a sub-graph of two nodes is nobody's to change; images
// whose pixels lie column by column are no rows of a product.
const std::set<std::pair<std::string_view, std::string_view>> kExcused = {{"canonicalise_arguments", "exchanged"},
                                                                          {"convolution_products", "transposed"},
                                                                          {"local_reordering", "exchanged"},
                                                                          {"operand_sources", "exchanged"},
                                                                          {"subgraph_arguments", "twice"}};

TEST(Variants, EachPassFiresOnThemToo) {
  const std::pair<std::string, Variant> variants[] = {
      {"exchanged", exchanged}, {"cast", cast}, {"transposed", transposed}, {"twice", twice}};
  size_t without = 0;
  for (const auto& folder : fs::directory_iterator(fs::path(LENZ_SOURCE_DIR) / "corpus/passes")) {
    std::string pass = folder.path().filename();
    std::map<std::string, size_t> fired, tried;
    for (const auto& entry : fs::directory_iterator(folder)) {
      std::string text = read(entry.path());
      text = text.substr(0, text.find("# ---- after"));
      if (!rewrites(*as_written(text), pass)) continue;
      for (const auto& [name, variant] : variants) {
        std::unique_ptr<Graph> graph;
        try {
          graph = variant(text);
        } catch (const UserError&) {  // an example that is of one dtype or layout
          continue;
        }
        if (!graph) continue;
        ++tried[name];
        fired[name] += rewrites(*graph, pass) > 0;
      }
    }
    for (const auto& [name, variant] : variants) {
      without += tried[name] == 0;
      bool excused = kExcused.contains({pass, name});
      EXPECT_TRUE(tried[name] == 0 || (fired[name] > 0) != excused)
          << pass << " " << name << ": of " << tried[name] << " examples";
    }
  }
  EXPECT_LE(without, kMostWithout) << "of " << 4 * pipeline().size();
}

// Examples are written for their pass; models were written for what they compute. Their parameters are inputs, though,
// which callers fill as they like: one that asks for constants finds none. Nor does any model ask for the extremes of
// rows and of the whole, as scales of quantisation do.
TEST(ImportedModels, EachPassFiresOnOne) {
  std::map<std::string, size_t> models;
  for (const PipelineLine& line : pipeline()) models[std::string(line.pass.name)];
  for (const auto& entry : fs::directory_iterator(fs::path(LENZ_SOURCE_DIR) / "corpus/models")) {
    if (entry.path().extension() != ".lenz") continue;
    auto graph = as_written(read(entry.path()));
    std::set<std::string> fired;
    for (const PassRun& run : run_passes(*graph, pipeline()).runs)
      if (run.allowed > 0) fired.insert(std::string(run.pass));
    for (const std::string& pass : fired) ++models[pass];
  }
  const std::set<std::string> on_none = {"batch_norm_folding", "partial_extremes"};
  for (const auto& [pass, count] : models) EXPECT_EQ(count > 0, !on_none.contains(pass)) << pass;
}

}  // namespace
}  // namespace lenz
