#include "fuzz/parts.h"

#include <algorithm>
#include <utility>

#include "compiler/graph/graph.h"
#include "compiler/ops/op_table.h"
#include "compiler/passes/joint/join_patterns.h"

namespace lenz::fuzz {

namespace {
// Something taken apart along a dim, its parts exchanged, dropped or mixed with others, and joined again.
class Parts {
 public:
  Parts(Growth& growth, Chooser& choose, const NodeMade& made)
      : growth_(growth), graph_(*growth.graph), c_(choose), made_(made) {}

  void make() {
    std::vector<ValueId> whole;
    for (const ValueId v : growth_.values)
      if (std::ranges::any_of(graph_.type(v).sizes(), [](Dim n) { return n.constant() > 1; })) whole.push_back(v);
    if (whole.empty()) return;
    const ValueId base = c_.pick(whole);
    const Type& type = graph_.type(base);
    std::vector<size_t> long_enough;
    for (size_t d = 0; d < type.rank(); ++d)
      if (type.sizes()[d].constant() > 1) long_enough.push_back(d);
    dim_ = c_.pick(long_enough);
    std::vector<ValueId> parts = cut(base);
    // Of another tensor of that type, if there is one: then the parts are of several.
    for (const ValueId v : growth_.values)
      if (v != base && &graph_.type(v) == &type && c_.flip()) {
        const std::vector<ValueId> more = cut(v);
        parts.insert(parts.end(), more.begin(), more.end());
        break;
      }
    if (parts.size() > 1 && c_.below(3) == 2) std::swap(parts[0], parts[1 + c_.below(parts.size() - 1)]);
    if (parts.size() > 2 && c_.below(3) == 2)
      parts.erase(parts.begin() + static_cast<ptrdiff_t>(c_.below(parts.size())));
    const Arg joined[] = {graph_.context().values(parts), Arg::of_int(static_cast<int64_t>(dim_))};
    const ValueId all = call(join_forms().cat, joined);
    const int64_t size = graph_.type(all).sizes()[dim_].constant(), from = c_.between(0, size - 1);
    if (c_.below(3) != 0) slice(all, from, c_.between(from + 1, size));
  }

 private:
  std::vector<ValueId> cut(ValueId v) {
    const int64_t size = graph_.type(v).sizes()[dim_].constant();
    std::vector<ValueId> parts;
    for (int64_t from = c_.below(4) == 3 ? 1 : 0; from < size && parts.size() < 4;) {
      const int64_t to = c_.flip() ? c_.between(from + 1, size) : std::min(size, from + (size + 1) / 2);
      parts.push_back(slice(v, from, to));
      from = to;
    }
    return parts;
  }

  ValueId slice(ValueId v, int64_t from, int64_t to) {
    const Arg args[] = {Arg::of_value(v), Arg::of_int(static_cast<int64_t>(dim_)), Arg::of_int(from), Arg::of_int(to)};
    return call(join_forms().slice, args);
  }

  ValueId call(std::string_view op, std::span<const Arg> args) {
    Resolved r = resolve(graph_, op, args, {});
    const NodeId id = graph_.append(*r.op, r.args);
    made_(id);
    return graph_.node(id).result();
  }

  Growth& growth_;
  Graph& graph_;
  Chooser& c_;
  const NodeMade& made_;
  size_t dim_ = 0;
};
}  // namespace

void grow_parts(Growth& growth, Chooser& choose, const NodeMade& made) { Parts(growth, choose, made).make(); }

}  // namespace lenz::fuzz
