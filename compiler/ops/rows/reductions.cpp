// Reductions: to one element, or over dims. Eager's results are contiguous whatever the operand's layout.
#include "compiler/ops/make/reduction.h"

#include "compiler/ops/decompose.h"
#include "compiler/ops/rows/families.h"
#include "compiler/ops/rows/reduction_loops.h"
#include "compiler/ops/rules/reduction.h"

namespace lenz {

namespace {
constexpr DtypeSet kFloatOrComplex = dtypes::floats | dtypes::complexes;

Row with_loops(Row row, std::string_view loops) {
  row.loops = loops;
  return row;
}

constexpr std::string_view kConverted =
    "with a dtype given, or over no elements or memory with gaps, eager takes float8: `has no kernel for f8`, "
    "`float8 is not supported`, `needs a floating dtype`; over none complex numbers too: `complex numbers are not`";
constexpr std::string_view kAnyFloats =
    "eager computes in whatever floats the out= tensor is of: `can't be stored as the type of`, `has no kernel for f8`";

void sums(RowSink& t) {
  using enum Trait;
  const Row sum{.variants = {.out = "out", .out_rule = OutRule::same_dtype},
                .traits = reduction | core,
                .infer = rule::sum_like,
                .generate = make::reduction,
                .accuracy = Accuracy::accumulated,
                .raises = "a dim is named twice",
                .exception = kConverted};
  auto with_out = [](Row row, std::string_view out) {
    row.variants.out = out;
    return row;
  };
  t.row("sum(Tensor self, *, ScalarType? dtype=None) -> Tensor", with_loops(sum, kSumAllLoops));
  t.row("sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
        with_loops(with_out(sum, "IntList_out"), kSumLoops));
  Row prod = sum;
  prod.flow = {.terms = ErrorFlow::factors, .in_storage = "always"};
  t.row("prod(Tensor self, *, ScalarType? dtype=None) -> Tensor", with_loops(prod, kProdAllLoops));
  t.row("prod.dim_int(Tensor self, int dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
        with_loops(with_out(prod, "int_out"), kProdLoops));
  t.row("nansum(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
        {.variants = {.out = "out", .out_rule = OutRule::same_dtype},
         .traits = reduction,
         .infer = rule::nansum,
         .generate = make::reduction,
         .dtypes = dtypes::real_and_bool,
         .accuracy = Accuracy::accumulated,
         .flow = {.in_storage = "in several steps"},
         .raises = "complex numbers",
         .decompose = R"(
           if is_integral(%self) { return aten.sum.dim_IntList(%self, $dim, $keepdim, dtype=$dtype) }
           return aten.sum.dim_IntList(aten.where(aten.isnan(%self), 0.0, %self), $dim, $keepdim, dtype=$dtype))",
         .exception = kConverted});

  const Row mean{.variants = {.out = "dtype_out", .out_rule = OutRule::same_dtype},
                 .traits = reduction,
                 .infer = rule::mean_like,
                 .generate = make::reduction,
                 .dtypes = dtypes::usual,
                 .computes = kFloatOrComplex,
                 .accuracy = Accuracy::accumulated,
                 .raises = "integers without `dtype`",
                 .exception =
                     "with a dtype given eager takes f8e4m3 and f8e5m2 too; over no elements unchecked: `needs "
                     "a floating or complex dtype`"};
  // What f16 has no room for as a sum it may have as a mean: everybody keeps the sum wider.
  auto widened = [](const std::string& sum, const std::string& count) {
    return "$d = result_dtype() $wide = compute_dtype($d) "
           "if dtype(%self) == $wide { %x = %self } else { %x = aten._to_copy(%self, dtype=$wide) } "
           "%m = aten.div(" +
           sum + ", " + count + ") if $d == $wide { return %m } return aten._to_copy(%m, dtype=$d)";
  };
  t.row("mean(Tensor self, *, ScalarType? dtype=None) -> Tensor",
        meaning(widened("aten.sum(%x)", "numel(%self)"), mean));
  t.row("mean.dim(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
        meaning(widened("aten.sum.dim_IntList(%x, $dim, $keepdim)", "count(%self, $dim)"), with_out(mean, "out")));
  t.row("nanmean(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
        {.variants = {.out = "out", .out_rule = OutRule::same_dtype},
         .traits = reduction,
         .infer = rule::nanmean,
         .generate = make::reduction,
         .dtypes = dtypes::floats,
         .accuracy = Accuracy::accumulated,
         .flow = {.in_storage = "in several steps"},
         .raises = "integers and complex numbers",
         .decompose = R"(
           %there = aten.sum.dim_IntList(aten.logical_not(aten.isnan(%self)), $dim, $keepdim)
           return aten.div(aten.nansum(%self, $dim, $keepdim, dtype=$dtype), %there))",
         .exception = kConverted});

