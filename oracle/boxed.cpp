#include "oracle/boxed.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/CPUAllocator.h>
#include <c10/util/Exception.h>
#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <unordered_map>

#include "oracle/aten.h"
#include "oracle/binding.h"
#include "oracle/direct_call.h"
#include "oracle/dying_calls.h"
#include "oracle/initialise.h"
#include "oracle/trusted_indices.h"

namespace lenz::oracle {

namespace {
// Resizing an out= tensor and the like warn; a warning is no result.
class Silent final : public c10::WarningHandler {
 public:
  void process(const c10::Warning&) override {}
};

int64_t constant(Dim d, const SymValues& symbols) {
  if (d.is_constant()) return d.constant();
  auto value = symbols ? evaluate(d, symbols) : std::nullopt;
  if (!value) throw NoValue(d, symbols);
  return *value;
}

// Turns arguments into what the registered schema's types want to see on the dispatcher's stack.
class Converter {
 public:
  // `device`: where what makes tensors makes them, beside the CPU; none: as the arguments say.
  Converter(std::span<const RunValue> values, const SymValues& symbols, std::optional<c10::Device> device,
            bool has_tensors)
      : values_(values), symbols_(symbols), device_(device), has_tensors_(has_tensors) {}

  c10::IValue operator()(const Arg& arg, const c10::Type& type, int list_size) const {
    if (const auto* optional = type.castRaw<c10::OptionalType>()) {
      const c10::Type& inner = *optional->getElementType();
      if (!arg.is_none()) return (*this)(arg, inner, list_size);
      // A factory without tensor operands says by its device where it runs.
      if (inner.kind() == c10::TypeKind::DeviceObjType && device_ && !has_tensors_) return *device_;
      return {};
    }
    if (const auto* list = type.castRaw<c10::ListType>()) return to_list(arg, *list->getElementType(), list_size);
    return single(arg, type);
  }

 private:
  c10::IValue held(ValueId v) const {
    LENZ_CHECK(v < values_.size(), "an argument names a value that was not computed");
    return values_[v] ? values_[v]->value : c10::IValue();
  }

  c10::IValue single(const Arg& arg, const c10::Type& type) const {
    bool real = type.kind() == c10::TypeKind::FloatType;
    switch (arg.kind) {
      case ArgKind::none: return {};
      case ArgKind::value: {
        c10::IValue v = held(arg.value());
        return real && v.isInt() ? c10::IValue(static_cast<double>(v.toInt())) : v;
      }
      case ArgKind::boolean:
        if (real) return static_cast<double>(arg.boolean());
        if (type.kind() == c10::TypeKind::IntType || type.kind() == c10::TypeKind::SymIntType)
          return static_cast<int64_t>(arg.boolean());
        return arg.boolean();
      case ArgKind::integer: {
        int64_t i = constant(arg.dim(), symbols_);
        return real ? c10::IValue(static_cast<double>(i)) : c10::IValue(i);
      }
      case ArgKind::real: return arg.real();
      case ArgKind::complex: return c10::complex<double>(*arg.complex_value);
      case ArgKind::string: return std::string(arg.string());
      case ArgKind::dtype: return static_cast<int64_t>(to_aten(arg.dtype()));
      case ArgKind::device: {
        c10::Device device = to_aten(arg.device());
        return device_ && device.is_cpu() ? *device_ : device;
      }
      case ArgKind::layout: return static_cast<int64_t>(to_aten(arg.layout()));
      case ArgKind::memory_format: return static_cast<int64_t>(to_aten(arg.memory_format()));
      case ArgKind::seed: return generator(arg.seed);
      default: throw InternalError("an argument of " + type.str() + " can't be handed to libtorch");
    }
  }

  at::Generator generator(uint64_t seed) const {
    if (!device_ || !device_->is_cuda()) return at::detail::createCPUGenerator(seed);
    at::Generator made = at::globalContext().defaultGenerator(*device_).clone();
    made.set_current_seed(seed);
    return made;
  }

