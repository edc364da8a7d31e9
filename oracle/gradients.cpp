#include "oracle/gradients.h"

#include <ATen/Functions.h>
#include <ATen/core/Tensor.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "compiler/base/hash.h"
#include "compiler/graph/npz.h"
#include "compiler/scalar/rounding.h"
#include "oracle/aten.h"
#include "oracle/tensors.h"
#include "oracle/widen.h"

namespace lenz::oracle {

namespace {
std::vector<std::byte> widened_elements(Dtype from, std::span<const std::byte> elements) {
  Dtype to = is_complex(from) ? Dtype::c128 : Dtype::f64;
  auto size = static_cast<size_t>(item_size(from)), wide = static_cast<size_t>(item_size(to));
  std::vector<std::byte> result(elements.size() / size * wide);
  for (size_t i = 0; i * size < elements.size(); ++i) {
    ScalarBits bits{};
    std::memcpy(bits.data(), elements.data() + i * size, size);
    bits = to_bits(to, from_bits(from, bits));
    std::memcpy(result.data() + i * wide, bits.data(), wide);
  }
  return result;
}

RunValue drawn_gradient(const at::Tensor& output, uint64_t seed, const std::vector<std::byte>* given) {
  at::Tensor g = at::empty(output.sizes(), output.options().requires_grad(false));
  RunValue held = hold(g);
  std::vector<std::byte> bytes(g.nbytes());
  if (given) {
    if (given->size() != bytes.size())
      throw UserError("a gradient of " + std::to_string(given->size()) + " bytes for an output of " +
                      std::to_string(bytes.size()) + " in float64");
    bytes = *given;
  } else {
    for (size_t at = 0; at < bytes.size(); at += sizeof(double)) {
      double x = static_cast<double>(mix(combine(seed, at)) >> 11) * 0x1p-52 - 1;
      std::memcpy(bytes.data() + at, &x, sizeof x);
    }
  }
  set_elements(held, bytes);
  return held;
}

// The tensors among outputs, with their names.
void leaves_of(const std::string& name, const RunValue& value, std::vector<std::pair<std::string, at::Tensor>>& all) {
  if (!value) return;
  if (value->value.isTensor()) all.emplace_back(name, value->value.toTensor());
  if (!value->value.isTensorList()) return;
  size_t k = 0;
  for (const at::Tensor& t : value->value.toTensorVector()) all.emplace_back(name + "." + std::to_string(k++), t);
}
}  // namespace

std::vector<RunValue> widened_inputs(const Graph& widened, Boxed& boxed, std::span<const RunValue> inputs,
                                     const Binding& binding) {
  std::vector<RunValue> by_value = boxed.inputs(widened, binding.lookup()), wide;
  for (size_t i = 0; i < inputs.size(); ++i) {
    Seen seen = look(inputs[i]);
    RunValue made = seen.kind == TypeKind::tensor ? by_value[widened.inputs()[i].value] : inputs[i];
    if (seen.kind == TypeKind::list) throw Unsupported("gradients of graphs whose inputs are lists");
    if (seen.kind == TypeKind::tensor) {
      std::vector<std::byte> bytes = elements_of(inputs[i]);
      set_elements(made, is_inexact(seen.dtype) ? widened_elements(seen.dtype, bytes) : bytes);
    }
    wide.push_back(made);
  }
  return wide;
}

Gradients gradients(const Graph& graph, std::span<const RunValue> inputs, const Binding& binding,
                    const GradientOptions& options) {
  Gradients result;
  std::vector<size_t> leaves;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Input& input = graph.inputs()[i];
    if (!input.requires_grad) continue;
    const Type& t = graph.type(input.value);
    if (!t.is_tensor() || !is_inexact(t.dtype))
      throw UserError("input " + graph.value_name(input.value) + " requires a gradient and is " + lenz::to_string(t),
                      graph.spelled_name(), "only floating and complex tensors have one");
    if (input.alias)
      throw Unsupported("the gradient of input " + graph.value_name(input.value) + ", which shares memory with others");
    leaves.push_back(i);
  }
  if (leaves.empty())
    throw UserError("no input requires a gradient", graph.spelled_name(),
                    "write `requires_grad` behind an input's type");
  graph.for_each_node([&](NodeId id) {
    const Node& node = graph.node(id);
    if (!reads_bits(*node.op)) return;
    const Dtype from = graph.type(node.args[0].value()).dtype, to = graph.type(node.result()).dtype;
    if (from != to && (is_inexact(from) || is_inexact(to)))
      throw Unsupported(graph.value_name(node.result()) + " shows the bits of floats, which are others in float64");
  });
  auto widened = widened_graph(graph);
  if (!widened)
    throw Unsupported(graph.spelled_name() +
                      " can't be widened to float64: sub-graphs, ops of the user's own, or ops that take no float64");

