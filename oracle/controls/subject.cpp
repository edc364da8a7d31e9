#include "oracle/controls/subject.h"

#include <algorithm>
#include <cmath>

#include "oracle/controls/running_error.h"
#include "oracle/controls/search.h"
#include "oracle/controls/variant.h"
#include "oracle/controls/written.h"
#include "oracle/tensors.h"

namespace lenz::oracle::controls {

std::optional<Subject> Subject::make(std::unique_ptr<Graph> graph, Boxed& boxed, Others others, Widening by) {
  Subject s(boxed);
  s.by_ = by;
  s.graph_ = std::move(graph);
  s.every_ = with_every_result(*s.graph_);
  const std::vector<RunValue> inputs = initial_inputs(*s.every_, boxed, {});
  s.plan_ = make_plan(*s.every_, inputs, boxed, others);
  s.reference_ = Referee(boxed, {}, by).run(*s.every_, inputs);
  s.eager_ = Executor(boxed).run(*s.every_, inputs);
  if (s.reference_.ending != Ending::finished || s.eager_.ending != Ending::finished) return std::nullopt;

  std::vector<ValueId> outputs;
  for (const Arg& a : s.graph_->outputs()) outputs.push_back(a.value());
  std::vector<Arg> in_order;  // each once, as its nodes come: as what is made of every result lists them
  for (const Arg& a : s.every_->outputs())
    if (std::ranges::find(outputs, a.value()) != outputs.end()) in_order.push_back(a);
  s.graph_->set_outputs(in_order);
  s.written_ = with_writes(*s.graph_);
  if (s.written_) s.of_written_ = Referee(boxed, {}, by).run(*s.written_, inputs);
  s.of_outputs_ = s.reference_;
  s.of_outputs_.outputs.clear();
  for (size_t i = 0; i < s.every_->outputs().size(); ++i) {
    const Bounded& b = s.reference_.outputs[i];
    const ValueId v = s.every_->outputs()[i].value();
    s.is_output_.push_back(std::ranges::find(outputs, v) != outputs.end());
    if (s.is_output_.back()) s.of_outputs_.outputs.push_back(b);
    s.exact_.push_back(read_elements(b.value, is_floating(b.dtype) ? Dtype::f64 : b.dtype));
    s.errors_.push_back(b.error ? read_elements(b.error, Dtype::f64) : Elements(s.exact_.back().size(), 0));
    s.eager_elements_.push_back(read_elements(s.eager_.outputs[i], s.every_->type(v).dtype));
  }
  return s;
}

const std::string& Subject::op_of(size_t result) const {
  return every_->node(every_->value(every_->outputs()[result].value()).producer).op->full_name;
}

std::vector<Elements> Subject::eager_deviations() const {
  std::vector<Elements> worst;
  for (const Elements& e : exact_) worst.emplace_back(e.size(), 0.0);
  raise_to(worst, exact_, eager_elements_);
  return worst;
}

double Subject::bound_over(const Elements& deviations, size_t result) const {
  double share = 0;
  for (size_t k = 0; k < deviations.size(); ++k) {
    const double error = errors_[result][k];
    if (error > 0 && std::isfinite(error)) share = std::max(share, deviations[k] / error);
  }
  return share > 0 ? 1 / share : 0;
}

Judgement Subject::judge_eager() const {
  Judgement j = judge(*every_, reference_, eager_);
  if (!j.mismatch) return j;
  Referee of_eager(*boxed_, {}, Widening::bounds_of_eager);  // with what it is known to be off by
  return judge(*every_, of_eager.run(*every_, initial_inputs(*every_, *boxed_, {})), eager_);
}

Execution Subject::made(const std::vector<Elements>& got, Scope scope) const {
  Execution made;
  made.inputs = eager_.inputs;
  for (size_t i = 0; i < got.size(); ++i)
    if (in_scope(i, scope))
      made.outputs.push_back(write_elements(got[i], every_->type(every_->outputs()[i].value()), *boxed_));
  return made;
}

Judgement Subject::judge_elements(const std::vector<Elements>& got, Scope scope) const {
  return judge(graph(scope), scope == Scope::outputs ? of_outputs_ : reference_, made(got, scope));
}

Judgement Subject::judge_as_written(const std::vector<Elements>& got) const {
  return written_ ? judge(*written_, of_written_, made(got, Scope::outputs)) : Judgement{};
}

void Subject::prepare_criteria() {
  running_ = running_errors(plan_);
  running_worst_ = running_errors(plan_, std::numeric_limits<double>::infinity());
  for (const Elements& e : exact_) perturbed_.emplace_back(e.size(), 0.0);
  for (uint64_t run = 0; run < 8; ++run) {
    RandomChooser choose(run);
    raise_to(perturbed_, exact_, run_variant(plan_, choose));
  }
}

bool Subject::alarmed(Criterion criterion, const std::vector<Elements>& got, Scope scope) {
  if (criterion == Criterion::ours) return judge_elements(got, scope).mismatch.has_value();
  if (running_.empty()) prepare_criteria();
  for (size_t i = 0; i < got.size(); ++i) {
    if (!in_scope(i, scope)) continue;
    const Compared expected{every_->type(every_->outputs()[i].value()).dtype,
                            &exact_[i],
                            &eager_elements_[i],
                            &running_[i],
                            &running_worst_[i],
                            &perturbed_[i]};
    if (controls::alarmed(criterion, expected, got[i])) return true;
  }
  return false;
}

}  // namespace lenz::oracle::controls
