// What the compiler makes of a graph, stage by stage. pipeline.cpp knows the order of passes; this knows the stages.
// Thread-safety: as the graph's.
#pragma once

#include <memory>

#include "compiler/driver/pipeline.h"
#include "compiler/lower/lower.h"
#include "compiler/passes/runner.h"

namespace lenz {

// The graph once it is of this level: the pipeline's passes up to the one that takes it there; for level core all of
// them. Unsupported, with what stood in the way, where they don't take it there: writes that have no functional form.
std::unique_ptr<Graph> to_level(const Graph& graph, Level level, const RunnerOptions& options = {},
                                std::span<const PipelineLine> lines = pipeline());
// The graph behind the pipeline's passes of this stage and of those before it; a pass that is not for the graph's level
// is left out.
std::unique_ptr<Graph> to_stage(const Graph& graph, Stage stage, const RunnerOptions& options = {});
// From a graph of any level.
loops::Program to_loops(const Graph& graph, const RunnerOptions& options = {}, const LowerOptions& lower = {},
                        std::span<const PipelineLine> lines = pipeline());

// Whether a graph of level core may hold it: what no definition takes apart, and the writes to inputs that such graphs
// end with, which have loops of their own beside a definition for values.
bool stands_at_core(const OpDef& op);

}  // namespace lenz
