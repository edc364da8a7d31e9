#include <algorithm>
#include <charconv>

#include "compiler/base/lexer.h"
#include "compiler/base/source.h"
#include "compiler/schedule/plan.h"

namespace lenz::schedule {

namespace {

class PlanParser {
 public:
  PlanParser(std::string_view text, const std::string& file) : source_(text, file), lexer_(text) { take(); }

  Plan run() {
    word("plan");
    const Token name = expect(TokenKind::graph, "the program's name, such as @main");
    plan_.name = name.quoted ? unescape(name.text) : std::string(name.text);
    word("for");
    const Token target = expect(TokenKind::name, "a target");
    try {
      plan_.target = cpu_target(std::string(target.text), 1);
    } catch (const UserError& error) {
      fail(target, error.what(), "the targets are avx512, avx2 and generic");
    }
    word("cores");
    plan_.target.cores = positive("a number of cores", 4096);
    word("vector");
    plan_.target.vector_bytes = positive("a vector's bytes", 256);
    if (eat("grain")) plan_.target.grain = positive("how many times smaller parts are", 1 << 20);
    expect(TokenKind::l_brace, "`{`");
    plan_.blocks.emplace_back();
    while (token_.kind != TokenKind::r_brace) line();
    take();
    if (token_.kind != TokenKind::end) fail(token_, "expected the end of the file", "a file holds one plan");
    return std::move(plan_);
  }

 private:
  void line() {
    if (eat("block")) {
      const Token at = token_;
      if (number("the block's number") != plan_.blocks.size())
        fail(at, "blocks are numbered in order", "write block " + std::to_string(plan_.blocks.size()));
      plan_.blocks.emplace_back();
    } else if (eat("node")) {
      Group group;
      group.node = number("a node's number");
      plan_.blocks.back().push_back(std::move(group));
    } else if (eat("kernel")) {
      plan_.blocks.back().push_back(kernel());
    } else {
      fail(token_, "expected `kernel`, `node`, `block` or `}`", "a plan's lines begin with one of these");
    }
  }

  Group kernel() {
    Group group;
    word("shared");
    group.shared = number("how many axes are shared");
    if (eat("order"))
      while (token_.kind == TokenKind::integer) group.tiles.order.push_back(number("an axis"));
    if (eat("tile")) group.tiles.size = positive("a tile's points", kLargestTile);
    if (eat("joined")) group.tiles.joined = positive("how many axes are joined", UINT32_MAX);
    if (eat("rows")) {
      group.tiles.rows = number("an axis");
      word("of");
      group.tiles.row_size = positive("rows of a tile", kLargestTile);
      if (eat("joined")) group.tiles.rows_joined = positive("how many axes are joined", UINT32_MAX);
      group.tiles.abreast = eat("abreast");
    }
    expect(TokenKind::l_brace, "`order`, `tile`, `joined`, `rows`, `abreast` or `{`");
    while (eat("phase")) group.phases.push_back(phase());
    const Token end = expect(TokenKind::r_brace, "`phase` or `}`");
    for (const Phase& p : group.phases) group.nests.insert(group.nests.end(), p.nests.begin(), p.nests.end());
    if (group.nests.empty()) fail(end, "a kernel without nests", "leave it out, or name the nests of its phases");
    std::ranges::sort(group.nests);
    return group;
  }

  Phase phase() {
    Phase made;
    do {
      made.nests.push_back(number("a nest's number"));
    } while (token_.kind == TokenKind::integer);
    return made;
  }

  // --- tokens

  Token take() {
    const Token taken = token_;
    token_ = lexer_.next();
    return taken;
  }
  bool eat(std::string_view word) {
    if (token_.kind != TokenKind::name || token_.text != word) return false;
    take();
    return true;
  }
  void word(std::string_view word) {
    if (!eat(word)) fail(token_, "expected `" + std::string(word) + "`", kRemedy);
  }
  Token expect(TokenKind kind, const std::string& what) {
    if (token_.kind != kind) fail(token_, "expected " + what, kRemedy);
    return take();
  }
  uint32_t number(const std::string& what) {
    const Token token = expect(TokenKind::integer, what);
    const std::string digits(token.text);
    uint32_t value = 0;
    const char* end = digits.data() + digits.size();
    if (auto read = std::from_chars(digits.data(), end, value); read.ec != std::errc() || read.ptr != end)
      fail(token, "no number of 32 bits", "numbers here are small and decimal");
    return value;
  }
  uint32_t positive(const std::string& what, int64_t most) {
    const Token at = token_;
    const uint32_t value = number(what);
    if (value == 0 || value > most) fail(at, what + " from 1 to " + std::to_string(most) + " is needed", kRemedy);
    return value;
  }
  [[noreturn]] void fail(const Token& at, const std::string& message, const std::string& remedy) const {
    throw source_.error(at.at, at.end, at.kind == TokenKind::bad ? std::string(at.text) : message, remedy);
  }

  static constexpr const char* kRemedy = "`lenz compile FILE --emit=plan` shows how plans are written";
  Source source_;
  Lexer lexer_;
  Token token_;
  Plan plan_;
};

}  // namespace

Plan parse_plan(std::string_view text, const std::string& file) { return PlanParser(text, file).run(); }

}  // namespace lenz::schedule
