// What a graph knows of its symbols, and what its types rely on beyond that.
//
// A symbol is backed where the caller's inputs give its value, and open where only the run knows it: a count of what is
// not zero, a number read from a tensor. Conditions on backed symbols alone become guards: whoever picks a graph for
// sizes looks at them. Of an open one nobody can ask that before the run. So
// * a condition on an open symbol that has to hold becomes a fact of the graph, which whoever binds the symbol checks:
//   a run-time assertion, made before anything relies on it;
// * a question about one that facts don't answer is none to be answered by what is typical: Infer looks at both answers
//   (infer_paths.cpp), everybody else is told that it is open (DataDependent).
// Thread-safety: as the graph's.
#pragma once

#include <vector>

#include "compiler/base/error.h"
#include "compiler/base/sym.h"

namespace lenz {

// Nothing but the run says whether the condition holds, and it would decide what is made.
class DataDependent : public UserError {
 public:
  DataDependent(const Cond& cond, const std::string& who);
};

class Assumptions {
 public:
  Facts& facts() { return declared_; }  // as declared; call `restart` after changing them
  const Facts& facts() const { return declared_; }
  const Facts& known() const { return started_ ? known_ : declared_; }  // declared facts and guards
  const SharedList<Cond>& guards() const { return guards_; }
  // All that was relied on since the last restart, guards and run-time assertions, in order.
  const SharedList<Cond>& relied() const { return relied_; }
  Truth prove(const Cond& cond) const { return known().prove(cond); }
  Truth truth(const Cond& cond) const;                     // as prove; also what stands there literally
  bool likely(const Cond& cond) const;                     // as typical values of the symbols say
  bool decide(const Cond& cond);                           // proven, or likely (recorded); DataDependent if it is open
  bool assume(const Cond& cond);                           // proven, or recorded as holding; false if refuted
  bool suppose(const Cond& cond);                          // known from now on, as if it were a guard; false if refuted
  void declare_range(const SymNode* symbol, Range range);  // of a symbol that may be negative
  bool declare(const Cond& cond);                          // a fact that needs no guard; false if refuted
  void restart() {
    started_ = false;
    guards_.clear();
    relied_.clear();
  }

  void open(const SymNode* symbol);        // only the run knows it; guards that speak of it become facts
  void open_as(const Assumptions& other);  // all that are open there
  bool is_open(const Cond& cond) const {
    return !open_.empty() && (mentions_open(cond.lhs) || mentions_open(cond.rhs));
  }
  bool mentions_open(Dim dim) const;
  // Forgets all that speaks of other symbols than these, but for what it says of these alone.
  void keep(const std::function<bool(const SymNode*)>& stays);

 private:
  bool record(const Cond& cond);  // false if it contradicts what is known
  Facts declared_, known_;
  bool started_ = false;
  SharedList<Cond> guards_, relied_;
  SharedTable<const SymNode*> open_;  // by symbol id
};

}  // namespace lenz
