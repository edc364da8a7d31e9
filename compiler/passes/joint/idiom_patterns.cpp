#include "compiler/passes/joint/idiom_patterns.h"

#include <cmath>

#include "compiler/graph/pattern_functions.h"
#include "compiler/ops/op_table.h"

namespace lenz {

namespace {
constexpr std::string_view kRules = R"(
  # x / 2^k and x * 2^-k are one real number, rounded once.
  rule divided_by_power_of_two {
    %r = aten.div(%x, $c)
    where dtype(%x) in floats, has_exact_reciprocal($c)
    replace %r { %n = aten.mul(%x, 1 / $c) return %n }
  }
  # The running sum of a number of integers counts in steps of it, modulo 2^n.
  rule running_count {
    either { %f = aten.full([$n], $c, ...) } or { %f = aten.ones([$n], ...) let $c = 1 }
    %r = aten.cumsum(%f, 0)
    where dtype(%f) in [i64, bool], dtype(%r) == i64
    let $step = counts_as($c, dtype(%f))
    shared %f
    replace %r {
      %a = aten.arange(1, $n + 1, dtype=i64, device=device(%r))
      %m = aten.mul(%a, $step)
      return %m
    }
  }
  # A list of one.
  rule stack_of_one {
    %r = aten.stack([%x], $d)
    replace %r { %n = aten.unsqueeze(%x, $d) return %n }
  }
)";

// Powers of two whose reciprocals every floating dtype of 16 bits and more has.
std::optional<Arg> has_exact_reciprocal(const Graph&, std::span<const Arg> args) {
  auto n = args.size() == 1 ? number_of(args[0]) : std::nullopt;
  if (!n) return std::nullopt;
  int exponent = 0;
  return Arg::of_bool(std::fabs(std::frexp(*n, &exponent)) == 0.5 && std::abs(exponent - 1) <= 14);
}

// What an element that is filled with an integer adds: true counts as 1, and so does whatever fills bools but 0.
std::optional<Arg> counts_as(const Graph&, std::span<const Arg> args) {
  if (args.size() != 2 || args[1].kind != ArgKind::dtype || args[0].symbolic) return std::nullopt;
  if (args[0].kind != ArgKind::integer && args[0].kind != ArgKind::boolean) return std::nullopt;
  const int64_t number = args[0].kind == ArgKind::boolean ? args[0].boolean() : args[0].i;
  return Arg::of_int(args[1].dtype() == Dtype::b8 ? number != 0 : number);
}
}  // namespace

const RuleSet& idiom_patterns() {
  constexpr NamedFunction functions[] = {{"has_exact_reciprocal", has_exact_reciprocal}, {"counts_as", counts_as}};
  static const RuleSet rules = RuleSet::parse(kRules, op_table(), "idiom_patterns", functions);
  return rules;
}

}  // namespace lenz
