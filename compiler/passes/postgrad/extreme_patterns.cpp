#include "compiler/passes/postgrad/extreme_patterns.h"

namespace lenz {

std::span<const ExtremeFamily> extreme_families() {
  static constexpr std::string_view kGreatest[] = {"aten.amax", "aten.max"}, kLeast[] = {"aten.amin", "aten.min"},
                                    kAny[] = {"aten.any", "aten.any.dim", "aten.any.dims"};
  static constexpr ExtremeFamily kFamilies[] = {{kGreatest}, {kLeast}, {kAny}};
  return kFamilies;
}

}  // namespace lenz
