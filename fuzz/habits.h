// What one random graph likes to do, drawn before its first node: graphs that each do a few things often reach deeper
// than graphs that all do a little of everything.
// Thread-safety: values.
#pragma once

#include <array>
#include <iterator>
#include <optional>
#include <vector>

#include "compiler/base/chooser.h"
#include "compiler/graph/op_def.h"

namespace lenz::fuzz {

// What a row is to the generator, by its traits.
enum class Family : uint8_t {
  elementwise,
  view,
  movement,
  reduction,
  scan,
  contraction,
  indexing,
  creation,
  random,
  list,   // over lists of tensors
  other,  // composites: norms, losses, pooling, interpolation
};
inline constexpr size_t kFamilies = 11;
std::string_view name(Family family);
Family family_of(const OpDef& op);

// The rows that graphs grow from: those with a generator and a rule, whose results are the same each time. By family,
// functional ones and those that write; lazy views apart.
struct Pool {
  explicit Pool(const OpTable& table);
  static bool takes(const OpDef& op);
  std::array<std::vector<const OpDef*>, kFamilies> pure, writing;
  std::vector<std::vector<const OpDef*>> kin;  // a row and those derived from it
  std::vector<size_t> pointwise;               // which of these are elementwise
  static bool singles_out(const OpDef& op) { return !op.neutral.empty() || !op.absorbing.empty(); }
  std::vector<const OpDef*> lazy;      // views that are more than their types: conjugates
  std::vector<const OpDef*> looks;     // other views, which never copy
  std::vector<const OpDef*> singling;  // functional rows that say what some number beside an operand makes of it
  std::vector<const OpDef*> sorting;   // functional rows that put elements in order
  std::vector<const OpDef*> raising;   // functional rows that raise at some integers, of two operands
};

// A case of a campaign. Cases begin from one row or rewrite rule after the other, so that a few thousand have met them
// all.
struct Turn {
  uint64_t seed = 0, number = 0;
  // Which of `count` comes as the index-th: each once before any comes again, in an order of the seed's own.
  uint64_t of(uint64_t index, uint64_t count) const;
  uint64_t among_its_like() const;  // how many cases before it are about the same
};

struct GrowOptions {
  size_t most = 24;       // ops
  bool symbols = true;    // some graphs leave sizes open
  bool control = true;    // some hold sub-graphs
  bool writes = true;     // some mutate
  bool random = true;     // some draw
  bool large = true;      // some have many elements
  bool corpus = true;     // some begin with a graph of the corpus
  bool indexing = false;  // all index in several places
  std::optional<Turn> turn;
};

// What a campaign's case is about: a graph that does many things; a row and little besides, which is soon asked
// everything; some of them, which are asked of all but machine code, most of what everything costs; some elementwise
// ones side by side, of which machine code is soon made; a rewrite rule, which passes alone are asked of. Those that
// cost little for what they ask come oftener: a rule in turn takes an eighth of what a row takes, and a row without
// machine code a third. What a case costs goes with its nodes: few of them are soon told apart when it fails, and what
// stands side by side meets in graphs that do many things.
enum class About : uint8_t { much, rows, more_rows, pointwise, rules };
inline constexpr About kAbout[] = {About::rows,  About::rules,     About::much,      About::more_rows, About::rules,
                                   About::much,  About::rows,      About::pointwise, About::rules,     About::much,
                                   About::rules, About::more_rows, About::much};
About about(uint64_t number);
size_t begun_from(About about);              // so many rows, or rules, in turn
inline constexpr size_t kMostBegunFrom = 3;  // of them
inline constexpr uint64_t kCorpusEvery =
    2 * std::size(kAbout);  // of so many cases the last begins with a graph of the corpus

// As what an element of a costly function counts, a sum of many terms, for the interpreter and for the oracle.
inline constexpr int64_t kCostly = 32;

struct Habits {
  size_t ops = 1;
  std::array<uint32_t, kFamilies> families{};  // weights
  std::vector<const OpDef*> favourites;        // ops that this graph is mostly made of; empty: none
  uint32_t writing = 0;                        // of 16 calls, how many write if there is a row that does
  uint32_t fresh = 0;                          // of 16 operands, how many are new inputs though a value would do
  uint32_t adapt = 0;                          // of 16 that nothing fits, how many are made from another value
  uint32_t old = 0;                            // of 16 operands, how many are any value, not a recent one
  uint32_t control = 0, aliases = 0;           // of 16 graphs' steps; of 16 inputs, how many share memory with another
  uint32_t idioms = 0;                         // of 16 steps, how many make what a rewrite rule looks for
  uint32_t parts = 0;                          // of 16 steps, how many take something apart and join it again
  uint32_t lazy = 0;                           // of 16 steps, how many look at something through a lazy view
  uint32_t masked = 0;                         // of 16 steps, how many move what may raise to where some is left out
  uint32_t effects = 0;                        // of 16 steps, how many print or say what must hold
  uint32_t hazards = 0;                        // of 16 steps, how many read and write one memory in several places
  uint32_t edges = 0;                          // of 16 sizes, how many lie where vectors and tiles end
  uint32_t degenerate = 16;                    // of 16 sizes of 0 or 1, how many stay so: little is computed there
  uint32_t numbers = 0;                        // of 16 calls, how many take numbers that the graph computes from sizes
  uint32_t constants = 0;                      // of 16 new inputs, how many are constants of the graph instead
  uint32_t repeats = 0;                        // of 16 steps, how many make a call that was made before once more
  bool parameters = false;                     // new inputs of a row or a rule in turn are constants but for the first
  About about = About::much;
  std::vector<int64_t> common;          // the shape of most new operands; empty: none is
  bool corpus = false;                  // begins with a graph of the corpus, changed
  bool symbolic = false, tame = false;  // tame: large magnitudes are brought back
  int64_t most_elements = 256;          // of a value that is used again
  bool large = false;                   // some dim has as many as that allows
  DtypeSet dtypes;                      // that it prefers; empty: any
};
Habits draw_habits(const Pool& pool, const GrowOptions& options, Chooser& choose);

}  // namespace lenz::fuzz
