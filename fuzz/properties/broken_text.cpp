// Texts are broken in one place, of which is known what a reader must be told there: the place, the line as it stands,
// and what kind of mistake it is. Places are found by looks at characters, not by the lexer that is asked. Besides,
// texts are changed anywhere: what is still read has to survive printing, and what is refused to be quoted rightly.
#include <algorithm>
#include <cctype>
#include <vector>

#include "compiler/base/hash.h"
#include "compiler/graph/mutate.h"
#include "compiler/ops/op_table.h"
#include "fuzz/properties/list.h"
#include "fuzz/properties/texts.h"

namespace lenz::fuzz {

namespace {
constexpr size_t kShown = 30;       // characters beside the place, at least, where the line has so many
constexpr size_t kMostShown = 200;  // characters of a line

struct Word {
  size_t at, end;
  size_t size() const { return end - at; }
  std::string_view in(std::string_view text) const { return text.substr(at, end - at); }
};

bool is_plain(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.'; }

bool is_sign(char c) { return c == '+' || c == '-'; }

// What stands in a text: strings whole, names with their sigil, numbers, what compares, and each other character by
// itself.
std::vector<Word> words_of(std::string_view text) {
  std::vector<Word> words;
  for (size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (c == ' ' || c == '\n') {
      ++at;
      continue;
    }
    size_t end = at + 1;
    const bool sigil = (c == '%' || c == '@') && end < text.size() && (is_plain(text[end]) || text[end] == '"');
    if (c == '"' || (sigil && text[end] == '"')) {
      end += c == '"' ? 0 : 1;
      while (text[end] != '"') end += text[end] == '\\' ? 2 : 1;
      ++end;
    } else if (sigil || is_plain(c)) {
      const bool number = std::isdigit(static_cast<unsigned char>(c));
      while (end < text.size() && (is_plain(text[end]) || (number && is_sign(text[end]) && text[end - 1] == 'e')))
        ++end;
    } else if (constexpr std::string_view kDoubles = "//..==!=<=>="; end < text.size()) {
      for (size_t k = 0; k < kDoubles.size(); k += 2)
        if (kDoubles.substr(k, 2) == text.substr(at, 2)) end = at + 2;
    }
    words.push_back({at, end});
    at = end;
  }
  return words;
}

struct Change {
  size_t at, end;  // what goes
  std::string by;  // what comes instead
  size_t breaks_at, length;
  std::string words;
};

class Breaker {
 public:
  Breaker(const std::string& text, Chooser& choose) : text_(text), c_(choose), words_(words_of(text)) {}

  BrokenText run() {
    if (words_.size() < 4) return {};
    switch (c_.below(6)) {
      case 0: no_token(); break;
      case 1: unknown_value(); break;
      case 2: defined_twice(); break;
      case 3: doubled_comma(); break;
      case 4: missing_comma(); break;
      default: cut_short(); break;
    }
    if (changes_.empty()) return {};
    const Change& change = c_.pick(changes_);
    BrokenText made{text_, {}, change.breaks_at, change.length, change.words};
    made.change = "`" + text_.substr(change.at, change.end - change.at) + "` at byte " + std::to_string(change.at) +
                  " becomes `" + change.by + "`";
    made.text.replace(change.at, change.end - change.at, change.by);
    return made;
  }

 private:
  std::string_view word(size_t i) const { return i < words_.size() ? words_[i].in(text_) : std::string_view(); }
  bool is_value(size_t i) const { return word(i).size() > 1 && word(i)[0] == '%'; }
  // A keyword or a dtype that it stands behind is another thing without it, which may be noticed first.
  bool stands_alone_before(const Word& w) const {
    return w.size() > 1 || (text_[w.at] != '=' && text_[w.at] != '[' && text_[w.at] != '(');
  }
  bool starts_line(size_t i) const {
    const size_t line = text_.rfind('\n', words_[i].at);
    return i == 0 || (line != std::string::npos && line > words_[i - 1].at);
  }

  // Characters that are no part of any text but in strings.
  void no_token() {
    struct Junk {
      std::string_view text, words;
    };
    constexpr Junk kJunk[] = {{";", "`;`"},
                              {"'", "double quotes"},
                              {"$", "starts nothing"},
                              {"?", "starts nothing"},
                              {"&", "starts nothing"},
                              {"/ ", "no operator"},
                              {"0x", "without digits"},
                              {"12ab", "runs into a name"},
                              {"1e+", "exponent"},
                              {"@ ", "without a name"},
                              {"\"\\q\"", "escape"},
                              {"\"\\x4\"", "escape"}};
    const Junk junk = c_.pick(kJunk);
    size_t places = words_.size();  // before any sub-graph is looked for
    for (size_t i = places; i-- > 2;)
      if (word(i)[0] == '@') places = i;
    const Word before = words_[c_.below(places)];
    if (!stands_alone_before(before)) return;
    size_t at = before.at + 1, length = 1;  // of the place in the change
    if (junk.words == "escape") at += 1;
    if (junk.text == "0x") length = 2;
    if (junk.text == "12ab") length = 4;
    if (junk.text == "1e+") length = 2;
    if (junk.words == "exponent") length = 0;
    changes_.push_back({before.at, before.at, " " + std::string(junk.text) + " ", at, length, std::string(junk.words)});
  }

  // A value is used: behind a bracket or a comma of a statement or of what is returned. What statements make stands
  // first in their lines, and inputs before a colon.
  template <class F>
  void for_each_use(F&& use) {
    const size_t body = text_.find(" {\n");
    for (size_t i = 1; i < words_.size(); ++i) {
      if (!is_value(i) || words_[i].at < body || starts_line(i)) continue;
      const std::string_view before = word(i - 1);
      const bool operand = before == "(" || before == "[" || before == "=" || before == "return" || before == ",";
      size_t first = i;  // of its line
      while (!starts_line(first)) --first;
      bool behind = word(first) == "return";
      for (size_t k = first; k < i && !behind; ++k) behind = word(k) == "=";
      if (operand && behind) use(i);
    }
  }

  void unknown_value() {
    for_each_use([&](size_t i) {
      const std::string name = "%no_such_value";
      changes_.push_back({words_[i].at, words_[i].end, name, words_[i].at, name.size(), "there is no value"});
    });
  }

  // Inputs have their names in one place: none may have that of another.
  void defined_twice() {
    const size_t body = text_.find(" {\n");
    std::vector<size_t> inputs;
    for (size_t i = 2; i < words_.size() && words_[i].at < body; ++i)
      if (is_value(i) && word(i + 1) == ":") inputs.push_back(i);
    for (size_t k = 1; k < inputs.size(); ++k) {
      const Word first = words_[inputs[0]], other = words_[inputs[k]];
      changes_.push_back({other.at, other.end, std::string(first.in(text_)), other.at, first.end - first.at, "twice"});
    }
  }

  void doubled_comma() {
    for (size_t i = 1; i < words_.size(); ++i)
      if (word(i) == ",") changes_.push_back({words_[i].end, words_[i].end, " ,", words_[i].end + 1, 1, {}});
  }

  // Between values: numbers and symbols may make one together.
  void missing_comma() {
    for (size_t i = 2; i + 1 < words_.size(); ++i)
      if (word(i) == "," && is_value(i - 1) && is_value(i + 1) && word(i + 2) != ":")
        changes_.push_back(
            {words_[i].at, words_[i].end, " ", words_[i + 1].at, words_[i + 1].end - words_[i + 1].at, "expected"});
  }

  // Of a text without sub-graphs: elsewhere one that is cut off may be missed first.
  void cut_short() {
    if (text_.find("\ngraph @") != std::string::npos) return;
    const size_t body = text_.find(" {\n");
    for (const Word& w : words_)
      if (w.at > body && w.end < words_.back().end && stands_alone_before(w)) {
        const size_t end = w.at;
        changes_.push_back({end, text_.size(), "", end, 0, {}});
      }
  }

  const std::string& text_;
  Chooser& c_;
  std::vector<Word> words_;
  std::vector<Change> changes_;
};

struct LineAndColumn {
  size_t line, column;
};
LineAndColumn place_of(const std::string& text, size_t at) {
  LineAndColumn place{1, 1};
  for (size_t i = 0; i < at; ++i) {
    ++place.column;
    if (text[i] == '\n') ++place.line, place.column = 1;
  }
  return place;
}

std::string where(const std::string& text, size_t at) {
  const LineAndColumn place = place_of(text, at);
  return "<text>:" + std::to_string(place.line) + ":" + std::to_string(place.column);
}

std::string line_of(const std::string& text, size_t number) {
  size_t begin = 0;
  for (; number > 1; --number) begin = text.find('\n', begin) + 1;
  return text.substr(begin, text.find('\n', begin) - begin);
}

// As a terminal can show it.
std::string shown(std::string line) {
  for (char& c : line) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\t')
      c = ' ';
    else if (byte < ' ' || byte > '~')
      c = '?';
  }
  return line;
}
}  // namespace

BrokenText break_text(const std::string& text, Chooser& choose) { return Breaker(text, choose).run(); }

std::string misquoted(const UserError& error, const std::string& text, size_t length) {
  size_t number = 0, column = 0;
  if (std::sscanf(error.where().c_str(), "<text>:%zu:%zu", &number, &column) != 2)
    return "it says no place, but `" + error.where() + "`";
  const auto lines = static_cast<size_t>(std::ranges::count(text, '\n')) + 1;
  if (number < 1 || number > lines) return "there is no line " + std::to_string(number);
  const std::string line = line_of(text, number);
  if (column < 1 || column > line.size() + 1) return "there is no column " + std::to_string(column);
  const std::string& message = error.message();
  const std::string head = "\n  " + std::to_string(number) + " | ";
  const size_t begin = message.rfind(head), quoted = begin + head.size();
  const size_t end = begin == std::string::npos ? begin : message.find('\n', quoted);
  if (end == std::string::npos) return "it quotes no line";
  std::string quote = message.substr(quoted, end - quoted), under = message.substr(end + 1);
  if (under.size() < head.size() - 1) return "nothing is underlined";
  under = under.substr(head.size() - 1);
  size_t mark = under.find('^');
  if (mark == std::string::npos || under.find_first_not_of(' ') != mark) return "nothing is underlined";
  const size_t width = under.size() - mark;
  if (under.find_first_not_of('~', mark + 1) != std::string::npos) return "it underlines in another way";
  // What is quoted is a part of the line, and the mark stands below the place.
  const std::string all = shown(line);
  const bool whole = mark + 1 == column && (quote == all || quote.substr(0, mark) == all.substr(0, mark));
  if (!whole) {
    if (!quote.starts_with("...") || mark < 3 || mark > column + 1) return "the mark is not below the place";
    quote = quote.substr(3);
    mark -= 3;
  }
  const size_t from = column - 1 - mark;
  std::string rest = all.substr(std::min(from, all.size()));
  if (quote != rest) {
    if (!quote.ends_with("...")) return "it quotes `" + quote + "`, not `" + rest + "`";
    quote.resize(quote.size() - 3);
    if (!rest.starts_with(quote)) return "it quotes `" + quote + "`, not `" + rest + "`";
  }
  if (from > 0 && mark < kShown) return "it leaves out what stands before the place";
  if (quote.size() < rest.size() && quote.size() < mark + kShown) return "it leaves out what stands behind the place";
  if (quote.size() > kMostShown && quote.size() > mark + kMostShown) return "it quotes too much";
  const size_t most = std::max<size_t>(quote.size() - std::min(quote.size(), mark), 1);
  if (width > most) return "it underlines more than there is";
  if (length && width != std::min(std::min<size_t>(length, 80), most))
    return "it underlines " + std::to_string(width) + " characters";
  return {};
}

std::string told_wrongly(const BrokenText& broken) {
  try {
    (void)parse_graph(broken.text, op_table());
    return "it is read";
  } catch (const UserError& error) {
    if (error.where() != where(broken.text, broken.at))
      return "the place is " + where(broken.text, broken.at) + ", and it says " + error.what();
    if (error.message().find(broken.words) == std::string::npos)
      return "it does not say `" + broken.words + "`, but " + error.what();
    const std::string quote = misquoted(error, broken.text, broken.length);
    return quote.empty() ? quote : quote + ": " + error.what();
  }
}

namespace {
constexpr int kExact = 3, kAnywhere = 1;  // in each case

std::optional<Failure> holds(Subject& subject) {
  const std::string text = print(subject.graph());
  RandomChooser choose(combine(subject.setting().seed, hash_bytes("broken_text")));
  auto failed = [](std::string_view symptom, const std::string& detail) {
    return Failure{"broken_text", "broken_text", std::string(symptom), detail};
  };
  for (int i = 0; i < kExact; ++i) {
    const BrokenText broken = break_text(text, choose);
    if (broken.text.empty()) continue;
    if (const std::string wrong = told_wrongly(broken); !wrong.empty())
      return failed("told wrongly", wrong + "\n" + broken.change + ":\n" + broken.text);
  }
  for (int i = 0; i < kAnywhere; ++i) {
    const std::string changed = mutate(text, {}, choose);
    try {
      if (survives(changed, op_table())) continue;
      (void)parse_graph(changed, op_table());
    } catch (const InternalError& error) {
      return failed("does not survive", std::string(error.what()) + "\n" + changed);
    } catch (const UserError& error) {
      if (const std::string wrong = misquoted(error, changed, 0); !wrong.empty())
        return failed("misquoted", wrong + "\n" + error.what() + "\n" + changed);
    } catch (const Unsupported&) {
    }
  }
  return std::nullopt;
}
}  // namespace

Property broken_text() {
  return {.name = "broken_text",
          .contract = "who reads a broken text is told where it breaks, and what is read of it survives printing",
          .holds = holds,
          .of_graph = true};
}

}  // namespace lenz::fuzz
