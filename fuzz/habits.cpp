#include "fuzz/habits.h"

#include <algorithm>
#include <numeric>

#include "compiler/base/hash.h"
#include "compiler/scalar/scalar.h"

namespace lenz::fuzz {

std::string_view name(Family family) {
  constexpr std::string_view names[] = {"elementwise", "view",     "movement", "reduction", "scan", "contraction",
                                        "indexing",    "creation", "random",   "list",      "other"};
  return names[static_cast<size_t>(family)];
}

Family family_of(const OpDef& op) {
  const bool lists = std::ranges::any_of(
      op.schema.params, [](const Param& p) { return p.type.list && p.type.kind == ParamKind::tensor; });
  if (op.has(Trait::random)) return Family::random;
  if (op.each || (lists && !op.has(Trait::movement) && !op.has(Trait::indexing))) return Family::list;
  if (op.has(Trait::creation)) return Family::creation;
  if (op.has(Trait::view) || op.has(Trait::maybe_view)) return Family::view;
  if (op.has(Trait::contraction)) return Family::contraction;
  if (op.has(Trait::scan)) return Family::scan;
  if (op.has(Trait::indexing)) return Family::indexing;
  if (op.has(Trait::elementwise)) return Family::elementwise;
  if (op.has(Trait::reduction)) return Family::reduction;
  if (op.has(Trait::movement)) return Family::movement;
  return Family::other;
}

namespace {
bool can_be_called(const OpDef& op) {
  return op.generate && op.infer && !op.has(Trait::nondeterministic) && !op.has(Trait::effect);
}

constexpr std::string_view kSort = "aten.sort(";  // op name: what definitions that put elements in order are made of

// A quotient by zero: whoever computes it where nobody asks for it raises where nobody should.
bool raises_at_integers(const OpDef& op) {
  const ScalarRow* row = find_scalar(op.scalar);
  if (row == nullptr || row->arity != 2 || !row->dtypes.has(Dtype::i64)) return false;
  try {
    const ScalarValue operands[] = {ScalarValue(int64_t{1}), ScalarValue(int64_t{0})};
    evaluate(*row, Dtype::i64, operands);
    return false;
  } catch (const UserError&) {
    return true;
  }
}

bool sorts(const OpDef& op) {
  return op.lowering.body.find("sort(") != std::string_view::npos || op.decompose.find(kSort) != std::string_view::npos;
}
}  // namespace

bool Pool::takes(const OpDef& op) {
  // What is lazily conjugated is more than its type: who reads it is drawn apart.
  return can_be_called(op) && !op.has(Trait::opaque_view);
}

Pool::Pool(const OpTable& table) {
  for (const auto& row : table.rows()) {
    const OpDef& op = *row;
    if (can_be_called(op) && op.has(Trait::opaque_view) && op.variant == VariantKind::functional) lazy.push_back(&op);
    if (!takes(op)) continue;
    auto& pools = op.schema.mutates() || op.variant != VariantKind::functional ? writing : pure;
    pools[static_cast<size_t>(family_of(op))].push_back(&op);
    if (&pools == &pure && sorts(op)) sorting.push_back(&op);
    if (&pools == &pure && singles_out(op)) singling.push_back(&op);
    if (&pools == &pure && raises_at_integers(op)) raising.push_back(&op);
    // Of lazy ones eager refuses to show the bits as another dtype.
    const bool bits =
        std::ranges::any_of(op.schema.params, [](const Param& p) { return p.type.kind == ParamKind::dtype; });
    if (&pools == &pure && op.has(Trait::view) && !op.has(Trait::maybe_view) && !op.schema.returns_list() && !bits)
      looks.push_back(&op);
    if (!op.base || kin.empty() || kin.back()[0] != op.base) kin.emplace_back();
    kin.back().push_back(&op);
  }
  for (size_t i = 0; i < kin.size(); ++i)
    if (family_of(*kin[i][0]) == Family::elementwise) pointwise.push_back(i);
}

uint64_t Turn::of(uint64_t index, uint64_t count) const {
  const uint64_t round = combine(seed, index / count);
  uint64_t step = 1 + round % count;
  while (std::gcd(step, count) != 1) ++step;
  return (mix(round) % count + index % count * step) % count;
}

About about(uint64_t number) { return kAbout[number % std::size(kAbout)]; }

size_t begun_from(About about) {
  switch (about) {
    case About::much:
    case About::rows:
    case About::rules: return 1;
    case About::more_rows: return 2;
    case About::pointwise: return kMostBegunFrom;
  }
  return 1;
}

uint64_t Turn::among_its_like() const {
  const auto here = std::begin(kAbout) + number % std::size(kAbout);
  const auto in_all = static_cast<uint64_t>(std::ranges::count(kAbout, *here));
  return number / std::size(kAbout) * in_all + static_cast<uint64_t>(std::count(std::begin(kAbout), here, *here));
}

namespace {
// Few calls on many elements: what is cut into parts, counted in 32 bits, or shared among threads.
void make_large(Habits& h, const Pool& pool, Chooser& c) {
  constexpr int64_t kMost[] = {1 << 13, 1 << 15, (1 << 20) + (1 << 12)};
  constexpr uint32_t kWeights[] = {40, 8, 1};
  h.large = true;
  h.most_elements = kMost[c.weighted(kWeights)];
  h.ops = 1 + c.below(4);
  h.symbolic = false;
  h.control = h.idioms = 0;
  // Of the others some are quadratic in their sizes.
  for (size_t f = 0; f < kFamilies; ++f) switch (static_cast<Family>(f)) {
      case Family::elementwise:
      case Family::view:
      case Family::movement:
      case Family::reduction:
      case Family::scan: break;
      default: h.families[f] = 0;
    }
  h.favourites.clear();
  if (c.below(4) == 3) h.favourites = pool.sorting;  // long lines are sorted in other ways than short ones
}
}  // namespace

Habits draw_habits(const Pool& pool, const GrowOptions& options, Chooser& c) {
  Habits h;
  // Short graphs find most faults, and quickly; long ones the others.
  switch (c.below(8)) {
    case 0:
    case 1: h.ops = 1 + c.below(3); break;
    case 2:
    case 3:
    case 4: h.ops = 3 + c.below(6); break;
    case 5:
    case 6: h.ops = 6 + c.below(10); break;
    default: h.ops = 12 + c.below(20); break;
  }
  h.ops = std::min(h.ops, options.most);
  constexpr uint32_t kUsual[kFamilies] = {12, 6, 4, 5, 2, 2, 3, 1, 1, 1, 4};
  for (size_t f = 0; f < kFamilies; ++f) {
    constexpr uint32_t kLevels[] = {4, 1, 0, 16};
    h.families[f] = kUsual[f] * c.pick(kLevels);
  }
  if (!options.random) h.families[static_cast<size_t>(Family::random)] = 0;
  h.families[0] += 1;  // there is always something to do
  if (c.below(4) == 3) {
    size_t count = 2 + c.below(6);
    for (size_t i = 0; i < count; ++i) {
      const auto& rows = pool.pure[c.weighted(h.families)];
      if (!rows.empty()) h.favourites.push_back(c.pick(rows));
    }
  }
  if (options.indexing) {
    h.families[static_cast<size_t>(Family::indexing)] += 4 * std::accumulate(h.families.begin(), h.families.end(), 1u);
    h.ops = std::max<size_t>(h.ops, 6);
    h.favourites.clear();
  }
  constexpr uint32_t kShares[] = {0, 2, 5, 10};
  if (options.writes) h.writing = c.pick(kShares);
  h.fresh = c.any_of<uint32_t>({2, 0, 5});
  h.adapt = c.any_of<uint32_t>({10, 4, 15});
  h.old = c.any_of<uint32_t>({4, 1, 12});
  if (options.control) h.control = c.any_of<uint32_t>({0, 0, 1, 3});
  if (options.writes) h.aliases = c.any_of<uint32_t>({0, 0, 4});
  if (options.control) h.effects = c.any_of<uint32_t>({0, 0, 0, 0, 0, 1, 3});
  h.symbolic = options.symbols && c.below(4) == 3;
  h.tame = c.below(3) != 0;
  h.parts = c.any_of<uint32_t>({0, 0, 0, 1, 3});
  h.lazy = c.any_of<uint32_t>({0, 0, 1});
  h.hazards = c.any_of<uint32_t>({0, 1, 3});
  h.masked = c.any_of<uint32_t>({0, 0, 1});
  h.edges = c.any_of<uint32_t>({0, 0, 1, 4, 8});
  h.degenerate = c.any_of<uint32_t>({2, 2, 5, 16});
  h.constants = c.any_of<uint32_t>({0, 0, 2, 12, 16});  // 16: what folds constants finds all that it asks for
  h.numbers = c.any_of<uint32_t>({0, 0, 8});
  h.repeats = c.any_of<uint32_t>({0, 0, 1, 4});
  constexpr int64_t kMostElements[] = {256, 1024, 8192};
  constexpr uint32_t kShare[] = {24, 7, 1};  // each kind of them costs about as much as another
  h.most_elements = kMostElements[c.weighted(kShare)];
  h.idioms = c.any_of<uint32_t>({0, 0, 2, 8});
  const uint64_t begins = options.turn ? options.turn->number : c.below(kCorpusEvery);
  if (options.corpus && begins % kCorpusEvery == kCorpusEvery - 1) {
    h.corpus = true;
    h.ops = c.below(5);
  }
  h.parameters = c.below(8) == 7;
  if (options.turn) h.about = about(options.turn->number);
  if (h.about != About::much) {
    h.ops = c.below(2);
    if (h.about == About::pointwise) {
      h.ops = h.constants = 0;
      h.parameters = false;
      h.common = {c.between(1, 2), c.any_of<int64_t>({24, 17, 31, 33})};  // many elements meet many others
    }
  } else if (options.large && !h.corpus && c.below(15) == 14) {
    make_large(h, pool, c);
  }
  switch (c.below(6)) {
    case 1: h.dtypes = DtypeSet::of(Dtype::f32); break;
    case 2: h.dtypes = DtypeSet::of(Dtype::f32, Dtype::bf16, Dtype::f16); break;
    case 3: h.dtypes = DtypeSet::of(Dtype::f32, Dtype::i64, Dtype::b8); break;
    case 4: h.dtypes = dtypes::integers | dtypes::boolean; break;
    case 5: h.dtypes = dtypes::wide_floats | dtypes::complexes; break;
    default: break;
  }
  return h;
}

}  // namespace lenz::fuzz
