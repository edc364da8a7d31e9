#include "oracle/interpreted.h"

#include "oracle/aten.h"
#include "oracle/printed.h"
#include "oracle/storage_bridge.h"
#include "oracle/structural.h"
#include "oracle/tensors.h"

namespace lenz::oracle {

namespace {
loops::InputValue input_value(StorageBridge& bridge, const loops::Input& input, const loops::Program& program,
                              const RunValue& v) {
  if (!v || input.kind == loops::Input::none) return std::monostate{};
  const c10::IValue& value = v->value;
  if (input.kind == loops::Input::symbol) return integer_of(v);
  if (value.isTensor()) return bridge.in(value.toTensor());
  if (program.buffers[input.buffer].type.dtype == Dtype::b8) return truth_of(v);
  return value.isInt() ? static_cast<double>(value.toInt()) : value.toDouble();
}

RunValue output_value(StorageBridge& bridge, const loops::OutputValue& o) {
  switch (o.kind) {
    case loops::Output::tensor: return hold(bridge.out(o.tensor));
    case loops::Output::integer: return number(o.integer);
    case loops::Output::number: return plain_number(o.tensor);
    case loops::Output::list: {
      std::vector<RunValue> all;
      for (const loops::OutputValue& e : o.elements) all.push_back(output_value(bridge, e));
      return list_of(all);
    }
    case loops::Output::literal: return literal_or_value(o.literal, {}, {});
    case loops::Output::none: break;
  }
  return nullptr;
}

}  // namespace

void show(const loops::Output& output, RunValue value, Execution& run) {
  if (output.conjugated) value->value.toTensor()._set_conj(true);
  if (output.negated) value->value.toTensor()._set_neg(true);
  if (output.input == kNone)
    run.outputs.push_back(std::move(value));
  else
    run.inputs[output.input] = std::move(value);
}

Execution out_of_memory(std::span<const RunValue> inputs, uint64_t limit) {
  Execution run;
  run.ending = Ending::out_of_memory;
  run.text = "beside inputs of " + std::to_string(storage_bytes(inputs)) + " bytes there is no room";
  if (limit) run.text += ": the limit is " + std::to_string(limit) + " bytes";
  run.inputs.assign(inputs.begin(), inputs.end());
  return run;
}

Execution run_interpreted(const loops::Program& program, std::span<const RunValue> inputs, Boxed& boxed,
                          const ExecuteOptions& options, loops::Counters* counters, KernelRunner kernels) {
  StorageBridge bridge;
  std::vector<loops::InputValue> values;
  LENZ_CHECK(inputs.size() == program.inputs.size(), "another number of inputs than the program takes");
  for (size_t i = 0; i < inputs.size(); ++i)
    values.push_back(input_value(bridge, program.inputs[i], program, inputs[i]));
  loops::InterpretOptions how;
  boxed.seed(options.ambient_seed);
  how.ambient = {boxed.draw_seed(), 0};
  boxed.seed(options.ambient_seed);  // what is left to libtorch draws as it does in eager
  if (options.memory_limit) {
    const uint64_t taken = storage_bytes(inputs);
    if (taken > options.memory_limit) return out_of_memory(inputs, options.memory_limit);
    how.memory_limit = options.memory_limit - taken;
  }
  how.while_limit = options.loop_limit;
  how.run_extern = [&](const loops::ExternCall& call) { return run_extern(call, program, boxed, bridge); };
  how.run_kernel = std::move(kernels);
  how.load_constant = [&](const ConstantData& data) {
    return bridge.in(constant_tensor(data, options.folder)->value.toTensor());
  };
  Execution run;
  how.print = [&](const loops::Print& node, std::span<const loops::Tensor> values) {
    note_print(run.printed, options, node.text, shown(node, values, bridge));
  };
  loops::Results results = loops::interpret(program, values, how);
  if (counters) *counters = results.counters;

  if (results.ending == loops::Ending::out_of_memory) {
    run = out_of_memory(inputs, options.memory_limit);
    run.text += " (" + results.text + ")";
    return run;
  }
  run.text = results.text;
  run.ending = results.ending == loops::Ending::finished ? Ending::finished : Ending::raised;
  run.inputs.assign(inputs.begin(), inputs.end());
  for (size_t i = 0; i < results.outputs.size(); ++i)
    show(program.outputs[i], output_value(bridge, results.outputs[i]), run);
  return run;
}

}  // namespace lenz::oracle
