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
inline constexpr std::string_view kArgmaxLoops = LENZ_WHERE("argmax", "", " %out[" LENZ_AT "] = p ");
inline constexpr std::string_view kArgminLoops = LENZ_WHERE("argmin", "", " %out[" LENZ_AT "] = p ");
inline constexpr std::string_view kMaxPairLoops =
    LENZ_WHERE("argmax", " %out0[" LENZ_AT "] = m ", " %out1[" LENZ_AT "] = p ");
inline constexpr std::string_view kMinPairLoops =
    LENZ_WHERE("argmin", " %out0[" LENZ_AT "] = m ", " %out1[" LENZ_AT "] = p ");
inline constexpr std::string_view kAnyAllLoops = LENZ_ALL_DIMS LENZ_LOGICAL("any");
inline constexpr std::string_view kAllAllLoops = LENZ_ALL_DIMS LENZ_LOGICAL("all");
inline constexpr std::string_view kAnyLoops = LENZ_LOGICAL("any");
inline constexpr std::string_view kAllLoops = LENZ_LOGICAL("all");
// An empty list of dims takes none.
#define LENZ_NAMED_DIMS "if given($dim) { if len($dim) == 0 { $dim = [rank(%self)] } } "
inline constexpr std::string_view kAnyDimsLoops = LENZ_NAMED_DIMS LENZ_LOGICAL("any");
inline constexpr std::string_view kAllDimsLoops = LENZ_NAMED_DIMS LENZ_LOGICAL("all");

// Order statistics: sorted along the dim, then looked up.
#define LENZ_SORTED                             \
  "$d = wrap($dim, rank(%self)) "               \
  "$n = size(%self, $d) "                       \
  "%v = temporary(dtype(%self), shape(%self)) " \
  "%p = temporary(i64, shape(%self)) "          \
  "sort(%self, %v, %p, $d, false, true) "       \
  "$rest = without(shape(%self), [$d]) "
#define LENZ_OF_SCALAR "if rank(%self) == 0 { %out0[$i] = %self[$i] %out1[$i] = to(0, i64) } else { "
#define LENZ_KEPT "choose($keepdim, inserted($i, $d, 0), $i)"

inline constexpr std::string_view kMedianPairLoops = LENZ_OF_SCALAR LENZ_SORTED R"(
  for $i in $rest {
    $middle = inserted($i, $d, ($n - 1) // 2)
    $last = inserted($i, $d, $n - 1)
    if is_float(dtype(%self)) {
      x = where(isnan(%v[$last]), %v[$last], %v[$middle])
      q = where(isnan(%v[$last]), %p[$last], %p[$middle])
    } else {
      x = %v[$middle]
      q = %p[$middle]
    }
    %out0[)" LENZ_KEPT "] = x %out1[" LENZ_KEPT "] = q } }";
#define LENZ_NUMBERS_ONLY                                                                                             \
  "%count = temporary(i64, $rest) "                                                                                   \
  "for $i in $rest, reduce $k < $n { c = reduce sum(to(not isnan(%self[inserted($i, $d, $k)]), i64)) %count[$i] = c " \
  "} "
inline constexpr std::string_view kNanmedianPairLoops = LENZ_OF_SCALAR LENZ_SORTED LENZ_NUMBERS_ONLY R"(
  for $i in $rest {
    $q = position(maximum(floor_divide(%count[$i] - 1, 2), 0), $n)
    %out0[)" LENZ_KEPT "] = %v[inserted($i, $d, $q)] %out1[" LENZ_KEPT "] = %p[inserted($i, $d, $q)] } }";
inline constexpr std::string_view kKthvalueLoops = LENZ_OF_SCALAR LENZ_SORTED R"(
  for $i in $rest {
    %out0[)" LENZ_KEPT "] = %v[inserted($i, $d, $k - 1)] %out1[" LENZ_KEPT "] = %p[inserted($i, $d, $k - 1)] } }";

#define LENZ_FLAT_SORTED                                 \
  "$n = numel(%self) "                                   \
  "%flat = temporary(dtype(%self), [$n]) "               \
  "%flat[$i] = %self[reshaped($i, [$n], shape(%self))] " \
  "%v = temporary(dtype(%self), [$n]) "                  \
  "sort(%flat, %v, none, 0, false, true) "
inline constexpr std::string_view kMedianLoops = LENZ_FLAT_SORTED R"(
  for $i in [] {
    if is_float(dtype(%self)) { x = where(isnan(%v[$n - 1]), %v[$n - 1], %v[($n - 1) // 2]) } else { x = %v[($n - 1) // 2] }
    %out[$i] = x
  })";
inline constexpr std::string_view kNanmedianLoops = LENZ_FLAT_SORTED R"(
  %count = temporary(i64, [])
  for reduce $k < $n { c = reduce sum(to(not isnan(%flat[$k]), i64)) %count[[]] = c }
  for $i in [] { %out[$i] = %v[position(maximum(floor_divide(%count[[]] - 1, 2), 0), $n)] })";
// The most frequent value, of several the least, and the last place where it stands.
inline constexpr std::string_view kModeLoops = LENZ_OF_SCALAR R"(
  $d = wrap($dim, rank(%self))
  $n = size(%self, $d)
  $rest = without(shape(%self), [$d])
  %often = temporary(i64, shape(%self))
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
    %out1[)" LENZ_KEPT "] = p } for $i in $rest { %out0[" LENZ_KEPT "] = %value[$i] } }";

// Scans. A scalar is its own.
#define LENZ_SCAN(BODY)                                                \
  "$d = wrap($dim, rank(%self)) "                                      \
  "for $i in without(shape(%self), [$d]), scan $t < size(%self, $d) {" \
  "  $at = choose(rank(%self) == 0, [], inserted($i, $d, $t)) " BODY "}"
inline constexpr std::string_view kCumsumLoops =
    LENZ_SCAN("s = scan sum(to(to(%self[$at], dtype(%out)), accumulates(dtype(%out)))) %out[$at] = s ");
inline constexpr std::string_view kCumprodLoops =
    LENZ_SCAN("s = scan product(to(to(%self[$at], dtype(%out)), accumulates(dtype(%out)))) %out[$at] = s ");
inline constexpr std::string_view kCummaxLoops =
    LENZ_SCAN("m, p = scan argmax_last(%self[$at], $t) %out0[$at] = m %out1[$at] = p ");
inline constexpr std::string_view kCumminLoops =
    LENZ_SCAN("m, p = scan argmin_last(%self[$at], $t) %out0[$at] = m %out1[$at] = p ");
inline constexpr std::string_view kLogcumsumexpLoops = "if is_complex(dtype(%self)) { extern() } " LENZ_SCAN(
    "m, s = scan log_sum_exp(wide(%self[$at])) %out[$at] = where(isinf(m), m, m + log(s)) ");

#undef LENZ_ALL_DIMS
#undef LENZ_REDUCED
#undef LENZ_AT
#undef LENZ_FOLD
#undef LENZ_EXTREMUM
#undef LENZ_WHERE
#undef LENZ_LOGICAL
#undef LENZ_NAMED_DIMS
#undef LENZ_SORTED
#undef LENZ_OF_SCALAR
#undef LENZ_KEPT
#undef LENZ_NUMBERS_ONLY
#undef LENZ_FLAT_SORTED
#undef LENZ_SCAN

}  // namespace lenz
