// Code of scalar primitives by itself, held to the table: rows draw few of their dtypes, and a wrong lane of one of
// them shows in none of the others.
#include "fuzz/properties/primitives.h"

#include <vector>

#include "compiler/backend/llvm/scalar_code.h"
#include "compiler/base/hash.h"

namespace lenz::fuzz {

namespace {
constexpr int64_t kSamples = 64;  // besides special values
constexpr int kEach = 2;          // in each case: 8 ms for one, most of them LLVM's

const std::vector<native::UlpRequest>& all_with_code() {
  static const auto all = [] {
    std::vector<native::UlpRequest> made;
    for (const ScalarRow& row : scalar_table())
      for (int d = 0; d < kDtypeCount; ++d) {
        const auto dtype = static_cast<Dtype>(d);
        if (!row.dtypes.has(dtype) || !native::has_spelling(row, dtype)) continue;
        for (const Dtype result : native::results_of(row, dtype))
          made.push_back({.row = &row, .compute = dtype, .result = result, .samples = kSamples});
      }
    return made;
  }();
  return all;
}

const std::vector<native::CpuTarget>& targets_here() {
  static const auto all = [] {
    std::vector<native::CpuTarget> made;
    for (const native::CpuTarget& target : native::targets())
      if (target.runs_here) made.push_back(target);
    return made;
  }();
  return all;
}

std::optional<Failure> holds(Subject& subject) {
  RandomChooser choose(combine(subject.setting().seed, hash_bytes("primitives")));
  for (int i = 0; i < kEach; ++i)
    if (std::string wrong = wrong_primitive(choose); !wrong.empty())
      return Failure{"primitives", "machine_code", "beyond its class", std::move(wrong)};
  return std::nullopt;
}
}  // namespace

std::string wrong_primitive(Chooser& choose) {
  native::UlpRequest request = choose.pick(all_with_code());
  request.target = choose.pick(targets_here());
  return wrong_primitive(request);
}

std::string wrong_primitive(const native::UlpRequest& request) {
  const native::UlpReport report = native::check_row(request);
  if (report.wrong == 0) return {};
  return std::string(name(request.compute)) + " to " + std::string(name(request.result)) + " on " +
         request.target.name + ": " + report.where + "; " + std::to_string(report.wrong) + " of " +
         std::to_string(report.inputs) + " inputs";
}

Property primitives() {
  return {.name = "primitives",
          .contract = "code of a scalar primitive gives what the table says, within the row's accuracy class",
          .holds = holds,
          .every = 4,
          .of_graph = true};
}

}  // namespace lenz::fuzz
