#include "bench/compile_times.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "bench/subject.h"
#include "compiler/torch/torch_pool.h"
#include "oracle/boxed.h"

namespace lenz::bench {

namespace {
constexpr double kLimit = 1800;  // seconds of one compilation

std::string this_program() { return std::filesystem::read_symlink("/proc/self/exe").string(); }

class CompileTimes {
 public:
  explicit CompileTimes(const CompileOptions& options)
      : options_(options),
        threads_(options.threads > 0 ? options.threads : runtime::usable_threads()),
        worker_(script_command("worker.py", options.python, options.module, {"--threads", std::to_string(threads_)}),
                options.folder + "/worker.log") {}

  CompileReport run() {
    CompileReport report;
    for (const Listed& listed : chosen_rows(worker_, options_.only, options_.models)) {
      CompileRow& row = report.rows.emplace_back();
      row.name = listed.name;
      ours(row);
      if (options_.peers) inductor(row);
    }
    worker_.stop();
    for (GrowthSizes sizes : {GrowthSizes::given, GrowthSizes::open, GrowthSizes::open_each}) {
      const int64_t most =
          sizes == GrowthSizes::open_each ? std::min(kMostOpenSizes, options_.growth) : options_.growth;
      if (most < 10) continue;
      for (int64_t kernels : {most / 10, most}) report.growth.push_back(growth(kernels, sizes));
    }
    return report;
  }

 private:
  void say(const std::string& line) const {
    if (options_.progress) options_.progress(line);
  }

  CompileTime once(const std::string& text, const std::string& inputs, const std::string& cache) const {
    std::vector<std::string> command = {this_program(), "bench",     "--compile-one",
                                        text,           "--threads", std::to_string(threads_)};
    auto add = [&](const std::string& option, const std::string& value) {
      if (!value.empty()) command.insert(command.end(), {option, value});
    };
    add("--inputs", inputs);
    add("--cache", cache);
    add("--target", options_.target);
    Worker process(command, options_.folder + "/compile.log", kLimit);
    const nlohmann::json& told = process.greeting();
    return {told.at("graph"), told.at("schedule"), told.at("code"),
            told.at("first"), told.at("kernels"),  told.at("cached")};
  }

  CompileTime best(const std::string& text, const std::string& inputs, const std::string& cache) const {
    CompileTime best = once(text, inputs, cache);
    for (int r = 1; r < options_.rounds; ++r) {
      const CompileTime again = once(text, inputs, cache);
      const double first = std::min(best.first, again.first);
      if (again.all() < best.all()) best = again;
      best.first = first;
    }
    return best;
  }

  void ours(CompileRow& row) {
    const std::string cache = options_.folder + "/objects." + std::to_string(getpid());
    try {
      say(row.name + ": exporting");
      const nlohmann::json files =
          worker_.ask({{"do", "export"}, {"row", row.name}, {"name", row.name}, {"folder", options_.folder}}, 300);
      say(row.name + ": compiling");
      row.cold = best(files.at("lenz"), files.at("inputs"), "");
      once(files.at("lenz"), files.at("inputs"), cache);
      row.warm = best(files.at("lenz"), files.at("inputs"), cache);
    } catch (const std::exception& error) {
      row.failed = error.what();
    }
    std::filesystem::remove_all(cache);
  }

  void inductor(CompileRow& row) {
    try {
      say(row.name + ": compiling with TorchInductor");
      Worker process(script_command("compile_once.py", options_.python, options_.module,
                                    {row.name, "--threads", std::to_string(threads_)}),
                     options_.folder + "/worker.log", kLimit);
      const nlohmann::json& told = process.greeting();
      if (told.contains("error")) throw UserError(told["error"].get<std::string>(), "PyTorch");
      row.inductor = told.at("backend_seconds");
      row.inductor_first = told.at("first_seconds");
    } catch (const std::exception& error) {
      row.inductor_failed = error.what();
    }
  }

  CompileRow growth(int64_t kernels, GrowthSizes sizes) {
    constexpr std::string_view kKinds[] = {"", ", a size open", ", each with an open size"};
    CompileRow row;
    row.name = std::to_string(kernels) + " steps" + std::string(kKinds[static_cast<size_t>(sizes)]);
    const std::string file = options_.folder + "/steps." + std::to_string(kernels) + ".lenz";
    try {
      say(row.name + ": compiling");
      std::ofstream(file) << graph_of_kernels(kernels, sizes);
      row.cold = best(file, "", "");
    } catch (const std::exception& error) {
      row.failed = error.what();
    }
    return row;
  }

