#include "compiler/base/large_pages.h"

#include <cstdlib>

#if defined(__linux__)
#include <malloc.h>
#include <sys/mman.h>
#endif

namespace lenz {

namespace {
constexpr uint64_t kPage = uint64_t{2} << 20;

uint64_t whole_pages(uint64_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }
}  // namespace

void prefer_large_pages([[maybe_unused]] std::byte* memory, [[maybe_unused]] uint64_t bytes) {
#if defined(__linux__)
  if (bytes < kFreshBytes) return;  // its pages may be others' too
  const auto first = reinterpret_cast<uintptr_t>(memory);
  const uintptr_t from = whole_pages(first), to = (first + bytes) / kPage * kPage;
  ::madvise(reinterpret_cast<void*>(from), to - from, MADV_HUGEPAGE);  // NOLINT(performance-no-int-to-ptr): whole pages
#endif
}

std::byte* map_pages(uint64_t bytes) {
  if (bytes > UINT64_MAX / 2) return nullptr;
#if defined(__linux__)
  // A page more than needed, so that there is a first one that begins where large pages do; what is beside is given
  // back.
  const uint64_t needed = whole_pages(bytes), mapped = needed + kPage;
  void* memory = ::mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  auto* begin = static_cast<std::byte*>(memory);
  std::byte* first = begin + (whole_pages(reinterpret_cast<uintptr_t>(begin)) - reinterpret_cast<uintptr_t>(begin));
  if (first > begin) ::munmap(begin, static_cast<size_t>(first - begin));
  if (first + needed < begin + mapped) ::munmap(first + needed, static_cast<size_t>(begin + mapped - first - needed));
  ::madvise(first, needed, MADV_HUGEPAGE);
  return first;
#else
  return static_cast<std::byte*>(std::aligned_alloc(kPage, whole_pages(bytes)));
#endif
}

void unmap_pages(std::byte* memory, [[maybe_unused]] uint64_t bytes) {
#if defined(__linux__)
  ::munmap(memory, whole_pages(bytes));
#else
  std::free(memory);
#endif
}

void offer_pages([[maybe_unused]] std::byte* memory, [[maybe_unused]] uint64_t bytes) {
#if defined(__linux__)
  ::madvise(memory, whole_pages(bytes), MADV_FREE);
#endif
}

void keep_freed_memory() {
#if defined(__GLIBC__)
  constexpr auto kWhole = static_cast<int>(kFreshBytes);  // blocks from here on are mapped, and unmapped, by themselves
  mallopt(M_MMAP_THRESHOLD, kWhole);
  mallopt(M_TRIM_THRESHOLD, 8 * kWhole);
  mallopt(M_TOP_PAD, kWhole);
#endif
}

void poison_heap() {
#if defined(__GLIBC__) && !defined(LENZ_ADDRESS_SANITIZER)
  mallopt(M_PERTURB, 0x5a);  // of what is freed; what is given out has its complement
#endif
}

}  // namespace lenz