  c10::IValue to_list(const Arg& arg, const c10::Type& element, int list_size) const {
    if (arg.is_value()) return held(arg.value());
    const bool ints = element.kind() == c10::TypeKind::IntType || element.kind() == c10::TypeKind::SymIntType;
    if (ints && arg.kind == ArgKind::int_list) {  // the sizes, strides and dims of most calls, without detours
      c10::List<int64_t> list;
      list.reserve(arg.dim_list().size());
      for (Dim d : arg.dim_list()) list.push_back(constant(d, symbols_));
      return list;
    }
    std::vector<c10::IValue> items;
    switch (arg.kind) {
      case ArgKind::value_list:
        for (ValueId v : arg.value_list()) items.push_back(v == kNone ? c10::IValue() : held(v));
        break;
      case ArgKind::int_list:
        for (Dim d : arg.dim_list()) items.push_back(single(Arg::of_dim(d), element));
        break;
      case ArgKind::real_list:
        for (double d : arg.real_list()) items.emplace_back(d);
        break;
      case ArgKind::bool_list:
        for (bool b : arg.bool_list()) items.push_back(single(Arg::of_bool(b), element));
        break;
      case ArgKind::arg_list:
        for (const Arg& a : arg.arg_list()) items.push_back(single(a, element));
        break;
      default:  // one number stands for all
        items.assign(static_cast<size_t>(std::max(list_size, 1)), single(arg, element));
    }
    switch (element.kind()) {
      case c10::TypeKind::TensorType: {
        c10::List<at::Tensor> list;
        for (c10::IValue& v : items) list.push_back(v.isNone() ? at::Tensor() : std::move(v).toTensor());
        return list;
      }
      case c10::TypeKind::OptionalType: {
        c10::List<std::optional<at::Tensor>> list;
        for (c10::IValue& v : items)
          list.push_back(v.isNone() ? std::nullopt : std::optional<at::Tensor>(std::move(v).toTensor()));
        return list;
      }
      case c10::TypeKind::IntType:
      case c10::TypeKind::SymIntType: {
        c10::List<int64_t> list;
        for (c10::IValue& v : items) list.push_back(v.toInt());
        return list;
      }
      case c10::TypeKind::FloatType: {
        c10::List<double> list;
        for (c10::IValue& v : items) list.push_back(v.toDouble());
        return list;
      }
      case c10::TypeKind::BoolType: {
        c10::List<bool> list;
        for (c10::IValue& v : items) list.push_back(v.toBool());
        return list;
      }
      case c10::TypeKind::NumberType: {
        c10::List<at::Scalar> list;
        for (c10::IValue& v : items) list.push_back(v.toScalar());
        return list;
      }
      default: throw InternalError("a list of " + element.str() + " can't be handed to libtorch");
    }
  }

