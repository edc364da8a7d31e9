// `lenz scalar`: the table of scalar primitives; `--eval` computes them, for whoever wants to hold them against
// something. Thread-safety: reads constant data.
#pragma once

#include <span>
#include <string>

#include "compiler/base/error.h"

namespace lenz {

ExitCode scalar_command(std::span<const std::string> args);

}  // namespace lenz
