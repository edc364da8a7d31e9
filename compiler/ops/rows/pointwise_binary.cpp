// Elementwise ops of two operands.
#include <limits>

#include "compiler/ops/make/common.h"
#include "compiler/ops/make/pointwise.h"
#include "compiler/ops/rows/families.h"
#include "compiler/ops/rules/elementwise.h"
#include "compiler/ops/rules/pointwise.h"

namespace lenz {

namespace {
using enum Trait;
constexpr DtypeSet kIntegers = dtypes::integers | dtypes::boolean;
constexpr DtypeSet kReals = dtypes::floats | dtypes::integers;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

constexpr std::string_view kDividesOnCpu = "values decide on a `ZeroDivisionError`; " LENZ_CONVERTS;

Variants both(std::string_view out) { return {true, out}; }
Variants copied(bool in_place, std::string_view out) { return {in_place, out, {}, OutRule::copied}; }

// One row with other variants: the overloads of an op differ in little else.
Row with(Row row, Variants variants) {
  row.variants = variants;
  return row;
}

void arithmetic_rows(RowSink& t) {
  Row row{.traits = elementwise | commutative | associative | core,
          .infer = rule::add,
          .generate = make::binary_alpha,
          .accuracy = Accuracy::rounded,
          .scalar = "add",
          .raises = "an alpha that the result type can't hold",
          .fits = "alpha:result",
          .exception = rule::kConvertsOnCpu,
          .neutral = {{0, Neutral::both, dtypes::integers}, {-0.0, Neutral::both, dtypes::floats}}};
  t.row("add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", with(row, both("out")));
  t.row("add.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor", with(row, copied(true, "Scalar_out")));
  row.traits = elementwise | core;
  row.infer = rule::sub;
  row.generate = make::subtraction;
  row.dtypes = dtypes::numbers;
  row.scalar = "sub";
  row.raises = "bool operands; an alpha whose negative the result type can't hold";
  row.fits = "alpha:negated";
  row.neutral = {{0, Neutral::right, dtypes::integers | dtypes::floats}};
  t.row("sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", with(row, both("out")));
  t.row("sub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor", with(row, copied(true, "Scalar_out")));
  t.alias("subtract.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", "sub.Tensor");
  t.alias("subtract.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor", "sub.Scalar", Variants{true});
  row.traits = elementwise;
  row.infer = rule::rsub;
  row.scalar = {};
  row.neutral = {};
  t.row("rsub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
        meaning("return aten.sub(%other, %self, alpha=$alpha)", with(row, copied(false, "Tensor_out"))));
  t.row("rsub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor",
        meaning(R"($d = result_type(%self, $other)
                   %other = aten.scalar_tensor(held($other, $d), dtype=$d, device=device(%self))
                   return aten.sub(%other, %self, alpha=$alpha))",
                with(row, copied(false, "Scalar_out"))));

  row = {.traits = elementwise | commutative | associative | core,
         .infer = rule::mul,
         .generate = make::product,
         .dtypes = dtypes::all,
         .accuracy = Accuracy::rounded,
         .scalar = "mul",
         .raises = "float8, when the second operand is one value",
         .fits = "other:whole",
         .exception = rule::kConvertsOnCpu,
         .neutral = {{1, Neutral::both, kReals | dtypes::boolean}},
         .absorbing = {{0, 0, kIntegers}}};
  t.row("mul.Tensor(Tensor self, Tensor other) -> Tensor", with(row, both("out")));
  Variants by_number = copied(true, "Scalar_out"), other_name{true};
  // In place eager multiplies self to the number, which half precision rounds first.
  by_number.in_place_value = other_name.in_place_value = R"(
    if not is_float(%self) or dtype(%self) == f32 or dtype(%self) == f64 { return aten.mul(%self, $other) }
    return aten.mul(aten.scalar_tensor($other, dtype=dtype(%self), device=device(%self)), %self))";
  t.row("mul.Scalar(Tensor self, Scalar other) -> Tensor", with(row, by_number));
  t.alias("multiply.Tensor(Tensor self, Tensor other) -> Tensor", "mul.Tensor");
  t.alias("multiply.Scalar(Tensor self, Scalar other) -> Tensor", "mul.Scalar", other_name);
}

