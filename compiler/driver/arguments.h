// Parsing of a command's arguments, the same way for every command.
// Thread-safety: as CLI::App.
#pragma once

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdio>
#include <span>
#include <string>

#include "compiler/base/error.h"

namespace lenz {

// False when help was asked for, and printed. Throws UserError.
inline bool parse_arguments(CLI::App& app, std::span<const std::string> args) {
  std::vector<std::string> reversed(args.rbegin(), args.rend());
  try {
    app.parse(reversed);
  } catch (const CLI::CallForHelp&) {
    std::fputs(app.help().c_str(), stdout);
    return false;
  } catch (const CLI::ParseError& error) {
    throw UserError(error.what(), app.get_name(), app.get_name() + " --help lists the options");
  }
  // CLI11 reads -1 as the largest number there is, and numbers that are too large as that one too.
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_type_name() != "UINT") continue;
    for (const std::string& text : option->results()) {
      uint64_t value = 0;
      auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
      if (text.starts_with('-') || error == std::errc::result_out_of_range)
        throw UserError(option->get_name() + " is " + text, app.get_name(),
                        "give a number from 0 to 18446744073709551615");
    }
  }
  return true;
}

// What a command makes, into the file that was asked for; standard output if none was.
inline void write_output(const std::string& file, const std::string& text) {
  std::FILE* to = file.empty() ? stdout : std::fopen(file.c_str(), "w");
  bool fine = to && std::fwrite(text.data(), 1, text.size(), to) == text.size();
  if (to) fine = (file.empty() ? std::fflush(to) : std::fclose(to)) == 0 && fine;
  if (!fine)
    throw UserError("can't write it", file.empty() ? "standard output" : file, "see that there is room, and a folder");
}

}  // namespace lenz
