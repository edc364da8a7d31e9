// Memory that the system gives afresh, and its pages.
// Thread-safety: a pure function, of memory that its caller owns.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lenz {

// From so many bytes on memory is fresh: the system has just cleared it, page by page, so that caches have it. C
// libraries keep what is smaller for the next call (glibc: 32 MiB at most).
inline constexpr int64_t kFreshBytes = int64_t{32} << 20;

// Asks the system for large pages where memory is fresh: fewer of them have to be cleared and
// found. A hint: systems that have none do nothing.
void prefer_large_pages(std::byte* memory, uint64_t bytes);

}  // namespace lenz
