// Values of two runs, element by element.
// Thread-safety: pure functions.
#pragma once

#include <optional>
#include <string>

#include "oracle/value.h"

namespace lenz::oracle {

// |a - b| <= absolute + relative * |a|; both 0: equal. Applies to floats; NaN equals NaN, an infinity itself alone.
struct Closeness {
  double relative = 0, absolute = 0;
};

// Where two values differ first, in words: in kind, dtype, sizes or an element; nothing if they don't.
std::optional<std::string> first_apart(const RunValue& expected, const RunValue& got, Closeness close);

// The largest finite absolute value among a tensor's elements.
double magnitude(const RunValue& value);

}  // namespace lenz::oracle
