// What the loops of constants, ranges and counts compute, in the notation of compiler/lower/NOTATION.md.
#pragma once

#include <string_view>

namespace lenz {

// What is left unwritten may be anything.
inline constexpr std::string_view kEmptyStridedLoops = "%out[$i] put= 0";  // elements may share memory
inline constexpr std::string_view kFullLoops = "%out[$i] = $fill_value";

// Whole numbers are counted in integers, others in f64.
#define LENZ_ARANGE(start, step)                                \
  "if is_integral(dtype(%out)) { $a = i64 } else { $a = f64 } " \
  "%out[$i] = to(" start ", $a) + to(" step ", $a) * to(at($i, 0), $a)"
inline constexpr std::string_view kArangeLoops = LENZ_ARANGE("0", "1");
inline constexpr std::string_view kArangeFromLoops = LENZ_ARANGE("$start", "1");
inline constexpr std::string_view kArangeByLoops = LENZ_ARANGE("$start", "$step");
#undef LENZ_ARANGE

// So many steps, of complex numbers by their parts.
#define LENZ_MANY(k) "choose(is_complex($t), complex(real(step) * " k ", imag(step) * " k "), step * " k ")"
// The first half counts from the start, the other one from the end; both as numbers of the dtype. A single step is the
// start itself. Whole numbers are cut off what eager rounds: once between them, where 1 - 2/3 * 3 is below -1 by that,
// and twice for the exponents of powers.
#define LENZ_ONCE(a, b, c) "fma(" a ", " b ", " c ")"
#define LENZ_TWICE(a, b, c) c " + " a " * " b
#define LENZ_SPACED(from, to, value, sum) \
  "$t = choose(is_integral(dtype(%out)), f64, accumulates(dtype(%out))) $r = real_dtype($t) "                         \
  "for $i in shape(%out) { "                                                                      \
  "  if $steps == 1 { $t = choose(is_complex(dtype(%out)), c128, f64) v = to(" from               \
  ", $t) } "                                                                                      \
  "  else { "                                                                                     \
  "    x = to(to(" from                                                                           \
  ", dtype(%out)), $t) "                                                                          \
  "    y = to(to(" to                                                                             \
  ", dtype(%out)), $t) "                                                                          \
  "    $k = at($i, 0) "                                                                           \
  "    step = y - x n = to(max($steps - 1, 1), $r) step = choose(is_complex($t), complex(real(step) / n, imag(step) / n), step / n) "                                              \
  "    if is_integral(dtype(%out)) { "                                                            \
  "      v = where($k < ($steps // 2), " sum("step", "to($k, $r)", "x") ", " sum("(0 - step)", "to($steps - 1 - $k, $r)", "y") ") " \
  "    } else { "                                                                                 \
  "      v = where($k < ($steps // 2), x + " LENZ_MANY("to($k, $r)") ", y - " LENZ_MANY("to($steps - 1 - $k, $r)") ") " \
  "    } "                                                                                        \
  "  } "                                                                                          \
  value "  %out[$i] = v }"
// Of one step the base stays real, which tells infinite exponents apart that a complex one does not.
#define LENZ_REAL_BASE "pow(to($base, f64), real(v))"
#define LENZ_ANGLE "(imag(v) * log(to($base, f64)))"
// What integers of fewer than 64 bits can't hold goes by way of 32 bits: the least of these where they can't hold it.
#define LENZ_POWER                                                                                          \
  "  v = choose($steps == 1 and is_complex($t) and $base > 0, complex(" LENZ_REAL_BASE " * cos(" LENZ_ANGLE \
  "), " LENZ_REAL_BASE " * sin(" LENZ_ANGLE                                                                 \
  ")), pow(to($base, $t), v)) "                                                                             \
  "  if is_integral(dtype(%out)) and dtype(%out) != i64 and $steps != 1 { "                                 \
  "    v = where(abs(v) < 2147483648, v, -2147483648) "                                                     \
  "  } "
inline constexpr std::string_view kLinspaceLoops = LENZ_SPACED("$start", "$end", "", LENZ_ONCE);
inline constexpr std::string_view kLinspaceTTLoops = LENZ_SPACED("%start[]", "%end[]", "", LENZ_ONCE);
inline constexpr std::string_view kLinspaceTSLoops = LENZ_SPACED("%start[]", "$end", "", LENZ_ONCE);
inline constexpr std::string_view kLinspaceSTLoops = LENZ_SPACED("$start", "%end[]", "", LENZ_ONCE);
// Of one step eager fills with a power, and refuses one that the dtype can't hold; of constants the rule does.
#define LENZ_POWER_FITS                                                                                         \
  "$d = real_dtype(dtype(%out)) "                                                                               \
  "if $steps == 1 and not (is_constant($start) and is_constant($base)) and ($d == f32 or is_integral($d)) { "   \
  "  $least = choose($d == f32, lowest(f32), least($d)) $most = choose($d == f32, highest(f32), greatest($d)) " \
  "  %fits = temporary(bool, []) "                                                                              \
  "  for $i in [] { "                                                                                           \
  "    p = pow(to($base, f64), to($start, f64)) "                                                               \
  "    within = p >= to($least, f64) and p <= to($most, f64) "                                                  \
  "    %fits[$i] = choose($d == f32, within or not isfinite(p), within) "                                       \
  "  } "                                                                                                        \
  "  check(%fits, \"`start`: a number out of range\") "                                                         \
  "} "
inline constexpr std::string_view kLogspaceLoops =
    LENZ_POWER_FITS LENZ_SPACED("$start", "$end", LENZ_POWER, LENZ_TWICE);
#undef LENZ_POWER_FITS
inline constexpr std::string_view kLogspaceTTLoops = LENZ_SPACED("%start[]", "%end[]", LENZ_POWER, LENZ_TWICE);
inline constexpr std::string_view kLogspaceTSLoops = LENZ_SPACED("%start[]", "$end", LENZ_POWER, LENZ_TWICE);
inline constexpr std::string_view kLogspaceSTLoops = LENZ_SPACED("$start", "%end[]", LENZ_POWER, LENZ_TWICE);
#undef LENZ_POWER
#undef LENZ_ANGLE
#undef LENZ_REAL_BASE
#undef LENZ_SPACED
#undef LENZ_TWICE
#undef LENZ_ONCE
#undef LENZ_MANY

// A class number beyond the last one raises.
inline constexpr std::string_view kOneHotLoops = R"(
  if $num_classes == -1 {
    %count = temporary(i64, [])
    for reduce $i in shape(%self) {
      most = reduce maximum(%self[$i])
      %count[] = most + 1
    }
    bind(%count, size(%out, -1))
  }
  for $i in shape(%self), $c < size(%out, -1) {
    $k = position(%self[$i], size(%out, -1))
    %out[$i, $c] = to($k == $c, i64)
  })";

