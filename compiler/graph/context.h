// What the graphs of one compilation share: symbols, interned types, names, and the memory of arguments.
// Thread-safety: a Context and everything in it belong to one thread at a time.
#pragma once

#include <deque>
#include <memory_resource>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "compiler/graph/arg.h"
#include "compiler/graph/op_def.h"

namespace lenz {

class Context {
 public:
  Context();
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  SymPool syms;
  // Ops that the table has no row for, by the schema that a text or an importer declares: no type rule, no traits.
  OpTable externs;

  // Interned types.
  const Type* tensor(const TensorType& type);
  const Type* list(std::span<const Type* const> elements);
  const Type* sym_int(Dim value);
  const Type* simple(TypeKind kind);  // sym_float, sym_bool, none, token

  // Names.
  NameId intern(std::string_view name);
  std::string_view name(NameId id) const { return names_[id]; }

  // Sets of names, interned: where a node came from. Set 0 is empty. A union takes constant time and memory.
  uint32_t origin(std::span<const NameId> names);
  uint32_t merge_origins(uint32_t a, uint32_t b);
  std::vector<NameId> origin_names(uint32_t origin) const;  // sorted by name id

  // Memory for arguments; copied in.
  Arg values(std::span<const ValueId> items);
  Arg dims(std::span<const Dim> items);
  Arg ints(std::span<const int64_t> items);
  Arg reals(std::span<const double> items);
  Arg bools(std::span<const bool> items);
  Arg args(std::span<const Arg> items);
  Arg string(std::string_view text);
  Arg complex(std::complex<double> value);
  Arg data(ConstantData data);
  Arg* copy(std::span<const Arg> items);  // a node's arguments

  size_t bytes_used() const { return bytes_used_; }

 private:
  void* allocate(size_t bytes, size_t align);
  template <class T>
  const T* copy_array(std::span<const T> items);
  const Type* intern_type(const Type& probe);
  void grow_types();

  std::pmr::monotonic_buffer_resource arena_;
  size_t bytes_used_ = 0;
  std::vector<const Type*> type_slots_;
  size_t type_count_ = 0;
  std::unordered_map<std::string_view, NameId> name_ids_;
  std::vector<std::string_view> names_;
  struct Origin {  // names, or the union of two earlier sets
    std::span<const NameId> names;
    uint32_t left = 0, right = 0;
  };
  uint32_t intern_origin(uint64_t hash, Origin origin);
  std::vector<Origin> origins_;
  std::unordered_multimap<uint64_t, uint32_t> origin_ids_;
  std::deque<ConstantData> constants_;
  friend Arg default_arg(Context& context, const Param& param);
  std::unordered_map<const Param*, Arg> defaults_;  // those that need memory
};

}  // namespace lenz
