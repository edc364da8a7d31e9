#include "compiler/passes/pass.h"

#include <utility>

namespace lenz {

std::string_view name(Stage stage) {
  constexpr std::string_view names[kStages] = {"pregrad", "functional", "joint", "postgrad", "core"};
  return names[static_cast<size_t>(stage)];
}

bool PassContext::allow(std::string_view what) {
  ++asked;
  bool yes = window.has(asked);
  if (asked_by_all) yes = total_window.has(++*asked_by_all) && yes;
  if (yes) {
    ++allowed_;
    count(what);
  } else if (++denied_ == 1) {
    first_denied_ = {std::string(within_), std::string(what)};
  }
  return yes;
}

void PassContext::run_within(const Pass& pass, Graph& graph) {
  const std::string_view outer = std::exchange(within_, pass.name);
  pass.run(graph, *this);
  within_ = outer;
}

void PassContext::count(std::string_view what, size_t times) {
  auto at = counters_.find(what);
  if (at == counters_.end()) at = counters_.emplace(what, 0).first;
  at->second += times;
}

size_t PassContext::apply(Graph& graph, const RuleSet& rules) {
  RewriteOptions options;
  options.allow = [&](const Rule& rule, const Match&) { return allow(rule.name); };
  RewriteReport report = rewrite(graph, rules, options);
  for (size_t i = 0; i < report.rules.size(); ++i)
    for (size_t r = 1; r < kRefusals; ++r)
      if (report.rules[i].refused[r] && static_cast<Refusal>(r) != Refusal::denied)
        count("refused:" + std::string(name(static_cast<Refusal>(r))), report.rules[i].refused[r]);
  if (report.stop != RewriteReport::fixpoint) incomplete(report.why);
  return report.applied;
}

}  // namespace lenz
