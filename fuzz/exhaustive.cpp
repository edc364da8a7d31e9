#include "fuzz/exhaustive.h"

#include <algorithm>
#include <unordered_set>

#include "compiler/base/hash.h"
#include "compiler/graph/alias.h"
#include "compiler/graph/text.h"
#include "compiler/graph/verify.h"
#include "compiler/ops/call_maker.h"
#include "compiler/ops/op_table.h"

namespace lenz::fuzz {

namespace {
constexpr int64_t kSizes[][2] = {{2, 3}, {1, 3}};  // what inputs of two dims have; others begin with these
constexpr size_t kMostInputs = 3;

// Few choices that are not the plainest, and few alternatives of each: the last, and some between.
class FewChoices final : public Chooser {
 public:
  FewChoices(Chooser& inner, size_t deviations, uint64_t breadth)
      : inner_(inner), left_(deviations), breadth_(breadth) {}
  uint64_t below(uint64_t n) override {
    if (n == 1 || left_ == 0) return 0;
    const uint64_t which = inner_.below(std::min(n, breadth_));
    if (which > 0) --left_;
    return n <= breadth_ ? which : which * (n - 1) / (breadth_ - 1);
  }
  Chooser& all() { return inner_; }

 private:
  Chooser& inner_;
  size_t left_;
  const uint64_t breadth_;
};

class SmallCalls final : public CallMaker {
 public:
  SmallCalls(Graph& graph, FewChoices& choose, const OpDef& op, const std::vector<Dtype>& dtypes)
      : CallMaker(graph, choose, op), all_(choose.all()), dtypes_(dtypes) {}

  ValueId tensor(const TensorWish& wish) override {
    const DtypeSet dtypes = wish.dtype ? DtypeSet::of(*wish.dtype) : wish.dtypes.empty() ? op_.dtypes : wish.dtypes;
    std::vector<ValueId> fitting;
    for (ValueId v = 0; v < graph_.value_count(); ++v)
      if (fits(v, wish, dtypes)) fitting.push_back(v);
    const bool fresh = fitting.empty() || graph_.inputs().size() < kMostInputs;
    const size_t which = all_.below(fitting.size() + (fresh ? 1 : 0));
    const ValueId v = which < fitting.size() ? fitting[which] : made(wish, dtypes);
    handed_.push_back(v);
    return v;
  }
  int64_t a_size(int64_t low = 0) override { return std::max<int64_t>(low, kSizes[choose().below(2)][0]); }
  Sizes a_shape(int min_rank = 0, int max_rank = 5, int64_t min_size = 0) override {
    const int64_t(&sizes)[2] = kSizes[choose().below(2)];
    Sizes shape;
    for (int d = 0; d < std::clamp(2, min_rank, max_rank); ++d)
      shape.push_back(std::max(min_size, d < 2 ? sizes[d] : 2));
    return shape;
  }
  Dtype a_dtype(DtypeSet set) override {
    std::vector<Dtype> some;
    for (const Dtype d : dtypes_)
      if (set.has(d)) some.push_back(d);
    ReplayChooser plainest({});
    return some.empty() ? FreshCalls(graph_, plainest, op_).a_dtype(set) : all_.pick(some);
  }

 private:
  bool fits(ValueId v, const TensorWish& wish, DtypeSet dtypes) const {
    if (!type(v).is_tensor() || !dtypes.has(type(v).dtype)) return false;
    if (wish.integers || wish.permutation || wish.sorted || wish.plain || wish.strides || wish.format) return false;
    bool constant = true;
    for_each_symbolic_dim(type(v), [&](Dim) { constant = false; });
    if (!constant) return false;
    const Sizes s = sizes(v);
    const auto rank = static_cast<int>(s.size());
    if (wish.sizes ? *wish.sizes != s : rank < wish.min_rank || rank > wish.max_rank) return false;
    if (std::ranges::any_of(s, [&](int64_t n) { return n < wish.min_size; })) return false;
    // What is written to is nobody else's operand, and no input of integers that somebody reads as indices.
    const auto same = [&](ValueId other) { return graph_.storage(other) == graph_.storage(v); };
    return !(wish.written && std::ranges::any_of(handed_, same)) && !is_index(v);
  }
  bool is_index(ValueId v) const {
    const Value& value = graph_.value(graph_.storage(v));
    return value.producer == kNone && graph_.inputs()[value.index].init.kind == Initialiser::integers;
  }

