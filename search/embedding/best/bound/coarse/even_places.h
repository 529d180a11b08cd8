// Places of shards that a coarse model does not tell apart.
#pragma once

#include "search/embedding/model/allocation.h"
#include "search/embedding/model/choice_model.h"

namespace shardwright::embedding {

// Deals the places of single shards that are equal in the coarse model out again: those that take
// most of the model itself go where shards take least beyond the coarse model. `start` is in terms
// of the coarse model. O(shards x log shards).
void even_places(const ChoiceModel& coarse, const ChoiceModel& model, Allocation& start);

}  // namespace shardwright::embedding
