#include "compiler/loops/mutate.h"

#include "compiler/loops/equal.h"
#include "compiler/loops/text.h"
#include "compiler/loops/verify.h"

namespace lenz::loops {

bool program_survives(std::string_view text, const OpTable& ops) {
  std::optional<Program> program;
  try {
    program = parse_program(text, ops);
  } catch (const UserError&) {
    return false;
  }
  for (const ProgramFinding& f : verify(*program).violations)
    LENZ_CHECK(!to_string(f).empty(), "a finding says what it is");
  std::string printed = print(*program), why;
  try {
    Program again = parse_program(printed, ops);
    LENZ_CHECK(equal(*program, again, &why), "a text parses into another program once printed: " + why);
    LENZ_CHECK(print(again) == printed, "the canonical spelling is not stable");
  } catch (const UserError& e) {
    internal_error("a printed program does not parse: " + std::string(e.what()), __FILE__, __LINE__);
  }
  return true;
}

}  // namespace lenz::loops
