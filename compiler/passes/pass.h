// A pass: a function from a graph to a better graph, and what the runner must know about it. A pass neither prints nor
// verifies nor measures itself: the runner does (runner.h).
//
// The pass NAME is the function `Pass NAME()` in compiler/passes/NAME.cpp, with its examples in corpus/passes/NAME, and
// one line in the pipeline (compiler/driver/pipeline.cpp).
// Thread-safety: passes are constant; a context belongs to one run.
#pragma once

#include <functional>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>

#include "compiler/graph/graph.h"
#include "compiler/graph/rewrite.h"

namespace lenz {

struct LevelSet {
  uint8_t bits = 0;
  constexpr LevelSet() = default;
  constexpr LevelSet(std::initializer_list<Level> levels) {
    for (Level l : levels) bits = static_cast<uint8_t>(bits | 1u << static_cast<int>(l));
  }
  constexpr bool has(Level l) const { return bits >> static_cast<int>(l) & 1; }
};
inline constexpr LevelSet kEveryLevel{Level::torch, Level::aten, Level::core};

// Which of the rewrites that it could do a pass may do: those numbered from `first` to `last`, counted from 1.
struct Window {
  size_t first = 1, last = SIZE_MAX;
  bool has(size_t n) const { return n >= first && n <= last; }
};

// A rewrite by name.
struct RewriteName {
  std::string within;  // the pass that does it as a part of another one; empty: that pass itself does
  std::string what;
};

// Computes a node from constant operands; nothing if it can't. The driver supplies it, for folding of tensors.
using TensorEvaluator = std::function<std::optional<std::vector<ConstantData>>(const Graph& graph, NodeId node)>;

struct Pass;

class PassContext {
 public:
  // To be asked before each rewrite; if the answer is no, the pass leaves the place as it is. `what` says which rewrite
  // it is, in a word or two. This is how a failure is traced to one rewrite.
  bool allow(std::string_view what);
  // Something worth knowing in the statistics.
  void count(std::string_view what, size_t times = 1);
  // The pass could not finish (rules that go round in circles): the graph is right, but not what the pass promised.
  void incomplete(std::string why) { incomplete_ = std::move(why); }

  // Another pass over the same graph as a part of this one; its rewrites are this one's, under their own name.
  void run_within(const Pass& pass, Graph& graph);

  // Applies rules under this context: asks allow() with the rule's name, counts applications and refusals.
  size_t apply(Graph& graph, const RuleSet& rules);

  Window window, total_window;  // of this pass, and of the whole pipeline
  size_t asked = 0;             // this pass, over all its runs
  size_t* asked_by_all = nullptr;
  const TensorEvaluator* evaluator = nullptr;  // null: none
  bool products_outside = false;               // RunnerOptions'
  bool attention_in_steps = false;             // as above
  int64_t few_scores = 0;                      // as above
  DtypeSet slow_products;                      // as above

  size_t allowed() const { return allowed_; }
  size_t denied() const { return denied_; }
  // The first that was not allowed; empty names if all were.
  const RewriteName& first_denied() const { return first_denied_; }
  const std::map<std::string, size_t, std::less<>>& counters() const { return counters_; }
  const std::string& why_incomplete() const { return incomplete_; }

 private:
  size_t allowed_ = 0, denied_ = 0;
  std::string_view within_;  // the pass that runs as a part of this one; empty: none
  RewriteName first_denied_;
  std::map<std::string, size_t, std::less<>> counters_;
  std::string incomplete_;
};

struct Pass {
  std::string_view name;
  std::string_view contract;  // three lines: what it does, what it asks, what it keeps
  LevelSet levels;            // where it may run
  bool idempotent = false;    // a second run changes nothing
  bool never_grows = false;   // the number of nodes
  bool rounds = false;        // results may be rounded otherwise: they keep within bounds, not every bit
  void (*run)(Graph& graph, PassContext& context) = nullptr;
};

// Where the pipeline stands once a pass has run: what the graph may hold, and how far `lenz compile --emit` goes.
enum class Stage : uint8_t {
  pregrad,     // as the user wrote it, writes included; gradients are taken of this
  functional,  // values alone
  joint,       // forward and backward in one
  postgrad,    // each by itself
  core,        // few ops
};
inline constexpr size_t kStages = 5;
std::string_view name(Stage stage);

// A line of the pipeline.
struct PipelineLine {
  Pass pass;
  std::string_view reason;  // why here
  Stage stage = Stage::core;
};

}  // namespace lenz
