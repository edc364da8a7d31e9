// The executable: finds the command, runs it, prints what went wrong and exits with the code that says whose fault it
// was.
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <new>
#include <string>
#include <vector>

#include "compiler/base/suggest.h"
#include "compiler/driver/commands.h"
#include "compiler/driver/plugin.h"

namespace lenz {
namespace {

void print_help(std::FILE* out) {
  std::fputs(
      "lenz: a tensor compiler that proves itself right and keeps itself fast\n\nusage: lenz COMMAND [ARGUMENTS]\n",
      out);
  std::fputs("       lenz COMMAND --help | --help | --version\n\ncommands:\n", out);
  for (const Command& command : driver_commands()) {
    std::fprintf(out, "  %-10.*s %.*s\n", static_cast<int>(command.name.size()), command.name.data(),
                 static_cast<int>(command.summary.size()), command.summary.data());
  }
  std::fputs(
      "\nexit codes: 0 fine, 1 a bug in lenz, 2 bad input, 3 slower, 4 unresolved, 5 unfit environment,\n"
      "            6 not covered, 7 wrong results\n",
      out);
}

// An argument as a shell reads it back.
std::string shell_quoted(const std::string& argument) {
  const bool plain = !argument.empty() && argument.find_first_not_of(
                                              "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                              "0123456789_-+=:,./@%^") == std::string::npos;
  if (plain) return argument;
  std::string quoted = "'";
  for (char c : argument) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

void print_replay(const std::vector<std::string>& all) {
  std::error_code ignored;
  std::string line = "cd " + shell_quoted(std::filesystem::current_path(ignored).string()) + " &&";
  for (const std::string& argument : all) line += " " + shell_quoted(argument);
  std::fprintf(stderr, "  this is a bug in lenz %s; to replay it:\n    %s\n", std::string(version()).c_str(),
               line.c_str());
}

ExitCode dispatch(std::span<const std::string> args) {
  if (args.empty()) {
    print_help(stderr);
    return ExitCode::bad_input;
  }
  const std::string& name = args[0];
  if (name == "--help" || name == "-h" || name == "help") {
    print_help(stdout);
    return ExitCode::fine;
  }
  if (name == "--version") {
    std::printf("lenz %s\n", std::string(version()).c_str());
    return ExitCode::fine;
  }
  std::vector<std::string_view> names = {"--help", "--version"};
  for (const Command& command : driver_commands()) {
    if (command.name == name) return command.run(args.subspan(1));
    names.push_back(command.name);
  }
  const std::string_view nearest = nearest_name(name, names);
  throw UserError("no command '" + name + "'", "",
                  nearest.empty() ? "lenz --help lists the commands" : "did you mean '" + std::string(nearest) + "'?");
}

ExitCode run(const std::vector<std::string>& all) {
  try {
    return dispatch(std::span(all).subspan(1));
  } catch (const InternalError& error) {
    std::fprintf(stderr, "lenz: %s\n", error.what());
    print_replay(all);
    return error.exit_code();
  } catch (const UserError& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return error.exit_code();
  } catch (const Error& error) {
    std::fprintf(stderr, "unsupported: %s\n", error.what());
    return error.exit_code();
  } catch (const std::bad_alloc&) {
    std::fputs("unsupported: out of memory\n", stderr);
    return ExitCode::not_covered;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "lenz: internal error: an exception of another library got out: %s\n", error.what());
    print_replay(all);
    return ExitCode::our_fault;
  }
}

}  // namespace
}  // namespace lenz

int main(int argc, char** argv) {
  std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow (ulimit -f) is an error of the write, which says so
  std::vector<std::string> all(argv, argv + argc);
  if (all.empty()) all.emplace_back("lenz");
  const lenz::ExitCode code = lenz::run(all);
  // Output that could not be written is a failure too: a full disk must not look like success.
  // What failed before the last flush left its mark only.
  const bool failed = std::fflush(stdout) != 0 || std::ferror(stdout) != 0;
  if (failed && code == lenz::ExitCode::fine) {
    std::fprintf(stderr, "error: can't write the output%s%s\n", errno != 0 ? ": " : "",
                 errno != 0 ? std::strerror(errno) : "");
    return static_cast<int>(lenz::ExitCode::unfit);
  }
  return static_cast<int>(code);
}
