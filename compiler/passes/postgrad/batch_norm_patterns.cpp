#include "compiler/passes/postgrad/batch_norm_patterns.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "compiler/graph/alias.h"
#include "compiler/graph/float_bits.h"
#include "compiler/graph/number_fits.h"
#include "compiler/graph/pattern_functions.h"
#include "compiler/ops/op_table.h"

namespace lenz {

namespace {
// (w x + b - mean) * s + offset, with s = scale / sqrt(var + eps) a number for each output channel, is
// (s w) x + ((b - mean) * s + offset). What stands left of x is made of constants alone. Not of narrow floats: each
// weight would be rounded to them once more, which sums that cancel show, where a norm in f32 rounds the sum alone.
#define LENZ_NORMALISED(bias, scale, offset)                                            \
  "either { %r = aten.batch_norm(%c, " scale ", " offset                                \
  ", %mean, %var, false, _, $eps, _) } "                                                \
  "or { %r, _, _ = aten.native_batch_norm(%c, " scale ", " offset                       \
  ", %mean, %var, false, _, $eps) } "                                                   \
  "where foldable(%w, " bias ", %mean, %var, $eps, " scale ", " offset                  \
  ") "                                                                                  \
  "where dtype(%w) == dtype(%mean), dtype(%w) == dtype(%var), dtype(%w) == dtype(%r), " \
  "not dtype(%w) in [f16, bf16] "

#define LENZ_FACTOR "%v = aten.add(%var, $eps) %d = aten.rsqrt(%v) "

#define LENZ_FOLDED(of, factor, offset) \
  factor "%column = aten.reshape(" of   \
         ", column(%w)) "               \
         "%folded = aten.mul(%w, %column) " offset "%n = ?f(%x, %folded, %shift, ...) return %n } } "

#define LENZ_AFFINE "%s = aten.mul(%d, %scale) "
// The norm's channels are dim 1: of a convolution only if it is of a batch; of a linear map, whose channels are its
// last dim, only if it is of rows, and has channels: a weight that is a vector has one that the result leaves out.
#define LENZ_CONVOLUTION "where ?f in [aten.conv1d, aten.conv2d, aten.conv3d], rank(%c) == rank(%w) "
#define LENZ_LINEAR "where ?f in [aten.linear], rank(%c) == 2, rank(%w) == 2 "

#define LENZ_RULES(name, which) \
  "rule " name " { %c = ?f(%x, %w, %b, ...) " which LENZ_NORMALISED("%b", "%scale", "%offset")                   \
      "replace %r { "                                                                                            \
      LENZ_FOLDED("%s", LENZ_FACTOR LENZ_AFFINE,                                                                 \
                  "%m = aten.sub(%b, %mean) %ms = aten.mul(%m, %s) %shift = aten.add(%ms, %offset) ")            \
  "rule " name "_without_bias { %c = ?f(%x, %w, $b, ...) " which LENZ_NORMALISED("$b", "%scale", "%offset")      \
      "where is_none($b) replace %r { "                                                                          \
      LENZ_FOLDED("%s", LENZ_FACTOR LENZ_AFFINE, "%ms = aten.mul(%mean, %s) %shift = aten.sub(%offset, %ms) ")   \
  "rule " name "_plain { %c = ?f(%x, %w, %b, ...) " which LENZ_NORMALISED("%b", "$scale", "$offset")             \
      "where is_none($scale), is_none($offset) replace %r { "                                                    \
      LENZ_FOLDED("%d", LENZ_FACTOR, "%m = aten.sub(%b, %mean) %shift = aten.mul(%m, %d) ")                      \
  "rule " name "_plain_without_bias { %c = ?f(%x, %w, $b, ...) " which LENZ_NORMALISED("$b", "$scale", "$offset") \
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

// The least and the greatest element of a constant, and how near they come to zero. Nothing: it is none, somebody may
// write to it, its bytes are not at hand, it has no elements, or one that is not finite.
struct Extremes {
  double least = HUGE_VAL, greatest = -HUGE_VAL;
  double nearest = HUGE_VAL, nearest_but_zero = HUGE_VAL;
  double size() const { return std::max(-least, greatest); }
};
std::optional<Extremes> extremes(const Graph& graph, AliasClasses& aliases, const Arg& a) {
  const NodeId producer = a.is_value() ? graph.value(a.value()).producer : kNone;
  if (producer == kNone || graph.node(producer).arg_count != 1 || aliases.is_written(a.value())) return std::nullopt;
  const Arg& literal = graph.node(producer).args[0];
  if (literal.kind != ArgKind::data || !literal.data->bytes || !is_floating(literal.data->type.dtype))
    return std::nullopt;
  const Dtype dtype = literal.data->type.dtype;
  const std::span<const std::byte> bytes = *literal.data->bytes;
  Extremes seen;
  for (size_t at = 0; at < bytes.size(); at += item_size(dtype)) {
    uint64_t bits = 0;
    std::memcpy(&bits, bytes.data() + at, item_size(dtype));
    const double element = float_value(dtype, bits);
    if (!std::isfinite(element)) return std::nullopt;
    seen.least = std::min(seen.least, element);
    seen.greatest = std::max(seen.greatest, element);
    seen.nearest = std::min(seen.nearest, std::abs(element));
    if (element != 0) seen.nearest_but_zero = std::min(seen.nearest_but_zero, std::abs(element));
  }
  return bytes.empty() ? std::nullopt : std::optional(seen);
}

// Whether weights, bias, mean, variance, eps, scale and offset (some of them none) are constants of which nothing that
// is folded is infinite or NaN: an infinite factor times a weight of zero is NaN, where eager has it after the sum.
// Initialisers say nothing of that, for callers hand over what they like.
std::optional<Arg> foldable(const Graph& graph, std::span<const Arg> args) {
  constexpr size_t kWeight = 0, kBias = 1, kMean = 2, kVar = 3, kEps = 4, kScale = 5, kOffset = 6;
  const std::optional<double> eps = args.size() == 7 ? number_of(args[kEps]) : std::nullopt;
  if (!eps) return std::nullopt;
  AliasClasses aliases(graph);
  Extremes known[7];
  for (size_t i : {kWeight, kBias, kMean, kVar, kScale, kOffset}) {
    known[i].least = known[i].greatest = known[i].nearest = known[i].nearest_but_zero = i == kScale ? 1 : 0;
    if (args[i].is_none()) continue;
    const std::optional<Extremes> found = extremes(graph, aliases, args[i]);
    if (!found) return Arg::of_bool(false);
    known[i] = *found;
  }
  if (known[kVar].least < 0 || *eps < 0) return Arg::of_bool(false);  // what cancels may round to 0
  const double spread = known[kVar].least + *eps;
  const Dtype dtype = graph.type(args[kWeight].value()).dtype;
  const double factor = std::max(1.0, known[kScale].size()) / std::sqrt(std::min(1.0, spread));
  const double most = factor * (known[kWeight].size() + known[kBias].size() + known[kMean].size() + 1) +
                      known[kOffset].size() + known[kVar].size() + std::abs(*eps);
  // What a product loses below the normal numbers is nothing beside an offset; the sum has none of it to lose.
  constexpr double kNothing = 0x1p-40;
  const double folded =
      known[kWeight].nearest_but_zero * known[kScale].nearest_but_zero / std::sqrt(known[kVar].greatest + *eps);
  const bool keeps = folded >= smallest_normal(dtype) || known[kOffset].nearest * kNothing >= smallest_normal(dtype);
  return Arg::of_bool(keeps && spread >= smallest_normal(dtype) && most < finite_range(dtype).high / 2);
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

bool may_be_folded(const OpDef& op, std::span<const Arg> args) {
  static constexpr std::string_view kNames[] = {"aten.batch_norm",          // op name: what the rules above look for
                                                "aten.native_batch_norm"};  // op name: as above
  if (std::ranges::find(kNames, op.full_name) == std::end(kNames)) return false;
  const Arg& training = args[static_cast<size_t>(op.schema.find("training"))];
  return training.kind == ArgKind::boolean && training.i == 0;
}

const RuleSet& batch_norm_patterns() {
  constexpr NamedFunction functions[] = {{"foldable", foldable}, {"column", column}};
  static const RuleSet rules = RuleSet::parse(kRules, op_table(), "batch_norm_patterns", functions);
  return rules;
}

}  // namespace lenz
