// Memory that the system gives afresh, and its pages.
// Thread-safety: pure functions, of memory that their caller owns; keep_freed_memory() and poison_heap() from anywhere.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lenz {

// From so many bytes on memory is fresh: the system has just cleared it, page by page, so that caches have it. C
// libraries keep what is smaller for the next call (glibc: 32 MiB at most), if they are told to.
inline constexpr int64_t kFreshBytes = int64_t{32} << 20;

// Asks the system for large pages where memory is fresh: fewer of them have to be cleared and
// found. A hint: systems that have none do nothing.
void prefer_large_pages(std::byte* memory, uint64_t bytes);

// Memory of whole large pages. Null where there is none.
std::byte* map_pages(uint64_t bytes);
void unmap_pages(std::byte* memory, uint64_t bytes);
// Nobody needs its contents any more: a system that runs short of memory may take its pages, and gives cleared ones
// when it is written to again; else it stays as it is.
void offer_pages(std::byte* memory, uint64_t bytes);

// From now on the C library keeps what this process frees, below kFreshBytes, for who asks next. By itself glibc hands
// back what lies at the end of its memory, and asks for it again a moment later: pages that have to be cleared anew in
// every call of an op that takes a few megabytes while it works.
void keep_freed_memory();

// From now on what this process has of the C library is no zero by chance: it has one pattern before somebody sets it,
// another one when nobody owns it any more. Who reads either gets what nobody takes for a result. (What glibc keeps for
// a thread, of at most a kilobyte each, goes round as it is.)
void poison_heap();

}  // namespace lenz
