// How the pieces of the text form that stand for themselves are written. Internal to the room.
// Thread-safety: pure functions, but for the context of a constant.
#pragma once

#include <string>
#include <string_view>

#include "compiler/graph/context.h"

namespace lenz {

void append_name(std::string& out, char sigil, std::string_view name);  // %name, @"two words"
void append_int(std::string& out, int64_t value);
void append_dim(std::string& out, Dim dim);
void append_data(std::string& out, Context& context, const ConstantData& data);  // f32[2] [1.0, 2.0]
std::string_view name(Layout layout);
std::string_view name(MemoryFormat format);

}  // namespace lenz
