// What a campaign could have reached and did not: rows, passes and their rules, as the compiler has them today.
// Thread-safety: pure.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "fuzz/habits.h"

namespace lenz::fuzz {

// By what the features of cases begin with: "op", "pass", "rule".
struct Unreached {
  std::string kind;
  size_t all = 0;
  std::vector<std::string> names;
};
std::vector<Unreached> unreached(const Pool& pool, const std::set<std::string>& features);

}  // namespace lenz::fuzz
