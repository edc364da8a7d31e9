// libFuzzer's entry: any bytes as a store. It opens and is read, or a UserError says what is wrong; one that opens can
// be written to.
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include "compiler/base/error.h"
#include "corpus/store/database.h"

namespace {
// A store of ours that some bytes are written over: what is no database at all is turned away by its first line.
std::string damaged(const uint8_t* data, size_t size) {
  static const std::string folder =
      std::filesystem::temp_directory_path() / ("database_fuzz_" + std::to_string(getpid()));
  static const std::string whole = [] {
    std::filesystem::create_directories(folder);
    const std::string path = folder + "/whole";
    {
      lenz::store::Database store(path);
      store.query("INSERT INTO run (kind, version, started, seed, options) VALUES ('fuzz', 'v', 'now', 1, '{}')");
      store.query("PRAGMA journal_mode=DELETE");
    }
    std::ifstream in(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
  }();
  std::string bytes(reinterpret_cast<const char*>(data), size);
  if (size > 2 && data[0] % 4 != 0) {
    const size_t at = (size_t{data[1]} << 8 | data[2]) % whole.size();
    bytes = whole;
    for (size_t i = 3; i < size && at + i - 3 < bytes.size(); ++i) bytes[at + i - 3] = static_cast<char>(data[i]);
  }
  for (const char* beside : {"", "-wal", "-shm", "-journal"}) std::filesystem::remove(folder + "/it" + beside);
  std::ofstream(folder + "/it", std::ios::binary) << bytes;
  return folder + "/it";
}
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    lenz::store::Database store(damaged(data, size));
    for (const auto& row : store.query("SELECT id, seed, options FROM run")) {
      lenz::store::integer(row[0]);
      lenz::store::integer(row[1]);
      lenz::store::text(row[2]);
    }
    lenz::store::Database::Transaction transaction(store);
    store.query("INSERT INTO run (kind, version, started, seed, options) VALUES ('fuzz', 'v', 'now', 2, '{}')");
    transaction.commit();
  } catch (const lenz::UserError&) {
  }
  return 0;
}
