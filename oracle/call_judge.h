// What one call of a row's op shows: the row's rule beside libtorch's meta device and eager on the CPU.
// Thread-safety: one judge per thread.
#pragma once

#include <optional>
#include <string>

#include "oracle/row_check.h"

namespace lenz::oracle {

// What one call showed.
struct CallVerdict {
  std::optional<Difference> difference;
  bool on_meta = false, on_cpu = false, without_meta = false, excused = false, eager_excused = false, refused = false;
  bool without_kernel = false;
  bool eager_died = false;  // in an earlier process
  std::string meta_text;
};

class CallJudge {
 public:
  CallJudge(const OpDef& op, const CheckOptions& options, Place& place)
      : op_(op), options_(options), place_(place), meta_(DeviceKind::meta), cpu_(DeviceKind::cpu) {}

  // The CPU is what a row follows. The meta device may lack a kernel; where it differs otherwise the row must say why.
  CallVerdict judge(DrawnCall& call, bool want_cpu);
  // Of a call that may be illegal: whether rule and eager refuse the same. `died`: how a process died of it before.
  CallVerdict judge_broken(DrawnCall& call, const Death* died);
  // Whether eager on the CPU takes a call, whatever the rule says.
  bool takes(const DrawnCall& call);

  Boxed& cpu() { return cpu_; }
  void at(Stage stage) {
    place_.stage = static_cast<uint32_t>(stage);
    place_.steps += 1;
  }

 private:
  Outcome run_on(Boxed& device, const DrawnCall& call, std::vector<RunValue>& inputs);
  std::optional<Difference> on(Boxed& device, DrawnCall& call, const Prediction& predicted, Outcome& outcome);
  bool speaks_of_meta() const;

  const OpDef& op_;
  const CheckOptions& options_;
  Place& place_;
  Boxed meta_, cpu_;
};

// The dtype of the first tensor that is handed over, in a list too.
std::optional<Dtype> leading_dtype(const DrawnCall& call);
// How a process died, and doing what.
std::string text_of(const Death& death);
// Layouts with gaps may span more than a process ought to take: the meta device judges such calls alone.
bool too_large(const DrawnCall& call);
// Eager answers for empty tensors and for single elements without asking what the kernel supports.
bool meets_no_kernel(const DrawnCall& call);

}  // namespace lenz::oracle
