// Errors say whose fault they are, by type. No other exception crosses a room.
// Thread-safety: values; safe to pass between threads.
#pragma once

#include <cstdint>
#include <exception>
#include <string>
#include <string_view>
#include <utility>

namespace lenz {

// The exit codes of every command. One meaning each, everywhere.
enum class ExitCode : int {
  fine = 0,         // did all that was asked, nothing wrong
  our_fault = 1,    // an internal error: a bug in Lenz
  bad_input = 2,    // usage, or a file that is not what it should be
  slower = 3,       // a confirmed regression
  unresolved = 4,   // not decided within its budget (--strict only)
  unfit = 5,        // the environment can't give a trustworthy answer
  not_covered = 6,  // weak, unsupported, out of memory, nothing measured
  wrong = 7,        // wrong results
};

class Error : public std::exception {
 public:
  explicit Error(std::string text) : text_(std::move(text)) {}
  const char* what() const noexcept override { return text_.c_str(); }
  virtual ExitCode exit_code() const noexcept = 0;

 private:
  std::string text_;
};

// Bad input: what is wrong, where (file:line:column and a caret, when there is a text), and how to mend it.
class UserError : public Error {
 public:
  explicit UserError(std::string what, std::string where = {}, std::string remedy = {});
  ExitCode exit_code() const noexcept override { return ExitCode::bad_input; }
  const std::string& message() const noexcept { return message_; }
  const std::string& where() const noexcept { return where_; }
  const std::string& remedy() const noexcept { return remedy_; }

 private:
  std::string message_, where_, remedy_;
};

// Right input that we can't serve. Counted, never silent.
class Unsupported : public Error {
 public:
  using Error::Error;
  ExitCode exit_code() const noexcept override { return ExitCode::not_covered; }
};

// Our own bug. The command's main prints how to replay it.
class InternalError : public Error {
 public:
  using Error::Error;
  ExitCode exit_code() const noexcept override { return ExitCode::our_fault; }
};

// Throws InternalError with the place: for what can't happen unless Lenz is wrong.
[[noreturn]] void internal_error(std::string_view what, const char* file, int line);

}  // namespace lenz

#define LENZ_CHECK(condition, what)                                       \
  do {                                                                    \
    if (!(condition)) ::lenz::internal_error((what), __FILE__, __LINE__); \
  } while (false)
