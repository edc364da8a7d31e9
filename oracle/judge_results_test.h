// What tests of files of results share: a graph, what eager makes of it as a file, and ways to change what that says.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "compiler/graph/npz.h"
#include "compiler/graph/text.h"
#include "compiler/ops/op_table.h"
#include "oracle/compare.h"
#include "oracle/judge_results.h"
#include "oracle/values_file.h"

namespace lenz::oracle {

inline constexpr std::string_view kText = R"(graph @g(%x: f32[3, 4], %w: f32[4, 5], %s: f32[5] mut) {
  %y = aten.mm(%x, %w)
  %t = aten.transpose(%y, 0, 1)
  %n = aten.add_(%s, 1.0)
  %h = aten.to(%y, dtype=bf16)
  %i = aten.argmax(%y, 1)
  return %t, %h, %i, %n
})";

using Arrays = std::vector<std::pair<std::string, NpyArray>>;

inline NpyArray& array(Arrays& arrays, const std::string& key) {
  for (auto& [k, a] : arrays)
    if (k == key) return a;
  throw InternalError("no " + key);
}
inline void drop(Arrays& arrays, const std::string& key) {
  std::erase_if(arrays, [&](const auto& entry) { return entry.first == key; });
}
inline nlohmann::json told(Arrays& arrays) {
  const auto& bytes = array(arrays, "lenz").bytes;
  return nlohmann::json::parse(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}
inline void tell(Arrays& arrays, const nlohmann::json& json) {
  std::string text = json.dump();
  NpyArray& a = array(arrays, "lenz");
  a.shape = {static_cast<int64_t>(text.size())};
  a.bytes.resize(text.size());
  std::memcpy(a.bytes.data(), text.data(), text.size());
}

class JudgeResults : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "judge_results_" + std::to_string(getpid()) + "_";
    std::ofstream(folder_ + "g.lenz") << kText;
    options_.seed = 3;
    options_.results = folder_ + "y.npz";
    graph_ = parse_graph(kText, op_table());
    computed_by_eager();
  }

  // `arrays_`: what eager makes of the graph's drawn inputs, and what a file says of it.
  void computed_by_eager() {
    Boxed boxed(DeviceKind::cpu);
    write_results(options_.results, *graph_,
                  Executor(boxed).run(*graph_, draw_inputs(*graph_, boxed, {}, Values::ordinary, options_.seed)));
    NpzReader reader(options_.results);
    arrays_.clear();
    for (const std::string& key : reader.keys()) arrays_.emplace_back(key, reader.read(key));
  }

  ResultsVerdict judged() {
    write_npz(options_.results, arrays_);
    return judge_results(*graph_, options_);
  }
  std::string refusal() {
    try {
      judged();
    } catch (const UserError& error) {
      return error.what();
    }
    return "accepted";
  }
  void expect_wrong(Rung rung, const std::string& what) {
    ResultsVerdict v = judged();
    ASSERT_TRUE(v.mismatch);
    EXPECT_EQ(v.code, ExitCode::wrong);
    EXPECT_EQ(v.mismatch->rung, rung) << v.mismatch->summary();
    EXPECT_THAT(v.mismatch->what, testing::HasSubstr(what));
  }
  float& number(const std::string& key, size_t i) {
    return reinterpret_cast<float*>(array(arrays_, key).bytes.data())[i];
  }

  std::string folder_;
  std::unique_ptr<Graph> graph_;
  Arrays arrays_;
  JudgeOptions options_;
};

}  // namespace lenz::oracle
