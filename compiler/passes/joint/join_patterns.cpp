#include "compiler/passes/joint/join_patterns.h"

#include "compiler/ops/op_table.h"

namespace lenz {

namespace {
constexpr std::string_view kRules = R"(
  # Along a dim that the parts have.
  rule cat {
    %r = aten.cat($parts, $dim)
    replace %r { %n = aten.cat($parts, $dim) return %n }
  }
  # Along one of its own.
  rule stack {
    %r = aten.stack($parts, $dim)
    replace %r { %n = aten.stack($parts, $dim) return %n }
  }
  # A slice of a tensor that is another's.
  rule written {
    %r = aten.slice_scatter(%x, %part, $dim, $start, $end, $step)
    replace %r { %n = aten.slice_scatter(%x, %part, $dim, $start, $end, $step) return %n }
  }
)";
}  // namespace

const RuleSet& join_patterns() {
  static const RuleSet rules = RuleSet::parse(kRules, op_table(), "join_patterns");
  return rules;
}

const JoinForms& join_forms() {
  static const JoinForms forms{.slice = "aten.slice.Tensor", .copy = "aten.clone", .cat = "aten.cat"};
  return forms;
}

}  // namespace lenz
