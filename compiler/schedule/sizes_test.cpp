// Programs at the sizes that models have: too many elements to interpret, but what is proved of them needs no run.
// Small sizes never meet a tile's edge.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>

#include "compiler/driver/compile.h"
#include "compiler/graph/text.h"
#include "compiler/loops/text.h"
#include "compiler/loops/verify.h"
#include "compiler/ops/op_table.h"
#include "compiler/schedule/realise.h"

namespace lenz::schedule {
namespace {

class Sizes {
 public:
  explicit Sizes(uint32_t seed) : random_(seed) {}

  int64_t upto(int64_t n) { return std::uniform_int_distribution<int64_t>(0, n - 1)(random_); }

  // A graph of a few ops on one shape.
  std::string graph() {
    const auto rank = static_cast<size_t>(1 + upto(5));
    std::vector<int64_t> sizes;
    int64_t elements = 1;
    for (size_t d = 0; d < rank; ++d) {
      constexpr int64_t kUsual[] = {1,   2,   3,   7,   12,  16,   33,   56,   64,   100,
                                    128, 197, 256, 512, 768, 1000, 1024, 4099, 50257};
      int64_t size = kUsual[upto(std::ssize(kUsual))];
      if (elements * size > (int64_t{1} << 26)) size = 1 + upto(4);
      elements *= size;
      sizes.push_back(size);
    }
    std::vector<std::string> names;
    for (size_t d = 0; d < rank; ++d) names.push_back(std::to_string(sizes[d]));
    std::string where, order = strides(sizes);
    if (upto(3) == 0) {
      names[static_cast<size_t>(dim_of(rank))] = "s0";
      where = " where s0 in 1..50000";
      order.clear();
    }
    const std::string shape = fmt::format("[{}]", fmt::join(names, ", "));
    std::string text = fmt::format("graph @g(%x: f32{}{}, %y: bf16{}){} {{\n", shape, order, shape, where);
    std::vector<std::string> values = {"%x", "%y"};
    auto one = [&] { return values[static_cast<size_t>(upto(std::ssize(values)))]; };
    auto dim = [&] { return dim_of(rank); };
    for (int step = 0; step < 2 + static_cast<int>(upto(4)); ++step) {
      const std::string name = fmt::format("%v{}", step);
      switch (upto(9)) {
        case 0: text += fmt::format("  {} = aten.exp({})\n", name, one()); break;
        case 1: text += fmt::format("  {} = aten.add({}, {})\n", name, one(), one()); break;
        case 2: text += fmt::format("  {} = aten.softmax.int({}, {})\n", name, one(), dim()); break;
        case 3:
          text += fmt::format("  %s{} = aten.sum.dim_IntList({}, [{}], true)\n", step, one(), dim());
          text += fmt::format("  {} = aten.sub({}, %s{})\n", name, one(), step);
          break;
        case 4: text += fmt::format("  {} = aten.cumsum({}, {})\n", name, one(), dim()); break;
        case 5: text += fmt::format("  {} = aten.flip({}, [{}])\n", name, one(), dim()); break;
        case 6: {
          const int64_t a = dim(), b = dim();
          text += fmt::format("  %t{} = aten.transpose.int({}, {}, {})\n", step, one(), a, b);
          text += fmt::format("  %c{0} = aten.clone(%t{0})\n  {1} = aten.transpose.int(%c{0}, {2}, {3})\n", step, name,
                              a, b);
          break;
        }
        case 7: text += fmt::format("  {} = aten.dropout({}, 0.25, true)\n", name, one()); break;
        case 8:
          text += fmt::format("  %f{0} = aten.view({1}, [-1])\n  {2} = aten.view(%f{0}, {3})\n", step,
                              contiguous(text, step, one()), name, shape);
          break;
      }
      values.push_back(name);
    }
    text += fmt::format("  return {}\n}}\n", values.back());
    return text;
  }

 private:
  int64_t dim_of(size_t rank) { return upto(static_cast<int64_t>(rank)); }
  static std::string contiguous(std::string& text, int step, const std::string& value) {
    text += fmt::format("  %d{} = aten.clone({}, memory_format=contiguous_format)\n", step, value);
    return fmt::format("%d{}", step);
  }

  // Of the dims in some order, sometimes.
  std::string strides(const std::vector<int64_t>& sizes) {
    if (upto(2) == 0) return {};
    std::vector<size_t> order(sizes.size());
    for (size_t d = 0; d < order.size(); ++d) order[d] = d;
    std::ranges::shuffle(order, random_);
    std::vector<int64_t> made(sizes.size());
    int64_t step = 1;
    for (size_t d : order) {
      made[d] = step;
      step *= sizes[d];
    }
    return fmt::format(" strides [{}]", fmt::join(made, ", "));
  }

  std::mt19937 random_;
};

TEST(Schedule, ProgramsOfUsualSizesAreValid) {
  for (uint32_t seed = 0; seed < 1500; ++seed) {
    const std::string text = Sizes(seed).graph();
    SCOPED_TRACE(fmt::format("seed {}\n{}", seed, text));
    try {
      const loops::Program program = schedule(to_loops(*parse_graph(text, op_table())), cpu_target("avx512", 2));
      loops::require_valid(program, "the scheduler");
    } catch (const std::exception& error) {
      ADD_FAILURE() << std::string(error.what()).substr(0, 2000);
    }
  }
}

}  // namespace
}  // namespace lenz::schedule
