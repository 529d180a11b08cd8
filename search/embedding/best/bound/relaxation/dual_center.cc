#include "search/embedding/best/bound/relaxation/dual_center.h"

#include <algorithm>
#include <utility>

namespace shardwright::embedding {

void DualCenter::offer(const DualPoint& point, double tables, double ranks,
                       std::vector<double> most) {
  if (!(ranks > 0) || !(tables / ranks > ratio_)) return;
  ratio_ = tables / ranks;
  point_.shards = point.shards;
  point_.ranks = std::move(most);
  for (std::vector<double>* values : {&point_.shards, &point_.ranks}) {
    for (double& value : *values)
      value /= ranks;
  }
}

DualPoint DualCenter::mix(const DualPoint& other, double share) const {
  DualPoint mixed = other;
  for (std::size_t i = 0; i < mixed.shards.size(); ++i)
    mixed.shards[i] += share * (point_.shards[i] - mixed.shards[i]);
  for (std::size_t i = 0; i < mixed.ranks.size(); ++i)
    mixed.ranks[i] += share * (point_.ranks[i] - mixed.ranks[i]);
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
