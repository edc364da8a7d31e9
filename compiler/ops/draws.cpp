#include "compiler/ops/draws.h"

#include <charconv>

namespace lenz {

namespace {
struct Form {
  std::string_view name;
  Draw::Kind kind;
  size_t operands;
  bool channels = false, saturates = false;
};
constexpr Form kForms[] = {{"uniform", Draw::uniform, 2},
                           {"normal", Draw::normal, 2},
                           {"exponential", Draw::exponential, 1},
                           {"log_normal", Draw::log_normal, 2},
                           {"cauchy", Draw::cauchy, 2},
                           {"geometric", Draw::geometric, 1},
                           {"coin", Draw::coin, 1},
                           {"integers", Draw::integers, 2},
                           {"order", Draw::order, 0},
                           {"keep", Draw::keep, 3},
                           {"keep_channels", Draw::keep, 3, true},
                           {"keep_or_saturate", Draw::keep, 3, false, true},
                           {"keep_or_saturate_channels", Draw::keep, 3, true, true}};

Draw::Operand operand_of(const OpDef& op, std::string_view word) {
  Draw::Operand operand;
  operand.param = op.schema.find(word);
  operand.end = operand.param < 0 && word == "end";
  if (operand.param >= 0 || operand.end) return operand;
  auto [stop, error] = std::from_chars(word.data(), word.data() + word.size(), operand.number);
  LENZ_CHECK(error == std::errc() && stop == word.data() + word.size(),
             op.full_name + " draws by `" + std::string(word) + "`, which is no parameter of its");
  return operand;
}
}  // namespace

std::optional<Draw> draw_of(const OpDef& op) {
  if (op.sampling.empty() || !op.has(Trait::random)) return std::nullopt;
  size_t open = op.sampling.find('(');
  std::string_view name = op.sampling.substr(0, open);
  for (const Form& form : kForms) {
    if (name != form.name) continue;
    Draw draw;
    draw.kind = form.kind;
    draw.channels = form.channels;
    draw.saturates = form.saturates;
    std::string_view rest = op.sampling.substr(open + 1, op.sampling.size() - open - 2);
    while (!rest.empty()) {
      size_t end = std::min(rest.find(", "), rest.size());
      draw.operands.push_back(operand_of(op, rest.substr(0, end)));
      rest.remove_prefix(std::min(end + 2, rest.size()));
    }
    LENZ_CHECK(draw.operands.size() == form.operands,
               "a sampling of " + op.full_name + ": " + std::string(op.sampling));
    return draw;
  }
  internal_error(op.full_name + " draws by no known form: " + std::string(op.sampling), __FILE__, __LINE__);
}

}  // namespace lenz
