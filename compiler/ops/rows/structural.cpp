// Plumbing of the graph itself: constants, elements of tensor lists, and where a tensor's elements lie.
#include "compiler/graph/graph.h"
#include "compiler/ops/rows/families.h"
#include "compiler/ops/rows/movement_loops.h"
#include "compiler/ops/rules/layout.h"

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

void restride(Infer& in) {
  TensorType t = in.tensor("self").tensor();
  t.strides = in.ints("stride");
  t.offset = in.integer("storage_offset");
  in.require(t.strides.size() == t.sizes.size(), "there must be one stride for each dim");
  in.require(ge(t.offset, 0), "the storage offset is negative");
  for (Dim s : t.strides) in.require(ge(s, 0), "a stride is negative");
  in.require(!rule::overlaps_itself(in, *in.context().tensor(t)), "several elements would share one place");
  in.result(t);
}
void resized_to(Infer& in) {
  const Type &self = in.tensor("self"), &value = in.tensor("value");
  in.require(self.dtype == value.dtype, "they must have one dtype");
  in.require(self.device == value.device, "they must lie on one device");
  in.alias(&value, in.arg("self").value());
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
  // The same elements in fresh memory, in these strides and from this place on.
  t.row("lenz::restride(Tensor self, SymInt[] stride, SymInt storage_offset=0) -> Tensor",
        {.traits = structural | movement | core,
         .infer = restride,
         .dtypes = dtypes::all,
         .raises = "strides in another number than sizes, or under which elements share a place",
         .loops = kRestrideLoops,
         .copies = dtypes::all});
  // An input that an out= op gives another size has it once the graph has run: the last word of a graph of values.
  t.row("lenz::resized_to(Tensor(a!) self, Tensor value) -> Tensor(a!)",
        {.traits = structural | movement, .infer = resized_to, .dtypes = dtypes::all, .raises = "another dtype"});
}

}  // namespace lenz
