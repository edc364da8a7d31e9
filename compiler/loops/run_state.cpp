#include "compiler/loops/run_state.h"

#include <algorithm>
#include <cstring>

namespace lenz::loops {

Memory::Memory(const Program& program, const Symbols& symbols, const InterpretOptions& options)
    : program_(program), symbols_(symbols), options_(options), places_(program.buffers.size()) {}

Ints Memory::numbers(std::span<const Dim> dims) const {
  Ints all;
  for (Dim d : dims) all.push_back(symbols_.value(d));
  return all;
}

// Filled with a pattern that is no likely number, for those that look at what nobody wrote.
void Memory::allocate(BufferId id, const Ints& sizes) {
  const Buffer& b = buffer(id);
  Ints strides = contiguous_strides(sizes);
  int64_t offset = 0;
  if (b.placed) {
    strides = numbers(b.type.strides);
    offset = symbols_.value(b.type.offset);
  }
  std::optional<int64_t> count = elements_needed(sizes, strides, offset);
  int64_t bytes = 0;
  Place& place = places_[id];
  if (!count || __builtin_mul_overflow(*count, item_size(b.type.dtype), &bytes) ||
      bytes_ - place.bytes + static_cast<uint64_t>(bytes) > options_.memory_limit)
    throw OutOfMemory{"buffer '" + b.name + "' of sizes " + to_string(sizes) + " (" + std::string(name(b.type.dtype)) +
                      ") does not fit: " + std::to_string(bytes_ - place.bytes) + " bytes are taken of the " +
                      std::to_string(options_.memory_limit) + " that buffers may take"};
  bytes_ -= place.bytes;
  place = {};
  std::shared_ptr<Storage> storage = loops::allocate(static_cast<uint64_t>(bytes));
  std::memset(storage->data, 0xCD, storage->bytes);
  place.tensor = Tensor(std::move(storage), b.type.dtype, sizes, strides, *count == 0 ? 0 : offset);
  place.stamps.assign(static_cast<size_t>(*count), kUnwritten);
  place.bytes = static_cast<uint64_t>(bytes);
  bytes_ += place.bytes;
}

void Memory::load_constant(BufferId id, const Ints& sizes) {
  const ConstantData& data = *buffer(id).data;
  if (data.bytes == nullptr) {
    if (!options_.load_constant) throw Unsupported("nobody loads the constant '" + data.key + "'");
    return put(id, options_.load_constant(data));
  }
  // Never written, as writable() sees to.
  auto storage = std::make_shared<Storage>();
  storage->data = const_cast<std::byte*>(data.bytes->data());
  storage->bytes = data.bytes->size();
  storage->owner = data.bytes;
  storage->read_only = true;
  places_[id].tensor = Tensor(std::move(storage), data.type.dtype, sizes, contiguous_strides(sizes), 0);
}

Window Memory::window(BufferId id, Place& place) const {
  if (&place == &places_[id]) return {place.tensor, &place.stamps};
  const TensorType& type = buffer(id).type;
  LENZ_CHECK(item_size(type.dtype) == item_size(place.tensor.dtype()), "a view has elements of another size");
  return {Tensor(place.tensor.storage(), type.dtype, numbers(type.sizes), numbers(type.strides),
                 symbols_.value(type.offset)),
          &place.stamps};
}

Window Memory::readable(BufferId id) {
  const BufferId own = owner(id);
  const Buffer& b = buffer(own);
  Place& place = places_[own];
  const Ints sizes = numbers(b.type.sizes);
  if (!place.tensor) {
    LENZ_CHECK(b.kind != BufferKind::input, "no value was given for an input");
    if (b.kind == BufferKind::constant) load_constant(own, sizes);
    if (b.kind == BufferKind::temporary) allocate(own, sizes);
  }
  if (!(place.tensor.sizes() == sizes))
    throw InternalError("buffer '" + b.name + "' is read in sizes " + to_string(sizes) + ", but was written in " +
                        to_string(place.tensor.sizes()));
  return window(id, place);
}

Window Memory::writable(BufferId id) {
  const BufferId own = owner(id);
  const Buffer& b = buffer(own);
  if (b.kind == BufferKind::constant || (b.kind == BufferKind::input && !b.mutated))
    throw InternalError("buffer '" + b.name + "' is written, but is a constant or an input that is not mutated");
  Place& place = places_[own];
  if (b.kind == BufferKind::temporary)
    if (Ints sizes = numbers(b.type.sizes); !place.tensor || !(place.tensor.sizes() == sizes)) allocate(own, sizes);
  if (place.stamps.empty())
    place.stamps.assign(place.tensor.storage()->bytes / static_cast<uint64_t>(item_size(b.type.dtype)), kWrittenBefore);
  return window(id, place);
}

void Memory::put(BufferId id, Tensor tensor) {
  const Buffer& b = buffer(id);
  const Ints sizes = numbers(b.type.sizes);
  if (!tensor || tensor.dtype() != b.type.dtype || !(tensor.sizes() == sizes))
    throw InternalError("buffer '" + b.name + "' is " + std::string(name(b.type.dtype)) + to_string(sizes) +
                        ", but gets " +
                        (tensor ? std::string(name(tensor.dtype())) + to_string(tensor.sizes()) : "nothing"));
  for (size_t i = 0; b.placed && i < sizes.size() && tensor.numel() > 0; ++i)
    if (sizes[i] > 1 && tensor.strides()[i] != symbols_.value(b.type.strides[i]))
      throw InternalError("buffer '" + b.name + "' has the stride " + to_string(b.type.strides[i]) + " in dim " +
                          std::to_string(i) + ", but gets " + std::to_string(tensor.strides()[i]));
  bytes_ -= places_[id].bytes;
  places_[id] = {std::move(tensor), {}, 0};
}

void Memory::trust(BufferId id) { std::ranges::fill(places_[owner(id)].stamps, kWrittenBefore); }

void Memory::forget(BufferId id) { std::ranges::fill(places_[id].stamps, kUnwritten); }

void Memory::release(BufferId id) {
  bytes_ -= places_[id].bytes;
  places_[id] = {};
}

ScalarValue Memory::scalar(BufferId id) {
  Tensor tensor = whole(id, "a node that takes a number");
  LENZ_CHECK(tensor.rank() == 0, "a number is read from a buffer that has dims");
  return tensor.at(0);
}

Tensor Memory::whole(BufferId id, std::string_view reader) {
  const Window window = readable(id);
  for (int64_t i = 0; !window.stamps->empty() && i < window.tensor.numel(); ++i)
    if (Ints at = window.tensor.coordinates(i); !window.written(window.tensor.address(at)))
      throw InternalError(std::string(reader) + " reads buffer '" + buffer(id).name + "' at " + to_string(at) +
                          ", which nobody has written");
  return window.tensor;
}

}  // namespace lenz::loops
