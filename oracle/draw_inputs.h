// Values for a graph's inputs, drawn from a seed: what the graph's ops are defined for, or what they may trip over. An
// element depends on the seed, the input's place and the element's logical index alone.
// Thread-safety: free functions over the caller's values; a source belongs to one thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "oracle/binding.h"
#include "oracle/boxed.h"
#include "oracle/demands.h"

namespace lenz::oracle {

enum class Values : uint8_t {
  ordinary,  // in the domains of those who read them (demands.h); what the graph declares by `init` is that
  special,   // among ordinary ones NaN, infinities, zeros, subnormals, largest and smallest, others of any size; the
             // ends of integers; numbers that the graph says
  exact,   // small integers for which every float operation is exact (exact.h), if there are such; else integers where
           // readers take some: functions have their ends, and thresholds lie, at such
  ties,    // three different values in each input: duplicates among indices, equal keys; one is the graph's
  sorted,  // ascending along the last dim
  constant,  // one value in each input
  nan,       // NaN in every float
  beyond,    // ordinary ones, but some indices point beyond what they index: eager raises
};
inline constexpr size_t kValueModes = 8;
std::string_view name(Values values);
std::optional<Values> parse_values(std::string_view name);
std::vector<std::string> value_mode_names();
Values values_of_seed(uint64_t seed);  // the modes in turn, without `beyond`; of seed 0 ordinary ones

// Whatever the mode but `beyond`, indices stay in range, and nothing divides integers by zero. `exact_range` is an
// ExactPlan's: 0 where nothing keeps the graph exact.
class InputSource {
 public:
  using Given = std::function<std::vector<RunValue>(Boxed&)>;

  // `asked`: input_demands of the graph at these sizes, from who has them.
  using Asked = std::shared_ptr<const std::vector<Demand>>;
  InputSource(const Graph& graph, const Binding& binding, Values values, uint64_t seed, int exact_range = 0,
              const Asked& asked = nullptr);
  InputSource(const Graph& graph, Given given);    // nothing is drawn: these, made anew each time
  std::vector<RunValue> make(Boxed& boxed) const;  // one per input; the same values each time, in memory of their own
  // Whether no values serve: at these sizes an index points into a dim of no elements.
  bool hopeless() const { return hopeless_; }

 private:
  const Graph& graph_;
  Given given_;
  Binding binding_;
  Values values_ = Values::ordinary;
  uint64_t seed_ = 0;
  int exact_range_ = 0;
  bool hopeless_ = false;
  std::vector<double> said_;                    // numbers that the graph says itself
  std::vector<std::optional<Demand>> demands_;  // none: as initial_inputs makes it
  mutable std::vector<RunValue> drawn_;         // once, and never handed out
};
// Throws Unsupported where no inputs keep the graph exact, and those were asked for.
std::vector<RunValue> draw_inputs(const Graph& graph, Boxed& boxed, const Binding& binding, Values values,
                                  uint64_t seed);

}  // namespace lenz::oracle
