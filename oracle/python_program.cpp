#include "oracle/python_program.h"

#include <cmath>
#include <cstdio>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <ranges>
#include <set>
#include <unordered_set>

#include "compiler/graph/print_literal.h"
#include "compiler/scalar/rounding.h"
#include "oracle/tensors.h"

namespace lenz::oracle {

namespace {
constexpr uint64_t kMostElements = 1 << 16;

std::string torch_name(Dtype dtype) { return "torch." + std::string(info(dtype).torch); }

std::string real_text(double x) {
  if (std::isnan(x)) return "math.nan";
  if (std::isinf(x)) return x < 0 ? "-math.inf" : "math.inf";
  char text[40];
  std::snprintf(text, sizeof text, "%.17g", x);
  std::string s = text;
  if (s.find_first_of(".e") == std::string::npos) s += ".0";
  return s;
}

std::string literal(std::string_view text) { return nlohmann::json(std::string(text)).dump(); }

template <class List, class Each>
std::string listed(const List& list, Each&& each) {
  std::string out;
  for (const auto& e : list) out += (out.empty() ? "" : ", ") + each(e);
  return "[" + out + "]";
}

// Elements in logical order, as a tensor of one dim. Float8 has no list of its own: by way of float32, which holds it.
std::string elements_text(const RunValue& tensor, uint64_t& elements) {
  const Seen seen = look(tensor);
  const std::vector<std::byte> bytes = elements_of(tensor);
  const auto size = static_cast<size_t>(item_size(seen.dtype));
  elements += bytes.size() / size;
  if (elements > kMostElements)
    throw Unsupported("a Python program with more than " + std::to_string(kMostElements) + " elements written out");
  std::string out;
  for (size_t at = 0; at < bytes.size(); at += size) {
    ScalarBits bits{};
    std::memcpy(bits.data(), bytes.data() + at, size);
    const ScalarValue v = from_bits(seen.dtype, bits);
    out += out.empty() ? "" : ", ";
    if (seen.dtype == Dtype::b8) {
      out += v.integer() != 0 ? "True" : "False";
    } else if (v.kind() == ScalarKind::integer) {
      out += std::to_string(v.integer());
    } else if (v.kind() == ScalarKind::complex) {
      out += "complex(" + real_text(v.complex().real()) + ", " + real_text(v.complex().imag()) + ")";
    } else {
      out += real_text(v.real());
    }
  }
  const std::string dtype = torch_name(seen.dtype);
  if (is_float8(seen.dtype)) return "torch.tensor([" + out + "], dtype=torch.float32).to(" + dtype + ")";
  return "torch.tensor([" + out + "], dtype=" + dtype + ")";
}

std::string numbers(std::span<const int64_t> all) {
  return listed(all, [](int64_t n) { return std::to_string(n); });
}

std::string shaped(const RunValue& tensor, std::span<const int64_t> sizes, uint64_t& elements) {
  const std::string text = elements_text(tensor, elements);
  return sizes.size() == 1 ? text : text + ".view(" + numbers(sizes) + ")";
}

// One graph as a function; its sub-graphs are functions before it.
class FunctionText {
 public:
  FunctionText(const Graph& graph, std::string name, const std::string& folder, uint64_t& elements)
      : graph_(graph), name_(std::move(name)), folder_(folder), elements_(elements) {}

  std::string text() {
    reserve_names();
    std::string before;
    for (size_t i = 0; i < graph_.subgraphs.size(); ++i)
      before += FunctionText(*graph_.subgraphs[i], sub_name(i), folder_, elements_).text() + "\n\n";
    std::string parameters;
    for (const Input& input : graph_.inputs()) parameters += (parameters.empty() ? "" : ", ") + value(input.value);
    for (const Input& input : graph_.inputs()) bind_symbols(input.value);
    graph_.for_each_node([&](NodeId id) { node(graph_.node(id)); });
    std::string results;
    for (const Arg& a : graph_.outputs()) results += (results.empty() ? "" : ", ") + argument(a);
    return before + "def " + name_ + "(" + parameters + "):\n" + body_ + "    return [" + results + "]\n";
  }

 private:
  // Names that values may not have: symbols are variables too, and sub-graphs functions.
  void reserve_names() {
    for (size_t i = 0; i < graph_.subgraphs.size(); ++i) taken_.insert(sub_name(i));
    for (const Type* t : graph_.types())
      for_each_symbolic_dim(*t, [&](Dim d) {
        for_each_symbol(d, [&](const SymNode* s) { taken_.insert(std::string(symbol_name(s))); });
      });
  }
  void line(const std::string& text) { body_ += "    " + text + "\n"; }
  std::string sub_name(size_t i) const { return name_ + "_" + std::to_string(i); }

