// On which processor eager runs, as far as its results lie otherwise there: strides that a rule tells hang on it.
// Thread-safety: reading is safe anywhere; who puts another in its place does so alone.
#pragma once

#include <cstdint>

namespace lenz {

struct alignas(uint32_t) EagerProcessor {  // a size that processors exchange at once
  // For which narrow floats oneDNN has kernels.
  bool computes_in_half = false;
  bool computes_in_bf16 = false;
  // Whether these of bf16 take tiles of a matrix unit.
  bool has_tiles = false;
};

// What an x86-64 processor says of itself: its leaf 7, in two parts (EBX and EDX; EAX and EDX).
struct ProcessorWords {
  uint32_t ebx = 0, edx = 0;                // of part 0
  uint32_t second_eax = 0, second_edx = 0;  // of part 1
};
// `wide`: the system keeps registers of 64 bytes too.
EagerProcessor eager_processor_of(const ProcessorWords& words, bool wide);

// That of this machine, unless another one is in its place.
EagerProcessor eager_processor();

// Rules tell what is told on that processor while this lives: what is held against a committed text has to be the same
// on every machine.
class InPlaceOfEagersProcessor {
 public:
  explicit InPlaceOfEagersProcessor(EagerProcessor processor);
  ~InPlaceOfEagersProcessor();
  InPlaceOfEagersProcessor(const InPlaceOfEagersProcessor&) = delete;
  InPlaceOfEagersProcessor& operator=(const InPlaceOfEagersProcessor&) = delete;

 private:
  EagerProcessor before_;
};

}  // namespace lenz
