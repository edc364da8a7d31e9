#include <algorithm>
#include <charconv>
#include <limits>

#include "compiler/ops/op_table.h"
#include "fuzz/bug_pattern.h"

namespace lenz::fuzz {

namespace {
constexpr size_t kMostNames = 26, kMostSteps = 16;

template <size_t N>
std::string_view known(const std::string_view (&words)[N], std::string_view word) {
  const auto at = std::ranges::find(words, word);
  return at == std::end(words) ? std::string_view() : *at;
}

// One line of a pattern, and where it stands.
class Line {
 public:
  Line(std::string_view text, const std::string& where) : rest_(text), where_(where) {}

  [[noreturn]] void fail(const std::string& what) const { throw UserError(what, where_, "fuzz/PATTERNS.md"); }
  void blanks() {
    while (!rest_.empty() && (rest_.front() == ' ' || rest_.front() == '\t')) rest_.remove_prefix(1);
  }
  bool done() {
    blanks();
    return rest_.empty();
  }
  bool eat(std::string_view token) {
    blanks();
    if (!rest_.starts_with(token)) return false;
    rest_.remove_prefix(token.size());
    return true;
  }
  void expect(std::string_view token) {
    if (!eat(token)) fail("expected `" + std::string(token) + "` before `" + std::string(rest_.substr(0, 20)) + "`");
  }
  std::string_view word() {  // letters, digits, `_` and dots inside
    blanks();
    size_t n = 0;
    while (n < rest_.size() && (std::isalnum(static_cast<unsigned char>(rest_[n])) || rest_[n] == '_')) ++n;
    if (n == 0) fail("expected a word before `" + std::string(rest_.substr(0, 20)) + "`");
    return take(n);
  }
  std::string_view dotted() {
    blanks();
    size_t n = 0;
    while (n < rest_.size() &&
           (std::isalnum(static_cast<unsigned char>(rest_[n])) || rest_[n] == '_' || rest_[n] == '.'))
      ++n;
    if (n == 0) fail("expected the name of an op or a trait before `" + std::string(rest_.substr(0, 20)) + "`");
    return take(n);
  }
  std::optional<double> number() {
    blanks();
    double value = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc()) return std::nullopt;
    rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
    return value;
  }

 private:
  std::string_view take(size_t n) {
    const std::string_view text = rest_.substr(0, n);
    rest_.remove_prefix(n);
    return text;
  }
  std::string_view rest_;
  const std::string& where_;
};

class PatternParser {
 public:
  PatternParser(std::string_view text, const std::string& file) : rest_(text), file_(file) {}

  std::vector<BugPattern> all() {
    for (size_t number = 1; !rest_.empty(); ++number) {
      const size_t end = std::min(rest_.find('\n'), rest_.size());
      const std::string_view text = rest_.substr(0, end);
      rest_.remove_prefix(std::min(end + 1, rest_.size()));
      where_ = file_ + ":" + std::to_string(number);
      Line line(text.substr(0, text.find('#')), where_);
      if (!line.done()) read(line, text);
    }
    finish();
    return std::move(patterns_);
  }

 private:
  void read(Line& line, std::string_view text) {
    if (line.eat("[")) {
      finish();
      BugPattern& p = patterns_.emplace_back();
      p.number = line.word();
      line.expect("]");
      line.blanks();
      p.title = text.substr(std::min(text.find(']') + 1, text.size()));
      p.title.erase(0, p.title.find_first_not_of(' '));
      names_.clear();
      return;
    }
    if (patterns_.empty()) line.fail("a pattern begins with `[number] what goes wrong`");
    BugPattern& p = patterns_.back();
    if (line.eat("waits for ")) {
      if (!p.steps.empty()) line.fail("what waits has no steps");
      p.waits_for = text.substr(text.find("waits for ") + 10);
      return;
    }
    if (!p.waits_for.empty()) line.fail("what waits has no steps");
    if (line.eat("values ")) {
      do {
        const std::string_view word = known(kCaseWords, line.word());
        if (word.empty()) line.fail("no such kind of values");
        p.values.push_back(word);
      } while (line.eat("|"));
      if (!line.done()) line.fail("expected the line to end");
      return;
    }
    if (p.steps.size() == kMostSteps) line.fail("more than " + std::to_string(kMostSteps) + " steps");
    step(line, p);
  }

  void finish() const {
    if (!patterns_.empty() && patterns_.back().steps.empty() && patterns_.back().waits_for.empty())
      throw UserError("pattern " + patterns_.back().number + " has no steps", where_, "fuzz/PATTERNS.md");
  }

  void step(Line& line, BugPattern& p) {
    BugPattern::Step step;
    const std::string_view name = line.word();
    line.expect("=");
    do step.who.push_back(who(line));
    while (line.eat("|"));
    if (line.eat("(")) {
      do step.operands.push_back(operand(line));
      while (line.eat(","));
      line.expect(")");
    }
    if (known_name(name)) line.fail("`" + std::string(name) + "` has a value already");
    step.name = named(line, name);
    if (line.eat(":")) do
        step.conditions.push_back(condition(line));
      while (line.eat(","));
    if (!line.done()) line.fail("expected the line to end");
    p.steps.push_back(std::move(step));
    p.names = names_.size();
  }

