#include "compiler/passes/noop_patterns.h"

#include "compiler/ops/op_table.h"

namespace lenz {

namespace {
constexpr std::string_view kRules = R"(
  # Nothing is added on any side.
  rule pad_nothing {
    %r = aten.constant_pad_nd(%x, $pad, _)
    where all_equal($pad, 0)
    replace %r with %x
  }
  # A part as large as the whole is the whole.
  rule scatter_over_all {
    %r = aten.slice_scatter(_, %src, ...)
    where same_type(%r, %src)
    replace %r with %src
  }
  # A copy of src alone: where nothing is left of the target but its type.
  rule copy_over_all {
    %r = aten.copy(_, %src, ...)
    where same_type(%r, %src)
    replace %r with %src
  }
  # An element of a list that is spelled out.
  rule element_of_one {
    %r = lenz.getitem([%x], _)
    replace %r with %x
  }
)";
}  // namespace

const RuleSet& noop_patterns() {
  static const RuleSet rules = RuleSet::parse(kRules, op_table(), "noop_patterns");
  return rules;
}

}  // namespace lenz
