// One SQLite file that holds what campaigns and measurements found out.
// Thread-safety: one Database per thread; several may have the file open, writers wait for each other.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

struct sqlite3;

namespace lenz::store {

using Field = std::variant<std::nullptr_t, int64_t, double, std::string>;
using Row = std::vector<Field>;

class Database {
 public:
  // Opens or makes the file. Throws UserError: it is no store, a newer Lenz's, or can't be written.
  explicit Database(const std::string& path);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  const std::string& path() const { return path_; }
  // A statement with `?` for each parameter; all its rows.
  std::vector<Row> query(std::string_view sql, const std::vector<Field>& parameters = {});
  int64_t last_id() const;

  // All or nothing: what is not committed when it goes out of scope is taken back.
  class Transaction {
   public:
    explicit Transaction(Database& database);
    ~Transaction();
    Transaction(const Transaction&) = delete;
    Transaction& operator=(const Transaction&) = delete;
    void commit();

   private:
    Database& database_;
    bool open_ = true;
  };

 private:
  void upgrade();
  [[noreturn]] void fail(std::string_view doing) const;

  std::string path_;
  sqlite3* handle_ = nullptr;
};

// UserError if it is of another kind: somebody else has written there.
int64_t integer(const Field& f);
const std::string& text(const Field& f);
// Of numbers that may be stored as either.
double real(const Field& f);

// The steps that make a store of version 0 (an empty file) one of this Lenz.
extern const std::vector<std::string_view> kSchemaSteps;

}  // namespace lenz::store
