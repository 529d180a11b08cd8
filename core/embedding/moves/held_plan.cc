#include "core/embedding/moves/held_plan.h"

#include "core/units.h"

namespace shardwright::embedding {

MoveCharges::MoveCharges(const HeldPlan* held) {
  if (held == nullptr || held->weight == 0) return;
  per_byte_ = held->weight / static_cast<double>(kGibibyte);
  for (const std::optional<HeldTable>& own : held->tables) {
    std::optional<Table>& table = tables_.emplace_back();
    if (!own) continue;
    const bool is_known = own->layout && own->layout->num_shards == own->ranks.size();
    table.emplace(Table{HeldParts({is_known ? &*own->layout : nullptr,
                                   [&](std::uint32_t shard) { return own->ranks[shard]; }}),
                        own->element_bits});
  }
}

double MoveCharges::charge(TableId table, const TensorPart& part, Rank rank) const {
  const Table& own = *tables_[table.index()];
  const std::int64_t elements = own.parts.missing(part, rank);
  return per_byte_ * static_cast<double>(bytes_of_elements(elements, own.element_bits));
}

}  // namespace shardwright::embedding
