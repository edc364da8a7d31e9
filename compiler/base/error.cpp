#include "compiler/base/error.h"

namespace lenz {

namespace {
std::string join(const std::string& what, const std::string& where, const std::string& remedy) {
  std::string text = where.empty() ? what : where + ": " + what;
  if (!remedy.empty()) text += "\n  help: " + remedy;
  return text;
}

// A message may quote what the user wrote, however long that is.
std::string clipped(std::string text) {
  constexpr size_t kMost = 4000, kEnd = 500;
  if (text.size() <= kMost) return text;
  const size_t left_out = text.size() - kMost;
  return text.replace(kMost - kEnd, left_out, " [" + std::to_string(left_out) + " characters] ");
}
}  // namespace

UserError::UserError(std::string what, std::string where, std::string remedy)
    : Error(join(clipped(what), where, clipped(remedy))),
      message_(clipped(std::move(what))),
      where_(std::move(where)),
      remedy_(clipped(std::move(remedy))) {}

void internal_error(std::string_view what, const char* file, int line) {
  throw InternalError(std::string("internal error: ") + std::string(what) + " (" + file + ":" + std::to_string(line) +
                      ")");
}

}  // namespace lenz
