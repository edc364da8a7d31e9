#include "compiler/scalar/random_stream.h"

#include <cmath>
#include <numbers>

namespace lenz {

std::array<uint32_t, 4> philox(std::array<uint32_t, 2> key, std::array<uint32_t, 4> c) {
  constexpr uint64_t kFirst = 0xD2511F53, kSecond = 0xCD9E8D57;
  constexpr uint32_t kGolden = 0x9E3779B9, kRootOfThree = 0xBB67AE85;
  for (int round = 0; round < 10; ++round) {
    uint64_t a = kFirst * c[0], b = kSecond * c[2];
    c = {static_cast<uint32_t>(b >> 32) ^ c[1] ^ key[0], static_cast<uint32_t>(b),
         static_cast<uint32_t>(a >> 32) ^ c[3] ^ key[1], static_cast<uint32_t>(a)};
    key[0] += kGolden;
    key[1] += kRootOfThree;
  }
  return c;
}

namespace {
std::array<uint32_t, 4> words(const RandomStream& s, uint64_t n) {
  return philox({static_cast<uint32_t>(s.seed), static_cast<uint32_t>(s.seed >> 32)},
                {static_cast<uint32_t>(s.offset + n), static_cast<uint32_t>((s.offset + n) >> 32), 0, 0});
}

uint64_t joined(uint32_t low, uint32_t high) { return uint64_t{high} << 32 | low; }
}  // namespace

uint32_t RandomStream::word(uint64_t i) const { return words(*this, i / 4)[i % 4]; }

uint64_t RandomStream::wide_word(uint64_t i) const {
  std::array<uint32_t, 4> w = words(*this, i / 2);
  return joined(w[2 * (i % 2)], w[2 * (i % 2) + 1]);
}

double RandomStream::uniform(Dtype dtype, uint64_t i) const {
  int bits = info(dtype).mantissa_bits;
  if (draws_wide(dtype)) return std::ldexp(static_cast<double>(wide_word(i) >> (64 - bits)), -bits);
  return std::ldexp(static_cast<double>(word(i) >> (32 - bits)), -bits);
}

double RandomStream::normal(Dtype dtype, uint64_t i) const {
  double u = 0, turn = 0;
  if (draws_wide(dtype)) {
    uint64_t even = i & ~uint64_t{1};
    u = std::ldexp(static_cast<double>(wide_word(even)) + 1, -64);
    turn = std::ldexp(static_cast<double>(wide_word(even + 1)), -64);
  } else {
    std::array<uint32_t, 4> w = words(*this, i / 4);
    size_t even = i % 4 & 2;
    u = std::ldexp(static_cast<double>(w[even]) + 1, -32);
    turn = std::ldexp(static_cast<double>(w[even + 1]), -32);
  }
  double radius = std::sqrt(-2 * std::log(u)), angle = 2 * std::numbers::pi * turn;
  return radius * (i % 2 ? std::sin(angle) : std::cos(angle));
}

int64_t RandomStream::integer(uint64_t i, int64_t low, int64_t high) const {
  uint64_t count = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
  uint64_t at = 0;
  if (count <= uint64_t{1} << 32) {
    at = count == uint64_t{1} << 32 ? word(i) : (uint64_t{word(i)} * count) >> 32;
  } else {  // the high half of a product of 64 by 64 bits
    uint64_t w = wide_word(i), wl = w & 0xFFFFFFFF, wh = w >> 32, cl = count & 0xFFFFFFFF, ch = count >> 32;
    uint64_t middle = wh * cl + ((wl * cl) >> 32), other = wl * ch + (middle & 0xFFFFFFFF);
    at = wh * ch + (middle >> 32) + (other >> 32);
  }
  return static_cast<int64_t>(static_cast<uint64_t>(low) + at);
}

bool RandomStream::coin(uint64_t i, double probability) const {
  return std::ldexp(static_cast<double>(word(i)), -32) < probability;
}

uint64_t offsets_used(uint64_t elements, bool wide) { return wide ? (elements + 1) / 2 : (elements + 3) / 4; }
bool draws_wide(Dtype dtype) { return dtype == Dtype::f64 || dtype == Dtype::c128; }

}  // namespace lenz
