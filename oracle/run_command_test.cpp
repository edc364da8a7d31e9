// `lenz run` from the outside: what runs a graph, what it says of bad files, of too little memory, of NaN and of
// nothing.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "compiler/base/json_schema.h"
#include "compiler/graph/npz.h"
#include "oracle/commands.h"
#include "oracle/dying_calls.h"

namespace lenz::oracle {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr std::string_view kText = R"(graph @g(%x: f32[3, 4], %w: f32[4, 5], %i: i64[2]) {
  %y = aten.mm(%x, %w)
  %t = aten.tanh(%y)
  %s = aten.index_select(%t, 0, %i)
  %a = aten.amax(%t, [1])
  return %s, %a
})";

struct Said {
  ExitCode code = ExitCode::fine;
  std::string text;
};

class RunCommand : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "run_command_" + std::to_string(getpid()) + "/";
    std::filesystem::create_directory(folder_);
    write("g.lenz", kText);
    arrays_.emplace_back("x", NpyArray{Dtype::f32, 0, {3, 4}, std::vector<std::byte>(48)});
    arrays_.emplace_back("w", NpyArray{Dtype::f32, 0, {4, 5}, std::vector<std::byte>(80)});
    arrays_.emplace_back("i", NpyArray{Dtype::i64, 0, {2}, std::vector<std::byte>(16)});
    write_npz(file("in.npz"), arrays_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string file(const std::string& name) const { return folder_ + name; }
  void write(const std::string& name, std::string_view text) const {
    std::ofstream(file(name), std::ios::binary) << text;
  }
  static Said said(ExitCode (*command)(std::span<const std::string>), std::vector<std::string> args) {
    Said s;
    testing::internal::CaptureStdout();
    try {
      s.code = command(args);
    } catch (const Error& error) {
      s.code = error.exit_code();
      s.text = error.what();
    }
    s.text = testing::internal::GetCapturedStdout() + s.text;
    return s;
  }
  Said run(std::vector<std::string> args, const std::string& graph = "g.lenz") const {
    args.insert(args.begin(), file(graph));
    return said(run_command, args);
  }
  Said check(std::vector<std::string> args, const std::string& graph = "g.lenz") const {
    args.insert(args.begin(), file(graph));
    return said(graph_check_command, args);
  }
  // Every way runs the graph on these inputs; what comes out of those that keep dtypes is judged.
  void every_way_is_right(const std::string& graph, const std::vector<std::string>& inputs) const {
    for (const char* on : {"llvm", "interp", "eager", "f64", "bound"}) {
      std::vector<std::string> args = inputs;
      args.insert(args.end(), {"--on", on, "--save", file("out.npz")});
      const Said ran = run(args, graph);
      EXPECT_EQ(ran.code, ExitCode::fine) << on << ": " << ran.text;
      if (std::string_view(on) == "f64" || std::string_view(on) == "bound") continue;
      args = inputs;
      args.insert(args.end(), {"--against", file("out.npz")});
      const Said judged = check(args, graph);
      EXPECT_EQ(judged.code, ExitCode::fine) << on << ": " << judged.text;
    }
  }

  std::string folder_;
  std::vector<std::pair<std::string, NpyArray>> arrays_;
};

TEST_F(RunCommand, MachineCodeRunsAGraphUnlessAnotherIsAskedFor) {
  EXPECT_THAT(run({"--profile", "--calls", "2"}).text, AllOf(HasSubstr("to code ("), HasSubstr("output 0")));
  EXPECT_THAT(run({}).text, Not(HasSubstr("elements read")));
  EXPECT_THAT(run({"--on", "interp"}).text, HasSubstr("elements read"));
  EXPECT_EQ(run({"--on", "nobody"}).code, ExitCode::bad_input);
}

TEST_F(RunCommand, OptionsChooseTheirWayOrContradictIt) {
  write("noise.lenz", "graph @g(%x: f32[4]) { %r = aten.rand_like(%x) return %r }");
  EXPECT_EQ(run({"--random", "eager"}, "noise.lenz").text, run({"--on", "eager"}, "noise.lenz").text);
  EXPECT_EQ(run({"--random", "lenz"}, "noise.lenz").text, run({"--on", "llvm"}, "noise.lenz").text);
  EXPECT_EQ(run({"--guard"}).code, ExitCode::fine);
  const Said other = run({"--on", "llvm", "--guard"});
  EXPECT_EQ(other.code, ExitCode::bad_input);
  EXPECT_THAT(other.text, HasSubstr("--guard is an option of --on eager, not of --on llvm"));
  EXPECT_THAT(run({"--on", "interp", "--trace", "t.json"}).text, HasSubstr("--trace is an option of --on llvm"));
  EXPECT_THAT(run({"--guard", "--threads", "1"}).text,
              HasSubstr("--guard is an option of --on eager, --threads one of --on llvm"));
}

