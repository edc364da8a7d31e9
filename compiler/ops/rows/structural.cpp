// Plumbing of the graph itself: constants, and elements of tensor lists.
#include "compiler/graph/graph.h"
#include "compiler/ops/rows/families.h"

namespace lenz {

namespace {
void constant(Infer& in) { in.result(in.arg("value").data->type); }

void getitem(Infer& in) {
  const Arg& list = in.arg("list");
  int64_t index = in.constant("index");
  auto count = static_cast<int64_t>(list.is_value() ? in.type_of(list.value()).elements().size() : list.count);
  if (index < -count || index >= count)
    in.raise("index " + std::to_string(index) + " is out of range for a list of " + std::to_string(count));
  auto at = static_cast<size_t>(index < 0 ? index + count : index);
  if (list.is_value()) return in.alias(in.type_of(list.value()).elements()[at], list.value());
  ValueId element = list.value_list()[at];
  if (element == kNone) in.raise("this element is none");
  in.alias(&in.type_of(element), element);
}
}  // namespace

void structural_rows(RowSink& t) {
  using enum Trait;
  t.row("lenz::constant(Data value) -> Tensor",
        {.traits = structural | creation | core, .infer = constant, .dtypes = dtypes::all});
  t.row("lenz::getitem(Tensor[] list, int index) -> Tensor(a)", {.traits = structural | view | movement | core,
                                                                 .infer = getitem,
                                                                 .dtypes = dtypes::all,
                                                                 .raises = "the index is out of range"});
}

}  // namespace lenz
