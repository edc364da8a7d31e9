// liblenz_torch.so: everything that touches libtorch, beside the executable, loaded when a command first needs it.
// Thread-safety: load_plugin may be called from any thread; the table is constant data that lives to the end.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "compiler/base/command.h"

namespace lenz {

// What the plugin hands to the executable.
struct PluginTable {
  std::string_view build_id;  // must equal the executable's: the two share types
  std::span<const Command> commands;
};

// The build id of the executable.
std::string_view build_id();
std::string_view version();

// Loads the plugin once. Throws Unsupported, with the remedy, when it is not there, can't be loaded or was built from
// other headers than the executable.
const PluginTable& load_plugin();

// Runs a command of the plugin by its name.
ExitCode run_plugin_command(std::string_view name, std::span<const std::string> args);

}  // namespace lenz

// The only symbol of the plugin that is looked up by name.
extern "C" const lenz::PluginTable* lenz_torch_plugin();
