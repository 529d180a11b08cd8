#include "search/embedding/best/exact/rank_symmetry.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace shardwright::embedding {

RankSymmetry::RankSymmetry(const RankLoads& loads)
    : loads_(&loads), class_(loads.ranks().size()), key_(loads.ranks().size()) {}

// Splits every class by key. A class is named by its first rank.
void RankSymmetry::split(std::span<const Rank> window) {
  order_.assign(window.begin(), window.end());
  const auto key = [&](Rank rank) { return std::tuple(class_[rank], key_[rank], rank); };
  std::sort(order_.begin(), order_.end(), [&](Rank a, Rank b) { return key(a) < key(b); });
  for (std::size_t begin = 0; begin < order_.size();) {
    std::size_t end = begin + 1;
    while (end < order_.size() && class_[order_[end]] == class_[order_[begin]] &&
           key_[order_[end]] == key_[order_[begin]])
      ++end;
    for (std::size_t i = end; i > begin; --i)
      key_[order_[i - 1]] = order_[begin];
    begin = end;
  }
  for (const Rank rank : window)
    class_[rank] = key_[rank];
}

void RankSymmetry::begin(std::span<const Rank> window, std::span<const std::uint32_t> choices,
                         bool ruled, bool hosts_apart) {
  const ChoiceModel& model = loads_->model();
  std::iota(class_.begin(), class_.end(), 0U);
  hosts_apart_ = hosts_apart;
  hosts_matter_ = false;
  if (ruled) return;
  const auto like = [&](Rank a, Rank b) {
    return model.room()[a] == model.room()[b] && model.time_scale(a) == model.time_scale(b);
  };
  for (const Rank rank : window)
    class_[rank] =
        *std::find_if(window.begin(), window.end(), [&](Rank a) { return like(a, rank); });
  bool by_position = false;
  for (const std::uint32_t index : choices) {
    const Choice& choice = model.choices()[index];
    if (choice.reach == Reach::kDevice) continue;
    if (choice.reach != Reach::kAllRanks) hosts_matter_ = hosts_matter_ || !model.is_one_host();
    if (choice.num_runs == 1 || choice.reach == Reach::kHost) continue;
    if (choice.reach == Reach::kWholeHosts) {
      by_position = true;
      continue;
    }
    std::uint32_t shard = 0;
    std::uint32_t run_number = 0;
    for (const ChoiceRun& run : model.runs(choice)) {
      std::fill_n(key_.begin() + shard, run.count, run_number++);
      shard += run.count;
    }
    split(window);
  }
  if (!by_position) return;
  for (const Rank rank : window)
    key_[rank] = rank % model.local_world_size();
  split(window);
}

bool RankSymmetry::hold_the_same(Rank a, Rank b) const {
  const RankLoad& one = loads_->ranks()[a];
  const RankLoad& other = loads_->ranks()[b];
  return class_[a] == class_[b] && one.load == other.load && one.held() == other.held();
}

bool RankSymmetry::are_twins(Rank a, Rank b) const {
  if (!hold_the_same(a, b)) return false;
  const std::uint32_t local = loads_->model().local_world_size();
  if (a / local == b / local) return true;
  if (hosts_apart_) return false;
  if (!hosts_matter_) return true;
  return a % local == b % local && are_twin_hosts(a / local, b / local);
}

bool RankSymmetry::are_twin_hosts(std::uint32_t a, std::uint32_t b) const {
  const std::uint32_t local = loads_->model().local_world_size();
  if (std::max(a, b) >= loads_->model().num_hosts()) return false;
  for (std::uint32_t i = 0; i < local; ++i) {
    if (!hold_the_same(a * local + i, b * local + i)) return false;
  }
  return true;
}

}  // namespace shardwright::embedding
