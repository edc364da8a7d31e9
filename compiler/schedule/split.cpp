#include "compiler/schedule/split.h"

#include <algorithm>
#include <array>
#include <bit>
#include <map>

#include "compiler/loops/index_algebra.h"
#include "compiler/schedule/addresses.h"
#include "compiler/schedule/collapse.h"
#include "compiler/schedule/joined_rows.h"
#include "compiler/schedule/kept_columns.h"
#include "compiler/schedule/nest_facts.h"
#include "compiler/schedule/nest_writer.h"
#include "compiler/schedule/symbols.h"

namespace lenz::schedule {

using loops::Axis;
using loops::AxisKind;
using loops::BufferId;
using loops::Combine;
using loops::InstrKind;
using loops::Nest;
using loops::Program;
using loops::Store;

namespace {

constexpr int64_t kChunk = 1 << 15;   // elements that one point is worth starting for
constexpr int64_t kManyPoints = 64;   // for any cores: these must not decide, for the same bits on each number of them
constexpr int64_t kColumns = 256;     // that one point of a kernel reduces together
constexpr int64_t kMany = 1LL << 40;  // more than anything real
constexpr int64_t kLeastRows = 16;    // that are worth a second nest

// Whether partial results may live in memory in the dtype of the reduction.
bool may_be_stored(const loops::Instr& i) {
  if (i.ordered || i.combine == Combine::last) return false;
  const bool exact = loops::primitive(i.combine) && i.combine != Combine::sum && i.combine != Combine::product;
  return exact || !is_inexact(i.dtype) || item_size(to_real(i.dtype)) >= 4;
}

bool may_be_split(const Nest& nest) {
  bool reduces = false;
  for (const loops::Instr& i : nest.body) {
    if (i.kind == InstrKind::scan) return false;
    if (i.kind != InstrKind::reduce) continue;
    if (!may_be_stored(i)) return false;
    reduces = true;
  }
  for (const Store& s : nest.stores)
    if (s.mode != loops::StoreMode::assign || s.distinct) return false;
  return reduces && !stands_alone(nest.tag);
}

int64_t most_of(const Program& program, Dim extent) {
  const int64_t most =
      extent.is_constant() ? extent.constant() : program.assumptions.known().range(extent).high.value_or(kMany);
  return std::clamp<int64_t>(most, 1, kMany >> 18);  // products of it and kMany are numbers still
}

int64_t fewest_of(const Program& program, Dim extent) {
  const int64_t fewest =
      extent.is_constant() ? extent.constant() : program.assumptions.known().range(extent).low.value_or(1);
  return std::clamp<int64_t>(fewest, 1, kMany >> 18);
}

// Whether neighbours in what it reduces are neighbours along the innermost axis that stays.
bool in_columns(const Program& program, const Nest& nest) {
  loops::IndexSpace space(program.context->syms, program.assumptions.known());
  std::optional<size_t> last;
  for (size_t k = 0; k < nest.axes.size(); ++k) {
    space.add_axis(nest.axes[k].symbol, nest.axes[k].extent);
    if (nest.axes[k].kind == AxisKind::parallel) last = k;
  }
  if (!last) return false;
  return std::ranges::any_of(nest.body, [&](const loops::Instr& i) {
    if (i.kind != InstrKind::load) return false;
    auto form = space.linear(space.simplify(address_of(program, i.buffer, i.index)));
    if (!form || !form->coefficients[*last].is(1)) return false;
    for (size_t k = 0; k < nest.axes.size(); ++k)
      if (nest.axes[k].kind == AxisKind::reduction && !form->coefficients[k].is(0)) return true;
    return false;
  });
}

// The innermost axis in memory, if it is reduced, as rows are that it is a short part of: a point of the axis that
// follows in memory has one part of each row.
std::optional<size_t> part_of_rows(const Program& program, const Nest& nest) {
  loops::IndexSpace space(program.context->syms, program.assumptions.known());
  for (const Axis& a : nest.axes) space.add_axis(a.symbol, a.extent);
  std::optional<size_t> found;
  for (const loops::Instr& i : nest.body) {
    if (i.kind == InstrKind::reduce && (!loops::primitive(i.combine) || i.ordered)) return std::nullopt;
    if (i.kind != InstrKind::load) continue;
    const auto form = space.linear(space.simplify(address_of(program, i.buffer, i.index)));
    if (!form) return std::nullopt;
    std::optional<size_t> inner, outer;
    int64_t rows = 1;
    for (size_t k = 0; k < nest.axes.size(); ++k)
      if (nest.axes[k].kind == AxisKind::reduction && form->coefficients[k].is(1)) inner = k;
    if (!inner || !nest.axes[*inner].extent.is_constant()) continue;
    const int64_t part = nest.axes[*inner].extent.constant();
    for (size_t k = 0; k < nest.axes.size(); ++k) {
      if (nest.axes[k].kind == AxisKind::parallel && form->coefficients[k].is(part) && !nest.axes[k].extent.is(1))
        outer = k;
      if (nest.axes[k].kind == AxisKind::reduction && k != *inner && form->coefficients[k].is_constant() &&
          form->coefficients[k].constant() > part)
        rows = std::min(kMany, rows * most_of(program, nest.axes[k].extent));
    }
    if (rows < kLeastRows) continue;
    if (part < 2 || part >= kShortPart || !outer || (found && *found != *inner)) return std::nullopt;
    found = inner;
  }
  return found;
}

}  // namespace

std::optional<Chunks> chunks_of(const Program& program, const Nest& nest, const Target& target) {
  if (!may_be_split(nest)) return std::nullopt;
  if (const auto inner = part_of_rows(program, nest)) return Chunks{*inner, 1, true};
  int64_t points = 1, elements = 1, fewest = 1;
  for (const Axis& a : nest.axes) {
    int64_t& product = a.kind == AxisKind::parallel ? points : elements;
    product = std::min(kMany, product * most_of(program, a.extent));
    if (a.kind == AxisKind::parallel) fewest = std::min(kMany, fewest * fewest_of(program, a.extent));
  }
  const bool columns = in_columns(program, nest);
  const int64_t width = columns ? std::min(points, kColumns) : 1;
  const int64_t chunk = target.grained(kChunk);
  // Columns whose number is open may be few: parts of them cost little where they are many.
  if ((columns ? fewest : points) / width >= kManyPoints || elements < 4 * chunk / width) return std::nullopt;
  int64_t inside = elements;
  for (size_t k = 0; k < nest.axes.size(); ++k) {
    if (nest.axes[k].kind != AxisKind::reduction) continue;
    const int64_t extent = most_of(program, nest.axes[k].extent);
    inside = std::max<int64_t>(1, inside / extent);
    // Of columns, one point for each of its own would be parts as many as elements where few lie inside.
    const bool open_inside = std::ranges::any_of(std::span(nest.axes).subspan(k + 1), [](const Axis& a) {
      return a.kind == AxisKind::reduction && !a.extent.is_constant();
    });
    if (columns && open_inside) continue;
    const auto size =
        static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(std::max<int64_t>(1, chunk / width / inside))));
    if (size * 2 <= extent) return Chunks{k, size};
  }
  return std::nullopt;
}

