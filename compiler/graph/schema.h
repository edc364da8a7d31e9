// An op's schema: ATen's own notation, parsed into data.
//   "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"
// Thread-safety: constant once parsed.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/base/dtype.h"

namespace lenz {

enum class ParamKind : uint8_t {
  tensor,
  scalar,
  sym_int,
  integer,
  real,
  boolean,
  string,
  dtype,
  device,
  layout,
  memory_format,
  generator,
  token,
  graph,
  data,
  any,
};

struct ParamType {
  ParamKind kind = ParamKind::tensor;
  bool list = false;
  bool optional = false;          // the whole may be none
  bool element_optional = false;  // Tensor?[]
  int list_size = -1;             // int[2]: one integer stands for a list of two
  friend bool operator==(const ParamType&, const ParamType&) = default;
};

// A literal default, as written in the schema: what `Schema` needs and no more.
struct Default {
  enum Kind : uint8_t { none, boolean, integer, real, string, int_list, bool_list, symbol } kind = none;
  int64_t i = 0;
  double d = 0;
  std::string text;  // string; or a name such as "Mean", "contiguous_format", "long"
  std::vector<int64_t> list;
};

struct Param {
  std::string name;
  ParamType type;
  bool keyword_only = false;
  char alias = 0;                           // 'a' in Tensor(a!); 0: none
  bool writes = false;                      // the "!"
  bool is_out = false;                      // an out= argument
  bool widens = false;                      // Tensor(a -> *): the results may alias more
  std::shared_ptr<const Default> fallback;  // null: it must be given; derived schemas share it
};

struct Return {
  std::string name;
  ParamType type;
  char alias = 0;
  bool writes = false;
};

struct Schema {
  std::string space, packet, overload;  // "aten", "add", "Tensor"
  std::vector<Param> params;
  std::vector<Return> returns;
  bool returns_list() const { return returns.size() == 1 && returns[0].type.list; }
  bool mutates() const;
  int find(std::string_view param) const;  // index, or -1
  std::string full_name() const;           // "aten.add.Tensor"; "aten.relu" for an empty overload
};

// Throws UserError on text that is no schema. A missing "space::" means aten.
Schema parse_schema(std::string_view text);
std::string to_string(const Schema& schema);  // ATen's notation

}  // namespace lenz
