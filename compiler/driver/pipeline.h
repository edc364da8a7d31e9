// The order of passes: the only place that knows it is pipeline.cpp.
// Thread-safety: constant data.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "compiler/graph/pattern.h"
#include "compiler/passes/pass.h"

namespace lenz {

std::span<const PipelineLine> pipeline();
std::span<const RuleSet* const> rule_sets();           // that they look for
const PipelineLine* find_pass(std::string_view name);  // null: none
// The lines of these passes, in the order given. UserError for a name that is none, with the nearest one.
std::vector<PipelineLine> select_passes(std::string_view comma_separated_names);

}  // namespace lenz
