// The one step at which a graph goes wrong on its way to loops: a rewrite of a pass, or the lowering of a node.
//
// Every prefix of the way ends in something that can be run: the graph after the first k rewrites in eager, or the
// first k nodes of the graph of level core as loops and the others in eager behind them. The culprit is the step with
// which the run disagrees and without which it agrees; it is found in as many runs as the number of steps has bits.
// Thread-safety: as Trial.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "compiler/passes/pass.h"
#include "oracle/trial.h"

namespace lenz::oracle {

struct Culprit {
  enum Kind : uint8_t { rewrite, lowering } kind = rewrite;
  std::string step;  // the pass's name; the name of the op whose row lowers wrong
  Mismatch mismatch;

  // A rewrite:
  size_t line = 0;        // of the pipeline, from 1: a pass may stand there more than once
  size_t occurrence = 0;  // of the pass's rewrites, from 1; 0: what it does unasked
  std::string within;     // the pass that does it as a part of that one; empty: that one itself
  std::string what;       // what the pass calls it
  std::string selection;  // `lenz opt --select`: the shortest prefix that shows it
  std::string diff;       // of the graph before and after it

  // A lowering:
  std::string node;                 // as the graph of level core spells it
  std::vector<std::string> origin;  // the graph's nodes that it comes from
  std::vector<std::string> nests;   // by name
  std::string graph, loops;         // the node alone, and what it is lowered to; empty where it can't stand alone

  nlohmann::json to_json() const;  // as graph_check.schema.json says
  std::string text() const;        // for people
};

// `exact`: how many of the lines keep every bit; what the others make is held to the bounds. Nothing if all agrees.
std::optional<Culprit> bisect(Trial& trial, std::span<const PipelineLine> lines, size_t exact,
                              std::span<const KnownFault> known = known_faults());

// What an error of Lenz's own on the way counts as.
Mismatch broken(const InternalError& error);

}  // namespace lenz::oracle
