#include "compiler/driver/ulp_command.h"

#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <thread>

#include "compiler/backend/llvm/scalar_code.h"
#include "compiler/backend/llvm/ulp.h"
#include "compiler/base/suggest.h"
#include "compiler/driver/arguments.h"

namespace lenz {

namespace {

struct UlpOptions {
  std::vector<std::string> ops, dtypes;
  std::string target;
  bool all = false, json = false, missing = false;
  int64_t samples = 4096;
  int threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
};

std::vector<const ScalarRow*> chosen_rows(const UlpOptions& options) {
  std::vector<const ScalarRow*> rows;
  for (const std::string& wanted : options.ops) {
    const ScalarRow* row = find_scalar(wanted);
    if (row == nullptr) {
      std::vector<std::string_view> names;
      for (const ScalarRow& candidate : scalar_table()) names.push_back(candidate.name);
      const std::string_view nearest = nearest_name(wanted, names);
      throw UserError("no scalar primitive `" + wanted + "`", "",
                      nearest.empty() ? "lenz scalar lists them" : "did you mean `" + std::string(nearest) + "`?");
    }
    rows.push_back(row);
  }
  if (options.ops.empty())
    for (const ScalarRow& row : scalar_table()) rows.push_back(&row);
  return rows;
}

DtypeSet chosen_dtypes(const UlpOptions& options) {
  if (options.dtypes.empty()) return options.ops.empty() || !options.all ? dtypes::all : DtypeSet::of(Dtype::f32);
  DtypeSet set;
  for (const std::string& text : options.dtypes) {
    const auto dtype = parse_dtype(text);
    if (!dtype) throw UserError("no dtype '" + text + "'", "lenz ulp", "for example f32, f16, bf16, f64");
    set = set | DtypeSet::of(*dtype);
  }
  return set;
}

// An infinite distance is a wrong answer, not one that is far off.
std::string places(double ulps) {
  if (std::isinf(ulps)) return "wrong";
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", ulps);
  return text;
}

struct Totals {
  int checked = 0, failed = 0;
  nlohmann::json results = nlohmann::json::array();
};

void check_one(const UlpOptions& options, native::UlpRequest request, Totals& totals) {
  const bool shown = options.json ? false : isatty(STDERR_FILENO) != 0;
  const std::string what =
      std::string(request.row->name) + " " + std::string(name(request.compute)) +
      (request.row->result == ResultRule::target ? " to " + std::string(name(request.result)) : "");
  if (shown)
    request.progress = [&](double share) { std::fprintf(stderr, "\r%s: %.0f %%  ", what.c_str(), 100 * share); };
  const native::UlpReport report = native::check_row(request);
  if (shown && request.all) std::fputs("\r", stderr);
  ++totals.checked;
  totals.failed += report.wrong > 0;
  if (options.json) {
    totals.results.push_back(
        {{"op", request.row->name},
         {"dtype", name(request.compute)},
         {"result", name(request.result)},
         {"target", request.target.name},
         {"all", request.all},
         {"inputs", report.inputs},
         {"undefined", report.undefined},
         {"worst_ulps", std::isinf(report.worst) ? nlohmann::json(nullptr) : nlohmann::json(report.worst)},
         {"limit", report.limit},
         {"wrong", report.wrong},
         {"where", report.where},
         {"seconds", report.seconds}});
    return;
  }
  std::printf("%-4s %-44s %10lld inputs%s  worst %-7s limit %-4g %6.2f s  %s\n", report.wrong > 0 ? "FAIL" : "ok",
              what.c_str(), static_cast<long long>(report.inputs), request.all ? ", all" : "",
              places(report.worst).c_str(), report.limit, report.seconds, report.where.c_str());
  if (report.wrong > 0) std::printf("     %lld inputs are beyond the limit\n", static_cast<long long>(report.wrong));
  std::fflush(stdout);
}

}  // namespace

ExitCode ulp_command(std::span<const std::string> args) {
  CLI::App app("Holds the code of scalar primitives against the table: the worst error, in units of the last place.",
               "lenz ulp");
  UlpOptions options;
  app.add_option("OP", options.ops, "primitives; none: all");
  app.add_option("--dtype", options.dtypes, "only these compute dtypes");
  app.add_option("--target", options.target, "avx512, avx2 or generic; none: the best that this machine runs");
  app.add_flag("--all", options.all,
               "every input, where a row has one operand of 32 bits or fewer (f32 unless --dtype)");
  app.add_option("--samples", options.samples, "inputs otherwise, besides special values")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--threads", options.threads, "threads for --all")->check(CLI::PositiveNumber);
  app.add_flag("--json", options.json, "an object with all results");
  app.add_flag("--missing", options.missing,
               "only list the rows and dtypes that have no code of their own: calls of the table's");
  if (!parse_arguments(app, args)) return ExitCode::fine;
  if (options.missing) {
    for (const std::string& row : native::missing_spellings()) std::printf("%s\n", row.c_str());
    return ExitCode::fine;
  }
  const native::CpuTarget target = native::runnable_target(options.target);
  const DtypeSet wanted = chosen_dtypes(options);
  Totals totals;
  std::vector<std::string> missing;
  for (const ScalarRow* row : chosen_rows(options))
    for (int d = 0; d < kDtypeCount; ++d) {
      const auto dtype = static_cast<Dtype>(d);
      if (!wanted.has(dtype) || !row->dtypes.has(dtype)) continue;
      if (!native::has_spelling(*row, dtype)) {
        missing.push_back(std::string(row->name) + " " + std::string(name(dtype)));
        continue;
      }
      for (Dtype result : native::results_of(*row, dtype)) {
        native::UlpRequest request{.row = row, .compute = dtype, .result = result, .target = target};
        request.all = options.all && native::can_try_all(*row, dtype);
        request.samples = options.samples;
        request.threads = options.threads;
        check_one(options, request, totals);
      }
    }
  if (options.json) {
    std::printf("%s\n", nlohmann::json{{"results", totals.results}, {"missing", missing}}.dump(2).c_str());
  } else {
    std::printf("%d checked on %s, %d wrong, %zu without code of their own\n", totals.checked, target.name.c_str(),
                totals.failed, missing.size());
  }
  if (totals.failed > 0) return ExitCode::wrong;
  return totals.checked == 0 || (!options.ops.empty() && !missing.empty()) ? ExitCode::not_covered : ExitCode::fine;
}

}  // namespace lenz
