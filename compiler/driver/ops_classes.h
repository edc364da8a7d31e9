// `lenz ops --classes`: which classes of calls the generators reach, and with --against, which of somebody else's calls
// they miss.
// Thread-safety: reads constant data.
#pragma once

#include <span>
#include <string>

#include "compiler/base/error.h"

namespace lenz {

ExitCode ops_classes_command(std::span<const std::string> args);

}  // namespace lenz