  std::span<const RunValue> values_;
  const SymValues& symbols_;
  std::optional<c10::Device> device_;
  bool has_tensors_;
};

const c10::IValue* tensor_of(const Arg& arg, std::span<const RunValue> values) {
  if (!arg.is_value() || arg.value() >= values.size()) return nullptr;
  const RunValue& value = values[arg.value()];
  return value && value->value.isTensor() ? &value->value : nullptr;
}

std::string first_line(std::string_view text) { return std::string(text.substr(0, text.find('\n'))); }
}  // namespace

bool Outcome::says_no_memory(std::string_view text) {
  constexpr std::string_view kWords[] = {"can't allocate memory", "not enough memory", "CUDA out of memory"};
  return std::ranges::any_of(kWords,
                             [&](std::string_view words) { return text.find(words) != std::string_view::npos; });
}

namespace {
// How libtorch runs our calls: silent, and with as much autograd as was asked for.
struct Manner {
  Silent silent;
  c10::WarningUtils::WarningHandlerGuard no_warnings{&silent};
  std::optional<at::AutoDispatchBelowADInplaceOrView> below;
  c10::AutoGradMode grad_mode;
  explicit Manner(Boxed::Autograd autograd) : grad_mode(autograd == Boxed::Autograd::recorded) {
    if (autograd == Boxed::Autograd::below) below.emplace();
  }
};

// Whether eager makes the view of other views, and its schema does not say that it is one: whoever materialises lazy
// conjugates and negatives below autograd would copy it.
bool is_unsaid_view(const OpDef& op, const c10::FunctionSchema& schema) {
  return op.has(Trait::view) && std::ranges::all_of(schema.returns(), [](const c10::Argument& result) {
           return result.alias_info() == nullptr;
         });
}

// Whether an operand is lazily conjugated or negated. What is strung together of other ops is so above the keys that
// materialise these: it sees them as they are, and so does what it calls that is strung together itself. Below
// autograd, where we call it, those keys would come first.
bool any_is_lazy(const std::vector<c10::IValue>& operands) {
  auto lazy = [](const at::Tensor& t) { return t.defined() && (t.is_conj() || t.is_neg()); };
  return std::ranges::any_of(operands, [&](const c10::IValue& v) {
    return v.isTensor() ? lazy(v.toTensor()) : v.isTensorList() && std::ranges::any_of(v.toTensorVector(), lazy);
  });
}

// What a product of two lazy conjugates gives is a lazy conjugate in memory that nobody else knows. How that encodes it
// is no part of what the op says; views of operands stay as they are.
// Zeros that libtorch keeps no memory for get some, for who compiles reads it.
void resolve_own_memory(at::Tensor& t, std::span<const Arg> args, std::span<const RunValue> values) {
  if (!t.defined()) return;
  if (t._is_zerotensor()) t = at::empty_strided(t.sizes(), t.strides(), t.options()).zero_();
  if (!(t.is_conj() || t.is_neg())) return;
  bool own = true;
  for (const Arg& a : args)
    for_each_value(a, [&](ValueId v) {
      const c10::IValue* operand = values[v] ? &values[v]->value : nullptr;
      auto shares = [&](const at::Tensor& of) { return of.defined() && of.storage().is_alias_of(t.storage()); };
      if (operand && operand->isTensor()) own = own && !shares(operand->toTensor());
      if (operand && operand->isTensorList())
        for (const at::Tensor& of : operand->toTensorVector()) own = own && !shares(of);
    });
  if (own) t = t.resolve_conj().resolve_neg();
}

}  // namespace

struct Boxed::Impl {
  Autograd autograd;
  bool within = false;             // of many calls, for which the manner is set once
  std::vector<c10::IValue> stack;  // of a call; empty between calls, but its memory stays
  struct Found {
    uint64_t name_hash = 0;  // a row may die, and another one stand in its place
    std::optional<c10::OperatorHandle> handle;
    std::optional<DirectCall> direct;
    bool in_place = false;     // what libtorch has in place alone: it runs on a copy
    bool unsaid_view = false;  // is_unsaid_view
    bool of_others = false;    // strung together of other ops
    TrustedIndices::Wrong trusts_a_wrong_index = nullptr;
  };

  const Found& find(const OpDef& op) {
    // Small graphs are few ops again and again; a map takes as long as the rest of a call that is ours.
    Recent& recent = recent_[op.name_hash % recent_.size()];
    if (recent.op != &op || recent.found->name_hash != op.name_hash || op.name_hash == 0)
      recent = {&op, &find_in_map(op)};
    return *recent.found;
  }

 private:
  static std::optional<c10::OperatorHandle> registered(const OpDef& op, const char* behind_name) {
    const Schema& s = op.schema;
    return c10::Dispatcher::singleton().findSchema({s.space + "::" + s.packet + behind_name, s.overload});
  }
  const Found& find_in_map(const OpDef& op) {
    Found& found = found_[&op];
    if (found.name_hash == op.name_hash && op.name_hash != 0) return found;
    found = {};
    found.name_hash = op.name_hash;
    found.handle = registered(op, "");
    // The functional op that an extern's declaration brings.
    if (!found.handle && !op.infer && !op.schema.mutates()) {
      found.handle = registered(op, "_");
      found.in_place = true;
    }
    if (!found.handle) return found;
    found.unsaid_view = is_unsaid_view(op, found.handle->schema());
    found.of_others = found.handle->hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd) &&
                      !found.handle->hasKernelForDispatchKey(c10::DispatchKey::CPU);
    found.trusts_a_wrong_index = TrustedIndices::of(op.schema.packet);
    if (!found.in_place && !found.unsaid_view && !found.of_others) found.direct = DirectCall::of(*found.handle);
    return found;
  }
  struct Recent {
    const OpDef* op = nullptr;
    const Found* found = nullptr;
  };
  std::unordered_map<const OpDef*, Found> found_;
  std::array<Recent, 64> recent_;  // by the hash of the name
};

