// A rule's decisions about sizes that only the run knows: the rule runs on every way through them, and the ways must
// agree.
#include <algorithm>

#include "compiler/base/sym_overflow.h"
#include "compiler/graph/infer.h"
#include "compiler/graph/simplified.h"

namespace lenz {

// Ways beyond this are refused: each open question of a rule may double them.
constexpr size_t kMostWays = 64;

struct Infer::Outcome {
  std::vector<Decision> decisions;
  SmallVec<InferredResult, 4> results;
  std::vector<Cond> relied;         // beyond what was known before the first decision
  std::optional<UserError> raised;  // eager does, too
  bool impossible = false;
};

bool Infer::decide(const Cond& cond) {
  if (!assumptions_.is_open(cond)) return assumptions_.decide(cond);
  Truth known = assumptions_.truth(cond);
  if (known != Truth::unknown) return known == Truth::yes;
  if (keep_assumptions_ && kept_) return assumptions_.likely(cond);  // a run that is forgotten
  // A stride over a dim is written max(1, u), of which facts tell most where it is known which of the two it is.
  for (Dim side : {cond.lhs, cond.rhs})
    if (!side.is_constant() && kind_of(side) == SymKind::max)
      for_each_symbol(side, [&](const SymNode* s) {
        if (assumptions_.mentions_open(Dim(s))) decide(le(Dim(s), 1));
      });
  known = assumptions_.truth(cond);
  if (known != Truth::unknown) return known == Truth::yes;
  if (taken_ == path_.size()) {
    if (!fork_) fork_ = assumptions_;
    path_.push_back({cond, assumptions_.likely(cond)});
  }
  const Decision& d = path_[taken_++];
  LENZ_CHECK(d.cond == cond, op_.full_name + " asks another question where all was the same");
  if (!assumptions_.suppose(d.taken())) impossible_ = true;
  return d.holds;
}

namespace {
// What a rule says of sizes that only the run knows, and that no result shows, has no name outside of it.
void forget_unseen(Assumptions& known, std::span<const Dim> made, std::span<const InferredResult> results) {
  if (made.empty()) return;
  std::vector<const SymNode*> unseen;
  for (Dim d : made) unseen.push_back(d.node());
  for (const InferredResult& r : results)
    for_each_symbolic_dim(*r.type,
                          [&](Dim d) { for_each_symbol(d, [&](const SymNode* s) { std::erase(unseen, s); }); });
  if (!unseen.empty()) known.keep([&](const SymNode* s) { return std::ranges::find(unseen, s) == unseen.end(); });
}
}  // namespace

void Infer::run() {
  if (std::optional<UserError> raised = refusal()) throw UserError(*raised);
}

std::optional<UserError> Infer::refusal() {
  path_.clear();
  fork_.reset();
  ways_ = 0;
  try {
    Outcome first = run_path({});
    if (!first.decisions.empty())
      settle(explore({}));
    else if (first.raised)
      return std::move(first.raised);
  } catch (const UserError&) {  // what was supposed on the way to a question that nobody answers is no guard
    if (fork_) assumptions_ = *fork_;
    throw;
  }
  forget_unseen(assumptions_, unbacked_symbols, results_);
  return std::nullopt;
}

Infer::Outcome Infer::run_path(std::span<const Decision> decisions) {
  if (++ways_ > kMostWays) throw DataDependent(simplified(decisions[0].cond, fork_->known()), op_.full_name);
  path_.assign(decisions.begin(), decisions.end());
  taken_ = 0;
  impossible_ = false;
  if (fork_) {
    assumptions_ = *fork_;
    results_.clear();
    unbacked_count_ = 0;
  }
  Outcome outcome;
  try {
    run_rule();
  } catch (const DataDependent&) {
    throw;
  } catch (const DimOverflow&) {  // eager may do without the number
    throw;
  } catch (const UserError& error) {
    outcome.raised = error;
  }
  outcome.decisions = path_;
  outcome.results = results_;
  outcome.impossible = impossible_;
  const SharedList<Cond>& relied = assumptions_.relied();
  if (fork_ && relied.size() > fork_->relied().size())
    outcome.relied.assign(relied.begin() + std::ssize(fork_->relied()), relied.end());
  return outcome;
}

// All ways that begin with these decisions, as one: from the last question to the first the other answer is looked at.
Infer::Outcome Infer::explore(std::span<const Decision> decisions) {
  Outcome outcome = run_path(decisions);
  const std::vector<Decision> taken = outcome.decisions;
  for (size_t i = taken.size(); i-- > decisions.size();) {
    std::vector<Decision> other(taken.begin(), taken.begin() + static_cast<ptrdiff_t>(i) + 1);
    other.back().holds = !other.back().holds;
    outcome = merge(std::move(outcome), explore(other), std::span(taken).first(i + 1));
  }
  return outcome;
}

Assumptions Infer::supposing(std::span<const Decision> decisions) const {
  Assumptions known = *fork_;
  for (const Decision& d : decisions) known.suppose(d.taken());
  return known;
}

namespace {
// All strides, or those that an element's place depends on: of dims of several elements.
enum class StridesOf : uint8_t { dims, elements };

bool equal_types(const Assumptions& known, const Type& a, const Type& b, StridesOf strides) {
  auto same = [&](Dim x, Dim y) { return x == y || known.prove(eq(x, y)) == Truth::yes; };
  if (&a == &b) return true;
  if (a.kind != b.kind || a.count != b.count) return false;
  for (size_t i = 0; i < a.elements().size(); ++i)
    if (!equal_types(known, *a.elements()[i], *b.elements()[i], strides)) return false;
  if (a.kind == TypeKind::sym_int) return same(a.offset, b.offset);
  if (!a.is_tensor()) return true;
  if (a.dtype != b.dtype || !(a.device == b.device) || !same(a.offset, b.offset)) return false;
  bool idle = false;  // there are no elements
  for (size_t i = 0; i < a.rank(); ++i) {
    if (!same(a.sizes()[i], b.sizes()[i])) return false;
    idle = idle || (strides == StridesOf::elements && same(a.sizes()[i], 0));
  }
  for (size_t i = 0; i < a.rank(); ++i) {
    if (idle || (strides == StridesOf::elements && known.prove(le(a.sizes()[i], 1)) == Truth::yes)) continue;
    if (!same(a.strides()[i], b.strides()[i])) return false;
  }
  return true;
}
}  // namespace

bool equal_types(const Assumptions& known, const Type& a, const Type& b) {
  return equal_types(known, a, b, StridesOf::dims);
}

// `one` for both, if that is what `other` says where it holds, and each asserts there what the other does.
std::optional<Infer::Outcome> Infer::general(const Outcome& one, const Outcome& other,
                                             std::span<const Decision> there) const {
  auto implied = [&](const Outcome& by, const Outcome& of) {
    Assumptions known = supposing(there);
    for (const Cond& c : by.relied)
      if (!known.assume(c)) return false;
    return std::ranges::all_of(of.relied,
                               [&](const Cond& c) { return !known.is_open(c) || known.truth(c) == Truth::yes; });
  };
  if (one.results.size() != other.results.size() || !implied(one, other) || !implied(other, one)) return std::nullopt;
  Assumptions known = supposing(there);
  for (const Cond& c : other.relied) known.assume(c);
  for (size_t i = 0; i < one.results.size(); ++i)
    if (one.results[i].alias_of != other.results[i].alias_of ||
        !equal_types(known, *one.results[i].type, *other.results[i].type, StridesOf::elements))
      return std::nullopt;
  Outcome both = one;
  for (const Cond& c : other.relied)
    if (!known.is_open(c)) both.relied.push_back(c);
  return both;
}

// `shared` are the decisions on the way to the first outcome, up to the one that the second takes otherwise.
Infer::Outcome Infer::merge(Outcome likely, Outcome other, std::span<const Decision> shared) {
  if (other.impossible) return likely;
  if (likely.impossible) return other;
  const Decision& last = shared.back();
  if (other.raised) {
    if (!likely.raised) likely.relied.insert(likely.relied.begin(), last.taken());
    return likely;
  }
  std::vector<Decision> there(shared.begin(), shared.end());
  there.back().holds = !last.holds;
  if (likely.raised) {
    other.relied.insert(other.relied.begin(), there.back().taken());
    return other;
  }
  if (auto both = general(likely, other, there)) return *both;
  if (auto both = general(other, likely, shared)) return *both;
  throw DataDependent(simplified(last.cond, fork_->known()), op_.full_name);
}

void Infer::settle(const Outcome& outcome) {
  assumptions_ = *fork_;
  if (outcome.raised) throw UserError(*outcome.raised);
  auto assume = [&](const Cond& c, bool open) {
    if (assumptions_.is_open(c) == open && !assumptions_.assume(c))
      raise("the facts contradict what it needs: " + to_string(c));
  };
  for (const Cond& c : outcome.relied) assume(c, false);
  for (size_t i = outcome.relied.size(); i-- > 0;) assume(outcome.relied[i], true);  // the last say most
  results_ = outcome.results;
}

}  // namespace lenz
