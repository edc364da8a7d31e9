// What ops that read and write through indices compute, in the notation of compiler/lower/NOTATION.md.
#pragma once

#include <string_view>

namespace lenz {

// The place along the dim that an index names; a scalar has one, and the index is looked at there too.
#define LENZ_AT_INDEX(INDEX)                                 \
  "$named = position(" INDEX                                 \
  ", size(%self, $dim)) $at = choose(rank(%self) == 0, [], " \
  "replaced($i, wrap($dim, rank(%self)), $named)) "

inline constexpr std::string_view kGatherLoops = R"(
  for $i in shape(%out) {
    $p = position(%index[$i], size(%self, $dim))
    $at = choose(rank(%self) == 0, [], choose(len($i) == 0, [$p], replaced($i, $dim, $p)))
    %out[$i] = %self[$at]
  })";
inline constexpr std::string_view kIndexSelectLoops = R"(
  for $i in shape(%out) {
    $k = choose(rank(%index) == 0, [], choose(len($i) == 0, [0], [at($i, $dim)]))
    $p = position(%index[$k], size(%self, $dim))
    %out[$i] = %self[choose(rank(%self) == 0, [], replaced($i, $dim, $p))]
  })";

// Which dims the indices stand for, the shape that they broadcast to, and where it stands in the result: in the place
// of adjacent dims, else in front. A mask alone has its own way; one among other indices is a column for each of its
// dims.
#define LENZ_EACH_INDEX(MASK, INDEX)                                                   \
  "$d = 0 "                                                                            \
  "each $x, $n in $indices { "                                                         \
  "if given($x) { "                                                                    \
  "if dtype($x) == bool or dtype($x) == u8 {" MASK "$d = $d + rank($x) } else {" INDEX \
  "$d = $d + 1 } "                                                                     \
  "} else { $d = $d + 1 } "                                                            \
  "} "
#define LENZ_INDICES \
  "$given = [] "                                                                                      \
  "$b = [] "                                                                                          \
  "$masks = 0 "                                                                                       \
  "$listed = 0 "                                                                                      \
  "each $x, $n in $indices { if given($x) { $listed = $listed + 1 } } "                               \
  LENZ_EACH_INDEX("$masks = $masks + 1 %mask = $x $given = concat($given, range($d, $d + rank($x))) ", \
                  "$b = broadcast($b, shape($x)) $given = concat($given, [$d]) ")                     \
  "$alone = $masks == 1 and $listed == 1 "                                                            \
  "$beside = 1 "                                                                                      \
  "if $masks > 0 and not $alone { "                                                                   \
  "if len($b) == 0 { $b = [1] } "                                                                     \
  "$beside = at($b, -1) "                                                                             \
  "if run_tells([$beside]) { extern() } "                                                             \
  "} "                                                                                                \
  "$adjacent = len($given) > 0 and at($given, -1) - at($given, 0) + 1 == len($given) "                \
  "$start = choose($adjacent, at($given, 0), 0) "
#define LENZ_POSITIONS                                                                                                \
  "$k = drop(first($i, $start + len($b)), $start) "                                                                   \
  "$rest = concat(first($i, $start), drop($i, $start + len($b))) "                                                    \
  "$p = [] "                                                                                                          \
  "$c = 0 "                                                                                                           \
  "$m = 0 " LENZ_EACH_INDEX(                                                                                          \
      "$which = position(where(%counts[$m] == 1, 0, to(at($k, -1), i64)), $most) "                                    \
      "each $q in range(0, rank($x)) { $p = concat($p, [position(%columns[$c + $q, $which], size(%self, $d + $q))]) " \
      "} "                                                                                                            \
      "$c = $c + rank($x) $m = $m + 1 ",                                                                              \
      "$p = concat($p, [wrapped($x[broadcast_at($k, shape($x))], size(%self, $d))]) ")
// The true elements of %mask up to each place of a shape, and how many there are.
#define LENZ_COUNTED(SHAPE)            \
  "$n = product(" SHAPE                \
  ") "                                 \
  "%upto = temporary(i64, [$n]) "      \
  "for scan $t < $n {"                 \
  "  $i = reshaped([$t], [$n], " SHAPE \
  ") "                                 \
  "  c = scan sum(to(wide(%mask[broadcast_at($i, shape(%mask))]) != 0, i64)) %upto[$t] = c } "