  std::string value(ValueId v) {
    auto [at, fresh] = names_.try_emplace(v);
    if (!fresh) return at->second;
    std::string name = graph_.value_name(v);
    for (char& c : name)
      if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
    name.erase(0, name.find_first_not_of('_'));
    if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0]))) name = "v" + name;
    // No word of Python's, and none of ours, ends in a digit or a _.
    if (!std::isdigit(static_cast<unsigned char>(name.back()))) name += "_";
    while (!taken_.insert(name).second) name += "_";
    return at->second = name;
  }

  // A symbol is read off the first value that has it as a size, a stride, or is it.
  void bind_symbols(ValueId v) {
    const Type& type = graph_.type(v);
    auto bind = [&](Dim d, const std::string& from) {
      if (d.is_constant() || kind_of(d) != SymKind::symbol || !bound_.insert(d.node()).second) return;
      line(to_string(d) + " = " + from);
    };
    if (type.kind == TypeKind::sym_int) bind(type.offset, value(v));
    if (!type.is_tensor()) return;
    for (size_t i = 0; i < type.rank(); ++i) bind(type.sizes()[i], value(v) + ".shape[" + std::to_string(i) + "]");
    for (size_t i = 0; i < type.rank(); ++i) bind(type.strides()[i], value(v) + ".stride(" + std::to_string(i) + ")");
  }

  std::string dim(Dim d) {
    if (d.is_constant()) return std::to_string(d.constant());
    for_each_symbol(d, [&](const SymNode* s) {
      if (!bound_.contains(s))
        throw Unsupported("a Python program with the size " + to_string(d) + ", which no value shows");
    });
    return to_string(d);  // floor division, remainders, min and max are Python's own
  }

  std::string argument(const Arg& a) {
    switch (a.kind) {
      case ArgKind::none: return "None";
      case ArgKind::value: return value(a.value());
      case ArgKind::boolean: return a.boolean() ? "True" : "False";
      case ArgKind::integer: return dim(a.dim());
      case ArgKind::real: return real_text(a.real());
      case ArgKind::complex:
        return "complex(" + real_text(a.complex_value->real()) + ", " + real_text(a.complex_value->imag()) + ")";
      case ArgKind::string: return literal(a.string());
      case ArgKind::dtype: return torch_name(a.dtype());
      case ArgKind::device: return "torch.device(" + literal(to_string(a.device())) + ")";
      case ArgKind::layout: return "torch." + std::string(lenz::name(a.layout()));
      case ArgKind::memory_format: return "torch." + std::string(lenz::name(a.memory_format()));
      case ArgKind::seed: return "torch.Generator().manual_seed(" + std::to_string(a.seed) + ")";
      case ArgKind::value_list:
        return listed(a.value_list(), [&](ValueId v) { return v == kNone ? "None" : value(v); });
      case ArgKind::int_list: return listed(a.dim_list(), [&](Dim d) { return dim(d); });
      case ArgKind::real_list: return listed(a.real_list(), real_text);
      case ArgKind::bool_list: return listed(a.bool_list(), [](bool b) { return std::string(b ? "True" : "False"); });
      case ArgKind::arg_list: return listed(a.arg_list(), [&](const Arg& e) { return argument(e); });
      case ArgKind::graph: return sub_name(a.graph());
      case ArgKind::data: {
        const RunValue v = constant_tensor(*a.data, folder_);
        const Seen seen = look(v);
        return shaped(v, seen.sizes, elements_);
      }
    }
    internal_error("no such argument", __FILE__, __LINE__);
  }

  std::string call(const Node& node) {
    const Schema& schema = node.op->schema;
    size_t positional = 0;  // those that have to be there
    for (size_t i = 0; i < node.arg_count && !schema.params[i].keyword_only; ++i)
      if (!is_default(i, node)) positional = i + 1;
    std::string out;
    for (size_t i = 0; i < node.arg_count; ++i) {
      const Param& p = schema.params[i];
      if (p.keyword_only ? is_default(i, node) : i >= positional) continue;
      out += (out.empty() ? "" : ", ") + (p.keyword_only ? p.name + "=" : std::string()) + argument(node.args[i]);
    }
    return "torch.ops." + schema.space + "." + schema.packet + "." +
           (schema.overload.empty() ? "default" : schema.overload) + "(" + out + ")";
  }
  bool is_default(size_t i, const Node& node) const {
    const Param& p = node.op->schema.params[i];
    return p.fallback && default_arg(graph_.context(), p) == node.args[i];
  }

  // --- Lenz's own ops

  std::string own_call(const Node& node) {
    const std::string_view op = node.op->schema.packet;
    auto arg = [&](size_t i) { return argument(node.args[i]); };
    if (op == "constant") return arg(0);                      // op name: what Lenz's own ops are in Python
    if (op == "getitem") return arg(0) + "[" + arg(1) + "]";  // op name: as above
    if (op == "restride")                                     // op name: as above
      return "restrided(" + arg(0) + ", " + arg(1) + ", " + arg(2) + ")";
    if (op == "resized_to") return arg(0) + ".set_(" + arg(1) + ".clone())";  // op name: as above
    if (op == "cond")                                                         // op name: as above
      return "own((" + arg(1) + " if bool(" + arg(0) + ") else " + arg(2) + ")(*" + arg(3) + "))";
    if (op == "while_loop")  // op name: as above
      return "while_loop(" + arg(0) + ", " + arg(1) + ", " + arg(2) + ", " + arg(3) + ")";
    if (op == "scan")  // op name: as above
      return "scan(" + arg(0) + ", " + arg(1) + ", " + arg(2) + ", " + arg(3) + ")";
    if (op == "make_token") return "None";                                                // op name: as above
    if (op == "assert") return "checked(" + arg(1) + ", " + arg(2) + ")";                 // op name: as above
    if (op == "print") return "print(" + arg(1) + ".format(*" + arg(2) + "), end=\"\")";  // op name: as above
    static const std::map<std::string_view, std::string_view> kNumbers = {
        {"add", "+"},       {"sub", "-"}, {"mul", "*"}, {"floor_divide", "//"},
        {"remainder", "%"}, {"eq", "=="}, {"ne", "!="}, {"lt", "<"},
        {"le", "<="},       {"gt", ">"},  {"ge", ">="}};  // op name: scalar primitives
    if (auto found = kNumbers.find(node.op->scalar); found != kNumbers.end())
      return arg(0) + " " + std::string(found->second) + " " + arg(1);
    if (node.op->scalar == "minimum") return "min(" + arg(0) + ", " + arg(1) + ")";  // op name: as above
    if (node.op->scalar == "maximum") return "max(" + arg(0) + ", " + arg(1) + ")";  // op name: as above
    throw Unsupported("a Python program with " + node.op->full_name + ", which PyTorch has not");
  }

  void node(const Node& node) {
    const bool own = node.op->schema.space == "lenz";
    const std::string made = own ? own_call(node) : call(node);
    std::string results;
    for (uint16_t i = 0; i < node.result_count; ++i) results += (i == 0 ? "" : ", ") + value(node.result(i));
    // Control flow gives a list, whatever there is in it.
    if (node.result_count == 1 && own && node.op->schema.returns_list()) results += ",";
    line(results.empty() ? made : results + " = " + made);
    for (uint16_t i = 0; i < node.result_count; ++i) bind_symbols(node.result(i));
  }

  const Graph& graph_;
  const std::string name_;
  const std::string& folder_;
  uint64_t& elements_;
  std::string body_;
  std::map<ValueId, std::string> names_;
  std::unordered_set<std::string> taken_;
  std::set<const SymNode*> bound_;
};

