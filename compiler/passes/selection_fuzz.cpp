// libFuzzer's entry: any bytes as a selection of passes (`--select`).
#include <cstdint>
#include <string_view>

#include "compiler/base/error.h"
#include "compiler/driver/pipeline.h"
#include "compiler/passes/selection.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const auto selection = lenz::PassSelection::parse(text, lenz::pipeline());
    for (const auto& line : lenz::pipeline()) {
      selection.enabled(line.pass.name, lenz::Level::torch);
      selection.window(line.pass.name);
    }
  } catch (const lenz::UserError&) {
  }
  try {
    lenz::select_passes(text);
  } catch (const lenz::UserError&) {
  }
  return 0;
}
