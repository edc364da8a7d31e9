// Runs a row's text (notation.h) for one node. Internal to compiler/lower.
// Thread-safety: one per node.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "compiler/lower/lowering.h"
#include "compiler/ops/definition_values.h"

namespace lenz::lower {

// What an expression is: something of the host's (numbers, sizes, lists, dtypes), a scalar of the nest, or a buffer.
struct Item {
  enum Kind : uint8_t { host, scalar, buffer } kind = host;
  Arg arg;
  Ssa ssa = kNone;
  loops::BufferId id = kNone;

  static Item of(const Arg& a) { return {host, a, kNone, kNone}; }
  static Item of_scalar(Ssa s) { return {scalar, {}, s, kNone}; }
  static Item of_buffer(loops::BufferId b) { return {buffer, {}, kNone, b}; }
};

class TextRunner {
 public:
  TextRunner(Lowering& lowering, const Node& node, std::span<const loops::BufferId> results);
  void run(std::span<const notation::Statement> statements);

  // --- for the functions of the notation (evaluate_functions.cpp)
  Lowering& lowering() { return lowering_; }
  DefinitionValues& host_values() { return values_; }
  NestBuilder& nest();
  NestBuilder* open_nest() { return nest_ ? &*nest_ : nullptr; }  // null: there is none
  [[noreturn]] void wrong(const std::string& what) const;
  Item evaluate(const notation::Expr& e);
  const TensorType& type(const Item& buffer) const;
  bool is_number_of_the_run(const Item& v) const;
  Ssa scalar(const Item& v, std::optional<Dtype> like = std::nullopt);  // a number becomes one of this dtype
  Ssa condition(const Item& v);                                         // b8
  DimVec dims(const Item& list);
  Dim dim(const Item& v);
  Item list(std::span<const Dim> dims);
  loops::BufferId buffer(const Item& v) const;
  // The one that the operand is a look at, through lazy views too, and what of it that operand shows.
  loops::BufferId memory(loops::BufferId operand) const;
  Ssa shown(loops::BufferId operand, Ssa of_memory);
  uint32_t stream(bool wide, std::optional<Dim> elements = std::nullopt);  // as many as the result, unless said
  std::span<const loops::BufferId> results() const { return results_; }
  bool is_tensor(ValueId v) const { return lowering_.type(v).is_tensor(); }

 private:
  ValueId operand_in(loops::BufferId buffer) const;
  void statement(const notation::Statement& s);
  void loop(const notation::Statement& s);
  void store(const notation::Statement& s);
  void store_at(const notation::Statement& s);
  void each(const notation::Statement& s);
  void let(const notation::Statement& s);
  void procedure(const notation::Statement& s);
  void sort(const notation::Statement& s);
  void bind(const notation::Statement& s);
  void check(const notation::Statement& s);

  Item host_name(const std::string& name);
  Item buffer_name(const std::string& name);
  Item subscript(const notation::Expr& e);
  DimVec coordinates(const notation::Expr& e);  // those after the first item
  Item binary(const notation::Expr& e);
  Item host_binary(const std::string& op, const Arg& a, const Arg& b);
  Item compare_coordinates(const std::string& op, Dim a, Dim b);
  Item call(const notation::Expr& e);
  Item combined(const notation::Expr& e);
  bool is_truth(const Item& v);

  Lowering& lowering_;
  const Node& node_;
  std::span<const loops::BufferId> results_;
  DefinitionValues values_;
  std::optional<NestBuilder> nest_;
  std::map<std::string, Item> locals_;  // with their sigils; scalars without
  std::optional<uint32_t> stream_;
};

// A function of the notation itself. Nothing: there is none of this name.
using NotationFunction = Item (*)(TextRunner& in, std::span<const Item> args);
NotationFunction find_notation_function(std::string_view name);

}  // namespace lenz::lower
