// The planes of a run: beside the storage of each value there may be a storage of errors and one of marks, laid out as
// the value's is. A view of a value is thereby a view of its errors, and what is written through one view shows in all.
// Internal to oracle/bounds; includes libtorch. Thread-safety: one store per run.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <unordered_map>
#include <utility>

#include "oracle/bounds/choices.h"
#include "oracle/value.h"

namespace lenz::oracle {

struct Bounded;  // bounds/reference.h

struct Planes {
  at::Tensor value;
  at::Tensor error;      // float64, of the value's sizes (of a complex number: the radius of a disc); undefined: zero
  at::Tensor ambiguous;  // bool; undefined: nowhere
  // Of real numbers, all that the storage holds:
  bool loose_zeros = false;     // a zero may have either sign
  bool never_negative = false;  // nothing is less than zero, however far errors reach
  bool whole = false;           // what is finite is a whole number, wherever errors reach
  double farthest = HUGE_VAL;   // nothing is farther from zero, whatever its operands are
  double terms = 0;             // what it adds up is of this size at most, where that was asked; 0: it was not
  // Float64, of real numbers: by how much less than `error` a right number may lie below the value, or, if this is
  // negative, above it. An infinity beside an infinite error: what is stored is that, for certain; a number: as
  // `leaning` says. Undefined: zero. Who does not ask for it takes the error both ways, which is as right.
  at::Tensor lean = {};
  at::Tensor choice = {};  // int64: which open index (bounds/choices.h) it is; 0: none. Undefined: nowhere
};

// Its elements one after the other, as they are read: memory of a lazily negated or conjugated view holds others.
at::Tensor in_order(const at::Tensor& t);

bool all_finite(const at::Tensor& t);
bool holds_nan(const at::Tensor& t);
double greatest_size(const at::Tensor& t);  // of real numbers, NaN left out
bool may_hold_zero(const Planes& planes);   // of floats: in either part
bool may_be_nan(const Planes& planes);
bool may_hold_minus_zero(const Planes& planes);  // of real numbers; of complex ones as may_hold_zero
// What is known of a tensor, for who judges it.
void tell(Planes planes, Bounded& of);
bool above_zero(const Planes& planes);  // nothing is less than zero: never_negative, or by its intervals
bool all_whole(const Planes& planes);   // `whole`, or exact numbers that are

class PlaneStore {
 public:
  Planes read(const at::Tensor& value) const;  // views of the planes
  bool certain(const at::Tensor& value) const { return !read(value).error.defined(); }
  // Sets the planes of what `value` shows; undefined ones are zero.
  void write(const at::Tensor& value, const at::Tensor& error, const at::Tensor& ambiguous,
             const at::Tensor& lean = {});
  bool leans() const { return leans_; }  // any of the run does
  void collect();                        // forgets storages that nobody holds any more

  // What holds of all of a storage's numbers. Zeros have the signs that they must have until something is written whose
  // zeros may have either.
  void loosen_zeros(const at::Tensor& value) { facts_of(value).loose_zeros = loosened_ = true; }
  bool loosened() const { return loosened_; }  // any
  void bound_below(const at::Tensor& value) { facts_of(value).never_negative = true; }
  void only_whole(const at::Tensor& value) { facts_of(value).whole = true; }
  void bound_size(const at::Tensor& value, double farthest) { facts_of(value).farthest = farthest; }
  void may_be_any(const at::Tensor& value);              // none of these
  void added_up(const at::Tensor& value, double terms);  // of this size

  // What each number of a sum of products comes to without signs, and how many terms it has; forgotten where `value` is
  // written again. Undefined: nobody has said so of what lies so.
  struct Products {
    at::Tensor far, count;
  };
  void keep_products(const at::Tensor& value, Products products);
  Products products_of(const at::Tensor& value) const;

  // Says which open indices `value` shows; another write forgets it.
  void choose(const at::Tensor& value, const at::Tensor& choice);
  const std::shared_ptr<Choices>& choices() const { return choices_; }

  // Sets all of a tensor's planes and what is known of them, which is that of the whole storage.
  void carry(const Planes& from, const at::Tensor& to);

  // A number that a run has read from a tensor has no planes: how far from it a right one may lie.
  void note_number(const RunValue& number, double error) { numbers_[number.get()] = {number, error}; }
  double number_error(const RunValue& number) const;  // 0: it is certain

 private:
  // Slots are as wide as an element, at most 8 bytes: a complex number has two, and its parts one each.
  struct Beside {
    c10::weak_intrusive_ptr<c10::StorageImpl> alive;
    int64_t slot_bytes;
    bool discs;  // of complex numbers: both slots hold the radius, which is no box of two sides
    at::Tensor error, ambiguous, lean, choice;
  };
  struct Facts {
    c10::weak_intrusive_ptr<c10::StorageImpl> alive;
    bool loose_zeros = false, never_negative = false, whole = false;
    double farthest = HUGE_VAL, terms = 0;
    Products products = {};
  };
  Facts& facts_of(const at::Tensor& value);
  at::Tensor view(const at::Tensor& slots, const at::Tensor& value, int64_t slot_bytes, int64_t part = 0) const;

  std::unordered_map<const c10::StorageImpl*, Beside> beside_;
  std::unordered_map<const c10::StorageImpl*, Facts> facts_;
  // The first keeps the number alive, so that no other has its address.
  std::unordered_map<const Held*, std::pair<RunValue, double>> numbers_;
  bool loosened_ = false, leans_ = false;
  std::shared_ptr<Choices> choices_ = std::make_shared<Choices>();  // outlives the run, for the judge
};

}  // namespace lenz::oracle
