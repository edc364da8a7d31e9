#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "compiler/ops/rules/elementwise.h"
#include "compiler/passes/joint/node_maker.h"
#include "compiler/passes/pass.h"

namespace lenz {

namespace {

// Images of fewer elements are convolved before they are laid out again.
constexpr int64_t kWorthwhile = 1024;

bool is_convolution(const Node& node) {
  return node.op->full_name == "aten.convolution";  // op name: whose hosts prefer one layout
}

bool has_channels_last(const Type& t) {
  return std::ranges::equal(t.strides(), rule::channels_last_strides(t.sizes()));
}

// Or volumes, as rows of one channel, or channels of one pixel.
bool are_images(const Type& t) {
  return t.is_tensor() && (t.rank() == 4 || t.rank() == 5) && t.offset.is(0) &&
         (std::ranges::equal(t.strides(), contiguous_strides(t.sizes())) || has_channels_last(t));
}

// The dims of images from one place to another, those between moved on.
Arg moved(const Graph& graph, const Type& images, int64_t from, int64_t to) {
  DimVec made;
  for (size_t d = 0; d < images.rank(); ++d)
    if (static_cast<int64_t>(d) != from) made.push_back(Dim(static_cast<int64_t>(d)));
  made.insert(static_cast<size_t>(to), Dim(from));
  return graph.context().dims(made);
}

class Layouts {
 public:
  Layouts(Graph& graph, PassContext& context) : graph_(graph), context_(context), aliases_(graph) {}

  void run() {
    find_sums_over_images();
    std::vector<NodeId> chosen;
    graph_.for_each_node([&](NodeId id) {
      if (gains(graph_.node(id))) chosen.push_back(id);
    });
    for (NodeId id : chosen) lay_out(id);
  }

 private:
  bool gains(const Node& node) {
    if (!is_convolution(node) || node.result_count != 1) return false;
    const Type &x = graph_.type(node.args[0].value()), &w = graph_.type(node.args[1].value()),
               &y = graph_.type(node.result());
    if (!are_images(x) || !are_images(w) || !are_images(y)) return false;
    if (x.dtype != Dtype::f32 && x.dtype != Dtype::bf16) return false;
    if (may_err(node, w, y)) return false;
    // Of sizes that are open: as they typically are.
    const Dim images = numel(x.sizes()) + numel(y.sizes());
    return graph_.assumptions.likely(ge(images, kWorthwhile)) &&
           graph_.assumptions.likely(le(numel(w.sizes()), images)) && !summed_.contains(node.result());
  }

  // oneDNN (3.10 at least) takes wrong pixels where each group has one channel, results are one pixel wide and steps
  // wider, but for groups that make one channel each.
  bool may_err(const Node& node, const Type& w, const Type& y) const {
    const Facts& known = graph_.assumptions.known();
    auto several = [&](Dim d) { return known.proves(ge(d, 2)); };
    const Arg& groups = node.args[8];
    const bool one_each =
        groups.kind == ArgKind::integer && known.proves(eq(groups.dim(), w.sizes()[0])) && several(groups.dim());
    return !several(w.sizes()[1]) && !several(y.sizes().back()) && !one_each;
  }

  // Sums over all images, of a value or of what goes point by point from it, go along rows. Backwards: users first.
  void find_sums_over_images() {
    for (NodeId id = graph_.last(); id != kNone; id = graph_.previous(id)) {
      const Node& node = graph_.node(id);
      const bool onwards =
          node.op->has(Trait::elementwise) && node.result_count == 1 && summed_.contains(node.result());
      if (!onwards && !takes_all_images(node)) continue;
      for (const Arg& a : node.arguments())
        if (a.is_value()) summed_.insert(a.value());
    }
  }

  static bool takes_all_images(const Node& node) {
    const int dim = node.op->schema.find("dim");
    if (!node.op->has(Trait::reduction) || dim < 0) return node.op->has(Trait::reduction);
    const Arg& a = node.args[static_cast<size_t>(dim)];
    if (a.kind == ArgKind::integer) return a.dim().is(0);
    return a.kind != ArgKind::int_list || std::ranges::any_of(a.dim_list(), [](Dim d) { return d.is(0); });
  }

  // The same elements with channels last in memory, as a view of an image of channels in its last dim: what computes
  // them stores them there.
  ValueId channels_last(NodeMaker& make, ValueId v) {
    // What loops compute lies as rows, whatever its type says.
    const NodeId producer = graph_.value(v).producer;
    const bool by_loops =
        producer != kNone && !is_convolution(graph_.node(producer)) && !graph_.node(producer).op->has(Trait::view);
    if (has_channels_last(graph_.type(v)) && !by_loops) return v;
    const Type& type = graph_.type(v);
    const auto last = static_cast<int64_t>(type.rank()) - 1;
    const Arg pixels = moved(graph_, type, 1, last), channels = moved(graph_, type, last, 1);
    const ValueId rows = make.call("aten.permute", {Arg::of_value(v), pixels});  // op name: pixels of channels
    const Keyword dense{"memory_format", Arg::of_memory_format(MemoryFormat::contiguous)};
    const ValueId laid = make.call("aten.clone", {Arg::of_value(rows)}, {dense});  // op name: in memory of its own
    return make.call("aten.permute", {Arg::of_value(laid), channels});             // op name: channels of pixels again
  }

  void lay_out(NodeId id) {
    const Node node = graph_.node(id);  // no reference: nodes move
    const Type& type = graph_.type(node.result());
    const ValueId x = node.args[0].value(), w = node.args[1].value();
    NodeMaker make(graph_, id);
    SmallVec<Arg, 9> args(node.arguments());
    const auto before = laid_.find(x);
    // One channel is first and last; then the other operand has to say which it is.
    auto of_one = [&](ValueId v) { return graph_.type(v).sizes()[1].is(1); };
    const ValueId images = of_one(x) ? x : before != laid_.end() ? before->second : channels_last(make, x);
    const ValueId weights = of_one(w) && !of_one(x) ? w : channels_last(make, w);
    args[0] = Arg::of_value(images);
    args[1] = Arg::of_value(weights);
    if (images == x && weights == w) return;  // it has them so
    const ValueId made = make.call(*node.op, args);
    const Arg strides = graph_.context().dims(type.strides());
    const ValueId back =
        &graph_.type(made) == &type ? made : make.call("lenz.restride", {Arg::of_value(made), strides});
    if (!has_channels_last(graph_.type(made)) || make.guards_added() ||
        may_replace(graph_, aliases_, node.result(), back) != Refusal::none || !context_.allow("convolution"))
      return make.undo();
    laid_[x] = images;
    laid_[back] = made;
    replace_value(graph_, aliases_, node.result(), back);
    graph_.erase(id);
  }

  Graph& graph_;
  PassContext& context_;
  AliasClasses aliases_;
  std::set<ValueId> summed_;         // over all images
  std::map<ValueId, ValueId> laid_;  // with channels last
};

void run(Graph& graph, PassContext& context) { Layouts(graph, context).run(); }

}  // namespace

Pass channels_last() {
  return {
      .name = "channels_last",
      .contract =
          "Lays out what is convolved, images or volumes, and its weights with channels last, as hosts' kernels want\n"
          "it. Asks that weights are smaller than images, typically, and that no sum over all images reads it.\n"
          "Keeps types, and values within their bounds: kernels sum in another order for another layout.",
      .levels = {Level::torch, Level::aten, Level::core},
      .idempotent = true,
      .rounds = true,
      .run = run};
}

}  // namespace lenz
