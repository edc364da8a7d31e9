#include "compiler/ops/draws.h"

#include <charconv>

#include "compiler/ops/rows/samplings.h"
#include "compiler/ops/rows/word_list.h"

namespace lenz {

namespace {
struct Form {
  std::string_view name;
  Draw::Kind kind;
  size_t operands;
};
constexpr Form kForms[] = {{"uniform", Draw::uniform, 2},         {"normal", Draw::normal, 2},
                           {"exponential", Draw::exponential, 1}, {"coin", Draw::coin, 1},
                           {"integers", Draw::integers, 2},       {"keep", Draw::keep, 3}};

// Nothing if the op lacks a parameter.
std::optional<Draw> parsed(const OpDef& op, std::string_view text) {
  for (const Form& form : kForms) {
    if (!text.starts_with(form.name) || text[form.name.size()] != '(') continue;
    Draw draw;
    draw.kind = form.kind;
    std::string_view rest = text.substr(form.name.size() + 1, text.size() - form.name.size() - 2);
    while (!rest.empty()) {
      size_t end = std::min(rest.find(", "), rest.size());
      std::string_view word = rest.substr(0, end);
      rest.remove_prefix(std::min(end + 2, rest.size()));
      Draw::Operand operand;
      operand.param = op.schema.find(word);
      if (operand.param < 0) {
        auto [stop, error] = std::from_chars(word.data(), word.data() + word.size(), operand.number);
        if (error != std::errc() || stop != word.data() + word.size()) return std::nullopt;
      }
      draw.operands.push_back(operand);
    }
    LENZ_CHECK(draw.operands.size() == form.operands, "a sampling of " + op.full_name + ": " + std::string(text));
    return draw;
  }
  internal_error(op.full_name + " draws by no known form: " + std::string(text), __FILE__, __LINE__);
}
}  // namespace

std::optional<Draw> draw_of(const OpDef& op) {
  const OpDef& row = op.base ? *op.base : op;
  if (!op.has(Trait::random) || row.schema.space != "aten") return std::nullopt;
  for (const SamplingRow& sampling : kSamplings)
    if (has_word(sampling.packets, row.schema.packet))
      if (auto draw = parsed(op, sampling.sampling)) return draw;
  return std::nullopt;
}

}  // namespace lenz
