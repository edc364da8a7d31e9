#include <cstdio>
#include <fstream>

#include "compiler/graph/text.h"
#include "fuzz/decisions/fixed.h"

namespace lenz::fuzz {

namespace {
constexpr size_t kMostShown = 20;
constexpr std::string_view kHead =
    "# What is decided about the things in corpus/ and graphs.txt, and about rows: `ci/decisions --update` writes it.\n"
    "# Names that end in # are digests of texts. Read the difference before you commit it: more of what costs is "
    "worse.\n";

// Of all things together, by name: who reads a difference sees what was gained and lost.
std::string total_of(const std::string& what, int64_t before, int64_t now) {
  return "  " + what + ": " + std::to_string(before) + " -> " + std::to_string(now);
}
}  // namespace

ExitCode check_decisions(const std::string& file, bool update) {
  const Baseline known = parse_baseline(read_text(file, size_t{1} << 26));
  Baseline now;
  for (const Fixed& fixed : fixed_things()) now[fixed.name] = fixed.facts();
  size_t differ = 0, fresh = 0;
  Facts before_all, now_all;
  for (const Fixed& fixed : fixed_things()) {
    const auto at = known.find(fixed.name);
    if (at == known.end()) {
      ++fresh;
      continue;
    }
    const Drift found = drift(fixed, at->second, now[fixed.name]);
    for (const auto& [what, value] : at->second)
      if (!what.ends_with('#')) before_all[what] += value;
    for (const auto& [what, value] : now[fixed.name])
      if (!what.ends_with('#')) now_all[what] += value;
    if (found.stage.empty()) continue;
    if (++differ <= kMostShown)
      std::printf("%s | %s | %s\n", found.stage.c_str(), found.symptom.c_str(), found.text.c_str());
  }
  size_t gone = 0;
  for (const auto& [name, facts] : known) gone += !now.contains(name);
  before_all.insert(now_all.begin(), now_all.end());
  for (const auto& [what, value] : now_all) before_all.try_emplace(what, 0);
  for (const auto& [what, value] : before_all)
    if (differ > 0 && value != now_all[what])
      std::printf("%s\n", total_of("all together, " + what, value, now_all[what]).c_str());
  std::printf("decisions: of %zu things %zu are not as in the baseline, %zu are not in it, %zu of it are gone\n",
              now.size(), differ, fresh, gone);
  if (!update) return differ + fresh + gone == 0 ? ExitCode::fine : ExitCode::wrong;
  std::ofstream out(file);
  out << kHead;
  for (const auto& [name, facts] : now) out << line_of(name, facts) << "\n";
  if (!out.flush()) throw UserError("can't write it", file);
  return ExitCode::fine;
}

ExitCode decide_about(std::istream& graphs) {
  std::string name, text, line;
  auto decide = [&] {
    if (name.empty()) return;
    std::printf("%s\n", line_of(name, Fixed{Fixed::graph, name, text}.facts()).c_str());
    std::fflush(stdout);
  };
  while (std::getline(graphs, line)) {
    if (!line.starts_with(kBetweenGraphs)) {
      text += line + "\n";
      continue;
    }
    decide();
    name = line.substr(kBetweenGraphs.size());
    text.clear();
  }
  decide();
  return ExitCode::fine;
}

}  // namespace lenz::fuzz
