// What a run prints: values under a text, kept so that two runs can be held against each other.
// Thread-safety: as RunValue.
#pragma once

#include "compiler/loops/program.h"
#include "oracle/execute.h"
#include "oracle/storage_bridge.h"

namespace lenz::oracle {

// Each {} of the format is the next value.
std::string line_of(const Printed& printed);

// Keeps copies, and hands the line to `print`, if that is anybody.
void note_print(std::vector<Printed>& all, const ExecuteOptions& options, std::string_view format,
                std::span<const RunValue> values);
// What a program's print shows.
std::vector<RunValue> shown(const loops::Print& node, std::span<const loops::Tensor> values, StorageBridge& bridge);
// A number that a program keeps as a tensor of no dims.
RunValue plain_number(const loops::Tensor& number);

}  // namespace lenz::oracle