namespace {

class Splitter {
 public:
  Splitter(Program& program, const Target& target)
      : program_(program), target_(target), walked_again_(walked_again(program)) {
    const SymbolSet taken = symbols_of(program);
    FreshSymbols fresh(*program.context, taken);
    chunk_ = fresh("c");
    inside_ = fresh("r");
    of_row_ = fresh("w");
    for (Dim& joined : joined_) joined = fresh("j");
  }

  void block(loops::Block& b) {
    std::vector<loops::Node> made;
    for (loops::Node& node : b.nodes) {
      const bool kept = stays_in_columns(node);
      if (auto* n = std::get_if<loops::If>(&node.is)) block(*n->then), block(*n->otherwise);
      if (auto* n = std::get_if<loops::While>(&node.is)) block(*n->test), block(*n->body);
      if (auto* n = std::get_if<loops::Repeat>(&node.is)) block(*n->body);
      auto* nest = std::get_if<Nest>(&node.is);
      if (nest && !kept) {
        add(std::move(*nest), made);
      } else {
        made.push_back(std::move(node));
      }
    }
    b.nodes = std::move(made);
  }

 private:
  using Parts = std::map<Ssa, std::vector<BufferId>>;  // of each reduce, where its partial results lie

  // Columns that a cache keeps until they are walked again: parts of them would be read from memory each time.
  bool stays_in_columns(const loops::Node& node) const {
    const auto* nest = std::get_if<Nest>(&node.is);
    if (nest == nullptr || !walked_again_.contains(nest) || !in_columns(program_, *nest)) return false;
    Dim rows = 1, columns = 1;
    size_t row_axes = 0;
    int64_t item_bytes = 1;
    for (const Axis& a : nest->axes) {
      (a.kind == AxisKind::parallel ? columns : rows) *= a.extent;
      row_axes += a.kind == AxisKind::parallel ? 0 : 1;
    }
    for (const loops::Instr& i : nest->body)
      if (i.kind == InstrKind::load) item_bytes = std::max<int64_t>(item_bytes, item_size(i.dtype));
    return columns_stay(rows, row_axes, columns, item_bytes);
  }

