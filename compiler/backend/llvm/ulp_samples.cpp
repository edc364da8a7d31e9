#include "compiler/backend/llvm/ulp_samples.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "compiler/scalar/random_stream.h"

namespace lenz::native {

namespace {

class Sampler {
 public:
  Sampler(const ScalarRow& row, Dtype compute) : row_(row), compute_(compute) {}

  std::vector<std::array<ScalarBits, 3>> make(int64_t count) {
    std::vector<std::vector<ScalarBits>> special;
    for (int i = 0; i < row_.arity; ++i) special.push_back(special_of(i));
    std::vector<std::array<ScalarBits, 3>> samples;
    // All combinations of special values, thinned where there are too many.
    size_t combinations = 1;
    for (const auto& list : special) combinations *= list.size();
    const size_t stride = std::max<size_t>(1, combinations / static_cast<size_t>(2 * count + 200)) | 1;
    for (size_t c = 0; c < combinations; c += stride) {
      std::array<ScalarBits, 3> operands{};
      size_t rest = c;
      for (size_t i = 0; i < special.size(); ++i)
        operands[i] = special[i][rest % special[i].size()], rest /= special[i].size();
      samples.push_back(operands);
    }
    for (int64_t n = 0; n < count; ++n) {
      std::array<ScalarBits, 3> operands{};
      for (int i = 0; i < row_.arity; ++i) {
        const Dtype dtype = operand_dtype(row_, compute_, i);
        auto one = [&] { return n % 2 == 0 || is_integral(dtype, true) ? anywhere(dtype, n) : in_domain(dtype, i); };
        operands[static_cast<size_t>(i)] = is_complex(dtype) ? pair(dtype, n, i) : one();
      }
      if (costly_operand_too_large(operands)) continue;
      samples.push_back(operands);
    }
    std::erase_if(samples, [&](const auto& operands) { return costly_operand_too_large(operands); });
    return samples;
  }

 private:
  uint64_t word() { return stream_.wide_word(drawn_++); }
  double fraction() { return static_cast<double>(word() >> 11) * 0x1p-53; }

  // Functions whose work grows with an operand stay where they end soon.
  bool costly_operand_too_large(const std::array<ScalarBits, 3>& operands) const {
    if (!row_.has(traits::costly)) return false;
    for (int i = 0; i < row_.arity; ++i) {
      const Dtype dtype = operand_dtype(row_, compute_, i);
      const ScalarValue value = from_bits(dtype, operands[static_cast<size_t>(i)]);
      const double size = value.kind() == ScalarKind::integer ? std::fabs(static_cast<double>(value.integer()))
                                                              : std::fabs(value.real());
      if (std::isfinite(size) && size > 1000) return true;
    }
    return false;
  }

  ScalarBits bits(Dtype dtype, double value) const { return to_bits(dtype, ScalarValue(round_to(dtype, value))); }

  std::vector<ScalarBits> special_of(int operand) {
    const Dtype dtype = operand_dtype(row_, compute_, operand);
    std::vector<ScalarBits> list;
    if (is_integral(dtype, true)) {
      for (int64_t v :
           {int64_t{0},           int64_t{1},          int64_t{-1},  int64_t{2},   int64_t{-2},      int64_t{3},
            int64_t{7},           int64_t{8},          int64_t{15},  int64_t{31},  int64_t{63},      int64_t{64},
            int64_t{100},         int64_t{-128},       int64_t{127}, int64_t{255}, int64_t{-32768},  int64_t{32767},
            INT64_C(-2147483648), INT64_C(2147483647), INT64_MIN,    INT64_MAX,    INT64_C(16777217)})
        list.push_back(to_bits(dtype, ScalarValue(wrap_to(dtype, v))));
      std::ranges::sort(list);
      list.erase(std::unique(list.begin(), list.end()), list.end());
      return list;
    }
    const Dtype part = to_real(dtype);
    std::vector<double> values = {0.0,
                                  1,
                                  0.5,
                                  2,
                                  3,
                                  0.25,
                                  0.75,
                                  std::numbers::pi,
                                  std::numbers::e,
                                  1.5,
                                  2.5,
                                  10,
                                  100,
                                  20,
                                  dd::kInfinity,
                                  largest_finite(part),
                                  smallest_normal(part),
                                  smallest_subnormal(part),
                                  2 * smallest_subnormal(part),
                                  88.5,
                                  90,
                                  103.5,
                                  127,
                                  128,
                                  149,
                                  150,
                                  710,
                                  1e5,
                                  1e15,
                                  1 + smallest_subnormal(part)};
    if (row_.arity > 1 || is_complex(dtype)) values.resize(20);
    const size_t positive = values.size();
    for (size_t i = 0; i < positive; ++i) values.push_back(-values[i]);
    values.push_back(dd::kNan);
    for (double at : {1.0, 0.5, std::numbers::pi / 2, std::numbers::pi, 2.0})
      for (double side : {-dd::kInfinity, dd::kInfinity}) values.push_back(next_after(part, round_to(part, at), side));
    for (double v : values) {
      if (!is_complex(dtype)) {
        list.push_back(bits(dtype, v));
      } else if (std::isfinite(v)) {
        for (double w : {0.0, 1.0, -0.5, -2.0}) list.push_back(complex_bits(dtype, v, w));
      }
    }
    return list;
  }

