#include "compiler/backend/llvm/ulp.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstring>
#include <mutex>
#include <thread>

#include "compiler/backend/llvm/row_kernel.h"
#include "compiler/backend/llvm/ulp_samples.h"
#include "compiler/base/error.h"
#include "compiler/scalar/rounding.h"

namespace lenz::native {

namespace {

constexpr double kWrong = std::numeric_limits<double>::infinity();

// Functions of one double that are faster than the table's: an independent judge for runs over all inputs. What they
// call wrong or nearly so is looked at again in double-double.
struct Quick {
  std::string_view row;
  double (*function)(double);
};
constexpr Quick kQuick[] = {
    {"exp", std::exp},
    {"exp2", std::exp2},
    {"expm1", std::expm1},
    {"log", std::log},
    {"log2", std::log2},
    {"log10", std::log10},
    {"log1p", std::log1p},
    {"sin", std::sin},
    {"cos", std::cos},
    {"tan", std::tan},
    {"asin", std::asin},
    {"acos", std::acos},
    {"atan", std::atan},
    {"sinh", std::sinh},
    {"cosh", std::cosh},
    {"tanh", std::tanh},
    {"asinh", std::asinh},
    {"acosh", std::acosh},
    {"atanh", std::atanh},
    {"cbrt", std::cbrt},
    {"sqrt", std::sqrt},
    {"erf", std::erf},
    {"erfc", std::erfc},
    {"lgamma", std::lgamma},
    {"special_bessel_j0", ::j0},
    {"special_bessel_j1", ::j1},
    {"sigmoid", [](double x) { return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x)); }},
    {"rsqrt", [](double x) { return 1 / std::sqrt(x); }},
    {"reciprocal", [](double x) { return 1 / x; }},
};
double (*quick_of(const ScalarRow& row))(double) {
  for (const Quick& quick : kQuick)
    if (quick.row == row.name) return quick.function;
  return nullptr;
}

double magnitude(const ScalarValue& value) {
  switch (value.kind()) {
    case ScalarKind::integer: return std::fabs(static_cast<double>(value.integer()));
    case ScalarKind::real: return std::fabs(value.real());
    case ScalarKind::double_double: return std::fabs(value.double_double().hi);
    case ScalarKind::complex: return std::abs(value.complex());
  }
  return 0;
}

// How far a float is from the real result.
double distance(const ScalarRow& row, Dtype dtype, double got, DoubleDouble right, double scale) {
  const double rounded = round_to(dtype, right);
  if (std::isnan(rounded) || std::isnan(got)) return std::isnan(rounded) == std::isnan(got) ? 0 : kWrong;
  if (got == 0 && rounded == 0)
    return std::signbit(got) == std::signbit(rounded) || row.has(traits::loose_zero) ? 0 : kWrong;
  if (got == rounded && (std::isinf(got) || row.accuracy.kind != AccuracyClass::ulps)) return 0;
  if (row.accuracy.kind != AccuracyClass::ulps) return kWrong;
  // Infinity stands for what would follow the largest number.
  const double beyond = largest_finite(dtype) + last_place(dtype, largest_finite(dtype));
  const double largest = std::isinf(beyond) ? std::numeric_limits<double>::max() : beyond;
  auto finite = [&](double x) { return std::isinf(x) ? std::copysign(largest, x) : x; };
  if (std::isinf(got) != std::isinf(rounded) && dtype == Dtype::f64)
    return std::fabs(std::isinf(got) ? right.hi : got) == std::numeric_limits<double>::max() ? 1 : kWrong;
  const DoubleDouble target = std::isinf(rounded) ? DoubleDouble(finite(rounded)) : right;
  const double reach = std::max({std::fabs(target.hi), row.accuracy.absolute, scale});
  const DoubleDouble error = DoubleDouble(finite(got)) - target;
  return std::fabs(static_cast<double>(error)) / last_place(dtype, reach);
}

struct Judge {
  const UlpRequest& request;
  const ScalarRow& row = *request.row;

