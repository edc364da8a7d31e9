#include "oracle/dying_calls.h"

#include <c10/core/impl/LocalDispatchKeySet.h>
#include <pthread.h>
#include <unistd.h>
#include <csetjmp>
#include <csignal>
#include <cstring>

#include <array>
#include <atomic>

#include "compiler/base/error.h"

namespace lenz::oracle {

namespace {
constexpr std::array<int, 3> kSignals{SIGFPE, SIGSEGV, SIGBUS};
std::atomic<int> alive{0};
std::array<struct sigaction, kSignals.size()> before;
sigjmp_buf* landing = nullptr;
const char* op_in_hand = nullptr;
pthread_t caller;  // who runs it; what others die of is their own

void say(const char* text) { [[maybe_unused]] const auto written = write(STDERR_FILENO, text, std::strlen(text)); }

void on_signal(int signal) {
  const bool ours = op_in_hand && pthread_equal(caller, pthread_self());
  if (ours && landing && signal == SIGFPE) siglongjmp(*landing, 1);
  if (ours) {
    say("unsupported: libtorch reads or writes memory that it has not, and dies of it, in ");
    say(op_in_hand);
    say("\n  help: an index out of range, perhaps; --on llvm and interp look at them\n");
    _exit(static_cast<int>(ExitCode::not_covered));
  }
  // Somebody else's: once more, as it was.
  for (size_t i = 0; i < kSignals.size(); ++i)
    if (kSignals[i] == signal) sigaction(signal, &before[i], nullptr);
  raise(signal);
}
}  // namespace

DyingCalls::DyingCalls() {
  if (alive++ > 0) return;
  struct sigaction ours{};
  ours.sa_handler = on_signal;
  ours.sa_flags = SA_NODEFER;
  for (size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &ours, &before[i]);
}

DyingCalls::~DyingCalls() {
  if (--alive > 0) return;
  for (size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &before[i], nullptr);
}

bool DyingCalls::any() { return alive.load(std::memory_order_relaxed) > 0; }

namespace {
// What is in hand, and the call around it again afterwards, however this one ends: a jump lands where this lives.
class InHand {
 public:
  explicit InHand(const std::string& op) : landing_(landing), op_(op_in_hand) { op_in_hand = op.c_str(); }
  ~InHand() {
    landing = landing_;
    op_in_hand = op_;
  }
  InHand(const InHand&) = delete;
  InHand& operator=(const InHand&) = delete;

 private:
  sigjmp_buf* landing_;
  const char* op_;
};
}  // namespace

void DyingCalls::run(const std::string& op, const std::function<void()>& call) {
  // What the call had set for its thread while it ran, nobody takes back: destructors are jumped over.
  const c10::impl::LocalDispatchKeySet keys = c10::impl::tls_local_dispatch_key_set();
  caller = pthread_self();
  sigjmp_buf here;
  const InHand in_hand(op);
  if (sigsetjmp(here, 1) != 0) {
    c10::impl::_force_tls_local_dispatch_key_set(keys);
    throw Unsupported("libtorch divides the least integer by -1, or an integer by zero, and dies of it, in " + op);
  }
  landing = &here;
  call();
}

}  // namespace lenz::oracle