// Views of what is written, what makes tensors by itself, draws of a seed.
TEST_F(RunCommand, AGpuRunsAGraphThatIsWrittenForACpu) {
  write("moved.lenz",
        "graph @g(%x: f32[4, 3] mut, %k: bf16[64, 64]) {\n  %t = aten.t(%x)\n  %a = aten.add_(%x, 1.0)\n"
        "  %z = aten.arange(4)\n  %s = aten.mul(%t, %z)\n  %m = aten.mm(%k, %k)\n  return %t, %s, %m\n}\n");
  const std::string out = file("moved.npz");
  const Said ran = run({"--on", "cuda", "--seed", "3", "--save", out}, "moved.lenz");
  if (ran.code == ExitCode::not_covered) {
    EXPECT_THAT(ran.text, testing::AnyOf(HasSubstr("no GPU"), HasSubstr("CUDA half"))) << "what is missing";
    return;
  }
  EXPECT_EQ(ran.code, ExitCode::fine) << ran.text;
  const Said judged = check({"--seed", "3", "--against", out}, "moved.lenz");
  EXPECT_EQ(judged.code, ExitCode::fine) << judged.text;
}

// libtorch divides the least integer by -1, and dies of it.
TEST_F(RunCommand, ACallThatLibtorchDiesOfIsNamed) {
  write("dies.lenz",
        "graph @g(%x: i32[2] init integers(1, 4, seed=1)) { %m = lenz.constant(i32[2] [-2147483648, 4]) "
        "%a = aten.div.Scalar_mode(%m, -1, rounding_mode=\"trunc\") %r = aten.add(%a, %x) return %r }");
  const Said ran = run({"--on", "eager"}, "dies.lenz");
  EXPECT_EQ(ran.code, ExitCode::not_covered) << ran.text;
  EXPECT_THAT(ran.text, HasSubstr("dies of it, in aten.div.Scalar_mode"));
  const Said checked = check({"--seeds", "1"}, "dies.lenz");
  EXPECT_EQ(checked.code, ExitCode::not_covered) << checked.text;
  EXPECT_THAT(checked.text, HasSubstr("dies of it"));
  EXPECT_EQ(run({"--on", "eager"}).code, ExitCode::fine) << "what comes after runs";
  write("lost.lenz",
        "graph @g(%g: f32[1, 1, 2, 2], %x: f32[1, 1, 4, 4], %i: i64[1, 1, 2, 2] init integers(1000000000000, "
        "1000000000000, seed=1)) { %a = aten.max_pool2d_with_indices_backward(%g, %x, [2, 2], [2, 2], [0, 0], [1, 1], "
        "false, %i) return %a }");
  write("counted.lenz",
        "graph @g(%g: f32[6, 3], %i: i64[6] init integers(4, 9, seed=1)) "
        "{ %r = aten.embedding_dense_backward(%g, %i, 8, -1, true) return %r }");
  write("target.lenz",
        "graph @g(%g: f32[2], %x: f32[2, 2], %t: i64[2] init integers(5, 9, seed=1), %n: f32[]) "
        "{ %r = aten.nll_loss_backward(%g, %x, %t, none, 0, -100, %n) return %r }");
  constexpr const char* kLoss =
      "extern \"aten::ctc_loss.IntList(Tensor log_probs, Tensor targets, int[] input_lengths, int[] target_lengths, "
      "int blank=0, int reduction=1, bool zero_infinity=False) -> Tensor\" graph @g(%x: f32[9, 2, 4], ";
  write("label.lenz", std::string(kLoss) +
                          "%t: i32[2, 3] init integers(1, 9, seed=1)) "
                          "{ %r: f32[] = aten.ctc_loss(%x, %t, [9, 9], [3, 2]) return %r }");
  write("labels.lenz", std::string(kLoss) +
                           "%t: i64[5] init integers(-3, 3, seed=1)) "
                           "{ %r: f32[] = aten.ctc_loss(%x, %t, [9, 9], [3, 2]) return %r }");
  write("padded.lenz", std::string(kLoss) +
                           "%y: i64[2, 2] init integers(1, 3, seed=1), %p: i64[2, 2] init "
                           "integers(7, 9, seed=1)) { %t = aten.cat([%y, %p], 1) %r: f32[] = "
                           "aten.ctc_loss(%x, %t, [9, 9], [2, 1]) return %r }");
  write("rows.lenz",
        "graph @g(%n: i64[1] init integers(1, 1, seed=1), %x: f32[2]) { %a = aten.mul(%n, 100000) "
        "%b = aten.mul(%n, -99998) %r = aten.cat([%a, %b]) "
        "%c: f32[2] = aten.repeat_interleave.self_Tensor(%x, %r, 0, output_size=2) return %c }");
  EXPECT_EQ(run({"--on", "eager"}, "padded.lenz").code, ExitCode::fine) << "nobody reads what pads";
  for (const char* lost : {"lost.lenz", "counted.lenz", "target.lenz", "label.lenz", "labels.lenz", "rows.lenz"})
    for (const Said& said : {run({"--on", "eager"}, lost), check({"--seeds", "1"}, lost)}) {
      EXPECT_EQ(said.code, ExitCode::not_covered) << lost << said.text;
      EXPECT_THAT(said.text, HasSubstr("goes beyond its memory"));
    }
  const auto dies = [] {
    const DyingCalls survived;
    DyingCalls::run("aten.op", [] { raise(SIGSEGV); });
  };
  EXPECT_EXIT(dies(), testing::ExitedWithCode(static_cast<int>(ExitCode::not_covered)), "dies of it, in aten.op");
}