  t.row("count_nonzero.dim_IntList(Tensor self, int[] dim) -> Tensor",
        {.variants = {.out = "dim_IntList_out", .out_rule = OutRule::same_dtype},
         .traits = reduction,
         .infer = rule::count_nonzero,
         .generate = make::reduction,
         .dtypes = dtypes::all,
         .raises = "a dim is named twice",
         .decompose = "return aten.sum.dim_IntList(aten.ne(%self, 0), $dim)"});
  t.row("count_nonzero(Tensor self, int? dim=None) -> Tensor",
        {.variants = {.out = "out", .out_rule = OutRule::same_dtype},
         .traits = reduction,
         .infer = rule::count_nonzero,
         .generate = make::reduction,
         .dtypes = dtypes::all,
         .raises = "float8 without a dim",
         .decompose = R"(
    if given($dim) { return aten.sum.dim_IntList(aten.ne(%self, 0), [$dim]) }
    return aten.sum(aten.ne(%self, 0)))"});
  t.row("trace(Tensor self) -> Tensor", {.variants = {.out = "out", .out_rule = OutRule::same_dtype},
                                         .traits = reduction,
                                         .infer = rule::trace,
                                         .generate = make::matrix,
                                         .dtypes = dtypes::usual - dtypes::boolean - dtypes::half - dtypes::bfloat,
                                         .accuracy = Accuracy::accumulated,
                                         .raises = "not a matrix",
                                         .decompose = "return aten.sum(aten.diagonal(%self))"});
}

constexpr std::string_view kAnyOrder =
    "of a scalar, of one place or of no elements any dtype will do: `has no kernel for c`, `has no kernel for f8`";

void extrema(RowSink& t) {
  using enum Trait;
  const Row all{.variants = {.out = "unary_out"},
                .traits = reduction | core,
                .infer = rule::extremum,
                .generate = make::reduction_nonempty,
                .dtypes = dtypes::real_and_bool,
                .raises = "an empty reduction",
                .exception = kAnyOrder};
  Row whole = all;
  whole.exception =
      "of no elements out= stays as it is: `the tensor is empty`; of a scalar any dtype will do: `has no kernel for`; "
      "whether integers of out= hold the result its meaning does not ask: `without overflow`";
  t.row("max(Tensor self) -> Tensor", with_loops(whole, kMaxAllLoops));
  t.row("min(Tensor self) -> Tensor", with_loops(whole, kMinAllLoops));
  Row over_dims = all;
  over_dims.variants = {.out = "out", .out_rule = OutRule::same_dtype};
  t.row("amax(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor", with_loops(over_dims, kMaxLoops));
  t.row("amin(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor", with_loops(over_dims, kMinLoops));
  t.row("aminmax(Tensor self, *, int? dim=None, bool keepdim=False) -> (Tensor min, Tensor max)",
        {.variants = {.out = "out", .out_rule = OutRule::same_dtype},
         .traits = reduction,
         .infer = rule::extremum_pair,
         .generate = make::reduction_nonempty,
         .dtypes = dtypes::real_and_bool,
         .raises = "an empty reduction",
         .decompose = R"(
           if given($dim) { $dims = [$dim] } else { $dims = [] }
           return aten.amin(%self, $dims, $keepdim), aten.amax(%self, $dims, $keepdim))",
         .exception = kAnyOrder});
  Row index = all;
  index.variants = {.out = "out", .out_rule = OutRule::same_dtype};
  index.infer = rule::arg_extremum;
  index.dtypes = dtypes::real;
  index.flow.extreme_index = true;
#define LENZ_PLACE_OF(extremum)                   \
  "if given($dim) { %v, %i = aten." extremum      \
  ".dim(%self, $dim, $keepdim) return %i } "      \
  "%v, %i = aten." extremum                       \
  ".dim(aten.reshape(%self, [numel(%self)]), 0) " \
  "return aten.view(%i, result_shape())"
  t.row("argmax(Tensor self, int? dim=None, bool keepdim=False) -> Tensor", meaning(LENZ_PLACE_OF("max"), index));
  t.row("argmin(Tensor self, int? dim=None, bool keepdim=False) -> Tensor", meaning(LENZ_PLACE_OF("min"), index));
#undef LENZ_PLACE_OF

