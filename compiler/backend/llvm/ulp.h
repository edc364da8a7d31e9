// Verification of emitted code against the scalar table: every input of a dtype, or a sample that reaches every
// exponent. What counts as right is the row's accuracy class.
// Thread-safety: check_row starts threads of its own.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "compiler/backend/llvm/target.h"
#include "compiler/scalar/scalar.h"

namespace lenz::native {

struct UlpRequest {
  const ScalarRow* row = nullptr;
  Dtype compute = Dtype::f32, result = Dtype::f32;
  CpuTarget target{};
  bool all = false;        // every input of a unary row of 32 bits or fewer
  int64_t samples = 4096;  // otherwise; special values, alone or in pairs, come on top
  int threads = 1;
  int lanes = 0;                           // 0: as RowKernel chooses
  std::function<void(double)> progress{};  // the share that is done
};

struct UlpReport {
  int64_t inputs = 0, undefined = 0;  // undefined: where the row's meaning is the machine's business
  double worst = 0;                   // in units of the last place; infinite for a wrong class (NaN, sign, integer)
  std::string where;                  // operands, what came and what is right, of the worst
  int64_t wrong = 0;                  // inputs beyond the limit
  double limit = 0;                   // of the row's class; 0: exact
  double seconds = 0;
};

UlpReport check_row(const UlpRequest& request);

// A unary row of that dtype has so few inputs that all can be tried.
bool can_try_all(const ScalarRow& row, Dtype compute);
// What a row gives in that compute dtype: one dtype, or for conversions every one it can be asked for.
std::vector<Dtype> results_of(const ScalarRow& row, Dtype compute);

}  // namespace lenz::native
