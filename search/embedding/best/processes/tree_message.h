// The proof's tree in messages: what lanes found in it, and its open part.
#pragma once

#include <optional>
#include <vector>

#include "core/embedding/bound/certificate/bound_certificate.h"
#include "search/embedding/best/bound/shared/tree_view.h"
#include "search/embedding/model/choice_model.h"
#include "search/message.h"

namespace shardwright::embedding {

// A leaf of a certificate.
void put_leaf(MessageWriter& to, const BoundNode& leaf);
BoundNode get_leaf(MessageReader& from);

void put(MessageWriter& to, const Pins& pins);
Pins get_pins(MessageReader& from);

// The part without proofs of leaves.
void put(MessageWriter& to, const TreePart& part);
// Nothing if nodes are not in the tree or branches not of the model.
std::optional<TreePart> get_part(MessageReader& from, const ChoiceModel& model);

void put(MessageWriter& to, const LaneReport& report, const ChoiceModel& model);
// Nothing if it does not fit to the model.
std::optional<LaneReport> get_lane_report(MessageReader& from, const ChoiceModel& model);

void put(MessageWriter& to, const TreeStart& start, const ChoiceModel& model);
std::optional<TreeStart> get_tree_start(MessageReader& from, const ChoiceModel& model);

}  // namespace shardwright::embedding
