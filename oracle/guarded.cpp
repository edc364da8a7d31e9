#include "oracle/guarded.h"

#include <ATen/core/Tensor.h>
#include <c10/core/CPUAllocator.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <mutex>

#include "oracle/aten.h"

namespace lenz::oracle {

namespace {
constexpr size_t kHeader = 64;
constexpr std::byte kCovered{0}, kGap{0xFF};
constexpr size_t kBand = 256;  // bytes; keeps the alignment that libtorch's kernels count on

// Bytes by place, so that copying one guard over another shows; floats of any width read numbers about one, so that
// adding to them does.
constexpr std::byte band_byte(size_t place) {
  return static_cast<std::byte>(place % 2 ? 0x3C | (place / 2 & 3) : 0x02 | (place * 29 & 0x7C));
}
constexpr std::array<std::byte, kBand> kIntact = [] {
  std::array<std::byte, kBand> bytes{};
  for (size_t i = 0; i < kBand; ++i) bytes[i] = band_byte(i);
  return bytes;
}();

// What stands in the gap between elements: NaN in floats, so that a read there shows, and one that signals, so that
// adding to it does, which makes it a quiet one; a bool must stay one. `at`: of the element at a place, as wide as one.
template <class Word, class At>
void fill_gap(std::span<const std::byte> gap, std::byte* data, std::byte* in_gap, At&& at) {
  auto fill = [&](size_t place, size_t bytes) {
    const auto stands = static_cast<Word>(at(place));
    Word open = 0, lies = 0;
    std::memcpy(&open, gap.data() + place, bytes);
    std::memcpy(&lies, data + place, bytes);
    lies = static_cast<Word>((lies & ~open) | (stands & open));
    std::memcpy(data + place, &lies, bytes);
    std::memcpy(in_gap + place, &stands, bytes);
  };
  const size_t whole = gap.size() / sizeof(Word) * sizeof(Word);
  for (size_t place = 0; place < whole; place += sizeof(Word)) fill(place, sizeof(Word));
  if (whole < gap.size()) fill(whole, gap.size() - whole);  // memory that ends within an element
}
void fill_gap(Dtype dtype, std::span<const std::byte> gap, std::byte* data, std::byte* in_gap) {
  if (dtype == Dtype::b8) return fill_gap<uint8_t>(gap, data, in_gap, [](size_t place) { return place * 5 / 3 & 1; });
  const Dtype real = to_real(dtype);
  if (is_float8(real))  // of eight bits none signals
    return fill_gap<uint8_t>(gap, data, in_gap, [](size_t) { return 0xFF; });
  const uint64_t high = ~uint64_t{0} << (is_floating(real) ? info(real).mantissa_bits - 1 : 6);
  auto element = [&](size_t place) { return high | 1 | (place * 37 & 0x3E); };
  switch (item_size(real)) {
    case 1: return fill_gap<uint8_t>(gap, data, in_gap, element);
    case 2: return fill_gap<uint16_t>(gap, data, in_gap, element);
    case 4: return fill_gap<uint32_t>(gap, data, in_gap, element);
    default: return fill_gap<uint64_t>(gap, data, in_gap, element);
  }
}

struct Block {
  std::byte* start = nullptr;  // of the front band
  size_t size = 0;             // of what lies between the bands
  std::string name;            // of an input
  // Of an input: all ones where no element covers a byte, else zero, and what stands there; empty: elements cover all.
  std::vector<std::byte> gap, in_gap;
  Dtype dtype = Dtype::u8;
  bool damaged = false;  // and reported

  std::byte* data() const { return start + kBand; }
};
}  // namespace

struct GuardedMemory::State final : c10::Allocator, std::enable_shared_from_this<State> {
  explicit State(std::byte p) : poison(p) {}

