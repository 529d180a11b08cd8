#include "search/embedding/improve/construct.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace shardwright::embedding {
namespace {

std::uint32_t choose(const ImproveContext& context, std::size_t table, double shard_limit,
                     double price_factor) {
  const std::span<const Choice> choices = context.model().choices(table);
  std::uint32_t best = 0;
  double least = std::numeric_limits<double>::infinity();
  double smallest = std::numeric_limits<double>::infinity();
  for (const Choice& choice : choices)
    smallest = std::min(smallest, choice.max_load);
  for (std::uint32_t i = 0; i < choices.size(); ++i) {
    if (choices[i].max_load > std::max(shard_limit, smallest)) continue;
    const double cost =
        choices[i].load + price_factor * (context.priced(choices[i]) - choices[i].load);
    if (cost < least) {
      least = cost;
      best = i;
    }
  }
  return context.model().first_choice(table) + best;
}

}  // namespace

Allocation construct(RankLoads& loads, RandomDraws& draws, double shard_limit,
                     double price_factor) {
  const ImproveContext& context = loads.context();
  const ChoiceModel& model = context.model();
  Allocation made;
  made.ranks.resize(model.num_tables());
  for (std::size_t table = 0; table < model.num_tables(); ++table)
    made.choice.push_back(choose(context, table, shard_limit, price_factor));

  std::vector<std::uint32_t> order(model.num_tables());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    const Choice& first = model.choices()[made.choice[a]];
    const Choice& second = model.choices()[made.choice[b]];
    if (first.reach != second.reach) return first.reach > second.reach;
    return first.reach == Reach::kDevice ? first.max_load > second.max_load
                                         : first.load > second.load;
  });
  loads.clear();
  Placer placer(loads, draws);
  for (const std::uint32_t table : order) {
    placer.place(made.choice[table], model.world_size(), made.ranks[table]);
    loads.keep();
  }
  return made;
}

}  // namespace shardwright::embedding