void division_rows(RowSink& t) {
  Row row{.traits = elementwise | makes_float | core,
          .infer = rule::float_dtype,
          .generate = make::binary_float,
          .accuracy = Accuracy::rounded,
          .scalar = "div",
          .fits = "other:whole",
          .exception = rule::kConvertsOnCpu,
          .neutral = {{1, Neutral::right, dtypes::floats}}};
  t.row("div.Tensor(Tensor self, Tensor other) -> Tensor", with(row, both("out")));
  t.row("div.Scalar(Tensor self, Scalar other) -> Tensor", with(row, copied(true, "Scalar_out")));
  const std::initializer_list<Alias> kDivide = {{"divide", "div"}, {"true_divide", "div"}};
  t.aliases("{}.Tensor(Tensor self, Tensor other) -> Tensor", kDivide);
  t.aliases("{}.Scalar(Tensor self, Scalar other) -> Tensor", kDivide, Variants{true});

  row = {.traits = elementwise,
         .infer = rule::div_mode,
         .generate = make::division_mode,
         .computes = dtypes::real,
         .accuracy = Accuracy::rounded,
         .raises = "complex with a rounding mode; a mode that is not none, trunc or floor; an integer divided by 0",
         .decompose = R"(
           if not given($rounding_mode) { return aten.div(%self, %other) }
           if $rounding_mode == "floor" { return aten.floor_divide(%self, %other) }
           $d = result_type(%self, %other)
           if not is_integral($d) { return aten.trunc(aten.div(%self, %other)) }
           if dtype(%self) == $d { %x = %self } else { %x = aten._to_copy(%self, dtype=$d) }
           %q = aten.floor_divide(%x, %other)
           %rest = aten.sub(%x, aten.mul(%q, %other))
           %above = aten.logical_and(aten.ne(%rest, 0), aten.ne(aten.lt(%x, 0), aten.lt(%rest, 0)))
           return aten.where(%above, aten.add(%q, 1), %q))",
         .exception = kDividesOnCpu};
  t.row("div.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor", with(row, both("out_mode")));
  t.alias("divide.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor", "div.Tensor_mode");
  t.row("div.Scalar_mode(Tensor self, Scalar other, *, str? rounding_mode) -> Tensor",
        with(row, copied(true, "Scalar_mode_out")));
  t.alias("divide.Scalar_mode(Tensor self, Scalar other, *, str? rounding_mode) -> Tensor", "div.Scalar_mode",
          Variants{true});

  row = {.traits = elementwise | core,
         .infer = rule::same_dtype,
         .generate = make::division,
         .dtypes = dtypes::real_and_bool,
         .computes = dtypes::real,
         .accuracy = Accuracy::rounded,
         .scalar = "{}",
         .raises = "complex; bool with bool; an integer divided by 0",
         .exception = kDividesOnCpu};
  t.rows("{}.Tensor(Tensor self, Tensor other) -> Tensor", "remainder fmod", with(row, both("Tensor_out")));
  t.rows("{}.Scalar(Tensor self, Scalar other) -> Tensor", "remainder fmod", with(row, both("Scalar_out")));
  t.row("remainder.Scalar_Tensor(Scalar self, Tensor other) -> Tensor", with(row, copied(false, "Scalar_Tensor_out")));
  row.fits = "other:whole";
  t.row("floor_divide(Tensor self, Tensor other) -> Tensor", with(row, {true, "out", {}, OutRule::direct, "Tensor"}));
  t.row("floor_divide.Scalar(Tensor self, Scalar other) -> Tensor", with(row, copied(true, "Scalar_out")));
}