  Row pair{.variants = {.out = "dim_max", .out_params = "max max_values", .out_rule = OutRule::same_dtype},
           .traits = reduction | core,
           .infer = rule::value_and_index,
           .generate = make::reduction_nonempty,
           .dtypes = dtypes::real_and_bool,
           .raises = "an empty dim",
           .exception = kAnyOrder};
  t.row("max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
        with_loops(pair, kMaxPairLoops));
  pair.variants = {.out = "dim_min", .out_params = "min min_indices", .out_rule = OutRule::same_dtype};
  t.row("min.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
        with_loops(pair, kMinPairLoops));
  pair.variants = {.out = "dim_values", .out_rule = OutRule::same_dtype};
  pair.dtypes = dtypes::real;
  pair.flow.ties_open = true;
// Sorted, %v and %p, then looked up. NaNs stand last.
#define LENZ_OF_SCALAR \
  "if rank(%self) == 0 { return aten.clone(%self), aten.full([], 0, dtype=i64, device=device(%self)) } "
#define LENZ_MEDIAN                                                                      \
  "%v, %p = aten.sort(%self, $dim) "                                                     \
  "$n = size(%self, $dim) "                                                              \
  "%x = aten.select(%v, $dim, ($n - 1) // 2) %i = aten.select(%p, $dim, ($n - 1) // 2) " \
  "if is_float(%self) { "                                                                \
  "  %last = aten.select(%v, $dim, $n - 1) %nan = aten.isnan(%last) "                    \
  "  %x = aten.where(%nan, %last, %x) "                                                  \
  "  %i = aten.where(%nan, aten.select(%p, $dim, $n - 1), %i) "                          \
  "} "
#define LENZ_NANMEDIAN                                                    \
  "%v, %p = aten.sort(%self, $dim) "                                      \
  "%numbers = aten.sum(aten.logical_not(aten.isnan(%v)), [$dim], true) "  \
  "%at = aten.clamp_min(aten.floor_divide(aten.sub(%numbers, 1), 2), 0) " \
  "%x = aten.gather(%v, $dim, %at) %i = aten.gather(%p, $dim, %at) "
  Row median = pair;
  median.generate = make::median;
  median.exception = "along a dim of stride 0 eager reads what lies behind the tensor: calls have none";
  t.row("median.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
        meaning(LENZ_OF_SCALAR LENZ_MEDIAN R"(
          if $keepdim { return aten.unsqueeze(%x, $dim), aten.unsqueeze(%i, $dim) }
          return %x, %i)",
                median));
  t.row("nanmedian.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)", meaning(R"(
          if not is_float(%self) {
            %x, %i = aten.median.dim(%self, $dim, $keepdim)
            return %x, %i
          } )" LENZ_OF_SCALAR LENZ_NANMEDIAN R"(
          if $keepdim { return %x, %i }
          return aten.squeeze(%x, $dim), aten.squeeze(%i, $dim))",
                                                                                                              median));
  const Row middle{.variants = {.out = "out", .out_rule = OutRule::same_dtype},
                   .traits = reduction | core,
                   .infer = rule::extremum,
                   .generate = make::reduction_nonempty,
                   .dtypes = dtypes::real,
                   .exception = "of no elements eager gives NaN or the least integer: `the tensor is empty`"};
  t.row("median(Tensor self) -> Tensor",
        meaning(R"(%v, %i = aten.median.dim(aten.contiguous(aten.reshape(%self, [numel(%self)])), 0) return %v)",
                middle));
  // Which place is asked for is known before anything is sorted, so that it is found rather than all put in order.
  t.row("nanmedian(Tensor self) -> Tensor", meaning(R"(
          if not is_float(%self) { return aten.median(%self) }
          %x = aten.contiguous(aten.reshape(%self, [numel(%self)]))
          %numbers = aten.sum(aten.logical_not(aten.isnan(%x)))
          $place = aten._local_scalar_dense(aten.clamp_min(aten.floor_divide(aten.sub(%numbers, 1), 2), 0))
          %v, %p = aten.sort(%x, 0)
          return aten.clone(aten.select(%v, 0, $place)))",
                                                    middle));
  pair.variants = {.out = "values", .out_rule = OutRule::same_dtype};
  pair.dtypes = dtypes::real_and_bool;
  Row mode = pair;
  mode.flow = {.kind = ErrorFlow::opaque, .ties_open = true};
  t.row("mode(Tensor self, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)",
        with_loops(mode, kModeLoops));
  pair.generate = make::kthvalue;
  pair.dtypes = dtypes::real;
  t.row("kthvalue(Tensor self, SymInt k, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)",
        meaning(LENZ_OF_SCALAR R"(
          %v, %p = aten.sort(%self, $dim)
          %x = aten.select(%v, $dim, $k - 1)
          %i = aten.select(%p, $dim, $k - 1)
          if $keepdim { return aten.unsqueeze(%x, $dim), aten.unsqueeze(%i, $dim) }
          return %x, %i)",
                pair));
