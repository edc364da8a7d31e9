#include "oracle/scratch.h"

#include <cstdlib>
#include <filesystem>

#include "compiler/base/error.h"

namespace lenz::oracle {

Scratch::Scratch() {
  std::string name = (std::filesystem::temp_directory_path() / "lenz_scratch_XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw UserError("can't make a folder in " + name);
  path_ = name;
}

Scratch::~Scratch() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace lenz::oracle
