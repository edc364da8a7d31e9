// Result types of ops that read or write through indices, masks or order.
// Thread-safety: pure, given one Infer.
#pragma once

#include "compiler/graph/infer.h"

namespace lenz::rule {

void gather(Infer& in);
void scatter(Infer& in);       // scatter, scatter_add, scatter_reduce: contiguous, of self's shape
void index(Infer& in);         // advanced indexing
void unsafe_index(Infer& in);  // with integers only
void index_put(Infer& in);
void index_select(Infer& in);
void index_write(Infer& in);  // index_add, index_reduce
void index_copy(Infer& in);   // as index_write, with i64 indices
void index_fill(Infer& in);
void masked_fill(Infer& in);
void masked_select(Infer& in);
void masked_scatter(Infer& in);
void embedding(Infer& in);
void embedding_backward(Infer& in);
void take(Infer& in);
void take_along_dim(Infer& in);
void put(Infer& in);

void topk(Infer& in);
void sort(Infer& in);
void argsort(Infer& in);
void searchsorted(Infer& in);
void bucketize(Infer& in);

void nonzero(Infer& in);
void nonzero_static(Infer& in);
void unique(Infer& in);
void isin(Infer& in);
void one_hot(Infer& in);
void item(Infer& in);  // _local_scalar_dense

}  // namespace lenz::rule