  const CompileOptions& options_;
  int threads_;
  Worker worker_;
};

nlohmann::json time_json(const CompileTime& t) {
  return {{"graph_ms", 1e3 * t.graph}, {"schedule_ms", 1e3 * t.schedule}, {"code_ms", 1e3 * t.code},
          {"ms", 1e3 * t.all()},       {"first_call_ms", 1e3 * t.first},  {"kernels", t.kernels},
          {"cached", t.cached}};
}

nlohmann::json row_json(const CompileRow& row) {
  return {{"name", row.name},
          {"cold", time_json(row.cold)},
          {"warm", time_json(row.warm)},
          {"inductor_ms", 1e3 * row.inductor},
          {"inductor_first_call_ms", 1e3 * row.inductor_first},
          {"failed", row.failed},
          {"inductor_failed", row.inductor_failed}};
}

void print_failures(std::FILE* out, const CompileRow& row) {
  for (const std::string& text : {row.failed, row.inductor_failed})
    if (!text.empty()) std::fprintf(out, "    %s\n", text.substr(0, text.find('\n')).c_str());
}
}  // namespace

CompileReport run_compile_times(const CompileOptions& options) { return CompileTimes(options).run(); }

void compile_once(const std::string& text, const std::string& inputs, const std::string& target,
                  const std::string& cache, int threads) {
  SubjectOptions options;
  options.target = target;
  options.cache = cache;
  options.pool = make_torch_pool(threads > 0 ? threads : runtime::usable_threads());
  options.verify = false;  // as a backend does it, who has checked that before
  oracle::give_libtorch_threads(options.pool->workers());
  Subject subject(text, inputs, options);
  const BuildReport& built = subject.report();
  const auto start = std::chrono::steady_clock::now();
  subject.call();
  const double call = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const double all = built.graph_seconds + built.schedule_seconds + built.code_seconds;
  std::printf("%s\n", nlohmann::json{{"graph", built.graph_seconds},
                                     {"schedule", built.schedule_seconds},
                                     {"code", built.code_seconds},
                                     {"first", all + call},
                                     {"kernels", built.kernels.kernels},
                                     {"cached", built.kernels.from_cache}}
                          .dump()
                          .c_str());
}

namespace {
std::string graph_of_inputs(int64_t kernels) {
  std::string inputs, body, outputs;
  for (int64_t i = 0; i < kernels; ++i) {
    const std::string n = std::to_string(i);
    const std::string separator = i == 0 ? "" : ", ";
    inputs += separator + "%x" + n + ": f32[s" + n + ", 32]";
    body += "  %m" + n + " = aten.mul(%x" + n + ", " + std::to_string(i + 1) + ".5e-9)\n  %s" + n + " = aten.sum(%m" +
            n + ", dim=[1])\n";
    outputs += separator + "%s" + n;
  }
  return "graph @inputs(" + inputs + ") {\n" + body + "  return " + outputs + "\n}\n";
}
}  // namespace

std::string graph_of_kernels(int64_t kernels, GrowthSizes sizes) {
  if (sizes == GrowthSizes::open_each) return graph_of_inputs(kernels);
  std::string text =
      sizes == GrowthSizes::open ? "graph @steps(%v0: f32[s0, 32]) {\n" : "graph @steps(%v0: f32[64, 32]) {\n";
  for (int64_t i = 0; i < kernels; ++i) {
    const std::string n = std::to_string(i);
    // Sizes of what is added differ, so that no two kernels are the same.
    text += "  %m" + n + " = aten.sum(%v" + n + ")\n  %s" + n + " = aten.mul(%m" + n + ", " + std::to_string(i + 1) +
            ".5e-9)\n  %v" + std::to_string(i + 1) + " = aten.sub(%v" + n + ", %s" + n + ")\n";
  }
  return text + "  return %v" + std::to_string(kernels) + "\n}\n";
}

nlohmann::json CompileReport::to_json() const {
  nlohmann::json j = {{"rows", nlohmann::json::array()}, {"growth", nlohmann::json::array()}};
  for (const CompileRow& row : rows) j["rows"].push_back(row_json(row));
  for (const CompileRow& row : growth) j["growth"].push_back(row_json(row));
  return j;
}

void CompileReport::print(std::FILE* out) const {
  std::fprintf(out, "%-30s %9s %8s %8s %8s %8s %10s %10s %10s %10s\n", "compilation, ms", "lenz cold", "graph",
               "schedule", "code", "kernels", "warm", "first call", "inductor", "first call");
  auto print_row = [&](const CompileRow& r) {
    std::fprintf(out, "%-30s %9.1f %8.1f %8.1f %8.1f %8zu %10.1f %10.1f %10.0f %10.0f\n", r.name.c_str(),
                 1e3 * r.cold.all(), 1e3 * r.cold.graph, 1e3 * r.cold.schedule, 1e3 * r.cold.code, r.cold.kernels,
                 1e3 * r.warm.all(), 1e3 * r.cold.first, 1e3 * r.inductor, 1e3 * r.inductor_first);
    print_failures(out, r);
  };
  for (const CompileRow& row : rows) print_row(row);
  for (const CompileRow& row : growth) print_row(row);
  for (size_t i = 0; i + 1 < growth.size(); i += 2) {
    const CompileTime &less = growth[i].cold, &more = growth[i + 1].cold;
    if (!(less.all() > 0) || less.kernels == 0) continue;
    std::fprintf(out, "%s: %.1f times the kernels take %.1f times as long, %.1f before there is code\n",
                 growth[i + 1].name.c_str(), static_cast<double>(more.kernels) / static_cast<double>(less.kernels),
                 more.all() / less.all(), (more.graph + more.schedule) / (less.graph + less.schedule));
  }
}

}  // namespace lenz::bench