#define LENZ_TRUE_COUNT(SHAPE)   \
  "%total = temporary(i64, []) " \
  "for reduce $r in " SHAPE      \
  " {"                           \
  "  s = reduce sum(to(wide(%mask[broadcast_at($r, shape(%mask))]) != 0, i64)) %total[[]] = s } "
// Of masks among other indices: where their true elements stand, a column for each of their dims; how many each takes;
// and %n, how many that is beside the others. One stands for as many as there are.
#define LENZ_COLUMNS \
  "$most = 0 "                                                                                            \
  "$c = 0 " LENZ_EACH_INDEX("$most = max($most, numel($x)) $c = $c + rank($x) ", "")                      \
  "%columns = temporary(i64, [$c, $most]) "                                                               \
  "%columns[$i] = to(0, i64) "                                                                            \
  "%counts = temporary(i64, [$masks]) "                                                                   \
  "$c = 0 "                                                                                               \
  "$m = 0 " LENZ_EACH_INDEX(                                                                              \
      "%mask = $x " LENZ_TRUE_COUNT("shape(%mask)") "for $i in [] { %counts[$m] = %total[$i] } "          \
      LENZ_COUNTED("shape(%mask)")                                                                        \
      "for $i in shape(%mask) { when wide(%mask[$i]) != 0 { "                                                        \
      "$p = position(%upto[raveled($i, shape(%mask))] - 1, $most) "                                       \
      "each $q in range(0, rank(%mask)) { %columns[$c + $q, $p] = at($i, $q) } "                          \
      "} } "                                                                                              \
      "$c = $c + rank($x) $m = $m + 1 ", "")                                                              \
  "%n = temporary(i64, []) "                                                                              \
  "for $i in [] { "                                                                                       \
  "n = to($beside, i64) "                                                                                 \
  "each $m in range(0, $masks) { n = where(n == 1, %counts[$m], n) } "                                    \
  "%n[$i] = n } "                                                                                         \
  "%fits = temporary(bool, []) "                                                                          \
  "for $i in [] { "                                                                                       \
  "holds = %n[$i] >= 0 "                                                                                  \
  "each $m in range(0, $masks) { holds = holds and (%counts[$m] == 1 or %counts[$m] == %n[$i]) } "        \
  "%fits[$i] = holds } "                                                                                  \
  "check(%fits, \"masks take as many elements as the indices beside them, or one\") "
// Where a point of %self lies: within the mask, and which of the mask's true places that is.
#define LENZ_AT_MASK                                \
  "$within = first(drop($i, $start), rank(%mask)) " \
  "$behind = drop($i, $start + rank(%mask)) "       \
  "takes = wide(%mask[$within]) != 0 "              \
  "which = %upto[raveled($within, shape(%mask))] - 1 "
inline constexpr std::string_view kIndexLoops =
    LENZ_INDICES "if $alone {" LENZ_TRUE_COUNT("shape(%mask)") LENZ_COUNTED("shape(%mask)") R"(
  bind(%total, size(%out, $start))
  for $i in shape(%self) {)" LENZ_AT_MASK R"(
    when takes {
      $p = position(which, size(%out, $start))
      %out[concat(first($i, $start), concat([$p], $behind))] = %self[$i]
    }
  }
} else {
  if $masks > 0 {)" LENZ_COLUMNS R"(
    $last = size(%out, $start + len($b) - 1)
    if run_tells([$last]) { bind(%n, $last) } else {
      for $i in [] { %fits[$i] = %n[$i] == to($last, i64) }
      check(%fits, "masks take as many elements as the indices beside them, or one")
    }
    $b = concat(first($b, len($b) - 1), [$last])
  }
  for $i in shape(%out) { )" LENZ_POSITIONS " %out[$i] = %self[merged($given, $p, $rest)] } }";
// Written where they are read: over the shape that reading would have. To the places of a mask goes one value for each,
// or the same one.
#define LENZ_PUT(STORE)                                                                                     \
  "if $axis >= 0 { when to(at($i, $last), i64) < %n[[]] {" LENZ_POSITIONS                                   \
  "$v = position(where(to($count, i64) == 1, 0, to(at($i, $last), i64)), $count) " STORE                    \
  "%values[inserted(broadcast_at(without($i, [$last]), without(shape(%values), [$axis])), $axis, $v)] } } " \
  "else { if $masks > 0 { when to(at($i, $last), i64) < %n[[]] {" LENZ_POSITIONS STORE                      \
  "%values[broadcast_at($i, shape(%values))] } } else {" LENZ_POSITIONS STORE                               \
  "%values[broadcast_at($i, shape(%values))] } } "
