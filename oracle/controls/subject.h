// One random graph under test: its reference, eager's results, and what each criterion says of another result. The
// graph is looked at twice, by its outputs and with every node's result as an output.
// Thread-safety: one per thread.
#pragma once

#include <array>
#include <memory>
#include <optional>

#include "oracle/bounds/reference.h"
#include "oracle/controls/criteria.h"
#include "oracle/controls/graph_maker.h"
#include "oracle/controls/plan.h"

namespace lenz::oracle::controls {

enum class Scope : uint8_t { outputs, every_result };
inline constexpr int kScopes = 2;
inline constexpr std::string_view kScopeNames[kScopes] = {"outputs", "every result"};

class Subject {
 public:
  // Empty if eager refuses the graph, or nothing can be said of it. `by`: bounds, or those that eager's own results are
  // held to, as results of unknown origin are (judge_results.h).
  static std::optional<Subject> make(std::unique_ptr<Graph> graph, Boxed& boxed, Others others = Others::refused,
                                     Widening by = Widening::bounds);

  const Graph& graph(Scope scope) const { return scope == Scope::outputs ? *graph_ : *every_; }
  const Plan& plan() const { return plan_; }
  Widening by() const { return by_; }
  // Our judge on elements of every result.
  Judgement judge_elements(const std::vector<Elements>& got, Scope scope) const;
  // On its outputs, by the reference of the graph's twin that writes in place (written.h), where there is one.
  Judgement judge_as_written(const std::vector<Elements>& got) const;
  Judgement judge_eager() const;
  // The others. What they hold results against is worked out at the first question. No criterion is asked where it
  // does not apply.
  bool alarmed(Criterion criterion, const std::vector<Elements>& got, Scope scope);

  // By result: float64 values, errors, eager's elements.
  const std::vector<Elements>& exact() const { return exact_; }
  const std::vector<Elements>& errors() const { return errors_; }
  const std::vector<Elements>& eager() const { return eager_elements_; }
  const std::string& op_of(size_t result) const;
  // By result, how far eager is from the exact values.
  std::vector<Elements> eager_deviations() const;
  // How wide a result's bound is beside deviations from it, where it is least so: of whole tensors, for the share is
  // the same thing in every element. 0 where nothing deviates, or nothing is bounded.
  double bound_over(const Elements& deviations, size_t result) const;
  bool in_scope(size_t result, Scope scope) const { return scope == Scope::every_result || is_output_[result]; }

 private:
  explicit Subject(Boxed& boxed) : boxed_(&boxed) {}
  Execution made(const std::vector<Elements>& got, Scope scope) const;
  void prepare_criteria();

  Boxed* boxed_;
  Widening by_ = Widening::bounds;
  std::unique_ptr<Graph> graph_, every_, written_;
  Plan plan_;
  Reference reference_, of_outputs_, of_written_;
  Execution eager_;
  std::vector<bool> is_output_;
  std::vector<Elements> exact_, errors_, eager_elements_, running_, running_worst_, perturbed_;
};

}  // namespace lenz::oracle::controls
