// Options that name a file: an empty name, as of a variable that is not set, is not the same as no option.
#pragma once

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdlib>

namespace lenz::oracle {

inline CLI::Validator a_name() {
  return CLI::Validator([](const std::string& given) { return std::string(given.empty() ? "an empty name" : ""); }, "");
}

// NaN lies in no range, but beside none either.
inline CLI::Validator not_nan() {
  return CLI::Validator(
      [](const std::string& given) {
        return std::string(std::isnan(std::strtod(given.c_str(), nullptr)) ? "no number" : "");
      },
      "");
}

}  // namespace lenz::oracle
