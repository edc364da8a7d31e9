// What views and moves of elements compute once they are copies, in the notation of compiler/lower/NOTATION.md.
#pragma once

#include <string_view>

namespace lenz {

inline constexpr std::string_view kCopyLoops = "%out[$i] = %self[$i]";
// Where places coincide, so do the elements.
inline constexpr std::string_view kRestrideLoops =
    "if overlaps(%out) { for $i in shape(%out) { %out[$i] put= %self[$i] } } else { %out[$i] = %self[$i] }";
inline constexpr std::string_view kCopyFromLoops = "%out[$i] = %src[broadcast_at($i, shape(%src))]";
#define LENZ_RESHAPED "%out[$i] = %self[reshaped($i, shape(%out), shape(%self))]"
inline constexpr std::string_view kReshapedLoops = LENZ_RESHAPED;
inline constexpr std::string_view kExpandedLoops = "%out[$i] = %self[broadcast_at($i, shape(%self))]";
inline constexpr std::string_view kPermutedLoops =
    "$n = rank(%self) $to = [] each $d in $dims { $to = concat($to, [wrap($d, $n)]) } "
    "%out[$i] = %self[selected($i, inverse($to))]";

// Where a slice starts, and what it keeps: as eager clamps them.
#define LENZ_SLICE                         \
  "$d = wrap($dim, rank(%self)) "          \
  "$n = size(%self, $d) "                  \
  "$s = choose(given($start), $start, 0) " \
  "$s = min(max(from_start($s, $n), 0), $n) "
inline constexpr std::string_view kSliceLoops =
    LENZ_SLICE "for $i in shape(%out) { %out[$i] = %self[replaced($i, $d, $s + at($i, $d) * $step)] }";
#define LENZ_SELECT               \
  "$d = wrap($dim, rank(%self)) " \
  "$k = element_place($index, size(%self, $d)) "
inline constexpr std::string_view kSelectLoops = LENZ_SELECT "%out[$i] = %self[inserted($i, $d, $k)]";
inline constexpr std::string_view kUnfoldLoops = R"(
  if rank(%self) == 0 { %out[$i] = %self[[]] } else {
    $d = wrap($dimension, rank(%self))
    for $i in shape(%out) {
      %out[$i] = %self[replaced(first($i, rank(%self)), $d, at($i, $d) * $step + at($i, -1))]
    }
  })";
#define LENZ_DIAGONAL              \
  "$a = wrap($dim1, rank(%self)) " \
  "$b = wrap($dim2, rank(%self)) " \
  "$down = max(0 - $offset, 0) "   \
  "$along = max($offset, 0) "
#define LENZ_ON_DIAGONAL(I) \
  "choose($a < $b, " LENZ_BOTH(I, "$a", "$b", "$down", "$along") ", " LENZ_BOTH(I, "$b", "$a", "$along", "$down") ")"
#define LENZ_BOTH(I, FIRST, SECOND, X, Y)                                                                             \
  "inserted(inserted(first(" I ", len(" I ") - 1), " FIRST ", at(" I ", -1) + " X "), " SECOND ", at(" I ", -1) + " Y \
  ")"
inline constexpr std::string_view kDiagonalLoops =
    LENZ_DIAGONAL "for $i in shape(%out) { %out[$i] = %self[" LENZ_ON_DIAGONAL("$i") "] }";
// Through the memory that the operand's type says.
#define LENZ_IN_STORAGE(OF) "$from = choose(given($storage_offset), $storage_offset, offset(" OF ")) - offset(" OF ") "
#define LENZ_AS_STRIDED \
  R"(
  %memory = memory(%self)
  if is_placed(%memory) or not is_dense(%memory) {
    %there = laid_as(%memory, %out)
    %out[$i] = shown(%self, %there[$i])
  } else {
    for $i in shape(%out) {
      $at = offset(%out) - offset(%memory)
      each $n, $k in shape(%out) { $at = $at + at($i, $k) * stride(%out, $k) }
      %out[$i] = shown(%self, %memory[at_storage(%memory, $at)])
    }
  })"
inline constexpr std::string_view kAsStridedLoops = LENZ_AS_STRIDED;
// Sizes and strides that are a reshape's, as those of definitions are, say the same elements in the same order.
inline constexpr std::string_view kReshapeAliasLoops =
    "if lies_as(%self, %out) { " LENZ_RESHAPED " } else {" LENZ_AS_STRIDED " }";
