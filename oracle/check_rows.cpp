// Rows in worker processes: how their reports travel, and what a death means.
#include <nlohmann/json.hpp>

#include "oracle/row_check.h"

namespace lenz::oracle {

namespace {
using nlohmann::json;

std::string packed(const RowReport& r) {
  json findings = json::array();
  for (const Finding& f : r.findings)
    findings.push_back({static_cast<int>(f.difference.aspect), f.difference.text, f.call, f.on_broken_call, f.count});
  json all = {static_cast<int>(r.state),
              r.calls,
              r.on_meta,
              r.on_cpu,
              r.without_meta,
              r.meta_excused,
              r.eager_excused,
              r.illegal,
              r.refused,
              r.without_kernel,
              r.eager_crashes,
              r.symbolic,
              r.guarded,
              r.defined,
              r.by_layout,
              r.reached.bits,
              r.probed.bits,
              r.meta_text,
              findings};
  // What eager says in its errors is not always UTF-8.
  return all.dump(-1, ' ', false, json::error_handler_t::replace);
}

RowReport unpacked(const OpDef* op, const std::string& text) {
  json all = json::parse(text);
  RowReport r;
  r.op = op;
  r.state = static_cast<RowReport::State>(all[0].get<int>());
  int* numbers[] = {&r.calls,         &r.on_meta, &r.on_cpu,  &r.without_meta,   &r.meta_excused,
                    &r.eager_excused, &r.illegal, &r.refused, &r.without_kernel, &r.eager_crashes,
                    &r.symbolic,      &r.guarded, &r.defined, &r.by_layout};
  size_t at = 1;
  for (int* n : numbers) *n = all[at++];
  r.reached = DtypeSet(all[at++].get<uint32_t>());
  r.probed = DtypeSet(all[at++].get<uint32_t>());
  r.meta_text = all[at++];
  for (const json& f : all[at]) r.findings.push_back({{static_cast<Aspect>(f[0].get<int>()), f[1]}, f[2], f[3], f[4]});
  return r;
}
}  // namespace

std::vector<RowReport> check_rows(std::span<const OpDef* const> rows, const OpTable& table, const CheckOptions& options,
                                  int jobs, const std::function<void(const Progress&)>& progress) {
  constexpr size_t kDeathsPerRow = 20;
  std::vector<RowReport> reports(rows.size());
  std::vector<std::vector<Death>> deaths(rows.size());
  int disagreements = 0;
  WorkerCalls calls;
  calls.work = [&](size_t task, Place& place) {
    quieten_libtorch();
    return packed(check_row(*rows[task], table, options, place, deaths[task]));
  };
  calls.done = [&](size_t task, const std::string& result) {
    reports[task] = unpacked(rows[task], result);
    disagreements += reports[task].disagreements();
  };
  calls.died = [&](size_t task, const Death& death) {
    deaths[task].push_back(death);
    if (deaths[task].size() < kDeathsPerRow) return true;
    reports[task].op = rows[task];
    reports[task].findings.push_back(
        {{Aspect::crash, "the process died again and again, last by " + death.text()}, {}, false, 1});
    return false;
  };
  calls.tick = [&](size_t done) {
    if (progress) progress({done, rows.size(), disagreements});
  };
  // Eager may write where it should not before it dies, and live on for a while.
  run_in_workers(rows.size(), jobs, {.fresh = true}, calls);
  return reports;
}

}  // namespace lenz::oracle
