// Graphs of the corpus with other dtypes, sizes, numbers and operands, as beginnings: what was hard once, is near
// there. Thread-safety: pure, given one chooser.
#pragma once

#include <memory>

#include "compiler/base/chooser.h"
#include "compiler/graph/graph.h"
#include "fuzz/habits.h"
#include "fuzz/named_text.h"

namespace lenz::fuzz {

// All of them, as they are written.
std::span<const NamedText> corpus_texts();

// Null: this time a rule refuses what it would be. Its inputs have initialisers, but for those of integers. `turn`: it
// is the graph whose turn it is; else any.
std::unique_ptr<Graph> graph_from_corpus(Chooser& choose, const std::optional<Turn>& turn = {});

}  // namespace lenz::fuzz
