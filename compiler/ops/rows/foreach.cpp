// `_foreach_*`: rows over lists of tensors, each derived from the row that it applies to every element. On a CPU eager
// does just that; its one-kernel path on other devices gives the same types.
#include "compiler/ops/make/each.h"
#include "compiler/ops/rows/families.h"

namespace lenz {

namespace {
// How the operands of one op come in lists, and which overload of it an element goes through.
struct Overload {
  std::string_view name, parameters, of;
};

void add(RowSink& t, std::string_view packet, std::initializer_list<Overload> overloads, bool in_place = true) {
  for (const Overload& o : overloads) {
    std::string schema = "_foreach_" + std::string(packet);
    if (!o.name.empty()) schema += "." + std::string(o.name);
    schema += "(Tensor[] self" + std::string(o.parameters) + ") -> Tensor[]";
    // Names live as long as the table: OpDef keeps views of literals only.
    std::string_view out = o.name == "List"         ? "List_out"
                           : o.name == "Scalar"     ? "Scalar_out"
                           : o.name == "ScalarList" ? "ScalarList_out"
                           : o.name == "Tensor"     ? "Tensor_out"
                                                    : "out";
    // A tensor of numbers: which of them fit a dtype only the run knows.
    bool numbers = o.parameters.ends_with("Tensor scalars");
    constexpr std::string_view kNumbers =
        "numbers that a dtype has not are refused: `value cannot be converted to type`";
    std::string_view exception = numbers ? kNumbers : std::string_view();
    t.each(schema, {.of = o.of, .variants = {in_place, out, {}, OutRule::copied}, .exception = exception});
  }
}
}  // namespace

void foreach_rows(RowSink& t) {
  for (std::string_view name :
       {"abs",   "acos",  "asin",    "atan",   "ceil", "cos",   "cosh",  "erf",  "erfc", "exp",
        "expm1", "floor", "frac",    "lgamma", "log",  "log10", "log1p", "log2", "neg",  "reciprocal",
        "round", "rsqrt", "sigmoid", "sign",   "sin",  "sinh",  "sqrt",  "tan",  "tanh", "trunc"})
    add(t, name, {{"", "", name}});

  constexpr std::string_view kOther = ", Tensor[] other", kScalar = ", Scalar scalar", kScalars = ", Scalar[] scalars";
  constexpr std::string_view kAlpha = ", Tensor[] other, *, Scalar alpha=1";
  add(t, "add",
      {{"List", kAlpha, "add.Tensor"},
       {"Scalar", kScalar, "add.Scalar"},
       {"ScalarList", kScalars, "add.Scalar"},
       {"Tensor", ", Tensor other, *, Scalar alpha=1", "add.Tensor"}});
  add(t, "sub",
      {{"List", kAlpha, "sub.Tensor"}, {"Scalar", kScalar, "sub.Scalar"}, {"ScalarList", kScalars, "sub.Scalar"}});
  add(t, "mul",
      {{"List", kOther, "mul.Tensor"},
       {"Scalar", kScalar, "mul.Scalar"},
       {"ScalarList", kScalars, "mul.Scalar"},
       {"Tensor", ", Tensor other", "mul.Tensor"}});
  add(t, "div",
      {{"List", kOther, "div.Tensor"},
       {"Scalar", kScalar, "div.Scalar"},
       {"ScalarList", kScalars, "div.Scalar"},
       {"Tensor", ", Tensor other", "div.Tensor"}});
  for (std::string_view name : {"clamp_min", "maximum"})
    add(t, name,
        {{"List", kOther, "clamp_min.Tensor"},
         {"Scalar", kScalar, "clamp_min"},
         {"ScalarList", kScalars, "clamp_min"}});
  for (std::string_view name : {"clamp_max", "minimum"})
    add(t, name,
        {{"List", kOther, "clamp_max.Tensor"},
         {"Scalar", kScalar, "clamp_max"},
         {"ScalarList", kScalars, "clamp_max"}});
  add(t, "pow",
      {{"List", ", Tensor[] exponent", "pow.Tensor_Tensor"},
       {"Scalar", ", Scalar exponent", "pow.Tensor_Scalar"},
       {"ScalarList", ", Scalar[] exponent", "pow.Tensor_Scalar"}});
  t.each(
      "_foreach_pow.ScalarAndTensor(Scalar self, Tensor[] exponent) -> Tensor[]",
      {.of = "pow.Scalar",
       .exception = "one element eager computes in its own dtype, which its meaning does not ask: `not implemented for "
                    "'Bool'`; powers of 1 of any: `has no kernel for f8`"});
  add(t, "lerp",
      {{"List", ", Tensor[] tensors1, Tensor[] weights", "lerp.Tensor"},
       {"Scalar", ", Tensor[] tensors1, Scalar weight", "lerp.Scalar"},
       {"ScalarList", ", Tensor[] tensors1, Scalar[] weight", "lerp.Scalar"}});
  for (std::string_view name : {"addcmul", "addcdiv"})
    add(t, name,
        {{"Scalar", ", Tensor[] tensor1, Tensor[] tensor2, Scalar value=1", name},
         {"ScalarList", ", Tensor[] tensor1, Tensor[] tensor2, Scalar[] scalars", name},
         {"Tensor", ", Tensor[] tensor1, Tensor[] tensor2, Tensor scalars", name}});
  add(t, "max", {{"", "", "max"}}, false);
  constexpr Variants kCopied{true, "out", {}, OutRule::copied};
  t.each(
      "_foreach_copy(Tensor[] self, Tensor[] src, bool non_blocking=False) -> Tensor[] self_out",
      {.of = "copy", .variants = kCopied, .exception = "eager does not compare the lists' lengths: `the lists must `"});
  t.each("_foreach_zero(Tensor[] self) -> Tensor[] self_out", {.of = "zero", .variants = kCopied});
  t.each("_foreach_norm.Scalar(Tensor[] self, Scalar ord=2, ScalarType? dtype=None) -> Tensor[]",
         {.of = "linalg_vector_norm",
          .variants = {false, "Scalar_out", {}, OutRule::copied},
          .generate = make::each_norm});
  t.each("_foreach_powsum.Scalar(Tensor[] self, Scalar ord=2, ScalarType? dtype=None) -> Tensor[]",
         {.of = "linalg__powsum",
          .variants = {false, "Scalar_out", {}, OutRule::copied},
          .exception = "with a dtype eager converts any other first: `has no kernel for`, `needs a floating or "
                       "complex dtype`, `would narrow the tensor's`, "
                       "`must be complex just where the tensor is`"});
}

}  // namespace lenz
