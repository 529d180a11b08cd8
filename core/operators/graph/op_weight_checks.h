// Checks operators that have a weight: products, convolutions, normalizations, embeddings.
#pragma once

#include "core/operators/graph/op_subject.h"

namespace shardwright::operators::internal {

// Preconditions: the kind is the one that the name says, with the right number of inputs.
// Errors: as OpGraph::make; kUnsupported for a form that strategies do not know.
Status check_linear(const OpSubject& s);
Status check_convolution(const OpSubject& s);
Status check_batch_norm(const OpSubject& s);
Status check_layer_norm(const OpSubject& s);
Status check_embedding(const OpSubject& s);

}  // namespace shardwright::operators::internal
