#include "bench/peers.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "bench/stream.h"
#include "compiler/base/json_schema.h"
#include "compiler/driver/compile.h"
#include "compiler/graph/text.h"
#include "compiler/ops/op_table.h"

namespace lenz::bench {
namespace {

Measured took(const std::string& subject, double ms) {
  Measured m(subject);
  m.times = {ms, ms};
  return m;
}

PeerRow row(const std::string& name, std::vector<Measured> subjects) {
  PeerRow r;
  r.name = name;
  r.own = true;
  r.subjects = std::move(subjects);
  return r;
}

std::vector<std::string> violations(const PeersReport& report) {
  std::ifstream file(std::string(LENZ_SOURCE_DIR) + "/bench/peers.schema.json");
  return schema_violations(report.to_json(), nlohmann::json::parse(file));
}

TEST(PeersReport, RatioIsToTheBestPeer) {
  PeerRow r = row("r", {took("lenz", 2), took("eager", 6), took("default", 3), took("max-autotune", 0)});
  r.memory = {1.5, 1.5};
  r.arithmetic_ms = 1;
  EXPECT_DOUBLE_EQ(r.ratio(), 1.5);
  EXPECT_DOUBLE_EQ(r.roofline(), 0.75);
  EXPECT_EQ(r.best_peer()->subject, "default");
}

TEST(PeersReport, WhatWasNotMeasuredHasNoRatio) {
  EXPECT_EQ(row("r", {took("lenz", 0), took("eager", 6)}).ratio(), 0);
  EXPECT_EQ(row("r", {took("lenz", 1), took("eager", 0)}).ratio(), 0);
  EXPECT_EQ(row("r", {took("lenz", 1)}).ratio(), 0);
}

TEST(PeersReport, TheGeomeanIsOfOwnRowsAndCapped) {
  PeersReport report;
  report.rows = {row("a", {took("lenz", 1), took("eager", 100)}), row("b", {took("lenz", 3), took("eager", 1)}),
                 row("c", {took("lenz", 1), took("eager", 100)})};
  report.rows[2].own = false;
  EXPECT_NEAR(report.geomean(3), 1, 1e-12);
}

TEST(PeersReport, JsonFitsItsSchema) {
  PeersReport report;
  report.torch = "2";
  report.cpu = "some";
  report.threads = 1;
  report.rows = {row("a", {took("lenz", 1), took("eager", 100)}), row("b", {took("lenz", 0), took("eager", 0)})};
  report.rows[0].neighbours = {row("a.n1", {took("lenz", 1)})};
  report.rows[0].neighbours[0].sizes = {{"n", 7}};
  report.rows[1].share = Share();
  report.rows[1].failed = report.rows[1].subjects[0].failed = "can't";
  EXPECT_TRUE(violations(report).empty()) << violations(report)[0];
  const nlohmann::json j = report.to_json();
  EXPECT_EQ(j["rows"][0]["ratio"], 100);
  EXPECT_EQ(j["rows"][0]["neighbours"][0]["sizes"]["n"], 7);
  EXPECT_TRUE(j["rows"][1]["ratio"].is_null());
  EXPECT_EQ(j["rows"][1]["failed"]["lenz"], "can't");
}

TEST(Times, KeepsTheBetterOfEach) {
  Times t = Times::of({0.003, 0.001, 0.002});
  EXPECT_DOUBLE_EQ(t.best, 1);
  EXPECT_DOUBLE_EQ(t.median, 2);
  t.keep_better({0.5, 4});
  t.keep_better({});
  EXPECT_DOUBLE_EQ(t.best, 0.5);
  EXPECT_DOUBLE_EQ(t.median, 2);
}

TEST(Stream, MoreBytesTakeLonger) {
  auto pool = runtime::make_pool(1);
  const double little = Stream(1e5, 1e5, *pool).round(0.01).best, much = Stream(4e7, 4e7, *pool).round(0.01).best;
  EXPECT_GT(little, 0);
  EXPECT_GT(much, 20 * little);
  EXPECT_GT(Stream(0, 0, *pool).round(0.001).best, 0);
}

// --- arithmetic
// ---------------------------------------------------------------------------------------------------------

Work of_graph(const std::string& text) {
  return work_of(to_loops(*parse_graph(text, op_table()), {}, {.products_outside = false}), {});
}

TEST(Work, CountsEachValueOnce) {
  const Work work = of_graph(
      "graph @g(%x: f32[6, 5]) {\n  %e = aten.exp(%x)\n  %s = aten.sum(%e, dim=[1])\n  %t = aten.tanh(%s)\n"
      "  return %t\n}\n");
  EXPECT_EQ(work.primitives, (std::map<std::string, double>{{"exp.f32", 30}, {"tanh.f32", 6}}));
  EXPECT_EQ(work.simple, 30);
}

TEST(Work, NarrowFloatsAreComputedWide) {
  EXPECT_EQ(of_graph("graph @g(%x: bf16[7]) {\n  %e = aten.erf(%x)\n  return %e\n}\n").primitives.count("erf.f32"), 1);
}

// Inputs once, however often they are read; results, and what is rounded and computed with again.
TEST(Work, ConversionsOfNarrowFloats) {
  using Counts = std::map<std::string, double>;
  const std::string rounded = "to_dtype.f32 bf16", widened = "to_dtype.bf16 f32";
  EXPECT_EQ(of_graph("graph @g(%x: f32[7]) {\n  %e = aten.neg(%x)\n  return %e\n}\n").conversions, Counts());
  EXPECT_EQ(of_graph("graph @g(%x: bf16[6, 5], %y: bf16[5]) {\n  %a = aten.add(%x, %y)\n  %b = aten.mul(%a, %y)\n"
                     "  return %b\n}\n")
                .conversions,
            (Counts{{widened, 35}, {rounded, 30}}));
  EXPECT_EQ(
      of_graph("graph @g(%x: f32[7]) {\n  %n = aten.to(%x, bf16)\n  %r = aten.relu(%n)\n  return %r\n}\n").conversions,
      (Counts{{rounded, 7}}));
  EXPECT_EQ(of_graph("graph @g(%x: f32[7], %y: bf16[7]) {\n  %n = aten.to(%x, bf16)\n  %m = aten.mul(%n, %y)\n"
                     "  return %m\n}\n")
                .conversions,
            (Counts{{rounded, 14}, {widened, 14}}));
}

TEST(Work, ConstantsArePartOfAPrimitive) {
  const Work work = of_graph("graph @g(%x: f32[5]) {\n  %p = aten.pow(%x, 2.5)\n  return %p\n}\n");
  EXPECT_EQ(work.primitives, (std::map<std::string, double>{{"pow.f32 _ 2.5", 5}}));
}

TEST(Work, ProductsCountTwo) {
  EXPECT_EQ(of_graph("graph @g(%x: f32[4, 8], %y: f32[8, 3]) {\n  %m = aten.mm(%x, %y)\n  return %m\n}\n").products,
            2 * 4 * 8 * 3);
  EXPECT_EQ(of_graph("graph @g(%x: bf16[4, 8], %y: bf16[8, 3]) {\n  %m = aten.mm(%x, %y)\n  return %m\n}\n").narrow,
            2 * 4 * 8 * 3);
}

// x * y + z is one instruction, x * y that somebody else uses too is not, nor are integers'.
TEST(Work, ProductsWithinAdditions) {
  auto simple = [](const std::string& dtype, const std::string& returned) {
    return of_graph("graph @g(%x: " + dtype + "[5], %y: " + dtype + "[5], %z: " + dtype +
                    "[5]) {\n  %p = aten.mul.Tensor(%x, %y)\n  %s = aten.add.Tensor(%p, %z)\n  return " + returned +
                    "\n}\n")
        .simple;
  };
  EXPECT_EQ(simple("f32", "%s"), 5);
  EXPECT_EQ(simple("f32", "%s, %p"), 10);
  EXPECT_EQ(simple("i32", "%s"), 10);
  EXPECT_EQ(of_graph("graph @g(%x: f32[5, 3]) {\n  %p = aten.mul.Tensor(%x, %x)\n  %s = aten.sum(%p, dim=[1])\n"
                     "  return %s\n}\n")
                .simple,
            15);
}

TEST(Share, ProductsStandApart) {
  auto graph = parse_graph(
      "extern \"aten::linalg_inv(Tensor x) -> Tensor\"\n"
      "graph @g(%x: f32[64, 80], %y: f32[80, 72], %z: f32[3, 3]) {\n  %m = aten.mm(%x, %y)\n  %r = aten.relu(%m)\n"
      "  %i: f32[3, 3] = aten.linalg_inv(%z)\n  return %r, %i\n}\n",
      op_table());
  const Share share = share_of(to_loops(*graph, {}, {.products_outside = true}), {}, {});
  EXPECT_EQ(share.ours.nodes, 1);
  EXPECT_EQ(share.ours.bytes, 64 * 72 * 4);
  EXPECT_EQ(share.products.nodes, 1);
  EXPECT_EQ(share.time(), 1);
  EXPECT_LT(share.nodes(), 1);
  EXPECT_FALSE(share.without_loops.empty());
}

TEST(Throughput, MeasuresWhatRandomOpsDraw) {
  const Work work = of_graph(
      "graph @g(%x: bf16[64, 32]) {\n  %d = aten.dropout(%x, 0.1, true)\n  %n = aten.randn_like(%x)\n  return %d, "
      "%n\n}\n");
  EXPECT_EQ(work.primitives.size(), 2) << "a word and a normal number";
  Throughput throughput(runtime::make_pool(1));
  throughput.measure(work);
  EXPECT_GT(throughput.time(work), 0);
}

// They go on beside arithmetic: whatever takes longer counts.
TEST(Throughput, MeasuresConversions) {
  Throughput throughput(runtime::make_pool(1));
  Work work;
  work.conversions = {{"to_dtype.f32 bf16", 1e6}, {"to_dtype.bf16 f32", 1e6}, {"to_dtype.f32 f16", 1e6}};
  throughput.measure(work);
  const double alone = throughput.time(work);
  EXPECT_GT(alone, 0);
  work.simple = 1;
  EXPECT_EQ(throughput.time(work), alone);
}

TEST(Throughput, MeasuresWhatIsAskedFor) {
  Throughput throughput(runtime::make_pool(1));
  const Work work{.simple = 1e6,
                  .products = 0,
                  .narrow = 0,
                  .primitives = {{"exp.f32", 1e6}, {"draw.word i64", 1e6}, {"div.f64", 1e6}, {"pow.f32 _ 2.0", 1e6}}};
  EXPECT_EQ(throughput.time(work), 0);
  throughput.measure(work);
  const double together = throughput.time(work);
  EXPECT_GT(together, throughput.time({.simple = 1e6, .products = 0, .narrow = 0, .primitives = {}}));
  EXPECT_GT(throughput.time({.simple = 0, .products = 0, .narrow = 0, .primitives = {{"exp.f32", 2e6}}}),
            1.9 * throughput.time({.simple = 0, .products = 0, .narrow = 0, .primitives = {{"exp.f32", 1e6}}}));
  EXPECT_LT(together, 1000);
}

// --- the process on the other side
// ------------------------------------------------------------------------------------

// A shell in the worker's place: it greets, then does this for every line.
std::vector<std::string> shell(const std::string& each) {
  return {"/bin/sh", "-c", "echo '{\"torch\": \"0\"}'; while read line; do " + each + "; done"};
}

TEST(Worker, AnswersLineByLine) {
  Worker worker(shell("echo '{\"n\": 1}'"), "");
  EXPECT_EQ(worker.greeting()["torch"], "0");
  EXPECT_EQ(worker.ask({{"do", "anything"}})["n"], 1);
  EXPECT_EQ(worker.ask({{"do", "anything"}})["n"], 1);
}

TEST(Worker, AnErrorThereIsAnErrorHere) {
  Worker worker(shell("echo '{\"error\": \"no such row\"}'"), "");
  try {
    worker.ask({{"do", "rows"}});
    FAIL();
  } catch (const UserError& error) {
    EXPECT_EQ(error.message(), "no such row");
  }
}

TEST(Worker, DiesAndStartsAnew) {
  const std::string mark = testing::TempDir() + "worker_died_" + std::to_string(getpid());
  Worker worker(shell("if [ -e " + mark + " ]; then echo '{\"n\": 2}'; else touch " + mark + "; kill -9 $$; fi"), "");
  EXPECT_THROW(worker.ask({{"do", "rows"}}), WorkerDied);
  EXPECT_EQ(worker.ask({{"do", "rows"}})["n"], 2);
  unlink(mark.c_str());
}

TEST(Worker, DoesNotWaitForEver) {
  Worker worker(shell("exec sleep 5"), "");
  EXPECT_THROW(worker.ask({{"do", "rows"}}, 0.1), WorkerDied);
}

TEST(Worker, NonsenseIsNoAnswer) {
  Worker worker(shell("echo Traceback"), "");
  EXPECT_THROW(worker.ask({{"do", "rows"}}), WorkerDied);
  EXPECT_THROW(Worker({"/no/such/python"}, "").greeting(), UserError);
}

}  // namespace
}  // namespace lenz::bench