  double limit() const {
    if (is_complex(request.result)) return row.accuracy.complex_ulps;
    if (row.accuracy.of(request.compute) != AccuracyClass::ulps) return 0;
    const Dtype arithmetic = arithmetic_dtype(request.result);
    if (arithmetic == request.result) return row.accuracy.ulps;
    const double finer = std::ldexp(1.0, info(request.result).mantissa_bits - info(arithmetic).mantissa_bits);
    return 0.5 + std::max(kNarrowSpare, row.accuracy.ulps * finer);  // and rounded once
  }

  ScalarValue reference(std::span<const ScalarValue> operands) const {
    ScalarValue wide[3];
    for (size_t i = 0; i < operands.size(); ++i) {
      wide[i] = operands[i];
      // What is rounded once is so by the machine's own arithmetic too; of products of small numbers a double-double
      // has no low part.
      if (row.eval.dds != nullptr && operands[i].kind() == ScalarKind::real && row.accuracy.kind == AccuracyClass::ulps)
        wide[i] = ScalarValue(DoubleDouble(operands[i].real()));
    }
    return evaluate(row, request.compute, std::span(wide, operands.size()), request.result);
  }

  // Complex references are computed in long double. Where a row multiplies a large operand into an angle, their eleven
  // bits more than a double's are used up; eager's allowance shows which rows do.
  bool reference_is_loose(std::span<const ScalarValue> operands) const {
    if (!is_complex(request.compute) || row.eager.complex_ulps <= row.accuracy.complex_ulps) return false;
    for (const ScalarValue& operand : operands)
      if (magnitude(operand) > 1000) return true;
    return false;
  }

  // Of one element; kWrong for what no distance can excuse.
  double judge(std::span<const ScalarValue> operands, const ScalarValue& got, bool raised) const {
    ScalarValue right;
    try {
      right = reference(operands);
    } catch (const UserError&) {
      return raised ? 0 : kWrong;
    }
    if (raised) return kWrong;
    if (is_integral(request.result, true)) return got.integer() == right.integer() ? 0 : kWrong;
    double scale = 0;
    if (row.accuracy.of_operands)
      for (const ScalarValue& operand : operands) scale = std::max(scale, magnitude(operand));
    if (is_complex(request.result)) return complex_distance(got.complex(), right.complex(), scale);
    const double value = got.kind() == ScalarKind::integer ? static_cast<double>(got.integer()) : got.real();
    if (is_complex(request.compute)) {  // the real result of a complex row: abs, angle
      if (!std::isfinite(right.real()) || !std::isfinite(value))
        return std::isfinite(right.real()) == std::isfinite(round_to(request.result, value)) ||
                       !std::isfinite(round_to(request.result, right.real()))
                   ? 0
                   : kWrong;
      return std::fabs(value - right.real()) / last_place(request.result, right.real());
    }
    const DoubleDouble exact =
        right.kind() == ScalarKind::double_double ? right.double_double() : DoubleDouble(right.real());
    return distance(row, request.result, value, exact, scale);
  }

  double complex_distance(std::complex<double> got, std::complex<double> right, double scale) const {
    const auto rounded = round_to(request.result, right);
    auto finite = [](std::complex<double> z) { return std::isfinite(z.real()) && std::isfinite(z.imag()); };
    if (!finite(rounded)) return 0;  // what an infinity does in complex arithmetic differs between good answers
    if (!finite(got)) return kWrong;
    if (got == rounded) return 0;
    const double reach = std::max({std::abs(right), row.accuracy.absolute, scale});
    return std::abs(got - right) / last_place(to_real(request.result), reach);
  }

  std::string describe(std::span<const ScalarValue> operands, const ScalarValue& got) const {
    std::string text = std::string(row.name) + "(";
    for (size_t i = 0; i < operands.size(); ++i) text += (i ? ", " : "") + shown(operands[i]);
    text += ") = " + shown(got) + ", should be ";
    try {
      text += shown(reference(operands));
    } catch (const UserError& error) {
      text += error.message();
    }
    return text;
  }
  static std::string shown(const ScalarValue& value) {
    char text[96];
    switch (value.kind()) {
      case ScalarKind::integer: return std::to_string(value.integer());
      case ScalarKind::real: std::snprintf(text, sizeof text, "%a (%.9g)", value.real(), value.real()); break;
      case ScalarKind::double_double: {
        const DoubleDouble d = value.double_double();
        std::snprintf(text, sizeof text, "%a%+a (%.9g)", d.hi, d.lo, d.hi);
        break;
      }
      case ScalarKind::complex:
        std::snprintf(text, sizeof text, "%.17g%+.17gi", value.complex().real(), value.complex().imag());
        break;
    }
    return text;
  }
};

