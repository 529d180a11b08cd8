#include "search/embedding/best/bound/relaxation/dual_center.h"

#include <algorithm>
#include <utility>

namespace shardwright::embedding {
namespace {

// Calls `change` with every value of `own` and the value of `other` in its place.
template <class Change>
void change_each(std::vector<CapacityMultipliers>& own,
                 const std::vector<CapacityMultipliers>& other, const Change& change) {
  for (std::size_t c = 0; c < own.size(); ++c) {
    change(own[c].load, other[c].load);
    for (const MemoryTier tier : kMemoryTiers)
      change(own[c][tier], other[c][tier]);
  }
}

}  // namespace

void DualCenter::offer(const DualPoint& point, double tables, double ranks,
                       std::vector<double> most) {
  if (!(ranks > 0) || !(tables / ranks > ratio_)) return;
  ratio_ = tables / ranks;
  point_.shards = point.shards;
  point_.ranks = std::move(most);
  point_.whole = point.whole;
  for (std::vector<double>* values : {&point_.shards, &point_.ranks}) {
    for (double& value : *values)
      value /= ranks;
  }
  change_each(point_.whole, point.whole, [&](double& value, double) { value /= ranks; });
}

DualPoint DualCenter::mix(const DualPoint& other, double share) const {
  DualPoint mixed = other;
  for (std::size_t i = 0; i < mixed.shards.size(); ++i)
    mixed.shards[i] += share * (point_.shards[i] - mixed.shards[i]);
  for (std::size_t i = 0; i < mixed.ranks.size(); ++i)
    mixed.ranks[i] += share * (point_.ranks[i] - mixed.ranks[i]);
  change_each(mixed.whole, point_.whole,
              [&](double& value, double center) { value += share * (center - value); });
  return mixed;
}

void DualCenter::end(std::span<const EqualTables> groups) {
  if (!is_rated()) return;
  const ChoiceModel& model = rows_->model();
  for (const EqualTables& group : groups) {
    const auto first = point_.shards.begin() + rows_->first_row(model.first_choice(group.first()));
    const auto end =
        point_.shards.begin() + rows_->first_row(model.first_choice(group.first() + 1));
    for (const std::uint32_t table : group.tables) {
      if (table == group.first()) continue;
      std::copy(first, end, point_.shards.begin() + rows_->first_row(model.first_choice(table)));
    }
  }
}

}  // namespace shardwright::embedding
