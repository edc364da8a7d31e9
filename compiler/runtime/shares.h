// Who does which pieces of a job: each worker has a stretch of neighbouring ones, the same in every job of as many
// pieces, for its core's caches have what it touched last time. Who is done with his own takes the last ones of others.
//
// Thread-safety: take() from any thread; deal() when no piece of the job before is at work.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

namespace lenz::runtime {

class Shares {
 public:
  static constexpr int64_t kMostPieces = (1 << 20) - 1;

  explicit Shares(int workers) : stretches_(static_cast<size_t>(workers)) {}

  int workers() const { return static_cast<int>(stretches_.size()); }

  // At most kMostPieces. What the caller wrote before is seen by who takes one of them.
  void deal(uint32_t job, int64_t pieces) {
    const auto workers = static_cast<int64_t>(stretches_.size());
    for (int64_t w = 0; w < workers; ++w)
      stretches_[static_cast<size_t>(w)].ticket.store(ticket_of(job, static_cast<uint64_t>(pieces * w / workers),
                                                                static_cast<uint64_t>(pieces * (w + 1) / workers)),
                                                      std::memory_order_release);
  }

  // A piece that nobody else takes; none if there are no more, or this is not the job at hand.
  std::optional<int64_t> take(uint32_t job, int worker) {
    const size_t own = static_cast<size_t>(worker), all = stretches_.size();
    for (size_t k = 0; k < all; ++k)
      if (auto piece = take_of(stretches_[(own + k) % all].ticket, job, k == 0)) return piece;
    return std::nullopt;
  }

 private:
  // A job's number, the first piece that nobody has taken, and the end of those.
  static constexpr int kBits = 20;
  static constexpr uint64_t kMask = (uint64_t{1} << kBits) - 1;
  static uint64_t ticket_of(uint32_t job, uint64_t first, uint64_t end) {
    return uint64_t{job} << (2 * kBits) | first << kBits | end;
  }

  static std::optional<int64_t> take_of(std::atomic<uint64_t>& at, uint32_t job, bool from_front) {
    uint64_t ticket = at.load(std::memory_order_acquire);
    for (;;) {
      const uint64_t first = ticket >> kBits & kMask, end = ticket & kMask;
      if (first >= end || ticket >> (2 * kBits) != ticket_of(job, 0, 0) >> (2 * kBits)) return std::nullopt;
      const uint64_t left = from_front ? ticket + (uint64_t{1} << kBits) : ticket - 1;
      if (at.compare_exchange_weak(ticket, left, std::memory_order_acq_rel))
        return static_cast<int64_t>(from_front ? first : end - 1);
    }
  }

  struct alignas(64) Stretch {
    std::atomic<uint64_t> ticket = 0;
  };
  std::vector<Stretch> stretches_;
};

}  // namespace lenz::runtime
