#include "compiler/loops/take_inputs.h"

#include <algorithm>

namespace lenz::loops {

namespace {
class InputTaker {
 public:
  InputTaker(const Program& program, Symbols& symbols) : program_(program), symbols_(symbols) {}

  void run(std::span<const InputValue> inputs, const std::function<void(BufferId, const Tensor&)>& put) {
    if (inputs.size() != program_.inputs.size())
      throw UserError("the program takes " + std::to_string(program_.inputs.size()) + " inputs, " +
                      std::to_string(inputs.size()) + " are given");
    std::vector<Tensor> tensors(inputs.size());
    std::vector<Expected> open, unread;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const Input& input = program_.inputs[i];
      if (input.kind == Input::none) continue;
      if (input.kind == Input::symbol) {
        const auto* number = std::get_if<int64_t>(&inputs[i]);
        if (number == nullptr) refuse(i, "is no integer");
        open.push_back({input.sym, *number, i, "its value"});
        continue;
      }
      tensors[i] = as_tensor(i, inputs[i]);
      expect_tensor(i, tensors[i], open, unread);
    }
    match(std::move(open));
    for (const Expected& e : unread) invent(e);
    symbols_.check(nullptr);
    for (const Input& input : program_.inputs)
      if (input.kind == Input::symbol && !input.sym.is_constant())
        for_each_symbol(input.sym, [&](const SymNode* s) { symbols_.check(s); });
    check_aliases(tensors);
    for (size_t i = 0; i < inputs.size(); ++i)
      if (tensors[i]) put(program_.inputs[i].buffer, tensors[i]);
  }

 private:
  struct Expected {  // an input's size, stride, offset or value, and what it is given as
    Dim dim;
    int64_t given;
    size_t input;
    std::string what;
  };

  std::string label(size_t input) const { return "input '" + program_.inputs[input].name + "'"; }
  [[noreturn]] void refuse(size_t input, const std::string& why) const {
    const Input& i = program_.inputs[input];
    std::string takes = i.kind == Input::symbol ? "an integer" : "nothing";
    if (i.kind == Input::tensor) {
      const TensorType& type = program_.buffers[i.buffer].type;
      takes = "a tensor " + std::string(name(type.dtype)) + "[";
      for (size_t d = 0; d < type.rank(); ++d) takes += (d ? ", " : "") + to_string(type.sizes[d]);
      takes += "]";
    }
    throw UserError(label(input) + " " + why, "", "it takes " + takes);
  }

  Tensor as_tensor(size_t i, const InputValue& value) const {
    const TensorType& type = program_.buffers[program_.inputs[i].buffer].type;
    const Dtype dtype = type.dtype;
    if (const auto* tensor = std::get_if<Tensor>(&value); tensor && *tensor) return *tensor;
    if (type.rank() != 0) refuse(i, "is no tensor");
    if (const auto* truth = std::get_if<bool>(&value); truth && dtype == Dtype::b8)
      return Tensor::integers(dtype, {}, {*truth});
    if (const auto* real = std::get_if<double>(&value); real && is_floating(dtype))
      return Tensor::reals(dtype, {}, {*real});
    refuse(i, "is neither a tensor nor a number of its dtype");
  }

  void expect_tensor(size_t i, const Tensor& tensor, std::vector<Expected>& open, std::vector<Expected>& unread) const {
    const Buffer& buffer = program_.buffers[program_.inputs[i].buffer];
    const TensorType& type = buffer.type;
    if (tensor.dtype() != type.dtype) refuse(i, "is of dtype " + std::string(name(tensor.dtype())));
    if (tensor.rank() != type.rank()) refuse(i, "has " + std::to_string(tensor.rank()) + " dims");
    for (size_t d = 0; d < type.rank(); ++d)
      open.push_back({type.sizes[d], tensor.sizes()[d], i, "the size of dim " + std::to_string(d)});
    if (!buffer.placed) return;
    open.push_back({type.offset, tensor.offset(), i, "the storage offset"});
    for (size_t d = 0; d < type.rank(); ++d) {  // eager computes with no stride of a dim that has at most one element
      auto& into = tensor.sizes()[d] > 1 && tensor.numel() > 0 ? open : unread;
      into.push_back({type.strides[d], tensor.strides()[d], i, "the stride of dim " + std::to_string(d)});
    }
  }

  // Symbols of a stride that nobody reads: any value will do that facts and guards allow.
  void invent(const Expected& e) {
    if (e.dim.is_constant()) return;
    for_each_symbol(e.dim, [&](const SymNode* symbol) {
      if (symbols_.find(symbol)) return;
      const Facts& facts = program_.assumptions.known();
      const Range range = facts.range(Dim(symbol));
      const int64_t low = range.low.value_or(0);
      for (std::optional<int64_t> value :
           {std::optional(e.given), std::optional(low), std::optional(low + 1), facts.hint(Dim(symbol)), range.high}) {
        if (!value) continue;
        symbols_.bind(Dim(symbol), *value, &program_);
        if (symbols_.broken(nullptr).empty()) return;
      }
    });
  }

  // Symbols that stand alone first; then whatever has but one open symbol, as often as that helps.
  void match(std::vector<Expected> open) {
    std::stable_partition(open.begin(), open.end(),
                          [](const Expected& e) { return !e.dim.is_constant() && kind_of(e.dim) == SymKind::symbol; });
    while (!open.empty()) {
      std::vector<Expected> left;
      for (const Expected& e : open) {
        std::optional<bool> matched = symbols_.match(e.dim, e.given, &program_);
        if (!matched) left.push_back(e);
        if (matched == std::optional(false)) disagree(e);
      }
      if (left.size() == open.size()) disagree(left[0]);
      open = std::move(left);
    }
  }
  [[noreturn]] void disagree(const Expected& e) const {
    std::string wanted = to_string(e.dim);
    if (std::optional<int64_t> value = symbols_.try_value(e.dim); value && !e.dim.is_constant())
      wanted += " = " + std::to_string(*value);
    refuse(e.input, "has " + std::to_string(e.given) + " as " + e.what + ", not " + wanted);
  }

  // Inputs of one class share storage; what is mutated shares it with no others.
  void check_aliases(const std::vector<Tensor>& tensors) const {
    for (size_t i = 0; i < tensors.size(); ++i)
      for (size_t j = 0; j < i && tensors[i]; ++j) {
        if (!tensors[j]) continue;
        const Buffer &a = program_.buffers[program_.inputs[i].buffer], &b = program_.buffers[program_.inputs[j].buffer];
        const bool shared = tensors[i].storage()->data == tensors[j].storage()->data;
        const bool empty = tensors[i].storage()->bytes == 0;  // nothing is shared, wherever it is
        auto refuse_sharing = [&](const std::string& why) {
          throw UserError(label(i) + " " + why, "", std::string(kAliasRemedy));
        };
        if (a.alias && a.alias == b.alias && !shared) refuse_sharing("does not share its storage with " + label(j));
        if (!(a.alias && a.alias == b.alias) && shared && !empty && (a.mutated || b.mutated))
          refuse_sharing("shares its storage with " + label(j) + ", and one of them is mutated");
      }
  }

  const Program& program_;
  Symbols& symbols_;
};
}  // namespace

void take_inputs(const Program& program, std::span<const InputValue> inputs, Symbols& symbols,
                 const std::function<void(BufferId, const Tensor&)>& put) {
  InputTaker(program, symbols).run(inputs, put);
}

}  // namespace lenz::loops