inline constexpr std::string_view kIndexPutLoops =
    "each $x, $n in $indices { if given($x) { if dtype($x) == u8 { extern() } } } "  // some of which eager refuses
    LENZ_INDICES "if $alone {" LENZ_TRUE_COUNT("shape(%mask)") LENZ_COUNTED("shape(%mask)") R"(
  $axis = $start - (rank(%self) - rank(%mask) + 1 - rank(%values))
  if $axis >= 0 {
    $count = size(%values, $axis)
    %fits = temporary(bool, [])
    for $i in [] { %fits[$i] = to($count, i64) == 1 or %total[$i] == to($count, i64) }
    check(%fits, "a mask takes as many values as it has true elements, or one")
  }
  for $i in shape(%out) {)" LENZ_AT_MASK R"(
    $beside = concat(first($i, $start), $behind)
    if $axis >= 0 {
      when takes {
        $p = position(where(to($count, i64) == 1, 0, which), $count)
        v = %values[inserted(broadcast_at($beside, without(shape(%values), [$axis])), $axis, $p)]
      }
    } else { v = %values[broadcast_at($beside, shape(%values))] }
    old = %self[$i]
    if $accumulate {
      $t = accumulates(dtype(%out))
      new = to(to(old, $t) + to(v, $t), dtype(%out))
    } else { new = v }
    %out[$i] = where(takes, new, old)
  }
} else {
  if $masks > 0 {)" LENZ_COLUMNS R"($b = concat(first($b, len($b) - 1), [choose($beside == 1, $most, $beside)]) }
  $other = without(shape(%self), $given)
  $over = concat(first($other, $start), concat($b, drop($other, $start)))
  $last = $start + len($b) - 1
  $axis = choose($masks > 0, $last - (len($over) - rank(%values)), -1)
  if $axis >= 0 {
    $count = size(%values, $axis)
    for $i in [] { %fits[$i] = to($count, i64) == 1 or %n[$i] == to($count, i64) }
    check(%fits, "there are as many values as masks take, or one")
  }
  if $accumulate {
    %t = temporary(accumulates(dtype(%out)), shape(%out))
    %t[$i] = %self[$i]
    for $i in $over {)" LENZ_PUT(R"(%t[merged($given, $p, $rest)] += )") R"(}
    %out[$i] = %t[$i]
  } else {
    %out[$i] = %self[$i]
    for $i in $over {)" LENZ_PUT(R"(%out[merged($given, $p, $rest)] put= )") R"(}
  }
})";

// Scatters over the places of the index. `%t` accumulates.
#define LENZ_FROM_SELF "%t = temporary(accumulates(dtype(%out)), shape(%out)) %t[$i] = %self[$i] "
#define LENZ_SCATTER(STORE) "for $i in shape(%index) { " LENZ_AT_INDEX("%index[$i]") STORE "} "
inline constexpr std::string_view kScatterLoops = "%out[$i] = %self[$i] " LENZ_SCATTER("%out[$at] put= %src[$i]");
inline constexpr std::string_view kScatterValueLoops =
    "%out[$i] = %self[$i] " LENZ_SCATTER("%out[$at] put= to($value, dtype(%out))");
#define LENZ_BY_WORD(VALUE)                                                                              \
  LENZ_FROM_SELF                                                                                         \
  "if $reduce == \"add\" {" LENZ_SCATTER("%t[$at] += to(" VALUE ", dtype(%t))") "} else {" LENZ_SCATTER( \
      "%t[$at] *= to(" VALUE ", dtype(%t))") "} %out[$i] = %t[$i]"
inline constexpr std::string_view kScatterByWordLoops = LENZ_BY_WORD("%src[$i]");
inline constexpr std::string_view kScatterValueByWordLoops = LENZ_BY_WORD("to($value, dtype(%out))");
inline constexpr std::string_view kScatterAddLoops =
    LENZ_FROM_SELF LENZ_SCATTER("%t[$at] += %src[$i]") "%out[$i] = %t[$i]";

