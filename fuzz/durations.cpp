#include "fuzz/durations.h"

#include <charconv>

#include "compiler/base/error.h"

namespace lenz::fuzz {

double parse_duration(const std::string& text) {
  double value = 0;
  const char* end = text.data() + text.size();
  auto [at, error] = std::from_chars(text.data(), end, value);
  const std::string_view unit(at, static_cast<size_t>(end - at));
  const double scale = unit.empty() || unit == "s" ? 1 : unit == "m" ? 60 : unit == "h" ? 3600 : 0;
  if (error != std::errc() || scale == 0 || !(value > 0) || value * scale > 1e8)
    throw UserError("`" + text + "` is no length of time", "--time", "give a number and s, m or h: 90s, 10m, 8h");
  return value * scale;
}

}  // namespace lenz::fuzz
