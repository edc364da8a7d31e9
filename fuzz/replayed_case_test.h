// A case as a campaign found it, asked again of all properties. Thread-safety: for one thread.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "fuzz/reduce.h"

namespace lenz::fuzz {

inline void expect_to_hold(const std::string& text) {
  const auto failure = failure_alone(parse_case(text), {});
  EXPECT_FALSE(failure) << failure->key() << failure->detail;
}

}  // namespace lenz::fuzz