// Reductions by name, over points that OVER walks with `$at` the place and VALUE what comes there. Without self, the
// places that are reached start from the reduction's identity. Integers count in their own dtype, as eager does: what
// comes round to 0 divides by 1.
#define LENZ_REDUCED(OVER, VALUE) \
  "if is_complex(dtype(%out)) and ($reduce == \"amax\" or $reduce == \"amin\") { extern() } " LENZ_FROM_SELF        \
  "$d = dtype(%t) "                                                                                                   \
  "if not $include_self {"                                                                                            \
  "  $identity = choose($reduce == \"prod\", 1, choose($reduce == \"amax\", least($d), choose($reduce == \"amin\", "  \
  "greatest($d), 0))) " OVER("%t[$at] put= to($identity, $d)") "} "                                                   \
  "if $reduce == \"sum\" or $reduce == \"mean\" {" OVER("%t[$at] += to(" VALUE ", $d)")                               \
  "} else if $reduce == \"prod\" {" OVER("%t[$at] *= to(" VALUE ", $d)")                                              \
  "} else if $reduce == \"amax\" {" OVER("%t[$at] max= to(" VALUE ", $d)")                                            \
  "} else {" OVER("%t[$at] min= to(" VALUE ", $d)") "} "                                                              \
  "if $reduce == \"mean\" {"                                                                                          \
  "  %count = temporary(i64, shape(%out)) "                                                                           \
  "  %count[$i] = to(choose($include_self, 1, 0), i64) " OVER("%count[$at] += to(1, i64)")                            \
  "  for $i in shape(%out) {"                                                                                         \
  "    if is_integral($d) { c = to(%count[$i], $d) n = where(c == to(0, $d), to(1, $d), c) "                           \
  "      m = floor_divide(%t[$i], n) } else { m = div(%t[$i], to(maximum(%count[$i], 1), $d)) } "                     \
  "    %out[$i] = m } "                                                                                               \
  "} else { %out[$i] = %t[$i] }"
inline constexpr std::string_view kScatterReduceLoops = LENZ_REDUCED(LENZ_SCATTER, "%src[$i]");

// The elements that a mask takes, in order: how many stand up to each.
inline constexpr std::string_view kMaskedScatterLoops = LENZ_COUNTED("shape(%out)") R"(
  for $i in shape(%out) {
    takes = %mask[broadcast_at($i, shape(%mask))]
    x = %self[broadcast_at($i, shape(%self))]
    %out[$i] = masked(takes,
      %source[reshaped([position(%upto[raveled($i, shape(%out))] - 1, numel(%source))], [numel(%source)], shape(%source))], x)
  })";

// --- orders
#define LENZ_OF_SCALAR "if rank(%self) == 0 { %out0[$i] = %self[list(rank(%self), 0)] %out1[$i] = to(0, i64) } else { "
inline constexpr std::string_view kTopkLoops = LENZ_OF_SCALAR R"(
  %v = temporary(dtype(%self), shape(%self))
  %p = temporary(i64, shape(%self))
  sort(%self, %v, %p, wrap($dim, rank(%self)), $largest, true)
  %out0[$i] = %v[$i]
  %out1[$i] = %p[$i] })";
inline constexpr std::string_view kSortLoops =
    LENZ_OF_SCALAR "sort(%self, %out0, %out1, wrap($dim, rank(%self)), $descending, true) }";
// Eager's binary search, half by half, so that boundaries that are no numbers, or lie out of order, send it where they
// send eager. It takes as many steps as the longer half may need; one that has ended looks at the first boundary and
// stays. All of the sorter lies inside, whatever of it the search meets.
#define LENZ_SEARCH(VALUE, DTYPE, ROW)                                                                \
  "$n = size(%sorted_sequence, -1) $t = " DTYPE                                                       \
  " $steps = halvings($n) if $steps < 0 { extern() } "                                                \
  "if given($sorter) { %inside = temporary(bool, []) "                                                \
  "  for reduce $k in shape(%sorted_sequence) { "                                                     \
  "    least = reduce minimum($sorter[$k]) most = reduce maximum($sorter[$k]) "                       \
  "    %inside[] = least >= 0 and most < $n } "                                                       \
  "  check(%inside, \"sorter index out of range\") } "                                                \
  "$to_right = $right if given($side) { $to_right = $side == \"right\" or $right } "                  \
  "for $i in shape(%out) {"                                                                           \
  "  $row = " ROW "  x = to(" VALUE                                                                   \
  ", $t) start = to(0, i64) left = to($n, i64) "                                                      \
  "  each $step in range(0, $steps) {"                                                                \
  "    half = bitwise_right_shift(left, 1) more = left > 0 "                                          \
  "    $m = position(where(more, start + half, 0), $n) "                                              \
  "    $q = choose(given($sorter), position($sorter[$row, $m], $n), $m) "                             \
  "    b = to(%sorted_sequence[$row, $q], $t) "                                                       \
  "    before = choose($to_right, not (b > x), not (b >= x)) and more "                               \
  "    start = where(before, start + half + 1, start) left = where(before, left - half - 1, half) } " \
  "  %out[$i] = start }"