  // Axes of open extents that are one in memory: nobody knows how many points of the outer one are worth a chunk, but
  // of both together that is a number.
  void join_open(Nest& nest) {
    size_t made = 0;
    for (size_t k = nest.axes.size(); k-- > 1 && made < joined_.size();) {
      const auto open = [&](size_t axis) { return !nest.axes[axis].extent.is_constant(); };
      if (nest.axes[k - 1].kind != AxisKind::reduction || (!open(k - 1) && !open(k))) continue;
      if (!collapsible(program_, nest, nest.axes, k - 1) || !proved_as_one(program_, nest, nest.axes, k - 1, 2, {}))
        continue;
      collapse(program_, nest, k - 1, joined_[made++]);
    }
  }

  void add(Nest nest, std::vector<loops::Node>& made) {
    if (may_be_split(nest)) join_open(nest);
    auto chunks = chunks_of(program_, nest, target_);
    // What has parts of rows already keeps its other short axes: a row's parts have one symbol.
    const bool of_row = std::ranges::find(nest.axes, of_row_, &Axis::symbol) != nest.axes.end();
    if (chunks && chunks->of_row && of_row) chunks.reset();
    if (chunks) {
      split(nest, *chunks, made);
    } else {
      made.push_back({std::move(nest)});
    }
  }

  void split(const Nest& nest, const Chunks& chunks, std::vector<loops::Node>& made) {
    const Axis& cut = nest.axes[chunks.axis];
    const Axis chunk{chunks.of_row ? of_row_ : chunk_, ceil_div(cut.extent, chunks.size), AxisKind::parallel};
    std::vector<Axis> points;
    for (const Axis& a : nest.axes)
      if (a.kind == AxisKind::parallel) points.push_back(a);
    const Parts parts = partial(nest, chunks, chunk, points, made);
    // Of several parts, a first nest finds what the second one needs at each of its points.
    Parts known;
    for (const auto& [at, buffers] : parts)
      if (nest.body[at].combine == Combine::welford || nest.body[at].combine == Combine::log_sum_exp)
        known[at] = first_of(nest.body[at], buffers, chunk, points, made);
    if (known.empty()) return together(nest, &chunk, points, parts, made);
    together(nest, nullptr, points, totals(nest, chunk, points, parts, known, made), made);
  }

  // --- partial results