Boxed::Boxed(DeviceKind device, Autograd autograd) : device_(device), impl_(std::make_unique<Impl>()) {
  impl_->autograd = autograd;
}
Boxed::~Boxed() = default;

RunValue Boxed::make(const Type& type, const Initialiser& init, const RunValue& shared) {
  LENZ_CHECK(device_ != DeviceKind::cuda, "tensors are made on a CPU and copied (cuda_eager.h)");
  size_t bytes = storage_bytes(type);
  bool meta = device_ == DeviceKind::meta;
  c10::Storage storage;
  if (shared) {
    storage = shared->value.toTensor().storage();
    LENZ_CHECK(storage.nbytes() >= bytes, "an input does not fit into the storage that it is to share");
  } else {
    c10::Allocator* allocator = meta ? c10::GetAllocator(c10::DeviceType::Meta) : c10::GetCPUAllocator();
    try {
      storage = c10::Storage(c10::Storage::use_byte_size_t(), static_cast<int64_t>(bytes), allocator, true);
    } catch (const c10::Error&) {
      throw Unsupported("out of memory: an input of " + std::to_string(bytes) + " bytes");
    }
    if (!meta && bytes) initialise({static_cast<std::byte*>(storage.mutable_data()), bytes}, type, init, true);
  }
  auto tensor = at::detail::make_tensor<c10::TensorImpl>(
      std::move(storage), c10::DispatchKeySet(meta ? c10::DispatchKey::Meta : c10::DispatchKey::CPU),
      c10::scalarTypeToTypeMeta(to_aten(type.dtype)));
  SmallVec<int64_t, 6> sizes, strides;
  for (Dim d : type.sizes()) sizes.push_back(d.constant());
  for (Dim d : type.strides()) strides.push_back(d.constant());
  tensor.unsafeGetTensorImpl()->set_sizes_and_strides({sizes.data(), sizes.size()}, {strides.data(), strides.size()},
                                                      type.offset.constant());
  return hold(std::move(tensor));
}

namespace {
// What `then` says of the type that a tensor's is for these symbols.
template <class F>
auto with_constants(const Type& type, const SymValues& symbols, F&& then) {
  TensorType concrete = type.tensor();
  for (Dim& d : concrete.sizes) d = constant(d, symbols);
  for (Dim& d : concrete.strides) d = constant(d, symbols);
  concrete.offset = constant(concrete.offset, symbols);
  Type plain = type;
  plain.size_data = concrete.sizes.data();
  plain.stride_data = concrete.strides.data();
  plain.offset = concrete.offset;
  return then(plain);
}

// The input of each alias class that needs the most memory; the first of several.
std::unordered_map<NameId, const Input*> largest_of_classes(const Graph& graph, const SymValues& symbols) {
  std::unordered_map<NameId, const Input*> largest;
  auto bytes = [&](const Input& i) {
    return with_constants(graph.type(i.value), symbols, [](const Type& type) { return storage_bytes(type); });
  };
  for (const Input& i : graph.inputs()) {
    if (!i.alias || !graph.type(i.value).is_tensor()) continue;
    auto [at, first] = largest.emplace(*i.alias, &i);
    if (!first && bytes(i) > bytes(*at->second)) at->second = &i;
  }
  return largest;
}
}  // namespace

