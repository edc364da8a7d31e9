// For tests and the fuzzer: random dims as text, so that one text is both built symbolically and computed with numbers
// in place of its symbols, which never takes a symbolic path.
#pragma once

#include <array>
#include <map>
#include <string>

#include "compiler/base/chooser.h"
#include "compiler/base/error.h"
#include "compiler/base/sym.h"

namespace lenz::sym_testing {

using Values = std::map<std::string, int64_t, std::less<>>;

inline bool is_word(char c) { return isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// Each name that `replace` knows becomes what it says, in parentheses.
inline std::string replace_names(std::string_view text, const std::map<std::string, std::string, std::less<>>& with) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    size_t end = i;
    while (end < text.size() && is_word(text[end])) ++end;
    if (end == i) {
      out += text[i++];
      continue;
    }
    auto word = text.substr(i, end - i);
    auto found = with.find(word);
    out += found == with.end() ? std::string(word) : "(" + found->second + ")";
    i = end;
  }
  return out;
}

// The value of a text by arithmetic on numbers alone; nullopt if it divides by zero or overflows.
inline std::optional<int64_t> compute(std::string_view text, const Values& values) {
  std::map<std::string, std::string, std::less<>> with;
  for (const auto& [name, value] : values) with[name] = std::to_string(value);
  SymPool none;
  try {
    return parse_dim(replace_names(text, with), none).constant();
  } catch (const UserError&) {
    return std::nullopt;
  }
}

inline SymValues lookup(const Values& values) {
  return [&values](const SymNode* s) -> std::optional<int64_t> {
    auto found = values.find(symbol_name(s));
    if (found == values.end()) return std::nullopt;
    return found->second;
  };
}

struct Grammar {
  std::vector<std::string> names = {"a", "b", "c", "d"};
  int depth = 3;
  bool calls = true;
  bool symbolic_divisors = true;
  std::vector<int64_t> divisors = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
};

inline std::string random_dim(Chooser& choose, const Grammar& g, int depth) {
  if (depth <= 0 || choose.chance(1, 5)) {
    if (choose.chance(1, 3)) return std::to_string(choose.between(-9, 9));
    return choose.pick(g.names);
  }
  auto part = [&] { return random_dim(choose, g, depth - 1); };
  auto divisor = [&] {
    if (g.symbolic_divisors && choose.chance(1, 4)) return "(" + part() + ")";
    int64_t k = choose.pick(g.divisors);
    return std::to_string(choose.chance(1, 6) ? -k : k);
  };
  using Parts = std::array<std::string, 3>;  // drawn in this order
  auto joined = [](const Parts& parts) { return parts[0] + parts[1] + parts[2] + ")"; };
  switch (choose.below(g.calls ? 11 : 10)) {
    case 0:
    case 1: return joined(Parts{"(" + part(), " + ", part()});
    case 2: return joined(Parts{"(" + part(), " - ", part()});
    case 3: return joined(Parts{"(" + part(), " * ", part()});
    case 4: return joined(Parts{"(" + std::to_string(choose.between(-6, 6)), " * ", part()});
    case 5:
    case 6: return joined(Parts{"(" + part(), " // ", divisor()});
    case 7: return joined(Parts{"(" + part(), " % ", divisor()});
    case 8: return joined(Parts{"min(" + part(), ", ", part()});
    case 9: return joined(Parts{"max(" + part(), ", ", part()});
    default:
      return joined(
          Parts{choose.any_of({"floor(", "ceil(", "round("}), choose.any_of({"1.5*", "0.5*", "-0.3*"}), part()});
  }
}
inline std::string random_dim(Chooser& choose, const Grammar& g = {}) { return random_dim(choose, g, g.depth); }

inline Values random_values(Chooser& choose, const Grammar& g, int64_t low, int64_t high) {
  Values values;
  for (const std::string& name : g.names) values[name] = choose.between(low, high);
  return values;
}

}  // namespace lenz::sym_testing