  Parts partial(const Nest& nest, const Chunks& chunks, const Axis& chunk, const std::vector<Axis>& points,
                std::vector<loops::Node>& made) {
    const Axis& cut = nest.axes[chunks.axis];
    Nest n = start(nest, points);
    n.axes.insert(chunks.of_row ? n.axes.end() : n.axes.begin(), chunk);
    for (const Axis& a : nest.axes) {
      const bool is_cut = a.symbol == cut.symbol;
      if (a.kind == AxisKind::parallel || (is_cut && chunks.of_row)) continue;
      n.axes.push_back(a);
      if (!is_cut) continue;
      n.axes.back().symbol = inside_;
      const bool whole = cut.extent.is_constant() && cut.extent.constant() % chunks.size == 0;
      n.axes.back().extent = whole ? Dim(chunks.size) : min(Dim(chunks.size), cut.extent - chunk.symbol * chunks.size);
    }
    Replacement with(program_.context->syms);
    with.set(cut.symbol, chunks.of_row ? chunk.symbol : chunk.symbol * chunks.size + inside_);
    NestWriter writer(n);
    const std::vector<bool> late = loops::epilogue(nest);
    std::vector<Ssa> values(nest.body.size(), kNone);
    for (Ssa at = 0; at < nest.body.size(); ++at) {
      const bool reduce = nest.body[at].kind == InstrKind::reduce;
      if (late[at] && !reduce) continue;
      values[at] = copy(writer, nest.body[at], values, with);
    }
    Parts parts;
    for (Ssa at = 0; at < nest.body.size(); ++at) {
      const loops::Instr& i = nest.body[at];
      if (i.kind != InstrKind::reduce) continue;
      std::vector<BufferId>& buffers = parts[at];
      for (uint32_t p = 0; p < loops::row_of(i.combine).parts; ++p) {
        buffers.push_back(buffer(nest, loops::part_dtype(i.combine, i.dtype, p), &chunk, points));
        n.stores.push_back({buffers.back(), index(&chunk, points), part(writer, values[at], p), kNone,
                            loops::StoreMode::assign, false});
      }
    }
    for (const Store& s : nest.stores) {
      if (!early(nest, s, late)) continue;
      Store stored = s;
      stored.index = with(s.index);
      stored.value = values[s.value];
      if (s.mask != kNone) stored.mask = values[s.mask];
      n.stores.push_back(std::move(stored));
    }
    if (chunks.of_row) {
      add(std::move(n), made);
    } else {
      made.push_back({std::move(n)});
    }
    return parts;
  }

  // A store at every point of the reduction.
  static bool early(const Nest& nest, const Store& s, const std::vector<bool>& late) {
    if (late[s.value] || (s.mask != kNone && late[s.mask])) return false;
    for (Ssa at = 0; at < nest.body.size(); ++at)
      if (late[at] && nest.body[at].kind == InstrKind::position)
        for (Dim d : s.index)
          if (mentions(d, nest.body[at].symbol)) return false;
    return true;
  }

  // --- taken together

  // Of means and squares: the mean and the count of all. Of exponentials: the greatest.
  std::vector<BufferId> first_of(const loops::Instr& reduce, const std::vector<BufferId>& from, const Axis& chunk,
                                 const std::vector<Axis>& points, std::vector<loops::Node>& made) {
    Nest n;
    n.axes = points;
    n.axes.push_back(over(chunk));
    NestWriter writer(n);
    const Dtype t = reduce.dtype;
    const DimVec at = index(&chunk, points);
    std::vector<BufferId> stored;
    auto store = [&](Ssa value) {
      stored.push_back(buffer(n, t, nullptr, points));
      n.stores.push_back({stored.back(), index(nullptr, points), value, kNone, loops::StoreMode::assign, false});
    };
    if (reduce.combine == Combine::log_sum_exp) {
      store(reduced(writer, Combine::maximum, t, load(writer, from[0], at)));
    } else {
      const Ssa mean = load(writer, from[0], at), count = load(writer, from[2], at);
      const Ssa total = reduced(writer, Combine::sum, t, count);
      const Ssa weighed = reduced(writer, Combine::sum, t, apply(writer, "mul", t, t, {mean, count}));
      const Ssa zero = writer.constant(t, ScalarValue(0.0));
      const Ssa none = apply(writer, "eq", t, Dtype::b8, {total, zero});
      store(apply(writer, "where", t, t, {none, zero, apply(writer, "div", t, t, {weighed, total})}));
      store(total);
    }
    made.push_back({std::move(n)});
    return stored;
  }

  // All parts of every reduce, stored.
  Parts totals(const Nest& nest, const Axis& chunk, const std::vector<Axis>& points, const Parts& parts,
               const Parts& known, std::vector<loops::Node>& made) {
    Nest n = start(nest, points);
    n.axes.push_back(over(chunk));
    NestWriter writer(n);
    Parts all;
    for (const auto& [v, buffers] : parts) {
      const loops::Instr& reduce = nest.body[v];
      auto store = [&](Ssa value) {
        all[v].push_back(buffer(nest, writer.at(value).dtype, nullptr, points));
        n.stores.push_back({all[v].back(), index(nullptr, points), value, kNone, loops::StoreMode::assign, false});
      };
      const std::vector<Ssa> loaded = load_all(writer, buffers, index(&chunk, points));
      if (known.contains(v)) {
        all[v].push_back(known.at(v)[0]);
        store(second_of(writer, reduce, loaded, load(writer, known.at(v)[0], index(nullptr, points))));
        if (known.at(v).size() > 1) all[v].push_back(known.at(v)[1]);
      } else {
        const Ssa whole = reduced_again(writer, reduce, loaded);
        for (uint32_t p = 0; p < loaded.size(); ++p) store(part(writer, whole, p));
      }
    }
    made.push_back({std::move(n)});
    return all;
  }

