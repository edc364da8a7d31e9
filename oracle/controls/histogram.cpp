#include "oracle/controls/histogram.h"

#include <algorithm>
#include <cmath>

namespace lenz::oracle::controls {

void Histogram::add(double value) {
  const double at = 2 * (std::log2(value) + 8);
  const auto last = static_cast<double>(counts_.size() - 1);
  ++counts_[static_cast<size_t>(std::isnan(at) ? 0 : std::clamp(at, 0.0, last))];
}
void Histogram::merge(const Histogram& other) {
  for (size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
}
uint64_t Histogram::count() const {
  uint64_t n = 0;
  for (uint64_t c : counts_) n += c;
  return n;
}
double Histogram::median() const {
  const uint64_t n = count();
  uint64_t seen = 0;
  for (size_t i = 0; i < counts_.size(); ++i) {
    seen += counts_[i];
    if (n && seen * 2 >= n) return std::exp2((static_cast<double>(i) + 0.5) / 2 - 8);
  }
  return 0;
}
Histogram Histogram::from_json(const nlohmann::json& json) {
  Histogram h;
  h.counts_ = json.get<std::vector<uint64_t>>();
  return h;
}

}  // namespace lenz::oracle::controls
