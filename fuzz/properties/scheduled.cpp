// Two properties that differ in one option: kernels as a plan fuses them, and these cut into tiles and lanes.
#include "compiler/schedule/proved.h"
#include "compiler/schedule/realise.h"
#include "fuzz/properties/list.h"

namespace lenz::fuzz {

namespace {
// What plans decide, as far as a kernel shows it.
std::string kind_of(const loops::Kernel& kernel) {
  constexpr std::string_view kKinds[] = {"parallel", "reduction", "scan"};
  std::set<std::string> axes;
  loops::for_each_node(*kernel.body, [&](const loops::Node& node) {
    const auto* nest = std::get_if<loops::Nest>(&node.is);
    for (const loops::Axis& axis : nest ? std::span<const loops::Axis>(nest->axes) : std::span<const loops::Axis>())
      axes.insert(" " + std::string(kKinds[static_cast<size_t>(axis.kind)]) + (axis.lanes > 1 ? " in lanes" : "") +
                  (axis.unroll > 1 ? " unrolled" : ""));
  });
  std::string kind = kernel.body->nodes.size() > 1 ? "kernel of nests:" : "kernel of one nest:";
  for (const std::string& axis : axes) kind += axis;
  return kind;
}

std::optional<Failure> wrong_as(const loops::Program& program, Subject& subject, std::string_view property,
                                bool tiles) {
  loops::for_each_node(program.body, [&](const loops::Node& node) {
    if (const auto* kernel = std::get_if<loops::Kernel>(&node.is)) subject.features.insert(kind_of(*kernel));
  });
  if (!subject.interprets(tiles ? Subject::Form::realised : Subject::Form::fused, program)) return std::nullopt;
  oracle::Trial& trial = subject.trial();
  if (auto mismatch = wrong(trial, program, trial.on_loops(program))) return subject.failed(property, *mismatch);
  if (!subject.has_few_points(program)) return std::nullopt;
  const oracle::Values other[] = {another_kind(subject.setting())};
  return failure_with_values(subject, property, other,
                             [&](oracle::Trial& one) { return wrong(one, program, one.on_loops(program)); });
}

std::optional<Failure> scheduled(Subject& subject, std::string_view property, bool tiles) {
  const schedule::Target target = subject.loops_target();
  return failure_of(subject,
                    {[&] { return schedule::schedule(subject.program(), target, {.tiles = tiles}); }, "scheduling",
                     [&] { return schedule::schedule_proved(subject.program(), target, {.tiles = tiles}).program; }},
                    [&](const loops::Program& program) { return wrong_as(program, subject, property, tiles); });
}
}  // namespace

Property fused() {
  return {.name = "fused",
          .contract = "what a plan fuses gives on the interpreter what the bounds allow",
          .holds = [](Subject& s) { return scheduled(s, "fused", false); },
          .lowers = true,
          .every = 4};
}

Property realised() {
  return {.name = "realised",
          .contract = "the fused kernels, cut into tiles and lanes, give it too",
          .holds = [](Subject& s) { return scheduled(s, "realised", true); },
          .lowers = true};
}

}  // namespace lenz::fuzz
