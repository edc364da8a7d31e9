// Thread-safety: as property.h.
#pragma once

#include <string>

#include "compiler/schedule/plan.h"
#include "fuzz/property.h"

namespace lenz::fuzz {

// What a plan loses that is printed as this text and read again, for a program that is prepared for it; empty: nothing.
std::string lost_in_plan(const loops::Program& prepared, const schedule::Plan& plan, const std::string& text);

Property users_way();

}  // namespace lenz::fuzz
