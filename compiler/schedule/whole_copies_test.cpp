// What is built up in memory of its own and then copied is built where it goes, unless somebody else sees that memory.
#include "compiler/schedule/whole_copies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/driver/compile.h"
#include "compiler/graph/text.h"
#include "compiler/loops/interpret.h"
#include "compiler/loops/text.h"
#include "compiler/loops/verify.h"
#include "compiler/ops/op_table.h"
#include "compiler/schedule/realise.h"

namespace lenz::schedule {
namespace {

using testing::HasSubstr;
using testing::Not;

loops::Program lowered(const std::string& body) {
  return to_loops(*parse_graph("graph @g(%x: f32[6, 4], %i: i64[3], %v: f32[3, 4]) {\n" + body + "}\n", op_table()));
}

std::vector<double> run(const loops::Program& program) {
  std::vector<loops::InputValue> inputs;
  loops::Tensor x(Dtype::f32, loops::Ints{6, 4}), i(Dtype::i64, loops::Ints{3}), v(Dtype::f32, loops::Ints{3, 4});
  for (int64_t k = 0; k < x.numel(); ++k) x.put(k, ScalarValue(static_cast<double>(k)));
  for (int64_t k = 0; k < 3; ++k) i.put(k, ScalarValue(int64_t{(k * 4) % 6}));
  for (int64_t k = 0; k < v.numel(); ++k) v.put(k, ScalarValue(100.0 + static_cast<double>(k)));
  const loops::Results got = loops::interpret(program, std::vector<loops::InputValue>{x, i, v});
  EXPECT_EQ(got.ending, loops::Ending::finished) << got.text;
  std::vector<double> numbers;
  for (const auto& o : got.outputs)
    for (int64_t k = 0; k < o.tensor.numel(); ++k) numbers.push_back(o.tensor.at(k).real());
  return numbers;
}

TEST(WholeCopies, RowsAreAddedWhereTheResultIs) {
  for (const char* body : {"%r = aten.index_add(%x, 0, %i, %v)\n return %r\n",
                           "%r = aten.index_add(%x, 0, %i, %v) %s = aten.mul(%r, 2.0)\n return %s, %r\n"}) {
    loops::Program program = lowered(body);
    const std::vector<double> wanted = run(program);
    EXPECT_THAT(loops::print(program), HasSubstr("temp %t"));
    build_in_place(program);
    loops::require_valid(program, "the test");
    EXPECT_EQ(run(program), wanted) << body;
    const std::string text = loops::print(program);
    EXPECT_THAT(text, Not(HasSubstr("load %t["))) << text;
    EXPECT_THAT(text, Not(HasSubstr("store %t["))) << text;
  }
}

// Who reads parts of it reads them there, though it was written in two steps.
TEST(WholeCopies, PartsOfWhatWasBuiltUpAreReadWhereItIs) {
  loops::Program program = lowered(R"(%r = aten.index_copy(%x, 0, %i, %v)
    %a = aten.slice(%r, 0, 0, 6, 2) %b = aten.slice(%r, 0, 1, 6, 2) %f = aten.flip(%b, [0])
    %s = aten.add(%a, %f) return %s
)");
  const std::vector<double> wanted = run(program);
  const loops::Program made = schedule(std::move(program), cpu_target("avx512", 2));
  EXPECT_EQ(run(made), wanted);
  EXPECT_THAT(loops::print(made), Not(HasSubstr("store %b[")));
}

// Elements that share places would be added to twice.
TEST(WholeCopies, AResultWhoseElementsShareMemoryIsCopiedTo) {
  loops::Program program = lowered("%r = aten.index_add(%x, 0, %i, %v)\n return %r\n");
  for (loops::Buffer& b : program.buffers)
    if (b.name == "r") b.type.strides[0] = 0;
  const std::string before = loops::print(program);
  build_in_place(program);
  EXPECT_EQ(loops::print(program), before);
}

}  // namespace
}  // namespace lenz::schedule