void power_rows(RowSink& t) {
  Row row{.traits = elementwise | core,
          .infer = rule::same_dtype,
          .generate = make::pow,
          .computes = dtypes::numbers,
          .domain = {0.125, 4},
          .accuracy = Accuracy::ulp4,
          .scalar = "pow",
          .raises = "bool to the power of bool",
          .exception = rule::kConvertsOnCpu,
          .neutral = {{1, Neutral::right, kReals}}};
  t.row("pow.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor",
        with(row, {true, "Tensor_Tensor_out", {}, OutRule::direct, "Tensor"}));
  row.infer = rule::pow_of_number;
  row.exception =
      "powers of 1 eager fills in, of any dtype: `has no kernel for f8`; of bools alone it has none, which its meaning "
      "does not ask: `not implemented for 'Bool'`; what it casts decides: `the desired output type`; " LENZ_CONVERTS;
  t.row("pow.Scalar(Scalar self, Tensor exponent) -> Tensor", with(row, {false, "Scalar_out"}));
  row.infer = rule::pow_number;
  row.dtypes = dtypes::all;  // float8 to the powers 0 and 1
  row.raises = "an integer to a negative integer power";
  row.fits = "exponent:power";
  t.row("pow.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor",
        with(row, {true, "Tensor_Scalar_out", {}, OutRule::direct, "Scalar"}));

  row = {.traits = elementwise,
         .infer = rule::float_power,
         .generate = make::float_power,
         .dtypes = dtypes::all,
         .domain = {0.125, 4},
         .accuracy = Accuracy::ulp4,
         .raises = "in place, a base that is not f64 (c128 with complex numbers)"};
  auto exact = [&](bool in_place, std::string_view out, std::optional<std::string_view> in_place_as) {
    return with(row, {in_place, out, {}, OutRule::same_dtype, in_place_as});
  };
#define LENZ_F64_OR_C128(a, b) "if is_complex(" a ") or is_complex(" b ") { $d = c128 } else { $d = f64 } "
  t.row("float_power.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor",
        meaning(LENZ_F64_OR_C128(
                    "%self",
                    "%exponent") "return aten.pow(aten._to_copy(%self, dtype=$d), aten._to_copy(%exponent, dtype=$d))",
                exact(true, "Tensor_Tensor_out", "Tensor")));
  t.row("float_power.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor",
        meaning(LENZ_F64_OR_C128("%self", "$exponent") "return aten.pow(aten._to_copy(%self, dtype=$d), $exponent)",
                exact(true, "Tensor_Scalar_out", "Scalar")));
  t.row("float_power.Scalar(Scalar self, Tensor exponent) -> Tensor",
        meaning(LENZ_F64_OR_C128("$self", "%exponent") "return aten.pow($self, aten._to_copy(%exponent, dtype=$d))",
                exact(false, "Scalar_out", {})));
#undef LENZ_F64_OR_C128
  // Of an integral exponent eager takes the lower half, as an int, and rounds once: no power on the way overflows.
  t.row("ldexp.Tensor(Tensor self, Tensor other) -> Tensor", {.variants = {true, "out", {}, OutRule::direct, ""},
                                                              .traits = elementwise | makes_float,
                                                              .infer = rule::ldexp,
                                                              .generate = make::ldexp,
                                                              .accuracy = Accuracy::ulp2,
                                                              .raises = "a bool exponent of a float",
                                                              .decompose = R"(
    if is_float(%self) and is_integral(%other) {
      %n = aten._to_copy(%other, dtype=i32)
      if dtype(%self) == f64 {
        %n = aten.clamp(%n, -2100, 2100)
        %part = aten.div(%n, 3, rounding_mode="trunc")
        %power = aten.pow(2.0, aten._to_copy(%part, dtype=f64))
        %rest = aten.pow(2.0, aten._to_copy(aten.sub(%n, aten.mul(%part, 2)), dtype=f64))
        return aten.mul(aten.mul(aten.mul(%self, %power), %power), %rest)
      }
      %power = aten.pow(2.0, aten._to_copy(aten.clamp(%n, -400, 400), dtype=f64))
      return aten._to_copy(aten.mul(aten._to_copy(%self, dtype=f64), %power), dtype=dtype(%self))
    }
    if is_integral(%self) or dtype(%self) == f32 { return aten.mul(%self, aten.pow(2.0, %other)) }
    %two = aten.scalar_tensor(2.0, dtype=dtype(%self), device=device(%self))
    return aten.mul(%self, aten.pow(%two, %other)))",
                                                              .exception = rule::kConvertsOnCpu});
}

