// print -> parse -> equal, as a property: over calls of every row of the op table, over random graphs, and over the
// corpus.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <filesystem>

#include "compiler/graph/equal.h"
#include "compiler/graph/random_graph.h"
#include "compiler/graph/test_ops.h"
#include "compiler/graph/text.h"
#include "compiler/graph/verify.h"
#include "compiler/ops/call_maker.h"
#include "compiler/ops/op_table.h"

namespace lenz {
namespace {

// The text if the graph survives, empty if not.
std::string round_trip(const Graph& graph, const std::string& what) {
  std::string text;
  for (bool types : {false, true}) {
    PrintOptions options;
    options.types = types;
    options.provenance = true;
    text = print(graph, options);
    try {
      auto again = parse_graph(text, graph.ops());
      std::string why;
      if (!structurally_equal(graph, *again, &why)) {
        ADD_FAILURE() << what << ": " << why << "\n" << text << "\nbecomes\n" << print(*again, options);
        return {};
      }
      EXPECT_EQ(structural_hash(graph), structural_hash(*again)) << what << "\n" << text;
      EXPECT_EQ(print(*again, options), text) << what;
    } catch (const UserError& e) {
      ADD_FAILURE() << what << ": " << e.what() << "\n" << text;
      return {};
    }
  }
  return text;
}

TEST(RoundTrip, CallsOfEveryRow) {
  size_t failures = 0;
  for (const auto& row : op_table().rows()) {
    if (!row->generate || failures > 20) continue;
    for (uint64_t seed = 0; seed < 12; ++seed) {
      RandomChooser chooser(seed);
      std::unique_ptr<Graph> graph;
      try {
        graph = generate_call(*row, op_table(), chooser);
      } catch (const std::exception&) {
        continue;  // the op table's own tests say so
      }
      std::string what = row->full_name + " seed " + std::to_string(seed);
      if (round_trip(*graph, what).empty()) ++failures;
      for (const Violation& v : verify(*graph)) {
        ADD_FAILURE() << what << ": " << to_string(v) << "\n" << print(*graph);
        ++failures;
      }
    }
  }
}

TEST(RoundTrip, RandomGraphs) {
  for (uint64_t seed = 0; seed < 400 && !testing::Test::HasFailure(); ++seed) {
    RandomChooser chooser(seed);
    auto graph = test::random_graph(chooser);
    round_trip(*graph, "seed " + std::to_string(seed));
    std::string text = print(*graph);
    for (const Violation& v : verify(*graph)) ADD_FAILURE() << to_string(v) << "\n" << text;
    auto copy = graph->clone();
    std::string why;
    EXPECT_TRUE(structurally_equal(*graph, *copy, &why)) << why;
    EXPECT_EQ(print(*copy), text);
  }
}

TEST(RoundTrip, Corpus) {
  size_t count = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(std::string(LENZ_SOURCE_DIR) + "/corpus")) {
    const std::string name = entry.path().filename();
    if (entry.path().extension() != ".lenz" || name.starts_with("parse_") || name.starts_with("unsupported_")) continue;
    ParseOptions options;
    options.file = entry.path();
    std::string text = read_text(entry.path(), 1 << 26);
    if (size_t golden = text.find("\n# ---- after "); golden != std::string::npos) {
      size_t second = text.find('\n', golden + 1) + 1;
      round_trip(*parse_graph(text.substr(second), op_table(), options), entry.path());
      text.resize(golden + 1);
    }
    Comments comments;
    options.comments = &comments;
    auto graph = parse_graph(text, op_table(), options);
    round_trip(*graph, entry.path());
    std::string folder = entry.path().parent_path().filename();
    bool seed = folder == "seeds" || folder == "regressions";
    PrintOptions canonical;
    canonical.comments = &comments;
    canonical.provenance = true;
    if (seed) {
      EXPECT_EQ(print(*graph, canonical), text) << "lenz fmt --write " << entry.path();
      for (const Violation& v : verify(*graph)) ADD_FAILURE() << entry.path() << ": " << to_string(v);
    }
    ++count;
  }
  EXPECT_GE(count, 40u);
}

// A graph that returns a constant of these elements survives.
void constant_round_trips(Dtype dtype, std::vector<std::byte> elements) {
  auto context = std::make_shared<Context>();
  Graph graph(context, test::table(), "g");
  ConstantData data;
  data.type = contiguous_tensor(dtype, DimVec{static_cast<int64_t>(elements.size()) / item_size(dtype)});
  data.bytes = std::make_shared<const std::vector<std::byte>>(std::move(elements));
  Arg arg = context->data(data);
  NodeId id = graph.append(*graph.ops().find("lenz.constant"), {&arg, 1});
  Arg out = Arg::of_value(graph.node(id).result());
  graph.set_outputs({&out, 1});
  EXPECT_FALSE(round_trip(graph, std::string(name(dtype))).empty());
}

// Every bit pattern of the narrow floats, and random ones of the others.
TEST(RoundTrip, ElementsOfConstants) {
  for (Dtype dtype : {Dtype::f16, Dtype::bf16, Dtype::f8e4m3, Dtype::f8e5m2}) {
    std::vector<std::byte> bytes;
    for (size_t bits = 0; bits < size_t{1} << info(dtype).bits; ++bits)
      for (int k = 0; k < item_size(dtype); ++k) bytes.push_back(static_cast<std::byte>(bits >> (8 * k)));
    constant_round_trips(dtype, std::move(bytes));
  }
  RandomChooser chooser(1);
  for (Dtype dtype : {Dtype::b8, Dtype::u8, Dtype::i8, Dtype::i16, Dtype::i32, Dtype::i64, Dtype::f32, Dtype::f64,
                      Dtype::c64, Dtype::c128}) {
    std::vector<std::byte> bytes;
    for (int i = 0; i < 500 * item_size(dtype); ++i)
      bytes.push_back(static_cast<std::byte>(dtype == Dtype::b8 ? chooser.below(2) : chooser.below(256)));
    constant_round_trips(dtype, std::move(bytes));
  }
}

}  // namespace
}  // namespace lenz
