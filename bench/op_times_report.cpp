// Times of single ops for people: what is ours, the slowest beside eager first, then what has no time, and why.
#include <algorithm>
#include <cstdio>
#include <map>

#include "bench/op_times.h"

namespace lenz::bench {

std::string_view name(Computed by) {
  constexpr std::string_view names[] = {"ours", "library", "nobody"};
  return names[static_cast<size_t>(by)];
}

double OpCallTimes::ratio() const { return ours.best > 0 ? eager.best / ours.best : 0; }

std::vector<const OpCallTimes*> OpTimesReport::timed(Computed by) const {
  std::vector<const OpCallTimes*> list;
  for (const OpRow& row : rows)
    for (const OpCallTimes& call : row.calls)
      if (call.by == by && call.ratio() > 0) list.push_back(&call);
  std::ranges::stable_sort(list, {}, [](const OpCallTimes* call) { return call->ratio(); });
  return list;
}

namespace {
constexpr double kSlower = 1.3;  // eager's time that we may take before a row counts as slower

void print_list(std::FILE* out, const char* what, const std::map<std::string, std::vector<std::string>>& by_reason) {
  for (const auto& [why, names] : by_reason) {
    std::fprintf(out, "%s, %zu: %s:", what, names.size(), why.substr(0, why.find('\n')).c_str());
    for (const std::string& n : names) std::fprintf(out, " %s", n.c_str());
    std::fprintf(out, "\n");
  }
}
}  // namespace

void OpTimesReport::print(std::FILE* out) const {
  std::fprintf(out, "%-50s %10s %10s %7s  call\n", "", "ms", "eager", "ratio");
  size_t slower = 0;
  const std::vector<const OpCallTimes*> ours = timed(Computed::ours);
  for (const OpCallTimes* call : ours) {
    std::fprintf(out, "%-50s %10.4f %10.4f %7.2f  %s\n", call->name.c_str(), call->ours.best, call->eager.best,
                 call->ratio(), call->text.c_str());
    slower += call->ratio() < 1 / kSlower;
  }
  std::map<std::string, std::vector<std::string>> none, failed;
  size_t with_calls = 0;
  for (const OpRow& row : rows) {
    with_calls += !row.calls.empty();
    if (row.calls.empty()) none[row.none].push_back(row.op);
    for (const OpCallTimes& call : row.calls)
      if (!call.failed.empty()) failed[call.failed].push_back(call.name);
  }
  print_list(out, "no calls", none);
  print_list(out, "not timed", failed);
  std::fprintf(out,
               "%zu rows, %zu with calls, %s, at most %lld elements; calls: %zu ours, of these %zu take more than %.1f "
               "times as long as eager; %zu computed by libtorch, %zu by nobody\n",
               rows.size(), with_calls, std::string(lenz::name(dtype)).c_str(), static_cast<long long>(elements),
               ours.size(), slower, kSlower, timed(Computed::library).size(), timed(Computed::nobody).size());
}

}  // namespace lenz::bench
