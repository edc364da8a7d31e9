// For tests: a graph and its inputs, what eager makes of them, and what the reference says. Inputs of one element for
// each value given, of the graph's floating dtypes. Thread-safety: belongs to one thread.
#pragma once

#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

#include "compiler/graph/text.h"
#include "compiler/ops/op_table.h"
#include "compiler/scalar/rounding.h"
#include "oracle/bounds/reference.h"
#include "oracle/tensors.h"

namespace lenz::oracle {

class Judged {
 public:
  explicit Judged(std::string_view text, std::vector<std::vector<double>> values = {},
                  Widening widening = Widening::bounds)
      : graph_(parse_graph(text, op_table())), boxed_(DeviceKind::cpu), values_(std::move(values)) {
    complete(binding_, *graph_);
    eager = Executor(boxed_).run(*graph_, inputs(), binding_);
    reference = Referee(boxed_, {}, widening).run(*graph_, inputs(), binding_);
  }

  std::vector<double> values(size_t output = 0) const { return doubles(reference.outputs[output].value); }
  std::vector<double> errors(size_t output = 0) const {
    const Bounded& b = reference.outputs[output];
    const auto size = static_cast<size_t>(item_size(look(b.value).dtype));
    return b.error ? doubles(b.error) : std::vector<double>(elements_of(b.value).size() / size, 0.0);
  }
  Judgement verdict() const { return judge(*graph_, reference, eager); }
  // An element of an output of eager's put otherwise.
  Judgement with(size_t output, size_t element, double value) {
    RunValue& all = eager.outputs[output];
    std::vector<std::byte> bytes = elements_of(all);
    put(bytes, look(all).dtype, element, value);
    set_elements(all, bytes);
    return verdict();
  }

  Execution eager;
  Reference reference;

 private:
  std::vector<RunValue> inputs() {
    std::vector<RunValue> made = initial_inputs(*graph_, boxed_, binding_);
    for (size_t i = 0; i < values_.size(); ++i) {
      if (values_[i].empty()) continue;
      std::vector<std::byte> bytes = elements_of(made[i]);
      for (size_t k = 0; k < values_[i].size(); ++k) put(bytes, look(made[i]).dtype, k, values_[i][k]);
      set_elements(made[i], bytes);
    }
    return made;
  }
  static void put(std::vector<std::byte>& bytes, Dtype dtype, size_t element, double value) {
    const ScalarBits bits =
        to_bits(dtype, is_integral(dtype, true) ? ScalarValue(static_cast<int64_t>(value)) : ScalarValue(value));
    const auto size = static_cast<size_t>(item_size(dtype));
    std::memcpy(bytes.data() + element * size, bits.data(), size);
  }
  static std::vector<double> doubles(const RunValue& v) {
    std::vector<std::byte> bytes = elements_of(v);
    std::vector<double> all(bytes.size() / sizeof(double));
    std::memcpy(all.data(), bytes.data(), all.size() * sizeof(double));
    return all;
  }

  std::unique_ptr<Graph> graph_;
  Boxed boxed_;
  Binding binding_;
  std::vector<std::vector<double>> values_;
};

}  // namespace lenz::oracle
