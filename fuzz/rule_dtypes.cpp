#include "fuzz/rule_dtypes.h"

#include <iterator>

namespace lenz::fuzz {

DtypeSet dtypes_of_rule(DtypeSet liked, Chooser& choose, bool& promotes) {
  promotes = false;
  constexpr Dtype kAll[] = {Dtype::u8,   Dtype::f32, Dtype::i64, Dtype::i32, Dtype::b8,   Dtype::i8,     Dtype::f16,
                            Dtype::bf16, Dtype::f64, Dtype::i16, Dtype::c64, Dtype::c128, Dtype::f8e4m3, Dtype::f8e5m2};
  constexpr uint32_t kWeights[std::size(kAll)] = {5, 3, 3, 3, 2, 3, 2, 2, 2, 1, 2, 1, 1, 1};
  static_assert(std::size(kAll) == kDtypeCount);
  auto one = [&] { return DtypeSet::of(kAll[choose.weighted(kWeights)]); };
  switch (choose.below(8)) {
    case 0: return liked;
    case 1:
    case 2:
    case 3: return one();
    default: promotes = true; return one() | one();
  }
}

}  // namespace lenz::fuzz