void float_rows(RowSink& t) {
  Row row{.variants = both("out"),
          .traits = elementwise | makes_float | core,
          .infer = rule::float_dtype,
          .generate = make::binary_float,
          .dtypes = dtypes::real_and_bool,
          .accuracy = Accuracy::ulp2,
          .scalar = "atan2",
          .raises = "complex",
          .exception = rule::kConvertsOnCpu};
  t.row("atan2(Tensor self, Tensor other) -> Tensor", row);
  t.alias("arctan2(Tensor self, Tensor other) -> Tensor", "atan2");
  row.accuracy = Accuracy::exact;
  row.scalar = "copysign";
  t.row("copysign.Tensor(Tensor self, Tensor other) -> Tensor", row);
  t.row("copysign.Scalar(Tensor self, Scalar other) -> Tensor", with(row, both("Scalar_out")));

  row = {.variants = both("out"),
         .traits = elementwise | core,
         .infer = rule::same_dtype,
         .generate = make::binary,
         .dtypes = dtypes::real_and_bool,
         .computes = dtypes::floats,
         .accuracy = Accuracy::ulp2,
         .scalar = "{}",
         .raises = "integers with integers; complex",
         .exception = rule::kConvertsOnCpu};
  t.row("hypot(Tensor self, Tensor other) -> Tensor", row);
  row.accuracy = Accuracy::exact;
  t.row("nextafter(Tensor self, Tensor other) -> Tensor", row);
  row.accuracy = Accuracy::ulp4;
  row.variants.in_place = false;
  row.traits = elementwise | commutative | core;
  t.row("logaddexp2(Tensor self, Tensor other) -> Tensor", row);
  row.dtypes = dtypes::usual;
  row.computes = dtypes::floats | dtypes::complexes;
  row.raises = "integers with integers";
  t.row("logaddexp(Tensor self, Tensor other) -> Tensor", row);
}

void order_rows(RowSink& t) {
  Row row{.variants = {false, "out"},
          .traits = elementwise | commutative | associative | core,
          .infer = rule::same_dtype,
          .generate = make::binary,
          .dtypes = dtypes::real_and_bool,
          .scalar = "maximum",
          .raises = "complex",
          .exception = rule::kConvertsOnCpu,
          .neutral = {{-kInfinity, Neutral::both, dtypes::floats}}};
  t.row("maximum(Tensor self, Tensor other) -> Tensor", row);
  t.alias("max.other(Tensor self, Tensor other) -> Tensor", "maximum");
  row.scalar = "minimum";
  row.neutral = {{kInfinity, Neutral::both, dtypes::floats}};
  t.row("minimum(Tensor self, Tensor other) -> Tensor", row);
  t.alias("min.other(Tensor self, Tensor other) -> Tensor", "minimum");
  row.scalar = "{}";
  row.neutral = {};
  t.rows("{}(Tensor self, Tensor other) -> Tensor", "fmax fmin", row);
  row.traits = elementwise | core;
  row.variants = {true, "out", {}, OutRule::same_dtype};
  row.infer = rule::heaviside;
  row.generate = make::one_dtype;
  row.raises = "complex; operands of different dtypes";
  t.row("heaviside(Tensor self, Tensor values) -> Tensor", row);
}

