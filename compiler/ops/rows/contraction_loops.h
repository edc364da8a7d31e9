// What the loops of products and convolutions compute, in the notation of compiler/lower/NOTATION.md.
#pragma once

#include <string_view>

namespace lenz {

// x * y as matrix products multiply: complex numbers by their parts, with the NaNs that infinities leave.
#define LENZ_TIMES(x, y)                                                                                        \
  "choose(is_complex($a), complex(real(" x ") * real(" y ") - imag(" x ") * imag(" y "), real(" x ") * imag(" y \
  ") + imag(" x ") * real(" y ")), " x " * " y ")"
// The product `x` * `y`, of complex numbers part by part, summed over the axes `sums` at each place $i, then stored as
// `stored` of the sum s.
#define LENZ_PRODUCT(sums, x, y, stored)                                            \
  "$a = accumulates(dtype(%out)) "                                                  \
  "for $i in shape(%out), " sums                                                    \
  " as matmul { "                                                                   \
  "  x = to(" x ", $a) y = to(" y                                                   \
  ", $a) "                                                                          \
  "  if is_complex($a) { "                                                          \
  "    s = complex(reduce sum(real(x) * real(y)) - reduce sum(imag(x) * imag(y)), " \
  "        reduce sum(real(x) * imag(y)) + reduce sum(imag(x) * real(y))) "         \
  "  } else { s = reduce sum(x * y) } " stored " }"
#define LENZ_STORED "%out[$i] = s"
#define LENZ_ADDEND                                    \
  "b = to(%self[broadcast_at($i, shape(%self))], $a) " \
  "if $beta != 1 { f = to($beta, $a) b = " LENZ_TIMES("f", "b") " } "
// beta * self + alpha * s. What beta = 0 takes nothing of may be anything, and so may alpha where there is no term. A
// number that only the run knows decides there.
#define LENZ_ADDED(terms) \
  "$some = true if is_constant(" terms ") { $some = " terms " != 0 } "                                               \
  "if not $alpha_known { g = to($alpha, $a) if $some { s = " LENZ_TIMES("g", "s") " } } "                            \
  "else if $some and $alpha != 1 { f = to($alpha, $a) s = " LENZ_TIMES("f", "s") " } "                               \
  "if not is_constant(" terms ") and not is_finite($alpha) and not is_integral($a) { "                               \
  "  s = where(" terms " == 0, 0, s) } "                                                                             \
  "if $beta_known { "                                                                                                \
  "  if $beta != 0 { " LENZ_ADDEND                                                                                   \
  "    if $skips and not $alpha_known { s = where(g == 0, b, b + s) } else { s = b + s } } "                         \
  "  else { if $skips and not $alpha_known { s = where(g == 0, 0, s) } } "                                           \
  "} else { "                                                                                                        \
  "  b = to(%self[broadcast_at($i, shape(%self))], $a) f = to($beta, $a) b = " LENZ_TIMES("f", "b")                  \
  "  if $skips and not $alpha_known { s = where(g == 0, where(f == 0, 0, b), where(f == 0, s, b + s)) } "            \
  "  else { s = where(f == 0, s, b + s) } "                                                                          \
  "} "                                                                                                               \
  "%out[$i] = s"
#define LENZ_KNOWN                                                       \
  "$alpha_known = is_constant($alpha) $beta_known = is_constant($beta) " \
  "$alpha = without_imaginary($alpha) $beta = without_imaginary($beta) "
// And, but for products of batches and of narrow floats, what alpha = 0 takes nothing of. Both are numbers of what is
// summed in: 1e-50 is 0.
#define LENZ_UNLESS_NOTHING(product) \
  "$a = accumulates(dtype(%out)) "                           \
  LENZ_KNOWN "$skips = dtype(%out) == $a "                   \
  "if $alpha_known { $alpha = without_imaginary(rounded($alpha, $a)) } " \
  "if $beta_known { $beta = without_imaginary(rounded($beta, $a)) } " \
  "if choose($alpha_known, $alpha, 1) != 0 or not $skips { " product \
  " } else { "                                               \
  "  for $i in shape(%out) { "                                \
  "    if not $beta_known { "                                 \
  "      f = to($beta, $a) b = to(%self[broadcast_at($i, shape(%self))], $a) b = " LENZ_TIMES("f", "b") \
  "      %out[$i] = where(f == 0, 0, b) "                      \
  "    } else if $beta == 0 { %out[$i] = 0 } else { " LENZ_ADDEND " %out[$i] = b } } }"
#define LENZ_MATRICES(x, y) "reduce $k < size(" x ", 1)", x "[at($i, 0), $k]", y "[$k, at($i, 1)]"
#define LENZ_BATCHES(x, y) "reduce $k < size(" x ", 2)", x "[at($i, 0), at($i, 1), $k]", y "[at($i, 0), $k, at($i, 2)]"

// Arguments of a macro are counted before what they stand for.
#define LENZ_PRODUCT_OF(operands, stored) LENZ_PRODUCT_OF_(operands, stored)
#define LENZ_PRODUCT_OF_(sums, x, y, stored) LENZ_PRODUCT(sums, x, y, stored)

inline constexpr std::string_view kMmLoops = LENZ_PRODUCT_OF(LENZ_MATRICES("%self", "%mat2"), LENZ_STORED);
inline constexpr std::string_view kAddmmLoops =
    LENZ_UNLESS_NOTHING(LENZ_PRODUCT_OF(LENZ_MATRICES("%mat1", "%mat2"), LENZ_ADDED("size(%mat1, 1)")));
inline constexpr std::string_view kBmmLoops = LENZ_PRODUCT_OF(LENZ_BATCHES("%self", "%mat2"), LENZ_STORED);
inline constexpr std::string_view kBaddbmmLoops =
    LENZ_KNOWN "$skips = false " LENZ_PRODUCT_OF(LENZ_BATCHES("%batch1", "%batch2"), LENZ_ADDED("size(%batch1, 2)"));

#undef LENZ_PRODUCT_OF_
#undef LENZ_PRODUCT_OF
#undef LENZ_BATCHES
#undef LENZ_MATRICES
#undef LENZ_UNLESS_NOTHING
#undef LENZ_ADDED
#undef LENZ_KNOWN
#undef LENZ_ADDEND
#undef LENZ_STORED
#undef LENZ_PRODUCT
#undef LENZ_TIMES

// A kernel meets the padded input; transposed, each element of the input spreads the kernel over the result. Only each
// stride-th tap of a kernel without holes reaches a place: the others are not visited. No group reaches beyond the last
// channel, which `min` says to those who cannot know that groups divide them.
inline constexpr std::string_view kConvolutionLoops = R"(
  $n = rank(%input) - 2
  $stride = spread($stride, $n)
  $padding = spread($padding, $n)
  $dilation = spread($dilation, $n)
  $sizes = drop(shape(%input), 2)
  $a = accumulates(dtype(%out))
  $ins = size(%input, 1) // $groups
  $outs = size(%out, 1) // $groups
  $taps = drop(shape(%weight), 2)
  $dense = $dilation == list($n, 1)
  for $i in shape(%out), reduce $c < $ins,
      reduce $k in choose($transposed and $dense, ($taps + $stride - 1) // $stride, $taps) as convolution {
    $o = at($i, 1)
    if $groups == 1 { $channel = $c }
    else { $channel = min($o // $outs * $ins + $c, size(%input, 1) - 1) }
    if $transposed {
      $from = drop($i, 2) + $padding
      if $dense {
        $tap = $from % $stride + $k * $stride
        $at = $from // $stride - $k
        meets = within($tap, $taps)
      } else {
        $tap = $k
        $at = ($from - $k * $dilation) // $stride
        meets = divides($from - $k * $dilation, $stride)
      }
      inside = meets and within($at, $sizes)
      x = masked(inside, to(%input[at($i, 0), $channel, $at], $a) * to(%weight[$channel, $o % $outs, $tap], $a), 0)
    } else {
      $at = drop($i, 2) * $stride - $padding + $k * $dilation
      x = masked(within($at, $sizes), to(%input[at($i, 0), $channel, $at], $a), 0) * to(%weight[$o, $c, $k], $a)
    }
    s = reduce sum(x)
    if given($bias) { s = s + to(%bias[$o], $a) }
    %out[$i] = s
  })";

// Norms of the differences of all pairs of rows, the lesser row's pairs first.
inline constexpr std::string_view kPdistLoops = R"(
  $n = size(%self, 0)
  for $x < $n, $y < $n, reduce $k < size(%self, 1) {
    d = abs(%self[$x, $k] - %self[$y, $k])
    if $p == 0 { s = reduce sum(minimum(ceil(d), 1)) }
    else if $p == 1 { s = reduce sum(d) }
    else if $p == 2 { q = reduce sum(d * d) s = sqrt(q) }
    else if $p == inf { m = reduce maximum(d) s = maximum(m, 0) }
    else { q = reduce sum(pow(d, $p)) s = pow(q, 1 / $p) }
    when $x < $y {
      $at = position(to($n * $x - $x * ($x + 1) // 2 + $y - $x - 1, i64), size(%out, 0))
      %out[$at] = s
    }
  })";

}  // namespace lenz