TEST_F(RunCommand, WhatLiesOnMetaHasNoElements) {
  write("meta.lenz", "graph @g(%x: f32[4]) { %c = aten._to_copy(%x, device=meta) return %c }");
  const Said ran = run({"--on", "eager"}, "meta.lenz");
  EXPECT_EQ(ran.code, ExitCode::fine) << ran.text;
  EXPECT_THAT(ran.text, HasSubstr("on meta: it has no elements"));
  const Said checked = check({"--seeds", "1"}, "meta.lenz");
  EXPECT_EQ(checked.code, ExitCode::not_covered) << checked.text;
  EXPECT_THAT(checked.text, HasSubstr("no elements to be compared"));
}

TEST_F(RunCommand, WhatCannotBeCompiledNamesWhatRunsItInstead) {
  write("lists.lenz", "graph @g(%l: [f32[4], f32[4]]) { %s = aten.stack(%l) return %s }");
  for (const char* on : {"llvm", "interp"}) {
    const Said lists = run({"--on", on}, "lists.lenz");
    EXPECT_EQ(lists.code, ExitCode::not_covered);
    EXPECT_THAT(lists.text, AllOf(HasSubstr("can't run this graph: "), HasSubstr("--on eager"),
                                  Not(HasSubstr("--on interp runs"))));
  }
  EXPECT_EQ(run({"--on", "eager"}, "lists.lenz").code, ExitCode::fine);
}

TEST_F(RunCommand, BadFilesOfInputsAreBadInput) {
  std::ifstream whole(file("in.npz"), std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(whole)), {});
  for (size_t length : {size_t{0}, size_t{10}, bytes.size() / 3, bytes.size() / 2, bytes.size() - 1})
    write("cut" + std::to_string(length) + ".npz", std::string_view(bytes).substr(0, length));
  auto changed = [&](const std::string& key, const NpyArray& array, const std::string& name) {
    auto arrays = arrays_;
    for (auto& [k, a] : arrays)
      if (k == key) a = array;
    write_npz(file(name), arrays);
  };
  changed("x", {Dtype::f64, 0, {3, 4}, std::vector<std::byte>(96)}, "dtype.npz");
  changed("x", {Dtype::f32, 0, {4, 3}, std::vector<std::byte>(48)}, "shape.npz");
  changed("x", {Dtype::f32, 0, {12}, std::vector<std::byte>(48)}, "rank.npz");
  auto more = arrays_;
  more.emplace_back("stranger", arrays_[0].second);
  write_npz(file("more.npz"), more);
  std::vector<std::pair<std::string, std::string>> files{
      {"dtype.npz", "f64"},
      {"shape.npz", "dim 0 of array x is 4, the graph's input is f32[3, 4]"},
      {"rank.npz", "rank 1"},
      {"more.npz", "stranger"},
      {"no.npz", "no.npz"}};
  for (const auto& entry : std::filesystem::directory_iterator(folder_))
    if (entry.path().filename().string().starts_with("cut"))
      files.emplace_back(entry.path().filename().string(), entry.path().filename().string());
  ASSERT_EQ(files.size(), 10u);
  ASSERT_EQ(run({"--inputs", file("in.npz"), "--save", file("right.npz")}).code, ExitCode::fine);
  for (const auto& [name, what] : files) {
    for (const char* on : {"llvm", "interp", "eager", "f64", "bound"}) {
      const Said s = run({"--on", on, "--inputs", file(name)});
      EXPECT_EQ(s.code, ExitCode::bad_input) << name << " " << on;
      EXPECT_THAT(s.text, HasSubstr(what)) << on;
    }
    const Said s = check({"--inputs", file(name), "--against", file("right.npz")});
    EXPECT_EQ(s.code, ExitCode::bad_input) << name;
    EXPECT_THAT(s.text, HasSubstr(what));
    EXPECT_EQ(check({"--inputs", file("in.npz"), "--against", file(name)}).code, ExitCode::bad_input) << name;
  }
}

