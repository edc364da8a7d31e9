// The table of all rows. Built at first use, then constant and shared by all threads.
#pragma once

#include "compiler/graph/op_def.h"

namespace lenz {

const OpTable& op_table();

}  // namespace lenz
