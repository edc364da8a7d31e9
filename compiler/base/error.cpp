#include "compiler/base/error.h"

namespace lenz {

namespace {
std::string join(const std::string& what, const std::string& where, const std::string& remedy) {
  std::string text = where.empty() ? what : where + ": " + what;
  if (!remedy.empty()) text += "\n  help: " + remedy;
  return text;
}
}  // namespace

UserError::UserError(std::string what, std::string where, std::string remedy)
    : Error(join(what, where, remedy)),
      message_(std::move(what)),
      where_(std::move(where)),
      remedy_(std::move(remedy)) {}

void internal_error(std::string_view what, const char* file, int line) {
  throw InternalError(std::string("internal error: ") + std::string(what) + " (" + file + ":" + std::to_string(line) +
                      ")");
}

}  // namespace lenz
