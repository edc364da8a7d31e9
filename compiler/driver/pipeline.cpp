#include "compiler/driver/pipeline.h"

#include "compiler/base/suggest.h"

// One line a pass, in the order in which they run: its name, which is its function and its file in compiler/passes, and
// why it stands here.
#define LENZ_PIPELINE(PASS)                                                                                 \
  PASS(dead_code, "first, so that nothing else looks at what nobody needs")                                 \
  PASS(constant_folding, "sizes become numbers before types and arguments are compared")                    \
  PASS(canonicalise_arguments, "one spelling for each call: patterns and common subexpressions rely on it") \
  PASS(noop_removal, "copies hide that two calls have the same operand")                                    \
  PASS(pointless_views, "chains of views hide it too")                                                      \
  PASS(algebraic_simplification, "sees through the copies and views that are gone by now")                  \
  PASS(common_subexpressions, "when everything has one spelling, equal values are equal calls")             \
  PASS(dead_code, "what the rewrites left behind")                                                          \
  PASS(functionalise, "from here on there are values alone: no write stands in a pass's way")               \
  PASS(decompose_to_core, "what patterns had to recognise is recognised: loops are made of few ops")        \
  PASS(dead_code, "what definitions compute and nobody asks for")                                           \
  PASS(local_reordering, "last: the order of what remains")

namespace lenz {

#define LENZ_DECLARE(name, reason) Pass name();
LENZ_PIPELINE(LENZ_DECLARE)
#undef LENZ_DECLARE

std::span<const PipelineLine> pipeline() {
#define LENZ_LINE(name, reason) {name(), reason},
  static const PipelineLine lines[] = {LENZ_PIPELINE(LENZ_LINE)};
#undef LENZ_LINE
  return lines;
}

const PipelineLine* find_pass(std::string_view name) {
  for (const PipelineLine& line : pipeline())
    if (line.pass.name == name) return &line;
  return nullptr;
}

std::vector<PipelineLine> select_passes(std::string_view names) {
  std::vector<PipelineLine> lines;
  while (!names.empty()) {
    size_t comma = std::min(names.find(','), names.size());
    std::string_view name = names.substr(0, comma);
    names.remove_prefix(std::min(comma + 1, names.size()));
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
