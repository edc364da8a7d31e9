#include "fuzz/properties/list.h"

#include <algorithm>

#include "fuzz/properties/index_spaces.h"
#include "fuzz/properties/kernel_keys.h"
#include "fuzz/properties/primitives.h"
#include "fuzz/properties/runtime_parts.h"
#include "fuzz/properties/sizes.h"
#include "fuzz/properties/users_way.h"

namespace lenz::fuzz {

std::span<const Property> properties() {
  static const Property all[] = {
      text_round_trip(),  broken_text(),       sizes(),      index_spaces(),  structure(),    drawn_calls(),
      broken_calls(),     runtime_parts(),     primitives(), rows_alone(),    rules_alone(),  nests_alone(),
      code_alone(),       pairs_alone(),       pass_alone(), exact_passes(),  all_passes(),   passes_left_out(),
      settled(),          loops_interpreted(), fused(),      realised(),      kernel_keys(),  accounts(),
      passes_off(),       users_way(),         rebound(),    reference(),     machine_code(), called_again(),
      called_elsewhere(), from_cache(),        linear(),     keeps_nothing(), decisions(),    inductor(),
  };
  return all;
}

const Property* find_property(std::string_view name) {
  auto all = properties();
  auto found = std::ranges::find(all, name, &Property::name);
  return found == all.end() ? nullptr : &*found;
}

bool is_foreign(std::span<const Property* const> asked) {
  return std::ranges::any_of(asked, [](const Property* p) { return p->foreign; });
}
void share(std::span<const Property* const> asked, int count) {
  for (const Property* p : asked)
    if (p->share) p->share(count);
}

}  // namespace lenz::fuzz