TEST_F(RunCommand, AnIndexOutOfRangeIsRefusedByAll) {
  const int64_t far[2] = {0, 3};
  std::memcpy(arrays_[2].second.bytes.data(), far, sizeof far);
  write_npz(file("far.npz"), arrays_);
  for (const char* on : {"llvm", "interp", "eager", "f64", "bound"}) {
    const Said s = run({"--on", on, "--inputs", file("far.npz")});
    EXPECT_EQ(s.code, ExitCode::bad_input) << on;
    EXPECT_THAT(s.text, HasSubstr("raises")) << on;
  }
}

TEST_F(RunCommand, MemoryHasALimitOnEveryWay) {
  write("big.lenz", R"(graph @g(%x: f32[1000]) {
    %a = aten.add(%x, 1.0) %s = aten.cumsum(%a, 0) %f = aten.flip(%s, [0]) return %f })");
  for (const char* on : {"llvm", "interp", "eager", "f64", "bound"}) {
    const Said enough = run({"--on", on, "--mem-limit", "1000000"}, "big.lenz");
    EXPECT_EQ(enough.code, ExitCode::fine) << on << ": " << enough.text;
    EXPECT_EQ(run({"--on", on, "--mem-limit", "0"}, "big.lenz").code, ExitCode::fine) << on << ": no limit";
    for (const char* limit : {"64", "4100", "7900"}) {
      const Said s = run({"--on", on, "--mem-limit", limit}, "big.lenz");
      EXPECT_EQ(s.code, ExitCode::not_covered) << on << " " << limit;
      EXPECT_THAT(s.text, AllOf(HasSubstr("out of memory"), HasSubstr(limit))) << on;
    }
  }
  const Said checked = check({"--mem-limit", "4100"}, "big.lenz");
  EXPECT_EQ(checked.code, ExitCode::not_covered);
  EXPECT_THAT(checked.text, HasSubstr("4100"));
}

// The corpus holds this graph to eager at small sizes; only machine code can count so far.
TEST_F(RunCommand, MorePointsThan32BitsCount) {
  const std::string graph = "/corpus/regressions/154168_more_points_than_32_bits_count.lenz";
  const Said s = said(run_command, {LENZ_SOURCE_DIR + graph, "--bind", "s0=4294967301"});
  EXPECT_THAT(s.text, AllOf(HasSubstr("output 0: i64[]\n4294967301\n"), HasSubstr("output 1: f64[]\n1\n")));
}

TEST_F(RunCommand, SizesThatTheGraphAssumesNot) {
  write("mlp.lenz", R"(graph @mlp(%x: f32[s0, 4], %w: f32[5, 4], %b: f32[5]) where s0 in 1..9 assuming s0 != 1 {
    %h = aten.linear(%x, %w, %b) %z = aten.gelu(%h) return %z })");
  every_way_is_right("mlp.lenz", {"--bind", "s0=1"});
  EXPECT_THAT(run({"--bind", "s0=1"}, "mlp.lenz").text, HasSubstr("output 0: f32[1, 5]"));
  arrays_ = {{"x", NpyArray{Dtype::f32, 0, {1, 4}, std::vector<std::byte>(16)}}};
  write_npz(file("one.npz"), arrays_);
  EXPECT_THAT(run({"--inputs", file("one.npz")}, "mlp.lenz").text, HasSubstr("output 0: f32[1, 5]"));
  // What a branch assumes of its operands.
  write("branch.lenz", R"(graph @g(%p: bool[], %x: f32[s0, 4], %y: f32[s1, 4]) {
    %r = lenz.cond(%p, @yes, @no, [%x, %y]) return %r }
    graph @yes(%x: f32[s0, 4], %y: f32[s1, 4]) { %a = aten.mul(%x, %y) %s = aten.sum(%a) return %s }
    graph @no(%x: f32[s0, 4], %y: f32[s1, 4]) { %a = aten.sub(%x, %y) %s = aten.sum(%a) return %s })");
  for (const char* bind : {"s0=1,s1=5", "s0=5,s1=1", "s0=1,s1=1", "s0=3,s1=3"})
    every_way_is_right("branch.lenz", {"--bind", bind});
  // The way from the graph to loops assumes more than the graph.
  const std::string dynamic = LENZ_SOURCE_DIR "/corpus/seeds/dynamic_shapes.lenz";
  for (const char* on : {"llvm", "interp"}) {
    const Said s = said(run_command, {dynamic, "--on", on, "--bind", "s0=4,s2=3,s3=5"});
    EXPECT_EQ(s.code, ExitCode::fine) << on << ": " << s.text;
  }
}

