// Generators of calls that read or write through indices, masks or order. Indices are in range, with repeats.
#pragma once

#include "compiler/ops/call_maker.h"

namespace lenz::make {

void gather(CallMaker& m);
void scatter(CallMaker& m);
void index(CallMaker& m);
void index_by_numbers(CallMaker& m);  // no masks
void index_put(CallMaker& m);
void index_select(CallMaker& m);
void index_write(CallMaker& m);
void index_fill(CallMaker& m);
void masked_fill(CallMaker& m);
void masked_select(CallMaker& m);
void masked_scatter(CallMaker& m);
void embedding(CallMaker& m);
void embedding_backward(CallMaker& m);
void take(CallMaker& m);
void take_along_dim(CallMaker& m);
void put(CallMaker& m);
void topk(CallMaker& m);
void sort(CallMaker& m);
void searchsorted(CallMaker& m);
void bucketize(CallMaker& m);
void nonzero_static(CallMaker& m);
void isin(CallMaker& m);
void one_hot(CallMaker& m);
void item(CallMaker& m);

}  // namespace lenz::make
