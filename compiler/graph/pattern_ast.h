// What the parser of rewrite rules hands to the compiler of rewrite rules: names instead of slots, one flat list of
// statements per alternative. See pattern.h for the language.
// Thread-safety: values.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compiler/graph/pattern.h"
#include "compiler/graph/pattern_lexer.h"

namespace lenz::pattern_ast {

// As lenz::Expr, with names: `text` is the name of a value, attribute or op hole too. `keyword` inside a call's
// arguments.
struct Node {
  Expr::Kind kind = Expr::literal;
  Arg number;
  std::string text, keyword;
  std::vector<Node> operands;
  size_t at = 0;
};

struct Type {
  std::string value;
  DtypeSet dtypes;
  bool has_shape = false;
  struct Dim {
    DimPattern::Kind kind;
    int64_t number;
    std::string attr;
  };
  std::vector<Dim> dims;
};

struct Statement {
  enum Kind : uint8_t { node, type, test, let, shared, replace, result } kind = node;
  std::vector<std::string> names;  // results of a node ("_": ignored); shared or replaced values; what they become
  Node call;                       // node: kind call or (of a hole) op; test and let: the expression
  Type of;                         // type
  std::vector<Statement> body;     // replace: nodes, then one `result`
  size_t at = 0;
};
using Statements = std::vector<Statement>;

struct RuleText {
  std::string name, reason;
  std::vector<Statements> alternatives;
  size_t at = 0;
};

std::vector<RuleText> parse(PatternLexer& lexer, Context& literals);

}  // namespace lenz::pattern_ast
