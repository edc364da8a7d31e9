// How the loops of random ops sample from Lenz's own stream, in the notation of compiler/lower/NOTATION.md: as
// compiler/ops/draws.h says, computed in f64 and rounded once.
#pragma once

#include <string_view>

namespace lenz {

#define LENZ_ELEMENT "raveled($i, shape(%out))"
inline constexpr std::string_view kRandLoops = "%out[$i] = draw_uniform(dtype(%out), " LENZ_ELEMENT ")";
inline constexpr std::string_view kRandnLoops = "%out[$i] = draw_normal(dtype(%out), " LENZ_ELEMENT ")";
inline constexpr std::string_view kUniformLoops =
    "%out[$i] = draw_uniform(dtype(%out), " LENZ_ELEMENT ") * to($to - $from, f64) + to($from, f64)";
#define LENZ_NORMAL(mean, std) \
  "%out[$i] = draw_normal(dtype(%out), " LENZ_ELEMENT ") * to(" std ", f64) + to(" mean ", f64)"
#define LENZ_OF(tensor) "%" tensor "[broadcast_at($i, shape(%" tensor "))]"
inline constexpr std::string_view kNormalLoops = LENZ_NORMAL("$mean", "$std");
inline constexpr std::string_view kNormalTFLoops = LENZ_NORMAL(LENZ_OF("mean"), "$std");
inline constexpr std::string_view kNormalFTLoops = LENZ_NORMAL("$mean", LENZ_OF("std"));
inline constexpr std::string_view kNormalTTLoops = LENZ_NORMAL(LENZ_OF("mean"), LENZ_OF("std"));
#undef LENZ_NORMAL
inline constexpr std::string_view kExponentialLoops =
    "%out[$i] = -log1p(-draw_uniform(dtype(%out), " LENZ_ELEMENT ")) / to($lambd, f64)";

// Whether the coin of this element shows its face.
#define LENZ_COIN(probability) "to(draw_word(" LENZ_ELEMENT "), f64) / 4294967296.0 < " probability
inline constexpr std::string_view kCoinLoops = "%out[$i] = " LENZ_COIN("to($p, f64)");
inline constexpr std::string_view kCoinByTensorLoops = "%out[$i] = " LENZ_COIN("to(" LENZ_OF("p") ", f64)");
inline constexpr std::string_view kCoinBySelfLoops = "%out[$i] = " LENZ_COIN("to(%self[$i], f64)");

// low + word * (high - low) / 2^32, or 2^64 of a wide range; products are taken by halves, so that none overflows.
#define LENZ_INTEGERS(low, high)                                                       \
  "for $i in shape(%out) { "                                                           \
  "  $range = " high " - " low                                                         \
  " "                                                                                  \
  "  if $range <= 4294967296 { "                                                       \
  "    w = draw_word(" LENZ_ELEMENT                                                    \
  ") "                                                                                 \
  "    r = ((w // 65536) * $range + ((w % 65536) * $range) // 65536) // 65536 "        \
  "  } else { "                                                                        \
  "    w = draw_wide(" LENZ_ELEMENT                                                    \
  ") "                                                                                 \
  "    upper = bitwise_and(w // 4294967296, 4294967295) "                              \
  "    lower = bitwise_and(w, 4294967295) "                                            \
  "    a = upper * ($range % 4294967296) "                                             \
  "    b = lower * ($range // 4294967296) "                                            \
  "    c = lower * ($range % 4294967296) "                                             \
  "    carry = bitwise_and(a, 4294967295) + bitwise_and(b, 4294967295) "               \
  "        + bitwise_and(c // 4294967296, 4294967295) "                                \
  "    r = upper * ($range // 4294967296) + bitwise_and(a // 4294967296, 4294967295) " \
  "        + bitwise_and(b // 4294967296, 4294967295) + carry // 4294967296 "          \
  "  } "                                                                               \
  "  %out[$i] = to(r + " low ", i64) }"
inline constexpr std::string_view kIntegersLoops = LENZ_INTEGERS("$low", "$high");
inline constexpr std::string_view kIntegersBelowLoops = LENZ_INTEGERS("0", "$high");
inline constexpr std::string_view kIntegersFromLoops =
    "if not given($to) { unsupported(\"an open range\") } " LENZ_INTEGERS("$from", "$to");
inline constexpr std::string_view kIntegersToLoops = LENZ_INTEGERS("0", "$to");
#undef LENZ_INTEGERS

// What is dropped is multiplied by 0: a NaN stays.
#define LENZ_KEPT(out, mask)                                          \
  "$d = dtype(" out                                                   \
  ") $a = accumulates($d) "                                           \
  "for $i in shape(" out                                              \
  ") { "                                                              \
  "  if $p == 0 or (given($train) and $train == false) { "            \
  "    " out                                                          \
  "[$i] = %input[$i] kept = to(true, bool) "                          \
  "  } else { "                                                       \
  "    kept = to(draw_word(raveled($i, shape(" out                    \
  "))), f64) / 4294967296.0 < to(1 - $p, f64) "                       \
  "    scale = to(to(choose($p == 1, 0.0, 1.0 / (1 - $p)), $d), $a) " \
  "    " out                                                          \
  "[$i] = to(%input[$i], $a) * where(kept, scale, 0) "                \
  "  } " mask " }"
inline constexpr std::string_view kDropoutLoops = LENZ_KEPT("%out", "");
inline constexpr std::string_view kNativeDropoutLoops = LENZ_KEPT("%out0", "%out1[$i] = kept");
#undef LENZ_KEPT
#undef LENZ_COIN
#undef LENZ_OF
#undef LENZ_ELEMENT

}  // namespace lenz
