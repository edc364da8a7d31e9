#include "compiler/backend/llvm/scalar_code.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "compiler/backend/llvm/row_kernel.h"
#include "compiler/backend/llvm/ulp.h"
#include "compiler/base/error.h"

namespace lenz::native {
namespace {

std::string where(const ScalarRow& row, Dtype compute, Dtype result) {
  return std::string(row.name) + " " + std::string(name(compute)) + " to " + std::string(name(result));
}

void check_everything(const CpuTarget& target, int64_t samples, int lanes) {
  for (const ScalarRow& row : scalar_table())
    for (int d = 0; d < kDtypeCount; ++d) {
      const auto dtype = static_cast<Dtype>(d);
      if (!row.dtypes.has(dtype) || !has_spelling(row, dtype)) continue;
      for (Dtype result : results_of(row, dtype)) {
        UlpRequest request{.row = &row, .compute = dtype, .result = result, .target = target};
        request.samples = samples;
        request.lanes = lanes;
        const UlpReport report = check_row(request);
        EXPECT_EQ(report.wrong, 0) << where(row, dtype, result) << " on " << target.name << ", worst " << report.worst
                                   << " of " << report.limit << ": " << report.where;
        EXPECT_GT(report.inputs, report.undefined) << where(row, dtype, result);
      }
    }
}

CpuTarget target_or_skip(std::string_view name) { return find_target(name); }

#define LENZ_NEED(target) \
  if (!(target).runs_here) GTEST_SKIP() << "this machine has no " << (target).name

// Every row in every dtype, within its accuracy class, on each target that runs here.
TEST(ScalarCode, Avx512) {
  const CpuTarget target = target_or_skip("avx512");
  LENZ_NEED(target);
  check_everything(target, 600, 0);
}
TEST(ScalarCode, Avx2) {
  const CpuTarget target = target_or_skip("avx2");
  LENZ_NEED(target);
  check_everything(target, 300, 0);
}
TEST(ScalarCode, Generic) { check_everything(runnable_target("generic"), 300, 0); }
TEST(ScalarCode, OneLane) { check_everything(runnable_target(), 100, 1); }

TEST(ScalarCode, OddNumbersOfLanes) {
  for (int lanes : {3, 5, 64})
    for (std::string_view name : {"add", "exp", "floor_divide", "sin", "to_dtype"}) {
      const ScalarRow* row = find_scalar(name);
      UlpRequest request{.row = row, .target = runnable_target()};
      request.samples = 200, request.lanes = lanes;
      EXPECT_EQ(check_row(request).wrong, 0) << name << " in " << lanes << " lanes";
    }
}

// What is not spelled is refused by name: the list can neither grow nor shrink unseen.
TEST(ScalarCode, Missing) {
  std::ifstream file(LENZ_SOURCE_DIR "/compiler/backend/llvm/missing_rows.txt");
  ASSERT_TRUE(file.is_open());
  std::vector<std::string> known;
  for (std::string line; std::getline(file, line);) known.push_back(line);
  EXPECT_THAT(missing_spellings(), testing::ElementsAreArray(known));
}

TEST(ScalarCode, RefusesWhatItCannotSpell) {
  const std::vector<std::string> missing = missing_spellings();
  if (missing.empty()) GTEST_SKIP() << "everything is spelled";
  const std::string first = missing[0], row = first.substr(0, first.find(' ')),
                    dtype = first.substr(first.find(' ') + 1);
  const Dtype compute = *parse_dtype(dtype);
  EXPECT_THROW(RowKernel(*find_scalar(row), compute, results_of(*find_scalar(row), compute)[0], runnable_target()),
               Unsupported);
}

}  // namespace
}  // namespace lenz::native
