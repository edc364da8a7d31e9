#include "oracle/kept_memory.h"

#include <c10/core/CPUAllocator.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
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

// Small memory, of which a small graph's tensors take some hundred pieces: the C library looks for each that begins
// with a cache line among all that is free, and cuts it out.
class SmallBlocks {
 public:
  static constexpr size_t kMost = size_t{16} << 10;  // bytes of a block

  void begin() {
    const std::scoped_lock lock(mutex_);
    if (begin_) return;
    void* mapped = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped != MAP_FAILED) begin_ = static_cast<std::byte*>(mapped);
  }

  // Null: none is left, or nobody has begun.
  std::byte* take(size_t bytes) {
    const std::scoped_lock lock(mutex_);
    if (!begin_) return nullptr;
    const size_t kind = kind_of(bytes);
    if (free_[kind].empty() && !cut(kind)) return nullptr;
    std::byte* block = free_[kind].back();
    free_[kind].pop_back();
    in_use_ += bytes_of(kind);
    return block;
  }

  // False: it is not from here.
  bool give_back(void* memory) {
    const std::byte* begin = begin_;
    const auto place = reinterpret_cast<uintptr_t>(memory) - reinterpret_cast<uintptr_t>(begin);  // or great
    if (!begin || place >= kBytes) return false;
    const std::scoped_lock lock(mutex_);
    const size_t kind = kinds_[place / kRun];
    free_[kind].push_back(static_cast<std::byte*>(memory));
    in_use_ -= bytes_of(kind);
    return true;
  }

  uint64_t in_use() {
    const std::scoped_lock lock(mutex_);
    return in_use_;
  }

 private:
  static constexpr size_t kBytes = size_t{64} << 20, kRun = size_t{64} << 10, kLine = 64;
  static constexpr size_t kKinds = 16;  // of one line, two, three, four, six, eight, twelve and so on

  static size_t bytes_of(size_t kind) { return kind == 0 ? kLine : (kind % 2 ? 2 : 3) * (kLine << (kind - 1) / 2); }
  static size_t kind_of(size_t bytes) {
    size_t kind = 0;
    while (bytes_of(kind) < bytes) ++kind;
    return kind;
  }
  // A run of blocks of one kind.
  bool cut(size_t kind) {
    if (runs_ == kinds_.size()) return false;
    const size_t bytes = bytes_of(kind);
    std::byte* const run = begin_ + runs_ * kRun;
    kinds_[runs_++] = static_cast<uint8_t>(kind);
    for (size_t place = kRun / bytes * bytes; place >= bytes; place -= bytes)
      free_[kind].push_back(run + place - bytes);
    return true;
  }

  std::mutex mutex_;
  std::atomic<std::byte*> begin_ = nullptr;           // set once
  std::array<std::vector<std::byte*>, kKinds> free_;  // the one that was in use last behind
  std::array<uint8_t, kBytes / kRun> kinds_{};        // of each run
  size_t runs_ = 0;
  uint64_t in_use_ = 0;
};

// Never destroyed: tensors may outlive everything.
SmallBlocks& small_blocks() {
  static SmallBlocks& one = *new SmallBlocks;
  return one;
}
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
    if (bytes > 0 && bytes <= SmallBlocks::kMost)
      if (std::byte* memory = small_blocks().take(bytes)) return {memory, memory, &release, c10::Device(c10::kCPU)};
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
  if (memory && !small_blocks().give_back(memory) && !pool().give_back(memory)) allocator.own_->raw_deleter()(memory);
}

}  // namespace

KeepMemory::KeepMemory() { pool().begin(); }
KeepMemory::~KeepMemory() { pool().end(); }

void keep_small_blocks() {
#if !defined(LENZ_ADDRESS_SANITIZER)  // which sees who reads what was given back
  small_blocks().begin();
#endif
}

KeptBytes kept_bytes() {
  KeptBytes counts = pool().counts();
  counts.small_in_use = small_blocks().in_use();
  return counts;
}

}  // namespace lenz::oracle
