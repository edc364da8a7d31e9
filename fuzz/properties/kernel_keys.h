// Whether kernels that share a key may share code. Thread-safety: as the program's.
#pragma once

#include <functional>

#include "compiler/base/chooser.h"
#include "compiler/loops/program.h"
#include "fuzz/property.h"

namespace lenz::fuzz {

using KeyOf = std::function<std::string(const loops::Program&, const loops::Kernel&)>;
std::string key_of(const loops::Program& program, const loops::Kernel& kernel);

// What is wrong about a kernel of the realised program and others that differ from it in one thing; empty: nothing.
std::string wrong_keys(const loops::Program& program, std::string_view target, Chooser& choose,
                       const KeyOf& key = key_of);

Property kernel_keys();

}  // namespace lenz::fuzz
