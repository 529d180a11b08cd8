// Checks operators that move, regroup, drop or sum up elements.
#pragma once

#include "core/operators/graph/op_subject.h"

namespace shardwright::operators::internal {

// Precondition: a transpose, permute, reshape, split, getitem or sum, with the right number of
// inputs. Errors: as OpGraph::make.
Status check_layout(const OpSubject& s);

}  // namespace shardwright::operators::internal
