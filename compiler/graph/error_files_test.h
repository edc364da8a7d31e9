// The files of corpus/errors, for the tests that hold a parser and a verifier to them. Each says in its first line what
// is wrong with it, as `# expect: ...`.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

namespace lenz {

// Those of a folder whose names start so, in order.
inline std::vector<std::filesystem::path> error_files(std::string_view folder, std::string_view prefix) {
  std::vector<std::filesystem::path> found;
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(LENZ_SOURCE_DIR) / folder))
    if (entry.path().filename().string().starts_with(prefix)) found.push_back(entry.path());
  std::sort(found.begin(), found.end());
  return found;
}

inline std::string expected_error(const std::string& text) {
  constexpr std::string_view kStart = "# expect: ";
  EXPECT_TRUE(text.starts_with(kStart));
  return text.substr(kStart.size(), text.find('\n') - kStart.size());
}

}  // namespace lenz
