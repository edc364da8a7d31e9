// The plugin's one entry point. It stands in the last of the plugin's rooms, because it lists the commands of all.
#include <vector>

#include "bench/commands.h"
#include "compiler/driver/build_id.h"
#include "compiler/driver/plugin.h"
#include "compiler/torch/commands.h"
#include "fuzz/commands.h"
#include "oracle/commands.h"

extern "C" const lenz::PluginTable* lenz_torch_plugin() {
  static const std::vector<lenz::Command> commands = [] {
    std::vector<lenz::Command> all(lenz::torch_commands().begin(), lenz::torch_commands().end());
    for (const lenz::Command& c : lenz::oracle::oracle_commands()) all.push_back(c);
    for (const lenz::Command& c : lenz::fuzz::fuzz_commands()) all.push_back(c);
    for (const lenz::Command& c : lenz::bench::bench_commands()) all.push_back(c);
    return all;
  }();
  static const lenz::PluginTable table = {LENZ_BUILD_ID, commands};
  return &table;
}
