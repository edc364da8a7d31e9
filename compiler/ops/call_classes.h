// What kinds of calls there are: how widely a generator ranges is judged by the classes that its calls fall into, held
// against those of somebody else's calls.
//
// Facets of a call, each of one or more classes:
//   lead      "lead:f32": the dtype of the leading tensor; "mix:floating+integer" when tensor operands differ in
//   category rank      "rank:3" of the leading tensor ("rank:6+"), "shape:empty", "shape:one" (a dim of size 1) layout
//   "layout:contiguous", "permuted" (dense), "channels_last", "expanded", "overlapping", "gaps", and
//             "layout:offset", of the leading tensor
//   broadcast "broadcast:same", "ones", "rank", "both" of the tensor operands that are no lists
//   PARAM     one facet for each other parameter: "dim:negative", "keepdim:true", "other:number real", "size:2 items",
//   ...
// A tuple is one class of each facet together.
// Thread-safety: pure functions.
#pragma once

#include <string>
#include <vector>

#include "compiler/ops/call_maker.h"

namespace lenz {

struct Facet {
  std::string name;
  std::vector<std::string> classes;
};

std::vector<Facet> call_classes(const OpDef& op, const Graph& graph, std::span<const Arg> args);

}  // namespace lenz
