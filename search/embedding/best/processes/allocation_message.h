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

// The same of one whose tables may have no ranks yet.
void put_start(MessageWriter& to, const Allocation& start);
std::optional<Allocation> get_start(MessageReader& from, const ChoiceModel& model);

}  // namespace shardwright::embedding
