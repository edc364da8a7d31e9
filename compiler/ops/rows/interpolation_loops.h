// What the loops of interpolation compute, in the notation of compiler/lower/NOTATION.md. Places of the input are
// computed in floats, in the dtype that eager computes them in.
#pragma once

#include <string_view>

namespace lenz {

// Dim $d of the input $size long, of the result $osize, $s its factor or none: input's elements per element, `scale`.
#define LENZ_SIZES(from) \
  "$size = size(" from ", $d + 2) $osize = size(%out, $d + 2) $s = at($scales, $d) $o = at($i, $d + 2) "
#define LENZ_RATIO                                                             \
  "if given($s) and not is_constant($s) { "                                    \
  "  scale = where($s > 0, to(1.0 / $s, $t), to($size, $t) / to($osize, $t)) " \
  "} else if given($s) and $s > 0 { scale = to(1.0 / $s, $t) } "               \
  "else { scale = to($size, $t) / to($osize, $t) } "
#define LENZ_SCALE                                             \
  "if $align_corners { "                                       \
  "  if $osize == 1 { scale = to(0.0, $t) } "                  \
  "  else { scale = to($size - 1, $t) / to($osize - 1, $t) } " \
  "} else { " LENZ_RATIO "} "
// The place that element $o looks at, `r`, and the element at or before it, `low`; what is between, `l`.
#define LENZ_SOURCE "r = scale * (to($o, $t) + 0.5) - 0.5 "
#define LENZ_ALIGNED "if $align_corners { r = scale * to($o, $t) } else { " LENZ_SOURCE "} "
#define LENZ_BETWEEN                             \
  "low = minimum(to(floor(r), i64), $size - 1) " \
  "l = minimum(maximum(r - to(low, $t), 0), 1) "

#define LENZ_NEAREST(dtype, scales, count, place)                                        \
  "$t = " dtype " $scales = " scales                                                     \
  " for $i in shape(%out) { "                                                            \
  "  $at = first($i, 2) "                                                                \
  "  each $d in range(0, " count ") { " LENZ_SIZES("%self") LENZ_RATIO place             \
      "    $at = concat($at, [position(minimum(to(floor(r), i64), $size - 1), $size)]) " \
      "  } "                                                                             \
      "  %out[$i] = %self[$at] }"
#define LENZ_OWN "choose(dtype(%self) == f64, f64, f32)"
// In 2-D a factor counts for nothing where the size stays, or doubles.
#define LENZ_DOUBLED                                     \
  "scale = where(to($osize, i64) == to($size, i64), 1, " \
  "where(to($osize, i64) == to(2 * $size, i64), 0.5, scale)) "
#define LENZ_FLOOR "r = scale * to($o, $t) "
#define LENZ_ROUND LENZ_SOURCE "r = maximum(r, 0) + 0.5 "
#define LENZ_MIDDLE "r = (to($o, $t) + 0.5) * scale "
inline constexpr std::string_view kNearest2dLoops =
    LENZ_NEAREST("f32", "[$scales_h, $scales_w]", "2", LENZ_DOUBLED LENZ_FLOOR);
inline constexpr std::string_view kNearest3dLoops =
    LENZ_NEAREST(LENZ_OWN, "[$scales_d, $scales_h, $scales_w]", "3", LENZ_FLOOR);
inline constexpr std::string_view kNearestExact2dLoops =
    LENZ_NEAREST("f32", "[$scales_h, $scales_w]", "2", LENZ_MIDDLE);
inline constexpr std::string_view kNearestExact3dLoops =
    LENZ_NEAREST(LENZ_OWN, "[$scales_d, $scales_h, $scales_w]", "3", LENZ_ROUND);
#undef LENZ_MIDDLE
#undef LENZ_ROUND
#undef LENZ_FLOOR
#undef LENZ_DOUBLED
#undef LENZ_OWN
#undef LENZ_NEAREST

// A weighted mean of the corners of the cell that an element looks into. Where the size stays, nothing lies between.
#define LENZ_CELL                                                     \
  LENZ_SIZES("%self")                                                 \
  LENZ_SCALE LENZ_ALIGNED "r = maximum(r, 0) " LENZ_BETWEEN           \
                          "same = to($osize, i64) == to($size, i64) " \
                          "low = where(same, to($o, i64), low) "
// A sum over the corners, whose weights %part, and places, are in tables: where lanes go along channels, all of these
// would be told anew at each pixel. Of few channels a row's pixels are lanes, which have tables of their own.
#define LENZ_BY_TABLES(dims, corners)                                                                              \
  "$most = 1 each $d in range(0, " dims                                                                            \
  ") { $most = max($most, size(%out, $d + 2)) } "                                                                  \
  "%low = temporary(i64, [" dims ", $most]) %high = temporary(i64, [" dims                                         \
  ", $most]) "                                                                                                     \
  "%part = temporary($t, [" dims                                                                                   \
  ", $most]) "                                                                                                     \
  "each $d in range(0, " dims                                                                                      \
  ") { "                                                                                                           \
  "  for $p < size(%out, $d + 2) { $i = [0, 0] each $e in range(0, " dims ") { $i = concat($i, [$p]) } " LENZ_CELL \
  "    %low[$d, $p] = low %high[$d, $p] = where(same, low, minimum(low + 1, $size - 1)) "                          \
  "    %part[$d, $p] = where(same, 0, l) } "                                                                       \
  "} "                                                                                                             \
  "for $i in shape(%out) { "                                                                                       \
  "  sum = to(0.0, $t) "                                                                                           \
  "  each $corner in " corners                                                                                     \
  " { "                                                                                                            \
  "    $at = first($i, 2) "                                                                                        \
  "    w = to(1.0, $t) "                                                                                           \
  "    each $side, $d in $corner { $p = at($i, $d + 2) $size = size(%self, $d + 2) l = %part[$d, $p] "             \
  "      if $side == 0 { w = w * (1 - l) $at = concat($at, [position(%low[$d, $p], $size)]) } "                    \
  "      else { w = w * l $at = concat($at, [position(%high[$d, $p], $size)]) } "                                  \
  "    } "                                                                                                         \
  "    sum = sum + to(%self[$at], $t) * w "                                                                        \
  "  } "                                                                                                           \
  "  %out[$i] = sum } "
#define LENZ_LINEAR(scales, dims, corners) \
  "$t = accumulates(dtype(%self)) $scales = " scales                                           \
  " $last = is_constant(stride(%self, 1)) if $last { $last = stride(%self, 1) == 1 } " \
  "if $last and is_constant(size(%self, 1)) { $last = size(%self, 1) >= 8 } " \
  " if $last { " LENZ_BY_TABLES(dims, corners) "} else { for $i in shape(%out) { "                                                                  \
  "  $near = [] $far = [] "                                                                    \
  "  each $d in range(0, " dims ") { " LENZ_CELL                                               \
  "    $near = concat($near, [position(low, $size)]) "                                         \
  "    $far = concat($far, [position(where(same, low, minimum(low + 1, $size - 1)), $size)]) " \
  "  } "                                                                                       \
  "  sum = to(0.0, $t) "                                                                       \
  "  each $corner in " corners                                                                 \
  " { "                                                                                        \
  "    $at = first($i, 2) "                                                                    \
  "    w = to(1.0, $t) "                                                                       \
  "    each $side, $d in $corner { " LENZ_CELL                                                 \
  "      if $side == 0 { w = w * where(same, 1, 1 - l) $at = concat($at, [at($near, $d)]) } "  \
  "      else { w = w * where(same, 0, l) $at = concat($at, [at($far, $d)]) } "                \
  "    } "                                                                                     \
  "    sum = sum + to(%self[$at], $t) * w "                                                    \
  "  } "                                                                                       \
  "  %out[$i] = sum } }"
#define LENZ_BILINEAR LENZ_LINEAR("[$scales_h, $scales_w]", "2", "[[0, 0], [0, 1], [1, 0], [1, 1]]")
inline constexpr std::string_view kLinear1dLoops = LENZ_LINEAR("[$scales]", "1", "[[0], [1]]");
inline constexpr std::string_view kTrilinear3dLoops =
    LENZ_LINEAR("[$scales_d, $scales_h, $scales_w]", "3",
                "[[0, 0, 0], [0, 0, 1], [0, 1, 0], [0, 1, 1], [1, 0, 0], [1, 0, 1], [1, 1, 0], [1, 1, 1]]");

// Keys's cubic kernel of slope `a` at distance x: up to 1, and from 1 to 2.
#define LENZ_NEAR(x, a) "((((" a " + 2) * " x ") - (" a " + 3)) * " x " * " x " + 1)"
#define LENZ_FAR(x, a) "(((" a " * " x " - 5 * " a ") * " x " + 8 * " a ") * " x " - 4 * " a ")"
// One dim after the other: the one first that makes the values between fewer, which lie as the input does.
#define LENZ_BICUBIC \
  "$t = accumulates(dtype(%self)) $scales = [$scales_h, $scales_w] $dims = [1, 0] "                                  \
  "$high = size(%self, 2) $higher = size(%out, 2) "                                                                  \
  "if given($scales_h) and is_constant($scales_h) { if $scales_h < 1 { $dims = [0, 1] } } "                          \
  "else if not (is_constant($high) and is_constant($higher)) { $dims = [0, 1] } "                                    \
  "else if $high > $higher { $dims = [0, 1] } "                                                                      \
  "$last = [0, 1, 2, 3] "                                                                                            \
  "if is_constant(stride(%self, 1)) { if stride(%self, 1) == 1 { $last = [0, 2, 3, 1] } } "                          \
  "$plain = [0, 1, 2, 3] %from = %self $lies = $plain "                                                              \
  "each $d, $pass in $dims { "                                                                                       \
  "  $sizes = replaced(shape(%from), $d + 2, size(%out, $d + 2)) $goes = $last "                                     \
  "  if $pass == 1 { %to = %out $sizes = shape(%out) $goes = $plain } "                                              \
  "  else { %to = temporary($t, selected($sizes, $last)) } "                                                         \
  "  for $i in $sizes { " LENZ_SIZES("%self") LENZ_SCALE LENZ_ALIGNED LENZ_BETWEEN                               \
      "    sum = to(0.0, $t) "                                                                                       \
      "    each $tap in range(0, 4) { "                                                                              \
      "      if $tap <= 1 { x = l + 1 - $tap } else { x = $tap - 1 - l } "                                           \
      "      if $tap == 1 or $tap == 2 { w = " LENZ_NEAR("x", "-0.75") " } else { w = " LENZ_FAR("x", "-0.75") " } " \
      "      $at = replaced($i, $d + 2, position(minimum(maximum(low + $tap - 1, 0), $size - 1), $size)) "           \
      "      sum = sum + to(%from[selected($at, $lies)], $t) * w "                                                   \
      "    } "                                                                                                       \
      "    %to[selected($i, $goes)] = sum "                                                                          \
      "  } "                                                                                                         \
      "  %from = %to $lies = $goes "                                                                                 \
      "}"

// Separable kernels go one dim after the other, the last one first, through the dims whose size changes. $most is how
// many elements a place looks at, at the most.
#define LENZ_SEPARABLE(scales, most, pass)                                                                    \
  "$scales = " scales                                                                                         \
  " %from = %self "                                                                                           \
  "each $d in [1, 0] { "                                                                                      \
  "  $size = size(%from, $d + 2) $osize = size(%out, $d + 2) $s = at($scales, $d) "                           \
  "  if $size != $osize { " most "    %to = temporary($stored, replaced(shape(%from), $d + 2, $osize)) " pass \
  "    %from = %to "                                                                                          \
  "  } } "                                                                                                    \
  "%out[$i] = %from[$i]"

// Against aliasing: the kernel is as wide as the input's elements that an element stands for.
#define LENZ_WIDE_MOST(taps)                                           \
  "if $align_corners { $ins = $size - 1 $outs = max($osize - 1, 1) } " \
  "else { $ins = $size $outs = $osize } "                              \
  "$most = 2 * ((" taps                                                \
  " * max($ins, $outs) + 2 * $outs - 1) // (2 * $outs)) + 1 "          \
  "if given($s) and not $align_corners { $most = scaled(" taps ", max(1.0 / $s, 1.0)) + 3 } "
#define LENZ_WIDE(taps, kernel)                                        \
  LENZ_SCALE                                                           \
  "wide = maximum(scale, 1) "                                          \
  "reach = wide * (" taps                                              \
  " // 2) "                                                            \
  "center = scale * (to($o, $t) + 0.5) "                               \
  "low = maximum(to(center - reach + 0.5, i64), 0) "                   \
  "inside = low + $k < minimum(to(center + reach + 0.5, i64), $size) " \
  "x = abs((to(low + $k, $t) - center + 0.5) * (1 / wide)) "           \
  "w = where(inside, " kernel ", 0) "
#define LENZ_ANTIALIASED(taps, kernel) \
  "$t = dtype(%self) $stored = $t " LENZ_SEPARABLE("[$scales_h, $scales_w]", LENZ_WIDE_MOST(taps), \
  "for $i in shape(%to), reduce $k < $most { $o = at($i, $d + 2) " LENZ_WIDE(taps, kernel)        \
  "  all = reduce sum(w) "                                                                        \
  "  $at = replaced($i, $d + 2, position(where(inside, low + $k, 0), $size)) "                    \
  "  sum = reduce sum(masked(inside, %from[$at], 0) * w) "                                        \
  "  %to[$i] = where(all == 0, sum, sum / all) "                                                  \
  "} ")

// Bytes are weighed by integers: weights in f64, the greatest of which (%top has what led to them) says how many bits
// are behind the point.
#define LENZ_BYTES(most, weights)                                                                  \
  "$t = f64 $stored = u8 " LENZ_SEPARABLE(                                                         \
      "[$scales_h, $scales_w]",                                                                    \
      most                                                                                         \
      "%w = temporary(f64, [$osize, $most]) %top = temporary(f64, [$osize, $most]) "               \
      "%place = temporary(i32, [$most, $osize]) %bits = temporary(i64, []) ",                      \
      weights                                                                                      \
      "for reduce $o < $osize, reduce $k < $most { "                                               \
      "  top = reduce maximum(%top[$o, $k]) "                                                      \
      "  bits = to(22, i64) "                                                                      \
      "  each $b in range(0, 22) { "                                                               \
      "    bits = where(floor(top * power(2, 22 - $b) + 0.5) >= 32768, to(21 - $b, i64), bits) } " \
      "  %bits[] = bits "                                                                          \
      "} "                                                                                         \
      "%weight = temporary(i32, [$most, $osize]) "                                                 \
      "for $k < $most, $o < $osize { "                                                             \
      "  v = %w[$o, $k] * to(bitwise_left_shift(to(1, i64), %bits[]), f64) "                       \
      "  %weight[$k, $o] = to(where(v < 0, v - 0.5, v + 0.5), i32) "                               \
      "} "                                                                                         \
      "for $i in shape(%to), reduce $k < $most { "                                                 \
      "  $o = at($i, $d + 2) "                                                                     \
      "  bits = to(%bits[], i32) "                                                                 \
      "  $at = replaced($i, $d + 2, position(%place[$k, $o], $size)) "                             \
      "  sum = reduce sum(%weight[$k, $o] * to(%from[$at], i32)) "                                 \
      "  y = bitwise_right_shift(sum + bitwise_left_shift(to(1, i32), bits - 1), bits) "           \
      "  %to[$i] = minimum(maximum(y, 0), 255) "                                                   \
      "} ")
#define LENZ_WIDE_BYTES(taps, kernel) \
  LENZ_BYTES(LENZ_WIDE_MOST(taps) "%all = temporary(f64, [$osize]) ",                             \
  "for $o < $osize, reduce $k < $most { " LENZ_WIDE(taps, kernel) "all = reduce sum(w) %all[$o] = all } " \
  "for $o < $osize, $k < $most { " LENZ_WIDE(taps, kernel)                                        \
  "  all = %all[$o] "                                                                             \
  "  w = where(all == 0, w, w / all) "                                                            \
  "  %w[$o, $k] = w %top[$o, $k] = w "                                                            \
  "  %place[$k, $o] = to(minimum(low + $k, $size - 1), i32) "                                              \
  "} ")
// Taps beyond the edge count for the edge's element.
#define LENZ_NARROW_BYTES(taps, clamped, kernel)                                                                \
  LENZ_BYTES("$most = " taps " ", "for $o < $osize, $k < $most { " LENZ_SCALE LENZ_ALIGNED clamped LENZ_BETWEEN \
                                  "  low = low - $most // 2 + 1 "                                               \
                                  "  first = maximum(low, 0) "                                                  \
                                  "  w = to(0.0, f64) top = to(0.0, f64) "                                      \
                                  "  each $j in range(0, $most) { "                                             \
                                  "    x = abs(to($j + 1 - $most // 2, f64) - l) "                              \
                                  "    mine = minimum(maximum(low + $j, 0), $size - 1) - first == to($k, i64) " \
                                  "    w = where(mine, w + " kernel                                             \
                                  ", w) "                                                                       \
                                  "    top = maximum(top, w) "                                                  \
                                  "  } "                                                                        \
                                  "  %w[$o, $k] = w %top[$o, $k] = top "                                        \
                                  "  %place[$k, $o] = to(minimum(first + $k, $size - 1), i32) "                 \
                                  "} ")

// How many elements a place looks at is a size, which a factor that only the run knows can't say.
#define LENZ_REACH_KNOWN "each $s in [$scales_h, $scales_w] { if given($s) and not is_constant($s) { extern() } } "
#define LENZ_TRIANGLE "where(x < 1, 1 - x, 0)"
#define LENZ_CUBIC(a) "where(x < 1, " LENZ_NEAR("x", a) ", where(x < 2, " LENZ_FAR("x", a) ", 0))"
#define LENZ_BY_DTYPE(bytes, floats) "if dtype(%self) == u8 { " bytes " } else { " floats " }"
inline constexpr std::string_view kBilinear2dLoops =
    LENZ_BY_DTYPE(LENZ_NARROW_BYTES("2", "r = maximum(r, 0) ", LENZ_TRIANGLE), LENZ_BILINEAR);
inline constexpr std::string_view kBicubic2dLoops =
    LENZ_BY_DTYPE(LENZ_NARROW_BYTES("4", "", LENZ_CUBIC("-0.75")), LENZ_BICUBIC);
inline constexpr std::string_view kBilinearAaLoops =
    LENZ_REACH_KNOWN LENZ_BY_DTYPE(LENZ_WIDE_BYTES("2", LENZ_TRIANGLE), LENZ_ANTIALIASED("2", LENZ_TRIANGLE));
inline constexpr std::string_view kBicubicAaLoops =
    LENZ_REACH_KNOWN LENZ_BY_DTYPE(LENZ_WIDE_BYTES("4", LENZ_CUBIC("-0.5")), LENZ_ANTIALIASED("4", LENZ_CUBIC("-0.5")));
#undef LENZ_BY_DTYPE
#undef LENZ_CUBIC
#undef LENZ_TRIANGLE
#undef LENZ_REACH_KNOWN
#undef LENZ_NARROW_BYTES
#undef LENZ_WIDE_BYTES
#undef LENZ_BYTES
#undef LENZ_ANTIALIASED
#undef LENZ_WIDE
#undef LENZ_WIDE_MOST
#undef LENZ_SEPARABLE
#undef LENZ_BICUBIC
#undef LENZ_BILINEAR
#undef LENZ_LINEAR
#undef LENZ_BY_TABLES
#undef LENZ_CELL
#undef LENZ_BETWEEN
#undef LENZ_ALIGNED
#undef LENZ_SOURCE
#undef LENZ_SCALE
#undef LENZ_RATIO
#undef LENZ_SIZES

// --- by a grid of places from -1 to 1

// Coordinate `x` of the grid along a dim of $size elements: unnormalised, and by the padding kept inside.
#define LENZ_UNNORMALISED                                        \
  "if $align_corners { x = (x + 1) * (to($size - 1, $t) / 2) } " \
  "else { x = (x + 1) * (to($size, $t) / 2) - 0.5 } "
#define LENZ_PADDED                                                       \
  "if $padding_mode == 2 { "                                              \
  "  if $align_corners { start = to(0.0, $t) span = to($size - 1, $t) } " \
  "  else { start = to(-0.5, $t) span = to($size, $t) } "                 \
  "  y = abs(x - start) "                                                 \
  "  y = y - trunc(y / (span * 2)) * (span * 2) "                         \
  "  x = minimum(y, span * 2 - y) + start "                               \
  "  if $align_corners { x = where(span == 0, 0, x) } "                   \
  "} "                                                                    \
  "if $padding_mode != 0 { x = fmin(to($size - 1, $t), fmax(x, 0)) } "
#define LENZ_GRID(n)                 \
  "$t = accumulates(dtype(%input)) " \
  "$n = " n " "
#define LENZ_COORDINATE           \
  "$size = size(%input, $d + 2) " \
  "x = to(%grid[at($i, 0), drop($i, 2), $n - 1 - $d], $t) "
// A place of the input, if it is one. Vectors turn floats into integers as wide as they are in one step, into wider
// ones one by one where they have no instruction for it.
#define LENZ_PLACE                                                                  \
  "inside = inside and (place >= 0 and place < to($size, $t)) "                     \
  "$whole = i64 if is_constant($size) { if $size <= 2147483647 { $whole = i32 } } " \
  "$at = concat($at, [position(where(place >= 0 and place < to($size, $t), to(place, $whole), 0), $size)]) "
// In 2-D a place that is none of the input's counts for 0 times its weight, which may be NaN.
#define LENZ_SAMPLER(term, corners)                                                                                   \
  "for $i in shape(%out) { "                                                                                          \
  "  if $interpolation_mode == 1 { "                                                                                  \
  "    $at = first($i, 2) "                                                                                           \
  "    inside = to(true, bool) "                                                                                      \
  "    each $d in range(0, $n) { " LENZ_COORDINATE LENZ_UNNORMALISED LENZ_PADDED "      place = round(x) " LENZ_PLACE \
  "    } "                                                                                                            \
  "    %out[$i] = masked(inside, %input[$at], 0) "                                                                    \
  "  } else { "                                                                                                       \
  "    sum = to(0.0, $t) "                                                                                            \
  "    each $corner in " corners                                                                                      \
  " { "                                                                                                               \
  "      $at = first($i, 2) "                                                                                         \
  "      inside = to(true, bool) "                                                                                    \
  "      w = to(1.0, $t) "                                                                                            \
  "      each $side, $d in $corner { " LENZ_COORDINATE LENZ_UNNORMALISED LENZ_PADDED                                  \
  "        place = floor(x) + $side "                                                                                 \
  "        if $side == 0 { w = w * (place + 1 - x) } else { w = w * (x - place + 1) } " LENZ_PLACE                    \
  "      } "                                                                                                          \
  "      sum = sum + " term                                                                                           \
  " "                                                                                                                 \
  "    } "                                                                                                            \
  "    %out[$i] = sum "                                                                                               \
  "  } }"
inline constexpr std::string_view kGridSampler3dLoops = LENZ_GRID("3")
    LENZ_SAMPLER("masked(inside, to(%input[$at], $t) * w, 0)",
                 "[[0, 0, 0], [0, 0, 1], [0, 1, 0], [0, 1, 1], [1, 0, 0], [1, 0, 1], [1, 1, 0], [1, 1, 1]]");
inline constexpr std::string_view kGridSampler2dLoops =
    LENZ_GRID("2")
    "if $interpolation_mode == 2 { "
    // Unrolled, so that what a row of taps shares is computed once.
    "  for $i in shape(%out) { "
    "    sum = to(0.0, $t) "
    "    each $taps in [[0, 0], [0, 1], [0, 2], [0, 3], [1, 0], [1, 1], [1, 2], [1, 3], "
    "                   [2, 0], [2, 1], [2, 2], [2, 3], [3, 0], [3, 1], [3, 2], [3, 3]] { "
    "      $at = first($i, 2) "
    "      inside = to(true, bool) "
    "      w = to(1.0, $t) "
    "      each $tap, $d in $taps { " LENZ_COORDINATE LENZ_UNNORMALISED
    "        l = x - floor(x) "
    "        if $tap <= 1 { far = l + 1 - $tap } else { far = $tap - 1 - l } "
    "        if $tap == 1 or $tap == 2 { w = w * " LENZ_NEAR("far", "-0.75") " } "
    "        else { w = w * " LENZ_FAR("far", "-0.75") " } "
    "        x = floor(x) - 1 + $tap " LENZ_PADDED
    "        place = x " LENZ_PLACE
    "      } "
    "      sum = sum + masked(inside, to(%input[$at], $t), 0) * w "
    "    } "
    "    %out[$i] = sum "
    "  } "
    "} else { " LENZ_SAMPLER("masked(inside, to(%input[$at], $t), 0) * w", "[[0, 0], [0, 1], [1, 0], [1, 1]]") " }";
#undef LENZ_SAMPLER
#undef LENZ_PLACE
#undef LENZ_COORDINATE
#undef LENZ_GRID
#undef LENZ_PADDED
#undef LENZ_UNNORMALISED
#undef LENZ_FAR
#undef LENZ_NEAR

}  // namespace lenz