  c10::DataPtr allocate(size_t n) override {
    c10::Device cpu(c10::kCPU);
    if (n == 0) return {nullptr, cpu};
    c10::DataPtr inner = base->allocate(kHeader + n + 2 * kBand);
    std::byte* start = static_cast<std::byte*>(inner.get()) + kHeader;
    std::memcpy(start, kIntact.data(), kBand);
    std::memcpy(start + kBand + n, kIntact.data(), kBand);
    std::memset(start + kBand, static_cast<int>(poison), n);
    // Whoever frees may know the data's address alone (raw_deallocate): who we are stands before the front band.
    auto* held = new Held{shared_from_this(), std::move(inner)};
    std::memcpy(start - kHeader, &held, sizeof held);
    std::lock_guard lock(mutex);
    Block& block = blocks[start + kBand];
    block.start = start;
    block.size = n;
    return {start + kBand, start + kBand, &release, cpu};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &release; }
  void copy_data(void* to, const void* from, std::size_t n) const override { default_copy_data(to, from, n); }

  struct Held {
    std::shared_ptr<State> state;
    c10::DataPtr inner;
  };
  static void release(void* data) {
    if (!data) return;
    Held* held = nullptr;
    std::memcpy(&held, static_cast<std::byte*>(data) - kBand - kHeader, sizeof held);
    std::shared_ptr<State> state = held->state;
    {
      std::lock_guard lock(state->mutex);
      state->examine(state->blocks[data], kBand);
      state->blocks.erase(data);
    }
    delete held;
  }

  // `near`: so many bytes of the bands, beside what lies between them.
  void examine(Block& block, size_t near, const std::function<std::string()>& after = {}) {
    if (block.damaged || intact(block, near)) return;
    Damage d{.where = block.name.empty() ? "a buffer of " + std::to_string(block.size) + " bytes" : block.name,
             .after = after ? after() : ""};
    auto count = [&](int64_t offset) {
      if (d.bytes++ == 0) d.offset = offset;
    };
    for (size_t i = 0; i < kBand; ++i)
      if (block.start[i] != band_byte(i)) count(static_cast<int64_t>(i) - static_cast<int64_t>(kBand));
    for (size_t i = 0; i < block.gap.size(); ++i)
      if (block.gap[i] != kCovered && block.data()[i] != block.in_gap[i]) count(static_cast<int64_t>(i));
    for (size_t i = 0; i < kBand; ++i)
      if (block.data()[block.size + i] != band_byte(i)) count(static_cast<int64_t>(block.size + i));
    block.damaged = true;
    damage.push_back(std::move(d));
  }

  void examine_all(size_t near, const std::function<std::string()>& after = {}) {
    std::lock_guard lock(mutex);
    for (auto& [data, block] : blocks) examine(block, near, after);
  }

  static bool intact(const Block& block, size_t near) {
    if (std::memcmp(block.data() - near, kIntact.data() + kBand - near, near) != 0) return false;
    if (std::memcmp(block.data() + block.size, kIntact.data(), near) != 0) return false;
    std::byte changed{0};
    for (size_t i = 0; i < block.gap.size(); ++i) changed |= (block.data()[i] ^ block.in_gap[i]) & block.gap[i];
    return changed == std::byte{0};
  }

