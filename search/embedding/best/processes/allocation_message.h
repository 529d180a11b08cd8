// Allocations and choices in messages.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "search/embedding/model/allocation.h"
#include "search/embedding/model/choice_model.h"
#include "search/message.h"

namespace shardwright::embedding {

// Written as changes of the known allocation, or whole if it is null.
void put(MessageWriter& to, const Allocation& own, const Allocation* known);
// Nothing if it does not fit to the model.
std::optional<Allocation> get_allocation(MessageReader& from, const ChoiceModel& model,
                                         const Allocation* known);

// Returns true if there is a choice of every table.
bool are_choices(const ChoiceModel& model, const std::vector<std::uint32_t>& choices);

}  // namespace shardwright::embedding
