// `lenz ops --check --values`: the table of rows by dtypes, in words or as JSON.
#include <unistd.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <thread>

#include "compiler/backend/llvm/target.h"
#include "compiler/driver/arguments.h"
#include "compiler/graph/text.h"
#include "compiler/ops/op_table.h"
#include "compiler/ops/select.h"
#include "oracle/commands.h"
#include "oracle/values_check.h"

namespace lenz::oracle {

namespace {
struct ValuesTotals : Verdicts {
  long long rebound = 0, variants = 0, uncontrolled = 0;
  long long cells = 0, without_verdict = 0;  // of the cells: those where none passed or was weak
  Shares shares;
  std::map<LayoutClass, Verdicts> layouts;
  std::map<LayoutClass, std::map<std::string, int>> no_layouts;  // of cells: why they have none
};

ValuesTotals add_up(const std::vector<ValuesRow>& rows) {
  ValuesTotals t;
  for (const ValuesRow& row : rows)
    for (const auto& [dtype, c] : row.cells) {
      ++t.cells;
      t.without_verdict += c.judged() == 0;
      t.add(c);
      t.rebound += c.rebound;
      t.variants += c.variants;
      t.uncontrolled += c.uncontrolled;
      t.shares.add(c.shares);
      for (const auto& [layout, v] : c.layouts) t.layouts[layout].add(v);
      for (const auto& [layout, why] : c.no_layouts) ++t.no_layouts[layout][why];
    }
  return t;
}

void print_json(const std::vector<ValuesRow>& rows, const ValuesOptions& options) {
  ValuesTotals t = add_up(rows);
  nlohmann::json totals = t.to_json(true);
  totals["cells"] = t.cells;
  totals["cells_without_verdict"] = t.without_verdict;
  totals["rebound"] = t.rebound;
  totals["variants"] = t.variants;
  totals["uncontrolled"] = t.uncontrolled;
  totals["elements"] = t.shares.elements;
  totals["ambiguous"] = t.shares.ambiguous;
  totals["strong"] = t.shares.strong;
  nlohmann::json layouts = nlohmann::json::object();
  for (const auto& [layout, v] : t.layouts) layouts[std::string(lenz::name(layout))] = v.to_json(false);
  nlohmann::json all = {{"seed", options.seed},
                        {"calls_per_cell", options.calls},
                        {"totals", std::move(totals)},
                        {"layouts", std::move(layouts)},
                        {"rows", nlohmann::json::array()}};
  for (const ValuesRow& row : rows) {
    nlohmann::json r = {{"name", row.op->full_name}, {"cells", nlohmann::json::object()}};
    if (row.cells.empty()) r["note"] = row.op->generate ? "no dtype" : "no generator: Lenz's own plumbing";
    for (const auto& [dtype, cell] : row.cells) r["cells"][std::string(lenz::name(dtype))] = cell.to_json();
    all["rows"].push_back(std::move(r));
  }
  std::printf("%s\n", all.dump(1, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
}

// By row: how wide its bounds are beside what legal variants reach, the widest first; and why others have none.
void print_tightness(const std::vector<ValuesRow>& rows, const ValuesTotals& t) {
  std::vector<std::pair<double, std::string>> by_row;
  std::map<std::string, std::vector<std::string>> without;
  for (const ValuesRow& row : rows) {
    controls::Histogram all;
    std::string why;
    for (const auto& [dtype, c] : row.cells) {
      all.merge(c.tightness);
      if (c.variants == 0 && why.empty() && is_floating(dtype)) why = c.uncontrolled_by;
    }
    if (all.count())
      by_row.emplace_back(all.median(), row.op->full_name);
    else if (!why.empty())
      without[why].push_back(row.op->full_name);
  }
  std::ranges::sort(by_row, std::greater<>());
  for (const auto& [why, names] : without) {
    std::printf("no variants of %zu rows: %s:", names.size(), why.c_str());
    for (const std::string& name : names) std::printf(" %s", name.c_str());
    std::printf("\n");
  }
  std::printf("%lld legal variants; %lld calls have none\n", t.variants, t.uncontrolled);
  if (by_row.empty()) return;
  const auto wide = std::ranges::count_if(by_row, [](const auto& r) { return r.first > 30; });
  std::printf(
      "bound over the worst deviation that they reach, medians of %zu rows: half are up to %.3g; above 30: %td\n",
      by_row.size(), by_row[by_row.size() / 2].first, wide);
  for (size_t i = 0; i < by_row.size() && (by_row[i].first > 30 || i < 5); ++i)
    std::printf("  %s: %.3g\n", by_row[i].second.c_str(), by_row[i].first);
}

// How many calls lie in each class, and of the cells without one why.
void print_layouts(const ValuesTotals& t) {
  std::printf("calls with a verdict, by the layouts of their operands (a call may have several):\n");
  for (size_t k = 0; k < kLayoutClasses; ++k) {
    const auto layout = static_cast<LayoutClass>(k);
    const auto found = t.layouts.find(layout);
    const Verdicts v = found == t.layouts.end() ? Verdicts{} : found->second;
    std::printf("  %-13s %7d, %d wrong", std::string(lenz::name(layout)).c_str(), v.judged(), v.wrong);
    const auto none = t.no_layouts.find(layout);
    if (none != t.no_layouts.end()) {
      int cells = 0;
      std::vector<std::pair<int, std::string>> most;
      for (const auto& [why, count] : none->second) {
        cells += count;
        most.emplace_back(count, why);
      }
      std::ranges::sort(most, std::greater<>());
      std::string reasons;
      for (const auto& [count, why] : most) reasons += ", " + why + " (" + std::to_string(count) + ")";
      std::printf("; none in %d cells: %s", cells, reasons.c_str() + 2);
    }
    std::printf("\n");
  }
}

void print_words(const std::vector<ValuesRow>& rows, const ValuesOptions& options) {
  ValuesTotals t = add_up(rows);
  for (const ValuesRow& row : rows)
    for (const auto& [dtype, c] : row.cells) {
      if (c.finding.empty()) continue;
      std::printf("%s in %s: %d of %d calls\n    %s\n%s\n", row.op->full_name.c_str(),
                  std::string(lenz::name(dtype)).c_str(), c.wrong + c.died, c.calls, c.finding.c_str(),
                  c.graph.c_str());
    }
  for (const ValuesRow& row : rows)
    for (const auto& [dtype, c] : row.cells)
      if (c.judged() == 0)
        std::printf("no verdict: %s in %s: %s\n", row.op->full_name.c_str(), std::string(lenz::name(dtype)).c_str(),
                    c.note.c_str());
  auto share = [&](uint64_t part) {
    return t.shares.elements ? 100.0 * static_cast<double>(part) / static_cast<double>(t.shares.elements) : 0.0;
  };
  std::printf(
      "%zu rows, %lld cells of row and dtype (%lld without a verdict), %d calls: %d passed, %d weak, %d without a "
      "bound, "
      "%d refused by eager, %d where eager is known to be at fault, %d wrong, %d died; seed %llu\n",
      rows.size(), t.cells, t.without_verdict, t.calls, t.passed, t.weak, t.unbounded, t.refused, t.known, t.wrong,
      t.died, static_cast<unsigned long long>(options.seed));
  if (!options.rebind) print_layouts(t);
  if (options.variants) print_tightness(rows, t);
  if (options.on_loops) std::printf("%d calls of ops that have no loops, or no code\n", t.unlowered);
  if (options.rebind) std::printf("%lld programs served four sizes or more, each alone\n", t.rebound);
  std::printf("of %llu elements %.2f %% were judged within 2^-6 of their value, %.2f %% are ambiguous\n",
              static_cast<unsigned long long>(t.shares.elements), share(t.shares.strong), share(t.shares.ambiguous));
}
}  // namespace

ExitCode values_check_command(std::span<const std::string> args) {
  CLI::App app(
      "Runs generated calls of rows in eager and judges them by the float64 reference and its error bounds.\nExit "
      "codes: 0 none is wrong; 7 some are; 6 nothing could be judged.",
      "lenz ops --check --values");
  ValuesOptions options;
  std::vector<std::string> names, dtypes;
  std::string known, from;
  int jobs = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  bool json = false, quiet = false;
  app.add_option("NAME", names, "rows to check: a name, a packet, or a glob; none: all");
  app.add_option("--calls", options.calls,
                 "calls of each row in each of its dtypes, as far as it has any: each passes, or is weak, wrong, "
                 "known, without a "
                 "bound or refused")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  app.add_option("--seed", options.seed, "seed of all choices")->capture_default_str();
  app.add_option("--dtype", dtypes, "only rows' cells of these dtypes; a row that has none of them keeps its own");
  app.add_option("--jobs", jobs, "worker processes")->check(CLI::Range(1, 1024));
  app.add_option("--llvm", options.target,
                 "judge what the loops give as machine code for a target that runs here: best, avx512, avx2 or generic "
                 "(an odd --seed: on two "
                 "threads)");
  app.add_flag("--loops", options.on_loops,
               "judge what the compiler's loops give on the interpreter, instead of what eager gives");
  app.add_flag("--special", options.special,
               "NaN, infinities, zeros, subnormals, largest and smallest among the operands' values");
  app.add_option("--variants", options.variants,
                 "legal ways to compute each call, none of which may be called wrong, and how wide its bounds are "
                 "beside what they reach")
      ->check(CLI::Range(0, 100000));
  app.add_flag("--rebind", options.rebind,
               "with --loops: symbols for sizes, and one program at 0, 1, primes and others, as its facts allow");
  app.add_option("--from", from, "a file of calls to judge instead of generated ones");
  app.add_option("--known", known,
                 "a file of what is known of eager's own faults; without it the list that Lenz has, "
                 "oracle/values_known.txt, or of loops oracle/loops_known.txt; none: no list");
  app.add_flag("--json", json, "the table as JSON (oracle/values_check.schema.json)");
  app.add_flag("--quiet", quiet, "no progress");
  if (!parse_arguments(app, args)) return ExitCode::fine;

  if (!dtypes.empty()) options.dtypes = {};
  for (const std::string& text : dtypes) {
    const auto dtype = parse_dtype(text);
    if (!dtype)
      throw UserError("no dtype '" + text + "'", "lenz ops --check --values", "for example f32, i64, bool, c64");
    options.dtypes = options.dtypes | DtypeSet::of(*dtype);
  }
  if (!options.target.empty())
    options.target = native::runnable_target(options.target == "best" ? "" : options.target).name;
  options.on_loops = options.on_loops || !options.target.empty();
  if (options.rebind && (!options.on_loops || options.special || !from.empty()))
    throw UserError("--rebind goes with --loops, and with neither --special nor --from", "lenz ops --check --values");
  if (options.variants && (options.on_loops || options.special))
    throw UserError("--variants goes with neither --loops, --llvm nor --special", "lenz ops --check --values");
  if (known.empty()) {
    const auto own = options.on_loops ? known_openings() : known_faults();
    options.known.assign(own.begin(), own.end());
  } else if (known != "none") {
    options.known = parse_known_faults(read_text(known, size_t{1} << 20), known);
  }
  std::vector<const OpDef*> rows = select_rows(op_table(), names);
  std::map<std::string, std::vector<CallText>> given;
  if (!from.empty()) {
    given = calls_by_row(read_text(from, size_t{1} << 30), op_table());
    std::erase_if(rows, [&](const OpDef* op) { return !given.contains(op->full_name); });
    options.given = &given;
  }
  bool terminal = isatty(STDERR_FILENO) != 0 && !quiet;
  auto all = check_values(rows, op_table(), options, jobs, [&](size_t done) {
    if (terminal) std::fprintf(stderr, "\r%zu of %zu rows ", done, rows.size());
  });
  if (terminal) std::fputs("\r\033[K", stderr);
  if (json)
    print_json(all, options);
  else
    print_words(all, options);
  ValuesTotals t = add_up(all);
  if ((t.wrong || t.died) && known == "none" && !quiet)
    std::fputs("what eager itself is known to do wrong counts as wrong here\n", stderr);
  if (t.wrong || t.died) return ExitCode::wrong;
  return t.passed ? ExitCode::fine : ExitCode::not_covered;
}

}  // namespace lenz::oracle
