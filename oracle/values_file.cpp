#include "oracle/values_file.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "compiler/base/suggest.h"
#include "compiler/graph/alias.h"
#include "compiler/graph/npz.h"
#include "compiler/graph/rebuild.h"
#include "compiler/graph/verify.h"
#include "compiler/ops/op_table.h"
#include "oracle/draw_inputs.h"
#include "oracle/tensors.h"

namespace lenz::oracle {

namespace {
constexpr std::string_view kDescription = "lenz", kEnding = "ending";

// out0, out0.1, out0.error, ...
bool names_output(std::string_view name) {
  return name.starts_with("out") && name.size() > 3 && name[3] >= '0' && name[3] <= '9';
}

// The input's key in this file: older ones have plain names, which are outputs' where the file is of results.
std::string key_in(NpzReader& file, const std::string& key) {
  if (file.has(key) || !key.starts_with('%')) return key;
  const std::string description(kDescription);
  const bool results = file.has(description) && file.header(description).dtype == Dtype::u8;
  return results ? key : key.substr(1);
}

void check_array(const NpyArray& array, const Type& type, const std::string& path, const std::string& key) {
  bool raw = type.dtype == Dtype::bf16 || is_float8(type.dtype);
  bool fits = raw ? array.item_size() == item_size(type.dtype) && (array.raw_bits || is_integral(array.dtype, false))
                  : !array.raw_bits && array.dtype == type.dtype;
  if (!fits)
    throw UserError(
        "array " + key + " holds " +
            (array.raw_bits ? std::to_string(array.raw_bits) + "-bit words" : std::string(name(array.dtype))) +
            ", the graph's input is " + lenz::to_string(type),
        path, raw ? "bf16 and float8 travel as their bits in unsigned integers" : "convert it first");
  if (type.dtype == Dtype::b8 && !are_bools(array.bytes))
    throw UserError("array " + key + " holds bools that are neither 0 nor 1", path);
  if (array.shape.size() != type.rank())
    throw UserError("array " + key + " has rank " + std::to_string(array.shape.size()) + ", the graph's input is " +
                        lenz::to_string(type),
                    path);
}
}  // namespace

std::string input_key(const Graph& graph, const Input& input) {
  const std::string name = graph.value_name(input.value), plain = name.substr(1);
  return names_output(plain) || plain == kDescription || plain == kEnding ? name : plain;
}

void write_inputs(const std::string& path, const Graph& graph, std::span<const RunValue> values) {
  std::vector<std::pair<std::string, NpyArray>> arrays;
  for (size_t i = 0; i < values.size(); ++i)
    if (graph.type(graph.inputs()[i].value).is_tensor())
      arrays.emplace_back(input_key(graph, graph.inputs()[i]), to_npy(values[i]));
  write_npz(path, arrays);
}

std::string folder_of(const std::string& text) {
  const size_t slash = text.rfind('/');
  return slash == std::string::npos ? "." : text.substr(0, slash);
}

GivenGraph given_graph(const std::string& file, const GivenInputs& inputs, Boxed& boxed) {
  GivenGraph given{read_valid_graph(file, op_table()), {}, {}, {}};
  given.binding = parse_binding(inputs.bind, *given.graph);
  if (inputs.path.empty()) {
    complete(given.binding, *given.graph);
    check_facts(given.binding, *given.graph);
    given.values = draw_inputs(*given.graph, boxed, given.binding, inputs.values, inputs.seed);
  } else {
    given.values = read_inputs(inputs.path, *given.graph, boxed, given.binding, inputs.seed, false, &given.drawn);
  }
  if (auto other = specialised(*given.graph, given.binding.lookup())) given.graph = std::move(other);
  return given;
}

std::vector<RunValue> read_inputs(const std::string& path, const Graph& graph, Boxed& boxed, Binding& binding,
                                  uint64_t seed, bool all, std::vector<std::string>* drawn) {
  NpzReader reader(path);
  std::vector<std::string> names;
  for (const Input& input : graph.inputs()) names.push_back(key_in(reader, input_key(graph, input)));
  for (const std::string& key : reader.keys())
    if (key != kDescription && std::ranges::find(names, key) == names.end() && !key.starts_with("out"))
      throw UserError("the graph has no input " + key, path,
                      names.empty() ? "it has no inputs" : "its first input is " + names[0]);
  // A file of results has those of inputs that were written to beside them.
  size_t tensors = 0, there = 0;
  for (size_t i = 0; i < names.size(); ++i)
    if (graph.type(graph.inputs()[i].value).is_tensor()) ++tensors, there += reader.has(names[i]);
  if (tensors > 0 && there == 0 && !all)
    throw UserError("no array of the file is an input of the graph", path, "its first input is " + names[0]);
  std::vector<std::optional<NpyArray>> arrays(names.size());
  for (size_t i = 0; i < names.size(); ++i) {
    const Type& type = graph.type(graph.inputs()[i].value);
    if (all && type.is_tensor() && !reader.has(names[i]))
      throw UserError("the file lacks the input " + names[i], path, "every input must be there to judge results by it");
    if (drawn && type.is_tensor() && !reader.has(names[i])) drawn->push_back(names[i]);
    if (!type.is_tensor() || !reader.has(names[i])) continue;
    NpyArray array = reader.read(names[i]);
    check_array(array, type, path, names[i]);
    for (size_t d = 0; d < type.rank(); ++d)
      if (!binding.match(type.sizes()[d], array.shape[d]))
        throw UserError("dim " + std::to_string(d) + " of array " + names[i] + " is " + std::to_string(array.shape[d]) +
                            ", the graph's input is " + lenz::to_string(type),
                        path);
    arrays[i] = std::move(array);
  }
  complete(binding, graph);
  check_facts(binding, graph);
  std::vector<RunValue> inputs = draw_inputs(graph, boxed, binding, Values::ordinary, seed);
  for (size_t i = 0; i < inputs.size(); ++i)
    if (arrays[i]) set_elements(inputs[i], arrays[i]->bytes);
  for (size_t i = 0; i < inputs.size(); ++i)
    if (arrays[i] && elements_of(inputs[i]) != arrays[i]->bytes)
      throw UserError("array " + names[i] +
                          " has different values for elements that share memory: the graph's input "
                          "is " +
                          lenz::to_string(graph.type(graph.inputs()[i].value)),
                      path);
  return inputs;
}

namespace {
// A number as an array without dims; nothing for what is no number.
std::optional<NpyArray> number_array(const Seen& seen) {
  NpyArray array;
  auto hold = [&](Dtype dtype, auto value) {
    array.dtype = dtype;
    array.bytes.resize(sizeof value);
    std::memcpy(array.bytes.data(), &value, sizeof value);
    return array;
  };
  switch (seen.kind) {
    case TypeKind::sym_int: return hold(Dtype::i64, seen.integer);
    case TypeKind::sym_float: return hold(Dtype::f64, seen.number);
    case TypeKind::sym_bool: return hold(Dtype::b8, static_cast<uint8_t>(seen.number != 0));
    default: return std::nullopt;
  }
}

// Arrays under their keys, and what their entry in the description says of each.
class ResultsWriter {
 public:
  explicit ResultsWriter(Layouts layouts) : layouts_(layouts) {}
  void own(const RunValue& input, const std::string& key) { storages_.emplace_back(look(input).storage, key); }
  void add(const std::string& key, const RunValue& value) {
    Seen seen = look(value);
    if (seen.kind == TypeKind::list)
      for (size_t k = 0; k < seen.elements.size(); ++k)
        add(key + "." + std::to_string(k), element(value, static_cast<int64_t>(k)));
    if (auto array = number_array(seen)) arrays_.emplace_back(key, std::move(*array));
    if (seen.kind != TypeKind::tensor || seen.foreign) return;
    nlohmann::json entry = {{"dtype", std::string(name(seen.dtype))},
                            {"sizes", std::vector<int64_t>(seen.sizes.begin(), seen.sizes.end())}};
    if (layouts_ == Layouts::told) tell_layout(entry, key, value, seen);
    description_[key] = entry;
    arrays_.emplace_back(key, to_npy(value));
  }
  void ends_as(std::string_view ending) { description_[std::string(kEnding)] = ending; }
  void write(const std::string& path) {
    std::string text = description_.dump();
    NpyArray json;
    json.dtype = Dtype::u8;
    json.shape = {static_cast<int64_t>(text.size())};
    json.bytes.resize(text.size());
    std::memcpy(json.bytes.data(), text.data(), text.size());
    arrays_.emplace_back(std::string(kDescription), std::move(json));
    write_npz(path, arrays_);
  }

