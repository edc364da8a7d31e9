// A vector of trivially copyable elements with room for N inline: dims of a shape, users of a value.
// Thread-safety: as std::vector.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <span>
#include <type_traits>

namespace lenz {

template <class T, uint32_t N>
class SmallVec {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  SmallVec() {}
  SmallVec(std::initializer_list<T> items) { append(items.begin(), items.end()); }
  explicit SmallVec(std::span<const T> items) { append(items.data(), items.data() + items.size()); }
  SmallVec(size_t count, const T& value) { resize(count, value); }
  SmallVec(const SmallVec& o) { append(o.begin(), o.end()); }
  SmallVec(SmallVec&& o) noexcept { steal(o); }
  SmallVec& operator=(const SmallVec& o) {
    if (this != &o) {
      clear();
      append(o.begin(), o.end());
    }
    return *this;
  }
  SmallVec& operator=(SmallVec&& o) noexcept {
    if (this != &o) {
      if (on_heap()) ::operator delete(heap_);
      steal(o);
    }
    return *this;
  }
  ~SmallVec() {
    if (on_heap()) ::operator delete(heap_);
  }

  T* data() { return on_heap() ? heap_ : reinterpret_cast<T*>(inline_); }
  const T* data() const { return on_heap() ? heap_ : reinterpret_cast<const T*>(inline_); }
  T* begin() { return data(); }
  T* end() { return data() + size_; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size_; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T& operator[](size_t i) { return data()[i]; }
  const T& operator[](size_t i) const { return data()[i]; }
  T& back() { return data()[size_ - 1]; }
  const T& back() const { return data()[size_ - 1]; }
  T& front() { return data()[0]; }
  const T& front() const { return data()[0]; }
  void clear() { size_ = 0; }
  void pop_back() { --size_; }
  void push_back(const T& value) {
    T copy = value;
    reserve(size_ + 1);
    data()[size_++] = copy;
  }
  void resize(size_t count, const T& value = T()) {
    T copy = value;
    reserve(count);
    for (size_t i = size_; i < count; ++i) data()[i] = copy;
    size_ = static_cast<uint32_t>(count);
  }
  void append(const T* first, const T* last) {
    size_t count = static_cast<size_t>(last - first);
    reserve(size_ + count);
    if (count) std::memcpy(static_cast<void*>(data() + size_), first, count * sizeof(T));
    size_ += static_cast<uint32_t>(count);
  }
  void insert(size_t at, const T& value) {
    push_back(value);
    std::rotate(begin() + at, end() - 1, end());
  }
  void erase(size_t at) {
    std::move(begin() + at + 1, end(), begin() + at);
    --size_;
  }
  void reserve(size_t count) {
    if (count <= capacity_) return;
    size_t capacity = std::max<size_t>(count, capacity_ * 2);
    T* moved = static_cast<T*>(::operator new(capacity * sizeof(T)));
    if (size_) std::memcpy(static_cast<void*>(moved), data(), size_ * sizeof(T));
    if (on_heap()) ::operator delete(heap_);
    heap_ = moved;
    capacity_ = static_cast<uint32_t>(capacity);
  }
  operator std::span<const T>() const { return {data(), size_}; }  // NOLINT: a vector is a span
  std::span<const T> span() const { return {data(), size_}; }
  friend bool operator==(const SmallVec& a, const SmallVec& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  bool on_heap() const { return capacity_ > N; }
  void steal(SmallVec& o) {
    size_ = o.size_;
    capacity_ = o.capacity_;
    if (o.on_heap()) {
      heap_ = o.heap_;
    } else if (size_) {
      std::memcpy(inline_, o.inline_, size_ * sizeof(T));
    }
    o.size_ = 0;
    o.capacity_ = N;
  }

  uint32_t size_ = 0, capacity_ = N;
  union {
    T* heap_;
    alignas(T) std::byte inline_[N * sizeof(T)];
  };
};

}  // namespace lenz
