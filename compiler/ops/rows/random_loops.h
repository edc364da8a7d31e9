// How the loops of random ops sample from Lenz's own stream, in the notation of compiler/lower/NOTATION.md: as
// compiler/ops/draws.h says, computed in f64 and rounded once.
#pragma once

#include <string_view>

namespace lenz {

// `value` of the number $e of each element. The parts of complex numbers count as elements of their own.
#define LENZ_DRAWN(value)                                \
  "$d = dtype(%out) "                                    \
  "for $i in shape(%out) { "                             \
  "  if is_complex($d) { "                               \
  "    $n = 2 * numel(%out) "                            \
  "    $e = 2 * raveled($i, shape(%out)) x = " value     \
  " "                                                    \
  "    $e = 2 * raveled($i, shape(%out)) + 1 y = " value \
  " "                                                    \
  "    %out[$i] = complex(x, y) "                        \
  "  } else { "                                          \
  "    $n = numel(%out) $e = raveled($i, shape(%out)) "  \
  "    %out[$i] = " value                                \
  " "                                                    \
  "  } }"
// Fractions for integers have as many bits as f32.
#define LENZ_U "draw_uniform(choose(is_integral($d), f32, $d), $e, $n)"
// A deviation of both parts together, as a standard one of each.
#define LENZ_Z "draw_normal($d, $e, $n)"
#define LENZ_NORMAL(mean, std) \
  "(to(" mean ", f64) + to(" std ", f64) * choose(is_complex($d), 0.70710678118654757, 1.0) * " LENZ_Z ")"
#define LENZ_OF(tensor) "%" tensor "[broadcast_at($i, shape(%" tensor "))]"
inline constexpr std::string_view kRandLoops = LENZ_DRAWN(LENZ_U);
inline constexpr std::string_view kUniformLoops =
    LENZ_DRAWN("to($from, f64) + " LENZ_U " * (to($to, f64) - to($from, f64))");
inline constexpr std::string_view kNormalLoops = LENZ_DRAWN(LENZ_NORMAL("$mean", "$std"));
inline constexpr std::string_view kNormalTFLoops = LENZ_DRAWN(LENZ_NORMAL(LENZ_OF("mean"), "$std"));
inline constexpr std::string_view kNormalFTLoops = LENZ_DRAWN(LENZ_NORMAL("$mean", LENZ_OF("std")));
inline constexpr std::string_view kNormalTTLoops = LENZ_DRAWN(LENZ_NORMAL(LENZ_OF("mean"), LENZ_OF("std")));
inline constexpr std::string_view kLogNormalLoops = LENZ_DRAWN("exp" LENZ_NORMAL("$mean", "$std"));
inline constexpr std::string_view kExponentialLoops = LENZ_DRAWN("-log1p(-" LENZ_U ") / to($lambd, f64)");
inline constexpr std::string_view kCauchyLoops =
    LENZ_DRAWN("to($median, f64) + to($sigma, f64) * tan((" LENZ_U " - 0.5) * 3.1415926535897931)");
inline constexpr std::string_view kGeometricLoops =
    LENZ_DRAWN("maximum(ceil(log1p(-" LENZ_U ") / log1p(to(-$p, f64))), 1)");
#undef LENZ_NORMAL
#undef LENZ_Z
#undef LENZ_U
#undef LENZ_DRAWN

// Whether coin number $e of $n shows its face.
#define LENZ_COIN(probability) "to(draw_word($e, $n), f64) / 4294967296.0 < " probability
#define LENZ_TOSSED(probability)                      \
  "for $i in shape(%out) { "                          \
  "  $e = raveled($i, shape(%out)) $n = numel(%out) " \
  "  %out[$i] = " LENZ_COIN("to(" probability ", f64)") " }"
inline constexpr std::string_view kCoinLoops = LENZ_TOSSED("$p");
// Of the coins that are thrown: who throws none asks nothing of probabilities.
#define LENZ_CHECKED_TOSSES(probability)                                                \
  "%fine = temporary(bool, []) "                                                        \
  "for reduce $i in shape(%out) { f = reduce all(" probability " >= 0 and " probability \
  " <= 1) %fine[[]] = f } "                                                             \
  "check(%fine, \"a probability out of [0, 1]\") " LENZ_TOSSED(probability)
inline constexpr std::string_view kCoinByTensorLoops = LENZ_CHECKED_TOSSES(LENZ_OF("p"));
inline constexpr std::string_view kCoinBySelfLoops = LENZ_CHECKED_TOSSES("%self[$i]");
#undef LENZ_CHECKED_TOSSES
#undef LENZ_TOSSED
#undef LENZ_OF

// low + word * range / 2^32, or 2^64 of a wide range; products are taken by halves, so that none overflows.
#define LENZ_LOWER(x) "bitwise_and(" x ", 4294967295)"
#define LENZ_UPPER(x) "bitwise_and(bitwise_right_shift(" x ", 32), 4294967295)"
#define LENZ_INTEGERS(low, high, wide) \
  "for $i in shape(%out) { "                                                                                \
  "  $e = raveled($i, shape(%out)) "                                                                        \
  "  range = to(" high ", i64) - to(" low ", i64) "                                                         \
  "  if " wide " { "                                                                                        \
  "    w = draw_wide($e) "                                                                                  \
  "    upper = " LENZ_UPPER("w") " * " LENZ_UPPER("range") " "                                              \
  "    a = " LENZ_UPPER("w") " * " LENZ_LOWER("range") " "                                                  \
  "    b = " LENZ_LOWER("w") " * " LENZ_UPPER("range") " "                                                  \
  "    c = " LENZ_LOWER("w") " * " LENZ_LOWER("range") " "                                                  \
  "    carry = " LENZ_LOWER("a") " + " LENZ_LOWER("b") " + " LENZ_UPPER("c") " "                            \
  "    r = upper + " LENZ_UPPER("a") " + " LENZ_UPPER("b") " + " LENZ_UPPER("carry") " "                    \
  "  } else { "                                                                                             \
  "    w = draw_word($e) "                                                                                  \
  "    r = bitwise_right_shift(bitwise_right_shift(w, 16) * range "                                         \
  "        + bitwise_right_shift(bitwise_and(w, 65535) * range, 16), 16) "                                  \
  "  } "                                                                                                    \
  "  %out[$i] = r + to(" low ", i64) }"
#define LENZ_BETWEEN(low, high) LENZ_INTEGERS(low, high, high " - " low " > 4294967296")
// Up to the dtype's own last integer.
#define LENZ_OPEN(low) LENZ_INTEGERS(low, "integers_end(dtype(%out))", "dtype(%out) == i64 or dtype(%out) == f64")
inline constexpr std::string_view kIntegersLoops = LENZ_BETWEEN("$low", "$high");
inline constexpr std::string_view kIntegersBelowLoops = LENZ_BETWEEN("0", "$high");
inline constexpr std::string_view kIntegersFromLoops =
    "if given($to) { " LENZ_BETWEEN("$from", "$to") " } else { " LENZ_OPEN("$from") " }";
inline constexpr std::string_view kIntegersToLoops = LENZ_BETWEEN("0", "$to");
inline constexpr std::string_view kIntegersOfDtypeLoops = LENZ_OPEN("0");
#undef LENZ_OPEN
#undef LENZ_BETWEEN
#undef LENZ_INTEGERS
#undef LENZ_UPPER
#undef LENZ_LOWER

// By unsigned keys: the sign turned over they order as signed ones.
inline constexpr std::string_view kRandpermLoops = R"(
  %keys = temporary(i64, shape(%out))
  %sorted = temporary(i64, shape(%out))
  if dtype(%out) == i64 { %order = %out } else { %order = temporary(i64, shape(%out)) }
  %keys[$i] = bitwise_xor(draw_wide(at($i, 0)), -9223372036854775807 - 1)
  sort(%keys, %sorted, %order, 0, false, true)
  if dtype(%out) != i64 { %out[$i] = %order[$i] })";

// What is dropped is multiplied by 0: a NaN stays.
inline constexpr std::string_view kNativeDropoutLoops =
    "for $i in shape(%out0) { "
    "  $e = raveled($i, shape(%out0)) $n = numel(%out0) "
    "  if $p == 0 or (given($train) and $train == false) { "
    "    %out0[$i] = %input[$i] kept = to(true, bool) "
    "  } else { "
    "    $a = accumulates(dtype(%out0)) "  // where the product of two of the dtype is exact, or its own
    "    kept = coin($e, 1 - $p, $n) "
    "    if $p == 1 { factor = to(0.0, $a) %out0[$i] = to(%input[$i], $a) * factor } else { "
    "      factor = to(to(1.0 / (1 - $p), dtype(%out0)), $a) "
    "      %out0[$i] = to(%input[$i], $a) * where(kept, factor, 0) } "
    "  } "
    "  %out1[$i] = kept }";
#undef LENZ_COIN

}  // namespace lenz
