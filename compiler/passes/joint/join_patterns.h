// Joining tensors: what puts a list of them together along a dim, or one in another's place.
// Thread-safety: constant.
#pragma once

#include <string_view>

#include "compiler/graph/pattern.h"

namespace lenz {

// None is ever applied as a rewrite. cat and stack, attributes: the list, the dim; written, with those of
// slice_scatter.
const RuleSet& join_patterns();

struct JoinForms {
  std::string_view slice, copy, cat;
};
const JoinForms& join_forms();

}  // namespace lenz
