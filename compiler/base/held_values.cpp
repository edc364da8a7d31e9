#include "compiler/base/held_values.h"

namespace lenz {

bool holds_values(Dtype wide, Dtype narrow) {
  if (wide == narrow || narrow == Dtype::b8) return true;
  if (is_complex(narrow)) return is_complex(wide) && info(wide).bits >= info(narrow).bits;
  if (is_complex(wide)) return holds_values(to_real(wide), narrow);
  if (is_integral(narrow, false)) {
    int digits = info(narrow).bits - (info(narrow).is_signed ? 1 : 0);
    if (wide == Dtype::f16 || is_float8(wide)) return false;  // u8 would fit f16; no need to argue about its range
    if (is_floating(wide)) return info(wide).mantissa_bits >= digits;
    bool sign = info(wide).is_signed || !info(narrow).is_signed;
    return is_integral(wide, false) && sign && info(wide).bits - (info(wide).is_signed ? 1 : 0) >= digits;
  }
  // Floats: those of 32 and 64 bits hold the range and the digits of all narrower ones.
  return is_floating(wide) && info(wide).bits >= 32 && info(wide).bits > info(narrow).bits;
}

}  // namespace lenz
