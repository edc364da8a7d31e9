// The table of rules, and how findings are told.
#include "compiler/loops/verify.h"

#include <algorithm>

#include "compiler/base/source.h"
#include "compiler/loops/verifier.h"

namespace lenz::loops {

namespace {
constexpr std::string_view kNotInText = {};
constexpr ProgramRule kRules[] = {
    {101, "references", "Every buffer, value and stream that is mentioned exists.", "declare it: stream 0 offset 0"},
    {102, "value_order", "A value of a nest is computed before it is used.", kNotInText},
    {103, "operand_counts", "Instructions, calls and blocks have as many parts as their kind takes.", kNotInText},
    {104, "symbol_names", "An axis, a position and a counter have names of their own, which no size has.",
     "give it a name that nothing else has"},
    {105, "scan_axes", "A nest has one scan axis at most, the innermost, and then neither reduction axes nor reduces.",
     "make two nests of it"},
    {106, "ranks", "An access names one coordinate for each dim.", "give one expression for each dim of the buffer"},
    {107, "inputs", "Each input buffer belongs to one input, and each input to an input buffer.", kNotInText},
    {108, "constant_data", "A constant's elements are as many as its type says, of its dtype.",
     "give the buffer the type of its elements"},
    {109, "flags", "Only inputs are `mut` or in an alias class; only temps without a place are `local`.",
     "leave the word out"},
    {110, "views", "A view looks at a placed buffer that is no view itself.", "say `placed` of what it looks at"},
    {111, "extern_results", "An extern op has a result for each that its schema returns, and they are placed temps.",
     "write `none` for a result that nobody wants, and `placed` behind the type of one"},
    {112, "sort_dim", "A sort is along a dim that the buffer has.", "count dims from 0"},
    {113, "kernels", "A kernel holds nests only, and its axes are parallel ones.", "put the node before or behind it"},
    {114, "changed_inputs",
     "An output goes into an input that is `mut`, of its dtype, in no alias class; into each one at most.",
     "say `mut` behind the input"},

    {201, "constant_values", "A constant is a value of its dtype.", "write a number that the dtype has"},
    {202, "load_dtypes", "A load has its buffer's dtype.", "leave the dtype out, and convert: to_dtype.f32 %0"},
    {203, "scalar_dtypes",
     "A primitive computes in a dtype that it has, of operands of that dtype, to the dtype that "
     "follows.",
     "convert the operand: %1: f32 = to_dtype.i64 %0"},
    {204, "combine_dtypes", "A combine takes operands of dtypes that it can combine.", "LOOPS.md says what they take"},
    {205, "parts", "A part is one that the combine has, of a reduce or scan.", "count parts from 0"},
    {206, "coordinates", "An index and a position are i64; a position is made of an integer.",
     "convert it: %1: i64 = to_dtype.f32 %0"},
    {207, "masks", "A mask is a bool.", "compare: %1 = ne.f32 %0, %zero"},
    {208, "store_dtypes", "What is stored has the buffer's dtype.", "convert it: %1: f32 = to_dtype.i64 %0"},
    {209, "store_modes",
     "A store that combines is of a dtype that it can combine: any of bools, minimum and maximum of "
     "ordered ones.",
     "convert the buffer, or combine otherwise"},
    {210, "draws", "A word is an i64, a uniform or normal number a float; its stream exists.",
     "say the dtype: %0: f32 = draw uniform stream 0[i0]"},
    {211, "sort_types",
     "A sort gives values of the keys' type, and i64 indices of their sizes. Places are inside, and have room.",
     "declare the buffers so"},
    {212, "scalars", "Conditions, numbers and what a size is read from have no dims, and the dtype for it.",
     "load the one element and store it in a buffer without dims"},
    {213, "sizes", "Sizes, extents and counts are not negative.",
     "write 0 or more, or state the fact that makes it so"},
    {214, "lazy_outputs", "Complex numbers are shown conjugated, and floats negated; not where they go into an input.",
     "compute it, and store that"},

    {301, "load_bounds", "A load is inside its buffer wherever its mask holds: by facts, extents and the mask.",
     "mask it, or state the fact that makes it so behind `where`"},
    {302, "store_bounds", "A store is inside its buffer wherever its mask holds.",
     "mask it, or state the fact that makes it so behind `where`"},
    {303, "output_bounds", "An output shows places of its buffer's storage only.", "show less of it"},
    {304, "view_bounds", "A view looks at places of its buffer's storage only.", "look at less of it"},

    {401, "assigned_once", "A store without a mode writes each element once at most.",
     "write `scatter` if the last one wins, `distinct` if the positions never coincide"},
    {402, "stores_apart", "Stores of one nest to one buffer do not meet, or all add, or all do the same.",
     "make two nests of it"},
    {403, "reads_own_writes",
     "A nest loads what it stores at the same point only, and nothing else that shares its storage.",
     "store to another buffer"},
    {404, "write_to_constant", "Constants are not written to.", "write to a temp"},
    {405, "write_to_input", "Only inputs marked `mut` are written to, through views too.", "mark the input `mut`"},
    {406, "written_whole", "All of a buffer is written before it is read.", "write the rest of it"},
    {407, "points_apart", "What a point of a kernel writes no other point writes or reads, local buffers aside.",
     "make two kernels of it, or the buffer local"},
    {408, "lanes_apart", "Along an axis in lanes no two points combine with the same element.",
     "take the lanes off, or give them to an axis that is a coordinate of the store"},

    {501, "read_before_write", "What is read has been written.", "put this behind the node that writes it"},
    {502, "symbol_bound", "A symbol is bound before it is used: by an input, a node, an axis or a position.",
     "is it misspelt? Sizes of inputs bind their symbols, as bind and repeat do"},
    {503, "symbol_bound_once", "A symbol is bound once.", "give it another name"},
    {504, "epilogue",
     "What a reduction's points compute is not used together with what they reduce to, and is not reduced twice.",
     "reduce it, or make two nests of it"},
};
}  // namespace

std::span<const ProgramRule> program_rules() { return kRules; }

const ProgramRule& program_rule(int number) {
  for (const ProgramRule& rule : kRules)
    if (rule.number == number) return rule;
  internal_error("no rule L" + std::to_string(number), __FILE__, __LINE__);
}

std::string to_string(const ProgramFinding& f) {
  std::string text = "L" + std::to_string(f.rule) + " " + std::string(program_rule(f.rule).name) + ": " + f.message;
  if (!f.line.empty()) text += "\n    in " + f.line;
  return text;
}

ProgramVerdict verify(const Program& program) { return ProgramVerifier(program).run(); }

bool ProgramVerdict::lacks_proofs_alone() const {
  return !valid() && std::ranges::all_of(violations, &ProgramFinding::nonlinear);
}

namespace {
[[noreturn]] void refuse(const Program& program, const ProgramVerdict& verdict, std::string_view made_by) {
  std::string text = std::string(made_by) + " made a program that breaks rules:";
  for (const ProgramFinding& f : verdict.violations) text += "\n" + to_string(f);
  throw InternalError(text + "\n" + print(program));
}
}  // namespace

void require_valid(const Program& program, std::string_view made_by) {
  const ProgramVerdict verdict = verify(program);
  if (!verdict.valid()) refuse(program, verdict, made_by);
}

bool require_linear_proofs(const Program& program, std::string_view made_by) {
  const ProgramVerdict verdict = verify(program);
  if (!verdict.valid() && !verdict.lacks_proofs_alone()) refuse(program, verdict, made_by);
  return verdict.valid();
}

VerifiedText verify_text(std::string_view text, const OpTable& ops, const std::string& file) {
  ProgramPlaces places;
  ProgramParseOptions options;
  options.file = file;
  options.places = &places;
  VerifiedText out{parse_program(text, ops, options), {}, {}};
  ProgramVerdict verdict = verify(out.program);
  Source source(text, file);
  auto told = [&](const ProgramFinding& f) {
    ProgramPlaces::Place place = places.program;
    if (f.spot.node < places.nodes.size()) {
      const ProgramPlaces::OfNode& node = places.nodes[f.spot.node];
      place = node.at;
      if (f.spot.instr < node.body.size()) place = node.body[f.spot.instr];
      if (f.spot.store < node.stores.size()) place = node.stores[f.spot.store];
    } else if (f.spot.buffer < places.buffers.size()) {
      place = places.buffers[f.spot.buffer];
    }
    const ProgramRule& rule = program_rule(f.rule);
    return source.error(place.at, place.end,
                        "L" + std::to_string(f.rule) + " " + std::string(rule.name) + ": " + f.message,
                        std::string(rule.remedy));
  };
  for (const ProgramFinding& f : verdict.violations) out.violations.push_back(told(f));
  for (const ProgramFinding& f : verdict.unproved) out.unproved.push_back(told(f));
  return out;
}

}  // namespace lenz::loops
