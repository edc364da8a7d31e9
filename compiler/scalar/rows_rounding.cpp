// Rounding to integers and decimals.
#include <cmath>

#include "compiler/scalar/rounding.h"
#include "compiler/scalar/table.h"

namespace lenz::scalar_rows {

namespace {

int64_t unchanged(int64_t a) { return a; }

double frac(double a) { return std::isinf(a) ? dd::kNan : a - std::trunc(a); }

// Every step rounds to the arithmetic in which eager computes: the dtype's own, float for the 16-bit ones.
double round_decimals(const EvalContext& c, double a, int64_t decimals) {
  const Dtype arithmetic = c.compute == Dtype::f64 ? Dtype::f64 : Dtype::f32;
  double ten = round_to(arithmetic, std::pow(10.0, std::fabs(static_cast<double>(decimals))));
  if (decimals < 0) {
    double quotient = round_to(arithmetic, a / ten);
    return round_to(c.compute, round_to(arithmetic, std::nearbyint(quotient) * ten));
  }
  double product = round_to(arithmetic, a * ten);
  return round_to(c.compute, round_to(arithmetic, std::nearbyint(product) / ten));
}

}  // namespace

void add_rounding(Table& t) {
  using namespace traits;
  struct Spec {
    std::string_view name, call, semantics;
    Evaluators eval;
    Jump jump;
  };
  const Spec specs[] = {
      {"floor",
       "torch.floor(a)",
       "the greatest integer not above; integers as they are",
       {.integers = integers<unchanged>, .reals = reals<[](double a) { return std::floor(a); }>, .dds = dds<dd::floor>},
       Jump::at_integers},
      {"ceil",
       "torch.ceil(a)",
       "the least integer not below; integers as they are; (-1, 0) gives -0",
       {.integers = integers<unchanged>, .reals = reals<[](double a) { return std::ceil(a); }>, .dds = dds<dd::ceil>},
       Jump::at_integers},
      {"trunc",
       "torch.trunc(a)",
       "the integer part, towards zero, with the sign of a; integers as they are",
       {.integers = integers<unchanged>, .reals = reals<[](double a) { return std::trunc(a); }>, .dds = dds<dd::trunc>},
       Jump::at_integers},
      {"round",
       "torch.round(a)",
       "the nearest integer, halves to the even one, with the sign of a; integers as they are",
       {.integers = integers<unchanged>,
        .reals = reals<[](double a) { return std::nearbyint(a); }>,
        .dds = dds<dd::round_half_even>},
       Jump::at_half_integers},
  };
  for (const Spec& s : specs)
    t.push_back(row(s.name, 1, dtypes::real, s.eval, s.call, s.semantics)
                    .with(idempotent | keeps_above_zero | gives_whole)
                    .passes(ErrorRule::corners, s.jump)
                    .rising()
                    .over(domains::moderate));
  t.push_back(
      row("frac", 1, dtypes::floats,
          {.reals = reals<frac>,
           .dds = dds<[](DoubleDouble a) { return dd::is_inf(a) ? DoubleDouble(dd::kNan) : a - dd::trunc(a); }>},
          "torch.frac(a)", "a - trunc(a); NaN for infinities")
          .with(idempotent | loose_zero)
          .passes(ErrorRule::fraction, Jump::at_integers)
          .over(domains::moderate));
  t.push_back(row("round_decimals", 2, dtypes::floats, {.reals = reals<round_decimals, 1>},
                  "torch.round(a, decimals=int(b))",
                  "round(a * 10^b) / 10^b, for b < 0 round(a / 10^-b) * 10^-b, every step in the dtype's arithmetic "
                  "(float for 16-bit dtypes); no evaluation in double-double, since the roundings are the meaning")
                  .taking(OperandRule::integer_last)
                  .passes(ErrorRule::corners, Jump::at_scaled_halves)
                  .over(domains::moderate));
}

}  // namespace lenz::scalar_rows
