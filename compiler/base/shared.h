// A list and a table whose copies share what they began with: a copy costs the few elements that were added since,
// however many there are. For what is copied for each part of a program and then added to.
// Thread-safety: all copies of one belong to one thread at a time.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace lenz {

namespace detail {
// Whether so many elements of its own are too many to copy beside those that are shared: moving them over costs as
// much as all of them, copying them again and again costs them each time.
inline bool worth_sharing(size_t own, size_t shared) { return own > 8 && (own - 8) * (own - 8) > shared; }
}  // namespace detail

template <class T>
class SharedList {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  class Iterator;
  using value_type = T;
  using iterator = Iterator;
  using const_iterator = Iterator;

  SharedList() = default;
  SharedList(const SharedList& o) : kept_((o.share(), o.kept_)), shared_(o.shared_), own_(o.own_) {}
  SharedList(SharedList&&) noexcept = default;
  SharedList& operator=(SharedList o) noexcept {
    kept_ = o.kept_;
    shared_ = std::move(o.shared_);
    own_ = std::move(o.own_);
    return *this;
  }
  ~SharedList() = default;

  size_t size() const { return kept_ + own_.size(); }
  bool empty() const { return size() == 0; }
  // By value: elements move when the list is copied.
  T operator[](size_t i) const { return i < kept_ ? (*shared_)[i] : own_[i - kept_]; }
  T back() const { return (*this)[size() - 1]; }

  void push_back(const T& value) { own_.push_back(value); }
  void truncate(size_t size) {
    own_.resize(size > kept_ ? size - kept_ : 0);
    kept_ = std::min(kept_, size);
  }
  void clear() { truncate(0); }

  // Takes out what `is` says, which it is asked once of each, in order.
  template <class F>
  void erase_if(F&& is) {
    std::vector<T> left;
    bool erased = false;
    for (size_t i = 0, count = size(); i < count; ++i) {
      const T value = (*this)[i];
      const bool out = is(value);
      if (out && !erased) left.assign(begin(), begin() + static_cast<ptrdiff_t>(i));
      erased |= out;
      if (erased && !out) left.push_back(value);
    }
    if (!erased) return;
    own_ = std::move(left);
    shared_.reset();
    kept_ = 0;
  }

  // All elements in two runs, for loops in which nobody adds or copies.
  std::array<std::span<const T>, 2> runs() const {
    return {shared_ ? std::span<const T>(*shared_).first(kept_) : std::span<const T>(), std::span<const T>(own_)};
  }

  class Iterator {
   public:
    using iterator_concept = std::random_access_iterator_tag;
    using iterator_category = std::input_iterator_tag;
    using value_type = T;
    using difference_type = ptrdiff_t;
    using reference = T;
    using pointer = void;

    Iterator() = default;
    Iterator(const SharedList* list, size_t at) : list_(list), at_(at) {}
    T operator*() const { return (*list_)[at_]; }
    T operator[](ptrdiff_t by) const { return *(*this + by); }
    Iterator& operator++() { return *this += 1; }
    Iterator operator++(int) { return std::exchange(*this, *this + 1); }
    Iterator& operator--() { return *this += -1; }
    Iterator operator--(int) { return std::exchange(*this, *this + -1); }
    Iterator& operator+=(ptrdiff_t by) {
      at_ += static_cast<size_t>(by);
      return *this;
    }
    Iterator& operator-=(ptrdiff_t by) { return *this += -by; }
    friend Iterator operator+(Iterator it, ptrdiff_t by) { return it += by; }
    friend Iterator operator+(ptrdiff_t by, Iterator it) { return it += by; }
    friend Iterator operator-(Iterator it, ptrdiff_t by) { return it -= by; }
    friend ptrdiff_t operator-(Iterator a, Iterator b) { return static_cast<ptrdiff_t>(a.at_ - b.at_); }
    friend bool operator==(Iterator a, Iterator b) { return a.at_ == b.at_; }
    friend auto operator<=>(Iterator a, Iterator b) { return a.at_ <=> b.at_; }

   private:
    const SharedList* list_ = nullptr;
    size_t at_ = 0;
  };
  Iterator begin() const { return {this, 0}; }
  Iterator end() const { return {this, size()}; }

