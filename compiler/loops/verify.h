// The verifier: the specification of programs as numbered rules. A lowering or a pass may produce, and a text may
// contain, only programs that break none. `lenz verify --rules` prints the table; corpus/errors/loops has a file that
// breaks just each.
//
// What a program has to keep is proved for all sizes that its facts allow. A rule that nothing can enforce without a
// proof (bounds, one write to each element) is broken where none is found; what may be right although nothing proves it
// (that all of a buffer is written before it is read) is listed apart, as unproved.
// Thread-safety: a program belongs to one thread at a time.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/loops/program.h"
#include "compiler/loops/text.h"

namespace lenz::loops {

struct ProgramRule {
  int number;  // L104 is 104
  std::string_view name;
  std::string_view text;
  std::string_view remedy;  // for who wrote the text; empty: no text can break it
};
std::span<const ProgramRule> program_rules();
const ProgramRule& program_rule(int number);

// Where a finding is.
struct ProgramSpot {
  size_t node = SIZE_MAX;  // in the order of for_each_node; SIZE_MAX: of the program
  Ssa instr = kNone;       // of a nest
  size_t store = SIZE_MAX;
  BufferId buffer = kNone;  // of the program: a declaration
};

struct ProgramFinding {
  int rule = 0;
  ProgramSpot spot;
  std::string message;
  std::string line;        // what is at the spot, as text
  bool nonlinear = false;  // nothing is wrong: a proof was not found, of what is nonlinear (linear.h)
};
std::string to_string(const ProgramFinding& finding);  // "L301 load_bounds: ...\n    in %0 = load %x[i0 + 1]"

struct ProgramVerdict {
  std::vector<ProgramFinding> violations;  // the first hundred
  std::vector<ProgramFinding> unproved;    // likewise
  bool valid() const { return violations.empty(); }
  bool lacks_proofs_alone() const;  // all that is broken is nonlinear
};
ProgramVerdict verify(const Program& program);

// Whether points that differ along this axis of the nest never meet in what the store writes, whatever the other axes
// and what data decide: then its lanes may combine with what is there, and it may be walked innermost.
bool lanes_apart(const Program& program, const Nest& nest, const Store& store, const Axis& axis);

// Whether a proof is found that all that a nest of the program loads and stores lies inside its buffers, at points of
// these axes around it.
class AccessProofs {
 public:
  explicit AccessProofs(const Program& program);  // which stays where it is
  ~AccessProofs();
  bool inside(const Nest& nest, std::span<const Axis> around = {});

 private:
  std::unique_ptr<class ProgramVerifier> verifier_;
};

// Throws InternalError with the violations: for what a lowering or a pass made.
void require_valid(const Program& program, std::string_view made_by);
// The same, for who goes on with what users get where no more than proofs of what is nonlinear are missing: false then.
bool require_linear_proofs(const Program& program, std::string_view made_by);

// A program's text, read and verified: findings with line, column, a caret and the remedy.
struct VerifiedText {
  Program program;
  std::vector<UserError> violations, unproved;
};
VerifiedText verify_text(std::string_view text, const OpTable& ops, const std::string& file);

}  // namespace lenz::loops
