#include "compiler/driver/scalar_command.h"

#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "compiler/base/suggest.h"
#include "compiler/driver/arguments.h"
#include "compiler/scalar/rounding.h"
#include "compiler/scalar/scalar.h"

namespace lenz {

namespace {

std::string_view name(OperandRule r) {
  constexpr std::string_view names[] = {"same", "condition_first", "integer_first", "integer_last"};
  return names[static_cast<size_t>(r)];
}
std::string_view name(ResultRule r) {
  constexpr std::string_view names[] = {"same", "boolean", "int32", "real_of", "complex_of", "target"};
  return names[static_cast<size_t>(r)];
}
std::string_view name(ErrorRule r) {
  constexpr std::string_view names[] = {"predicate",      "sum",        "fraction",  "largest", "product", "quotient",
                                        "whole_quotient", "remainder",  "lipschitz", "corners", "power",   "step",
                                        "derivative",     "conversion", "unbounded"};
  return names[static_cast<size_t>(r)];
}
std::string_view name(Jump j) {
  constexpr std::string_view names[] = {"none",
                                        "at_zero",
                                        "at_integers",
                                        "at_half_integers",
                                        "where_equal",
                                        "at_whole_quotients",
                                        "at_condition",
                                        "at_scaled_halves",
                                        "at_nonpositive_integers",
                                        "at_odd_quarter_turns",
                                        "at_negative_axis"};
  return names[static_cast<size_t>(j)];
}
std::string_view name(AccuracyClass a) {
  constexpr std::string_view names[] = {"exact", "correctly_rounded", "ulps"};
  return names[static_cast<size_t>(a)];
}
std::string_view name(NanRule r) {
  constexpr std::string_view names[] = {"propagates", "ignores", "tests", "selects"};
  return names[static_cast<size_t>(r)];
}
std::string_view name(Monotone m) {
  constexpr std::string_view names[] = {"no", "increasing", "decreasing"};
  return names[static_cast<size_t>(m)];
}

std::vector<std::string> dtype_names(DtypeSet set) {
  std::vector<std::string> list;
  for (int d = 0; d < kDtypeCount; ++d)
    if (set.has(static_cast<Dtype>(d))) list.emplace_back(lenz::name(static_cast<Dtype>(d)));
  return list;
}

std::vector<std::string> trait_names(const ScalarRow& row) {
  constexpr std::pair<uint32_t, std::string_view> kNames[] = {{traits::commutative, "commutative"},
                                                              {traits::associative, "associative"},
                                                              {traits::idempotent, "idempotent"},
                                                              {traits::involution, "involution"},
                                                              {traits::even, "even"},
                                                              {traits::odd, "odd"},
                                                              {traits::loose_zero, "loose_zero"},
                                                              {traits::costly, "costly"},
                                                              {traits::never_negative, "never_negative"},
                                                              {traits::keeps_above_zero, "keeps_above_zero"},
                                                              {traits::gives_whole, "gives_whole"},
                                                              {traits::keeps_whole, "keeps_whole"}};
  std::vector<std::string> list;
  for (const auto& [bit, text] : kNames)
    if (row.has(bit)) list.emplace_back(text);
  return list;
}

nlohmann::json to_json(const ScalarRow& row) {
  auto domain = nlohmann::json::array();
  for (int i = 0; i < row.arity; ++i) {
    auto intervals = nlohmann::json::array();
    for (const Interval& interval : row.domain[static_cast<size_t>(i)])
      intervals.push_back({interval.low, interval.high});
    domain.push_back(intervals);
  }
  auto exceptions = nlohmann::json::array();
  for (const EagerException& e : row.eager.exceptions)
    exceptions.push_back({{"dtypes", dtype_names(e.dtypes)},
                          {"when", e.when},
                          {"reason", e.reason},
                          {"ulps", e.ulps},
                          {"steady", e.steady}});
  return {{"name", row.name},
          {"arity", row.arity},
          {"operands", name(row.operands)},
          {"result", name(row.result)},
          {"dtypes", dtype_names(row.dtypes)},
          {"semantics", row.semantics},
          {"double_double", row.eval.dds != nullptr},
          {"error_rule", name(row.error.rule)},
          {"jump", name(row.error.jump)},
          {"accuracy",
           {{"class", name(row.accuracy.kind)},
            {"class_of_complex", name(row.accuracy.of_complex)},
            {"ulps", row.accuracy.ulps},
            {"absolute", row.accuracy.absolute},
            {"of_operands", row.accuracy.of_operands},
            {"complex_ulps", row.accuracy.complex_ulps}}},
          {"nan", name(row.nan)},
          {"monotone", name(row.monotone)},
          {"traits", trait_names(row)},
          {"domain", domain},
          {"defined_everywhere", row.defined == nullptr},
          {"eager",
           {{"call", row.eager.call},
            {"ulps", row.eager.ulps},
            {"narrow_ulps", row.eager.narrow_ulps},
            {"f64_ulps", row.eager.f64_ulps},
            {"complex_ulps", row.eager.complex_ulps},
            {"composite", dtype_names(row.eager.composite)},
            {"absolute", row.eager.absolute},
            {"exceptions", exceptions}}}};
}

std::string joined(const std::vector<std::string>& items) {
  std::string text;
  for (const std::string& s : items) text += (text.empty() ? "" : " ") + s;
  return text.empty() ? "-" : text;
}

std::string accuracy_text(const ScalarRow& row) {
  if (row.accuracy.kind != AccuracyClass::ulps) return std::string(name(row.accuracy.kind));
  char text[64];
  std::snprintf(text, sizeof text, "%g ulps%s", row.accuracy.ulps,
                row.accuracy.absolute > 0 ? ", absolute near 0" : "");
  return text;
}

void print_one(const ScalarRow& row) {
  auto line = [](const char* what, std::string_view text) {
    std::printf("  %-12s %.*s\n", what, static_cast<int>(text.size()), text.data());
  };
  std::printf("%.*s, %d operand%s\n", static_cast<int>(row.name.size()), row.name.data(), row.arity,
              row.arity == 1 ? "" : "s");
  line("meaning", row.semantics);
  line("dtypes", joined(dtype_names(row.dtypes)));
  line("operands", name(row.operands));
  line("result", name(row.result));
  line("errors", std::string(name(row.error.rule)) + ", jumps: " + std::string(name(row.error.jump)));
  line("accuracy", accuracy_text(row));
  line("NaN", name(row.nan));
  line("monotone", name(row.monotone));
  line("traits", joined(trait_names(row)));
  line("reference", row.eval.dds != nullptr ? "double, double-double" : "double");
  line("eager", row.eager.call.empty() ? "no such function" : row.eager.call);
  for (const EagerException& e : row.eager.exceptions)
    line("  except", std::string(e.reason) + " (" + joined(dtype_names(e.dtypes)) + ")");
}

void print_table(const std::vector<const ScalarRow*>& rows) {
  size_t width = 4;
  for (const ScalarRow* row : rows) width = std::max(width, row->name.size());
  for (const ScalarRow* row : rows)
    std::printf("%-*.*s  %d  %-17s %-12s %.*s\n", static_cast<int>(width), static_cast<int>(row->name.size()),
                row->name.data(), row->arity, accuracy_text(*row).c_str(), std::string(name(row->error.rule)).c_str(),
                static_cast<int>(row->semantics.size()), row->semantics.data());
  std::printf("%zu scalar primitives\n", rows.size());
}

// --- evaluation: one request a line, "NAME DTYPE[:TARGET] BITS..." with bits in hexadecimal; one answer a line:
// "BITS FIRST SECOND defined|undefined", where FIRST + SECOND is the result before it was rounded to the dtype (a
// double-double; for complex numbers real and imaginary part; for integers 0 0), or "raises TEXT".

[[noreturn]] void bad_line(const std::string& line, size_t number, const std::string& what) {
  throw UserError(what + ": " + line, "standard input, line " + std::to_string(number),
                  "a line is NAME DTYPE[:TARGET] BITS..., for example: add i8 7f 01");
}

ScalarBits parse_bits(const std::string& text, Dtype dtype, const std::string& line, size_t number) {
  if (text.empty() || text.size() > 32 || text.find_first_not_of("0123456789abcdefABCDEF") != std::string::npos)
    bad_line(line, number, "'" + text + "' is not up to 32 hexadecimal digits");
  auto word = [](const std::string& digits) { return digits.empty() ? 0 : std::stoull(digits, nullptr, 16); };
  const size_t low = text.size() - std::min<size_t>(text.size(), 16);
  const ScalarBits made{word(text.substr(low)), word(text.substr(0, low))};
  const int width = dtype == Dtype::b8 ? 1 : info(dtype).bits;
  const bool fits = width >= 128 || (made[1] == 0 && (width >= 64 || made[0] >> width == 0));
  if (!fits)
    bad_line(line, number,
             "'" + text + "' has more bits than " + std::string(name(dtype)) + ", " + std::to_string(width));
  return made;
}

std::string bits_text(Dtype dtype, ScalarBits bits) {
  char text[40];
  if (dtype == Dtype::c128) {
    std::snprintf(text, sizeof text, "%016" PRIx64 "%016" PRIx64, bits[1], bits[0]);
  } else {
    std::snprintf(text, sizeof text, "%" PRIx64, bits[0]);
  }
  return text;
}

// Unsupported where the row takes as many steps as an operand says, and that is too many to wait for.
void refuse_what_never_ends(const ScalarRow& row, std::span<const ScalarValue> operands) {
  constexpr double kMostSteps = 0x1p20;
  if (!row.has(traits::costly)) return;
  for (const ScalarValue& v : operands) {
    const double size = std::fabs(v.kind() == ScalarKind::double_double ? static_cast<double>(v.double_double())
                                  : v.kind() == ScalarKind::real        ? v.real()
                                                                        : 0);
    if (std::isfinite(size) && size > kMostSteps)
      throw Unsupported(std::string(row.name) + " takes as many steps as an operand says; with " +
                        std::to_string(size) + " it is not evaluated");
  }
}

std::string answer(const std::string& line, size_t number) {
  std::istringstream words(line);
  std::string row_name, types;
  words >> row_name >> types;
  const ScalarRow* row = find_scalar(row_name);
  if (row == nullptr) bad_line(line, number, "no scalar primitive '" + row_name + "'");
  const size_t colon = types.find(':');
  const auto compute = parse_dtype(types.substr(0, colon));
  const auto target = colon == std::string::npos ? std::nullopt : parse_dtype(types.substr(colon + 1));
  if (!compute || (colon != std::string::npos && !target)) bad_line(line, number, "unknown dtype '" + types + "'");
  if (row->result == ResultRule::target && !target) bad_line(line, number, "this primitive needs DTYPE:TARGET");
  if (row->name == "bitcast" && info(*compute).bits != info(*target).bits)
    bad_line(line, number, "bitcast needs dtypes of one width");
  std::vector<ScalarValue> operands;
  for (std::string bits; words >> bits;) {
    Dtype dtype = operand_dtype(*row, *compute, static_cast<int>(operands.size()));
    operands.push_back(from_bits(dtype, parse_bits(bits, dtype, line, number)));
    // float64 is computed in double-double where the row can.
    if (dtype == Dtype::f64 && row->eval.dds != nullptr)
      operands.back() = ScalarValue(DoubleDouble(operands.back().real()));
  }
  if (static_cast<int>(operands.size()) != row->arity)
    bad_line(line, number, "expected " + std::to_string(row->arity) + " operands");
  refuse_what_never_ends(*row, operands);
  try {
    const ScalarValue result = evaluate(*row, *compute, operands, target);
    const Dtype dtype = result_dtype(*row, *compute, target);
    double first = 0, second = 0;
    switch (result.kind()) {
      case ScalarKind::integer: break;
      case ScalarKind::real: first = result.real(); break;
      case ScalarKind::double_double: first = result.double_double().hi, second = result.double_double().lo; break;
      case ScalarKind::complex: first = result.complex().real(), second = result.complex().imag(); break;
    }
    char text[160];
    std::snprintf(text, sizeof text, "%s %a %a %s", bits_text(dtype, to_bits(dtype, result)).c_str(), first, second,
                  is_defined(*row, *compute, operands, target) ? "defined" : "undefined");
    return text;
  } catch (const UserError& error) {
    return "raises " + error.message();
  }
}

ExitCode evaluate_lines() {
  size_t number = 0;
  for (std::string line; std::getline(std::cin, line);) {
    ++number;
    if (line.empty()) continue;
    const std::string text = answer(line, number);
    std::printf("%s\n", text.c_str());
  }
  return ExitCode::fine;
}

}  // namespace

ExitCode scalar_command(std::span<const std::string> args) {
  CLI::App app("Lists the scalar primitives and what each row knows.", "lenz scalar");
  std::vector<std::string> names;
  bool json = false, eval = false;
  app.add_option("NAME", names, "primitives to show; none: all");
  app.add_flag("--json", json, "an array of objects");
  app.add_flag("--eval", eval, "compute: lines of NAME DTYPE[:TARGET] BITS... on standard input, in hexadecimal");
  if (!parse_arguments(app, args)) return ExitCode::fine;
  if (eval) return evaluate_lines();
  std::vector<const ScalarRow*> rows;
  for (const std::string& wanted : names) {
    const ScalarRow* row = find_scalar(wanted);
    if (row == nullptr) {
      std::vector<std::string_view> all;
      for (const ScalarRow& candidate : scalar_table()) all.push_back(candidate.name);
      const std::string_view nearest = nearest_name(wanted, all);
      throw UserError("no scalar primitive `" + wanted + "`", "",
                      nearest.empty() ? "lenz scalar lists them" : "did you mean `" + std::string(nearest) + "`?");
    }
    rows.push_back(row);
  }
  if (names.empty())
    for (const ScalarRow& row : scalar_table()) rows.push_back(&row);
  if (json) {
    auto all = nlohmann::json::array();
    for (const ScalarRow* row : rows) all.push_back(to_json(*row));
    std::printf("%s\n", all.dump(1).c_str());
    return ExitCode::fine;
  }
  if (!names.empty()) {
    for (const ScalarRow* row : rows) print_one(*row);
  } else {
    print_table(rows);
  }
  return ExitCode::fine;
}

}  // namespace lenz
