// libFuzzer's entry: any bytes as a program's text.
#include <cstdint>

#include "compiler/loops/mutate.h"
#include "compiler/ops/op_table.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  lenz::loops::program_survives({reinterpret_cast<const char*>(data), size}, lenz::op_table());
  return 0;
}