  BugPattern::Who who(Line& line) const {
    using Who = BugPattern::Who;
    const std::string_view word = line.dotted();
    constexpr std::pair<std::string_view, Who::Kind> kKinds[] = {
        {"input", Who::input}, {"any", Who::any}, {"external", Who::external}, {"transcendental", Who::transcendental}};
    for (const auto& [text, kind] : kKinds)
      if (word == text) return {.kind = kind};
    for (const Trait t : all_traits())
      if (word == lenz::name(t)) return {.kind = Who::trait, .which = t};
    Who w{.kind = Who::op};
    if (const OpDef* op = op_table().find(word)) w.ops.push_back(op);
    for (const OpDef* op : op_table().packet(word)) w.ops.push_back(op);
    if (w.ops.empty()) line.fail("there is no op and no trait `" + std::string(word) + "`");
    return w;
  }

  BugPattern::Operand operand(Line& line) {
    BugPattern::Operand o;
    o.written = line.eat("!");
    using Through = BugPattern::Through;
    o.through = line.eat("~") ? Through::memory : line.eat(">") ? Through::computed : Through::itself;
    std::string_view name = line.word();
    if (line.eat("=")) {
      if (o.written || o.through != Through::itself) line.fail("`!`, `~` and `>` stand behind `=`");
      o = operand(line);
      o.parameter = name;
      return o;
    }
    if (o.through == Through::computed && !known_name(name))
      line.fail("`>" + std::string(name) + "` comes before `" + std::string(name) + "`");
    o.name = named(line, name);
    return o;
  }

  BugPattern::Condition condition(Line& line) {
    using Condition = BugPattern::Condition;
    Condition c;
    c.name = bound(line, line.word());
    if (line.eat(".")) {
      c.kind = Condition::compare;
      c.attribute = attribute(line);
      constexpr std::string_view kComparisons[] = {"==", "!=", "<=", ">=", "<", ">"};
      for (const std::string_view text : kComparisons)
        if (c.comparison.empty() && line.eat(text)) c.comparison = text;
      if (c.comparison.empty()) line.fail("expected a comparison");
      if (const auto number = line.number()) {
        c.number = *number;
      } else {
        c.other = bound(line, line.word());
        line.expect(".");
        c.other_attribute = attribute(line);
      }
      return c;
    }
    const std::string_view verb = line.word();
    if (verb == "is" || verb == "not") {
      c.kind = verb == "is" ? Condition::is : Condition::is_not;
      do c.words.push_back(value_word(line));
      while (line.eat("|"));
      return c;
    }
    constexpr std::pair<std::string_view, Condition::Kind> kKinds[] = {{"same", Condition::same},
                                                                       {"recast", Condition::recast},
                                                                       {"apart", Condition::apart},
                                                                       {"wider", Condition::wider}};
    for (const auto& [text, kind] : kKinds)
      if (verb == text) {
        c.kind = kind;
        c.other = bound(line, line.word());
        return c;
      }
    line.fail("`" + std::string(verb) + "` is none of is, not, same, recast, apart, wider");
  }

  static std::string_view value_word(Line& line) {
    const std::string_view word = line.word();
    // A dtype's word lies in the text that is parsed, which need not outlive the patterns.
    if (dtypes_called(word)) return *dtype_words(word);
    const std::string_view own = known(kValueWords, word);
    if (own.empty()) line.fail("there is no `" + std::string(word) + "` to be");
    return own;
  }
  static std::optional<std::string_view> dtype_words(std::string_view word) {
    for (const std::string_view set : kDtypeSets)
      if (set == word) return set;
    return lenz::name(*parse_dtype(word));
  }
  static std::string_view attribute(Line& line) {
    const std::string_view own = known(kAttributes, line.word());
    if (own.empty()) line.fail("values have rank, elements, size and number");
    return own;
  }

  bool known_name(std::string_view name) const { return std::ranges::find(names_, name) != names_.end(); }
  uint8_t named(const Line& line, std::string_view name) {
    const auto at = std::ranges::find(names_, name);
    if (at != names_.end()) return static_cast<uint8_t>(at - names_.begin());
    if (names_.size() == kMostNames) line.fail("more than " + std::to_string(kMostNames) + " names");
    names_.emplace_back(name);
    return static_cast<uint8_t>(names_.size() - 1);
  }
  uint8_t bound(const Line& line, std::string_view name) {
    if (!known_name(name)) line.fail("nothing is called `" + std::string(name) + "` yet");
    return named(line, name);
  }

  std::string_view rest_;
  const std::string& file_;
  std::string where_;
  std::vector<BugPattern> patterns_;
  std::vector<std::string> names_;
};
}  // namespace

std::optional<DtypeSet> dtypes_called(std::string_view word) {
  constexpr DtypeSet kSets[] = {dtypes::integers, dtypes::floats, dtypes::complexes};
  for (size_t i = 0; i < std::size(kDtypeSets); ++i)
    if (word == kDtypeSets[i]) return kSets[i];
  const auto dtype = parse_dtype(word);
  return dtype ? std::optional(DtypeSet::of(*dtype)) : std::nullopt;
}

std::vector<BugPattern> parse_bug_patterns(std::string_view text, const std::string& file) {
  return PatternParser(text, file).all();
}

}  // namespace lenz::fuzz
