// Which dtypes the graph of a rewrite rule has. Thread-safety: as the chooser's.
#pragma once

#include "compiler/base/chooser.h"
#include "compiler/base/dtype.h"

namespace lenz::fuzz {

// One dtype, or two that are promoted: a rule that asks of none denies none. Oftener those in which negatives wrap.
DtypeSet dtypes_of_rule(DtypeSet liked, Chooser& choose, bool& promotes);

}  // namespace lenz::fuzz
