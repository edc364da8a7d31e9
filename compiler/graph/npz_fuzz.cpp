// libFuzzer's entry: any bytes as an .npy file, and as an .npz. A file is read, or a UserError says what is wrong.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <span>
#include <string>

#include "compiler/base/error.h"
#include "compiler/graph/npz.h"

namespace {
constexpr lenz::NpzLimits kLimits{.array_bytes = 1 << 20, .entries = 64};

void read_as_npy(std::span<const std::byte> bytes) {
  try {
    const lenz::NpyArray array = lenz::parse_npy(bytes, kLimits);
    const auto again = lenz::parse_npy(lenz::format_npy(array), kLimits);
    LENZ_CHECK(again.bytes == array.bytes && again.shape == array.shape, "an array is another one once written");
  } catch (const lenz::UserError&) {
  } catch (const lenz::Unsupported&) {
  }
}

void read_as_npz(std::span<const std::byte> bytes) {
  const int fd = memfd_create("npz_fuzz", MFD_CLOEXEC);
  LENZ_CHECK(fd >= 0 && write(fd, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()),
             "no file in memory");
  try {
    lenz::NpzReader reader("/proc/self/fd/" + std::to_string(fd), kLimits);
    for (const std::string& key : reader.keys()) {
      try {
        reader.header(key);
        reader.read(key);
      } catch (const lenz::UserError&) {
      }
    }
  } catch (const lenz::UserError&) {
  } catch (const lenz::Unsupported&) {
  }
  close(fd);
}
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  read_as_npy(bytes);
  read_as_npz(bytes);
  return 0;
}