// What the text may call.
constexpr std::string_view kOwn = R"(
def own(results):
    return [r.clone() if isinstance(r, torch.Tensor) else r for r in results]

)";
constexpr std::string_view kWhileLoop = R"(
def while_loop(more, step, carried, additional):
    while bool(more(*carried, *additional)[0]):
        carried = step(*carried, *additional)
    return own(carried)

)";
constexpr std::string_view kScan = R"(
def scan(step, carried, xs, additional):
    rows = []
    for i in range(xs[0].shape[0]):
        made = step(*carried, *[x[i] for x in xs], *additional)
        carried, row = made[:len(carried)], made[len(carried):]
        rows.append(row)
    return own(carried) + [torch.stack(column) for column in zip(*rows)]

)";
constexpr std::string_view kRestrided = R"(
def restrided(x, stride, offset):
    count = 1 + offset + sum((n - 1) * s for n, s in zip(x.shape, stride)) if x.numel() else offset
    return torch.empty(count, dtype=x.dtype).as_strided(x.shape, stride, offset).copy_(x)

)";
constexpr std::string_view kChecked = R"(
def checked(condition, message):
    assert bool(condition), message

)";
constexpr std::string_view kPlaced = R"(
def placed(memory, dtype, sizes, strides, offset, elements):
    bits = torch.uint8 if dtype.itemsize == 1 else dtype
    memory = memory.view(dtype)
    at = torch.arange(memory.numel()).as_strided(sizes, strides, offset).reshape(-1)
    memory.view(bits)[at] = elements.view(bits)
    return memory.as_strided(sizes, strides, offset)

)";
// Each after what it calls itself.
constexpr std::pair<std::string_view, std::string_view> kHelpers[] = {
    {"own(", kOwn},         {"while_loop(", kWhileLoop}, {"scan(", kScan}, {"restrided(", kRestrided},
    {"checked(", kChecked}, {"placed(", kPlaced}};

