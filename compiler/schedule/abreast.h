// Products of rows with rows: each point of two axes combines a row that only one of them tells with one that only the
// other tells, as distances between points do. A few points of one axis go along the other's row together: it is read
// once for all of them.
// Thread-safety: pure functions.
#pragma once

#include <optional>
#include <span>

#include "compiler/loops/program.h"
#include "compiler/schedule/target.h"

namespace lenz::schedule {

// So many: where rows are a power of two apart, all of them, and the other one, have places in one set of a cache.
inline constexpr int64_t kRowsAbreast = 4;
inline constexpr int64_t kMostAbreast = 16;    // that a plan may ask for
inline constexpr uint32_t kOthersAbreast = 2;  // so many of those go along them

// The axis, by its place in the order of the shared ones, some points of which go abreast in the kernel of these nests;
// none where nothing is read twice, or what is computed with it takes longer than reading it.
std::optional<uint32_t> axis_abreast(const loops::Program& program, std::span<const loops::Nest* const> nests,
                                     std::span<const uint32_t> order, size_t shared, const Target& target);

// Whether a nest that walks rows in lanes along `lanes` may go along several of them at once.
bool may_go_abreast(const loops::Nest& nest, const loops::Axis& lanes);

}  // namespace lenz::schedule
