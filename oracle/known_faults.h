// What is known of eager's own faults, and of what an op leaves open: lines of values_known.txt and loops_known.txt.
// Thread-safety: pure functions; as the graph's.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/ops/layouts.h"
#include "oracle/binding.h"
#include "oracle/bounds/reference.h"

namespace lenz::oracle {

// Where eager's values are at fault: a line of oracle/values_known.txt.
struct KnownFault {
  std::string row;     // a glob
  std::string dtypes;  // names, or *
  enum When : uint8_t {
    always,
    out_strided,
    any_strided,
    any_restrided,
    self_overlaps,
    drops,
    rounds,
    single,
    unsorted,
    one_wide,
    misfit,
    out_restrided,
    by_products,
    infinite,
    poles,
    strided_rounds,
    steps,
    skips,
    out_is_read,
    no_share,
    told_unique,
    coarse,
    accumulates,
    result_strided,
    grouped_ones,
    lone_columns,
    thin,
    negated,
    out_grows,
    averages,
    overflows,
    flushes,
    nears_end,
    pairs,
    shifts,
    out_is_scratch
  } when = always;
  std::string why;
};
// Throws UserError for a line that says something else.
std::vector<KnownFault> parse_known_faults(std::string_view text, const std::string& file);

// The reference, with so much more at each element: a part of the tensor's largest, and something whatever that is.
struct Leeway {
  double relative = 0, absolute = 0;
  std::optional<double> open_from = std::nullopt;  // whatever there is where the reference is as large as that
  bool of_operands = false;                        // the largest that is meant may be an ordinary one of an input
  double about_poles = 0;  // of the largest operand it is off by so much, beside poles of the square of a cosecant
  // Instead of all these: a few times what eager itself is off by in that result, where it is out of bounds.
  bool as_eager = false;
};
// Whether what was run on these inputs is within bounds that are loosened so. `eager`: its run on them.
bool within(const Leeway& by, const Graph& graph, Reference reference, std::span<const RunValue> inputs,
            const Execution& eager, const Execution& got);
// Whether each element is within its bounds, or eager's own bit for bit.
bool within_or_same(const Graph& graph, Reference reference, const Execution& eager, const Execution& got);

// Whether a line is about this node, whose leading tensor has that dtype. `within`: whether it is right if given some
// leeway.
bool applies(const KnownFault& known, Dtype dtype, const Graph& graph, NodeId node, const SymValues& sizes,
             const std::function<bool(const Leeway&)>& within);
// The first line that is about any node; null: none. What one fault does to the values behind it no line says: of a
// graph of several nodes `within` is asked for the leeway that eager's own run shows. Without `within` leeway has no
// bound. `rounding`: instead of faults, where eager rounds otherwise.
const KnownFault* known_in(std::span<const KnownFault> known, const Graph& graph, const SymValues& sizes,
                           const std::function<bool(const Leeway&)>& within, bool rounding = false);
// Whether a call of the graph has eager read beyond its operands: whoever runs it may die of that, or not.
bool reads_beyond(const Graph& graph, const SymValues& sizes);
// The lines of oracle/values_known.txt, and of oracle/loops_known.txt.
std::span<const KnownFault> known_faults();
std::span<const KnownFault> known_openings();

// The class of layouts that a tensor belongs to at these sizes.
LayoutClass layout_of(const Type& t, const SymValues& sizes);

}  // namespace lenz::oracle
