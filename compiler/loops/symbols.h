// The values of a running program's symbols. Thread-safety: one per run.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/loops/program.h"

namespace lenz::loops {

// Values of symbols, by id. Each knows who bound it (a node, an axis's nest, the caller): the same one may do it again.
class Symbols {
 public:
  explicit Symbols(const Assumptions& assumptions) : assumptions_(assumptions) {}

  std::optional<int64_t> find(const SymNode* symbol) const;
  std::optional<int64_t> try_value(Dim dim) const;  // nullopt while a symbol has no value
  int64_t value(Dim dim) const;                     // InternalError then
  bool bound_by(Dim symbol, const void* who) const;

  void bind(Dim symbol, int64_t value, const void* who);
  void unbind_all(const void* who);
  // What is bound after a mark was taken is bound no more: to be run again is not to know what the last time gave, and
  // a fact that ties two such sizes is asked of those of one time.
  size_t mark() const { return order_.size(); }
  void unwind(size_t mark);
  // Matches a dim to a number: what it mentions has a value and gives that number, or its one open symbol gets the
  // value that does. False if it can't; nullopt if several are open.
  std::optional<bool> match(Dim dim, int64_t number, const void* who);
  // Matches the sizes of what `who` made, and follows facts; those about symbols that it binds so must hold.
  void take_sizes(std::span<const Dim> sizes, std::span<const int64_t> numbers, const void* who);
  // Binds what a run made. Other symbols that facts make equal to what it gives are bound too: by facts a size may be
  // said in those that are made later. UserError where a fact about the symbol does not hold.
  void take_made(Dim symbol, int64_t value, const void* who);
  void follow_facts();
  // UserError unless facts and guards about the symbol (all of them: null) hold, as far as they can be told.
  void check(const SymNode* symbol) const;
  std::string broken(const SymNode* symbol) const;  // what check() would say; empty: nothing

  // Whether a run's refusal is that of a fact, in the words of check().
  static bool tells_of_fact(std::string_view refusal);

  int64_t* data() { return values_.data(); }

 private:
  SymValues lookup() const {
    return [this](const SymNode* s) { return find(s); };
  }
  bool is_told(const SymNode* symbol) const;
  const Assumptions& assumptions_;
  std::vector<int64_t> values_;
  std::vector<const void*> by_;  // null: not bound
  std::vector<uint32_t> order_;  // in which they were bound
};

}  // namespace lenz::loops
