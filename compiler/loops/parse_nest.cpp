// Nests: axes, instructions, stores.
#include "compiler/base/suggest.h"
#include "compiler/loops/parser.h"

namespace lenz::loops {

namespace {
// The value of an enumeration whose name is this word.
template <class E>
std::optional<E> find_word(std::string_view word, E last) {
  for (uint8_t i = 0; i <= static_cast<uint8_t>(last); ++i)
    if (name(static_cast<E>(i)) == word) return static_cast<E>(i);
  return std::nullopt;
}
}  // namespace

loops::Nest ProgramParser::nest(size_t node) {
  take();
  loops::Nest made;
  made.axes = axes();
  if (at(TokenKind::string)) made.name = text_of(take());
  if (eat_word("as")) {
    Token tag = expect(TokenKind::name, "what the nest is");
    auto found = find_tag(tag.text);
    if (!found || *found == NestTag::none)
      fail(tag, "there is no tag `" + std::string(tag.text.substr(0, 80)) + "`",
           "the tags are matmul, convolution, pooling and attention");
    made.tag = *found;
  }
  if (at_word("from")) made.origin = origin();
  expect(TokenKind::l_brace);
  end_line();
  ValueNames names;
  while (at(TokenKind::value) || at_word("store")) {
    begin_line();
    Token start = peek();
    count_node(start);
    if (at(TokenKind::value)) {
      if (!made.stores.empty()) fail_here("an instruction behind a store", "stores come last");
      instruction(made, names);
      if (given_.places) given_.places->nodes[node].body.push_back({start.at, taken_end_});
    } else {
      store(made, names);
      if (given_.places) given_.places->nodes[node].stores.push_back({start.at, taken_end_});
    }
    end_line();
  }
  begin_line();
  expect(TokenKind::r_brace, "an instruction %0 = ..., a store or `}`");
  return made;
}

bool ProgramParser::at_axes() {
  return !at(TokenKind::string) && !at(TokenKind::l_brace) && !at_word("from") &&
         !(at_word("as") && next_is(TokenKind::name));
}

std::vector<Axis> ProgramParser::axes() {
  std::vector<Axis> made;
  if (!at_axes()) return made;
  do {
    Axis axis;
    for (AxisKind kind : {AxisKind::reduction, AxisKind::scan})
      if (at_word(name(kind)) && next_is(TokenKind::name)) {
        take();
        axis.kind = kind;
        break;
      }
    Token start = peek();
    count_node(start);
    axis.symbol = new_symbol("an axis such as i0");
    expect(TokenKind::less, "`<` and the axis's extent");
    axis.extent = dim();
    for (auto [word, field] : {std::pair("lanes", &Axis::lanes), std::pair("unroll", &Axis::unroll)}) {
      if (!eat_word(word)) continue;
      Token number = peek();
      axis.*field = small("a number of points");
      if (axis.*field < 1 || axis.*field > kMostTogether)
        fail(number, "an axis runs 1 to " + std::to_string(kMostTogether) + " of its points together");
    }
    made.push_back(axis);
  } while (eat(TokenKind::comma));
  return made;
}

Ssa ProgramParser::ssa(const ValueNames& names) {
  return find(names, expect(TokenKind::value, "a value of this nest such as %0"));
}

Ssa ProgramParser::mask(const ValueNames& names) { return eat_word("if") ? ssa(names) : kNone; }

void ProgramParser::operands(Instr& instr, size_t count, std::string_view what, const ValueNames& names) {
  Token start = peek();
  for (size_t i = 0; i < count; ++i) {
    if (i > 0 && !at(TokenKind::comma))
      fail(start, "`" + std::string(what) + "` takes " + std::to_string(count) + " operands");
    if (i > 0) take();
    instr.operands.push_back(ssa(names));
  }
  if (at(TokenKind::comma))
    fail_here("`" + std::string(what) + "` takes " + std::to_string(count) + (count == 1 ? " operand" : " operands"));
}

void ProgramParser::instruction(loops::Nest& made, ValueNames& names) {
  Token target = take();
  std::optional<Dtype> annotated;
  if (eat(TokenKind::colon)) {
    Token dtype = expect(TokenKind::name, "a dtype");
    annotated = parse_dtype(dtype.text);
    if (!annotated) fail(dtype, "there is no dtype `" + std::string(dtype.text.substr(0, 80)) + "`");
  }
  expect(TokenKind::assign, "`=` and an instruction");
  Token word = expect(TokenKind::name, "an instruction such as load or add.f32");
  Instr instr;
  instruction_of(instr, word, names);
  auto dtype = annotated ? annotated : derived_dtype(program_, made, instr);
  if (!dtype)
    fail(target, "the dtype of this does not follow from its operands",
         "say it: %" + std::string(target.text.substr(0, 80)) + ": f32 = ...");
  instr.dtype = *dtype;
  define(names, target, static_cast<Ssa>(made.body.size()));
  made.body.push_back(std::move(instr));
}

void ProgramParser::instruction_of(Instr& instr, const Token& word, const ValueNames& names) {
  if (auto dtype = parse_dtype(word.text)) return constant(instr, *dtype);
  if (word.text == "index") {
    instr.kind = InstrKind::index;
    instr.index = dim_list();
    if (instr.index.size() != 1) fail(word, "`index` takes one expression: index[i0 + 1]");
  } else if (word.text == "load") {
    instr.kind = InstrKind::load;
    instr.buffer = buffer();
    instr.index = dim_list();
    instr.mask = mask(names);
  } else if (word.text == "position") {
    instr.kind = InstrKind::position;
    operands(instr, 1, word.text, names);
    expect(TokenKind::less, "`<` and the extent");
    instr.extent = dim();
    expect_word("as");
    instr.symbol = new_symbol("the position's name");
    instr.wraps = eat_word("wraps");
    instr.mask = mask(names);
  } else if (word.text == "reduce" || word.text == "scan") {
    instr.kind = word.text == "reduce" ? InstrKind::reduce : InstrKind::scan;
    instr.ordered = instr.kind == InstrKind::reduce && eat_word("ordered");
    Token combine = expect(TokenKind::name, "a combine such as sum");
    auto found = find_combine(combine.text);
    if (!found) {
      std::vector<std::string_view> known;
      for (const CombineRow& row : combine_table()) known.push_back(row.name);
      std::string_view nearest = nearest_name(combine.text.substr(0, 80), known);
      fail(combine, "there is no combine `" + std::string(combine.text.substr(0, 80)) + "`",
           nearest.empty() ? "LOOPS.md lists them" : "did you mean `" + std::string(nearest) + "`?");
    }
    instr.combine = *found;
    operands(instr, row_of(*found).operands, combine.text, names);
  } else if (word.text == "part") {
    instr.kind = InstrKind::part;
    instr.part = small("the number of the part");
    expect_word("of");
    operands(instr, 1, word.text, names);
  } else if (word.text == "draw") {
    instr.kind = InstrKind::draw;
    Token kind = expect(TokenKind::name, "what to draw");
    auto found = find_word(kind.text, DrawKind::wide_normal);
    if (!found)
      fail(kind, "there is no draw `" + std::string(kind.text.substr(0, 80)) + "`",
           "the draws are word, signed_word, wide_word, uniform, normal and wide_normal");
    instr.draw = *found;
    expect_word("stream");
    instr.stream = small("the stream's number");
    instr.index = dim_list();
    if (instr.index.size() != 1) fail(word, "`draw` takes the element's number: draw word stream 0[i0]");
  } else {
    scalar(instr, word, names);
  }
}

void ProgramParser::constant(Instr& instr, Dtype dtype) {
  instr.kind = InstrKind::constant;
  instr.dtype = dtype;
  if (dtype == Dtype::b8) {
    if (!at_word("true") && !at_word("false")) fail_here("expected true or false");
    instr.value = ScalarValue(int64_t{take().text == "true"});
  } else if (is_complex(dtype)) {
    expect_word("complex");
    instr.value = ScalarValue(complex_number());
  } else if (is_floating(dtype)) {
    instr.value = ScalarValue(signed_real());
  } else {
    instr.value = ScalarValue(signed_integer());
  }
}

void ProgramParser::scalar(Instr& instr, const Token& word, const ValueNames& names) {
  size_t dot = word.text.rfind('.');
  std::string_view row_name = word.text.substr(0, dot);
  auto compute = dot == std::string_view::npos ? std::nullopt : parse_dtype(word.text.substr(dot + 1));
  instr.kind = InstrKind::scalar;
  instr.row = find_scalar(row_name);
  if (!instr.row) {
    std::vector<std::string_view> known{"load", "index", "position", "reduce", "scan", "part", "draw"};
    for (const ScalarRow& row : scalar_table()) known.push_back(row.name);
    std::string_view nearest = nearest_name(row_name.substr(0, 80), known);
    fail(word, "there is no instruction `" + std::string(row_name.substr(0, 80)) + "`",
         nearest.empty() ? "LOOPS.md lists them; scalar primitives are written as add.f32"
                         : "did you mean `" + std::string(nearest) + "`?");
  }
  if (!compute)
    fail(word, "a scalar primitive needs the dtype that it computes in",
         "write " + std::string(row_name) + ".f32 or the like");
  instr.compute = *compute;
  operands(instr, static_cast<size_t>(instr.row->arity), row_name, names);
}

void ProgramParser::store(loops::Nest& made, const ValueNames& names) {
  take();
  Store s;
  if (at(TokenKind::name) && !at_word("distinct")) {
    Token mode = take();
    auto found = find_word(mode.text, StoreMode::any);
    if (!found || *found == StoreMode::assign)
      fail(mode, "there is no way to store called `" + std::string(mode.text.substr(0, 80)) + "`",
           "they are scatter, add, multiply, minimum, maximum and any; without one the store assigns");
    s.mode = *found;
  }
  s.distinct = eat_word("distinct");
  s.buffer = buffer();
  s.index = dim_list();
  expect(TokenKind::assign);
  s.value = ssa(names);
  s.mask = mask(names);
  made.stores.push_back(std::move(s));
}

}  // namespace lenz::loops
