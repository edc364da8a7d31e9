// A file of calls: graphs of one node each in the text form, one after the other, with a line "%%" between them.
// Thread-safety: pure functions.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/ops/call_maker.h"

namespace lenz {

struct CallText {
  std::string op;    // the full name of the row it calls
  std::string text;  // of the graph
};

// Cuts a file into its calls. UserError for a part that calls nothing.
std::vector<CallText> split_calls(std::string_view text);

// Reads one: the graph keeps its inputs only, and the node becomes the call's arguments. UserError if the text is no
// graph of one node, or the rule refuses it.
DrawnCall read_call(const CallText& call, const OpTable& table);
// The same without asking the rule: its refusal may be right.
DrawnCall read_unjudged_call(const CallText& call, const OpTable& table);
// A file's calls by the full names of their rows. UserError for a call of what has no row.
std::map<std::string, std::vector<CallText>> calls_by_row(std::string_view text, const OpTable& table);

}  // namespace lenz
