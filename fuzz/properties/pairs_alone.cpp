// Rows that are combined with rows go along several of them together where they are long enough for lanes and there are
// several: few random graphs have such. So some cases draw one, of sizes beside those at which code becomes another.
#include <algorithm>
#include <string>

#include "compiler/base/hash.h"
#include "compiler/graph/text.h"
#include "compiler/ops/op_table.h"
#include "fuzz/properties/alone.h"
#include "fuzz/properties/list.h"

namespace lenz::fuzz {

namespace {
// Made of %a and %b, the rows with an axis more each.
constexpr std::string_view kCombined[] = {
    "aten.sub(%a, %b)",      // op name: what programs about pairs of rows have
    "aten.mul(%a, %b)",      // op name: as above
    "aten.add(%a, %b)",      // op name: as above
    "aten.maximum(%a, %b)",  // op name: as above
};
// And of %p, along the rows.
constexpr std::string_view kReduced[] = {
    "aten.sum.dim_IntList(%p, [-1])",        // op name: as above
    "aten.amax(%p, [-1])",                   // op name: as above
    "aten.amin(%p, [-1])",                   // op name: as above
    "aten.prod.dim_int(%p, -1)",             // op name: as above
    "aten.argmin(%p, -1)",                   // op name: as above
    "aten.linalg_vector_norm(%p, 2, [-1])",  // op name: as above
};
constexpr Dtype kDtypes[] = {Dtype::f32, Dtype::f32, Dtype::f64, Dtype::bf16, Dtype::f16,
                             Dtype::i32, Dtype::i64, Dtype::u8,  Dtype::c64};

// UserError where no row of that name takes the dtype.
std::unique_ptr<Graph> rows_with_rows(Chooser& choose) {
  const int64_t rows = choose.between(3, 10), others = choose.any_of<int64_t>({1, 2, 3, 6, 7, 63, 65, 66});
  const int64_t vectors = 4 * choose.any_of<int64_t>({1, 2, 4, 8, 12, 16});
  const int64_t width = std::max<int64_t>(4, vectors + choose.between(-1, 1));
  const bool batch = choose.chance(1, 4), open = choose.chance(1, 4);
  const std::string size = open ? "s0" : std::to_string(width);
  const std::string where = open ? " where s0 in 4.." + std::to_string(width) : "";
  const std::string dtype(info(choose.pick(kDtypes)).name);
  const auto input = [&](const std::string& name, int64_t count) {
    return name + ": " + dtype + "[" + (batch ? "2, " : "") + std::to_string(count) + ", " + size + "]";
  };
  std::string text = "graph @pairs(" + input("%x", rows) + ", " + input("%y", others) + ")" + where + " {\n";
  text += "  %a = aten.unsqueeze(%x, -2)\n  %b = aten.unsqueeze(%y, -3)\n";  // op name: as above
  text += "  %p = " + std::string(choose.pick(kCombined)) + "\n  %r = " + std::string(choose.pick(kReduced)) + "\n";
  text += "  %e = aten.neg(%r)\n  return %e\n}\n";  // op name: as above
  return parse_graph(text, op_table());
}

std::optional<Failure> holds(Subject& subject) {
  RandomChooser choose(combine(subject.setting().seed, hash_bytes("pairs_alone")));
  std::unique_ptr<Graph> graph;
  try {
    graph = rows_with_rows(choose);
  } catch (const UserError&) {
    return std::nullopt;
  }
  CaseRunner runner({find_property("realised"), find_property("machine_code")}, subject.scratch());
  Setting setting = subject.setting();
  setting.number.reset();
  return failure_of_drawn("pairs_alone", "rows with rows", *graph, setting, runner);
}
}  // namespace

Property pairs_alone() {
  return {.name = "pairs_alone",
          .contract = "rows each of which is combined with each of others hold as kernels and as machine code",
          .holds = holds,
          .every = 4,
          .of_graph = true};
}

}  // namespace lenz::fuzz
