#include "compiler/passes/selection.h"

#include <charconv>

#include "compiler/base/suggest.h"

namespace lenz {

namespace {
Window parse_window(std::string_view text, std::string_view item) {
  Window w;
  bool only = text.starts_with('#');
  if (only) text.remove_prefix(1);
  auto [end, error] = std::from_chars(text.begin(), text.end(), w.last);
  if (error != std::errc() || end != text.end() || (only && w.last == 0))
    throw UserError("bad number in `" + std::string(item) + "`", {},
                    "NAME:3 allows the first three rewrites, NAME:#3 only the third; they count from 1");
  w.first = only ? w.last : 1;
  return w;
}
}  // namespace

PassSelection PassSelection::parse(std::string_view text, std::span<const PipelineLine> lines) {
  PassSelection s;
  s.text_ = text;
  std::vector<std::string_view> names{"all"};
  for (const PipelineLine& l : lines) names.push_back(l.pass.name);
  while (!text.empty()) {
    size_t comma = std::min(text.find(','), text.size());
    std::string_view item = text.substr(0, comma), name = item;
    text.remove_prefix(std::min(comma + 1, text.size()));
    if (item.empty()) continue;
    bool off = name.starts_with('-'), on = name.starts_with('+');
    if (off || on) name.remove_prefix(1);
    if (name.starts_with('@')) {
      bool known = false;
      for (Level level : {Level::torch, Level::aten, Level::core})
        if (lenz::name(level) == name.substr(1)) {
          s.levels_[static_cast<size_t>(level)] = !off;
          known = true;
        }
      if (!known) throw UserError("no level `" + std::string(name.substr(1)) + "`", {}, "levels: torch, aten, core");
      continue;
    }
    Window window;
    if (size_t colon = name.find(':'); colon != std::string_view::npos) {
      window = parse_window(name.substr(colon + 1), item);
      name = name.substr(0, colon);
    }
    if (std::ranges::find(names, name) == names.end()) {
      std::string_view nearest = nearest_name(name, names);
      throw UserError("no pass `" + std::string(name) + "`", {},
                      nearest.empty() ? "`lenz passes` lists them" : "did you mean `" + std::string(nearest) + "`?");
    }
    if (name == "all") {
      s.total_ = window;
      if (off || on) {
        s.all_ = on;
        s.enabled_.clear();
      }
    } else {
      s.enabled_[std::string(name)] = !off;
      s.windows_[std::string(name)] = window;
    }
  }
  return s;
}

bool PassSelection::enabled(std::string_view pass, Level level) const {
  auto at = enabled_.find(pass);
  return levels_[static_cast<size_t>(level)] && (at == enabled_.end() ? all_ : at->second);
}

Window PassSelection::window(std::string_view pass) const {
  auto at = windows_.find(pass);
  return at == windows_.end() ? Window{} : at->second;
}

}  // namespace lenz
