#include "fuzz/decisions/fixed.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "compiler/base/hash.h"
#include "compiler/ops/eager_processor.h"
#include "compiler/ops/op_table.h"
#include "fuzz/decisions/texts.h"
#include "fuzz/from_corpus.h"
#include "fuzz/properties/drawn_calls.h"

namespace lenz::fuzz {

namespace {
constexpr uint64_t kDrawnSizes = 512;
constexpr size_t kSmall = 1500;  // characters of a graph that is also asked twice beside itself

void add_drawn(std::vector<Fixed>& all, std::string_view text) {
  for (size_t at = text.find(kBetweenGraphs); at != text.npos;) {
    const size_t line = text.find('\n', at), next = text.find(kBetweenGraphs, line);
    all.push_back({Fixed::graph,
                   "drawn/" + std::string(text.substr(at + kBetweenGraphs.size(), line - at - kBetweenGraphs.size())),
                   text.substr(line + 1, next == text.npos ? next : next - line - 1)});
    at = next;
  }
}
}  // namespace

Facts Fixed::facts() const {
  const InPlaceOfEagersProcessor one_for_all({.computes_in_half = false, .computes_in_bf16 = true});
  if (kind == row) return facts_of(*op);
  if (kind == scalar) return facts_of(*scalar_row);
  if (kind == sizes) return facts_of_sizes(number);
  if (kind == command) return facts_of_command(*said_by);
  if (kind == refusal) return facts_of_refusal(std::string(text));
  if (kind == target) return facts_of(native::whole_target(text));
  if (kind == processor) return text.empty() ? facts_of_processors_words() : facts_of_processor(text);
  try {
    const Case fixed = parse_case(std::string(text.substr(0, text.find("\n# ---- after"))));
    return kind == twice ? facts_of_twice(fixed) : facts_of(fixed);
  } catch (const UserError& error) {
    return {{"words/refused #", digest(error.what())}};
  } catch (const Unsupported& error) {
    return {{"words/unsupported #", digest(error.what())}};
  }
}

const std::vector<Fixed>& fixed_things() {
  static const std::vector<Fixed> all = [] {
    std::vector<Fixed> made;
    for (const NamedText& t : corpus_texts()) made.push_back({Fixed::graph, t.name, t.text});
    for (const NamedText& t : kModelTexts) made.push_back({Fixed::graph, t.name, t.text});
    for (const NamedText& t : kErrorTexts) made.push_back({Fixed::refusal, t.name, t.text});
    add_drawn(made, kDrawnGraphs);
    for (const OpDef* op : rows_that_are_drawn()) made.push_back({Fixed::row, op->full_name, {}, op});
    for (const ScalarRow& r : scalar_table())
      made.push_back({Fixed::scalar, "scalar/" + std::string(r.name), {}, nullptr, &r});
    for (size_t i = 0, graphs = made.size(); i < graphs; ++i)
      if (made[i].kind == Fixed::graph && made[i].text.size() < kSmall && hash_bytes(made[i].name) % 4 == 0)
        made.push_back({Fixed::twice, "twice/" + made[i].name, made[i].text});
    for (uint64_t n = 0; n < kDrawnSizes; ++n)
      made.push_back({.kind = Fixed::sizes, .name = "sizes/" + std::to_string(n), .number = n});
    for (const std::string_view name : {"avx512", "avx2", "aarch64"})  // "generic" is another one on other machines
      made.push_back({Fixed::target, "target/" + std::string(name), name});
    for (const std::string_view name : {"x86-64-v2", "sandybridge", "haswell", "znver1", "knl", "skylake-avx512",
                                        "cascadelake", "cooperlake", "icelake-server", "sapphirerapids", "znver3",
                                        "znver4", "znver5", "alderlake", "sierraforest", "graniterapids", ""})
      made.push_back({Fixed::processor, "processor/" + std::string(name.empty() ? "words" : name), name});
    static const std::vector<FixedCommand> commands = parse_commands(kCommands);
    for (const FixedCommand& c : commands)
      made.push_back({.kind = Fixed::command, .name = c.name, .text = c.text, .said_by = &c});
    std::ranges::sort(made, {}, [](const Fixed& f) { return std::pair(hash_bytes(f.name), f.name); });
    return made;
  }();
  return all;
}

namespace {
// Of kRound cases as many as there are parts; what takes long comes last, so that most are asked before long.
constexpr uint64_t kShortParts = 64, kLongParts = 64, kRound = 65536;

// Long graphs, and those of many open sizes, of which much is to be proved.
bool takes_long(const Fixed& fixed) {
  constexpr size_t kMost = 1500, kOpenSize = 600;  // characters; what an open size counts
  size_t length = fixed.text.size();
  for (size_t at = fixed.text.find(" in "); at != fixed.text.npos; at = fixed.text.find(" in ", at + 1))
    length += kOpenSize;
  return fixed.kind == Fixed::graph && length > kMost;
}

const std::array<std::vector<const Fixed*>, kShortParts + kLongParts>& parts() {
  static const auto all = [] {
    std::array<std::vector<const Fixed*>, kShortParts + kLongParts> made;
    size_t shorts = 0, longs = 0;
    for (const Fixed& fixed : fixed_things())
      made[takes_long(fixed) ? kShortParts + longs++ % kLongParts : shorts++ % kShortParts].push_back(&fixed);
    return made;
  }();
  return all;
}
}  // namespace

std::optional<uint64_t> part_of_decisions(uint64_t number) {
  const uint64_t part = number % kRound;
  return part < parts().size() ? std::optional(part) : std::nullopt;
}

std::vector<const Fixed*> things_of(uint64_t part) { return parts().at(part); }

namespace {
bool is_text(std::string_view fact) { return fact.ends_with('#'); }
int base_of(std::string_view fact) { return is_text(fact) ? 16 : 10; }
// "scheduling/avx512/kernels" is the fact "kernels" of the group "scheduling/avx512".
std::string_view group_of(std::string_view fact) { return fact.substr(0, fact.rfind('/')); }

// The beginning of what is left, up to `stop`, which goes too.
std::string_view next_part(std::string_view& left, std::string_view stop) {
  const size_t end = std::min(left.find(stop), left.size());
  const std::string_view part = left.substr(0, end);
  left.remove_prefix(std::min(end + stop.size(), left.size()));
  return part;
}

UserError unreadable(std::string_view what) {
  return UserError("can't read `" + std::string(what) + "`", "a baseline of decisions",
                   "ci/decisions --update writes it anew");
}
}  // namespace

Baseline parse_baseline(std::string_view text) {
  Baseline made;
  while (!text.empty()) {
    std::string_view line = next_part(text, "\n");
    if (line.empty() || line.starts_with('#')) continue;
    Facts& facts = made[std::string(next_part(line, ": "))];
    while (!line.empty()) {
      std::string_view group = next_part(line, " | ");
      const std::string name(next_part(group, ": "));
      while (!group.empty()) {
        const std::string_view fact = next_part(group, "; ");
        const size_t equals = fact.rfind('=');
        if (equals == fact.npos) throw unreadable(fact);
        const std::string_view what = fact.substr(0, equals), number = fact.substr(equals + 1);
        int64_t value = 0;
        const auto read = std::from_chars(number.begin(), number.end(), value, base_of(what));
        if (number.empty() || read.ptr != number.end()) throw unreadable(fact);
        facts[name + "/" + std::string(what)] = value;
      }
    }
  }
  return made;
}

std::string line_of(const std::string& name, const Facts& facts) {
  std::string line = name + ":";
  std::string_view group;
  for (const auto& [what, value] : facts) {
    const bool first = group != group_of(what);
    if (first) line += (group.empty() ? " " : " | ") + std::string(group_of(what)) + ": ";
    group = group_of(what);
    char number[24];
    const char* end = std::to_chars(number, number + sizeof number, value, base_of(what)).ptr;
    line += (first ? "" : "; ") + what.substr(group.size() + 1) + "=" +
            std::string(number, static_cast<size_t>(end - number));
  }
  return line;
}

const Baseline& baseline() {
  static const Baseline read = parse_baseline(kBaseline);
  return read;
}

namespace {
// More of it is better, or neither.
bool is_gain(std::string_view fact) { return fact.ends_with("axes in lanes"); }
// What less of is better: the others are counts of what a pass did.
bool is_cost(std::string_view fact) {
  constexpr std::string_view kStages[] = {"passes/", "lowering/", "scheduling/", "memory/", "machine code/"};
  return !is_text(fact) && !is_gain(fact) &&
         std::ranges::any_of(kStages, [&](std::string_view stage) { return fact.starts_with(stage); });
}
std::string times(int64_t before, int64_t now) {
  const double ratio = static_cast<double>(now) / static_cast<double>(std::max<int64_t>(before, 1));
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", ratio);
  return text;
}

enum Sort : uint8_t { lost, worse, otherwise, text_alone };

struct Found {
  Sort sort;
  std::string what, words;
};

Found compared(const std::string& what, int64_t before, int64_t now) {
  const std::string numbers = std::to_string(now) + ", " + std::to_string(before) + " in the baseline";
  if (is_text(what)) return {text_alone, what, "another text: " + what};
  if (is_cost(what))
    return {now > before ? worse : otherwise, what,
            what + ": " + times(before, now) + " times the baseline (" + numbers + ")"};
  if (now < before) return {lost, what, what + ": " + numbers};
  return {otherwise, what, what + ": " + numbers};
}
}  // namespace

Drift drift(const Fixed& fixed, const Facts& before, const Facts& now) {
  std::vector<Found> all;
  for (const auto& [what, value] : before) {
    const auto at = now.find(what);
    const int64_t is = at == now.end() ? 0 : at->second;
    if (is != value) all.push_back(compared(what, value, is));
  }
  for (const auto& [what, value] : now)
    if (!before.contains(what) && value != 0) all.push_back(compared(what, 0, value));
  if (all.empty()) return {};
  std::ranges::stable_sort(all, {}, &Found::sort);
  constexpr const char* kSymptoms[] = {"feature lost", "worse than the baseline", "not as in the baseline",
                                       "not as in the baseline"};
  Drift made{all[0].what.substr(0, all[0].what.find('/')), kSymptoms[all[0].sort], fixed.name};
  if (fixed.kind == Fixed::row && made.stage == "rule") made.stage = "rule of " + fixed.name;
  for (const Found& f : all) made.text += "\n  " + f.words;
  return made;
}

}  // namespace lenz::fuzz
