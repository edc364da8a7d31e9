// Two properties that differ in one option: kernels as a plan fuses them, and these cut into tiles and lanes.
#include "compiler/loops/verify.h"
#include "compiler/schedule/realise.h"
#include "fuzz/properties/list.h"

namespace lenz::fuzz {

namespace {
std::optional<Failure> scheduled(Subject& subject, std::string_view property, bool tiles) {
  const schedule::Target target = schedule::cpu_target("avx512", 1);
  loops::Program program = schedule::schedule(subject.program(), target, {.tiles = tiles});
  loops::require_valid(program, "scheduling");
  if (!subject.interprets(tiles ? Subject::Form::realised : Subject::Form::fused)) return std::nullopt;
  oracle::Trial& trial = subject.trial();
  if (auto mismatch = wrong(trial, program, trial.on_loops(program))) return subject.failed(property, *mismatch);
  return std::nullopt;
}
}  // namespace

Property fused() {
  return {"fused", "what a plan fuses gives on the interpreter what the bounds allow",
          [](Subject& s) { return scheduled(s, "fused", false); }};
}

Property realised() {
  return {"realised", "the fused kernels, cut into tiles and lanes, give it too",
          [](Subject& s) { return scheduled(s, "realised", true); }};
}

}  // namespace lenz::fuzz
