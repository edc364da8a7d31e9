// What programs themselves say of inputs that do not fit them: commands and the oracle ask before, so that nothing else
// hears it. Nothing is run, and no element is read.
#include <bit>
#include <functional>
#include <map>

#include "compiler/base/error.h"
#include "compiler/loops/take_inputs.h"
#include "fuzz/decisions/broken.h"

namespace lenz::fuzz {

namespace {
using loops::InputValue;
using loops::Ints;
using loops::Tensor;

class Asker {
 public:
  Asker(const loops::Program& program, const SymValues& sizes, Chooser& choose)
      : program_(program), sizes_(sizes), choose_(choose) {}

  std::string run() {
    if (!make(sizes_)) return {};
    ask();
    for (size_t i = 0; i < inputs_.size(); ++i) change(i);
    changed_count();
    shared();
    other_sizes();
    return std::move(said_);
  }

 private:
  static constexpr int64_t kRoom = 4096;     // bytes before and behind what a tensor needs, which nobody reads
  static constexpr int64_t kMost = 1 << 22;  // bytes

  // As the program takes them at these sizes; false: there are none so small.
  bool make(const SymValues& sizes) {
    inputs_.clear();
    std::map<std::optional<NameId>, std::shared_ptr<loops::Storage>> classes;
    for (const loops::Input& input : program_.inputs) {
      InputValue value;
      if (input.kind == loops::Input::symbol) {
        const auto number = evaluate(input.sym, sizes);
        if (!number) return false;
        value = *number;
      } else if (input.kind == loops::Input::tensor) {
        const loops::Buffer& buffer = program_.buffers[input.buffer];
        Tensor made = tensor(buffer, sizes);
        if (!made) return false;
        if (buffer.alias) {
          auto& storage = classes[buffer.alias];
          if (!storage) storage = memory(kMost);
          made = Tensor(storage, made.dtype(), made.sizes(), made.strides(), made.offset());
        }
        value = made;
      }
      inputs_.push_back(std::move(value));
    }
    return true;
  }

  Tensor tensor(const loops::Buffer& buffer, const SymValues& sizes) {
    Ints own, strides;
    for (const Dim d : buffer.type.sizes) {
      const auto size = evaluate(d, sizes);
      if (!size || *size < 0) return {};
      own.push_back(*size);
    }
    strides = loops::contiguous_strides(own);
    int64_t offset = 0;
    if (buffer.placed) {
      for (size_t d = 0; d < own.size(); ++d) {
        const auto stride = evaluate(buffer.type.strides[d], sizes);
        if (!stride || *stride < 0) return {};
        strides[d] = *stride;
      }
      const auto at = evaluate(buffer.type.offset, sizes);
      if (!at || *at < 0) return {};
      offset = *at;
    }
    return seen(buffer.type.dtype, own, strides, offset);
  }

  // In memory of its own; none: too large.
  Tensor seen(Dtype dtype, const Ints& sizes, const Ints& strides, int64_t offset) {
    const auto elements = loops::elements_needed(sizes, strides, offset);
    if (!elements || *elements > kMost / 32) return {};
    const uint64_t bytes = static_cast<uint64_t>(*elements * item_size(dtype) + kRoom);
    return {memory(bytes), dtype, sizes, strides, offset};
  }

  // That nobody reads: there is none.
  std::shared_ptr<loops::Storage> memory(uint64_t bytes) {
    auto made = std::make_shared<loops::Storage>();
    made->data = std::bit_cast<std::byte*>(next_ += kMost);
    made->bytes = bytes;
    return made;
  }

  // There are many graphs, with much in common: a few questions of each.
  void ask_some() {
    if (choose_.chance(1, 10)) ask();
  }
  void ask() {
    loops::Symbols symbols(program_.assumptions);

    try {
      std::string taken = "taken";
      loops::take_inputs(program_, inputs_, symbols, [&](loops::BufferId id, const Tensor& t) {
        taken += " " + program_.buffers[id].name + loops::to_string(t.sizes());
      });
      for (const loops::Input& input : program_.inputs) {
        const auto add = [&](Dim d) {
          if (!d.is_constant()) taken += " " + std::to_string(symbols.try_value(d).value_or(-1));
        };
        if (input.kind == loops::Input::symbol) add(input.sym);
        if (input.kind != loops::Input::tensor) continue;
        const TensorType& type = program_.buffers[input.buffer].type;
        for (const Dim d : type.sizes) add(d);
        for (const Dim d : type.strides) add(d);
      }
      said_ += taken + "\n";
    } catch (const UserError& error) {
      said_ += error.what();
      said_ += "\n";
    }
  }

