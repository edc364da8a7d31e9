#include "compiler/base/source.h"

#include <algorithm>

namespace lenz {

Position Source::position(size_t at) const {
  at = std::min(at, text_.size());
  std::string_view before = text_.substr(0, at);
  size_t newline = before.rfind('\n');
  return {static_cast<size_t>(std::count(before.begin(), before.end(), '\n')) + 1,
          newline == std::string_view::npos ? at + 1 : at - newline};
}

std::string Source::where(size_t at) const {
  Position p = position(at);
  return name_ + ":" + std::to_string(p.line) + ":" + std::to_string(p.column);
}

UserError Source::error(size_t at, size_t end, const std::string& message, const std::string& remedy) const {
  constexpr size_t kBefore = 70, kAfter = 40;  // of a long line, what surrounds the place
  at = std::min(at, text_.size());
  Position p = position(at);
  size_t start = at - (p.column - 1);
  size_t stop = std::min(text_.find('\n', at), text_.size());
  std::string prefix, suffix;
  if (at - start > kBefore) {
    start = at - kBefore;
    prefix = "...";
  }
  if (stop - at > kAfter && stop - start > kBefore + kAfter) {
    stop = at + kAfter;
    suffix = "...";
  }
  std::string line = prefix, caret(prefix.size(), ' ');
  for (size_t i = start; i < stop; ++i) {
    auto c = static_cast<unsigned char>(text_[i]);
    line += c == '\t' ? ' ' : c < 0x20 || c >= 0x7F ? '?' : text_[i];
    if (i < at) caret += ' ';
  }
  size_t width = std::clamp<size_t>(std::min(end, stop) - std::min(at, stop), 1, 80);
  caret += '^' + std::string(width - 1, '~');
  std::string number = std::to_string(p.line);
  std::string margin(number.size(), ' ');
  return UserError(message + "\n  " + number + " | " + line + suffix + "\n  " + margin + " | " + caret, where(at),
                   remedy);
}

}  // namespace lenz
