#include "compiler/driver/pipeline.h"

#include "compiler/base/suggest.h"
#include "compiler/passes/algebraic_patterns.h"
#include "compiler/passes/joint/attention_patterns.h"
#include "compiler/passes/joint/idiom_patterns.h"
#include "compiler/passes/joint/join_patterns.h"
#include "compiler/passes/joint/source_patterns.h"
#include "compiler/passes/noop_patterns.h"
#include "compiler/passes/postgrad/batch_norm_patterns.h"
#include "compiler/passes/postgrad/convolution_patterns.h"
#include "compiler/passes/postgrad/vector_patterns.h"

// One line a pass, in the order in which they run: its stage, its name, which is its function and its file in
// compiler/passes, and why it stands here. What may round otherwise stands behind what may not: that is compared bit by
// bit.
#define LENZ_PIPELINE(PASS)                                                                                          \
  PASS(pregrad, dead_code, "first, so that nothing else looks at what nobody needs")                                 \
  PASS(pregrad, constant_folding, "sizes become numbers before types and arguments are compared")                    \
  PASS(pregrad, canonicalise_arguments, "one spelling for each call: patterns and common subexpressions rely on it") \
  PASS(pregrad, noop_removal, "copies hide that two calls have the same operand")                                    \
  PASS(pregrad, pointless_views, "chains of views hide it too")                                                      \
  PASS(pregrad, algebraic_simplification, "sees through the copies and views that are gone by now")                  \
  PASS(pregrad, common_subexpressions, "when everything has one spelling, equal values are equal calls")             \
  PASS(pregrad, dead_code, "what the rewrites left behind")                                                          \
  PASS(functional, functionalise, "from here on there are values alone: no write stands in a pass's way")            \
  PASS(joint, uniform_values, "tensors of one number are numbers, which the passes below can read")                  \
  PASS(joint, joined_parts, "lists taken apart and joined again hide what is one tensor")                            \
  PASS(joint, known_idioms, "rules of a few nodes, while those are written as their users write them")               \
  PASS(joint, operand_sources, "copies and expansions that only calls looked at which do not need them")             \
  PASS(joint, dead_code, "what those left behind: patterns below ask that nobody else uses a value")                 \
  PASS(joint, attention, "behind the clean-up, so that it sees the steps alone; the gradient of one op is one op")   \
  PASS(joint, product_operands, "copies that only products look at; behind attention, which sees through them")      \
  PASS(postgrad, batch_norm_folding, "only where no gradient of the statistics is taken any more")                   \
  PASS(postgrad, pointless_views, "views that the two above made")                                                   \
  PASS(postgrad, common_subexpressions, "masks and folded weights that several of them made")                        \
  PASS(postgrad, subgraph_arguments, "what sub-graphs need is known by now")                                         \
  PASS(postgrad, dead_code, "what they left behind, and what was made for sub-graphs alone")                         \
  PASS(core, decompose_to_core, "what patterns had to recognise is recognised: loops are made of few ops")           \
  PASS(core, convolution_products, "of one spelling for every kind; what loops are made of has products")            \
  PASS(core, vector_products, "of definitions and of convolutions of one pixel; of which it makes sums")             \
  PASS(core, channels_last, "of convolutions that are none of those products")                                       \
  PASS(core, common_subexpressions, "definitions compute some things once for each of their results")                \
  PASS(core, partial_extremes, "of one spelling for every extreme")                                                  \
  PASS(core, dead_code, "what definitions compute and nobody asks for")                                              \
  PASS(core, local_reordering, "last: the order of what remains")                                                    \
  PASS(core, peak_memory, "behind it, as it keeps that order where no memory is saved")

namespace lenz {

#define LENZ_DECLARE(stage, name, reason) Pass name();
LENZ_PIPELINE(LENZ_DECLARE)
#undef LENZ_DECLARE

std::span<const PipelineLine> pipeline() {
#define LENZ_LINE(stage, name, reason) {name(), reason, Stage::stage},
  static const PipelineLine lines[] = {LENZ_PIPELINE(LENZ_LINE)};
#undef LENZ_LINE
  return lines;
}

std::span<const RuleSet* const> rule_sets() {
  static const AttentionPatterns& attention = attention_patterns();
  static const RuleSet* const all[] = {
      &algebraic_patterns(), &noop_patterns(),        &idiom_patterns(),       &join_patterns(),
      &source_patterns(),    &batch_norm_patterns(),  &convolution_patterns(), &vector_patterns(),
      &attention.equations,  &attention.products,     &attention.late,         &attention.weights,
      &attention.softmax,    &attention.exponentials, &attention.scores,       &attention.shared_heads};
  return all;
}

const PipelineLine* find_pass(std::string_view name) {
  for (const PipelineLine& line : pipeline())
    if (line.pass.name == name) return &line;
  return nullptr;
}

std::vector<PipelineLine> select_passes(std::string_view names) {
  std::vector<PipelineLine> lines;
  const std::string all(names);
  for (bool more = true; more;) {
    size_t comma = std::min(names.find(','), names.size());
    std::string_view name = names.substr(0, comma);
    more = comma < names.size();
    names.remove_prefix(std::min(comma + 1, names.size()));
    if (name.empty())
      throw UserError("a pass without a name in `" + all + "`", {}, "name passes as a,b,c; `lenz passes` lists them");
    const PipelineLine* line = find_pass(name);
    if (!line) {
      std::vector<std::string_view> known;
      for (const PipelineLine& l : pipeline()) known.push_back(l.pass.name);
      std::string_view nearest = nearest_name(name, known);
      throw UserError("no pass `" + std::string(name) + "`", {},
                      nearest.empty() ? "`lenz passes` lists them" : "did you mean `" + std::string(nearest) + "`?");
    }
    lines.push_back(*line);
  }
  return lines;
}

}  // namespace lenz
