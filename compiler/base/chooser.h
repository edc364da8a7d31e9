// The one source of choices. Generators of calls, graphs and values draw from it, so that the same generator is driven
// by a random seed, by a byte string (libFuzzer), by exhaustive enumeration, by a replayed record, or by RapidCheck.
// Thread-safety: one Chooser per thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace lenz {

class Chooser {
 public:
  virtual ~Chooser() = default;

  // A number in [0, n); n >= 1. The simplest choice is 0: generators put the plainest alternative first.
  virtual uint64_t below(uint64_t n) = 0;

  int64_t between(int64_t low, int64_t high) {  // inclusive
    return low + static_cast<int64_t>(below(static_cast<uint64_t>(high - low) + 1));
  }
  bool chance(uint32_t num, uint32_t den) { return below(den) >= den - num; }  // true with num/den
  bool flip() { return below(2) == 1; }
  template <class T>
  const T& pick(std::span<const T> items) {
    return items[below(items.size())];
  }
  template <class T, size_t N>
  const T& pick(const T (&items)[N]) {
    return items[below(N)];
  }
  template <class T>
  const T& pick(const std::vector<T>& items) {
    return items[below(items.size())];
  }
  template <class T>
  T any_of(std::initializer_list<T> items) {
    return items.begin()[below(items.size())];
  }
  size_t weighted(std::span<const uint32_t> weights);  // an index, by weight; total >= 1
};

// xoshiro-class generator seeded by SplitMix64: one seed is one sequence on every machine, for ever.
class RandomChooser final : public Chooser {
 public:
  explicit RandomChooser(uint64_t seed);
  uint64_t below(uint64_t n) override;
  uint64_t bits();

 private:
  uint64_t state_[4];
};

// Reads choices from bytes (as few as a choice needs); past the end every choice is 0.
class BytesChooser final : public Chooser {
 public:
  explicit BytesChooser(std::span<const uint8_t> bytes) : bytes_(bytes) {}
  uint64_t below(uint64_t n) override;
  bool exhausted() const { return at_ >= bytes_.size(); }

 private:
  std::span<const uint8_t> bytes_;
  size_t at_ = 0;
};

// Records what another chooser answers, for replay.
class RecordingChooser final : public Chooser {
 public:
  explicit RecordingChooser(Chooser& inner) : inner_(inner) {}
  uint64_t below(uint64_t n) override;
  const std::vector<uint64_t>& record() const { return record_; }

 private:
  Chooser& inner_;
  std::vector<uint64_t> record_;
};

// Answers from a record (clamped into range, so that an edited record still drives a valid run); 0 past its end.
class ReplayChooser final : public Chooser {
 public:
  explicit ReplayChooser(std::vector<uint64_t> record) : record_(std::move(record)) {}
  uint64_t below(uint64_t n) override;

 private:
  std::vector<uint64_t> record_;
  size_t at_ = 0;
};

// Enumerates every sequence of choices, depth first: run the generator, then next(), until it answers false.
class EnumeratingChooser final : public Chooser {
 public:
  uint64_t below(uint64_t n) override;
  bool next();

 private:
  struct Digit {
    uint64_t value, base;
  };
  std::vector<Digit> digits_;
  size_t at_ = 0;
};

}  // namespace lenz