  static ScalarBits complex_bits(Dtype dtype, double re, double im) {
    return to_bits(dtype,
                   ScalarValue(std::complex<double>(round_to(to_real(dtype), re), round_to(to_real(dtype), im))));
  }
  ScalarBits pair(Dtype dtype, int64_t n, int operand) {
    const Dtype part = to_real(dtype);
    auto value = [&](ScalarBits b) { return from_bits(part, b).real(); };
    auto one = [&] { return value(n % 4 == 0 ? anywhere(part, n) : in_domain(part, operand)); };
    const double re = one(), im = one();
    return complex_bits(dtype, re, im);
  }

  // Every exponent in turn, any digits; now and then a number with none, of any size. Of integers: any number of bits.
  ScalarBits anywhere(Dtype dtype, int64_t n) {
    const int bits = info(dtype).bits;
    const uint64_t ones = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
    if (is_integral(dtype, true)) {
      const uint64_t w = word();
      if (dtype == Dtype::b8) return {w & 1, 0};
      const auto value =
          static_cast<int64_t>(w) >> (word() % static_cast<uint64_t>(bits) + static_cast<uint64_t>(64 - bits));
      return {static_cast<uint64_t>(value) & ones, 0};
    }
    const int stored = info(dtype).mantissa_bits - 1, exponents = 1 << (bits - 1 - stored);
    uint64_t exponent = (static_cast<uint64_t>(n) * 2654435761u + word() % 3) % static_cast<uint64_t>(exponents);
    uint64_t digits = word() & ((uint64_t{1} << stored) - 1);
    if (n % 32 == 0) exponent = 0, digits >>= word() % static_cast<uint64_t>(stored);
    if (n % 7 == 0) digits &= ~(((uint64_t{1} << stored) - 1) >> 3);  // few bits: exact quotients, halves
    return {(exponent << stored | digits | (word() & 1) << (bits - 1)) & ones, 0};
  }

  ScalarBits in_domain(Dtype dtype, int operand) {
    const auto intervals = row_.domain[static_cast<size_t>(operand)];
    double low = -20, high = 20;
    if (!intervals.empty()) {
      const Interval& interval = intervals[word() % intervals.size()];
      low = interval.low, high = interval.high;
    }
    double value = 0;
    const uint64_t how = word() % 3;
    if (how == 0 && high - low < 1e6) {
      value = low + (high - low) * fraction();
    } else if (how == 1) {  // near one, or near zero
      value = (word() % 2 == 0 ? 1.0 : -1.0) * std::exp2(-20 * fraction()) + (word() % 2 == 0 ? 1.0 : 0.0);
    } else {
      value = (low < 0 && word() % 2 == 0 ? -1.0 : 1.0) * std::exp2(-12 + 20 * fraction());
    }
    value = std::clamp(value, low, high);
    if (row_.has(traits::costly) && word() % 3 == 0) value = std::round(value);
    return bits(dtype, value);
  }

  const ScalarRow& row_;
  Dtype compute_;
  RandomStream stream_{20240229, 0};
  uint64_t drawn_ = 0;
};

}  // namespace

std::vector<std::array<ScalarBits, 3>> sample_operands(const ScalarRow& row, Dtype compute, int64_t count) {
  return Sampler(row, compute).make(count);
}

}  // namespace lenz::native