#undef LENZ_OF_SCALAR
#undef LENZ_MEDIAN
#undef LENZ_NANMEDIAN

  Row logical{.variants = {.out = "all_out", .out_rule = OutRule::same_dtype},
              .traits = reduction | core,
              .infer = rule::any_all,
              .generate = make::reduction,
              .dtypes = dtypes::all};
  logical.exception = "of u8 an out= tensor may be of bools too: `result type u8 can't be stored as`";
  t.row("any(Tensor self) -> Tensor", with_loops(logical, kAnyAllLoops));
  // All are true of which none is false.
#define LENZ_ALL(more)                                    \
  "%y = aten.logical_not(aten.any(aten.eq(%self, 0)" more \
  ")) "                                                   \
  "if result_dtype() != bool { return aten._to_copy(%y, dtype=result_dtype()) } return %y"
  t.row("all(Tensor self) -> Tensor", meaning(LENZ_ALL(""), logical));
  logical.variants.out = "out";
  t.row("any.dim(Tensor self, int dim, bool keepdim=False) -> Tensor", with_loops(logical, kAnyLoops));
  t.row("all.dim(Tensor self, int dim, bool keepdim=False) -> Tensor", meaning(LENZ_ALL(", $dim, $keepdim"), logical));
  logical.variants.out = "dims_out";
  logical.traits = logical.traits | empty_dims_keep;
  t.row("any.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor", with_loops(logical, kAnyDimsLoops));
  t.row("all.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor",
        meaning(LENZ_ALL(", $dim, $keepdim"), logical));
#undef LENZ_ALL
}

