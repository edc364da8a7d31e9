// What the commands of this executable print for fixed texts: the words, what goes to errors too, and how it ends.
// Times are left out. Thread-safety: pure functions, each with a process of its own.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "fuzz/decisions/facts.h"

namespace lenz::fuzz {

struct FixedCommand {
  std::string name;                    // "command/attention: opt -"
  std::vector<std::string> arguments;  // `-` is the text, and `/dev/fd/3` the other one
  std::string_view text, other;
};
// Of the format of commands.txt; texts that name a graph of the corpus are that graph's.
std::vector<FixedCommand> parse_commands(std::string_view text);

// Nothing where there is no executable beside who asks. InternalError where it does not end before long.
Facts facts_of_command(const FixedCommand& command);

}  // namespace lenz::fuzz