TEST_F(RunCommand, SizesThatNoGraphServesNameTheAssumption) {
  write("add.lenz", "graph @g(%x: f32[s0], %y: f32[s1]) { %a = aten.add(%x, %y) return %a }");
  for (const char* on : {"llvm", "interp", "eager", "bound"}) {
    const Said s = run({"--on", on, "--bind", "s0=3,s1=4"}, "add.lenz");
    EXPECT_EQ(s.code, ExitCode::bad_input) << on;
    EXPECT_EQ(s.text,
              "@g: %a = aten.add(%x, %y): these sizes break s0 == s1, and without that, aten.add.Tensor: sizes don't "
              "broadcast (needs s0 == s1)\n  help: give sizes for which that holds");
    EXPECT_EQ(run({"--on", on, "--bind", "s0=1,s1=4"}, "add.lenz").code, ExitCode::fine) << on;
  }
}

TEST_F(RunCommand, NumbersBeyondMemoryAndBeyond64Bits) {
  write("zeros.lenz", "graph @g(%n: int) { %z = aten.zeros([n]) return %z }");
  write("mm.lenz", R"(graph @g(%n: int) {
    %z = aten.ones([n, 1]) %w = aten.ones([1, n]) %m = aten.mm(%z, %w) %s = aten.sum(%m) return %s })");
  for (const char* on : {"llvm", "interp", "eager", "f64"}) {
    for (const auto& [graph, n] : {std::pair("zeros.lenz", "9999999999999"), std::pair("mm.lenz", "9999999")}) {
      const Said s = run({"--on", on, "--bind", std::string("n=") + n}, graph);
      EXPECT_EQ(s.code, ExitCode::not_covered) << on << " " << graph << " " << n << ": " << s.text;
      EXPECT_THAT(s.text, HasSubstr("out of memory")) << on;
    }
    EXPECT_EQ(run({"--on", on, "--bind", "n=99999999999999999999"}, "zeros.lenz").text,
              "--bind: `n=99999999999999999999`: the number overflows 64 bits\n"
              "  help: sizes go up to 9223372036854775807");
  }
  write("integer.lenz", "graph @g(%n: int) { return %n, n - 1 }");
  for (const char* on : {"llvm", "interp", "eager"}) {
    const Said s = run({"--on", on, "--bind", "n=9223372036854775807"}, "integer.lenz");
    EXPECT_THAT(s.text, AllOf(HasSubstr("9223372036854775807"), HasSubstr("9223372036854775806"))) << on;
  }
}