void moments(RowSink& t) {
  using enum Trait;
  Row var{.variants = {.out_rule = OutRule::same_dtype},
          .traits = reduction,
          .infer = rule::variance,
          .generate = make::variance,
          .dtypes = kFloatOrComplex,
          .accuracy = Accuracy::accumulated,
          .raises = "integers",
          .exception = kAnyFloats};
  Row both = var;
  both.infer = rule::variance_and_mean;
  Row wide = var;  // squares leave f16 long before their root does, and eager keeps them wider
  wide.wide_steps = true;
  // Overloads of one op: what each hands to the last.
  constexpr std::string_view kUnbiased = "if $unbiased { $c = 1 } else { $c = 0 } ";
  auto four = [&](const std::string& last) {
    std::string name = last.substr(0, last.find('.'));
    bool pair = name.ends_with("_mean");
    Row row = pair ? both : var;
    std::string result = pair ? ") -> (Tensor, Tensor)" : ") -> Tensor";
    std::string call = pair ? "%v, %m = aten." + last : "%v = aten." + last;
    std::string back = pair ? " return %v, %m" : " return %v";
    std::string whole = std::string(kUnbiased) + call + "(%self, none, correction=$c)" + back;
    std::string dims = std::string(kUnbiased) + call + "(%self, $dim, correction=$c, keepdim=$keepdim)" + back;
    t.row(name + "(Tensor self, bool unbiased=True" + result, meaning(whole, row));
    if (!pair) row.variants.out = "out";
    t.row(name + ".dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False" + result, meaning(dims, row));
  };
  auto corrected = [&](std::string_view name, const Row& row, std::string_view definition) {
    Row last = row;
    last.variants.out = "correction_out";
    bool pair = name.ends_with("_mean");
    t.row(std::string(name) +
              ".correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> " +
              (pair ? "(Tensor, Tensor)" : "Tensor"),
          meaning(definition, last));
    four(std::string(name) + ".correction");
  };
  // Eager takes what is left of the count where that is above zero, which no NaN is, and else zero; and of complex
  // numbers each part's variance: an infinite one and one of nothing by nothing are none together.
  corrected("var", wide, R"(
    if given($correction) { $c = $correction } else { $c = 1 }
    if is_complex(%self) {
      %re = aten.var.correction(aten.real(%self), $dim, correction=$c, keepdim=$keepdim)
      return aten.add(%re, aten.var.correction(aten.imag(%self), $dim, correction=$c, keepdim=$keepdim))
    }
    %apart = aten.sub(%self, aten.mean.dim(%self, $dim, true))
    %sum = aten.sum.dim_IntList(aten.mul(%apart, %apart), $dim, $keepdim)
    if ($c < 0 or not is_open(count(%self, $dim))) and count(%self, $dim) == 0 { return aten.full_like(%sum, nan) }
    if $c >= 1 and not is_open(count(%self, $dim)) and count(%self, $dim) == 1 { return aten.full_like(%sum, nan) }
    if $c != $c { return aten.div(%sum, 0) }
    if is_constant(count(%self, $dim)) or (fits($c, i32) and $c == $c // 1) {
      return aten.div(%sum, max(count(%self, $dim) - $c, 0))
    }
    $d = compute_dtype(%sum)
    %n = aten.clamp_min(aten.sub(aten.full([], count(%self, $dim), dtype=f64, device=device(%self)), $c), 0)
    return aten._to_copy(aten.div(aten._to_copy(%sum, dtype=$d), aten._to_copy(%n, dtype=$d)), dtype=dtype(%sum)))");
  corrected("std", wide,
            "return aten.sqrt(aten.var.correction(%self, $dim, correction=$correction, keepdim=$keepdim))");
  constexpr std::string_view kMean = ", aten.mean.dim(%self, $dim, $keepdim)";
  auto with_mean = [&](std::string_view of) {
    return "return aten." + std::string(of) + ".correction(%self, $dim, correction=$correction, keepdim=$keepdim)" +
           std::string(kMean);
  };
  corrected("var_mean", both, with_mean("var"));
  corrected("std_mean", both, with_mean("std"));
}

