#include "oracle/workers.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <new>
#include <optional>
#include <vector>

#include "compiler/base/error.h"
#include "compiler/base/large_pages.h"

namespace lenz::oracle {

namespace {
using Clock = std::chrono::steady_clock;

bool write_all(int fd, const void* data, size_t bytes) {
  const char* at = static_cast<const char*>(data);
  while (bytes) {
    ssize_t n = send(fd, at, bytes, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    at += n;
    bytes -= static_cast<size_t>(n);
  }
  return true;
}

bool read_all(int fd, void* data, size_t bytes) {
  char* at = static_cast<char*>(data);
  while (bytes) {
    ssize_t n = read(fd, at, bytes);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    at += n;
    bytes -= static_cast<size_t>(n);
  }
  return true;
}

struct Header {
  uint64_t bytes = 0;
  enum Kind : uint64_t { answer, failure, no_memory } kind = answer;  // a failure: the text of what the task threw
  uint64_t last = 0;                                                  // not 0: this process takes no further task
};

uint64_t address_space() {
  unsigned long long pages = 0;
  if (std::FILE* file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%llu", &pages) != 1) pages = 0;
    std::fclose(file);
  }
  return pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

// The address space from which on a worker leaves after its answer: what processes keep for ever (code, an allocator's
// heap of each thread) grows with the tasks, and a task should not be without memory for those before it. 0: never.
uint64_t limit_memory(uint64_t extra) {
#if !defined(LENZ_ADDRESS_SANITIZER)
  const uint64_t now = extra != 0 ? address_space() : 0;
  if (now == 0) return 0;
  const rlim_t bytes = now + extra;
  rlimit limit{bytes, bytes};
  setrlimit(RLIMIT_AS, &limit);
  return now + extra / 2;
#else
  (void)extra;
  return 0;
#endif
}

[[noreturn]] void serve(int fd, Place& place, const WorkerLimits& limits, const WorkerCalls& calls) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
#if !defined(LENZ_ADDRESS_SANITIZER)
  // A dying allocator's last words would stand between our own.
  if (int null = open("/dev/null", O_WRONLY | O_CLOEXEC); null >= 0) dup2(null, STDERR_FILENO);
#endif
  const uint64_t enough = limit_memory(limits.extra_memory);
  poison_heap();
  uint64_t task = 0;
  while (read_all(fd, &task, sizeof task)) {
    std::string result;
    Header header;
    try {
      result = calls.work(task, place);
    } catch (const std::bad_alloc&) {
      header.kind = Header::no_memory;
    } catch (const std::exception& error) {
      result = error.what();
      header.kind = Header::failure;
    }
    header.bytes = result.size();
    header.last = limits.fresh || header.kind == Header::no_memory || (enough != 0 && address_space() >= enough);
    if (!write_all(fd, &header, sizeof header) || !write_all(fd, result.data(), result.size())) break;
    if (header.last != 0) break;
  }
  _exit(0);  // what the parent registered to run at exit is the parent's
}

// What a process has taken of processors so far, in seconds.
double processor_seconds(pid_t pid) {
  clockid_t clock{};
  timespec taken{};
  if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &taken) != 0) return 0;
  return static_cast<double>(taken.tv_sec) + static_cast<double>(taken.tv_nsec) * 1e-9;
}

struct Worker {
  pid_t pid = 0;
  int fd = -1;
  Place* place = nullptr;
  std::optional<size_t> task;
  uint64_t steps = 0;
  double moved = 0, taken = 0;  // seconds of the processor: when it last moved, and when it was last looked at
  double idle = 0;              // seconds for which it has taken none
};

class Pool {
 public:
  Pool(size_t count, int jobs, const WorkerLimits& limits, const WorkerCalls& calls)
      : count_(count), limits_(limits), calls_(calls) {
    workers_.resize(std::min<size_t>(static_cast<size_t>(jobs), count));
    void* memory = mmap(nullptr, sizeof(Place) * std::max<size_t>(workers_.size(), 1), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw Unsupported("no memory to share with worker processes");
    places_ = static_cast<Place*>(memory);
  }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  ~Pool() {
    for (Worker& w : workers_)
      if (w.pid) {
        close(w.fd);
        kill(w.pid, SIGKILL);
        waitpid(w.pid, nullptr, 0);
      }
    munmap(places_, sizeof(Place) * std::max<size_t>(workers_.size(), 1));
  }

  void run() {
    for (size_t i = 0; i < workers_.size(); ++i) {
      start(workers_[i], places_ + i);
      give(workers_[i], next_++);
    }
    Clock::time_point looked = Clock::now();
    while (finished_ < count_) {
      std::vector<pollfd> fds;
      for (Worker& w : workers_) fds.push_back({w.task ? w.fd : -1, POLLIN, 0});
      poll(fds.data(), fds.size(), 200);
      const Clock::time_point now = Clock::now();
      constexpr double kLongest = 1;  // where it took longer all of us were stopped
      const double passed = std::min(std::chrono::duration<double>(now - looked).count(), kLongest);
      looked = now;
      for (size_t i = 0; i < workers_.size(); ++i) {
        Worker& w = workers_[i];
        if (!w.task) continue;
        if (fds[i].revents) {
          answer(w);
        } else {
          watch(w, passed);
        }
      }
      if (calls_.tick) calls_.tick(finished_);
    }
  }

 private:
  void start(Worker& w, Place* place) {
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
      throw Unsupported(std::string("can't talk to a worker process: ") + std::strerror(errno));
    *place = {};
    pid_t pid = fork();
    if (pid < 0) throw Unsupported(std::string("can't start a worker process: ") + std::strerror(errno));
    if (pid == 0) {
      for (Worker& other : workers_)
        if (other.fd >= 0) close(other.fd);
      close(pair[0]);
      serve(pair[1], *place, limits_, calls_);
    }
    close(pair[1]);
    w = {pid, pair[0], place, std::nullopt};
  }

  void give(Worker& w, size_t task) {
    w.task = task;
    moves(w, w.place->steps);
    uint64_t number = task;
    write_all(w.fd, &number, sizeof number);  // a worker that is gone shows when its answer is read
  }

  void give_next(Worker& w) {
    if (next_ < count_) {
      give(w, next_++);
    } else {
      w.task.reset();
    }
  }

  void answer(Worker& w) {
    Header header;
    std::string result;
    bool whole = read_all(w.fd, &header, sizeof header);
    if (whole) {
      result.resize(header.bytes);
      whole = read_all(w.fd, result.data(), result.size());
    }
    if (!whole || header.kind == Header::no_memory) {
      buried(w, {.no_memory = whole});
      return;
    }
    if (header.kind == Header::failure) throw InternalError(result);
    calls_.done(*w.task, result);
    ++finished_;
    if (header.last != 0) {
      bury(w);
      if (next_ < count_) start(w, w.place);
    }
    give_next(w);
  }

  static void moves(Worker& w, uint64_t steps) {
    w.steps = steps;
    w.moved = w.taken = processor_seconds(w.pid);
    w.idle = 0;
  }

  void watch(Worker& w, double passed) {
    uint64_t steps = *const_cast<volatile uint64_t*>(&w.place->steps);
    if (steps != w.steps) return moves(w, steps);
    const double taken = processor_seconds(w.pid);
    w.idle = taken > w.taken ? 0 : w.idle + passed;
    w.taken = taken;
    if (std::max(taken - w.moved, w.idle) <= limits_.hang_seconds) return;
    kill(w.pid, SIGKILL);
    buried(w, {.hung = true});
  }

  int bury(Worker& w) {
    int status = 0;
    waitpid(w.pid, &status, 0);
    close(w.fd);
    w.pid = 0;
    w.fd = -1;
    return status;
  }

  void buried(Worker& w, Death death) {
    int status = bury(w);
    death.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    death.place = *w.place;
    size_t task = *w.task;
    bool again = calls_.died(task, death);
    start(w, w.place);
    if (again) {
      give(w, task);
      return;
    }
    ++finished_;
    give_next(w);
  }

  size_t count_, next_ = 0, finished_ = 0;
  const WorkerLimits& limits_;
  const WorkerCalls& calls_;
  std::vector<Worker> workers_;
  Place* places_ = nullptr;
};
}  // namespace

std::string Death::text() const {
  if (hung) return "no answer";
  if (no_memory) return "out of memory";
  if (signal == 0) return "the process left";
  const char* name = sigabbrev_np(signal);
  return name ? std::string("SIG") + name : "signal " + std::to_string(signal);
}

void run_in_workers(size_t count, int jobs, const WorkerLimits& limits, const WorkerCalls& calls) {
  if (count == 0) return;
  Pool(count, jobs, limits, calls).run();
}

}  // namespace lenz::oracle
