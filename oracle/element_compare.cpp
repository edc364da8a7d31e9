#include "oracle/element_compare.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>

#include <cmath>
#include <complex>
#include <span>

#include "oracle/aten.h"

namespace lenz::oracle {

namespace {
// Elements in logical order; integers beyond 2^53 keep their value in `whole`.
struct Elements {
  std::vector<std::complex<double>> numbers;
  std::vector<int64_t> whole;
};

Elements elements(const at::Tensor& given) {
  at::NoGradGuard no_grad;
  Elements e;
  at::Tensor t = given.detach().resolve_conj().resolve_neg();
  if (t.scalar_type() == at::kBool) t = t.view(at::kByte);  // 1 is the only true one
  if (at::isIntegralType(t.scalar_type(), true)) {
    t = t.to(at::kLong).contiguous();
    e.whole.assign(t.const_data_ptr<int64_t>(), t.const_data_ptr<int64_t>() + t.numel());
    return e;
  }
  t = (t.is_complex() ? t : t.to(at::kDouble)).to(at::kComplexDouble).contiguous();
  const auto* data = t.const_data_ptr<c10::complex<double>>();
  for (int64_t i = 0; i < t.numel(); ++i) e.numbers.emplace_back(data[i].real(), data[i].imag());
  return e;
}

bool close_enough(double a, double b, double size, Closeness close) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  if (std::isinf(a) || std::isinf(b)) return a == b;
  return std::abs(a - b) <= close.absolute + close.relative * size;
}

std::string to_text(std::complex<double> v) {
  char text[80];
  std::snprintf(text, sizeof text, v.imag() == 0 ? "%.17g" : "%.17g%+.17gi", v.real(), v.imag());
  return text;
}

std::optional<std::string> tensors_apart(const at::Tensor& expected, const at::Tensor& got, Closeness close) {
  if (!expected.defined() || !got.defined())
    return expected.defined() == got.defined() ? std::nullopt : std::optional<std::string>("only one is a tensor");
  RunValue a = hold(expected), b = hold(got);
  if (expected.scalar_type() != got.scalar_type() || expected.sizes() != got.sizes())
    return "eager gives " + to_string(look(a)) + ", the definition " + to_string(look(b));
  Elements x = elements(expected), y = elements(got);
  for (size_t i = 0; i < x.whole.size(); ++i)
    if (x.whole[i] != y.whole[i])
      return "element " + std::to_string(i) + " of " + to_string(look(a)) + ": eager gives " +
             std::to_string(x.whole[i]) + ", the definition " + std::to_string(y.whole[i]);
  for (size_t i = 0; i < x.numbers.size(); ++i) {
    double size = std::isfinite(std::abs(x.numbers[i])) ? std::abs(x.numbers[i]) : 0;
    if (!close_enough(x.numbers[i].real(), y.numbers[i].real(), size, close) ||
        !close_enough(x.numbers[i].imag(), y.numbers[i].imag(), size, close))
      return "element " + std::to_string(i) + " of " + to_string(look(a)) + ": eager gives " + to_text(x.numbers[i]) +
             ", the definition " + to_text(y.numbers[i]);
  }
  return std::nullopt;
}
}  // namespace

std::optional<std::string> first_apart(const RunValue& expected, const RunValue& got, Closeness close) {
  if (!expected || !got) return expected == got ? std::nullopt : std::optional<std::string>("only one is none");
  const c10::IValue &a = expected->value, &b = got->value;
  if (a.isTensor() && b.isTensor()) return tensors_apart(a.toTensor(), b.toTensor(), close);
  if (a.isList() && b.isList()) {
    if (a.toListRef().size() != b.toListRef().size()) return "lists of other lengths";
    for (size_t i = 0; i < a.toListRef().size(); ++i)
      if (auto apart = first_apart(hold(a.toListRef()[i]), hold(b.toListRef()[i]), close))
        return "[" + std::to_string(i) + "] " + *apart;
    return std::nullopt;
  }
  if (a.isScalar() && b.isScalar())
    return close_enough(a.toScalar().toDouble(), b.toScalar().toDouble(), std::abs(a.toScalar().toDouble()), close)
               ? std::nullopt
               : std::optional<std::string>("numbers differ");
  return "values of different kinds";
}

double magnitude(const RunValue& value) {
  if (!value || !value->value.isTensor() || !value->value.toTensor().defined()) return 0;
  double largest = 0;
  for (std::complex<double> v : elements(value->value.toTensor()).numbers)
    for (double part : {std::abs(v.real()), std::abs(v.imag())})
      if (std::isfinite(part)) largest = std::max(largest, part);
  return largest;
}

}  // namespace lenz::oracle
