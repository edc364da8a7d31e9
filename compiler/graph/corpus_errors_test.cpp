// Every file of corpus/errors breaks one thing and says in its first line which, as `# expect: ...`: for a text that
// does not parse, or is Unsupported, the place (line:column) and the message, for a graph that breaks a rule of the
// verifier its number and the message.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "compiler/graph/error_files_test.h"
#include "compiler/graph/text.h"
#include "compiler/graph/verify.h"
#include "compiler/ops/op_table.h"

namespace lenz {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> files(std::string_view prefix) { return error_files("corpus/errors", prefix); }

// None of these texts is a graph: each is refused with the words that it says.
template <class Refusal>
void expect_refused(const std::vector<fs::path>& paths) {
  for (const fs::path& path : paths) {
    std::string text = read_text(path, 1 << 20);
    try {
      parse_graph(text, op_table(), {"f", {}, nullptr, nullptr});
      ADD_FAILURE() << path << " parses";
    } catch (const Refusal& e) {
      const std::string all = e.what();
      EXPECT_EQ(all.substr(0, all.find('\n')), "f:" + expected_error(text)) << path;
      if constexpr (std::is_same_v<Refusal, UserError>) EXPECT_FALSE(e.remedy().empty()) << path;
    }
  }
}

TEST(CorpusErrors, TextsThatDoNotParse) {
  const auto found = files("parse_");
  EXPECT_GE(found.size(), 40u);
  expect_refused<UserError>(found);
}

TEST(CorpusErrors, TextsThatAreUnsupported) {
  const auto found = files("unsupported_");
  EXPECT_FALSE(found.empty());
  expect_refused<Unsupported>(found);
}

TEST(CorpusErrors, GraphsThatBreakJustOneRule) {
  std::set<int> covered;
  for (const fs::path& path : files("G")) {
    std::string text = read_text(path, 1 << 20);
    auto graph = parse_graph(text, op_table(), {path, {}, nullptr, nullptr});
    std::vector<Violation> violations = verify(*graph);
    ASSERT_FALSE(violations.empty()) << path;
    int number = std::stoi(path.filename().string().substr(1));
    covered.insert(number);
    std::string name = "G" + std::to_string(number) + "_" + std::string(verify_rule(number).name) + ".lenz";
    EXPECT_EQ(path.filename(), name);
    for (const Violation& v : violations) EXPECT_EQ(v.rule, number) << path << ": " << to_string(v);
    EXPECT_EQ("G" + std::to_string(violations[0].rule) + ": " + violations[0].message, expected_error(text)) << path;
  }
  for (const VerifyRule& rule : verify_rules())
    EXPECT_EQ(!rule.remedy.empty(), covered.contains(rule.number)) << "G" << rule.number << " " << rule.name;
}

}  // namespace
}  // namespace lenz
