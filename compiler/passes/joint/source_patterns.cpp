#include "compiler/passes/joint/source_patterns.h"

#include "compiler/ops/op_table.h"

namespace lenz {

namespace {
constexpr std::string_view kRules = R"(
  # The same elements elsewhere.
  rule copy {
    either { %r = aten.clone(%x, ...) } or { %r = aten.contiguous(%x, ...) } or { %r = lenz.restride(%x, ...) }
    replace %r with %x
  }
  # Broadcasting, which calls of one element each do by themselves.
  rule expansion {
    either { %r = aten.expand(%x, ...) } or { %r = aten.expand_as(%x, _) } or { %r = aten.broadcast_to(%x, _) }
    replace %r with %x
  }
)";
}  // namespace

const RuleSet& source_patterns() {
  static const RuleSet rules = RuleSet::parse(kRules, op_table(), "source_patterns");
  return rules;
}

}  // namespace lenz
