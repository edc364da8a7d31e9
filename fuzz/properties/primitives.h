// Code of scalar primitives, each by itself. Thread-safety: pure functions.
#pragma once

#include <string>

#include "compiler/backend/llvm/ulp.h"
#include "compiler/base/chooser.h"
#include "fuzz/property.h"

namespace lenz::fuzz {

// What is wrong with the code of a drawn primitive, of a drawn dtype for a drawn target. Empty: nothing.
std::string wrong_primitive(Chooser& choose);
std::string wrong_primitive(const native::UlpRequest& request);

Property primitives();

}  // namespace lenz::fuzz
