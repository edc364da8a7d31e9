#include "compiler/backend/llvm/families.h"
namespace lenz::native {
void add_fast(Spellings&) {}
void add_special(Spellings&) {}
void add_complex(Spellings&) {}
}
