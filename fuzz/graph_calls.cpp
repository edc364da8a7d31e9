#include "fuzz/graph_calls.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "compiler/base/hash.h"
#include "compiler/graph/infer.h"
#include "compiler/scalar/rounding.h"
#include "compiler/scalar/scalar.h"
#include "fuzz/adapt.h"
#include "oracle/initialise.h"

namespace lenz::fuzz {

namespace {
bool constant_sizes(const Type& t) {
  bool constant = true;
  for_each_symbolic_dim(t, [&](Dim) { constant = false; });
  return constant;
}

constexpr std::string_view kConstant = "lenz.constant";
constexpr std::string_view kThere = "aten.add";    // op name: indices that the graph computes
constexpr std::string_view kBack = "aten.sub";     // op name: and gets back
constexpr std::string_view kEmpty = "aten.zeros";  // op name: what an out= op may resize

bool wants_values(const TensorWish& w) { return w.integers || w.permutation || w.sorted; }
}  // namespace

bool is_constant(const Graph& graph, ValueId v) {
  const NodeId producer = graph.value(graph.storage(v)).producer;
  return producer != kNone && graph.node(producer).op->full_name == kConstant;
}

// Whether its elements, in some order, are all that lies there.
bool has_gaps(const Type& t) {
  std::vector<std::pair<int64_t, int64_t>> dims;  // stride, size
  for (size_t d = 0; d < t.rank(); ++d)
    if (!t.sizes()[d].is(1)) dims.emplace_back(t.strides()[d].constant(), t.sizes()[d].constant());
  std::ranges::sort(dims);
  int64_t dense = 1;
  for (const auto& [stride, size] : dims) {
    if (stride != dense) return true;
    dense *= size;
  }
  return !t.offset.is(0);
}

namespace {
// As many as a type says, or the first of them that are more than `most`.
int64_t elements_up_to(int64_t most, const Type& t) {
  int64_t elements = 1;
  for (Dim d : t.sizes())
    if (d.is_constant() && elements <= most) elements *= std::max<int64_t>(d.constant(), 1);
  return elements;
}
}  // namespace

void Growth::add(ValueId v) {
  const Type& t = graph->type(v);
  if (!t.is_tensor() || !constant_sizes(t)) return;
  if (elements_up_to(habits.most_elements, t) <= habits.most_elements) values.push_back(v);
}

int64_t Growth::most_elements() const {
  constexpr int64_t kLeast = 1 << 14, kMost = 1 << 23, kTimes = 16;  // as many as a value that is used again
  return std::clamp(kTimes * habits.most_elements, kLeast, kMost);
}

bool Growth::has_too_many(const Node& node) const {
  constexpr int64_t kEnough = 1 << 10;
  const int64_t most = is_costly(*node.op) ? std::max(most_elements() / kCostly, kEnough) : most_elements();
  for (uint16_t i = 0; i < node.result_count; ++i) {
    const Type& t = graph->type(node.result(i));
    if (t.is_tensor() && elements_up_to(most, t) > most) return true;
  }
  return false;
}

bool is_made_of_others(const OpDef& op) {
  const OpDef& row = op.base ? *op.base : op;
  return !row.has(Trait::core) && !row.has(Trait::elementwise) && !row.has(Trait::view) && !row.has(Trait::movement);
}

bool looks_into_gaps(const Graph& graph, const OpDef& op, std::span<const Arg> args) {
  const bool laid = op.schema.find("size") >= 0 && op.schema.find("stride") >= 0 && args[0].is_value();
  return laid && has_gaps(graph.type(args[0].value()));
}

bool counts_to_operand(const OpDef& op) {
  const OpDef& row = op.base ? *op.base : op;
  return row.wants.find("counted") != row.wants.npos;
}

bool counts_to_operand(const OpDef& op, std::string_view param) {
  const OpDef& row = op.base ? *op.base : op;
  return row.wants.find(std::string(param) + " counted") != row.wants.npos;
}

bool is_costly(const OpDef& op) {
  const OpDef& row = op.base ? *op.base : op;
  return counts_to_operand(op) || (!row.scalar.empty() && find_scalar(row.scalar)->has(traits::costly));
}

uint64_t StratifiedChooser::below(uint64_t n) {
  constexpr uint64_t kMost = 8;
  const uint64_t place = place_++;
  if (n < 2 || n > kMost) return inner_.below(n);
  return Turn{combine(visit_.key, place), 0}.of(visit_.number, n);
}

GraphCalls::GraphCalls(Growth& growth, Chooser& choose, const OpDef& op, std::optional<Visit> visit)
    : CallMaker(*growth.graph, choose, op), growth_(growth), visit_(visit), costly_(is_costly(op)) {
  if (visit) stratified_.emplace(choose, *visit);
}

bool GraphCalls::a_flag(std::string_view name) {
  return visit_ ? Turn{combine(visit_->key, hash_bytes(name)), 0}.of(visit_->number, 2) == 1 : CallMaker::a_flag(name);
}

// New values are used more often than old ones, so that graphs become deep; and those that nobody uses yet most of all.
ValueId GraphCalls::recent(std::span<const ValueId> from) {
  if (chooser_.below(16) < growth_.habits.old) return from[chooser_.below(from.size())];
  std::vector<ValueId> unused;
  for (ValueId v : from)
    if (graph().value(v).users.empty() && graph().value(v).producer != kNone) unused.push_back(v);
  if (!unused.empty()) return unused[unused.size() - 1 - chooser_.below(std::min<size_t>(unused.size(), 3))];
  return from[from.size() - 1 - chooser_.below(std::min<size_t>(from.size(), 4))];
}

int64_t GraphCalls::usual_size(int64_t low) {
  const int64_t size = CallMaker::a_size(low);
  return size > 1 || chooser_.below(16) < growth_.habits.degenerate ? size : chooser_.between(2, 5);
}

int64_t GraphCalls::a_size(int64_t low) {
  return chooser_.below(16) < growth_.habits.edges ? at_an_edge(low) : usual_size(low);
}

// At the ends of vectors, of unrolled vectors and of tiles, or beside them.
int64_t GraphCalls::at_an_edge(int64_t low) {
  constexpr int64_t kMostOfCall = 2048;  // of one call's such sizes together: it may look at all pairs of elements
  const int64_t edge = chooser_.any_of<int64_t>({16, 32, 64, 8, 128, 256});
  const int64_t size = std::max(low, edge + chooser_.any_of<int64_t>({1, 0, -1, 3}));
  if (edges_drawn_ * size > kMostOfCall) return usual_size(low);
  edges_drawn_ *= size;
  return size;
}

// Of a row whose turn it is. What it does along a dim, it may do otherwise where that is longer than a vector.
Sizes GraphCalls::a_fresh_shape(int min_rank, int max_rank, int64_t min_size) {
  Sizes s = CallMaker::a_shape(min_rank, max_rank, min_size);
  if (visit_ && !s.empty() && edges_drawn_ == 1 && chooser_.below(4) == 3)
    s[chooser_.below(s.size())] = at_an_edge(min_size);
  return s;
}

// Sizes that the graph has already, so that calls meet.
Sizes GraphCalls::a_shape(int min_rank, int max_rank, int64_t min_size) {
  const auto& common = growth_.habits.common;
  const auto dims = static_cast<int>(common.size());
  if (dims > 0 && dims >= min_rank && dims <= max_rank && std::ranges::min(common) >= min_size &&
      chooser_.below(8) != 7)
    return Sizes(common);
  if (growth_.values.empty() || chooser_.below(16) < growth_.habits.fresh)
    return growth_.habits.large ? a_large_shape(min_rank, max_rank, min_size)
                                : a_fresh_shape(min_rank, max_rank, min_size);
  ValueId v = recent(growth_.values);
  const auto rank = static_cast<int>(type(v).rank());
  Sizes s = sizes(v);
  const int64_t most = most_of_shape();
  if (rank < min_rank || rank > max_rank || std::ranges::any_of(s, [&](int64_t n) { return n < min_size; }) ||
      elements_up_to(most, type(v)) > most)
    return CallMaker::a_shape(min_rank, max_rank, min_size);
  return s;
}

// An element of a costly function takes as long as dozens of another one.
int64_t GraphCalls::most_of_shape() const {
  constexpr int64_t kLeast = 64;  // vectors have ends even there
  const int64_t most = growth_.habits.most_elements;
  return costly_ ? std::max(most / kCostly, std::min(most, kLeast)) : most;
}

// One dim is long, and of no round size more often than not.
Sizes GraphCalls::a_large_shape(int min_rank, int max_rank, int64_t min_size) {
  const int least = std::min(std::max(min_rank, 1), max_rank), most_dims = std::max(least, std::min(max_rank, 3));
  Sizes s = CallMaker::a_shape(least, most_dims, min_size);
  if (s.empty()) return s;
  const size_t longest = chooser_.below(s.size());
  int64_t others = 1;
  for (size_t d = 0; d < s.size(); ++d)
    if (d != longest) others *= std::max<int64_t>(s[d], 1);
  const int64_t most = std::max<int64_t>(most_of_shape() / others, min_size + 1);
  switch (chooser_.below(4)) {
    case 0: s[longest] = most; break;
    case 1: s[longest] = most - chooser_.between(0, 17); break;
    case 2: s[longest] = most / 2 + chooser_.between(0, 3); break;
    default: s[longest] = chooser_.between(most / 8, most);
  }
  s[longest] = std::max(s[longest], min_size);
  return s;
}

Dtype GraphCalls::a_dtype(DtypeSet set) {
  if (!growth_.values.empty() && chooser_.below(16) >= growth_.habits.fresh) {
    Dtype d = type(recent(growth_.values)).dtype;
    if (set.has(d)) return d;
  }
  DtypeSet liked = set & growth_.habits.dtypes;
  return CallMaker::a_dtype(liked.empty() || chooser_.below(8) == 7 ? set : liked);
}

bool shares_memory(const Graph& graph, ValueId a, ValueId b) {
  const ValueId x = graph.storage(a), y = graph.storage(b);
  if (x == y) return true;
  if (graph.value(x).producer != kNone || graph.value(y).producer != kNone) return false;
  const auto& memory = graph.inputs()[graph.value(x).index].alias;
  return memory && memory == graph.inputs()[graph.value(y).index].alias;
}

bool GraphCalls::keeps_apart(ValueId v, bool written) const {
  return std::ranges::none_of(handed_, [&](const Handed& h) {
    if ((!h.written && !written) || !shares_memory(graph_, h.value, v)) return false;
    // Elementwise ops read a place before they write it; others are undefined, and eager does not always say so.
    return h.value != v || (h.written && written) || !op_.has(Trait::elementwise);
  });
}

bool GraphCalls::fits(ValueId v, const TensorWish& wish, DtypeSet dtypes) const {
  const Type& t = type(v);
  if (!dtypes.has(t.dtype)) return false;
  Sizes s = sizes(v);
  if (wish.sizes && *wish.sizes != s) return false;
  const auto rank = static_cast<int>(t.rank());
  if (!wish.sizes && (rank < wish.min_rank || rank > wish.max_rank)) return false;
  if (std::ranges::any_of(s, [&](int64_t n) { return n < wish.min_size; })) return false;
  if (wants_values(wish)) {
    // Only values whose elements are known to be of that kind: they were made for it, and nobody wrote to them.
    auto made = growth_.made_for.find(v);
    if (made == growth_.made_for.end() || (is_input(v) && graph_.input(graph_.value(v).index).mutated)) return false;
    const TensorWish& m = made->second;
    if (wish.permutation != m.permutation || wish.sorted != m.sorted ||
        wish.integers.has_value() != m.integers.has_value())
      return false;
    if (wish.integers && (m.integers->first < wish.integers->first || m.integers->second > wish.integers->second))
      return false;
  }
  if (wish.plain || wish.strides || wish.format) {
    if (t.offset.constant() != 0) return false;
    Strided dense =
        wish.format && (*wish.format == MemoryFormat::channels_last || *wish.format == MemoryFormat::channels_last_3d)
            ? draw_layout(LayoutClass::channels_last, s, false, chooser_)
            : draw_layout(LayoutClass::contiguous, s, false, chooser_);
    Sizes strides;
    for (Dim d : t.strides()) strides.push_back(d.constant());
    if (strides != (wish.strides ? *wish.strides : Sizes(dense.strides))) return false;
  }
  // What is written to a place of several elements hangs on their order, which is nobody's promise.
  if (wish.written && shares_places(t.sizes(), t.strides())) return false;
  if (wish.written && (growth_.made_for.contains(v) || is_constant(graph_, v))) return false;
  // Bools of other bytes than 0 and 1 are nobody's promise.
  if (wish.written && t.dtype != Dtype::b8 && type(graph_.storage(v)).dtype == Dtype::b8) return false;
  return keeps_apart(v, wish.written);
}

ValueId GraphCalls::hand_out(ValueId v, const TensorWish& wish) {
  handed_.push_back({v, wish.written});
  growth_.wants_input = false;
  return v;
}

ValueId GraphCalls::tensor(const TensorWish& wish) {
  DtypeSet dtypes = wish.dtype ? DtypeSet::of(*wish.dtype) : wish.dtypes.empty() ? op_.dtypes : wish.dtypes;
  // What will be resized is nobody else's.
  const bool resized = wish.written && wish.sizes && wish.sizes->size() == 1 && (*wish.sizes)[0] == 0;
  const bool full = graph_.inputs().size() >= growth_.most_inputs;
  if (resized) return hand_out(chooser_.below(8) == 7 ? fresh(wish, dtypes) : of_no_elements(a_dtype(dtypes)), wish);
  if (!costly_ && (full || chooser_.below(16) >= growth_.habits.fresh)) {
    std::vector<ValueId> fitting;
    for (ValueId v : growth_.values)
      if (fits(v, wish, dtypes)) fitting.push_back(v);
    if (!fitting.empty()) return hand_out(recent(fitting), wish);
    if (!wants_values(wish) && !wish.written && !wish.strides && !wish.format &&
        chooser_.below(16) < growth_.habits.adapt)
      if (ValueId v = adapted(wish, dtypes); v != kNone && keeps_apart(v, false)) return hand_out(v, wish);
  }
  const ValueId v = fresh(wish, dtypes);
  const bool index = wish.integers && type(v).dtype == Dtype::i64;
  const bool free = !wish.written && !wish.plain && !wish.strides && !wish.format && !wish.permutation && !wish.sorted;
  return hand_out(index && free && chooser_.below(12) == 11 ? far_and_back(v, wish) : v, wish);
}

// The same indices, as the graph computes them: on their way they lie where fewer bits count no more.
ValueId GraphCalls::far_and_back(ValueId v, const TensorWish& wish) {
  const int64_t far =
      chooser_.any_of<int64_t>({1, int64_t{1} << 31, int64_t{1} << 32, -(int64_t{1} << 31), 3000000000});
  for (const std::string_view op : {kThere, kBack}) {
    const Arg args[] = {Arg::of_value(v), Arg::of_int(far)};
    Resolved r = resolve(graph_, op, args, {});
    v = graph_.node(graph_.append(*r.op, r.args)).result();
  }
  growth_.made_for.emplace(v, wish);
  growth_.add(v);
  return v;
}

ValueId GraphCalls::adapted(const TensorWish& wish, DtypeSet dtypes) {
  if (growth_.values.empty()) return kNone;
  const ValueId from = recent(growth_.values);
  ValueId v = from;
  const Dtype to = dtypes.has(type(v).dtype) ? type(v).dtype : a_dtype(dtypes);
  Sizes wanted = sizes(v);
  if (wish.sizes) {
    wanted = *wish.sizes;
  } else if (static_cast<int>(wanted.size()) < wish.min_rank || static_cast<int>(wanted.size()) > wish.max_rank ||
             std::ranges::any_of(wanted, [&](int64_t n) { return n < wish.min_size; })) {
    wanted = CallMaker::a_shape(wish.min_rank, wish.max_rank, wish.min_size);
  }
  elements_within(wanted);
  v = with_sizes(graph_, v, wanted, chooser_);
  if (v == kNone) return kNone;
  v = with_dtype(graph_, v, to);
  if (v != kNone && wish.plain) v = as_plain(graph_, v);
  if (v != kNone && v != from) growth_.add(v);
  return v;
}

// How many there are. Unsupported: more than a case may have, as sizes that follow from others multiply.
int64_t GraphCalls::elements_within(const Sizes& sizes) const {
  int64_t elements = 1;
  for (const int64_t n : sizes) elements *= std::max<int64_t>(n, 1);
  constexpr int64_t kEnough = 1 << 12;  // for the plainest sizes that follow from others
  const int64_t most =
      is_made_of_others(op_) ? std::max(growth_.habits.most_elements, kEnough) : growth_.most_elements();
  if (elements > most) throw Unsupported("more elements than a case may have");
  return elements;
}

ValueId GraphCalls::of_no_elements(Dtype dtype) {
  const Arg sizes = context().ints(Sizes{0});
  const Keyword with[] = {{"dtype", Arg::of_dtype(dtype)}};
  Resolved r = resolve(graph_, kEmpty, {&sizes, 1}, with);
  return graph_.node(graph_.append(*r.op, r.args)).result();
}

// What is folded is folded of such elements too.
void GraphCalls::make_special(std::span<std::byte> elements, Dtype dtype) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  const size_t size = static_cast<size_t>(item_size(dtype));
  for (size_t at = 0; at < elements.size(); at += size) {
    if (chooser_.flip()) continue;
    const double number = chooser_.any_of<double>(
        {0, -0.0, 1, -1, smallest_subnormal(dtype), largest_finite(dtype), kInf, -kInf, std::nan("")});
    const ScalarBits bits = to_bits(dtype, ScalarValue(number));
    std::memcpy(elements.data() + at, bits.data(), size);
  }
}

