// The command: options, progress, the report in words or as JSON, the exit code.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <thread>

#include "compiler/driver/arguments.h"
#include "compiler/graph/text.h"
#include "compiler/ops/op_table.h"
#include "compiler/ops/select.h"
#include "oracle/commands.h"
#include "oracle/row_check.h"

namespace lenz::oracle {

namespace {
struct Request {
  CheckOptions options;
  int jobs = 0;
  bool json = false, lenient = false, quiet = false;
  std::vector<std::string> names;
  std::string from;
};

// Nothing to run when help was asked for.
bool parse(std::span<const std::string> args, Request& request) {
  CLI::App app("Holds rows of the op table against libtorch: schemas, result types, refusals, dtypes.",
               "lenz ops --check");
  std::string device = "both";
  app.add_option("NAME", request.names, "rows to check: a name, a packet, or a glob; none: all");
  app.add_option("--calls", request.options.calls, "generated calls per row")->check(CLI::Range(1, 1000000));
  app.add_option("--from", request.from, "a file of calls to check instead of generated ones");
  app.add_option("--illegal", request.options.illegal, "broken calls per row")->check(CLI::Range(0, 1000000));
  app.add_option("--symbolic", request.options.symbolic, "calls that are also inferred with symbols for sizes")
      ->check(CLI::Range(0, 1000000));
  app.add_option("--definitions", request.options.definitions,
                 "calls whose definition, where the row has one, runs in eager beside them")
      ->check(CLI::Range(0, 1000000));
  app.add_option("--seed", request.options.seed, "seed of all choices");
  app.add_option("--jobs", request.jobs, "worker processes; the report does not depend on them")
      ->check(CLI::Range(1, 1024));
  app.add_option("--device", device, "what judges: both (the CPU on some calls and where meta differs), meta, cpu")
      ->check(CLI::IsMember({"both", "meta", "cpu"}));
  app.add_option("--cpu-every", request.options.cpu_every, "with both: every how many calls the CPU judges too")
      ->check(CLI::Range(1, 1000000));
  bool values = false;  // handled before; here for the help text
  app.add_flag("--values", values, "values instead of types (`lenz ops --check --values --help`)");
  app.add_flag("--lenient", request.lenient, "disagreements on broken calls are shown, but don't count");
  app.add_flag("--json", request.json, "the report as JSON (oracle/ops_check.schema.json)");
  app.add_flag("--quiet", request.quiet, "no progress");
  if (!parse_arguments(app, args)) return false;
  request.options.devices = device == "meta" ? Devices::meta : device == "cpu" ? Devices::cpu : Devices::both;
  if (request.jobs == 0) request.jobs = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  return true;
}

std::string_view name(RowReport::State state) {
  constexpr std::string_view names[] = {"checked", "structural", "no_generator", "no_rule"};
  return names[state];
}

nlohmann::json dtype_names(DtypeSet set) {
  auto list = nlohmann::json::array();
  for (int d = 0; d < kDtypeCount; ++d)
    if (set.has(static_cast<Dtype>(d))) list.push_back(std::string(lenz::name(static_cast<Dtype>(d))));
  return list;
}

nlohmann::json to_json(const RowReport& r) {
  nlohmann::json row = {{"name", r.op->full_name},
                        {"packet", packet_name(*r.op)},
                        {"state", std::string(name(r.state))},
                        {"calls", r.calls},
                        {"on_meta", r.on_meta},
                        {"on_cpu", r.on_cpu},
                        {"without_meta", r.without_meta},
                        {"meta_excused", r.meta_excused},
                        {"eager_excused", r.eager_excused},
                        {"meta_text", r.meta_text},
                        {"exception", std::string(r.op->exception)},
                        {"illegal", r.illegal},
                        {"refused", r.refused},
                        {"without_kernel", r.without_kernel},
                        {"eager_crashes", r.eager_crashes},
                        {"symbolic", r.symbolic},
                        {"guarded", r.guarded},
                        {"defined", r.defined},
                        {"by_layout", r.by_layout},
                        {"dtypes", dtype_names(r.op->dtypes)},
                        {"reached", dtype_names(r.reached)},
                        {"probed", dtype_names(r.probed)},
                        {"disagreements", r.disagreements()},
                        {"refusal_disagreements", r.refusals()},
                        {"findings", nlohmann::json::array()}};
  for (const Finding& f : r.findings)
    row["findings"].push_back({{"aspect", std::string(oracle::name(f.difference.aspect))},
                               {"on_broken_call", f.on_broken_call},
                               {"count", f.count},
                               {"text", f.difference.text},
                               {"call", f.call}});
  return row;
}

struct Totals {
  long long calls = 0, on_meta = 0, on_cpu = 0, illegal = 0, symbolic = 0, guarded = 0, defined = 0;
  int rows = 0, checked = 0, structural = 0, uncovered = 0, disagreements = 0, refusals = 0, without_meta = 0,
      excused = 0, definitions = 0, agreed = 0;
};

Totals add_up(const std::vector<RowReport>& reports) {
  Totals t;
  for (const RowReport& r : reports) {
    t.rows += 1;
    t.checked += r.state == RowReport::checked;
    t.structural += r.state == RowReport::structural;
    t.uncovered += r.state == RowReport::no_generator || r.state == RowReport::no_rule;
    t.calls += r.calls;
    t.on_meta += r.on_meta;
    t.on_cpu += r.on_cpu;
    t.illegal += r.illegal;
    t.symbolic += r.symbolic;
    t.guarded += r.guarded;
    t.defined += r.defined;
    t.definitions += r.defined > 0;
    if (r.illegal == 0) t.agreed += r.refused;
    t.disagreements += r.disagreements();
    t.refusals += r.refusals();
    t.without_meta += r.without_meta > 0;
    t.excused += r.meta_excused > 0;
  }
  return t;
}

std::string indented(const std::string& text) {
  std::string out = "    ";
  for (char c : text) {
    out += c;
    if (c == '\n') out += "    ";
  }
  return out;
}

void print_findings(const std::vector<RowReport>& reports, bool broken) {
  for (const RowReport& r : reports)
    for (const Finding& f : r.findings) {
      if (f.on_broken_call != broken) continue;
      std::printf("%s: %s, %d of %d calls\n%s\n", r.op->full_name.c_str(),
                  std::string(oracle::name(f.difference.aspect)).c_str(), f.count, broken ? r.illegal : r.calls,
                  indented(f.difference.text).c_str());
      if (!f.call.empty()) std::printf("%s\n", indented(f.call).c_str());
    }
}

void print_list(const char* title, const std::vector<std::string>& names) {
  if (names.empty()) return;
  std::printf("%s (%zu):", title, names.size());
  for (const std::string& n : names) std::printf(" %s", n.c_str());
  std::printf("\n");
}

void print_report(const std::vector<RowReport>& reports, const Request& request) {
  Totals t = add_up(reports);
  print_findings(reports, false);
  if (t.refusals) {
    std::printf("\non broken calls, rule and eager differ on what is legal%s:\n",
                request.lenient ? " (--lenient: not counted)" : "");
    print_findings(reports, true);
  }
  std::vector<std::string> without_meta, excused, uncovered, unreached, crashes, quoted, by_layout;
  for (const RowReport& r : reports) {
    if (r.without_meta) without_meta.push_back(r.op->full_name);
    if (r.meta_excused) excused.push_back(r.op->full_name);
    if (r.eager_excused) quoted.push_back(r.op->full_name);
    if (r.eager_crashes) crashes.push_back(r.op->full_name);
    if (r.by_layout) by_layout.push_back(r.op->full_name);
    if (r.state == RowReport::no_generator || r.state == RowReport::no_rule) uncovered.push_back(r.op->full_name);
    if (r.state == RowReport::checked && !r.op->base && !r.reached.empty() && !(r.op->dtypes - r.reached).empty() &&
        r.calls >= 200)
      unreached.push_back(r.op->full_name);
  }
  print_list("judged on the CPU, for libtorch's meta device refuses", without_meta);
  print_list("meta differs from eager, as the row's exception says", excused);
  print_list("what is legal differs, in words that the row's exception quotes", quoted);
  print_list("eager's values depend on how operands lie in memory; of dense ones it agrees with the definition",
             by_layout);
  print_list("eager kills its process: on broken calls, unsupported dtypes, or as the row's exception says", crashes);
  print_list("dtypes of the row that its generator did not reach", unreached);
  print_list("not covered: no generator or no rule", uncovered);
  std::printf(
      "%d rows checked (%d structural, %d not covered), %lld calls: %lld on meta, %lld on the CPU; "
      "%lld with symbols (%lld guarded), %lld broken ones; seed %llu\n",
      t.checked, t.structural, t.uncovered, t.calls, t.on_meta, t.on_cpu, t.symbolic, t.guarded, t.illegal,
      static_cast<unsigned long long>(request.options.seed));
  if (t.definitions) std::printf("%d definitions run beside their ops on %lld calls\n", t.definitions, t.defined);
  if (t.agreed) std::printf("%d given calls are refused by row and eager alike\n", t.agreed);
  std::printf("%d disagreements, %d on broken calls\n", t.disagreements, t.refusals);
}

void print_json(const std::vector<RowReport>& reports, const Request& request) {
  Totals t = add_up(reports);
  nlohmann::json all = {{"seed", request.options.seed},
                        {"calls_per_row", request.options.calls},
                        {"totals",
                         {{"rows", t.rows},
                          {"checked", t.checked},
                          {"structural", t.structural},
                          {"not_covered", t.uncovered},
                          {"calls", t.calls},
                          {"on_meta", t.on_meta},
                          {"on_cpu", t.on_cpu},
                          {"symbolic", t.symbolic},
                          {"guarded", t.guarded},
                          {"defined", t.defined},
                          {"illegal", t.illegal},
                          {"rows_without_meta", t.without_meta},
                          {"rows_meta_excused", t.excused},
                          {"disagreements", t.disagreements},
                          {"refusal_disagreements", t.refusals}}},
                        {"rows", nlohmann::json::array()}};
  for (const RowReport& r : reports) all["rows"].push_back(to_json(r));
  std::printf("%s\n", all.dump(1, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
}
}  // namespace

ExitCode ops_check_command(std::span<const std::string> args) {
  if (std::ranges::find(args, "--values") != args.end()) {
    std::vector<std::string> others;
    std::ranges::copy_if(args, std::back_inserter(others), [](const std::string& a) { return a != "--values"; });
    return values_check_command(others);
  }
  Request request;
  if (!parse(args, request)) return ExitCode::fine;
  const OpTable& table = op_table();
  std::vector<const OpDef*> rows = select_rows(table, request.names);
  std::map<std::string, std::vector<CallText>> given;
  if (!request.from.empty()) {
    given = calls_by_row(read_text(request.from, size_t{1} << 30), table);
    std::erase_if(rows, [&](const OpDef* op) { return !given.contains(op->full_name); });
    request.options.given = &given;
  }
  bool terminal = isatty(STDERR_FILENO) != 0 && !request.quiet;
  auto progress = [&](const Progress& p) {
    if (terminal) std::fprintf(stderr, "\r%zu of %zu rows, %d disagreements ", p.done, p.total, p.disagreements);
  };
  std::vector<RowReport> reports = check_rows(rows, table, request.options, request.jobs, progress);
  if (terminal) std::fputs("\r\033[K", stderr);
  if (request.json) {
    print_json(reports, request);
  } else {
    print_report(reports, request);
  }
  Totals t = add_up(reports);
  if (t.disagreements || (!request.lenient && t.refusals)) return ExitCode::wrong;
  return t.uncovered || t.checked == 0 ? ExitCode::not_covered : ExitCode::fine;
}

}  // namespace lenz::oracle
