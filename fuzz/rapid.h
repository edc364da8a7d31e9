// The generator and the reducer as RapidCheck knows them: a property over cases fails with the smallest one.
// RapidCheck's own shrinking of a graph's choices ends in other graphs; shrinkRecur with the reducer's ways does not.
// Header only, so that who does not use RapidCheck needs none. Thread-safety: pure.
#pragma once

#include <rapidcheck.h>

#include <memory>
#include <ostream>

#include "fuzz/candidates.h"

namespace lenz::fuzz {

// RapidCheck copies values.
struct AnyCase {
  std::shared_ptr<const Case> it;
  friend std::ostream& operator<<(std::ostream& out, const AnyCase& c) { return out << c.it->text(); }
};

inline AnyCase shared(Case c) { return {std::make_shared<const Case>(std::move(c))}; }

// All that is one step simpler, boldest first; nothing that is as simple, so that every walk ends.
inline rc::Seq<AnyCase> simpler(const AnyCase& from) {
  const Simplicity now = simplicity(*from.it->graph, from.it->setting);
  std::vector<AnyCase> all;
  for (const Simplification& way : simplifications())
    for (Case& c : way.candidates(*from.it))
      if (simplicity(*c.graph, c.setting) < now) all.push_back(shared(std::move(c)));
  return rc::seq::fromContainer(std::move(all));
}

// Cases as a campaign draws them, by seed and number.
inline rc::Gen<AnyCase> any_case(const Pool& pool, const GrowOptions& options = {}) {
  return [&pool, options](const rc::Random& random, int) {
    rc::Random source = random;
    const uint64_t seed = source.next();
    return rc::shrinkable::shrinkRecur(shared(draw_case(seed, source.next() % 4096, pool, options)),
                                       [](const AnyCase& c) { return simpler(c); });
  };
}

}  // namespace lenz::fuzz