void norms(RowSink& t) {
  using enum Trait;
  Row norm{.variants = {.out = "out", .out_rule = OutRule::same_dtype},
           .traits = reduction,
           .infer = rule::vector_norm,
           .generate = make::vector_norm,
           .dtypes = kFloatOrComplex,
           .accuracy = Accuracy::accumulated,
           .raises = "integers; a `dtype` that narrows",
           .exception =
               "over no elements a dtype goes unchecked: `needs a floating or complex dtype, not f8`; over dims of "
               "one it takes absolute values of any dtype: `has no kernel for f8`"};
  t.row(
      "linalg_vector_norm(Tensor self, Scalar ord=2, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) "
      "-> Tensor",
      widely(R"(
        if given($dtype) { %x = aten._to_copy(%self, dtype=$dtype) } else { %x = %self }
        if given($dim) { $dims = $dim } else { $dims = [] }
        %size = aten.abs(%x)
        if $ord == inf { return aten.amax(%size, $dims, $keepdim) }
        if $ord == -inf { return aten.amin(%size, $dims, $keepdim) }
        if $ord == 0 {
          return aten.sum.dim_IntList(aten.ne(%size, 0), $dims, $keepdim, dtype=dtype(%size))
        }
        if $ord == 1 { return aten.sum.dim_IntList(%size, $dims, $keepdim) }
        if $ord == 2 { return aten.sqrt(aten.sum.dim_IntList(aten.mul(%size, %size), $dims, $keepdim)) }
        %wide = aten._to_copy(%size, dtype=compute_dtype(%size))
        %sum = aten.sum.dim_IntList(aten.pow(%wide, $ord), $dims, $keepdim)
        %root = aten.div(aten.full([], 1, dtype=dtype(%wide), device=device(%self)), $ord)
        return aten._to_copy(aten.pow(%sum, %root), dtype=dtype(%size)))",
             norm));
  norm.generate = make::norm;
  t.row("norm.ScalarOpt_dim(Tensor self, Scalar? p, int[1] dim, bool keepdim=False) -> Tensor",
        meaning(
            "if given($p) { $ord = $p } else { $ord = 2 } return aten.linalg_vector_norm(%self, $ord, $dim, $keepdim)",
            norm));
  norm.variants.out = "Scalar_out";
  t.row("norm.Scalar(Tensor self, Scalar p=2) -> Tensor", meaning("return aten.linalg_vector_norm(%self, $p)", norm));
  norm.variants.out = "dtype_out";
  t.row("norm.ScalarOpt_dim_dtype(Tensor self, Scalar? p, int[1] dim, bool keepdim, *, ScalarType dtype) -> Tensor",
        meaning("if given($p) { $ord = $p } else { $ord = 2 } return aten.linalg_vector_norm(%self, $ord, $dim, "
                "$keepdim, dtype=$dtype)",
                norm));
  norm.variants.out = "ScalarOpt_dtype_out";
  t.row(
      "norm.ScalarOpt_dtype(Tensor self, Scalar? p, *, ScalarType dtype) -> Tensor",
      meaning("if given($p) { $ord = $p } else { $ord = 2 } return aten.linalg_vector_norm(%self, $ord, dtype=$dtype)",
              norm));
  t.row(
      "linalg__powsum(Tensor self, Scalar ord=2, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> "
      "Tensor",
      {.traits = reduction,
       .infer = rule::power_sum,
       .generate = make::power_sum,
       .dtypes = kFloatOrComplex,
       .accuracy = Accuracy::accumulated,
       .raises = "integers",
       .decompose = R"(
         if given($dtype) { %x = aten._to_copy(%self, dtype=$dtype) } else { %x = %self }
         if given($dim) { $dims = $dim } else { $dims = [] }
         %size = aten.abs(%x)
         %wide = aten._to_copy(%size, dtype=compute_dtype(%size))
         return aten._to_copy(aten.sum.dim_IntList(aten.pow(%wide, $ord), $dims, $keepdim), dtype=dtype(%size)))",
       .exception = "with a dtype eager converts integers first, gives a complex tensor's sum in real numbers too, or "
                    "drops its imaginary parts, and of no elements takes integers: `has no kernel for`, `must be "
                    "complex just where the tensor is`, `needs a floating or complex dtype`"});
  t.row("dist(Tensor self, Tensor other, Scalar p=2) -> Tensor",
        {.variants = {.out = "out", .out_rule = OutRule::same_dtype},
         .traits = reduction,
         .infer = rule::distance,
         .generate = make::distance,
         .dtypes = dtypes::numbers,
         .computes = kFloatOrComplex,
         .accuracy = Accuracy::accumulated,
         .raises = "integers alone",
         .decompose = "return aten.linalg_vector_norm(aten.sub(%self, %other), $p)",
         .exception = "of no elements only some orders have a norm: `norm on an empty tensor`"});
  t.row("logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor",
        {.variants = {.out = "out", .out_rule = OutRule::same_dtype},
         .traits = reduction | makes_float,
         .infer = rule::logsumexp,
         .generate = make::logsumexp,
         .accuracy = Accuracy::accumulated,
         .raises = "a dim is named twice",
         .decompose = R"(
            if is_integral(%self) { %x = aten._to_copy(%self, dtype=float_type(%self)) } else { %x = %self }
            if not is_open(numel(%x)) and numel(%x) == 0 {
              return aten.log(aten.sum.dim_IntList(aten.exp(%x), $dim, $keepdim))
            }
            if is_complex(%x) { %size = aten.real(%x) } else { %size = %x }
            if is_open(count(%x, $dim)) and len($dim) == 1 {
              %lowest = aten.full_like(aten.sum.dim_IntList(%size, $dim, true), -inf)
              %size = aten.cat([%size, %lowest], at($dim, 0))
            }
            %top = aten.amax(%size, $dim, true)
            %top = aten.where(aten.isinf(%top), 0.0, %top)
            %sum = aten.sum.dim_IntList(aten.exp(aten.sub(%x, %top)), $dim, true)
            %y = aten.add(aten.log(%sum), %top)
            if $keepdim { return %y }
            return aten.squeeze(%y, $dim))",
         .exception = kAnyFloats});
  t.alias("special_logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor", "logsumexp");
  t.row("renorm(Tensor self, Scalar p, int dim, Scalar maxnorm) -> Tensor",
        {.variants = {.in_place = true, .out = "out", .out_rule = OutRule::same_dtype},
         .traits = reduction,
         .infer = rule::renorm,
         .generate = make::renorm,
         .dtypes = kFloatOrComplex,
         .accuracy = Accuracy::accumulated,
         .raises = "rank below 2, p <= 0",
         .decompose = R"(
           $at = wrap($dim, rank(%self))
           $rest = concat(range(0, $at), range($at + 1, rank(%self)))
           %norm = aten.linalg_vector_norm(%self, $p, $rest, true)
           %factor = aten.div(aten.full_like(%norm, held($maxnorm, dtype(%norm))), aten.add(%norm, 1e-7))
           return aten.mul(%self, aten.where(aten.gt(%norm, $maxnorm), %factor, 1.0)))"});
}

