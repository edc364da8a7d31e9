#include "fuzz/coverage.h"

#include "compiler/driver/pipeline.h"

namespace lenz::fuzz {

std::vector<Unreached> unreached(const Pool& pool, const std::set<std::string>& features) {
  std::vector<Unreached> kinds{{"op", 0, {}}, {"pass", 0, {}}, {"rule", 0, {}}};
  // A feature may say more behind the name: of an op its dtype.
  auto look_for = [&](Unreached& kind, std::string_view name) {
    const std::string feature = kind.kind + " " + std::string(name);
    auto at = features.lower_bound(feature);
    ++kind.all;
    if (at == features.end() || (*at != feature && !at->starts_with(feature + " "))) kind.names.emplace_back(name);
  };
  for (const auto& kin : pool.kin) look_for(kinds[0], kin[0]->full_name);
  std::set<std::string_view> passes;
  for (const PipelineLine& line : pipeline()) passes.insert(line.pass.name);
  for (const std::string_view pass : passes) look_for(kinds[1], pass);
  for (const RuleSet* rules : rule_sets())
    for (const Rule& rule : rules->rules()) look_for(kinds[2], rule.name);
  return kinds;
}

}  // namespace lenz::fuzz
