// The nearest name to a misspelt one, for "did you mean".
// Thread-safety: a pure function.
#pragma once

#include <span>
#include <string_view>

namespace lenz {

// The candidate with the fewest edits (a character more, less or another, two swapped) from `name`; empty when none is
// close enough to be a likely slip. Ties go to the earlier candidate.
std::string_view nearest_name(std::string_view name, std::span<const std::string_view> candidates);

}  // namespace lenz
