#include "compiler/ops/make/contraction.h"

namespace lenz::make {

namespace {
constexpr char kMore = '.';  // stands for "..."
using Labels = std::vector<char>;

std::string written(const Labels& labels) {
  std::string text;
  for (char l : labels) text += l == kMore ? std::string("...") : std::string(1, l);
  return text;
}

// Labels of the operands of an equation: what stands before its arrow.
std::vector<Labels> operands_of(std::string_view equation) {
  std::vector<Labels> all(1);
  for (size_t i = 0; i < equation.size() && equation[i] != '-'; ++i) {
    if (equation[i] == ',') all.emplace_back();
    if (equation[i] == kMore) i += 2;
    if (equation[i] != ',' && equation[i] != ' ') all.back().push_back(equation[i]);
  }
  return all;
}

// An equation over a few letters; now and then with a letter twice (a diagonal) or "...".
std::string an_equation(Chooser& c, size_t operands) {
  constexpr std::string_view kLetters = "ijkXz";
  bool open = c.chance(1, 4);
  std::string equation;
  Labels seen;
  auto has = [](const Labels& labels, char l) { return std::ranges::find(labels, l) != labels.end(); };
  auto put = [&](Labels& labels, char l) {
    labels.insert(labels.begin() + static_cast<std::ptrdiff_t>(c.below(labels.size() + 1)), l);
  };
  for (size_t k = 0; k < operands; ++k) {
    Labels labels;
    for (uint64_t i = c.below(4); i-- > 0;) {
      char l = kLetters[c.below(kLetters.size())];
      if (has(labels, l) && !c.chance(1, 4)) continue;
      labels.push_back(l);
      if (!has(seen, l)) seen.push_back(l);
    }
    if (open) put(labels, kMore);
    equation += (k ? "," : "") + written(labels);
  }
  if (!c.chance(3, 4)) return equation;
  Labels kept;
  for (char l : seen)
    if (c.flip()) put(kept, l);
  if (open && c.chance(3, 4)) put(kept, kMore);
  return equation + (c.flip() ? " -> " : "->") + written(kept);
}

constexpr std::string_view kWellKnown[] = {
    "ij,kj->ik",         "ijk,ik->j", "aij,jk->aik", "aij,ajk->aik", "ij,Ab->ijAb",
    "...ik, ...j -> ij", "iji->j",    "i,j->ij",     "i...->...",    "ij->i",
};
}  // namespace

// Up to three tensors over letters of small sizes, where a size may be 1 in one of them; and often an order in which to
// contract them.
void einsum(CallMaker& m) {
  Chooser& c = m.choose();
  Dtype dtype = m.a_dtype(m.op().dtypes);
  // Sums of narrow integers are i64, which eager then refuses to multiply with the others.
  bool alone = is_integral(dtype, true) && dtype != Dtype::i64;
  std::string equation;
  if (!alone && c.chance(1, 4)) {
    equation = kWellKnown[c.below(std::size(kWellKnown))];
  } else {
    equation = an_equation(c, alone ? 1 : static_cast<size_t>(c.any_of<int64_t>({2, 1, 3})));
  }
  std::vector<Labels> operands = operands_of(equation);
  std::array<int64_t, 128> sizes{};
  for (int64_t& s : sizes) s = -1;
  Sizes more{c.between(1, 3), c.between(0, 2)};
  SmallVec<ValueId, 4> tensors;
  for (const Labels& labels : operands) {
    Sizes shape;
    for (char l : labels) {
      if (l == kMore) {
        for (size_t d = c.below(3); d < more.size(); ++d) shape.push_back(c.chance(1, 4) ? 1 : more[d]);
        continue;
      }
      int64_t& size = sizes[static_cast<size_t>(l)];
      if (size < 0) size = c.chance(1, 12) ? 0 : c.between(1, 4);
      bool twice = std::ranges::count(labels, l) > 1;  // a diagonal's dims are of one size
      shape.push_back(!twice && c.chance(1, 8) ? 1 : size);
    }
    tensors.push_back(m.tensor({.dtype = dtype, .sizes = shape}));
  }
  m.set("equation", m.context().string(equation));
  m.set_tensors("tensors", tensors);
  if (!c.chance(1, 4)) return;
  SmallVec<int64_t, 4> path;
  for (size_t left = operands.size(); left > 1; --left) {
    int64_t first = c.between(0, static_cast<int64_t>(left) - 1), second = c.between(0, static_cast<int64_t>(left) - 2);
    path.push_back(first);
    path.push_back(second >= first ? second + 1 : second);
  }
  if (operands.size() == 1) path.push_back(0);
  m.set_ints("path", path);
}

}  // namespace lenz::make
