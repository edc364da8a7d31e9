// Calls that libtorch dies of: it divides the least integer by -1, and trusts indices that somebody computed. While a
// DyingCalls lives, a division that kills is Unsupported, and names its op; a place that memory has not ends the
// process with exit code 6 and the same words, for what else was written by then nobody knows. Without one, calls die
// as they do: who runs them in processes of their own sees by what.
// Thread-safety: calls of one thread; what others die of, they die of.
#pragma once

#include <functional>
#include <string>

namespace lenz::oracle {

class DyingCalls {
 public:
  DyingCalls();
  ~DyingCalls();
  DyingCalls(const DyingCalls&) = delete;
  DyingCalls& operator=(const DyingCalls&) = delete;

  static bool any();  // whether one lives
  // `call`, which runs the op in libtorch.
  static void run(const std::string& op, const std::function<void()>& call);
};

}  // namespace lenz::oracle