void comparison_rows(RowSink& t) {
  Row row{.traits = elementwise | core,
          .infer = rule::bool_dtype,
          .generate = make::comparison,
          .scalar = "{}",
          .exception = rule::kConvertsOnCpu};
  auto pair = [&](std::string_view names) {
    t.rows("{}.Tensor(Tensor self, Tensor other) -> Tensor", names, with(row, both("Tensor_out")));
    t.rows("{}.Scalar(Tensor self, Scalar other) -> Tensor", names, with(row, both("Scalar_out")));
  };
  auto same = [&](std::initializer_list<Alias> names) {
    t.aliases("{}.Tensor(Tensor self, Tensor other) -> Tensor", names);
    t.aliases("{}.Scalar(Tensor self, Scalar other) -> Tensor", names);
  };
  row.traits = row.traits | commutative;
  row.dtypes = dtypes::all;
  pair("eq ne");
  same({{"not_equal", "ne"}});
  row.traits = elementwise | core;
  row.dtypes = dtypes::real_and_bool;
  row.raises = "complex";
  pair("lt le gt ge");
  same({{"less", "lt"}, {"less_equal", "le"}, {"greater", "gt"}, {"greater_equal", "ge"}});
  t.rows("{}(Tensor self, Tensor other) -> Tensor", "logical_and logical_or logical_xor",
         {.variants = both("out"),
          .traits = elementwise | commutative | core,
          .infer = rule::bool_dtype,
          .generate = make::comparison,
          .scalar = "{}",
          .exception = rule::kConvertsOnCpu});
  t.row(
      "isclose(Tensor self, Tensor other, float rtol=1.0000000000000001e-05, float atol=1e-08, bool equal_nan=False) "
      "-> Tensor",
      {.traits = elementwise,
       .infer = rule::isclose,
       .generate = make::isclose,
       .raises = "operands of different dtypes; negative tolerances; with equal_nan, a self that is broadcast",
       .decompose = R"(
         %same = aten.eq(%self, %other)
         if $equal_nan and not is_integral(%self) {
           %same = aten.logical_or(%same, aten.logical_and(aten.isnan(%self), aten.isnan(%other)))
         }
         if $rtol == 0 and $atol == 0 { return %same }
         if is_integral(%self) {
           %a = aten._to_copy(%self, dtype=f32)
           %b = aten._to_copy(%other, dtype=f32)
         } else {
           %a = %self
           %b = %other
         }
         %allowed = aten.add(aten.abs(aten.mul(%b, $rtol)), $atol)
         %apart = aten.abs(aten.sub(%a, %b))
         return aten.logical_or(%same, aten.logical_and(aten.isfinite(%apart), aten.le(%apart, %allowed))))"});
}

void integer_rows(RowSink& t) {
  Row row{.traits = elementwise | commutative | associative | core,
          .infer = rule::same_dtype,
          .generate = make::binary,
          .dtypes = kIntegers,
          .raises = "floats, complex",
          .exception = rule::kConvertsOnCpu};
  auto three = [&](std::string_view name, std::string_view number) {
    row.scalar = name;
    std::string n(name);
    t.row(n + ".Tensor(Tensor self, Tensor other) -> Tensor", with(row, both("Tensor_out")));
    std::string out = std::string(number) + "_out";
    t.row(n + "." + std::string(number) + "(Tensor self, Scalar other) -> Tensor",
          with(row, both(number == "Scalar" ? "Scalar_out" : "Tensor_Scalar_out")));
    t.row(n + ".Scalar_Tensor(Scalar self, Tensor other) -> Tensor", with(row, copied(false, "Scalar_Tensor_out")));
  };
  constexpr DtypeSet kSigned = dtypes::integers - DtypeSet::of(Dtype::u8);
  row.neutral = {{-1, Neutral::both, kSigned}};
  row.absorbing = {{0, 0, kIntegers}};
  three("bitwise_and", "Scalar");
  row.neutral = {{0, Neutral::both, kIntegers}};
  row.absorbing = {};
  three("bitwise_or", "Scalar");
  three("bitwise_xor", "Scalar");
  row.traits = elementwise | core;
  row.computes = dtypes::integers;
  row.neutral = {{0, Neutral::right, dtypes::integers}};
  row.raises = "floats, complex; bool with bool";
  three("bitwise_left_shift", "Tensor_Scalar");
  three("bitwise_right_shift", "Tensor_Scalar");
  Row divisor{.variants = both("out"),
              .traits = elementwise | commutative | core,
              .infer = rule::same_dtype,
              .generate = make::binary,
              .dtypes = kIntegers,
              .computes = dtypes::integers,
              .scalar = "{}",
              .raises = "floats, complex; bool with bool",
              .exception = rule::kConvertsOnCpu};
  t.rows("{}(Tensor self, Tensor other) -> Tensor", "gcd", divisor);
  // Eager divides the first operand by the divisor, and dies where that is the least integer by -1: not of the second.
  Row multiple = divisor;
  multiple.traits = elementwise | core;
  t.rows("{}(Tensor self, Tensor other) -> Tensor", "lcm", multiple);
}
}  // namespace

void pointwise_binary_rows(RowSink& t) {
  arithmetic_rows(t);
  division_rows(t);
  power_rows(t);
  float_rows(t);
  order_rows(t);
  comparison_rows(t);
  integer_rows(t);
}

}  // namespace lenz
