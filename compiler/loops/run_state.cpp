#include "compiler/loops/run_state.h"

#include <algorithm>
#include <cstring>

namespace lenz::loops {

// ---------------------------------------------------------------------------------------------------------------------
// Symbols

std::optional<int64_t> Symbols::find(const SymNode* symbol) const {
  const uint32_t id = symbol_id(symbol);
  if (id >= by_.size() || by_[id] == nullptr) return std::nullopt;
  return values_[id];
}

std::optional<int64_t> Symbols::try_value(Dim dim) const {
  return dim.is_constant() ? dim.constant() : evaluate(dim, lookup());
}

int64_t Symbols::value(Dim dim) const {
  if (std::optional<int64_t> value = try_value(dim)) return *value;
  throw InternalError("'" + to_string(dim) + "' has no value here: a symbol is not bound, or it overflows");
}

bool Symbols::bound_by(Dim symbol, const void* who) const {
  const uint32_t id = symbol_id(symbol.node());
  return id < by_.size() && by_[id] == who;
}

void Symbols::bind(Dim symbol, int64_t value, const void* who) {
  const uint32_t id = symbol_id(symbol.node());
  if (id >= by_.size()) {
    values_.resize(id + 1);
    by_.resize(id + 1);
  }
  values_[id] = value;
  by_[id] = who;
}

void Symbols::unbind_all(const void* who) {
  for (const void*& by : by_)
    if (by == who) by = nullptr;
}

std::optional<bool> Symbols::match(Dim dim, int64_t number, const void* who) {
  const SymNode* open = nullptr;
  size_t count = 0;
  if (!dim.is_constant())
    for_each_symbol(dim, [&](const SymNode* symbol) {
      if (find(symbol)) return;
      ++count;
      open = symbol;
    });
  if (count == 0) return try_value(dim) == number;
  if (count > 1) return std::nullopt;
  // A linear dim follows from two of its values; one that is not shows by the third.
  auto at = [&](int64_t x) {
    return evaluate(dim, [&](const SymNode* s) { return s == open ? std::optional(x) : find(s); });
  };
  std::optional<int64_t> zero = at(0), first = at(1);
  if (!zero || !first || *zero == *first || (number - *zero) % (*first - *zero) != 0) return false;
  const int64_t x = (number - *zero) / (*first - *zero);
  if (at(x) != number) return false;
  bind(Dim(open), x, who);
  return true;
}

void Symbols::check(const SymNode* symbol) const {
  auto concerns = [&](Dim dim) {
    bool found = symbol == nullptr;
    if (!found && !dim.is_constant()) for_each_symbol(dim, [&](const SymNode* s) { found = found || s == symbol; });
    return found;
  };
  auto require = [&](const Cond& cond, const char* what) {
    if ((concerns(cond.lhs) || concerns(cond.rhs)) && evaluate(cond, lookup()) == std::optional(false))
      throw UserError(std::string(what) + " " + to_string(cond) + " does not hold: it is " +
                      std::to_string(value(cond.lhs)) + " against " + std::to_string(value(cond.rhs)));
  };
  bool declared = false;
  for (const auto& [about, range] : assumptions_.facts().ranges()) {
    declared = declared || about == symbol;
    if (range.low) require(le(*range.low, Dim(about)), "the fact");
    if (range.high) require(le(Dim(about), *range.high), "the fact");
  }
  if (symbol != nullptr && !declared) require(le(0, Dim(symbol)), "the fact");  // it is a size
  for (const Cond& fact : assumptions_.facts().conditions()) require(fact, "the fact");
  // Guards are for those who choose a program by its inputs; of a size that data made nobody may ask so much.
  if (symbol == nullptr)
    for (const Cond& guard : assumptions_.guards()) require(guard, "the guard");
}

// ---------------------------------------------------------------------------------------------------------------------
// Memory

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
                      ") does not fit: " + std::to_string(bytes_ - place.bytes) + " bytes are taken, the limit is " +
                      std::to_string(options_.memory_limit)};
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
