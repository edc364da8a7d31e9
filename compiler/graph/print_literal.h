// How the pieces of the text forms that stand for themselves are written. For printers only: this room's and those of
// other IRs.
// Thread-safety: pure functions, but for the context that a constant or a default is of.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "compiler/graph/graph.h"

namespace lenz {

void append_name(std::string& out, char sigil, std::string_view name);  // %name, @"two words"
void append_int(std::string& out, int64_t value);
void append_dim(std::string& out, Dim dim);
void append_data(std::string& out, Context& context, const ConstantData& data);           // f32[2] [1.0, 2.0]
void append_alias(std::string& out, std::string_view name);                               // " alias a"
void append_origin(std::string& out, const Context& context, uint32_t origin);            // " from %a, %b"
void append_facts(std::string& out, const Assumptions& assumptions, bool guards = true);  // " where ... assuming ..."
// `value` and `graph` write what the argument refers to.
void append_arg(std::string& out, Context& context, const Arg& arg, const std::function<void(ValueId)>& value,
                const std::function<void(uint32_t)>& graph);
bool is_default(Context& context, const Param& param, const Arg& arg);  // a call may leave it out
std::string_view name(Layout layout);
std::string_view name(MemoryFormat format);

}  // namespace lenz