 private:
  void tell_layout(nlohmann::json& entry, const std::string& key, const RunValue& value, const Seen& seen) {
    entry["strides"] = std::vector<int64_t>(seen.strides.begin(), seen.strides.end());
    entry["offset"] = seen.offset;
    const Lazy lazy = lazy_of(value);
    if (lazy.conjugate) entry["lazy"].push_back("conjugate");
    if (lazy.negate) entry["lazy"].push_back("negate");
    auto owner = std::ranges::find(storages_, seen.storage, [](const auto& s) { return s.first; });
    if (owner != storages_.end()) entry["shares"] = owner->second;
    storages_.emplace_back(seen.storage, key);
  }

  Layouts layouts_;
  std::vector<std::pair<std::string, NpyArray>> arrays_;
  nlohmann::json description_ = nlohmann::json::object();
  std::vector<std::pair<const void*, std::string>> storages_;
};

void add_bounded(ResultsWriter& writer, const std::string& key, const Bounded& b) {
  for (size_t i = 0; i < b.elements.size(); ++i) add_bounded(writer, key + "." + std::to_string(i), b.elements[i]);
  if (!b.elements.empty()) return;
  writer.add(key, b.value);
  if (b.error) writer.add(key + ".error", b.error);
  if (b.ambiguous) writer.add(key + ".ambiguous", b.ambiguous);
}
}  // namespace

std::vector<bool> changed_inputs(const Graph& graph) {
  AliasClasses classes(graph);
  std::vector<bool> changed;
  for (const Input& input : graph.inputs()) changed.push_back(input.mutated || classes.is_written(input.value));
  return changed;
}

void write_results(const std::string& path, const Graph& graph, const Execution& execution, Layouts layouts) {
  ResultsWriter writer(layouts);
  if (execution.ending == Ending::raised) {
    writer.ends_as("raised");
    return writer.write(path);
  }
  const std::vector<bool> changed = changed_inputs(graph);
  for (size_t i = 0; i < execution.inputs.size(); ++i)
    if (!changed[i] && look(execution.inputs[i]).kind == TypeKind::tensor)
      writer.own(execution.inputs[i], input_key(graph, graph.inputs()[i]));
  for (size_t i = 0; i < execution.inputs.size(); ++i)
    if (changed[i]) writer.add(input_key(graph, graph.inputs()[i]), execution.inputs[i]);
  for (size_t i = 0; i < execution.outputs.size(); ++i) writer.add("out" + std::to_string(i), execution.outputs[i]);
  writer.write(path);
}

void write_reference(const std::string& path, const Graph& graph, const Reference& reference) {
  ResultsWriter writer(Layouts::told);
  const std::vector<bool> changed = changed_inputs(graph);
  for (size_t i = 0; i < reference.inputs.size(); ++i)
    if (changed[i]) add_bounded(writer, input_key(graph, graph.inputs()[i]), reference.inputs[i]);
  for (size_t i = 0; i < reference.outputs.size(); ++i)
    add_bounded(writer, "out" + std::to_string(i), reference.outputs[i]);
  writer.ends_as(kReference);
  writer.write(path);
}

}  // namespace lenz::oracle