inline constexpr std::string_view kViewDtypeLoops = R"(
  if not shape_changes(%self, %out) { %out[$i] = bits_as(%self[$i], dtype(%out)) } else {
    $from = dtype(%self)
    $d = dtype(%out)
    if is_complex($from) or is_complex($d) or $from == bool or $d == bool { extern() }
    $a = item_size($from)
    $b = item_size($d)
    for $i in shape(%out) {
      $last = at($i, -1)
      if $a > $b {
        $r = $a // $b
        whole = to(bits_as(%self[replaced($i, len($i) - 1, $last // $r)], bits_dtype($from)), i64)
        bits = bitwise_right_shift(whole, to(($last % $r) * ($b * 8), i64))
      } else {
        bits = to(0, i64)
        each $k in range(0, $b // $a) {
          part = to(bits_as(%self[replaced($i, len($i) - 1, $last * ($b // $a) + $k)], bits_dtype($from)), i64)
          part = bitwise_and(part, to(choose($a == 1, 255, choose($a == 2, 65535, 4294967295)), i64))
          bits = bitwise_or(bits, bitwise_left_shift(part, to($k * $a * 8, i64)))
        }
      }
      %out[$i] = bits_as(to(bits, bits_dtype($d)), $d)
    }
  })";
inline constexpr std::string_view kConjLoops = "%out[$i] = conj_physical(%self[$i])";
inline constexpr std::string_view kNegViewLoops = "%out[$i] = neg(%self[$i])";
inline constexpr std::string_view kAsRealLoops = R"(
  for $i in shape(%out) {
    x = %self[first($i, rank(%self))]
    %out[$i] = where(at($i, -1) == 0, real(x), imag(x))
  })";
inline constexpr std::string_view kAsComplexLoops = "%out[$i] = complex(wide(%self[$i, 0]), wide(%self[$i, 1]))";

// Lists of parts, one after the other.

// Self, but for the part that src stands in. Where places of self coincide what is written last stays, and that follows
// the order in which a host walks strides: then it is the host's.
#define LENZ_APART "if overlaps(%out) { extern() } "
inline constexpr std::string_view kSliceScatterLoops = LENZ_APART LENZ_SLICE R"(
  if given($end) { $e = $end } else { $e = $n }
  $e = min(max(from_start($e, $n), $s), $n)
  for $i in shape(%out) {
    $k = at($i, $d) - $s
    inside = $k >= 0 and $k < $e - $s and $k % $step == 0
    %out[$i] = masked(inside, to(%src[replaced($i, $d, $k // $step)], dtype(%out)), %self[$i])
  })";
inline constexpr std::string_view kDiagonalScatterLoops = LENZ_APART LENZ_DIAGONAL R"(
  for $i in shape(%out) {
    $k = at($i, $a) - $down
    inside = $k >= 0 and $k == at($i, $b) - $along
    %out[$i] = masked(inside, to(%src[concat(without($i, [$a, $b]), [$k])], dtype(%out)), %self[$i])
  })";
// In the memory of the result, which lies as the operand does but where eager copies that first. What is written
// between its elements nobody sees.
inline constexpr std::string_view kAsStridedScatterLoops = LENZ_IN_STORAGE("%out") R"(
  if strays(%out, $size, $stride, $from + offset(%out)) { extern() }
  %out[$i] = %self[$i]
  for $i in shape(%src) {
    $at = $from
    each $s, $k in $stride { $at = $at + at($i, $k) * $s }
    if step(%out) == 1 { %out[at_storage(%out, $at)] put= %src[$i] } else {
      when divides([$at], [step(%out)]) { %out[at_storage(%out, $at)] put= %src[$i] }
    }
  })";
inline constexpr std::string_view kUnfoldBackwardLoops = R"(
  %t = temporary(accumulates(dtype(%out)), shape(%out))
  %t[$i] = to(0, dtype(%t))
  if rank(%out) == 0 {
    for $i in shape(%grad_in) { %t[[]] += %grad_in[$i] }
  } else {
    $d = wrap($dim, rank(%out))
    $windows = max(size(%out, $d) - $size, 0) // $step + 1
    for $i in concat(replaced(shape(%out), $d, $windows), [min($size, size(%out, $d))]) {
      $g = broadcast_at($i, shape(%grad_in))
      when within($g, shape(%grad_in)) {
        %t[replaced(first($i, rank(%out)), $d, at($i, $d) * $step + at($i, -1))] += %grad_in[$g]
      }
    }
  }
  %out[$i] = %t[$i])";

inline constexpr std::string_view kFlipLoops = R"(
  for $i in shape(%out) {
    $j = $i
    each $d in $dims { if rank(%self) > 0 { $j = replaced($j, $d, size(%self, $d) - 1 - at($i, $d)) } }
    %out[$i] = %self[$j]
  })";
// All elements as one line are two pieces, each as it lies; of open sizes that would be more than is proved.
inline constexpr std::string_view kRollLoops = R"(
  $n = max(numel(%self), 1)
  if (len($dims) == 0 or (len($dims) == 1 and rank(%self) == 1)) and is_constant($n) {
    $s = at($shifts, 0) % $n
    for $k < numel(%self) - $s {
      %out[reshaped([$k + $s], [$n], shape(%out))] = %self[reshaped([$k], [$n], shape(%self))]
    }
    for $k < $s {
      %out[reshaped([$k], [$n], shape(%out))] = %self[reshaped([$k + $n - $s], [$n], shape(%self))]
    }
  } else {
    for $i in shape(%out) {
      if len($dims) == 0 {
        $j = reshaped([(raveled($i, shape(%self)) - at($shifts, 0)) % $n], [$n], shape(%self))
      } else {
        $j = $i
        each $d, $k in $dims {
          $j = replaced($j, $d, (at($j, $d) - at($shifts, $k)) % max(size(%self, $d), 1))
        }
      }
      %out[$i] = %self[$j]
    }
  })";
// Row j stands as often as `repeats` says: the row of place t is how many sums of repeats t has passed.
// A number below zero has no place among the one of `%none`: eager refuses it, `where` it looks at it.
#define LENZ_REPEATS_WHERE(x, where) "to(" x ", i64) + %none[position(to(to(" x ", i64) < 0, i64)" where ", 1)]"
#define LENZ_REPEATS(x) LENZ_REPEATS_WHERE(x, "")
// Where a size hangs on the total that sum looks, for who asks for the size alone reads nothing else; where the size is
// given the sums look, which whoever asks for an element reads.
#define LENZ_REPEATS_OF_ROW "%repeats[choose(rank(%repeats) == 0, [], [$t])]"
#define LENZ_REPEATED(of) \
  "$n = numel(%repeats) "                                                                                      \
  "%none = temporary(i64, [1]) %none[$z] = 0 "                                                                 \
  "%sums = temporary(i64, [$n]) "                                                                              \
  "if given($output_size) { for scan $t < $n { s = scan sum(" LENZ_REPEATS(LENZ_REPEATS_OF_ROW) ") %sums[$t] = s } } " \
  "else { for scan $t < $n { s = scan sum(to(" LENZ_REPEATS_OF_ROW ", i64)) %sums[$t] = s } "                  \
  "%total = temporary(i64, []) "                                                                               \
  "for reduce $t < $n { s = reduce sum(" LENZ_REPEATS(LENZ_REPEATS_OF_ROW) ") %total[[]] = s } "               \
  "bind(%total, " of ") } "
// Each sum is marked where it is passed, and the marks are added up: as many steps as rows and places.
#define LENZ_PASSED(rows, many)                                                \
  "%marks = temporary(i64, [" many "]) for $t < " many                         \
  " { %marks[$t] = 0 } "                                                       \
  "for $k < $n { when %sums[$k] < " many " { %marks[position(%sums[$k], " many \
  ")] += 1 } } "                                                               \
  "for scan $t < " many " { c = scan sum(%marks[$t]) " rows "[$t] = c } "
inline constexpr std::string_view kRepeatsLoops = LENZ_REPEATED("size(%out, 0)") LENZ_PASSED("%out", "size(%out, 0)");
// One number of repeats is that of each row: of none eager does not look at it.
inline constexpr std::string_view kRepeatInterleaveLoops = R"(
  $flat = not given($dim)
  if $flat { $d = 0 $rows = numel(%self) } else { $d = wrap($dim, rank(%self)) $rows = size(%self, $d) }
  $one = rank(%repeats) == 0 or (size(%repeats, 0) != $rows and numel(%repeats) == 1)
  if $one {
    $only = list(rank(%repeats), 0)
    %total = temporary(i64, [])
    %none = temporary(i64, [1])
    %none[$z] = 0
    for $none in [] { %total[[]] = ()" LENZ_REPEATS_WHERE("%repeats[$only]",
                                                          " * to(min($rows, 1), i64)") R"() * to($rows, i64) }
    if not given($output_size) { bind(%total, size(%out, $d)) }
    %row = temporary(i64, [size(%out, $d)])
    %row[$t] = floor_divide(to(at($t, 0), i64), )" LENZ_REPEATS("%repeats[$only]") R"()
  } else {)" LENZ_REPEATED("size(%out, $d)") R"(
    %row = temporary(i64, [size(%out, $d)]))" LENZ_PASSED("%row", "size(%out, $d)") R"(
  }
  for $i in shape(%out) {
    if $flat {
      $j = reshaped([position(%row[at($i, 0)], numel(%self))], [numel(%self)], shape(%self))
    } else {
      $j = replaced($i, $d, position(%row[at($i, $d)], size(%self, $d)))
    }
    %out[$i] = %self[$j]
  })";

// Where all tensors are bare [0], eager takes any dim.
inline constexpr std::string_view kCatLoops = R"(
  if rank(%out) == 1 { $d = 0 } else { $d = wrap($dim, rank(%out)) }
  $before = 0
  each %x in $tensors {
    if rank(%x) == rank(%out) {
      for $i in shape(%x) { %out[replaced($i, $d, at($i, $d) + $before)] = %x[$i] }
      $before = $before + size(%x, $d)
    }
  })";

#undef LENZ_RESHAPED
#undef LENZ_AS_STRIDED
#undef LENZ_SLICE
#undef LENZ_SELECT
#undef LENZ_DIAGONAL
#undef LENZ_ON_DIAGONAL
#undef LENZ_BOTH
#undef LENZ_IN_STORAGE
#undef LENZ_REPEATED
#undef LENZ_REPEATS_OF_ROW
#undef LENZ_PASSED
#undef LENZ_APART

}  // namespace lenz
