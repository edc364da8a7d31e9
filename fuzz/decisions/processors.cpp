// Of processors, which need not be here: for which targets they are taken, and what code for these is told.
#include "compiler/base/chooser.h"
#include "compiler/ops/eager_processor.h"
#include "fuzz/decisions/facts.h"

namespace lenz::fuzz {

Facts facts_of_processor(std::string_view name) {
  std::string words;
  int64_t run = 0;
  for (const native::CpuTarget& target : native::targets_of(name)) {
    words += target.name + (target.runs_here ? " runs, " : ", ") + target.key() + "\n";
    run += target.runs_here;
  }
  return {{"target/that run", run}, {"target/words #", digest(words)}};
}

Facts facts_of_processors_words() {
  constexpr int kProcessors = 4096;
  RandomChooser choose(1);
  std::string said;
  for (int i = 0; i < kProcessors; ++i) {
    // Most have most of it, or what is asked of several at once would be true of none.
    auto word = [&] { return static_cast<uint32_t>(choose.bits() | choose.bits()); };
    const ProcessorWords words{word(), word(), word(), word()};
    const EagerProcessor is = eager_processor_of(words, choose.flip());
    said += std::to_string(is.computes_in_half + 2 * is.computes_in_bf16 + 4 * is.has_tiles);
  }
  return {{"rules/of processors #", digest(said)}};
}

Facts facts_of(const native::CpuTarget& target) {
  Facts facts = {{"target/words #", digest(target.key())}, {"target/bytes of a vector", target.vector_bytes}};
  const std::pair<const char*, bool> has[] = {
      {"fma", target.fma},
      {"avx512", target.avx512},
      {"f16", target.f16},
      {"bf16", target.bf16},
      {"stores past caches", target.stores_past_caches},
      {"permutes bytes", target.permute_bytes},
      {"funnel shifts", target.funnel_shifts},
      {"masks as words", target.masks_as_words},
      {"follows squares", target.follows_squares},
  };
  std::string text;
  for (const auto& [what, is] : has) text += is ? std::string(what) + ", " : "";
  facts["target/instructions #"] = digest(text);
  return facts;
}

}  // namespace lenz::fuzz
