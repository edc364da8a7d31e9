// Reductions: to one element, or over dims. Eager's results are contiguous whatever the operand's layout.
#include "compiler/ops/make/reduction.h"
#include "compiler/ops/rows/families.h"
#include "compiler/ops/rules/reduction.h"

namespace lenz {

namespace {
constexpr DtypeSet kFloatOrComplex = dtypes::floats | dtypes::complexes;

void sums(RowSink& t) {
  using enum Trait;
  const Row sum{.variants = {.out = "out"},
                .traits = reduction | core,
                .infer = rule::sum_like,
                .generate = make::reduction,
                .accuracy = Accuracy::accumulated,
                .raises = "a dim is named twice"};
  auto with_out = [](Row row, std::string_view out) {
    row.variants.out = out;
    return row;
  };
  t.row("sum(Tensor self, *, ScalarType? dtype=None) -> Tensor", sum);
  t.row("sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
        with_out(sum, "IntList_out"));
  t.row("prod(Tensor self, *, ScalarType? dtype=None) -> Tensor", sum);
  t.row("prod.dim_int(Tensor self, int dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
        with_out(sum, "int_out"));
  t.row("nansum(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
        {.variants = {.out = "out"},
         .traits = reduction,
         .infer = rule::nansum,
         .generate = make::reduction,
         .dtypes = dtypes::real_and_bool,
         .accuracy = Accuracy::accumulated,
         .raises = "complex numbers"});

  const Row mean{.variants = {.out = "dtype_out"},
                 .traits = reduction,
                 .infer = rule::mean_like,
                 .generate = make::reduction,
                 .dtypes = kFloatOrComplex,
                 .accuracy = Accuracy::accumulated,
                 .raises = "integers without `dtype`"};
  t.row("mean(Tensor self, *, ScalarType? dtype=None) -> Tensor", mean);
  t.row("mean.dim(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
        with_out(mean, "out"));
  t.row("nanmean(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
        {.variants = {.out = "out"},
         .traits = reduction,
         .infer = rule::nanmean,
         .generate = make::reduction,
         .dtypes = dtypes::floats,
         .accuracy = Accuracy::accumulated,
         .raises = "integers and complex numbers"});

  t.row("count_nonzero.dim_IntList(Tensor self, int[] dim) -> Tensor", {.variants = {.out = "dim_IntList_out"},
                                                                        .traits = reduction,
                                                                        .infer = rule::count_nonzero,
                                                                        .generate = make::reduction,
                                                                        .dtypes = dtypes::all,
                                                                        .raises = "a dim is named twice"});
  t.row("count_nonzero(Tensor self, int? dim=None) -> Tensor", {.variants = {.out = "out"},
                                                                .traits = reduction,
                                                                .infer = rule::count_nonzero,
                                                                .generate = make::reduction,
                                                                .dtypes = dtypes::all,
                                                                .raises = "float8 without a dim"});
  t.row("trace(Tensor self) -> Tensor", {.variants = {.out = "out"},
                                         .traits = reduction,
                                         .infer = rule::trace,
                                         .generate = make::matrix,
                                         .dtypes = dtypes::usual - dtypes::boolean - dtypes::half - dtypes::bfloat,
                                         .accuracy = Accuracy::accumulated,
                                         .raises = "not a matrix"});
}

void extrema(RowSink& t) {
  using enum Trait;
  const Row all{.variants = {.out = "unary_out"},
                .traits = reduction | core,
                .infer = rule::extremum,
                .generate = make::reduction_nonempty,
                .dtypes = dtypes::real_and_bool,
                .raises = "an empty reduction"};
  t.row("max(Tensor self) -> Tensor", all);
  t.row("min(Tensor self) -> Tensor", all);
  Row over_dims = all;
  over_dims.variants.out = "out";
  t.rows("{}(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor", "amax amin", over_dims);
  t.row("aminmax(Tensor self, *, int? dim=None, bool keepdim=False) -> (Tensor min, Tensor max)",
        {.variants = {.out = "out"},
         .traits = reduction,
         .infer = rule::extremum_pair,
         .generate = make::reduction_nonempty,
         .dtypes = dtypes::real_and_bool,
         .raises = "an empty reduction"});
  t.rows("{}(Tensor self, int? dim=None, bool keepdim=False) -> Tensor", "argmax argmin",
         {.variants = {.out = "out"},
          .traits = reduction | core,
          .infer = rule::arg_extremum,
          .generate = make::reduction_nonempty,
          .dtypes = dtypes::real,
          .raises = "an empty reduction"});

  Row pair{.variants = {.out = "dim_max", .out_params = "max max_values"},
           .traits = reduction | core,
           .infer = rule::value_and_index,
           .generate = make::reduction_nonempty,
           .dtypes = dtypes::real_and_bool,
           .raises = "an empty dim"};
  t.row("max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)", pair);
  pair.variants = {.out = "dim_min", .out_params = "min min_indices"};
  t.row("min.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)", pair);
  pair.variants = {.out = "dim_values"};
  pair.traits = reduction;
  pair.dtypes = dtypes::real;
  t.rows("{}.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)", "median nanmedian",
         pair);
  t.rows("{}(Tensor self) -> Tensor", "median nanmedian",
         {.variants = {.out = "out"},
          .traits = reduction,
          .infer = rule::extremum,
          .generate = make::reduction_nonempty,
          .dtypes = dtypes::real});
  pair.variants = {.out = "values"};
  pair.dtypes = dtypes::real_and_bool;
  t.row("mode(Tensor self, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)", pair);
  pair.generate = make::kthvalue;
  pair.dtypes = dtypes::real;
  t.row("kthvalue(Tensor self, SymInt k, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)", pair);

  Row logical{.variants = {.out = "all_out"},
              .traits = reduction | core,
              .infer = rule::any_all,
              .generate = make::reduction,
              .dtypes = dtypes::all};
  t.rows("{}(Tensor self) -> Tensor", "any all", logical);
  logical.variants.out = "out";
  t.rows("{}.dim(Tensor self, int dim, bool keepdim=False) -> Tensor", "any all", logical);
  logical.variants.out = "dims_out";
  logical.traits = logical.traits | empty_dims_keep;
  t.rows("{}.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor", "any all", logical);
}

void moments(RowSink& t) {
  using enum Trait;
  Row var{.traits = reduction,
          .infer = rule::variance,
          .generate = make::variance,
          .dtypes = kFloatOrComplex,
          .accuracy = Accuracy::accumulated,
          .raises = "integers"};
  t.rows("{}(Tensor self, bool unbiased=True) -> Tensor", "var std", var);
  var.variants.out = "out";
  t.rows("{}.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> Tensor", "var std", var);
  var.variants.out = "correction_out";
  t.rows("{}.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> Tensor",
         "var std", var);
  Row both = var;
  both.infer = rule::variance_and_mean;
  t.rows(
      "{}.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> (Tensor, "
      "Tensor)",
      "var_mean std_mean", both);
  both.variants.out = {};
  t.rows("{}(Tensor self, bool unbiased=True) -> (Tensor, Tensor)", "var_mean std_mean", both);
  t.rows("{}.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> (Tensor, Tensor)",
         "var_mean std_mean", both);
}

void norms(RowSink& t) {
  using enum Trait;
  Row norm{.variants = {.out = "out"},
           .traits = reduction,
           .infer = rule::vector_norm,
           .generate = make::vector_norm,
           .dtypes = kFloatOrComplex,
           .accuracy = Accuracy::accumulated,
           .raises = "integers; a `dtype` that narrows"};
  t.row(
      "linalg_vector_norm(Tensor self, Scalar ord=2, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) "
      "-> Tensor",
      norm);
  norm.generate = make::norm;
  t.row("norm.ScalarOpt_dim(Tensor self, Scalar? p, int[1] dim, bool keepdim=False) -> Tensor", norm);
  norm.variants.out = "Scalar_out";
  t.row("norm.Scalar(Tensor self, Scalar p=2) -> Tensor", norm);
  norm.variants.out = "dtype_out";
  t.row("norm.ScalarOpt_dim_dtype(Tensor self, Scalar? p, int[1] dim, bool keepdim, *, ScalarType dtype) -> Tensor",
        norm);
  norm.variants.out = "ScalarOpt_dtype_out";
  t.row("norm.ScalarOpt_dtype(Tensor self, Scalar? p, *, ScalarType dtype) -> Tensor", norm);
  t.row("dist(Tensor self, Tensor other, Scalar p=2) -> Tensor", {.variants = {.out = "out"},
                                                                  .traits = reduction,
                                                                  .infer = rule::distance,
                                                                  .generate = make::distance,
                                                                  .dtypes = kFloatOrComplex,
                                                                  .accuracy = Accuracy::accumulated,
                                                                  .raises = "integers"});
  t.rows("{}(Tensor self, int[1] dim, bool keepdim=False) -> Tensor", "logsumexp special_logsumexp",
         {.variants = {.out = "out"},
          .traits = reduction | makes_float,
          .infer = rule::logsumexp,
          .generate = make::reduction_dims,
          .accuracy = Accuracy::accumulated,
          .raises = "a dim is named twice"});
  t.row("renorm(Tensor self, Scalar p, int dim, Scalar maxnorm) -> Tensor",
        {.variants = {.in_place = true, .out = "out"},
         .traits = reduction,
         .infer = rule::renorm,
         .generate = make::renorm,
         .dtypes = kFloatOrComplex,
         .accuracy = Accuracy::accumulated,
         .raises = "rank below 2, p <= 0"});
}

void scans(RowSink& t) {
  using enum Trait;
  t.rows("{}(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor", "cumsum cumprod",
         {.variants = {.in_place = true, .out = "out"},
          .traits = scan | core,
          .infer = rule::cumulative,
          .generate = make::scan,
          .accuracy = Accuracy::accumulated});
  t.row("logcumsumexp(Tensor self, int dim) -> Tensor", {.variants = {.out = "out"},
                                                         .traits = scan | core,
                                                         .infer = rule::cumulative_same,
                                                         .generate = make::scan,
                                                         .dtypes = kFloatOrComplex,
                                                         .accuracy = Accuracy::accumulated});
  t.rows("{}(Tensor self, int dim) -> (Tensor values, Tensor indices)", "cummax cummin",
         {.variants = {.out = "out"},
          .traits = scan | core,
          .infer = rule::cumulative_extremum,
          .generate = make::scan,
          .dtypes = dtypes::real_and_bool,
          .raises = "complex numbers"});
}
}  // namespace

void reduction_rows(RowSink& t) {
  sums(t);
  extrema(t);
  moments(t);
  norms(t);
  scans(t);
}

}  // namespace lenz
