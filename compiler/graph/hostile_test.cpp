// Hostile texts: none crashes, hangs, or parses into a graph that does not survive printing.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "compiler/graph/mutate.h"
#include "compiler/graph/text.h"
#include "compiler/graph/verify.h"
#include "compiler/ops/op_table.h"

namespace lenz {
namespace {

std::vector<std::string> corpus() {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(std::string(LENZ_SOURCE_DIR) + "/corpus"))
    if (entry.path().extension() == ".lenz" && !entry.path().filename().string().starts_with("parse_"))
      paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> texts;
  for (const auto& p : paths) texts.push_back(read_text(p, 1 << 26));
  return texts;
}

// How many of these mutations, one for each seed, still parse.
size_t parsed_of(const std::vector<std::string>& texts, uint64_t seeds) {
  size_t parsed = 0;
  for (uint64_t seed = 0; seed < seeds; ++seed) {
    RandomChooser chooser(seed);
    std::string text = mutate(texts[seed % texts.size()], texts, chooser);
    try {
      parsed += survives(text, op_table());
    } catch (const Error& e) {
      ADD_FAILURE() << "seed " << seed << ": " << e.what() << "\n" << text;
      return parsed;
    }
  }
  return parsed;
}

TEST(Hostile, MutatedCorpus) {
  std::vector<std::string> texts = corpus();
  ASSERT_GE(texts.size(), 40u);
  EXPECT_GT(parsed_of(texts, 2000), 200u);  // or the mutations are too wild to reach beyond the parser
}

// For nightly runs, in the build with sanitizers: half an hour there.
TEST(Hostile, DISABLED_AMillionMutations) { EXPECT_GT(parsed_of(corpus(), 1'000'000), 100'000u); }

void expect_error(const std::string& text, std::string_view start) {
  try {
    parse_graph(text, op_table());
    FAIL() << "parses: " << text.substr(0, 100);
  } catch (const UserError& e) {
    EXPECT_TRUE(std::string_view(e.what()).starts_with(start)) << std::string(e.what()).substr(0, 300);
    EXPECT_LT(std::string_view(e.what()).size(), 20'000u);
  }
}

std::string times(size_t n, std::string_view text) {
  std::string out;
  for (size_t i = 0; i < n; ++i) out += text;
  return out;
}

TEST(Hostile, DeepAndLongTexts) {
  constexpr size_t kMany = 200'000;
  expect_error("graph @g(%x: " + times(kMany, "[") + ") { return }", "<text>:1:79: nested deeper than 64 levels");
  expect_error("graph @g(%x: f32[" + times(kMany, "(") + "]) { return }", "<text>:1:82: nested deeper");
  expect_error("graph @g(%x: f32[" + times(kMany, "min(") + "]) { return }", "<text>:1:");
  expect_error("graph @g(%x: f32[" + times(kMany, "s0*") + "s0]) { return }", "<text>:1:");
  expect_error("graph @g(%x: f32[" + times(kMany, "(s0+s1)*") + "s0]) { return }", "<text>:1:");
  std::string sum = "s0";
  for (size_t i = 1; i < 20'000; ++i) sum += "+s" + std::to_string(i);
  expect_error("graph @g(%x: f32[" + sum + "]) { return }", "<text>:1:");
  expect_error("graph @g(%x: f32[" + times(kMany, "1,") + "1]) { return }", "<text>:1:");
  expect_error("graph @g(%" + times(kMany, "x"), "<text>:1:");
  expect_error("graph @g(%x: f32[2]) { %y = aten." + times(kMany, "x") + "(%x) return %y }", "<text>:1:");
  expect_error("graph @g(%x: f32[2]) { %y = aten.sin(" + times(kMany, "%x,") + ") return %y }", "<text>:1:");
  expect_error("graph @g(%x: f32[2]) { %y = aten.sin(" + times(1000, "self=%x,") + ") return %y }", "<text>:1:");
  expect_error(times(kMany, "extern \"a::b() -> ()\" "), "<text>:1:");
  expect_error("extern \"a::b(" + times(1000, "Tensor x,") + "Tensor y) -> ()\"", "<text>:1:");
  // Sub-graphs below sub-graphs.
  std::string text = "graph @g(%p: bool[], %x: f32[2]) { %y = lenz.cond(%p, @g0, @g0, [%p, %x]) return %y }";
  for (int i = 0; i < 200; ++i) {
    std::string next = "@g" + std::to_string(i + 1);
    text += "\ngraph @g" + std::to_string(i) + "(%p: bool[], %x: f32[2]) { %y = lenz.cond(%p, " + next + ", " + next +
            ", [%p, %x]) return %y }";
  }
  expect_error(text, "<text>:");
}

// Lists of something else than what operands are.
TEST(Hostile, OperandsThatAreNone) {
  for (const char* list : {"[1.5]", "[true]", "[none]", "[%x, none]", "[\"a\"]", "[%x, 1.5]", "%l", "1", "none"}) {
    const std::string given = list, head = "graph @g(%p: bool[], %x: f32[2], %l: [f32[2]]) {\n",
                      sub = "\ngraph @s(%x: f32[2]) { return %x }";
    const auto refused = [&](const std::string& call) {
      EXPECT_THROW(parse_graph(head + call + "\n return %x }" + sub, op_table()), UserError) << call;
    };
    refused("%y = lenz.cond(%p, @s, @s, " + given + ")");
    refused("%y = lenz.scan(@s, " + given + ", [%x])");
    refused("%y = lenz.scan(@s, [%x], " + given + ")");
    refused("%y = lenz.while_loop(@s, @s, " + given + ")");
    if (given != "[1.5]" && given != "[true]" && given != "[%x, 1.5]")
      refused("%t = lenz.make_token() %u = lenz.print(%t, \"{}\", " + given + ")");
  }
}

// A few characters that ask for a list of a thousand million tensors.
TEST(Hostile, LongLists) {
  for (std::string_view call : {"aten.unbind(%x)", "aten.split(%x, 1)", "aten.chunk(%x, 1000000000)",
                                "aten.tensor_split(%x, 1000000000)", "aten.chunk(%e, 9223372036854775807)"}) {
    std::string text = "graph @g(%x: f32[1000000000], %e: f32[0]) { %y = " + std::string(call) + " return %y }";
    EXPECT_THROW(parse_graph(text, op_table()), Unsupported) << call;
  }
  std::string many = "graph @g(%x: f32[60000]) { ";
  for (int i = 0; i < 20; ++i) many += "%y" + std::to_string(i) + " = aten.unbind(%x) ";
  expect_error(many + "return }", "<text>:1:");
}

TEST(Hostile, LimitsAreSaid) {
  ParseOptions options;
  options.limits.nodes = 3;
  std::string four =
      "graph @g(%x: f32[2]) { %a = aten.sin(%x) %b = aten.sin(%x) %c = aten.sin(%x) %d = aten.sin(%x) return %d }";
  EXPECT_THROW(parse_graph(four, op_table(), options), UserError);
  options.limits.nodes = 4;
  EXPECT_NO_THROW(parse_graph(four, op_table(), options));
  options.limits.text = 20;
  EXPECT_THROW(parse_graph(four, op_table(), options), UserError);
  options.limits.text = 1000;
  options.limits.string = 4;
  EXPECT_THROW(parse_graph("graph @g(%x: f32[2]) { return \"12345\" }", op_table(), options), UserError);
  EXPECT_THROW(parse_graph("graph @g(%x1234: f32[2]) { return }", op_table(), options), UserError);
}

// Symbols in long chains: each fact or guard costs what those near it cost, and proofs leave nothing behind.
TEST(Hostile, ChainsOfSymbols) {
  auto graph_of = [](size_t n, std::string_view relation, std::string_view statement) {
    auto s = [](size_t i) { return "s" + std::to_string(i); };
    std::string inputs, facts, body;
    for (size_t i = 0; i < n; ++i) inputs += (i ? ", %x" : "%x") + std::to_string(i) + ": f32[" + s(i) + "]";
    for (size_t i = 1; i < n && !relation.empty(); ++i)
      facts += (i > 1 ? ", " : " where ") + s(i - 1) + std::string(relation) + s(i);
    for (size_t i = 1; i < n && !statement.empty(); ++i)
      body += "%y" + std::to_string(i) + " = " + std::string(statement) + "(%x" + std::to_string(i) + ", 0, 0, " +
              s(i - 1) + ")\n";
    return parse_graph("graph @g(" + inputs + ")" + facts + " {\n" + body + "return %x0 }", op_table());
  };
  for (auto [relation, statement] : {std::pair<std::string_view, std::string_view>{" <= ", ""},
                                     {" < 2*", ""},
                                     {"+1 == ", ""},
                                     {"", "aten.narrow"},
                                     {"", "aten.slice"}}) {
    size_t few = graph_of(200, relation, statement)->context().syms.node_count(),
           many = graph_of(800, relation, statement)->context().syms.node_count();
    EXPECT_LT(many, 5 * few) << relation << statement;
    EXPECT_LT(many, 800u * 12) << relation << statement;
  }
}

// Sizes that only the run knows: checking them makes no symbols that stay.
TEST(Hostile, AVerificationLeavesNothingBehind) {
  std::string text = "graph @g(%x: f32[m]) {\n";
  for (size_t i = 0; i < 100; ++i) text += "%z" + std::to_string(i) + " = aten.nonzero(%x)\n";
  auto graph = parse_graph(text + "return %x }", op_table());
  EXPECT_TRUE(verify(*graph).empty());
  size_t symbols = graph->context().syms.node_count();
  EXPECT_TRUE(verify(*graph).empty());
  EXPECT_EQ(graph->context().syms.node_count(), symbols);
}

// Twice the text, at most about twice the memory and time: nothing in a text is worth more than its length.
TEST(Hostile, MemoryIsLinear) {
  auto bytes = [](size_t n) {
    std::string text = "graph @g(%x: f32[s0, s1]) {\n";
    for (size_t i = 0; i < n; ++i)
      text += "  %" + std::to_string(i + 1) + " = aten.clamp(%x, min=" + std::to_string(i) + ", max=0.5)\n";
    auto graph = parse_graph(text + "  return %x\n}\n", op_table());
    return static_cast<double>(graph->memory_bytes()) / static_cast<double>(text.size());
  };
  EXPECT_LT(bytes(20'000), 8.0);
  EXPECT_LT(bytes(40'000), 8.0);
}

}  // namespace
}  // namespace lenz