RunValue Boxed::input(const Type& type, const Initialiser& init, const RunValue& shared, const SymValues& symbols) {
  if (type.kind == TypeKind::sym_int) return hold(constant(type.offset, symbols));
  if (type.kind == TypeKind::sym_float) return hold(first_value(init));
  if (type.kind == TypeKind::sym_bool) return hold(first_value(init) != 0);
  if (type.kind == TypeKind::list) {
    std::vector<RunValue> tensors;
    Initialiser each = init;  // its elements differ
    for (const Type* t : type.elements()) {
      tensors.push_back(input(*t, each, nullptr, symbols));
      ++each.seed;
    }
    return list_of(tensors);
  }
  if (!type.is_tensor()) throw Unsupported("an input of type " + lenz::to_string(type) + " has no initial value");
  return with_constants(type, symbols, [&](const Type& plain) { return make(plain, init, shared); });
}

std::vector<RunValue> Boxed::inputs(const Graph& graph, const SymValues& symbols) {
  std::vector<RunValue> values(graph.value_count());
  std::unordered_map<NameId, RunValue> classes;
  for (const auto& [name, largest] : largest_of_classes(graph, symbols))
    classes[name] = input(graph.type(largest->value), largest->init, nullptr, symbols);
  for (const Input& i : graph.inputs())
    values[i.value] = input(graph.type(i.value), i.init, i.alias ? classes[*i.alias] : nullptr, symbols);
  return values;
}

void Boxed::seed(uint64_t seed) {
  if (device_ == DeviceKind::cuda) {
    at::Generator drawn_there = at::globalContext().defaultGenerator(c10::kCUDA);
    drawn_there.set_current_seed(seed);
  }
  at::Generator generator = at::detail::getDefaultCPUGenerator();
  std::lock_guard<std::mutex> lock(generator.mutex());
  // Filling the generator's state takes as long as two small ops: not where it is full already, and nothing was drawn.
  auto* cpu = at::check_generator<at::CPUGeneratorImpl>(generator);
  const at::mt19937_data_pod state = cpu->engine().data();
  const bool fresh = state.seeded_ && state.left_ == 1 && state.next_ == 0 && state.seed_ == seed;
  if (fresh && !cpu->next_float_normal_sample() && !cpu->next_double_normal_sample()) return;
  generator.set_current_seed(seed);
}

uint64_t Boxed::draw_seed() {
  at::Generator generator = at::detail::getDefaultCPUGenerator();
  std::lock_guard<std::mutex> lock(generator.mutex());
  return at::check_generator<at::CPUGeneratorImpl>(generator)->random64();
}

Outcome Boxed::run(const OpDef& op, std::span<const Arg> args, std::span<const RunValue> values,
                   const SymValues& symbols) {
  Outcome outcome;
  run(op, args, values, symbols, outcome);
  return outcome;
}