TEST_F(RunCommand, DivisionsOfSizesByZeroAndSizesBeyond64Bits) {
  write("div.lenz", "graph @g(%a: int, %b: int, %x: f32[3]) { %y = aten.mul(%x, a // b) return %y, a % b }");
  write("view.lenz", "graph @g(%x: f32[s0], %y: f32[s1]) { %v = aten.view(%x, [s0 // s1, s1]) return %v }");
  write("back.lenz", "graph @g(%a: int, %b: int) { return a // b }");
  write("square.lenz", "graph @g(%a: int, %x: f32[3]) { %y = aten.mul(%x, a * a) return %y, a * a }");
  write("unbacked.lenz", R"(graph @g(%a: int, %i: i64[] init zeros, %x: f32[3]) {
    %k: int u0 = aten._local_scalar_dense(%i) %y = aten.mul(%x, a // u0) return %y })");
  for (const char* on : {"llvm", "interp", "eager"}) {
    for (const auto& [graph, bind, said] : {std::tuple("div.lenz", "a=3,b=0", "b != 0"),
                                            {"view.lenz", "s0=0,s1=0", "s1 != 0"},
                                            {"back.lenz", "a=3,b=0", "b != 0"},
                                            {"square.lenz", "a=4294967296", "overflow"},
                                            {"unbacked.lenz", "a=3", ""}}) {
      const Said s = run({"--on", on, "--bind", bind}, graph);
      EXPECT_EQ(s.code, ExitCode::bad_input) << on << " " << graph << ": " << s.text;
      EXPECT_THAT(s.text, AllOf(HasSubstr(said), Not(HasSubstr("bug")))) << on << " " << graph;
    }
    EXPECT_EQ(run({"--on", on, "--bind", "a=7,b=2"}, "div.lenz").code, ExitCode::fine) << on;
  }
}

TEST_F(RunCommand, EveryWayPrintsTheSame) {
  write("print.lenz", R"(graph @g(%x: f32[s0], %n: int) {
    %t = lenz.make_token() %u = lenz.print(%t, "{} {} {}", [n, s0 * 2, %n]) %v = lenz.print(%u, "{}", [%x])
    %w = lenz.print(%v, "{} {}", [2.5, true]) return %x })");
  const Said eager = run({"--on", "eager", "--bind", "s0=2,n=5"}, "print.lenz");
  EXPECT_THAT(eager.text, HasSubstr("5 4 5\n"));
  EXPECT_THAT(eager.text, HasSubstr("]\n2.5 "));
  for (const char* on : {"llvm", "interp"}) {
    const Said s = run({"--on", on, "--bind", "s0=2,n=5"}, "print.lenz");
    EXPECT_EQ(s.text.substr(0, s.text.find("output 0")), eager.text.substr(0, eager.text.find("output 0"))) << on;
  }
  EXPECT_EQ(check({}, "print.lenz").code, ExitCode::fine);
}

// A device or a pipe stays what it is.
TEST_F(RunCommand, ResultsGoIntoAPipe) {
  const std::string pipe = file("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const int end = open(pipe.c_str(), O_RDWR);  // so that nobody waits
  ASSERT_GE(end, 0);
  EXPECT_EQ(run({"--save", pipe}).code, ExitCode::fine);
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
  EXPECT_FALSE(std::filesystem::exists(pipe + ".new"));
  char magic[2] = {};
  EXPECT_EQ(read(end, magic, 2), 2);
  EXPECT_EQ(std::string_view(magic, 2), "PK");
  close(end);
}

// A type that the graph gives a result that has no rule, and that it has not.
TEST_F(RunCommand, ResultsOfExternsHaveTheSizesThatAreSaid) {
  constexpr const char* kHead = "extern \"aten::linalg_svdvals(Tensor A, *, str? driver=None) -> Tensor\" ";
  write("more.lenz", std::string(kHead) +
                         "graph @g(%x: f32[4, 4]) { %s: f32[100000000] = aten.linalg_svdvals(%x) %e = "
                         "aten.exp(%s) return %e }");
  write("size.lenz", std::string(kHead) +
                         "graph @g(%x: f32[4, 4], %y: f32[s0]) { %s: f32[s0] = aten.linalg_svdvals(%x) "
                         "%e = aten.exp(%s) %z = aten.add(%e, %y) return %z }");
  for (const char* on : {"llvm", "interp", "eager"}) {
    EXPECT_EQ(run({"--on", on}, "more.lenz").code, ExitCode::bad_input) << on;
    EXPECT_EQ(run({"--on", on, "--bind", "s0=9"}, "size.lenz").code, ExitCode::bad_input) << on;
    EXPECT_EQ(run({"--on", on, "--bind", "s0=4"}, "size.lenz").code, ExitCode::fine) << on;
  }
}

TEST_F(RunCommand, GradientsTakeNoOptionsOfRuns) {
  write("d.lenz", "graph @g(%x: f32[3] requires_grad) { %y = aten.exp(%x) return %y }");
  EXPECT_EQ(run({"--grad"}, "d.lenz").code, ExitCode::fine);
  EXPECT_EQ(run({"--grad", "--guard"}, "d.lenz").code, ExitCode::bad_input);
  EXPECT_EQ(run({"--grad", "--random", "lenz"}, "d.lenz").code, ExitCode::bad_input);
}

// Said before a run, not after it.
TEST_F(RunCommand, ResultsNeedAFile) {
  std::filesystem::create_directory(file("folder"));
  const Said s = run({"--save", file("folder")});
  EXPECT_EQ(s.code, ExitCode::bad_input);
  EXPECT_THAT(s.text, testing::AllOf(HasSubstr("a folder, not a file"), testing::Not(HasSubstr("output 0"))));
  EXPECT_EQ(run({"--save", file("none/out.npz")}).code, ExitCode::bad_input);
}

TEST_F(RunCommand, NaNInEveryInput) {
  write("nan.lenz", R"(graph @g(%x: f32[3, 4], %y: f64[4], %h: f16[4], %b: bf16[4]) {
    %s = aten.softmax(%x, -1) %m = aten.amax(%s, [0]) %c = aten.argmax(%x, 1) %t = aten.maximum(%h, %b)
    %e = aten.exp(%y) %o, %oi = aten.sort(%e, stable=true) %l = aten.le(%x, 0.0) %n = aten.layer_norm(%x, [4])
    return %m, %c, %t, %o, %oi, %l, %n })");
  every_way_is_right("nan.lenz", {"--values", "nan"});
  EXPECT_THAT(run({"--values", "nan"}, "nan.lenz").text, HasSubstr("nan"));
}

TEST_F(RunCommand, TensorsWithoutElements) {
  write("empty.lenz", R"(graph @g(%x: f32[0, 4], %w: f32[4, 0], %v: f32[0]) {
    %p = aten.mm(%x, %w) %q = aten.mm(%w, %x) %s = aten.sum(%x, [0]) %c = aten.cat([%v, %v], 0)
    %k = aten.softmax(%x, 0) %e, %ei = aten.sort(%v) %r = aten.prod(%v)
    return %p, %q, %s, %c, %k, %e, %ei, %r })");
  every_way_is_right("empty.lenz", {});
  write("extreme.lenz", "graph @g(%v: f32[s0]) where s0 in 0..9 { %m = aten.amax(%v, [0]) return %m }");
  for (const char* on : {"llvm", "interp", "eager"}) {
    const Said s = run({"--on", on, "--bind", "s0=0"}, "extreme.lenz");
    EXPECT_EQ(s.code, ExitCode::bad_input) << on << ": " << s.text;
  }
}