 private:
  void share() const {
    if (!detail::worth_sharing(own_.size(), kept_)) return;
    auto all = std::make_shared<std::vector<T>>();
    all->reserve(size());
    for (const auto run : runs()) all->insert(all->end(), run.begin(), run.end());
    shared_ = std::move(all);
    kept_ = shared_->size();
    own_.clear();
  }

  mutable size_t kept_ = 0;  // so many of the shared ones are its elements
  mutable std::shared_ptr<const std::vector<T>> shared_;
  mutable std::vector<T> own_;  // behind them
};

// Values by number, of those numbers that have one.
template <class T>
class SharedTable {
 public:
  struct Entry {
    uint32_t id = 0;
    T value{};
  };

  SharedTable() = default;
  SharedTable(const SharedTable& o) : shared_((o.share(), o.shared_)), own_(o.own_) {}
  SharedTable(SharedTable&&) noexcept = default;
  SharedTable& operator=(SharedTable o) noexcept {
    shared_ = std::move(o.shared_);
    own_ = std::move(o.own_);
    return *this;
  }
  ~SharedTable() = default;

  // Null if there is none; until the table is changed or copied.
  const T* find(uint32_t id) const {
    if (const T* own = find_in(own_, id)) return own;
    return shared_ ? find_in(*shared_, id) : nullptr;
  }
  bool contains(uint32_t id) const { return find(id) != nullptr; }
  bool empty() const { return own_.empty() && !shared_; }

  T& change(uint32_t id) {  // made if there is none; until the next call
    const size_t at = place(own_, id);
    if (at < own_.size() && own_[at].id == id) return own_[at].value;
    const T* before = shared_ ? find_in(*shared_, id) : nullptr;
    return own_.insert(own_.begin() + static_cast<ptrdiff_t>(at), Entry{id, before ? *before : T{}})->value;
  }
  // Takes back a `change` that made an entry, if the table wasn't copied since.
  void unmake(uint32_t id) {
    const size_t at = place(own_, id);
    if (at < own_.size() && own_[at].id == id) own_.erase(own_.begin() + static_cast<ptrdiff_t>(at));
  }

  std::vector<const T*> all() const {  // by number; until the table is changed or copied
    std::vector<const T*> out;
    static const std::vector<Entry> kNothing;
    const std::vector<Entry>& shared = shared_ ? *shared_ : kNothing;
    out.reserve(shared.size() + own_.size());
    merge(shared, own_, [&](const Entry& e) { out.push_back(&e.value); });
    return out;
  }

 private:
  // Where the entry is or would stand. Numbers are often those of places.
  static size_t place(const std::vector<Entry>& in, uint32_t id) {
    if (in.empty() || in.back().id < id) return in.size();
    if (id < in.size() && in[id].id == id) return id;
    const auto end = in.begin() + static_cast<ptrdiff_t>(std::min<size_t>(in.size(), id));
    return static_cast<size_t>(std::ranges::lower_bound(in.begin(), end, id, {}, &Entry::id) - in.begin());
  }
  static const T* find_in(const std::vector<Entry>& part, uint32_t id) {
    const size_t at = place(part, id);
    return at < part.size() && part[at].id == id ? &part[at].value : nullptr;
  }
  template <class F>
  static void merge(const std::vector<Entry>& shared, const std::vector<Entry>& own, F&& visit) {
    size_t at = 0;
    for (const Entry& e : shared) {
      while (at < own.size() && own[at].id < e.id) visit(own[at++]);
      if (at < own.size() && own[at].id == e.id)
        visit(own[at++]);
      else
        visit(e);
    }
    while (at < own.size()) visit(own[at++]);
  }
  void share() const {
    if (!detail::worth_sharing(own_.size(), shared_ ? shared_->size() : 0)) return;
    auto all = std::make_shared<std::vector<Entry>>();
    all->reserve(own_.size() + (shared_ ? shared_->size() : 0));
    merge(shared_ ? *shared_ : std::vector<Entry>(), own_, [&](const Entry& e) { all->push_back(e); });
    shared_ = std::move(all);
    own_.clear();
  }

  mutable std::shared_ptr<const std::vector<Entry>> shared_;
  mutable std::vector<Entry> own_;  // in order, instead of those that are shared
};

}  // namespace lenz
