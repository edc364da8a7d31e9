// What LLVM says of a processor: words, each with whether it has that. Internal to backend/llvm.
// Thread-safety: pure functions.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace lenz::native {

using Features = std::map<std::string, bool, std::less<>>;

// A word that is not there is one that the processor does not have, as is one that says no.
bool has(const Features& features, std::string_view name);

}  // namespace lenz::native
