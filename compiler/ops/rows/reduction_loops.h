// What reductions, scans and order statistics compute, in the notation of compiler/lower/NOTATION.md.
#pragma once

#include <string_view>

namespace lenz {

// The dims taken together, and where the result of the others stands. Overloads without dims take all.
#define LENZ_ALL_DIMS "$dim = none $keepdim = false "
#define LENZ_REDUCED                        \
  "$dims = reduced_dims(%self, $dim) "      \
  "$rest = without(shape(%self), $dims) "   \
  "$taken = selected(shape(%self), $dims) " \
  "$ones = list(len($dims), 0) "
#define LENZ_AT "choose($keepdim, merged($dims, $ones, $i), $i)"

// A sum or product, taken in a dtype wide enough, of what was converted to the result's first.
#define LENZ_FOLD(COMBINE)                              \
  LENZ_REDUCED                                          \
  "for $i in $rest, reduce $r in $taken {"              \
  "  x = to(%self[merged($dims, $r, $i)], dtype(%out))" \
  "  s = reduce " COMBINE                               \
  "(to(x, accumulates(dtype(%out))))"                   \
  "  %out[" LENZ_AT "] = s }"
#define LENZ_EXTREMUM(COMBINE)             \
  LENZ_REDUCED                             \
  "for $i in $rest, reduce $r in $taken {" \
  "  m = reduce " COMBINE                  \
  "(%self[merged($dims, $r, $i)])"         \
  "  %out[" LENZ_AT "] = m }"
#define LENZ_WHERE(COMBINE, VALUES, INDICES) \
  LENZ_REDUCED                               \
  "for $i in $rest, reduce $r in $taken {"   \
  "  m, p = reduce " COMBINE "(%self[merged($dims, $r, $i)], raveled($r, $taken))" VALUES INDICES "}"
#define LENZ_LOGICAL(COMBINE)                 \
  LENZ_REDUCED                                \
  "for $i in $rest, reduce $r in $taken {"    \
  "  m = reduce " COMBINE                     \
  "(wide(%self[merged($dims, $r, $i)]) != 0)" \
  "  %out[" LENZ_AT "] = m }"

inline constexpr std::string_view kSumAllLoops = LENZ_ALL_DIMS LENZ_FOLD("sum");
inline constexpr std::string_view kSumLoops = LENZ_FOLD("sum");
inline constexpr std::string_view kProdAllLoops = LENZ_ALL_DIMS LENZ_FOLD("product");
inline constexpr std::string_view kProdLoops = LENZ_FOLD("product");
inline constexpr std::string_view kMaxAllLoops = LENZ_ALL_DIMS LENZ_EXTREMUM("maximum");
inline constexpr std::string_view kMinAllLoops = LENZ_ALL_DIMS LENZ_EXTREMUM("minimum");
inline constexpr std::string_view kMaxLoops = LENZ_EXTREMUM("maximum");
inline constexpr std::string_view kMinLoops = LENZ_EXTREMUM("minimum");
inline constexpr std::string_view kMaxPairLoops =
    LENZ_WHERE("argmax", " %out0[" LENZ_AT "] = m ", " %out1[" LENZ_AT "] = p ");
inline constexpr std::string_view kMinPairLoops =
    LENZ_WHERE("argmin", " %out0[" LENZ_AT "] = m ", " %out1[" LENZ_AT "] = p ");
inline constexpr std::string_view kAnyAllLoops = LENZ_ALL_DIMS LENZ_LOGICAL("any");
inline constexpr std::string_view kAnyLoops = LENZ_LOGICAL("any");
// An empty list of dims takes none.
#define LENZ_NAMED_DIMS "if given($dim) { if len($dim) == 0 { $dim = [rank(%self)] } } "
inline constexpr std::string_view kAnyDimsLoops = LENZ_NAMED_DIMS LENZ_LOGICAL("any");

#define LENZ_OF_SCALAR "if rank(%self) == 0 { %out0[$i] = %self[$i] %out1[$i] = to(0, i64) } else { "
#define LENZ_KEPT "choose($keepdim, inserted($i, $d, 0), $i)"

// The most frequent value, of several the least, and the last place where it stands. NaN differs from itself. Of few
// places each is compared with each; in order it is the end of the first run that none is longer than.
inline constexpr std::string_view kModeLoops = LENZ_OF_SCALAR R"(
  $d = wrap($dim, rank(%self))
  $n = size(%self, $d)
  $rest = without(shape(%self), [$d])
  %often = temporary(i64, shape(%self))
  %end = temporary(i64, $rest)
  if is_constant($n) and $n <= 64 {
    for $i in shape(%self), reduce $k < $n {
      c = reduce sum(to(%self[$i] == %self[replaced($i, $d, $k)], i64))
      %often[$i] = c
    }
    %most = temporary(i64, $rest)
    for $i in $rest, reduce $k < $n { m = reduce maximum(%often[inserted($i, $d, $k)]) %most[$i] = m }
    %value = temporary(dtype(%self), $rest)
    for $i in $rest, reduce $k < $n {
      best = %often[inserted($i, $d, $k)] == %most[$i]
      m = reduce minimum(where(best, %self[inserted($i, $d, $k)], greatest(dtype(%self))))
      %value[$i] = m
    }
    for $i in $rest, reduce $k < $n {
      m, p = reduce argmax_last(to(%self[inserted($i, $d, $k)] == %value[$i], u8), $k)
      %out1[)" LENZ_KEPT "] = p } for $i in $rest { %out0[" LENZ_KEPT R"(] = %value[$i] }
  } else {
    %v = temporary(dtype(%self), shape(%self))
    %p = temporary(i64, shape(%self))
    sort(%self, %v, %p, $d, false, true)
    for $i in $rest, scan $t < $n {
      first = masked($t > 0, %v[inserted($i, $d, $t)] != %v[inserted($i, $d, max($t - 1, 0))], true)
      start = scan maximum(where(first, to($t, i64), to(0, i64)))
      %often[inserted($i, $d, $t)] = $t - start
    }
    for $i in $rest, reduce $t < $n { m, p = reduce argmax(%often[inserted($i, $d, $t)], $t) %end[$i] = p }
    for $i in $rest {
      $e = position(%end[$i], $n)
      %out0[)" LENZ_KEPT "] = %v[inserted($i, $d, $e)] %out1[" LENZ_KEPT "] = %p[inserted($i, $d, $e)] } } }";

