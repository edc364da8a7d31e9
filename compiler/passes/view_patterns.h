// The two forms to which any shorter chain of views is brought.
// Thread-safety: constant.
#pragma once

#include <string_view>

namespace lenz {

struct ViewForms {
  std::string_view permute;  // (x, dims)
  std::string_view reshape;  // (x, sizes)
};
const ViewForms& view_forms();

}  // namespace lenz
