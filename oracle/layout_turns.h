// Which class of layouts (compiler/ops/layouts.h) an operand of a cell's next call is to lie in: the one that had
// fewest so far, so that a few calls cover all that the row's calls can have.
// Thread-safety: one per cell.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "compiler/graph/graph.h"
#include "compiler/ops/layouts.h"

namespace lenz::oracle {

class LayoutTurns {
 public:
  // `start`: who comes first, of those that had none. So cells of fewer calls than classes cover different ones.
  explicit LayoutTurns(uint64_t start) : start_(start % kLayoutClasses) {}
  std::optional<LayoutClass> next() const;  // none is left
  void take(LayoutClass layout) {
    taken_ = layout;
    ++had_[static_cast<size_t>(layout)];
  }
  // The call whose turn it was, and that lies so, has a verdict: by chance other classes had theirs too.
  void judged(LayoutClass layout) { had_[static_cast<size_t>(layout)] += layout != taken_; }
  void leave(LayoutClass layout, std::string why) { left_[layout] = std::move(why); }
  const std::map<LayoutClass, std::string>& left() const { return left_; }

 private:
  size_t start_;
  std::optional<LayoutClass> taken_;
  std::array<int, kLayoutClasses> had_ = {};
  std::map<LayoutClass, std::string> left_;
};

// The classes that inputs of a graph without symbolic sizes lie in.
std::set<LayoutClass> layouts_of(const Graph& graph);

}  // namespace lenz::oracle
