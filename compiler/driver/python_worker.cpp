#include "compiler/driver/python_worker.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>

#include "compiler/base/error.h"

namespace lenz {

namespace {
std::string how_it_ended(int status) {
  if (WIFSIGNALED(status)) return std::string("it died of ") + strsignal(WTERMSIG(status));
  return "it left with exit code " + std::to_string(WEXITSTATUS(status));
}
}  // namespace

std::string repository() {
  std::error_code failure;
  std::filesystem::path folder = std::filesystem::read_symlink("/proc/self/exe", failure);
  while (folder.has_relative_path()) {
    folder = folder.parent_path();
    if (std::filesystem::exists(folder / "bench" / "worker.py", failure)) return folder.string();
  }
  throw UserError("the folder `bench` is nowhere above the executable", "lenz",
                  "run the executable of a build folder inside of the repository");
}

void Worker::start() {
  int channel[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, channel) != 0) throw Unsupported("no sockets for a worker");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, channel[1], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, channel[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, log_.empty() ? "/dev/null" : log_.c_str(),
                                   O_WRONLY | O_CREAT | O_APPEND, 0644);
  std::vector<char*> words;
  for (std::string& word : command_) words.push_back(word.data());
  words.push_back(nullptr);
  const int failed = posix_spawnp(&pid_, words[0], &actions, nullptr, words.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(channel[1]);
  to_ = from_ = channel[0];
  if (failed != 0) {
    pid_ = 0;
    stop();
    throw UserError("can't start " + command_[0] + ": " + std::strerror(failed), "lenz",
                    "run ./ci/setup (`lenz bench` takes another Python: --python)");
  }
  try {
    greeting_ = answer(start_seconds_);
  } catch (const WorkerDied& died) {
    throw UserError(command_[0] + " did not start to work: " + died.what(), "lenz",
                    "run ./ci/setup (`lenz bench` takes another Python: --python)");
  }
}

void Worker::stop() {
  if (to_ >= 0) close(to_);
  to_ = from_ = -1;
  pending_.clear();
  if (pid_ == 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
  pid_ = 0;
}

nlohmann::json Worker::answer(double seconds) {
  using Clock = std::chrono::steady_clock;
  // A machine that stood still for a while, or a process that was stopped, has not kept anybody waiting.
  constexpr double kSlice = 1;
  double left = seconds;
  size_t line;
  while ((line = pending_.find('\n')) == std::string::npos) {
    const auto begin = Clock::now();
    pollfd waits{from_, POLLIN, 0};
    const int ready = poll(&waits, 1, static_cast<int>(std::clamp(left, 0.0, kSlice) * 1000));
    left -= std::min(std::chrono::duration<double>(Clock::now() - begin).count(), kSlice);
    if (ready < 0 && errno == EINTR) continue;
    if (ready == 0 && left > 0) continue;
    if (ready == 0) {
      stop();
      throw WorkerDied("no answer in " + std::to_string(static_cast<int>(seconds)) + " s");
    }
    char bytes[4096];
    const ssize_t got = read(from_, bytes, sizeof bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      int status = 0;
      const pid_t gone = waitpid(pid_, &status, 0);
      const std::string how = gone == pid_ ? how_it_ended(status) : "it is gone";
      pid_ = 0;
      stop();
      throw WorkerDied(how + (log_.empty() ? "" : "; " + log_ + " has its last words"));
    }
    pending_.append(bytes, static_cast<size_t>(got));
  }
  nlohmann::json told = nlohmann::json::parse(pending_.substr(0, line), nullptr, false);
  pending_.erase(0, line + 1);
  if (told.is_discarded() || !told.is_object()) {
    stop();
    throw WorkerDied("its answer is no JSON");
  }
  return told;
}

const nlohmann::json& Worker::greeting() {
  if (pid_ == 0) start();
  return greeting_;
}

nlohmann::json Worker::ask(const nlohmann::json& question, double seconds) {
  if (pid_ == 0) start();
  const std::string text = question.dump() + "\n";
  for (size_t sent = 0; sent < text.size();) {
    const ssize_t n = send(to_, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      stop();
      throw WorkerDied("it does not listen");
    }
    sent += static_cast<size_t>(n);
  }
  nlohmann::json told = answer(seconds);
  if (told.contains("error")) throw UserError(told["error"].get<std::string>(), "PyTorch");
  return told;
}

}  // namespace lenz
