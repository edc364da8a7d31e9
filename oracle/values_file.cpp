#include "oracle/values_file.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "compiler/base/lexer.h"
#include "compiler/base/suggest.h"
#include "compiler/graph/alias.h"
#include "compiler/graph/npz.h"
#include "compiler/graph/rebuild.h"
#include "compiler/graph/verify.h"
#include "compiler/ops/op_table.h"
#include "oracle/draw_inputs.h"
#include "oracle/equations.h"
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

std::string held(const NpyArray& array) {
  return array.raw_bits ? std::to_string(array.raw_bits) + "-bit words" : std::string(name(array.dtype));
}

void check_array(const NpyArray& array, const Type& type, const std::string& path, const std::string& key) {
  bool raw = type.dtype == Dtype::bf16 || is_float8(type.dtype);
  bool fits = raw ? array.item_size() == item_size(type.dtype) && (array.raw_bits || is_integral(array.dtype, false))
                  : !array.raw_bits && array.dtype == type.dtype;
  if (!fits)
    throw UserError("array " + key + " holds " + held(array) + ", the graph's input is " + lenz::to_string(type), path,
                    raw ? "bf16 and float8 travel as their bits in unsigned integers" : "convert it first");
  if (type.dtype == Dtype::b8 && !are_bools(array.bytes))
    throw UserError("array " + key + " holds bools that are neither 0 nor 1", path);
  if (array.shape.size() != type.rank())
    throw UserError("array " + key + " has rank " + std::to_string(array.shape.size()) + ", the graph's input is " +
                        lenz::to_string(type),
                    path);
}

bool is_number(const Type& type) {
  return type.kind == TypeKind::sym_int || type.kind == TypeKind::sym_float || type.kind == TypeKind::sym_bool;
}

// The number that an array without dims says.
RunValue number_in(const NpyArray& array, const Type& type, const std::string& path, const std::string& key) {
  const bool words = array.raw_bits == 16;  // NumPy's uint16
  bool fits = false;
  std::string wanted;
  switch (type.kind) {
    case TypeKind::sym_int:
      fits = words || (!array.raw_bits && is_integral(array.dtype, false));
      wanted = "an integer dtype: numpy.array(3)";
      break;
    case TypeKind::sym_float:
      fits = !array.raw_bits && is_floating(array.dtype);
      wanted = "a float dtype: numpy.array(0.5)";
      break;
    default: fits = !array.raw_bits && array.dtype == Dtype::b8; wanted = "the dtype bool: numpy.array(True)";
  }
  if (!fits || !array.shape.empty())
    throw UserError("array " + key + " holds " + held(array) +
                        (array.shape.empty() ? "" : " and has rank " + std::to_string(array.shape.size())) +
                        ", the graph's input is a number: " + lenz::to_string(type),
                    path, "save an array without dims of " + wanted);
  if (type.kind == TypeKind::sym_bool) {
    if (!are_bools(array.bytes)) throw UserError("array " + key + " holds a bool that is neither 0 nor 1", path);
    return truth_value(array.bytes[0] != std::byte{0});
  }
  if (words) {
    uint16_t value = 0;
    std::memcpy(&value, array.bytes.data(), sizeof value);
    return number(value);
  }
  const ScalarValue value = scalar_at(array.dtype, array.bytes, 0);
  return type.kind == TypeKind::sym_int ? number(value.integer()) : real_number(value.real());
}

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
}  // namespace

std::string input_key(const Graph& graph, const Input& input) {
  const std::string name = graph.value_name(input.value);
  std::string plain = name.substr(1);
  if (!is_shown_as_it_is(plain)) {
    std::string quoted;
    append_quoted(quoted, plain);
    plain = quoted;
  }
  return names_output(plain) || plain == kDescription || plain == kEnding ? name : plain;
}