  // What the nest stores of its reductions: of partial results, over all chunks, or of those of no chunk, as they are.
  void together(const Nest& nest, const Axis* chunk, const std::vector<Axis>& points, const Parts& parts,
                std::vector<loops::Node>& made) {
    Nest n = start(nest, points);
    if (chunk) n.axes.push_back(over(*chunk));
    NestWriter writer(n);
    const Replacement same(program_.context->syms);
    const std::vector<bool> late = loops::epilogue(nest), asked = asked_for(nest, late);
    std::vector<Ssa> values(nest.body.size(), kNone);
    std::map<Ssa, std::vector<Ssa>> states;
    for (Ssa v = 0; v < nest.body.size(); ++v) {
      const loops::Instr& i = nest.body[v];
      if (!asked[v]) continue;
      if (i.kind == InstrKind::part) {
        values[v] = states.at(i.operands[0])[i.part];
      } else if (i.kind != InstrKind::reduce) {
        values[v] = copy(writer, i, values, same);
      } else {
        states[v] = load_all(writer, parts.at(v), index(chunk, points));
        if (chunk) {
          const Ssa whole = reduced_again(writer, i, states[v]);
          for (uint32_t p = 0; p < states[v].size(); ++p) states[v][p] = part(writer, whole, p);
        }
        values[v] = states[v][0];
      }
    }
    for (const Store& s : nest.stores) {
      if (early(nest, s, late)) continue;
      Store stored = s;
      stored.value = values[s.value];
      if (s.mask != kNone) stored.mask = values[s.mask];
      n.stores.push_back(std::move(stored));
    }
    if (!n.stores.empty()) made.push_back({std::move(n)});
  }

  // The second part of all, of what the chunks have (loaded) and the first part of all.
  static Ssa second_of(NestWriter& writer, const loops::Instr& reduce, const std::vector<Ssa>& loaded, Ssa first) {
    const Dtype t = reduce.dtype;
    const Ssa apart = apply(writer, "sub", t, t, {loaded[0], first});
    if (reduce.combine == Combine::log_sum_exp) {
      const Ssa scaled = apply(writer, "mul", t, t, {loaded[1], apply(writer, "exp", t, t, {apart})});
      const Ssa is_first = apply(writer, "eq", t, Dtype::b8, {loaded[0], first});
      return reduced(writer, Combine::sum, t, apply(writer, "where", t, t, {is_first, loaded[1], scaled}));
    }
    const Ssa between = apply(writer, "mul", t, t, {loaded[2], apply(writer, "mul", t, t, {apart, apart})});
    return reduced(writer, Combine::sum, t, apply(writer, "add", t, t, {loaded[1], between}));
  }

  // What stores behind the reduction need.
  static std::vector<bool> asked_for(const Nest& nest, const std::vector<bool>& late) {
    std::vector<bool> asked(nest.body.size());
    auto ask = [&](Ssa value) {
      if (value != kNone) asked[value] = true;
    };
    auto ask_index = [&](const DimVec& index) {
      for (Ssa at = 0; at < nest.body.size(); ++at)
        if (nest.body[at].kind == InstrKind::position)
          for (Dim d : index)
            if (mentions(d, nest.body[at].symbol)) ask(at);
    };
    for (const Store& s : nest.stores) {
      if (early(nest, s, late)) continue;
      ask(s.value), ask(s.mask), ask_index(s.index);
    }
    for (Ssa at = static_cast<Ssa>(nest.body.size()); at-- > 0;) {
      const loops::Instr& i = nest.body[at];
      if (!asked[at] || i.kind == InstrKind::reduce) continue;
      for (Ssa operand : i.operands) ask(operand);
      ask(i.mask), ask_index(i.index);
    }
    return asked;
  }