inline constexpr std::string_view kHistcLoops = R"(
  $a = accumulates(dtype(%out))
  $given = $min != $max
  %range = temporary($a, [2])
  if $given {
    %range[$i] = where(at($i, 0) == 0, to($min, $a), to($max, $a))
  } else {
    %finite = temporary(bool, [])
    for reduce $i in shape(%self) {
      x = to(%self[$i], $a)
      low = reduce minimum(x)
      high = reduce maximum(x)
      if numel(%self) == 0 { low = where(low == high, low, to($min, $a)) high = low }
      told = isfinite(low) and isfinite(high)
      if dtype(%self) == bf16 { told = told and (low != high or to(low, f64) - 1 != to(low, f64) + 1) }
      %finite[] = told
      %range[0] = where(low == high, low - 1, low)
      %range[1] = where(low == high, high + 1, high)
    }
    check(%finite, "the range is not finite")
  }
  if $a == dtype(%out) { %sum = %out } else { %sum = temporary($a, shape(%out)) }
  %sum[$i] = 0
  for $i in shape(%self) {
    x = to(%self[$i], $a)
    low = %range[0]
    high = %range[1]
    when x >= low and x <= high {
      bin = to((x - low) / (high - low) * to($bins, $a), i64)
      %sum[position(minimum(bin, $bins - 1), $bins)] += 1
    }
  }
  if $a != dtype(%out) { %out[$i] = %sum[$i] })";

// As the rule has it: a number that only the run knows is waited for though facts may say which one it is.
inline constexpr std::string_view kBincountLoops = R"(
  $empty = false
  $waits = run_tells([numel(%self)]) and not given($weights)
  if not $waits and not is_open(numel(%self)) { $empty = numel(%self) == 0 }
  if $empty { %out[$i] = 0 } else {
    %count = temporary(i64, [])
    %fine = temporary(bool, [])
    for reduce $i < size(%self, 0) {
      most = reduce maximum(to(%self[$i], i64))
      least = reduce minimum(to(%self[$i], i64))
      %count[] = maximum(most, $minlength - 1) + 1
      %fine[] = least >= 0
    }
    check(%fine, "counts no negative values")
    bind(%count, size(%out, 0))
    %out[$i] = 0
    for $i < size(%self, 0) {
      if given($weights) { w = to(%weights[$i], dtype(%out)) } else { w = to(1, i64) }
      %out[position(to(%self[$i], i64), size(%out, 0))] += w
    }
  })";

}  // namespace lenz