TEST_F(RunCommand, WhatRaisesSavesThatItDid) {
  write("raises.lenz",
        "graph @r(%i: i64[1]) {\n  %n = aten.mul(%i, 0)\n  %m = aten.add(%n, 7)\n"
        "  %x = aten.arange(3.0)\n  %r = aten.index_select(%x, 0, %m)\n  return %r\n}\n");
  for (const char* on : {"eager", "interp", "llvm"}) {
    const Said s = run({"--on", on, "--save", file("out.npz")}, "raises.lenz");
    EXPECT_EQ(s.code, ExitCode::bad_input) << on;
    EXPECT_THAT(s.text, HasSubstr(" raises: ")) << on;
    const Said judged = check({"--against", file("out.npz")}, "raises.lenz");
    EXPECT_EQ(judged.code, ExitCode::fine) << on << judged.text;
    EXPECT_THAT(judged.text, HasSubstr("right; eager raises on these inputs too")) << on;
    std::filesystem::remove(file("out.npz"));
  }
  // Of a graph that does not raise such a file is wrong.
  ASSERT_EQ(run({"--on", "eager", "--save", file("out.npz")}, "raises.lenz").code, ExitCode::bad_input);
  EXPECT_EQ(check({"--against", file("out.npz")}).code, ExitCode::wrong);
}

TEST_F(RunCommand, AReferenceIsNoResult) {
  for (const char* on : {"f64", "bound"}) {
    ASSERT_EQ(run({"--on", on, "--save", file("out.npz")}).code, ExitCode::fine);
    const Said s = check({"--against", file("out.npz")});
    EXPECT_EQ(s.code, ExitCode::bad_input);
    EXPECT_THAT(s.text, HasSubstr("it is a float64 reference"));
  }
}

TEST_F(RunCommand, InputsThatTheFileLacksAreNamed) {
  write_npz(file("some.npz"), std::vector{arrays_[0]});
  const Said s = run({"--on", "eager", "--inputs", file("some.npz")});
  EXPECT_EQ(s.code, ExitCode::fine);
  EXPECT_THAT(s.text, AllOf(HasSubstr("input w: not in "), HasSubstr("input i: not in "), Not(HasSubstr("input x:"))));
  write_npz(file("results.npz"), std::vector{std::pair{std::string("out0"), arrays_[0].second}});
  const Said none = run({"--on", "eager", "--inputs", file("results.npz")});
  EXPECT_EQ(none.code, ExitCode::bad_input);
  EXPECT_THAT(none.text, HasSubstr("no array of the file is an input of the graph"));
  const Said other = check({"--against", file("some.npz")});
  EXPECT_EQ(other.code, ExitCode::bad_input);
  EXPECT_THAT(other.text, HasSubstr("it lacks out0"));
  EXPECT_THAT(other.text, HasSubstr("; it has x"));
}

TEST_F(RunCommand, WhatIsOfOwnResultsGoesNotWithOthers) {
  ASSERT_EQ(run({"--save", file("out.npz")}).code, ExitCode::fine);
  for (const std::vector<std::string>& own :
       {std::vector<std::string>{"--layouts"}, {"--bisect"}, {"--seeds", "3"}, {"--every-target"}}) {
    std::vector<std::string> all{"--against", file("out.npz")};
    all.insert(all.end(), own.begin(), own.end());
    EXPECT_EQ(check(all).code, ExitCode::bad_input) << own[0];
  }
}