  Boxed boxed(DeviceKind::cpu, Boxed::Autograd::recorded);
  std::vector<RunValue> wide = widened_inputs(*widened, boxed, inputs, binding);
  std::vector<at::Tensor> variables;
  for (size_t i : leaves) {
    at::Tensor leaf = wide[i]->value.toTensor();
    leaf.set_requires_grad(true);
    variables.push_back(leaf);
  }
  Execution run = Executor(boxed, options.execute).run(*widened, wide, binding);
  result.ending = run.ending;
  result.text = run.text;
  result.where = run.where;
  if (run.ending != Ending::finished) return result;

  std::vector<std::pair<std::string, at::Tensor>> outputs;
  for (size_t k = 0; k < run.outputs.size(); ++k) leaves_of("out" + std::to_string(k), run.outputs[k], outputs);
  std::vector<at::Tensor> roots, seeds;
  for (size_t k = 0; k < outputs.size(); ++k) {
    const auto& [name, tensor] = outputs[k];
    if (!tensor.requires_grad()) {
      bool number = tensor.is_floating_point() || tensor.is_complex();
      std::string why = number ? "depends on no input that requires a gradient, or is detached from it"
                               : to_string(look(hold(tensor)));
      result.not_differentiable.push_back(name + ": " + why);
      continue;
    }
    auto given = options.given.find(name);
    RunValue seed =
        drawn_gradient(tensor, combine(options.seed, k), given == options.given.end() ? nullptr : &given->second);
    result.outputs.push_back({name, seed});
    roots.push_back(tensor);
    seeds.push_back(seed->value.toTensor());
  }
  std::vector<at::Tensor> found(variables.size());
  if (!roots.empty()) try {
      found = torch::autograd::grad(roots, variables, seeds, std::nullopt, false, true);
    } catch (const std::exception& error) {
      result.ending = Ending::raised;
      std::string text = error.what();
      result.text = text.substr(0, text.find('\n'));
      result.where = "the backward pass";
      return result;
    }
  for (size_t k = 0; k < leaves.size(); ++k)
    result.inputs.push_back(
        {graph.value_name(graph.inputs()[leaves[k]].value).substr(1), found[k].defined() ? hold(found[k]) : nullptr});
  return result;
}

void write_gradients(const std::string& path, const Gradients& gradients) {
  std::vector<std::pair<std::string, NpyArray>> arrays;
  nlohmann::json told = {{"gradients", "float64, unbounded"}, {"not_differentiable", gradients.not_differentiable}};
  const auto is_an_output = [&](const std::string& name) {
    return std::ranges::any_of(gradients.outputs, [&](const NamedGradient& g) { return g.name == name; });
  };
  for (const NamedGradient& g : gradients.inputs)
    if (g.value) arrays.emplace_back((is_an_output(g.name) ? "grad_%" : "grad_") + g.name, to_npy(g.value));
  for (const NamedGradient& g : gradients.outputs)
    if (g.value) arrays.emplace_back("grad_" + g.name, to_npy(g.value));
  std::string text = told.dump();
  NpyArray json;
  json.dtype = Dtype::u8;
  json.shape = {static_cast<int64_t>(text.size())};
  json.bytes.resize(text.size());
  std::memcpy(json.bytes.data(), text.data(), text.size());
  arrays.emplace_back("lenz", std::move(json));
  write_npz(path, arrays);
}

}  // namespace lenz::oracle