inline constexpr std::string_view kSearchsortedLoops =
    LENZ_SEARCH("%self[$i]", "result_type(%sorted_sequence, %self)",
                "choose(rank(%sorted_sequence) == 1, [], first($i, rank(%sorted_sequence) - 1))");
inline constexpr std::string_view kSearchsortedScalarLoops =
    LENZ_SEARCH("$self", "result_type(%sorted_sequence, $self)", "[]");
#undef LENZ_SEARCH

// --- sizes that depend on data
inline constexpr std::string_view kNonzeroLoops =
    "%mask = %self " LENZ_TRUE_COUNT("shape(%self)") "bind(%total, size(%out, 0)) " LENZ_COUNTED("shape(%self)") R"(
  for $i in shape(%self) {
    when wide(%self[$i]) != 0 {
      $p = position(%upto[raveled($i, shape(%self))] - 1, size(%out, 0))
      each $k in range(0, rank(%self)) { %out[$p, $k] = at($i, $k) }
    }
  })";
inline constexpr std::string_view kNonzeroStaticLoops = "%mask = %self " LENZ_COUNTED("shape(%self)") R"(
  %out[$i] = to($fill_value, i64)
  for $i in shape(%self) {
    when wide(%self[$i]) != 0 {
      place = %upto[raveled($i, shape(%self))] - 1
      when place < $size {
        $p = position(place, $size)
        each $k in range(0, rank(%self)) { %out[$p, $k] put= at($i, $k) }
      }
    }
  })";
inline constexpr std::string_view kMaskedSelectLoops = "$over = broadcast(shape(%self), shape(%mask)) " LENZ_TRUE_COUNT(
    "$over") "bind(%total, size(%out, 0)) " LENZ_COUNTED("$over") R"(
  for $i in $over {
    when %mask[broadcast_at($i, shape(%mask))] {
      $p = position(%upto[raveled($i, $over)] - 1, size(%out, 0))
      %out[$p] = %self[broadcast_at($i, shape(%self))]
    }
  })";
// Sorted; a value is new where it differs from the one before. NaN differs from itself.
inline constexpr std::string_view kUniqueLoops = R"(
  $n = numel(%self)
  %flat = temporary(dtype(%self), [$n])
  %flat[$i] = %self[reshaped($i, [$n], shape(%self))]
  %v = temporary(dtype(%self), [$n])
  %p = temporary(i64, [$n])
  sort(%flat, %v, %p, 0, false, true)
  %new = temporary(i64, [$n])
  for $t < $n { %new[$t] = to(masked($t > 0, %v[$t] != %v[max($t - 1, 0)], true), i64) }
  %total = temporary(i64, [])
  for reduce $t < $n { s = reduce sum(%new[$t]) %total[[]] = s }
  bind(%total, size(%out0, 0))
  %number = temporary(i64, [$n])
  for scan $t < $n { c = scan sum(%new[$t]) %number[$t] = c - 1 }
  for $t < $n { when %new[$t] != 0 { %out0[position(%number[$t], size(%out0, 0))] = %v[$t] } }
  if $return_inverse {
    for $t < $n { %out1[reshaped([position(%p[$t], $n)], [$n], shape(%self))] = %number[$t] }
  }
  if $return_counts {
    %out2[$i] = to(0, i64)
    for $t < $n { %out2[position(%number[$t], size(%out0, 0))] += to(1, i64) }
  })";
inline constexpr std::string_view kItemLoops = R"(
  $first = list(rank(%self), 0)
  if is_integral(dtype(%self)) and dtype(%self) != bool {
    %number = temporary(i64, [])
    for $i in [] { %number[$i] = %self[$first] }
    bind(%number, $out)
  } else {
    for $i in [] { %out[$i] = %self[$first] }
  })";

#undef LENZ_AT_INDEX
#undef LENZ_INDICES
#undef LENZ_POSITIONS
#undef LENZ_AT_MASK
#undef LENZ_FROM_SELF
#undef LENZ_SCATTER
#undef LENZ_BY_WORD
#undef LENZ_REDUCED
#undef LENZ_COUNTED
#undef LENZ_OF_SCALAR
#undef LENZ_TRUE_COUNT

}  // namespace lenz
