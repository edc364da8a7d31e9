#include "bench/stream.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace lenz::bench {

namespace {
using Clock = std::chrono::steady_clock;

constexpr size_t kBlock = 1 << 14;  // read and written in turns of about as many bytes
constexpr size_t kVector = 64;

// Reads whole vectors, and gives something that depends on all of them.
#if defined(__x86_64__)
__attribute__((target("avx512f"))) uint64_t read512(const std::byte* from, size_t bytes) {
  __m512i sums[4] = {};
  for (size_t i = 0; i + 4 * kVector <= bytes; i += 4 * kVector)
    for (size_t k = 0; k < 4; ++k) sums[k] = _mm512_xor_si512(sums[k], _mm512_load_si512(from + i + k * kVector));
  return static_cast<uint64_t>(_mm512_reduce_add_epi64(
      _mm512_xor_si512(_mm512_xor_si512(sums[0], sums[1]), _mm512_xor_si512(sums[2], sums[3]))));
}
__attribute__((target("avx512f"))) void write512(std::byte* to, size_t bytes, uint64_t word, bool around_caches) {
  const __m512i value = _mm512_set1_epi64(static_cast<int64_t>(word));
  if (around_caches) {
    for (size_t i = 0; i + kVector <= bytes; i += kVector)
      _mm512_stream_si512(reinterpret_cast<__m512i*>(to + i), value);
  } else {
    for (size_t i = 0; i + kVector <= bytes; i += kVector) _mm512_store_si512(to + i, value);
  }
}
__attribute__((target("avx2"))) uint64_t read256(const std::byte* from, size_t bytes) {
  __m256i sums[4] = {};
  for (size_t i = 0; i + 2 * kVector <= bytes; i += 2 * kVector)
    for (size_t k = 0; k < 4; ++k)
      sums[k] = _mm256_xor_si256(sums[k], _mm256_load_si256(reinterpret_cast<const __m256i*>(from + i) + k));
  const __m256i sum = _mm256_xor_si256(_mm256_xor_si256(sums[0], sums[1]), _mm256_xor_si256(sums[2], sums[3]));
  return static_cast<uint64_t>(_mm256_extract_epi64(sum, 0) ^ _mm256_extract_epi64(sum, 1) ^
                               _mm256_extract_epi64(sum, 2) ^ _mm256_extract_epi64(sum, 3));
}
__attribute__((target("avx2"))) void write256(std::byte* to, size_t bytes, uint64_t word, bool around_caches) {
  const __m256i value = _mm256_set1_epi64x(static_cast<int64_t>(word));
  auto* end = reinterpret_cast<__m256i*>(to + bytes / kVector * kVector);
  for (auto* at = reinterpret_cast<__m256i*>(to); at != end; ++at) {
    if (around_caches)
      _mm256_stream_si256(at, value);
    else
      _mm256_store_si256(at, value);
  }
}
#endif

uint64_t read_plain(const std::byte* from, size_t bytes) {
  const auto* words = reinterpret_cast<const uint64_t*>(from);
  uint64_t sums[8] = {};
  for (size_t i = 0; i + 8 <= bytes / 8; i += 8)
    for (size_t k = 0; k < 8; ++k) sums[k] ^= words[i + k];
  return sums[0] ^ sums[1] ^ sums[2] ^ sums[3] ^ sums[4] ^ sums[5] ^ sums[6] ^ sums[7];
}
void write_plain(std::byte* to, size_t bytes, uint64_t word, bool) {
  std::fill_n(reinterpret_cast<uint64_t*>(to), bytes / 8, word);
}

struct Way {
  uint64_t (*read)(const std::byte*, size_t);
  void (*write)(std::byte*, size_t, uint64_t, bool);
  bool around_caches;
};

std::vector<Way> ways() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return {{read512, write512, false}, {read512, write512, true}};
  if (__builtin_cpu_supports("avx2")) return {{read256, write256, false}, {read256, write256, true}};
#endif
  return {{read_plain, write_plain, false}};
}

struct Memory {
  explicit Memory(size_t size) : bytes(std::max(size / kVector * kVector, 4 * kVector)) {
    data = static_cast<std::byte*>(::operator new(bytes, std::align_val_t{4096}));
    std::fill_n(data, bytes, std::byte{1});
  }
  ~Memory() { ::operator delete(data, std::align_val_t{4096}); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  size_t bytes;
  std::byte* data;
};

size_t aligned(double x) { return static_cast<size_t>(x) / kVector * kVector; }
}  // namespace

struct Stream::Impl {
  Impl(double r, double w, runtime::Pool& p) : from(static_cast<size_t>(r)), to(static_cast<size_t>(w)), pool(p) {
    reads = r >= kVector, writes = w >= kVector;
  }

  // A part of the memory by one thread, reads and writes in turns.
  void part(const Way& way, double begin, double end) {
    const double bytes = static_cast<double>((reads ? from.bytes : 0) + (writes ? to.bytes : 0)) * (end - begin);
    const auto turns = static_cast<int64_t>(std::max(1.0, bytes / static_cast<double>(kBlock)));
    uint64_t word = 0;
    for (int64_t t = 0; t < turns; ++t) {
      const double a = begin + (end - begin) * static_cast<double>(t) / static_cast<double>(turns);
      const double b = begin + (end - begin) * static_cast<double>(t + 1) / static_cast<double>(turns);
      auto of = [&](const Memory& m, double share) { return aligned(share * static_cast<double>(m.bytes)); };
      if (reads) word ^= way.read(from.data + of(from, a), of(from, b) - of(from, a));
      if (writes) way.write(to.data + of(to, a), of(to, b) - of(to, a), word, way.around_caches);
    }
    seen.fetch_xor(word, std::memory_order_relaxed);
  }

  void pass(const Way& way) {
    const int64_t parts = pool.workers();
    auto one = [&](int64_t chunk, int) {
      part(way, static_cast<double>(chunk) / static_cast<double>(parts),
           static_cast<double>(chunk + 1) / static_cast<double>(parts));
    };
    pool.run(parts, runtime::Work::of(one));
  }

  Memory from, to;
  runtime::Pool& pool;
  bool reads = true, writes = true;
  std::atomic<uint64_t> seen = 0;
};

Stream::Stream(double read, double written, runtime::Pool& pool) : impl_(std::make_unique<Impl>(read, written, pool)) {}
Stream::~Stream() = default;

Times Stream::round(double seconds) {
  Times best;
  const std::vector<Way> all = ways();
  for (const Way& way : all) {
    impl_->pass(way);
    std::vector<double> times;
    const auto start = Clock::now();
    while (times.size() < 3 ||
           std::chrono::duration<double>(Clock::now() - start).count() < seconds / static_cast<double>(all.size())) {
      const auto began = Clock::now();
      impl_->pass(way);
      times.push_back(std::chrono::duration<double>(Clock::now() - began).count());
    }
    best.keep_better(Times::of(std::move(times)));
  }
  return best;
}

}  // namespace lenz::bench
