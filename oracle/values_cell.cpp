#include "oracle/values_cell.h"

#include <nlohmann/json.hpp>

namespace lenz::oracle {

namespace {
constexpr std::pair<const char*, int Verdicts::*> kCounts[] = {
    {"calls", &Verdicts::calls},         {"passed", &Verdicts::passed},   {"weak", &Verdicts::weak},
    {"wrong", &Verdicts::wrong},         {"refused", &Verdicts::refused}, {"known", &Verdicts::known},
    {"unbounded", &Verdicts::unbounded}, {"died", &Verdicts::died},       {"unlowered", &Verdicts::unlowered}};

LayoutClass class_named(std::string_view text) {
  size_t k = 0;
  while (k + 1 < kLayoutClasses && name(static_cast<LayoutClass>(k)) != text) ++k;
  return static_cast<LayoutClass>(k);
}
}  // namespace

void Verdicts::add(const Verdicts& more) {
  for (const auto& [key, count] : kCounts) this->*count += more.*count;
}

void Verdicts::take(const Verdicts& less) {
  for (const auto& [key, count] : kCounts) this->*count -= less.*count;
}

int Verdicts::told() const {
  int sum = -calls;
  for (const auto& [key, count] : kCounts) sum += this->*count;
  return sum;
}

nlohmann::json Verdicts::to_json(bool zeros) const {
  nlohmann::json j = nlohmann::json::object();
  for (const auto& [key, count] : kCounts)
    if (zeros || this->*count != 0) j[key] = this->*count;
  return j;
}

Verdicts Verdicts::from_json(const nlohmann::json& j) {
  Verdicts v;
  for (const auto& [key, count] : kCounts) v.*count = j.value(key, 0);
  return v;
}

nlohmann::json ValuesCell::to_json() const {
  nlohmann::json j = Verdicts::to_json(true);
  j["rebound"] = rebound;
  j["variants"] = variants;
  j["uncontrolled"] = uncontrolled;
  j["elements"] = shares.elements;
  j["ambiguous"] = shares.ambiguous;
  j["strong"] = shares.strong;
  j["layouts"] = nlohmann::json::object();
  for (const auto& [layout, v] : layouts) j["layouts"][std::string(name(layout))] = v.to_json(false);
  j["no_layouts"] = nlohmann::json::object();
  for (const auto& [layout, why] : no_layouts) j["no_layouts"][std::string(name(layout))] = why;
  if (!finding.empty()) j["finding"] = finding;
  if (!graph.empty()) j["graph"] = graph;
  if (!note.empty()) j["note"] = note;
  if (!uncontrolled_by.empty()) j["uncontrolled_by"] = uncontrolled_by;
  if (tightness.count()) {
    j["median_tightness"] = tightness.median();
    j["tightness"] = tightness.to_json();
  }
  return j;
}

ValuesCell ValuesCell::from_json(const nlohmann::json& j) {
  ValuesCell c;
  c.add(Verdicts::from_json(j));
  c.rebound = j["rebound"];
  c.variants = j["variants"];
  c.uncontrolled = j["uncontrolled"];
  c.uncontrolled_by = j.value("uncontrolled_by", "");
  if (j.contains("tightness")) c.tightness = controls::Histogram::from_json(j["tightness"]);
  c.shares = {j["elements"], j["ambiguous"], j["strong"]};
  for (const auto& [layout, v] : j["layouts"].items()) c.layouts[class_named(layout)] = Verdicts::from_json(v);
  for (const auto& [layout, why] : j["no_layouts"].items()) c.no_layouts[class_named(layout)] = why;
  c.finding = j.value("finding", "");
  c.graph = j.value("graph", "");
  c.note = j.value("note", "");
  return c;
}

}  // namespace lenz::oracle
