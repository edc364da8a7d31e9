#include "compiler/backend/llvm/families.h"
namespace lenz::native {
void add_special(Spellings&) {}
}  // namespace lenz::native
