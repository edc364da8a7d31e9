#include "compiler/passes/postgrad/batch_norm_patterns.h"

#include "compiler/ops/op_table.h"

namespace lenz {

namespace {
// (w x + b - mean) * s + offset, with s = scale / sqrt(var + eps) a number for each output channel, is
// (s w) x + ((b - mean) * s + offset). What stands left of x is made of parameters alone.
#define LENZ_NORMALISED(scale, offset)                              \
  "either { %r = aten.batch_norm(%c, " scale ", " offset            \
  ", %mean, %var, false, _, $eps, _) } "                            \
  "or { %r, _, _ = aten.native_batch_norm(%c, " scale ", " offset   \
  ", %mean, %var, false, _, $eps) } "                               \
  "where frozen(%w), frozen(%mean), frozen(%var), is_number($eps) " \
  "where dtype(%w) == dtype(%mean), dtype(%w) == dtype(%var), dtype(%w) == dtype(%r) "

#define LENZ_FACTOR "%v = aten.add(%var, $eps) %d = aten.rsqrt(%v) "

#define LENZ_FOLDED(of, factor, offset) \
  factor "%column = aten.reshape(" of   \
         ", column(%w)) "               \
         "%folded = aten.mul(%w, %column) " offset "%n = ?f(%x, %folded, %shift, ...) return %n } } "

#define LENZ_AFFINE "%s = aten.mul(%d, %scale) "
#define LENZ_CONVOLUTION "where ?f in [aten.conv1d, aten.conv2d, aten.conv3d] "
// Of a linear map the channels are dim 1, and so its last, only if it is of rows.
#define LENZ_LINEAR "where ?f in [aten.linear], rank(%c) == 2 "

#define LENZ_RULES(name, which) \
  "rule " name " { %c = ?f(%x, %w, %b, ...) " which LENZ_NORMALISED("%scale", "%offset")                         \
      "where frozen(%b), frozen(%scale), frozen(%offset) replace %r { "                                          \
      LENZ_FOLDED("%s", LENZ_FACTOR LENZ_AFFINE,                                                                 \
                  "%m = aten.sub(%b, %mean) %ms = aten.mul(%m, %s) %shift = aten.add(%ms, %offset) ")            \
  "rule " name "_without_bias { %c = ?f(%x, %w, $b, ...) " which LENZ_NORMALISED("%scale", "%offset")            \
      "where is_none($b), frozen(%scale), frozen(%offset) replace %r { "                                         \
      LENZ_FOLDED("%s", LENZ_FACTOR LENZ_AFFINE, "%ms = aten.mul(%mean, %s) %shift = aten.sub(%offset, %ms) ")   \
  "rule " name "_plain { %c = ?f(%x, %w, %b, ...) " which LENZ_NORMALISED("$scale", "$offset")                   \
      "where frozen(%b), is_none($scale), is_none($offset) replace %r { "                                        \
      LENZ_FOLDED("%d", LENZ_FACTOR, "%m = aten.sub(%b, %mean) %shift = aten.mul(%m, %d) ")                      \
  "rule " name "_plain_without_bias { %c = ?f(%x, %w, $b, ...) " which LENZ_NORMALISED("$scale", "$offset")      \
      "where is_none($b), is_none($scale), is_none($offset) replace %r { "                                       \
      LENZ_FOLDED("%d", LENZ_FACTOR, "%ms = aten.mul(%mean, %d) %shift = aten.neg(%ms) ")

constexpr std::string_view kRules = LENZ_RULES("convolution", LENZ_CONVOLUTION) LENZ_RULES("linear", LENZ_LINEAR);
#undef LENZ_RULES
#undef LENZ_LINEAR
#undef LENZ_CONVOLUTION
#undef LENZ_AFFINE
#undef LENZ_FOLDED
#undef LENZ_FACTOR
#undef LENZ_NORMALISED

// Whether a value is known before the graph runs: a constant, or an input that says how it is initialised, as
// parameters do, and that nobody writes to.
std::optional<Arg> frozen(const Graph& graph, std::span<const Arg> args) {
  if (args.size() != 1 || !args[0].is_value()) return std::nullopt;
  ValueId v = args[0].value();
  const Value& value = graph.value(v);
  if (value.producer != kNone) {
    const Node& node = graph.node(value.producer);
    return Arg::of_bool(node.arg_count == 1 && node.args[0].kind == ArgKind::data);
  }
  const Input& input = graph.inputs()[value.index];
  return Arg::of_bool(input.init.kind != Initialiser::none && !input.mutated);
}

// The sizes of a column that has one number for each of a weight's output channels.
std::optional<Arg> column(const Graph& graph, std::span<const Arg> args) {
  if (args.size() != 1 || !args[0].is_value()) return std::nullopt;
  const Type& weight = graph.type(args[0].value());
  if (!weight.is_tensor() || weight.rank() == 0) return std::nullopt;
  DimVec sizes(weight.rank(), Dim(1));
  sizes[0] = weight.sizes()[0];
  return graph.context().dims(sizes);
}
}  // namespace

const RuleSet& batch_norm_patterns() {
  constexpr NamedFunction functions[] = {{"frozen", frozen}, {"column", column}};
  static const RuleSet rules = RuleSet::parse(kRules, op_table(), "batch_norm_patterns", functions);
  return rules;
}

}  // namespace lenz
