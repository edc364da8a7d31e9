// How often a ratio fell into which half of a power of two: what tallies keep of ratios.
// Thread-safety: values.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <vector>

namespace lenz::oracle::controls {

// Counts in halves of powers of two: [k] is of values in [2^(k/2 - 8), 2^((k+1)/2 - 8)).
class Histogram {
 public:
  void add(double value);
  void merge(const Histogram& other);
  double median() const;  // 0 of none
  uint64_t count() const;
  nlohmann::json to_json() const { return counts_; }
  static Histogram from_json(const nlohmann::json& json);

 private:
  std::vector<uint64_t> counts_ = std::vector<uint64_t>(96);
};

}  // namespace lenz::oracle::controls
