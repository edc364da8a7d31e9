#include "oracle/storage_bridge.h"

#include <ATen/Functions.h>

#include "compiler/base/sym_facts.h"
#include "oracle/aten.h"
#include "oracle/attention.h"
#include "oracle/binding.h"
#include "oracle/host_processor.h"
#include "oracle/library_products.h"
#include "oracle/narrow_products.h"
#include "oracle/searches.h"
#include "oracle/small_products.h"

namespace lenz::oracle {

at::Tensor tensor_in(const c10::Storage& storage, Dtype dtype, std::span<const int64_t> sizes,
                     std::span<const int64_t> strides, int64_t offset) {
  auto made = at::detail::make_tensor<c10::TensorImpl>(
      c10::Storage(storage), c10::DispatchKeySet(c10::DispatchKey::CPU), c10::scalarTypeToTypeMeta(to_aten(dtype)));
  made.unsafeGetTensorImpl()->set_sizes_and_strides({sizes.data(), sizes.size()}, {strides.data(), strides.size()},
                                                    offset);
  return made;
}

namespace {
// By which an owner is known to be a storage of libtorch's.
struct LetGo {
  void operator()(c10::Storage* s) const { delete s; }
};
}  // namespace

loops::Tensor StorageBridge::in(const at::Tensor& given) {
  at::Tensor t = given.resolve_conj().resolve_neg();
  const c10::Storage& storage = t.storage();
  std::weak_ptr<loops::Storage>& known = known_[storage.unsafeGetStorageImpl()];
  std::shared_ptr<loops::Storage> s = known.lock();
  if (!s) {
    s = std::make_shared<loops::Storage>();
    s->data = static_cast<std::byte*>(storage.mutable_data());
    s->bytes = storage.nbytes();
    s->owner = std::shared_ptr<c10::Storage>(new c10::Storage(storage), LetGo{});
    known = s;
  }
  loops::Ints sizes, strides;
  for (int64_t n : t.sizes()) sizes.push_back(n);
  for (int64_t n : t.strides()) strides.push_back(n);
  return {s, *from_aten(t.scalar_type()), sizes, strides, t.storage_offset()};
}

at::Tensor StorageBridge::out(const loops::Tensor& t) {
  const std::shared_ptr<loops::Storage>& storage = t.storage();
  const auto shown = [&](const c10::Storage& s) { return tensor_in(s, t.dtype(), t.sizes(), t.strides(), t.offset()); };
  if (std::get_deleter<LetGo>(storage->owner)) return shown(*static_cast<const c10::Storage*>(storage->owner.get()));
  if (auto at = back_.find(storage.get()); at != back_.end()) return shown(at->second);
  const bool seen_again = storage.use_count() > 1;  // by somebody beside this tensor
  auto* keep = new std::shared_ptr<loops::Storage>(storage);
  auto release = [](void* p) { delete static_cast<std::shared_ptr<loops::Storage>*>(p); };
  c10::DataPtr data((*keep)->data, keep, release, at::kCPU);
  c10::Storage made(c10::Storage::use_byte_size_t(), (*keep)->bytes, std::move(data), nullptr, false);
  if (seen_again) back_.emplace(storage.get(), made);
  return shown(made);
}

namespace {
// Whether the op's own result may stand for the buffer: it lies as the buffer wants it, in memory of nobody else's.
bool lies_so(const at::Tensor& made, const std::vector<int64_t>& strides, int64_t offset,
             const std::vector<const void*>& operands) {
  if (made.storage_offset() != offset || made.is_conj() || made.is_neg()) return false;
  for (size_t d = 0; d < strides.size(); ++d)
    if (made.size(static_cast<int64_t>(d)) > 1 && made.stride(static_cast<int64_t>(d)) != strides[d]) return false;
  return std::ranges::find(operands, made.storage().data()) == operands.end();
}
}  // namespace

namespace {
// One small volume of f32 eager convolves by itself, in several times as long as oneDNN's kernel takes. Not given: it
// is none, or that kernel is not there.
std::optional<at::Tensor> volume_convolved(const loops::Extern& node, std::span<const RunValue> values,
                                           const SymValues& symbols) {
  constexpr size_t kBias = 2, kStride = 3, kPadding = 4, kDilation = 5, kTransposed = 6, kGroups = 8;
  constexpr int64_t kLeast = 2048;  // elements: of fewer, what the kernel is looked up by takes longer
  const at::Tensor x = values[node.args[0].value()]->value.toTensor(),
                   w = values[node.args[1].value()]->value.toTensor();
  if (x.dim() != 5 || x.scalar_type() != at::kFloat || w.scalar_type() != at::kFloat || x.size(0) != 1)
    return std::nullopt;
  if (x.numel() < kLeast || w.numel() == 0 || !at::globalContext().userEnabledMkldnn()) return std::nullopt;
  if (node.args[kTransposed].boolean() || !node.args[kGroups].dim().is(1)) return std::nullopt;
  auto list = [&](size_t i) {
    std::vector<int64_t> made;
    for (Dim d : node.args[i].dim_list()) made.push_back(evaluate(d, symbols).value());
    made.resize(3, made.at(0));  // one number stands for all
    return made;
  };
  const auto stride = list(kStride), padding = list(kPadding), dilation = list(kDilation);
  for (int64_t d = 0; d < 3; ++d)  // what there is no result of is for the op to refuse
    if (x.size(d + 2) + 2 * padding[d] < dilation[d] * (w.size(d + 2) - 1) + 1 || w.size(d + 2) > x.size(d + 2))
      return std::nullopt;
  std::optional<at::Tensor> bias;
  if (!node.args[kBias].is_none()) bias = values[node.args[kBias].value()]->value.toTensor();
  return at::mkldnn_convolution(x, w, bias, padding, stride, dilation, 1);
}

// A product that our own loops, or another of libtorch's libraries, compute in less time than the op.
std::optional<at::Tensor> multiplied(const loops::Extern& node, std::span<const RunValue> values) {
  const std::string& name = node.op->full_name;
  const bool added = name == "aten.addmm" || name == "aten.baddbmm";  // op name: of products, as libtorch computes them
  if (!added && name != "aten.mm" && name != "aten.bmm") return std::nullopt;  // op name: as above
  const size_t first = added ? 1 : 0;
  auto once = [&](size_t i) { return node.args[i].kind == ArgKind::integer && node.args[i].dim().is(1); };
  if (added && !(once(3) && once(4))) return std::nullopt;  // beta, alpha
  auto tensor = [&](size_t i) -> const at::Tensor& { return values[node.args[i].value()]->value.toTensor(); };
  const std::optional<at::Tensor> addend = added ? std::optional(tensor(0)) : std::nullopt;
  if (auto small = small_product(tensor(first), tensor(first + 1), addend)) return small;
  if (!has_slow_products() || !takes_less_by_onednn(tensor(first), tensor(first + 1))) return std::nullopt;
  return product_by_onednn(tensor(first), tensor(first + 1), addend);
}

// A search that our own loops make in less time than the op.
std::optional<at::Tensor> looked_up(const loops::Extern& node, std::span<const RunValue> values) {
  constexpr size_t kNarrow = 2, kRight = 3, kSide = 4, kSorter = 5;
  if (!node.args[kSorter].is_none()) return std::nullopt;
  auto tensor = [&](size_t i) -> const at::Tensor& { return values[node.args[i].value()]->value.toTensor(); };
  std::optional<std::string_view> side;
  if (!node.args[kSide].is_none()) side = node.args[kSide].string();
  return searched(tensor(0), tensor(1), node.args[kNarrow].boolean(), node.args[kRight].boolean(), side);
}

// A number that only the run knows lies in a buffer, and ATen's op takes a number.
Outcome run_with_numbers(const loops::Extern& node, Boxed& boxed, std::span<const RunValue> values,
                         const SymValues& symbols) {
  std::vector<RunValue> made;  // copied where there is such a number alone
  for (size_t i = 0; i < node.args.size(); ++i) {
    const ParamType& type = node.op->schema.params[i].type;
    const bool takes = !type.list && (type.kind == ParamKind::scalar || type.kind == ParamKind::real);
    if (!takes || !node.args[i].is_value()) continue;
    const RunValue& given = values[node.args[i].value()];
    if (!given || !given->value.isTensor()) continue;
    if (made.empty()) made.assign(values.begin(), values.end());
    made[node.args[i].value()] = hold(given->value.toTensor().item<double>());
  }
  return boxed.run(*node.op, node.args, made.empty() ? values : made, symbols);
}

// What ATen has an op for, or the kernel of our own op.
Outcome outcome_as_given(const loops::Extern& node, Boxed& boxed, std::span<const RunValue> values,
                         const SymValues& symbols) {
  std::optional<at::Tensor> otherwise;
  if (node.op->full_name == "aten.convolution")  // op name: libtorch has another kernel for it
    boxed.within([&] { otherwise = allocated([&] { return volume_convolved(node, values, symbols); }); });
  else if (node.op->has(Trait::contraction))
    boxed.within([&] { otherwise = allocated([&] { return multiplied(node, values); }); });
  else if (node.op->full_name == "aten.searchsorted.Tensor")  // op name: libtorch makes one search at a time
    boxed.within([&] { otherwise = allocated([&] { return looked_up(node, values); }); });
  if (otherwise) {
    Outcome out;
    out.results.push_back(hold(std::move(*otherwise)));
    return out;
  }
  if (node.op->full_name != "lenz.attention")  // op name: the one op of ours that hosts have a kernel for
    return run_with_numbers(node, boxed, values, symbols);
  auto tensor = [&](size_t i) { return values[node.args[i].value()]->value.toTensor(); };
  auto optional = [&](size_t i) { return node.args[i].is_none() ? std::nullopt : std::optional(tensor(i)); };
  // A number that only the run knows lies in a buffer.
  auto real = [&](size_t i) { return node.args[i].is_value() ? tensor(i).item<double>() : node.args[i].real(); };
  at::Tensor made;
  boxed.within([&] {
    made = allocated([&] {
      return attention(tensor(0), tensor(1), tensor(2), optional(3), optional(4), real(5), real(6),
                       node.args[7].boolean());
    });
  });
  Outcome out;
  out.results.push_back(hold(made));
  return out;
}

Outcome outcome_of(const loops::Extern& node, Boxed& boxed, std::span<const RunValue> values,
                   const SymValues& symbols) {
  const std::optional<Dtype> narrow = narrow_factors(*node.op, node.args, values);
  if (!narrow) return outcome_as_given(node, boxed, values, symbols);
  std::vector<RunValue> wide;
  boxed.within([&] { wide = allocated([&] { return widened_operands(node.args, values); }); });
  Outcome out = outcome_as_given(node, boxed, wide, symbols);
  boxed.within([&] { allocated([&] { return narrow_results(out, *narrow); }); });
  return out;
}
}  // namespace

namespace {
// The types of what has no rule are the graph's word.
void require_declared(const loops::Extern& node, const loops::Buffer& wanted, const at::Tensor& made) {
  const std::optional<Dtype> dtype = from_aten(made.scalar_type());
  if (dtype == wanted.type.dtype && static_cast<size_t>(made.dim()) == wanted.type.rank()) return;
  auto spelled = [](std::string_view d, size_t rank) {
    return std::string(d) + " of " + std::to_string(rank) + " dims";
  };
  throw UserError(node.op->full_name + " gives " +
                      (made.defined() ? spelled(dtype ? name(*dtype) : "another dtype", made.dim()) : "no tensor") +
                      ", the graph says " + spelled(name(wanted.type.dtype), wanted.type.rank()),
                  {}, "annotate the extern's result so");
}
// Sizes too, as far as the graph's inputs say what they are: the others are read off the result.
void require_declared_sizes(const loops::Extern& node, const loops::Buffer& wanted, const at::Tensor& made,
                            const loops::Program& program, const SymValues& symbols) {
  if (node.op->infer) return;
  auto of_inputs = [&](const SymNode* s) -> std::optional<int64_t> {
    const bool known = std::ranges::any_of(program.inputs, [&](const loops::Input& i) {
      return i.buffer == kNone ||
             std::ranges::any_of(program.buffers[i.buffer].type.sizes, [&](Dim d) { return mentions(d, s); });
    });
    return known ? symbols(s) : std::nullopt;
  };
  for (size_t d = 0; d < wanted.type.rank(); ++d) {
    const int64_t size = made.size(static_cast<int64_t>(d));
    const std::optional<int64_t> said = evaluate(wanted.type.sizes[d], of_inputs);
    if (!said || *said == size) continue;
    throw UserError(node.op->full_name + " gives " + std::to_string(size) + " elements along dim " + std::to_string(d) +
                        ", the graph says " + std::to_string(*said),
                    {}, "the types of an extern's results are the graph's word: annotate them so");
  }
}
}  // namespace

std::vector<loops::Tensor> run_extern(const loops::ExternCall& call, const loops::Program& program, Boxed& boxed,
                                      StorageBridge& bridge) {
  std::vector<RunValue>& values = bridge.operands(program.buffers.size());
  std::vector<const void*> operands;
  for (const Arg& a : call.node.args)
    for_each_value(a, [&](ValueId v) {
      loops::Tensor t = call.tensor(v);
      operands.push_back(t.storage()->data);
      values[v] = hold(bridge.out(t));
    });
  SymValues symbols = [&](const SymNode* s) -> std::optional<int64_t> { return call.integer(Dim(s)); };
  Outcome out = outcome_of(call.node, boxed, values, symbols);
  for (const Arg& a : call.node.args) for_each_value(a, [&](ValueId v) { values[v] = nullptr; });
  if (out.out_of_memory()) throw std::bad_alloc();
  if (out.raised) throw UserError(call.node.op->full_name + ": " + out.text);
  std::vector<loops::Tensor> results;
  for (size_t i = 0; i < call.node.results.size(); ++i) {
    if (call.node.results[i] == kNone) {
      results.emplace_back();
      continue;
    }
    const loops::Buffer& wanted = program.buffers[call.node.results[i]];
    const at::IValue& result = out.results[i]->value;  // a number stands in memory of no dims
    at::Tensor made =
        result.isScalar() ? at::scalar_tensor(result.toScalar(), to_aten(wanted.type.dtype)) : result.toTensor();
    require_declared(call.node, wanted, made);
    require_declared_sizes(call.node, wanted, made, program, symbols);
    // Sizes that only this op knows are read off its result.
    Binding sizes;
    for (size_t d = 0; d < wanted.type.rank(); ++d)
      sizes.match(wanted.type.sizes[d], made.size(static_cast<int64_t>(d)));
    SymValues known = [&](const SymNode* s) {
      auto seen = sizes.value(s);
      return seen ? seen : symbols(s);
    };
    std::vector<int64_t> strides;
    for (Dim d : wanted.type.strides) strides.push_back(evaluate(d, known).value());
    const int64_t offset = evaluate(wanted.type.offset, known).value();
    if (!lies_so(made, strides, offset, operands)) {
      const std::span sizes_of(made.sizes().data(), made.sizes().size());
      const int64_t needed = loops::elements_needed(sizes_of, strides, offset).value();
      at::Tensor memory = allocated([&] { return at::empty({needed}, made.options()); });
      at::Tensor placed = memory.as_strided(made.sizes(), strides, offset);
      placed.copy_(made);
      made = std::move(placed);
    }
    results.push_back(bridge.in(made));
  }
  return results;
}

}  // namespace lenz::oracle
