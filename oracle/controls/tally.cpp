// Tallies added up, and as JSON (controls.schema.json).
#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "oracle/controls/controls.h"

namespace lenz::oracle::controls {

namespace {
using nlohmann::json;

template <class T>
void add(T& to, const T& from) {
  to += from;
}
void add(MutantTally& to, const MutantTally& from) {
  to.made += from.made;
  for (int c = 0; c < kCriteria; ++c) to.killed[c] += from.killed[c];
}
template <class K, class V>
void add(std::map<K, V>& to, const std::map<K, V>& from);
void add(SurvivorTally& to, const SurvivorTally& from) {
  for (int i = 0; i < kStandings; ++i) to.counts[i] += from.counts[i];
  to.beyond.merge(from.beyond);
}
void add(Histogram& to, const Histogram& from) { to.merge(from); }
void add(OpTally& to, const OpTally& from) {
  for (auto count : {&OpTally::tensors, &OpTally::elements, &OpTally::open, &OpTally::strong}) to.*count += from.*count;
  to.tightness.merge(from.tightness);
}
void add(DtypeTally& to, const DtypeTally& from);
template <class K, class V>
void add(std::map<K, V>& to, const std::map<K, V>& from) {
  for (const auto& [key, value] : from) add(to[key], value);
}
void add(DtypeTally& to, const DtypeTally& from) {
  for (auto count : {&DtypeTally::graphs, &DtypeTally::refused, &DtypeTally::nodes, &DtypeTally::weak,
                     &DtypeTally::elements, &DtypeTally::strong, &DtypeTally::ambiguous, &DtypeTally::runs,
                     &DtypeTally::eager_alarms, &DtypeTally::extremes, &DtypeTally::extreme_alarms})
    to.*count += from.*count;
  for (int s = 0; s < kScopes; ++s) {
    for (int c = 0; c < kCriteria; ++c) to.alarms[s][c] += from.alarms[s][c];
    add(to.mutants[s], from.mutants[s]);
  }
  add(to.survivors, from.survivors);
  add(to.ops, from.ops);
  add(to.tightness, from.tightness);
}

json by_criterion(const uint64_t* counts) {
  json j = json::object();
  for (int c = 0; c < kCriteria; ++c) j[std::string(name(static_cast<Criterion>(c)))] = counts[c];
  return j;
}
void by_criterion(const json& j, uint64_t* counts) {
  for (int c = 0; c < kCriteria; ++c) counts[c] = j.at(std::string(name(static_cast<Criterion>(c))));
}

json to_json(const DtypeTally& t) {
  json j = {{"graphs", t.graphs},
            {"refused", t.refused},
            {"nodes", t.nodes},
            {"weak", t.weak},
            {"elements", t.elements},
            {"strong", t.strong},
            {"ambiguous", t.ambiguous},
            {"runs", t.runs},
            {"eager_alarms", t.eager_alarms},
            {"extremes", t.extremes},
            {"extreme_alarms", t.extreme_alarms},
            {"scopes", json::object()},
            {"survivors", json::object()},
            {"ops", json::object()},
            {"tightness", json::array()}};
  for (int s = 0; s < kScopes; ++s) {
    json scope = {{"alarms", by_criterion(t.alarms[s])}, {"mutants", json::object()}};
    for (const auto& [mutant, m] : t.mutants[s])
      scope["mutants"][mutant] = {{"made", m.made}, {"killed", by_criterion(m.killed)}};
    j["scopes"][std::string(kScopeNames[s])] = scope;
  }
  for (const auto& [mutant, m] : t.survivors) {
    json one = {{"survivors", m.survivors()}, {"factors", m.beyond.to_json()}, {"median_factor", m.beyond.median()}};
    for (int i = 0; i < kStandings; ++i) one[std::string(kStandingNames[i])] = m.counts[i];
    j["survivors"][mutant] = std::move(one);
  }
  for (const auto& [op, o] : t.ops)
    j["ops"][op] = {{"tensors", o.tensors}, {"elements", o.elements},         {"open", o.open},
                    {"strong", o.strong},   {"median", o.tightness.median()}, {"histogram", o.tightness.to_json()}};
  for (const auto& [length, h] : t.tightness)
    j["tightness"].push_back(
        {{"longest", length}, {"tensors", h.count()}, {"median", h.median()}, {"histogram", h.to_json()}});
  return j;
}

// JSON has no other numbers than finite ones.
json number_json(double x) { return std::isfinite(x) ? json(x) : json(std::isnan(x) ? "nan" : x > 0 ? "inf" : "-inf"); }
double number_of(const json& j) { return j.is_number() ? j.get<double>() : std::stod(j.get<std::string>()); }

Standing standing_named(const std::string& name) {
  for (int i = 0; i < kStandings; ++i)
    if (kStandingNames[i] == name) return static_cast<Standing>(i);
  throw UserError("no survivor stands '" + name + "'");
}

DtypeTally dtype_from(const json& j) {
  DtypeTally t;
  t.graphs = j.at("graphs"), t.refused = j.at("refused"), t.nodes = j.at("nodes"), t.weak = j.at("weak");
  t.elements = j.at("elements"), t.strong = j.at("strong"), t.ambiguous = j.at("ambiguous"), t.runs = j.at("runs");
  t.eager_alarms = j.at("eager_alarms"), t.extremes = j.at("extremes"), t.extreme_alarms = j.at("extreme_alarms");
  for (int s = 0; s < kScopes; ++s) {
    const json& scope = j.at("scopes").at(std::string(kScopeNames[s]));
    by_criterion(scope.at("alarms"), t.alarms[s]);
    for (const auto& [mutant, m] : scope.at("mutants").items()) {
      t.mutants[s][mutant].made = m.at("made");
      by_criterion(m.at("killed"), t.mutants[s][mutant].killed);
    }
  }
  for (const auto& [mutant, m] : j.at("survivors").items()) {
    SurvivorTally& to = t.survivors[mutant];
    for (int i = 0; i < kStandings; ++i) to.counts[i] = m.at(std::string(kStandingNames[i]));
    to.beyond = Histogram::from_json(m.at("factors"));
  }
  for (const auto& [op, o] : j.at("ops").items())
    t.ops[op] = {o.at("tensors"), o.at("elements"), o.at("open"), o.at("strong"),
                 Histogram::from_json(o.at("histogram"))};
  for (const json& h : j.at("tightness"))
    t.tightness[h.at("longest").get<uint64_t>()] = Histogram::from_json(h.at("histogram"));
  return t;
}
}  // namespace

void Tally::merge(const Tally& other) {
  add(dtypes, other.dtypes);
  add(unsupported, other.unsupported);
  alarms.insert(alarms.end(), other.alarms.begin(), other.alarms.end());
  std::ranges::stable_sort(alarms, [](const Alarm& a, const Alarm& b) {  // those of legal variants first
    return std::tuple(a.by == "eager", a.index, a.variant) < std::tuple(b.by == "eager", b.index, b.variant);
  });
  if (alarms.size() > kAlarmsKept) alarms.resize(kAlarmsKept);
  unreached.insert(unreached.end(), other.unreached.begin(), other.unreached.end());
  std::ranges::stable_sort(unreached, [](const Unreached& a, const Unreached& b) {
    return std::tie(a.index, a.mutant) < std::tie(b.index, b.mutant);
  });
}

json Tally::to_json() const {
  json j = {{"dtypes", json::object()},
            {"alarms", json::array()},
            {"unreached", json::array()},
            {"unsupported", unsupported}};
  for (const auto& [dtype, t] : dtypes) j["dtypes"][dtype] = controls::to_json(t);
  for (const Alarm& a : alarms)
    j["alarms"].push_back({{"dtype", a.dtype},
                           {"by", a.by},
                           {"summary", a.summary},
                           {"graph", a.text},
                           {"index", a.index},
                           {"variant", a.variant},
                           {"choices", a.choices}});
  for (const Unreached& b : unreached)
    j["unreached"].push_back({{"standing", kStandingNames[static_cast<int>(b.standing)]},
                              {"dtype", b.dtype},
                              {"mutant", b.mutant},
                              {"op", b.op},
                              {"graph", b.text},
                              {"index", b.index},
                              {"result", b.result},
                              {"element", b.element},
                              {"factor", number_json(b.factor)},
                              {"expected", number_json(b.expected)},
                              {"got", number_json(b.got)},
                              {"bound", number_json(b.bound)},
                              {"reached", number_json(b.reached)}});
  return j;
}

Tally Tally::from_json(const json& j) {
  Tally t;
  t.unsupported = j.at("unsupported").get<std::map<std::string, uint64_t>>();
  for (const auto& [dtype, tally] : j.at("dtypes").items()) t.dtypes[dtype] = dtype_from(tally);
  for (const json& a : j.at("alarms"))
    t.alarms.push_back({a.at("dtype"), a.at("by"), a.at("summary"), a.at("graph"), a.at("index"), a.at("variant"),
                        a.at("choices").get<std::vector<std::string>>()});
  for (const json& b : j.at("unreached"))
    t.unreached.push_back({standing_named(b.at("standing").get<std::string>()), b.at("dtype"), b.at("mutant"),
                           b.at("op"), b.at("graph"), b.at("index"), b.at("result"), b.at("element"),
                           number_of(b.at("factor")), number_of(b.at("expected")), number_of(b.at("got")),
                           number_of(b.at("bound")), number_of(b.at("reached"))});
  return t;
}

}  // namespace lenz::oracle::controls
