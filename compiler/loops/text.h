// The text form of programs: LOOPS.md. parse_program(print(p)) equals p (see equal.h), and print(parse_program(text))
// is the canonical spelling of text.
//
// Any text is safe to parse: bad ones give a UserError with file, line, column, a caret and a remedy, after time and
// memory in proportion to the text.
// Thread-safety: pure functions, but for the program's context.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/graph/text.h"
#include "compiler/loops/program.h"

namespace lenz::loops {

// The comments of a text, so that a formatter keeps them: by the lines of its canonical spelling, in order.
struct LineComments {
  std::vector<lenz::Comments::Place> lines;
  std::vector<std::string> below;  // behind everything
};

// Where things stand in a text, for messages about what was parsed.
struct ProgramPlaces {
  using Place = lenz::Places::Place;
  struct OfNode {
    Place at;
    std::vector<Place> body, stores;  // of a nest
  };
  std::vector<OfNode> nodes;  // in the order of for_each_node
  std::vector<Place> buffers, inputs, outputs;
  Place program;
};

struct ProgramParseOptions {
  std::string file = "<text>";
  ParseLimits limits;                // nodes: of instructions too
  LineComments* comments = nullptr;  // filled, if not null
  ProgramPlaces* places = nullptr;   // likewise
};

// Whether a text is a program's rather than a graph's: its first word is `loops`.
bool is_program_text(std::string_view text);

Program parse_program(std::string_view text, const OpTable& ops, const ProgramParseOptions& options = {});

struct ProgramPrintOptions {
  bool provenance = false;                 // `from %a, %b`: the names of the graph's nodes that each came from
  const LineComments* comments = nullptr;  // of the text that the program was parsed from
};
std::string print(const Program& program, const ProgramPrintOptions& options = {});

// Pieces of a program's text, for messages: as print() writes them, without indentation and the line's end.
class ProgramText {
 public:
  explicit ProgramText(const Program& program);
  ~ProgramText();
  std::string buffer(BufferId id);     // its name
  std::string node(const Node& node);  // its first line
  std::string instruction(const Nest& nest, Ssa at);
  std::string store(const Store& store);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// The buffers in the order in which a text declares them: inputs as the program takes them, then the others by id.
std::vector<BufferId> declaration_order(const Program& program);

// The words of the text form.
std::string_view name(AxisKind kind);   // reduce, scan; empty for parallel
std::string_view name(StoreMode mode);  // empty for assign
std::string_view name(DrawKind kind);

// The dtype that an instruction of the nest has by the instructions before it; nothing where it has to say so itself,
// or where they are wrong. A text leaves out what follows.
std::optional<Dtype> derived_dtype(const Program& program, const Nest& nest, const Instr& instr);

}  // namespace lenz::loops