// Scans. A scalar is its own.
#define LENZ_SCAN(BODY)                                                \
  "$d = wrap($dim, rank(%self)) "                                      \
  "for $i in without(shape(%self), [$d]), scan $t < size(%self, $d) {" \
  "  $at = choose(rank(%self) == 0, [], inserted($i, $d, $t)) " BODY "}"
// Term by term in f32 the last of a million is off by a hundred thousand times its last place: eager too adds in
// doubles.
#define LENZ_KEPT_WIDE \
  "$a = choose(dtype(%out) == f32, f64, choose(dtype(%out) == c64, c128, accumulates(dtype(%out)))) "
inline constexpr std::string_view kCumsumLoops =
    LENZ_KEPT_WIDE LENZ_SCAN("s = scan sum(to(to(%self[$at], dtype(%out)), $a)) %out[$at] = s ");
inline constexpr std::string_view kCumprodLoops =
    LENZ_KEPT_WIDE LENZ_SCAN("s = scan product(to(to(%self[$at], dtype(%out)), $a)) %out[$at] = s ");
inline constexpr std::string_view kCummaxLoops =
    LENZ_SCAN("m, p = scan argmax_last(%self[$at], $t) %out0[$at] = m %out1[$at] = p ");
inline constexpr std::string_view kCumminLoops =
    LENZ_SCAN("m, p = scan argmin_last(%self[$at], $t) %out0[$at] = m %out1[$at] = p ");
inline constexpr std::string_view kLogcumsumexpLoops = "if is_complex(dtype(%self)) { extern() } " LENZ_SCAN(
    "m, s = scan log_sum_exp(wide(%self[$at])) %out[$at] = where(isinf(m), m, m + log(s)) ");

#undef LENZ_KEPT_WIDE
#undef LENZ_ALL_DIMS
#undef LENZ_REDUCED
#undef LENZ_AT
#undef LENZ_FOLD
#undef LENZ_EXTREMUM
#undef LENZ_WHERE
#undef LENZ_LOGICAL
#undef LENZ_NAMED_DIMS
#undef LENZ_OF_SCALAR
#undef LENZ_KEPT
#undef LENZ_SCAN

}  // namespace lenz
