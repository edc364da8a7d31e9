#include "compiler/base/large_pages.h"

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace lenz {

namespace {
constexpr uint64_t kPage = uint64_t{2} << 20;
}  // namespace

void prefer_large_pages([[maybe_unused]] std::byte* memory, [[maybe_unused]] uint64_t bytes) {
#if defined(__linux__)
  if (bytes < kFreshBytes) return;  // its pages may be others' too
  const auto first = reinterpret_cast<uintptr_t>(memory);
  const uintptr_t from = (first + kPage - 1) / kPage * kPage, to = (first + bytes) / kPage * kPage;
  ::madvise(reinterpret_cast<void*>(from), to - from, MADV_HUGEPAGE);  // NOLINT(performance-no-int-to-ptr): whole pages
#endif
}

}  // namespace lenz
