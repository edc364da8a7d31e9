// Lanes whose places in memory lie at fixed distances from the first one's: strides, steps backwards, neighbours that
// share an element, pieces of rows that vectors divide. Neighbours in memory are read as vectors and picked from, and
// put together before they are stored: gathers and scatters take as long as an access for each lane.
#include <algorithm>
#include <bit>
#include <numeric>

#include "compiler/backend/llvm/kernel_emitter.h"
#include "compiler/loops/index_algebra.h"

namespace lenz::native {

using loops::BufferId;

namespace {
// From where on vectors of so many elements are read to have all of these, which are sorted. `only`: none before the
// first or behind the last, if there are as many between.
std::vector<int64_t> starts_of(const std::vector<int64_t>& places, int64_t lanes, bool only) {
  std::vector<int64_t> starts;
  for (int64_t place : places) {
    if (!starts.empty() && place < starts.back() + lanes) continue;
    starts.push_back(only ? std::max(places.front(), std::min(place, places.back() - lanes + 1)) : place);
  }
  return starts;
}

// Each place once.
std::vector<int64_t> sorted(std::vector<int64_t> places) {
  std::ranges::sort(places);
  places.erase(std::ranges::unique(places).begin(), places.end());
  return places;
}
}  // namespace

bool KernelEmitter::Place::shared() const { return sorted(apart).size() != apart.size(); }

// How far each lane's address is from the first one's, if that hangs on nothing but the lane; empty if not.
std::vector<int64_t> KernelEmitter::apart(Dim address, bool from_whole_vectors) const {
  SymPool& syms = program_.context->syms;
  std::vector<int64_t> made;
  if (auto stride = along_lanes().space.stride(address, 0)) {
    if (!stride->is_constant()) return {};
    for (int lane = 0; lane < lanes_; ++lane) made.push_back(lane * stride->constant());
    return made;
  }
  if (!from_whole_vectors) return {};
  const Dim vector = syms.symbol("vector#");  // which no text can say
  loops::IndexSpace vectors(syms, *facts_);
  vectors.add_axis(vector, ceil_div(lane_axis_->extent, lanes_));
  for (const loops::Axis& a : kernel_->axes) vectors.assume(ge(a.symbol, 0));
  auto at = [&](int lane) {
    return substitute(address, syms, [&](const SymNode* s) -> std::optional<Dim> {
      return s == lane_axis_->symbol.node() ? std::optional(vector * lanes_ + lane) : std::nullopt;
    });
  };
  const Dim first = at(0);
  for (int lane = 0; lane < lanes_; ++lane) {
    const Dim distance = vectors.simplify(vectors.simplify(at(lane)) - vectors.simplify(first));
    if (!distance.is_constant()) return {};
    made.push_back(distance.constant());
  }
  return made;
}

// Each lane's places, of one part after the other.
std::vector<int64_t> KernelEmitter::places(BufferId id, const Place& at) const {
  std::vector<int64_t> lanes = at.apart;
  if (at.consecutive) {
    lanes.resize(static_cast<size_t>(lanes_));
    std::iota(lanes.begin(), lanes.end(), 0);
  }
  if (!is_complex(dtype_of(id))) return lanes;
  std::vector<int64_t> made;
  for (int64_t part : {0, 1})
    for (int64_t lane : lanes) made.push_back(2 * lane + part);
  return made;
}

// Whether few enough vectors of neighbours have them all.
bool KernelEmitter::in_few_vectors(const std::vector<int64_t>& places) const {
  return !places.empty() && 2 * starts_of(sorted(places), lanes_, true).size() <= places.size();
}

llvm::Value* KernelEmitter::element_at(BufferId id, const Place& at, int64_t place) {
  llvm::Value* first = pointer(id, at.address, 0);
  return b_.CreateGEP(narrow_->memory_type(dtype_of(id)), first, b_.getInt64(static_cast<uint64_t>(place)));
}

// Of the vectors that begin at these places, to be read: the elements from the first to the last place of a run of
// lanes, where places lie at one step. What lies between two places is there, whoever's it is. Empty: they do not.
std::vector<llvm::Value*> KernelEmitter::elements_of_run(const std::vector<int64_t>& places,
                                                         std::span<const int64_t> starts, const Run& run) {
  const int64_t step = places[1] - places[0];
  if (places.size() != static_cast<size_t>(lanes_) || step == 0) return {};
  for (size_t k = 1; k < places.size(); ++k)
    if (places[k] - places[k - 1] != step) return {};
  const int64_t least = std::min(places.front(), places.back()), begin = starts.front() - least;
  const int64_t span = starts.back() + lanes_ - starts.front();
  std::vector<llvm::Value*> made;
  llvm::Value* bits = target_.avx512 && span <= kMostBits ? bits_of(run, step, begin, span) : nullptr;
  for (int64_t start : starts)
    made.push_back(bits ? as_lanes(b_.CreateLShr(bits, b_.getInt64(static_cast<uint64_t>(start - starts.front()))))
                        : elements_of(run, step, start - least));
  return made;
}

// Of a vector's elements: whether a lane that there is has its place there.
llvm::Value* KernelEmitter::elements_of_lanes(const std::vector<int64_t>& places, int64_t start, llvm::Value* mask) {
  std::vector<std::vector<int>> rounds;  // the first lane of each element, then the second of those that have another
  std::vector<size_t> seen(static_cast<size_t>(lanes_));
  for (size_t p = 0; p < places.size(); ++p) {
    const int64_t at = places[p] - start;
    if (at < 0 || at >= lanes_) continue;
    size_t& round = seen[static_cast<size_t>(at)];
    if (round == rounds.size()) rounds.emplace_back(lanes_, lanes_);
    rounds[round++][static_cast<size_t>(at)] = static_cast<int>(p) % lanes_;
  }
  llvm::Value* all = nullptr;
  for (const std::vector<int>& from : rounds) {
    llvm::Value* some = b_.CreateShuffleVector(mask, llvm::Constant::getNullValue(mask->getType()), from);
    all = all ? b_.CreateOr(all, some) : some;
  }
  return all;
}

// What lanes read, a vector for each part; nothing if gathers are not slower.
std::vector<llvm::Value*> KernelEmitter::pick(BufferId id, const Place& at, const Mask& mask, llvm::Value* otherwise) {
  const std::vector<int64_t> where = places(id, at);
  if (!in_few_vectors(where)) return {};
  const std::vector<int64_t> all = sorted(where);
  llvm::Type* type = wide_->memory_type(dtype_of(id));
  const int64_t span = all.back() - all.front() + 1;
  llvm::Value* always =
      llvm::Constant::getAllOnesValue(llvm::FixedVectorType::get(b_.getInt1Ty(), static_cast<unsigned>(lanes_)));
  const std::vector<int64_t> starts = starts_of(all, lanes_, true);
  const std::vector<llvm::Value*> of_run =
      mask.run ? elements_of_run(where, starts, *mask.run) : std::vector<llvm::Value*>{};
  std::vector<llvm::Value*> read;
  for (size_t r = 0; r < starts.size(); ++r) {
    llvm::Value* from = element_at(id, at, starts[r]);
    if (mask || span < lanes_) {
      llvm::Value* which = of_run.empty() ? elements_of_lanes(where, starts[r], mask ? mask.lanes : always) : of_run[r];
      read.push_back(b_.CreateMaskedLoad(type, from, alignment(id), which, otherwise));
    } else {
      read.push_back(b_.CreateAlignedLoad(type, from, alignment(id)));
    }
  }
  std::vector<llvm::Value*> made;
  for (size_t first = 0; first < where.size(); first += static_cast<size_t>(lanes_)) {
    llvm::Value* part = read[0];
    for (size_t r = 0; r < read.size(); ++r) {
      std::vector<int> from(static_cast<size_t>(lanes_));
      bool any = false;
      for (size_t lane = 0; lane < from.size(); ++lane) {
        const int64_t in = where[first + lane] - starts[r];
        const bool here = in >= 0 && in < lanes_;
        any = any || here;
        from[lane] = here ? static_cast<int>(in) + (r ? lanes_ : 0) : static_cast<int>(lane);
      }
      if (any) part = r ? b_.CreateShuffleVector(part, read[r], from) : b_.CreateShuffleVector(part, from);
    }
    made.push_back(part);
  }
  return made;
}

// Stores what lanes have, a vector for each part; false if scatters are not slower, or lanes share a place.
bool KernelEmitter::put_together(BufferId id, const Place& at, const Mask& mask,
                                 const std::vector<llvm::Value*>& parts) {
  const std::vector<int64_t> where = places(id, at);
  const std::vector<int64_t> all = sorted(where);
  const std::vector<int64_t> starts = starts_of(all, lanes_, false);
  if (where.empty() || all.size() != where.size() || 2 * starts.size() > where.size()) return false;
  std::vector<Stored> whole;
  for (int64_t start : starts) {
    std::vector<int> from(static_cast<size_t>(lanes_), -1);
    for (size_t p = 0; p < where.size(); ++p)
      if (const int64_t in = where[p] - start; in >= 0 && in < lanes_)
        from[static_cast<size_t>(in)] = static_cast<int>(p);
    llvm::Value* made =
        parts.size() == 1 ? b_.CreateShuffleVector(parts[0], from) : b_.CreateShuffleVector(parts[0], parts[1], from);
    llvm::Value* to = element_at(id, at, start);
    if (!mask && std::ranges::find(from, -1) == from.end()) {
      whole.push_back({made, to});
      continue;
    }
    llvm::Value* always =
        llvm::Constant::getAllOnesValue(llvm::FixedVectorType::get(b_.getInt1Ty(), static_cast<unsigned>(lanes_)));
    store_under({elements_of_lanes(where, start, mask ? mask.lanes : always)}, made, to, alignment(id));
  }
  if (!whole.empty()) put_vectors(id, whole);
  return true;
}

}  // namespace lenz::native