  // --- pieces

  Nest start(const Nest& like, const std::vector<Axis>& points) {
    Nest n;
    n.name = like.name;
    n.origin = like.origin;
    n.axes = points;
    return n;
  }

  static Axis over(Axis chunk) {
    chunk.kind = AxisKind::reduction;
    return chunk;
  }

  BufferId buffer(const Nest& nest, Dtype dtype, const Axis* chunk, const std::vector<Axis>& points) {
    loops::Buffer made;
    made.origin = nest.origin;
    made.type.dtype = dtype;
    for (const Axis& a : with_chunk(chunk, points)) made.type.sizes.push_back(a.extent);
    made.type.strides = contiguous_strides(made.type.sizes);
    made.name = "partial" + std::to_string(program_.buffers.size());
    program_.buffers.push_back(std::move(made));
    return static_cast<BufferId>(program_.buffers.size() - 1);
  }

  DimVec index(const Axis* chunk, const std::vector<Axis>& points) const {
    DimVec at;
    for (const Axis& a : with_chunk(chunk, points)) at.push_back(a.symbol);
    return at;
  }

  // As partial results lie: chunk after chunk, or in the order in which rows have them.
  std::vector<Axis> with_chunk(const Axis* chunk, const std::vector<Axis>& points) const {
    std::vector<Axis> made = points;
    if (chunk) made.insert(chunk->symbol == of_row_ ? made.end() : made.begin(), *chunk);
    return made;
  }

  static Ssa copy(NestWriter& writer, loops::Instr i, const std::vector<Ssa>& values, const Replacement& with) {
    for (Ssa& operand : i.operands) operand = values[operand];
    if (i.mask != kNone) i.mask = values[i.mask];
    i.index = with(i.index);
    i.extent = with(i.extent);
    return writer.add(std::move(i));
  }

  Ssa load(NestWriter& writer, BufferId id, const DimVec& at) const {
    loops::Instr i;
    i.kind = InstrKind::load;
    i.dtype = program_.buffers[id].type.dtype;
    i.buffer = id;
    i.index = at;
    return writer.add(std::move(i));
  }

  std::vector<Ssa> load_all(NestWriter& writer, const std::vector<BufferId>& from, const DimVec& at) const {
    std::vector<Ssa> made;
    for (BufferId id : from) made.push_back(load(writer, id, at));
    return made;
  }

  // The same reduction, of its own states.
  static Ssa reduced_again(NestWriter& writer, loops::Instr reduce, const std::vector<Ssa>& states) {
    reduce.operands.clear();
    for (Ssa s : states) reduce.operands.push_back(s);
    return writer.add(std::move(reduce));
  }

  static Ssa part(NestWriter& writer, Ssa of, uint32_t number) {
    if (number == 0) return of;
    const loops::Instr whole = writer.at(of);
    loops::Instr i;
    i.kind = InstrKind::part;
    i.dtype = loops::part_dtype(whole.combine, whole.dtype, number);
    i.operands = {of};
    i.part = number;
    return writer.add(std::move(i));
  }

  static Ssa reduced(NestWriter& writer, Combine combine, Dtype dtype, Ssa value) {
    loops::Instr i;
    i.kind = InstrKind::reduce;
    i.dtype = dtype;
    i.combine = combine;
    i.operands = {value};
    return writer.add(std::move(i));
  }

  static Ssa apply(NestWriter& writer, std::string_view row, Dtype compute, Dtype result,
                   std::initializer_list<Ssa> operands) {
    loops::Instr i;
    i.kind = InstrKind::scalar;
    i.row = find_scalar(row);
    i.compute = compute;
    i.dtype = result;
    for (Ssa operand : operands) i.operands.push_back(operand);
    return writer.add(std::move(i));
  }

  Program& program_;
  const Target& target_;
  const std::unordered_set<const Nest*> walked_again_;
  Dim chunk_ = 0, inside_ = 0, of_row_ = 0;  // of every nest, so that nests over the same chunks look alike
  std::array<Dim, 4> joined_{0, 0, 0, 0};    // as these, from the innermost on
};

}  // namespace

void split_reductions(Program& program, const Target& target) { Splitter(program, target).block(program.body); }

}  // namespace lenz::schedule
