// A text that the build has inside, and the file in corpus/ that it comes from. Thread-safety: constant data.
#pragma once

#include <string_view>

namespace lenz::fuzz {

struct NamedText {
  const char* name;
  const char* text;
};

}  // namespace lenz::fuzz
