// What the loops of pooling, interpolation, windows and paddings compute, in the notation of
// compiler/lower/NOTATION.md.
#pragma once

#include <string_view>

namespace lenz {

// Dims that a window does not slide over come first: $lead of them. $sizes are those of the others.
#define LENZ_SPATIAL(n, tensor) "$n = " n " $lead = rank(" tensor ") - $n $sizes = drop(shape(" tensor "), $lead) "
#define LENZ_WINDOW(n)                                                  \
  LENZ_SPATIAL(n, "%self")                                              \
  "$kernel = spread($kernel_size, $n) $padding = spread($padding, $n) " \
  "$stride = choose(len($stride) == 0, $kernel, spread($stride, $n)) "
#define LENZ_QUOTIENT(x, by) "choose(is_integral($a), trunc_div(" x ", " by "), " x " / " by ")"

// The first greatest element of a window, and where it lies; the last NaN, if there is one. Of a window that holds no
// element the place is `nowhere`.
#define LENZ_GREATEST(inside, at, nowhere)                             \
  "inside = " inside " x = masked(inside, %self[first($i, $lead), " at \
  "], least(dtype(%self))) "                                           \
  "place = masked(inside, raveled(" at ", $sizes), " nowhere           \
  ") "                                                                 \
  "most, index = reduce argmax(x, place) "                             \
  "%out0[$i] = most "                                                  \
  "if is_float(dtype(%self)) { "                                       \
  "  last = reduce maximum(where(isnan(x), place, -1)) "               \
  "  %out1[$i] = where(last >= 0, last, index) "                       \
  "} else { %out1[$i] = index } "
#define LENZ_MAX_POOL(n)                                                                            \
  LENZ_WINDOW(n)                                                                                    \
  "$dilation = spread($dilation, $n) "                                                              \
  "for $i in shape(%out0), reduce $k in $kernel as pooling { "                                      \
  "  $from = drop($i, $lead) * $stride - $padding "                                                 \
  "  $at = $from + $k * $dilation "                                                                 \
  "  $first = $from + (max(0 - $from, 0) + $dilation - 1) // $dilation * $dilation " LENZ_GREATEST( \
      "within($at, $sizes)", "$at", "raveled($first, $sizes)") "}"
inline constexpr std::string_view kMaxPool3dLoops = LENZ_MAX_POOL("3");
#undef LENZ_MAX_POOL

// What several points add up is kept in a dtype that is wide enough, and stored once.
#define LENZ_SCATTERED(body)                                                         \
  "$a = accumulates(dtype(%out)) "                                                   \
  "if $a == dtype(%out) { %sum = %out } else { %sum = temporary($a, shape(%out)) } " \
  "%sum[$i] = 0 " body " if $a != dtype(%out) { %out[$i] = %sum[$i] }"

// How many elements the window that begins at $start counts.
#define LENZ_COUNTED                                                \
  "$end = min($start + $kernel, $sizes + $padding) "                \
  "if given($divisor_override) { $count = $divisor_override } "     \
  "else if $count_include_pad { $count = product($end - $start) } " \
  "else { $count = product(min($end, $sizes) - max($start, 0)) } "
#define LENZ_AVG_POOL(n)                                                                                 \
  LENZ_WINDOW(n)                                                                                         \
  "$a = accumulates(dtype(%out)) "                                                                       \
  "for $i in shape(%out), reduce $k in $kernel as pooling { "                                            \
  "  $start = drop($i, $lead) * $stride - $padding "                                                     \
  "  $at = $start + $k "                                                                                 \
  "  s = reduce sum(masked(within($at, $sizes), to(%self[first($i, $lead), $at], $a), 0)) " LENZ_COUNTED \
  "  %out[$i] = " LENZ_QUOTIENT("s", "to($count, $a)") " }"
inline constexpr std::string_view kAvgPool3dLoops = LENZ_AVG_POOL("3");
#undef LENZ_AVG_POOL

// Every element asks the windows that it lies in, the last one first: as many as begin within a window's length.
#define LENZ_OVER "$over = ($kernel + $stride - 1) // $stride "
#define LENZ_ASKED                        \
  "  $last = drop($i, $lead) + $padding " \
  "  $o = $last // $stride - $k "         \
  "  $within = $last - $o * $stride "     \
  "  inside = within($o, $outs) and within($within, $kernel) "
inline constexpr std::string_view kAvgPoolBackwardLoops =
    LENZ_WINDOW("2")
    "$a = accumulates(dtype(%out)) $outs = drop(shape(%grad_output), $lead) " LENZ_OVER
    "%share = temporary($a, shape(%grad_output)) "
    "for $w in shape(%grad_output) { "
    "  $start = drop($w, $lead) * $stride - $padding "
    LENZ_COUNTED
    "  $by = choose(given($divisor_override), $count, max($count, 1)) "
    "  g = to(%grad_output[$w], $a) "
    "  %share[$w] = " LENZ_QUOTIENT("g", "to($by, $a)") " } "
    "for $i in shape(%out), reduce $k in $over as pooling { "
    LENZ_ASKED
    "  s = reduce sum(masked(inside, %share[first($i, $lead), $o], 0)) "
    "  %out[$i] = s }";
#undef LENZ_ASKED
#undef LENZ_OVER
#undef LENZ_COUNTED
#undef LENZ_QUOTIENT

// The window of each of $outs places over $ins: from $start to before $end, $most elements at the most. Where what the
// division leaves divides $outs, windows begin so near to places of whole steps that none reaches over two of them.
#define LENZ_ADAPTIVE_MOST(ins, outs) \
  "$left = " ins " % " outs " $most = " ins " // " outs " + min($left, 1) + min(" outs " % max($left, 1), 1) "
#define LENZ_ADAPTIVE(o, ins, outs)   \
  "$start = " o " * " ins " // " outs \
  " "                                 \
  "$end = min(((" o " + 1) * " ins " + " outs " - 1) // " outs ", " ins ") "
// Of windows of several rows the rows are added up first, as they lie in memory: then each element is read as often as
// its row is, and only sums lie in windows along rows.
inline constexpr std::string_view kAdaptiveAvgPool3dLoops =
    LENZ_SPATIAL("3", "%self")
    "$outs = max(spread($output_size, $n), 1) "
    "$a = accumulates(dtype(%out)) "
    LENZ_ADAPTIVE_MOST("$sizes", "$outs")
    "$few = 9 "  // elements of a window, which are as soon read one by one
    "if product(first($most, 2)) == 1 or at($most, 2) == 1 or at($outs, 2) == 1 or product($most) <= $few { "
    "  for $i in shape(%out), reduce $k in $most as pooling { "
    LENZ_ADAPTIVE("drop($i, $lead)", "$sizes", "$outs")
    "    $at = $start + $k "
    "    s = reduce sum(masked(within($at, $end), to(%self[first($i, $lead), $at], $a), 0)) "
    "    %out[$i] = s / to(product($end - $start), $a) } "
    "} else { "
    "  %rows = temporary($a, concat(first(shape(%out), $lead + 2), drop($sizes, 2))) "
    "  for $i in shape(%rows), reduce $k in first($most, 2) as pooling { "
    LENZ_ADAPTIVE("first(drop($i, $lead), 2)", "first($sizes, 2)", "first($outs, 2)")
    "    $at = $start + $k "
    "    s = reduce sum(masked(within($at, $end), to(%self[first($i, $lead), $at, drop($i, $lead + 2)], $a), 0)) "
    "    %rows[$i] = s } "
    "  for $i in shape(%out), reduce $k in drop($most, 2) as pooling { "
    LENZ_ADAPTIVE("drop($i, $lead)", "$sizes", "$outs")
    "    $at = drop($start, 2) + $k "
    "    s = reduce sum(masked(within($at, drop($end, 2)), %rows[first($i, $lead + 2), $at], 0)) "
    "    $counts = $end - $start "
    "    %out[$i] = s / (to(product(first($counts, 2)), $a) * to(product(drop($counts, 2)), $a)) } "
    "}";

#define LENZ_ADAPTIVE_MAX(n) \
  LENZ_SPATIAL(n, "%self")   \
  "$outs = max(spread($output_size, $n), 1) "                              \
  LENZ_ADAPTIVE_MOST("$sizes", "$outs")                                    \
  "for $i in shape(%out0), reduce $k in $most as pooling { "               \
  LENZ_ADAPTIVE("drop($i, $lead)", "$sizes", "$outs")                      \
  "  $at = $start + $k " LENZ_GREATEST("within($at, $end)", "$at", "9223372036854775807") "}"
inline constexpr std::string_view kAdaptiveMaxPool3dLoops = LENZ_ADAPTIVE_MAX("3");
#undef LENZ_ADAPTIVE_MAX
#undef LENZ_GREATEST

// The places whose windows hold an element are a window over the places.
inline constexpr std::string_view kAdaptiveAvgPoolBackwardLoops =
    LENZ_SPATIAL("2", "%self")
    "$outs = drop(shape(%grad_output), $lead) "
    "$a = accumulates(dtype(%out)) " LENZ_ADAPTIVE_MOST("$outs", "$sizes")
    "%share = temporary($a, shape(%grad_output)) "
    "for $w in shape(%grad_output) { "
    LENZ_ADAPTIVE("drop($w, $lead)", "$sizes", "$outs")
    "  %share[$w] = to(%grad_output[$w], $a) / to(product($end - $start), $a) } "
    "for $i in shape(%out), reduce $k in $most as pooling { "
    LENZ_ADAPTIVE("drop($i, $lead)", "$outs", "$sizes")
    "  $o = $start + $k "
    "  s = reduce sum(masked(within($o, $end), %share[first($i, $lead), $o], 0)) "
    "  %out[$i] = s }";
#undef LENZ_ADAPTIVE
#undef LENZ_ADAPTIVE_MOST

// --- windows as columns

// Of a window's elements those that may be this one are $by apart, from where the element's place, times what $dilation
// is the inverse of, leaves off: others are not looked at. $common divides steps and dilation, and so the place, or
// none is.
inline constexpr std::string_view kCol2imLoops = LENZ_SPATIAL("2", "%out")
    R"(
    $kernel = spread($kernel_size, 2)
    $dilation = spread($dilation, 2)
    $padding = spread($padding, 2)
    $stride = spread($stride, 2)
    $windows = ($sizes + 2 * $padding - $dilation * ($kernel - 1) - 1) // $stride + 1
    $a = accumulates(dtype(%out))
    $common = list(2, 1)
    $inverse = list(2, 0)
    each $n in range(0, 2) {
      each $d in range(1, at($stride, $n) + 1) {
        if at($stride, $n) % $d == 0 and at($dilation, $n) % $d == 0 { $common = replaced($common, $n, $d) }
      }
      $steps = at($stride, $n) // at($common, $n)
      each $d in range(1, $steps) {
        if $d * (at($dilation, $n) // at($common, $n)) % $steps == 1 { $inverse = replaced($inverse, $n, $d) }
      }
    }
    $by = $stride // $common
    for $i in shape(%out), reduce $k in ($kernel + $by - 1) // $by {
      $to = drop($i, $lead) + $padding
      $place = $to // $common * $inverse % $by + $k * $by
      $meets = divides($to, $common) and within($place, $kernel)
      if product($dilation) == 1 { $w = $to // $stride - $k } else { $w = ($to - $place * $dilation) // $stride }
      $row = at($i, $lead - 1) * product($kernel) + raveled($place, $kernel)
      $at = concat(first($i, $lead - 1), [$row, raveled($w, $windows)])
      x = masked($meets and within($w, $windows), to(%self[$at], $a), 0)
      if $a == bool { s = reduce any(x) } else { s = reduce sum(x) }
      %out[$i] = s
    })";

// --- paddings: pairs of widths, the last dim's first

#define LENZ_PADDED(pad)                                                \
  "$n = len(" pad                                                       \
  ") // 2 $lead = rank(%self) - $n $sizes = drop(shape(%self), $lead) " \
  "$low = list($n, 0) $high = list($n, 0) "                             \
  "each $k in range(0, $n) { "                                          \
  "  $low = replaced($low, $n - 1 - $k, at(" pad                        \
  ", 2 * $k)) "                                                         \
  "  $high = replaced($high, $n - 1 - $k, at(" pad ", 2 * $k + 1)) } "

inline constexpr std::string_view kConstantPadLoops =
    LENZ_PADDED("$pad")
    "for $i in shape(%out) { "
    "  $at = drop($i, $lead) - $low "
    "  %out[$i] = masked(within($at, $sizes), %self[first($i, $lead), $at], $value) }";

#define LENZ_REFLECTED                                        \
  "$p = max(drop($i, $lead) - $low, $low - drop($i, $lead)) " \
  "$at = concat(first($i, $lead), min($p, 2 * ($sizes - 1) - $p)) "
#define LENZ_REPLICATED "$at = concat(first($i, $lead), min(max(drop($i, $lead) - $low, 0), $sizes - 1)) "
#define LENZ_EDGE_PAD(at) LENZ_PADDED("$padding") "for $i in shape(%out) { " at "%out[$i] = %self[$at] }"
#define LENZ_EDGE_PAD_BACKWARD(at)                                             \
  LENZ_SCATTERED(LENZ_PADDED("$padding") "for $i in shape(%grad_output) { " at \
                                         "%sum[$at] += to(%grad_output[$i], $a) }")
inline constexpr std::string_view kReflectionPadLoops = LENZ_EDGE_PAD(LENZ_REFLECTED);
inline constexpr std::string_view kReplicationPadLoops = LENZ_EDGE_PAD(LENZ_REPLICATED);
inline constexpr std::string_view kReflectionPadBackwardLoops = LENZ_EDGE_PAD_BACKWARD(LENZ_REFLECTED);
inline constexpr std::string_view kReplicationPadBackwardLoops = LENZ_EDGE_PAD_BACKWARD(LENZ_REPLICATED);
#undef LENZ_EDGE_PAD_BACKWARD
#undef LENZ_EDGE_PAD
#undef LENZ_REPLICATED
#undef LENZ_REFLECTED
#undef LENZ_PADDED
#undef LENZ_SCATTERED
#undef LENZ_WINDOW
#undef LENZ_SPATIAL

}  // namespace lenz