ValueId GraphCalls::as_constant(ValueId input, bool special) {
  ConstantData data;
  data.type = type(input).tensor();
  std::vector<std::byte> bytes(oracle::storage_bytes(type(input)));
  oracle::initialise(bytes, type(input), graph_.inputs().back().init, false);
  if (special && is_floating(type(input).dtype)) make_special(bytes, type(input).dtype);
  data.bytes = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  graph_.remove_input(graph_.inputs().size() - 1);
  const Arg literal = context().data(std::move(data));
  Resolved constant = resolve(graph_, kConstant, {&literal, 1}, {});
  return graph_.node(graph_.append(*constant.op, constant.args)).result();
}

ValueId GraphCalls::fresh(const TensorWish& wish, DtypeSet dtypes) {
  TensorWish whole = wish;
  whole.dtype = wish.dtype ? *wish.dtype : a_dtype(dtypes);
  whole.sizes = wish.sizes ? *wish.sizes : a_shape(wish.min_rank, wish.max_rank, wish.min_size);
  const int64_t elements = elements_within(*whole.sizes);
  constexpr int64_t kMostOfConstant = 128;
  const bool parameter = growth_.habits.parameters && !growth_.wants_input;
  const bool constant = !wish.written && !wish.strides && !wish.format && elements <= kMostOfConstant &&
                        (parameter || chooser_.below(16) < growth_.habits.constants);
  if (constant) whole.plain = true;
  ValueId v = FreshCalls(graph_, chooser_, op_).tensor(whole);
  // What is declared holds for whatever is asked of the case; where nothing is, who reads it says what it may be, and
  // then integers have the ends of their dtype, divisors are negative too.
  Initialiser& init = graph_.input(graph_.inputs().size() - 1).init;
  if (!constant && !wants_values(wish) && init.kind == Initialiser::integers && chooser_.below(3) != 0) init = {};
  if (constant)
    v = as_constant(v, !wants_values(wish) && !op_.has(Trait::random) && chooser_.below(parameter ? 12 : 3) == 2);
  if (wants_values(wish)) growth_.made_for.emplace(v, whole);
  growth_.add(v);
  return v;
}

}  // namespace lenz::fuzz
