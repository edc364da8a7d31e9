// Programs on libtorch's tensors that are not what they were compiled for.
#include "oracle/native_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/driver/build.h"
#include "compiler/graph/text.h"
#include "compiler/ops/op_table.h"
#include "oracle/draw_inputs.h"
#include "oracle/interpreted.h"
#include "oracle/tensors.h"

namespace lenz::oracle {
namespace {

// What such a program does wrong is read the one input after it has written the other.
TEST(NativeRun, InputsThatStartToShareMemoryAreRefused) {
  auto graph = parse_graph(R"(graph @g(%x: f32[6] mut, %y: f32[6]) {
    %w = aten.add_(%x, 1.0) %r = aten.mul(%y, 2.0) return %r })",
                           op_table());
  Boxed boxed(DeviceKind::cpu);
  const loops::Program program = to_loops(*graph);
  auto executable = build(*graph);
  std::vector<RunValue> inputs = draw_inputs(*graph, boxed, {}, Values::ordinary, 0);
  EXPECT_EQ(run_native(*executable, inputs, boxed).ending, Ending::finished);
  inputs[1] = inputs[0];
  auto refusal = [](const std::function<void()>& run) -> std::string {
    try {
      run();
    } catch (const UserError& error) {
      return error.what();
    }
    return "it ran";
  };
  for (const std::string& said : {refusal([&] { run_native(*executable, inputs, boxed); }),
                                  refusal([&] { run_interpreted(program, inputs, boxed); })})
    EXPECT_THAT(said,
                testing::AllOf(testing::HasSubstr("shares its storage with input 'x', and one of them is mutated"),
                               testing::HasSubstr("`alias`")));
}

// Whatever was drawn in between, here or by libtorch.
TEST(NativeRun, DrawsAreThoseOfTheSeed) {
  auto graph = parse_graph("graph @g() { %r = aten.rand([6]) return %r }", op_table());
  auto executable = build(*graph);
  Boxed boxed(DeviceKind::cpu);
  auto drawn = [&](uint64_t seed) {
    ExecuteOptions options;
    options.ambient_seed = seed;
    return to_text(run_native(*executable, {}, boxed, options).outputs[0]);
  };
  const std::string first = drawn(3), other = drawn(4);
  EXPECT_NE(first, other);
  boxed.draw_seed();
  EXPECT_EQ(drawn(4), other);
  EXPECT_EQ(drawn(3), first);
}

// Results may show a constant that the executable loaded, and are read when the executable is gone.
TEST(NativeRun, ResultsKeepTheConstantsThatTheyShow) {
  auto graph = parse_graph(R"(graph @g() {
    %c = lenz.constant(f32[2, 3] "beside.npz":"w") %t = aten.t(%c) return %c, [%t, %c] })",
                           op_table());
  auto elements = std::make_shared<std::vector<float>>(std::vector<float>{1, 2, 3, 4, 5, 6});
  BuildOptions options;
  options.executable.load_constant = [&](const ConstantData&) {
    auto storage = std::make_shared<loops::Storage>();
    storage->data = reinterpret_cast<std::byte*>(elements->data());
    storage->bytes = elements->size() * sizeof(float);
    storage->owner = elements;
    const loops::Ints sizes{2, 3};
    return loops::Tensor(std::move(storage), Dtype::f32, sizes, loops::contiguous_strides(sizes), 0);
  };
  Boxed boxed(DeviceKind::cpu);
  Execution run;
  run = run_native(*build(*graph, options), {}, boxed);
  ASSERT_EQ(run.ending, Ending::finished);
  options = {};
  EXPECT_GT(elements.use_count(), 1) << "nobody keeps what the results show";
  EXPECT_THAT(to_text(run.outputs[0]), testing::HasSubstr("6"));
  run.outputs.clear();
  EXPECT_EQ(elements.use_count(), 1);
}

// Eager's loops and the interpreter's end so too: what goes on for ever on one alone is wrong.
TEST(NativeRun, LoopsThatDoNotEndHaveRaised) {
  auto graph = parse_graph(
      R"(graph @main(%n: i64[] init integers(0, 2, seed=1)) { %r = lenz.while_loop(@test, @body, [%n]) return %r }
    graph @test(%n: i64[]) { %t = aten.lt(%n, 3) return %t }
    graph @body(%n: i64[]) { %m = aten.sub(%n, 1) return %m })",
      op_table());
  Boxed boxed(DeviceKind::cpu);
  BuildOptions options;
  options.executable.while_limit = 50;
  const Execution run = run_native(*build(*graph, options), draw_inputs(*graph, boxed, {}, Values::ordinary, 0), boxed);
  EXPECT_EQ(run.ending, Ending::raised);
  EXPECT_THAT(run.text, testing::HasSubstr("more than 50 rounds"));
}

}  // namespace
}  // namespace lenz::oracle