TEST_F(RunCommand, AnEmptyBindIsRefused) {
  EXPECT_EQ(run({"--bind", ""}).code, ExitCode::bad_input);
  EXPECT_EQ(check({"--bind", ""}).code, ExitCode::bad_input);
}

TEST_F(RunCommand, TheCheckSaysWhetherValuesWereExact) {
  write("sum.lenz", "graph @s(%x: f32[4, 5]) {\n  %r = aten.sum(%x)\n  return %r\n}\n");
  EXPECT_THAT(check({"--values", "exact", "--seeds", "1"}, "sum.lenz").text,
              HasSubstr("on 1 every operation is exact, and all are the same bit for bit"));
  const Said other = check({"--values", "exact", "--seeds", "1"});
  EXPECT_THAT(other.text, AllOf(HasSubstr("on 1 no values keep it exact ("), HasSubstr("tanh"),
                                HasSubstr("): whole numbers there")));
  ASSERT_EQ(run({"--on", "eager", "--values", "exact", "--save", file("out.npz")}, "sum.lenz").code, ExitCode::fine);
  EXPECT_THAT(check({"--values", "exact", "--against", file("out.npz")}, "sum.lenz").text,
              HasSubstr("1 of them held bit for bit: on these inputs every operation is exact"));
}

TEST_F(RunCommand, AnEmptyNameIsNoFile) {
  for (const char* option : {"--against", "--inputs", "--save-parts"})
    EXPECT_EQ(check({option, ""}).code, ExitCode::bad_input) << option;
  for (const char* option : {"--inputs", "--save"}) EXPECT_EQ(run({option, ""}).code, ExitCode::bad_input) << option;
  EXPECT_EQ(check({"--points", "nan"}).code, ExitCode::bad_input);
}

TEST_F(RunCommand, APartsFolderIsMade) {
  const std::string folder = file("a/b");
  EXPECT_EQ(check({"--save-parts", folder, "--seeds", "1"}).code, ExitCode::fine);
  EXPECT_TRUE(std::filesystem::is_directory(folder));
  write("file", "");
  EXPECT_EQ(check({"--save-parts", file("file")}).code, ExitCode::bad_input);
}

TEST_F(RunCommand, ABadFileIsToldInJsonToo) {
  write("bad.npz", "no zip");
  const Said s = check({"--against", file("bad.npz"), "--json"});
  EXPECT_EQ(s.code, ExitCode::bad_input);
  const auto report = nlohmann::json::parse(s.text);
  EXPECT_EQ(report["code"], 2);
  EXPECT_THAT(report["error"].get<std::string>(), HasSubstr("bad .npz"));
  std::ifstream schema(std::string(LENZ_SOURCE_DIR) + "/oracle/judge_results.schema.json");
  EXPECT_TRUE(schema_violations(report, nlohmann::json::parse(schema)).empty());
}

TEST_F(RunCommand, ResultsAreNoTextForTheStandardOutput) {
  const Said s = run({"--save", "-"});
  EXPECT_EQ(s.code, ExitCode::bad_input);
  EXPECT_THAT(s.text, HasSubstr("name a file"));
}

TEST_F(RunCommand, NaNHasNoSign) {
  write("nan.lenz", R"(graph @g(%x: f32[2] init zeros) { %y = aten.div(%x, %x) %n = aten.neg(%y) return %y, %n })");
  const Said s = run({}, "nan.lenz");
  EXPECT_THAT(s.text, AllOf(HasSubstr("nan"), Not(HasSubstr("-nan"))));
}

TEST_F(RunCommand, WhatIsOpenAndWhatNobodyJudgedIsSaidBehindTheVerdict) {
  write("open.lenz", R"(graph @g(%x: f32[1] init ones, %y: f32[100]) {
    %e = aten.rsqrt(%x) %c = aten.gt(%e, 1.0) %n = aten.neg(%y) %f = aten.gt(%n, %y) %w = aten.cat([%c, %f])
    return %w, %n
  })");
  EXPECT_EQ(run({"--on", "eager", "--save", file("all.npz")}, "open.lenz").code, ExitCode::fine);
  std::vector<std::pair<std::string, NpyArray>> arrays;
  NpzReader saved(file("all.npz"));
  for (const std::string& key : saved.keys())
    if (key != "lenz") arrays.emplace_back(key, saved.read(key));
  write_npz(file("bare.npz"), arrays);
  EXPECT_THAT(check({"--against", file("bare.npz")}, "open.lenz").text,
              HasSubstr("right; 201 elements, 200 of them held to better than 2^-6, 1 may be anything\n"
                        "  not judged, for the file does not say it: the layouts of out0, out1; who shares memory\n"));
}

}  // namespace
}  // namespace lenz::oracle
