// Result types of the rows over lists (`_foreach_*`): those of another row, element by element.
// Thread-safety: pure, given one Infer.
#pragma once

#include "compiler/graph/infer.h"

namespace lenz {

// The variant of the row under `op` (see OpDef::each) that the elements go through: the in-place one for in-place rows.
const OpDef& element_row(const OpDef& op, const OpTable& table);
// The position in the element's row of a parameter of the row over lists: by name, else by place.
size_t element_param(const OpDef& element, const Schema& schema, size_t param);

namespace rule {
void each(Infer& in);
}  // namespace rule

}  // namespace lenz
