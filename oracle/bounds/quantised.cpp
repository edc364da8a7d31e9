#include "oracle/bounds/quantised.h"

#include "oracle/bounds/kept_ends.h"
#include "oracle/bounds/plane_numbers.h"
#include "oracle/bounds/rounded.h"

namespace lenz::oracle {

namespace {
struct Stored {
  double low, high;
};
// Rounded once, or by way of f32 as libtorch does it.
Stored stored(Dtype to, double v) {
  auto number = [&](double x) {
    const double near = nearest(to, x);
    return std::isfinite(near) ? near : std::copysign(kUnbounded, v);  // an infinity, or a NaN in its place
  };
  const double once = number(v), twice = number(static_cast<double>(static_cast<float>(v)));
  return {std::min(once, twice), std::max(once, twice)};
}
}  // namespace

void quantise(const Planes& given, Dtype from, Dtype to, Planes& made) {
  // What overflowed where there is no infinity may be a NaN.
  const bool holds_nan = std::isnan(round_to(from, kUnbounded));
  const Numbers values(given.value, given.value), errors(given.error, given.value),
      leans(holds_nan ? at::Tensor() : given.lean, given.value);
  const at::Tensor value = plane_like(given.value), error = plane_like(given.value);
  double *v = numbers_of(value), *e = numbers_of(error);
  bool any = false;
  for (int64_t i = 0; i < value.numel(); ++i) {
    v[i] = std::isinf(errors[i]) && std::isfinite(values[i]) ? nearest(to, values[i]) : round_to(to, values[i]);
    e[i] = 0;
    const bool certain = errors[i] == 0;
    if (certain && !std::isfinite(values[i])) continue;
    if (!certain && (!std::isfinite(values[i]) || (std::isinf(errors[i]) && leans[i] == 0))) {
      e[i] = kUnbounded;
    } else {
      const Interval all = certain ? Interval{values[i], values[i]} : interval_of(values[i], errors[i], leans[i], from);
      const double low = std::isinf(all.low) ? all.low : stored(to, all.low).low;
      const double high = std::isinf(all.high) ? all.high : stored(to, all.high).high;
      if (low == high && std::isinf(low))  // all of it is too large
        v[i] = round_to(to, low);
      else
        e[i] = std::isinf(low) || std::isinf(high) ? kUnbounded : std::max(high - v[i], v[i] - low);
    }
    any = any || e[i] != 0;
  }
  made.value = value;
  made.error = any ? error : at::Tensor();
  made.lean = at::Tensor();
  made.ambiguous = any && given.ambiguous.defined() ? given.ambiguous.logical_and(error != 0) : at::Tensor();
}

}  // namespace lenz::oracle