// Arrays of one operand or result, as the kernel takes them: complex parts apart.
struct Column {
  Column(Dtype dtype, size_t count) : dtype(dtype), width(static_cast<size_t>(item_size(to_real(dtype)))) {
    for (int i = 0; i < (is_complex(dtype) ? 2 : 1); ++i) parts.emplace_back((count + 64) * width + 64);
  }
  void set(size_t i, ScalarBits bits) {
    if (dtype == Dtype::c64) bits = {bits[0] & 0xffffffff, bits[0] >> 32};
    for (size_t p = 0; p < parts.size(); ++p) std::memcpy(parts[p].data() + i * width, &bits[p], width);
  }
  ScalarBits get(size_t i) const {
    ScalarBits bits{};
    for (size_t p = 0; p < parts.size(); ++p) std::memcpy(&bits[p], parts[p].data() + i * width, width);
    if (dtype == Dtype::c64) bits = {bits[0] | bits[1] << 32, 0};
    return bits;
  }
  Dtype dtype;
  size_t width;
  std::vector<std::vector<uint8_t>> parts;
};

class Run {
 public:
  explicit Run(const UlpRequest& request)
      : request_(request),
        judge_{request},
        kernel_(*request.row, request.compute, request.result, request.target, request.lanes) {
    report_.limit = judge_.limit();
  }

  UlpReport go() {
    const auto start = std::chrono::steady_clock::now();
    if (request_.all) {
      every_input();
    } else {
      sampled();
    }
    report_.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return report_;
  }

 private:
  struct Block {
    Block(const ScalarRow& row, Dtype compute, Dtype result, size_t count) : out(result, count), raised(count + 128) {
      for (int i = 0; i < row.arity; ++i) in.emplace_back(operand_dtype(row, compute, i), count);
    }
    void run(const RowKernel& kernel, size_t count) {
      std::vector<const void*> from;
      std::vector<void*> to;
      for (Column& column : in)
        for (auto& part : column.parts) from.push_back(part.data());
      for (auto& part : out.parts) to.push_back(part.data());
      kernel.run(from.data(), to.data(), raised.data(), static_cast<int64_t>(count));
    }
    std::vector<Column> in;
    Column out;
    std::vector<uint8_t> raised;
  };

  void look_at(const Block& block, size_t i, UlpReport& into) const {
    ScalarValue operands[3];
    for (size_t k = 0; k < block.in.size(); ++k) operands[k] = from_bits(block.in[k].dtype, block.in[k].get(i));
    const std::span<const ScalarValue> used(operands, block.in.size());
    if (!is_defined(*request_.row, request_.compute, used, request_.result) || judge_.reference_is_loose(used)) {
      ++into.undefined;
      return;
    }
    const ScalarValue got = from_bits(request_.result, block.out.get(i));
    const double distance = judge_.judge(used, got, block.raised[i] != 0);
    const bool wrong = !(distance <= report_.limit);
    into.wrong += wrong;
    if (!(distance <= into.worst) || (wrong && into.where.empty())) {
      into.worst = distance;
      into.where = judge_.describe(used, got);
    }
  }

  void merge(const UlpReport& part) {
    std::lock_guard lock(mutex_);
    report_.inputs += part.inputs;
    report_.undefined += part.undefined;
    report_.wrong += part.wrong;
    if (part.worst > report_.worst) report_.worst = part.worst, report_.where = part.where;
  }

