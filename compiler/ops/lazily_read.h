// A call whose operands are seen through views that are lazily conjugated, or negated: eager hands over copies of them
// that lie in another way, which a rule has to know.
// Thread-safety: one call per thread.
#pragma once

#include "compiler/graph/lazy_views.h"
#include "compiler/ops/call_maker.h"

namespace lenz {

// Puts such views, which become nodes of the call's graph, in the place of some operands that it reads; now and then of
// what it writes to as well, which eager may refuse. False where there are none that can be conjugated or negated.
bool read_lazily(DrawnCall& call, Chooser& chooser);

// A view of this value that is as lazy as said; the value itself if that is not at all.
ValueId seen_lazily(Graph& graph, ValueId v, Laziness lazy);

}  // namespace lenz
