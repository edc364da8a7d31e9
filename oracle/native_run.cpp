#include "oracle/native_run.h"

#include <c10/core/CPUAllocator.h>

#include <algorithm>

#include "oracle/aten.h"
#include "oracle/interpreted.h"
#include "oracle/kept_memory.h"
#include "oracle/printed.h"
#include "oracle/storage_bridge.h"
#include "oracle/structural.h"
#include "oracle/tensors.h"

namespace lenz::oracle {

namespace {

class TorchHost : public runtime::Host {
 public:
  TorchHost(const loops::Program& program, Boxed& boxed, const ExecuteOptions& options)
      : program_(program), boxed_(boxed), options_(options) {}

  std::byte* output(uint32_t number, uint64_t bytes) override {
    if (outputs_.size() <= number) outputs_.resize(number + 1);
    if (bytes > INT64_MAX) throw std::bad_alloc();
    const KeepMemory keep;
    outputs_[number] = allocated([&] {
      return c10::Storage(c10::Storage::use_byte_size_t(), static_cast<int64_t>(bytes), c10::GetCPUAllocator(), true);
    });
    return static_cast<std::byte*>(outputs_[number].mutable_data());
  }
  std::vector<loops::Tensor> run_extern(const loops::ExternCall& call) override {
    const KeepMemory keep;
    return oracle::run_extern(call, program_, boxed_, bridge_);
  }
  void print(const loops::Print& node, std::span<const loops::Tensor> values) override {
    note_print(printed, options_, node.text, shown(node, values, bridge_));
  }

  runtime::Argument argument(const loops::Input& input, const RunValue& v) {
    if (!v || input.kind == loops::Input::none) return std::monostate{};
    const c10::IValue& value = v->value;
    if (input.kind == loops::Input::symbol) return integer_of(v);
    if (value.isTensor()) {
      given_.push_back(value.toTensor().resolve_conj().resolve_neg());
      const at::Tensor& t = given_.back();
      return runtime::TensorRef{static_cast<std::byte*>(t.storage().mutable_data()),
                                t.storage().nbytes(),
                                *from_aten(t.scalar_type()),
                                {t.sizes().data(), t.sizes().size()},
                                {t.strides().data(), t.strides().size()},
                                t.storage_offset()};
    }
    if (program_.buffers[input.buffer].type.dtype == Dtype::b8) return truth_of(v);
    return value.isInt() ? static_cast<double>(value.toInt()) : value.toDouble();
  }

  RunValue result(const runtime::Result& r, std::span<const RunValue> inputs) {
    switch (r.kind) {
      case loops::Output::tensor: {
        // Held, not referred to: a constant's tensor is made for it alone.
        const c10::Storage storage = r.storage == runtime::Place::output  ? outputs_[r.number]
                                     : r.storage == runtime::Place::input ? inputs[r.number]->value.toTensor().storage()
                                                                          : bridge_.out(r.tensor).storage();
        return hold(tensor_in(storage, r.dtype, r.sizes, r.strides, r.offset));
      }
      case loops::Output::number: return plain_number(r.tensor);
      case loops::Output::integer: return number(r.integer);
      case loops::Output::literal: return literal_or_value(*r.literal, {}, {});
      case loops::Output::list: {
        std::vector<RunValue> all;
        for (const runtime::Result& e : r.elements) all.push_back(result(e, inputs));
        return list_of(all);
      }
      case loops::Output::none: break;
    }
    return nullptr;
  }

  std::vector<Printed> printed;

 private:
  const loops::Program& program_;
  Boxed& boxed_;
  const ExecuteOptions& options_;
  StorageBridge bridge_;
  std::deque<at::Tensor> given_;  // whose sizes the arguments point to
  std::vector<c10::Storage> outputs_;
};

}  // namespace

std::function<loops::Tensor(const ConstantData&)> constants_in(const std::string& folder) {
  return [folder](const ConstantData& data) {
    StorageBridge bridge;
    return bridge.in(constant_tensor(data, folder)->value.toTensor());
  };
}

Execution run_native(runtime::Executable& executable, std::span<const RunValue> inputs, Boxed& boxed,
                     const ExecuteOptions& options) {
  const loops::Program& program = executable.program();
  if (inputs.size() != program.inputs.size())
    throw UserError("the program takes " + std::to_string(program.inputs.size()) + " inputs, " +
                    std::to_string(inputs.size()) + " are given");
  TorchHost host(program, boxed, options);
  std::vector<runtime::Argument> arguments;
  for (size_t i = 0; i < inputs.size(); ++i) arguments.push_back(host.argument(program.inputs[i], inputs[i]));
  // Drawing leaves the generator's state to be filled anew, which takes as long as two small calls.
  RandomStream ambient{0, 0};
  if (std::ranges::any_of(program.streams, [](const loops::Stream& s) { return !s.seed; })) {
    boxed.seed(options.ambient_seed);
    ambient.seed = boxed.draw_seed();
  }
  boxed.seed(options.ambient_seed);  // what is left to libtorch draws as it does in eager
  Execution run;
  run.inputs.assign(inputs.begin(), inputs.end());
  try {
    runtime::Executable::Call call = executable.call(arguments, host, ambient);
    for (size_t i = 0; i < call.outputs().size(); ++i)
      show(program.outputs[i], host.result(call.outputs()[i], inputs), run);
  } catch (const runtime::Raised& error) {
    run.ending = Ending::raised;
    run.text = error.what();
  } catch (const runtime::Endless& error) {  // as eager's own loops end, and the interpreter's
    run.ending = Ending::raised;
    run.text = error.what();
  } catch (const std::bad_alloc&) {
    return out_of_memory(inputs, options.memory_limit);
  }
  run.printed = std::move(host.printed);
  return run;
}

}  // namespace lenz::oracle