  std::byte poison;
  c10::Allocator* base = c10::GetCPUAllocator();
  std::mutex mutex;
  std::map<void*, Block> blocks;  // by the address of their data
  std::vector<Damage> damage;
};

GuardedMemory::GuardedMemory(std::byte poison) : state_(std::make_shared<State>(poison)) {
  LENZ_CHECK(!dynamic_cast<State*>(state_->base), "memory is guarded already");
  c10::SetCPUAllocator(state_.get());
}

GuardedMemory::~GuardedMemory() { c10::SetCPUAllocator(state_->base); }

namespace {
// Elements of `kItem` bytes, `count` of them, `step` bytes apart.
template <size_t kItem>
void cover_row(std::byte* gap, int64_t step, int64_t count) {
  for (int64_t i = 0; i < count; ++i) std::memset(gap + i * step, static_cast<int>(kCovered), kItem);
}
void cover_row(std::byte* gap, size_t item, int64_t step, int64_t count) {
  if (step == 0) count = std::min<int64_t>(count, 1);
  switch (item) {
    case 1: return cover_row<1>(gap, step, count);
    case 2: return cover_row<2>(gap, step, count);
    case 4: return cover_row<4>(gap, step, count);
    case 8: return cover_row<8>(gap, step, count);
    default: return cover_row<16>(gap, step, count);
  }
}

void cover(std::vector<std::byte>& gap, const at::Tensor& t) {
  if (t.numel() == 0) return;
  const auto item = static_cast<int64_t>(t.itemsize());
  const auto sizes = t.sizes(), strides = t.strides();
  const size_t rows = sizes.empty() ? 0 : sizes.size() - 1;  // the last dim is a row
  std::vector<int64_t> at(rows, 0);
  int64_t place = t.storage_offset();
  for (;;) {
    cover_row(gap.data() + place * item, t.itemsize(), sizes.empty() ? 0 : strides[rows] * item,
              sizes.empty() ? 1 : sizes[rows]);
    size_t d = rows;
    for (; d > 0; --d) {
      if (strides[d - 1] == 0) continue;  // all of its rows are one
      place += strides[d - 1];
      if (++at[d - 1] < sizes[d - 1]) break;
      place -= strides[d - 1] * sizes[d - 1];
      at[d - 1] = 0;
    }
    if (d == 0) return;
  }
}
}  // namespace

std::vector<RunValue> GuardedMemory::guard(const Graph& graph, std::span<const RunValue> inputs) {
  struct Moved {
    c10::Storage storage;
    Block* block;
    std::vector<std::byte> gap = {};  // becomes the block's when all of it is known: memory may end before
  };
  std::map<const void*, Moved> moved;  // by the storage that they had
  auto guarded = [&](const at::Tensor& t, const std::string& name) {
    const c10::Storage& from = t.storage();
    auto found = moved.find(from.unsafeGetStorageImpl());
    if (found == moved.end()) {
      size_t n = from.nbytes();
      c10::DataPtr data = state_->allocate(n);
      if (n) std::memcpy(data.get(), from.data(), n);
      std::vector<std::byte> gap;
      Block* block = n ? &state_->blocks.at(data.get_context()) : nullptr;
      if (block) {
        block->name = name;
        block->dtype = from_aten(t.scalar_type()).value_or(Dtype::u8);
        bool dense = t.is_non_overlapping_and_dense() && t.numel() * t.itemsize() == n;
        if (!dense) gap.assign(n, kGap);
      }
      c10::Storage storage(c10::Storage::use_byte_size_t(), static_cast<int64_t>(n), std::move(data), state_->base,
                           true);
      found = moved.emplace(from.unsafeGetStorageImpl(), Moved{std::move(storage), block, std::move(gap)}).first;
    } else if (found->second.block) {
      found->second.block->name += " and " + name;
    }
    if (!found->second.gap.empty()) cover(found->second.gap, t);
    auto copy = at::detail::make_tensor<c10::TensorImpl>(c10::Storage(found->second.storage), t.key_set(), t.dtype());
    copy.unsafeGetTensorImpl()->set_sizes_and_strides(t.sizes(), t.strides(), t.storage_offset());
    return copy;
  };
  std::vector<RunValue> values(inputs.begin(), inputs.end());
  for (size_t i = 0; i < values.size(); ++i) {
    if (!values[i]) continue;
    std::string name = "input " + graph.value_name(graph.inputs()[i].value);
    if (values[i]->value.isTensor()) values[i] = hold(guarded(values[i]->value.toTensor(), name));
    if (values[i]->value.isTensorList()) {
      c10::List<at::Tensor> list;
      for (const at::Tensor& t : values[i]->value.toTensorVector()) list.push_back(guarded(t, name));
      values[i] = hold(std::move(list));
    }
  }
  for (auto& [storage, m] : moved) {
    if (!m.block) continue;
    m.block->in_gap.resize(m.gap.size());
    fill_gap(m.block->dtype, m.gap, m.block->data(), m.block->in_gap.data());
    m.block->gap = std::move(m.gap);
  }
  return values;
}

void GuardedMemory::look_around(const std::function<std::string()>& after) {
  constexpr size_t kNear = 64;
  state_->examine_all(kNear, after);
}

std::vector<Damage> GuardedMemory::damage() {
  state_->examine_all(kBand);
  std::lock_guard lock(state_->mutex);
  return state_->damage;
}

std::string Damage::text() const {
  std::string at = offset < 0 ? std::to_string(-offset) + " bytes before its start" : "byte " + std::to_string(offset);
  return where + ": " + at + " changed, which is no element's; " + std::to_string(bytes) + " such bytes" +
         (after.empty() ? "" : ", seen after " + after);
}

}  // namespace lenz::oracle
