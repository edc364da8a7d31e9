// The notation in which rows say what their loops compute (NOTATION.md), parsed.
// Thread-safety: parsed texts are constant.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/graph/arg.h"

namespace lenz::notation {

struct Expr;
using ExprPtr = std::unique_ptr<Expr>;

struct Expr {
  enum Kind : uint8_t {
    literal,    // a number, bool, none, dtype
    text,       // a string: `name`
    host,       // $name
    buffer,     // %name
    scalar,     // name, of a `let`
    list,       // [a, b]
    subscript,  // items[0] is what stands before the brackets
    binary,     // `name` is the operator
    negate,
    invert,  // not
    call,    // name(items)
    reduce,  // reduce name(items), a combine
    scan,    // scan name(items)
  } kind = literal;
  Arg value;
  std::string name;
  std::vector<ExprPtr> items;
};

struct AxisList {
  enum Kind : uint8_t { parallel, reduction, scan } kind = parallel;
  std::string name;  // $name stands for the list of coordinates, or for the one coordinate of `$name < extent`
  bool single = false;
  ExprPtr extents;
};

struct Statement {
  enum Kind : uint8_t {
    assign,     // $a = e, or %t = a tensor or a temporary
    let,        // a, b = e: scalars
    store,      // %x[..] = e; `name` is the operator: "=", "+=", "*=", "min=", "max=", "or=", "put="
    loop,       // for ... { }
    each,       // each $x, $n in list { }: the host's loop
    branch,     // if e { } else { }
    when,       // when e { }: a mask for what stands inside
    raise,      // raise e
    procedure,  // name(items)
  } kind = assign;
  std::vector<std::string>
      names;  // what is assigned, with its sigil; of `each` the element and, optionally, its number
  std::string name;
  std::vector<ExprPtr> exprs;
  std::vector<AxisList> axes;
  std::vector<Statement> body, otherwise;
};

// Throws InternalError with what is wrong and where: a row's text is ours.
std::vector<Statement> parse(std::string_view text);
// Of a row's text, which is parsed once in a process: rows are few, and come again and again. From any thread.
const std::vector<Statement>& parsed(std::string_view text);

}  // namespace lenz::notation
