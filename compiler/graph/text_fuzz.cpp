// libFuzzer on the text form: any bytes parse or give a UserError, and what parses survives printing.
#include <cstdint>
#include <string_view>

#include "compiler/graph/mutate.h"
#include "compiler/ops/op_table.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  lenz::survives({reinterpret_cast<const char*>(data), size}, lenz::op_table());
  return 0;
}
