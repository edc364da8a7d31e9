// How random rows sample from Lenz's own stream, in the language of compiler/ops/draws.h. For draws.cpp only.
#pragma once

#include <string_view>

namespace lenz {

struct SamplingRow {
  std::string_view packets;  // names, in-place and out= variants with them
  std::string_view sampling;
};

// The first one whose parameters an op has is its own.
inline constexpr SamplingRow kSamplings[] = {
    {"rand rand_like", "uniform(0, 1)"},
    {"randn randn_like", "normal(0, 1)"},
    {"uniform", "uniform(from, to)"},
    {"normal normal_functional normal_", "normal(mean, std)"},
    {"exponential", "exponential(lambd)"},
    {"randint randint_like", "integers(low, high)"},
    {"randint randint_like", "integers(0, high)"},
    {"random", "integers(from, to)"},
    {"random", "integers(0, to)"},
    {"bernoulli bernoulli_", "coin(p)"},
    {"bernoulli", "coin(self)"},
    {"dropout native_dropout", "keep(input, p, train)"},
};

}  // namespace lenz
