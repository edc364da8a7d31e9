// Arithmetic of f16 as processors have it. Code converts halves to f32 and computes with these; LLVM's optimiser finds
// that comparisons, and some operations between two conversions, need no more digits than halves have, and where a
// processor has nothing but the conversions they become scalar ones, lane by lane.
// Thread-safety: as the function's module.
#pragma once

namespace llvm {
class Function;
}

namespace lenz::native {

// Comparisons and operations on halves, scalars or vectors, are those of f32 again: the same results, for an operation
// of f32 rounds innocuously once more. Behind all passes that might take that back.
void widen_halves(llvm::Function& function);

}  // namespace lenz::native
