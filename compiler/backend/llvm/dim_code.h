// Dims as code: sizes and coordinates, in i64 scalars, or in vectors where a symbol stands for one.
// Thread-safety: as the builder's module.
#pragma once

#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "compiler/base/sym.h"
#include "compiler/base/sym_parts.h"
#include "compiler/loops/index_algebra.h"

namespace llvm {
class IRBuilderBase;
class Value;
}  // namespace llvm

namespace lenz::native {

class DimCode {
 public:
  explicit DimCode(llvm::IRBuilderBase& builder, int lanes) : builder_(&builder), lanes_(lanes) {}

  void lanes(int count) { lanes_ = count; }  // of the vectors that symbols stand for
  // The symbol that stands for lanes one after another, from this scalar on.
  void along(Dim symbol, llvm::Value* base) { along_ = symbol, base_ = base; }
  // At the points of these axes, which have to outlive it, for what is proved of ranges there. Null: of none.
  void at_points(const loops::IndexSpace* points) { points_ = points; }
  // A symbol, or an expression that has a value already.
  void bind(Dim dim, llvm::Value* value);
  bool bound(Dim symbol) const { return values_.contains(symbol.node()); }
  llvm::Value* value_of(Dim symbol) const { return values_.at(symbol.node()); }
  // Whether it mentions a symbol that stands for a vector.
  bool varies(Dim dim) const;
  // A vector of lanes where it varies. Throws InternalError for symbols that nothing stands for.
  llvm::Value* operator()(Dim dim);
  // The same of a dim that is a number of 32 bits, whatever it is made of: as vectors of such, which have twice the
  // lanes.
  llvm::Value* as_half(Dim dim);
  llvm::Value* holds(const Cond& cond);  // of scalars

 private:
  std::optional<std::pair<Dim, llvm::Value*>> less_known(Dim dim, size_t terms) const;
  std::optional<int64_t> shift_to_half(Dim dim, int64_t divisor) const;
  llvm::Value* low_half(Dim dim);
  llvm::Value* by_lanes(const DimParts& sum);
  std::optional<int64_t> step(Dim dim) const;
  std::optional<llvm::Value*> of_one_divisor(Dim x, Dim y, bool quotient);
  llvm::Value* scaled(llvm::Value* of, SymFn function, double factor);
  llvm::Value* both(llvm::Value*& a, llvm::Value*& b);  // splats the scalar one of the two
  llvm::IRBuilderBase* builder_;
  int lanes_;
  const loops::IndexSpace* points_ = nullptr;
  Dim along_ = 0;
  llvm::Value* base_ = nullptr;
  std::unordered_map<const SymNode*, llvm::Value*> values_;
  std::vector<Dim> sums_;  // of those: what longer sums may have in them
};

}  // namespace lenz::native
