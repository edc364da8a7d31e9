// Reductions of which a part of the way may be shared.
// Thread-safety: constant.
#pragma once

#include <span>
#include <string_view>

namespace lenz {

// Ops that take the same extreme; of what they gave along some dims they give along the rest what they give along all.
struct ExtremeFamily {
  std::span<const std::string_view> ops;
};

std::span<const ExtremeFamily> extreme_families();

}  // namespace lenz
