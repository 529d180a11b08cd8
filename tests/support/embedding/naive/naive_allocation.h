// Finds the best allocation of a small choice model by trying every allocation.
#pragma once

#include <optional>

#include "search/embedding/model/choice_model.h"

namespace shardwright::test_support {

// Returns the least rating of all allocations that fit and obey the rules, or nullopt if there is
// none. Cost: the product over tables of the number of their placements.
std::optional<double> least_rating(const embedding::ChoiceModel& model);

}  // namespace shardwright::test_support
