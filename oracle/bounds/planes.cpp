#include "oracle/bounds/planes.h"

#include <ATen/Functions.h>
#include <ATen/MemoryOverlap.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "oracle/aten.h"
#include "oracle/bounds/plane_numbers.h"
#include "oracle/bounds/reference.h"

namespace lenz::oracle {

namespace {
int64_t slot_bytes_of(const at::Tensor& value) { return std::min<int64_t>(value.element_size(), 8); }

int64_t slots_of(const at::Tensor& value, int64_t slot_bytes) {
  return static_cast<int64_t>(value.storage().nbytes()) / slot_bytes;
}

void grow(at::Tensor& plane, int64_t slots, at::ScalarType type) {  // an out= tensor may have been resized
  if (plane.defined() && plane.numel() >= slots) return;
  at::Tensor larger = at::zeros({slots}, type);
  if (plane.defined()) larger.narrow(0, 0, plane.numel()).copy_(plane);
  plane = larger;
}

c10::weak_intrusive_ptr<c10::StorageImpl> weak(const at::Tensor& value) {
  return c10::weak_intrusive_ptr<c10::StorageImpl>(
      c10::intrusive_ptr<c10::StorageImpl>::reclaim_copy(value.storage().unsafeGetStorageImpl()));
}
}  // namespace

namespace {
// Whether it holds of any element and its error, in one pass that makes no tensors.
template <class Holds>
bool any_element(const at::Tensor& value, const at::Tensor& error, const Holds& holds) {
  const at::Tensor v = in_order(value.to(at::kDouble));
  const at::Tensor e = error.defined() ? error.expand(value.sizes()).contiguous() : at::Tensor();
  const auto* x = v.const_data_ptr<double>();
  const auto* off = e.defined() ? e.const_data_ptr<double>() : nullptr;
  constexpr int64_t kRun = 1024;  // long enough for vectors, short enough to end early
  for (int64_t from = 0; from < v.numel(); from += kRun) {
    bool any = false;
    for (int64_t i = from; i < std::min(from + kRun, v.numel()); ++i) any |= holds(x[i], off ? off[i] : 0.0);
    if (any) return true;
  }
  return false;
}
}  // namespace

at::Tensor in_order(const at::Tensor& t) { return t.resolve_conj().resolve_neg().contiguous(); }

bool all_finite(const at::Tensor& t) {
  if (!t.is_floating_point() && !t.is_complex()) return true;
  const at::Tensor numbers = t.is_complex() ? at::view_as_real(t.resolve_conj()) : t;
  return !any_element(numbers, {},
                      [](double x, double) { return !(std::fabs(x) <= std::numeric_limits<double>::max()); });
}

bool holds_nan(const at::Tensor& t) {
  if (!t.is_floating_point() && !t.is_complex()) return false;
  const at::Tensor numbers = t.is_complex() ? at::view_as_real(t.resolve_conj()) : t;
  return any_element(numbers, {}, [](double x, double) { return std::isnan(x); });
}

double greatest_size(const at::Tensor& t) {
  double greatest = 0;
  any_element(t, {}, [&](double x, double) {
    greatest = std::max(greatest, std::fabs(x));
    return false;
  });
  return greatest;
}

bool may_hold_zero(const Planes& planes) {
  const at::Tensor& v = planes.value;
  if (!v.is_floating_point() && !v.is_complex()) return false;
  auto reached = [&](const at::Tensor& part) {
    return any_element(part, planes.error, [](double x, double e) { return std::fabs(x) <= e; });
  };
  if (!v.is_complex()) return reached(v);
  const at::Tensor parts = at::view_as_real(v.resolve_conj());
  return reached(parts.select(-1, 0)) || reached(parts.select(-1, 1));
}

bool may_hold_minus_zero(const Planes& planes) {
  if (planes.value.is_complex() || planes.loose_zeros) return may_hold_zero(planes);
  if (!planes.value.is_floating_point()) return false;
  return any_element(planes.value, planes.error,
                     [](double x, double e) { return (x == 0 && std::signbit(x)) || (e > 0 && std::fabs(x) <= e); });
}

bool may_be_nan(const Planes& planes) {
  const auto endless = [](double e, double) { return e == HUGE_VAL; };
  return (planes.error.defined() && any_element(planes.error, {}, endless)) || holds_nan(planes.value);
}

bool above_zero(const Planes& planes) {
  if (planes.never_negative) return true;
  if (planes.value.is_complex()) return false;
  return !any_element(planes.value, planes.error, [](double x, double e) { return x < e || e == HUGE_VAL; });
}

bool all_whole(const Planes& planes) {
  const at::Tensor& v = planes.value;
  if (planes.whole || (!v.is_floating_point() && !v.is_complex())) return true;
  return !v.is_complex() && !any_element(v, planes.error, [](double x, double e) {
    return e != 0 || (std::isfinite(x) && x != std::nearbyint(x));
  });
}

at::Tensor PlaneStore::view(const at::Tensor& slots, const at::Tensor& value, int64_t slot_bytes, int64_t part) const {
  int64_t per = value.element_size() / slot_bytes;
  std::vector<int64_t> strides(value.strides().begin(), value.strides().end());
  for (int64_t& s : strides) s *= per;
  return slots.as_strided(value.sizes(), strides, value.storage_offset() * per + part);
}

namespace {
// Of what is never negative, errors reach no further below than to zero.
void end_at_zero(Planes& planes) {
  const at::Tensor& value = planes.value;
  if (!planes.never_negative || !planes.error.defined() || !value.is_floating_point() || value.is_neg()) return;
  // Seldom more than a look: few results come as near to zero as their errors reach.
  if (!any_element(value, planes.error, [](double x, double e) { return e > x; })) return;
  const Numbers values(value, value), errors(planes.error, value), leans(planes.lean, value);
  planes.error = plane_like(value);
  planes.lean = plane_like(value);
  double *error = numbers_of(planes.error), *lean = numbers_of(planes.lean);
  constexpr double kDifferencesRound = 1 - 0x1p-48;
  for (int64_t i = 0; i < value.numel(); ++i) {
    const double e = errors[i], l = leans[i], room = values[i] > 0 ? values[i] : 0;
    const double below = e - std::max(l, 0.0), above = e + std::min(l, 0.0);
    const bool ends = std::isfinite(e) && !std::isnan(values[i]) && below > room;
    error[i] = ends ? std::max(above, room) : e;
    lean[i] = ends ? (above - room) * kDifferencesRound : l;
  }
}
}  // namespace

void tell(Planes planes, Bounded& of) {
  end_at_zero(planes);
  if (planes.error.defined()) of.error = hold(planes.error);
  if (planes.lean.defined()) of.lean = hold(planes.lean);
  if (planes.ambiguous.defined()) of.ambiguous = hold(planes.ambiguous);
  if (planes.choice.defined()) of.choice = hold(planes.choice);
  of.whole = planes.whole;
  of.least = planes.never_negative ? 0 : -planes.farthest;
  of.greatest = planes.farthest;
  of.terms = planes.terms;
  of.zeros_signed = !planes.loose_zeros;
}

double PlaneStore::number_error(const RunValue& number) const {
  auto found = numbers_.find(number.get());
  return found == numbers_.end() ? 0 : found->second.second;
}

Planes PlaneStore::read(const at::Tensor& value) const {
  Planes planes{.value = value, .error = {}, .ambiguous = {}};
  if (auto facts = facts_.find(value.storage().unsafeGetStorageImpl()); facts != facts_.end()) {
    planes.loose_zeros = facts->second.loose_zeros;
    planes.never_negative = facts->second.never_negative && !value.is_neg();
    planes.whole = facts->second.whole;
    planes.farthest = facts->second.farthest;
    planes.terms = facts->second.terms;
  }
  auto found = beside_.find(value.storage().unsafeGetStorageImpl());
  if (found == beside_.end() || !found->second.error.defined()) return planes;
  const Beside& b = found->second;
  if (slot_bytes_of(value) != b.slot_bytes) {  // its bits are read as another dtype: nothing is known of them
    planes.error = at::full(value.sizes(), HUGE_VAL, at::kDouble);
    planes.ambiguous = at::ones(value.sizes(), at::kBool);
    return planes;
  }
  planes.error = view(b.error, value, b.slot_bytes);
  if (value.is_complex() && !b.discs) planes.error = at::hypot(planes.error, view(b.error, value, b.slot_bytes, 1));
  if (b.ambiguous.defined()) planes.ambiguous = view(b.ambiguous, value, b.slot_bytes);
  if (b.lean.defined() && value.is_floating_point() && !value.is_neg()) planes.lean = view(b.lean, value, b.slot_bytes);
  if (b.choice.defined()) planes.choice = view(b.choice, value, b.slot_bytes);
  return planes;
}

void PlaneStore::write(const at::Tensor& value, const at::Tensor& error, const at::Tensor& ambiguous,
                       const at::Tensor& lean) {
  leans_ |= lean.defined();
  const c10::StorageImpl* key = value.storage().unsafeGetStorageImpl();
  if (const auto facts = facts_.find(key); facts != facts_.end()) facts->second.products = {};
  auto found = beside_.find(key);
  if (found == beside_.end()) {
    if (!error.defined()) return;
    found = beside_.emplace(key, Beside{weak(value), slot_bytes_of(value), value.is_complex(), {}, {}, {}, {}}).first;
  }
  Beside& b = found->second;
  bool whole = !b.error.defined() && error.defined() && value.is_contiguous() && value.storage_offset() == 0 &&
               !value.is_complex() &&
               value.numel() * value.element_size() == static_cast<int64_t>(value.storage().nbytes());
  if (whole && error.is_contiguous() && error.sizes() == value.sizes()) {
    // A plane is a storage of its own from its beginning on; most are nobody else's, and need no copy.
    auto own = [&](const at::Tensor& plane) {
      const bool shared = plane.storage().use_count() > 1 || plane.storage_offset() != 0;
      at::Tensor flat = plane.expand(value.sizes()).reshape({-1});
      return shared ? flat.clone() : flat.contiguous();
    };
    b.error = own(error);
    b.ambiguous = ambiguous.defined() ? own(ambiguous) : at::Tensor();
    b.lean = lean.defined() ? own(lean) : at::Tensor();
    b.choice = at::Tensor();
    return;
  }
  const int64_t slots = slots_of(value, b.slot_bytes);
  auto grown = [&](at::Tensor& plane, at::ScalarType type) { grow(plane, slots, type); };
  auto fill = [&](const at::Tensor& plane, const at::Tensor& with) {
    for (int64_t part = 0; part < value.element_size() / b.slot_bytes; ++part) {
      at::Tensor target = view(plane, value, b.slot_bytes, part);
      if (at::has_internal_overlap(target) == at::MemOverlap::No) {
        with.defined() ? target.copy_(with) : target.zero_();
        continue;
      }
      // Elements may share memory: the largest error of them stands.
      at::Tensor here = view(at::arange(slots), value, b.slot_bytes, part).reshape({-1}), flat;
      if (with.defined()) flat = with.expand(value.sizes()).reshape({-1}).clone();  // it may be this plane itself
      plane.index_fill_(0, here, 0);
      if (!with.defined()) continue;
      if (plane.scalar_type() == at::kBool)
        plane.index_fill_(0, here.masked_select(flat), true);
      else
        plane.scatter_reduce_(0, here, flat, "amax", true);
    }
  };
  auto overlaps = [&] { return at::has_internal_overlap(value) != at::MemOverlap::No; };
  if (value.is_complex() != b.discs && b.slot_bytes == 8) b.discs = false;
  if (error.defined() || b.error.defined()) {
    grown(b.error, at::kDouble);
    fill(b.error, error);
  }
  if (ambiguous.defined() || b.ambiguous.defined()) {
    grown(b.ambiguous, at::kBool);
    fill(b.ambiguous, ambiguous);
  }
  const bool one_sided = lean.defined() && !value.is_neg() && !overlaps();
  if (one_sided || b.lean.defined()) {
    grown(b.lean, at::kDouble);
    fill(b.lean, one_sided ? lean : at::Tensor());
  }
  if (b.choice.defined()) {
    grown(b.choice, at::kLong);
    fill(b.choice, at::Tensor());
  }
}

void PlaneStore::choose(const at::Tensor& value, const at::Tensor& choice) {
  auto found = beside_.find(value.storage().unsafeGetStorageImpl());
  if (found == beside_.end() || !choice.defined() || at::has_internal_overlap(value) != at::MemOverlap::No) return;
  Beside& b = found->second;
  grow(b.choice, slots_of(value, b.slot_bytes), at::kLong);
  view(b.choice, value, b.slot_bytes).copy_(choice);
}

PlaneStore::Facts& PlaneStore::facts_of(const at::Tensor& value) {
  return facts_.try_emplace(value.storage().unsafeGetStorageImpl(), Facts{.alive = weak(value)}).first->second;
}

void PlaneStore::may_be_any(const at::Tensor& value) {
  auto facts = facts_.find(value.storage().unsafeGetStorageImpl());
  if (facts == facts_.end()) return;
  facts->second.never_negative = facts->second.whole = false;
  facts->second.farthest = HUGE_VAL;
}

void PlaneStore::added_up(const at::Tensor& value, double terms) {
  if (terms > 0) facts_of(value).terms = std::max(facts_of(value).terms, terms);
}

void PlaneStore::keep_products(const at::Tensor& value, Products products) {
  facts_of(value).products = std::move(products);
}

PlaneStore::Products PlaneStore::products_of(const at::Tensor& value) const {
  const auto facts = facts_.find(value.storage().unsafeGetStorageImpl());
  if (facts == facts_.end() || !facts->second.products.far.defined()) return {};
  const Products& kept = facts->second.products;
  if (kept.far.sizes() == value.sizes() && kept.count.dim() <= value.dim()) return kept;
  // Of rows that were folded into a matrix and are apart again.
  const bool apart = kept.far.numel() == value.numel() && kept.count.numel() == 1 && value.is_contiguous();
  return apart ? Products{kept.far.reshape(value.sizes()), kept.count.reshape({})} : Products{};
}

void PlaneStore::carry(const Planes& from, const at::Tensor& to) {
  write(to, from.error, from.ambiguous, from.lean);
  if (from.loose_zeros) loosen_zeros(to);
  may_be_any(to);
  if (from.never_negative && !to.is_neg()) bound_below(to);  // its storage holds the negatives
  if (from.whole) only_whole(to);
  if (from.farthest < HUGE_VAL) bound_size(to, from.farthest);
  added_up(to, from.terms);
  choose(to, from.choice);
}

void PlaneStore::collect() {
  std::erase_if(facts_, [](const auto& entry) { return entry.second.alive.expired(); });
  std::erase_if(beside_, [](const auto& entry) { return entry.second.alive.expired(); });
}

}  // namespace lenz::oracle
