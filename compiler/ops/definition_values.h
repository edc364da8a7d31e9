// What the text of a definition (see decompose.h) computes with while it is expanded: sizes, dtypes, numbers and lists,
// and the nodes that it makes of them. Internal to the expansion.
// Thread-safety: one per expansion.
#pragma once

#include <span>
#include <string_view>

#include "compiler/graph/graph.h"

namespace lenz {

class DefinitionValues {
 public:
  DefinitionValues(Graph& graph, NodeId before, const OpDef& op, std::span<const Arg> args, uint32_t origin)
      : graph_(graph), before_(before), op_(op), args_(args), origin_(origin) {}

  Graph& graph() { return graph_; }
  const OpDef& op() const { return op_; }
  Infer rules();  // for questions to type rules, asked in the op's name

  // A node of this op, resolved as the text form resolves it; its results.
  SmallVec<Arg, 4> insert(std::string_view op, std::span<const Arg> positional, std::span<const Keyword> keywords = {});
  ValueId inserted(std::string_view op, std::span<const Arg> positional);  // of one result

  Dtype result_dtype(size_t i);  // of the op's own results, as its type rule gives them

  // Expressions. What the definition's text gets wrong is an InternalError.
  const Type& tensor(const Arg& a) const;
  Dtype dtype(const Arg& a) const;  // of a tensor, a number or a dtype
  Dim dim(const Arg& given) const;
  int64_t constant(const Arg& a) const { return dim(a).constant(); }
  bool truth(const Arg& a) const;
  bool same(Dim x, Dim y);
  bool same(const Arg& a, const Arg& b);
  Arg integer_of(const Arg& a) const;
  bool compare(const Arg& left, std::string_view op, const Arg& right);
  Arg arithmetic(char op, const Arg& left, const Arg& right);  // op: + - * / %, or f for //
  Arg list_of(std::span<const Arg> items);
  SmallVec<Arg, 8> items_of(const Arg& list);  // one integer counts as a list of one

  [[noreturn]] void wrong(std::string_view what) const;            // in the definition's text
  [[noreturn]] void refuse(const std::string& why) const;          // of the arguments, as eager does
  Arg function(std::string_view name, std::span<const Arg> args);  // definition_functions.cpp has the list

 private:
  Graph& graph_;
  NodeId before_;
  const OpDef& op_;
  std::span<const Arg> args_;
  uint32_t origin_;
};

bool is_number(const Arg& a);
double real_of(const Arg& number);

// Einstein's sum, as the nodes that eager computes it with: contraction_decompositions.cpp.
Arg contract(DefinitionValues& values, std::string_view equation, std::span<const Arg> operands, const Arg& path);

}  // namespace lenz
