#include "compiler/schedule/target.h"

#include "compiler/base/error.h"

namespace lenz::schedule {

Target cpu_target(const std::string& name, uint32_t cores) {
  Target made;
  made.name = name;
  made.cores = cores;
  if (name == "avx512") return made;
  made.vector_bytes = name == "avx2" ? 32 : 16;
  if (name != "avx2" && name != "generic")
    throw UserError("there is no target '" + name + "'", "", "the targets are avx512, avx2 and generic");
  return made;
}

}  // namespace lenz::schedule
