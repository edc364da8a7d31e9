#include "compiler/driver/plugin.h"

#include <dlfcn.h>

#include <filesystem>

#include "compiler/driver/build_id.h"

namespace lenz {

namespace {

constexpr std::string_view kRemedy =
    "\n  help: build it with ./ci/build (a build with -DLENZ_TORCH=OFF has no plugin), and keep liblenz_torch.so "
    "beside "
    "the executable";

const PluginTable& open_plugin() {
  std::error_code failure;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", failure);
  if (failure) throw Unsupported("can't find the executable's own folder: " + failure.message());
  const std::filesystem::path path = self.parent_path() / "liblenz_torch.so";
  if (!std::filesystem::exists(path, failure)) {
    throw Unsupported("this needs libtorch, and there is no plugin " + path.string() + std::string(kRemedy));
  }
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    throw Unsupported("can't load the libtorch plugin: " + std::string(dlerror()) + std::string(kRemedy));
  }
  auto* entry = reinterpret_cast<decltype(&lenz_torch_plugin)>(dlsym(library, "lenz_torch_plugin"));
  if (entry == nullptr) throw Unsupported(path.string() + " is not a plugin of lenz" + std::string(kRemedy));
  const PluginTable& table = *entry();
  if (table.build_id != build_id()) {
    throw Unsupported(path.string() + " belongs to another build (" + std::string(table.build_id) +
                      ", the executable is " + std::string(build_id()) + ")" + std::string(kRemedy));
  }
  return table;
}

}  // namespace

std::string_view build_id() { return LENZ_BUILD_ID; }
std::string_view version() { return LENZ_VERSION; }

const PluginTable& load_plugin() {
  static const PluginTable& table = open_plugin();
  return table;
}

ExitCode run_plugin_command(std::string_view name, std::span<const std::string> args) {
  for (const Command& command : load_plugin().commands) {
    if (command.name == name) return command.run(args);
  }
  throw InternalError("the plugin has no command '" + std::string(name) + "'");
}

}  // namespace lenz
