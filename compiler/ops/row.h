// How rows are written. A family file in rows/ fills a table:
//
//   t.rows("{}(Tensor self) -> Tensor", "sin cos tan",
//          {.variants = {true, "out"}, .traits = Trait::elementwise, .infer = rule::unary_float,
//           .generate = make::unary, .dtypes = dtypes::usual, .accuracy = Accuracy::ulp2});
//
// `{}` stands for each name of the list; what differs by name (the scalar primitive) is derived from the name.
// Thread-safety: used while the table is built, by one thread.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "compiler/graph/op_def.h"

namespace lenz {

// The fields of a row that a family shares: OpDef without what is derived from the schema.
struct Row {
  Variants variants = {};
  Traits traits = {};
  void (*infer)(Infer&) = nullptr;
  void (*generate)(CallMaker&) = nullptr;
  DtypeSet dtypes = dtypes::usual;
  DtypeSet computes = {};
  Domain domain = {};
  Accuracy accuracy = Accuracy::exact;
  ErrorFlow flow = {};
  std::string_view scalar = {};  // "{}": the op's own name
  std::string_view raises = {};
  std::string_view decompose = {};
  bool wide_steps = false;
  std::string_view loops = {};  // Lowering::body
  std::string_view written_base = {};
  std::string_view writes = {};
  std::string_view devices = {};
  std::string_view fits = {};
  std::string_view wants = {};
  std::string_view sampling = {};
  std::string_view exception = {};
  DtypeSet copies = {};
  SmallVec<Neutral, 2> neutral = {};
  SmallVec<Absorbing, 1> absorbing = {};
  std::string_view fills = {};
  bool dims_of_result = false;
};

// A row that applies another one to every element of its lists: `_foreach_add.List` of "add.Tensor". What it knows is
// what that row knows; only the schema and the variants are its own.
struct EachRow {
  std::string_view of;
  Variants variants = {};
  void (*generate)(CallMaker&) = nullptr;  // none: from calls of the other row
  std::string_view exception = {};         // where it has one of its own
};

// A row by definition: `definition` says its values, see compiler/ops/decompose.h.
inline Row meaning(std::string_view definition, Row row) {
  row.decompose = definition;
  return row;
}

// The same whose steps are taken in f32, of whatever is narrower: OpDef::wide_steps.
inline Row widely(std::string_view definition, Row row) {
  row.wide_steps = true;
  return meaning(definition, row);
}

// A row whose operands need not lie on one device: OpDef::devices.
inline Row crossing(std::string_view devices, Row row) {
  row.devices = devices;
  return row;
}

// A row some of whose numbers must fit into a dtype: OpDef::fits.
inline Row fitting(std::string_view fits, Row row) {
  row.fits = fits;
  return row;
}

// "aten.sub.Tensor($self, $other, alpha=$alpha)": a call of one op with the parameters of another, in order.
std::string call_of(const Schema& callee, const Schema& parameters);

// Another name of a row: what it means is a call of that row.
struct Alias {
  std::string_view name, of;
};

class RowSink {
 public:
  explicit RowSink(OpTable& table) : table_(table) {}
  void row(std::string_view schema, const Row& fields);                           // one row
  void rows(std::string_view schema, std::string_view names, const Row& fields);  // one per name
  void each(std::string_view schema, const EachRow& fields);                      // of a row that stands already
  // What `of`, which stands already, knows, under another name and by definition. `variants`: where they are not its.
  void alias(std::string_view schema, std::string_view of, std::optional<Variants> variants = {});
  void aliases(std::string_view schema, std::initializer_list<Alias> names, std::optional<Variants> variants = {});

 private:
  OpTable& table_;
};

}  // namespace lenz
