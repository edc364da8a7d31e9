// Hostile texts: valid ones with a few bytes, tokens or lines changed. What a parser must survive.
// Thread-safety: one chooser per thread.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "compiler/base/chooser.h"
#include "compiler/graph/op_def.h"

namespace lenz {

// One to eight changes of `text`; some take material from `others`, which may hold it too.
std::string mutate(std::string_view text, std::span<const std::string> others, Chooser& choose);

// What every text must survive: it parses or gives a UserError; a graph that parses is verified, and if valid prints as
// a text that parses into an equal graph, structurally. Throws InternalError if not. True if the text parsed.
bool survives(std::string_view text, const OpTable& ops);

}  // namespace lenz