void scans(RowSink& t) {
  using enum Trait;
  Row cumulative{.variants = {.in_place = true, .out = "out", .out_rule = OutRule::same_dtype},
                 .traits = scan | core,
                 .infer = rule::cumulative,
                 .generate = make::scan,
                 .accuracy = Accuracy::accumulated,
                 .exception = kConverted};
  t.row("cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor", with_loops(cumulative, kCumsumLoops));
  cumulative.flow.terms = ErrorFlow::factors;
  t.row("cumprod(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor", with_loops(cumulative, kCumprodLoops));
  t.row("logcumsumexp(Tensor self, int dim) -> Tensor", {.variants = {.out = "out", .out_rule = OutRule::same_dtype},
                                                         .traits = scan | core,
                                                         .infer = rule::cumulative_same,
                                                         .generate = make::scan,
                                                         .dtypes = kFloatOrComplex,
                                                         .accuracy = Accuracy::accumulated,
                                                         .flow = {.kind = ErrorFlow::log_sums},
                                                         .loops = kLogcumsumexpLoops});
  const Row extremum{.variants = {.out = "out", .out_rule = OutRule::same_dtype},
                     .traits = scan | core,
                     .infer = rule::cumulative_extremum,
                     .generate = make::scan,
                     .dtypes = dtypes::real_and_bool,
                     .raises = "complex numbers",
                     .exception = kAnyOrder};
  t.row("cummax(Tensor self, int dim) -> (Tensor values, Tensor indices)", with_loops(extremum, kCummaxLoops));
  t.row("cummin(Tensor self, int dim) -> (Tensor values, Tensor indices)", with_loops(extremum, kCumminLoops));
}
void differences(RowSink& t) {
  t.row("diff(Tensor self, int n=1, int dim=-1, Tensor? prepend=None, Tensor? append=None) -> Tensor",
        {.infer = rule::composite,
         .generate = make::difference,
         .accuracy = Accuracy::composed,
         .raises = "no dims; a negative n",
         .decompose = R"(
           if rank(%self) == 0 { raise "needs at least one dim" }
           if $n < 0 { raise "`n` must not be negative" }
           if $n == 0 and not given($prepend) and not given($append) {
             return aten.clone(%self, memory_format=preserve_format)
           }
           if $n == 0 {
             $at = wrap($dim, rank(%self))
             $others = concat(first(shape(%self), $at), drop(shape(%self), $at + 1))
             if given($prepend) {
               $s = shape(%prepend)
               if len($s) != rank(%self) or not equal(concat(first($s, $at), drop($s, $at + 1)), $others) {
                 raise "`prepend` must have the sizes of `self` but for `dim`"
               }
             }
             if given($append) {
               $s = shape(%append)
               if len($s) != rank(%self) or not equal(concat(first($s, $at), drop($s, $at + 1)), $others) {
                 raise "`append` must have the sizes of `self` but for `dim`"
               }
             }
             return aten.clone(%self, memory_format=preserve_format)
           }
           %x = %self
           if given($prepend) and given($append) { %x = aten.cat([%prepend, %x, %append], $dim) }
           else if given($prepend) { %x = aten.cat([%prepend, %x], $dim) }
           else if given($append) { %x = aten.cat([%x, %append], $dim) }
           if size(%x, $dim) == 0 { return %x }
           $more = size(%x, $dim) - 1
           %after = aten.slice(%x, $dim, 1, $more + 1)
           %before = aten.slice(%x, $dim, 0, $more)
           if dtype(%x) == bool { %d = aten.logical_xor(%after, %before) } else { %d = aten.sub(%after, %before) }
           if $n == 1 or $more < 1 { return %d }
           return aten.diff(%d, min($n - 1, $more), $dim))"});
}
}  // namespace

void reduction_rows(RowSink& t) {
  sums(t);
  extrema(t);
  moments(t);
  norms(t);
  scans(t);
  differences(t);
}

}  // namespace lenz
