// Comparisons, logic, tests of a value's class, and the selection by a condition.
#include <cmath>

#include "compiler/scalar/table.h"

namespace lenz::scalar_rows {

namespace {

using Complex = std::complex<double>;

// Whether a value counts as true. A NaN does.
bool truth(int64_t a) { return a != 0; }
bool truth(double a) { return a != 0; }
bool truth(DoubleDouble a) { return a.hi != 0; }
bool truth(Complex a) { return a != Complex(0, 0); }

void add_orderings(Table& t) {
  using namespace traits;
  struct Spec {
    std::string_view name, call, semantics;
    DtypeSet dtypes;
    Evaluators eval;
    uint32_t traits;
  };
  constexpr auto eq = [](auto a, auto b) { return a == b; };
  constexpr auto ne = [](auto a, auto b) { return !(a == b); };
  constexpr auto lt = [](auto a, auto b) { return a < b; };
  constexpr auto le = [](auto a, auto b) { return a <= b; };
  constexpr auto gt = [](auto a, auto b) { return b < a; };
  constexpr auto ge = [](auto a, auto b) { return b <= a; };
  const Spec specs[] = {
      {"eq", "torch.eq(a, b)", "a == b; false for NaN; -0 equals 0", dtypes::all, all_of<eq>, commutative},
      {"ne", "torch.ne(a, b)", "a != b; true for NaN", dtypes::all, all_of<ne>, commutative},
      {"lt", "torch.lt(a, b)", "a < b; false for NaN", dtypes::real_and_bool, all_real<lt>, 0},
      {"le", "torch.le(a, b)", "a <= b; false for NaN", dtypes::real_and_bool, all_real<le>, 0},
      {"gt", "torch.gt(a, b)", "a > b; false for NaN", dtypes::real_and_bool, all_real<gt>, 0},
      {"ge", "torch.ge(a, b)", "a >= b; false for NaN", dtypes::real_and_bool, all_real<ge>, 0},
  };
  for (const Spec& s : specs)
    t.push_back(row(s.name, 2, s.dtypes, s.eval, s.call, s.semantics)
                    .with(s.traits)
                    .giving(ResultRule::boolean)
                    .passes(ErrorRule::predicate, Jump::where_equal)
                    .on_nan(NanRule::tests));
}

void add_logic(Table& t) {
  using namespace traits;
  constexpr auto both = [](auto a, auto b) { return truth(a) && truth(b); };
  constexpr auto either = [](auto a, auto b) { return truth(a) || truth(b); };
  constexpr auto one = [](auto a, auto b) { return truth(a) != truth(b); };
  constexpr auto none = [](auto a) { return !truth(a); };
  struct Spec {
    std::string_view name, call, semantics;
    Evaluators eval;
    int arity;
    uint32_t traits;
  };
  const Spec specs[] = {
      {"logical_and", "torch.logical_and(a, b)", "whether both are true; anything but zero is, NaN too", all_of<both>,
       2, commutative},
      {"logical_or", "torch.logical_or(a, b)", "whether either is true; anything but zero is, NaN too", all_of<either>,
       2, commutative},
      {"logical_xor", "torch.logical_xor(a, b)", "whether just one is true; anything but zero is, NaN too", all_of<one>,
       2, commutative},
      {"logical_not", "torch.logical_not(a)", "whether it is zero", all_of<none>, 1, 0},
  };
  for (const Spec& s : specs)
    t.push_back(row(s.name, s.arity, dtypes::usual, s.eval, s.call, s.semantics)
                    .with(s.traits)
                    .giving(ResultRule::boolean)
                    .passes(ErrorRule::predicate, Jump::at_zero)
                    .on_nan(NanRule::tests));
}

void add_classes(Table& t) {
  // An integer is finite; a double-double is what its high part is; a complex number has any part that is NaN or
  // infinite, and is finite if both parts are.
  struct Spec {
    std::string_view name, call, semantics;
    DtypeSet dtypes;
    Evaluators eval;
  };
  const DtypeSet with_infinity = dtypes::usual | DtypeSet::of(Dtype::f8e5m2);
  constexpr auto never = [](int64_t) { return false; };
  constexpr auto always = [](int64_t) { return true; };
  constexpr auto negative = [](int64_t a) { return a < 0; };
  const Spec specs[] = {
      {"isnan",
       "torch.isnan(a)",
       "whether it, or a part of it, is NaN",
       dtypes::all,
       {integers<never>, reals<[](double a) { return std::isnan(a); }>, dds<dd::is_nan>,
        complexes<[](Complex a) { return std::isnan(a.real()) || std::isnan(a.imag()); }>}},
      {"isinf",
       "torch.isinf(a)",
       "whether it, or a part of it, is infinite",
       with_infinity,
       {integers<never>, reals<[](double a) { return std::isinf(a); }>, dds<dd::is_inf>,
        complexes<[](Complex a) { return std::isinf(a.real()) || std::isinf(a.imag()); }>}},
      {"isfinite",
       "torch.isfinite(a)",
       "neither infinite nor NaN, in all its parts",
       with_infinity,
       {integers<always>, reals<[](double a) { return std::isfinite(a); }>, dds<dd::is_finite>,
        complexes<[](Complex a) { return std::isfinite(a.real()) && std::isfinite(a.imag()); }>}},
      {"isposinf",
       "torch.isposinf(a)",
       "whether it is +infinity",
       dtypes::real_and_bool,
       {.integers = integers<never>,
        .reals = reals<[](double a) { return a == dd::kInfinity; }>,
        .dds = dds<[](DoubleDouble a) { return a.hi == dd::kInfinity; }>}},
      {"isneginf",
       "torch.isneginf(a)",
       "whether it is -infinity",
       dtypes::real_and_bool,
       {.integers = integers<never>,
        .reals = reals<[](double a) { return a == -dd::kInfinity; }>,
        .dds = dds<[](DoubleDouble a) { return a.hi == -dd::kInfinity; }>}},
      {"signbit",
       "torch.signbit(a)",
       "the sign bit, of -0 and of a NaN too; of an integer: whether it is negative",
       dtypes::real_and_bool,
       {.integers = integers<negative>,
        .reals = reals<[](double a) { return std::signbit(a); }>,
        .dds = dds<dd::sign_bit>}},
  };
  for (const Spec& s : specs)
    t.push_back(row(s.name, 1, s.dtypes, s.eval, s.call, s.semantics)
                    .giving(ResultRule::boolean)
                    .passes(ErrorRule::predicate, s.name == "signbit" ? Jump::at_zero : Jump::none)
                    .on_nan(NanRule::tests));
}

}  // namespace

void add_comparisons(Table& table) {
  add_orderings(table);
  add_logic(table);
  add_classes(table);
  constexpr auto where = [](int64_t c, auto a, auto b) { return c != 0 ? a : b; };
  table.push_back(row("where", 3, dtypes::all,
                      {integers<where, 0>, reals<where, 0>, dds<where, 0>, call<Complex, where, 0>},
                      "torch.where(a, b, c)", "b if the condition a holds, else c; the other one is not looked at")
                      .taking(OperandRule::condition_first)
                      .with(traits::keeps_above_zero | traits::rounds_late | traits::keeps_whole)
                      .passes(ErrorRule::largest, Jump::at_condition)
                      .on_nan(NanRule::selects));
}

}  // namespace lenz::scalar_rows
