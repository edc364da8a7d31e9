// "90", "30s", "10m", "8h" as seconds. Thread-safety: a pure function.
#pragma once

#include <string>

namespace lenz::fuzz {

double parse_duration(const std::string& text);  // throws UserError

}  // namespace lenz::fuzz
