#include "fuzz/run_record.h"

#include <ctime>
#include <filesystem>

#include "compiler/base/error.h"
#include "compiler/driver/plugin.h"

namespace lenz::fuzz {

namespace {
std::string now() {
  const std::time_t t = std::time(nullptr);
  std::tm tm{};
  gmtime_r(&t, &tm);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &tm);
  return text;
}
}  // namespace

std::string store_in(const std::string& folder) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed) throw UserError("can't make the folder: " + failed.message(), folder);
  return (std::filesystem::path(folder) / "store.sqlite").string();
}

int64_t new_run(store::Database& store, std::string_view kind, uint64_t seed, const std::string& options) {
  store.query("INSERT INTO run (kind, version, started, seed, options) VALUES (?, ?, ?, ?, ?)",
              {std::string(kind), std::string(build_id()), now(), static_cast<int64_t>(seed), options});
  return store.last_id();
}

std::pair<int64_t, uint64_t> last_run(store::Database& store, std::string_view kind, const std::string& options) {
  auto rows = store.query("SELECT id, seed, version, options FROM run WHERE kind = ? ORDER BY id DESC LIMIT 1",
                          {std::string(kind)});
  if (rows.empty()) throw UserError("there is no run to resume", store.path(), "leave --resume out");
  if (store::text(rows[0][2]) != build_id())
    throw UserError("the last run was another build's, whose cases are others", store.path(),
                    "start a new one: leave --resume out");
  if (store::text(rows[0][3]) != options)
    throw UserError("the last run had other options: " + store::text(rows[0][3]), store.path(),
                    "give the same ones, or leave --resume out");
  return {store::integer(rows[0][0]), static_cast<uint64_t>(store::integer(rows[0][1]))};
}

}  // namespace lenz::fuzz
