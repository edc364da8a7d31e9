// Hash mixing, the same on every machine: hashes are cache keys and appear in reports.
// Thread-safety: pure functions.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace lenz {

// A bijective finaliser (the SplitMix64 one): every input bit reaches every output bit.
inline uint64_t mix(uint64_t z) {
  z += 0x9E3779B97F4A7C15ull;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}

inline uint64_t combine(uint64_t seed, uint64_t value) { return mix(seed * 0x9E3779B97F4A7C15ull ^ value); }

inline uint64_t hash_bytes(std::string_view bytes, uint64_t seed = 0) {
  uint64_t h = mix(seed ^ bytes.size());
  for (; bytes.size() >= 8; bytes.remove_prefix(8)) {
    uint64_t word;
    std::memcpy(&word, bytes.data(), 8);
    h = combine(h, word);
  }
  if (!bytes.empty()) {
    uint64_t word = 0;
    std::memcpy(&word, bytes.data(), bytes.size());
    h = combine(h, word);
  }
  return h;
}

}  // namespace lenz
