// The plugin's one entry point.
#include "compiler/driver/build_id.h"
#include "compiler/driver/plugin.h"
#include "compiler/torch/commands.h"

extern "C" const lenz::PluginTable* lenz_torch_plugin() {
  static const lenz::PluginTable table = {LENZ_BUILD_ID, lenz::torch_commands()};
  return &table;
}
