#include "corpus/store/database.h"

#include <sqlite3.h>

#include "compiler/base/error.h"

namespace lenz::store {

namespace {
constexpr int kApplication = 0x4C656E7A;  // "Lenz": what tells our files from other programs'
}

namespace {
template <class T>
const T& of_kind(const Field& f, const char* kind) {
  if (const T* value = std::get_if<T>(&f)) return *value;
  throw UserError(std::string("a field of the store is no ") + kind, {},
                  "its file was changed by somebody else: give another one");
}
}  // namespace

int64_t integer(const Field& f) { return of_kind<int64_t>(f, "integer"); }
const std::string& text(const Field& f) { return of_kind<std::string>(f, "text"); }

Database::Database(const std::string& path) : path_(path) {
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  try {
    if (sqlite3_open_v2(path.c_str(), &handle_, flags, nullptr) != SQLITE_OK) fail("can't open it");
    sqlite3_busy_timeout(handle_, 30'000);
    upgrade();
  } catch (...) {
    sqlite3_close(handle_);
    throw;
  }
}

Database::~Database() { sqlite3_close(handle_); }

void Database::fail(std::string_view doing) const {
  const int code = handle_ ? sqlite3_errcode(handle_) : SQLITE_NOMEM;
  std::string remedy = "see whether the folder exists and may be written to";
  if (code == SQLITE_IOERR) remedy = "see whether its disk is full, or its folder may not be written to";
  if (code == SQLITE_FULL) remedy = "make room on its disk; nothing that was stored before is lost";
  if (code == SQLITE_NOTADB || code == SQLITE_CORRUPT)
    remedy = "it is no store of Lenz, or a damaged one; give another file, this one is left as it is";
  if (code == SQLITE_BUSY) remedy = "another process keeps it; wait for that one to end";
  throw UserError(std::string(doing) + ": " + (handle_ ? sqlite3_errmsg(handle_) : "no memory"), path_, remedy);
}

void Database::upgrade() {
  const int64_t application = integer(query("PRAGMA application_id")[0][0]);
  const int64_t version = integer(query("PRAGMA user_version")[0][0]);
  const bool empty = query("SELECT 1 FROM sqlite_master LIMIT 1").empty();
  if (application != kApplication && !(application == 0 && version == 0 && empty))
    throw UserError("this SQLite file belongs to another program", path_,
                    "give another file, this one is left as it is");
  if (version > static_cast<int64_t>(kSchemaSteps.size()))
    throw UserError("this store was written by a newer Lenz (version " + std::to_string(version) +
                        " of the schema, and " + std::to_string(kSchemaSteps.size()) + " is known here)",
                    path_, "use that Lenz, or another file; this one is left as it is");
  if (version == static_cast<int64_t>(kSchemaSteps.size())) return;
  query("PRAGMA journal_mode=WAL");
  Transaction transaction(*this);
  // Whoever came first while we waited has done it.
  const auto found = static_cast<size_t>(integer(query("PRAGMA user_version")[0][0]));
  for (size_t step = found; step < kSchemaSteps.size(); ++step)
    if (sqlite3_exec(handle_, std::string(kSchemaSteps[step]).c_str(), nullptr, nullptr, nullptr) != SQLITE_OK)
      fail("can't bring the store up to date");
  query("PRAGMA user_version=" + std::to_string(kSchemaSteps.size()));
  query("PRAGMA application_id=" + std::to_string(kApplication));
  transaction.commit();
}

std::vector<Row> Database::query(std::string_view sql, const std::vector<Field>& parameters) {
  sqlite3_stmt* raw = nullptr;
  if (sqlite3_prepare_v2(handle_, sql.data(), static_cast<int>(sql.size()), &raw, nullptr) != SQLITE_OK)
    fail("can't read or write it");
  const std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)> statement(raw, sqlite3_finalize);
  for (size_t i = 0; i < parameters.size(); ++i) {
    const int at = static_cast<int>(i) + 1;
    if (const auto* n = std::get_if<int64_t>(&parameters[i])) sqlite3_bind_int64(raw, at, *n);
    if (const auto* x = std::get_if<double>(&parameters[i])) sqlite3_bind_double(raw, at, *x);
    if (const auto* t = std::get_if<std::string>(&parameters[i]))
      sqlite3_bind_text(raw, at, t->data(), static_cast<int>(t->size()), SQLITE_TRANSIENT);
  }
  std::vector<Row> rows;
  for (;;) {
    const int result = sqlite3_step(raw);
    if (result == SQLITE_DONE) return rows;
    if (result != SQLITE_ROW) fail("can't read or write it");
    Row row;
    for (int c = 0; c < sqlite3_column_count(raw); ++c) {
      switch (sqlite3_column_type(raw, c)) {
        case SQLITE_INTEGER: row.emplace_back(int64_t{sqlite3_column_int64(raw, c)}); break;
        case SQLITE_FLOAT: row.emplace_back(sqlite3_column_double(raw, c)); break;
        case SQLITE_NULL: row.emplace_back(nullptr); break;
        default:
          row.emplace_back(std::string(reinterpret_cast<const char*>(sqlite3_column_text(raw, c)),
                                       static_cast<size_t>(sqlite3_column_bytes(raw, c))));
      }
    }
    rows.push_back(std::move(row));
  }
}

int64_t Database::last_id() const { return sqlite3_last_insert_rowid(handle_); }

Database::Transaction::Transaction(Database& database) : database_(database) { database_.query("BEGIN IMMEDIATE"); }
Database::Transaction::~Transaction() {
  if (!open_) return;
  try {
    database_.query("ROLLBACK");
  } catch (const Error&) {  // SQLite has taken it back by itself
  }
}
void Database::Transaction::commit() {
  database_.query("COMMIT");
  open_ = false;
}

double real(const Field& f) {
  if (const auto* n = std::get_if<int64_t>(&f)) return static_cast<double>(*n);
  return std::get<double>(f);
}

}  // namespace lenz::store
