// Large pages for large memory.
// Thread-safety: a pure function, of memory that its caller owns.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lenz {

// Asks the system for large pages where memory is large enough to be its own: fewer of them have to be cleared and
// found. A hint: systems that have none do nothing.
void prefer_large_pages(std::byte* memory, uint64_t bytes);

}  // namespace lenz
