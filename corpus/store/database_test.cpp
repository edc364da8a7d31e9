#include "corpus/store/database.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "compiler/base/error.h"

namespace lenz::store {
namespace {

class Store : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("lenz_store_" + std::to_string(getpid()) + "_" +
                                                        testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string file(const char* name = "store.sqlite") const { return (folder_ / name).string(); }
  static std::string said(auto&& act) {
    try {
      act();
    } catch (const UserError& error) {
      return error.what();
    }
    return "nothing";
  }

  std::filesystem::path folder_;
};

TEST_F(Store, KeepsWhatWasCommittedAndNothingElse) {
  const char* insert = "INSERT INTO run (kind, version, started, seed, options) VALUES ('fuzz', 'v', 'now', ?, '{}')";
  {
    Database store(file());
    store.query(insert, {int64_t{7}});
    Database::Transaction taken_back(store);
    store.query(insert, {int64_t{8}});
  }
  Database again(file());
  auto rows = again.query("SELECT seed FROM run");
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(integer(rows[0][0]), 7);
}

TEST_F(Store, TextMayHoldAnything) {
  Database store(file());
  const std::string odd = std::string("a'b\"\0c", 6) + "\xff";
  store.query("INSERT INTO signature (name, state, text, detail) VALUES (?, 'open', ?, '')", {odd, odd});
  auto rows = store.query("SELECT name, text FROM signature WHERE name = ?", {odd});
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(text(rows[0][1]), odd);
}

TEST_F(Store, RefusesWhatIsNoStore) {
  std::ofstream(file("text")) << "a text that is long enough to be looked at as a header of a database file, or not\n";
  EXPECT_NE(said([&] { Database store(file("text")); }).find("no store of Lenz"), std::string::npos);
  EXPECT_NE(said([&] { Database store((folder_ / "no" / "such" / "folder").string()); }).find("folder exists"),
            std::string::npos);
}

TEST_F(Store, RefusesANewerOne) {
  {
    Database store(file());
  }
  {
    Database store(file());
    store.query("PRAGMA user_version=99");
  }
  const auto size = std::filesystem::file_size(file());
  EXPECT_NE(said([&] { Database store(file()); }).find("newer Lenz"), std::string::npos);
  EXPECT_EQ(std::filesystem::file_size(file()), size);
}

TEST_F(Store, SaysWhatAStatementGotWrong) {
  Database store(file());
  const std::string words = said([&] { store.query("SELECT 1 FROM nowhere"); });
  EXPECT_NE(words.find("nowhere"), std::string::npos) << words;
}

}  // namespace
}  // namespace lenz::store
