// What graphs lower to are programs that break no rule, and their texts read back as they are.
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "compiler/base/error.h"
#include "compiler/graph/text.h"
#include "compiler/loops/equal.h"
#include "compiler/loops/text.h"
#include "compiler/loops/verify.h"
#include "compiler/lower/lower.h"
#include "compiler/ops/call_maker.h"
#include "compiler/ops/op_table.h"

namespace lenz {
namespace {

constexpr uint64_t kCalls = 10;

// Whether something of it is left without a proof.
bool expect_valid(const loops::Program& program, const std::string& what) {
  loops::ProgramVerdict verdict = loops::verify(program);
  for (const auto& f : verdict.violations) ADD_FAILURE() << what << ": " << to_string(f) << "\n" << print(program);
  std::string text = print(program), why;
  loops::Program again = loops::parse_program(text, op_table());
  EXPECT_TRUE(equal(program, again, &why)) << what << ": " << why << "\n" << text;
  EXPECT_EQ(print(again), text);
  return !verdict.unproved.empty();
}

TEST(LoweredPrograms, GeneratedCalls) {
  size_t programs = 0;
  std::set<std::string> unproved;
  for (const auto& row : op_table().rows()) {
    if (!row->generate || row->variant != VariantKind::functional || !lowers_to_loops(*row)) continue;
    for (uint64_t seed = 0; seed < kCalls && !HasFailure(); ++seed) {
      RandomChooser chooser(seed);
      auto graph = generate_call(*row, op_table(), chooser);
      std::optional<loops::Program> program;
      try {
        program = lower_graph(*graph, {.externs = false});
      } catch (const Error&) {  // which others judge: RowLoops, and calls on the interpreter
        continue;
      }
      ++programs;
      if (expect_valid(*program, row->full_name + " seed " + std::to_string(seed))) unproved.insert(row->schema.packet);
    }
  }
  EXPECT_GT(programs, 2000u);
  // That they write all of their results depends on data, or on sums of squares.
  const std::set<std::string> known{"_unique2", "index",        "masked_select", "nonzero",
                                    "pdist",    "tril_indices", "triu_indices"};
  for (const std::string& packet : unproved) EXPECT_TRUE(known.contains(packet)) << packet;
}

bool is_functional(const Graph& graph) {
  bool functional = true;
  graph.for_each_node([&](NodeId id) { functional &= graph.node(id).op->variant == VariantKind::functional; });
  for (const auto& sub : graph.subgraphs) functional = functional && is_functional(*sub);
  return functional;
}

TEST(LoweredPrograms, Corpus) {
  size_t programs = 0;
  for (const char* folder : {"seeds", "models"})
    for (const auto& entry :
         std::filesystem::directory_iterator(std::filesystem::path(LENZ_SOURCE_DIR) / "corpus" / folder)) {
      if (entry.path().extension() != ".lenz") continue;
      auto graph = read_graph(entry.path(), op_table());
      if (!is_functional(*graph)) continue;
      try {
        expect_valid(lower_graph(*graph), entry.path());
        ++programs;
      } catch (const Unsupported&) {  // lists of tensors, which come before
      }
    }
  EXPECT_GT(programs, 20u);
}

// A kernel of somebody else's may see how its operands lie.
TEST(LoweredPrograms, AnExternsOperandsLieAsTheGraphSays) {
  auto graph = parse_graph(
      "extern \"test::look(Tensor a, Tensor[] b) -> Tensor\"\n"
      "graph @g(%x: f32[4, 6]) {\n  %s = aten.slice(%x, 1, 0, 4)\n  %e = aten.sin(%s)\n  %t = aten.t(%e)\n"
      "  %c = aten.cos(%x)\n  %y: f32[4] = test.look(%s, [%t, %c])\n  return %y\n}\n",
      op_table());
  loops::Program program = lower_graph(*graph);
  const auto& node = std::get<loops::Extern>(program.body.nodes.back().is);
  std::vector<loops::BufferId> operands{node.args[0].value()};
  for (ValueId v : node.args[1].value_list()) operands.push_back(v);
  const char* types[] = {"[4, 4] strides [6, 1]", "[4, 4] strides [1, 4]", "[4, 6]"};
  for (size_t i = 0; i < operands.size(); ++i) {
    const loops::Buffer& b = program.buffers[operands[i]];
    EXPECT_TRUE(b.placed) << b.name;
    EXPECT_NE(print(program).find("f32" + std::string(types[i])), std::string::npos) << print(program);
  }
  EXPECT_FALSE(expect_valid(program, "extern"));
}

// Of views too whose elements loops make.
TEST(LoweredPrograms, AnExternsViewsLieAsTheGraphSays) {
  for (const std::string view : {"aten.view_as_complex(%x)", "aten.view.dtype(%x, i64)", "aten._neg_view(%x)"}) {
    auto graph = parse_graph(
        "extern \"test::look(Tensor a) -> Tensor\"\n"
        "graph @g(%x: f32[8, 5, 2] strides [2, 16, 1]) {\n  %v = " +
            view + "\n  %y: f32[4] = test.look(%v)\n  return %y\n}\n",
        op_table());
    const loops::Program program = lower_graph(*graph);
    const auto& node = std::get<loops::Extern>(program.body.nodes.back().is);
    EXPECT_TRUE(program.buffers[node.args[0].value()].placed) << print(program);
    EXPECT_FALSE(expect_valid(program, view));
  }
}

TEST(LoweredPrograms, LoopsAreForTheHost) {
  auto graph = parse_graph("graph @g(%x: f32[4]) { %y = aten._to_copy(%x, device=cuda) return %y }", op_table());
  EXPECT_THROW(lower_graph(*graph), Unsupported);
}
// What an input has become is what computes from it reads.
TEST(LoweredPrograms, AnInputThatIsGivenASizeIsReadAsWhatItBecame) {
  auto graph = parse_graph(
      "graph @g(%x: f32[0] mut, %v: f32[2]) level core {\n  %now = lenz.resized_to(%x, %v)\n"
      "  %n = aten._neg_view(%now)\n  return %n\n}\n",
      op_table());
  const loops::Program program = lower_graph(*graph);
  EXPECT_FALSE(expect_valid(program, "resized"));
  EXPECT_NE(print(program).find("load %v["), std::string::npos) << print(program);
}

// What counts from 0 by one is a coordinate; other beginnings and steps take their sum and product.
TEST(LoweredPrograms, CountingIsACoordinate) {
  auto lowered = [](const std::string& call) {
    return print(lower_graph(*parse_graph("graph @g() level core { %i = " + call + " return %i }", op_table())));
  };
  const std::string plain = lowered("aten.arange(5)");
  EXPECT_EQ(plain.find("mul.i64"), std::string::npos) << plain;
  EXPECT_EQ(plain.find("add.i64"), std::string::npos) << plain;
  const std::string stepped = lowered("aten.arange.start_step(3, 9, 2)");
  EXPECT_NE(stepped.find("mul.i64"), std::string::npos) << stepped;
  EXPECT_NE(stepped.find("add.i64"), std::string::npos) << stepped;
}

// Where nothing is there nothing meets, whatever the strides: no host has to say what is written last.
TEST(LoweredPrograms, WhatIsEmptyOverlapsNothing) {
  for (const char* text :
       {"graph @g(%x: f32[3, 0, 0], %s: f32[3, 0]) level core { %y = aten.diagonal_scatter(%x, %s, 0, 1, 2) return %y "
        "}",
        "graph @g(%x: f32[4, 0], %s: f32[2, 0]) level core { %y = aten.slice_scatter(%x, %s, 0, 1, 3) return %y }"})
    EXPECT_NO_THROW(lower_graph(*parse_graph(text, op_table()), {.externs = false})) << text;
}

// Strides that say a reshape once more, as those of definitions do, cost no divisions; others look at the memory.
TEST(LoweredPrograms, StridesOfAReshapeAreOne) {
  auto lowered = [](const std::string& call) {
    return print(lower_graph(
        *parse_graph("graph @g(%x: f32[s0, s1, 4]) level core { %n = aten.neg(%x) %v = aten._reshape_alias(%n, " +
                         call + ") %r = aten.sin(%v) return %r }",
                     op_table())));
  };
  for (const char* call : {"[s0, 1, s1, 4], [s1*4, 7, 4, 1]", "[s0, s1, 4, 1], [max(s1, 1)*4, 4, 1, 1]"})
    EXPECT_EQ(lowered(call).find("//"), std::string::npos) << lowered(call);
  EXPECT_NE(lowered("[4, s0, s1], [1, s1*4, 4]").find("//"), std::string::npos);
}

// The list of buffers moves as it grows, and a look's layout is that of another one on it.
TEST(LoweredPrograms, ManyLooksAtOneMemory) {
  std::string text = "graph @g(%x: f32[4]) level core {\n", returned;
  for (int i = 0; i < 70; ++i) {
    const std::string n = std::to_string(i);
    text += "  %v" + n + " = aten.as_strided(%x, [1, 2, 2], [0, 2, 1])\n  %r" + n + " = aten.sin(%v" + n + ")\n";
    returned += (i ? ", %r" : "%r") + n;
  }
  expect_valid(lower_graph(*parse_graph(text + "  return " + returned + "\n}\n", op_table())), "looks");
}

// A host is called for a product where that takes less time than the call does.
size_t products_outside(const std::string& text) {
  const loops::Program program = lower_graph(*parse_graph(text, op_table()), {.products_outside = true});
  size_t externs = 0;
  loops::for_each_node(program.body,
                       [&](const loops::Node& n) { externs += std::holds_alternative<loops::Extern>(n.is); });
  return externs;
}

TEST(LoweredPrograms, SmallProductsAreLoops) {
  auto outside = [](const std::string& inputs, const std::string& call) {
    return products_outside("graph @g(" + inputs + ") level core { %r = " + call + " return %r }") > 0;
  };
  EXPECT_FALSE(outside("%x: f32[16, 12], %y: f32[12, 48]", "aten.mm(%x, %y)"));
  EXPECT_FALSE(outside("%b: f32[48], %x: bf16[16, 12], %y: bf16[12, 48]", "aten.mm(%x, %y)"));
  EXPECT_FALSE(outside("%x: f32[4, 16, 8], %y: f32[4, 8, 32]", "aten.bmm(%x, %y)"));
  EXPECT_FALSE(outside("%x: f32[64, 64], %y: f32[64, 64]", "aten.mm(%x, %y)"));
  EXPECT_TRUE(outside("%x: f32[4, 256], %y: f32[256, 64]", "aten.mm(%x, %y)"));  // few rows
  EXPECT_TRUE(outside("%x: f32[128, 128], %y: f32[128, 128]", "aten.mm(%x, %y)"));
  EXPECT_TRUE(outside("%x: f32[16, 100000], %y: f32[100000, 16]", "aten.mm(%x, %y)"));
  EXPECT_TRUE(outside("%x: f32[16, 12], %y: f32[12, 5]", "aten.mm(%x, %y)"));  // no whole vector
  EXPECT_TRUE(outside("%x: f32[1, 4, 8, 8], %w: f32[4, 4, 3, 3]",
                      "aten.convolution(%x, %w, none, [1, 1], [0, 0], [1, 1], false, [0, 0], 1)"));
  EXPECT_FALSE(outside("%x: f32[500, 4, 4], %y: f32[500, 4, 4]", "aten.bmm(%x, %y)"));  // of many batches
}

// Of open sizes what is known of them decides, and no guard.
TEST(LoweredPrograms, OpenSizesAreDecidedByWhatIsKnown) {
  auto lowered = [](const std::string& inputs, const std::string& call, const std::string& facts = "") {
    auto graph =
        parse_graph("graph @g(" + inputs + ") level core" + facts + " { %r = " + call + " return %r }", op_table());
    loops::Program program = lower_graph(*graph, {.products_outside = true});
    expect_valid(program, call);
    return print(program);
  };
  auto outside = [](const std::string& text) { return text.find(" = aten.") != std::string::npos; };
  const std::string product = "%x: f32[s0, s1], %y: f32[s1, s2]";
  const std::string large = lowered(product, "aten.mm(%x, %y)");
  EXPECT_TRUE(outside(large));
  EXPECT_EQ(large.find("8 < s1"), std::string::npos) << large;
  EXPECT_FALSE(outside(lowered(product, "aten.mm(%x, %y)", " where s1 <= 8, s2 <= 128")));
  EXPECT_FALSE(outside(lowered(product, "aten.mm(%x, %y)", " where s0 <= 64, s1 <= 64, s2 <= 64, 16 <= s2")));
  for (const char* vector : {"%x: f32[1, s1], %y: f32[s1, s2]", "%x: f32[s0, s1], %y: f32[s1, 1]"}) {
    const std::string sums = lowered(vector, "aten.mm(%x, %y)");
    EXPECT_FALSE(outside(sums)) << sums;
    EXPECT_EQ(sums.find("matmul"), std::string::npos) << "it fuses, as sums do";
  }
  const std::string search = "aten.searchsorted.Tensor(%b, %x)";
  EXPECT_TRUE(outside(lowered("%b: f32[s1], %x: f32[s0]", search)));
  EXPECT_TRUE(outside(lowered("%b: f32[s1], %x: f32[s0]", search, " where 100000000 <= s1")));
  const std::string halved = lowered("%b: f32[s1], %x: f32[s0]", search, " where s1 in 64..127");
  EXPECT_FALSE(outside(halved)) << halved;
  size_t steps = 0;
  for (size_t at = 0; (at = halved.find("load %b[", at)) != std::string::npos; ++at) ++steps;
  EXPECT_EQ(steps, 7u);
}

// Depthwise ones of few taps, and those of one channel; not where channels lie beside each other.
TEST(LoweredPrograms, ThinConvolutionsAreLoops) {
  auto outside = [](const std::string& image, const std::string& weights, int groups) {
    return products_outside(
               "graph @g(%x: f32" + image + ", %w: f32" + weights +
               ") level core { %r = aten.convolution(%x, %w, none, [1, 1], [1, 1], [1, 1], false, [0, 0], " +
               std::to_string(groups) + ") return %r }") > 0;
  };
  EXPECT_FALSE(outside("[3, 24, 9, 9]", "[24, 1, 3, 3]", 24));
  EXPECT_FALSE(outside("[3, 1, 9, 9]", "[8, 1, 3, 3]", 1));
  EXPECT_TRUE(outside("[3, 24, 9, 9] strides [1944, 1, 216, 24]", "[24, 1, 3, 3]", 24));
  EXPECT_TRUE(outside("[3, 24, 9, 9]", "[24, 1, 7, 7]", 24));
  EXPECT_TRUE(outside("[3, 1, 9, 9]", "[32, 1, 3, 3]", 1));
  EXPECT_TRUE(outside("[3, 24, 9, 9]", "[24, 2, 3, 3]", 12));
}

// Windows are walked as far as the longest of them reaches, and where few of their elements may meet a place these
// alone.
TEST(LoweredPrograms, WindowsHaveNoMorePointsThanTheyMayNeed) {
  auto points = [](const std::string& input, const std::string& call) {
    const loops::Program program = lower_graph(
        *parse_graph("graph @g(%x: f32" + input + ") level core { %r = aten." + call + " return %r }", op_table()));
    EXPECT_FALSE(expect_valid(program, call));
    std::vector<int64_t> made;  // that each nest combines
    loops::for_each_node(program.body, [&](const loops::Node& node) {
      const auto* nest = std::get_if<loops::Nest>(&node.is);
      if (nest == nullptr) return;
      made.push_back(1);
      for (const loops::Axis& a : nest->axes)
        if (a.kind == loops::AxisKind::reduction) made.back() *= a.extent.constant();
    });
    return made;
  };
  using Points = std::vector<int64_t>;
  // Of 6 to 12 and 21 to 9 what is left divides the places: windows of 1 and 3. Rows are added up first.
  EXPECT_EQ(points("[2, 6, 6, 15, 21]", "_adaptive_avg_pool3d(%x, [12, 1, 9])"), (Points{15, 3}));
  EXPECT_EQ(points("[2, 6, 1, 30, 30]", "_adaptive_avg_pool3d(%x, [1, 7, 7])"), (Points{6, 6}));
  EXPECT_EQ(points("[2, 6, 1, 28, 28]", "_adaptive_avg_pool3d(%x, [1, 27, 27])"), Points{4});
  EXPECT_EQ(points("[2, 6, 1, 1, 30]", "_adaptive_avg_pool3d(%x, [1, 1, 7])"), Points{6});
  EXPECT_EQ(points("[36, 121]", "col2im(%x, [32, 32], [3, 3], [2, 2], [2, 2], [3, 3])"), Points{1});
  EXPECT_EQ(points("[36, 196]", "col2im(%x, [32, 32], [3, 3], [2, 2], [0, 0], [2, 2])"), Points{9});
  EXPECT_EQ(points("[36, 784]", "col2im(%x, [56, 56], [3, 3], [1, 1], [1, 1], [2, 2])"), Points{4});
}

// By the number, that is, and not of f16: a tensor of halves stands for powers.
TEST(LoweredPrograms, PowersByHalvesAreRootsAsEagerHasThem) {
  auto lowered = [](const std::string& dtype, const std::string& by) {
    return print(lower_graph(*parse_graph("graph @g(%x: " + dtype + "[5], %e: float, %t: " + dtype +
                                              "[5]) level core { %p = aten.pow(" + by + ") return %p }",
                                          op_table())));
  };
  auto has = [](const std::string& text, std::string_view row) { return text.find(row) != std::string::npos; };
  for (const std::string dtype : {"f32", "f64", "bf16", "c64", "c128"}) {
    const std::string root = lowered(dtype, "%x, 0.5"), inverse = lowered(dtype, "%x, -0.5");
    EXPECT_TRUE(has(root, " sqrt.") && !has(root, " pow.")) << root;
    EXPECT_TRUE(has(inverse, " rsqrt.") && !has(inverse, " pow.")) << inverse;
    for (const std::string by : {"%x, 0.25", "%x, %t", "0.5, %x"}) {
      const std::string power = lowered(dtype, by);
      EXPECT_TRUE(has(power, " pow.") && !has(power, "sqrt.")) << power;
    }
    const std::string open = lowered(dtype, "%x, %e");
    EXPECT_TRUE(has(open, " pow.") && has(open, " sqrt.") && has(open, " rsqrt.")) << open;
    EXPECT_EQ(has(lowered(dtype, "%x, -1"), " reciprocal."), dtype[0] == 'c');
    for (const std::string by : {"%x, 0", "%x, 1", "%x, 2", "%x, 3", "%x, -2"})
      EXPECT_EQ(has(lowered(dtype, by), " pow."), dtype[0] != 'c') << by;
  }
  for (const std::string by : {"%x, 0.5", "%x, -0.5", "%x, %e"}) {
    const std::string power = lowered("f16", by);
    EXPECT_TRUE(has(power, " pow.") && !has(power, "sqrt.")) << power;
  }
}

// A recurrence multiplies few rows by the same weights, step after step: they are turned once.
TEST(LoweredPrograms, FewRowsByOneFactorAreLoopsWhereThatIsOften) {
  auto outside = [](int steps) {
    std::string text = "graph @g(%x: f32[5, 64], %w: f32[64, 64]) level core {\n  %w1 = aten.permute(%w, [1, 0])\n";
    std::string from = "%x";
    for (int i = 0; i < steps; ++i) {
      const std::string to = "%h" + std::to_string(i);
      text += "  " + to + " = aten.mm(" + from + ", %w1)\n";
      from = to;
    }
    return products_outside(text + "  return " + from + "\n}\n");
  };
  EXPECT_EQ(outside(3), 3U);
  EXPECT_EQ(outside(12), 0U);
}

}  // namespace
}  // namespace lenz
