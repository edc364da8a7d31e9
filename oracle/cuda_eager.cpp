#include "oracle/cuda_eager.h"

#include <algorithm>

#include "oracle/boxed.h"
#include "oracle/tensors.h"

namespace lenz::oracle {

namespace {
class EagerOnCuda final : public NodeMachine {
 public:
  void run(const Graph&, const Node& node, std::span<const RunValue> values, const SymValues& symbols,
           Outcome& outcome) override {
    boxed_.run(*node.op, node.arguments(), values, symbols, outcome);
  }
  RunValue constant(const ConstantData& data, const std::string& folder) override {
    return moved(NodeMachine::constant(data, folder));
  }
  RunValue stacked(std::span<const RunValue> tensors, const Type& like, const SymValues& symbols) override {
    return moved(NodeMachine::stacked(tensors, like, symbols));
  }
  RunValue placed(const RunValue& tensor, const Type& like, const SymValues& symbols) override {
    const RunValue here = copies_on(DeviceKind::cpu, {{tensor}})[0];
    return moved(NodeMachine::placed(here, like, symbols));
  }
  bool elsewhere() const override { return true; }
  void seed(uint64_t ambient) override { boxed_.seed(ambient); }
  void within(const std::function<void()>& nodes) override { boxed_.within(nodes); }

 private:
  static RunValue moved(const RunValue& value) { return copies_on(DeviceKind::cuda, {{value}})[0]; }
  Boxed boxed_{DeviceKind::cuda};
};
}  // namespace

Execution run_on_cuda(const Graph& graph, std::span<const RunValue> inputs, const Binding& binding,
                      const ExecuteOptions& options) {
  require_cuda();
  EagerOnCuda machine;
  Execution run = Executor(machine, options).run(graph, copies_on(DeviceKind::cuda, inputs), binding);
  // Together: an output that is an input, or shares its memory, still does.
  std::vector<RunValue> left = run.outputs;
  left.insert(left.end(), run.inputs.begin(), run.inputs.end());
  left = copies_on(DeviceKind::cpu, left);
  std::copy_n(left.begin(), run.outputs.size(), run.outputs.begin());
  std::copy_n(left.begin() + static_cast<std::ptrdiff_t>(run.outputs.size()), run.inputs.size(), run.inputs.begin());
  return run;
}

}  // namespace lenz::oracle