  ValueId made(const TensorWish& wish, DtypeSet dtypes) {
    TensorWish whole = wish;
    whole.dtype = wish.dtype ? *wish.dtype : a_dtype(dtypes);
    whole.sizes = wish.sizes ? *wish.sizes : a_shape(wish.min_rank, wish.max_rank, wish.min_size);
    ReplayChooser plainest({});
    const ValueId v = FreshCalls(graph_, plainest, op_).tensor(whole);
    Initialiser& init = graph_.input(graph_.inputs().size() - 1).init;
    init.seed = graph_.inputs().size();
    if (!wish.integers && !wish.permutation && !wish.sorted) init = {};  // who reads it says what it may be
    return v;
  }

  Chooser& all_;
  const std::vector<Dtype>& dtypes_;
  std::vector<ValueId> handed_;
};

std::vector<const OpDef*> rows_called(const std::vector<std::string>& names) {
  std::vector<const OpDef*> rows;
  for (const std::string& name : names) {
    const std::string full = name.starts_with("aten.") ? name : "aten." + name;
    const size_t before = rows.size();
    if (const OpDef* op = op_table().find(full); op && Pool::takes(*op)) rows.push_back(op);
    if (rows.size() == before)
      for (const OpDef* op : op_table().packet(full))
        if (Pool::takes(*op) && op->variant != VariantKind::out) rows.push_back(op);
    if (rows.size() == before)
      throw UserError("no op that graphs grow from is called `" + name + "`", "lenz fuzz --ops");
  }
  return rows;
}
}  // namespace

SmallGraphs::SmallGraphs(const ExhaustiveOptions& options) : options_(options), rows_(rows_called(options.ops)) {
  EnumeratingChooser all;
  std::unordered_set<uint64_t> seen;
  do {
    ++sequences_;
    RecordingChooser recording(all);
    const auto graph = made(recording);
    if (!graph) {
      ++refused_;
    } else if (seen.insert(hash_bytes(print(*graph))).second) {
      records_.push_back(recording.record());
    }
    if (records_.size() > options_.most_graphs || sequences_ > 16 * options_.most_graphs)
      throw UserError("there are more than " + std::to_string(options_.most_graphs) + " graphs",
                      "lenz fuzz --exhaustive",
                      "give fewer --ops or --dtypes, or smaller --most, --deviations or --breadth");
  } while (all.next());
}

std::unique_ptr<Graph> SmallGraphs::made(Chooser& choose) const {
  auto graph = std::make_unique<Graph>(std::make_shared<Context>(), op_table(), "small");
  const size_t ops = 1 + choose.below(options_.most);
  for (size_t i = 0; i < ops; ++i) {
    const OpDef& op = *rows_[choose.below(rows_.size())];
    FewChoices few(choose, options_.deviations, options_.breadth);
    try {
      SmallCalls maker(*graph, few, op, options_.dtypes);
      op.generate(maker);
      const std::span<const Arg> args = maker.finish();
      const Node& node = graph->node(graph->append(op, std::vector<Arg>(args.begin(), args.end())));
      for (size_t a = 0; a < node.arg_count; ++a)
        if (writes_operand(op, node.arguments(), a))
          for_each_value(node.args[a], [&](ValueId v) {
            const Value& value = graph->value(graph->storage(v));
            if (value.producer == kNone) graph->input(value.index).mutated = true;
          });
    } catch (const UserError&) {
      return nullptr;
    } catch (const Unsupported&) {
      return nullptr;
    }
  }
  std::vector<Arg> outputs;
  for (ValueId v = 0; v < graph->value_count(); ++v)
    if (graph->value(v).producer != kNone && graph->value(v).users.empty()) outputs.push_back(Arg::of_value(v));
  graph->set_outputs(outputs);
  if (!verify(*graph).empty()) return nullptr;
  return graph->clone();
}

Case SmallGraphs::at(uint64_t number) const {
  ReplayChooser replay(records_.at(number));
  Case c;
  c.graph = made(replay);
  c.setting.seed = number;
  return c;
}

}  // namespace lenz::fuzz
