#include "compiler/ops/select.h"

#include <fnmatch.h>

#include "compiler/base/suggest.h"

namespace lenz {

namespace {
bool names(const std::string& pattern, const OpDef& op) {
  std::string packet = packet_name(op);
  for (const std::string& name : {op.full_name, packet})
    for (const char* text : {name.c_str(), name.c_str() + op.schema.space.size() + 1})
      if (fnmatch(pattern.c_str(), text, 0) == 0) return true;
  return op.base && names(pattern, *op.base);
}
}  // namespace

std::string packet_name(const OpDef& op) { return op.schema.space + "." + op.schema.packet; }

std::vector<const OpDef*> select_rows(const OpTable& table, std::span<const std::string> patterns) {
  std::vector<const OpDef*> rows;
  std::vector<bool> used(patterns.size());
  for (const auto& op : table.rows()) {
    bool selected = patterns.empty();
    for (size_t i = 0; i < patterns.size(); ++i)
      if (names(patterns[i], *op)) selected = used[i] = true;
    if (selected) rows.push_back(op.get());
  }
  for (size_t i = 0; i < patterns.size(); ++i) {
    if (used[i]) continue;
    bool bare = patterns[i].find('.') == std::string::npos;
    std::vector<std::string> packets;
    for (const auto& op : table.rows()) packets.push_back(bare ? op->schema.packet : packet_name(*op));
    std::vector<std::string_view> candidates(packets.begin(), packets.end());
    std::string_view near = nearest_name(patterns[i], candidates);
    throw UserError("no row of the op table is named `" + patterns[i] + "`", {},
                    near.empty() ? "`lenz ops` lists them" : "did you mean `" + std::string(near) + "`?");
  }
  return rows;
}

}  // namespace lenz
