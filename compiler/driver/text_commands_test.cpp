// fmt, verify and diff as a user runs them: LENZ_COMMAND is the executable of this build.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "compiler/driver/command_testing.h"
#include "compiler/graph/npz.h"
#include "compiler/graph/text.h"

namespace lenz {
namespace {
using namespace command_testing;

namespace fs = std::filesystem;
using testing::HasSubstr;

class TextCommands : public testing::Test {
 public:
  ~TextCommands() override { fs::remove_all(folder_); }

 protected:
  TextCommands() {
    folder_ = fs::temp_directory_path() /
              ("lenz_text_" + std::to_string(std::chrono::steady_clock::now().time_since_epoch().count()));
    fs::create_directories(folder_);
  }
  std::string file(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name) << text;
    return (folder_ / name).string();
  }
  fs::path folder_;
};

constexpr const char* kCanonical = "# a comment\ngraph @g(%x: f32[4]) {\n  %y = aten.sin(%x)  # here\n  return %y\n}\n";
constexpr const char* kSloppy = "# a comment\ngraph @g( %x:f32 [4] ){ %y=aten.sin( %x ) # here\nreturn %y }";

TEST_F(TextCommands, FmtPrintsChecksAndWrites) {
  std::string path = file("g.lenz", kSloppy);
  Ran ran = run("fmt " + path);
  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(ran.out, kCanonical);
  EXPECT_EQ(run("fmt -", kSloppy).out, kCanonical);
  ran = run("fmt --check " + path);
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.out, HasSubstr("not in canonical spelling"));
  EXPECT_EQ(run("fmt --write " + path).code, 0);
  EXPECT_EQ(read_text(path, 1 << 20), kCanonical);
  EXPECT_EQ(run("fmt --check " + path).code, 0);
  EXPECT_THAT(run("fmt --types " + path).out, HasSubstr("%y: f32[4] = aten.sin(%x)"));
}

TEST_F(TextCommands, ABadTextChangesNothing) {
  std::string path = file("g.lenz", "graph @g(%x: f32[4]) { return %y }");
  Ran ran = run("fmt --write " + path);
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.out, HasSubstr(":1:31: there is no value %y here"));
  EXPECT_EQ(read_text(path, 1 << 20), "graph @g(%x: f32[4]) { return %y }");
  EXPECT_EQ(run("fmt " + path + ".missing").code, 2);
}

TEST_F(TextCommands, VerifySaysWhichRule) {
  Ran ran = run("verify " + file("good.lenz", kCanonical));
  EXPECT_EQ(ran.code, 0);
  EXPECT_THAT(ran.out, HasSubstr("valid at level torch, 1 nodes"));
  std::string bad = file("bad.lenz", "graph @g(%x: f32[4]) { %y = aten.sin_(%x) return %y }");
  ran = run("verify " + bad);
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.out, HasSubstr("G503 write_to_input"));
  ran = run("verify --level core " + file("view.lenz", "graph @g(%x: f32[4]) { %y = aten.ravel(%x) return %y }"));
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.out, HasSubstr("G603 core_ops"));
  ran = run("verify " +
            file("weights.lenz", "graph @g() { %w = lenz.constant(f32[4] \"no_such.npz\":\"w\") return %w }"));
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.out, HasSubstr("no_such.npz: can't open the file"));
  EXPECT_EQ(run("verify " LENZ_SOURCE_DIR "/corpus/seeds/weights_beside.lenz").code, 0);
  EXPECT_THAT(run("verify --rules").out, HasSubstr("G503 write_to_input"));
  EXPECT_EQ(run("verify").code, 2);
  ran = run("verify --guards " +
            file("guard.lenz", "graph @g(%x: f32[s0], %y: f32[s1]) { %z = aten.mul(%x, %y) return %z }"));
  EXPECT_THAT(ran.out, HasSubstr("@g relies on "));
}

TEST_F(TextCommands, VerifyLooksAtConstantsBesideTheText) {
  const std::vector<std::pair<std::string, NpyArray>> arrays{
      {"w", {Dtype::f32, 0, {2, 2}, std::vector<std::byte>(16)}}};
  write_npz((folder_ / "w.npz").string(), arrays);
  auto verified = [&](const std::string& type, const std::string& constant) {
    const std::string text = "graph @g() {\n  %c = lenz.constant(" + type + " " + constant + ")\n  return %c\n}\n";
    return run("verify " + file("g.lenz", text));
  };
  EXPECT_EQ(verified("f32[2, 2]", "\"w.npz\":\"w\"").code, 0);
  for (const auto& [type, constant, why] :
       {std::tuple("f64[2, 2]", "\"w.npz\":\"w\"", "the entry `w` holds f32, not f64\n"),
        {"f32[4]", "\"w.npz\":\"w\"", "the entry `w` has the shape [2, 2], not the declared one\n"},
        {"f32[2, 2]", "\"w.npz\":\"v\"", "it has no entry `v`\n"},
        {"f32[2, 2]", "\"v.npz\":\"v\"", "can't open the file\n"}}) {
    const Ran ran = verified(type, constant);
    EXPECT_EQ(ran.code, 2) << type;
    EXPECT_THAT(ran.out, testing::AllOf(HasSubstr(why), HasSubstr("g.lenz:2:8"), HasSubstr("^"))) << type;
  }
}

TEST_F(TextCommands, DiffShowsWhatChanged) {
  std::string a = file("a.lenz", kCanonical), b = file("b.lenz", kSloppy);
  EXPECT_EQ(run("diff " + a + " " + b).out, "");
  std::string c = file("c.lenz", "graph @g(%x: f32[4]) { %y = aten.cos(%x) return %y }");
  Ran ran = run("diff " + a + " " + c);
  EXPECT_EQ(ran.code, 0);
  EXPECT_THAT(ran.out, HasSubstr("  - %y = aten.sin(%x)\n  + %y = aten.cos(%x)\n"));
  EXPECT_EQ(run("diff --exit-code " + a + " " + c).code, 7);
}

}  // namespace
}  // namespace lenz
