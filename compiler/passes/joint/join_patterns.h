// Joining tensors: what puts a list of them together along a dim.
// Thread-safety: constant.
#pragma once

#include <string_view>

#include "compiler/graph/pattern.h"

namespace lenz {

const RuleSet& join_patterns();  // cat and stack; attributes: the list, the dim. None is ever applied as a rewrite

struct JoinForms {
  std::string_view slice, copy, cat;
};
const JoinForms& join_forms();

}  // namespace lenz
