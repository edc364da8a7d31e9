#include "compiler/loops/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "compiler/graph/mutate.h"
#include "compiler/loops/equal.h"
#include "compiler/loops/mutate.h"
#include "compiler/loops/verify.h"
#include "compiler/ops/op_table.h"

namespace lenz::loops {
namespace {

Program parse(std::string_view text) { return parse_program(text, op_table()); }

// The examples of the page, as they stand there.
std::vector<std::string> examples() {
  std::string page = read_text(std::string(LENZ_SOURCE_DIR) + "/compiler/loops/LOOPS.md", 1 << 20);
  std::vector<std::string> found;
  constexpr std::string_view kStart = "```\nloops ";
  for (size_t at = page.find(kStart); at != std::string::npos; at = page.find(kStart, at + 1)) {
    size_t from = at + 4, end = page.find("```", from);
    found.push_back(page.substr(from, end - from));
  }
  return found;
}

TEST(ProgramText, ThePagesExamplesAreCanonicalAndValid) {
  auto found = examples();
  EXPECT_GE(found.size(), 5u);
  for (const std::string& text : found) {
    Program program = parse(text);
    EXPECT_EQ(print(program), text);
    EXPECT_TRUE(is_program_text(text));
    ProgramVerdict verdict = verify(program);
    for (const ProgramFinding& f : verdict.violations) ADD_FAILURE() << to_string(f) << "\n" << text;
    for (const ProgramFinding& f : verdict.unproved) ADD_FAILURE() << to_string(f) << "\n" << text;
    EXPECT_TRUE(program_survives(text, op_table()));
  }
}

std::string with_body(std::string_view declarations, std::string_view body) {
  return "loops @p {\n" + std::string(declarations) + std::string(body) + "  return\n}\n";
}

void expect_canonical(const std::string& text) { EXPECT_EQ(print(parse(text)), text); }

TEST(ProgramText, EveryKindOfDeclaration) {
  expect_canonical(
      with_body("  extern \"my::op(Tensor x, *, Scalar s=1) -> Tensor\"\n"
                "  stream 0 offset s0*4\n"
                "  stream 1 seed 18446744073709551615 offset 0\n"
                "  input %x: f32[s0, 3] strides [4, 1] offset 2 on cuda:0 placed mut alias a\n"
                "  input %y: i64[] alias \"two words\"\n"
                "  input %n: int s0\n"
                "  input %m: none\n"
                "  temp %h: bool[s0//2]\n"
                "  constant %c = f32[2] [0.1, nan]\n"
                "  constant %\"d e\": c64[1] placed = c64[1] [complex(0.1, -inf)]\n"
                "  constant %w = f32[1000] \"weights.npz\":\"w\"\n",
                ""));
}

TEST(ProgramText, EveryKindOfInstruction) {
  expect_canonical(
      with_body("  stream 0 offset 0\n"
                "  input %x: f32[s0, 3]\n"
                "  temp %y: f32[s0]\n"
                "  temp %z: i64[s0]\n",
                "  for i0 < s0, reduce i1 < 3 \"a \\\"name\\\"\" as pooling {\n"
                "    %0 = load %x[i0, i1]\n"
                "    %1 = bool true\n"
                "    %2 = load %x[i0, 2 - i1] if %1\n"
                "    %3 = index[i0*3 + i1]\n"
                "    %4 = i8 -128\n"
                "    %5 = f16 nan(0xfff8000000000000)\n"
                "    %6 = c64 complex(-0.0, inf)\n"
                "    %7: f16 = to_dtype.f32 %0\n"
                "    %8 = lt.f32 %0, %2\n"
                "    %9 = where.f32 %8, %0, %2\n"
                "    %10 = position %3 < s0*4 as p0 wraps if %8\n"
                "    %11 = position %3 < s0 as p1\n"
                "    %12 = reduce argmax %9, %3\n"
                "    %13 = part 1 of %12\n"
                "    %14 = reduce ordered sum %0\n"
                "    %15 = draw word stream 0[i0]\n"
                "    %16: f64 = draw uniform stream 0[i0]\n"
                "    %17: f32 = draw normal stream 0[p0 + 1]\n"
                "    store %y[i0] = %12 if %1\n"
                "    store scatter distinct %z[p1] = %3\n"
                "    store maximum %y[i0] = %14\n"
                "  }\n"));
  Program program = parse(with_body("", "  for {\n    %a = f32 0.5\n    %b = neg.f32 %a\n  }\n"));
  const auto& nest = std::get<Nest>(program.body.nodes[0].is);
  EXPECT_EQ(nest.body[1].dtype, Dtype::f32);
  EXPECT_EQ(nest.body[1].operands[0], 0u);
  EXPECT_NE(print(program).find("%1 = neg.f32 %0"), std::string::npos);
}

TEST(ProgramText, LazyOutputs) {
  const std::string text =
      "loops @p {\n  input %x: c64[4] placed\n  input %y: f32[4] placed\n"
      "  return %x conjugated, %x: c64[2] conjugated, %y negated, %y\n}\n";
  expect_canonical(text);
  Program program = parse(text), other = parse(text);
  EXPECT_TRUE(program.outputs[0].conjugated && program.outputs[2].negated && !program.outputs[3].negated);
  EXPECT_TRUE(equal(program, other));
  other.outputs[2].negated = false;
  EXPECT_FALSE(equal(program, other));
}

TEST(ProgramText, SymbolsMayBeCalledAsDtypesAre) {
  expect_canonical(with_body("  temp %y: f32[4, 4]\n",
                             "  for i8 < 4, i16 < 4 {\n"
                             "    %0 = i8 1\n"
                             "    %1: f32 = to_dtype.i8 %0\n"
                             "    store %y[i8, i16] = %1\n"
                             "  }\n"));
}

TEST(ProgramText, ProvenanceIsPrintedOnRequest) {
  std::string text =
      "loops @p {\n"
      "  input %x: f32[2] from %a\n"
      "  temp %y: f32[2] from %b, %\"layer 1\"\n"
      "  for i0 < 2 \"copy\" from %b {\n"
      "    %0 = load %x[i0]\n"
      "    store %y[i0] = %0\n"
      "  }\n"
      "  check %x \"m\" from %c\n"
      "  return %y\n"
      "}\n";
  Program program = parse(text);
  ProgramPrintOptions options;
  options.provenance = true;
  EXPECT_EQ(print(program, options), text);
  EXPECT_EQ(print(program).find("from"), std::string::npos);
}

TEST(ProgramText, CommentsStayWhereTheyAre) {
  std::string text =
      "# above\n"
      "loops @p {  # behind the head\n"
      "  # an input\n"
      "  input %x: f32[2]  # of two\n"
      "  temp %c: bool[]\n"
      "  # a nest\n"
      "  for i0 < 2 {  # runs\n"
      "    # a load\n"
      "    %0 = load %x[i0]  # here\n"
      "    # before the store\n"
      "    store %x[i0] = %0\n"
      "    # at the end\n"
      "  }  # closed\n"
      "  if %c {\n"
      "    check %c \"yes\"\n"
      "  } else {  # otherwise\n"
      "    # nothing more\n"
      "    check %c \"no\"\n"
      "  }\n"
      "  while {\n"
      "    # test\n"
      "  } %c {  # again\n"
      "  }\n"
      "  # outputs\n"
      "  return %x  # one\n"
      "  # last\n"
      "}  # end\n"
      "# below\n";
  LineComments comments;
  ProgramParseOptions options;
  options.comments = &comments;
  Program program = parse_program(text, op_table(), options);
  ProgramPrintOptions print_options;
  print_options.comments = &comments;
  EXPECT_EQ(print(program, print_options), text);
}

TEST(ProgramText, PlacesAreThoseOfTheText) {
  std::string text = examples().back();
  ProgramPlaces places;
  ProgramParseOptions options;
  options.places = &places;
  Program program = parse_program(text, op_table(), options);
  EXPECT_EQ(places.buffers.size(), program.buffers.size());
  EXPECT_EQ(places.inputs.size(), program.inputs.size());
  EXPECT_EQ(places.outputs.size(), program.outputs.size());
  size_t at = 0;
  for_each_node(program.body, [&](Node& node) {
    ASSERT_LT(at, places.nodes.size());
    const auto& place = places.nodes[at++];
    std::string head = ProgramText(program).node(node);
    EXPECT_EQ(text.substr(place.at.at, 2), head.substr(0, 2));
    auto* nest = std::get_if<Nest>(&node.is);
    EXPECT_EQ(place.body.size(), nest ? nest->body.size() : 0);
    EXPECT_EQ(place.stores.size(), nest ? nest->stores.size() : 0);
    for (Ssa i = 0; nest && i < nest->body.size(); ++i)
      EXPECT_EQ(text.substr(place.body[i].at, place.body[i].end - place.body[i].at),
                ProgramText(program).instruction(*nest, i));
  });
  EXPECT_EQ(at, places.nodes.size());
}

TEST(ProgramText, EqualityIsStructural) {
  std::string text = examples()[0];
  Program a = parse(text), b = parse(text);
  std::string why;
  EXPECT_TRUE(equal(a, b, &why)) << why;
  auto changed = [&](std::string_view from, std::string_view to) {
    std::string other = text;
    size_t at = other.find(from);
    EXPECT_NE(at, std::string::npos);
    other.replace(at, from.size(), to);
    return !equal(a, parse(other), &why);
  };
  EXPECT_TRUE(changed("4096", "4095"));
  EXPECT_THAT(why, testing::HasSubstr("facts"));
  EXPECT_TRUE(changed(" as matmul", ""));
  EXPECT_TRUE(changed("mul.f32", "add.f32"));
  EXPECT_THAT(why, testing::HasSubstr("%2 = mul.f32 %0, %1"));
  EXPECT_TRUE(changed("reduce sum", "reduce ordered sum"));
  EXPECT_TRUE(changed("[i0, i2]", "[i0, i2 + 0*s0 + 1]"));
  EXPECT_TRUE(changed("placed", ""));
  EXPECT_TRUE(changed("return %h", "return %x"));
  EXPECT_FALSE(changed("\"aten.linear\"", "\"another\""));
  EXPECT_FALSE(changed("%x: f32", "%x : f32"));
  // Buffers count by where they are declared, not by their id.
  std::swap(a.buffers[0], a.buffers[1]);
  std::swap(a.inputs[0].buffer, a.inputs[1].buffer);
  for_each_node(a.body, [](Node& node) {
    for (Instr& i : std::get<Nest>(node.is).body)
      if (i.kind == InstrKind::load) i.buffer ^= 1;
  });
  EXPECT_TRUE(equal(a, b, &why)) << why;
}

void expect_error(std::string_view text, std::string_view start) {
  try {
    parse(text);
    ADD_FAILURE() << "parses: " << text.substr(0, 200);
  } catch (const UserError& e) {
    EXPECT_THAT(std::string(e.what()).substr(0, 400), testing::StartsWith(std::string(start)));
    EXPECT_LT(std::string_view(e.what()).size(), 20'000u);
  }
}

std::string times(size_t n, std::string_view text) {
  std::string out;
  for (size_t i = 0; i < n; ++i) out += text;
  return out;
}

TEST(ProgramHostile, DeepAndLongTexts) {
  constexpr size_t kMany = 100'000;
  expect_error("loops @p { " + times(kMany, "while { "), "<text>:1:");
  expect_error("loops @p { temp %c: bool[] " + times(kMany, "if %c { "), "<text>:1:");
  expect_error("loops @p { temp %x: f32[" + times(kMany, "(") + "] return }", "<text>:1:");
  expect_error("loops @p { return " + times(kMany, "["), "<text>:1:");
  expect_error("loops @p { for " + times(kMany, "i < 2, "), "<text>:1:");
  expect_error("loops @p { for { " + times(kMany, "%x = "), "<text>:1:");
  expect_error("loops @p { temp %x: f32[" + times(kMany, "1,") + "1] return }", "<text>:1:");
  expect_error("loops @" + times(kMany, "x"), "<text>:1:");
  expect_error("loops @p { for { %0 = " + times(kMany, "x") + ".f32 %0 } return }", "<text>:1:");
  ProgramParseOptions options;
  options.limits.nodes = 2;
  EXPECT_THROW(parse_program("loops @p { for { %0 = f32 1 %1 = f32 1 } return }", op_table(), options), UserError);
  options.limits.nodes = 3;
  EXPECT_NO_THROW(parse_program("loops @p { for { %0 = f32 1 %1 = f32 1 } return }", op_table(), options));
}

TEST(ProgramHostile, MutatedPrograms) {
  std::vector<std::string> texts = examples();
  for (const auto& entry : std::filesystem::directory_iterator(std::string(LENZ_SOURCE_DIR) + "/corpus/errors/loops"))
    texts.push_back(read_text(entry.path(), 1 << 20));
  std::sort(texts.begin(), texts.end());
  size_t parsed = 0;
  for (uint64_t seed = 0; seed < 4000; ++seed) {
    RandomChooser chooser(seed);
    std::string text = mutate(texts[seed % texts.size()], texts, chooser);
    try {
      parsed += program_survives(text, op_table());
    } catch (const Error& e) {
      FAIL() << "seed " << seed << ": " << e.what() << "\n" << text;
    }
  }
  EXPECT_GT(parsed, 300u);  // or the mutations are too wild to reach beyond the parser
}

}  // namespace
}  // namespace lenz::loops
