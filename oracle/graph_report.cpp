// A check's report as JSON.
#include <nlohmann/json.hpp>

#include "oracle/graph_check.h"

namespace lenz::oracle {

nlohmann::json GraphReport::to_json() const {
  auto list = nlohmann::json::array();
  for (const PassFinding& f : findings) {
    list.push_back({{"path", f.path},
                    {"selection", f.selection},
                    {"seed", f.seed},
                    {"values", name(f.values)},
                    {"sizes", f.sizes},
                    {"mismatch", f.mismatch.to_json()}});
    if (!f.text.empty()) list.back()["layouts"] = f.layouts;
    if (!f.text.empty()) list.back()["text"] = f.text;
  }
  nlohmann::json j = {{"needless", needless}, {"runs", runs},
                      {"rewrites", rewrites}, {"seeds", seeds},
                      {"refused", refused},   {"relaid", relaid},
                      {"exact", exact},       {"inexact", inexact},
                      {"bounded", bounded},   {"weak", weak},
                      {"known", known},       {"on_loops", on_loops},
                      {"rebound", rebound},   {"on_kernels", on_kernels},
                      {"alike", alike},       {"without_code", without_code},
                      {"programs", programs}, {"externs", externs},
                      {"parts", parts},       {"weak_parts", weak_parts},
                      {"elements", elements}, {"loosely_held", loosely_held},
                      {"unjudged", unjudged}, {"findings", list}};
  if (culprit) {
    j["culprit"] = culprit->to_json();
    j["culprit"]["seed"] = culprit_at.seed;
    j["culprit"]["values"] = name(culprit_at.values);
    j["culprit"]["sizes"] = culprit_at.sizes;
    if (!culprit_at.text.empty()) j["culprit"]["layouts"] = culprit_at.layouts;
    if (!culprit_at.text.empty()) j["culprit"]["text"] = culprit_at.text;
  }
  if (!known_why.empty()) j["known_why"] = known_why;
  if (!open_why.empty()) j["open_why"] = open_why;
  if (!weak_why.empty()) j["weak_why"] = weak_why;
  if (!inexact_why.empty()) j["inexact_why"] = inexact_why;
  if (unasked) j["unasked"] = unasked, j["unasked_of"] = unasked_of;
  if (!no_parts.empty()) j["no_parts"] = no_parts;
  if (!no_stream.empty()) j["no_stream"] = no_stream;
  if (!not_lowered.empty()) j["not_lowered"] = not_lowered;
  if (!not_interpreted.empty()) j["not_interpreted"] = not_interpreted;
  if (lacks_proofs) j["lacks_proofs"] = true;
  if (!out_of_memory.empty()) j["out_of_memory"] = out_of_memory;
  return j;
}

}  // namespace lenz::oracle
