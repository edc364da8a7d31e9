// Rows by name, as a person writes them on a command line.
// Thread-safety: pure functions over a constant table.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "compiler/graph/op_def.h"

namespace lenz {

// Rows that one of the patterns names, in table order; all rows for no pattern. A pattern is a full name
// ("aten.add.Tensor") or a packet ("aten.add": all its overloads), the space ("aten.") may be left out, and * and ? are
// wild. The variants of a named row come with it. Throws UserError for a pattern that names nothing.
std::vector<const OpDef*> select_rows(const OpTable& table, std::span<const std::string> patterns);

std::string packet_name(const OpDef& op);  // "aten.add"

}  // namespace lenz
