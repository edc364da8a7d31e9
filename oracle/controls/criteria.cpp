#include "oracle/controls/criteria.h"

#include <cmath>

#include "compiler/base/error.h"

namespace lenz::oracle::controls {

namespace {

constexpr std::string_view kNames[kCriteria] = {"ours",           "torchfuzz sum", "NNSmith",       "assert_close",
                                                "dynamo same",    "running error", "running worst", "perturbed x8",
                                                "allclose 1e-11", "1e-11, masked"};

bool all_close(const Elements& expected, const Elements& got, double relative, double absolute) {
  for (size_t i = 0; i < expected.size(); ++i) {
    const double a = expected[i], b = got[i];
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    if (!std::isfinite(a) || !(std::fabs(a - b) <= absolute + relative * std::fabs(a))) return false;
  }
  return true;
}

double sum(const Elements& e) {
  double total = 0;
  for (double v : e) total += v;
  return total;
}
bool sums_differ(const Elements& expected, const Elements& got) {
  const double a = sum(expected), b = sum(got), apart = std::fabs(a - b);
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) != std::isnan(b);
  return apart > 1 && apart > 0.05 * std::fabs(a);
}

double root_mean_square(const Elements& exact, const Elements& got) {
  double squares = 0;
  for (size_t i = 0; i < exact.size(); ++i)
    if (!(std::isnan(exact[i]) && std::isnan(got[i])) && exact[i] != got[i])
      squares += (exact[i] - got[i]) * (exact[i] - got[i]);
  return exact.empty() ? 0 : std::sqrt(squares / static_cast<double>(exact.size()));
}
bool same(const Compared& expected, const Elements& got) {
  constexpr double kTolerance = 1e-4;
  if (all_close(*expected.eager, got, kTolerance, kTolerance)) return true;
  if (!is_floating(expected.dtype)) return false;
  const double factor = is_reduced_float(expected.dtype) || got.size() < 1000 ? 3 : 2;
  return root_mean_square(*expected.exact, got) <=
         factor * root_mean_square(*expected.exact, *expected.eager) + kTolerance / 10;
}

bool close_by_default(const Compared& expected, const Elements& got) {
  switch (expected.dtype) {
    case Dtype::f16: return all_close(*expected.eager, got, 1e-3, 1e-5);
    case Dtype::bf16: return all_close(*expected.eager, got, 1.6e-2, 1e-5);
    case Dtype::f32: return all_close(*expected.eager, got, 1.3e-6, 1e-5);
    case Dtype::f64: return all_close(*expected.eager, got, 1e-7, 1e-7);
    default: return *expected.eager == got;
  }
}

bool within(const Elements& exact, const Elements& errors, const Elements& got) {
  for (size_t i = 0; i < exact.size(); ++i) {
    if (exact[i] == got[i] || std::isinf(errors[i]) || (std::isnan(exact[i]) && std::isnan(got[i]))) continue;
    if (!(std::fabs(exact[i] - got[i]) <= errors[i])) return false;
  }
  return true;
}

// Discrete results are as good as they are in one of the runs.
bool within_perturbed(const Compared& expected, const Elements& got) {
  const double u = is_floating(expected.dtype) ? std::ldexp(1.0, -info(expected.dtype).mantissa_bits) : 0;
  Elements errors = *expected.perturbed;
  for (size_t i = 0; i < errors.size(); ++i) errors[i] = 4 * errors[i] + 4 * u * std::fabs((*expected.exact)[i]);
  return within(*expected.exact, errors, got);
}

bool masked(const Compared& expected, const Elements& got) {
  for (size_t i = 0; i < got.size(); ++i) {
    const double a = (*expected.exact)[i], b = got[i], bound = (*expected.running)[i];
    if (a == b || (std::isnan(a) && std::isnan(b)) || std::isinf(bound)) continue;
    const double plain = 1e-11 * (1 + std::fabs(a)), allowed = bound > 1e-9 * (1 + std::fabs(a)) ? bound : plain;
    if (!(std::fabs(a - b) <= allowed)) return false;
  }
  return true;
}

}  // namespace

bool applies(Criterion criterion, Dtype graph) {
  return graph == Dtype::f64 || (criterion != Criterion::close && criterion != Criterion::masked);
}

std::string_view name(Criterion criterion) { return kNames[static_cast<size_t>(criterion)]; }

bool alarmed(Criterion criterion, const Compared& expected, const Elements& got) {
  switch (criterion) {
    case Criterion::torchfuzz: return sums_differ(*expected.eager, got);
    case Criterion::nnsmith: return !all_close(*expected.eager, got, 1e-2, 1e-3);
    case Criterion::assert_close: return !close_by_default(expected, got);
    case Criterion::same: return !same(expected, got);
    case Criterion::running_error: return !within(*expected.exact, *expected.running, got);
    case Criterion::running_worst: return !within(*expected.exact, *expected.worst, got);
    case Criterion::perturbed: return !within_perturbed(expected, got);
    case Criterion::close: return !all_close(*expected.exact, got, 1e-11, 1e-11);
    case Criterion::masked: return !masked(expected, got);
    case Criterion::ours: break;
  }
  internal_error("our judge is not one of the others", __FILE__, __LINE__);
}

}  // namespace lenz::oracle::controls
