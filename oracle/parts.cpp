#include "oracle/parts.h"

#include <algorithm>
#include <cmath>

#include "oracle/tensors.h"

namespace lenz::oracle {

namespace {
constexpr size_t kLooksAhead = 64;  // nodes behind the last good end
constexpr size_t kLongest = 512;    // nodes of a part
constexpr double kStrong = 0.75;    // of the elements, so many are held to half of their digits at a good end

double half_of_the_digits(Dtype dtype) { return std::ldexp(1.0, -info(to_real(dtype)).mantissa_bits / 2); }

// How well bounds tell at the ends that a part may have.
class EndSearch {
 public:
  EndSearch(const Parting& parting, size_t first) : parting_(parting), first_(first) {}

  // The whole's node of this number has given these. Whether a better end may follow.
  bool saw(size_t at, const Node& node, std::span<const Bounded> results) {
    for (size_t i = 0; i < results.size(); ++i)
      shares_[node.result(static_cast<uint16_t>(i))] = shares_of(results[i], half_of_the_digits(results[i].dtype));
    const size_t end = at + 1;
    if (at < first_ || !parting_.may_cut(end)) return true;
    Shares all;
    for (ValueId v : parting_.given(first_, end))
      if (auto found = shares_.find(v); found != shares_.end()) all.add(found->second);
    if (!any_) any_ = end;
    if (all.weak()) return goes_on(end);
    const double strong = all.elements ? static_cast<double>(all.strong) / static_cast<double>(all.elements) : 1;
    if (strong >= kStrong) good_ = end;
    if (!fair_ || strong >= fairest_) fair_ = end, fairest_ = strong;
    return goes_on(end);
  }
  bool goes_on(size_t end) const {
    return end < first_ + kLongest && end < std::max(good_.value_or(first_), first_) + kLooksAhead;
  }
  std::optional<size_t> best() const { return good_ ? good_ : fair_ ? fair_ : any_; }

 private:
  const Parting& parting_;
  size_t first_;
  std::unordered_map<ValueId, Shares> shares_;
  std::optional<size_t> any_;   // the first
  std::optional<size_t> fair_;  // not weak; the one where most are held so
  std::optional<size_t> good_;  // the last
  double fairest_ = 0;
};
}  // namespace

std::vector<RunValue> laid_inputs(const Graph& graph, std::span<const RunValue> values, const Binding& binding) {
  std::vector<RunValue> laid;
  for (size_t i = 0; i < values.size(); ++i) {
    const Type& type = graph.type(graph.inputs()[i].value);
    if (type.is_tensor() && look(values[i]).sizes.size() != type.rank())
      throw Unsupported("a part of @" + graph.name + " begins with what an out= has resized");
    laid.push_back(type.is_tensor() ? placed(values[i], type, binding.lookup()) : values[i]);
  }
  return laid;
}

PartsWalk::PartsWalk(const Graph& graph, Boxed& boxed, std::vector<RunValue> inputs, Binding binding,
                     ExecuteOptions options)
    : boxed_(boxed),
      binding_(std::move(binding)),
      options_(std::move(options)),
      parting_(graph),
      inputs_(std::move(inputs)) {
  options_.guard = false;
}

std::optional<PartRun> PartsWalk::next() {
  if (at_ >= parting_.nodes()) return std::nullopt;
  const size_t first = at_, end = end_of_next();
  PartRun made{parting_.part(first, end), {}, {}};
  made.values = values_of(made.part);
  made.where =
      "nodes " + std::to_string(first) + " to " + std::to_string(end - 1) + " of " + std::to_string(parting_.nodes());
  if (!made.part.given.empty()) made.where += ", up to " + parting_.whole().value_name(made.part.given.back());
  at_ = end;
  run(made.part);
  return made;
}

std::vector<RunValue> PartsWalk::values_of(const Part& part) const {
  std::vector<RunValue> values = inputs_;
  for (ValueId v : part.taken) values.push_back(values_.at(v));
  return values;
}

size_t PartsWalk::end_of_next() {
  const Part rest = parting_.part(at_, parting_.nodes());
  EndSearch search(parting_, at_);
  size_t seen = 0;
  Referee referee(boxed_, options_, Widening::bounds_of_eager);
  referee.run(*rest.graph, laid_inputs(*rest.graph, values_of(rest), binding_), binding_,
              [&](std::span<const Bounded> results) {
                const NodeId id = rest.nodes[seen++];
                return search.saw(parting_.number_of(id), parting_.whole().node(id), results);
              });
  return search.best().value_or(parting_.nodes());
}

void PartsWalk::run(const Part& part) {
  const Execution done =
      Executor(boxed_, options_).run(*part.graph, laid_inputs(*part.graph, values_of(part), binding_), binding_);
  if (done.ending != Ending::finished) {
    stopped_ = "the nodes from " + std::to_string(at_) + " on: eager ended at " + done.where + ": " + done.text;
    at_ = parting_.nodes();
    return;
  }
  for (size_t i = 0; i < inputs_.size(); ++i) inputs_[i] = done.inputs[i];
  for (size_t i = 0; i < part.taken.size(); ++i) values_[part.taken[i]] = done.inputs[inputs_.size() + i];
  for (size_t i = 0; i < part.given.size(); ++i) values_[part.given[i]] = detached_copy(done.outputs[i]);
}

}  // namespace lenz::oracle
