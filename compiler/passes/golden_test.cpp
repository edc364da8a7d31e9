// corpus/passes/PASS/*.lenz: a graph, `# ---- after PASS`, and what the pass makes of it. ci/golden --update rewrites.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "compiler/driver/pipeline.h"
#include "compiler/graph/text.h"
#include "compiler/ops/op_table.h"
#include "compiler/passes/runner.h"

namespace lenz {
namespace {

namespace fs = std::filesystem;
const fs::path kFolder = fs::path(LENZ_SOURCE_DIR) / "corpus/passes";

std::vector<fs::path> golden_files() {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(kFolder))
    if (entry.path().extension() == ".lenz") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

std::string read(const fs::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(Golden, EachFileSaysWhatItsPassDoes) {
  for (const fs::path& path : golden_files()) {
    std::string text = read(path), pass = path.parent_path().filename();
    std::string line = "# ---- after " + pass + "\n";
    size_t at = text.find(line);
    ASSERT_NE(at, std::string::npos) << path << ": run ci/golden --update " << pass;
    ParseOptions parse;
    parse.file = path;
    auto graph = parse_graph(text.substr(0, at), op_table(), parse);
    run_passes(*graph, select_passes(pass), checked_options());
    EXPECT_EQ(print(*graph), text.substr(at + line.size())) << path << ": ci/golden --update rewrites it";
  }
}

TEST(Golden, EachPassHasSome) {
  for (const PipelineLine& line : pipeline()) EXPECT_TRUE(fs::is_directory(kFolder / line.pass.name)) << line.pass.name;
  for (const auto& entry : fs::directory_iterator(kFolder))
    EXPECT_NE(find_pass(entry.path().filename().string()), nullptr) << entry.path() << " belongs to no pass";
}

}  // namespace
}  // namespace lenz
