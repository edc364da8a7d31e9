// What open indices may name. An index that says where in an order an element stands (the greatest, the third) is open
// where other elements may stand there; but it still names one of those. Values; knows nothing of tensors.
// Thread-safety: as a value.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

namespace lenz::oracle {

// The operand of an ordering call: between what each of its elements may lie. NaN stands above all numbers.
struct OrderedElements {
  std::vector<double> low, high;
  bool distinct = false;  // indices along one row name different elements: of an order, not of each window's extreme
};

// Of a plane whose elements an index counts, those that a window looks at: along each dim from `first` to `last`.
struct Window {
  struct Side {
    int64_t first = 0, last = 0, step = 1;
    int64_t size = 1;  // the plane's
  };
  std::vector<Side> sides;
  bool has(int64_t element) const;
  std::vector<int64_t> elements() const;  // in rising order
};

// One open index.
struct OpenIndex {
  const OrderedElements* among = nullptr;
  int64_t first = 0, step = 1, count = 0;  // its row: the elements that it counts
  double low = 0, high = 0;                // between what the value at this place of the order may lie
  Window window = {};                      // without sides: the whole row
  bool ties_alone = false;                 // only equal numbers, none of which may be another, may stand there
};

// All open indices of a run, by numbers from 1 on.
class Choices {
 public:
  const OrderedElements& keep(OrderedElements elements) { return operands_.emplace_back(std::move(elements)); }
  int64_t add(OpenIndex index) {
    indices_.push_back(std::move(index));
    return static_cast<int64_t>(indices_.size());
  }
  bool any() const { return !indices_.empty(); }
  void look_for_ties(int64_t open);  // sets `ties_alone`: looks at the whole row
  bool ties_alone(int64_t open) const { return open != 0 && at(open).ties_alone; }
  // Whether the element may stand where the index says.
  bool may_name(int64_t open, int64_t element) const;
  struct Range {
    int64_t first, last;
  };
  Range range(int64_t open) const;                      // from the first to the last that it may name
  std::vector<int64_t> candidates(int64_t open) const;  // in rising order
  // The row of whose order an index is a place, where no element takes two of them.
  using Order = std::pair<const OrderedElements*, int64_t>;
  std::optional<Order> order_of(int64_t open) const;

 private:
  bool may_have_its_value(const OpenIndex& open, int64_t element) const;
  const OpenIndex& at(int64_t open) const { return indices_[static_cast<size_t>(open - 1)]; }
  std::deque<OrderedElements> operands_;  // whose addresses stay
  std::vector<OpenIndex> indices_;
};

}  // namespace lenz::oracle
