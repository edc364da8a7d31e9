#include "fuzz/decisions/commands.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <regex>
#include <thread>

#include "compiler/base/error.h"
#include "fuzz/from_corpus.h"

namespace lenz::fuzz {

namespace {
constexpr std::string_view kBlock = "# ---- ", kText = "# ====\n", kOther = "# ++++\n", kNamed = "< ";
constexpr std::chrono::seconds kLongest(20);  // of what takes less than one

std::string_view text_of(std::string_view given) {
  if (!given.starts_with(kNamed)) return given;
  const std::string_view name = given.substr(kNamed.size(), given.find('\n') - kNamed.size());
  for (const NamedText& t : corpus_texts())
    if (t.name == name) return t.text;
  throw InternalError("commands.txt names " + std::string(name) + ", which the corpus lacks");
}

// `{*3982 n*}` is that many letters.
std::string spelled_out(std::string_view text) {
  constexpr std::string_view kBegin = "{*", kEnd = "*}";
  std::string all;
  for (;;) {
    const size_t begin = text.find(kBegin), end = text.find(kEnd, begin);
    all += text.substr(0, begin);
    if (end == text.npos) return all;
    const std::string times(text.substr(begin + kBegin.size(), end - begin - kBegin.size()));
    all.append(std::stoul(times), times.back());
    text.remove_prefix(end + kEnd.size());
  }
}

// The executable, whoever is linked with this.
std::string executable() {
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe");
  for (const auto& folder : {self.parent_path(), self.parent_path().parent_path()})
    if (std::filesystem::exists(folder / "lenz")) return folder / "lenz";
  return {};
}

// A file without a name, closed when it goes.
class NamelessFile {
 public:
  explicit NamelessFile(std::string_view holds) : file_(memfd_create("lenz", MFD_CLOEXEC)) {
    if (file_ < 0) throw Unsupported("no memory for what a command is given");
    for (size_t at = 0; at < holds.size();) {
      const ssize_t wrote = write(file_, holds.data() + at, holds.size() - at);
      if (wrote <= 0) break;
      at += static_cast<size_t>(wrote);
    }
    lseek(file_, 0, SEEK_SET);
  }
  ~NamelessFile() { close(file_); }
  NamelessFile(const NamelessFile&) = delete;
  NamelessFile& operator=(const NamelessFile&) = delete;
  int file() const { return file_; }
  std::string text() const {
    std::string all;
    char part[4096];
    lseek(file_, 0, SEEK_SET);
    for (ssize_t got = read(file_, part, sizeof part); got > 0; got = read(file_, part, sizeof part))
      all.append(part, static_cast<size_t>(got));
    return all;
  }

 private:
  int file_;
};

// How it ended: an exit code, or the signal below 0.
int run(const std::string& program, const std::vector<std::string>& arguments, const NamelessFile& in,
        const NamelessFile& other, const NamelessFile& out) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in.file(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out.file(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out.file(), STDERR_FILENO);
  posix_spawn_file_actions_adddup2(&actions, other.file(), STDERR_FILENO + 1);
  std::vector<std::string> words{program};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  pid_t child = 0;
  const int failed = posix_spawn(&child, program.c_str(), &actions, nullptr, pointers.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) throw Unsupported("no process for a command");
  const auto until = std::chrono::steady_clock::now() + kLongest;
  int status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > until) {
      kill(child, SIGKILL);
      waitpid(child, nullptr, 0);
      throw InternalError("`lenz` does not end");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

// Seconds are another number each time, and as wide as they are: `0.02 s`, or in JSON.
std::string without_times(const std::string& text) {
  constexpr size_t kMost = 100'000;  // what is longer lists all of a table, and was not measured
  if (text.size() > kMost) return text;
  static const std::regex times(R"( *\b[0-9.e-]+ s\b|("seconds": )[^,\n]*)");
  return std::regex_replace(text, times, "$1");
}

// A space within what is to be spelled out ends no word.
size_t end_of_word(std::string_view line, size_t begin) {
  const size_t space = line.find(' ', begin), times = line.find("{*", begin);
  return times < space ? line.find(' ', line.find("*}", times)) : space;
}
}  // namespace

std::vector<FixedCommand> parse_commands(std::string_view text) {
  std::vector<FixedCommand> all;
  for (size_t at = text.find(kBlock); at != text.npos;) {
    const size_t next = text.find(kBlock, at + 1);
    std::string_view block = text.substr(at + kBlock.size(), next == text.npos ? next : next - at - kBlock.size());
    at = next;
    const size_t given = block.find(kText), other = block.find(kOther);
    const std::string_view first =
        given == block.npos ? "" : block.substr(given + kText.size(), other - given - kText.size());
    const std::string_view second = other == block.npos ? "" : block.substr(other + kOther.size());
    std::string_view lines = block.substr(0, given);
    auto next_line = [&] {
      const size_t end = std::min(lines.find('\n'), lines.size());
      const std::string_view line = lines.substr(0, end);
      lines.remove_prefix(std::min(end + 1, lines.size()));
      return line;
    };
    const std::string name(next_line());
    while (!lines.empty()) {
      const std::string_view line = next_line();
      FixedCommand command{"command/" + name + "/" + std::string(line), {}, text_of(first), text_of(second)};
      for (size_t begin = 0; begin < line.size();) {
        const size_t end = std::min(end_of_word(line, begin), line.size());
        command.arguments.push_back(spelled_out(line.substr(begin, end - begin)));
        begin = end + 1;
      }
      all.push_back(std::move(command));
    }
  }
  return all;
}

Facts facts_of_command(const FixedCommand& command) {
  static const std::string program = executable();
  if (program.empty()) return {};
  const NamelessFile in(spelled_out(command.text)), other(spelled_out(command.other)), out("");
  const int ended = run(program, command.arguments, in, other, out);
  return {{"command/ends", ended}, {"command/says #", digest(without_times(out.text()))}};
}

}  // namespace lenz::fuzz
