#include "oracle/interpreted.h"

#include <ATen/Functions.h>
#include <ATen/core/Tensor.h>

#include <unordered_map>

#include "oracle/aten.h"
#include "oracle/structural.h"
#include "oracle/tensors.h"

namespace lenz::oracle {

namespace {
// Storages on either side, so that what shares memory on one shares it on the other.
class Bridge {
 public:
  loops::Tensor in(const at::Tensor& given) {
    at::Tensor t = given.resolve_conj().resolve_neg();
    const c10::Storage& storage = t.storage();
    std::shared_ptr<loops::Storage>& s = known_[storage.unsafeGetStorageImpl()];
    if (!s) {
      s = std::make_shared<loops::Storage>();
      s->data = static_cast<std::byte*>(storage.mutable_data());
      s->bytes = storage.nbytes();
      s->owner = std::make_shared<c10::Storage>(storage);
      back_.emplace(s.get(), storage);
    }
    loops::Ints sizes, strides;
    for (int64_t n : t.sizes()) sizes.push_back(n);
    for (int64_t n : t.strides()) strides.push_back(n);
    return {s, *from_aten(t.scalar_type()), sizes, strides, t.storage_offset()};
  }

  at::Tensor out(const loops::Tensor& t) {
    auto at = back_.find(t.storage().get());
    if (at == back_.end()) {
      auto* keep = new std::shared_ptr<loops::Storage>(t.storage());
      auto release = [](void* p) { delete static_cast<std::shared_ptr<loops::Storage>*>(p); };
      c10::DataPtr data((*keep)->data, keep, release, at::kCPU);
      c10::Storage made(c10::Storage::use_byte_size_t(), (*keep)->bytes, std::move(data), nullptr, false);
      at = back_.emplace(t.storage().get(), made).first;
    }
    at::Tensor made = at::empty({0}, at::TensorOptions().dtype(to_aten(t.dtype())));
    return made.set_(at->second, t.offset(), {t.sizes().data(), t.sizes().size()},
                     {t.strides().data(), t.strides().size()});
  }

 private:
  std::unordered_map<const c10::StorageImpl*, std::shared_ptr<loops::Storage>> known_;
  std::unordered_map<const loops::Storage*, c10::Storage> back_;
};

loops::InputValue input_value(Bridge& bridge, const loops::Input& input, const loops::Program& program,
                              const RunValue& v) {
  if (!v || input.kind == loops::Input::none) return std::monostate{};
  const c10::IValue& value = v->value;
  if (input.kind == loops::Input::symbol) return integer_of(v);
  if (value.isTensor()) return bridge.in(value.toTensor());
  if (program.buffers[input.buffer].type.dtype == Dtype::b8) return truth_of(v);
  return value.isInt() ? static_cast<double>(value.toInt()) : value.toDouble();
}

RunValue output_value(Bridge& bridge, const loops::OutputValue& o) {
  switch (o.kind) {
    case loops::Output::tensor: return hold(bridge.out(o.tensor));
    case loops::Output::integer: return number(o.integer);
    case loops::Output::number: {
      ScalarValue x = o.tensor.at(0);
      return o.tensor.dtype() == Dtype::b8 ? truth_value(x.integer() != 0) : real_number(x.real());
    }
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

// What an extern kernel gives, as the program's buffer wants it to lie.
std::vector<loops::Tensor> run_extern(const loops::ExternCall& call, const loops::Program& program, Boxed& boxed,
                                      Bridge& bridge) {
  std::vector<RunValue> values(program.buffers.size());
  for (const Arg& a : call.node.args)
    for_each_value(a, [&](ValueId v) { values[v] = hold(bridge.out(call.tensor(v))); });
  SymValues symbols = [&](const SymNode* s) -> std::optional<int64_t> { return call.integer(Dim(s)); };
  Outcome out = boxed.run(*call.node.op, call.node.args, values, symbols);
  if (out.raised) throw UserError(call.node.op->full_name + ": " + out.text);
  std::vector<loops::Tensor> results;
  for (size_t i = 0; i < call.node.results.size(); ++i) {
    if (call.node.results[i] == kNone) {
      results.emplace_back();
      continue;
    }
    at::Tensor made = out.results[i]->value.toTensor();
    const loops::Buffer& wanted = program.buffers[call.node.results[i]];
    std::vector<int64_t> strides;
    for (Dim d : wanted.type.strides) strides.push_back(call.integer(d));
    at::Tensor placed = at::empty_strided(made.sizes(), strides, made.options());
    placed.copy_(made);
    results.push_back(bridge.in(placed));
  }
  return results;
}
}  // namespace

Execution run_interpreted(const loops::Program& program, std::span<const RunValue> inputs, Boxed& boxed,
                          const ExecuteOptions& options, loops::Counters* counters, KernelRunner kernels) {
  Bridge bridge;
  std::vector<loops::InputValue> values;
  LENZ_CHECK(inputs.size() == program.inputs.size(), "another number of inputs than the program takes");
  for (size_t i = 0; i < inputs.size(); ++i)
    values.push_back(input_value(bridge, program.inputs[i], program, inputs[i]));
  loops::InterpretOptions how;
  boxed.seed(options.ambient_seed);
  how.ambient = {boxed.draw_seed(), 0};
  if (options.memory_limit) how.memory_limit = options.memory_limit;
  how.while_limit = options.loop_limit;
  how.run_extern = [&](const loops::ExternCall& call) { return run_extern(call, program, boxed, bridge); };
  how.run_kernel = std::move(kernels);
  how.load_constant = [&](const ConstantData& data) {
    return bridge.in(constant_tensor(data, options.folder)->value.toTensor());
  };
  if (options.print)
    how.print = [&](std::string_view text, std::span<const loops::Tensor> shown) {
      std::vector<std::string> words;
      for (const loops::Tensor& t : shown) words.push_back(to_text(hold(bridge.out(t))));
      options.print(filled_in(text, words));
    };
  loops::Results results = loops::interpret(program, values, how);
  if (counters) *counters = results.counters;

  Execution run;
  run.text = results.text;
  run.ending = results.ending == loops::Ending::finished        ? Ending::finished
               : results.ending == loops::Ending::out_of_memory ? Ending::out_of_memory
                                                                : Ending::raised;
  for (const loops::OutputValue& o : results.outputs) run.outputs.push_back(output_value(bridge, o));
  run.inputs.assign(inputs.begin(), inputs.end());
  return run;
}

}  // namespace lenz::oracle
