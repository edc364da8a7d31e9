// libFuzzer's entry: any bytes as the generator's choices. The case that they make is asked what a campaign asks one,
// so that bytes which reach new code are kept and changed on: who guides a campaign by the compiler's own branches.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>

#include "compiler/base/chooser.h"
#include "compiler/ops/op_table.h"
#include "fuzz/case.h"
#include "oracle/boxed.h"
#include "oracle/scratch.h"

namespace lenz::fuzz {
namespace {
void ask(std::span<const uint8_t> bytes) {
  static const Pool pool(op_table());
  static const oracle::Scratch scratch;
  static CaseRunner runner({}, scratch.path(), true);
  GrowOptions options;
  options.most = 12;
  options.large = false;  // many small cases say more than few large ones
  BytesChooser choose(bytes);
  const Case c = choose_case(choose, pool, options);
  const CaseResult result = runner.run(*c.graph, c.setting);
  if (result.end != CaseEnd::found) return;
  std::fprintf(stderr, "%s: %s\n%s\n%s", result.failure->property.c_str(), result.failure->symptom.c_str(),
               result.failure->detail.c_str(), c.text().c_str());
  std::abort();
}
}  // namespace
}  // namespace lenz::fuzz

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  lenz::oracle::quieten_libtorch();
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  lenz::fuzz::ask({data, size});
  return 0;
}
