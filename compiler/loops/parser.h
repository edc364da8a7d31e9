// The parser of programs, shared by its parts: parse_program.cpp (declarations, nodes, outputs) and parse_nest.cpp
// (nests). Internal to the room.
// Thread-safety: one parser per thread.
#pragma once

#include <deque>

#include "compiler/graph/text_parser.h"
#include "compiler/loops/text.h"

namespace lenz::loops {

class ProgramParser final : private TextParser {
 public:
  ProgramParser(std::string_view text, const OpTable& ops, const lenz::ParseOptions& options,
                const ProgramParseOptions& given);
  Program program();

 private:
  using Place = ProgramPlaces::Place;

  // --- lines of the canonical text, for comments
  void begin_line();
  void end_line();

  // --- names
  ValueId value(const Token& token) override;  // in literals: a buffer
  uint32_t subgraph(const Token& token) override;
  bool is_symbol(std::string_view word) const override;
  BufferId buffer();
  BufferId buffer_or_none();
  Dim new_symbol(std::string_view what);
  void define(ValueNames& names, const Token& token, ValueId value);
  ValueId find(const ValueNames& names, const Token& token);

  // --- declarations
  bool declaration();
  void stream();
  void input();
  void add_buffer(BufferKind kind);
  void add_view();
  void declare(const Token& name, Buffer made);
  TensorType tensor();
  void flags(Buffer& buffer);

  // --- nodes
  void block(Block& into);
  void braces(Block& into);  // `{`, a block; leaves `}`
  void close();
  void node(Block& into);
  loops::Nest nest(size_t node);
  Sort sort();
  Extern external();
  Arg keyword_or_default(const Param& param, const std::vector<Keyword>& keywords, const Token& op);
  Bind bind();
  Check check();
  Print print_node();
  If conditional();
  While loop();
  Repeat repeat();
  Kernel kernel();

  // --- outputs
  void returns();
  Output output();
  uint32_t changed_input();

  // --- bodies
  bool at_axes();  // rather than at what may stand behind none
  std::vector<Axis> axes();
  void instruction(loops::Nest& nest, ValueNames& names);
  void instruction_of(Instr& instr, const Token& word, const ValueNames& names);
  void constant(Instr& instr, Dtype dtype);
  void scalar(Instr& instr, const Token& name, const ValueNames& names);
  void store(loops::Nest& nest, const ValueNames& names);
  Ssa ssa(const ValueNames& names);
  void operands(Instr& instr, size_t count, std::string_view what, const ValueNames& names);
  Ssa mask(const ValueNames& names);
  uint32_t small(std::string_view what);
  void count_node(const Token& token);

  const ProgramParseOptions& given_;
  Program program_;
  ValueNames buffers_;
  std::deque<std::string> decoded_;  // names that had escapes
  std::deque<lenz::Comments::Place> lines_;
  int stage_ = 0;  // of the declarations
  size_t nodes_ = 0;
};

}  // namespace lenz::loops