void write_inputs(const std::string& path, const Graph& graph, std::span<const RunValue> values) {
  std::vector<std::pair<std::string, NpyArray>> arrays;
  for (size_t i = 0; i < values.size(); ++i) {
    const std::string key = input_key(graph, graph.inputs()[i]);
    if (graph.type(graph.inputs()[i].value).is_tensor())
      arrays.emplace_back(key, to_npy(values[i]));
    else if (auto number = number_array(look(values[i])))
      arrays.emplace_back(key, std::move(*number));
  }
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

namespace {
UserError lacks(const std::string& key, const std::string& path) {
  return UserError("the file lacks the input " + key, path, "every input must be there to judge results by it");
}

UserError other_dim(const std::string& key, size_t dim, const NpyArray& array, const Type& type,
                    const std::string& path) {
  return UserError("dim " + std::to_string(dim) + " of array " + key + " is " + std::to_string(array.shape[dim]) +
                       ", the graph's input is " + lenz::to_string(type),
                   path);
}

// UserError where something else is known of one already: the caller has `told` it, or others of the file say it.
void bind_numbers(const Graph& graph, std::span<const std::string> keys, std::span<const RunValue> numbers,
                  const std::string& path, const Binding& told, Binding& binding) {
  for (size_t i = 0; i < keys.size(); ++i) {
    const Input& input = graph.inputs()[i];
    const Type& type = graph.type(input.value);
    if (!numbers[i] || type.kind != TypeKind::sym_int) continue;
    const int64_t value = integer_of(numbers[i]);
    if (binding.match(type.offset, value)) continue;
    const std::string said =
        "array " + keys[i] + " says that " + graph.value_name(input.value) + " is " + std::to_string(value) + ", ";
    if (type.offset.is_constant())
      throw UserError(said + "the graph's input is " + lenz::to_string(type), path, "it can be no other number");
    const bool bound = evaluate(type.offset, told.lookup()).has_value();
    const auto known = evaluate(type.offset, binding.lookup());
    throw UserError(said + (bound ? "--bind" : "what the others are") + " that " + lenz::to_string(type.offset) +
                        " is " + std::to_string(known.value_or(0)),
                    path, "correct one of both");
  }
}

// Whether the graph's text reads a constant from this entry, as exported texts do from the file of their weights.
bool is_constant(const Graph& graph, std::string_view path, const std::string& key) {
  bool found = std::ranges::any_of(graph.subgraphs, [&](const auto& sub) { return is_constant(*sub, path, key); });
  graph.for_each_node([&](NodeId id) {
    for (const Arg& arg : graph.node(id).arguments())
      found = found || (arg.kind == ArgKind::data && !arg.data->bytes && arg.data->key == key &&
                        ("/" + std::string(path)).ends_with("/" + arg.data->file));
  });
  return found;
}
}  // namespace

std::vector<RunValue> read_inputs(const std::string& path, const Graph& graph, Boxed& boxed, Binding& binding,
                                  uint64_t seed, bool all, std::vector<std::string>* drawn) {
  NpzReader reader(path);
  const Binding told = binding;
  std::vector<std::string> names;
  for (const Input& input : graph.inputs()) names.push_back(key_in(reader, input_key(graph, input)));
  for (const std::string& key : reader.keys())
    if (key != kDescription && std::ranges::find(names, key) == names.end() && !key.starts_with("out") &&
        !is_constant(graph, path, key))
      throw UserError("the graph has no input " + key, path,
                      names.empty() ? "it has no inputs" : "its first input is " + names[0]);
  // A file of results has those of inputs that were written to beside them.
  size_t tensors = 0, there = 0;
  for (size_t i = 0; i < names.size(); ++i)
    tensors += graph.type(graph.inputs()[i].value).is_tensor(), there += reader.has(names[i]);
  if (tensors > 0 && there == 0 && !all)
    throw UserError("no array of the file is an input of the graph", path, "its first input is " + names[0]);
  auto type_of = [&](size_t i) -> const Type& { return graph.type(graph.inputs()[i].value); };
  // Numbers first: what sizes are computed from.
  std::vector<RunValue> numbers(names.size());
  for (size_t i = 0; i < names.size(); ++i) {
    if (!is_number(type_of(i)) || !reader.has(names[i])) continue;
    numbers[i] = number_in(reader.read(names[i]), type_of(i), path, names[i]);
  }
  bind_numbers(graph, names, numbers, path, told, binding);
  std::vector<std::optional<NpyArray>> arrays(names.size());
  for (size_t i = 0; i < names.size(); ++i) {
    const Type& type = type_of(i);
    if (all && type.is_tensor() && !reader.has(names[i])) throw lacks(names[i], path);
    if (drawn && type.is_tensor() && !reader.has(names[i])) drawn->push_back(names[i]);
    if (!type.is_tensor() || !reader.has(names[i])) continue;
    NpyArray array = reader.read(names[i]);
    check_array(array, type, path, names[i]);
    for (size_t d = 0; d < type.rank(); ++d)
      if (!binding.match(type.sizes()[d], array.shape[d])) throw other_dim(names[i], d, array, type, path);
    arrays[i] = std::move(array);
  }
  derive(binding, graph);
  for (size_t i = 0; i < names.size(); ++i) {
    if (!is_number(type_of(i)) || numbers[i]) continue;
    if (type_of(i).kind == TypeKind::sym_int && evaluate(type_of(i).offset, binding.lookup())) continue;
    if (all) throw lacks(names[i], path);
    if (drawn) drawn->push_back(names[i]);
  }
  complete(binding, graph);
  check_facts(binding, graph);
  // What was computed from symbols that only now have values.
  bind_numbers(graph, names, numbers, path, told, binding);
  for (size_t i = 0; i < names.size(); ++i)
    for (size_t d = 0; arrays[i] && d < type_of(i).rank(); ++d)
      if (!binding.match(type_of(i).sizes()[d], arrays[i]->shape[d]))
        throw other_dim(names[i], d, *arrays[i], type_of(i), path);
  std::vector<RunValue> inputs = draw_inputs(graph, boxed, binding, Values::ordinary, seed);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (arrays[i]) set_elements(inputs[i], arrays[i]->bytes);
    if (numbers[i]) inputs[i] = numbers[i];
  }
  for (size_t i = 0; i < inputs.size(); ++i)
    if (arrays[i] && elements_of(inputs[i]) != arrays[i]->bytes)
      throw UserError("array " + names[i] +
                          " has different values for elements that share memory: the graph's input "
                          "is " +
                          lenz::to_string(type_of(i)),
                      path);
  return inputs;
}

namespace {
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
  if (b.number_error != 0) writer.add(key + ".error", real_number(b.number_error));
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