  void ask_with(size_t i, InputValue value) {
    std::swap(inputs_[i], value);
    ask_some();
    std::swap(inputs_[i], value);
  }

  void change(size_t i) {
    ask_with(i, std::monostate());
    for (const int64_t n : {-1, 0, 1, 7}) ask_with(i, n);
    ask_with(i, 0.5), ask_with(i, true), ask_with(i, Tensor());
    const auto* given = std::get_if<Tensor>(&inputs_[i]);
    if (!given) return ask_with(i, Tensor::reals(Dtype::f32, {}, {1.0}));
    const Tensor as = *given;
    auto look = [&](const Ints& sizes, const Ints& strides, int64_t offset) {
      if (Tensor other = seen(as.dtype(), sizes, strides, offset)) ask_with(i, other);
    };
    auto contiguous = [&](const Ints& sizes) { look(sizes, loops::contiguous_strides(sizes), 0); };
    for (const Dtype dtype : {Dtype::b8, Dtype::i64, Dtype::f32, Dtype::c64})
      if (dtype != as.dtype())
        if (Tensor other = seen(dtype, as.sizes(), as.strides(), as.offset())) ask_with(i, other);
    Ints more(as.sizes());
    more.push_back(1);
    contiguous(more), contiguous({});
    look(as.sizes(), as.strides(), as.offset() + 1);
    for (size_t d = 0; d < as.rank(); ++d) {
      for (const int64_t n : {int64_t{0}, int64_t{1}, as.sizes()[d] + 1, 2 * as.sizes()[d]}) {
        Ints sizes(as.sizes()), strides(as.strides());
        sizes[d] = n;
        contiguous(sizes);
        look(sizes, strides, as.offset());
      }
      for (const int64_t n : {int64_t{0}, int64_t{1}, as.strides()[d] + 1}) {
        Ints strides(as.strides());
        strides[d] = n;
        look(as.sizes(), strides, as.offset());
      }
    }
  }

  void changed_count() {
    if (inputs_.empty()) return;
    const InputValue last = inputs_.back();
    inputs_.pop_back(), ask_some();
    inputs_.push_back(last), inputs_.push_back(last), ask_some();
    inputs_.pop_back();
  }

  // Each two of one dtype in one memory; who shares some has one of its own.
  void shared() {
    for (size_t i = 0; i < inputs_.size(); ++i)
      for (size_t j = 0; j < inputs_.size(); ++j) {
        const auto *a = std::get_if<Tensor>(&inputs_[i]), *b = std::get_if<Tensor>(&inputs_[j]);
        if (!a || !b || !*a || !*b || i == j) continue;
        const auto storage = b->storage();
        const auto needs = loops::elements_needed(a->sizes(), a->strides(), a->offset());
        if (a->storage() == storage)
          ask_with(i, seen(a->dtype(), a->sizes(), a->strides(), a->offset()));
        else if (needs && static_cast<uint64_t>(*needs * a->item_bytes()) <= storage->bytes)
          ask_with(i, Tensor(storage, a->dtype(), a->sizes(), a->strides(), a->offset()));
      }
  }

  // Sizes that go together, and may break what is known of them: each symbol another number, all inputs by it.
  void other_sizes() {
    std::vector<const SymNode*> symbols;
    auto note = [&](Dim d) {
      for_each_symbol(d, [&](const SymNode* s) {
        if (std::ranges::find(symbols, s) == symbols.end()) symbols.push_back(s);
      });
    };
    for (const loops::Input& input : program_.inputs) {
      if (input.kind == loops::Input::symbol) note(input.sym);
      if (input.kind == loops::Input::tensor)
        for (const Dim d : program_.buffers[input.buffer].type.sizes) note(d);
    }
    for (const SymNode* changed : symbols) {
      const int64_t was = sizes_(changed).value_or(2);
      for (const int64_t n : {int64_t{0}, int64_t{1}, was + 1, 2 * was, 3 * was + 1}) {
        const bool made = make([&](const SymNode* s) { return s == changed ? std::optional(n) : sizes_(s); });
        if (made) ask_some();
      }
    }
  }

  const loops::Program& program_;
  const SymValues& sizes_;
  Chooser& choose_;
  std::vector<InputValue> inputs_;
  uintptr_t next_ = 0;
  std::string said_;
};
}  // namespace

std::string said_of_inputs(const loops::Program& program, const SymValues& sizes, Chooser& choose) {
  return Asker(program, sizes, choose).run();
}

}  // namespace lenz::fuzz