  void sampled() {
    const auto samples = sample_operands(*request_.row, request_.compute, request_.samples);
    Block block(*request_.row, request_.compute, request_.result, samples.size());
    for (size_t i = 0; i < samples.size(); ++i)
      for (size_t k = 0; k < block.in.size(); ++k) block.in[k].set(i, samples[i][k]);
    block.run(kernel_, samples.size());
    UlpReport part;
    part.inputs = static_cast<int64_t>(samples.size());
    for (size_t i = 0; i < samples.size(); ++i) look_at(block, i, part);
    merge(part);
  }

  void every_input() {
    const int bits = info(request_.compute).bits;
    const uint64_t total = uint64_t{1} << bits, step = std::min<uint64_t>(total, uint64_t{1} << 16);
    std::atomic<uint64_t> next{0};
    auto work = [&] {
      Block block(*request_.row, request_.compute, request_.result, step);
      UlpReport part;
      for (uint64_t first; (first = next.fetch_add(step)) < total;) {
        for (uint64_t i = 0; i < step; ++i) block.in[0].set(i, {first + i, 0});
        block.run(kernel_, step);
        part.inputs += static_cast<int64_t>(step);
        if (request_.compute == Dtype::f32 && request_.result == Dtype::f32) {
          look_at_floats(block, step, part);
        } else {
          for (uint64_t i = 0; i < step; ++i) look_at(block, i, part);
        }
        if (request_.progress && (first / step) % 512 == 0) {
          std::lock_guard lock(mutex_);
          request_.progress(static_cast<double>(first) / static_cast<double>(total));
        }
      }
      merge(part);
    };
    std::vector<std::thread> threads;
    for (int i = 1; i < request_.threads; ++i) threads.emplace_back(work);
    work();
    for (std::thread& thread : threads) thread.join();
  }

  // What equals the rounded reference is within half a place; only the rest is measured.
  void look_at_floats(const Block& block, size_t count, UlpReport& into) const {
    const auto* x = reinterpret_cast<const float*>(block.in[0].parts[0].data());
    const auto* y = reinterpret_cast<const float*>(block.out.parts[0].data());
    double (*quick)(double) = quick_of(*request_.row);
    const EvalContext context{Dtype::f32, Dtype::f32};
    for (size_t i = 0; i < count; ++i) {
      double right = 0;
      if (quick != nullptr) {
        right = quick(static_cast<double>(x[i]));
      } else {
        const ScalarValue operands[3] = {ScalarValue(static_cast<double>(x[i]))};  // an evaluator looks at three
        right = request_.row->eval.reals(context, operands).real();
      }
      const auto rounded = static_cast<float>(right);
      if (std::bit_cast<uint32_t>(rounded) == std::bit_cast<uint32_t>(y[i]) ||
          (std::isnan(rounded) && std::isnan(y[i])))
        continue;
      if (std::isfinite(rounded) && std::isfinite(y[i]) && rounded != 0 && request_.row->accuracy.absolute == 0) {
        const double error = std::fabs(static_cast<double>(y[i]) - right) / last_place(Dtype::f32, right);
        if (error < into.worst && error < report_.limit * 0.999) continue;
      }
      look_at(block, i, into);
    }
  }

  const UlpRequest& request_;
  Judge judge_;
  RowKernel kernel_;
  std::mutex mutex_;
  UlpReport report_;
};

}  // namespace

UlpReport check_row(const UlpRequest& request) {
  LENZ_CHECK(!request.all || can_try_all(*request.row, request.compute), "too many inputs to try them all");
  return Run(request).go();
}

bool can_try_all(const ScalarRow& row, Dtype compute) { return row.arity == 1 && info(compute).bits <= 32; }

std::vector<Dtype> results_of(const ScalarRow& row, Dtype compute) {
  if (row.result != ResultRule::target) return {result_dtype(row, compute)};
  std::vector<Dtype> results;
  const bool by_bits = row.error.rule == ErrorRule::unbounded;  // only what is as wide can show the same bits
  for (int d = 0; d < kDtypeCount; ++d) {
    const auto dtype = static_cast<Dtype>(d);
    if (!by_bits || info(dtype).bits == info(compute).bits) results.push_back(dtype);
  }
  return results;
}

}  // namespace lenz::native
