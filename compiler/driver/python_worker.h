// PyTorch in a process of its own, spoken to by lines, a JSON object each: the script says which. It sleeps between
// them. Thread-safety: one per thread.
#pragma once

#include <sys/types.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace lenz {

// A process that ended, or did not answer in time.
class WorkerDied : public std::exception {
 public:
  explicit WorkerDied(std::string text) : text_(std::move(text)) {}
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  std::string text_;
};

// The folder with the scripts and the Python environment: that of the executable, or one above it. UserError if there
// is none.
std::string repository();

class Worker {
 public:
  // Starts when it is first asked, and anew after it died; then it has so many seconds for its first line. `log`: where
  // its own output goes; empty: nowhere.
  Worker(std::vector<std::string> command, std::string log, double start_seconds = 120)
      : command_(std::move(command)), log_(std::move(log)), start_seconds_(start_seconds) {}
  ~Worker() { stop(); }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // WorkerDied; UserError with the text of what the question raised there.
  nlohmann::json ask(const nlohmann::json& question, double seconds = 60);
  // What it said when it started.
  const nlohmann::json& greeting();
  void stop();

 private:
  void start();
  nlohmann::json answer(double seconds);

  std::vector<std::string> command_;
  std::string log_, pending_;
  double start_seconds_;
  nlohmann::json greeting_;
  pid_t pid_ = 0;
  int to_ = -1, from_ = -1;
};

}  // namespace lenz
