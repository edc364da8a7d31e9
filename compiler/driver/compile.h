// What the compiler makes of a graph, stage by stage. pipeline.cpp knows the order of passes; this knows the stages.
// Thread-safety: as the graph's.
#pragma once

#include <memory>

#include "compiler/lower/lower.h"
#include "compiler/passes/runner.h"

namespace lenz {

// Without writes and views that share memory: level aten.
std::unique_ptr<Graph> to_functional(const Graph& graph, const RunnerOptions& options = {});
// Of few ops: level core. Takes a graph of any level.
std::unique_ptr<Graph> to_core(const Graph& graph, const RunnerOptions& options = {});
loops::Program to_loops(const Graph& graph, const RunnerOptions& options = {}, const LowerOptions& lower = {});

}  // namespace lenz
