// What rows say of single operands' values (OpDef::wants), read for one node. Clauses, separated by `;`:
//
//   index < self[dim]              integers from 0 to below that size; `dim` is a parameter or a number. Of a scalar
//                                  the size is 1; of a dim that is none the number of all elements
//   indices < numel(self)
//   indices < self[-2] * self[-1]
//   indices < num_weights          a parameter; negative: no more than that they are not negative
//   indices < self                 of a list of tensors: each by the dim that it indexes, masks left alone
//   prob in [0, 1]
//   boundaries sorted              ascending along the last dim
//   n counted                      eager takes a step for each unit of it: finite ones that are huge take for ever
//
// Thread-safety: pure functions.
#pragma once

#include <optional>

#include "compiler/graph/graph.h"

namespace lenz {

struct OperandWant {
  enum Kind : uint8_t { below, natural, within, sorted, counted } kind = within;
  ValueId value = kNone;
  Dim bound = 0;             // below
  double low = 0, high = 0;  // within
};

// Those of tensors that the node is given. Throws InternalError for a text that is none, or names no parameter.
SmallVec<OperandWant, 2> wants_of(const Graph& graph, const OpDef& op, std::span<const Arg> args);

}  // namespace lenz
