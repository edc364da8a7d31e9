// `lenz ops`: what the op table knows. `--check` goes to the plugin, which holds it against libtorch.
// Thread-safety: reads constant data.
#pragma once

#include <span>
#include <string>

#include "compiler/base/error.h"

namespace lenz {

ExitCode ops_command(std::span<const std::string> args);

}  // namespace lenz