std::string with_helpers(const std::string& text) {
  std::string helpers;
  for (const auto& [call, definition] : std::views::reverse(kHelpers))
    if ((text + helpers).find(call) != std::string::npos) helpers = std::string(definition) + helpers;
  return helpers + "\n" + text;
}

// Whether it is all of its memory, in the order of its elements.
bool is_plain(const RunValue& input, const Seen& seen) {
  int64_t count = 1;
  for (size_t i = seen.sizes.size(); i-- > 0; count *= seen.sizes[i])
    if (seen.strides[i] != count) return false;
  uint64_t memory = 0;
  for_each_storage(input, [&](const void*, uint64_t bytes) { memory = bytes; });
  return count > 0 && seen.offset == 0 && memory == static_cast<uint64_t>(count * item_size(seen.dtype));
}

// Inputs of one storage are views of one tensor.
std::string inputs_text(std::span<const RunValue> inputs, uint64_t& elements) {
  std::string body, results;
  std::map<const void*, std::string> storages;
  std::map<const void*, int> users;
  for (const RunValue& input : inputs) ++users[look(input).storage];
  for (const RunValue& input : inputs) {
    const Seen seen = look(input);
    results += results.empty() ? "\n        " : ",\n        ";
    switch (seen.kind) {
      case TypeKind::none:
      case TypeKind::token: results += "None"; continue;
      case TypeKind::sym_int: results += std::to_string(seen.integer); continue;
      case TypeKind::sym_bool: results += seen.number != 0 ? "True" : "False"; continue;
      case TypeKind::sym_float: results += real_text(seen.number); continue;
      case TypeKind::list: throw Unsupported("a Python program that is given lists");
      case TypeKind::tensor: break;
    }
    if (users[seen.storage] == 1 && is_plain(input, seen)) {
      results += shaped(input, seen.sizes, elements);
      continue;
    }
    auto [at, fresh] = storages.try_emplace(seen.storage, "memory" + std::to_string(storages.size()));
    if (fresh)
      for_each_storage(input, [&](const void*, uint64_t bytes) {
        body += "    " + at->second + " = torch.zeros(" + std::to_string(bytes) + ", dtype=torch.uint8)\n";
      });
    results += "placed(" + at->second + ", " + torch_name(seen.dtype) + ", " + numbers(seen.sizes) + ", " +
               numbers(seen.strides) + ", " + std::to_string(seen.offset) + ", " + elements_text(input, elements) + ")";
  }
  return "def inputs():\n" + body + "    return [" + results + (results.empty() ? "" : ",\n    ") + "]\n";
}

constexpr std::string_view kEager = R"(
if __name__ == "__main__":
    torch.manual_seed(0)
    for result in graph(*inputs()):
        print(result)
)";
constexpr std::string_view kCompare = R"(
def same(a, b):
    if not isinstance(a, torch.Tensor):
        return a == b
    if a.dtype != b.dtype or a.shape != b.shape or not (a.is_floating_point() or a.is_complex()):
        return a.dtype == b.dtype and torch.equal(a, b)
    return torch.allclose(a.to(torch.complex128), b.to(torch.complex128), rtol=0, atol=0, equal_nan=True)


if __name__ == "__main__":
    torch.manual_seed(0)
    given = inputs()
    expected = graph(*given) + given
    torch.manual_seed(0)
    given = inputs()
    got = torch.compile(graph)(*given) + given
    apart = [number for number, (a, b) in enumerate(zip(expected, got)) if not same(a, b)]
    for number in apart:
        print(f"value {number}: eager gives {expected[number]}, compiled {got[number]}")
    if not apart:
        print("eager and torch.compile agree in every bit")
)";
}  // namespace

std::string python_program(const Graph& graph, std::span<const RunValue> inputs, const PythonOptions& options) {
  uint64_t elements = 0;
  std::string out, text = FunctionText(graph, "graph", options.folder, elements).text();
  text += "\n\n" + inputs_text(inputs, elements);
  for (size_t at = 0; at < options.comment.size();) {
    const size_t end = std::min(options.comment.find('\n', at), options.comment.size());
    out += "# " + options.comment.substr(at, end - at) + "\n";
    at = end + 1;
  }
  if (text.find("math.") != std::string::npos) out += "import math\n\n";
  out += "import torch\n\n" + with_helpers(text) + "\n";
  return out + std::string(options.compile ? kCompare : kEager);
}

}  // namespace lenz::oracle
