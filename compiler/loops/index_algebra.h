// What can be proved of index expressions at the points of a nest: every answer "yes" is a proof, a "no" means that
// none was found. Points are those of a box of axes at which the assumed conditions hold.
//
//   bounds         each axis at its end, where the sign of what it is multiplied with is known, all at once or from
//                  the innermost outwards, a tile at either of its bounds; multiples of assumed conditions taken off;
//                  min(a, b) <= (a + b)//2; x//m + r < n as x + r*m < n*m; else Facts, else each of a few points
//   // and %       Facts::simplify under the axes' ranges: (i0*8 + i1)//8 = i0 and (i0*8 + i1)%8 = i1 for i1 < 8;
//                  digits of one number that are added up again are that number
//   injectivity    mixed radix: sorted by their strides, each axis's stride is more than all lesser axes reach
//   together;
//                  axes are taken apart where an index has one under // or %; tiles of an axis are taken together
//   coverage       as many points as elements, no two points at one element, none outside
//   disjointness   some dim in which the indices always differ: by bounds, or by remainders
//
// Thread-safety: as the pool of its dims.
#pragma once

#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "compiler/graph/type.h"

namespace lenz::loops {

// constant + coefficients[k] * axis k; neither has axes in it.
struct LinearForm {
  Dim constant;
  std::vector<Dim> coefficients;
};

class IndexSpace {
 public:
  struct Axis {
    Dim symbol, extent;  // 0 <= symbol < extent, which has no axes in it
  };

  IndexSpace(SymPool& pool, const Facts& facts) : pool_(&pool), base_(facts), facts_(facts) {}

  void add_axis(Dim symbol, Dim extent);
  // A coordinate that data decide: within 0 .. extent - 1, but no axis.
  void add_position(Dim symbol, Dim extent);
  void assume(const Cond& cond);            // only points at which it holds
  void assume_opaque() { opaque_ = true; }  // only points at which something holds that has no form here

  bool empty() const { return empty_; }  // there is no point: everything is true
  const std::vector<Axis>& axes() const { return axes_; }
  const Facts& facts() const { return facts_; }
  bool mentions_axis(Dim dim) const;  // an axis or a position

  // --- bounds
  bool proves(const Cond& cond) const { return empty_ || facts_.proves(cond); }
  Range range(Dim index) const;
  // The least and the greatest value over the box, without axes in them but those that a tile's extent has.
  std::optional<std::pair<Dim, Dim>> ends(Dim index) const;
  bool in_bounds(Dim index, Dim size) const;              // 0 <= index < size
  bool asks_nonlinear(std::span<const Dim> asked) const;  // whether a question about these is nonlinear (linear.h)
  Dim simplify(Dim index) const;

  // --- strides
  std::optional<LinearForm> linear(Dim index) const;
  std::optional<Dim> stride(Dim address, size_t axis) const;  // of an element's address, along an axis
  // The axes from the greatest stride to the least, as far as they compare; others keep their order.
  std::vector<size_t> order_by_stride(Dim address) const;

  // Whether axes k and k + 1, made one, would be as linear in this index as both are.
  bool mergeable(size_t axis, Dim index) const;

  // --- proofs about accesses
  std::optional<Dim> points() const;  // how many, exactly
  // `radices`: numbers to multiply the coordinates with, for another try: what tells the sums apart tells the
  // coordinates apart.
  bool injective(std::span<const Dim> index, std::span<const DimVec> radices = {}) const;
  bool inside(std::span<const Dim> index, std::span<const Dim> sizes) const;

 private:
  friend bool disjoint(const IndexSpace& a, std::span<const Dim> index_a, const IndexSpace& b,
                       std::span<const Dim> index_b);
  struct Interval {
    Dim low, end;
  };

  void restrict(const Cond& cond);  // what is known
  void rebuild(const std::vector<Axis>& axes, const std::vector<std::pair<Dim, Dim>>& replaced);
  std::optional<std::pair<Dim, Dim>> product_ends(Dim monomial) const;
  std::optional<std::pair<Dim, Dim>> atom_ends(Dim atom) const;
  bool at_least_zero(Dim dim, int depth) const;
  bool in_bounds(Dim index, Dim size, int quotients) const;
  std::optional<Dim> end_along(Dim dim, Dim axis, Dim top, bool least) const;
  bool least_from_inside(Dim dim, size_t count) const;
  bool least_by_conditions(Dim dim, int depth) const;
  bool tried_out(Dim index, Dim size) const;  // in bounds at each of a few points, of axes and sizes
  bool narrow(const Cond& cond, std::vector<Interval>& intervals) const;
  bool take_apart(std::vector<Dim>& index, size_t& fresh);
  static bool is_tile(const Axis& axis);
  bool has_tiles() const;
  bool join_tiles(std::vector<Dim>& index, size_t& fresh);
  void replace(std::vector<Dim>& index, const std::vector<std::pair<Dim, Dim>>& replaced) const;
  bool separated(const LinearForm& form, std::vector<bool>& known) const;
  Dim flattened(Dim dim) const;
  Dim quotient(Dim a, Dim b) const;
  bool tells_axes(std::span<const Dim> index) const;

  SymPool* pool_;
  Facts base_, facts_;  // without and with the axes
  std::vector<Axis> axes_, positions_;
  std::vector<Cond> conditions_;
  bool empty_ = false, opaque_ = false;
};

// Whether no point of one space and point of the other have one index. Axes of the same name are different axes.
bool disjoint(const IndexSpace& a, std::span<const Dim> index_a, const IndexSpace& b, std::span<const Dim> index_b);

// What is written where: all points of a space.
struct Piece {
  IndexSpace space;
  DimVec index;
};
// Whether the pieces together are every element of a tensor of these sizes, each once.
bool partition(std::span<const Piece> pieces, std::span<const Dim> sizes, const Facts& facts,
               std::span<const DimVec> radices = {});

}  // namespace lenz::loops
