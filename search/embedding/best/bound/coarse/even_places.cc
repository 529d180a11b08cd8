#include "search/embedding/best/bound/coarse/even_places.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <queue>
#include <utility>
#include <vector>

namespace shardwright::embedding {
namespace {

// Places of equal shards, those first where shards take least beyond the coarse model.
using Places = std::priority_queue<std::pair<double, Rank>, std::vector<std::pair<double, Rank>>,
                                   std::greater<>>;

struct Shard {
  double excess = 0;  // beyond the coarse model
  std::uint32_t table = 0;
  std::uint32_t index = 0;
  Places* places = nullptr;
};

std::vector<ChoiceRun> each_shard(const ChoiceModel& model, const Choice& choice) {
  std::vector<ChoiceRun> shards;
  for (const ChoiceRun& run : model.runs(choice))
    shards.insert(shards.end(), run.count, run);
  return shards;
}

}  // namespace

void even_places(const ChoiceModel& coarse, const ChoiceModel& model, Allocation& start) {
  std::map<std::pair<double, Storage>, Places> by_size;
  std::vector<Shard> shards;
  for (std::uint32_t table = 0; table < start.choice.size(); ++table) {
    const Choice& choice = coarse.choices()[start.choice[table]];
    if (choice.reach != Reach::kDevice || start.ranks[table].empty()) continue;
    const std::vector<ChoiceRun> sizes = each_shard(coarse, choice);
    const std::vector<ChoiceRun> own =
        each_shard(model, model.choices()[*model.choice_of(choice.option)]);
    for (std::uint32_t i = 0; i < sizes.size(); ++i) {
      Places& places = by_size[{sizes[i].load, sizes[i].storage}];
      places.emplace(0, start.ranks[table][i]);
      shards.push_back({own[i].load - sizes[i].load, table, i, &places});
    }
  }
  std::stable_sort(shards.begin(), shards.end(),
                   [](const Shard& a, const Shard& b) { return a.excess > b.excess; });
  std::vector<double> excess(coarse.world_size(), 0.0);
  for (const Shard& shard : shards) {
    Places& places = *shard.places;
    // Ranks have got more since their place was entered.
    while (places.top().first < excess[places.top().second]) {
      const Rank rank = places.top().second;
      places.pop();
      places.emplace(excess[rank], rank);
    }
    const Rank rank = places.top().second;
    places.pop();
    excess[rank] += shard.excess;
    start.ranks[shard.table][shard.index] = rank;
  }
}

}  // namespace shardwright::embedding
