// A command of the `lenz` executable, as a value: a room exports its commands, ci/lenz.cpp links them into one program.
// Thread-safety: constant data.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/base/error.h"

namespace lenz {

struct Command {
  std::string_view name;     // "fmt"
  std::string_view summary;  // one line for the overview
  // Parses its own arguments (those after the name) and runs. It may throw Error; main prints it and exits with its
  // code.
  ExitCode (*run)(std::span<const std::string> args);
};

}  // namespace lenz
