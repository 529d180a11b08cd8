// Which moves a redistribution may consist of.
#pragma once

namespace shardwright::redistribution {

// Thread safety: a value.
struct MoveRules {
  // Pieces of unequal size may be gathered, exchanged and scattered. If not, the only uneven pieces
  // are those that a slice makes for the target of a dimension that was whole.
  bool uneven = true;
  // Dimensions may be sharded in ways that the target does not have: smaller pieces are cheaper to
  // move.
  bool detours = true;
  // Collectives over several axes at once, and messages by which devices change places.
  bool groups = true;
  // Only the conversions of ColossalAI's sharding specs: the axes of a dimension ascend, and
  // exchanges are between dimensions of at most one axis each, to the earlier one if both have one.
  // Source: get_all_one_step_transform_spec, ColossalAI colossalai/tensor/shape_consistency.py.
  bool colossal = false;
};

}  // namespace shardwright::redistribution