void Boxed::run(const OpDef& op, std::span<const Arg> args, std::span<const RunValue> values, const SymValues& symbols,
                Outcome& outcome) {
  outcome.clear();
  const auto& [name_hash, handle, direct, in_place, unsaid_view, of_others, trusts_a_wrong_index] = impl_->find(op);
  if (!handle) throw Unsupported("libtorch has no op " + op.full_name);
  const auto& params = handle->schema().arguments();
  if (params.size() != args.size()) throw Unsupported(op.full_name + " has other parameters in libtorch");

  std::optional<Manner> manner;
  if (!impl_->within) manner.emplace(impl_->autograd);
  std::optional<c10::impl::ExcludeDispatchKeyGuard> lazily;
  if (unsaid_view) lazily.emplace(c10::DispatchKeySet({c10::DispatchKey::Negative, c10::DispatchKey::Conjugate}));

  std::vector<c10::IValue>& stack = impl_->stack;
  stack.clear();
  try {
    if (direct && !DyingCalls::any()) {
      if (auto result = (*direct)(args, values)) {
        resolve_own_memory(*result, args, values);
        outcome.results.push_back(hold(std::move(*result)));
        return;
      }
    }
    bool has_tensors = false;
    std::optional<c10::Device> device;
    if (device_ != DeviceKind::cpu) {
      device =
          device_ == DeviceKind::meta ? c10::Device(c10::kMeta) : to_aten(Device{device_, 0});  // meta has no numbers
      for (const Arg& a : args) for_each_value(a, [&](ValueId) { has_tensors = true; });
    }
    Converter convert(values, symbols, device, has_tensors);
    for (size_t i = 0; i < args.size(); ++i) {
      // A tensor goes as it is, whatever the parameter's type.
      if (const c10::IValue* tensor = tensor_of(args[i], values))
        stack.push_back(*tensor);
      else
        stack.push_back(convert(args[i], *params[i].real_type(), op.schema.params[i].type.list_size));
    }
    if (in_place && !stack.empty() && stack[0].isTensor()) stack[0] = stack[0].toTensor().clone();
    if (trusts_a_wrong_index && TrustedIndices::are_looked_at() && device_ == DeviceKind::cpu &&
        trusts_a_wrong_index(stack))
      throw Unsupported("libtorch goes beyond its memory, for an index is out of range, in " + op.full_name);
    std::optional<c10::impl::ForceDispatchKeyGuard> above;
    if (of_others && impl_->autograd == Autograd::below && any_is_lazy(stack)) {
      const c10::impl::LocalDispatchKeySet keys = c10::impl::tls_local_dispatch_key_set();
      above.emplace(keys.included_, keys.excluded_ - c10::autograd_dispatch_keyset_with_ADInplaceOrView);
    }
    auto call = [&] { handle->callBoxed(&stack); };
    if (DyingCalls::any())
      DyingCalls::run(op.full_name, call);
    else
      call();
    outcome.results.reserve(stack.size());
    for (c10::IValue& v : stack) {
      if (v.isTensor()) {
        at::Tensor t = std::move(v).toTensor();
        resolve_own_memory(t, args, values);
        v = std::move(t);
      }
      outcome.results.push_back(v.isNone() ? nullptr : hold(std::move(v)));
    }
    stack.clear();
  } catch (const Error&) {
    stack.clear();
    throw;
  } catch (const c10::Error& error) {
    outcome.raised = true;
    outcome.text = first_line(error.what_without_backtrace());
    outcome.no_kernel = dynamic_cast<const c10::NotImplementedError*>(&error) != nullptr &&
                        outcome.text.find("Could not run") != std::string::npos;
  } catch (const std::exception& error) {
    outcome.raised = true;
    outcome.text = first_line(error.what());
  }
  if (outcome.raised) stack.clear();
}

void Boxed::within(const std::function<void()>& calls) {
  Manner manner(impl_->autograd);
  const bool before = std::exchange(impl_->within, true);
  try {
    calls();
  } catch (...) {
    impl_->within = before;
    throw;
  }
  impl_->within = before;
}

std::optional<std::string> registered_schema(const Schema& schema) {
  auto handle = c10::Dispatcher::singleton().findSchema({schema.space + "::" + schema.packet, schema.overload});
  if (!handle) return std::nullopt;
  std::ostringstream text;
  text << handle->schema();
  return text.str();
}

void require_cuda() {
  // Before anybody asks for a GPU: libtorch looks once whether its CUDA half is there.
  static const bool loaded = dlopen("libtorch_cuda.so", RTLD_NOW | RTLD_GLOBAL) != nullptr;
  if (!loaded) throw Unsupported("libtorch's CUDA half can't be loaded: " + std::string(dlerror()));
  if (!at::hasCUDA() || at::getNumGPUs() == 0) throw Unsupported("there is no GPU that libtorch can use");
  at::globalContext().setAllowTF32CuBLAS(false);
  at::globalContext().setAllowTF32CuDNN(false);
  at::globalContext().setAllowFP16ReductionCuBLAS(false, true);
  at::globalContext().setAllowBF16ReductionCuBLAS(false, true);
}

void quieten_libtorch() { at::set_num_threads(1); }
void give_libtorch_threads(int threads) { at::set_num_threads(threads); }

}  // namespace lenz::oracle
