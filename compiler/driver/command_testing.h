// For tests: the command as a user runs it. LENZ_COMMAND is the executable of this build.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>

namespace lenz::command_testing {

struct Ran {
  int code = 0;
  std::string out;  // and what it says on stderr
};

inline Ran run(const std::string& arguments, const std::string& input = "") {
  std::string path = "/tmp/lenz_command_input_" + std::to_string(getpid()) + ".txt";
  std::ofstream(path) << input;
  std::FILE* pipe = popen((std::string(LENZ_COMMAND) + " " + arguments + " 2>&1 < " + path).c_str(), "r");
  Ran ran;
  char buffer[4096];
  for (size_t n; (n = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;) ran.out.append(buffer, n);
  ran.code = WEXITSTATUS(pclose(pipe));
  unlink(path.c_str());
  return ran;
}

}  // namespace lenz::command_testing
