#include "oracle/kept_memory.h"

#include <c10/core/CPUAllocator.h>

#include <algorithm>
#include <deque>
#include <mutex>
#include <ranges>
#include <thread>
#include <unordered_map>
#include <vector>

#include "compiler/base/large_pages.h"

namespace lenz::oracle {

namespace {

// So much of what was given back last is not offered to the system: a loop asks for it in a moment, and pages that were
// offered cost 7 % of a pointwise kernel to have back.
constexpr uint64_t kAtHand = uint64_t{256} << 20;

constexpr uintptr_t kPageBytes = 4096;  // blocks begin with a page

class Pool {
 public:
  void begin() {
    const std::scoped_lock lock(mutex_);
    keeping_.push_back(std::this_thread::get_id());
  }
  void end() {
    const std::scoped_lock lock(mutex_);
    keeping_.erase(std::ranges::find(keeping_, std::this_thread::get_id()));
  }

  // Null: the system has none, or this thread does not keep.
  std::byte* take(uint64_t bytes) {
    const std::scoped_lock lock(mutex_);
    if (std::ranges::find(keeping_, std::this_thread::get_id()) == keeping_.end()) return nullptr;
    // The smallest that is large enough, unless a quarter of it would lie idle; of equals the one that was in use last.
    auto best = free_.end();
    for (auto it = free_.begin(); it != free_.end(); ++it)
      if (it->bytes >= bytes && it->bytes - bytes <= bytes / 4 && (best == free_.end() || it->bytes <= best->bytes))
        best = it;
    Block block;
    if (best != free_.end()) {
      block = *best;
      free_.erase(best);
      counts_.free -= block.bytes;
    } else {
      block = {.memory = map_pages(bytes), .bytes = bytes};
      if (!block.memory) return nullptr;
    }
    used_.emplace(block.memory, block.bytes);
    counts_.in_use += block.bytes;
    counts_.most_in_use = std::max(counts_.most_in_use, counts_.in_use);
    return block.memory;
  }

  // False: it is not from here.
  bool give_back(void* memory) {
    if (reinterpret_cast<uintptr_t>(memory) % kPageBytes != 0) return false;  // as nearly all that is small
    const std::scoped_lock lock(mutex_);
    const auto used = used_.find(memory);
    if (used == used_.end()) return false;
    free_.push_back({.memory = static_cast<std::byte*>(memory), .bytes = used->second});
    counts_.in_use -= used->second;
    counts_.free += used->second;
    used_.erase(used);
    offer_what_lies_idle();
    for (; counts_.free > counts_.most_in_use; free_.pop_front()) {
      counts_.free -= free_.front().bytes;
      unmap_pages(free_.front().memory, free_.front().bytes);
    }
    return true;
  }

  KeptBytes counts() {
    const std::scoped_lock lock(mutex_);
    return counts_;
  }

 private:
  struct Block {
    std::byte* memory = nullptr;
    uint64_t bytes = 0;
    bool offered = false;  // to the system
  };

  void offer_what_lies_idle() {
    uint64_t younger = 0;
    for (Block& b : free_ | std::views::reverse) {
      younger += b.bytes;
      if (younger <= kAtHand || b.offered) continue;
      offer_pages(b.memory, b.bytes);
      b.offered = true;
    }
  }

  std::mutex mutex_;
  std::vector<std::thread::id> keeping_;  // one of each that lives
  std::unordered_map<void*, uint64_t> used_;
  std::deque<Block> free_;  // the one that has been idle longest first
  KeptBytes counts_;
};

// Never destroyed: tensors may outlive everything.
Pool& pool() {
  static Pool& one = *new Pool;
  return one;
}

// libtorch's own allocator, but for what is kept.
class KeepingAllocator final : public c10::Allocator {
 public:
  KeepingAllocator() {
    keep_freed_memory();
    c10::SetCPUAllocator(this);
  }

  c10::DataPtr allocate(size_t bytes) override {
    if (bytes >= static_cast<size_t>(kFreshBytes))
      if (std::byte* memory = pool().take(bytes)) return {memory, memory, &release, c10::Device(c10::kCPU)};
    return own_->allocate(bytes);
  }
  // Of either kind: an extern's library may give back what another call of it took.
  c10::DeleterFnPtr raw_deleter() const override { return &release; }
  void copy_data(void* to, const void* from, size_t bytes) const override { own_->copy_data(to, from, bytes); }

 private:
  static void release(void* memory);

  c10::Allocator* own_ = c10::GetCPUAllocator();
};

// Installed before anybody can ask for memory, and for good.
KeepingAllocator& allocator = *new KeepingAllocator;

void KeepingAllocator::release(void* memory) {
  if (memory && !pool().give_back(memory)) allocator.own_->raw_deleter()(memory);
}

}  // namespace

KeepMemory::KeepMemory() { pool().begin(); }
KeepMemory::~KeepMemory() { pool().end(); }

KeptBytes kept_bytes() { return pool().counts(); }

}  // namespace lenz::oracle
