// What is sorted: keys with where they come from. Thread-safety: values.
#pragma once

#include <cstdint>

namespace lenz::runtime {

// A key and its position, which decides between equal keys: stable, and the same for every algorithm.
class WideItem {
 public:
  using Key = int64_t;

  WideItem() = default;
  WideItem(Key key, int64_t from) : key_(key), from_(from) {}
  Key key() const { return key_; }
  uint64_t bits() const {
    return static_cast<uint64_t>(key_) ^ uint64_t { 1 } << 63;
  }  // of equal order
  int64_t from() const { return from_; }
  bool operator<(const WideItem& o) const { return key_ != o.key_ ? key_ < o.key_ : from_ < o.from_; }

 private:
  Key key_ = 0;
  int64_t from_ = 0;
};
// The same in half the room: of keys of four bytes and fewer.
class NarrowItem {
 public:
  using Key = int32_t;
  static constexpr int64_t kMost = UINT32_MAX;

  NarrowItem() = default;
  NarrowItem(Key key, int64_t from)
      : both_(uint64_t{static_cast<uint32_t>(key) ^ kSign} << 32 | static_cast<uint32_t>(from)) {}
  static NarrowItem of_bits(uint32_t bits, int64_t from) { return NarrowItem(static_cast<Key>(bits ^ kSign), from); }
  Key key() const { return static_cast<Key>(bits() ^ kSign); }
  uint32_t bits() const { return static_cast<uint32_t>(both_ >> 32); }
  int64_t from() const { return static_cast<uint32_t>(both_); }
  bool operator<(const NarrowItem& o) const { return both_ < o.both_; }

 private:
  static constexpr uint32_t kSign = uint32_t{1} << 31;
  uint64_t both_;
};

}  // namespace lenz::runtime
