// What was measured, as a table for people and as JSON.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "bench/peers.h"

namespace lenz::bench {

double PeerRow::ms(const std::string& subject) const {
  auto found = std::ranges::find(subjects, subject, &Measured::subject);
  return found == subjects.end() ? 0 : found->times.best;
}

const Measured* PeerRow::best_peer() const {
  const Measured* best = nullptr;
  for (size_t i = 1; i < subjects.size(); ++i)
    if (const double ms = subjects[i].times.best; ms > 0 && (best == nullptr || ms < best->times.best))
      best = &subjects[i];
  return best;
}

double PeerRow::ratio() const {
  const Measured* best = best_peer();
  return best && ms("lenz") > 0 ? best->times.best / ms("lenz") : 0;
}

double PeerRow::roof() const { return std::max(memory.best, arithmetic_ms); }

double PeerRow::roofline() const { return ms("lenz") > 0 ? roof() / ms("lenz") : 0; }

double PeersReport::geomean(double cap) const {
  double sum = 0;
  size_t count = 0;
  for (const PeerRow& row : rows) {
    if (!row.own || row.ratio() == 0) continue;
    sum += std::log(std::min(cap, row.ratio()));
    ++count;
  }
  return count == 0 ? 0 : std::exp(sum / static_cast<double>(count));
}

namespace {
nlohmann::json number_or_null(double x) { return x > 0 ? nlohmann::json(x) : nlohmann::json(); }

std::string check_of(const PeerRow& row) {
  if (!row.wrong.empty()) return "wrong";
  return row.unchecked.empty() && row.failed.empty() ? "right" : "none";
}

nlohmann::json row_json(const PeerRow& row) {
  nlohmann::json ms = nlohmann::json::object(), median = ms, first = nlohmann::json::object(),
                 failed = nlohmann::json::object();
  for (const Measured& m : row.subjects) {
    if (m.times.best > 0) {
      ms[m.subject] = m.times.best;
      median[m.subject] = m.times.median;
    }
    if (m.first_seconds > 0) first[m.subject] = m.first_seconds;
    if (!m.failed.empty()) failed[m.subject] = m.failed;
  }
  nlohmann::json j = {{"name", row.name},       {"own", row.own},   {"ms", ms},         {"median_ms", median},
                      {"first_seconds", first}, {"failed", failed}, {"read", row.read}, {"written", row.written}};
  j["ratio"] = number_or_null(row.ratio());
  j["roofline"] = number_or_null(row.roofline());
  j["memory_ms"] = row.memory.best;
  j["arithmetic_ms"] = row.arithmetic_ms;
  j["primitives"] = row.work.primitives;
  j["operations"] = row.work.simple + row.work.products + row.work.narrow;
  j["roof_failed"] = row.roof_failed;
  j["open_ms"] = row.dynamic.times.best;
  j["open_constants"] = row.constants;
  j["open_failed"] = row.dynamic.failed;
  if (row.share)
    j["share"] = {{"nodes", row.share->nodes()},
                  {"bytes", row.share->bytes()},
                  {"time", row.share->time()},
                  {"without_loops", row.share->without_loops}};
  j["check"] = check_of(row);
  j["why"] = row.wrong + row.unchecked;
  j["neighbours"] = nlohmann::json::array();
  for (const PeerRow& n : row.neighbours) {
    nlohmann::json sizes = nlohmann::json::object();
    for (const auto& [size, value] : n.sizes) sizes[size] = value;
    j["neighbours"].push_back({{"name", n.name},
                               {"sizes", sizes},
                               {"ms", n.ms("lenz")},
                               {"roofline", number_or_null(n.roofline())},
                               {"check", check_of(n)},
                               {"why", n.failed + n.wrong + n.unchecked}});
  }
  return j;
}

// A time in three digits, in a column of its own.
std::string cell(double ms) {
  if (ms <= 0) return "-";
  char text[32];
  std::snprintf(text, sizeof text, ms < 10 ? "%.3f" : ms < 100 ? "%.2f" : "%.1f", ms);
  return text;
}

void print_row(std::FILE* out, const PeerRow& row, size_t peers) {
  std::fprintf(out, "%-30s", row.name.c_str());
  for (size_t i = 0; i <= peers; ++i)
    std::fprintf(out, " %12s", i < row.subjects.size() ? cell(row.subjects[i].times.best).c_str() : "");
  const double gbs = row.memory.best > 0 ? (row.read + row.written) / row.memory.best / 1e6 : 0;
  std::fprintf(out, " %6.2f %9.2f %9s %11s %8.1f\n", row.ratio(), row.roofline(), cell(row.memory.best).c_str(),
               cell(row.arithmetic_ms).c_str(), gbs);
  if (!row.wrong.empty()) std::fprintf(out, "    WRONG: %s\n", row.wrong.c_str());
  if (!row.unchecked.empty()) std::fprintf(out, "    not checked: %s\n", row.unchecked.c_str());
  if (!row.roof_failed.empty())
    std::fprintf(out, "    arithmetic not measured: %s\n",
                 row.roof_failed.substr(0, row.roof_failed.find('\n')).c_str());
  for (const Measured& m : row.subjects) {
    const std::string first = m.failed.substr(0, m.failed.find('\n'));
    if (!first.empty()) std::fprintf(out, "    %s: %s\n", m.subject.c_str(), first.c_str());
  }
  if (row.dynamic.times.best > 0)
    std::fprintf(out, "    with its sizes open: %s, %.2f of the time%s\n", cell(row.dynamic.times.best).c_str(),
                 row.dynamic.times.best / row.ms("lenz"),
                 row.constants == 0
                     ? ""
                     : (" (" + std::to_string(row.constants) + " of them short, and numbers in the code)").c_str());
  if (!row.dynamic.failed.empty())
    std::fprintf(out, "    with its sizes open: %s\n",
                 row.dynamic.failed.substr(0, row.dynamic.failed.find('\n')).c_str());
  if (row.share) {
    std::fprintf(out, "    our own code, products aside: %.0f %% of nodes, %.0f %% of bytes, %.0f %% of the time",
                 100 * row.share->nodes(), 100 * row.share->bytes(), 100 * row.share->time());
    for (const std::string& op : row.share->without_loops) std::fprintf(out, "; %s", op.c_str());
    std::fputs("\n", out);
  }
  for (const PeerRow& n : row.neighbours) print_row(out, n, peers);
}
}  // namespace

nlohmann::json PeersReport::to_json() const {
  nlohmann::json j = {{"torch", torch},
                      {"cpu", cpu},
                      {"threads", threads},
                      {"load", {load_before, load_after}},
                      {"rows", nlohmann::json::array()}};
  for (const PeerRow& row : rows) j["rows"].push_back(row_json(row));
  j["geomean_own_capped"] = geomean(3);
  return j;
}

void PeersReport::print(std::FILE* out) const {
  size_t peers = 0;
  const PeerRow* widest = nullptr;
  for (const PeerRow& row : rows)
    if (row.subjects.size() > peers + 1 || widest == nullptr) widest = &row, peers = row.subjects.size() - 1;
  std::fprintf(out,
               "%s, %d threads, torch %s, load %.1f before and %.1f after; milliseconds, each side's best call\n%-30s",
               cpu.c_str(), threads, torch.c_str(), load_before, load_after, "row");
  for (size_t i = 0; widest && i <= peers; ++i) std::fprintf(out, " %12s", widest->subjects[i].subject.c_str());
  std::fprintf(out, " %6s %9s %9s %11s %8s\n", "ratio", "roofline", "memory ms", "arithmetic", "GB/s");
  for (const PeerRow& row : rows) print_row(out, row, peers);
  std::fputs(
      "ratio: the best peer's time by ours; roofline: the time that memory needs for the row's bytes, or arithmetic "
      "for "
      "its\nprimitives, whichever is longer, by ours\n",
      out);
  if (geomean(3) > 0)
    std::fprintf(out, "geomean of ratios, each at most 3, of rows of our own code alone: %.3f\n", geomean(3));
}

}  // namespace lenz::bench
