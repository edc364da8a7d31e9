#include "compiler/passes/postgrad/vector_patterns.h"

#include <string>

#include "compiler/ops/op_table.h"

namespace lenz {

namespace {
struct Shape {
  std::string name, op;  // of the rule, of the product
  std::string asked;     // of %x and %w
  std::string vector, matrix;
  std::string turned, summed;  // the vector's dims, so that it stands along the matrix's; which of these goes
};

// A product of one row, or of one column, reads each number of the matrix once: memory bounds it, and a sum fuses with
// what stands around it. A matrix that several rows of a batch share is none of these: it would be read for each.
const Shape kShapes[] = {
    {"row", "mm", "size(%x, 0) == 1", "x", "w", "1, 0", "0"},
    {"column", "mm", "size(%w, 1) == 1", "w", "x", "1, 0", "1"},
    {"rows", "bmm", "size(%x, 1) == 1, stride(%w, 0) != 0", "x", "w", "0, 2, 1", "1"},
    {"columns", "bmm", "size(%w, 2) == 1, stride(%x, 0) != 0", "w", "x", "0, 2, 1", "2"},
};

// Narrow floats are multiplied and added up in f32: rounded once, as a product is.
std::string rule(const Shape& s, bool halves, bool added) {
  std::string name = s.name, match = "aten." + s.op + "(%x, %w)";
  if (added) {
    name += "_added";
    match = s.op == "mm" ? "aten.addmm(%b, %x, %w)" : "aten.baddbmm(%b, %x, %w)";
  }
  std::string text = "rule " + name + (halves ? "_of_halves" : "") + " { %r = " + match + " where " + s.asked;
  text += halves ? ", dtype(%r) in [f16, bf16] replace %r { " : ", dtype(%r) in [f32, f64] replace %r { ";
  auto operand = [&](const std::string& of) {
    if (!halves) return "%" + of;
    text += "%wide_" + of + " = aten._to_copy(%" + of + ", dtype=f32) ";
    return "%wide_" + of;
  };
  const std::string matrix = operand(s.matrix), vector = operand(s.vector);
  text += "%along = aten.permute(" + vector + ", [" + s.turned + "]) ";
  text += "%products = aten.mul(" + matrix + ", %along) ";
  text += "%sum = aten.sum(%products, [" + s.summed + "], false) ";
  text += "%y = aten.view(%sum, sizes(%r)) ";
  std::string last = "%y";
  if (added) {
    const std::string addend = operand("b");
    text += "%all = aten.add(%y, " + addend + ") ";
    last = "%all";
  }
  if (halves) {
    text += "%narrow = aten._to_copy(" + last + ", dtype=dtype(%r)) ";
    last = "%narrow";
  }
  return text + "return " + last + " } }\n";
}
}  // namespace

const RuleSet& vector_patterns() {
  static const RuleSet rules = [] {
    std::string text;
    for (const Shape& s : kShapes)
      for (bool halves : {false, true})
        for (bool added : {false, true}) text += rule(s, halves, added);
    return RuleSet::parse(text, op_table(), "vector_patterns");
  }();
  return rules;
}

}  // namespace lenz
