#include "compiler/base/chooser.h"

#include <bit>

namespace lenz {

size_t Chooser::weighted(std::span<const uint32_t> weights) {
  uint64_t total = 0;
  for (uint32_t w : weights) total += w;
  uint64_t at = below(total);
  for (size_t i = 0; i < weights.size(); ++i) {
    if (at < weights[i]) return i;
    at -= weights[i];
  }
  return weights.size() - 1;
}

RandomChooser::RandomChooser(uint64_t seed) {
  for (uint64_t& word : state_) {
    seed += 0x9E3779B97F4A7C15ull;
    uint64_t z = seed;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    word = z ^ (z >> 31);
  }
}

uint64_t RandomChooser::bits() {
  uint64_t result = std::rotl(state_[1] * 5, 7) * 9, t = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= t;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

uint64_t RandomChooser::below(uint64_t n) {
  return static_cast<uint64_t>((static_cast<unsigned __int128>(bits()) * n) >> 64);
}

uint64_t BytesChooser::below(uint64_t n) {
  uint64_t value = 0;
  for (uint64_t reach = 1; reach < n && reach != 0; reach <<= 8) {
    value = (value << 8) | (at_ < bytes_.size() ? bytes_[at_] : 0);
    ++at_;
  }
  return value % n;
}

uint64_t RecordingChooser::below(uint64_t n) {
  record_.push_back(inner_.below(n));
  return record_.back();
}

uint64_t ReplayChooser::below(uint64_t n) {
  uint64_t value = at_ < record_.size() ? record_[at_] : 0;
  ++at_;
  return value < n ? value : n - 1;
}

uint64_t EnumeratingChooser::below(uint64_t n) {
  if (at_ == digits_.size()) digits_.push_back({0, n});
  digits_[at_].base = n;
  return digits_[at_++].value;
}

bool EnumeratingChooser::next() {
  digits_.resize(at_);
  at_ = 0;
  while (!digits_.empty()) {
    if (++digits_.back().value < digits_.back().base) return true;
    digits_.pop_back();
  }
  return false;
}

}  // namespace lenz
